/* What a checkpoint holds, and how all ranks go on from the same one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/pages.h"
#include "common/base/text.h"

#include "trainer_image/train/checkpoint.h"
#include "trainer_image/train/train_private.h"

enum { TRAIN_LOCK_MS = 3000, TRAIN_LOCK_PAUSE_MS = 50 };

/* --- terms --- */

static uint64_t train_save_model_digest(const struct train *train)
{
	CLEANUP(text_done) struct text text = {0};

	model_print(train->model, &text);
	return hash_bytes(HASH_START, text_get(&text), text.size);
}

/* The bits of a sum depend on the order of parts, and of ops. */
static uint64_t train_save_order_digest(const struct train *train)
{
	const struct graph *graph = train->engine.graph;
	uint64_t digest = HASH_START;

	for (int i = 0; i < graph->op_count; i++)
		digest = hash_number(digest, (uint64_t)graph->ops[i].kind);
	for (size_t i = 0; i < train->weights.count; i++) {
		digest = hash_number(digest, train->weights.parts[i].first);
		digest = hash_number(digest, train->weights.parts[i].count);
	}
	return digest;
}

static uint64_t train_save_text_digest(const char *text)
{
	return hash_bytes(HASH_START, text, strlen(text));
}

/* What a run must have in common with its checkpoints to go on to the same bits. */
static void train_save_terms(const struct train *train, struct terms *terms)
{
	const struct job *job = train->job;
	const struct job_optimizer *optimizer = &job->optimizer;
	const struct job_schedule *schedule = &job->schedule;

	terms_add(terms, "model", "%s %016" PRIx64, train->model->name,
		  train_save_model_digest(train));
	terms_add(terms, "order", "%016" PRIx64, train_save_order_digest(train));
	terms_add(terms, "data.train", "%016" PRIx64, feed_digest(train->feed));
	terms_add(terms, "data.augment", "%016" PRIx64,
		  train_save_text_digest(feed_augment(train->feed)));
	terms_add(terms, "seed", "%" PRId64, job->seed);
	terms_add(terms, "device", "%s", train->ops->backend->name);
	terms_add(terms, "type", "%s", tensor_type_text(train->engine.graph->type));
	terms_add(terms, "batch", "%" PRId64, job->batch);
	terms_add(terms, "accumulate", "%" PRId64, job->accumulate);
	terms_add(terms, "optimizer", "%d %g %g %g %g", optimizer->kind, optimizer->rate,
		  optimizer->momentum, optimizer->momentum2, optimizer->epsilon);
	terms_add(terms, "optimizer.more", "%g %g %d", optimizer->decay, optimizer->trust,
		  optimizer->nesterov ? 1 : 0);
	terms_add(terms, "schedule", "%s %g %g %g %g", schedule_words[schedule->kind],
		  schedule->warmup, schedule->every, schedule->factor, schedule->last);
	terms_add(terms, "ranks", "%d", train->ranks);
	terms_add(terms, "ranks.codec", "%" PRId64, (int64_t)job->ranks.codec);
}

int train_agree(struct train *train, struct problem *problem)
{
	struct terms terms = {0};

	if (train->ranks < 2)
		return 0;
	train_save_terms(train, &terms);
	/* The schedule: which op runs when, and which numbers are summed together. */
	terms_add(&terms, "graph", "%016" PRIx64, graph_digest(train->engine.graph));
	terms_add(&terms, "memory", "%" PRId64, train_budget(train));
	terms_add(&terms, "plan", "%016" PRIx64, plan_digest(train->engine.plan));
	exchange_terms_add(train->exchange, &terms);
	/* All of them also have to end together, and to save together. */
	terms_add(&terms, "epochs", "%" PRId64, train->job->epochs);
	terms_add(&terms, "data.evaluate", "%016" PRIx64, train->evaluation_digest);
	terms_add(&terms, "checkpoint.every", "%" PRId64, train->job->checkpoint.every);
	terms_add(&terms, "checkpoint", "%s", train->job->checkpoint.folder[0] ? "yes" : "no");
	int rc = terms_agree(train->team->transport, &terms, problem);

	return rc == 0 || rc == E_CONFLICT || rc == E_PROTOCOL || rc == -EINVAL || rc == -ENOMEM
		       ? rc
		       : team_blame(train->team, rc, problem);
}

/* --- regions --- */

struct train_save_list {
	struct checkpoint_region *regions;
	size_t count, room;
	bool failed; /* no memory */
};

static void train_save_add(struct train_save_list *list, enum checkpoint_kind kind,
			   const char *name, void *data, size_t bytes)
{
	if (data && list->count < list->room)
		list->regions[list->count++] = (struct checkpoint_region){name, kind, data, bytes};
}

