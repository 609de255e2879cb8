#include "trainer_image/train/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/pages.h"

#include "trainer_image/comm/link_measure.h"
#include "trainer_image/comm/sum_queue.h"
#include "trainer_image/train/device_link.h"
#include "trainer_image/train/exchange_private.h"

enum {
	EXCHANGE_FIRST_BUCKET = 1 << 18, /* numbers */
	EXCHANGE_STEPS = 4,              /* that are measured before the buckets are cut */
};

struct exchange {
	struct team *team;
	struct levels levels;
	struct weights *weights;
	struct transport *link; /* of devices; NULL: the host sums */
	enum job_codec wish;
	enum codec codec;
	bool keeps; /* what the codec loses, since the last cut */
	struct exchange_lost lost;
	struct sum_queue *queue;
	struct sum_bucket *buckets;
	size_t *ends; /* of each bucket, the part behind its last */
	size_t bucket_count;
	size_t ready, told; /* parts, buckets of this step */
	struct bucket_gradient *timeline;
	double *marks; /* of a step, for the timeline */
	int steps;     /* measured so far; EXCHANGE_STEPS: the buckets are cut */
};

static size_t exchange_vector(const struct exchange *exchange)
{
	return exchange->weights->numbers * sizeof(float) + 1;
}

static size_t exchange_part_end(const struct exchange *exchange, size_t part)
{
	const struct weights *weights = exchange->weights;

	return part < weights->count ? weights->parts[part].first : weights->numbers;
}

static struct transport *exchange_transport(const struct exchange *exchange)
{
	return exchange->link ? exchange->link : exchange->team->transport;
}

static int exchange_device(const struct exchange *exchange, int rc, struct problem *problem)
{
	if (rc == 0)
		return 0;
	rc = ops_fault_tell(exchange->weights->ops, rc, problem, "sums over ranks");
	exchange_why(exchange, problem);
	return rc;
}

void exchange_why(const struct exchange *exchange, struct problem *problem)
{
	if (exchange && exchange->link)
		ops_sum_why(exchange->weights->ops, problem);
}

/* Why a sum ended with `rc`. What a device says may follow from another rank's end: team_settle() knows. */
static int exchange_failed(const struct exchange *exchange, int rc, struct problem *problem)
{
	return exchange->link ? exchange_device(exchange, rc, problem)
			      : team_blame(exchange->team, rc, problem);
}

/* --- what the codec lost --- */

struct exchange_lost exchange_lost(struct exchange *exchange)
{
	return exchange->lost;
}

int exchange_lost_save(struct exchange *exchange, struct problem *problem)
{
	size_t size = exchange->weights->numbers * sizeof(float);
	int rc = 0;

	if (!exchange->keeps)
		return 0;
	memset(exchange->lost.mine, 0, size);
	memset(exchange->lost.owned, 0, size);
	for (size_t i = 0; rc == 0 && i < exchange->bucket_count; i++) {
		const struct sum_bucket *bucket = &exchange->buckets[i];
		struct levels_share share = levels_share(&exchange->levels, bucket->count);

		rc = sum_queue_lost_get(exchange->queue, i,
					exchange->lost.mine + bucket->first + share.mine_first,
					exchange->lost.owned + bucket->first + share.owned_first);
	}
	return rc == 0 ? 0 : exchange_failed(exchange, rc, problem);
}

/* Who keeps a number's loss may have changed with the cut: each has them all for a moment. */
static int exchange_lost_gather(struct exchange *exchange, struct problem *problem)
{
	struct team *team = exchange->team;
	size_t numbers = exchange->weights->numbers;
	int rc = team_sum(team, exchange->lost.owned, numbers, problem);

	return rc == 0 ? team_sum_of(team, &exchange->levels.machine, exchange->lost.mine, numbers,
				     problem)
		       : rc;
}

static int exchange_lost_load(struct exchange *exchange, struct problem *problem)
{
	if (!exchange->keeps)
		return 0;
	int rc = exchange_lost_gather(exchange, problem);

	if (rc != 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < exchange->bucket_count; i++) {
		const struct sum_bucket *bucket = &exchange->buckets[i];
		struct levels_share share = levels_share(&exchange->levels, bucket->count);

		rc = sum_queue_lost_set(exchange->queue, i,
					exchange->lost.mine + bucket->first + share.mine_first,
					exchange->lost.owned + bucket->first + share.owned_first);
	}
	return rc == 0 ? 0 : exchange_failed(exchange, rc, problem);
}

/* --- buckets --- */

