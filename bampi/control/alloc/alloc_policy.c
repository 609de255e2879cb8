#include "bampi/control/alloc/alloc_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REASONS_MAX 12 /* that are told apart */

const char *const alloc_spread_words[ALLOC_SPREAD_COUNT + 1] = {
	[ALLOC_NEAR] = "near",
	[ALLOC_RACK] = "rack",
};

void alloc_answer_done(struct alloc_answer *answer)
{
	free(answer->picks);
	*answer = (struct alloc_answer){0};
}

static const char *const state_refusals[NODE_STATE_COUNT] = {
	[NODE_DISCOVERED] = "not accepted yet",
	[NODE_FREE] = NULL,
	[NODE_RESERVED] = "reserved",
	[NODE_ACTIVE] = "active",
	[NODE_SCRUBBING] = "being erased",
	[NODE_BROKEN] = "broken",
	[NODE_HELD] = "held",
};

/* What speaks against a node's NICs: of the node, and of no node in particular. */
static const struct {
	char letter;
	const char *text;
	const char *kind;
} fit_refusals[] = {
	{'n', "without all the NICs", "a NIC of this name is missing"},
	{'p', "with a bond whose ports nobody knows", "ports of a bond are not known"},
	{'s', "with a bond that ends at two switches (MLAG is not offered)",
	 "a bond ends at two switches (MLAG is not offered)"},
	{'a', "with a bond whose ports are not one aggregate of its switch",
	 "the ports of a bond are not one aggregate of their switch"},
	{'b', "cabled for a bond that is not asked for", "cabled for a bond: ask for it"},
};

/* Index into fit_refusals, COUNT_OF when nothing does. */
static size_t fit_of(const struct alloc_node *node, const struct alloc_group *group)
{
	size_t i = 0;

	while (i < COUNT_OF(fit_refusals) && fit_refusals[i].letter != node->fits[group->place])
		i++;
	return i;
}

const char *alloc_refusal(const struct alloc_node *node, const struct alloc_group *group, char *ret,
			  size_t room)
{
	size_t fit = fit_of(node, group);
	const char *why;

	if (group->class[0] && strcmp(node->class, group->class) != 0)
		return "of another class";
	if (state_refusals[node->state])
		return state_refusals[node->state];
	if (node->dirty)
		return "dirty";
	if (node->busy)
		return "being worked on";
	if (!node->bootable)
		return "without BMC or boot NIC";
	if ((group->firmwares & 1U << node->firmware) == 0)
		return "whose firmware does not boot the image";
	if (fit < COUNT_OF(fit_refusals))
		return fit_refusals[fit].text;
	why = alloc_disks_refusal(&node->disks, &group->disks, ret, room);
	if (why)
		return why;
	if (node->cable[0])
		return "whose cables are in doubt";
	if (node->numbers[0]) {
		(void)text_format(ret, room, "with %s", node->numbers);
		return ret;
	}
	if (node->label[0]) {
		(void)text_format(ret, room, "with health label %s", node->label);
		return ret;
	}
	return NULL;
}

/* --- choosing
 * ------------------------------------------------------------------------------------------------------------------
 */

/* A node that may be in a group, with what is known of its place by now. */
struct candidate {
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
	struct candidate *candidates;
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

struct place {
	const char *name;
	size_t node;
};

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* Numbers each place by its first node, in one sort. */
static void number_places(struct place places[], size_t count, size_t numbers[])
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
	CLEANUP(freep) struct place *places = calloc(count + 1, sizeof(*places));

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
		places[i] = (struct place){nodes[i].rack, i};
	number_places(places, count, pool->rack);
	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){nodes[i].leaf, i};
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
			(struct candidate){i, pool->rack[i], pool->leaf[i]};
		pool->leaf_free[pool->leaf[i]]++;
	}
}

/* Near: a leaf already used; else one that can hold all that is still wanted, the smallest such;
 * else the largest. Then a rack already used, then the name. */
