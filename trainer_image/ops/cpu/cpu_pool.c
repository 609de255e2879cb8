#include "trainer_image/ops/cpu/cpu_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { CPU_POOL_THREADS_MAX = 256 };

/* A thread takes so many shares of a loop: who is late has little left to wait for. */
#define CPU_POOL_SHARES 4

struct cpu_pool {
	unsigned threads;
	pthread_t others[CPU_POOL_THREADS_MAX];
	pthread_mutex_t lock;
	pthread_cond_t begins, ends;
	uint64_t loop; /* its number; the rest is this loop's */
	unsigned busy; /* other threads that have not ended it */
	bool stops;
	cpu_pool_fn fn;
	const void *context;
	int64_t count, share;
	atomic_int_least64_t next;
};

struct cpu_pool_start {
	struct cpu_pool *pool;
	unsigned thread;
};

static void cpu_pool_take(struct cpu_pool *pool, unsigned thread)
{
	for (;;) {
		int64_t first = atomic_fetch_add(&pool->next, pool->share);

		if (first >= pool->count)
			return;
		pool->fn(pool->context, thread, first,
			 pool->count - first < pool->share ? pool->count : first + pool->share);
	}
}

static void *cpu_pool_thread(void *context)
{
	struct cpu_pool_start *start = context;
	struct cpu_pool *pool = start->pool;
	unsigned thread = start->thread;
	uint64_t done = 0;

	free(start);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->stops && pool->loop == done)
			pthread_cond_wait(&pool->begins, &pool->lock);
		if (pool->stops)
			break;
		done = pool->loop;
		pthread_mutex_unlock(&pool->lock);
		cpu_pool_take(pool, thread);
		pthread_mutex_lock(&pool->lock);
		if (--pool->busy == 0)
			pthread_cond_signal(&pool->ends);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static unsigned cpu_pool_default_threads(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

int cpu_pool_new(unsigned threads, struct cpu_pool **ret)
{
	struct cpu_pool *pool = calloc(1, sizeof(*pool));
	unsigned wanted = threads ? threads : cpu_pool_default_threads();

	if (!pool)
		return -ENOMEM;
	if (wanted > CPU_POOL_THREADS_MAX)
		wanted = CPU_POOL_THREADS_MAX;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->begins, NULL);
	pthread_cond_init(&pool->ends, NULL);
	for (pool->threads = 1; pool->threads < wanted; pool->threads++) {
		struct cpu_pool_start *start = malloc(sizeof(*start));
		int rc = start ? 0 : ENOMEM;

		if (rc == 0) {
			*start = (struct cpu_pool_start){pool, pool->threads};
			rc = pthread_create(&pool->others[pool->threads], NULL, cpu_pool_thread,
					    start);
		}
		if (rc != 0) {
			free(start);
			cpu_pool_free(pool);
			return -rc;
		}
	}
	*ret = pool;
	return 0;
}

void cpu_pool_free(struct cpu_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stops = true;
	pthread_cond_broadcast(&pool->begins);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 1; i < pool->threads; i++)
		pthread_join(pool->others[i], NULL);
	pthread_cond_destroy(&pool->ends);
	pthread_cond_destroy(&pool->begins);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

unsigned cpu_pool_threads(const struct cpu_pool *pool)
{
	return pool->threads;
}

void cpu_pool_run(struct cpu_pool *pool, int64_t count, cpu_pool_fn fn, const void *context)
{
	if (count <= 1 || pool->threads == 1) {
		if (count > 0)
			fn(context, 0, 0, count);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	pool->fn = fn;
	pool->context = context;
	pool->count = count;
	pool->share = count / ((int64_t)pool->threads * CPU_POOL_SHARES);
	if (pool->share < 1)
		pool->share = 1;
	atomic_store(&pool->next, 0);
	pool->busy = pool->threads - 1;
	pool->loop++;
	pthread_cond_broadcast(&pool->begins);
	pthread_mutex_unlock(&pool->lock);
	cpu_pool_take(pool, 0);
	pthread_mutex_lock(&pool->lock);
	while (pool->busy > 0)
		pthread_cond_wait(&pool->ends, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
