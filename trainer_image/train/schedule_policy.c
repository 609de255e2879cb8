#include "trainer_image/train/schedule_policy.h"

#include <math.h>
#include <stddef.h>

const char *const schedule_words[] = {
	[SCHEDULE_CONSTANT] = "constant", [SCHEDULE_STEPS] = "steps",
	[SCHEDULE_COSINE] = "cosine",     [SCHEDULE_LINEAR] = "linear",
	[SCHEDULE_LINEAR + 1] = NULL,
};

/* What is left of training behind the warm-up: 0 at its first step, 1 at its last. */
static double schedule_part(const struct schedule *schedule, uint64_t behind)
{
	uint64_t all = schedule->steps > schedule->warmup ? schedule->steps - schedule->warmup : 0;

	return all < 2 ? 0 : fmin(1, (double)behind / (double)(all - 1));
}

static double schedule_constant(const struct schedule *schedule, uint64_t behind)
{
	(void)behind;
	return schedule->rate;
}

static double schedule_steps(const struct schedule *schedule, uint64_t behind)
{
	uint64_t every = schedule->every > 0 ? schedule->every : 1;
	uint64_t falls = behind / every;

	return schedule->rate * pow(schedule->factor, (double)falls);
}

static double schedule_cosine(const struct schedule *schedule, uint64_t behind)
{
	const double pi = 3.141592653589793;

	return schedule->last + (schedule->rate - schedule->last) * 0.5 *
					(1 + cos(pi * schedule_part(schedule, behind)));
}

static double schedule_linear(const struct schedule *schedule, uint64_t behind)
{
	return schedule->rate + (schedule->last - schedule->rate) * schedule_part(schedule, behind);
}

double schedule_rate(const struct schedule *schedule, uint64_t step)
{
	static double (*const kinds[])(const struct schedule *schedule, uint64_t behind) = {
		[SCHEDULE_CONSTANT] = schedule_constant,
		[SCHEDULE_STEPS] = schedule_steps,
		[SCHEDULE_COSINE] = schedule_cosine,
		[SCHEDULE_LINEAR] = schedule_linear,
	};

	if (step < schedule->warmup)
		return schedule->rate * (double)(step + 1) / (double)schedule->warmup;
	return kinds[schedule->kind](schedule, step - schedule->warmup);
}
