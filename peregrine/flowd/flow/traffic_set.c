#include "peregrine/flowd/flow/traffic_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/pages.h"

#include "peregrine/flowd/flow/traffic_set_private.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* --- tables: open addressing over an array of rows in the order they came --- */

static int table_init(struct traffic_table *table, uint32_t limit, uint64_t seed)
{
	uint32_t slots = 16;

	while (slots / 2 < limit && slots < 1U << 30)
		slots *= 2;
	*table = (struct traffic_table){.mask = slots - 1, .limit = limit, .seed = seed};
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
	uint32_t at = (uint32_t)XXH3_64bits_withSeed(key, key_size, table->seed) & table->mask;

	for (; table->slots[at]; at = (at + 1) & table->mask) {
		const char *row = (const char *)rows + (table->slots[at] - 1) * row_size;

		if (!memcmp(row, key, key_size))
			break;
	}
	return &table->slots[at];
}

static void index_again(struct traffic_table *table, const void *rows, size_t row_size,
			size_t key_size)
{
	memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
	for (uint32_t i = 0; i < table->count; i++)
		*table_slot(table, rows, row_size, (const char *)rows + i * row_size, key_size) =
			i + 1;
}

/* --- the three levels --- */

int traffic_set_init(struct traffic_set *set, const struct traffic_limits *limits)
{
	*set = (struct traffic_set){.limits = *limits};
	set->shares = pages_new(limits->shares * sizeof(*set->shares));
	set->pairs = pages_new(limits->pairs * sizeof(*set->pairs));
	set->flows = pages_new(limits->flows * sizeof(*set->flows));
	if (set->shares && set->pairs && set->flows &&
	    !table_init(&set->share_table, limits->shares, limits->hash_seed) &&
	    !table_init(&set->pair_table, limits->pairs, limits->hash_seed) &&
	    !table_init(&set->flow_table, limits->flows, limits->hash_seed))
		return 0;
	traffic_set_done(set);
	return -ENOMEM;
}

int traffic_set_init_live(struct traffic_set *set, const struct traffic_limits *limits)
{
	int rc = traffic_set_init(set, limits);

	if (rc)
		return rc;
	set->live = true;
	set->second = 1;
	set->share_touched.rows = calloc(limits->shares, sizeof(uint32_t));
	set->pair_touched.rows = calloc(limits->pairs, sizeof(uint32_t));
	set->flow_touched.rows = calloc(limits->flows, sizeof(uint32_t));
	if (set->share_touched.rows && set->pair_touched.rows && set->flow_touched.rows)
		return 0;
	traffic_set_done(set);
	return -ENOMEM;
}

void traffic_set_done(struct traffic_set *set)
{
	pages_free(set->shares, set->limits.shares * sizeof(*set->shares));
	pages_free(set->pairs, set->limits.pairs * sizeof(*set->pairs));
	pages_free(set->flows, set->limits.flows * sizeof(*set->flows));
	free(set->share_table.slots);
	free(set->pair_table.slots);
	free(set->flow_table.slots);
	free(set->share_touched.rows);
	free(set->pair_touched.rows);
	free(set->flow_touched.rows);
	*set = (struct traffic_set){0};
}

void traffic_set_next_second(struct traffic_set *set)
{
	set->share_touched.count = set->pair_touched.count = set->flow_touched.count = 0;
	set->second_pruned = false;
	set->second++;
}

void traffic_set_clear(struct traffic_set *set)
{
	table_clear(&set->share_table);
	table_clear(&set->pair_table);
	table_clear(&set->flow_table);
	set->lost_bytes = 0;
	set->prunes = 0;
	set->thinned = 0;
	set->keeps_silent = false;
	set->layout++;
	if (set->live)
		traffic_set_next_second(set);
}

/* Worth keeping: no more than a quarter of the rows was silent, and an eighth of the room is left
 * for new ones. */
