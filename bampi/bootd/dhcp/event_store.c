#include "bampi/bootd/dhcp/event_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "bampi/bootd/dhcp/event_store_sql.h"

#define FLUSH_MS                 1000
#define WAITING_MAX              8192
#define DHCP_EVENT_STORE_SUBJECT "event"

enum dhcp_event_store_column {
	COLUMN_KIND,
	COLUMN_SUBJECT_KIND,
	COLUMN_SUBJECT,
	COLUMN_MESSAGE,
	COLUMN_DETAIL,
	DHCP_EVENT_STORE_COLUMNS
};

/* Rows as they will be sent: one growing array per column. */
struct dhcp_event_store_batch {
	struct text columns[DHCP_EVENT_STORE_COLUMNS];
	size_t count;
};

struct event_store {
	struct db *db;
	struct loop_timer *timer;
	struct dhcp_event_store_batch waiting, flying;
	bool armed;
	unsigned dropped;
};

static void batch_clear(struct dhcp_event_store_batch *batch)
{
	for (size_t i = 0; i < DHCP_EVENT_STORE_COLUMNS; i++)
		text_clear(&batch->columns[i]);
	batch->count = 0;
}

static void dhcp_event_store_batch_done(struct dhcp_event_store_batch *batch)
{
	for (size_t i = 0; i < DHCP_EVENT_STORE_COLUMNS; i++)
		text_done(&batch->columns[i]);
}

static void dhcp_event_store_arm(struct event_store *store)
{
	if (store->armed || store->waiting.count == 0)
		return;
	store->armed = true;
	loop_timer_arm(store->timer, FLUSH_MS);
}

static void on_added(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct event_store *store = context;

	(void)result;
	if (rc) {
		log_warn(DHCP_EVENT_STORE_SUBJECT, "%zu events were not written",
			 store->flying.count);
		log_problem(LOG_LEVEL_WARN, DHCP_EVENT_STORE_SUBJECT, problem);
	}
	batch_clear(&store->flying);
	dhcp_event_store_arm(store);
}

void event_store_flush(struct event_store *store)
{
	struct dhcp_event_store_batch sent = store->waiting;
	const char *params[DHCP_EVENT_STORE_COLUMNS];

	if (store->waiting.count == 0 || store->flying.count > 0)
		return;
	if (!db_connected(store->db)) {
		dhcp_event_store_arm(store);
		return;
	}
	if (store->dropped > 0)
		log_warn(DHCP_EVENT_STORE_SUBJECT, "%u events were too many to keep",
			 store->dropped);
	store->dropped = 0;
	store->waiting = store->flying;
	store->flying = sent;
	for (size_t i = 0; i < DHCP_EVENT_STORE_COLUMNS; i++) {
		array_end(&store->flying.columns[i]);
		params[i] = text_get(&store->flying.columns[i]);
		if (store->flying.columns[i].failed) {
			dhcp_event_store_batch_done(&store->flying);
			store->flying = (struct dhcp_event_store_batch){0};
			return;
		}
	}
	if (db_submit(store->db, &event_add_query, params, on_added, store))
		batch_clear(&store->flying);
}

static void dhcp_event_store_on_timer(void *context)
{
	struct event_store *store = context;

	store->armed = false;
	event_store_flush(store);
}

void event_store_add(struct event_store *store, const char *kind, const char *subject_kind,
		     const char *subject, const char *message, const char *detail)
{
	const char *values[DHCP_EVENT_STORE_COLUMNS] = {kind, subject_kind, subject, message,
							detail ? detail : "{}"};

	if (store->waiting.count == WAITING_MAX) {
		store->dropped++;
		return;
	}
	for (size_t i = 0; i < DHCP_EVENT_STORE_COLUMNS; i++) {
		if (store->waiting.count == 0)
			array_begin(&store->waiting.columns[i]);
		array_add(&store->waiting.columns[i], values[i]);
	}
	store->waiting.count++;
	dhcp_event_store_arm(store);
}

int event_store_new(struct loop *loop, struct db *db, struct event_store **ret)
{
	struct event_store *store = calloc(1, sizeof(*store));
	int rc;

	if (!store)
		return -ENOMEM;
	store->db = db;
	rc = loop_timer_new(loop, dhcp_event_store_on_timer, store, &store->timer);
	if (rc) {
		free(store);
		return rc;
	}
	*ret = store;
	return 0;
}

void event_store_free(struct event_store *store)
{
	if (!store)
		return;
	dhcp_event_store_batch_done(&store->waiting);
	dhcp_event_store_batch_done(&store->flying);
	loop_timer_free(store->timer);
	free(store);
}
