#include "peregrine/flowd/flow/traffic_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define NONE UINT32_MAX

void traffic_sums_add(struct traffic_sums *sums, const struct traffic_sums *more)
{
	sums->bytes += more->bytes;
	sums->packets += more->packets;
	sums->square += more->square;
	sums->samples += more->samples;
}

/* --- tables: open addressing over an array of rows in the order they came ---------- */

static int table_init(struct traffic_table *table, uint32_t limit)
{
	uint32_t slots = 16;

	while (slots / 2 < limit && slots < 1U << 30)
		slots *= 2;
	*table = (struct traffic_table){.mask = slots - 1, .limit = limit};
	table->slots = calloc(slots, sizeof(*table->slots));
	return table->slots ? 0 : -ENOMEM;
}

static void table_clear(struct traffic_table *table)
{
	/* A quiet second has few rows in a table made for many. */
	if (table->count)
		memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
	table->count = 0;
}

/* The slot where the key is, or where it would go. Rows begin with their key. */
static uint32_t *table_slot(const struct traffic_table *table, const void *rows, size_t row_size,
			    const void *key, size_t key_size)
{
	uint32_t at = (uint32_t)XXH3_64bits(key, key_size) & table->mask;

	for (; table->slots[at]; at = (at + 1) & table->mask) {
		const char *row = (const char *)rows + (table->slots[at] - 1) * row_size;

		if (!memcmp(row, key, key_size))
			break;
	}
	return &table->slots[at];
}

/* --- the three levels ---------------------------------------------------------------- */

int traffic_set_init(struct traffic_set *set, const struct traffic_limits *limits)
{
	*set = (struct traffic_set){.limits = *limits};
	set->shares = calloc(limits->shares, sizeof(*set->shares));
	set->pairs = calloc(limits->pairs, sizeof(*set->pairs));
	set->flows = calloc(limits->flows, sizeof(*set->flows));
	if (set->shares && set->pairs && set->flows &&
	    !table_init(&set->share_table, limits->shares) &&
	    !table_init(&set->pair_table, limits->pairs) &&
	    !table_init(&set->flow_table, limits->flows))
		return 0;
	traffic_set_done(set);
	return -ENOMEM;
}

void traffic_set_done(struct traffic_set *set)
{
	free(set->shares);
	free(set->pairs);
	free(set->flows);
	free(set->share_table.slots);
	free(set->pair_table.slots);
	free(set->flow_table.slots);
	*set = (struct traffic_set){0};
}

void traffic_set_clear(struct traffic_set *set)
{
	table_clear(&set->share_table);
	table_clear(&set->pair_table);
	table_clear(&set->flow_table);
	set->lost_bytes = 0;
	set->prunes = 0;
}

/* Each finds or makes a row and returns its index; NONE: no room. */
static uint32_t share_of(struct traffic_set *set, const struct share_key *key)
{
	struct traffic_table *table = &set->share_table;
	uint32_t *slot = table_slot(table, set->shares, sizeof(*set->shares), key, sizeof(*key));

	if (*slot)
		return *slot - 1;
	if (table->count == table->limit)
		return NONE;
	set->shares[table->count] = (struct traffic_share){.key = *key};
	*slot = ++table->count;
	return table->count - 1;
}

static uint32_t pair_of(struct traffic_set *set, const struct pair_key *key)
{
	struct traffic_table *table = &set->pair_table;
	uint32_t *slot = table_slot(table, set->pairs, sizeof(*set->pairs), key, sizeof(*key));

	if (*slot)
		return *slot - 1;
	if (table->count == table->limit)
		return NONE;
	set->pairs[table->count] =
		(struct traffic_pair){.key = *key, .missed = set->shares[key->share].floor};
	*slot = ++table->count;
	return table->count - 1;
}

static uint32_t flow_of(struct traffic_set *set, const struct conversation_key *key)
{
	struct traffic_table *table = &set->flow_table;
	uint32_t *slot = table_slot(table, set->flows, sizeof(*set->flows), key, sizeof(*key));

	if (*slot)
		return *slot - 1;
	if (table->count == table->limit)
		return NONE;
	set->flows[table->count] =
		(struct traffic_flow){.key = *key, .missed = set->pairs[key->pair].floor};
	*slot = ++table->count;
	return table->count - 1;
}

