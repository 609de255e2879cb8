/* One batch of leases as one transaction of up to four statements; then what the database did not
 * take is looked at. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/dhcp/address_policy.h"
#include "bampi/bootd/dhcp/lease_row_sql.h"
#include "bampi/bootd/dhcp/lease_store_private.h"
#include "bampi/bootd/dhcp/lease_write_sql.h"

#define TRIES_MAX 5 /* of a batch, when it met another server's the wrong way round */
#define PAUSE_MS \
	1000 /* after a transaction that failed for a reason of its own, as a full disk \
	      */
#define LEASE_WRITE_SUBJECT "lease"

_Static_assert(CLOCK_SKEW_S == 2, "lease_spend waits for as long");

enum statement { SPEND, LEAVE, RENEW, DECLINE, MAKE, STATEMENTS };

/* Columns of w, in this order; each statement takes the first ones it needs. */
enum lease_write_column {
	COLUMN_ADDRESS,
	COLUMN_MAC,
	COLUMN_CLIENT,
	COLUMN_EXPIRES,
	COLUMN_SUBNET,
	LEASE_WRITE_COLUMNS
};
#define COLUMN_TAKER    COLUMN_CLIENT  /* of SPEND */
#define COLUMN_INHERITS COLUMN_EXPIRES /* of SPEND */

static const struct db_query *const lease_write_queries[STATEMENTS] = {
	[SPEND] = &lease_spend_query, [LEAVE] = &lease_leave_query,
	[RENEW] = &lease_renew_query, [DECLINE] = &lease_decline_query,
	[MAKE] = &lease_make_query,
};

struct arguments {
	struct text columns[STATEMENTS][LEASE_WRITE_COLUMNS];
	size_t rows[STATEMENTS];
};

static void lease_write_add_row(struct arguments *arguments, enum statement statement,
				uint32_t address, struct mac mac)
{
	struct text *columns = arguments->columns[statement];
	char text[IPV4_TEXT_SIZE + MAC_TEXT_SIZE];

	if (arguments->rows[statement]++ == 0) {
		for (int i = 0; i < lease_write_queries[statement]->param_count; i++)
			array_begin(&columns[i]);
	}
	array_add(&columns[COLUMN_ADDRESS], ipv4_text(address, text));
	array_add(&columns[COLUMN_MAC], mac_text(mac, text));
}

static void add_lease(const struct lease_store *store, struct arguments *arguments,
		      const struct lease *lease)
{
	enum statement statement = lease->state == LEASE_DECLINED ? DECLINE
				   : lease->committed             ? RENEW
								  : MAKE;
	struct text *columns = arguments->columns[statement];
	char text[MAC_TEXT_SIZE];

	lease_write_add_row(arguments, statement, lease->address, lease->mac);
	array_add(&columns[COLUMN_CLIENT], lease_table_client(store->options.table, lease));
	array_add_int(&columns[COLUMN_EXPIRES], lease->expires_at);
	if (statement == MAKE)
		array_add_int(&columns[COLUMN_SUBNET], lease->subnet_id);
	if (lease->old_address)
		lease_write_add_row(arguments, LEAVE, lease->old_address, lease->mac);
	if (!mac_is_zero(lease->victim)) {
		lease_write_add_row(arguments, SPEND, lease->address, lease->victim);
		array_add(&arguments->columns[SPEND][COLUMN_TAKER], mac_text(lease->mac, text));
		array_add_int(&arguments->columns[SPEND][COLUMN_INHERITS], lease->inherits);
	}
}

static void lease_write_committed(struct lease_store *store, struct lease *lease)
{
	lease->flying = false;
	lease->committed = true;
	lease->seen = store->read_number; /* newer than the read under way, if there is one */
	lease->old_address = 0;
	lease->victim = (struct mac){0};
	if (lease->dirty)
		lease_enqueue(store, lease);
	lease_give_back(store, lease, 0);
}

/* The database kept another row. */
static void lease_write_refused(struct lease_store *store, struct lease *lease)
{
	char address[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];

	log_debug(LEASE_WRITE_SUBJECT, "%s is not %s's in the database",
		  ipv4_text(lease->address, address), mac_text(lease->mac, mac));
	lease->flying = false;
	lease->dirty = false;
	lease_give_back(store, lease, E_CONFLICT);
	lease_table_remove(store->options.table, lease);
}

