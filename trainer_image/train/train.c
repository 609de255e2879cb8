#include "trainer_image/train/train.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/ops/ops_sum.h"
#include "trainer_image/plan/plan_report.h"
#include "trainer_image/train/executor_plan.h"
#include "trainer_image/train/train_private.h"

void train_note(struct train *train, const char *format, ...)
{
	const struct train_hooks *hooks = train->options->hooks;
	va_list arguments;
	char line[400];

	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_blank_controls(line, strlen(line));
	if (hooks->note)
		hooks->note(hooks->context, line);
}

static void train_fault(void *context, uint64_t sample, const struct problem *problem)
{
	train_note(context, "sample %" PRIu64 " is left out: %s", sample, problem->message);
}

/* --- begin --- */

int64_t train_budget(const struct train *train)
{
	return train->job->memory[0] ? plan_bytes_parse(train->job->memory) : 0;
}

static struct plan_lasting train_lasting(const struct train *train, const struct graph *graph)
{
	const struct job *job = train->job;
	struct plan_lasting lasting = plan_lasting(graph, (enum plan_optimizer)job->optimizer.kind,
						   job->device == JOB_CUDA);

	if (train->ranks > 1 && job_sums_on_device(&job->ranks, ops_sums(train->ops)))
		lasting.sums = exchange_memory(&job->ranks, train->rank, graph);
	return lasting;
}

int train_engine_new(struct train *train, bool training, struct train_engine *ret,
		     struct problem *problem)
{
	const struct executor *beside = training ? NULL : train->engine.executor;
	int rc = graph_build(train->model, train->job->batch, job_tensor_type(train->job), training,
			     &ret->graph, problem);
	struct plan_options options = {.budget = train_budget(train)};

	/* Evaluation runs beside what training holds. */
	if (rc == 0 && training)
		train->lasting = train_lasting(train, ret->graph);
	options.beside = plan_lasting_sum(&train->lasting);
	if (rc == 0)
		rc = executor_plan(ret->graph, train->ops, train->team, &options, &ret->plan,
				   problem);
	if (rc == 0)
		rc = executor_new(ret->graph, ret->plan, train->ops, beside, &ret->executor,
				  problem);
	return rc;
}

static void train_engine_free(struct train_engine *engine)
{
	executor_free(engine->executor);
	plan_free(engine->plan);
	graph_free(engine->graph);
}

static unsigned train_threads(const struct train *train)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	long share = processors / job_machine_ranks(train->job, train->rank);

	if (train->job->threads > 0)
		return (unsigned)train->job->threads;
	return share > 1 ? (unsigned)share : 1;
}

/* A set as each rank will read it: it is held to the model before the first step. */
static int train_try_set(struct train *train, const char *path, const char *augment,
			 struct problem *problem)
{
	const struct feed_options options = {.path = path,
					     .augment = augment,
					     .threads = 1,
					     .rank = (uint32_t)train->rank,
					     .ranks = (uint32_t)train->ranks};
	struct feed *feed = NULL;
	int rc = feed_new(&options, train->model, train->evaluation.graph, &feed, problem);

	if (rc == 0)
		train->evaluation_samples = feed_samples(feed);
	if (rc == 0)
		train->evaluation_digest = feed_digest(feed);
	feed_free(feed);
	return rc;
}

int train_feed_new(struct train *train, struct problem *problem)
{
	const struct job *job = train->job;
	const struct feed_options options = {
		.path = job->data.train,
		.augment = job->data.augment,
		.threads = (uint32_t)job->data.threads,
		.ops = train->ops,
		.transfer = (int)job->data.transfer,
		.rank = (uint32_t)train->rank,
		.ranks = (uint32_t)train->ranks,
		.state = {(uint64_t)job->seed, train->state.epoch, train->state.position},
		.fault = train_fault,
		.context = train,
	};

	feed_free(train->feed);
	train->feed = NULL;
	return feed_new(&options, train->model, train->engine.graph, &train->feed, problem);
}

static void train_schedule(struct train *train)
{
	const struct job *job = train->job;
	double steps = (double)train->steps_of_epoch;

	train->schedule = (struct schedule){
		.kind = (enum schedule_kind)job->schedule.kind,
		.rate = job->optimizer.rate,
		.last = job->schedule.last,
		.factor = job->schedule.factor,
		.every = (uint64_t)llround(job->schedule.every * steps),
		.warmup = (uint64_t)llround(job->schedule.warmup * steps),
		.steps = (uint64_t)job->epochs * train->steps_of_epoch,
	};
}

