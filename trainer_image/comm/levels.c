#include "trainer_image/comm/levels.h"

#include "trainer_image/comm/collective_private.h"

static void levels_add(struct collective_group *group, int rank, int me)
{
	if (rank == me)
		group->me = group->count;
	group->ranks[group->count++] = rank;
}

struct levels levels_one(int rank, int ranks)
{
	struct levels levels = {0};

	levels_add(&levels.machine, rank, rank);
	for (int i = 0; i < ranks; i++)
		levels_add(&levels.across, i, rank);
	return levels;
}

/* Which of its machine's ranks it is. */
static int levels_place(const int machine_of[], int rank)
{
	int place = 0;

	for (int i = 0; i < rank; i++)
		place += machine_of[i] == machine_of[rank] ? 1 : 0;
	return place;
}

static int levels_size(const int machine_of[], int rank, int ranks)
{
	int size = 0;

	for (int i = 0; i < ranks; i++)
		size += machine_of[i] == machine_of[rank] ? 1 : 0;
	return size;
}

struct levels levels_of(const int machine_of[], int rank, int ranks)
{
	struct levels levels = {0};
	int size = levels_size(machine_of, rank, ranks);
	bool has_two = size > 1 && size < ranks;

	for (int i = 0; has_two && i < ranks; i++)
		has_two = levels_size(machine_of, i, ranks) == size;
	if (!has_two)
		return levels_one(rank, ranks);
	for (int i = 0; i < ranks; i++) {
		if (machine_of[i] == machine_of[rank])
			levels_add(&levels.machine, i, rank);
		if (levels_place(machine_of, i) == levels_place(machine_of, rank))
			levels_add(&levels.across, i, rank);
	}
	return levels;
}

int levels_machines(const struct levels *levels)
{
	return levels->machine.count > 1 ? levels->across.count : 1;
}

struct levels_share levels_share(const struct levels *levels, size_t count)
{
	struct levels_share share;

	collective_shard(count, levels->machine.count, levels->machine.me, &share.mine_first,
			 &share.mine_count);
	collective_shard(share.mine_count, levels->across.count, levels->across.me,
			 &share.owned_first, &share.owned_count);
	share.owned_first += share.mine_first;
	return share;
}

/* --- sizes --- */

size_t levels_workspace(const struct levels *levels, enum collective_way way, enum codec codec,
			size_t count)
{
	size_t across = collective_workspace(&levels->across, way, codec,
					     levels_share(levels, count).mine_count);
	size_t machine = levels->machine.count > 1
				 ? collective_workspace(&levels->machine, COLLECTIVE_DIRECT,
							CODEC_NONE, count)
				 : 0;

	return across > machine ? across : machine;
}

uint64_t levels_bytes(const struct levels *levels, enum collective_way way, enum codec codec,
		      size_t count, uint64_t *ret_across)
{
	uint64_t across = collective_bytes(&levels->across, way, codec,
					   levels_share(levels, count).mine_count);

	*ret_across = levels_machines(levels) > 1 ? across : 0;
	return across + collective_bytes(&levels->machine, COLLECTIVE_DIRECT, CODEC_NONE, count);
}

/* --- the sum --- */

int levels_sum(struct transport *transport, const struct levels *levels,
	       const struct collective_sum *sum)
{
	const struct levels_share share = levels_share(levels, sum->count);
	const struct collective_sum within = {.way = COLLECTIVE_DIRECT,
					      .codec = CODEC_NONE,
					      .numbers = sum->numbers,
					      .count = sum->count,
					      .workspace = sum->workspace};
	struct collective_sum across = *sum;
	int rc = 0;

	across.numbers = sum->numbers + share.mine_first;
	across.count = share.mine_count;
	if (levels->machine.count > 1)
		rc = collective_direct_reduce(transport, &levels->machine, &within);
	if (rc == 0)
		rc = collective_sum(transport, &levels->across, &across);
	if (rc == 0 && levels->machine.count > 1)
		rc = collective_direct_share(transport, &levels->machine, &within);
	return rc;
}
