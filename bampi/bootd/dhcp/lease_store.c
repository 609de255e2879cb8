#include "bampi/bootd/dhcp/lease_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/db/db.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#define LANES     2    /* connections: one prepares while the other's commit waits for the disk */
#define BATCH_MAX 1000 /* leases in one statement */
#define PAUSE_MS  1000 /* after a statement that failed for a reason of its own, as a full disk */
#define SUBJECT   "lease"

static const char *const state_words[] = {[LEASE_BOUND] = "bound", [LEASE_DECLINED] = "declined"};

static const struct db_query read_query = {
	"lease_read",
	"select host(address), mac, subnet_id, state, client, extract(epoch from expires_at)::bigint from haas.lease",
	0};

enum column {
	COLUMN_ADDRESS,
	COLUMN_MAC,
	COLUMN_SUBNET,
	COLUMN_STATE,
	COLUMN_CLIENT,
	COLUMN_EXPIRES,
	COLUMN_FRESH,
	COLUMN_OLD,
	COLUMN_VICTIM,
	COLUMNS
};

/* First the rows that make room (the client's former address, a spent lease of another), then
 * renewals and declines, then new bindings. A new binding never overwrites: a row that another
 * bootd made wins, and is not among the numbers that come back; nor does a renewal bind what was
 * declined, because the MAC may be bound elsewhere by now. The counts make the deletes and updates
 * happen before the inserts. A subnet that was deleted meanwhile makes no error, only no row. */
static const struct db_query write_query = {
	"lease_write",
	"with w as materialized (select * from unnest($1::inet[], $2::macaddr[], $3::bigint[], $4::text[], $5::text[], "
	"$6::bigint[], $7::boolean[], $8::inet[], $9::macaddr[]) with ordinality "
	"as w (address, mac, subnet_id, state, client, expires, fresh, old_address, victim, i)), "
	"freed as (delete from haas.lease l using w where w.fresh and ((l.address = w.old_address and l.mac = w.mac) or "
	"(l.address = w.address and l.mac = w.victim)) returning 1), "
	"renewed as (update haas.lease l set state = w.state, client = w.client, expires_at = to_timestamp(w.expires) "
	"from w where l.address = w.address and l.mac = w.mac and (l.state = w.state or w.state = 'declined') "
	"returning w.i), "
	"made as (insert into haas.lease (address, mac, subnet_id, state, client, expires_at) "
	"select w.address, w.mac, w.subnet_id, w.state, w.client, to_timestamp(w.expires) "
	"from w join haas.subnet s on s.id = w.subnet_id, (select count(*) from freed) f, (select count(*) from renewed) n "
	"where w.fresh and not exists (select from renewed r where r.i = w.i) "
	"on conflict do nothing returning address) "
	"select i from renewed union all select w.i from made join w on w.address = made.address and w.fresh",
	COLUMNS};

struct lane {
	struct lease_store *store;
	struct db *db;
	struct lease *batch[BATCH_MAX];
	size_t batch_count; /* 0 = idle */
};

struct lease_store {
	struct lease_store_options options;
	struct lane lanes[LANES];
	struct lease *queue_head, **queue_tail;
	size_t queued;
	bool ready;
	bool connected;
	bool reading;
	bool read_again;
	bool ending;
	bool paused;
	struct loop_timer *pause;
	uint32_t read_number;
	uint64_t batches, written;
};

bool lease_store_ready(const struct lease_store *store)
{
	return store->ready;
}

bool lease_store_connected(const struct lease_store *store)
{
	return store->connected;
}

bool lease_store_idle(const struct lease_store *store)
{
	for (size_t i = 0; i < LANES; i++) {
		if (store->lanes[i].batch_count > 0)
			return false;
	}
	return store->queued == 0;
}

uint64_t lease_store_batches(const struct lease_store *store)
{
	return store->batches;
}

uint64_t lease_store_written(const struct lease_store *store)
{
	return store->written;
}

size_t lease_store_queued(const struct lease_store *store)
{
	return store->queued;
}

