#include "peregrine/control/reconcile/diff_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

LEAKS_LEFT_TO_SANITIZER

struct differ {
	const struct fabric_model *model;
	const port_state *observed;
	const struct wanted *wanted;
	const port_state *applied; /* may be NULL */
	struct vlan_set ours;
	struct vlan_set moving; /* VLANs whose old and new uplinks together hold a circle */
	uint16_t *ways;         /* per port: the parking VLAN by way of which it goes; 0 = none */
	struct vlan_set *way_vlans; /* per switch: all of these */
	struct plan plan;
	size_t room;
};

static bool may_change(const struct differ *differ, uint32_t port)
{
	const struct fabric_port *p = &differ->model->ports[port];

	return !p->held && !differ->model->switches[p->at].held;
}

static bool is_to_change(const struct differ *differ, uint32_t port)
{
	return differ->observed[port] && may_change(differ, port) &&
	       !port_vlans_equal(differ->observed[port], differ->wanted->ports[port]);
}

static int diff_policy_add(struct differ *differ, const struct plan_edit *edit)
{
	struct plan *plan = &differ->plan;

	if (plan->count == differ->room) {
		size_t room = differ->room ? differ->room * 2 : 32;
		struct plan_edit *edits = realloc(plan->edits, room * sizeof(*edits));

		if (!edits)
			return -ENOMEM;
		plan->edits = edits;
		differ->room = room;
	}
	plan->edits[plan->count++] = *edit;
	return 0;
}

static int diff_policy_add_port(struct differ *differ, enum plan_stage stage, uint32_t port,
				port_state before, port_state after)
{
	const struct fabric_port *p = &differ->model->ports[port];
	struct plan_edit edit = {
		.stage = stage,
		.at = p->at,
		.port = port,
		.edit = {.kind = EDIT_PORT, .before = *before, .after = *after},
		.after = after,
	};

	(void)text_copy(edit.edit.port, sizeof(edit.edit.port), p->name);
	return diff_policy_add(differ, &edit);
}

/* --- VLANs --- */

static int diff_policy_add_vlans(struct differ *differ, enum plan_stage stage, uint32_t at,
				 const struct vlan_set *vlans)
{
	for (unsigned v = vlan_set_next(vlans, VLAN_FIRST); v; v = vlan_set_next(vlans, v + 1)) {
		uint32_t network = model_network_of(differ->model, v);
		struct plan_edit edit = {
			.stage = stage,
			.at = at,
			.port = MODEL_NONE,
			.edit = {.kind = stage == STAGE_CREATE ? EDIT_VLAN_CREATE
							       : EDIT_VLAN_DELETE,
				 .vlan = (uint16_t)v},
		};
		int rc;

		if (network != MODEL_NONE)
			(void)text_format(edit.edit.vlan_name, sizeof(edit.edit.vlan_name),
					  "haas-%lld",
					  (long long)differ->model->networks[network].id);
		else if (model_vlan_is_parking(differ->model, v))
			(void)text_copy(edit.edit.vlan_name, sizeof(edit.edit.vlan_name),
					"haas-parking");
		rc = diff_policy_add(differ, &edit);
		if (rc)
			return rc;
	}
	return 0;
}

static int create_vlans(struct differ *differ)
{
	for (uint32_t s = 0; s < differ->model->switch_count; s++) {
		const struct fabric_switch *at = &differ->model->switches[s];
		struct vlan_set need =
			vlan_set_union(&differ->wanted->vlans[s], &differ->way_vlans[s]);
		struct vlan_set missing = vlan_set_minus(&need, &at->vlans);
		int rc = at->held ? 0 : diff_policy_add_vlans(differ, STAGE_CREATE, s, &missing);

		if (rc)
			return rc;
	}
	return 0;
}

static bool waits_for_a_way(const struct differ *differ, uint32_t port);

/* Of our range alone, and only when nothing that was read shows a port in it, or a port will not
 * have left it by then. The parking VLAN stays: the next free port needs it. */
static int delete_vlans(struct differ *differ)
{
	for (uint32_t s = 0; s < differ->model->switch_count; s++) {
		const struct fabric_switch *at = &differ->model->switches[s];
		struct vlan_set idle = vlan_set_minus(&at->vlans, &differ->wanted->vlans[s]);
		struct vlan_set parking = {0};
		int rc;

		vlan_set_add(&parking, differ->model->parking);
		vlan_set_add_range(&parking, differ->model->parking, differ->model->parking_high);
		idle = vlan_set_intersection(&idle, &differ->ours);
		idle = vlan_set_minus(&idle, &parking);
		for (uint32_t p = at->first_port;
		     p < at->first_port + at->port_count && !vlan_set_is_empty(&idle); p++) {
			struct vlan_set all;

			if (!differ->wanted->ports[p])
				continue;
			all = port_vlans_all(differ->wanted->ports[p]);
			idle = vlan_set_minus(&idle, &all);
			if (!waits_for_a_way(differ, p))
				continue;
			all = port_vlans_all(differ->observed[p]);
			idle = vlan_set_minus(&idle, &all);
		}
		rc = at->held ? 0 : diff_policy_add_vlans(differ, STAGE_TRIM, s, &idle);
		if (rc)
			return rc;
	}
	return 0;
}

