#include "portal/server/event_stream.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "portal/server/event_ring.h"
#include "portal/server/event_store_sql.h"
#include "portal/server/exchange_store_sql.h"
#include "portal/server/live_values.h"
#include "portal/server/read_turn.h"
#include "portal/server/standing.h"

/* How soon an event is seen that nobody notified of. */
#define POLL_MS    100
#define COMMENT_MS 15000
#define VALUES_MS  250   /* between two events of values */
#define STUCK_MS   20000 /* so long may a client take nothing of what waits for it */
/* Of what waits for one client; more follows when it has taken that. A thousand that come back at once have
 * 16 MiB together. */
#define WAITING_MAX ((size_t)15 << 10)
#define TURN_MAX    ((size_t)60 << 10) /* of one client, then it is another's turn */
#define TURNS_MAX   64                 /* then it is the loop's */
#define BATCH       500
#define BATCH_TEXT  "500"
/* A result is sent at once, and http_stream_send cuts off who has 256 KiB waiting. */
#define REPLAY_BATCH      50
#define REPLAY_TEXT       "50"
#define RING_TEXT         "16000" /* what is read into an empty ring: fewer than EVENT_RING_EVENTS */
#define REPLAYS_MAX       4 /* questions of clients that are further behind, at the same time */
#define REPLAYS_EACH      1 /* of one asker while others are about */
#define CLIENTS_MAX       2000
#define EVENT_FILTER_SIZE 256

struct stream_client {
	struct stream_client *next;
	struct event_stream *stream;
	struct http_request *request; /* NULL when gone; freed when no query is on its way */
	struct standing *standing;
	struct event_position at;     /* the last row that was looked at for it */
	struct event_position joined; /* the present when it came */
	bool asked;                   /* its question is on its way */
	bool waits;                   /* for its turn to ask */
	bool hungry;                  /* takes more, and is in the line of those */
	struct stream_client *prev_hungry, *next_hungry;
	struct read_item turn;
	char asker[ACTOR_SIZE]; /* who takes the turns */
	bool filtered;
	bool again;      /* is told to read again, rather than what it missed long ago */
	char tenant[24]; /* its id; "" = all */
	char subject_kind[EVENT_FILTER_SIZE], subject[EVENT_FILTER_SIZE],
		kind[EVENT_FILTER_SIZE]; /* "" = any; kind is a glob */
	bool values;                     /* wants them too */
	struct value_reader reader;
	int64_t values_ms;
	int64_t said_ms;
	size_t waiting; /* for it to take, and since when it was not less */
	int64_t waiting_ms;
};

struct event_stream {
	struct portal *portal;
	struct loop_timer *timer;
	struct loop_timer *feeder; /* while somebody is hungry */
	struct stream_client *clients, *hungry;
	size_t client_count;
	struct event_ring *ring;
	struct live_values *values;
	bool begun; /* the ring ends where the next question begins */
	bool asked, again;
	struct read_turn *replays; /* questions of clients that are further behind */
};

static void event_stream_ask(struct event_stream *stream);
static void client_feed(struct stream_client *client);

/* --- clients --- */

/* Clients that are gone, have no query on its way and wait for none leave the list. */
static void event_stream_sweep(struct event_stream *stream)
{
	struct stream_client **link = &stream->clients;

	while (*link) {
		struct stream_client *client = *link;

		if (client->request || client->asked || client->waits || client->hungry) {
			link = &client->next;
			continue;
		}
		*link = client->next;
		standing_free(client->standing);
		stream->client_count--;
		stream->portal->counters.streams--;
		free(client);
	}
}

static void event_stream_on_gone(void *context)
{
	struct stream_client *client = context;

	client->request =
		NULL; /* swept by the next turn of the timer: the caller may be walking the list */
}

static void event_stream_on_drain(void *context)
{
	struct stream_client *client = context;

	client->waiting_ms = loop_now_ms(client->stream->portal->loop);
	client_feed(client);
}

static void client_send(struct stream_client *client, const char *data, size_t size)
{
	if (!client->request)
		return;
	client->said_ms = loop_now_ms(client->stream->portal->loop);
	if (http_stream_send_now(client->request, data, size) != 0)
		client->request = NULL;
}

/* So that a client whose filter lets little through comes back to where it really was. */
static void client_say_position(struct stream_client *client)
{
	char text[64];

	if (text_format(text, sizeof(text), "id: %" PRIu64 "-%" PRIu64 "\n\n", client->at.xid,
			client->at.id))
		client_send(client, text, strlen(text));
}

