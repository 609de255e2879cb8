/* Statements into the pipeline, results out of it (PostgreSQL 15 manual, 34.5). */
#include "common/db/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db_private.h"
#include "common/db/db_target.h"

#define REFUSE_AFTER_MS 5 /* a caller that submits again at once must not spin */
#define DB_NAME_SIZE    80

void db_queue_add(struct db_queue *queue, struct db_segment *segment)
{
	segment->next = NULL;
	*queue->last = segment;
	queue->last = &segment->next;
}

struct db_segment *db_queue_take(struct db_queue *queue)
{
	struct db_segment *segment = queue->first;

	if (!segment)
		return NULL;
	queue->first = segment->next;
	if (!queue->first)
		queue->last = &queue->first;
	return segment;
}

int db_segment_new(enum db_segment_kind kind, size_t count, struct db_segment **ret)
{
	struct db_segment *segment =
		calloc(1, sizeof(*segment) + count * sizeof(segment->calls[0]));

	if (!segment)
		return -ENOMEM;
	segment->kind = kind;
	segment->count = count;
	*ret = segment;
	return 0;
}

static void segment_free(struct db_segment *segment)
{
	for (size_t i = 0; i < segment->count; i++) {
		PQclear(segment->calls[i].result);
		free(segment->calls[i].kept);
	}
	PQclear(segment->commit_failure);
	free(segment);
}

static void db_call_back(struct db *db, struct db_pending *call, int rc, const PGresult *result,
			 const struct problem *problem)
{
	db->in_flight--;
	if (call->fn)
		call->fn(call->context, rc, result, problem);
}

void db_segment_fail(struct db *db, struct db_segment *segment, int rc,
		     const struct problem *problem)
{
	for (size_t i = 0; segment->kind == SEGMENT_CALLS && i < segment->count; i++)
		db_call_back(db, &segment->calls[i], rc, NULL, problem);
	segment_free(segment);
}

static bool db_failed(const PGresult *result)
{
	ExecStatusType status = result ? PQresultStatus(result) : PGRES_FATAL_ERROR;

	return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

/* The server's copy of a prepared statement is gone or of an old shape: the next submit prepares it
 * again under a new name. */
static void check_statement(struct db_statement *statement, const PGresult *result,
			    struct problem *problem)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *place = PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
	bool missing = state && strcmp(state, "26000") == 0;

	if (!statement)
		return;
	/* "cached plan must not change result type" has no SQLSTATE of its own. */
	if (!missing && (!place || strcmp(place, "RevalidateCachedQuery") != 0))
		return;
	if (missing && problem_is_set(&statement->problem)) {
		*problem = statement->problem; /* it could not be prepared: that is the cause */
		return;
	}
	statement->prepared = false;
	statement->version++;
}

/* Holds the first answer of a statement against the columns that its program was built for. */
static bool columns_fit(const struct db_pending *call, struct problem *ret_problem)
{
	const char *const *columns = call->query && call->query->name ? call->query->columns : NULL;
	int count = 0;

	if (!columns || call->statement->fits || PQresultStatus(call->result) != PGRES_TUPLES_OK)
		return true;
	for (; columns[count]; count++) {
		const char *found = PQfname(call->result, count);

		if (!found || strcmp(found, columns[count]) != 0)
			break;
	}
	if (columns[count] || PQnfields(call->result) != count) {
		(void)problem_set(ret_problem, -EINVAL,
				  "statement %s: column %d is %s in the database, not %s",
				  call->query->name, count + 1,
				  PQfname(call->result, count) ? PQfname(call->result, count)
							       : "missing",
				  columns[count] ? columns[count] : "absent");
		problem_hint(ret_problem, "program and schema differ: run haasctl db migrate of "
					  "the program's version");
		return false;
	}
	call->statement->fits = true;
	return true;
}

static void finish_calls(struct db *db, struct db_segment *segment)
{
	struct problem problem = {0};
	struct problem aborted = {0};
	size_t guilty = 0;

	while (guilty < segment->count && !db_failed(segment->calls[guilty].result))
		guilty++;
	if (guilty < segment->count) {
		const struct db_pending *call = &segment->calls[guilty];

		(void)db_problem(call->result, &problem);
		check_statement(call->statement, call->result, &problem);
	} else if (segment->commit_failure) {
		(void)db_problem(segment->commit_failure, &problem);
	}
	for (size_t i = 0; i < segment->count && !problem_is_set(&problem); i++)
		if (!columns_fit(&segment->calls[i], &problem))
			guilty = i;
	/* What may be tried again may be so for all of them. */
	(void)problem_set(&aborted, problem.code == E_UNAVAILABLE ? E_UNAVAILABLE : E_CONFLICT,
			  "aborted");
	problem_detail(&aborted, "%s", problem.message);
	for (size_t i = 0; i < segment->count; i++) {
		struct db_pending *call = &segment->calls[i];

		if (!problem_is_set(&problem))
			db_call_back(db, call, 0, call->result, NULL);
		else if (i == guilty || guilty == segment->count)
			db_call_back(db, call, problem.code, NULL, &problem);
		else
			db_call_back(db, call, aborted.code, NULL, &aborted);
	}
}

