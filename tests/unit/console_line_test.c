// links: bampi_bmc common_io common_base
/* Who gets a console session: seats, turns, people first. */
#include "bampi/bmc/console_line.h"
#include "tests/support/cmocka.h"

enum { COUNT = 8 };

struct lab {
	struct loop *loop;
	struct loop_timer *end;
	struct console_line *line;
	struct console_seat seats[COUNT];
	size_t order[COUNT * 2];
	size_t called;
	size_t leaves; /* this one leaves inside its call; COUNT = none */
	size_t most;   /* sat at the same time */
};

static struct lab lab;

static void on_turn(void *context)
{
	const size_t *number = context;
	struct console_seat *seat = &lab.seats[*number];

	assert_true(seat->sits && !seat->waits);
	lab.order[lab.called++] = *number;
	if (console_line_sitting(lab.line) > lab.most)
		lab.most = console_line_sitting(lab.line);
	if (*number == lab.leaves)
		console_line_leave(lab.line, seat);
}

static void on_end(void *context)
{
	loop_stop(context);
}

static void run_for(int64_t ms)
{
	loop_timer_arm(lab.end, ms);
	loop_run(lab.loop);
}

static int lab_open(void **state)
{
	static size_t numbers[COUNT];

	(void)state;
	lab = (struct lab){.leaves = COUNT};
	for (size_t i = 0; i < COUNT; i++) {
		numbers[i] = i;
		lab.seats[i].context = &numbers[i];
	}
	assert_int_equal(loop_new(&lab.loop), 0);
	assert_int_equal(loop_timer_new(lab.loop, on_end, lab.loop, &lab.end), 0);
	assert_int_equal(console_line_new(lab.loop, on_turn, &lab.line), 0);
	return 0;
}

static int lab_close(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		console_line_leave(lab.line, &lab.seats[i]);
	assert_int_equal(console_line_waiting(lab.line), 0);
	assert_int_equal(console_line_sitting(lab.line), 0);
	console_line_free(lab.line);
	loop_timer_free(lab.end);
	loop_free(lab.loop);
	return 0;
}

static void in_turn_while_there_are_seats(void **state)
{
	(void)state;
	console_line_seats(lab.line, 3);
	for (size_t i = 0; i < 5; i++)
		console_line_join(lab.line, &lab.seats[i], false);
	console_line_join(lab.line, &lab.seats[0], false); /* once is enough */
	assert_int_equal(lab.called, 0);                   /* never inside the call */
	assert_int_equal(console_line_waiting(lab.line), 5);
	run_for(200);
	assert_int_equal(lab.called, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(lab.order[i], i);
	assert_int_equal(console_line_waiting(lab.line), 2);

	console_line_leave(lab.line, &lab.seats[3]); /* from the line */
	console_line_leave(lab.line, &lab.seats[1]); /* from a seat */
	run_for(100);
	assert_int_equal(lab.called, 4);
	assert_int_equal(lab.order[3], 4);
	assert_int_equal(lab.most, 3);
	console_line_seats(lab.line, 4);
	console_line_join(lab.line, &lab.seats[5], false);
	run_for(100);
	assert_int_equal(lab.order[4], 5);
}

static void people_do_not_wait(void **state)
{
	(void)state;
	console_line_seats(lab.line, 1);
	for (size_t i = 0; i < 3; i++)
		console_line_join(lab.line, &lab.seats[i], false);
	console_line_join(lab.line, &lab.seats[2], true);
	console_line_join(lab.line, &lab.seats[6], true);
	run_for(200);
	assert_int_equal(lab.called, 2);
	assert_int_equal(lab.order[0], 2);
	assert_int_equal(lab.order[1], 6);
	assert_int_equal(console_line_sitting(lab.line), 2);
	console_line_leave(lab.line, &lab.seats[2]);
	run_for(50);
	assert_int_equal(lab.called, 2); /* still no seat */
	console_line_leave(lab.line, &lab.seats[6]);
	run_for(100);
	assert_int_equal(lab.called, 3);
	assert_int_equal(lab.order[2], 0);
}

/* A session that cannot even begin gives its seat to the next. */
static void leaves_inside_its_turn(void **state)
{
	(void)state;
	lab.leaves = 0;
	console_line_seats(lab.line, 1);
	console_line_join(lab.line, &lab.seats[0], false);
	console_line_join(lab.line, &lab.seats[1], false);
	run_for(200);
	assert_int_equal(lab.called, 2);
	assert_int_equal(lab.order[1], 1);
	assert_int_equal(console_line_sitting(lab.line), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_turn_while_there_are_seats, lab_open, lab_close),
		cmocka_unit_test_setup_teardown(people_do_not_wait, lab_open, lab_close),
		cmocka_unit_test_setup_teardown(leaves_inside_its_turn, lab_open, lab_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