/* Memory of the back end: itself, or its copy on the host. */
static void train_save_add_memory(struct train *train, struct train_save_list *list,
				  enum checkpoint_kind kind, const char *name, void *memory,
				  size_t bytes)
{
	struct train_mirror mirror = {.memory = memory, .bytes = bytes};

	if (train->ops->backend->on_host || !memory) {
		train_save_add(list, kind, name, memory, bytes);
		return;
	}
	mirror.copy = pages_new(bytes + 1);
	list->failed = list->failed || !mirror.copy;
	if (!mirror.copy)
		return;
	train->mirrors[train->mirror_count++] = mirror;
	train_save_add(list, kind, name, mirror.copy, bytes);
}

/* Between a device and the copies of its memory. */
static int train_save_mirror(const struct train *train, enum ops_way way)
{
	int rc = 0;

	for (size_t i = 0; i < train->mirror_count && rc == 0; i++) {
		const struct train_mirror *mirror = &train->mirrors[i];

		rc = ops_copy(train->ops, way == OPS_IN ? mirror->memory : mirror->copy,
			      way == OPS_IN ? mirror->copy : mirror->memory, mirror->bytes, way);
	}
	return rc;
}

static int train_save_device(const struct train *train, int rc, struct problem *problem)
{
	return rc == 0 ? 0
		       : ops_fault_tell(train->ops, rc, problem, "step %" PRIu64,
					train->state.step);
}

static void train_save_list(struct train *train, struct train_save_list *list)
{
	const struct graph *graph = train->engine.graph;
	struct weights *weights = &train->weights;
	size_t bytes = weights->numbers * sizeof(float);
	struct exchange_lost lost = {0};

	for (size_t i = 0; i < weights->count; i++)
		train_save_add_memory(train, list, CHECKPOINT_WEIGHT,
				      graph_tensor_name(graph, weights->parts[i].tensor),
				      weights->parts[i].master,
				      weights->parts[i].count * sizeof(float));
	for (int i = 0; i < graph->tensor_count; i++)
		if (graph->tensors[i].role == GRAPH_STATISTIC)
			train_save_add_memory(train, list, CHECKPOINT_STATISTIC,
					      graph_tensor_name(graph, i),
					      executor_tensor(train->engine.executor, i),
					      (size_t)graph_tensor_bytes(graph, i));
	train_save_add_memory(train, list, CHECKPOINT_OPTIMIZER, "velocity", weights->velocity,
			      bytes);
	train_save_add_memory(train, list, CHECKPOINT_OPTIMIZER, "square", weights->square, bytes);
	train_save_add(list, CHECKPOINT_LOADER, "state", &train->state, sizeof(train->state));
	if (train->exchange)
		lost = exchange_lost(train->exchange);
	train_save_add(list, CHECKPOINT_LOST, "mine", lost.mine, bytes);
	train_save_add(list, CHECKPOINT_LOST, "owned", lost.owned, bytes);
}

static void train_save_fault(void *context, const struct problem *problem)
{
	train_note(context, "a checkpoint is passed over: %s", problem->message);
}

/* The ranks of a job that was just killed may still be on their way out. */
static int train_save_lock(const struct checkpoint_options *options, struct checkpoints **ret,
			   struct problem *problem)
{
	const struct timespec pause = {.tv_nsec = TRAIN_LOCK_PAUSE_MS * 1000000L};
	int rc = checkpoints_open(options, ret, problem);

	for (int waited = 0; rc == E_CONFLICT && waited < TRAIN_LOCK_MS;
	     waited += TRAIN_LOCK_PAUSE_MS) {
		(void)nanosleep(&pause, NULL);
		rc = checkpoints_open(options, ret, problem);
	}
	return rc;
}

static int train_save_open(struct train *train, struct problem *problem)
{
	const struct graph *graph = train->engine.graph;
	CLEANUP(text_done) struct text folder = {0};
	struct train_save_list list = {.room = (size_t)graph->tensor_count + 8};
	struct terms terms = {0};

	text_add(&folder, train->job->checkpoint.folder);
	if (train->ranks > 1)
		text_addf(&folder, "/rank-%d", train->rank);
	CLEANUP(freep) void *regions = list.regions = calloc(list.room, sizeof(*list.regions));
	train->mirrors = calloc(list.room, sizeof(*train->mirrors));
	if (!regions || !train->mirrors || folder.failed)
		return problem_set(problem, -ENOMEM, "no memory");
	train_save_terms(train, &terms);
	train_save_list(train, &list);
	if (list.failed)
		return problem_set(problem, -ENOMEM, "no memory for checkpoints");
	const struct checkpoint_options options = {
		.folder = text_get(&folder),
		.keep = (uint32_t)train->job->checkpoint.keep,
		.terms = &terms,
		.regions = list.regions,
		.region_count = list.count,
		.fault = train_save_fault,
		.context = train,
	};

	return train_save_lock(&options, &train->checkpoints, problem);
}

/* --- going on --- */

/* The step that all ranks can go on from; 0 = none. A rank whose newest file is damaged or not yet written has an
 * older one, and all take that. */
