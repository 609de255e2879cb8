/* NOTIFY for those who wait for our rows: no payload, one statement for all channels, never in the
 * transaction that wrote them (a commit with NOTIFY takes a cluster-wide lock). What a node waits
 * for goes at once, but at most ten times a second; events go along, or a tenth of a second later.
 */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

enum notify_channel {
	NOTIFY_AGENT_TASK = 1 << 0,  /* bampi-bootd: tasks posted or dropped */
	NOTIFY_BOOT_INTENT = 1 << 1, /* bampi-bootd: what a node starts next */
	NOTIFY_EVENT = 1 << 2,       /* portald: new event rows */
};

struct notify;

/* db is borrowed and must outlive it. */
MUST_USE int notify_new(struct loop *loop, struct db *db, struct notify **ret);
void notify_free(struct notify *notify);
/* bits of enum notify_channel */
void notify_mark(struct notify *notify, unsigned channels);
