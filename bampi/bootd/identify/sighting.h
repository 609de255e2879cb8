/* Where the NICs of nodes were last seen, and with which UUID: in memory for every packet, in the
 * table `sighting` for the next start and the other server. Written by one statement a second; what
 * did not change is written once a minute. A node without NICs gets this one as its own with the
 * row (sighting_put), at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/net/circuit_rule.h"
#include "common/net/mac.h"

#include "bampi/bootd/identify/uuid_wire.h"

struct sighting {
	struct mac mac;
	int64_t node_id;
	struct circuit_place place; /* without a port when no relay named one */
	struct uuid uuid;           /* zero = it never said one */
	int64_t since_s;            /* at this place; wall clock */
	int64_t seen_s;
};

struct sightings;

/* db is borrowed. */
MUST_USE int sightings_new(struct loop *loop, struct db *db, struct sightings **ret);
/* After db_free. */
void sightings_free(struct sightings *sightings);
/* The database is there again: what other servers saw is read. */
void sightings_connected(struct sightings *sightings);
/* Submits what waits now (before a clean stop). */
void sightings_flush(struct sightings *sightings);

/* NULL when there is none. Lent until the next call of this header. */
const struct sighting *sighting_of(const struct sightings *sightings, struct mac mac);
/* The latest at this port. */
const struct sighting *sighting_at(const struct sightings *sightings,
				   const struct circuit_place *place);
/* How many nodes were seen with this UUID, up to two. *ret_id is one of them, another than
 * `besides` (0 = nobody) when there is one. */
size_t sighting_nodes_of_uuid(const struct sightings *sightings, struct uuid uuid, int64_t besides,
			      int64_t *ret_id);
size_t sightings_count(const struct sightings *sightings);

/* The node was seen with this NIC now; `place` without a port keeps the place from before, a zero
 * uuid the UUID. urgent: the database should know at once. */
void sighting_record(struct sightings *sightings, const struct sighting *seen, bool urgent);
