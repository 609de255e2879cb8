// links: trainer_comm
/* The share of a training step that waits for sums of gradients: four ranks of one machine on paced links,
 * whose backward pass is a sleep. For tests/bench/sync.
 *
 *     bench_sync RANKS NUMBERS BYTES_PER_S BACKWARD_MS STEPS blob|none|bf16|fp16|int8
 *
 * Prints one line: share=PERCENT iter_ms= exposed_ms= bytes= theory= buckets=; medians of the steps of the
 * slowest rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/macros.h"

#include "trainer_image/comm/link_measure.h"
#include "trainer_image/comm/sum_queue.h"

enum { SLICES = 64, STEPS_MAX = 100, RING = 1 << 20 };

struct wish {
	int ranks, steps;
	size_t numbers;
	double bytes_per_s, backward_ms;
	bool blob;
	enum codec codec;
};

struct report {
	double iter_ms[STEPS_MAX], exposed_ms[STEPS_MAX];
	uint64_t bytes, theory;
	size_t buckets;
	bool wrong;
};

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void sleep_until(double at_ms)
{
	const struct timespec at = {(time_t)(at_ms / 1e3),
				    (long)((at_ms - 1e3 * (double)(time_t)(at_ms / 1e3)) * 1e6)};

	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* The numbers of slice `nth` in the order of the backward pass: from the end of the vector to its begin. */
static size_t slice_end(const struct wish *wish, size_t nth)
{
	return wish->numbers * (SLICES - nth) / SLICES;
}

static struct sum_queue *queue_new(const struct wish *wish, struct transport *transport,
				   float *gradients, struct report *report, size_t ends[SLICES])
{
	struct bucket_gradient slices[SLICES];
	struct sum_bucket buckets[SLICES];
	struct sum_options options = {
		wish->codec == CODEC_NONE ? COLLECTIVE_RING : COLLECTIVE_DIRECT, wish->codec,
		wish->codec == CODEC_INT8, levels_one(transport->rank, transport->ranks)};
	struct collective_group group = collective_all(transport);
	struct bucket_link link;
	struct bucket_plan plan;
	struct sum_queue *queue;

	for (size_t i = 0; i < SLICES; i++)
		slices[i] = (struct bucket_gradient){slice_end(wish, i) - slice_end(wish, i + 1),
						     wish->backward_ms * (double)(i + 1) / SLICES};
	const struct link_probe probe = {transport, transport, options.way, 256 << 10,
					 options.levels};

	if (link_measure(&probe, options.codec, &link) != 0)
		exit(1);
	if (wish->blob)
		link.latency_ms = 1e9; /* so that one is the best */
	if (bucket_cut(slices, SLICES, &link, &plan) != 0)
		exit(1);
	for (size_t i = 0; i < plan.count; i++) {
		size_t from = i == 0 ? 0 : plan.ends[i - 1];

		ends[i] = plan.ends[i];
		buckets[i].first = slice_end(wish, plan.ends[i]);
		buckets[i].count = slice_end(wish, from) - buckets[i].first;
		report->theory +=
			collective_bytes(&group, options.way, options.codec, buckets[i].count);
	}
	report->buckets = plan.count;
	if (sum_queue_new(transport, gradients, buckets, plan.count, &options, &queue) != 0)
		exit(1);
	bucket_plan_done(&plan);
	return queue;
}

/* All ranks begin a step together, as the sum of the one before leaves them. */
static void sync_step(const struct wish *wish, struct transport *transport, struct sum_queue *queue,
		      struct report *report, const size_t ends[SLICES], int nth)
{
	struct collective_group group = collective_all(transport);
	uint8_t all[COMM_RANKS_MAX];
	uint8_t mine = 0;
	int64_t exposed_us;
	size_t bucket = 0;

	if (collective_gather(transport, &group, &mine, 1, all) != 0)
		exit(1);
	uint64_t sent = transport_sent(transport);
	double begun_ms = now_ms();

	for (size_t i = 0; i < SLICES; i++) {
		sleep_until(begun_ms + wish->backward_ms * (double)(i + 1) / SLICES);
		if (ends[bucket] == i + 1 && bucket < report->buckets) {
			sum_queue_ready(queue);
			bucket++;
		}
	}
	if (sum_queue_wait(queue, &exposed_us) != 0)
		exit(1);
	report->iter_ms[nth] = now_ms() - begun_ms;
	report->exposed_ms[nth] = (double)exposed_us / 1e3;
	report->bytes = transport_sent(transport) - sent;
}