/* To the half, so that the work of sorting is shared by as many rows as came since. Without memory
 * for it new children do not fit, which their parents' others tell. */
static void make_half_empty(struct traffic_set *set)
{
	if (!traffic_set_prune_to(set, set->pair_table.limit / 2, set->flow_table.limit / 2))
		set->prunes++;
}

/* Room is made before it is needed, so that indexes hold while one flow is added. */
static void make_room(struct traffic_set *set)
{
	if (set->pair_table.count < set->pair_table.limit &&
	    set->flow_table.count < set->flow_table.limit)
		return;
	make_half_empty(set);
}

void traffic_set_add(struct traffic_set *set, const struct share_key *share,
		     const struct pair_key *pair, const struct conversation_key *flow,
		     const struct traffic_sums *sums)
{
	struct pair_key pair_key = *pair;
	struct conversation_key flow_key = *flow;
	uint32_t at;

	make_room(set);
	at = share_of(set, share);
	if (at == NONE) {
		set->lost_bytes += sums->bytes;
		return;
	}
	traffic_sums_add(&set->shares[at].sums, sums);
	if (pair->a.kind == END_NONE)
		return;
	pair_key.share = at;
	at = pair_of(set, &pair_key);
	if (at == NONE)
		return;
	traffic_sums_add(&set->pairs[at].sums, sums);
	flow_key.pair = at;
	at = flow_of(set, &flow_key);
	if (at != NONE)
		traffic_sums_add(&set->flows[at].sums, sums);
}

/* The way from one set's numbers to the other's, and what of each parent in `from` found no room.
 */
struct merge {
	uint32_t *shares, *pairs;
	uint64_t *share_unfit, *pair_unfit;
	uint8_t *pair_met, *flow_met; /* rows of the set that `from` has too */
};

static bool merge_init(struct merge *merge, const struct traffic_set *set,
		       const struct traffic_set *from)
{
	merge->shares = calloc((size_t)from->share_table.count + 1, sizeof(*merge->shares));
	merge->pairs = calloc((size_t)from->pair_table.count + 1, sizeof(*merge->pairs));
	merge->share_unfit =
		calloc((size_t)from->share_table.count + 1, sizeof(*merge->share_unfit));
	merge->pair_unfit = calloc((size_t)from->pair_table.count + 1, sizeof(*merge->pair_unfit));
	merge->pair_met = calloc((size_t)set->pair_table.limit + 1, 1);
	merge->flow_met = calloc((size_t)set->flow_table.limit + 1, 1);
	return merge->shares && merge->pairs && merge->share_unfit && merge->pair_unfit &&
	       merge->pair_met && merge->flow_met;
}

static void merge_done(struct merge *merge)
{
	free(merge->shares);
	free(merge->pairs);
	free(merge->share_unfit);
	free(merge->pair_unfit);
	free(merge->pair_met);
	free(merge->flow_met);
}

static void raise_floor(uint64_t *floor, uint64_t bytes)
{
	if (*floor < bytes)
		*floor = bytes;
}

static void merge_shares(struct traffic_set *set, const struct traffic_set *from,
			 struct merge *merge)
{
	for (uint32_t i = 0; i < from->share_table.count; i++) {
		uint32_t at = share_of(set, &from->shares[i].key);

		merge->shares[i] = at;
		if (at == NONE)
			set->lost_bytes += from->shares[i].sums.bytes;
		else
			traffic_sums_add(&set->shares[at].sums, &from->shares[i].sums);
	}
}

static void merge_pairs(struct traffic_set *set, const struct traffic_set *from,
			struct merge *merge)
{
	for (uint32_t i = 0; i < from->pair_table.count; i++) {
		const struct traffic_pair *row = &from->pairs[i];
		struct pair_key key = row->key;
		uint32_t at;

		merge->pairs[i] = NONE;
		key.share = merge->shares[row->key.share];
		if (key.share == NONE)
			continue;
		at = pair_of(set, &key);
		if (at == NONE) {
			raise_floor(&merge->share_unfit[row->key.share],
				    row->sums.bytes + row->missed);
			continue;
		}
		merge->pairs[i] = at;
		merge->pair_met[at] = 1;
		traffic_sums_add(&set->pairs[at].sums, &row->sums);
		set->pairs[at].missed += row->missed;
	}
}

