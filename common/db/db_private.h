/* What db.c (statements and results), db_repeat.c and db_connect.c (the connection's life) share.
 */
#pragma once

#include "common/base/text.h"
#include "common/db/db.h"
#include "common/db/heartbeat.h"
#include "common/db/lead.h"

/* A statement as this connection knows it. Lives as long as the db, so results in flight may point
 * here. */
struct db_statement {
	struct db_statement *next;
	char *name;       /* of the query */
	unsigned version; /* grows when the server's copy became useless; part of the prepared name
			   */
	bool prepared;    /* sent, and not known to have failed */
	bool fits;        /* its columns are those of the query */
	struct problem problem; /* why the last attempt to prepare it failed */
};

struct db_pending {
	db_result_fn fn;
	void *context;
	struct db_statement *statement; /* NULL for LISTEN, and for a query without a name */
	PGresult *result;
	const struct db_query *query;
	const char *const *params; /* in `kept` */
	void *kept;
};

enum db_segment_kind { SEGMENT_CALLS, SEGMENT_PREPARE, SEGMENT_SETUP };

/* What lies between two syncs of the pipeline: one transaction. Its callbacks wait for the sync,
 * because only then is it committed. */
struct db_segment {
	struct db_segment *next;
	enum db_segment_kind kind;
	PGresult
		*commit_failure; /* an error that came instead of the sync (deferred constraints) */
	size_t at;               /* the call whose result comes next */
	int64_t sent_ms;
	unsigned repeats; /* so far */
	int64_t due_ms;   /* of the next one */
	size_t count;
	struct db_pending calls[];
};

struct db_queue {
	struct db_segment *first;
	struct db_segment **last;
};

enum db_phase {
	PHASE_WAITING,    /* until the next attempt */
	PHASE_CONNECTING, /* PQconnectPoll */
	PHASE_SETUP,      /* LISTEN under way */
	PHASE_STANDBY,    /* another one leads (lead.h): beats go through, nothing else */
	PHASE_READY,
};

struct db {
	struct loop *loop;
	char *conninfo;
	char *application;
	struct text channels; /* names, each with its NUL */
	const char *const *setup;
	db_state_fn on_state;
	db_notify_fn on_notify;
	void *context;

	enum db_phase phase;
	PGconn *connection;
	struct loop_watch *watch;
	struct loop_timer *attempt;  /* next attempt, or the deadline of this one */
	struct loop_timer *chores;   /* what must not happen inside a caller's call */
	struct loop_timer *repeat;   /* the next of `repeats` is due */
	struct loop_timer *patience; /* NULL: a mute server is waited for */
	int64_t patience_ms;
	int64_t retry_ms;
	unsigned hosts; /* in the conninfo */
	unsigned first; /* of them, for the next attempt */
	bool broken;    /* lost, to be handled in the loop */
	bool closing;   /* nothing new is taken */
	bool reported;  /* on_state(false) was called and nothing has changed since */
	struct problem away;
	struct problem refusal; /* what the server said to this attempt; unset: nothing */

	struct db_statement *statements;
	struct db_queue sent;    /* in the pipeline, in order */
	struct db_queue refused; /* submitted while away */
	struct db_queue repeats; /* to be sent again */
	size_t in_flight;
	struct heartbeat *heartbeat; /* NULL = none */
	struct lead *lead;           /* NULL = this connection works beside others of its kind */
};

void db_queue_add(struct db_queue *queue, struct db_segment *segment);
struct db_segment *db_queue_take(struct db_queue *queue);
MUST_USE int db_segment_new(enum db_segment_kind kind, size_t count, struct db_segment **ret);
/* Calls back each call of the segment with `rc`, frees it. */
void db_segment_fail(struct db *db, struct db_segment *segment, int rc,
		     const struct problem *problem);

/* Beats and the lead also go through in PHASE_STANDBY. */
bool db_answers(const struct db *db);
MUST_USE int db_submit_beat(struct db *db, const struct db_query *query, const char *const params[],
			    db_result_fn fn, void *context);
/* The connection is given up in the loop, not at once. */
void db_give_up(struct db *db);

/* Sends all calls of a segment that keeps them; they are answered through the queue. */
void db_send(struct db *db, struct db_segment *segment);
/* Copies queries and parameters into the segment. */
MUST_USE int db_segment_keep(struct db_segment *segment, const struct db_call calls[]);
/* True: it met another transaction and is sent again later; the segment is taken. */
bool db_repeat(struct db *db, struct db_segment *segment);
void db_repeat_due(void *context);

/* Starts the next attempt (loop). */
void db_connect_start(void *context);
/* The oldest statement may have waited too long (loop). */
void db_connect_lose_patience(void *context);
/* Ends the connection, fails everything in flight, plans the next attempt. */
void db_connect_lost(struct db *db);
/* LISTEN is committed. */
void db_connect_ready(struct db *db);
/* It is the lead's connection now. */
void db_connect_leads(struct db *db);
/* Another one leads; `away` says who. */
void db_connect_stands_by(struct db *db);
void db_connect_close(struct db *db);

/* Reads what came; the connection is in pipeline mode. */
void db_pipeline_ready(void *context, int events);
/* After something was queued: writes, and watches for room when the socket is full. */
void db_pipeline_flush(struct db *db);
