/* The connection's life: attempt, deadline, LISTEN, loss, back-off. libpq's non-blocking connect
 * (PostgreSQL 15 manual, 34.1). */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db_private.h"
#include "common/db/db_target.h"

#define RETRY_FIRST_MS      100
#define RETRY_LAST_MS       2000
#define CONNECT_DEADLINE_MS 10000 /* of an attempt at a single host */
#define HOST_DEADLINE_MS    3000  /* of several the first may hide the others */
#define PATIENCE_LOOK_MS    1000

static int64_t deadline_ms(const struct db *db)
{
	return db->hosts > 1 ? HOST_DEADLINE_MS : CONNECT_DEADLINE_MS;
}

/* The first line: libpq repeats itself for each address. */
static void note_away(struct db *db)
{
	const char *reason = db->connection ? PQerrorMessage(db->connection) : "";
	int length = (int)strcspn(reason, "\n");

	(void)problem_set(&db->away, E_UNAVAILABLE, "the database is away");
	if (problem_is_set(&db->refusal))
		problem_detail(&db->away, "%s", db->refusal.message);
	else if (length > 0)
		problem_detail(&db->away, "%.*s", length, reason);
	else
		problem_detail(&db->away, "no answer within %d s", (int)(deadline_ms(db) / 1000));
	problem_hint(&db->away, "it is asked again every %d s at most", RETRY_LAST_MS / 1000);
	db->refusal = (struct problem){0};
}

void db_connect_close(struct db *db)
{
	if (db->lead)
		lead_disconnected(db->lead);
	if (db->patience)
		loop_timer_disarm(db->patience);
	loop_watch_free(db->watch); /* before libpq closes the descriptor under it */
	db->watch = NULL;
	PQfinish(db->connection);
	db->connection = NULL;
	db->phase = PHASE_WAITING;
	db->broken = false;
	for (struct db_statement *s = db->statements; s; s = s->next) {
		s->prepared = false;
		s->version = 0;
	}
}

static void report_away(struct db *db)
{
	if (db->reported)
		return;
	db->reported = true;
	if (db->on_state)
		db->on_state(db->context, false);
}

void db_connect_lost(struct db *db)
{
	struct db_queue lost = {0};
	struct db_queue repeats = {0};
	struct db_segment *segment;
	struct problem away;

	note_away(db);
	away = db->away;
	db_connect_close(db);
	loop_timer_arm(db->attempt, db->retry_ms);
	db->retry_ms = db->retry_ms * 2 < RETRY_LAST_MS ? db->retry_ms * 2 : RETRY_LAST_MS;

	/* Callbacks may submit again, which lands among the refused: only what was sent is failed
	 * here. */
	lost.first = db->sent.first;
	lost.last = lost.first ? db->sent.last : &lost.first;
	repeats.first = db->repeats.first;
	repeats.last = repeats.first ? db->repeats.last : &repeats.first;
	db->sent = (struct db_queue){.last = &db->sent.first};
	db->repeats = (struct db_queue){.last = &db->repeats.first};
	while ((segment = db_queue_take(&lost)) != NULL ||
	       (segment = db_queue_take(&repeats)) != NULL)
		db_segment_fail(db, segment, E_UNAVAILABLE, &away);
	report_away(db);
}

void db_connect_leads(struct db *db)
{
	db->phase = PHASE_READY;
	db->reported = false;
	if (db->on_state)
		db->on_state(db->context, true);
}

void db_connect_stands_by(struct db *db)
{
	report_away(db);
}

void db_connect_ready(struct db *db)
{
	db->retry_ms = RETRY_FIRST_MS;
	loop_timer_disarm(db->attempt);
	if (db->patience)
		loop_timer_arm(db->patience, PATIENCE_LOOK_MS);
	if (!db->lead) {
		db_connect_leads(db);
		return;
	}
	db->phase = PHASE_STANDBY;
	lead_connected(db->lead);
}

/* A primary that was cut off from its standby takes statements and never answers them. There may be
 * another primary by now. */
void db_connect_lose_patience(void *context)
{
	struct db *db = context;
	const struct db_segment *oldest = db->sent.first;

	if (oldest && clock_monotonic_ms() - oldest->sent_ms > db->patience_ms) {
		(void)problem_set(&db->refusal, E_UNAVAILABLE,
				  "no answer to a statement within %d s",
				  (int)(db->patience_ms / 1000));
		db->first++;
		db_connect_lost(db);
	} else {
		loop_timer_arm(db->patience, PATIENCE_LOOK_MS);
	}
}

static int send_listen(struct db *db, const char *channel)
{
	char *quoted = PQescapeIdentifier(db->connection, channel, strlen(channel));
	char statement[256] = "";
	bool fits = quoted && text_format(statement, sizeof(statement), "LISTEN %s", quoted);

	PQfreemem(quoted);
	if (!fits || !PQsendQueryParams(db->connection, statement, 0, NULL, NULL, NULL, NULL, 0))
		return E_UNAVAILABLE;
	return 0;
}

