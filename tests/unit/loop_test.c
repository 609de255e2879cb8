// links: common_io
/* Timers, readiness, signals. */
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/io/loop.h"

#include "tests/support/cmocka.h"

struct fixture {
	struct loop *loop;
	struct loop_timer *timer;
	struct loop_watch *watch;
	unsigned calls;
	int events;
	int64_t at_ms;
	unsigned again; /* how often the timer arms itself */
};

static int start(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	return loop_new(&f.loop);
}

static int stop(void **state)
{
	struct fixture *f = *state;

	loop_timer_free(f->timer);
	loop_watch_free(f->watch);
	loop_free(f->loop);
	return 0;
}

static void on_stop(void *context)
{
	struct fixture *f = context;

	f->calls++;
	f->at_ms = clock_monotonic_ms();
	loop_stop(f->loop);
}

static void on_again(void *context)
{
	struct fixture *f = context;

	f->calls++;
	if (f->again-- > 0)
		loop_timer_arm(f->timer, 1);
	else
		loop_stop(f->loop);
}

static void on_free(void *context)
{
	struct fixture *f = context;

	loop_timer_free(f->timer);
	f->timer = NULL;
	loop_stop(f->loop);
}

static void test_timer(void **state)
{
	struct fixture *f = *state;
	int64_t start_ms = clock_monotonic_ms();

	assert_int_equal(loop_timer_new(f->loop, on_stop, f, &f->timer), 0);
	loop_timer_arm(f->timer, 5);
	loop_timer_arm(f->timer, 30); /* moves it */
	loop_run(f->loop);
	assert_int_equal(f->calls, 1);
	assert_in_range(f->at_ms - start_ms, 29, 5000);
	/* Never early, also when the turn before took long. */
	for (unsigned i = 0; i < 5; i++) {
		usleep(3000);
		start_ms = clock_monotonic_ms();
		loop_timer_arm(f->timer, 7);
		loop_run(f->loop);
		assert_in_range(f->at_ms - start_ms, 7, 5000);
	}
	loop_timer_arm(f->timer, 0);
	loop_timer_disarm(f->timer);
	f->calls = 0;
	loop_run_once(f->loop);
	assert_int_equal(f->calls, 0);
	loop_timer_arm(f->timer, -5);
	usleep(1000);
	loop_run_once(f->loop);
	assert_int_equal(f->calls, 1);
}

static void test_timer_inside(void **state)
{
	struct fixture *f = *state;

	f->again = 3;
	assert_int_equal(loop_timer_new(f->loop, on_again, f, &f->timer), 0);
	loop_timer_arm(f->timer, 0);
	loop_run(f->loop);
	assert_int_equal(f->calls, 4);
	loop_timer_free(f->timer);
	assert_int_equal(loop_timer_new(f->loop, on_free, f, &f->timer), 0);
	loop_timer_arm(f->timer, 0);
	loop_run(f->loop);
	assert_null(f->timer);
}

static void test_stop_before_run(void **state)
{
	struct fixture *f = *state;

	loop_stop(f->loop);
	loop_run(f->loop); /* returns: nothing else would wake it */
}

static void on_ready(void *context, int events)
{
	struct fixture *f = context;

	f->calls++;
	f->events = events;
}

static void test_watch(void **state)
{
	struct fixture *f = *state;
	int pair[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(loop_watch_new(f->loop, pair[0], LOOP_READ, on_ready, f, &f->watch), 0);
	loop_run_once(f->loop);
	assert_int_equal(f->calls, 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	loop_run_once(f->loop);
	loop_run_once(f->loop); /* level-triggered */
	assert_int_equal(f->calls, 2);
	assert_int_equal(f->events, LOOP_READ);
	loop_watch_set(f->watch, 0);
	loop_run_once(f->loop);
	assert_int_equal(f->calls, 2);
	loop_watch_set(f->watch, LOOP_READ | LOOP_WRITE);
	loop_run_once(f->loop);
	assert_int_equal(f->events, LOOP_READ | LOOP_WRITE);
	assert_int_equal(read(pair[0], &byte, 1), 1);
	loop_run_once(f->loop);
	assert_int_equal(f->events, LOOP_WRITE);
	close(pair[1]);
	loop_watch_set(f->watch, LOOP_READ);
	loop_run_once(f->loop);
	assert_int_equal(f->events, LOOP_READ);
	loop_watch_free(f->watch);
	f->watch = NULL;
	close(pair[0]);
}

static void test_signal(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(loop_on_signal(f->loop, SIGUSR1, on_stop, f), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	loop_run(f->loop);
	assert_int_equal(f->calls, 1);
	assert_int_equal(raise(SIGPIPE), 0); /* harmless since loop_new */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timer, start, stop),
		cmocka_unit_test_setup_teardown(test_timer_inside, start, stop),
		cmocka_unit_test_setup_teardown(test_stop_before_run, start, stop),
		cmocka_unit_test_setup_teardown(test_watch, start, stop),
		cmocka_unit_test_setup_teardown(test_signal, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