static bool nearer(const struct pool *pool, const struct candidate *a, const struct candidate *b,
		   unsigned left)
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
static bool wider(const struct pool *pool, const struct candidate *a, const struct candidate *b,
		  unsigned left)
{
	(void)left;
	if (pool->rack_used[a->rack] != pool->rack_used[b->rack])
		return pool->rack_used[a->rack] < pool->rack_used[b->rack];
	if (pool->leaf_used[a->leaf] != pool->leaf_used[b->leaf])
		return pool->leaf_used[a->leaf] < pool->leaf_used[b->leaf];
	return strcmp(pool->nodes[a->node].name, pool->nodes[b->node].name) < 0;
}

static bool (*const better[ALLOC_SPREAD_COUNT])(const struct pool *, const struct candidate *,
						const struct candidate *, unsigned) = {
	[ALLOC_NEAR] = nearer,
	[ALLOC_RACK] = wider,
};

static unsigned fill_group(struct pool *pool, const struct alloc_request *request, size_t group,
			   struct alloc_answer *answer)
{
	unsigned got = 0;

	find_candidates(pool, &request->groups[group]);
	while (got < request->groups[group].count && pool->candidate_count > 0) {
		unsigned left = request->groups[group].count - got;
		size_t best = 0;
		struct candidate chosen;

		for (size_t i = 1; i < pool->candidate_count; i++) {
			if (better[request->spread](pool, &pool->candidates[i],
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

/* The group that may choose among the fewest goes first: so exchange() has little to do. */
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

/* --- exchanging
 * -----------------------------------------------------------------------------------------------------------------
 * A group that falls short may still be filled when another gives it a node and takes one instead:
 * an augmenting path of a bipartite matching, over groups since they are few. So an answer is
 * infeasible only when no choice whatever would do (Hall's theorem), which the test holds it to.
 */

static bool suits(const struct pool *pool, const struct alloc_request *request, size_t node,
		  size_t group)
{
	char ignored[96];

	return !alloc_refusal(&pool->nodes[node], &request->groups[group], ignored,
			      sizeof(ignored));
}

static size_t untaken(const struct pool *pool, const struct alloc_request *request, size_t group)
{
	for (size_t i = 0; i < pool->count; i++) {
		if (!pool->taken[i] && suits(pool, request, i, group))
			return i;
	}
	return pool->count;
}

/* How the search came to a group: which pick of it would go to which group. */
struct passage {
	bool seen;
	size_t to, pick;
};

static bool exchange(struct pool *pool, const struct alloc_request *request, size_t group,
		     struct alloc_answer *answer)
{
	struct passage ways[ALLOC_GROUPS_MAX] = {[0] = {0}};
	size_t queue[ALLOC_GROUPS_MAX];
	size_t head = 0;
	size_t tail = 0;

	ways[group].seen = true;
	queue[tail++] = group;
	while (head < tail) {
		size_t at = queue[head++];
		size_t node = untaken(pool, request, at);

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

			if (ways[other].seen || !suits(pool, request, answer->picks[i].node, at))
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

static unsigned used(const unsigned counts[], size_t count)
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
		       exchange(&pool, request, i, &answer))
			answer.got[i]++;
		answer.feasible &= answer.got[i] == request->groups[i].count;
	}
	sort_picks(nodes, answer.picks, answer.pick_count);
	answer.racks = used(pool.rack_used, count);
	answer.leaves = used(pool.leaf_used, count);
	*ret = answer;
	answer = (struct alloc_answer){0};
	return 0;
}

/* Between two things that are told. */
static const char *next_part(const struct text *told)
{
	return told->size > 0 ? "; " : "";
}

/* Each kind once, of nodes that only their NICs speak against. */
static void add_fits(const struct alloc_node nodes[], size_t count, const struct alloc_group *group,
		     struct text *ret)
{
	bool said[COUNT_OF(fit_refusals)] = {false};
	const char *between = NULL;

	for (size_t i = 0; i < count; i++) {
		size_t fit = fit_of(&nodes[i], group);
		char room[ALLOC_REFUSAL_SIZE];

		if (fit == COUNT_OF(fit_refusals) || said[fit] ||
		    alloc_refusal(&nodes[i], group, room, sizeof(room)) != fit_refusals[fit].text)
			continue;
		if (between)
			text_add(ret, between);
		else
			text_addf(ret, "%sNICs: ", next_part(ret));
		text_add(ret, fit_refusals[fit].kind);
		between = ", ";
		said[fit] = true;
	}
}

/* Once, when there are nodes that only their disks speak against. */
static void add_disks(const struct alloc_node nodes[], size_t count,
		      const struct alloc_group *group, struct text *ret)
{
	struct alloc_group any = *group;
	char room[ALLOC_REFUSAL_SIZE];

	any.disks.count = 0;
	for (size_t i = 0; group->disks.count > 0 && i < count; i++) {
		if (alloc_refusal(&nodes[i], &any, room, sizeof(room)) ||
		    !alloc_refusal(&nodes[i], group, room, sizeof(room)))
			continue;
		text_addf(ret, "%sdisks: too few, too small or of another kind", next_part(ret));
		return;
	}
}

/* Once, of the first node that only its fabric's numbers speak against. */
static void add_numbers(const struct alloc_node nodes[], size_t count,
			const struct alloc_group *group, struct text *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct alloc_node other = nodes[i];
		char room[ALLOC_REFUSAL_SIZE];

		other.numbers[0] = '\0';
		if (!nodes[i].numbers[0] || alloc_refusal(&other, group, room, sizeof(room)))
			continue;
		text_addf(ret, "%s%s", next_part(ret), nodes[i].numbers);
		return;
	}
}

/* Nodes that cannot be had for one reason. */
struct refused {
	char why[ALLOC_REFUSAL_SIZE];
	unsigned count;
	const char *name; /* of the first */
};

static int refused_compare(const void *a, const void *b)
{
	const struct refused *x = a;
	const struct refused *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_counts(const struct alloc_node nodes[], size_t count,
		       const struct alloc_group *group, struct text *ret)
{
	struct refused rows[REASONS_MAX];
	size_t row_count = 0;
	unsigned more = 0;

	for (size_t i = 0; i < count; i++) {
		char room[ALLOC_REFUSAL_SIZE];
		const char *why = alloc_refusal(&nodes[i], group, room, sizeof(room));
		size_t r = 0;

		if (!why || (group->class[0] && strcmp(nodes[i].class, group->class) != 0))
			continue;
		while (r < row_count && strcmp(rows[r].why, why) != 0)
			r++;
		if (r == REASONS_MAX) {
			more++;
			continue;
		}
		if (r == row_count) {
			rows[row_count++] = (struct refused){.name = nodes[i].name};
			(void)text_copy(rows[r].why, sizeof(rows[r].why), why);
		}
		rows[r].count++;
	}
	qsort(rows, row_count, sizeof(*rows), refused_compare);
	for (size_t r = 0; r < row_count; r++) {
		if (rows[r].count > 1)
			text_addf(ret, "%s%u %s", r ? ", " : "", rows[r].count, rows[r].why);
		else
			text_addf(ret, "%s%s %s", r ? ", " : "", rows[r].name, rows[r].why);
	}
	if (more > 0)
		text_addf(ret, ", and %u more", more);
}

void alloc_why(const struct alloc_node nodes[], size_t count, const struct alloc_group *group,
	       bool named, struct text *ret)
{
	CLEANUP(text_done) struct text told = {0};

	if (named) {
		add_counts(nodes, count, group, &told);
	} else {
		add_fits(nodes, count, group, &told);
		add_disks(nodes, count, group, &told);
		add_numbers(nodes, count, group, &told);
	}
	text_add(ret, text_get(&told));
}

void alloc_reasons(const struct alloc_node nodes[], size_t count,
		   const struct alloc_request *request, const struct alloc_answer *answer,
		   bool named, struct text *ret)
{
	for (size_t g = 0; g < request->group_count; g++) {
		const struct alloc_group *group = &request->groups[g];
		CLEANUP(text_done) struct text why = {0};

		if (answer->got[g] == group->count)
			continue;
		alloc_why(nodes, count, group, named, &why);
		text_addf(ret, "%sgroup %zu (%s%s): %u of %u%s%s", next_part(ret), g + 1,
			  group->class[0] ? "class " : "any class", group->class, answer->got[g],
			  group->count, why.size > 0 ? "; " : "", text_get(&why));
	}
}