static void finish_prepare(const struct db_segment *segment)
{
	const struct db_pending *call = &segment->calls[0];

	call->statement->problem = (struct problem){0};
	if (!db_failed(call->result))
		return;
	(void)db_problem(call->result, &call->statement->problem);
	call->statement->prepared = false;
	/* Already pipelined calls will meet 26000 and report this problem. */
}

/* Another host may do better. */
static void setup_refused(struct db *db, const struct db_segment *segment)
{
	for (size_t i = 0; i < segment->count && !problem_is_set(&db->refusal); i++)
		if (db_failed(segment->calls[i].result))
			(void)db_problem(segment->calls[i].result, &db->refusal);
	db->first++;
	db->broken = true;
}

/* The sync of the first segment came. */
static void finish_segment(struct db *db)
{
	struct db_segment *segment = db_queue_take(&db->sent);
	bool setup_failed = false;

	switch (segment->kind) {
	case SEGMENT_CALLS:
		if (db_repeat(db, segment))
			return;
		finish_calls(db, segment);
		break;
	case SEGMENT_PREPARE: finish_prepare(segment); break;
	case SEGMENT_SETUP:
		for (size_t i = 0; i < segment->count; i++)
			setup_failed = setup_failed || db_failed(segment->calls[i].result);
		if (setup_failed || segment->commit_failure)
			setup_refused(db, segment);
		else
			db_connect_ready(db);
		break;
	}
	segment_free(segment);
}

/* One answer of PQgetResult; false when the pipeline has nothing for us although we wait. */
static bool take_result(struct db *db, PGresult *result)
{
	struct db_segment *segment = db->sent.first;
	struct db_pending *call =
		segment->at < segment->count ? &segment->calls[segment->at] : NULL;

	if (!result) { /* ends the results of one statement */
		if (!call || !call->result)
			return false;
		segment->at++;
		return true;
	}
	if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
		PQclear(result);
		finish_segment(db);
		return true;
	}
	if (call) {
		PQclear(call->result);
		call->result = result;
	} else {
		PQclear(segment->commit_failure);
		segment->commit_failure = result;
	}
	return true;
}

static void db_read_results(struct db *db)
{
	unsigned idle = 0; /* a NULL may also stand before a sync; more of them mean that libpq and
			      we disagree */

	while (db->sent.first && !db->broken && !PQisBusy(db->connection)) {
		PGresult *result = PQgetResult(db->connection);

		if (PQstatus(db->connection) == CONNECTION_BAD) {
			PQclear(result);
			db->broken = true;
			return;
		}
		idle = take_result(db, result) ? 0 : idle + 1;
		if (idle > 2)
			db->broken = true;
	}
}

static void read_notifies(struct db *db)
{
	PGnotify *notify;

	while (!db->broken && (notify = PQnotifies(db->connection)) != NULL) {
		if (db->on_notify && db->phase == PHASE_READY)
			db->on_notify(db->context, notify->relname);
		PQfreemem(notify);
	}
}

void db_give_up(struct db *db)
{
	db->broken = true;
	loop_timer_arm(db->chores, 0);
}

