#include "portal/server/live_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "portal/server/event_store_sql.h"
#include "portal/server/exchange_store_sql.h"
#include "portal/server/live_load.h"
#include "portal/server/live_store_sql.h"
#include "portal/server/word_table.h"

#define LIVE_READ_MS 250
/* All nodes are read again: who was deleted left no row that changed. */
#define WHOLE_MS 60000

struct live_values {
	struct portal *portal;
	loop_fn changed;
	void *context;
	struct value_book *book;
	struct live_load *load;
	bool read; /* at least once */
	bool asked, whole;
	uint64_t since; /* the transaction that the next question begins at; 0 = not known */
	int64_t asked_ms, whole_ms;
	/* Most readers have the same: the last event, and whose it is. */
	struct {
		uint64_t book;
		struct value_reader before, after;
		char tenant[24];
		bool any;
		struct text text;
	} last;
};

static void live_values_put(struct live_values *values, const PGresult *rows)
{
	uint64_t xid = 0;
	int rc = 0;

	value_book_begin(values->book);
	for (int row = 0; row < PQntuples(rows) && rc == 0; row++) {
		const struct value_row value = {
			.kind = db_text(rows, row, LIVE_VALUES_KIND, ""),
			.name = db_text(rows, row, LIVE_VALUES_NAME, ""),
			.tenant = db_text(rows, row, LIVE_VALUES_TENANT, ""),
			.site = db_bool(rows, row, LIVE_VALUES_SITE),
			.body = db_text(rows, row, LIVE_VALUES_BODY, "null"),
		};

		if (strcmp(value.kind, "now") == 0) {
			values->since = strtoull(value.name, NULL, 10);
			xid = strtoull(value.body, NULL, 10);
		} else {
			rc = value_book_put(values->book, &value, xid);
		}
	}
	if (rc != 0) { /* what was put is good; the rest is read again */
		values->since = 0;
		return;
	}
	value_book_sweep(values->book, "deployment", NULL);
	value_book_sweep(values->book, "pdci", NULL);
	value_book_sweep(values->book, "job", NULL);
	value_book_sweep(values->book, "alerts", NULL);
	if (values->whole)
		value_book_sweep(values->book, "node", NULL);
	if (!values->read)
		value_book_set_floor(values->book, "node", xid);
	values->read = true;
}

static void live_values_on_rows(void *context, int rc, const PGresult *rows,
				const struct problem *problem)
{
	struct live_values *values = context;

	values->asked = false;
	if (rc != 0) {
		values->since = 0; /* what comes back may be another database */
		if (rc != E_UNAVAILABLE)
			log_problem(LOG_LEVEL_WARN, "live values", problem);
		return;
	}
	live_values_put(values, rows);
	values->changed(values->context);
}

static void live_values_ask(struct live_values *values, int64_t now_ms)
{
	char since[24];
	const char *params[] = {since};
	const struct db_call calls[] = {
		{&scope_operator_query, NULL, NULL, NULL},
		{&live_values_query, params, live_values_on_rows, values},
	};

	values->whole = values->since == 0 || now_ms - values->whole_ms >= WHOLE_MS;
	(void)text_format(since, sizeof(since), "%" PRIu64, values->since);
	if (values->whole) {
		params[0] = NULL;
		values->whole_ms = now_ms;
		value_book_forget(values->book);
	}
	values->asked_ms = now_ms;
	values->asked = db_submit_all(values->portal->live, calls, COUNT_OF(calls)) == 0;
}

static void live_values_on_load(void *context)
{
	struct live_values *values = context;

	values->changed(values->context);
}

int live_values_new(struct portal *portal, loop_fn changed, void *context, struct live_values **ret)
{
	struct live_values *values = calloc(1, sizeof(*values));
	int rc = values ? value_book_new(&values->book) : -ENOMEM;

	if (rc == 0) {
		values->portal = portal;
		values->changed = changed;
		values->context = context;
		rc = live_load_new(portal, values->book, live_values_on_load, values,
				   &values->load);
	}
	if (rc != 0) {
		live_values_free(values);
		return rc;
	}
	*ret = values;
	return 0;
}

void live_values_free(struct live_values *values)
{
	if (!values)
		return;
	live_load_free(values->load);
	value_book_free(values->book);
	text_done(&values->last.text);
	free(values);
}

void live_values_look(struct live_values *values, const char *tenant)
{
	int64_t now_ms = loop_now_ms(values->portal->loop);

	live_load_look(values->load, tenant);
	if (!values->asked && (!values->read || now_ms - values->asked_ms >= LIVE_READ_MS) &&
	    db_connected(values->portal->live))
		live_values_ask(values, now_ms);
}

static bool live_values_is_last(const struct live_values *values, const struct value_reader *reader)
{
	const struct value_reader *before = &values->last.before;

	return values->last.text.size > 0 && values->last.book == value_book_number(values->book) &&
	       before->number == reader->number && before->xid == reader->xid &&
	       before->until == reader->until && before->known == reader->known &&
	       strcmp(values->last.tenant, reader->tenant) == 0;
}

const char *live_values_event(struct live_values *values, struct value_reader *reader,
			      size_t *ret_size)
{
	struct text *text = &values->last.text;
	const char *tenant = reader->tenant;

	if (!values->read)
		return NULL;
	if (!live_values_is_last(values, reader)) {
		text_clear(text);
		values->last.before = *reader;
		(void)text_copy(values->last.tenant, sizeof(values->last.tenant), tenant);
		text_add(text, "event: values\ndata: ");
		values->last.any = value_book_write(values->book, reader, text);
		text_add(text, "\n\n");
		values->last.book = value_book_number(values->book);
		values->last.after = *reader;
	}
	*reader = values->last.after;
	reader->tenant = tenant;
	*ret_size = text->size;
	return values->last.any && !text->failed ? text_get(text) : NULL;
}
