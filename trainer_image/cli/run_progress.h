/* What `trainer run` says while it trains: a line that is written over on a terminal, else a line for each
 * interval, or a JSON object for each event. */
#pragma once

#include <stdint.h>

#include "trainer_image/train/train.h"

struct run_progress {
	bool json, live; /* live: stderr is a terminal */
	int64_t interval_ms;
	struct train_hooks hooks; /* for struct train_options */
	struct train_begun begun;
	struct train_step last;
	/* Since the last line. */
	int64_t told_ms, begun_ms;
	uint64_t samples, steps, first_step;
	double loss;
	int64_t data_us, sync_us, all_us;
	struct loader_counts counts;
	bool shown; /* the live line stands there */
	int notes;
};

/* `hooks` are for the rank that tells; of others run_progress_quiet(). */
void run_progress_init(struct run_progress *progress, bool json, int64_t interval_ms);
/* The live line goes. */
void run_progress_clear(struct run_progress *progress);
/* The last words of a job that was run. */
void run_progress_end(struct run_progress *progress, const struct train_result *result);