static int train_statistics_room(struct train *train, struct problem *problem)
{
	train->statistic_count = (size_t)graph_elements(train->engine.graph, GRAPH_STATISTIC);
	if (train->statistic_count == 0 || train->ranks < 2)
		return 0;
	train->statistics = calloc(train->statistic_count, sizeof(*train->statistics));
	return train->statistics ? 0 : problem_set(problem, -ENOMEM, "no memory");
}

static uint64_t train_parts(uint64_t all, uint64_t part)
{
	return (all + part - 1) / part;
}

static int train_open_data(struct train *train, struct problem *problem)
{
	const struct job *job = train->job;
	int rc = train_feed_new(train, problem);

	if (rc != 0)
		return rc;
	uint64_t samples = feed_samples(train->feed);

	train->batches_of_epoch =
		train_parts(train_parts(samples, (uint64_t)train->ranks), (uint64_t)job->batch);
	train->steps_of_epoch = train_parts(train->batches_of_epoch, (uint64_t)job->accumulate);
	train_schedule(train);
	return job->data.evaluate[0] ? train_try_set(train, job->data.evaluate,
						     job->data.evaluate_augment, problem)
				     : 0;
}

static int train_device(struct train *train, struct problem *problem)
{
	const struct job *job = train->job;

	return job->device == JOB_CUDA
		       ? ops_cuda_new(job_device_index(job, train->rank), &train->ops, problem)
		       : ops_cpu_new(train_threads(train), &train->ops, problem);
}

static int train_open(struct train *train, struct problem *problem)
{
	const struct job *job = train->job;
	int rc = model_load(job->model, &train->model, problem);

	if (rc == 0)
		rc = train_device(train, problem);
	if (rc == 0)
		rc = train_engine_new(train, true, &train->engine, problem);
	if (rc == 0)
		rc = train_engine_new(train, false, &train->evaluation, problem);
	if (rc != 0)
		return rc;
	rc = executor_begin(train->engine.executor, (uint64_t)job->seed);
	if (rc == 0)
		rc = weights_init(&train->weights, train->engine.graph, train->ops,
				  train->engine.executor,
				  (enum ops_update_kind)job->optimizer.kind);
	if (rc != 0)
		return ops_fault_tell(train->ops, rc, problem, "weights");
	train->scale = loss_scale_begin(job_tensor_type(job) == TENSOR_FP16);
	rc = train_open_data(train, problem);
	if (rc == 0)
		rc = train_statistics_room(train, problem);
	if (rc == 0 && train->ranks > 1)
		rc = exchange_new(train->team, &train->weights, &job->ranks, &train->exchange,
				  problem);
	return rc;
}

static void train_close(struct train *train)
{
	train_metrics_close(train);
	train_save_close(train);
	exchange_free(train->exchange);
	feed_free(train->feed);
	weights_done(&train->weights);
	train_engine_free(&train->evaluation);
	train_engine_free(&train->engine);
	free(train->statistics);
	ops_free(train->ops);
	model_free(train->model);
}

/* --- the loop --- */

/* All ranks make the same sums and the same updates. Where they differ, memory or a link is broken. */
static int train_compare(struct train *train, struct problem *problem)
{
	uint64_t digest = train->ranks > 1 ? weights_digest(&train->weights) : 0;
	uint64_t least = digest;
	uint64_t inverse = ~digest;
	int rc = team_least(train->team, &least, problem);

	if (rc == 0)
		rc = team_least(train->team, &inverse, problem);
	if (rc != 0 || least == ~inverse)
		return rc;
	(void)problem_set(problem, E_DIGEST, "step %" PRIu64 ": ranks have different weights",
			  train->state.step);
	problem_detail(problem, "rank %d has %016" PRIx64, train->rank, digest);
	problem_hint(problem, "memory or a link is broken: check the machines, and go on from a "
			      "checkpoint before");
	return E_DIGEST;
}

