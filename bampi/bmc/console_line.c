#include "bampi/bmc/console_line.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

LEAKS_LEFT_TO_SANITIZER

#define GAP_MS  10 /* between two turns that nobody looks at */
#define AT_ONCE 64 /* of those that somebody looks at, in one turn of the loop */

struct console_line {
	struct loop_timer *timer;
	console_turn_fn fn;
	bool armed;
	size_t seats, waiting, sitting;
	struct console_seat *urgent, *patient;
};

static void console_line_call(struct console_line *line, struct console_seat **from)
{
	struct console_seat *seat = *from;

	DL_DELETE(*from, seat);
	seat->waits = false;
	line->waiting--;
	line->sitting++;
	seat->sits = true;
	line->fn(seat->context);
}

static void console_line_wake(struct console_line *line)
{
	bool turn_due = line->patient && line->sitting < line->seats;

	/* Arming again would move it, for ever while many come. */
	if (line->urgent)
		loop_timer_arm(line->timer, 0);
	else if (turn_due && !line->armed)
		loop_timer_arm(line->timer, GAP_MS);
	line->armed |= line->urgent || turn_due;
}

static void console_line_turn(void *context)
{
	struct console_line *line = context;

	line->armed = false;
	if (!line->urgent && line->patient && line->sitting < line->seats)
		console_line_call(line, &line->patient);
	for (unsigned i = 0; i < AT_ONCE && line->urgent; i++)
		console_line_call(line, &line->urgent);
	console_line_wake(line);
}

void console_line_join(struct console_line *line, struct console_seat *seat, bool at_once)
{
	if (seat->sits)
		return;
	if (seat->waits && at_once)
		console_line_leave(line, seat);
	if (seat->waits)
		return;
	seat->waits = true;
	seat->urgent = at_once;
	line->waiting++;
	if (at_once)
		DL_APPEND(line->urgent, seat);
	else
		DL_APPEND(line->patient, seat);
	console_line_wake(line);
}

void console_line_leave(struct console_line *line, struct console_seat *seat)
{
	if (seat->waits) {
		if (seat->urgent)
			DL_DELETE(line->urgent, seat);
		else
			DL_DELETE(line->patient, seat);
		line->waiting--;
	}
	line->sitting -= seat->sits;
	seat->waits = false;
	seat->sits = false;
	console_line_wake(line);
}

void console_line_seats(struct console_line *line, size_t seats)
{
	line->seats = seats;
	console_line_wake(line);
}

size_t console_line_waiting(const struct console_line *line)
{
	return line->waiting;
}

size_t console_line_sitting(const struct console_line *line)
{
	return line->sitting;
}

int console_line_new(struct loop *loop, console_turn_fn fn, struct console_line **ret)
{
	struct console_line *line = calloc(1, sizeof(*line));
	int rc;

	if (!line)
		return -ENOMEM;
	line->fn = fn;
	line->seats = CONSOLE_SEATS_DEFAULT;
	rc = loop_timer_new(loop, console_line_turn, line, &line->timer);
	if (rc) {
		free(line);
		return rc;
	}
	*ret = line;
	return 0;
}

void console_line_free(struct console_line *line)
{
	if (!line)
		return;
	loop_timer_free(line->timer);
	free(line);
}