static bool event_stream_differs(const char *wanted, const char *is)
{
	return wanted[0] != '\0' && strcmp(wanted, is) != 0;
}

static bool client_wants(const struct stream_client *client, const struct event_words *words)
{
	if (event_stream_differs(client->tenant, words->tenant) ||
	    event_stream_differs(client->subject_kind, words->subject_kind) ||
	    event_stream_differs(client->subject, words->subject))
		return false;
	return client->kind[0] == '\0' || fnmatch(client->kind, words->kind, 0) == 0;
}

static bool client_has_enough(const struct stream_client *client)
{
	return !client->request || http_stream_waiting(client->request) >= WAITING_MAX;
}

/* Wanted events of the ring from `number` on, as one write. */
static uint64_t client_send_wanted(struct stream_client *client, uint64_t number)
{
	const struct event_ring *ring = client->stream->ring;
	struct text text = {0};
	uint64_t next = number;

	for (; number < event_ring_stop(ring) && text.size < WAITING_MAX; number = next) {
		struct event_words words = event_ring_words(ring, number);
		size_t size;
		const char *event = event_ring_run(ring, number, 0, &next, &size);

		if (!client_wants(client, &words))
			continue;
		text_add_bytes(&text, event, size);
		client->stream->portal->counters.streamed_events++;
	}
	if (text.failed) { /* rather a reconnect than a gap */
		http_stream_end(client->request);
		client->request = NULL;
	}
	client_send(client, text_get(&text), text.size);
	text_done(&text);
	return number;
}

/* One piece of the ring. */
static size_t client_send_piece(struct stream_client *client, uint64_t first, uint64_t *ret_next)
{
	const struct event_ring *ring = client->stream->ring;
	size_t size;
	const char *run;

	if (client->filtered) {
		*ret_next = client_send_wanted(client, first);
		return WAITING_MAX; /* looking costs as well */
	}
	run = event_ring_run(ring, first, WAITING_MAX, ret_next, &size);
	client_send(client, run, size);
	client->stream->portal->counters.streamed_events += *ret_next - first;
	return size;
}

/* What of the ring is new to the client, until enough waits for it to take, or its turn is over. */
static void client_feed(struct stream_client *client)
{
	struct event_stream *stream = client->stream;
	const struct event_ring *ring = stream->ring;
	size_t sent = 0;
	uint64_t number;

	if (!stream->begun || client->asked || client->hungry ||
	    event_position_after(event_ring_floor(ring), client->at))
		return;
	number = event_ring_after(ring, client->at);
	while (number < event_ring_stop(ring) && !client_has_enough(client) && sent < TURN_MAX) {
		sent += client_send_piece(client, number, &number);
		client->at = event_ring_position(ring, number - 1);
	}
	if (number == event_ring_stop(ring) || client_has_enough(client))
		return; /* the next event, or its drain, goes on */
	client->hungry = true;
	DL_APPEND2(stream->hungry, client, prev_hungry, next_hungry);
	loop_timer_arm(stream->feeder, 0);
}

/* Those that take all they are given are fed in turn: a thousand that come back do not hold up the loop. */
static void event_stream_on_feeder(void *context)
{
	struct event_stream *stream = context;

	for (int turn = 0; turn < TURNS_MAX && stream->hungry; turn++) {
		struct stream_client *client = stream->hungry;

		DL_DELETE2(stream->hungry, client, prev_hungry, next_hungry);
		client->hungry = false;
		client_feed(client);
	}
	if (stream->hungry)
		loop_timer_arm(stream->feeder, 0);
}

/* The newest values, when nothing else waits for it: who is slow gets fewer, and never old ones. */
static void client_send_values(struct stream_client *client)
{
	int64_t now_ms = loop_now_ms(client->stream->portal->loop);
	const char *event;
	size_t size;

	if (!client->values || !client->request || http_stream_waiting(client->request) > 0 ||
	    now_ms - client->values_ms < VALUES_MS)
		return;
	event = live_values_event(client->stream->values, &client->reader, &size);
	if (!event)
		return;
	client->values_ms = now_ms;
	client_send(client, event, size);
}

static void event_stream_on_values(void *context)
{
	struct event_stream *stream = context;

	for (struct stream_client *client = stream->clients; client; client = client->next)
		client_send_values(client);
}

/* --- further behind than memory --- */