static struct sum_options exchange_options(const struct exchange *exchange)
{
	return (struct sum_options){.way = COLLECTIVE_DIRECT,
				    .codec = exchange->codec,
				    .feedback = exchange->codec == CODEC_INT8,
				    .levels = exchange->levels};
}

void exchange_terms_add(const struct exchange *exchange, struct terms *terms)
{
	const struct sum_options options = exchange_options(exchange);

	sum_terms_add(terms, &options, exchange->buckets, exchange->bucket_count);
	terms_add(terms, "ranks.sum", "%s", exchange->link ? "nccl" : "host");
}

/* What was lost is kept, and the memory of the queue is free. */
static int exchange_drop(struct exchange *exchange, struct problem *problem)
{
	int rc = exchange->queue ? exchange_lost_save(exchange, problem) : 0;

	sum_queue_free(exchange->queue);
	exchange->queue = NULL;
	exchange->keeps = false;
	return rc;
}

/* Numbers up to `end` become buckets of at most EXCHANGE_BUCKET, all ready with the same part. */
static void exchange_add_buckets(struct exchange *exchange, size_t part, size_t begin, size_t end)
{
	while (begin < end) {
		size_t count = end - begin < EXCHANGE_BUCKET ? end - begin : EXCHANGE_BUCKET;

		exchange->buckets[exchange->bucket_count] = (struct sum_bucket){begin, count};
		exchange->ends[exchange->bucket_count++] = part;
		begin += count;
	}
}

