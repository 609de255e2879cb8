#include "peregrine/control/reconcile/part_policy.h"

#include <errno.h>
#include <stdlib.h>

LEAKS_LEFT_TO_SANITIZER

/* A port that a VLAN has to be there for, or has to be off before it may go. */
static bool edit_uses(const struct plan_edit *edit, unsigned vlan)
{
	struct vlan_set before = port_vlans_all(&edit->edit.before);
	struct vlan_set after = port_vlans_all(&edit->edit.after);

	return edit->port != MODEL_NONE &&
	       (vlan_set_has(&before, vlan) || vlan_set_has(&after, vlan));
}

/* --- what belongs together --- */

/* Union-find: first the edits, then the VLANs (on uplinks), then the switches (ports of nodes),
 * then the ports. */
struct joiner {
	const struct fabric_model *model;
	const struct plan *plan;
	uint32_t *parent;
	struct vlan_set gains; /* VLANs that some uplink gains */
	const struct vlan_set *tainted;
};

static uint32_t part_policy_root_of(struct joiner *joiner, uint32_t node)
{
	while (joiner->parent[node] != node) {
		joiner->parent[node] = joiner->parent[joiner->parent[node]];
		node = joiner->parent[node];
	}
	return node;
}

static void part_policy_join(struct joiner *joiner, uint32_t a, uint32_t b)
{
	joiner->parent[part_policy_root_of(joiner, a)] = part_policy_root_of(joiner, b);
}

static uint32_t vlan_node(const struct joiner *joiner, unsigned vlan)
{
	return (uint32_t)joiner->plan->count + vlan;
}

static uint32_t switch_node(const struct joiner *joiner, uint32_t at)
{
	return vlan_node(joiner, VLAN_LIMIT) + at;
}

static uint32_t port_node(const struct joiner *joiner, uint32_t port)
{
	return switch_node(joiner, joiner->model->switch_count) + port;
}

static void join_vlans(struct joiner *joiner, uint32_t i, const struct vlan_set *vlans)
{
	for (unsigned v = vlan_set_next(vlans, VLAN_FIRST); v; v = vlan_set_next(vlans, v + 1))
		part_policy_join(joiner, i, vlan_node(joiner, v));
}

static void join_port(struct joiner *joiner, uint32_t i)
{
	const struct plan_edit *edit = &joiner->plan->edits[i];
	struct vlan_set vlans = edit_touches(joiner->model, edit);

	part_policy_join(joiner, i, port_node(joiner, edit->port));
	if (!edit_is_uplink(joiner->model, edit)) {
		struct vlan_set gained = edit_gains(&edit->edit);

		part_policy_join(joiner, i, switch_node(joiner, edit->at));
		gained = vlan_set_intersection(&gained, &joiner->gains);
		vlans = vlan_set_intersection(&vlans, joiner->tainted);
		vlans = vlan_set_union(&vlans, &gained);
	}
	join_vlans(joiner, i, &vlans);
}

/* `order`: edits by switch; `from` to `to` are those of one. */
static void join_vlan_edits(struct joiner *joiner, const uint32_t order[], size_t from, size_t to)
{
	for (size_t k = from; k < to; k++) {
		const struct plan_edit *edit = &joiner->plan->edits[order[k]];
		bool used = false;

		if (edit->port != MODEL_NONE)
			continue;
		for (size_t n = from; n < to; n++) {
			const struct plan_edit *other = &joiner->plan->edits[order[n]];
			bool same = other->port == MODEL_NONE
					    ? n < k && other->edit.vlan == edit->edit.vlan
					    : edit_uses(other, edit->edit.vlan);

			if (!same)
				continue;
			part_policy_join(joiner, order[k], order[n]);
			used = true;
		}
		if (!used)
			part_policy_join(joiner, order[k], switch_node(joiner, edit->at));
		if (vlan_set_has(joiner->tainted, edit->edit.vlan))
			part_policy_join(joiner, order[k], vlan_node(joiner, edit->edit.vlan));
	}
}