/* Compiling a plan (jit) is for queries that run for minutes. Ours end within milliseconds, and an
 * estimate that passes jit_above_cost makes them wait a second for the compiler, node for node. */
static const char *const no_jit = "set jit = off";

static int send_setting(struct db *db, const char *statement)
{
	if (!PQsendQueryParams(db->connection, statement, 0, NULL, NULL, NULL, NULL, 0))
		return E_UNAVAILABLE;
	return 0;
}

/* Of several hosts only: a primary whose synchronous standby is away takes a commit and never ends it.
 * Either that standby is the primary now, or somebody has to know. Who has no right to read a standby's
 * state sees that there is one. */
static const char *const serves =
	"do $$ begin if current_setting('synchronous_standby_names') <> '' "
	"and current_setting('synchronous_commit') not in ('off', 'local') "
	"and not exists (select from pg_stat_replication where coalesce(sync_state, 'sync') in ('sync', 'quorum')) then "
	"raise exception 'no synchronous standby is connected: commits would wait' using errcode = '57P03'; "
	"end if; end $$";

/* Our settings, the caller's and all LISTENs are one transaction. */
static int begin_setup(struct db *db)
{
	const char *channels = text_get(&db->channels);
	struct db_segment *segment = NULL;
	size_t count = db->hosts > 1 ? 2 : 1;
	int rc;

	if (PQsetnonblocking(db->connection, 1) != 0 || !PQenterPipelineMode(db->connection))
		return E_UNAVAILABLE;
	for (size_t at = 0; at < db->channels.size; at += strlen(channels + at) + 1)
		count++;
	for (const char *const *each = db->setup; each && *each; each++)
		count++;
	rc = db_segment_new(SEGMENT_SETUP, count, &segment);
	if (rc != 0)
		return rc;
	db_queue_add(&db->sent, segment);
	rc = send_setting(db, no_jit);
	if (rc == 0 && db->hosts > 1)
		rc = send_setting(db, serves);
	for (const char *const *each = db->setup; rc == 0 && each && *each; each++)
		rc = send_setting(db, *each);
	for (size_t at = 0; rc == 0 && at < db->channels.size; at += strlen(channels + at) + 1)
		rc = send_listen(db, channels + at);
	if (rc == 0 && !PQpipelineSync(db->connection))
		rc = E_UNAVAILABLE;
	return rc;
}

static void connect_step(void *context, int events);

/* libpq may have closed the descriptor and opened another with the same number, so each step gets a
 * new watch. */
static void watch_connect(struct db *db, int events)
{
	if (loop_watch_new(db->loop, PQsocket(db->connection), events, connect_step, db,
			   &db->watch) != 0)
		db_connect_lost(db);
}

static void db_connect_connected(struct db *db)
{
	db->phase = PHASE_SETUP;
	if (begin_setup(db) != 0 || loop_watch_new(db->loop, PQsocket(db->connection), LOOP_READ,
						   db_pipeline_ready, db, &db->watch) != 0) {
		db_connect_lost(db);
		return;
	}
	db_pipeline_flush(db);
}

static void connect_step(void *context, int events)
{
	struct db *db = context;

	(void)events;
	loop_watch_free(db->watch);
	db->watch = NULL;
	switch (PQconnectPoll(db->connection)) {
	case PGRES_POLLING_READING: watch_connect(db, LOOP_READ); break;
	case PGRES_POLLING_WRITING: watch_connect(db, LOOP_WRITE); break;
	case PGRES_POLLING_OK: db_connect_connected(db); break;
	case PGRES_POLLING_ACTIVE: /* unused by libpq */
	case PGRES_POLLING_FAILED: db_connect_lost(db); break;
	}
}

/* Only programs log; libpq would print to stderr. A commit that was told although no standby has it
 * (somebody cancelled the wait) is one that nobody may rely on. */
static void take_notice(void *context, const PGresult *result)
{
	struct db *db = context;
	const char *place = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);

	if (place && strcmp(place, "SyncRepWaitForLSN") == 0) {
		(void)problem_set(&db->refusal, E_UNAVAILABLE, "%s",
				  PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
		db_give_up(db);
	}
}

void db_connect_start(void *context)
{
	struct db *db = context;
	struct db_target target;

	if (db->phase != PHASE_WAITING) { /* the deadline of an attempt */
		db->first++;
		db_connect_lost(db);
		return;
	}
	if (db_target_init(db->conninfo, db->application, db->first, &target) == 0) {
		db->connection = PQconnectStartParams(target.keys, target.values, 0);
		db_target_done(&target);
	}
	if (!db->connection || PQstatus(db->connection) == CONNECTION_BAD) {
		db_connect_lost(db);
		return;
	}
	(void)PQsetNoticeReceiver(db->connection, take_notice, db);
	db->phase = PHASE_CONNECTING;
	loop_timer_arm(db->attempt, deadline_ms(db));
	watch_connect(db, LOOP_WRITE);
}