static void merge_flows(struct traffic_set *set, const struct traffic_set *from,
			struct merge *merge)
{
	for (uint32_t i = 0; i < from->flow_table.count; i++) {
		const struct traffic_flow *row = &from->flows[i];
		struct conversation_key key = row->key;
		uint32_t at;

		key.pair = merge->pairs[row->key.pair];
		if (key.pair == NONE)
			continue;
		at = flow_of(set, &key);
		if (at == NONE) {
			raise_floor(&merge->pair_unfit[row->key.pair],
				    row->sums.bytes + row->missed);
			continue;
		}
		merge->flow_met[at] = 1;
		traffic_sums_add(&set->flows[at].sums, &row->sums);
		set->flows[at].missed += row->missed;
	}
}

/* What `from` dropped may have been of a child that the set has: that one may have more now. And
 * what neither has, may have had the one's floor and the other's. After the rows, which began with
 * the floors of before. */
static void merge_floors(struct traffic_set *set, const struct traffic_set *from,
			 struct merge *merge)
{
	uint64_t *by_share = calloc((size_t)set->share_table.count + 1, sizeof(*by_share));
	uint64_t *by_pair = calloc((size_t)set->pair_table.count + 1, sizeof(*by_pair));

	for (uint32_t i = 0; i < from->share_table.count; i++) {
		uint32_t at = merge->shares[i];

		raise_floor(&merge->share_unfit[i], from->shares[i].floor);
		if (at == NONE)
			continue;
		set->shares[at].floor += merge->share_unfit[i];
		if (by_share)
			by_share[at] = from->shares[i].floor;
	}
	for (uint32_t i = 0; i < from->pair_table.count; i++) {
		uint32_t at = merge->pairs[i];

		raise_floor(&merge->pair_unfit[i], from->pairs[i].floor);
		if (at == NONE)
			continue;
		set->pairs[at].floor += merge->pair_unfit[i];
		if (by_pair)
			by_pair[at] = from->pairs[i].floor;
	}
	for (uint32_t i = 0; by_share && i < set->pair_table.count; i++)
		if (!merge->pair_met[i])
			set->pairs[i].missed += by_share[set->pairs[i].key.share];
	for (uint32_t i = 0; by_pair && i < set->flow_table.count; i++)
		if (!merge->flow_met[i])
			set->flows[i].missed += by_pair[set->flows[i].key.pair];
	free(by_share);
	free(by_pair);
}

void traffic_set_merge(struct traffic_set *set, const struct traffic_set *from)
{
	struct merge merge = {0};

	set->lost_bytes += from->lost_bytes;
	if (merge_init(&merge, set, from)) {
		if (set->pair_table.count + from->pair_table.count > set->pair_table.limit ||
		    set->flow_table.count + from->flow_table.count > set->flow_table.limit)
			make_half_empty(set);
		merge_shares(set, from, &merge);
		merge_pairs(set, from, &merge);
		merge_flows(set, from, &merge);
		merge_floors(set, from, &merge);
	} else { /* nothing is merged, and that is counted */
		for (uint32_t i = 0; i < from->share_table.count; i++)
			set->lost_bytes += from->shares[i].sums.bytes;
	}
	merge_done(&merge);
}

/* --- pruning ------------------------------------------------------------------------- */

struct ranked {
	uint32_t parent, child;
	uint64_t bytes;
};

/* Children of one parent together, the largest first; equal ones by number, so that the same
 * traffic always leaves the same rows. */
static int compare_in_parent(const void *a, const void *b)
{
	const struct ranked *left = a;
	const struct ranked *right = b;

	if (left->parent != right->parent)
		return left->parent < right->parent ? -1 : 1;
	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->child < right->child ? -1 : 1;
}

static int compare_in_all(const void *a, const void *b)
{
	const struct ranked *left = a;
	const struct ranked *right = b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->child < right->child ? -1 : 1;
}

/* Puts those that stay first: the largest `kept` of each parent, and of all no more than `room`.
 * Returns how many stay. */
