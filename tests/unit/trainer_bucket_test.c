// links: trainer_comm
/* Buckets: the cut with the earliest end, and sums that run beside the backward pass. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/macros.h"

#include "tests/support/cmocka.h"
#include "trainer_image/comm/bucket_policy.h"
#include "trainer_image/comm/sum_queue.h"

/* When the last sum is there if the gradients are cut behind those whose bit is set. */
static double end_of(const struct bucket_gradient gradients[], size_t count,
		     const struct bucket_link *link, unsigned cuts)
{
	double end_ms = 0;
	double bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += (double)gradients[i].count * link->bytes_per_number;
		if (i + 1 < count && !(cuts >> i & 1))
			continue;
		end_ms = (end_ms > gradients[i].ready_ms ? end_ms : gradients[i].ready_ms) +
			 link->latency_ms + bytes / link->bytes_per_ms;
		bytes = 0;
	}
	return end_ms;
}

static double by_trying_all(const struct bucket_gradient gradients[], size_t count,
			    const struct bucket_link *link)
{
	double best = end_of(gradients, count, link, 0);

	for (unsigned cuts = 1; cuts < 1U << (count - 1); cuts++) {
		double end_ms = end_of(gradients, count, link, cuts);

		best = end_ms < best ? end_ms : best;
	}
	return best;
}

static void test_best_cut(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct bucket_gradient gradients[11];
		const struct bucket_link link = {.latency_ms = round % 3,
						 .bytes_per_ms = 100 + round,
						 .bytes_per_number = round % 2 ? 4 : 1.5};
		struct bucket_plan plan;
		unsigned cuts = 0;
		double at_ms = 0;

		for (size_t i = 0; i < COUNT_OF(gradients); i++) {
			at_ms += rand_r(&seed) % 20;
			gradients[i] =
				(struct bucket_gradient){1 + (size_t)(rand_r(&seed) % 1000), at_ms};
		}
		assert_int_equal(bucket_cut(gradients, COUNT_OF(gradients), &link, &plan), 0);
		assert_int_equal(plan.ends[plan.count - 1], COUNT_OF(gradients));
		for (size_t i = 0; i + 1 < plan.count; i++) {
			assert_true(plan.ends[i] < plan.ends[i + 1]);
			cuts |= 1U << (plan.ends[i] - 1);
		}
		double wanted = by_trying_all(gradients, COUNT_OF(gradients), &link);

		assert_true(plan.end_ms - wanted < 1e-9 && wanted - plan.end_ms < 1e-9);
		assert_true(end_of(gradients, COUNT_OF(gradients), &link, cuts) - wanted < 1e-9);
		assert_true(plan.exposed_ms == plan.end_ms - at_ms);
		bucket_plan_done(&plan);
	}
}

static void test_wrong_gradients(void **state)
{
	const struct bucket_gradient back[] = {{1, 5}, {1, 4}};
	const struct bucket_link link = {1, 1, 4};
	const struct bucket_link none = {1, 0, 4};
	struct bucket_plan plan;

	(void)state;
	assert_int_equal(bucket_cut(back, 2, &link, &plan), -EINVAL);
	assert_int_equal(bucket_cut(back, 0, &link, &plan), -EINVAL);
	assert_int_equal(bucket_cut(back, 1, &none, &plan), -EINVAL);
	assert_int_equal(bucket_cut(back, BUCKET_GRADIENTS_MAX + 1, &link, &plan), -EINVAL);
}

enum { NUMBERS = 3000, STEPS = 3 };

/* A rank of two; 0 when all is right. */
static int rank_steps(struct shared_memory *memory, int rank, enum codec codec)
{
	const struct sum_bucket buckets[] = {{1000, 2000}, {100, 900}, {0, 100}};
	const struct sum_options options = {codec == CODEC_INT8 ? COLLECTIVE_DIRECT
								: COLLECTIVE_RING,
					    codec, codec == CODEC_INT8, levels_one(rank, 2)};
	float *gradients = calloc(NUMBERS, sizeof(float));
	struct transport *transport = NULL;
	struct sum_queue *queue = NULL;
	int64_t exposed_us = -1;
	bool right = gradients && transport_shared_new(memory, rank, &transport) == 0 &&
		     sum_queue_new(transport, gradients, buckets, COUNT_OF(buckets), &options,
				   &queue) == 0;

	for (int step = 1; right && step <= STEPS; step++) {
		for (size_t i = 0; i < COUNT_OF(buckets); i++) {
			for (size_t k = 0; k < buckets[i].count; k++)
				gradients[buckets[i].first + k] = (float)(step * (rank + 1));
			sum_queue_ready(queue);
		}
		right = sum_queue_wait(queue, &exposed_us) == 0 && exposed_us >= 0;
		for (size_t i = 0; i < NUMBERS; i++)
			right = right && gradients[i] > (float)step * 2.97F &&
				gradients[i] < (float)step * 3.03F;
	}
	sum_queue_free(queue);
	transport_free(transport);
	free(gradients);
	return right ? 0 : 1;
}

/* Rank 1 never comes: rank 0 hears of it, and its thread ends. */
static int rank_alone(struct shared_memory *memory)
{
	const struct sum_bucket bucket = {0, NUMBERS};
	const struct sum_options options = {COLLECTIVE_RING, CODEC_NONE, false, levels_one(0, 2)};
	float *gradients = calloc(NUMBERS, sizeof(float));
	struct transport *transport = NULL;
	struct sum_queue *queue = NULL;
	int64_t exposed_us;
	bool right = gradients && transport_shared_new(memory, 0, &transport) == 0 &&
		     sum_queue_new(transport, gradients, &bucket, 1, &options, &queue) == 0;

	if (right) {
		transport->patience_ms = 100;
		sum_queue_ready(queue);
		right = sum_queue_wait(queue, &exposed_us) == -ETIMEDOUT && transport->blamed == 1;
		sum_queue_ready(queue);
		right = right && sum_queue_wait(queue, &exposed_us) == -ETIMEDOUT;
	}
	sum_queue_free(queue);
	transport_free(transport);
	free(gradients);
	return right ? 0 : 1;
}

static void in_processes(int ranks, enum codec codec, bool alone)
{
	struct shared_memory *memory;
	pid_t pids[2];

	assert_int_equal(shared_memory_new(2, 4096, &memory), 0);
	for (int rank = 0; rank < ranks; rank++) {
		pids[rank] = fork();
		assert_true(pids[rank] >= 0);
		if (pids[rank] == 0)
			_exit(alone ? rank_alone(memory) : rank_steps(memory, rank, codec));
	}
	for (int rank = 0; rank < ranks; rank++) {
		int status;

		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	shared_memory_free(memory);
}

static void test_queue(void **state)
{
	(void)state;
	for (enum codec codec = 0; codec < CODECS; codec++)
		in_processes(2, codec, false);
}

static void test_alone(void **state)
{
	(void)state;
	in_processes(1, CODEC_NONE, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best_cut),
		cmocka_unit_test(test_wrong_gradients),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests_name("trainer_bucket", tests, NULL, NULL);
}
