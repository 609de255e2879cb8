#include "bampi/control/alloc/alloc_reason_policy.h"

#include <stdlib.h>
#include <string.h>

#define REASONS_MAX 12 /* that are told apart */

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
	{'p', "with a bond of unknown ports", "ports of a bond are not known"},
	{'s', "with a bond that ends at two switches (MLAG is not offered)",
	 "a bond ends at two switches (MLAG is not offered)"},
	{'a', "with a bond that is not one aggregate of its switch",
	 "the ports of a bond are not one aggregate of their switch"},
	{'b', "cabled for a bond that is not asked for", "cabled for a bond: ask for it"},
};

/* Index into fit_refusals, COUNT_OF when nothing does. */
static size_t alloc_reason_policy_fit_of(const struct alloc_node *node,
					 const struct alloc_group *group)
{
	size_t i = 0;

	while (i < COUNT_OF(fit_refusals) && fit_refusals[i].letter != node->fits[group->place])
		i++;
	return i;
}

const char *alloc_refusal(const struct alloc_node *node, const struct alloc_group *group, char *ret,
			  size_t room)
{
	size_t fit = alloc_reason_policy_fit_of(node, group);
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
	if (node->unseen)
		return "never seen (haasctl deployment create --plan inspect)";
	if ((group->firmwares & 1U << node->firmware) == 0)
		return "with firmware that does not boot the image";
	if (fit < COUNT_OF(fit_refusals))
		return fit_refusals[fit].text;
	why = alloc_disks_refusal(&node->disks, &group->disks, ret, room);
	if (why)
		return why;
	if (node->cable[0])
		return "with cables in doubt";
	if (node->numbers[0]) {
		(void)text_format(ret, room, "with %s", node->numbers);
		return ret;
	}
	if (node->label[0]) {
		(void)text_format(ret, room, "with health label %s", node->label);
		return ret;
	}
	if (node->kept)
		return "kept for a PDCI that waits longer";
	return NULL;
}

/* --- telling --- */

/* Between two things that are told. */
static const char *alloc_reason_policy_next_part(const struct text *told)
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
		size_t fit = alloc_reason_policy_fit_of(&nodes[i], group);
		char room[ALLOC_REFUSAL_SIZE];

		if (fit == COUNT_OF(fit_refusals) || said[fit] ||
		    alloc_refusal(&nodes[i], group, room, sizeof(room)) != fit_refusals[fit].text)
			continue;
		if (between)
			text_add(ret, between);
		else
			text_addf(ret, "%sNICs: ", alloc_reason_policy_next_part(ret));
		text_add(ret, fit_refusals[fit].kind);
		between = ", ";
		said[fit] = true;
	}
}

/* Once, when there are nodes that only their disks speak against. */
static void alloc_reason_policy_add_disks(const struct alloc_node nodes[], size_t count,
					  const struct alloc_group *group, struct text *ret)
{
	struct alloc_group any = *group;
	char room[ALLOC_REFUSAL_SIZE];

	any.disks.count = 0;
	for (size_t i = 0; group->disks.count > 0 && i < count; i++) {
		if (alloc_refusal(&nodes[i], &any, room, sizeof(room)) ||
		    !alloc_refusal(&nodes[i], group, room, sizeof(room)))
			continue;
		text_addf(ret, "%sdisks: too few, too small or of another kind",
			  alloc_reason_policy_next_part(ret));
		return;
	}
}

/* Once, of the first node that only its fabric's numbers speak against. */
static void alloc_reason_policy_add_numbers(const struct alloc_node nodes[], size_t count,
					    const struct alloc_group *group, struct text *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct alloc_node other = nodes[i];
		char room[ALLOC_REFUSAL_SIZE];

		other.numbers[0] = '\0';
		if (!nodes[i].numbers[0] || alloc_refusal(&other, group, room, sizeof(room)))
			continue;
		text_addf(ret, "%s%s", alloc_reason_policy_next_part(ret), nodes[i].numbers);
		return;
	}
}

/* Once, when there are nodes that only an older request speaks against. */
static void alloc_reason_policy_add_kept(const struct alloc_node nodes[], size_t count,
					 const struct alloc_group *group, struct text *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct alloc_node other = nodes[i];
		char room[ALLOC_REFUSAL_SIZE];

		other.kept = false;
		if (!nodes[i].kept || alloc_refusal(&other, group, room, sizeof(room)))
			continue;
		text_addf(ret, "%swho waits longer is served first",
			  alloc_reason_policy_next_part(ret));
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
		alloc_reason_policy_add_disks(nodes, count, group, &told);
		alloc_reason_policy_add_numbers(nodes, count, group, &told);
		alloc_reason_policy_add_kept(nodes, count, group, &told);
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
		text_addf(ret, "%sgroup %zu (%s%s): %u of %u%s%s",
			  alloc_reason_policy_next_part(ret), g + 1,
			  group->class[0] ? "class " : "any class", group->class, answer->got[g],
			  group->count, why.size > 0 ? "; " : "", text_get(&why));
	}
}
