/* Sums over ranks. All ranks of a group call the same function with the same options and counts. They
 * end with the same numbers, bit by bit, with any codec. Numbers, workspace and what was lost lie where the
 * transport's place is (place.h); where that is behind, the sum is only begun.
 *
 *     way       sends of a rank, of S bytes      good for
 *     RING      2 (N-1)/N S in 2 (N-1) steps     large sums, each link used the same (Patarasuk, Yuan 2009)
 *     HALVING   2 (N-1)/N S in 2 log2 N steps    small ones; N a power of two, else it is RING (Thakur et al. 2005)
 *     TREE      up to 4 S in 2 log2 N steps      tiny ones
 *     DIRECT    2 (N-1)/N S in 2 (N-1) steps     lossy codecs: each number is rounded twice in all, not at each step
 *
 * A lossy codec with RING, HALVING or TREE rounds sums on their way. INT8 goes by DIRECT alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "trainer_image/comm/codec.h"
#include "trainer_image/comm/transport.h"

/* Shards begin at multiples of so many numbers: whole blocks of each codec, and a multiple of 16 bytes. GPUs copy what lies
 * at such a multiple in large pieces, and all else byte by byte. */
enum { COLLECTIVE_UNIT = 4 * CODEC_BLOCK };

/* Some ranks of a job, in an order that all of them know. */
struct collective_group {
	int count;
	int me; /* of `ranks` */
	int ranks[COMM_RANKS_MAX];
};

enum collective_way {
	COLLECTIVE_RING,
	COLLECTIVE_HALVING,
	COLLECTIVE_TREE,
	COLLECTIVE_DIRECT,
	COLLECTIVE_WAYS
};

struct collective_sum {
	enum collective_way way;
	enum codec codec;
	float *numbers; /* of this rank; becomes the sum */
	size_t count;
	/* Error feedback, zeros before the first sum: of `count` numbers, then of its shard. NULL = none. */
	float *lost;
	uint8_t *workspace; /* collective_workspace() bytes */
};

/* "ring", "halving", "tree", "direct". */
const char *collective_way_text(enum collective_way way);

/* The whole job. */
struct collective_group collective_all(const struct transport *transport);
/* Numbers [first, first + count) that the group's member `nth` sums: whole units. */
void collective_shard(size_t count, int members, int nth, size_t *ret_first, size_t *ret_count);
size_t collective_workspace(const struct collective_group *group, enum collective_way way,
			    enum codec codec, size_t count);
/* What a rank sends, by the theory: the tests hold the transports to it. */
uint64_t collective_bytes(const struct collective_group *group, enum collective_way way,
			  enum codec codec, size_t count);

/* Errors are those of transport_exchange and of the place; -EINVAL: INT8 by another way than DIRECT. The
 * numbers are then undefined. */
MUST_USE int collective_sum(struct transport *transport, const struct collective_group *group,
			    const struct collective_sum *sum);
/* Each rank's `size` bytes to all, in the order of the group, by a transport of the host's memory. */
MUST_USE int collective_gather(struct transport *transport, const struct collective_group *group,
			       const void *mine, size_t size, void *ret_all);
