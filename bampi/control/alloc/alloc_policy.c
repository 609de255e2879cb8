#include "bampi/control/alloc/alloc_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/control/alloc/alloc_reason_policy.h"

const char *const alloc_spread_words[ALLOC_SPREAD_COUNT + 1] = {
	[ALLOC_NEAR] = "near",
	[ALLOC_RACK] = "rack",
};

void alloc_answer_done(struct alloc_answer *answer)
{
	free(answer->picks);
	*answer = (struct alloc_answer){0};
}

/* A node that may be in a group, with what is known of its place by now. */
struct alloc_policy_candidate {
	size_t node;
	size_t rack, leaf; /* numbers of the places, equal for equal names */
};

struct pool {
	const struct alloc_node *nodes;
	size_t count;
	size_t *rack, *leaf;             /* per node: the first node of the same place */
	bool *taken;                     /* per node */
	unsigned *rack_used, *leaf_used; /* per place: picks so far */
	unsigned *leaf_free;             /* per place: candidates of the group in hand */
	struct alloc_policy_candidate *candidates;
	size_t candidate_count;
};

static void pool_done(struct pool *pool)
{
	free(pool->rack);
	free(pool->leaf);
	free(pool->taken);
	free(pool->rack_used);
	free(pool->leaf_used);
	free(pool->leaf_free);
	free(pool->candidates);
}

struct alloc_policy_place {
	const char *name;
	size_t node;
};

static int place_compare(const void *a, const void *b)
{
	const struct alloc_policy_place *x = a;
	const struct alloc_policy_place *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* Numbers each place by its first node, in one sort. */
static void number_places(struct alloc_policy_place places[], size_t count, size_t numbers[])
{
	size_t first = 0;

	qsort(places, count, sizeof(*places), place_compare);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || strcmp(places[i].name, places[first].name) != 0)
			first = i;
		numbers[places[i].node] = places[first].node;
	}
}

static int pool_init(struct pool *pool, const struct alloc_node nodes[], size_t count)
{
	CLEANUP(freep) struct alloc_policy_place *places = calloc(count + 1, sizeof(*places));

	*pool = (struct pool){.nodes = nodes, .count = count};
	pool->rack = calloc(count + 1, sizeof(*pool->rack));
	pool->leaf = calloc(count + 1, sizeof(*pool->leaf));
	pool->taken = calloc(count + 1, sizeof(*pool->taken));
	pool->rack_used = calloc(count + 1, sizeof(*pool->rack_used));
	pool->leaf_used = calloc(count + 1, sizeof(*pool->leaf_used));
	pool->leaf_free = calloc(count + 1, sizeof(*pool->leaf_free));
	pool->candidates = calloc(count + 1, sizeof(*pool->candidates));
	if (!places || !pool->rack || !pool->leaf || !pool->taken || !pool->rack_used ||
	    !pool->leaf_used || !pool->leaf_free || !pool->candidates)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		places[i] = (struct alloc_policy_place){nodes[i].rack, i};
	number_places(places, count, pool->rack);
	for (size_t i = 0; i < count; i++)
		places[i] = (struct alloc_policy_place){nodes[i].leaf, i};
	number_places(places, count, pool->leaf);
	return 0;
}

static void find_candidates(struct pool *pool, const struct alloc_group *group)
{
	char ignored[96];

	memset(pool->leaf_free, 0, (pool->count + 1) * sizeof(*pool->leaf_free));
	pool->candidate_count = 0;
	for (size_t i = 0; i < pool->count; i++) {
		if (pool->taken[i] ||
		    alloc_refusal(&pool->nodes[i], group, ignored, sizeof(ignored)))
			continue;
		pool->candidates[pool->candidate_count++] =
			(struct alloc_policy_candidate){i, pool->rack[i], pool->leaf[i]};
		pool->leaf_free[pool->leaf[i]]++;
	}
}

/* Near: a leaf already used; else one that can hold all that is still wanted, the smallest such;
 * else the largest. Then a rack already used, then the name. */
