/* Whose datagrams the collector's own queues had no room for. The kernel counts them for a socket,
 * and does not name their senders. The gaps in the senders' sequence numbers do, a little later. So
 * gaps are set off against the drops; a rest of gaps was lost on the way. Pure. */
#pragma once

#include <stdint.h>

/* Of one socket: drops that no gap was found for yet. */
struct gap_owed {
	uint64_t drops;
	int64_t at_us; /* of the last ones */
};

/* What a second brought: so many drops. Those of strangers show no gap, so drops are forgotten
 * after a while. */
void gap_owed_add(struct gap_owed *owed, uint64_t drops, int64_t at_us);
/* How many of an agent's `missing` datagrams were dropped here, when all agents together miss
 * `all`: its part. */
uint64_t gap_part(const struct gap_owed *owed, uint64_t missing, uint64_t all);
/* `all` were set off. */
void gap_owed_take(struct gap_owed *owed, uint64_t all);
