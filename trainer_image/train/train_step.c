#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/train/train_private.h"

/* One step while it runs. */
struct train_step_work {
	struct train *train;
	size_t part;  /* of the gradients, next */
	bool adds;    /* to the batches before */
	bool is_last; /* batch of the step: its gradients are summed */
	struct team_word word;
	struct train_step report;
};

static int train_step_gradient(void *context, int tensor)
{
	struct train_step_work *work = context;
	struct train *train = work->train;
	int rc = weights_take(&train->weights, work->part, work->adds);

	(void)tensor; /* they come in the order of parts */
	work->part++;
	return rc == 0 && work->is_last && train->exchange ? exchange_ready(train->exchange) : rc;
}

static void train_step_launched(void *context)
{
	struct train_step_work *work = context;

	feed_ahead(work->train->feed);
}

/* What a back end could not do in a step; 0 is nothing. */
static int train_step_device(const struct train *train, int rc, struct problem *problem)
{
	return rc == 0 ? 0
		       : ops_fault_tell(train->ops, rc, problem, "step %" PRIu64,
					train->state.step + 1);
}

/* Labels of a step when no place is free: gradients are divided by it before they are summed. */
static double train_step_labels(const struct train *train)
{
	const struct graph *graph = train->engine.graph;

	return (double)tensor_shape_count(&graph->tensors[graph->label].is.shape) *
	       (double)train->job->accumulate * (double)train->ranks;
}

static const char *train_step_layer(const struct train *train, int tensor)
{
	const struct graph *graph = train->engine.graph;
	const struct graph_tensor *is = &graph->tensors[tensor];

	if (tensor == graph->input)
		return "the input";
	if (is->role == GRAPH_PARAMETER || is->role == GRAPH_STATISTIC)
		return graph_tensor_name(graph, tensor);
	return is->op >= 0 ? train->model->ops[graph->ops[is->op].source].name : "the model";
}

static int train_step_broken(struct train_step_work *work, const struct executor_step *step,
			     double loss, struct problem *problem)
{
	struct train *train = work->train;
	int tensor = executor_find_broken(train->engine.executor, step);

	(void)problem_set(problem, E_MALFORMED, "step %" PRIu64 ": the loss is %s",
			  train->state.step + 1, isnan(loss) ? "not a number" : "infinite");
	problem_detail(problem, "first broken: %s",
		       tensor >= 0 ? train_step_layer(train, tensor) : "the loss itself");
	problem_hint(problem, "a smaller optimizer.rate or a longer schedule.warmup; checkpoints "
			      "before this step are whole");
	return E_MALFORMED;
}

static int train_step_pass(struct train_step_work *work, struct problem *problem)
{
	struct train *train = work->train;
	const struct executor_step step = {
		.seed = (uint64_t)train->job->seed,
		/* Dropout of each batch is its own. */
		.number = (train->state.epoch * train->batches_of_epoch + train->state.batches) *
				  (uint64_t)train->ranks +
			  (uint64_t)train->rank,
		.scale = train->scale.scale,
		.labels = train_step_labels(train),
		.gradient = train_step_gradient,
		.launched = train_step_launched,
		.context = work,
		/* Sums are told to the host behind each gradient: no pass of them is the back end's alone. */
		.same = train->exchange ? 0 : 1U + (work->adds ? 1U : 0U),
	};
	struct executor_result result;
	int64_t begun_us = clock_monotonic_us();
	int rc = 0;

	work->part = 0;
	if (work->is_last && train->exchange)
		rc = exchange_begin(train->exchange);
	if (rc == 0)
		rc = executor_run(train->engine.executor, &step, &result);
	if (rc != 0)
		return train_step_device(train, rc, problem);
	int64_t took_us = clock_monotonic_us() - begun_us;

	work->report.forward_us += result.forward_us;
	work->report.backward_us += took_us - result.forward_us;
	if (!isfinite(result.loss))
		return train_step_broken(work, &step, result.loss, problem);
	work->word.loss += result.loss * (double)result.counted;
	work->word.counted += result.counted;
	return 0;
}

/* A rank whose share is at its end before those of others gives zeros. */
static int train_step_idle(struct train_step_work *work)
{
	struct train *train = work->train;
	struct weights *weights = &train->weights;
	int rc = 0;

	if (!work->adds)
		rc = weights_clear(weights);
	if (rc != 0 || !work->is_last || !train->exchange)
		return rc;
	rc = exchange_begin(train->exchange);
	for (size_t i = 0; i < weights->count && rc == 0; i++)
		rc = exchange_ready(train->exchange);
	return rc;
}

static int train_step_batch(struct train_step_work *work, struct problem *problem)
{
	struct train *train = work->train;
	int64_t begun_us = clock_monotonic_us();
	uint32_t samples = 0;
	int rc = feed_next(train->feed, train->engine.executor, &samples, problem);

	if (rc != 0)
		return rc;
	work->report.data_us += clock_monotonic_us() - begun_us;
	work->word.samples += samples;
	rc = samples == 0 ? train_step_device(train, train_step_idle(work), problem)
			  : train_step_pass(work, problem);
	train->state.batches++;
	work->adds = true;
	return rc;
}