void db_pipeline_flush(struct db *db)
{
	int rest = PQflush(db->connection);

	if (rest < 0) {
		db_give_up(db);
		return;
	}
	loop_watch_set(db->watch, rest > 0 ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

void db_pipeline_ready(void *context, int events)
{
	struct db *db = context;
	bool open = true;

	if (events & LOOP_READ)
		open = PQconsumeInput(db->connection) == 1;
	db_read_results(db);
	read_notifies(db);
	if (!open || PQstatus(db->connection) == CONNECTION_BAD)
		db->broken = true;
	if (!db->broken)
		db_pipeline_flush(db);
	if (db->broken)
		db_connect_lost(db);
}

/* Runs in the loop what a submit must not do itself. */
static void do_chores(void *context)
{
	struct db *db = context;
	struct problem away = db->away;
	struct db_segment *segment = NULL;
	struct db_queue refused = db->refused;

	if (!problem_is_set(&away))
		(void)problem_set(&away, E_UNAVAILABLE, "the database is not connected yet");
	if (refused.first) {
		db->refused = (struct db_queue){.last = &db->refused.first};
		while ((segment = db_queue_take(&refused)) != NULL)
			db_segment_fail(db, segment, E_UNAVAILABLE, &away);
	}
	if (db->broken && db->phase != PHASE_WAITING)
		db_connect_lost(db);
}

static int find_statement(struct db *db, const char *name, struct db_statement **ret)
{
	struct db_statement *statement = db->statements;

	while (statement && strcmp(statement->name, name) != 0)
		statement = statement->next;
	if (!statement) {
		statement = calloc(1, sizeof(*statement));
		if (!statement)
			return -ENOMEM;
		statement->name = strdup(name);
		if (!statement->name) {
			free(statement);
			return -ENOMEM;
		}
		statement->next = db->statements;
		db->statements = statement;
	}
	*ret = statement;
	return 0;
}

static void prepared_name(const struct db_statement *statement, char ret[DB_NAME_SIZE])
{
	if (statement->version == 0)
		(void)text_copy(ret, DB_NAME_SIZE, statement->name);
	else
		(void)text_format(ret, DB_NAME_SIZE, "%s#%u", statement->name, statement->version);
}

/* In a segment of its own: a failed transaction of others must not take it along. */
static int send_prepare(struct db *db, struct db_statement *statement, const struct db_query *query)
{
	char name[DB_NAME_SIZE];
	struct db_segment *segment = NULL;
	int rc;

	if (!statement || statement->prepared)
		return 0;
	rc = db_segment_new(SEGMENT_PREPARE, 1, &segment);
	if (rc != 0)
		return rc;
	segment->calls[0].statement = statement;
	segment->sent_ms = clock_monotonic_ms();
	db_queue_add(&db->sent, segment);
	statement->prepared = true;
	prepared_name(statement, name);
	if (!PQsendPrepare(db->connection, name, query->sql, query->param_count, NULL) ||
	    !PQpipelineSync(db->connection))
		return E_UNAVAILABLE;
	return 0;
}

static int send_call(struct db *db, const struct db_pending *call)
{
	char name[DB_NAME_SIZE];

	if (!call->statement)
		return PQsendQueryParams(db->connection, call->query->sql, call->query->param_count,
					 NULL, call->params, NULL, NULL, 0)
			       ? 0
			       : E_UNAVAILABLE;
	prepared_name(call->statement, name);
	if (!PQsendQueryPrepared(db->connection, name, call->query->param_count, call->params, NULL,
				 NULL, 0))
		return E_UNAVAILABLE;
	return 0;
}

/* From here on every call is answered through the queue, also when sending fails: then the
 * connection is given up in the loop. */
void db_send(struct db *db, struct db_segment *segment)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < segment->count; i++)
		rc = send_prepare(db, segment->calls[i].statement, segment->calls[i].query);
	segment->sent_ms = clock_monotonic_ms();
	db_queue_add(&db->sent, segment);
	for (size_t i = 0; rc == 0 && i < segment->count; i++)
		rc = send_call(db, &segment->calls[i]);
	if (rc == 0 && !PQpipelineSync(db->connection))
		rc = E_UNAVAILABLE;
	if (rc == 0)
		db_pipeline_flush(db);
	else
		db_give_up(db);
}

static int db_submit_calls(struct db *db, const struct db_call calls[], size_t count, bool goes)
{
	struct db_segment *segment = NULL;
	int rc;

	if (count == 0)
		return -EINVAL;
	if (db->closing)
		return E_UNAVAILABLE;
	rc = db_segment_new(SEGMENT_CALLS, count, &segment);
	if (rc != 0)
		return rc;
	rc = db_segment_keep(segment, calls);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		segment->calls[i].fn = calls[i].fn;
		segment->calls[i].context = calls[i].context;
		if (calls[i].query->name)
			rc = find_statement(db, calls[i].query->name, &segment->calls[i].statement);
	}
	if (rc != 0) {
		segment_free(segment);
		return rc;
	}
	db->in_flight += count;
	if (goes) {
		db_send(db, segment);
	} else {
		db_queue_add(&db->refused, segment);
		loop_timer_arm(db->chores, REFUSE_AFTER_MS);
	}
	return 0;
}

int db_submit_all(struct db *db, const struct db_call calls[], size_t count)
{
	return db_submit_calls(db, calls, count, db_connected(db));
}

