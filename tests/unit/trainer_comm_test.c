// links: trainer_comm
/* Sums over ranks that are processes: right, the same everywhere bit by bit, and with no byte more
 * than the theory says. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/macros.h"

#include "tests/support/cmocka.h"
#include "trainer_image/comm/levels.h"
#include "trainer_image/comm/transport.h"

enum { RANKS = 8, NUMBERS = 5000, RING = 8192 };

/* What the ranks leave for the test. */
struct report {
	int rc;
	int blamed;
	uint64_t sent, theory;
	uint64_t across, theory_across; /* to other machines */
	double took_s;
	float numbers[NUMBERS];
};

static struct report *reports;

typedef void (*rank_fn)(struct transport *transport, struct report *report, const void *context);

static int64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Each rank is a process; it ends with 0, or the test fails. A rank that ended by a signal is no failure
 * when that was asked for. */
static void run_ranks(int ranks, rank_fn fn, const void *context)
{
	struct shared_memory *memory;
	pid_t pids[RANKS];

	assert_int_equal(shared_memory_new(ranks, RING, &memory), 0);
	memset(reports, 0, sizeof(*reports) * RANKS);
	for (int rank = 0; rank < ranks; rank++) {
		pids[rank] = fork();
		assert_true(pids[rank] >= 0);
		if (pids[rank] == 0) {
			struct transport *transport;

			if (transport_shared_new(memory, rank, &transport) != 0)
				_exit(1);
			fn(transport, &reports[rank], context);
			reports[rank].sent = transport_sent(transport);
			transport_free(transport);
			_exit(0);
		}
	}
	for (int rank = 0; rank < ranks; rank++) {
		int status;

		assert_int_equal(waitpid(pids[rank], &status, 0), pids[rank]);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	}
	shared_memory_free(memory);
}

static float number_of(int rank, size_t i)
{
	uint32_t mixed = (uint32_t)(rank * 7919 + 17) * (uint32_t)(i * 104729 + 3);

	return ((float)(mixed >> 8) / 8388608.0F - 1.0F) * (i % 97 == 0 ? 20.0F : 1.0F);
}

/* As one sum, or as sums of some and all other numbers, one after another. */
enum sum_cut { CUT_WHOLE, CUT_ODD, CUT_BLOCKS };

struct sum_case {
	enum collective_way way;
	enum codec codec;
	size_t count;
	bool feedback;
	enum sum_cut cut;
	int machines; /* of equally many ranks; 0: one */
};

static struct levels levels_here(const struct transport *transport, const struct sum_case *is)
{
	int machine_of[RANKS];

	for (int rank = 0; rank < transport->ranks; rank++)
		machine_of[rank] = is->machines > 1 ? rank / (transport->ranks / is->machines) : 0;
	return levels_of(machine_of, transport->rank, transport->ranks);
}

/* One sum of numbers [first, first + count), done `times` times over; the mean of the results is left. */
static void sum_part(struct transport *transport, struct report *report, const struct sum_case *is,
		     size_t first, int times)
{
	struct levels levels = levels_here(transport, is);
	struct levels_share share = levels_share(&levels, is->count);
	float *lost = calloc(share.mine_count + share.owned_count + 1, sizeof(float));
	float *numbers = calloc(is->count, sizeof(float));
	struct collective_sum sum = {
		is->way,
		is->codec,
		numbers,
		is->count,
		is->feedback ? lost : NULL,
		malloc(levels_workspace(&levels, is->way, is->codec, is->count))};
	uint64_t across;

	for (int time = 0; report->rc == 0 && time < times; time++) {
		for (size_t i = 0; i < is->count; i++)
			numbers[i] = number_of(transport->rank, first + i);
		report->rc = levels_sum(transport, &levels, &sum);
		for (size_t i = 0; i < is->count; i++)
			report->numbers[first + i] += numbers[i] / (float)times;
	}
	report->theory +=
		levels_bytes(&levels, is->way, is->codec, is->count, &across) * (uint64_t)times;
	report->theory_across += across * (uint64_t)times;
	free(sum.workspace);
	free(numbers);
	free(lost);
}

static void sum_rank_times(struct transport *transport, struct report *report,
			   const struct sum_case *is, int times)
{
	static const size_t firsts[][2] = {[CUT_ODD] = {1, 257}, [CUT_BLOCKS] = {768, 1024}};
	struct sum_case part = *is;
	size_t first = 0;

	for (size_t i = 0; is->cut != CUT_WHOLE && i < 2; i++) {
		part.count = firsts[is->cut][i];
		sum_part(transport, report, &part, first, times);
		first += part.count;
	}
	part.count = is->count - first;
	sum_part(transport, report, &part, first, times);
	for (int rank = 0; is->machines > 1 && rank < transport->ranks; rank++)
		if (rank * is->machines / transport->ranks !=
		    transport->rank * is->machines / transport->ranks)
			report->across += transport->sent[rank];
}