/* --- circles --- */

static struct vlan_set ever_on(const struct differ *differ, uint32_t port)
{
	struct vlan_set before = {0};
	struct vlan_set after = {0};

	if (differ->observed[port])
		before = port_vlans_all(differ->observed[port]);
	if (differ->wanted->ports[port])
		after = port_vlans_all(differ->wanted->ports[port]);
	return vlan_set_union(&before, &after);
}

static uint32_t diff_policy_root_of(uint32_t *parent, uint32_t s)
{
	while (parent[s] != s) {
		parent[s] = parent[parent[s]];
		s = parent[s];
	}
	return s;
}

static bool has_circle(const struct differ *differ, unsigned vlan, const struct vlan_set ever[],
		       uint32_t *parent)
{
	const struct fabric_model *model = differ->model;

	for (uint32_t s = 0; s < model->switch_count; s++)
		parent[s] = s;
	for (uint32_t p = 0; p < model->port_count; p++) {
		uint32_t q = model->ports[p].peer;
		uint32_t a;
		uint32_t b;

		if (model->ports[p].role != PORT_UPLINK || q == MODEL_NONE || q < p ||
		    !vlan_set_has(&ever[p], vlan) || !vlan_set_has(&ever[q], vlan))
			continue;
		a = diff_policy_root_of(parent, model->ports[p].at);
		b = diff_policy_root_of(parent, model->ports[q].at);
		if (a == b)
			return true;
		parent[a] = b;
	}
	return false;
}

static struct vlan_set gained_on_uplinks(const struct differ *differ)
{
	struct vlan_set gained = {0};

	for (uint32_t p = 0; p < differ->model->port_count; p++) {
		struct vlan_set before = {0};
		struct vlan_set more;

		if (differ->model->ports[p].role != PORT_UPLINK || !differ->wanted->ports[p])
			continue;
		more = port_vlans_all(differ->wanted->ports[p]);
		if (differ->observed[p])
			before = port_vlans_all(differ->observed[p]);
		more = vlan_set_minus(&more, &before);
		gained = vlan_set_union(&gained, &more);
	}
	return vlan_set_intersection(&gained, &differ->ours);
}

/* Only a VLAN that some uplink gains while others have it can close one. */
static int find_circles(struct differ *differ)
{
	const struct fabric_model *model = differ->model;
	CLEANUP(freep) struct vlan_set *ever = NULL;
	CLEANUP(freep) uint32_t *parent = NULL;
	struct vlan_set gained = gained_on_uplinks(differ);

	if (vlan_set_is_empty(&gained))
		return 0;
	ever = calloc(model->port_count + 1, sizeof(*ever));
	parent = calloc(model->switch_count + 1, sizeof(*parent));
	if (!ever || !parent)
		return -ENOMEM;
	for (uint32_t p = 0; p < model->port_count; p++) {
		if (model->ports[p].role == PORT_UPLINK)
			ever[p] = ever_on(differ, p);
	}
	for (unsigned v = vlan_set_next(&gained, VLAN_FIRST); v;
	     v = vlan_set_next(&gained, v + 1)) {
		if (has_circle(differ, v, ever, parent))
			vlan_set_add(&differ->moving, v);
	}
	return 0;
}

/* --- ways by nobody's VLAN --- */

/* Does it lose a VLAN that somebody may be in and gain another one, on a switch that would have it
 * in both? */
static bool diff_policy_crosses(const struct differ *differ, uint32_t port)
{
	struct vlan_set have = port_vlans_all(differ->observed[port]);
	struct vlan_set want = port_vlans_all(differ->wanted->ports[port]);
	struct vlan_set parking = {0};
	struct vlan_set lost;
	struct vlan_set gained;

	if (!differ->model->switches[differ->model->ports[port].at].enters_first)
		return false;
	vlan_set_add(&parking, differ->model->parking);
	vlan_set_add_range(&parking, differ->model->parking, differ->model->parking_high);
	have = vlan_set_minus(&have, &parking);
	want = vlan_set_minus(&want, &parking);
	lost = vlan_set_minus(&have, &want);
	gained = vlan_set_minus(&want, &have);
	return !vlan_set_is_empty(&lost) && !vlan_set_is_empty(&gained);
}

