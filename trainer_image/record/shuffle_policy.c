#include "trainer_image/record/shuffle_policy.h"

#include "common/base/error.h"

enum { SHUFFLE_ROUNDS = 6 };

/* What a key is for: pages of an epoch, samples of a group. */
enum { SHUFFLE_PAGES = 1, SHUFFLE_SAMPLES = 2 };

static uint64_t shuffle_mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15ULL;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
	return value ^ value >> 31;
}

uint64_t shuffle_key(uint64_t seed, uint64_t epoch, uint64_t purpose)
{
	return shuffle_mix(shuffle_mix(shuffle_mix(seed) ^ epoch) ^ purpose);
}

/* Two halves of `bits` bits each: their numbers are 4^bits, at least `count` and less than 4 * count. */
static uint64_t shuffle_feistel(uint64_t value, unsigned bits, uint64_t key)
{
	uint64_t mask = (1ULL << bits) - 1;
	uint64_t left = value >> bits;
	uint64_t right = value & mask;

	for (uint64_t round = 0; round < SHUFFLE_ROUNDS; round++) {
		uint64_t next = left ^ (shuffle_mix(right ^ key ^ round << 56) & mask);

		left = right;
		right = next;
	}
	return left << bits | right;
}

uint64_t shuffle_permute(uint64_t index, uint64_t count, uint64_t key)
{
	unsigned bits = 1;

	if (count < 2)
		return 0;
	while (bits < 32 && 1ULL << 2 * bits < count)
		bits++;
	/* A permutation of the larger set: whoever goes on from below `count` comes back below it. */
	do
		index = shuffle_feistel(index, bits, key);
	while (index >= count);
	return index;
}

static uint32_t shuffle_page(const struct shuffle *shuffle, uint64_t place)
{
	uint64_t key = shuffle_key(shuffle->ask.seed, shuffle->ask.epoch, SHUFFLE_PAGES);

	return (uint32_t)shuffle_permute(place, shuffle->set.pages, key);
}

static uint32_t shuffle_page_samples(const struct shuffle *shuffle, uint32_t page)
{
	return (uint32_t)(shuffle->set.first[page + 1] - shuffle->set.first[page]);
}

/* The group whose pages begin at `place`; of the first page `skip` samples are another rank's. */
static void shuffle_group_fill(const struct shuffle *shuffle, uint64_t place, uint64_t skip,
			       uint64_t begin, struct shuffle_group *ret)
{
	ret->begin = begin;
	ret->count = 0;
	ret->part_count = 0;
	while (ret->part_count < shuffle->ask.window && place < shuffle->set.pages &&
	       begin + ret->count < shuffle->count) {
		struct shuffle_part *part = &ret->part[ret->part_count];
		uint64_t left = shuffle->count - begin - ret->count;

		part->page = shuffle_page(shuffle, place++);
		part->begin = (uint32_t)skip;
		part->count = shuffle_page_samples(shuffle, part->page) - (uint32_t)skip;
		skip = 0;
		if (part->count > left)
			part->count = (uint32_t)left;
		if (part->count == 0)
			continue; /* a page without samples takes no place in the window */
		ret->part_begin[ret->part_count++] = ret->count;
		ret->count += part->count;
	}
	ret->next_place = place;
}

/* `whole` * rank / ranks without overflow. */
static uint64_t shuffle_share(uint64_t whole, uint32_t rank, uint32_t ranks)
{
	return whole / ranks * rank + whole % ranks * rank / ranks;
}

int shuffle_init(struct shuffle *shuffle, const struct shuffle_set *set,
		 const struct shuffle_ask *ask)
{
	if (ask->rank >= ask->ranks || ask->window == 0 || ask->window > SHUFFLE_WINDOW_MAX)
		return E_INVALID;
	uint64_t whole = set->first[set->pages];
	uint64_t begin = shuffle_share(whole, ask->rank, ask->ranks);

	*shuffle = (struct shuffle){
		.set = *set,
		.ask = *ask,
		.count = shuffle_share(whole, ask->rank + 1, ask->ranks) - begin,
		.first_skip = begin,
	};
	/* Where the share begins: pages are passed over, none is read. */
	for (; shuffle->first_place < set->pages; shuffle->first_place++) {
		uint32_t samples =
			shuffle_page_samples(shuffle, shuffle_page(shuffle, shuffle->first_place));

		if (shuffle->first_skip < samples)
			break;
		shuffle->first_skip -= samples;
	}
	return shuffle_seek(shuffle, 0);
}

int shuffle_seek(struct shuffle *shuffle, uint64_t position)
{
	if (position > shuffle->count)
		return E_INVALID;
	shuffle->position = position;
	shuffle_group_fill(shuffle, shuffle->first_place, shuffle->first_skip, 0, &shuffle->group);
	while (position >= shuffle->group.begin + shuffle->group.count && position < shuffle->count)
		(void)shuffle_group_after(shuffle, &shuffle->group, &shuffle->group);
	return 0;
}

bool shuffle_group_after(const struct shuffle *shuffle, const struct shuffle_group *group,
			 struct shuffle_group *ret)
{
	uint64_t begin = group->begin + group->count;

	if (begin >= shuffle->count)
		return false;
	shuffle_group_fill(shuffle, group->next_place, 0, begin, ret);
	return true;
}

bool shuffle_next(struct shuffle *shuffle, struct shuffle_place *ret)
{
	if (shuffle->position >= shuffle->count)
		return false;
	struct shuffle_group *group = &shuffle->group;
	if (shuffle->position >= group->begin + group->count &&
	    !shuffle_group_after(shuffle, group, group))
		return false;
	uint64_t key = shuffle_key(shuffle->ask.seed, shuffle->ask.epoch, SHUFFLE_SAMPLES);
	uint64_t index = shuffle_permute(shuffle->position - group->begin, group->count,
					 shuffle_mix(key ^ shuffle->ask.rank) ^ group->begin);
	uint32_t low = 0;
	for (uint32_t high = group->part_count; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		if (group->part_begin[middle] <= index)
			low = middle;
		else
			high = middle;
	}
	*ret = (struct shuffle_place){
		.page = group->part[low].page,
		.index = group->part[low].begin + (uint32_t)(index - group->part_begin[low]),
		.slot = low,
	};
	shuffle->position++;
	return true;
}