static void enqueue(struct lease_store *store, struct lease *lease)
{
	lease->next = NULL;
	*store->queue_tail = lease;
	store->queue_tail = &lease->next;
	store->queued++;
}

static struct lease *dequeue(struct lease_store *store)
{
	struct lease *lease = store->queue_head;

	store->queue_head = lease->next;
	if (!store->queue_head)
		store->queue_tail = &store->queue_head;
	lease->next = NULL;
	store->queued--;
	return lease;
}

void lease_store_put(struct lease_store *store, struct lease *lease)
{
	if (lease->dirty)
		return;
	lease->dirty = true;
	if (!lease->flying) /* else it is queued when its batch ends: one lease is never in two
			       batches */
		enqueue(store, lease);
}

static void give_back(struct lease_store *store, struct lease *lease, int rc)
{
	void *waiter = lease->waiter;

	lease->waiter = NULL;
	if (waiter)
		store->options.on_commit(store->options.context, lease, waiter, rc);
}

void lease_store_forget(struct lease_store *store, struct lease *lease)
{
	if (lease->dirty) {
		for (struct lease **at = &store->queue_head; *at; at = &(*at)->next) {
			if (*at != lease)
				continue;
			*at = lease->next;
			if (!*at)
				store->queue_tail = at;
			store->queued--;
			break;
		}
	}
	give_back(store, lease, E_UNAVAILABLE);
	lease_table_remove(store->options.table, lease);
}

static void committed(struct lease_store *store, struct lease *lease)
{
	lease->flying = false;
	lease->committed = true;
	lease->seen = store->read_number; /* newer than the read under way, if there is one */
	lease->old_address = 0;
	lease->victim = (struct mac){0};
	if (lease->dirty)
		enqueue(store, lease);
	give_back(store, lease, 0);
}

/* The database kept or made another row: what we believed is wrong, and the next read tells what is
 * right. */
static void refused(struct lease_store *store, struct lease *lease)
{
	char address[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];

	log_warn(SUBJECT, "%s is not %s's in the database any more",
		 ipv4_text(lease->address, address), mac_text(lease->mac, mac));
	lease->flying = false;
	lease->dirty = false;
	give_back(store, lease, E_CONFLICT);
	lease_table_remove(store->options.table, lease);
}

/* Whether it was committed is unknown; writing it again is harmless. */
static void unanswered(struct lease_store *store, struct lease *lease)
{
	lease->flying = false;
	lease->dirty = true;
	enqueue(store, lease);
	give_back(store, lease, E_UNAVAILABLE);
}

/* The statement as a whole failed. Bindings stay, their writes wait; a new one is not promised to
 * anybody. */
static void failed_for_all(struct lease_store *store, const struct lane *lane, size_t count,
			   const struct problem *problem)
{
	log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
	for (size_t i = 0; i < count; i++) {
		if (lane->batch[i]->committed)
			unanswered(store, lane->batch[i]);
		else
			refused(store, lane->batch[i]);
	}
	store->paused = true;
	loop_timer_arm(store->pause, PAUSE_MS);
}

static void on_written(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct lane *lane = context;
	struct lease_store *store = lane->store;
	size_t count = lane->batch_count;
	bool done[BATCH_MAX] = {false};
	bool conflict = false;

	lane->batch_count = 0;
	if (rc && rc != E_UNAVAILABLE) {
		failed_for_all(store, lane, count, problem);
		return;
	}
	for (int row = 0; rc == 0 && row < PQntuples(result); row++) {
		int64_t number = db_int(result, row, 0, 0);

		if (number >= 1 && (size_t)number <= count)
			done[number - 1] = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (rc) {
			unanswered(store, lane->batch[i]);
		} else if (done[i]) {
			committed(store, lane->batch[i]);
		} else {
			refused(store, lane->batch[i]);
			conflict = true;
		}
	}
	if (store->ending)
		return;
	if (store->options.on_batch)
		store->options.on_batch(store->options.context);
	if (conflict)
		lease_store_reload(store);
	lease_store_flush(store);
}