static bool is_worth(const struct traffic_table *table, uint32_t silent)
{
	return silent <= table->count / 4 && table->count <= table->limit - table->limit / 8;
}

void traffic_set_restart(struct traffic_set *set)
{
	uint32_t shares = 0;
	uint32_t pairs = 0;
	uint32_t flows = 0;

	for (uint32_t i = 0; i < set->share_table.count; i++)
		shares += traffic_is_silent(&set->shares[i].sums);
	for (uint32_t i = 0; i < set->pair_table.count; i++)
		pairs += traffic_is_silent(&set->pairs[i].sums);
	for (uint32_t i = 0; i < set->flow_table.count; i++)
		flows += traffic_is_silent(&set->flows[i].sums);
	if (set->lost_bytes || set->prunes || !is_worth(&set->share_table, shares) ||
	    !is_worth(&set->pair_table, pairs) || !is_worth(&set->flow_table, flows)) {
		traffic_set_clear(set);
		return;
	}
	for (uint32_t i = 0; i < set->share_table.count; i++)
		set->shares[i] = (struct traffic_share){.key = set->shares[i].key};
	for (uint32_t i = 0; i < set->pair_table.count; i++)
		set->pairs[i] = (struct traffic_pair){.key = set->pairs[i].key};
	for (uint32_t i = 0; i < set->flow_table.count; i++)
		set->flows[i] = (struct traffic_flow){.key = set->flows[i].key};
	set->thinned = 0;
	set->keeps_silent = true;
	if (set->live)
		traffic_set_next_second(set);
}

static void traffic_set_touch(struct traffic_touched *touched, uint32_t row)
{
	touched->rows[touched->count++] = row;
}

void traffic_set_index_again(struct traffic_set *set)
{
	index_again(&set->share_table, set->shares, sizeof(*set->shares), sizeof(set->shares->key));
	index_again(&set->pair_table, set->pairs, sizeof(*set->pairs), sizeof(set->pairs->key));
	index_again(&set->flow_table, set->flows, sizeof(*set->flows), sizeof(set->flows->key));
	set->layout++;
	if (!set->live)
		return;
	set->share_touched.count = set->pair_touched.count = set->flow_touched.count = 0;
	for (uint32_t i = 0; i < set->share_table.count; i++)
		if (set->shares[i].now.second == set->second)
			traffic_set_touch(&set->share_touched, i);
	for (uint32_t i = 0; i < set->pair_table.count; i++)
		if (set->pairs[i].now.second == set->second)
			traffic_set_touch(&set->pair_touched, i);
	for (uint32_t i = 0; i < set->flow_table.count; i++)
		if (set->flows[i].now.second == set->second)
			traffic_set_touch(&set->flow_touched, i);
}

uint32_t traffic_share_row(struct traffic_set *set, const struct share_key *key)
{
	struct traffic_table *table = &set->share_table;
	uint32_t *slot = table_slot(table, set->shares, sizeof(*set->shares), key, sizeof(*key));

	if (*slot)
		return *slot - 1;
	if (table->count == table->limit)
		return ROW_NONE;
	set->shares[table->count] = (struct traffic_share){.key = *key};
	*slot = ++table->count;
	return table->count - 1;
}

uint32_t traffic_pair_row(struct traffic_set *set, const struct pair_key *key)
{
	struct traffic_table *table = &set->pair_table;
	uint32_t *slot = table_slot(table, set->pairs, sizeof(*set->pairs), key, sizeof(*key));

	if (*slot)
		return *slot - 1;
	if (table->count == table->limit)
		return ROW_NONE;
	set->pairs[table->count] =
		(struct traffic_pair){.key = *key, .missed = set->shares[key->share].floor};
	*slot = ++table->count;
	return table->count - 1;
}

bool traffic_has_pair(const struct traffic_set *set, const struct pair_key *key)
{
	return *table_slot(&set->pair_table, set->pairs, sizeof(*set->pairs), key, sizeof(*key));
}