static void run_rank(const struct wish *wish, struct shared_memory *memory, int rank,
		     struct report *report)
{
	float *gradients = calloc(wish->numbers, sizeof(float));
	size_t ends[SLICES] = {0};
	struct transport *transport;

	if (!gradients || transport_shared_new(memory, rank, &transport) != 0)
		exit(1);
	transport_pace(transport, wish->bytes_per_s);
	struct sum_queue *queue = queue_new(wish, transport, gradients, report, ends);

	for (int nth = 0; nth < wish->steps; nth++) {
		for (size_t i = 0; i < wish->numbers; i++)
			gradients[i] = (float)(rank + 1);
		sync_step(wish, transport, queue, report, ends, nth);
		for (size_t i = 0; i < wish->numbers; i++) {
			float wanted = (float)(wish->ranks * (wish->ranks + 1) / 2);

			report->wrong = report->wrong || gradients[i] > wanted * 1.01F ||
					gradients[i] < wanted * 0.99F;
		}
	}
	sum_queue_free(queue);
	transport_free(transport);
	free(gradients);
}

static int by_size(const void *a, const void *b)
{
	double first = *(const double *)a;
	double second = *(const double *)b;

	return (first > second) - (first < second);
}

static double sync_median(double numbers[], int count)
{
	qsort(numbers, (size_t)count, sizeof(numbers[0]), by_size);
	return numbers[count / 2];
}

static int sync_tell(const struct wish *wish, struct report *reports)
{
	double iter_ms = 0;
	double exposed_ms = 0;

	for (int rank = 0; rank < wish->ranks; rank++) {
		double exposed = sync_median(reports[rank].exposed_ms, wish->steps);

		if (reports[rank].wrong || reports[rank].bytes != reports[rank].theory) {
			fprintf(stderr, "bench_sync: rank %d: %s\n", rank,
				reports[rank].wrong ? "a sum is wrong"
						    : "its bytes are not the theory's");
			return 1;
		}
		if (exposed >= exposed_ms) {
			exposed_ms = exposed;
			iter_ms = sync_median(reports[rank].iter_ms, wish->steps);
		}
	}
	printf("share=%.2f iter_ms=%.1f exposed_ms=%.1f bytes=%lu theory=%lu buckets=%zu\n",
	       100 * exposed_ms / iter_ms, iter_ms, exposed_ms, (unsigned long)reports[0].bytes,
	       (unsigned long)reports[0].theory, reports[0].buckets);
	return 0;
}

int main(int argc, char **argv)
{
	struct shared_memory *memory;
	struct report *reports;
	pid_t pids[COMM_RANKS_MAX];
	int status;
	int bad = 0;

	if (argc != 7) {
		fprintf(stderr,
			"usage: bench_sync RANKS NUMBERS BYTES_PER_S BACKWARD_MS STEPS blob|none|bf16|fp16|int8\n");
		return 2;
	}
	struct wish wish = {.ranks = atoi(argv[1]),
			    .numbers = strtoul(argv[2], NULL, 10),
			    .bytes_per_s = strtod(argv[3], NULL),
			    .backward_ms = strtod(argv[4], NULL),
			    .steps = atoi(argv[5]),
			    .blob = strcmp(argv[6], "blob") == 0,
			    .codec = strcmp(argv[6], "blob") == 0 ? CODEC_NONE
								  : codec_parse(argv[6])};

	if (wish.ranks < 1 || wish.ranks > COMM_RANKS_MAX || wish.steps < 1 ||
	    wish.steps > STEPS_MAX || wish.numbers < SLICES || wish.codec == CODECS ||
	    shared_memory_new(wish.ranks, RING, &memory) != 0)
		return 2;
	reports = mmap(NULL, sizeof(*reports) * (size_t)wish.ranks, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reports == MAP_FAILED)
		return 1;
	for (int rank = 0; rank < wish.ranks; rank++) {
		pids[rank] = fork();
		if (pids[rank] == 0) {
			run_rank(&wish, memory, rank, &reports[rank]);
			exit(0);
		}
	}
	for (int rank = 0; rank < wish.ranks; rank++)
		bad |= waitpid(pids[rank], &status, 0) != pids[rank] || status != 0;
	shared_memory_free(memory);
	return bad ? 1 : sync_tell(&wish, reports);
}
