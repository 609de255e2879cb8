// links: trainer_cuda_emulated trainer_train
// alone: the back end "cuda" is the emulated one (tests/support/cuda_emulation)
/* Sums from device to device, on an emulation of CUDA and NCCL: each way and codec has the bits of the host's sum, sends the bytes of
 * the theory, and keeps its bits when the cut into buckets changes, on one machine and on two. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "trainer_image/comm/collective.h"
#include "trainer_image/comm/link_measure.h"
#include "trainer_image/comm/sum_queue.h"
#include "trainer_image/train/device_link.h"

enum { RANKS_MAX = 4, NUMBERS = 1500, STEPS = 5, RING = 65536 };

/* What a rank has: sums over the host's transport, and over the devices'. */
struct rank {
	struct team team;
	struct ops *ops;
	struct transport *link;
};

/* In the process of a rank; a failure is told on stderr, and by the status. */
#define EXPECT(is, ...)                                     \
	do {                                                \
		if (!(is)) {                                \
			(void)fprintf(stderr, __VA_ARGS__); \
			(void)fputc('\n', stderr);          \
			return 1;                           \
		}                                           \
	} while (0)

static float number_of(int rank, int step, size_t i)
{
	uint32_t mixed = (uint32_t)(rank * 7919 + step * 131 + 17) * (uint32_t)(i * 104729 + 3);

	return ((float)(mixed >> 8) / 8388608.0F - 1.0F) * (i % 97 == 0 ? 20.0F : 1.0F);
}

static void fill(float *numbers, const struct rank *rank, int step)
{
	for (size_t i = 0; i < NUMBERS; i++)
		numbers[i] = number_of(rank->team.rank, step, i);
}

/* --- one sum --- */

/* The sum over `transport` of numbers that the host has; they become it. */
static int sum_once(struct transport *transport, enum collective_way way, enum codec codec,
		    float *numbers, size_t count)
{
	struct place *place = transport->place;
	struct collective_group group = collective_all(transport);
	size_t room = collective_workspace(&group, way, codec, count);
	struct collective_sum sum = {way,   codec, place_take(place, count * sizeof(float)),
				     count, NULL,  place_take(place, room)};
	int rc = place_copy(place, sum.numbers, numbers, count * sizeof(float), PLACE_IN);

	if (rc == 0)
		rc = place_ready(place);
	if (rc == 0)
		rc = collective_sum(transport, &group, &sum);
	if (rc == 0)
		rc = place_wait(place);
	if (rc == 0)
		rc = place_copy(place, numbers, sum.numbers, count * sizeof(float), PLACE_OUT);
	place_give(place, sum.workspace, room);
	place_give(place, sum.numbers, count * sizeof(float));
	return rc;
}

static int rank_ways(struct rank *rank)
{
	static const size_t counts[] = {1, 257, NUMBERS};
	struct collective_group group = collective_all(rank->link);
	float host[NUMBERS];
	float device[NUMBERS];

	for (enum collective_way way = 0; way < COLLECTIVE_WAYS; way++)
		for (enum codec codec = 0; codec < CODECS; codec++)
			for (size_t i = 0; i < COUNT_OF(counts); i++) {
				uint64_t sent = transport_sent(rank->link);

				if (codec == CODEC_INT8 && way != COLLECTIVE_DIRECT)
					continue;
				fill(host, rank, 0);
				fill(device, rank, 0);
				EXPECT(sum_once(rank->team.transport, way, codec, host,
						counts[i]) == 0,
				       "no sum of the host");
				EXPECT(sum_once(rank->link, way, codec, device, counts[i]) == 0,
				       "no sum of devices");
				EXPECT(memcmp(host, device, sizeof(host)) == 0,
				       "%s %s, %zu numbers: other bits than the host's",
				       collective_way_text(way), codec_text(codec), counts[i]);
				EXPECT(transport_sent(rank->link) - sent ==
					       collective_bytes(&group, way, codec, counts[i]),
				       "%s %s, %zu numbers: not the bytes of the theory",
				       collective_way_text(way), codec_text(codec), counts[i]);
			}
	return 0;
}