static bool alloc_policy_nearer(const struct pool *pool, const struct alloc_policy_candidate *a,
				const struct alloc_policy_candidate *b, unsigned left)
{
	unsigned a_free = pool->leaf_free[a->leaf];
	unsigned b_free = pool->leaf_free[b->leaf];
	bool a_used = pool->leaf_used[a->leaf] > 0, b_used = pool->leaf_used[b->leaf] > 0;
	bool a_rack = pool->rack_used[a->rack] > 0, b_rack = pool->rack_used[b->rack] > 0;
	bool a_fits = a_free >= left, b_fits = b_free >= left;

	if (a_used != b_used)
		return a_used;
	if (a_rack != b_rack)
		return a_rack;
	if (a_fits != b_fits)
		return a_fits;
	if (a_free != b_free)
		return a_fits ? a_free < b_free : a_free > b_free;
	if (a->leaf != b->leaf)
		return strcmp(pool->nodes[a->node].leaf, pool->nodes[b->node].leaf) < 0;
	return strcmp(pool->nodes[a->node].name, pool->nodes[b->node].name) < 0;
}

/* Over racks: the rack with the fewest picks, then the leaf with the fewest, then the name. */
static bool alloc_policy_wider(const struct pool *pool, const struct alloc_policy_candidate *a,
			       const struct alloc_policy_candidate *b, unsigned left)
{
	(void)left;
	if (pool->rack_used[a->rack] != pool->rack_used[b->rack])
		return pool->rack_used[a->rack] < pool->rack_used[b->rack];
	if (pool->leaf_used[a->leaf] != pool->leaf_used[b->leaf])
		return pool->leaf_used[a->leaf] < pool->leaf_used[b->leaf];
	return strcmp(pool->nodes[a->node].name, pool->nodes[b->node].name) < 0;
}

static bool (*const alloc_policy_better[ALLOC_SPREAD_COUNT])(const struct pool *,
							     const struct alloc_policy_candidate *,
							     const struct alloc_policy_candidate *,
							     unsigned) = {
	[ALLOC_NEAR] = alloc_policy_nearer,
	[ALLOC_RACK] = alloc_policy_wider,
};

static unsigned fill_group(struct pool *pool, const struct alloc_request *request, size_t group,
			   struct alloc_answer *answer)
{
	unsigned got = 0;

	find_candidates(pool, &request->groups[group]);
	while (got < request->groups[group].count && pool->candidate_count > 0) {
		unsigned left = request->groups[group].count - got;
		size_t best = 0;
		struct alloc_policy_candidate chosen;

		for (size_t i = 1; i < pool->candidate_count; i++) {
			if (alloc_policy_better[request->spread](pool, &pool->candidates[i],
								 &pool->candidates[best], left))
				best = i;
		}
		chosen = pool->candidates[best];
		pool->candidates[best] = pool->candidates[--pool->candidate_count];
		pool->taken[chosen.node] = true;
		pool->rack_used[chosen.rack]++;
		pool->leaf_used[chosen.leaf]++;
		pool->leaf_free[chosen.leaf]--;
		answer->picks[answer->pick_count++] = (struct alloc_pick){chosen.node, group};
		got++;
	}
	return got;
}

/* The group that may choose among the fewest goes first: so alloc_policy_exchange() has little to do. */
static void order_groups(struct pool *pool, const struct alloc_request *request, size_t order[])
{
	size_t choices[ALLOC_GROUPS_MAX];

	for (size_t i = 0; i < request->group_count; i++) {
		size_t at = i;

		find_candidates(pool, &request->groups[i]);
		choices[i] = pool->candidate_count;
		while (at > 0 && choices[order[at - 1]] > choices[i]) {
			order[at] = order[at - 1];
			at--;
		}
		order[at] = i;
	}
}

/* --- exchanging --- */
/*
 * A group that falls short may still be filled when another gives it a node and takes one instead:
 * an augmenting path of a bipartite matching, over groups since they are few. So an answer is
 * infeasible only when no choice whatever would do (Hall's theorem), which the test holds it to.
 */

