#include <inttypes.h>
#include <math.h>

#include "trainer_image/train/train_private.h"

static void train_evaluate_fault(void *context, uint64_t sample, const struct problem *problem)
{
	train_note(context, "evaluation: sample %" PRIu64 " is left out: %s", sample,
		   problem->message);
}

static void train_evaluate_launched(void *context)
{
	feed_ahead(context);
}

static int train_evaluate_pass(struct train *train, struct feed *feed, struct team_word *word,
			       struct problem *problem)
{
	const struct executor_step step = {.scale = 1,
					   .count_right = true,
					   .launched = train_evaluate_launched,
					   .context = feed};
	uint32_t samples = 0;

	for (;;) {
		struct executor_result result;
		int rc = feed_next(feed, train->evaluation.executor, &samples, problem);

		if (rc != 0 || samples == 0)
			return rc;
		rc = executor_run(train->evaluation.executor, &step, &result);
		if (rc != 0)
			return ops_fault_tell(train->ops, rc, problem, "evaluation");
		word->loss += result.loss * (double)result.counted;
		word->counted += result.counted;
		word->right += result.right;
		word->samples += samples;
	}
}

int train_evaluate(struct train *train, struct problem *problem)
{
	const struct job *job = train->job;
	const struct train_hooks *hooks = train->options->hooks;
	const struct feed_options options = {
		.path = job->data.evaluate,
		.augment = job->data.evaluate_augment,
		.threads = job->data.threads > 0 ? (uint32_t)job->data.threads : 1,
		.ops = train->ops,
		.transfer = -1, /* bytes, where a device takes them: the plan knows their memory */
		.rank = (uint32_t)train->rank,
		.ranks = (uint32_t)train->ranks,
		.fault = train_evaluate_fault,
		.context = train,
	};
	struct team_word word = {0};
	struct feed *feed = NULL;
	int rc;

	if (!job->data.evaluate[0])
		return 0;
	rc = feed_new(&options, train->model, train->evaluation.graph, &feed, problem);
	if (rc != 0)
		return rc;
	rc = train_evaluate_pass(train, feed, &word, problem);
	feed_free(feed);
	if (rc == 0)
		rc = team_tell(train->team, &word, problem);
	if (rc != 0)
		return rc;
	double counted = word.counted > 0 ? (double)word.counted : 1;

	train->result.evaluated = true;
	train->result.last = (struct train_evaluation){.step = train->state.step,
						       .epoch = train->state.epoch,
						       .loss = word.loss / counted,
						       .accuracy = (double)word.right / counted,
						       .samples = word.samples,
						       .counted = word.counted};
	if (hooks->evaluated)
		hooks->evaluated(hooks->context, &train->result.last);
	return 0;
}