/* Whether it was committed is unknown; writing it again is harmless. */
static void lease_write_unanswered(struct lease_store *store, struct lease *lease)
{
	lease->flying = false;
	lease->dirty = true;
	lease_enqueue(store, lease);
	lease_give_back(store, lease, E_UNAVAILABLE);
}

/* Its client has not been answered, so it is simply done again. */
static void once_more(struct lease_store *store, struct lease *lease)
{
	lease->flying = false;
	lease->dirty = true;
	lease_enqueue(store, lease);
}

/* The transaction as a whole failed. Bindings stay, their writes wait; a new one is not promised to
 * anybody. */
static void failed_for_all(struct lease_store *store, const struct lane *lane, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (lane->batch[i]->committed)
			lease_write_unanswered(store, lane->batch[i]);
		else
			lease_write_refused(store, lane->batch[i]);
	}
	store->paused = true;
	loop_timer_arm(store->pause, PAUSE_MS);
}

static void lease_write_ended(struct lane *lane)
{
	struct lease_store *store = lane->store;

	lane->batch_count = 0;
	if (store->ending)
		return;
	if (store->options.on_batch)
		store->options.on_batch(store->options.context);
	lease_store_flush(store);
}

/* The row of a lease of this batch: ours after all, when another server wrote the same, or an
 * answer of ours was lost. */
static void settle_row(struct lane *lane, const PGresult *result, int row)
{
	struct lease_table *table = lane->store->options.table;
	struct lease *lease =
		lease_by_address(table, (uint32_t)db_int(result, row, LEASE_ADDRESS, 0));
	struct mac mac;

	if (!lease || !lease->flying || lease->place >= lane->batch_count ||
	    lane->batch[lease->place] != lease ||
	    mac_parse(db_text(result, row, LEASE_MAC, ""), &mac) || !mac_equal(mac, lease->mac) ||
	    db_int(result, row, LEASE_SUBNET_ID, 0) != lease->subnet_id ||
	    strcmp(db_text(result, row, LEASE_STATE, ""), lease_state_words[lease->state]) != 0)
		return;
	lane->done[lease->place] = true;
	lease->sure_until = (uint32_t)db_int(result, row, LEASE_EXPIRES_AT, 0);
}

/* It is ours: by another server, or by ourselves when an answer was lost. What we promise must be
 * within one lease time after its timer. */
static void lease_write_found(struct lease_store *store, struct lease *lease)
{
	lease->committed = true;
	lease->dirty = true;
	if (clock_wall_us() / 1000000 < lease->sure_until)
		lease_write_committed(store, lease);
	else
		once_more(store, lease);
}

static void lease_write_on_look(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct lane *lane = context;
	struct lease_store *store = lane->store;
	int count = rc ? 0 : PQntuples(result);

	(void)problem;
	for (int row = 0; row < count; row++)
		settle_row(lane, result, row);
	for (size_t i = 0; i < lane->batch_count; i++) {
		if (rc)
			lease_write_unanswered(store, lane->batch[i]);
		else if (lane->done[i])
			lease_write_found(store, lane->batch[i]);
		else
			lease_write_refused(store, lane->batch[i]);
	}
	/* Without memory it is as if we had not looked. */
	for (int row = 0; rc == 0 && row < count; row++)
		rc = lease_take_row(store, result, row);
	lease_write_ended(lane);
}

/* What was not taken stays in the batch and is looked at. */
static void lease_write_look(struct lane *lane)
{
	struct text columns[2] = {0};
	const char *params[2];
	char text[IPV4_TEXT_SIZE + MAC_TEXT_SIZE];
	int rc;

	array_begin(&columns[0]);
	array_begin(&columns[1]);
	for (size_t i = 0; i < lane->batch_count; i++) {
		lane->done[i] = false;
		lane->batch[i]->place = (uint16_t)i;
		array_add(&columns[0], ipv4_text(lane->batch[i]->address, text));
		array_add(&columns[1], mac_text(lane->batch[i]->mac, text));
	}
	array_end(&columns[0]);
	array_end(&columns[1]);
	params[0] = text_get(&columns[0]);
	params[1] = text_get(&columns[1]);
	rc = columns[0].failed || columns[1].failed
		     ? -ENOMEM
		     : db_submit(lane->db, &lease_look_query, params, lease_write_on_look, lane);
	text_done(&columns[0]);
	text_done(&columns[1]);
	if (rc) {
		for (size_t i = 0; i < lane->batch_count; i++)
			lease_write_unanswered(lane->store, lane->batch[i]);
		lane->batch_count = 0;
	}
}

