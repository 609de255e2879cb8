/* Work that is done in cycles, one at a time: claim, read, decide, save. A cycle begins when its
 * owner is woken or the pause after the last one is over, and only while PostgreSQL is there. One
 * that is woken while it runs begins again as soon as it has ended. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

struct loop;
struct loop_timer;

/* Begins a cycle. It ends with work_cycle_end, at once or from the loop. */
typedef void (*work_cycle_fn)(void *context);

/* Part of its owner. Others may read `connected` and `running`. */
struct work_cycle {
	struct loop *loop;
	struct loop_timer *timer;
	work_cycle_fn begin;
	void *context;
	bool connected, running;
	bool again; /* woken meanwhile */
	bool stopped;
	bool armed;
	int64_t due_ms;        /* loop_now_ms, of the armed timer */
	int64_t rest_until_ms; /* loop_now_ms: none begins before */
};

enum { WORK_CYCLE_NO_PAUSE = -1 };

/* -ENOMEM. It begins when it is connected. */
MUST_USE int work_cycle_open(struct work_cycle *cycle, struct loop *loop, work_cycle_fn begin,
			     void *context);
/* Of a cycle that was not opened: nothing. */
void work_cycle_close(struct work_cycle *cycle);

/* There is something to do. */
void work_cycle_wake(struct work_cycle *cycle);
/* Something is to do in `after_ms` at the latest, unless a cycle ends with another pause before. */
void work_cycle_wake_in(struct work_cycle *cycle, int64_t after_ms);
/* PostgreSQL came, which wakes it and ends its rest, or went. */
void work_cycle_connected(struct work_cycle *cycle, bool connected);
/* However it is woken: none begins for so long. */
void work_cycle_rest(struct work_cycle *cycle, int64_t rest_ms);
/* The cycle has ended. The next begins after the pause at the latest; WORK_CYCLE_NO_PAUSE: when it
 * is woken. */
void work_cycle_end(struct work_cycle *cycle, int64_t pause_ms);
/* The cycle has failed. The next begins after `rest_ms`, however often it was woken meanwhile. */
void work_cycle_fail(struct work_cycle *cycle, int64_t rest_ms);
/* None begins any more. */
void work_cycle_stop(struct work_cycle *cycle);
