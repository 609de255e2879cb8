#include "bampi/control/health/health_store.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"

#include "bampi/control/health/health_store_sql.h"

#define JSON_MAX ((size_t)4 << 20)

/* clang-format off */

/* clang-format on */

static int health_store_submit_rows(struct db *db, const struct db_query *query, const char *rows,
				    db_result_fn fn, void *context)
{
	const char *params[] = {rows};

	return db_submit(db, query, params, fn, context);
}

int health_store_sensors(struct db *db, const char *rows, db_result_fn fn, void *context)
{
	return health_store_submit_rows(db, &health_sensors_query, rows, fn, context);
}

int health_store_log(struct db *db, const char *rows, db_result_fn fn, void *context)
{
	return health_store_submit_rows(db, &health_log_query, rows, fn, context);
}

int health_store_save(struct db *db, const char *rows, db_result_fn fn, void *context)
{
	return health_store_submit_rows(db, &health_save_query, rows, fn, context);
}

int health_store_marks(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &health_marks_query, NULL, fn, context);
}

int health_store_due(struct db *db, db_result_fn fn, void *context)
{
	static_assert(HEALTH_CLAIM_LIMIT == 64, "the limit of health_due_query");
	return db_submit(db, &health_due_query, NULL, fn, context);
}

int health_store_expire(struct db *db, db_result_fn fn, void *context)
{
	return db_submit(db, &health_expire_query, NULL, fn, context);
}

int64_t health_store_count(const PGresult *result)
{
	return PQntuples(result) > 0 ? db_int(result, 0, CHANGED_COUNT, 0) : 0;
}

/* --- facts --- */

static int health_store_read_json(const PGresult *result, int row, int column, json_t **ret)
{
	const char *text = db_text(result, row, column, NULL);
	struct problem ignored = {0};

	return text ? json_read(text, strlen(text), JSON_MAX, ret, &ignored) : 0;
}

static const char *health_store_word(const json_t *value)
{
	const char *text = json_string_value(value);

	return text ? text : "";
}

static int read_alarms(struct health_row *row)
{
	size_t count = json_array_size(row->parts[0]);

	row->alarms = calloc(count + 1, sizeof(*row->alarms));
	if (!row->alarms)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const json_t *alarm = json_array_get(row->parts[0], i);

		row->alarms[i] = (struct health_alarm){
			.name = health_store_word(json_object_get(alarm, "name")),
			.type = health_store_word(json_object_get(alarm, "type")),
			.state = health_store_word(json_object_get(alarm, "state")),
		};
	}
	row->facts.alarms = row->alarms;
	row->facts.alarm_count = count;
	return 0;
}

static int read_events(struct health_row *row)
{
	size_t count = json_array_size(row->parts[1]);

	row->events = calloc(count + 1, sizeof(*row->events));
	if (!row->events)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const json_t *event = json_array_get(row->parts[1], i);

		row->events[i] = (struct health_event){
			.type = health_store_word(json_object_get(event, "type")),
			.sensor = health_store_word(json_object_get(event, "sensor")),
			.event = health_store_word(json_object_get(event, "event")),
			.asserted = json_is_true(json_object_get(event, "asserted")),
			.bmc_ms = json_integer_value(json_object_get(event, "bmc_ms")),
			.seen_ms = json_integer_value(json_object_get(event, "seen_ms")),
		};
	}
	row->facts.events = row->events;
	row->facts.event_count = count;
	return 0;
}

static int read_drives(struct health_row *row)
{
	size_t count = json_array_size(row->parts[2]);

	row->drives = calloc(count + 1, sizeof(*row->drives));
	if (!row->drives)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const json_t *drive = json_array_get(row->parts[2], i);

		row->drives[i] = (struct health_drive){
			.name = health_store_word(json_object_get(drive, "name")),
			.reason = health_store_word(json_object_get(drive, "reason")),
		};
	}
	row->facts.drives = row->drives;
	row->facts.drive_count = count;
	return 0;
}

/* The memory of a label, a new one when it is not there; NULL when there are too many, which the
 * table of rules does not allow. */
static struct health_memory *health_store_memory_of(struct health_row *row, const char *label)
{
	struct health_memory *memory;

	for (size_t i = 0; i < row->facts.memory_count; i++) {
		if (strcmp(row->memories[i].label, label) == 0)
			return &row->memories[i];
	}
	if (row->facts.memory_count == HEALTH_LABELS_MAX)
		return NULL;
	memory = &row->memories[row->facts.memory_count++];
	*memory = (struct health_memory){0};
	(void)text_copy(memory->label, sizeof(memory->label), label);
	return memory;
}