static struct event_position row_position(const PGresult *rows, int row)
{
	return (struct event_position){
		.xid = strtoull(db_text(rows, row, STREAM_AFTER_XID, "0"), NULL, 10),
		.id = strtoull(db_text(rows, row, STREAM_AFTER_ID, "0"), NULL, 10),
	};
}

static struct event_words row_words(const PGresult *rows, int row)
{
	return (struct event_words){
		.tenant = db_text(rows, row, STREAM_AFTER_TENANT, ""),
		.subject_kind = db_text(rows, row, STREAM_AFTER_SUBJECT_KIND, ""),
		.subject = db_text(rows, row, STREAM_AFTER_SUBJECT, ""),
		.kind = db_text(rows, row, STREAM_AFTER_KIND, ""),
	};
}

static void client_take_rows(struct stream_client *client, const PGresult *rows)
{
	struct text text = {0};
	int count = PQntuples(rows);

	for (int row = 0; row < count && client->request; row++) {
		struct event_words words = row_words(rows, row);

		client->at = row_position(rows, row);
		if (client_wants(client, &words)) {
			text_addf(&text, "id: %" PRIu64 "-%" PRIu64 "\ndata: %s\n\n",
				  client->at.xid, client->at.id,
				  db_text(rows, row, STREAM_AFTER_BODY, "{}"));
			client->stream->portal->counters.streamed_events++;
		}
		if (text.failed) {
			http_stream_end(client->request);
			client->request = NULL;
		} else if (text.size >= WAITING_MAX || row == count - 1) {
			client_send(client, text_get(&text), text.size);
			text_clear(&text);
		}
	}
	text_done(&text);
}

static void on_replay(void *context, int rc, const PGresult *rows, const struct problem *problem)
{
	struct stream_client *client = context;
	struct event_stream *stream = client->stream;

	(void)problem;
	client->asked = false;
	read_turn_done(stream->replays, &client->turn, loop_now_ms(stream->portal->loop));
	if (rc != 0 || !client->request)
		return; /* asked again by the timer */
	client_take_rows(client, rows);
	/* A short batch was the end of what there was when it ran: the ring has the rest. */
	if (PQntuples(rows) < REPLAY_BATCH &&
	    event_position_after(event_ring_floor(stream->ring), client->at))
		client->at = event_ring_floor(stream->ring);
	client_feed(client);
	loop_timer_arm(stream->timer, 0);
}

static bool submit_after(struct event_stream *stream, struct event_position at, const char *batch,
			 db_result_fn fn, void *context)
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

/* Whoever can read its lists anew is spared the events of an hour. */
static void client_read_again(struct stream_client *client)
{
	static const char again[] = "event: again\ndata: {}\n\n";

	client->at = event_ring_end(client->stream->ring);
	if (event_position_after(client->joined, client->at)) /* memory is being filled */
		client->at = client->joined;
	client_send(client, again, sizeof(again) - 1);
	client_say_position(client);
}

static bool client_is_behind(const struct stream_client *client)
{
	return client->request && !client->asked &&
	       event_position_after(event_ring_floor(client->stream->ring), client->at);
}

/* Those that are behind line up, and whoever asks is served in turn: many of one do not hold up another's. */
static void ask_replays(struct event_stream *stream)
{
	int64_t now_ms = loop_now_ms(stream->portal->loop);
	struct read_item *item;

	for (struct stream_client *client = stream->clients; client; client = client->next) {
		if (!client_is_behind(client) || client->waits)
			continue;
		client->turn.since_ms = now_ms;
		if (client->again)
			client_read_again(client);
		else if (!client_has_enough(client)) /* too many wait: it lines up later */
			client->waits =
				read_turn_add(stream->replays, client->asker, &client->turn) == 0;
	}
	while ((item = read_turn_next(stream->replays, now_ms))) {
		struct stream_client *client = CONTAINER_OF(item, struct stream_client, turn);

		client->waits = false;
		if (client_is_behind(client) && !client_has_enough(client))
			client->asked =
				submit_after(stream, client->at, REPLAY_TEXT, on_replay, client);
		if (!client->asked)
			read_turn_done(stream->replays, item, now_ms);
	}
}

/* --- following --- */

static void event_stream_on_rows(void *context, int rc, const PGresult *rows,
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
		struct event_words words = row_words(rows, row);

		event_ring_add(stream->ring, row_position(rows, row), &words,
			       db_text(rows, row, STREAM_AFTER_BODY, "{}"));
	}
	for (struct stream_client *client = stream->clients; client && PQntuples(rows) > 0;
	     client = client->next)
		client_feed(client);
	ask_replays(stream);
	if (PQntuples(rows) == BATCH || stream->again)
		event_stream_ask(stream);
}