static void on_pause_over(void *context)
{
	struct lease_store *store = context;

	store->paused = false;
	lease_store_flush(store);
}

static void build(const struct lease_store *store, const struct lane *lane,
		  struct text columns[COLUMNS])
{
	char text[IPV4_TEXT_SIZE + MAC_TEXT_SIZE];

	for (size_t i = 0; i < COLUMNS; i++)
		array_begin(&columns[i]);
	for (size_t i = 0; i < lane->batch_count; i++) {
		const struct lease *lease = lane->batch[i];

		array_add(&columns[COLUMN_ADDRESS], ipv4_text(lease->address, text));
		array_add(&columns[COLUMN_MAC], mac_text(lease->mac, text));
		array_add_int(&columns[COLUMN_SUBNET], lease->subnet_id);
		array_add(&columns[COLUMN_STATE],
			  enum_text(state_words, COUNT_OF(state_words), lease->state));
		array_add(&columns[COLUMN_CLIENT], lease_table_client(store->options.table, lease));
		array_add_int(&columns[COLUMN_EXPIRES], lease->expires_at);
		array_add(&columns[COLUMN_FRESH], lease->committed ? "f" : "t");
		array_add(&columns[COLUMN_OLD],
			  lease->old_address ? ipv4_text(lease->old_address, text) : NULL);
		array_add(&columns[COLUMN_VICTIM],
			  mac_is_zero(lease->victim) ? NULL : mac_text(lease->victim, text));
	}
	for (size_t i = 0; i < COLUMNS; i++)
		array_end(&columns[i]);
}

static int submit(struct lease_store *store, struct lane *lane)
{
	struct text columns[COLUMNS] = {0};
	const char *params[COLUMNS];
	bool failed = false;
	int rc;

	build(store, lane, columns);
	for (size_t i = 0; i < COLUMNS; i++) {
		params[i] = text_get(&columns[i]);
		failed |= columns[i].failed;
	}
	rc = failed ? -ENOMEM : db_submit(lane->db, &write_query, params, on_written, lane);
	for (size_t i = 0; i < COLUMNS; i++)
		text_done(&columns[i]);
	return rc;
}

static void flush_lane(struct lease_store *store, struct lane *lane)
{
	while (store->queue_head && lane->batch_count < BATCH_MAX) {
		struct lease *lease = dequeue(store);

		lease->dirty = false;
		lease->flying = true;
		lane->batch[lane->batch_count++] = lease;
	}
	store->batches++;
	store->written += lane->batch_count;
	if (submit(store, lane)) {
		/* Out of memory: they wait in the queue for the next packet. */
		size_t count = lane->batch_count;

		lane->batch_count = 0;
		for (size_t i = 0; i < count; i++)
			unanswered(store, lane->batch[i]);
	}
}

void lease_store_flush(struct lease_store *store)
{
	for (size_t i = 0; i < LANES && store->queue_head && !store->paused; i++) {
		struct lane *lane = &store->lanes[i];

		if (lane->batch_count == 0 && db_connected(lane->db))
			flush_lane(store, lane);
	}
}

static bool is_row(const struct lease *lease, struct mac mac, int64_t subnet_id, int state)
{
	return mac_equal(lease->mac, mac) && lease->subnet_id == subnet_id && lease->state == state;
}

/* A row of a full read against what is in memory. What has not been written yet is newer than any
 * row. */
