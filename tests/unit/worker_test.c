// links: common_io
// alone: replaces pthread_join()
/* Work on threads, results in the loop. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/base/macros.h"
#include "common/io/worker.h"

#include "tests/support/cmocka.h"

struct job {
	struct fixture *fixture;
	pthread_t thread;
	bool ran, done;
};

struct fixture {
	struct loop *loop;
	struct worker *worker;
	atomic_bool gate; /* work waits here */
	atomic_uint running;
	unsigned done;
	unsigned expected;
	struct job jobs[200];
};

static int start(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	if (loop_new(&f.loop) != 0)
		return -1;
	return worker_new(f.loop, 3, 100, &f.worker);
}

static int stop(void **state)
{
	struct fixture *f = *state;

	worker_free(f->worker);
	loop_free(f->loop);
	return 0;
}

static void work(void *context)
{
	struct job *job = context;

	job->thread = pthread_self();
	atomic_fetch_add(&job->fixture->running, 1);
	while (!atomic_load(&job->fixture->gate))
		usleep(200);
	job->ran = true;
}

static void done(void *context)
{
	struct job *job = context;

	job->done = true;
	if (++job->fixture->done == job->fixture->expected)
		loop_stop(job->fixture->loop);
}

static void submit(struct fixture *f, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		f->jobs[i].fixture = f;
		assert_int_equal(worker_submit(f->worker, work, done, &f->jobs[i]), 0);
	}
}

static void wait_running(struct fixture *f, unsigned count)
{
	while (atomic_load(&f->running) < count)
		usleep(200);
}

static void test_run(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->gate, true);
	f->expected = 100;
	submit(f, 100);
	loop_run(f->loop);
	for (unsigned i = 0; i < 100; i++) {
		assert_true(f->jobs[i].ran && f->jobs[i].done);
		assert_false(pthread_equal(f->jobs[i].thread, pthread_self()));
	}
	assert_int_equal(worker_queued(f->worker), 0);
}

static void test_full(void **state)
{
	struct fixture *f = *state;

	submit(f, 3);
	wait_running(f, 3); /* the threads are busy, the queue is empty */
	assert_int_equal(worker_queued(f->worker), 0);
	submit(f, 100);
	assert_int_equal(worker_queued(f->worker), 100);
	assert_int_equal(worker_submit(f->worker, work, done, &f->jobs[0]), -EAGAIN);
	f->expected = 103;
	atomic_store(&f->gate, true);
	loop_run(f->loop);
	assert_int_equal(f->done, 103);
}

/* worker_free has said that it is over, and waits for its threads. The parameters have
 * the names of pthread.h. */
static atomic_bool joining;

int pthread_join(pthread_t th, void **thread_return)
{
	int (*join)(pthread_t, void **) = NULL;

	*(void **)&join = dlsym(RTLD_NEXT, "pthread_join");
	atomic_store(&joining, true);
	return join(th, thread_return);
}

/* What runs is waited for, what is queued is dropped; everyone is told. */
static void *open_gate(void *context)
{
	struct fixture *f = context;

	while (!atomic_load(&joining))
		usleep(200);
	atomic_store(&f->gate, true);
	return NULL;
}

static void test_end(void **state)
{
	struct fixture *f = *state;
	pthread_t opener;
	unsigned ran = 0;

	submit(f, 50);
	wait_running(f, 3);
	atomic_store(&joining, false);
	assert_int_equal(pthread_create(&opener, NULL, open_gate, f), 0);
	worker_free(f->worker);
	f->worker = NULL;
	assert_int_equal(pthread_join(opener, NULL), 0);
	assert_int_equal(f->done, 50);
	for (unsigned i = 0; i < 50; i++) {
		assert_true(f->jobs[i].done);
		ran += f->jobs[i].ran;
	}
	assert_int_equal(ran, 3);
}

static void done_again(void *context)
{
	struct job *job = context;

	job->fixture->done++;
	if (job->fixture->done == 5)
		loop_stop(job->fixture->loop);
	else
		assert_int_equal(worker_submit(job->fixture->worker, work, done_again, job), 0);
}

static void test_submit_from_done(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->gate, true);
	f->jobs[0].fixture = f;
	assert_int_equal(worker_submit(f->worker, work, done_again, &f->jobs[0]), 0);
	loop_run(f->loop);
	assert_int_equal(f->done, 5);
	assert_int_equal(atomic_load(&f->running), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_run, start, stop),
		cmocka_unit_test_setup_teardown(test_full, start, stop),
		cmocka_unit_test_setup_teardown(test_end, start, stop),
		cmocka_unit_test_setup_teardown(test_submit_from_done, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
