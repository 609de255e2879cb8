// links: common_io
/* When a cycle of work begins, and when it waits. */
#include <poll.h>
#include <stdbool.h>

#include "common/base/clock.h"
#include "common/io/loop.h"
#include "common/io/work_cycle.h"

#include "tests/support/cmocka.h"

/* No test waits until it is late. */
enum { LATE_MS = 60000, SOON_MS = 50, REST_MS = 1000 };

struct fixture {
	struct loop *loop;
	struct work_cycle cycle;
	unsigned begun;
};

static void begin(void *context)
{
	struct fixture *f = context;

	f->begun++;
}

static int start(void **state)
{
	static struct fixture f;

	f = (struct fixture){0};
	*state = &f;
	return loop_new(&f.loop) ? -1 : work_cycle_open(&f.cycle, f.loop, begin, &f);
}

static int stop(void **state)
{
	struct fixture *f = *state;

	work_cycle_close(&f->cycle);
	loop_free(f->loop);
	return 0;
}

static void run(struct fixture *f, int64_t for_ms)
{
	int64_t until_ms = clock_monotonic_ms() + for_ms;

	while (clock_monotonic_ms() < until_ms) {
		loop_run_once(f->loop);
		(void)poll(NULL, 0, 1);
	}
}

/* Connected, and the first cycle has ended: nothing is to do. */
static struct fixture *idle(void **state)
{
	struct fixture *f = *state;

	work_cycle_connected(&f->cycle, true);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 1);
	work_cycle_end(&f->cycle, WORK_CYCLE_NO_PAUSE);
	return f;
}

static void none_begins_without_a_database(void **state)
{
	struct fixture *f = *state;

	work_cycle_wake(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 0);
	work_cycle_connected(&f->cycle, true);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 1);
}

static void one_that_is_woken_while_it_runs_begins_again(void **state)
{
	struct fixture *f = idle(state);

	work_cycle_wake(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 2);
	work_cycle_wake(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 2);
	work_cycle_end(&f->cycle, LATE_MS);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 3);
}

/* Two owners speak in one turn of the loop: one has work now, one has time. */
static void a_later_wish_does_not_put_off_a_wake(void **state)
{
	struct fixture *f = idle(state);

	work_cycle_wake(&f->cycle);
	work_cycle_wake_in(&f->cycle, LATE_MS);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 2);
}

static void a_wake_ends_a_pause(void **state)
{
	struct fixture *f = idle(state);

	work_cycle_wake_in(&f->cycle, LATE_MS);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 1);
	work_cycle_wake(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 2);
	work_cycle_end(&f->cycle, LATE_MS);
	work_cycle_wake_in(&f->cycle, 0);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 3);
}

/* Notifications come all the time: none of them takes the rest away, PostgreSQL does that is back. */
static void one_that_failed_rests_though_it_is_woken(void **state)
{
	struct fixture *f = idle(state);

	work_cycle_wake(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 2);
	work_cycle_wake(&f->cycle);
	work_cycle_fail(&f->cycle, REST_MS);
	work_cycle_wake(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 2);
	run(f, REST_MS);
	assert_int_equal(f->begun, 3);
	work_cycle_fail(&f->cycle, LATE_MS);
	work_cycle_connected(&f->cycle, true);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 4);
}

static void a_stopped_one_never_begins(void **state)
{
	struct fixture *f = idle(state);

	work_cycle_wake(&f->cycle);
	work_cycle_stop(&f->cycle);
	run(f, SOON_MS);
	assert_int_equal(f->begun, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(none_begins_without_a_database, start, stop),
		cmocka_unit_test_setup_teardown(one_that_is_woken_while_it_runs_begins_again, start,
						stop),
		cmocka_unit_test_setup_teardown(a_later_wish_does_not_put_off_a_wake, start, stop),
		cmocka_unit_test_setup_teardown(a_wake_ends_a_pause, start, stop),
		cmocka_unit_test_setup_teardown(one_that_failed_rests_though_it_is_woken, start,
						stop),
		cmocka_unit_test_setup_teardown(a_stopped_one_never_begins, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
