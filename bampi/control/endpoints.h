/* The BMCs of the site in the queue: read from PostgreSQL when they change, their passwords opened
 * with the key that portald seals to; what the queue observes is written back. Also looks at each
 * BMC from time to time (refresh_policy.h) and tells those who want to know what it saw. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/seal_key.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/bmc/refresh_policy.h"

struct endpoints;

/* A BMC came, changed (endpoint set, borrowed for the call) or went (NULL). */
typedef void (*endpoints_change_fn)(void *context, int64_t node_id,
				    const struct bmc_endpoint *endpoint);

/* What a regular look at a BMC has brought; all borrowed for the call. */
struct bmc_note {
	int64_t node_id;
	const char *node; /* its name */
	enum refresh_class which;
	int rc;
	const struct bmc_result *result; /* rc 0 */
	const struct problem *problem;   /* else; E_UNAVAILABLE: not asked, the BMC is left alone */
};
typedef void (*bmc_note_fn)(void *context, const struct bmc_note *note);

/* Borrowed. */
struct endpoints_options {
	struct db *db;
	struct bmc_queue *queue;
	const char *key_path;             /* made when missing */
	int64_t period_ms[REFRESH_COUNT]; /* 0 = never */
	endpoints_change_fn change;       /* may be NULL */
	void *context;
	/* From the loop, each time when all BMCs of the site are in the queue. May be NULL. */
	void (*read)(void *context);
	void *read_context;
};

MUST_USE int endpoints_new(struct loop *loop, const struct endpoints_options *options,
			   struct endpoints **ret, struct problem *problem);
/* After db_free, before bmc_queue_free. */
void endpoints_free(struct endpoints *endpoints);
void endpoints_db_state(struct endpoints *endpoints, bool connected);
/* The inventory has changed: read again soon. */
void endpoints_wake(struct endpoints *endpoints);
/* Its key may have to be exchanged. */
void endpoints_rotate(struct endpoints *endpoints);
/* Node id by name; -1 = no BMC of that node is known. */
int64_t endpoints_find(const struct endpoints *endpoints, const char *node);

/* The key that passwords of BMCs are sealed to. Borrowed until the next turn of the loop: it may be
 * exchanged. */
const struct seal_key *endpoints_key(const struct endpoints *endpoints);

/* Who wants to know what the regular looks bring. */
struct bmc_listener {
	bmc_note_fn note; /* hears of every regular look at every BMC, from the loop */
	/* What of this node's event log is known from an earlier life: then REFRESH_SEL brings only
	 * what came after it. False when nothing is. May be NULL. */
	bool (*sel_known)(void *context, int64_t node_id, struct bmc_sel_mark *ret);
	void *context;
};
/* Until endpoints_free; copied. -ENOMEM. */
MUST_USE int endpoints_listen(struct endpoints *endpoints, const struct bmc_listener *listener);
