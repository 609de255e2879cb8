#include "common/io/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/base/clock.h"

struct loop_signal {
	struct event *event;
	loop_fn fn;
	void *context;
	struct loop_signal *next;
};

struct loop {
	struct event_base *base;
	struct loop_signal *signals;
	bool stopping; /* also when asked before loop_run() */
};

struct loop_timer {
	struct event *event;
	loop_fn fn;
	void *context;
};

struct loop_watch {
	struct loop *loop;
	struct event *event;
	int fd;
	loop_watch_fn fn;
	void *context;
};

static struct event_base *base_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (!config)
		return NULL;
	/* Timers must never fire before their time by clock_monotonic_ms(): no coarse clock, and no
	 * clock of the turn's start. */
	if (event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER |
						  EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int loop_new(struct loop **ret)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return -ENOMEM;
	loop->base = base_new();
	if (!loop->base) {
		free(loop);
		return -ENOMEM;
	}
	(void)signal(SIGPIPE, SIG_IGN); /* a peer that left is an errno of write() */
	*ret = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->signals) {
		struct loop_signal *next = loop->signals->next;

		event_free(loop->signals->event);
		free(loop->signals);
		loop->signals = next;
	}
	event_base_free(loop->base);
	free(loop);
}

void loop_run(struct loop *loop)
{
	if (!loop->stopping)
		(void)event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
	loop->stopping = false;
}

void loop_run_once(struct loop *loop)
{
	/* Without ONCE libevent goes on while anything is ready, and level-triggered readiness may
	 * stay for ever. */
	(void)event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

void loop_stop(struct loop *loop)
{
	loop->stopping = true;
	(void)event_base_loopbreak(loop->base);
}

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

int64_t loop_now_ms(const struct loop *loop)
{
	(void)loop; /* vDSO time is cheaper than keeping a cached one honest */
	return clock_monotonic_ms();
}

static void loop_timer_due(evutil_socket_t fd, short what, void *context)
{
	const struct loop_timer *timer = context;

	(void)fd;
	(void)what;
	timer->fn(timer->context); /* may free the timer */
}

int loop_timer_new(struct loop *loop, loop_fn fn, void *context, struct loop_timer **ret)
{
	struct loop_timer *timer = calloc(1, sizeof(*timer));

	if (!timer)
		return -ENOMEM;
	timer->fn = fn;
	timer->context = context;
	timer->event = event_new(loop->base, -1, 0, loop_timer_due, timer);
	if (!timer->event) {
		free(timer);
		return -ENOMEM;
	}
	*ret = timer;
	return 0;
}

void loop_timer_arm(struct loop_timer *timer, int64_t after_ms)
{
	int64_t delay_ms = after_ms > 0 ? after_ms : 0;
	struct timeval delay = {
		.tv_sec = (time_t)(delay_ms / 1000),
		.tv_usec = (suseconds_t)(delay_ms % 1000 * 1000),
	};

	(void)event_add(timer->event, &delay);
}

void loop_timer_disarm(struct loop_timer *timer)
{
	(void)event_del(timer->event);
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	event_free(timer->event);
	free(timer);
}

static void watch_ready(evutil_socket_t fd, short what, void *context)
{
	const struct loop_watch *watch = context;

	(void)fd;
	watch->fn(watch->context,
		  (what & EV_READ ? LOOP_READ : 0) | (what & EV_WRITE ? LOOP_WRITE : 0));
}

static short watch_events(int events)
{
	return (short)(EV_PERSIST | (events & LOOP_READ ? EV_READ : 0) |
		       (events & LOOP_WRITE ? EV_WRITE : 0));
}

int loop_watch_new(struct loop *loop, int fd, int events, loop_watch_fn fn, void *context,
		   struct loop_watch **ret)
{
	struct loop_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	*watch = (struct loop_watch){.loop = loop, .fd = fd, .fn = fn, .context = context};
	watch->event = event_new(loop->base, fd, watch_events(events), watch_ready, watch);
	if (!watch->event || (events && event_add(watch->event, NULL) != 0)) {
		loop_watch_free(watch);
		return -EBADF;
	}
	*ret = watch;
	return 0;
}

void loop_watch_set(struct loop_watch *watch, int events)
{
	if ((event_get_events(watch->event) & (EV_READ | EV_WRITE)) ==
		    (watch_events(events) & (EV_READ | EV_WRITE)) &&
	    event_pending(watch->event, EV_READ | EV_WRITE, NULL))
		return;
	(void)event_del(watch->event);
	(void)event_assign(watch->event, watch->loop->base, watch->fd, watch_events(events),
			   watch_ready, watch);
	if (events)
		(void)event_add(watch->event, NULL);
}

void loop_watch_free(struct loop_watch *watch)
{
	if (!watch)
		return;
	if (watch->event)
		event_free(watch->event);
	free(watch);
}

static void signal_due(evutil_socket_t number, short what, void *context)
{
	const struct loop_signal *row = context;

	(void)number;
	(void)what;
	row->fn(row->context);
}

int loop_on_signal(struct loop *loop, int signal, loop_fn fn, void *context)
{
	struct loop_signal *row = calloc(1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	row->fn = fn;
	row->context = context;
	row->event = evsignal_new(loop->base, signal, signal_due, row);
	if (!row->event || event_add(row->event, NULL) != 0) {
		if (row->event)
			event_free(row->event);
		free(row);
		return -EINVAL;
	}
	row->next = loop->signals;
	loop->signals = row;
	return 0;
}
