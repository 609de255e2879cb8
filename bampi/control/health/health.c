#include "bampi/control/health/health.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/json_text.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "bampi/control/health/health_store.h"
#include "bampi/control/health/health_store_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define SUBJECT          "health"
#define TICK_MS          1000
#define EXPIRE_TICKS     5
#define HEALTH_BATCH_MAX ((size_t)8 << 20) /* of rows that wait while PostgreSQL is away */

/* Rows of one kind on their way to the database. */
struct health_batch {
	struct health *health;
	struct text rows; /* elements of a JSON array, comma-separated */
	struct text sent;
	bool sending;
};

struct mark_row {
	int64_t node_id; /* key */
	struct health_mark mark;
	UT_hash_handle hh;
};

struct health {
	struct loop *loop;
	struct health_options options;
	struct loop_timer *timer;
	bool connected, deciding, more;
	unsigned tick;
	struct health_batch sensors, log;
	struct mark_row *marks;
	struct health_stats stats;
};

const struct health_stats *health_stats(const struct health *health)
{
	return &health->stats;
}

static void health_changed(struct health *health, int64_t count)
{
	if (count <= 0)
		return;
	health->stats.changes += (uint64_t)count;
	if (health->options.changed)
		health->options.changed(health->options.context);
}

/* --- collecting --- */

static bool batch_has_room(struct health_batch *batch)
{
	if (batch->rows.size + batch->sent.size < HEALTH_BATCH_MAX && !batch->rows.failed)
		return true;
	batch->health->stats.dropped++;
	return false;
}

/* A row becomes part of the batch whole or not at all. */
static void batch_add(struct health_batch *batch, const struct text *row)
{
	if (row->failed || !batch_has_room(batch))
		return;
	if (batch->rows.size > 0)
		text_add(&batch->rows, ",");
	text_add(&batch->rows, text_get(row));
}

static void add_alarms(struct text *row, const struct health_reading readings[], size_t count)
{
	json_begin_array(row, "alarms");
	for (size_t i = 0; i < count; i++) {
		if (strcmp(readings[i].state, "warning") != 0 &&
		    strcmp(readings[i].state, "critical") != 0)
			continue;
		/* Without the reading: only another state is something to decide about. */
		json_begin_object(row, NULL);
		json_put_string(row, "name", readings[i].name);
		json_put_string(row, "type", readings[i].type);
		json_put_string(row, "state", readings[i].state);
		json_end_object(row);
	}
	json_end_array(row);
}

void health_note_sensors(struct health *health, int64_t node_id, int64_t at_us,
			 const struct health_reading readings[], size_t count)
{
	CLEANUP(text_done) struct text row = {0};

	json_begin_object(&row, NULL);
	json_put_int(&row, "node_id", node_id);
	json_put_int(&row, "at_us", at_us);
	json_begin_array(&row, "sensors");
	for (size_t i = 0; i < count; i++) {
		json_begin_object(&row, NULL);
		json_put_int(&row, "number", readings[i].number);
		json_put_string(&row, "name", readings[i].name);
		json_put_string(&row, "type", readings[i].type);
		json_put_string(&row, "unit", readings[i].unit);
		if (readings[i].has_reading)
			json_put_double(&row, "reading", readings[i].reading);
		else
			json_put_null(&row, "reading");
		json_put_string(&row, "state", readings[i].state);
		json_end_object(&row);
	}
	json_end_array(&row);
	add_alarms(&row, readings, count);
	json_end_object(&row);
	batch_add(&health->sensors, &row);
	health->stats.readings++;
}

static void mark_set(struct health *health, int64_t node_id, const struct health_mark *mark)
{
	struct mark_row *row;

	HASH_FIND(hh, health->marks, &node_id, sizeof(node_id), row);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return; /* read all again: what is known is passed over */
		row->node_id = node_id;
		HASH_ADD(hh, health->marks, node_id, sizeof(row->node_id), row);
	}
	row->mark = *mark;
}

void health_note_log(struct health *health, int64_t node_id, const struct health_mark *mark,
		     const struct health_entry entries[], size_t count)
{
	CLEANUP(text_done) struct text row = {0};

	json_begin_object(&row, NULL);
	json_put_int(&row, "node_id", node_id);
	if (mark->known) {
		json_put_int(&row, "record", mark->record);
		json_put_int(&row, "stamp", mark->stamp);
	}
	json_begin_array(&row, "entries");
	for (size_t i = 0; i < count; i++) {
		json_begin_object(&row, NULL);
		json_put_int(&row, "record", entries[i].record);
		json_put_int(&row, "time_s", entries[i].time_s);
		json_put_string(&row, "type", entries[i].type);
		json_put_string(&row, "sensor", entries[i].sensor);
		json_put_string(&row, "event", entries[i].event);
		json_put_bool(&row, "asserted", entries[i].asserted);
		json_end_object(&row);
	}
	json_end_array(&row);
	json_end_object(&row);
	mark_set(health, node_id, mark);
	batch_add(&health->log, &row);
}

bool health_log_mark(const struct health *health, int64_t node_id, struct health_mark *ret)
{
	const struct mark_row *row;

	HASH_FIND(hh, health->marks, &node_id, sizeof(node_id), row);
	*ret = row ? row->mark : (struct health_mark){0};
	return ret->known;
}

/* --- writing --- */