int db_submit_beat(struct db *db, const struct db_query *query, const char *const params[],
		   db_result_fn fn, void *context)
{
	const struct db_call call = {
		.query = query, .params = params, .fn = fn, .context = context};

	return db_submit_calls(db, &call, 1, db_answers(db));
}

int db_submit(struct db *db, const struct db_query *query, const char *const params[],
	      db_result_fn fn, void *context)
{
	const struct db_call call = {
		.query = query, .params = params, .fn = fn, .context = context};

	return db_submit_all(db, &call, 1);
}

const char *const db_plan_anew[] = {
	"set plan_cache_mode = force_custom_plan",
	"set random_page_cost = 1.1",
	NULL,
};

static int db_copy_options(struct db *db, const struct db_options *options)
{
	db->conninfo = strdup(options->conninfo);
	db->application = strdup(options->application ? options->application : "");
	for (size_t i = 0; options->channels && options->channels[i]; i++)
		text_add_bytes(&db->channels, options->channels[i],
			       strlen(options->channels[i]) + 1);
	if (!db->conninfo || !db->application || db->channels.failed)
		return -ENOMEM;
	db->setup = options->setup;
	db->on_state = options->on_state;
	db->on_notify = options->on_notify;
	db->context = options->context;
	return 0;
}

int db_new(struct loop *loop, const struct db_options *options, struct db **ret)
{
	struct db *db;
	int rc;

	if (db_target_hosts(options->conninfo) == 0)
		return E_MALFORMED;
	db = calloc(1, sizeof(*db));
	if (!db)
		return -ENOMEM;
	db->loop = loop;
	db->retry_ms = 100;
	db->hosts = db_target_hosts(options->conninfo);
	db->patience_ms = options->patience_ms ? options->patience_ms : DB_PATIENCE_MS;
	db->sent.last = &db->sent.first;
	db->refused.last = &db->refused.first;
	db->repeats.last = &db->repeats.first;
	rc = db_copy_options(db, options);
	if (rc == 0)
		rc = loop_timer_new(loop, db_connect_start, db, &db->attempt);
	if (rc == 0)
		rc = loop_timer_new(loop, do_chores, db, &db->chores);
	if (rc == 0)
		rc = loop_timer_new(loop, db_repeat_due, db, &db->repeat);
	if (rc == 0 && db->hosts > 1)
		rc = loop_timer_new(loop, db_connect_lose_patience, db, &db->patience);
	if (rc == 0 && options->daemon)
		rc = heartbeat_new(loop, db, options->daemon, options->instance, &db->heartbeat);
	if (rc == 0 && options->lead)
		rc = lead_new(loop, db, options, &db->lead);
	if (rc != 0) {
		db_free(db);
		return rc;
	}
	loop_timer_arm(db->attempt, 0);
	*ret = db;
	return 0;
}

static void free_statements(struct db *db)
{
	while (db->statements) {
		struct db_statement *next = db->statements->next;

		free(db->statements->name);
		free(db->statements);
		db->statements = next;
	}
}

void db_free(struct db *db)
{
	struct problem closing = {0};
	struct db_segment *segment = NULL;

	if (!db)
		return;
	db->closing = true;
	db_connect_close(db);
	(void)problem_set(&closing, E_UNAVAILABLE, "the program is stopping");
	while ((segment = db_queue_take(&db->sent)) != NULL ||
	       (segment = db_queue_take(&db->repeats)) != NULL ||
	       (segment = db_queue_take(&db->refused)) != NULL)
		db_segment_fail(db, segment, E_UNAVAILABLE, &closing);
	heartbeat_free(db->heartbeat); /* its beat was answered above */
	lead_free(db->lead);
	loop_timer_free(db->attempt);
	loop_timer_free(db->chores);
	loop_timer_free(db->repeat);
	loop_timer_free(db->patience);
	free_statements(db);
	text_done(&db->channels);
	free(db->application);
	free(db->conninfo);
	free(db);
}

bool db_connected(const struct db *db)
{
	return db->phase == PHASE_READY && !db->broken;
}

bool db_answers(const struct db *db)
{
	return (db->phase == PHASE_READY || db->phase == PHASE_STANDBY) && !db->broken;
}

bool db_stands_by(const struct db *db)
{
	return db->lead && lead_stands_by(db->lead);
}

const char *db_life(const struct db *db)
{
	return lead_life(db->lead);
}

const struct problem *db_away(const struct db *db)
{
	return &db->away;
}

size_t db_in_flight(const struct db *db)
{
	return db->in_flight;
}
