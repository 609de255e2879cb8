#include "common/io/call_queue.h"

#include <utlist.h>

#include "common/io/loop.h"

LEAKS_LEFT_TO_SANITIZER

/* --- the line of one device --- */

void call_line_add(struct call_line *line, struct call_link *link, enum call_priority priority)
{
	link->priority = priority;
	DL_APPEND(line->waiting[priority], link);
}

void call_line_put_back(struct call_line *line, struct call_link *link)
{
	DL_PREPEND(line->waiting[link->priority], link);
}

void call_line_remove(struct call_line *line, struct call_link *link)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a whole list */
	DL_DELETE(line->waiting[link->priority], link);
}

/* The first of the highest priority, and of the next one. */
static void call_line_heads(const struct call_line *line, struct call_link **ret_first,
			    struct call_link **ret_later)
{
	*ret_first = *ret_later = NULL;
	for (int priority = 0; priority < CALL_PRIORITIES; priority++) {
		struct call_link *link = line->waiting[priority];

		if (link && !*ret_first)
			*ret_first = link;
		else if (link && !*ret_later)
			*ret_later = link;
	}
}

struct call_link *call_line_next(const struct call_line *line)
{
	struct call_link *first;
	struct call_link *later;

	call_line_heads(line, &first, &later);
	return later && line->passed >= CALL_PASS_LIMIT ? later : first;
}

void call_line_begin(struct call_line *line, struct call_link *link)
{
	struct call_link *first;
	struct call_link *later;

	call_line_heads(line, &first, &later);
	line->passed = later && link == first ? line->passed + 1 : 0;
	call_line_remove(line, link);
}

static struct call_link *call_line_from(const struct call_line *line, int priority)
{
	for (; priority < CALL_PRIORITIES; priority++) {
		if (line->waiting[priority])
			return line->waiting[priority];
	}
	return NULL;
}

struct call_link *call_line_first(const struct call_line *line)
{
	return call_line_from(line, 0);
}

struct call_link *call_line_after(const struct call_line *line, const struct call_link *link)
{
	return link->next ? link->next : call_line_from(line, (int)link->priority + 1);
}

unsigned call_line_count(const struct call_line *line)
{
	unsigned count = 0;

	for (struct call_link *link = call_line_first(line); link;
	     link = call_line_after(line, link))
		count++;
	return count;
}

/* --- the queue of all devices --- */

/* What ends meanwhile belongs to the next turn; what is withdrawn meanwhile is not there. */
static void call_queue_deliver(void *context)
{
	struct call_queue *queue = context;
	uint64_t last = queue->ends;

	while (queue->ended && queue->ended->ended <= last) {
		struct call_link *link = queue->ended;

		DL_DELETE(queue->ended, link);
		queue->deliver(link);
	}
}

int call_queue_open(struct call_queue *queue, struct loop *loop, call_deliver_fn deliver)
{
	*queue = (struct call_queue){.deliver = deliver};
	return loop_timer_new(loop, call_queue_deliver, queue, &queue->timer);
}

void call_queue_close(struct call_queue *queue)
{
	while (queue->ended)
		call_queue_deliver(queue);
	loop_timer_free(queue->timer);
	queue->timer = NULL;
}

void call_ticket_give(struct call_queue *queue, struct call_ticket *ticket)
{
	ticket->number = ++queue->tickets_given;
	HASH_ADD(hh, queue->tickets, number, sizeof(ticket->number), ticket);
}

struct call_ticket *call_ticket_find(const struct call_queue *queue, uint64_t number)
{
	struct call_ticket *ticket = NULL;

	HASH_FIND(hh, queue->tickets, &number, sizeof(number), ticket);
	return ticket;
}

void call_ticket_take_back(struct call_queue *queue, struct call_ticket *ticket)
{
	HASH_DELETE(hh, queue->tickets, ticket);
}

size_t call_queue_tickets(const struct call_queue *queue)
{
	return HASH_COUNT(queue->tickets);
}

void call_queue_end(struct call_queue *queue, struct call_link *link)
{
	link->ended = ++queue->ends;
	DL_APPEND(queue->ended, link);
	loop_timer_arm(queue->timer, 0);
}

void call_queue_withdraw(struct call_queue *queue, struct call_link *link)
{
	DL_DELETE(queue->ended, link);
}
