#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/text.h"

#include "portal/server/event_stream_private.h"

#define VALUES_MS 250   /* between two events of values */
#define STUCK_MS  20000 /* so long may a client take nothing of what waits for it */
/* Of what waits for one client; more follows when it has taken that. A thousand that come back at once have
 * 16 MiB together. */
#define WAITING_MAX ((size_t)15 << 10)
#define TURN_MAX    ((size_t)60 << 10) /* of one client, then it is another's turn */
#define TURNS_MAX   64                 /* then it is the loop's */

void stream_client_send(struct stream_client *client, const char *data, size_t size)
{
	if (!client->request)
		return;
	client->said_ms = loop_now_ms(client->stream->portal->loop);
	if (http_stream_send_now(client->request, data, size) != 0)
		client->request = NULL;
}

void stream_client_say_position(struct stream_client *client)
{
	char text[64];

	if (text_format(text, sizeof(text), "id: %" PRIu64 "-%" PRIu64 "\n\n", client->at.xid,
			client->at.id))
		stream_client_send(client, text, strlen(text));
}

static bool stream_client_differs(const char *wanted, const char *is)
{
	return wanted[0] != '\0' && strcmp(wanted, is) != 0;
}

static bool stream_client_wants(const struct stream_client *client, const struct event_words *words)
{
	if (stream_client_differs(client->tenant, words->tenant) ||
	    stream_client_differs(client->subject_kind, words->subject_kind) ||
	    stream_client_differs(client->subject, words->subject))
		return false;
	return client->kind[0] == '\0' || fnmatch(client->kind, words->kind, 0) == 0;
}

bool stream_client_has_enough(const struct stream_client *client)
{
	return !client->request || http_stream_waiting(client->request) >= WAITING_MAX;
}

/* Wanted events of the ring from `number` on, as one write. */
static uint64_t stream_client_send_wanted(struct stream_client *client, uint64_t number)
{
	const struct event_ring *ring = client->stream->ring;
	struct text text = {0};
	uint64_t next = number;

	for (; number < event_ring_stop(ring) && text.size < WAITING_MAX; number = next) {
		struct event_words words = event_ring_words(ring, number);
		size_t size;
		const char *event = event_ring_run(ring, number, 0, &next, &size);

		if (!stream_client_wants(client, &words))
			continue;
		text_add_bytes(&text, event, size);
		client->stream->portal->counters.streamed_events++;
	}
	if (text.failed) { /* rather a reconnect than a gap */
		http_stream_end(client->request);
		client->request = NULL;
	}
	stream_client_send(client, text_get(&text), text.size);
	text_done(&text);
	return number;
}

/* One piece of the ring. */
static size_t stream_client_send_piece(struct stream_client *client, uint64_t first,
				       uint64_t *ret_next)
{
	const struct event_ring *ring = client->stream->ring;
	size_t size;
	const char *run;

	if (client->filtered) {
		*ret_next = stream_client_send_wanted(client, first);
		return WAITING_MAX; /* looking costs as well */
	}
	run = event_ring_run(ring, first, WAITING_MAX, ret_next, &size);
	stream_client_send(client, run, size);
	client->stream->portal->counters.streamed_events += *ret_next - first;
	return size;
}

void stream_client_feed(struct stream_client *client)
{
	struct event_stream *stream = client->stream;
	const struct event_ring *ring = stream->ring;
	size_t sent = 0;
	uint64_t number;

	if (!stream->begun || client->asked || client->hungry ||
	    event_position_after(event_ring_floor(ring), client->at))
		return;
	number = event_ring_after(ring, client->at);
	while (number < event_ring_stop(ring) && !stream_client_has_enough(client) &&
	       sent < TURN_MAX) {
		sent += stream_client_send_piece(client, number, &number);
		client->at = event_ring_position(ring, number - 1);
	}
	if (number == event_ring_stop(ring) || stream_client_has_enough(client))
		return; /* the next event, or its drain, goes on */
	client->hungry = true;
	DL_APPEND2(stream->hungry, client, prev_hungry, next_hungry);
	loop_timer_arm(stream->feeder, 0);
}

void stream_client_feed_hungry(void *context)
{
	struct event_stream *stream = context;

	for (int turn = 0; turn < TURNS_MAX && stream->hungry; turn++) {
		struct stream_client *client = stream->hungry;

		DL_DELETE2(stream->hungry, client, prev_hungry, next_hungry);
		client->hungry = false;
		stream_client_feed(client);
	}
	if (stream->hungry)
		loop_timer_arm(stream->feeder, 0);
}

struct event_position event_row_position(const PGresult *rows, int row)
{
	return (struct event_position){
		.xid = strtoull(db_text(rows, row, STREAM_AFTER_XID, "0"), NULL, 10),
		.id = strtoull(db_text(rows, row, STREAM_AFTER_ID, "0"), NULL, 10),
	};
}

struct event_words event_row_words(const PGresult *rows, int row)
{
	return (struct event_words){
		.tenant = db_text(rows, row, STREAM_AFTER_TENANT, ""),
		.subject_kind = db_text(rows, row, STREAM_AFTER_SUBJECT_KIND, ""),
		.subject = db_text(rows, row, STREAM_AFTER_SUBJECT, ""),
		.kind = db_text(rows, row, STREAM_AFTER_KIND, ""),
	};
}

void stream_client_take_rows(struct stream_client *client, const PGresult *rows)
{
	struct text text = {0};
	int count = PQntuples(rows);

	for (int row = 0; row < count && client->request; row++) {
		struct event_words words = event_row_words(rows, row);

		client->at = event_row_position(rows, row);
		if (stream_client_wants(client, &words)) {
			text_addf(&text, "id: %" PRIu64 "-%" PRIu64 "\ndata: %s\n\n",
				  client->at.xid, client->at.id,
				  db_text(rows, row, STREAM_AFTER_BODY, "{}"));
			client->stream->portal->counters.streamed_events++;
		}
		if (text.failed) {
			http_stream_end(client->request);
			client->request = NULL;
		} else if (text.size >= WAITING_MAX || row == count - 1) {
			stream_client_send(client, text_get(&text), text.size);
			text_clear(&text);
		}
	}
	text_done(&text);
}

void stream_client_send_values(struct stream_client *client)
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
	stream_client_send(client, event, size);
}

bool stream_client_takes(struct stream_client *client, int64_t now_ms)
{
	size_t waiting = http_stream_waiting(client->request);

	if (waiting == 0 || waiting < client->waiting)
		client->waiting_ms = now_ms;
	client->waiting = waiting;
	return now_ms - client->waiting_ms < STUCK_MS;
}