static void sum_rank(struct transport *transport, struct report *report, const void *context)
{
	sum_rank_times(transport, report, context, 1);
}

static void sum_rank_often(struct transport *transport, struct report *report, const void *context)
{
	sum_rank_times(transport, report, context, 20);
}

static double worst(int ranks, size_t count)
{
	double far = 0;

	for (size_t i = 0; i < count; i++) {
		double wanted = 0;

		for (int rank = 0; rank < ranks; rank++)
			wanted += (double)number_of(rank, i);
		far = fmax(far, fabs((double)reports[0].numbers[i] - wanted));
	}
	return far;
}

static void check_sum(int ranks, const struct sum_case *is, double least)
{
	for (int rank = 0; rank < ranks; rank++) {
		assert_int_equal(reports[rank].rc, 0);
		assert_true(memcmp(reports[rank].numbers, reports[0].numbers,
				   sizeof(reports[0].numbers)) == 0);
		if (reports[rank].sent != reports[rank].theory)
			fail_msg("%s %s, %d ranks, %zu numbers: rank %d sent %lu bytes, not %lu",
				 collective_way_text(is->way), codec_text(is->codec), ranks,
				 is->count, rank, (unsigned long)reports[rank].sent,
				 (unsigned long)reports[rank].theory);
		assert_int_equal(reports[rank].across, reports[rank].theory_across);
	}
	if (!(worst(ranks, is->count) <= least))
		fail_msg("%s %s, %d ranks, %zu numbers: %g from the sum",
			 collective_way_text(is->way), codec_text(is->codec), ranks, is->count,
			 worst(ranks, is->count));
}

/* Sizes of numbers are up to 20, of sums up to 20 N. */
static double least_of(enum codec codec, int ranks)
{
	static const double steps[CODECS] = {[CODEC_NONE] = 1e-6,
					     [CODEC_BF16] = 0x1p-8,
					     [CODEC_FP16] = 0x1p-11,
					     [CODEC_INT8] = 0.5 / 127};

	return steps[codec] * 20 * ranks * (codec == CODEC_INT8 ? 2 : ranks);
}

static void test_sums(void **state)
{
	static const int ranks[] = {1, 2, 3, 4, 8};

	(void)state;
	for (enum collective_way way = 0; way < COLLECTIVE_WAYS; way++)
		for (enum codec codec = 0; codec < CODECS; codec++)
			for (size_t i = 0; i < COUNT_OF(ranks); i++) {
				const struct sum_case is = {way, codec, NUMBERS, .cut = CUT_ODD};

				if (codec == CODEC_INT8 && way != COLLECTIVE_DIRECT)
					continue;
				run_ranks(ranks[i], sum_rank, &is);
				check_sum(ranks[i], &is, least_of(codec, ranks[i]));
			}
}

/* Two passes of N-1 shards each: 2 (N-1)/N of the whole where the shards are equal. */
static void test_theory(void **state)
{
	const struct collective_group group = {.count = 4, .me = 1, .ranks = {0, 1, 2, 3}};
	const size_t count = 4 << 20;

	(void)state;
	assert_int_equal(collective_bytes(&group, COLLECTIVE_RING, CODEC_NONE, count),
			 count * 4 * 3 / 2);
	assert_int_equal(collective_bytes(&group, COLLECTIVE_HALVING, CODEC_NONE, count),
			 count * 4 * 3 / 2);
	assert_int_equal(collective_bytes(&group, COLLECTIVE_RING, CODEC_BF16, count),
			 count * 2 * 3 / 2);
	assert_int_equal(collective_bytes(&group, COLLECTIVE_DIRECT, CODEC_INT8, count),
			 (count + count / 256 * 4) * 3 / 2);
}

/* What 8 bits lose in one step comes in the next ones: the mean of 20 is twenty times nearer. */
static void test_feedback(void **state)
{
	(void)state;
	for (int machines = 1; machines <= 2; machines++) {
		struct sum_case is = {.way = COLLECTIVE_DIRECT,
				      .codec = CODEC_INT8,
				      .count = NUMBERS,
				      .machines = machines};

		run_ranks(4, sum_rank_often, &is);
		double without = worst(4, NUMBERS);

		is.feedback = true;
		run_ranks(4, sum_rank_often, &is);
		check_sum(4, &is, without / 5);
	}
}

static void int8_rank(struct transport *transport, struct report *report, const void *context)
{
	const struct sum_case is = {COLLECTIVE_RING, CODEC_INT8, 10, .cut = CUT_WHOLE};

	(void)context;
	sum_rank_times(transport, report, &is, 1);
}