uint32_t traffic_flow_row(struct traffic_set *set, const struct conversation_key *key)
{
	struct traffic_table *table = &set->flow_table;
	uint32_t *slot = table_slot(table, set->flows, sizeof(*set->flows), key, sizeof(*key));

	if (*slot)
		return *slot - 1;
	if (table->count == table->limit)
		return ROW_NONE;
	set->flows[table->count] =
		(struct traffic_flow){.key = *key, .missed = set->pairs[key->pair].floor};
	*slot = ++table->count;
	return table->count - 1;
}

static bool traffic_set_is_full(const struct traffic_table *table)
{
	return table->count == table->limit;
}

/* Room is made before it is needed, so that indexes hold while one flow is looked up. */
static void traffic_set_make_room(struct traffic_set *set)
{
	if (set->keeps_silent &&
	    (traffic_set_is_full(&set->share_table) || traffic_set_is_full(&set->pair_table) ||
	     traffic_set_is_full(&set->flow_table)))
		traffic_set_drop_silent(set);
	if (traffic_set_is_full(&set->pair_table) || traffic_set_is_full(&set->flow_table))
		traffic_set_make_half_empty(set);
}

struct traffic_spot traffic_set_spot(struct traffic_set *set, const struct share_key *share,
				     const struct pair_key *pair,
				     const struct conversation_key *flow)
{
	struct traffic_spot spot = {ROW_NONE, ROW_NONE, ROW_NONE};
	struct pair_key pair_key = *pair;
	struct conversation_key flow_key = *flow;

	traffic_set_make_room(set);
	spot.share = traffic_share_row(set, share);
	if (spot.share == ROW_NONE || pair->a.kind == END_NONE)
		return spot;
	pair_key.share = spot.share;
	spot.pair = traffic_pair_row(set, &pair_key);
	if (spot.pair == ROW_NONE)
		return spot;
	flow_key.pair = spot.pair;
	spot.flow = traffic_flow_row(set, &flow_key);
	return spot;
}

/* True: it is the row's first of this second. */
static bool add_now(struct traffic_now *now, uint32_t second, const struct traffic_sums *sums)
{
	bool first = now->second != second;

	if (first)
		*now = (struct traffic_now){.second = second};
	now->bytes += sums->bytes;
	now->packets += sums->packets;
	now->square += sums->square;
	if (sums->samples > UINT32_MAX - now->samples)
		now->samples = UINT32_MAX;
	else
		now->samples += (uint32_t)sums->samples;
	return first;
}

void traffic_set_add_at(struct traffic_set *set, const struct traffic_spot *spot,
			const struct traffic_sums *sums)
{
	uint32_t second = set->second;

	if (spot->share == ROW_NONE) {
		set->lost_bytes += sums->bytes;
		return;
	}
	traffic_sums_add(&set->shares[spot->share].sums, sums);
	if (set->live && add_now(&set->shares[spot->share].now, second, sums))
		traffic_set_touch(&set->share_touched, spot->share);
	if (spot->pair == ROW_NONE)
		return;
	traffic_sums_add(&set->pairs[spot->pair].sums, sums);
	if (set->live && add_now(&set->pairs[spot->pair].now, second, sums))
		traffic_set_touch(&set->pair_touched, spot->pair);
	if (spot->flow == ROW_NONE)
		return;
	traffic_sums_add(&set->flows[spot->flow].sums, sums);
	if (set->live && add_now(&set->flows[spot->flow].now, second, sums))
		traffic_set_touch(&set->flow_touched, spot->flow);
}

void traffic_set_add(struct traffic_set *set, const struct share_key *share,
		     const struct pair_key *pair, const struct conversation_key *flow,
		     const struct traffic_sums *sums)
{
	const struct traffic_spot spot = traffic_set_spot(set, share, pair, flow);

	traffic_set_add_at(set, &spot, sums);
}