static int train_save_common(struct train *train, uint64_t *ret, struct problem *problem)
{
	uint64_t step = UINT64_MAX;
	uint64_t before;

	do {
		before = step;
		int rc = checkpoints_newest(train->checkpoints, step, &step, problem);

		if (rc == E_NOT_FOUND)
			step = 0;
		else if (rc != 0)
			return rc;
		rc = team_least(train->team, &step, problem);
		if (rc != 0)
			return rc;
	} while (step != before && step > 0 && train->ranks > 1);
	*ret = step;
	return 0;
}

/* What `auto` chose before is told as a choice is. */
static int train_save_resume_sums(struct train *train, struct problem *problem)
{
	bool open = exchange_codec(train->exchange) == CODECS;
	enum codec codec = train->state.codec < CODECS ? (enum codec)train->state.codec : CODECS;
	int rc = exchange_resume(train->exchange, codec, problem);

	if (rc == 0 && open && codec < CODECS)
		train_note(train,
			   "ranks.codec = auto: gradients travel as %s, as the checkpoint says",
			   codec_text(codec));
	return rc;
}

static int train_save_loaded(struct train *train, struct problem *problem)
{
	int rc = train_save_mirror(train, OPS_IN);

	if (rc == 0)
		rc = weights_copy(&train->weights);
	if (rc != 0)
		return train_save_device(train, rc, problem);
	train->scale.scale = train->state.scale;
	train->scale.good = train->state.good;
	train->saved = train->state.step;
	train->result.saved = true;
	if (train->exchange)
		rc = train_save_resume_sums(train, problem);
	return rc != 0 ? rc : train_feed_new(train, problem);
}

int train_resume(struct train *train, bool *ret_resumed, struct problem *problem)
{
	uint64_t step = 0;
	int rc;

	*ret_resumed = false;
	if (!train->job->checkpoint.folder[0])
		return 0;
	rc = train_save_open(train, problem);
	if (rc == 0)
		rc = train_save_common(train, &step, problem);
	if (rc != 0)
		return rc;
	/* Also where there is none: it says from where on saves may follow. */
	rc = checkpoints_load(train->checkpoints, step, &step, problem);
	*ret_resumed = rc == 0;
	if (rc == E_NOT_FOUND) {
		*problem = (struct problem){0};
		return 0;
	}
	return rc != 0 ? rc : train_save_loaded(train, problem);
}

/* --- saves --- */

/* A checkpoint that could not be written costs no training: the next one may be. */
static void train_save_failed(struct train *train, const struct problem *problem)
{
	train_note(train, "%s%s%s", problem->message, problem->detail[0] ? "; " : "",
		   problem->detail);
}

/* Such a checkpoint would push out one that training can go on from. */
static int train_save_refuse(const struct train *train, int part, struct problem *problem)
{
	int tensor = train->weights.parts[part].tensor;

	(void)problem_set(problem, E_MALFORMED, "step %" PRIu64 ": a weight is not a number",
			  train->state.step);
	problem_detail(problem, "first broken: %s", graph_tensor_name(train->engine.graph, tensor));
	problem_hint(problem, "a smaller optimizer.rate or a longer schedule.warmup; checkpoints "
			      "before this step are whole");
	return E_MALFORMED;
}

int train_save(struct train *train, struct problem *problem)
{
	const struct train_hooks *hooks = train->options->hooks;
	struct problem late = {0};

	if (!train->checkpoints)
		return 0;
	int broken;
	int rc = weights_broken_master(&train->weights, &broken);

	if (rc == 0 && broken >= 0)
		return train_save_refuse(train, broken, problem);
	if (rc == 0)
		rc = train_save_mirror(train, OPS_OUT);
	if (rc != 0)
		return train_save_device(train, rc, problem);
	train->state.scale = train->scale.scale;
	train->state.good = train->scale.good;
	if (train->exchange) {
		rc = exchange_lost_save(train->exchange, problem);
		train->state.codec = exchange_codec(train->exchange);
	}
	if (rc != 0)
		return rc;
	train_metrics_sync(train);
	if (checkpoints_save(train->checkpoints, train->state.step, &late) != 0)
		train_save_failed(train, &late);
	train->saved = train->state.step;
	if (hooks->saved)
		hooks->saved(hooks->context, train->state.step);
	return 0;
}

/* The last one counts: training is over, and nothing comes behind it. */
int train_save_end(struct train *train, struct problem *problem)
{
	if (!train->checkpoints)
		return 0;
	int rc = checkpoints_wait(train->checkpoints, problem);

	train->result.saved = rc == 0 && train->saved == train->state.step;
	return rc;
}

void train_save_close(struct train *train)
{
	if (train->checkpoints)
		checkpoints_close(train->checkpoints);
	for (size_t i = 0; i < train->mirror_count; i++)
		pages_free(train->mirrors[i].copy, train->mirrors[i].bytes + 1);
	free(train->mirrors);
}
