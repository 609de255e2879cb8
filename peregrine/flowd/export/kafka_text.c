#include "peregrine/flowd/export/kafka_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const topic_words[KAFKA_TOPIC_COUNT] = {
	[TABLE_SHARE] = "share", [TABLE_PAIR] = "pair",     [TABLE_FLOW] = "flow",
	[TABLE_PORT] = "port",   [TOPIC_BUCKET] = "bucket",
};

bool kafka_topic_name(const char *prefix, unsigned topic, char ret[KAFKA_TOPIC_SIZE])
{
	return text_format(ret, KAFKA_TOPIC_SIZE, "%s.%s.v%d", prefix, topic_words[topic],
			   KAFKA_SCHEMA);
}

void kafka_key(const struct traffic_batch *batch, const char *writer, unsigned topic, uint32_t part,
	       char ret[KAFKA_KEY_SIZE])
{
	(void)text_format(ret, KAFKA_KEY_SIZE, "%s:%" PRIu64 ":%s:%" PRIu32, writer, batch->number,
			  topic_words[topic], part);
}

/* --- switches --- */

static int by_id(const void *a, const void *b)
{
	int64_t x = ((const struct kafka_switch *)a)->id;
	int64_t y = ((const struct kafka_switch *)b)->id;

	return (x > y) - (x < y);
}

static size_t count_lines(const struct text *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->size; i++)
		count += text->data[i] == '\n';
	return count;
}

static int read_switches(struct kafka_rows *rows, const struct text *text)
{
	const char *at = text_get(text);

	rows->switches = calloc(count_lines(text) + 1, sizeof(*rows->switches));
	if (!rows->switches)
		return -ENOMEM;
	while (*at) {
		char *name;
		int64_t id = strtoll(at, &name, 10);
		size_t size = strcspn(++name, "\n");

		rows->switches[rows->switch_count++] =
			(struct kafka_switch){.id = id, .name = name, .size = size};
		at = name + size + 1;
	}
	qsort(rows->switches, rows->switch_count, sizeof(*rows->switches), by_id);
	return 0;
}

static void add_switch_name(struct kafka_rows *rows, const char *row, struct text *ret)
{
	const struct kafka_switch key = {.id = strtoll(row, NULL, 10)};

	if (!rows->last || rows->last->id != key.id)
		rows->last = bsearch(&key, rows->switches, rows->switch_count, sizeof(key), by_id);
	if (rows->last)
		text_add_bytes(ret, rows->last->name, rows->last->size);
}

/* --- rows --- */

int kafka_rows_init(struct kafka_rows *rows, const struct traffic_batch *batch, const char *writer)
{
	int rc;

	*rows = (struct kafka_rows){.batch = batch};
	(void)text_format(rows->before, sizeof(rows->before), "%d\t%s\t",
			  traffic_step_seconds[batch->step], batch->at_text);
	text_addf(&rows->head, "%" PRId64 "\t", batch->at_s);
	traffic_add_field(&rows->head, writer);
	text_addf(&rows->head, "\t%" PRIu64 "\t", batch->number);
	rc = rows->head.failed ? -ENOMEM : read_switches(rows, &batch->switches);
	if (rc)
		kafka_rows_done(rows);
	return rc;
}

void kafka_rows_done(struct kafka_rows *rows)
{
	text_done(&rows->head);
	free(rows->switches);
	rows->switches = NULL;
}

static void kafka_text_add_number(struct text *ret, uint32_t number)
{
	char digits[12];
	char *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	text_add_bytes(ret, at, (size_t)(digits + sizeof(digits) - at));
}

static void kafka_text_add_row(struct kafka_rows *rows, const char *row, size_t size,
			       uint32_t number, struct text *ret)
{
	size_t before = strlen(rows->before);

	text_add_bytes(ret, rows->head.data, rows->head.size);
	kafka_text_add_number(ret, number);
	text_add_bytes(ret, "\t", 1);
	add_switch_name(rows, row + before, ret);
	text_add_bytes(ret, "\t", 1);
	text_add_bytes(ret, row + before, size - before);
}

bool kafka_rows_next(struct kafka_rows *rows, enum traffic_table_kind table, size_t limit,
		     struct text *ret)
{
	const struct text *from = &rows->batch->tables[table];
	size_t *at = &rows->at[table];

	text_clear(ret);
	while (*at < from->size && ret->size < limit) {
		const char *row = from->data + *at;
		const char *end = memchr(row, '\n', from->size - *at);
		size_t size = end ? (size_t)(end - row) + 1 : from->size - *at;

		kafka_text_add_row(rows, row, size, rows->rows[table]++, ret);
		*at += size;
	}
	return ret->size > 0;
}

void kafka_rows_bucket(const struct kafka_rows *rows, struct text *ret)
{
	const struct traffic_batch *batch = rows->batch;

	text_clear(ret);
	text_add_bytes(ret, rows->head.data, rows->head.size);
	text_addf(ret, "%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u",
		  batch->from_s, batch->to_s, batch->bytes, batch->unattributed_bytes,
		  batch->lost_bytes, batch->thinned);
	text_addf(ret, "\t%d\t%" PRIu64, batch->cut, batch->given_up);
	for (size_t i = 0; i < TRAFFIC_TABLE_COUNT; i++)
		text_addf(ret, "\t%" PRIu32, rows->rows[i]);
	text_add(ret, "\n");
}
