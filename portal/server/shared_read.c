#include "portal/server/shared_read.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "portal/server/store_text_sql.h"

/* So often one waits for another's read; then it reads alone. */
#define SHARED_READ_TRIES 2

struct shared_reads {
	struct portal *portal;
	struct answer_book *book;
	struct loop_timer *timer;
	bool armed;
};

static void shared_reads_arm(struct shared_reads *shared)
{
	if (!shared->armed)
		loop_timer_arm(shared->timer, ANSWER_BOOK_MS);
	shared->armed = true;
}

static void shared_reads_on_timer(void *context)
{
	struct shared_reads *shared = context;

	shared->armed = false;
	if (answer_book_sweep(shared->book, loop_now_ms(shared->portal->loop)))
		shared_reads_arm(shared);
}

int shared_reads_new(struct portal *portal, struct shared_reads **ret)
{
	struct shared_reads *shared = calloc(1, sizeof(*shared));
	int rc;

	if (!shared)
		return -ENOMEM;
	*ret = shared;
	shared->portal = portal;
	rc = answer_book_new(&shared->book);
	return rc == 0 ? loop_timer_new(portal->loop, shared_reads_on_timer, shared, &shared->timer)
		       : rc;
}

void shared_reads_free(struct shared_reads *shared)
{
	if (!shared)
		return;
	loop_timer_free(shared->timer);
	answer_book_free(shared->book);
	free(shared);
}

void shared_reads_forget(struct shared_reads *shared)
{
	if (shared)
		answer_book_forget(shared->book);
}

/* Whose rights, and what is asked. A NUL ends each part, and a letter says whether it is there. */
static bool shared_read_key(const struct exchange *exchange, const struct db_query *query,
			    const char *const params[], struct answer_key *ret)
{
	CLEANUP(text_done) struct text whole = {0};

	text_addf(&whole, "%d%c", (int)exchange->identity.role,
		  exchange->tenant[0] != '\0' ? 't' : 's');
	text_add_bytes(&whole, exchange->tenant, strlen(exchange->tenant) + 1);
	text_add_bytes(&whole, query->sql, strlen(query->sql) + 1);
	for (int i = 0; i < query->param_count; i++) {
		text_add(&whole, params[i] ? "p" : "n");
		if (params[i])
			text_add_bytes(&whole, params[i], strlen(params[i]) + 1);
	}
	if (!whole.failed)
		digest_text(text_get(&whole), whole.size, ret->text);
	return !whole.failed;
}

/* What the caller has seen of the event stream. */
static struct event_position shared_read_floor(const struct exchange *exchange)
{
	const char *header = http_request_header(exchange->request, "Haas-Stream-Position");

	return event_position_read(header ? header : "");
}

/* Unless it left. */
static void shared_read_again(struct exchange *exchange)
{
	if (!exchange->request)
		return;
	if (exchange->data_free)
		exchange->data_free(exchange->data);
	exchange->data = NULL;
	exchange->data_free = NULL;
	exchange->route->handler(exchange);
}

/* Those who waited: with an answer that shows all they know of, or they ask again. */
static void shared_read_wake(struct answer_waiter *waiters, struct answer_kept *kept)
{
	while (waiters) {
		struct exchange *exchange =
			(struct exchange *)((char *)waiters - offsetof(struct exchange, waiter));

		waiters = waiters->next;
		if (exchange->request && kept &&
		    answer_kept_shows(kept, shared_read_floor(exchange)))
			exchange_answer_kept(exchange, answer_kept_ref(kept));
		else
			shared_read_again(exchange);
		exchange_release(exchange);
	}
}

static void shared_read_on_rows(struct exchange *exchange, const PGresult *result)
{
	struct shared_reads *shared = exchange->portal->shared;
	const char *body = PQntuples(result) > 0 ? db_text(result, 0, DOCUMENT_BODY, "null") : "";
	const struct answer_reading reading = exchange->reading;
	const struct answer_found found = {.began_ms = exchange->began_ms,
					   .position = exchange->position,
					   .body = body,
					   .size = strlen(body)};
	struct answer_waiter *waiters;
	struct answer_kept *kept;

	exchange->reading.number = 0;
	kept = answer_book_put(shared->book, &reading, &found, &waiters);
	if (kept) {
		shared_reads_arm(shared);
		exchange_answer_kept(exchange, answer_kept_ref(kept));
	} else {
		exchange_answer_body(exchange, result);
	}
	shared_read_wake(waiters, kept);
	answer_kept_unref(kept);
}

void shared_read_end(struct exchange *exchange)
{
	const struct answer_reading reading = exchange->reading;

	if (reading.number == 0)
		return;
	exchange->reading.number = 0;
	shared_read_wake(answer_book_fail(exchange->portal->shared->book, &reading), NULL);
}

void exchange_query_shared(struct exchange *exchange, const struct db_query *query,
			   const char *const params[])
{
	struct shared_reads *shared = exchange->portal->shared;
	struct answer_question question;
	struct answer_kept *kept;

	if (exchange->tries == SHARED_READ_TRIES ||
	    !shared_read_key(exchange, query, params, &question.key)) {
		exchange_query(exchange, query, params, exchange_answer_body);
		return;
	}
	exchange->tries++;
	question.floor = shared_read_floor(exchange);
	question.now_ms = loop_now_ms(exchange->portal->loop);
	switch (answer_book_ask(shared->book, &question, &exchange->waiter, &exchange->reading,
				&kept)) {
	case ANSWER_WAY_KEPT: exchange_answer_kept(exchange, kept); break;
	case ANSWER_WAY_RENEWS:
		exchange_answer_kept(exchange, kept);
		exchange->position[0] = '\0'; /* that of the read follows */
		exchange_query(exchange, query, params, shared_read_on_rows);
		break;
	case ANSWER_WAY_WAITS: exchange_hold(exchange); break;
	case ANSWER_WAY_READS: exchange_query(exchange, query, params, shared_read_on_rows); break;
	}
}
