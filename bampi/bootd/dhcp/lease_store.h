/* Leases and PostgreSQL, which several bootd may share. All rows are read at the start, on
 * reconnect and when asked, new ones of other servers every second. Changes go out as one
 * transaction on each of two connections, without a timer. Changes that come while both are busy
 * form the next batch, so the load chooses the size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

#include "bampi/bootd/dhcp/lease_table.h"

struct lease_store;

struct lease_store_options {
	const char *conninfo;
	struct lease_table *table; /* borrowed */
	/* A lease with a waiter was decided: 0 = committed; E_CONFLICT = its row belongs to
	 * another, the lease is removed after the call; E_UNAVAILABLE = unknown, it is tried again.
	 * Takes the waiter. */
	void (*on_commit)(void *context, struct lease *lease, void *waiter, int rc);
	/* After the leases of one batch: what on_commit queued may be sent. May be NULL. */
	void (*on_batch)(void *context);
	/* The database went (false) or came back (true). May be NULL. */
	void (*on_state)(void *context, bool connected);
	void *context;
};

MUST_USE int lease_store_new(struct loop *loop, const struct lease_store_options *options,
			     struct lease_store **ret);
/* Waiters are given back with E_UNAVAILABLE first. */
void lease_store_free(struct lease_store *store);

/* All rows have been read once. */
bool lease_store_ready(const struct lease_store *store);
bool lease_store_connected(const struct lease_store *store);
/* Nothing queued, nothing under way. */
bool lease_store_idle(const struct lease_store *store);
/* Transactions sent, leases in them: their ratio is the size of a batch. */
uint64_t lease_store_batches(const struct lease_store *store);
uint64_t lease_store_written(const struct lease_store *store);
size_t lease_store_queued(const struct lease_store *store);

/* The lease differs from its row: queues it. */
void lease_store_put(struct lease_store *store, struct lease *lease);
/* Removes a lease from the table and the queue, its waiter given back with E_UNAVAILABLE; it must
 * not be flying. Its row stays: another lease names it as victim. */
void lease_store_forget(struct lease_store *store, struct lease *lease);
/* Sends what is queued as far as connections are free. After a burst of packets, once. */
void lease_store_flush(struct lease_store *store);
/* Reads all rows again, page by page (channel 'lease'). */
void lease_store_reload(struct lease_store *store);
