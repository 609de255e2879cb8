#include "portal/server/event_stream.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "portal/server/event_store_sql.h"
#include "portal/server/exchange_store_sql.h"

#define POLL_MS    1000
#define COMMENT_MS 15000
/* http_stream_send cuts off who has 256 KiB waiting; a burst comes in pieces that sockets can take:
 * at most 5000 rows a second. */
#define REPLAY_WAITING \
	((size_t)64 << 10) /* a replay goes on when the client has taken the rest \
			    */
#define BATCH       50
#define BATCH_TEXT  "50"
#define PACE_MS     10
#define CLIENTS_MAX 2000
#define FILTER_SIZE 256

/* Of a row: (transaction, event). */
struct position {
	uint64_t xid, id;
};

struct stream_client {
	struct stream_client *next;
	struct event_stream *stream;
	struct http_request *request; /* NULL when gone; freed when no query is on its way */
	struct position at;           /* the last row that was looked at for it */
	bool replaying;               /* behind; live rows are left to its own queries */
	bool asked;
	char tenant[NAME_SIZE]; /* "" = all */
	char subject_kind[FILTER_SIZE], subject[FILTER_SIZE],
		kind[FILTER_SIZE]; /* "" = any; kind is a glob */
	int64_t said_ms;
};

struct event_stream {
	struct portal *portal;
	struct loop_timer *timer;
	struct stream_client *clients;
	size_t client_count;
	struct position at; /* the last row that was sent to all; {0, 0} = nobody listens */
	bool asked, again;
	int64_t not_before_ms; /* of the next query: the pace of a burst */
};

static void event_stream_ask(struct event_stream *stream);

/* --- clients --- */

static bool position_after(struct position a, struct position b)
{
	return a.xid != b.xid ? a.xid > b.xid : a.id > b.id;
}

static struct position position_read(const char *text)
{
	struct position position = {0};
	char *rest = NULL;

	position.xid = strtoull(text, &rest, 10);
	if (*rest == '-')
		position.id = strtoull(rest + 1, NULL, 10);
	return position;
}

/* Clients that are gone and have no query on its way leave the list. */
static void event_stream_sweep(struct event_stream *stream)
{
	struct stream_client **link = &stream->clients;

	while (*link) {
		struct stream_client *client = *link;

		if (client->request || client->asked) {
			link = &client->next;
			continue;
		}
		*link = client->next;
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

/* A client that does not read is cut off by http_stream_send; it comes back with its last id. */
static void client_send(struct stream_client *client, const struct text *text)
{
	if (!client->request)
		return;
	client->said_ms = loop_now_ms(client->stream->portal->loop);
	if (http_stream_send(client->request, text_get(text), text->size) != 0)
		client->request = NULL;
}

static void client_say_position(struct stream_client *client)
{
	struct text text = {0};

	text_addf(&text, "id: %" PRIu64 "-%" PRIu64 "\n\n", client->at.xid, client->at.id);
	client_send(client, &text);
	text_done(&text);
}

static bool client_wants(const struct stream_client *client, const PGresult *rows, int row)
{
	if (client->tenant[0] != '\0' &&
	    strcmp(client->tenant, db_text(rows, row, STREAM_AFTER_TENANT, "")) != 0)
		return false;
	if (client->subject_kind[0] != '\0' &&
	    strcmp(client->subject_kind, db_text(rows, row, STREAM_AFTER_SUBJECT_KIND, "")) != 0)
		return false;
	if (client->subject[0] != '\0' &&
	    strcmp(client->subject, db_text(rows, row, STREAM_AFTER_SUBJECT, "")) != 0)
		return false;
	return client->kind[0] == '\0' ||
	       fnmatch(client->kind, db_text(rows, row, STREAM_AFTER_KIND, ""), 0) == 0;
}

static struct position row_position(const PGresult *rows, int row)
{
	return (struct position){
		.xid = strtoull(db_text(rows, row, STREAM_AFTER_XID, "0"), NULL, 10),
		.id = strtoull(db_text(rows, row, STREAM_AFTER_ID, "0"), NULL, 10),
	};
}

/* What of the rows is new to the client and wanted, as one write. */
static void client_feed(struct stream_client *client, const PGresult *rows)
{
	struct text text = {0};

	for (int row = 0; row < PQntuples(rows); row++) {
		struct position at = row_position(rows, row);

		if (!position_after(at, client->at))
			continue;
		client->at = at;
		if (!client_wants(client, rows, row))
			continue;
		text_addf(&text, "id: %" PRIu64 "-%" PRIu64 "\ndata: %s\n\n", at.xid, at.id,
			  db_text(rows, row, STREAM_AFTER_BODY, "{}"));
		client->stream->portal->counters.streamed_events++;
	}
	if (text.failed) { /* rather a reconnect than a gap */
		http_stream_end(client->request);
		client->request = NULL;
	} else if (text.size > 0) {
		client_send(client, &text);
	}
	text_done(&text);
}

/* --- catching up --- */

static void on_replay(void *context, int rc, const PGresult *rows, const struct problem *problem)
{
	struct stream_client *client = context;

	(void)problem;
	client->asked = false;
	if (rc != 0 || !client->request)
		return; /* asked again by the timer */
	client_feed(client, rows);
	/* A short batch was the end of what there was when it ran, and that was after every live
	 * row sent so far. */
	if (PQntuples(rows) < BATCH)
		client->replaying = false;
	else
		loop_timer_arm(client->stream->timer, PACE_MS);
}

static void submit_after(struct event_stream *stream, struct position at, db_result_fn fn,
			 void *context, bool *ret_asked)
{
	char xid[24];
	char id[24];
	const char *params[] = {xid, id, BATCH_TEXT};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, NULL, NULL},
		{&stream_after_query, params, fn, context},
	};

	(void)text_format(xid, sizeof(xid), "%" PRIu64, at.xid);
	(void)text_format(id, sizeof(id), "%" PRIu64, at.id);
	*ret_asked = db_submit_all(stream->portal->reads, calls, COUNT_OF(calls)) == 0;
}