/* --- buckets, with what 8 bits lose --- */

static const struct sum_bucket cuts[][3] = {
	{{0, 256}, {256, 1024}, {1280, NUMBERS - 1280}},
	{{0, 768}, {768, 512}, {1280, NUMBERS - 1280}},
};

/* What was lost, in the order of the numbers; owned ones are other ranks' elsewhere. */
struct lost {
	float mine[NUMBERS], owned[NUMBERS];
};

/* Four ranks are of two machines. */
static struct levels levels_here(const struct rank *rank)
{
	static const int machine_of[] = {0, 0, 1, 1};

	return rank->team.ranks == 4 ? levels_of(machine_of, rank->team.rank, 4)
				     : levels_one(rank->team.rank, rank->team.ranks);
}

static int queue_new(const struct rank *rank, struct transport *transport, float *gradients,
		     size_t cut, struct sum_queue **ret)
{
	const struct sum_options options = {COLLECTIVE_DIRECT, CODEC_INT8, true, levels_here(rank)};

	return sum_queue_new(transport, gradients, cuts[cut], COUNT_OF(cuts[cut]), &options, ret);
}

static int lost_get(const struct rank *rank, struct sum_queue *queue, size_t cut, struct lost *lost)
{
	const struct levels levels = levels_here(rank);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT_OF(cuts[cut]); i++) {
		const struct sum_bucket *bucket = &cuts[cut][i];
		struct levels_share share = levels_share(&levels, bucket->count);

		rc = sum_queue_lost_get(queue, i, lost->mine + bucket->first + share.mine_first,
					lost->owned + bucket->first + share.owned_first);
	}
	return rc;
}

static int lost_set(struct rank *rank, struct sum_queue *queue, size_t cut, struct lost *lost)
{
	const struct levels levels = levels_here(rank);
	int rc = team_sum(&rank->team, lost->owned, NUMBERS, NULL);

	if (rc == 0)
		rc = team_sum_of(&rank->team, &levels.machine, lost->mine, NUMBERS, NULL);
	for (size_t i = 0; rc == 0 && i < COUNT_OF(cuts[cut]); i++) {
		const struct sum_bucket *bucket = &cuts[cut][i];
		struct levels_share share = levels_share(&levels, bucket->count);

		rc = sum_queue_lost_set(queue, i, lost->mine + bucket->first + share.mine_first,
					lost->owned + bucket->first + share.owned_first);
	}
	return rc;
}

/* Steps whose gradients a device makes right before they are summed; behind the second one they are cut anew. `ret`: what the last
 * step gave. */
static int sum_steps(struct rank *rank, struct transport *transport, bool cuts_anew, float *ret)
{
	struct place *place = transport->place;
	float *gradients = place_take(place, NUMBERS * sizeof(float));
	struct lost lost = {{0}, {0}};
	struct sum_queue *queue = NULL;
	int64_t exposed_us;
	int rc = gradients ? queue_new(rank, transport, gradients, 0, &queue) : -1;

	for (int step = 0; rc == 0 && step < STEPS; step++) {
		fill(ret, rank, step);
		if (step == 2 && cuts_anew) {
			rc = lost_get(rank, queue, 0, &lost);
			sum_queue_free(queue);
			queue = NULL;
			if (rc == 0)
				rc = queue_new(rank, transport, gradients, 1, &queue);
			if (rc == 0)
				rc = lost_set(rank, queue, 1, &lost);
		}
		if (rc == 0)
			rc = place_copy(place, gradients, ret, NUMBERS * sizeof(float), PLACE_IN);
		for (size_t i = 0; rc == 0 && i < COUNT_OF(cuts[0]); i++)
			sum_queue_ready(queue);
		if (rc == 0)
			rc = sum_queue_wait(queue, &exposed_us);
		if (rc == 0)
			rc = place_copy(place, ret, gradients, NUMBERS * sizeof(float), PLACE_OUT);
	}
	sum_queue_free(queue);
	place_give(place, gradients, NUMBERS * sizeof(float));
	return rc;
}

