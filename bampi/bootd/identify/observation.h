/* Acts of a node that were seen: the latest per (node, kind), evidence for the steps of a
 * deployment (table boot_observation). One multi-row upsert writes them, at most once a second.
 * Agent and callback go at once, together with deployment_touch and a NOTIFY, because a step waits
 * for them. While PostgreSQL is away the latest values wait in memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/bootd/identify/inventory.h"

/* boot_observation.kind, same words */
enum observation_kind {
	OBSERVATION_DHCP,
	OBSERVATION_TFTP,
	OBSERVATION_SCRIPT,
	OBSERVATION_KERNEL,
	OBSERVATION_RAMDISK,
	OBSERVATION_AGENT,
	OBSERVATION_IMAGE,
	OBSERVATION_CALLBACK,
	OBSERVATION_LOADER, /* the first program of firmware that boots by HTTP */
};
#define OBSERVATION_KINDS 9

struct observations;

/* db is borrowed. */
MUST_USE int observations_new(struct loop *loop, struct db *db, struct observations **ret);
/* After db_free, which calls back what is in flight. */
void observations_free(struct observations *observations);
/* Submits what waits now (before a clean stop). */
void observations_flush(struct observations *observations);

/* Records that `node` did `kind` now, under the token and deployment of its intent at this moment.
 * detail may be NULL; control characters in it are replaced, it is cut to 127 bytes. bytes: size of
 * what was sent so far, 0 = none. Cheap enough for each chunk. */
void observation_record(struct observations *observations, const struct inventory_node *node,
			enum observation_kind kind, const char *detail, uint64_t bytes);