/* What may not have arrived is sent again, before what came after it. */
static void batch_back(struct health_batch *batch)
{
	struct text rows = batch->rows;

	if (rows.size > 0) {
		text_add(&batch->sent, ",");
		text_add(&batch->sent, text_get(&rows));
	}
	batch->rows = batch->sent;
	batch->sent = rows;
	text_clear(&batch->sent);
}

static void health_on_written(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	struct health_batch *batch = context;

	batch->sending = false;
	if (rc == 0 && batch == &batch->health->log)
		batch->health->stats.entries += (uint64_t)health_store_count(result);
	if (rc == E_UNAVAILABLE) {
		batch_back(batch);
		return;
	}
	if (rc)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	text_clear(&batch->sent);
}

static void health_batch_send(struct health_batch *batch)
{
	CLEANUP(text_done) struct text array = {0};
	struct text swap = batch->sent;
	int rc;

	if (batch->sending || batch->rows.size == 0)
		return;
	batch->sent = batch->rows;
	batch->rows = swap;
	text_clear(&batch->rows);
	text_add(&array, "[");
	text_add(&array, text_get(&batch->sent));
	text_add(&array, "]");
	rc = array.failed ? -ENOMEM : 0;
	if (rc == 0)
		rc = batch == &batch->health->log
			     ? health_store_log(batch->health->options.db, text_get(&array),
						health_on_written, batch)
			     : health_store_sensors(batch->health->options.db, text_get(&array),
						    health_on_written, batch);
	if (rc == 0)
		batch->sending = true;
	else
		batch_back(batch);
}

/* --- deciding --- */

static void health_on_saved(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct health *health = context;

	health->deciding = false;
	if (rc == 0)
		health_changed(health, health_store_count(result));
	else if (rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	if (rc == 0 && health->more)
		loop_timer_arm(health->timer, 0);
}

/* A row that cannot be read is left out; the others go on. */
static int health_decide_row(struct health *health, const PGresult *result, int row,
			     struct text *rows)
{
	struct health_verdict verdict;
	struct health_row facts;
	int rc = health_row_read(result, row, &facts);

	if (rc) {
		log_error(SUBJECT, "the facts of node %s cannot be read: %s",
			  db_text(result, row, HEALTH_DUE_NODE, "?"), error_text(rc));
		return rc;
	}
	health_decide(&facts.facts, facts.now_ms, &verdict);
	health_row_write(rows, &facts, &verdict);
	health_row_done(&facts);
	health->stats.decided++;
	return 0;
}

static void on_due(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct health *health = context;
	CLEANUP(text_done) struct text rows = {0};
	int count = rc ? 0 : PQntuples(result);
	int good = 0;

	health->deciding = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	json_begin_array(&rows, NULL);
	for (int row = 0; row < count; row++)
		good += health_decide_row(health, result, row, &rows) == 0;
	json_end_array(&rows);
	health->more = count == HEALTH_CLAIM_LIMIT;
	if (good > 0 && !rows.failed &&
	    health_store_save(health->options.db, text_get(&rows), health_on_saved, health) == 0)
		health->deciding = true;
}

static void on_expired(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	if (rc == 0)
		health_changed(context, health_store_count(result));
	else if (rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
}

static void health_tick(void *context)
{
	struct health *health = context;

	loop_timer_arm(health->timer, TICK_MS);
	if (!health->connected)
		return;
	health_batch_send(&health->sensors);
	health_batch_send(&health->log);
	if (health->tick++ % EXPIRE_TICKS == 0 &&
	    health_store_expire(health->options.db, on_expired, health) != 0)
		return; /* no memory: the next tick comes */
	if (!health->deciding && health_store_due(health->options.db, on_due, health) == 0)
		health->deciding = true;
}

/* --- life --- */

static void on_marks(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct health *health = context;
	int rows = rc ? 0 : PQntuples(result);

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	for (int row = 0; row < rows; row++) {
		struct health_mark known;
		int64_t node_id = db_int(result, row, HEALTH_MARKS_NODE_ID, 0);
		const struct health_mark mark = {
			.known = true,
			.record = (uint16_t)db_int(result, row, HEALTH_MARKS_RECORD, 0),
			.stamp = (uint32_t)db_int(result, row, HEALTH_MARKS_STAMP, 0),
		};

		if (!health_log_mark(health, node_id, &known))
			mark_set(health, node_id, &mark);
	}
}

void health_db_state(struct health *health, bool connected)
{
	health->connected = connected;
	if (connected && health_store_marks(health->options.db, on_marks, health) != 0)
		log_warn(SUBJECT, "event logs are read from their beginning: no memory");
}

int health_new(struct loop *loop, const struct health_options *options, struct health **ret)
{
	struct health *health = calloc(1, sizeof(*health));
	int rc;

	if (!health)
		return -ENOMEM;
	*health = (struct health){.loop = loop, .options = *options};
	health->sensors.health = health;
	health->log.health = health;
	rc = loop_timer_new(loop, health_tick, health, &health->timer);
	if (rc) {
		free(health);
		return rc;
	}
	health->connected = db_connected(options->db);
	loop_timer_arm(health->timer, TICK_MS);
	*ret = health;
	return 0;
}

void health_free(struct health *health)
{
	struct mark_row *row;
	struct mark_row *next;

	if (!health)
		return;
	HASH_ITER(hh, health->marks, row, next)
	{
		HASH_DEL(health->marks, row);
		free(row);
	}
	text_done(&health->sensors.rows);
	text_done(&health->sensors.sent);
	text_done(&health->log.rows);
	text_done(&health->log.sent);
	loop_timer_free(health->timer);
	free(health);
}