static void ask_replays(struct event_stream *stream)
{
	for (struct stream_client *client = stream->clients; client; client = client->next) {
		if (!client->request || !client->replaying || client->asked)
			continue;
		if (http_stream_waiting(client->request) < REPLAY_WAITING)
			submit_after(stream, client->at, on_replay, client, &client->asked);
		else
			stream->not_before_ms = loop_now_ms(stream->portal->loop) + PACE_MS;
	}
}

/* --- following --- */

static void event_stream_on_rows(void *context, int rc, const PGresult *rows,
				 const struct problem *problem)
{
	struct event_stream *stream = context;

	stream->asked = false;
	if (rc != 0) {
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_WARN, "event stream", problem);
		return; /* the timer asks again */
	}
	for (struct stream_client *client = stream->clients; client; client = client->next) {
		if (client->request && !client->replaying)
			client_feed(client, rows);
	}
	if (PQntuples(rows) > 0)
		stream->at = row_position(rows, PQntuples(rows) - 1);
	if (PQntuples(rows) == BATCH) {
		stream->not_before_ms = loop_now_ms(stream->portal->loop) + PACE_MS;
		loop_timer_arm(stream->timer, PACE_MS);
	} else if (stream->again) {
		event_stream_ask(stream);
	}
}

static void event_stream_ask(struct event_stream *stream)
{
	if (stream->asked || !stream->clients) {
		stream->again = stream->asked;
		return;
	}
	stream->again = false;
	if (loop_now_ms(stream->portal->loop) >= stream->not_before_ms)
		submit_after(stream, stream->at, event_stream_on_rows, stream, &stream->asked);
	ask_replays(stream);
}

static void event_stream_on_timer(void *context)
{
	const struct text comment = {.data = (char[]){": here\n\n"}, .size = 8};
	struct event_stream *stream = context;
	int64_t now_ms = loop_now_ms(stream->portal->loop);

	event_stream_sweep(stream);
	if (!stream->clients) { /* nobody listens: the next one starts at its own present */
		if (!stream->asked)
			stream->at = (struct position){0};
		return;
	}
	for (struct stream_client *client = stream->clients; client; client = client->next) {
		if (client->request && now_ms - client->said_ms >= COMMENT_MS)
			client_send(client, &comment);
	}
	if (db_connected(stream->portal->reads))
		event_stream_ask(stream);
	loop_timer_arm(stream->timer, now_ms < stream->not_before_ms ? PACE_MS : POLL_MS);
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
	if (rc != 0) {
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
	for (struct stream_client *client = stream->clients; client; client = client->next) {
		client->asked = false;
		if (client->request) {
			http_request_on_close(client->request, NULL, NULL);
			http_stream_end(client->request);
		}
		client->request = NULL;
	}
	event_stream_sweep(stream);
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
static void set_position(struct stream_client *client, const char *last, struct position present)
{
	client->at = present;
	if (last && !position_after(position_read(last), present)) {
		client->at = position_read(last);
		client->replaying = true;
	}
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
	http_answer_header(client->request, "X-Accel-Buffering", "no");
	http_stream_begin(client->request, 200, "text/event-stream");
	client_say_position(client);
	event_stream_wake(stream);
}

static void event_stream_join_reader(struct exchange *exchange, const PGresult *result)
{
	struct event_stream *stream = exchange->portal->stream;
	struct position present = {
		.xid = strtoull(db_text(result, 0, STREAM_START_XID, "0"), NULL, 10)};
	struct stream_client *client;
	struct problem problem = {0};

	if (!exchange->request)
		return;
	client = stream->client_count < CLIENTS_MAX ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		(void)problem_set(&problem, E_UNAVAILABLE, "too many streams are open");
		problem_hint(&problem, "close one, or ask again later");
		exchange_problem(exchange, 503, &problem);
		return;
	}
	if (stream->at.xid == 0)
		stream->at = present;
	client->stream = stream;
	(void)text_copy(client->tenant, sizeof(client->tenant), exchange->tenant);
	(void)text_copy(client->subject_kind, sizeof(client->subject_kind),
			event_stream_filter_of(exchange, "?subject_kind"));
	(void)text_copy(client->subject, sizeof(client->subject),
			event_stream_filter_of(exchange, "?subject"));
	(void)text_copy(client->kind, sizeof(client->kind),
			event_stream_filter_of(exchange, "?kind"));
	set_position(client, exchange_arg(exchange, "?last_event_id"), present);
	event_stream_begin(exchange, client);
}

/* The first question tells the present, and shows that the database is there and that the tenant
 * exists. */
void event_stream_join(struct exchange *exchange)
{
	exchange_query(exchange, &stream_start_query, NULL, event_stream_join_reader);
}
