/* Which threads, and which transfer index: a hill-climb on the measured time of a step.
 *
 * A window of steps is measured under one setting. Then the policy names the next one. Neighbours are
 * tried in the order in which a plain model (work of a stage / threads of it) expects them; only the
 * measurement accepts one. A neighbour that was faster once meets the best setting in a duel: both run by
 * turns, so a neighbour on the same machine slows both. It must win by `TUNE_GAIN` and by more than the
 * noise of the rounds. After TUNE_FAILS trials in a row without a gain, or TUNE_TRIALS in all, the best
 * setting stays.
 *
 * It begins again when the world has changed for TUNE_CHANGED windows in a row: the processors we may
 * use, their speed, or the time of a step. Pure: no clock, no threads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trainer_image/loader/augment_table.h"

enum tune_stage { TUNE_READ, TUNE_DECODE, TUNE_AUGMENT, TUNE_STAGES };

enum {
	TUNE_THREADS_MAX = 64, /* of a stage */
	TUNE_TRIALS = 48,      /* settings tried in one climb, at most */
	TUNE_FAILS = 16,       /* trials in a row without a gain end a climb */
	TUNE_ROUNDS_LEAST = 3, /* of a duel, to win it */
	TUNE_ROUNDS = 6,       /* at most */
	TUNE_FRESH = 4,        /* trials by one window of the best setting */
	TUNE_CHANGED = 3,
	TUNE_BLOCK = 8, /* steps: the noise of a window is that of the means of its blocks */
	TUNE_STEPS_LEAST = 2 * TUNE_BLOCK, /* a window */
	TUNE_STEPS_MOST = 8 * TUNE_BLOCK,
};

/* Shares of the time of a step. */
#define TUNE_GAIN  0.02
#define TUNE_DRIFT 0.25

struct tune_setting {
	uint32_t threads[TUNE_STAGES]; /* AUGMENT: 0 with k = 0, else all are at least 1 */
	uint32_t k; /* augment stages that the loader's threads run: 0 .. AUGMENT_STAGES */
};

struct tune_limits {
	uint32_t processors; /* that we may use: all threads are at most twice as many, and two */
	uint32_t k_least, k_most;
	bool device; /* what k leaves to the consumer's side costs no processor, but bytes on their way to it */
};

/* Work that a sample needs, wherever it is done. */
enum tune_work {
	TUNE_WORK_READ,
	TUNE_WORK_DECODE,
	TUNE_WORK_PIXELS,
	TUNE_WORK_NUMBERS,
	TUNE_WORKS
};

/* What one window of steps was like. */
struct tune_measure {
	uint32_t steps;
	double step_ms;             /* mean: the consumer's own time and its stall */
	double stall_ms;            /* mean: of that, waiting for the loader or doing its work */
	double error_ms;            /* standard error of step_ms */
	double work_ms[TUNE_WORKS]; /* a step, sum over all threads */
	/* With a device: how long the batch of a step is on its way, by k; beside what computes. 0: nobody knows. */
	double transfer_ms[AUGMENT_STAGES + 1];
	uint32_t processors;
};

enum tune_phase { TUNE_BASE, TUNE_TRY, TUNE_DUEL_BEST, TUNE_DUEL_OTHER, TUNE_REST };

/* The best setting and another one by turns. */
struct tune_duel {
	struct tune_setting other;
	struct tune_measure best_measure, other_measure; /* all windows of each */
	double last_ms;                                  /* the best setting's step in this round */
	uint32_t rounds;
	double sum, squares; /* of gains, as shares of the best setting's step */
};

/* Everything it knows. Zeros are not valid: tune_init(). */
struct tune {
	struct tune_limits limits;
	enum tune_phase phase;
	struct tune_setting now;  /* runs */
	struct tune_setting best; /* accepted */
	struct tune_measure best_measure;
	struct tune_duel duel;
	uint32_t steps; /* of a window: more where steps differ much */
	struct tune_setting tried[TUNE_TRIALS];
	uint32_t tried_count, fails;
	uint32_t fresh;   /* trials since the best setting was measured */
	uint32_t changed; /* windows in a row */
	double known_ms
		[TUNE_WORKS]; /* with a device: the last work of each kind that a processor did */
	struct tune_measure rest;  /* the first window at rest */
	uint64_t climbs, settings; /* counted: begun; changes of `now` */
};

void tune_init(struct tune *tune, const struct tune_limits *limits,
	       const struct tune_setting *start);
/* A setting for the beginning: few readers, the rest to decoding. A device gets bytes: less on their way than numbers. */
struct tune_setting tune_start(const struct tune_limits *limits);
/* Steps to be measured in the window that runs. */
uint32_t tune_steps(const struct tune *tune);
/* Takes the window measured under tune->now; true when tune->now is another setting now. */
bool tune_next(struct tune *tune, const struct tune_measure *measured);
bool tune_is_allowed(const struct tune_limits *limits, const struct tune_setting *setting);
/* The time of a step that the model expects of a setting, from the work of a measured one. */
double tune_expect(const struct tune_limits *limits, const struct tune_measure *measure,
		   const struct tune_setting *setting);