static void test_refused(void **state)
{
	(void)state;
	run_ranks(2, int8_rank, NULL);
	assert_int_equal(reports[0].rc, -EINVAL);
	assert_int_equal(reports[1].rc, -EINVAL);
}

/* Sums within machines first: right, with no byte too many, and over the network once a machine. */
static void test_machines(void **state)
{
	static const int rows[][2] = {{4, 2}, {6, 3}, {8, 2}, {8, 4}};
	static const enum collective_way ways[] = {COLLECTIVE_DIRECT, COLLECTIVE_HALVING};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows) * COUNT_OF(ways); i++)
		for (enum codec codec = 0; codec < CODECS; codec++) {
			const int *row = rows[i / COUNT_OF(ways)];
			const struct sum_case is = {.way = ways[i % COUNT_OF(ways)],
						    .codec = codec,
						    .count = NUMBERS,
						    .cut = CUT_ODD,
						    .machines = row[1]};

			if (codec == CODEC_INT8 && is.way != COLLECTIVE_DIRECT)
				continue;
			run_ranks(row[0], sum_rank, &is);
			check_sum(row[0], &is, least_of(codec, row[0]));
		}
}

/* Two machines of four ranks: a machine sends what it holds once, and eight ranks of one level send it four times. */
static void test_machines_bytes(void **state)
{
	static const int machine_of[] = {0, 0, 0, 0, 1, 1, 1, 1};
	const size_t count = 4 << 20;
	uint64_t two = 0;
	uint64_t across;

	(void)state;
	for (int rank = 0; rank < 4; rank++) {
		struct levels levels = levels_of(machine_of, rank, 8);

		assert_int_equal(levels_machines(&levels), 2);
		assert_int_equal(levels.across.ranks[1 - levels.across.me], rank + 4);
		(void)levels_bytes(&levels, COLLECTIVE_DIRECT, CODEC_NONE, count, &across);
		two += across;
	}
	assert_int_equal(two, count * 4);
}

/* Machines with 1 and 3 ranks, one machine, and a machine a rank: one level. */
static void test_machines_one(void **state)
{
	static const int rows[][4] = {{0, 1, 1, 1}, {0, 0, 0, 0}, {0, 1, 2, 3}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct levels levels = levels_of(rows[i], 2, 4);

		assert_int_equal(levels_machines(&levels), 1);
		assert_int_equal(levels.machine.count, 1);
		assert_int_equal(levels.across.count, 4);
		assert_int_equal(levels.across.me, 2);
	}
}

/* The bits of a sum do not depend on its cut, where parts begin at blocks. */
static void test_cut(void **state)
{
	static float whole[NUMBERS];

	(void)state;
	for (int machines = 1; machines <= 2; machines++)
		for (enum codec codec = 0; codec < CODECS; codec++) {
			struct sum_case is = {.way = COLLECTIVE_DIRECT,
					      .codec = codec,
					      .count = NUMBERS,
					      .machines = machines};

			run_ranks(4, sum_rank, &is);
			memcpy(whole, reports[0].numbers, sizeof(whole));
			is.cut = CUT_BLOCKS;
			run_ranks(4, sum_rank, &is);
			assert_memory_equal(whole, reports[0].numbers, sizeof(whole));
		}
}

/* A rank that stands still: the others end, and name their neighbour. */
static void frozen_rank(struct transport *transport, struct report *report, const void *context)
{
	const struct sum_case is = {COLLECTIVE_RING, CODEC_NONE, NUMBERS, .cut = CUT_WHOLE};
	int64_t begun_ms = now_ms();

	(void)context;
	transport->patience_ms = 200;
	if (transport->rank == 2)
		(void)raise(SIGKILL);
	sum_rank_times(transport, report, &is, 1);
	report->blamed = transport->blamed;
	report->took_s = (double)(now_ms() - begun_ms) / 1e3;
}

static void test_frozen(void **state)
{
	(void)state;
	run_ranks(3, frozen_rank, NULL);
	for (int rank = 0; rank < 2; rank++) {
		assert_int_equal(reports[rank].rc, -ETIMEDOUT);
		assert_true(reports[rank].took_s < 10);
	}
	assert_int_equal(reports[0].blamed, 2); /* rank 1 waits for rank 0, which waits */
}