static int rank_buckets(struct rank *rank)
{
	float host[NUMBERS];
	float device[NUMBERS];
	float anew[NUMBERS];

	EXPECT(sum_steps(rank, rank->team.transport, false, host) == 0, "no steps of the host");
	EXPECT(sum_steps(rank, rank->link, false, device) == 0, "no steps of devices");
	EXPECT(memcmp(host, device, sizeof(host)) == 0, "steps: other bits than the host's");
	EXPECT(sum_steps(rank, rank->link, true, anew) == 0, "no steps with a new cut");
	EXPECT(memcmp(host, anew, sizeof(host)) == 0, "other bits behind a new cut");
	return 0;
}

static int rank_measures(struct rank *rank)
{
	const struct link_probe probe = {.sums = rank->link,
					 .words = rank->team.transport,
					 .way = COLLECTIVE_DIRECT,
					 .count = NUMBERS,
					 .levels = levels_one(rank->team.rank, rank->team.ranks)};
	struct bucket_link link = {0};

	EXPECT(link_measure(&probe, CODEC_INT8, &link) == 0, "the link is not measured");
	EXPECT(link.latency_ms > 0 && link.bytes_per_ms > 0 && link.bytes_per_number > 1 &&
		       link.bytes_per_number < 1.1,
	       "a link of %g ms, %g bytes a ms, %g bytes a number", link.latency_ms,
	       link.bytes_per_ms, link.bytes_per_number);
	return 0;
}

/* --- ranks --- */

static int run_rank(struct shared_memory *memory, int nth, int ranks, int (*run)(struct rank *rank))
{
	struct rank rank = {.team = {.rank = nth, .ranks = ranks}};
	struct problem problem = {0};

	emulation_set_devices(ranks);
	EXPECT(transport_shared_new(memory, nth, &rank.team.transport) == 0, "no transport");
	EXPECT(ops_cuda_new(nth, &rank.ops, &problem) == 0, "%s", problem.message);
	EXPECT(device_link_new(&rank.team, rank.ops, &rank.link, &problem) == 0, "%s: %s",
	       problem.message, problem.detail);
	int status = run(&rank);

	device_link_leave(rank.link);
	transport_free(rank.link);
	ops_free(rank.ops);
	transport_free(rank.team.transport);
	EXPECT(emulation_taken() == 0, "memory of the device is left");
	return status;
}

static void run_ranks(int ranks, int (*run)(struct rank *rank))
{
	struct shared_memory *memory;
	pid_t pids[RANKS_MAX];
	bool right = true;

	assert_int_equal(shared_memory_new(ranks, RING, &memory), 0);
	for (int nth = 0; nth < ranks; nth++) {
		pids[nth] = fork();
		assert_true(pids[nth] >= 0);
		if (pids[nth] == 0)
			_exit(run_rank(memory, nth, ranks, run));
	}
	for (int nth = 0; nth < ranks; nth++) {
		int status;

		assert_int_equal(waitpid(pids[nth], &status, 0), pids[nth]);
		right = right && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	}
	shared_memory_free(memory);
	assert_true(right);
}

static void test_ways(void **state)
{
	(void)state;
	for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
		run_ranks(ranks, rank_ways);
}

static void test_buckets(void **state)
{
	(void)state;
	run_ranks(2, rank_buckets);
	run_ranks(3, rank_buckets);
	run_ranks(4, rank_buckets);
}

static void test_measures(void **state)
{
	(void)state;
	run_ranks(2, rank_measures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_measures),
	};

	assert_int_equal(setenv("TRAINER_NCCL", NCCL_EMULATION_FOLDER, 1), 0);
	return cmocka_run_group_tests_name("trainer_nccl", tests, NULL, NULL);
}
