#include "common/io/work_cycle.h"

#include "common/io/loop.h"

static void work_cycle_on_timer(void *context)
{
	struct work_cycle *cycle = context;

	cycle->armed = false;
	if (cycle->running || cycle->stopped || !cycle->connected)
		return;
	cycle->running = true;
	cycle->again = false;
	cycle->begin(cycle->context);
}

int work_cycle_open(struct work_cycle *cycle, struct loop *loop, work_cycle_fn begin, void *context)
{
	*cycle = (struct work_cycle){.loop = loop, .begin = begin, .context = context};
	return loop_timer_new(loop, work_cycle_on_timer, cycle, &cycle->timer);
}

void work_cycle_close(struct work_cycle *cycle)
{
	loop_timer_free(cycle->timer);
	cycle->timer = NULL;
}

/* A timer that ends earlier stays: an owner who wants less must not put off another's wake. */
void work_cycle_wake_in(struct work_cycle *cycle, int64_t after_ms)
{
	int64_t now_ms = loop_now_ms(cycle->loop);
	int64_t due_ms = now_ms + after_ms;

	if (due_ms < cycle->rest_until_ms)
		due_ms = cycle->rest_until_ms;
	if (cycle->running || cycle->stopped || (cycle->armed && cycle->due_ms <= due_ms))
		return;
	cycle->armed = true;
	cycle->due_ms = due_ms;
	loop_timer_arm(cycle->timer, due_ms - now_ms);
}

void work_cycle_wake(struct work_cycle *cycle)
{
	cycle->again = cycle->running;
	work_cycle_wake_in(cycle, 0);
}

void work_cycle_connected(struct work_cycle *cycle, bool connected)
{
	cycle->connected = connected;
	if (!connected)
		return;
	cycle->rest_until_ms = 0;
	work_cycle_wake(cycle);
}

void work_cycle_rest(struct work_cycle *cycle, int64_t rest_ms)
{
	cycle->rest_until_ms = loop_now_ms(cycle->loop) + rest_ms;
}

void work_cycle_end(struct work_cycle *cycle, int64_t pause_ms)
{
	cycle->running = false;
	if (cycle->again)
		work_cycle_wake_in(cycle, 0);
	else if (pause_ms != WORK_CYCLE_NO_PAUSE)
		work_cycle_wake_in(cycle, pause_ms);
	cycle->again = false;
}

void work_cycle_fail(struct work_cycle *cycle, int64_t rest_ms)
{
	work_cycle_rest(cycle, rest_ms);
	work_cycle_end(cycle, rest_ms);
}

void work_cycle_stop(struct work_cycle *cycle)
{
	cycle->stopped = true;
	cycle->connected = false;
}