/* Rank 0 is stopped for longer than its patience, while it waits: that is no standstill. */
static void paused_rank(struct transport *transport, struct report *report, const void *context)
{
	enum { PATIENCE_MS = 2000, STOPPED_MS = 2500, LATE_MS = 2800 };
	const struct sum_case is = {COLLECTIVE_RING, CODEC_NONE, NUMBERS, .cut = CUT_WHOLE};

	(void)context;
	transport->patience_ms = PATIENCE_MS;
	if (transport->rank == 1) {
		(void)usleep(LATE_MS * 1000);
	} else if (fork() == 0) {
		(void)usleep(100000);
		(void)kill(getppid(), SIGSTOP);
		(void)usleep(STOPPED_MS * 1000);
		(void)kill(getppid(), SIGCONT);
		_exit(0);
	}
	sum_rank_times(transport, report, &is, 1);
}

static void test_paused(void **state)
{
	(void)state;
	run_ranks(2, paused_rank, NULL);
	assert_int_equal(reports[0].rc, 0);
	assert_int_equal(reports[1].rc, 0);
}

static struct transport *stopped;

static void stop_at_once(int signal)
{
	(void)signal;
	transport_stop(stopped);
}

static void stopped_rank(struct transport *transport, struct report *report, const void *context)
{
	const struct sum_case is = {COLLECTIVE_TREE, CODEC_NONE, NUMBERS, .cut = CUT_WHOLE};

	(void)context;
	if (transport->rank == 1) {
		(void)raise(SIGKILL);
		return;
	}
	stopped = transport;
	(void)signal(SIGALRM, stop_at_once);
	(void)alarm(1);
	sum_rank_times(transport, report, &is, 1);
}

static void test_stopped(void **state)
{
	(void)state;
	run_ranks(2, stopped_rank, NULL);
	assert_int_equal(reports[0].rc, -ECANCELED);
}

/* --- links that are as slow as they are said to be --- */

static void test_pace(void **state)
{
	struct pace pace = {0};
	int64_t now_us = 0;
	size_t sent = 0;

	(void)state;
	assert_int_equal(pace_allows(&pace, 0, 12345), 12345); /* unset: as fast as it goes */
	pace_set(&pace, 200e6, 0);
	while (now_us < 1000000) {
		size_t size = pace_allows(&pace, now_us, SIZE_MAX);

		pace_sent(&pace, now_us, size);
		sent += size;
		now_us += size > 0 ? 10
				   : pace_wait_us(&pace, now_us); /* a sender that takes its time */
	}
	assert_in_range(sent, 200000000 - 400000, 200000000 + 400000);
	/* After a pause it does not make up for more than a millisecond. */
	now_us += 500000;
	size_t burst = 0;

	for (int i = 0; i < 100; i++) {
		size_t size = pace_allows(&pace, now_us, SIZE_MAX);

		pace_sent(&pace, now_us, size);
		burst += size;
	}
	assert_true(burst <= 2 * 200000);
}

/* --- codecs --- */

static void test_special_numbers(void **state)
{
	float from[2 * CODEC_BLOCK];
	float lost[2 * CODEC_BLOCK];
	float to[2 * CODEC_BLOCK];
	uint8_t bytes[4096];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(from); i++) {
		from[i] = (float)i;
		lost[i] = 0.25F;
	}
	from[3] = NAN;
	codec_encode_feedback(CODEC_INT8, from, lost, COUNT_OF(from), bytes);
	codec_decode(CODEC_INT8, bytes, COUNT_OF(from), to);
	assert_true(isnan(to[3]) && isnan(to[200])); /* the step is seen to be broken */
	assert_true(isfinite(to[300]) && lost[3] == 0 && isfinite(lost[300]));
	from[3] = HUGE_VALF;
	codec_encode(CODEC_INT8, from, COUNT_OF(from), bytes);
	codec_decode(CODEC_INT8, bytes, COUNT_OF(from), to);
	assert_true(!isfinite(to[3]));
	memset(from, 0, sizeof(from));
	from[0] = 1e-44F; /* whose scale is no normal number */
	codec_encode(CODEC_INT8, from, COUNT_OF(from), bytes);
	codec_decode(CODEC_INT8, bytes, COUNT_OF(from), to);
	for (size_t i = 0; i < COUNT_OF(to); i++)
		assert_true(fabsf(to[i]) <= 1e-44F);
	for (enum codec codec = 0; codec < CODECS; codec++)
		assert_int_equal(codec_parse(codec_text(codec)), codec);
	assert_int_equal(codec_parse("zip"), CODECS);
}

static int setup(void **state)
{
	(void)state;
	reports = mmap(NULL, sizeof(*reports) * RANKS, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return reports == MAP_FAILED;
}

static int teardown(void **state)
{
	(void)state;
	return munmap(reports, sizeof(*reports) * RANKS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_theory),
		cmocka_unit_test(test_feedback),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_machines_bytes),
		cmocka_unit_test(test_machines_one),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_special_numbers),
	};

	return cmocka_run_group_tests_name("trainer_comm", tests, setup, teardown);
}
