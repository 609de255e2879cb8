/* The sizes of an exchange: the memory that sums take of a device, known before the first step. */
#include "trainer_image/comm/link_measure.h"
#include "trainer_image/comm/sum_queue.h"
#include "trainer_image/plan/plan_lasting.h"
#include "trainer_image/train/exchange_private.h"

enum {
	/* Numbers of a measured sum: so many that their time shows beside the latency. */
	EXCHANGE_PROBE = 256 << 10,
	EXCHANGE_PROBE_DEVICE = 4 << 20,
	EXCHANGE_PROBE_LEAST = 4096,
};

/* No larger than what is summed. */
size_t exchange_probe(size_t numbers, bool of_devices)
{
	size_t most = of_devices ? EXCHANGE_PROBE_DEVICE : EXCHANGE_PROBE;
	size_t count = numbers < most ? numbers : most;

	return count > EXCHANGE_PROBE_LEAST ? count : EXCHANGE_PROBE_LEAST;
}

static size_t exchange_parts(const struct graph *graph)
{
	size_t count = 0;

	for (int i = 0; i < graph->tensor_count; i++)
		count += graph->tensors[i].role == GRAPH_PARAMETER ? 1 : 0;
	return count;
}

static struct sum_options exchange_options_most(const struct levels *levels, enum job_codec wish)
{
	bool is_int8 = wish == JOB_CODEC_INT8;

	return (struct sum_options){.way = COLLECTIVE_DIRECT,
				    .codec = is_int8 ? CODEC_INT8 : CODEC_NONE,
				    .feedback = is_int8 || wish == JOB_CODEC_AUTO,
				    .levels = *levels};
}

int64_t exchange_memory(const struct job_ranks *ranks, int rank, const struct graph *graph)
{
	size_t numbers = (size_t)plan_lasting_numbers(graph);
	size_t parts = exchange_parts(graph);
	int machine_of[COMM_RANKS_MAX];

	job_machines(ranks, machine_of);
	struct levels levels = levels_of(machine_of, rank, (int)ranks->count);
	struct sum_options options = exchange_options_most(&levels, (enum job_codec)ranks->codec);
	size_t bucket = numbers < EXCHANGE_BUCKET ? numbers : EXCHANGE_BUCKET;
	size_t queue =
		sum_queue_memory(&options, numbers, parts + numbers / EXCHANGE_BUCKET, bucket);
	size_t probe = link_memory(&levels, COLLECTIVE_DIRECT, exchange_probe(numbers, true));

	return (int64_t)(queue > probe ? queue : probe);
}