static int train_epoch_end(struct train *train, struct problem *problem)
{
	int rc = feed_turn(train->feed, problem);

	if (rc != 0)
		return rc;
	train->state.epoch++;
	train->state.batches = 0;
	train->state.position = 0;
	rc = train_compare(train, problem);
	return rc == 0 ? train_evaluate(train, problem) : rc;
}

static bool train_save_is_due(const struct train *train, bool epoch_ended)
{
	uint64_t every = (uint64_t)train->job->checkpoint.every;

	if (train->stopped)
		return true;
	return every > 0 ? train->state.step % every == 0 ||
				   train->state.epoch == (uint64_t)train->job->epochs
			 : epoch_ended;
}

static int train_loop(struct train *train, struct problem *problem)
{
	int rc = 0;

	while (rc == 0 && !train->stopped && train->state.epoch < (uint64_t)train->job->epochs) {
		rc = train_step_run(train, problem);
		bool ended = rc == 0 && train->state.batches == train->batches_of_epoch;

		if (ended)
			rc = train_epoch_end(train, problem);
		if (rc == 0)
			train_metrics_add(train, ended && train->job->data.evaluate[0]);
		if (rc == 0 && train_save_is_due(train, ended))
			rc = train_save(train, problem);
	}
	return rc;
}

uint64_t train_length(const struct train *train)
{
	return train->model->words > 0 ? (uint64_t)train->model->input.size[0] : 0;
}

static void train_tell_begin(struct train *train, bool resumed)
{
	const struct train_hooks *hooks = train->options->hooks;
	const struct train_begun begun = {
		.step = train->state.step,
		.steps = (uint64_t)train->job->epochs * train->steps_of_epoch,
		.steps_of_epoch = train->steps_of_epoch,
		.epochs = train->job->epochs,
		.samples = feed_samples(train->feed),
		.length = train_length(train),
		.masks = train->model->words == 0 && train->model->label.rank > 0,
		.arena = train->engine.plan->arena,
		.parameters = graph_elements(train->engine.graph, GRAPH_PARAMETER),
		.ranks = train->ranks,
		.machines = train->exchange ? exchange_machines(train->exchange) : 1,
		.resumed = resumed,
	};

	if (hooks->begun)
		hooks->begun(hooks->context, &begun);
}

static int train_go(struct train *train, struct problem *problem)
{
	bool resumed = false;
	int rc = train_agree(train, problem);

	if (rc == 0)
		rc = train_resume(train, &resumed, problem);
	if (rc != 0)
		return rc;
	train->result.nothing = train->state.epoch >= (uint64_t)train->job->epochs;
	train_tell_begin(train, resumed);
	rc = train_metrics_open(train, problem);
	/* A job with a target is told again whether it was reached. */
	if (rc == 0 && train->result.nothing && train->job->target > 0)
		rc = train_evaluate(train, problem);
	return rc == 0 ? train_loop(train, problem) : rc;
}

/* Tells the others at once how this rank failed, or asks who else did. All that comes behind may take long: saves, and
 * memory of sums, which some ranks give back together. */
static int train_settle(struct train *train, int rc, struct problem *problem)
{
	rc = team_settle(train->team, rc, problem);
	if (rc >= 0 || !train->team || train->team->heard)
		return rc;
	exchange_why(train->exchange, problem);
	team_fail(train->team, problem);
	return rc;
}

static int train_end(struct train *train, int rc, struct problem *problem)
{
	/* What is under way is worth its wait. Of several ranks that has an end: LAUNCH_END_MS behind the first failure. */
	struct problem late = {0};
	int saved = train_save_end(train, rc == 0 ? problem : &late);

	train->result.step = train->state.step;
	train->result.stopped = train->stopped;
	if (rc != 0)
		return rc;
	train->result.digest = weights_digest(&train->weights);
	return train_settle(train, saved, problem);
}

int train_run(const struct train_options *options, struct train_result *ret,
	      struct problem *problem)
{
	struct train train = {
		.options = options,
		.job = options->job,
		.team = options->team,
		.rank = options->team ? options->team->rank : 0,
		.ranks = options->team ? options->team->ranks : 1,
	};
	int rc = train_open(&train, problem);

	if (rc == 0)
		rc = train_go(&train, problem);
	rc = train_settle(&train, rc, problem);
	rc = train_end(&train, rc, problem);
	*ret = train.result;
	train_close(&train);
	return rc;
}
