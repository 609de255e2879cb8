/* What each step gave, to the job's file of metrics; of the first rank alone. */
#include <math.h>

#include "trainer_image/train/metrics.h"
#include "trainer_image/train/train_private.h"

enum train_metric {
	TRAIN_LOSS,
	TRAIN_RATE,
	TRAIN_SCALE,
	TRAIN_SPEED,
	TRAIN_DATA_MS,
	TRAIN_FORWARD_MS,
	TRAIN_BACKWARD_MS,
	TRAIN_SYNC_MS,
	TRAIN_UPDATE_MS,
	TRAIN_SKIPPED,
	TRAIN_EVALUATION_LOSS,
	TRAIN_ACCURACY,
	TRAIN_METRICS
};

int train_metrics_open(struct train *train, struct problem *problem)
{
	const char *const columns[] = {
		[TRAIN_LOSS] = "loss",
		[TRAIN_RATE] = "rate",
		[TRAIN_SCALE] = "loss_scale",
		[TRAIN_SPEED] = train_length(train) > 0 ? "words_s" : "images_s",
		[TRAIN_DATA_MS] = "data_ms",
		[TRAIN_FORWARD_MS] = "forward_ms",
		[TRAIN_BACKWARD_MS] = "backward_ms",
		[TRAIN_SYNC_MS] = "sync_ms",
		[TRAIN_UPDATE_MS] = "update_ms",
		[TRAIN_SKIPPED] = "skipped",
		[TRAIN_EVALUATION_LOSS] = "evaluation_loss",
		[TRAIN_ACCURACY] = "accuracy",
	};

	if (!train->job->metrics[0] || train->rank != 0 || train->result.nothing)
		return 0;
	return metrics_open(train->job->metrics, columns, TRAIN_METRICS, train->state.step,
			    &train->metrics, problem);
}

void train_metrics_add(struct train *train, bool evaluated)
{
	const struct train_step *last = &train->last;
	const struct train_evaluation *evaluation = &train->result.last;
	struct problem problem = {0};
	uint64_t length = train_length(train);
	double seconds = (double)last->all_us / 1e6 + 1e-9;
	const double values[TRAIN_METRICS] = {
		[TRAIN_LOSS] = last->loss,
		[TRAIN_RATE] = last->rate,
		[TRAIN_SCALE] = last->scale,
		[TRAIN_SPEED] = (double)(last->samples * (length > 0 ? length : 1)) / seconds,
		[TRAIN_DATA_MS] = (double)last->data_us / 1e3,
		[TRAIN_FORWARD_MS] = (double)last->forward_us / 1e3,
		[TRAIN_BACKWARD_MS] = (double)last->backward_us / 1e3,
		[TRAIN_SYNC_MS] = (double)last->sync_us / 1e3,
		[TRAIN_UPDATE_MS] = (double)last->update_us / 1e3,
		[TRAIN_SKIPPED] = (double)last->skipped,
		[TRAIN_EVALUATION_LOSS] = evaluated ? evaluation->loss : (double)NAN,
		[TRAIN_ACCURACY] = evaluated ? evaluation->accuracy : (double)NAN,
	};

	if (train->metrics && metrics_add(train->metrics, last->step, values, &problem) != 0)
		train_note(train, "metrics of step %llu: %s", (unsigned long long)last->step,
			   problem.message);
}

void train_metrics_sync(struct train *train)
{
	struct problem problem = {0};

	if (train->metrics && metrics_sync(train->metrics, &problem) != 0)
		train_note(train, "metrics: %s", problem.message);
}

void train_metrics_close(struct train *train)
{
	if (train->metrics)
		metrics_close(train->metrics);
}
