/* The ranks of a job by machines, and sums over the two levels: within a machine, then over the machines.
 *
 * Each rank sums a shard of its machine's numbers. Then the ranks with the same place on each machine sum that shard
 * over the machines, by the codec. Then each rank gives its shard to its machine. So a network carries each number once
 * a machine: of S bytes on 2 machines with 8 ranks each, a machine sends S, where one level sends 8 S.
 *
 * Within a machine numbers travel as FP32 and are added in the order of ranks. So the bits depend on which ranks share a
 * machine, and not on the cut into buckets. */
#pragma once

#include "trainer_image/comm/collective.h"

/* Ranks on one machine, and ranks that are each a machine, have one level: `machine` is this rank alone. */
struct levels {
	struct collective_group machine; /* the ranks of this rank's machine */
	struct collective_group across;  /* the ranks with its place on each machine */
};

/* One level. */
struct levels levels_one(int rank, int ranks);
/* `machine_of` of each rank: a number that its machine's ranks share. Machines with different numbers of ranks have
 * one level. */
struct levels levels_of(const int machine_of[], int rank, int ranks);
int levels_machines(const struct levels *levels); /* 1: one level */

/* The numbers of a sum of which this rank keeps what the codec lost: `mine` of its machine's, and `owned` of the sums
 * that it made. Both count from the sum's first number. */
struct levels_share {
	size_t mine_first, mine_count, owned_first, owned_count;
};

struct levels_share levels_share(const struct levels *levels, size_t count);
size_t levels_workspace(const struct levels *levels, enum collective_way way, enum codec codec,
			size_t count);
/* What a rank sends in one sum, by the theory; `ret_across`: of that, to other machines. */
uint64_t levels_bytes(const struct levels *levels, enum collective_way way, enum codec codec,
		      size_t count, uint64_t *ret_across);

/* As collective_sum. `sum->workspace` is levels_workspace() bytes; `sum->lost`, if it is not NULL, is what levels_share()
 * says: `mine`, then `owned`. */
MUST_USE int levels_sum(struct transport *transport, const struct levels *levels,
			const struct collective_sum *sum);
