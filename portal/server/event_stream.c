#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "portal/server/event_stream_private.h"
#include "portal/server/standing.h"

/* How soon an event is seen that nobody notified of. */
#define POLL_MS      100
#define COMMENT_MS   15000
#define REPLAYS_MAX  4 /* questions of clients that are further behind, at the same time */
#define REPLAYS_EACH 1 /* of one asker while others are about */
#define CLIENTS_MAX  2000

/* --- life --- */

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

static void event_stream_on_values(void *context)
{
	struct event_stream *stream = context;

	for (struct stream_client *client = stream->clients; client; client = client->next)
		stream_client_send_values(client);
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
		if (client->request && !stream_client_takes(client, now_ms)) {
			http_request_on_close(client->request, NULL, NULL);
			http_stream_abort(client->request);
			client->request = NULL;
		}
		if (client->request && now_ms - client->said_ms >= COMMENT_MS)
			stream_client_say_position(client);
		if (client->request && client->values) {
			live_values_look(stream->values, client->tenant);
			stream_client_send_values(client);
		}
	}
	if (db_connected(stream->portal->live))
		event_follow_ask(stream);
	else
		stream->begun = false;
	loop_timer_arm(stream->timer, POLL_MS);
}

int event_stream_new(struct portal *portal, struct event_stream **ret)
{
	struct event_stream *stream = calloc(1, sizeof(*stream));
	int rc;

	if (!stream)
		return -ENOMEM;
	stream->portal = portal;
	rc = loop_timer_new(portal->loop, event_stream_on_timer, stream, &stream->timer);
	if (rc == 0)
		rc = loop_timer_new(portal->loop, stream_client_feed_hungry, stream,
				    &stream->feeder);
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

/* --- joining --- */

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
	stream_client_feed(client);
}

static const char *event_stream_filter_of(const struct exchange *exchange, const char *name)
{
	const char *value = exchange_arg(exchange, name);

	return value ? value : "";
}

/* Where the client goes on: after its last row, else at the present, which is never behind what was
 * sent to the others so far. An id that no ended transaction can have given is of another database:
 * it starts at the present too. */
static void event_stream_set_position(struct stream_client *client, const char *last,
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
	stream_client_say_position(client);
	stream_client_feed(client);
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
	event_stream_set_position(client, exchange_arg(exchange, "?last_event_id"), present);
	event_stream_begin(exchange, client);
}

/* The first question tells the present, and shows that the database is there and that the tenant
 * exists. */
void event_stream_join(struct exchange *exchange)
{
	exchange_query_live(exchange, &stream_start_query, NULL, event_stream_join_reader);
}
