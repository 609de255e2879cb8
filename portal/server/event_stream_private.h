/* The inside of the event stream. event_stream.c: who joins, stays and leaves. stream_client.c: the bytes of
 * one client. event_follow.c: the questions to the database, for memory and for those that are further
 * behind. */
#pragma once

#include "portal/server/event_ring.h"
#include "portal/server/event_store_sql.h"
#include "portal/server/event_stream.h"
#include "portal/server/live_values.h"
#include "portal/server/read_turn.h"

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

/* --- stream_client.c --- */

/* Nothing is sent to a client without a request. */
void stream_client_send(struct stream_client *client, const char *data, size_t size);
/* So that a client whose filter lets little through comes back to where it really was. */
void stream_client_say_position(struct stream_client *client);
/* True: more follows when it has taken some of what waits for it. */
bool stream_client_has_enough(const struct stream_client *client);
/* What of the ring is new to the client, until enough waits for it to take, or its turn is over. */
void stream_client_feed(struct stream_client *client);
/* A loop_timer_fn of the stream. Those that take all they are given are fed in turn: a thousand that come back
 * do not hold up the loop. */
void stream_client_feed_hungry(void *context);
/* Rows of stream_after that are only for this client. */
void stream_client_take_rows(struct stream_client *client, const PGresult *rows);
/* The newest values, when nothing else waits for it: who is slow gets fewer, and never old ones. */
void stream_client_send_values(struct stream_client *client);
/* False: it takes nothing any more, and holds memory. It comes back with its last id. */
bool stream_client_takes(struct stream_client *client, int64_t now_ms);
/* Of a row of stream_after. */
struct event_position event_row_position(const PGresult *rows, int row);
struct event_words event_row_words(const PGresult *rows, int row);

/* --- event_follow.c --- */

/* Asks for the next events, unless a question is on its way: then another follows it. */
void event_follow_ask(struct event_stream *stream);