/* The first parking number that none of `taken` is; 0 = there is none. */
static uint16_t first_parking(const struct differ *differ, const struct fabric_switch *at,
			      const struct vlan_set *taken)
{
	for (unsigned v = differ->model->parking; v && model_vlan_is_parking(differ->model, v);
	     v++) {
		if (!vlan_set_has(taken, v) && !vlan_set_has(&at->reserved, v))
			return (uint16_t)v;
	}
	return 0;
}

/* One on its way never shares a number, with another one or with a free port. It waits for the next
 * plan while others have them; it is stuck when free ports have them all. */
static void choose_ways_of(struct differ *differ, uint32_t s)
{
	const struct fabric_switch *at = &differ->model->switches[s];
	struct vlan_set resting = {0};
	uint32_t end = at->first_port + at->port_count;

	for (uint32_t p = at->first_port; p < end; p++) {
		struct vlan_set all = {0};

		if (differ->observed[p])
			all = port_vlans_all(differ->observed[p]);
		resting = vlan_set_union(&resting, &all);
		if (differ->wanted->ports[p])
			all = port_vlans_all(differ->wanted->ports[p]);
		resting = vlan_set_union(&resting, &all);
	}
	for (uint32_t p = at->first_port; p < end; p++) {
		struct vlan_set moving = vlan_set_union(&at->moving, &differ->way_vlans[s]);
		struct vlan_set taken = vlan_set_union(&moving, &resting);

		if (differ->model->ports[p].role != PORT_EDGE || !is_to_change(differ, p) ||
		    !diff_policy_crosses(differ, p))
			continue;
		differ->ways[p] = first_parking(differ, at, &taken);
		if (differ->ways[p])
			vlan_set_add(&differ->way_vlans[s], differ->ways[p]);
		else
			differ->plan.stuck[p] = !first_parking(differ, at, &resting);
	}
}

static bool waits_for_a_way(const struct differ *differ, uint32_t port)
{
	return differ->model->ports[port].role == PORT_EDGE && is_to_change(differ, port) &&
	       !differ->ways[port] && diff_policy_crosses(differ, port);
}

static int choose_ways(struct differ *differ)
{
	const struct fabric_model *model = differ->model;

	differ->ways = calloc(model->port_count + (size_t)1, sizeof(*differ->ways));
	differ->way_vlans = calloc(model->switch_count + (size_t)1, sizeof(*differ->way_vlans));
	differ->plan.stuck = calloc(model->port_count + (size_t)1, sizeof(*differ->plan.stuck));
	if (!differ->ways || !differ->way_vlans || !differ->plan.stuck)
		return -ENOMEM;
	for (uint32_t s = 0; s < model->switch_count; s++) {
		if (model->switches[s].enters_first)
			choose_ways_of(differ, s);
	}
	return 0;
}

/* --- ports --- */

/* What of `have` is also in `want`, as a membership. */
static struct port_vlans common_part(const struct port_vlans *have, const struct port_vlans *want)
{
	struct vlan_set may = port_vlans_all(want);
	struct port_vlans part = *have;

	if (have->native != want->native)
		part.native = 0;
	part.trunk = have->trunk && want->trunk;
	part.tagged = vlan_set_intersection(&have->tagged, &may);
	if (!part.trunk)
		part.tagged = (struct vlan_set){0};
	return part;
}

static bool is_within(const struct port_vlans *have, const struct port_vlans *may)
{
	struct port_vlans part;

	if (!may)
		return false;
	part = common_part(have, may);
	return port_vlans_equal(&part, have);
}

/* What both have, and the way's VLAN where they differ in the native one. */
static int diff_on_its_way(struct differ *differ, uint32_t port)
{
	port_state have = differ->observed[port];
	port_state want = differ->wanted->ports[port];
	struct port_vlans step = common_part(have, want);
	port_state next;
	int rc;

	if (have->native != want->native)
		step.native = differ->ways[port];
	step.trunk = !vlan_set_is_empty(&step.tagged);
	next = state_pool_add(&differ->plan.pool, &step, want);
	if (!next)
		return -ENOMEM;
	rc = diff_policy_add_port(differ, STAGE_CUT, port, have, next);
	return rc ? rc : diff_policy_add_port(differ, STAGE_ATTACH, port, next, want);
}

/* An edge port is one edit. When what is on it now belongs to nobody there, or it only loses, that
 * comes first. Where the switch would have it in both, it is two. */
