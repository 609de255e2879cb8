/* What lease_store.c (queue, connections), lease_write.c (batches) and lease_read.c (rows into
 * memory) share. */
#pragma once

#include "common/db/db.h"

#include "bampi/bootd/dhcp/lease_store.h"

#define LANES     2    /* connections: one prepares while the other's commit waits for the disk */
#define BATCH_MAX 1000 /* leases in one transaction; fits lease.place */

struct lane {
	struct lease_store *store;
	struct db *db;
	struct lease *batch[BATCH_MAX];
	bool done[BATCH_MAX]; /* the database has it as we wrote it */
	size_t batch_count;   /* 0 = idle */
	unsigned tries;       /* of this batch, after a deadlock with another server */
	int rc;               /* of the transaction under way */
	unsigned statements;  /* of it, still to be answered */
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
	bool asking; /* for news */
	bool ending;
	bool paused;
	struct loop_timer *pause, *news, *full;
	uint32_t read_number;
	uint32_t read_after; /* address: where the next page begins */
	/* The database's clock, seconds: of the last answer but one. Its list of sessions may be
	 * younger than its rows. */
	int64_t news_since, news_next;
	unsigned news_left; /* another server was there a moment ago */
	uint64_t batches, written;
};

void lease_enqueue(struct lease_store *store, struct lease *lease);
void lease_give_back(struct lease_store *store, struct lease *lease, int rc);

/* Submits lane->batch. On failure (memory) the batch is the caller's again. */
MUST_USE int lease_write(struct lane *lane);

extern const char *const lease_state_words[3]; /* by enum lease_state */

/* A row as it is in the database, into memory. What has not been written yet is newer than any row.
 * E_MALFORMED, E_LIMIT, -ENOMEM. */
MUST_USE int lease_take_row(struct lease_store *store, const PGresult *result, int row);
/* Timer: what other servers bound since the last time. */
void lease_ask_news(void *context);