static bool alloc_policy_suits(const struct pool *pool, const struct alloc_request *request,
			       size_t node, size_t group)
{
	char ignored[96];

	return !alloc_refusal(&pool->nodes[node], &request->groups[group], ignored,
			      sizeof(ignored));
}

static size_t alloc_policy_untaken(const struct pool *pool, const struct alloc_request *request,
				   size_t group)
{
	for (size_t i = 0; i < pool->count; i++) {
		if (!pool->taken[i] && alloc_policy_suits(pool, request, i, group))
			return i;
	}
	return pool->count;
}

/* How the search came to a group: which pick of it would go to which group. */
struct passage {
	bool seen;
	size_t to, pick;
};

static bool alloc_policy_exchange(struct pool *pool, const struct alloc_request *request,
				  size_t group, struct alloc_answer *answer)
{
	struct passage ways[ALLOC_GROUPS_MAX] = {[0] = {0}};
	size_t queue[ALLOC_GROUPS_MAX];
	size_t head = 0;
	size_t tail = 0;

	ways[group].seen = true;
	queue[tail++] = group;
	while (head < tail) {
		size_t at = queue[head++];
		size_t node = alloc_policy_untaken(pool, request, at);

		if (node < pool->count) {
			pool->taken[node] = true;
			pool->rack_used[pool->rack[node]]++;
			pool->leaf_used[pool->leaf[node]]++;
			answer->picks[answer->pick_count++] = (struct alloc_pick){node, at};
			for (; at != group; at = ways[at].to)
				answer->picks[ways[at].pick].group = ways[at].to;
			return true;
		}
		for (size_t i = 0; i < answer->pick_count; i++) {
			size_t other = answer->picks[i].group;

			if (ways[other].seen ||
			    !alloc_policy_suits(pool, request, answer->picks[i].node, at))
				continue;
			ways[other] = (struct passage){true, at, i};
			queue[tail++] = other;
		}
	}
	return false;
}

static int pick_compare_in(const struct alloc_node nodes[], const struct alloc_pick *a,
			   const struct alloc_pick *b)
{
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return strcmp(nodes[a->node].name, nodes[b->node].name);
}

static void sort_picks(const struct alloc_node nodes[], struct alloc_pick picks[], size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct alloc_pick pick = picks[i];
		size_t at = i;

		for (; at > 0 && pick_compare_in(nodes, &pick, &picks[at - 1]) < 0; at--)
			picks[at] = picks[at - 1];
		picks[at] = pick;
	}
}

static unsigned alloc_policy_used(const unsigned counts[], size_t count)
{
	unsigned places = 0;

	for (size_t i = 0; i < count; i++)
		places += counts[i] > 0;
	return places;
}

int alloc_choose(const struct alloc_node nodes[], size_t count, const struct alloc_request *request,
		 struct alloc_answer *ret)
{
	CLEANUP(pool_done) struct pool pool = {0};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {.feasible = true};
	size_t order[ALLOC_GROUPS_MAX];
	int rc;

	if (request->group_count == 0 || request->group_count > ALLOC_GROUPS_MAX)
		return -EINVAL;
	rc = pool_init(&pool, nodes, count);
	answer.picks = calloc(count + 1, sizeof(*answer.picks));
	if (rc || !answer.picks)
		return -ENOMEM;
	order_groups(&pool, request, order);
	for (size_t i = 0; i < request->group_count; i++) {
		size_t group = order[i];

		answer.got[group] = fill_group(&pool, request, group, &answer);
	}
	for (size_t i = 0; i < request->group_count; i++) {
		while (answer.got[i] < request->groups[i].count &&
		       alloc_policy_exchange(&pool, request, i, &answer))
			answer.got[i]++;
		answer.feasible &= answer.got[i] == request->groups[i].count;
	}
	sort_picks(nodes, answer.picks, answer.pick_count);
	answer.racks = alloc_policy_used(pool.rack_used, count);
	answer.leaves = alloc_policy_used(pool.leaf_used, count);
	*ret = answer;
	answer = (struct alloc_answer){0};
	return 0;
}