static int diff_edge(struct differ *differ, uint32_t port)
{
	port_state have = differ->observed[port];
	port_state want = differ->wanted->ports[port];
	port_state applied = differ->applied ? differ->applied[port] : NULL;
	bool parked = !want->trunk && model_vlan_is_parking(differ->model, want->native);

	if (diff_policy_crosses(differ, port))
		return differ->ways[port] ? diff_on_its_way(differ, port) : 0;
	if (parked || is_within(want, have) || !(is_within(have, want) || is_within(have, applied)))
		return diff_policy_add_port(differ, STAGE_CUT, port, have, want);
	return diff_policy_add_port(differ, STAGE_ATTACH, port, have, want);
}

/* Cut, then grown, then trimmed; most need one of the three. */
static int diff_uplink(struct differ *differ, uint32_t port)
{
	port_state have = differ->observed[port];
	port_state want = differ->wanted->ports[port];
	bool former = differ->model->ports[port].role == PORT_FORMER;
	struct vlan_set wanted = port_vlans_all(want);
	struct vlan_set lost = vlan_set_minus(&have->tagged, &wanted);
	struct port_vlans step = *have;
	struct vlan_set cut = vlan_set_intersection(&lost, &differ->moving);
	int rc = 0;

	for (unsigned v = vlan_set_next(&lost, VLAN_FIRST); v; v = vlan_set_next(&lost, v + 1)) {
		if (former || model_vlan_is_parking(differ->model, v))
			vlan_set_add(&cut, v);
	}
	if (have->native != want->native || !vlan_set_is_empty(&cut)) {
		step.native = want->native;
		step.tagged = vlan_set_minus(&have->tagged, &cut);
		step = port_vlans_plain(&step);
		if (!port_vlans_equal(&step, have)) {
			port_state next = state_pool_add(&differ->plan.pool, &step, want);

			rc = next ? diff_policy_add_port(differ, STAGE_CUT, port, have, next)
				  : -ENOMEM;
			have = next;
		}
	}
	if (rc || port_vlans_equal(have, want))
		return rc;
	step = *want;
	step.tagged = vlan_set_union(&have->tagged, &want->tagged);
	step.trunk = true;
	step = port_vlans_plain(&step);
	if (!port_vlans_equal(&step, have)) {
		port_state next = state_pool_add(&differ->plan.pool, &step, want);

		rc = next ? diff_policy_add_port(differ, STAGE_ATTACH, port, have, next) : -ENOMEM;
		have = next;
	}
	if (rc || port_vlans_equal(have, want))
		return rc;
	return diff_policy_add_port(differ, STAGE_TRIM, port, have, want);
}

static int diff_ports(struct differ *differ)
{
	for (uint32_t p = 0; p < differ->model->port_count; p++) {
		enum port_role role = differ->model->ports[p].role;
		int rc = 0;

		if (!is_to_change(differ, p))
			continue;
		rc = role == PORT_UPLINK || role == PORT_FORMER ? diff_uplink(differ, p)
								: diff_edge(differ, p);
		if (rc)
			return rc;
	}
	return 0;
}

/* --- all --- */

/* In a stage: ports before the VLANs that they leave. */
static int by_order(const void *left, const void *right)
{
	const struct plan_edit *a = left;
	const struct plan_edit *b = right;
	bool a_delete = a->edit.kind == EDIT_VLAN_DELETE;
	bool b_delete = b->edit.kind == EDIT_VLAN_DELETE;

	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a_delete != b_delete)
		return a_delete ? 1 : -1;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return (int)a->edit.vlan - (int)b->edit.vlan;
}

int plan_make(const struct fabric_model *model, const port_state observed[],
	      const struct wanted *wanted, const port_state applied[], struct plan *ret)
{
	struct differ differ = {.model = model,
				.observed = observed,
				.wanted = wanted,
				.applied = applied,
				.ours = model_our_vlans(model)};
	int rc = choose_ways(&differ);

	if (rc == 0)
		rc = create_vlans(&differ);
	if (rc == 0)
		rc = find_circles(&differ);
	if (rc == 0)
		rc = diff_ports(&differ);
	if (rc == 0)
		rc = delete_vlans(&differ);
	free(differ.ways);
	free(differ.way_vlans);
	if (rc) {
		plan_done(&differ.plan);
		return rc;
	}
	if (differ.plan.count > 0)
		qsort(differ.plan.edits, differ.plan.count, sizeof(*differ.plan.edits), by_order);
	*ret = differ.plan;
	return 0;
}

void plan_done(struct plan *plan)
{
	free(plan->edits);
	free(plan->stuck);
	state_pool_done(&plan->pool);
	*plan = (struct plan){0};
}