static size_t choose(struct ranked *ranked, size_t count, uint32_t kept, uint32_t room)
{
	size_t left = 0;
	size_t rank = 0;

	qsort(ranked, count, sizeof(*ranked), compare_in_parent);
	for (size_t i = 0; i < count; i++) {
		struct ranked row = ranked[i];

		/* Rows before `left` are chosen ones, so the last parent is looked up there. */
		rank = left && ranked[left - 1].parent == row.parent ? rank + 1 : 1;
		if (rank > kept)
			continue;
		ranked[i] = ranked[left];
		ranked[left++] = row;
	}
	if (left <= room)
		return left;
	qsort(ranked, left, sizeof(*ranked), compare_in_all);
	return room;
}

/* `moved[i]`: the new number of pair i, NONE = dropped. */
static void prune_pairs(struct traffic_set *set, uint32_t room, struct ranked *ranked,
			uint32_t *moved)
{
	uint32_t count = set->pair_table.count;
	uint32_t left = 0;
	size_t stay;

	for (uint32_t i = 0; i < count; i++) {
		ranked[i] = (struct ranked){set->pairs[i].key.share, i, set->pairs[i].sums.bytes};
		moved[i] = 0;
	}
	stay = choose(ranked, count, set->limits.pairs_kept, room);
	for (size_t i = stay; i < count; i++) {
		const struct traffic_pair *pair = &set->pairs[ranked[i].child];

		raise_floor(&set->shares[pair->key.share].floor, pair->missed + pair->sums.bytes);
		moved[ranked[i].child] = NONE;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (moved[i] == NONE)
			continue;
		moved[i] = left;
		set->pairs[left++] = set->pairs[i];
	}
	set->pair_table.count = left;
}

static void drop_marked_flows(struct traffic_set *set)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < set->flow_table.count; i++)
		if (set->flows[i].key.pair != NONE)
			set->flows[left++] = set->flows[i];
	set->flow_table.count = left;
}

/* Flows of dropped pairs go with them; their bytes are in the share's other already. */
static void prune_flows(struct traffic_set *set, uint32_t room, struct ranked *ranked,
			const uint32_t *moved)
{
	uint32_t count;
	size_t stay;

	for (uint32_t i = 0; i < set->flow_table.count; i++)
		set->flows[i].key.pair = moved[set->flows[i].key.pair];
	drop_marked_flows(set);
	count = set->flow_table.count;
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = (struct ranked){set->flows[i].key.pair, i, set->flows[i].sums.bytes};
	stay = choose(ranked, count, set->limits.flows_kept, room);
	for (size_t i = stay; i < count; i++) {
		struct traffic_flow *flow = &set->flows[ranked[i].child];

		raise_floor(&set->pairs[flow->key.pair].floor, flow->missed + flow->sums.bytes);
		flow->key.pair = NONE;
	}
	drop_marked_flows(set);
}

static void index_again(struct traffic_table *table, const void *rows, size_t row_size,
			size_t key_size)
{
	memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
	for (uint32_t i = 0; i < table->count; i++)
		*table_slot(table, rows, row_size, (const char *)rows + i * row_size, key_size) =
			i + 1;
}

int traffic_set_prune_to(struct traffic_set *set, uint32_t pairs, uint32_t flows)
{
	uint32_t most = set->pair_table.count > set->flow_table.count ? set->pair_table.count
								      : set->flow_table.count;
	struct ranked *ranked = calloc((size_t)most + 1, sizeof(*ranked));
	uint32_t *moved = calloc((size_t)set->pair_table.count + 1, sizeof(*moved));

	if (ranked && moved) {
		prune_pairs(set, pairs, ranked, moved);
		prune_flows(set, flows, ranked, moved);
		index_again(&set->pair_table, set->pairs, sizeof(*set->pairs),
			    sizeof(set->pairs->key));
		index_again(&set->flow_table, set->flows, sizeof(*set->flows),
			    sizeof(set->flows->key));
	}
	free(ranked);
	free(moved);
	return ranked && moved ? 0 : -ENOMEM;
}

int traffic_set_prune(struct traffic_set *set)
{
	return traffic_set_prune_to(set, set->pair_table.limit, set->flow_table.limit);
}