static int read_memories(const PGresult *result, int row, struct health_row *ret)
{
	CLEANUP(json_decrefp) json_t *memo = NULL;
	CLEANUP(json_decrefp) json_t *cleared = NULL;
	CLEANUP(json_decrefp) json_t *labels = NULL;
	struct health_memory *memory;
	const char *label;
	json_t *value;
	int rc = health_store_read_json(result, row, HEALTH_DUE_MEMO, &memo);

	if (rc == 0)
		rc = health_store_read_json(result, row, HEALTH_DUE_CLEARED, &cleared);
	if (rc == 0)
		rc = health_store_read_json(result, row, HEALTH_DUE_LABELS, &labels);
	json_object_foreach(labels, label, value)
	{
		memory = health_store_memory_of(ret, label);
		if (memory)
			memory->raised_ms = json_integer_value(value);
	}
	json_object_foreach(memo, label, value)
	{
		memory = health_store_memory_of(ret, label);
		if (!memory)
			continue;
		memory->bad_ms = json_integer_value(json_object_get(value, "bad"));
		memory->good_ms = json_integer_value(json_object_get(value, "good"));
	}
	json_object_foreach(cleared, label, value)
	{
		memory = health_store_memory_of(ret, label);
		if (memory)
			memory->cleared_ms = json_integer_value(value);
	}
	ret->facts.memories = ret->memories;
	return rc;
}

int health_row_read(const PGresult *result, int row, struct health_row *ret)
{
	static const int columns[] = {HEALTH_DUE_ALARMS, HEALTH_DUE_LOG, HEALTH_DUE_DRIVES};
	int rc = 0;

	*ret = (struct health_row){
		.node_id = db_int(result, row, HEALTH_DUE_NODE_ID, 0),
		.generation = db_int(result, row, HEALTH_DUE_GENERATION, 0),
		.now_ms = db_int(result, row, HEALTH_DUE_NOW_MS, 0),
		.facts = {.powered = db_bool(result, row, HEALTH_DUE_POWERED),
			  .bmc_failing_ms = db_int(result, row, HEALTH_DUE_FAILING_MS, 0),
			  .bmc_problem = db_text(result, row, HEALTH_DUE_PROBLEM, "")},
	};
	(void)text_copy(ret->node, sizeof(ret->node), db_text(result, row, HEALTH_DUE_NODE, ""));
	for (size_t i = 0; rc == 0 && i < COUNT_OF(columns); i++)
		rc = health_store_read_json(result, row, columns[i], &ret->parts[i]);
	if (rc == 0)
		rc = read_alarms(ret);
	if (rc == 0)
		rc = read_events(ret);
	if (rc == 0)
		rc = read_drives(ret);
	if (rc == 0)
		rc = read_memories(result, row, ret);
	if (rc)
		health_row_done(ret);
	return rc;
}

void health_row_done(struct health_row *row)
{
	for (size_t i = 0; i < COUNT_OF(row->parts); i++)
		json_decref(row->parts[i]);
	free(row->alarms);
	free(row->events);
	free(row->drives);
	*row = (struct health_row){0};
}

/* --- verdicts --- */

static void write_label(struct text *rows, const struct health_label *label)
{
	json_begin_object(rows, NULL);
	json_put_string(rows, "label", label->label);
	json_put_string(rows, "severity", health_severity_words[label->severity]);
	json_begin_array(rows, "effects");
	for (size_t i = 0; i < HEALTH_EFFECT_COUNT; i++) {
		if (label->effects & 1U << i)
			json_put_string(rows, NULL, health_effect_words[i]);
	}
	json_end_array(rows);
	json_put_string(rows, "reason", label->reason);
	json_put_string(rows, "hint", label->hint);
	json_put_int(rows, "since_ms", label->since_ms);
	json_end_object(rows);
}

void health_row_write(struct text *rows, const struct health_row *row,
		      const struct health_verdict *verdict)
{
	json_begin_object(rows, NULL);
	json_put_int(rows, "node_id", row->node_id);
	json_put_int(rows, "generation", row->generation);
	json_begin_object(rows, "memo");
	for (size_t i = 0; i < verdict->memory_count; i++) {
		const struct health_memory *memory = &verdict->memories[i];

		json_begin_object(rows, memory->label);
		if (memory->bad_ms)
			json_put_int(rows, "bad", memory->bad_ms);
		if (memory->good_ms)
			json_put_int(rows, "good", memory->good_ms);
		json_end_object(rows);
	}
	json_end_object(rows);
	if (verdict->next_ms)
		json_put_int(rows, "next_ms", verdict->next_ms);
	json_begin_array(rows, "labels");
	for (size_t i = 0; i < verdict->label_count; i++)
		write_label(rows, &verdict->labels[i]);
	json_end_array(rows);
	json_end_object(rows);
}
