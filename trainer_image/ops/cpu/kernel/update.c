/* Optimizers, element by element (ops.h, struct ops_update). */
#include <math.h>

#include "trainer_image/ops/cpu/kernel/real.h"

#if REAL_BITS == 32
static void update_sgd(const struct ops_update *update, const struct cpu_update_factors *is,
		       size_t first, size_t last)
{
	float *restrict weight = update->weight;
	float *restrict velocity = update->velocity;
	const float *restrict gradient = update->gradient;
	/* Without Nesterov's look ahead a step is the velocity alone. */
	float of_slope = update->nesterov ? 1.0F : 0.0F;
	float of_velocity = update->nesterov ? is->momentum : 1.0F;

	for (size_t i = first; i < last; i++) {
		float slope = gradient[i] * is->unscale + is->decay * weight[i];

		velocity[i] = is->momentum * velocity[i] + slope;
		weight[i] -= is->rate * (of_slope * slope + of_velocity * velocity[i]);
	}
}

static void update_adamw(const struct ops_update *update, const struct cpu_update_factors *is,
			 size_t first, size_t last)
{
	float *restrict weight = update->weight;
	float *restrict velocity = update->velocity;
	float *restrict square = update->square;
	const float *restrict gradient = update->gradient;

	for (size_t i = first; i < last; i++) {
		float slope = gradient[i] * is->unscale;

		velocity[i] += is->fresh * (slope - velocity[i]);
		square[i] += is->fresh2 * (slope * slope - square[i]);
		weight[i] -= is->rate * (is->decay * weight[i] +
					 velocity[i] * is->first /
						 (sqrtf(square[i] * is->second) + is->epsilon));
	}
}

/* The rate of LARS is in `rate` already; its velocity has it, so that it may change. */
static void update_lars(const struct ops_update *update, const struct cpu_update_factors *is,
			size_t first, size_t last)
{
	float *restrict weight = update->weight;
	float *restrict velocity = update->velocity;
	const float *restrict gradient = update->gradient;

	for (size_t i = first; i < last; i++) {
		float slope = gradient[i] * is->unscale + is->decay * weight[i];

		velocity[i] = is->momentum * velocity[i] + is->rate * slope;
		weight[i] -= velocity[i];
	}
}

void REAL_NAME(cpu_update)(const struct ops_update *update,
			   const struct cpu_update_factors *factors, size_t first, size_t last)
{
	switch (update->kind) {
	case OPS_SGD: update_sgd(update, factors, first, last); break;
	case OPS_ADAMW: update_adamw(update, factors, first, last); break;
	case OPS_LARS: update_lars(update, factors, first, last); break;
	}
}

double REAL_NAME(cpu_squares)(const float *numbers, size_t count)
{
	double sums[8] = {0};
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sums[i % 8] += (double)numbers[i] * (double)numbers[i];
	for (size_t i = 0; i < 8; i++)
		sum += sums[i];
	return sum;
}
#endif
