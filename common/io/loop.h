/* The event loop: libevent behind a small face. One loop per program, single-threaded; only
 * worker.h crosses threads. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"

struct event_base;
struct loop;
struct loop_timer;
struct loop_watch;

enum { LOOP_READ = 1, LOOP_WRITE = 2 };

typedef void (*loop_fn)(void *context);
typedef void (*loop_watch_fn)(void *context, int events);

MUST_USE int loop_new(struct loop **ret);
void loop_free(struct loop *loop);
/* Runs until loop_stop. */
void loop_run(struct loop *loop);
/* Runs what is due now and returns (tests). */
void loop_run_once(struct loop *loop);
void loop_stop(struct loop *loop);
/* For evhttp and bufferevents of floor 2 (common/http). Borrowed. */
struct event_base *loop_base(struct loop *loop);
/* Monotonic time of this turn of the loop. */
int64_t loop_now_ms(const struct loop *loop);

/* A one-shot timer; arming again moves it. */
MUST_USE int loop_timer_new(struct loop *loop, loop_fn fn, void *context, struct loop_timer **ret);
void loop_timer_arm(struct loop_timer *timer, int64_t after_ms);
void loop_timer_disarm(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer);

/* Level-triggered readiness of `fd` (not owned). */
MUST_USE int loop_watch_new(struct loop *loop, int fd, int events, loop_watch_fn fn, void *context,
			    struct loop_watch **ret);
void loop_watch_set(struct loop_watch *watch, int events);
void loop_watch_free(struct loop_watch *watch);

/* Calls fn in the loop when the signal arrives; kept until loop_free. */
MUST_USE int loop_on_signal(struct loop *loop, int signal, loop_fn fn, void *context);
