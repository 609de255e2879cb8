/* Rows into memory: all of them in pages, and every second those that another server made. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/dhcp/lease_read_sql.h"
#include "bampi/bootd/dhcp/lease_row_sql.h"
#include "bampi/bootd/dhcp/lease_store_private.h"

#define PAGE               4096 /* rows read at once: some milliseconds in which no packet is answered */
#define LEASE_READ_NEWS_MS 1000
/* So many times the news is read after another server was there last: its sessions end with it, and
 * what it acknowledged a moment before is told by nobody else. */
#define LEASE_READ_LAST    2
#define LEASE_READ_SUBJECT "lease"

const char *const lease_state_words[3] = {
	[LEASE_BOUND] = "bound", [LEASE_DECLINED] = "declined", [LEASE_RELEASED] = "released"};

static bool is_row(const struct lease *lease, struct mac mac, int64_t subnet_id, int state)
{
	return mac_equal(lease->mac, mac) && lease->subnet_id == subnet_id && lease->state == state;
}

/* What is in memory is newer than a row: still to be written, or committed after this full read
 * began. */
static bool is_newer(const struct lease_store *store, const struct lease *lease, bool of_read)
{
	return lease &&
	       (lease->dirty || lease->flying || (of_read && lease->seen == store->read_number));
}

static int lease_read_take_row(struct lease_store *store, const PGresult *result, int row,
			       bool of_read)
{
	struct lease_table *table = store->options.table;
	int state = enum_value(lease_state_words, COUNT_OF(lease_state_words),
			       db_text(result, row, LEASE_STATE, ""));
	int64_t subnet_id = db_int(result, row, LEASE_SUBNET_ID, 0);
	int64_t expires_at = db_int(result, row, LEASE_EXPIRES_AT, 0);
	uint32_t address = (uint32_t)db_int(result, row, LEASE_ADDRESS, 0);
	struct lease *lease;
	struct lease *other;
	struct mac mac;
	int rc;

	if (state < 0 || address == 0 || mac_parse(db_text(result, row, LEASE_MAC, ""), &mac))
		return E_MALFORMED;
	lease = lease_by_address(table, address);
	other = state == LEASE_BOUND ? lease_by_mac(table, mac, subnet_id) : NULL;
	if (lease && is_row(lease, mac, subnet_id, state)) {
		lease->seen = store->read_number;
		if (lease->dirty || lease->flying)
			return 0;
	} else {
		if (is_newer(store, lease, of_read) || is_newer(store, other, of_read))
			return 0;
		if (lease)
			lease_store_forget(store, lease);
		if (other && other != lease)
			lease_store_forget(store, other);
		rc = state == LEASE_BOUND
			     ? lease_table_add(table, address, mac, subnet_id, &lease)
			     : lease_table_add_unbound(table, address, mac, subnet_id,
						       (enum lease_state)state, &lease);
		if (rc)
			return rc;
	}
	lease->seen = store->read_number;
	lease->committed = true;
	lease->client = lease_table_intern(table, db_text(result, row, LEASE_CLIENT, ""));
	lease->expires_at = expires_at;
	lease->sure_until = (uint32_t)expires_at;
	return 0;
}

int lease_take_row(struct lease_store *store, const PGresult *result, int row)
{
	return lease_read_take_row(store, result, row, false);
}

/* Rows that are gone were taken back by an operator. */
static void lease_read_sweep(struct lease_store *store)
{
	struct lease *lease;
	size_t cursor = 0;

	while ((lease = lease_table_next(store->options.table, &cursor))) {
		if (lease->committed && !lease->dirty && !lease->flying &&
		    lease->seen != store->read_number)
			lease_store_forget(store, lease);
	}
}

static int ask_page(struct lease_store *store);

static void read_ended(struct lease_store *store, int rc, const struct problem *problem)
{
	store->reading = false;
	if (rc == 0) {
		lease_read_sweep(store);
		store->ready = true;
	} else if (rc != E_UNAVAILABLE) {
		if (problem)
			log_problem(LOG_LEVEL_ERROR, LEASE_READ_SUBJECT, problem);
		log_error(LEASE_READ_SUBJECT, "leases not read, those in memory stay (%s)",
			  error_text(rc));
	}
	if (store->read_again && !store->ending)
		lease_store_reload(store);
}

static void on_page(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct lease_store *store = context;
	int count = rc ? 0 : PQntuples(result);

	for (int row = 0; rc == 0 && row < count; row++)
		rc = lease_read_take_row(store, result, row, true);
	if (rc == 0 && count == PAGE && !store->ending) {
		store->read_after = (uint32_t)db_int(result, count - 1, LEASE_ADDRESS, 0);
		rc = ask_page(store);
		if (rc == 0)
			return;
	}
	read_ended(store, rc, problem);
}

static int ask_page(struct lease_store *store)
{
	char after[IPV4_TEXT_SIZE];
	const char *params[] = {ipv4_text(store->read_after, after)};

	for (size_t i = 0; i < LANES; i++) {
		if (db_connected(store->lanes[i].db))
			return db_submit(store->lanes[i].db, &lease_page_query, params, on_page,
					 store);
	}
	return E_UNAVAILABLE;
}

void lease_store_reload(struct lease_store *store)
{
	store->read_again = store->reading;
	if (store->reading)
		return;
	store->read_number++;
	store->read_after = 0;
	store->reading = ask_page(store) == 0;
}

static void on_news(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct lease_store *store = context;
	int count = rc ? 0 : PQntuples(result);

	(void)problem; /* asked again in a second */
	store->asking = false;
	for (int row = 0; rc == 0 && row < count; row++) {
		if (!db_is_null(result, row, LEASE_ADDRESS))
			rc = lease_take_row(store, result, row);
	}
	if (rc || count == 0)
		return;
	store->news_since = store->news_next;
	store->news_next = db_int(result, 0, LEASE_NEWS_READ_AT, 0);
	if (db_bool(result, 0, LEASE_NEWS_COMPANY))
		store->news_left = LEASE_READ_LAST;
	else if (store->news_left > 0)
		store->news_left--;
}

void lease_ask_news(void *context)
{
	struct lease_store *store = context;
	char since[24];
	const char *params[] = {since, store->news_left > 0 ? "t" : "f"};

	(void)text_format(since, sizeof(since), "%lld", (long long)store->news_since);
	for (size_t i = 0; i < LANES && store->ready && !store->asking; i++) {
		if (db_connected(store->lanes[i].db))
			store->asking = db_submit(store->lanes[i].db, &lease_news_query, params,
						  on_news, store) == 0;
	}
	loop_timer_arm(store->news, LEASE_READ_NEWS_MS);
}