/* Running statistics of batch norm are each rank's own until here. */
static int train_step_statistics(struct train *train, struct problem *problem)
{
	const struct graph *graph = train->engine.graph;
	size_t at = 0;

	if (!train->statistics || train->ranks < 2)
		return 0;
	for (int back = 0; back < 2; back++) {
		at = 0;
		for (int i = 0; i < graph->tensor_count; i++) {
			size_t count = (size_t)tensor_shape_count(&graph->tensors[i].is.shape);
			float *numbers = train->statistics + at;

			if (graph->tensors[i].role != GRAPH_STATISTIC)
				continue;
			int moved = back ? executor_write(train->engine.executor, i, 0, numbers,
							  count * sizeof(float))
					 : executor_read(train->engine.executor, i, numbers);

			if (moved != 0)
				return train_step_device(train, moved, problem);
			at += count;
		}
		int rc = back ? 0 : team_mean(train->team, train->statistics, at, problem);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int train_step_update(struct train_step_work *work, struct problem *problem)
{
	struct train *train = work->train;
	const struct job_optimizer *optimizer = &train->job->optimizer;
	const struct weights_rule rule = {
		.kind = (enum ops_update_kind)optimizer->kind,
		.rate = work->report.rate,
		.decay = optimizer->decay,
		.momentum = optimizer->momentum,
		.momentum2 = optimizer->momentum2,
		.epsilon = optimizer->epsilon,
		.trust = optimizer->trust,
		.nesterov = optimizer->nesterov,
		.unscale = train_step_labels(train) /
			   ((double)work->word.counted * train->scale.scale),
		.step = (int64_t)train->state.updates + 1,
	};
	int broken;
	int rc = weights_broken(&train->weights, &broken);

	if (rc != 0)
		return train_step_device(train, rc, problem);
	work->report.left_out = broken >= 0 && train->scale.moves;
	if (!loss_scale_step(&train->scale, broken < 0)) {
		const struct weights_part *part = &train->weights.parts[broken];

		(void)problem_set(problem, E_MALFORMED,
				  "step %" PRIu64 ": a gradient is not a number",
				  train->state.step + 1);
		problem_detail(problem, "first broken: %s%s",
			       graph_tensor_name(train->engine.graph, part->tensor),
			       train->scale.moves ? "; no smaller loss scale is left" : "");
		problem_hint(problem, "a smaller optimizer.rate or a longer schedule.warmup; "
				      "checkpoints before this step are whole");
		return E_MALFORMED;
	}
	/* Nothing of a step may count: all of its samples were left out. */
	if (broken >= 0 || work->word.counted == 0)
		return 0;
	rc = weights_update(&train->weights, &rule);
	train->state.updates++;
	return train_step_device(train, rc, problem);
}

/* Behind the step in which `auto` has measured enough. */
static int train_step_exchange(struct train_step_work *work, struct problem *problem)
{
	struct train *train = work->train;
	bool open = exchange_codec(train->exchange) == CODECS;
	int rc = exchange_wait(train->exchange, &work->report.sync_us, problem);
	enum codec codec = exchange_codec(train->exchange);

	if (rc == 0 && open && codec < CODECS)
		train_note(train,
			   "ranks.codec = auto: gradients travel as %s from step %" PRIu64 " on",
			   codec_text(codec), train->state.step + 2);
	return rc;
}

static int train_step_sum(struct train_step_work *work, struct problem *problem)
{
	struct train *train = work->train;
	int rc = 0;

	if (train->exchange)
		rc = train_step_exchange(work, problem);
	int64_t begun_us = clock_monotonic_us();

	if (rc == 0)
		rc = train_step_statistics(train, problem);
	if (rc == 0)
		rc = team_tell(train->team, &work->word, problem);
	work->report.sync_us += clock_monotonic_us() - begun_us;
	return rc;
}

static void train_step_tell(struct train_step_work *work)
{
	struct train *train = work->train;
	const struct train_hooks *hooks = train->options->hooks;
	struct train_step *report = &work->report;

	report->step = train->state.step;
	report->epoch = train->state.epoch + 1;
	report->loss = work->word.counted > 0 ? work->word.loss / (double)work->word.counted : 0;
	report->samples = work->word.samples;
	report->counts = feed_counts(train->feed);
	report->skipped = report->counts.skipped;
	if (train->team && train->team->watch)
		watch_step(train->team->watch, train->state.step,
			   (uint64_t)train->team->transport->waited_us);
	train->last = *report;
	if (hooks->step)
		hooks->step(hooks->context, report);
}

int train_step_run(struct train *train, struct problem *problem)
{
	struct train_step_work work = {.train = train};
	uint64_t left = train->batches_of_epoch - train->state.batches;
	uint64_t batches =
		left < (uint64_t)train->job->accumulate ? left : (uint64_t)train->job->accumulate;
	int64_t begun_us = clock_monotonic_us();
	int rc = 0;

	work.report.rate = schedule_rate(&train->schedule, train->state.step);
	work.report.scale = train->scale.scale;
	work.word.stop = train->options->stop && atomic_load(train->options->stop) ? 1 : 0;
	for (uint64_t i = 0; i < batches && rc == 0; i++) {
		work.is_last = i + 1 == batches;
		rc = train_step_batch(&work, problem);
	}
	if (rc == 0)
		rc = train_step_sum(&work, problem);
	int64_t update_us = clock_monotonic_us();

	if (rc == 0)
		rc = train_step_update(&work, problem);
	if (rc != 0)
		return rc;
	work.report.update_us = clock_monotonic_us() - update_us;
	work.report.all_us = clock_monotonic_us() - begun_us;
	train->state.step++;
	train->state.position = feed_state(train->feed).position;
	train->stopped = work.word.stop != 0;
	train_step_tell(&work);
	return 0;
}