/* Where the ring goes on: at its end, but not further back than what it could keep. */
static void event_stream_on_begin(void *context, int rc, const PGresult *result,
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
	event_stream_ask(stream);
}

static void event_stream_ask(struct event_stream *stream)
{
	static const char *const params[] = {RING_TEXT};
	const struct db_call begin[] = {
		{&scope_operator_query, NULL, NULL, NULL},
		{&stream_begin_query, params, event_stream_on_begin, stream},
	};

	if (stream->asked || !stream->clients) {
		stream->again = stream->asked;
		return;
	}
	stream->again = false;
	if (stream->begun)
		stream->asked = submit_after(stream, event_ring_end(stream->ring), BATCH_TEXT,
					     event_stream_on_rows, stream);
	else
		stream->asked = db_submit_all(stream->portal->live, begin, COUNT_OF(begin)) == 0;
}

/* False: it takes nothing any more, and holds memory. It comes back with its last id. */
static bool client_takes(struct stream_client *client, int64_t now_ms)
{
	size_t waiting = http_stream_waiting(client->request);

	if (waiting == 0 || waiting < client->waiting)
		client->waiting_ms = now_ms;
	client->waiting = waiting;
	return now_ms - client->waiting_ms < STUCK_MS;
}

static void event_stream_on_timer(void *context)
{
	struct event_stream *stream = context;
	int64_t now_ms = loop_now_ms(stream->portal->loop);

	event_stream_sweep(stream);
	if (!stream->clients) {
		/* Whoever comes next is not led through all that happens until then. */
		stream->begun = false;
		return;
	}
	for (struct stream_client *client = stream->clients; client; client = client->next) {
		if (client->request && !client_takes(client, now_ms)) {
			http_request_on_close(client->request, NULL, NULL);
			http_stream_abort(client->request);
			client->request = NULL;
		}
		if (client->request && now_ms - client->said_ms >= COMMENT_MS)
			client_say_position(client);
		if (client->request && client->values) {
			live_values_look(stream->values, client->tenant);
			client_send_values(client);
		}
	}
	if (db_connected(stream->portal->live))
		event_stream_ask(stream);
	else
		stream->begun = false;
	loop_timer_arm(stream->timer, POLL_MS);
}

/* --- face --- */

int event_stream_new(struct portal *portal, struct event_stream **ret)
{
	struct event_stream *stream = calloc(1, sizeof(*stream));
	int rc;

	if (!stream)
		return -ENOMEM;
	stream->portal = portal;
	rc = loop_timer_new(portal->loop, event_stream_on_timer, stream, &stream->timer);
	if (rc == 0)
		rc = loop_timer_new(portal->loop, event_stream_on_feeder, stream, &stream->feeder);
	if (rc == 0)
		rc = event_ring_new(&stream->ring);
	if (rc == 0)
		rc = read_turn_new(REPLAYS_MAX, REPLAYS_EACH, &stream->replays);
	if (rc == 0)
		rc = live_values_new(portal, event_stream_on_values, stream, &stream->values);
	if (rc != 0) {
		read_turn_free(stream->replays);
		event_ring_free(stream->ring);
		loop_timer_free(stream->feeder);
		loop_timer_free(stream->timer);
		free(stream);
		return rc;
	}
	*ret = stream;
	return 0;
}

/* After the database is gone: no query is on its way any more. */
void event_stream_free(struct event_stream *stream)
{
	if (!stream)
		return;
	loop_timer_free(stream->timer);
	loop_timer_free(stream->feeder);
	for (struct stream_client *client = stream->clients; client; client = client->next) {
		client->asked = client->waits = client->hungry = false;
		if (client->request) {
			http_request_on_close(client->request, NULL, NULL);
			http_stream_end(client->request);
		}
		client->request = NULL;
	}
	event_stream_sweep(stream);
	read_turn_free(stream->replays);
	event_ring_free(stream->ring);
	live_values_free(stream->values);
	free(stream);
}

void event_stream_wake(struct event_stream *stream)
{
	if (stream && stream->clients)
		loop_timer_arm(stream->timer, 0);
}

static const char *event_stream_filter_of(const struct exchange *exchange, const char *name)
{
	const char *value = exchange_arg(exchange, name);

	return value ? value : "";
}

/* Where the client goes on: after its last row, else at the present, which is never behind what was
 * sent to the others so far. An id that no ended transaction can have given is of another database:
 * it starts at the present too. */