static int take_row(struct lease_store *store, const PGresult *result, int row)
{
	struct lease_table *table = store->options.table;
	int state = enum_value(state_words, COUNT_OF(state_words), db_text(result, row, 3, ""));
	int64_t subnet_id = db_int(result, row, 2, 0);
	struct lease *lease;
	struct lease *other;
	uint32_t address;
	struct mac mac;
	int rc;

	if (state < 0 || ipv4_parse(db_text(result, row, 0, ""), &address) ||
	    mac_parse(db_text(result, row, 1, ""), &mac))
		return E_MALFORMED;
	lease = lease_by_address(table, address);
	other = state == LEASE_BOUND ? lease_by_mac(table, mac, subnet_id) : NULL;
	if (lease && is_row(lease, mac, subnet_id, state)) {
		lease->seen = store->read_number;
		if (lease->dirty || lease->flying)
			return 0;
	} else {
		if ((lease && (lease->dirty || lease->flying)) ||
		    (other && (other->dirty || other->flying)))
			return 0;
		if (lease)
			lease_store_forget(store, lease);
		if (other)
			lease_store_forget(store, other);
		rc = lease_table_add(table, address, mac, subnet_id, &lease);
		if (rc)
			return rc;
		if (state == LEASE_DECLINED)
			lease_table_decline(table, lease);
	}
	lease->seen = store->read_number;
	lease->committed = true;
	lease->client = lease_table_intern(table, db_text(result, row, 4, ""));
	lease->expires_at = db_int(result, row, 5, 0);
	return 0;
}

/* Rows that are gone were taken back by an operator. */
static void sweep(struct lease_store *store)
{
	struct lease *lease;
	size_t cursor = 0;

	while ((lease = lease_table_next(store->options.table, &cursor))) {
		if (lease->committed && !lease->dirty && !lease->flying &&
		    lease->seen != store->read_number)
			lease_store_forget(store, lease);
	}
}

static void on_read(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct lease_store *store = context;
	int count = rc ? 0 : PQntuples(result);

	store->reading = false;
	for (int row = 0; rc == 0 && row < count; row++)
		rc = take_row(store, result, row);
	if (rc == 0) {
		sweep(store);
		store->ready = true;
	} else if (rc != E_UNAVAILABLE) {
		log_problem(LOG_LEVEL_ERROR, SUBJECT, problem);
		log_error(SUBJECT, "leases not read, what is in memory stays (%s)", error_text(rc));
	}
	if (store->read_again && !store->ending)
		lease_store_reload(store);
}

void lease_store_reload(struct lease_store *store)
{
	store->read_again = store->reading;
	if (store->reading)
		return;
	for (size_t i = 0; i < LANES; i++) {
		if (!db_connected(store->lanes[i].db))
			continue;
		store->read_number++;
		store->reading =
			db_submit(store->lanes[i].db, &read_query, NULL, on_read, store) == 0;
		return;
	}
}

static void on_db_state(void *context, bool connected)
{
	struct lane *lane = context;
	struct lease_store *store = lane->store;
	bool before = store->connected;

	if (store->ending)
		return;
	store->connected = connected;
	for (size_t i = 0; i < LANES; i++)
		store->connected |= store->lanes[i].db && db_connected(store->lanes[i].db);
	if (connected) {
		/* Another bootd, or an operator, may have changed rows while we did not listen. */
		lease_store_reload(store);
		lease_store_flush(store);
	}
	if (store->connected != before && store->options.on_state)
		store->options.on_state(store->options.context, store->connected);
}

int lease_store_new(struct loop *loop, const struct lease_store_options *options,
		    struct lease_store **ret)
{
	struct lease_store *store = calloc(1, sizeof(*store));
	int rc;

	if (!store)
		return -ENOMEM;
	store->options = *options;
	store->queue_tail = &store->queue_head;
	rc = loop_timer_new(loop, on_pause_over, store, &store->pause);
	if (rc) {
		free(store);
		return rc;
	}
	for (size_t i = 0; i < LANES; i++) {
		struct db_options db_options = {.conninfo = options->conninfo,
						.application = "bampi-bootd leases",
						.on_state = on_db_state,
						.context = &store->lanes[i]};

		store->lanes[i].store = store;
		rc = db_new(loop, &db_options, &store->lanes[i].db);
		if (rc) {
			lease_store_free(store);
			return rc;
		}
	}
	*ret = store;
	return 0;
}

void lease_store_free(struct lease_store *store)
{
	if (!store)
		return;
	store->ending = true;
	for (size_t i = 0; i < LANES; i++)
		db_free(store->lanes[i].db);
	while (store->queue_head)
		give_back(store, dequeue(store), E_UNAVAILABLE);
	loop_timer_free(store->pause);
	free(store);
}
