/* What the queues of devices (BMCs, switches) have in common: a call waits in the line of its
 * device, has its turn by priority, ends, and is answered in the next turn of the loop. Who asked
 * holds a ticket, by which the question is cancelled.
 *
 * The queues embed these structures: a link in each call, a line in each device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash_table.h"
#include "common/base/macros.h"

struct loop;
struct loop_timer;

/* Higher before lower, but after CALL_PASS_LIMIT of them one of the next priority has its turn.
 * Within one priority first come, first served. */
enum call_priority {
	CALL_CHANGE, /* changes and the readings that prove them */
	CALL_PERSON, /* somebody waits for the answer */
	CALL_POLL,   /* regular looks */
	CALL_PRIORITIES
};

enum { CALL_PASS_LIMIT = 4 };

/* The place of a call in a line, or among the calls that have ended. */
struct call_link {
	struct call_link *prev, *next;
	enum call_priority priority;
	uint64_t ended; /* the number of its end */
};

/* --- the line of one device; zero bytes are an empty one --- */

struct call_line {
	struct call_link *waiting[CALL_PRIORITIES];
	unsigned passed; /* calls begun while one of lower priority waited */
};

void call_line_add(struct call_line *line, struct call_link *link, enum call_priority priority);
/* Back to the head of its priority: it was begun, and begins anew. */
void call_line_put_back(struct call_line *line, struct call_link *link);
void call_line_remove(struct call_line *line, struct call_link *link);
/* Whose turn it is; NULL: nobody waits. The call stays in the line. */
struct call_link *call_line_next(const struct call_line *line);
/* Takes the call whose turn it is out of the line. */
void call_line_begin(struct call_line *line, struct call_link *link);
/* All that wait, by priority. Take the next one before the one in hand is removed. */
struct call_link *call_line_first(const struct call_line *line);
struct call_link *call_line_after(const struct call_line *line, const struct call_link *link);
unsigned call_line_count(const struct call_line *line);

/* --- the queue of all devices --- */

struct call_ticket {
	uint64_t number;
	UT_hash_handle hh;
};

/* Answers and frees a call that has ended. It may ask again; the queue stays. */
typedef void (*call_deliver_fn)(struct call_link *link);

struct call_queue {
	struct call_ticket *tickets; /* by number */
	uint64_t tickets_given;
	struct call_link *ended; /* not yet delivered */
	uint64_t ends;
	struct loop_timer *timer;
	call_deliver_fn deliver;
};

/* -ENOMEM. */
MUST_USE int call_queue_open(struct call_queue *queue, struct loop *loop, call_deliver_fn deliver);
/* Delivers all that has ended. Of a queue that was not opened: nothing. */
void call_queue_close(struct call_queue *queue);

/* Gives the ticket its number, from 1 on. */
void call_ticket_give(struct call_queue *queue, struct call_ticket *ticket);
/* NULL: cancelled, or delivered. */
struct call_ticket *call_ticket_find(const struct call_queue *queue, uint64_t number);
void call_ticket_take_back(struct call_queue *queue, struct call_ticket *ticket);
size_t call_queue_tickets(const struct call_queue *queue);

/* The call has ended and is in no line: it is delivered in the next turn. */
void call_queue_end(struct call_queue *queue, struct call_link *link);
/* It shall not be delivered. */
void call_queue_withdraw(struct call_queue *queue, struct call_link *link);