static int join_all(struct joiner *joiner)
{
	const struct plan *plan = joiner->plan;
	uint32_t count = joiner->model->switch_count;
	CLEANUP(freep) size_t *first = calloc((size_t)count + 2, sizeof(*first));
	CLEANUP(freep) uint32_t *order = calloc(plan->count + 1, sizeof(*order));
	unsigned tainted = vlan_set_next(joiner->tainted, VLAN_FIRST);

	if (!first || !order)
		return -ENOMEM;
	for (size_t i = 0; i < plan->count; i++) {
		first[plan->edits[i].at + 2]++;
		if (edit_is_uplink(joiner->model, &plan->edits[i])) {
			struct vlan_set gained = edit_gains(&plan->edits[i].edit);

			joiner->gains = vlan_set_union(&joiner->gains, &gained);
		}
	}
	for (uint32_t s = 2; s < count + 2; s++)
		first[s] += first[s - 1];
	for (size_t i = 0; i < plan->count; i++)
		order[first[plan->edits[i].at + 1]++] = (uint32_t)i;
	for (unsigned v = tainted; v; v = vlan_set_next(joiner->tainted, v + 1))
		part_policy_join(joiner, vlan_node(joiner, v), vlan_node(joiner, tainted));
	for (uint32_t i = 0; i < plan->count; i++) {
		if (plan->edits[i].port != MODEL_NONE)
			join_port(joiner, i);
	}
	for (uint32_t s = 0; s < count; s++)
		join_vlan_edits(joiner, order, first[s], first[s + 1]);
	return 0;
}

int parts_make(const struct fabric_model *model, const struct plan *plan,
	       const struct vlan_set *tainted, struct parts *ret)
{
	struct joiner joiner = {.model = model, .plan = plan, .tainted = tainted};
	uint32_t nodes = port_node(&joiner, model->port_count);
	CLEANUP(freep) uint32_t *number = malloc(((size_t)nodes + 1) * sizeof(*number));
	CLEANUP(freep) uint32_t *parent = malloc(((size_t)nodes + 1) * sizeof(*parent));
	struct parts parts = {.of = malloc((plan->count + 1) * sizeof(*parts.of))};

	joiner.parent = parent;
	for (uint32_t i = 0; number && parent && i < nodes; i++) {
		parent[i] = i;
		number[i] = MODEL_NONE;
	}
	if (!number || !parent || !parts.of || join_all(&joiner)) {
		free(parts.of);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < plan->count; i++) {
		uint32_t root = part_policy_root_of(&joiner, i);

		if (number[root] == MODEL_NONE)
			number[root] = parts.count++;
		parts.of[i] = number[root];
	}
	*ret = parts;
	return 0;
}

void parts_done(struct parts *parts)
{
	free(parts->of);
	*parts = (struct parts){0};
}

void parts_merge(struct parts *parts, const struct plan *plan, const bool chosen[])
{
	uint32_t one = MODEL_NONE;

	for (uint32_t p = 0; p < parts->count && one == MODEL_NONE; p++) {
		if (chosen[p])
			one = p;
	}
	for (size_t i = 0; i < plan->count; i++) {
		if (chosen[parts->of[i]])
			parts->of[i] = one;
	}
}

/* --- what is under way --- */

static bool has_any(const struct vlan_set *a, const struct vlan_set *b)
{
	struct vlan_set both = vlan_set_intersection(a, b);

	return !vlan_set_is_empty(&both);
}

static bool edit_waits(const struct fabric_model *model, const struct plan_edit *edit,
		       const struct flux *flux, const struct vlan_set *tainted)
{
	struct vlan_set touched = edit_touches(model, edit);
	struct vlan_set before = port_vlans_all(&edit->edit.before);
	struct vlan_set after = port_vlans_all(&edit->edit.after);
	struct vlan_set used = vlan_set_union(&before, &after);
	struct vlan_set bad = vlan_set_intersection(&touched, tainted);

	if (has_any(&bad, &flux->touched))
		return true;
	if (edit->port == MODEL_NONE)
		return has_any(&touched, &flux->making[edit->at]) ||
		       (edit->edit.kind == EDIT_VLAN_DELETE &&
			vlan_set_has(&model->switches[edit->at].moving, edit->edit.vlan));
	/* More VLANs of other networks may come to an uplink meanwhile: each brings its own when it
	 * is sent, and takes only those back (batch_share.c). */
	if (model->ports[edit->port].busy &&
	    !(flux->only_grows[edit->port] && edit_grows(&edit->edit)))
		return true;
	if (edit_is_uplink(model, edit))
		return has_any(&touched, &flux->uplinks) ||
		       has_any(&touched, &flux->making[edit->at]);
	return has_any(&used, &flux->making[edit->at]);
}

void parts_waiting(const struct fabric_model *model, const struct plan *plan,
		   const struct parts *parts, const struct part_holds *holds, bool ret[])
{
	for (uint32_t p = 0; p < parts->count; p++)
		ret[p] = false;
	for (size_t i = 0; i < plan->count; i++) {
		const struct plan_edit *edit = &plan->edits[i];

		if (!ret[parts->of[i]])
			ret[parts->of[i]] = (holds->waits && holds->waits[edit->at]) ||
					    edit_waits(model, edit, holds->flux, holds->tainted);
	}
}
