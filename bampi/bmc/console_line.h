/* Who may have a console session now. One costs 140 KB in libipmiconsole, a millisecond of the loop
 * to begin, and a share of its engine's polling for as long as it lives: of ten thousand at once
 * each would wait for all others. So there is a number of seats, and those who wait are called in
 * turn, a few at a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

enum { CONSOLE_SEATS_DEFAULT = 1000 };

/* One console in the line; zero bytes but the context: neither waits nor sits. */
struct console_seat {
	void *context;
	bool waits, urgent, sits;
	struct console_seat *prev, *next;
};

struct console_line;

/* Called from the loop when it is this one's turn: it sits already. It may leave inside the call.
 */
typedef void (*console_turn_fn)(void *context);

MUST_USE int console_line_new(struct loop *loop, console_turn_fn fn, struct console_line **ret);
/* Everybody has left before. */
void console_line_free(struct console_line *line);
void console_line_seats(struct console_line *line, size_t seats);

/* `at_once`: somebody looks at it now; sits down whether a seat is free or not, and its turn comes
 * with the next turn of the loop. Who waits already may be moved so; who sits is left alone. */
void console_line_join(struct console_line *line, struct console_seat *seat, bool at_once);
/* Whoever neither waits nor sits has nothing to leave. */
void console_line_leave(struct console_line *line, struct console_seat *seat);

size_t console_line_waiting(const struct console_line *line);
size_t console_line_sitting(const struct console_line *line);
