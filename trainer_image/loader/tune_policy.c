#include "trainer_image/loader/tune_policy.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/base/macros.h"

/* A loader that stalls for less is left alone. */
#define TUNE_STALL_LEAST 0.01
/* Of a step: a batch that is on its way for longer may bind it. */
#define TUNE_TRANSFER_MOST 0.9
/* What a thread costs in the model, as a share of the step: of equal settings the smaller one wins. */
#define TUNE_THREAD_COST 0.0005

/* How far a neighbour may be, along one stage. Far ones, since 64 processors are many steps of one. */
static const int32_t tune_moves[] = {0, 1, -1, 2, -2, 4, -4, 8, -8};

bool tune_is_allowed(const struct tune_limits *limits, const struct tune_setting *setting)
{
	uint32_t sum = 0;

	if (setting->k < limits->k_least || setting->k > limits->k_most)
		return false;
	for (size_t i = 0; i < TUNE_STAGES; i++) {
		uint32_t least = i == TUNE_AUGMENT && setting->k == 0 ? 0 : 1;

		if (setting->threads[i] < least || setting->threads[i] > TUNE_THREADS_MAX)
			return false;
		sum += setting->threads[i];
	}
	if (setting->k == 0 && setting->threads[TUNE_AUGMENT] != 0)
		return false;
	return sum <= 2 * limits->processors + 2;
}

struct tune_setting tune_start(const struct tune_limits *limits)
{
	uint32_t n = limits->processors < 1 ? 1 : limits->processors;
	struct tune_setting setting = {.k = limits->k_most};

	if (limits->device)
		setting.k = limits->k_least > 1 || limits->k_most < 1 ? limits->k_least : 1;
	n = n > TUNE_THREADS_MAX ? TUNE_THREADS_MAX : n;
	setting.threads[TUNE_READ] = 1;
	setting.threads[TUNE_DECODE] = n;
	setting.threads[TUNE_AUGMENT] = setting.k == 0 ? 0 : (n + 2) / 3;
	return setting;
}

double tune_expect(const struct tune_limits *limits, const struct tune_measure *measure,
		   const struct tune_setting *setting)
{
	const double *work = measure->work_ms;
	double own = measure->step_ms - measure->stall_ms;
	double behind = (setting->k >= 1 ? work[TUNE_WORK_PIXELS] : 0) +
			(setting->k >= 2 ? work[TUNE_WORK_NUMBERS] : 0);
	double left = work[TUNE_WORK_PIXELS] + work[TUNE_WORK_NUMBERS] - behind;
	double all = work[TUNE_WORK_READ] + work[TUNE_WORK_DECODE] + behind;
	double step = own;
	double threads = 0;

	if (limits->device) { /* what is on its way hid behind nothing, where it took the whole step */
		step = fmax(own, measure->transfer_ms[setting->k]);
	} else {
		step += left;
		all += left;
	}
	for (size_t i = 0; i < TUNE_STAGES; i++)
		threads += setting->threads[i];
	step = fmax(step, all / limits->processors);
	step = fmax(step, work[TUNE_WORK_READ] / setting->threads[TUNE_READ]);
	step = fmax(step, work[TUNE_WORK_DECODE] / setting->threads[TUNE_DECODE]);
	if (behind > 0)
		step = fmax(step, behind / setting->threads[TUNE_AUGMENT]);
	return step * (1 + TUNE_THREAD_COST * threads);
}

