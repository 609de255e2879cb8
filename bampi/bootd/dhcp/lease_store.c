#include "bampi/bootd/dhcp/lease_store.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "bampi/bootd/dhcp/lease_store_private.h"

#define READ_MS             600000 /* a full read as a safety net */
#define LEASE_STORE_NEWS_MS 1000
#define PATIENCE_MS         4000 /* another host may have become the primary: clients wait */

/* An acknowledged lease must outlive a power cut, whatever the operator set for the rest; "local"
 * and the stricter words do. The statements' plans depend on nothing in their parameters. */
static const char *const lease_store_setup[] = {
	"select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'",
	"set plan_cache_mode = force_generic_plan", NULL};

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

void lease_enqueue(struct lease_store *store, struct lease *lease)
{
	lease->next = NULL;
	*store->queue_tail = lease;
	store->queue_tail = &lease->next;
	store->queued++;
}

static struct lease *lease_store_dequeue(struct lease_store *store)
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
		lease_enqueue(store, lease);
}

void lease_give_back(struct lease_store *store, struct lease *lease, int rc)
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
	lease_give_back(store, lease, E_UNAVAILABLE);
	lease_table_remove(store->options.table, lease);
}

static void on_pause_over(void *context)
{
	struct lease_store *store = context;

	store->paused = false;
	lease_store_flush(store);
}

static void on_full(void *context)
{
	struct lease_store *store = context;

	lease_store_reload(store);
	loop_timer_arm(store->full, READ_MS);
}

static void flush_lane(struct lease_store *store, struct lane *lane)
{
	while (store->queue_head && lane->batch_count < BATCH_MAX) {
		struct lease *lease = lease_store_dequeue(store);

		lease->dirty = false;
		lease->flying = true;
		lane->batch[lane->batch_count++] = lease;
	}
	store->batches++;
	store->written += lane->batch_count;
	if (lease_write(lane)) {
		/* Out of memory: they wait in the queue for the next packet. */
		for (size_t i = 0; i < lane->batch_count; i++) {
			struct lease *lease = lane->batch[i];

			lease->flying = false;
			lease->dirty = true;
			lease_enqueue(store, lease);
			lease_give_back(store, lease, E_UNAVAILABLE);
		}
		lane->batch_count = 0;
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

static void lease_store_on_db_state(void *context, bool connected)
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
	if (rc == 0)
		rc = loop_timer_new(loop, lease_ask_news, store, &store->news);
	if (rc == 0)
		rc = loop_timer_new(loop, on_full, store, &store->full);
	for (size_t i = 0; rc == 0 && i < LANES; i++) {
		struct db_options db_options = {.conninfo = options->conninfo,
						.application = "bampi-bootd leases",
						.setup = lease_store_setup,
						.patience_ms = PATIENCE_MS,
						.on_state = lease_store_on_db_state,
						.context = &store->lanes[i]};

		store->lanes[i].store = store;
		rc = db_new(loop, &db_options, &store->lanes[i].db);
	}
	if (rc) {
		lease_store_free(store);
		return rc;
	}
	loop_timer_arm(store->news, LEASE_STORE_NEWS_MS);
	loop_timer_arm(store->full, READ_MS);
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
		lease_give_back(store, lease_store_dequeue(store), E_UNAVAILABLE);
	loop_timer_free(store->pause);
	loop_timer_free(store->news);
	loop_timer_free(store->full);
	free(store);
}
