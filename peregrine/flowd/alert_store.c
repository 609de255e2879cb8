#include "peregrine/flowd/alert_store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/flowd/alert_store_sql.h"

#define FLOWD_ALERT_STORE_SUBJECT "alerts"

enum { BATCH = 256, FLOWD_ALERT_STORE_RETRY_MS = 1000 };

LEAKS_LEFT_TO_SANITIZER

struct waiting_row {
	struct waiting_row *next;
	char *json;
};

struct alert_store {
	struct loop_timer *retry;
	struct db *db;
	struct waiting_row *first, **last;
	size_t sent;  /* of the first ones: under way */
	size_t batch; /* 1 after a refusal: which row was it? */
	bool complained;
	struct alert_store_counts counts;
};

static void flowd_alert_store_on_retry(void *context)
{
	alert_store_flush(context);
}

int alert_store_new(struct loop *loop, struct alert_store **ret)
{
	struct alert_store *store = calloc(1, sizeof(*store));
	int rc = store ? loop_timer_new(loop, flowd_alert_store_on_retry, store, &store->retry)
		       : -ENOMEM;

	if (rc) {
		free(store);
		return rc;
	}
	store->last = &store->first;
	store->batch = BATCH;
	*ret = store;
	return 0;
}

static void drop_first(struct alert_store *store)
{
	struct waiting_row *row = store->first;

	store->first = row->next;
	if (!store->first)
		store->last = &store->first;
	free(row->json);
	free(row);
	store->counts.waiting--;
}

void alert_store_free(struct alert_store *store)
{
	if (!store)
		return;
	if (store->first)
		log_warn(FLOWD_ALERT_STORE_SUBJECT,
			 "%" PRIu64 " rows could not be written and are lost",
			 store->counts.waiting);
	while (store->first)
		drop_first(store);
	loop_timer_free(store->retry);
	free(store);
}

void alert_store_use(struct alert_store *store, struct db *db)
{
	store->db = db;
}

void alert_store_put(struct alert_store *store, char *json)
{
	struct waiting_row *row = json ? malloc(sizeof(*row)) : NULL;

	if (!row) {
		store->counts.dropped++;
		free(json);
		return;
	}
	*row = (struct waiting_row){.json = json};
	*store->last = row;
	store->last = &row->next;
	store->counts.waiting++;
	/* What is under way is not taken from under it. */
	if (store->counts.waiting > ALERT_STORE_LIMIT && store->sent == 0) {
		store->counts.dropped++;
		drop_first(store);
	}
	alert_store_flush(store);
}

static void flowd_alert_store_on_put(void *context, int rc, const PGresult *result,
				     const struct problem *problem)
{
	struct alert_store *store = context;
	size_t sent = store->sent;

	(void)result;
	store->sent = 0;
	if (rc == E_UNAVAILABLE || rc == E_TIMEOUT) {
		store->counts.failures++;
		if (!store->complained)
			log_warn(FLOWD_ALERT_STORE_SUBJECT,
				 "alerts wait for PostgreSQL (detail=\"%s\")", problem->message);
		store->complained = true;
		loop_timer_arm(store->retry, FLOWD_ALERT_STORE_RETRY_MS);
		return;
	}
	store->complained = false;
	if (rc && sent > 1) {
		store->batch = 1;
	} else if (rc) {
		log_error(FLOWD_ALERT_STORE_SUBJECT,
			  "PostgreSQL refuses an alert, it is dropped: %s (detail=\"%s\")",
			  problem->message, problem->detail);
		store->counts.refused++;
		drop_first(store);
	} else {
		store->counts.written += sent;
		while (sent-- > 0)
			drop_first(store);
	}
	if (!store->first)
		store->batch = BATCH;
	alert_store_flush(store);
}

void alert_store_flush(struct alert_store *store)
{
	CLEANUP(text_done) struct text rows = {0};
	const char *params[1];
	size_t count = 0;

	if (store->sent || !store->first || !store->db || !db_connected(store->db))
		return;
	for (const struct waiting_row *row = store->first; row && count < store->batch;
	     row = row->next) {
		text_add(&rows, count++ ? "," : "[");
		text_add(&rows, row->json);
	}
	text_add(&rows, "]");
	params[0] = text_get(&rows);
	if (rows.failed ||
	    db_submit(store->db, &alert_put_query, params, flowd_alert_store_on_put, store)) {
		loop_timer_arm(store->retry, FLOWD_ALERT_STORE_RETRY_MS);
		return;
	}
	store->sent = count;
}

struct alert_store_counts alert_store_counts(const struct alert_store *store)
{
	return store->counts;
}

uint64_t alert_store_lost(const struct alert_store *store)
{
	return store->counts.dropped + store->counts.refused;
}