static void set_position(struct stream_client *client, const char *last,
			 struct event_position present)
{
	client->at = client->joined = present;
	if (last && !event_position_after(event_position_read(last), present))
		client->at = event_position_read(last);
}

static void event_stream_on_over(void *context, const struct problem *problem)
{
	struct stream_client *client = context;

	(void)problem;
	if (!client->request)
		return;
	http_request_on_close(client->request, NULL, NULL);
	http_stream_end(client->request);
	client->request = NULL;
	event_stream_wake(client->stream);
}

/* It has a row while the name that it came with is the same tenant's. */
static bool event_stream_stands(const PGresult *result, struct problem *problem)
{
	if (PQntuples(result) > 0)
		return true;
	(void)problem_set(problem, E_NOT_FOUND, "the tenant is gone");
	return false;
}

static void event_stream_begin(struct exchange *exchange, struct stream_client *client)
{
	struct event_stream *stream = client->stream;

	client->request = exchange->request;
	exchange->request = NULL;
	client->said_ms = loop_now_ms(exchange->portal->loop);
	client->next = stream->clients;
	stream->clients = client;
	stream->client_count++;
	exchange->portal->counters.streams++;
	http_request_on_close(client->request, event_stream_on_gone, client);
	http_stream_on_drain(client->request, event_stream_on_drain, client);
	client->waiting_ms = client->said_ms;
	http_answer_header(client->request, "X-Accel-Buffering", "no");
	http_stream_begin(client->request, 200, "text/event-stream");
	client_say_position(client);
	client_feed(client);
	event_stream_wake(stream);
}

static void event_stream_join_reader(struct exchange *exchange, const PGresult *result)
{
	struct event_stream *stream = exchange->portal->stream;
	struct event_position present = {
		.xid = strtoull(db_text(result, 0, STREAM_START_XID, "0"), NULL, 10)};
	struct stream_client *client;
	struct problem problem = {0};
	bool site = exchange->tenant[0] == '\0';
	const char *tenant = site ? "" : db_text(result, 0, STREAM_START_TENANT, "");
	struct standing_options options = {.query = &stream_stands_query,
					   .param = db_text(result, 0, STREAM_START_TENANT, ""),
					   .still = event_stream_stands,
					   .over = event_stream_on_over};

	if (!exchange->request || (!site && tenant[0] == '\0'))
		return; /* never a tenant's reader that is taken for the site's: the exchange answers 500 */
	client = stream->client_count < CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		(void)problem_set(&problem, E_UNAVAILABLE, "too many streams are open");
		problem_hint(&problem, "close one, or ask again later");
		exchange_problem(exchange, 503, &problem);
		return;
	}
	if (stream->begun && event_position_after(event_ring_end(stream->ring), present))
		present = event_ring_end(stream->ring); /* its connection was ahead of this one */
	options.context = client;
	client->stream = stream;
	if (standing_new(exchange, &options, &client->standing) != 0) {
		free(client);
		return; /* the exchange answers 500 */
	}
	(void)text_copy(client->tenant, sizeof(client->tenant), tenant);
	(void)text_copy(client->asker, sizeof(client->asker), site ? exchange->actor : tenant);
	(void)text_copy(client->subject_kind, sizeof(client->subject_kind),
			event_stream_filter_of(exchange, "?subject_kind"));
	(void)text_copy(client->subject, sizeof(client->subject),
			event_stream_filter_of(exchange, "?subject"));
	(void)text_copy(client->kind, sizeof(client->kind),
			event_stream_filter_of(exchange, "?kind"));
	client->filtered = client->tenant[0] != '\0' || client->subject_kind[0] != '\0' ||
			   client->subject[0] != '\0' || client->kind[0] != '\0';
	client->values = strcmp(event_stream_filter_of(exchange, "?values"), "true") == 0;
	client->reader.tenant = client->tenant;
	if (exchange_arg(exchange, "?last_event_id"))
		client->reader.xid =
			event_position_read(exchange_arg(exchange, "?last_event_id")).xid;
	client->again = strcmp(event_stream_filter_of(exchange, "?again"), "true") == 0;
	set_position(client, exchange_arg(exchange, "?last_event_id"), present);
	event_stream_begin(exchange, client);
}

/* The first question tells the present, and shows that the database is there and that the tenant
 * exists. */
void event_stream_join(struct exchange *exchange)
{
	exchange_query_live(exchange, &stream_start_query, NULL, event_stream_join_reader);
}
