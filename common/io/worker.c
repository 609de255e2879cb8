#include "common/io/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)1 << 20)

struct job {
	worker_fn work;
	worker_fn done;
	void *context;
	struct job *next;
};

struct job_list {
	struct job *first;
	struct job **last; /* where the next one is hung */
};

struct worker {
	struct loop_watch *watch;
	int wake_fd; /* eventfd: some work is done */
	unsigned queue_limit;
	atomic_uint queued_count;
	unsigned thread_count;
	pthread_t *threads;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wanted;
	struct job_list queued;
	struct job_list finished;
	bool stopping;
};

static void list_init(struct job_list *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void list_add(struct job_list *list, struct job *job)
{
	job->next = NULL;
	*list->last = job;
	list->last = &job->next;
}

static struct job *list_take(struct job_list *list)
{
	struct job *job = list->first;

	if (!job)
		return NULL;
	list->first = job->next;
	if (!list->first)
		list->last = &list->first;
	return job;
}

static void *thread_main(void *context)
{
	struct worker *worker = context;
	uint64_t one = 1;

	pthread_mutex_lock(&worker->lock);
	while (!worker->stopping) {
		struct job *job = list_take(&worker->queued);

		if (!job) {
			pthread_cond_wait(&worker->wanted, &worker->lock);
			continue;
		}
		atomic_fetch_sub(&worker->queued_count, 1);
		pthread_mutex_unlock(&worker->lock);
		job->work(job->context);
		pthread_mutex_lock(&worker->lock);
		list_add(&worker->finished, job);
		if (write(worker->wake_fd, &one, sizeof(one)) < 0)
			continue; /* EAGAIN: the counter is full, so the loop is awake anyway */
	}
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

static struct job *take_finished(struct worker *worker)
{
	struct job *job;

	pthread_mutex_lock(&worker->lock);
	job = list_take(&worker->finished);
	pthread_mutex_unlock(&worker->lock);
	return job;
}

/* In the loop. `done` may submit again. */
static void finish_jobs(void *context, int events)
{
	struct worker *worker = context;
	struct job *job;
	uint64_t count;

	(void)events;
	if (read(worker->wake_fd, &count, sizeof(count)) < 0)
		return;
	while ((job = take_finished(worker)) != NULL) {
		struct job finished = *job;

		free(job);
		if (finished.done)
			finished.done(finished.context);
	}
}

/* Signals belong to the loop's thread. */
static int start_threads(struct worker *worker, unsigned threads)
{
	pthread_attr_t attributes;
	sigset_t all;
	sigset_t before;
	int rc = 0;

	sigfillset(&all);
	if (pthread_attr_init(&attributes) != 0)
		return -ENOMEM;
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	while (rc == 0 && worker->thread_count < threads) {
		rc = -pthread_create(&worker->threads[worker->thread_count], &attributes,
				     thread_main, worker);
		if (rc == 0)
			worker->thread_count++;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return rc;
}

int worker_new(struct loop *loop, unsigned threads, unsigned queue_limit, struct worker **ret)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int rc;

	if (!worker)
		return -ENOMEM;
	worker->queue_limit = queue_limit;
	list_init(&worker->queued);
	list_init(&worker->finished);
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->wanted, NULL);
	worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = worker->wake_fd < 0 ? -errno : 0;
	worker->threads = calloc(threads ? threads : 1, sizeof(worker->threads[0]));
	if (rc == 0 && !worker->threads)
		rc = -ENOMEM;
	if (rc == 0)
		rc = loop_watch_new(loop, worker->wake_fd, LOOP_READ, finish_jobs, worker,
				    &worker->watch);
	if (rc == 0)
		rc = start_threads(worker, threads ? threads : 1);
	if (rc != 0) {
		worker_free(worker);
		return rc;
	}
	*ret = worker;
	return 0;
}

void worker_free(struct worker *worker)
{
	struct job *job;

	if (!worker)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->stopping = true;
	pthread_cond_broadcast(&worker->wanted);
	pthread_mutex_unlock(&worker->lock);
	for (unsigned i = 0; i < worker->thread_count; i++)
		pthread_join(worker->threads[i], NULL);
	/* No thread is left: first what ran, then what never will. */
	while ((job = list_take(&worker->finished)) != NULL ||
	       (job = list_take(&worker->queued)) != NULL) {
		if (job->done)
			job->done(job->context);
		free(job);
	}
	loop_watch_free(worker->watch);
	if (worker->wake_fd >= 0)
		close(worker->wake_fd);
	pthread_cond_destroy(&worker->wanted);
	pthread_mutex_destroy(&worker->lock);
	free(worker->threads);
	free(worker);
}

int worker_submit(struct worker *worker, worker_fn work, worker_fn done, void *context)
{
	struct job *job;
	int rc = 0;

	job = malloc(sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){.work = work, .done = done, .context = context};
	pthread_mutex_lock(&worker->lock);
	if (worker->stopping || atomic_load(&worker->queued_count) >= worker->queue_limit) {
		rc = -EAGAIN;
	} else {
		list_add(&worker->queued, job);
		atomic_fetch_add(&worker->queued_count, 1);
		pthread_cond_signal(&worker->wanted);
	}
	pthread_mutex_unlock(&worker->lock);
	if (rc != 0)
		free(job);
	return rc;
}

unsigned worker_queued(const struct worker *worker)
{
	return atomic_load(&worker->queued_count);
}
