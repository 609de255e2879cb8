#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "portal/server/event_stream_private.h"
#include "portal/server/exchange_store_sql.h"

#define BATCH      500
#define BATCH_TEXT "500"
/* A result is sent at once, and http_stream_send cuts off who has 256 KiB waiting. */
#define REPLAY_BATCH 50
#define REPLAY_TEXT  "50"
#define RING_TEXT    "16000" /* what is read into an empty ring: fewer than EVENT_RING_EVENTS */

static bool event_follow_submit(struct event_stream *stream, struct event_position at,
				const char *batch, db_result_fn fn, void *context)
{
	char xid[24];
	char id[24];
	const char *params[] = {xid, id, batch};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, NULL, NULL},
		{&stream_after_query, params, fn, context},
	};

	(void)text_format(xid, sizeof(xid), "%" PRIu64, at.xid);
	(void)text_format(id, sizeof(id), "%" PRIu64, at.id);
	return db_submit_all(stream->portal->live, calls, COUNT_OF(calls)) == 0;
}

/* --- further behind than memory --- */

static void event_follow_on_replay(void *context, int rc, const PGresult *rows,
				   const struct problem *problem)
{
	struct stream_client *client = context;
	struct event_stream *stream = client->stream;

	(void)problem;
	client->asked = false;
	read_turn_done(stream->replays, &client->turn, loop_now_ms(stream->portal->loop));
	if (rc != 0 || !client->request)
		return; /* asked again by the timer */
	stream_client_take_rows(client, rows);
	/* A short batch was the end of what there was when it ran: the ring has the rest. */
	if (PQntuples(rows) < REPLAY_BATCH &&
	    event_position_after(event_ring_floor(stream->ring), client->at))
		client->at = event_ring_floor(stream->ring);
	stream_client_feed(client);
	loop_timer_arm(stream->timer, 0);
}

/* Whoever can read its lists anew is spared the events of an hour. */
static void event_follow_read_again(struct stream_client *client)
{
	static const char again[] = "event: again\ndata: {}\n\n";

	client->at = event_ring_end(client->stream->ring);
	if (event_position_after(client->joined, client->at)) /* memory is being filled */
		client->at = client->joined;
	stream_client_send(client, again, sizeof(again) - 1);
	stream_client_say_position(client);
}

static bool event_follow_is_behind(const struct stream_client *client)
{
	return client->request && !client->asked &&
	       event_position_after(event_ring_floor(client->stream->ring), client->at);
}

/* Those that are behind line up, and whoever asks is served in turn: many of one do not hold up another's. */
static void event_follow_replays(struct event_stream *stream)
{
	int64_t now_ms = loop_now_ms(stream->portal->loop);
	struct read_item *item;

	for (struct stream_client *client = stream->clients; client; client = client->next) {
		if (!event_follow_is_behind(client) || client->waits)
			continue;
		client->turn.since_ms = now_ms;
		if (client->again)
			event_follow_read_again(client);
		else if (!stream_client_has_enough(client)) /* too many wait: it lines up later */
			client->waits =
				read_turn_add(stream->replays, client->asker, &client->turn) == 0;
	}
	while ((item = read_turn_next(stream->replays, now_ms))) {
		struct stream_client *client = CONTAINER_OF(item, struct stream_client, turn);

		client->waits = false;
		if (event_follow_is_behind(client) && !stream_client_has_enough(client))
			client->asked = event_follow_submit(stream, client->at, REPLAY_TEXT,
							    event_follow_on_replay, client);
		if (!client->asked)
			read_turn_done(stream->replays, item, now_ms);
	}
}

/* --- following --- */

static void event_follow_on_rows(void *context, int rc, const PGresult *rows,
				 const struct problem *problem)
{
	struct event_stream *stream = context;

	stream->asked = false;
	if (rc != 0) {
		stream->begun = false; /* what comes back may be another database */
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_WARN, "event stream", problem);
		return; /* the timer asks again */
	}
	for (int row = 0; row < PQntuples(rows); row++) {
		struct event_words words = event_row_words(rows, row);

		event_ring_add(stream->ring, event_row_position(rows, row), &words,
			       db_text(rows, row, STREAM_AFTER_BODY, "{}"));
	}
	for (struct stream_client *client = stream->clients; client && PQntuples(rows) > 0;
	     client = client->next)
		stream_client_feed(client);
	event_follow_replays(stream);
	if (PQntuples(rows) == BATCH || stream->again)
		event_follow_ask(stream);
}

/* Where the ring goes on: at its end, but not further back than what it could keep. */
static void event_follow_on_begin(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct event_stream *stream = context;
	struct event_position end = event_ring_end(stream->ring);

	stream->asked = false;
	if (rc != 0) {
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_WARN, "event stream", problem);
		return;
	}
	const struct event_position present = {
		.xid = strtoull(db_text(result, 0, STREAM_BEGIN_XID, "0"), NULL, 10)};
	const struct event_position floor = {
		.xid = strtoull(db_text(result, 0, STREAM_BEGIN_FLOOR_XID, "0"), NULL, 10),
		.id = strtoull(db_text(result, 0, STREAM_BEGIN_FLOOR_ID, "0"), NULL, 10)};

	if (end.xid == 0 || event_position_after(floor, end) || event_position_after(end, present))
		event_ring_reset(stream->ring, floor);
	stream->begun = true;
	event_follow_ask(stream);
}

void event_follow_ask(struct event_stream *stream)
{
	static const char *const params[] = {RING_TEXT};
	const struct db_call begin[] = {
		{&scope_operator_query, NULL, NULL, NULL},
		{&stream_begin_query, params, event_follow_on_begin, stream},
	};

	if (stream->asked || !stream->clients) {
		stream->again = stream->asked;
		return;
	}
	stream->again = false;
	if (stream->begun)
		stream->asked = event_follow_submit(stream, event_ring_end(stream->ring),
						    BATCH_TEXT, event_follow_on_rows, stream);
	else
		stream->asked = db_submit_all(stream->portal->live, begin, COUNT_OF(begin)) == 0;
}