static bool tune_equal(const struct tune_setting *a, const struct tune_setting *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool tune_was_tried(const struct tune *tune, const struct tune_setting *setting)
{
	if (tune_equal(setting, &tune->best))
		return true;
	for (uint32_t i = 0; i < tune->tried_count; i++) {
		if (tune_equal(setting, &tune->tried[i]))
			return true;
	}
	return false;
}

static void tune_run(struct tune *tune, const struct tune_setting *setting)
{
	if (!tune_equal(&tune->now, setting))
		tune->settings++;
	tune->now = *setting;
}

static void tune_begin(struct tune *tune)
{
	tune->phase = TUNE_BASE;
	tune->tried_count = 0;
	tune->fails = tune->fresh = 0;
	tune->changed = 0;
	tune->steps = TUNE_STEPS_LEAST;
	tune->climbs++;
}

void tune_init(struct tune *tune, const struct tune_limits *limits,
	       const struct tune_setting *start)
{
	assert(tune_is_allowed(limits, start));
	*tune = (struct tune){.limits = *limits, .now = *start, .best = *start};
	tune_begin(tune);
}

uint32_t tune_steps(const struct tune *tune)
{
	return tune->steps;
}

/* The neighbour that `moves` name: -1 where there is none. */
static bool tune_neighbour(const struct tune *tune, const size_t moves[TUNE_STAGES], uint32_t k,
			   struct tune_setting *ret)
{
	struct tune_setting setting = {.k = k};

	for (size_t i = 0; i < TUNE_STAGES; i++) {
		int64_t threads = (int64_t)tune->best.threads[i] + tune_moves[moves[i]];

		if (i == TUNE_AUGMENT && k == 0)
			threads = 0;
		else if (i == TUNE_AUGMENT && tune->best.k == 0)
			threads += 1;
		if (threads < 0)
			return false;
		setting.threads[i] = (uint32_t)threads;
	}
	*ret = setting;
	return tune_is_allowed(&tune->limits, &setting);
}

static bool tune_is_single(const size_t moves[TUNE_STAGES], bool other_k)
{
	unsigned count = other_k;

	for (size_t i = 0; i < TUNE_STAGES; i++) {
		if (moves[i] > 2)
			return false; /* tune_moves: 0, 1, -1 first */
		count += moves[i] > 0;
	}
	return count == 1;
}

/* The neighbour with the least expected time that was not tried yet; false when there is none. Each
 * second trial is a single step along one axis: the model may be wrong about this machine. */
static bool tune_choose(const struct tune *tune, struct tune_setting *ret)
{
	enum { MOVES = COUNT_OF(tune_moves), ALL = MOVES * MOVES * MOVES };
	double least = HUGE_VAL;

	for (uint32_t k = tune->limits.k_least; k <= tune->limits.k_most; k++) {
		for (size_t i = 0; i < ALL; i++) {
			const size_t moves[TUNE_STAGES] = {i % MOVES, i / MOVES % MOVES,
							   i / MOVES / MOVES};
			struct tune_setting setting;
			double expected;

			if (tune->fails % 2 == 1 && !tune_is_single(moves, k != tune->best.k))
				continue;
			if (!tune_neighbour(tune, moves, k, &setting) ||
			    tune_was_tried(tune, &setting))
				continue;
			expected = tune_expect(&tune->limits, &tune->best_measure, &setting);
			if (expected < least) {
				least = expected;
				*ret = setting;
			}
		}
	}
	return least < HUGE_VAL;
}

static void tune_rest(struct tune *tune)
{
	tune_run(tune, &tune->best);
	tune->phase = TUNE_REST;
	tune->changed = 0;
	tune->rest.steps = 0;
}

/* Nobody waits for the loader, nor for what is on its way from it. */
static bool tune_is_idle(const struct tune *tune)
{
	const struct tune_measure *best = &tune->best_measure;

	return best->stall_ms < TUNE_STALL_LEAST * best->step_ms &&
	       best->transfer_ms[tune->best.k] < TUNE_TRANSFER_MOST * best->step_ms;
}

static void tune_try_next(struct tune *tune)
{
	struct tune_setting setting;

	if (tune_is_idle(tune) || tune->fails >= TUNE_FAILS || tune->tried_count >= TUNE_TRIALS) {
		tune_rest(tune);
		return;
	}
	if (!tune_choose(tune, &setting)) {
		tune->fails++; /* no single step is left, but perhaps others are */
		if (!tune_choose(tune, &setting)) {
			tune_rest(tune);
			return;
		}
	}
	tune->tried[tune->tried_count++] = setting;
	tune->fresh++;
	tune->phase = TUNE_TRY;
	tune_run(tune, &setting);
}

/* Both windows as one. */
static struct tune_measure tune_join(const struct tune_measure *a, const struct tune_measure *b)
{
	struct tune_measure joined = *b;
	double sum = (double)a->steps + b->steps;
	double share = a->steps / sum;

	joined.steps = a->steps + b->steps;
	joined.step_ms = share * a->step_ms + (1 - share) * b->step_ms;
	joined.stall_ms = share * a->stall_ms + (1 - share) * b->stall_ms;
	joined.error_ms = hypot(share * a->error_ms, (1 - share) * b->error_ms);
	for (size_t i = 0; i < TUNE_WORKS; i++)
		joined.work_ms[i] = share * a->work_ms[i] + (1 - share) * b->work_ms[i];
	return joined;
}

/* --- a duel --- */

static void tune_duel_turn(struct tune *tune)
{
	tune->phase = TUNE_DUEL_BEST;
	tune_run(tune, &tune->best);
}

/* The window of the trial does not count: it was chosen because it was fast. */
static void tune_duel_begin(struct tune *tune)
{
	tune->duel = (struct tune_duel){.other = tune->now};
	tune_duel_turn(tune);
}

static void tune_duel_best(struct tune *tune, const struct tune_measure *measure)
{
	struct tune_duel *duel = &tune->duel;

	duel->last_ms = measure->step_ms;
	duel->best_measure = duel->rounds == 0 ? *measure : tune_join(&duel->best_measure, measure);
	tune->phase = TUNE_DUEL_OTHER;
	tune_run(tune, &duel->other);
}

static void tune_duel_other(struct tune *tune, const struct tune_measure *measure)
{
	struct tune_duel *duel = &tune->duel;
	double gain = 1 - measure->step_ms / duel->last_ms;

	duel->other_measure =
		duel->rounds == 0 ? *measure : tune_join(&duel->other_measure, measure);
	duel->rounds++;
	duel->sum += gain;
	duel->squares += gain * gain;
}

enum tune_verdict { TUNE_OPEN, TUNE_WON, TUNE_LOST };

static enum tune_verdict tune_duel_verdict(const struct tune_duel *duel)
{
	double rounds = duel->rounds;
	double mean = duel->sum / rounds;
	double spread = fmax(0, duel->squares / rounds - mean * mean);
	double error = sqrt(spread / fmax(1, rounds - 1));

	if (mean < TUNE_GAIN / 2)
		return TUNE_LOST;
	if (duel->rounds >= TUNE_ROUNDS_LEAST && mean > TUNE_GAIN && mean > 2 * error)
		return TUNE_WON;
	return duel->rounds < TUNE_ROUNDS ? TUNE_OPEN : TUNE_LOST;
}

static void tune_failed(struct tune *tune)
{
	tune->fails++;
	if (tune->fresh < TUNE_FRESH) {
		tune_try_next(tune);
		return;
	}
	tune->phase = TUNE_BASE;
	tune_run(tune, &tune->best);
}

static void tune_duel_judge(struct tune *tune)
{
	const struct tune_duel *duel = &tune->duel;

	switch (tune_duel_verdict(duel)) {
	case TUNE_OPEN: tune_duel_turn(tune); break;
	case TUNE_WON:
		tune->best = duel->other;
		tune->best_measure = duel->other_measure;
		tune->fails = tune->fresh = 0;
		tune_try_next(tune);
		break;
	case TUNE_LOST:
		tune->best_measure = duel->best_measure;
		tune->fresh = 0;
		tune_failed(tune);
		break;
	}
}

/* --- */

static void tune_judge(struct tune *tune, const struct tune_measure *measure)
{
	if (measure->step_ms < tune->best_measure.step_ms)
		tune_duel_begin(tune);
	else
		tune_failed(tune);
}

static bool tune_differs(double a, double b)
{
	return fabs(a - b) > TUNE_DRIFT * fmax(fabs(a), fabs(b));
}

static bool tune_world_changed(const struct tune_measure *a, const struct tune_measure *b)
{
	double work_a = 0;
	double work_b = 0;

	for (size_t i = 0; i < TUNE_WORKS; i++) {
		work_a += a->work_ms[i];
		work_b += b->work_ms[i];
	}
	return a->processors != b->processors || tune_differs(a->step_ms, b->step_ms) ||
	       tune_differs(work_a, work_b);
}

/* New limits may forbid the setting that runs. */
static void tune_fit(struct tune *tune, uint32_t processors)
{
	tune->limits.processors = processors < 1 ? 1 : processors;
	if (!tune_is_allowed(&tune->limits, &tune->best))
		tune->best = tune_start(&tune->limits);
	tune_run(tune, &tune->best);
}

static void tune_watch(struct tune *tune, const struct tune_measure *measure)
{
	if (tune->rest.steps == 0) {
		tune->rest = *measure;
		return;
	}
	tune->changed = tune_world_changed(&tune->rest, measure) ? tune->changed + 1 : 0;
	if (tune->changed < TUNE_CHANGED)
		return;
	tune_fit(tune, measure->processors);
	tune_begin(tune);
}

/* Longer windows where steps differ much: the error falls by the root of their number. */
static void tune_lengthen(struct tune *tune, const struct tune_measure *measure)
{
	if (measure->error_ms > TUNE_GAIN / 3 * measure->step_ms && tune->steps < TUNE_STEPS_MOST)
		tune->steps *= 2;
}

/* Work that a device does now would be a processor's under another k: it is what it was when last seen. */
static struct tune_measure tune_complete(struct tune *tune, const struct tune_measure *measure)
{
	struct tune_measure whole = *measure;

	for (size_t i = 0; tune->limits.device && i < TUNE_WORKS; i++) {
		if (measure->work_ms[i] > 0)
			tune->known_ms[i] = measure->work_ms[i];
		whole.work_ms[i] = tune->known_ms[i];
	}
	return whole;
}

bool tune_next(struct tune *tune, const struct tune_measure *measured)
{
	const struct tune_measure whole = tune_complete(tune, measured);
	const struct tune_measure *measure = &whole;
	uint64_t before = tune->settings;

	switch (tune->phase) {
	case TUNE_BASE:
		if (measure->error_ms > TUNE_GAIN / 3 * measure->step_ms &&
		    tune->steps < TUNE_STEPS_MOST) {
			tune_lengthen(tune, measure);
			break;
		}
		tune->best_measure = *measure;
		tune->fresh = 0;
		if (measure->processors != tune->limits.processors)
			tune_fit(tune, measure->processors);
		tune_try_next(tune);
		break;
	case TUNE_TRY: tune_judge(tune, measure); break;
	case TUNE_DUEL_BEST: tune_duel_best(tune, measure); break;
	case TUNE_DUEL_OTHER:
		tune_duel_other(tune, measure);
		tune_duel_judge(tune);
		break;
	case TUNE_REST: tune_watch(tune, measure); break;
	}
	return tune->settings != before;
}