/* `ends`: as bucket_plan has them. */
static int exchange_set_buckets(struct exchange *exchange, const size_t ends[], size_t count)
{
	size_t most = count + exchange->weights->numbers / EXCHANGE_BUCKET;
	struct sum_bucket *buckets = calloc(most, sizeof(*buckets));
	size_t *copy = calloc(most, sizeof(*copy));

	free(exchange->buckets);
	free(exchange->ends);
	exchange->buckets = buckets;
	exchange->ends = copy;
	exchange->bucket_count = 0;
	if (!buckets || !copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		exchange_add_buckets(exchange, ends[i],
				     exchange_part_end(exchange, i > 0 ? ends[i - 1] : 0),
				     exchange_part_end(exchange, ends[i]));
	return 0;
}

/* A queue for the buckets. Takes what was lost along. The first one has lost nothing, and sends nothing: ranks compare
 * their terms behind it. */
static int exchange_renew(struct exchange *exchange, bool is_first, struct problem *problem)
{
	const struct sum_options options = exchange_options(exchange);
	int rc = sum_queue_new(
		exchange_transport(exchange),
		exchange->link ? exchange->weights->gradient : exchange->weights->shared,
		exchange->buckets, exchange->bucket_count, &options, &exchange->queue);

	if (rc != 0)
		return problem_set(problem, rc, "buckets of gradients: %s", error_text(rc));
	exchange->keeps = options.feedback;
	return is_first ? 0 : exchange_lost_load(exchange, problem);
}

/* Before anything was measured. */
static int exchange_cut_first(struct exchange *exchange, struct problem *problem)
{
	const struct weights *weights = exchange->weights;
	CLEANUP(freep) size_t *ends = calloc(weights->count + 1, sizeof(*ends));
	size_t count = 0;
	size_t begin = 0;

	if (!ends)
		return problem_set(problem, -ENOMEM, "no memory");
	for (size_t i = 1; i <= weights->count; i++) {
		if (i < weights->count &&
		    exchange_part_end(exchange, i) - begin < EXCHANGE_FIRST_BUCKET)
			continue;
		ends[count++] = i;
		begin = exchange_part_end(exchange, i);
	}
	int rc = exchange_set_buckets(exchange, ends, count);

	return rc == 0 ? exchange_renew(exchange, true, problem)
		       : problem_set(problem, rc, "no memory for buckets of gradients");
}

/* The mean of the measured steps, and of all ranks the latest: all ranks have the same. */
static int exchange_share_timeline(struct exchange *exchange, struct problem *problem)
{
	struct team *team = exchange->team;
	struct collective_group group = collective_all(team->transport);
	size_t count = exchange->weights->count;
	CLEANUP(freep) double *mine = calloc(count, sizeof(*mine));
	CLEANUP(freep) double *all = calloc(count * (size_t)team->ranks, sizeof(*all));

	if (!mine || !all)
		return problem_set(problem, -ENOMEM, "no memory");
	for (size_t i = 0; i < count; i++)
		mine[i] = exchange->timeline[i].ready_ms / EXCHANGE_STEPS;
	int rc = collective_gather(team->transport, &group, mine, count * sizeof(*mine), all);

	if (rc != 0)
		return team_blame(team, rc, problem);
	for (size_t i = 0; i < count; i++) {
		struct bucket_gradient *gradient = &exchange->timeline[i];

		/* Clocks of devices have steps: times never go back. */
		gradient->ready_ms = i > 0 ? exchange->timeline[i - 1].ready_ms : 0;
		for (size_t k = 0; k < (size_t)team->ranks; k++)
			if (all[k * count + i] > gradient->ready_ms)
				gradient->ready_ms = all[k * count + i];
	}
	return 0;
}

/* For the rest of the job. */
static void exchange_choose(struct exchange *exchange, enum codec codec)
{
	exchange->codec = codec;
	exchange->wish = (enum job_codec)codec;
}

/* All ranks measure the same link, so they come to the same cut. */
static int exchange_cut_measured(struct exchange *exchange, struct problem *problem)
{
	const struct link_probe probe = {
		.sums = exchange_transport(exchange),
		.words = exchange->team->transport,
		.way = COLLECTIVE_DIRECT,
		.count = exchange_probe(exchange->weights->numbers, exchange->link != NULL),
		.levels = exchange->levels};
	size_t count = exchange->weights->count;
	struct link_choice choice = {.codec = exchange->codec};
	int rc = exchange_share_timeline(exchange, problem);

	if (rc != 0 || count > BUCKET_GRADIENTS_MAX)
		return rc;
	rc = exchange_drop(exchange, problem);
	if (rc != 0)
		return rc;
	if (exchange->wish == JOB_CODEC_AUTO) {
		rc = link_choose(&probe, exchange->timeline, count, CODEC_INT8, &choice);
	} else {
		rc = link_measure(&probe, exchange->codec, &choice.link);
		if (rc == 0)
			rc = bucket_cut(exchange->timeline, count, &choice.link, &choice.plan);
	}
	if (rc != 0)
		return exchange_failed(exchange, rc, problem);
	exchange_choose(exchange, choice.codec);
	rc = exchange_set_buckets(exchange, choice.plan.ends, choice.plan.count);
	bucket_plan_done(&choice.plan);
	return rc == 0 ? exchange_renew(exchange, false, problem)
		       : problem_set(problem, rc, "no memory for buckets of gradients");
}

/* Checkpoints of two runs that chose apart do not belong together. */
static int exchange_compare(struct exchange *exchange, enum codec codec, struct problem *problem)
{
	uint64_t least = codec;
	uint64_t inverse = ~least;
	int rc = team_least(exchange->team, &least, problem);

	if (rc == 0)
		rc = team_least(exchange->team, &inverse, problem);
	if (rc != 0 || least == ~inverse)
		return rc;
	(void)problem_set(problem, E_CONFLICT, "checkpoints of ranks have different codecs");
	problem_detail(problem, "ranks.codec = \"auto\" chose %s here",
		       codec < CODECS ? codec_text(codec) : "none yet");
	problem_hint(problem, "take the checkpoints of one run for all ranks");
	return E_CONFLICT;
}

int exchange_resume(struct exchange *exchange, enum codec codec, struct problem *problem)
{
	bool chosen = exchange->wish == JOB_CODEC_AUTO && codec < CODECS;
	int rc = exchange_compare(exchange, codec, problem);

	if (rc != 0 || !chosen)
		return rc != 0 ? rc : exchange_lost_load(exchange, problem);
	rc = exchange_drop(exchange, problem);
	exchange_choose(exchange, codec);
	return rc == 0 ? exchange_renew(exchange, false, problem) : rc;
}

/* --- steps --- */

static bool exchange_measures(const struct exchange *exchange)
{
	return exchange->steps < EXCHANGE_STEPS;
}

int exchange_begin(struct exchange *exchange)
{
	exchange->ready = exchange->told = 0;
	return exchange_measures(exchange) ? ops_mark(exchange->weights->ops, 0) : 0;
}

int exchange_ready(struct exchange *exchange)
{
	int rc = exchange->link ? 0 : weights_share(exchange->weights, exchange->ready);

	exchange->ready++;
	if (rc == 0 && exchange_measures(exchange))
		rc = ops_mark(exchange->weights->ops, exchange->ready);
	while (rc == 0 && exchange->told < exchange->bucket_count &&
	       exchange->ends[exchange->told] <= exchange->ready) {
		sum_queue_ready(exchange->queue);
		exchange->told++;
	}
	return rc;
}

/* The times of this step to those of the steps before. */
static int exchange_add_marks(struct exchange *exchange)
{
	int rc = ops_marks(exchange->weights->ops, exchange->weights->count, exchange->marks);

	for (size_t i = 0; rc == 0 && i < exchange->weights->count; i++)
		exchange->timeline[i].ready_ms += exchange->marks[i];
	return rc;
}

int exchange_wait(struct exchange *exchange, int64_t *ret_exposed_us, struct problem *problem)
{
	int rc = sum_queue_wait(exchange->queue, ret_exposed_us);

	if (rc != 0)
		return exchange_failed(exchange, rc, problem);
	if (!exchange->link)
		rc = weights_share_end(exchange->weights);
	if (rc == 0 && exchange_measures(exchange))
		rc = exchange_add_marks(exchange);
	if (rc != 0 || !exchange_measures(exchange))
		return exchange_device(exchange, rc, problem);
	exchange->steps++;
	return exchange_measures(exchange) ? 0 : exchange_cut_measured(exchange, problem);
}

/* --- begin and end --- */

static int exchange_room(struct exchange *exchange)
{
	const struct weights *weights = exchange->weights;

	exchange->timeline = calloc(weights->count + 1, sizeof(*exchange->timeline));
	exchange->marks = calloc(weights->count + 1, sizeof(*exchange->marks));
	if (!exchange->timeline || !exchange->marks)
		return -ENOMEM;
	for (size_t i = 0; i < weights->count; i++)
		exchange->timeline[i].count =
			exchange_part_end(exchange, i + 1) - exchange_part_end(exchange, i);
	if (exchange->wish != JOB_CODEC_INT8 && exchange->wish != JOB_CODEC_AUTO)
		return 0;
	exchange->lost.mine = pages_new(exchange_vector(exchange));
	exchange->lost.owned = pages_new(exchange_vector(exchange));
	return exchange->lost.mine && exchange->lost.owned ? 0 : -ENOMEM;
}

/* Both are asked before ranks join each other by the one, while others wait for them by the other. */
static int exchange_same_way(struct team *team, bool on_device, struct problem *problem)
{
	uint64_t rank = (uint64_t)team->rank;
	uint64_t host = on_device ? COMM_RANKS_MAX : rank;
	uint64_t device = on_device ? rank : COMM_RANKS_MAX;
	int rc = team_least(team, &host, problem);

	if (rc == 0)
		rc = team_least(team, &device, problem);
	if (rc != 0 || host == COMM_RANKS_MAX || device == COMM_RANKS_MAX)
		return rc;
	(void)problem_set(problem, E_CONFLICT,
			  "rank %" PRIu64 " sums over the host, and rank %" PRIu64 " by NCCL", host,
			  device);
	problem_hint(problem, "give all ranks the same device and the same ranks.sum");
	return E_CONFLICT;
}

int exchange_new(struct team *team, struct weights *weights, const struct job_ranks *ranks,
		 struct exchange **ret, struct problem *problem)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	int machine_of[COMM_RANKS_MAX];

	if (!exchange)
		return problem_set(problem, -ENOMEM, "no memory");
	job_machines(ranks, machine_of);
	exchange->team = team;
	exchange->levels = levels_of(machine_of, team->rank, team->ranks);
	exchange->weights = weights;
	exchange->wish = (enum job_codec)ranks->codec;
	exchange->codec =
		exchange->wish == JOB_CODEC_AUTO ? CODEC_NONE : (enum codec)exchange->wish;
	int rc = exchange_room(exchange);

	if (rc != 0) {
		exchange_free(exchange);
		return problem_set(problem, rc, "no memory for the sums of gradients");
	}
	bool on_device = job_sums_on_device(ranks, ops_sums(weights->ops));

	rc = exchange_same_way(team, on_device, problem);
	if (rc == 0 && on_device)
		rc = device_link_new(team, weights->ops, &exchange->link, problem);
	if (rc == 0)
		rc = exchange_cut_first(exchange, problem);
	if (rc != 0) {
		exchange_free(exchange);
		return rc;
	}
	*ret = exchange;
	return 0;
}

void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	device_link_leave(exchange->link);
	sum_queue_free(exchange->queue);
	transport_free(exchange->link);
	pages_free(exchange->lost.mine, exchange_vector(exchange));
	pages_free(exchange->lost.owned, exchange_vector(exchange));
	free(exchange->buckets);
	free(exchange->ends);
	free(exchange->timeline);
	free(exchange->marks);
	free(exchange);
}

int exchange_machines(const struct exchange *exchange)
{
	return levels_machines(&exchange->levels);
}

enum codec exchange_codec(const struct exchange *exchange)
{
	return exchange->wish == JOB_CODEC_AUTO ? CODECS : exchange->codec;
}