static void lease_write_on_written(struct lane *lane)
{
	struct lease_store *store = lane->store;
	size_t count = lane->batch_count;
	size_t left = 0;

	if (lane->rc == E_CONFLICT && ++lane->tries < TRIES_MAX) {
		/* A circle of two servers that wait for each other: this one was ended. */
		for (size_t i = 0; i < count; i++)
			once_more(store, lane->batch[i]);
		lease_write_ended(lane);
		return;
	}
	lane->tries = 0;
	if (lane->rc && lane->rc != E_UNAVAILABLE) {
		failed_for_all(store, lane, count);
		lease_write_ended(lane);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (lane->rc)
			lease_write_unanswered(store, lane->batch[i]);
		else if (lane->done[i])
			lease_write_committed(store, lane->batch[i]);
		else
			lane->batch[left++] = lane->batch[i];
	}
	if (left == 0 || store->ending) {
		for (size_t i = 0; i < left; i++)
			lease_write_unanswered(store, lane->batch[i]);
		lease_write_ended(lane);
		return;
	}
	if (store->options.on_batch)
		store->options.on_batch(store->options.context);
	lane->batch_count = left;
	lease_write_look(lane);
}

static void on_statement(void *context, int rc, const PGresult *result,
			 const struct problem *problem)
{
	struct lane *lane = context;
	int count = rc ? 0 : PQntuples(result);

	/* One error names the reason, those of the other statements only say "aborted". */
	if (rc && (lane->rc == 0 || lane->rc == E_CONFLICT))
		lane->rc = rc;
	if (rc && rc != E_UNAVAILABLE && (rc != E_CONFLICT || lane->tries + 1 == TRIES_MAX))
		log_problem(LOG_LEVEL_ERROR, LEASE_WRITE_SUBJECT, problem);
	for (int row = 0; row < count; row++) {
		struct lease *lease =
			lease_by_address(lane->store->options.table,
					 (uint32_t)db_int(result, row, KEPT_LEASE_ADDRESS, 0));

		if (!lease || !lease->flying || lease->place >= lane->batch_count ||
		    lane->batch[lease->place] != lease)
			continue;
		lane->done[lease->place] = true;
		lease->sure_until = (uint32_t)db_int(result, row, KEPT_LEASE_EXPIRES_AT, 0);
	}
	if (--lane->statements == 0)
		lease_write_on_written(lane);
}

/* Servers that meet at the same addresses take them in the same order, so they rarely wait for each
 * other in a circle. */
static int by_address(const void *a, const void *b)
{
	const struct lease *x = *(struct lease *const *)a;
	const struct lease *y = *(struct lease *const *)b;

	return (x->address > y->address) - (x->address < y->address);
}

int lease_write(struct lane *lane)
{
	struct arguments arguments = {0};
	struct db_call calls[STATEMENTS];
	const char *params[STATEMENTS][LEASE_WRITE_COLUMNS];
	bool failed = false;
	size_t count = 0;
	int rc;

	qsort(lane->batch, lane->batch_count, sizeof(struct lease *), by_address);
	memset(lane->done, 0, lane->batch_count * sizeof(lane->done[0]));
	for (size_t i = 0; i < lane->batch_count; i++) {
		lane->batch[i]->place = (uint16_t)i;
		add_lease(lane->store, &arguments, lane->batch[i]);
	}
	for (enum statement s = 0; s < STATEMENTS; s++) {
		if (arguments.rows[s] == 0)
			continue;
		for (int i = 0; i < lease_write_queries[s]->param_count; i++) {
			array_end(&arguments.columns[s][i]);
			params[s][i] = text_get(&arguments.columns[s][i]);
			failed |= arguments.columns[s][i].failed;
		}
		calls[count++] =
			(struct db_call){lease_write_queries[s], params[s], on_statement, lane};
	}
	lane->rc = 0;
	lane->statements = (unsigned)count;
	rc = failed ? -ENOMEM : db_submit_all(lane->db, calls, count);
	for (enum statement s = 0; s < STATEMENTS; s++) {
		for (int i = 0; i < LEASE_WRITE_COLUMNS; i++)
			text_done(&arguments.columns[s][i]);
	}
	return rc;
}
