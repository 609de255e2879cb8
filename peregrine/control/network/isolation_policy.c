#include "peregrine/control/network/isolation_policy.h"

#include <errno.h>
#include <stdlib.h>

struct isolation_policy_proof {
	const struct fabric_model *model;
	const port_state *state;
	/* VLANs that some link has at an end, and their places among them. What is on no link is a
	 * domain of its own in each switch, and joined with nothing. */
	uint16_t vlans[VLAN_LIMIT], place[VLAN_LIMIT];
	uint32_t vlan_count, domain_count;
	uint32_t *parent;           /* union-find over domains */
	uint32_t *first;            /* of a component: the first domain seen in it; also BFS */
	uint32_t owner[VLAN_LIMIT]; /* network of a number */
	bool translated;            /* some uplink changes a VLAN */
	struct isolation_report *report;
	struct isolation_finding unlisted; /* one more than the report has room for */
	struct isolation_finding *last;    /* being filled in: not among the marks yet */
	bool failed;                       /* no memory for them */
};

enum { NO_VLAN = VLAN_LIMIT - 1 }; /* stands for every number that is none, told as a native one */

static unsigned isolation_policy_native_of(port_state state)
{
	return state->native <= VLAN_LAST ? state->native : NO_VLAN;
}

static uint32_t isolation_policy_owner_of(const struct isolation_policy_proof *proof, unsigned vlan)
{
	return vlan <= VLAN_LAST ? proof->owner[vlan] : MODEL_NONE;
}

/* The domain of the VLAN at place v inside switch s has the number s * vlan_count + v. */
static uint32_t isolation_policy_domain_of(const struct isolation_policy_proof *proof, uint32_t at,
					   unsigned vlan)
{
	return at * proof->vlan_count + proof->place[vlan];
}

static unsigned isolation_policy_vlan_of(const struct isolation_policy_proof *proof,
					 uint32_t domain)
{
	return proof->vlans[domain % proof->vlan_count];
}

static uint32_t isolation_policy_switch_of(const struct isolation_policy_proof *proof,
					   uint32_t domain)
{
	return domain / proof->vlan_count;
}

/* --- findings --- */

/* What was found last is filled in by now. */
static void mark_last(struct isolation_policy_proof *proof)
{
	const struct isolation_finding *finding = TAKE(proof->last);

	if (finding && !proof->failed)
		proof->failed = isolation_report_mark(proof->report, finding) != 0;
}

static struct isolation_finding *isolation_policy_find(struct isolation_policy_proof *proof,
						       enum isolation_fault fault, uint32_t port)
{
	static const struct isolation_finding none = {.network = MODEL_NONE, .other = MODEL_NONE};
	struct isolation_report *report = proof->report;
	struct isolation_finding *finding = &proof->unlisted;

	mark_last(proof);
	if (report->count++ < ISOLATION_FINDINGS)
		finding = &report->findings[report->count - 1];
	*finding = none;
	finding->fault = fault;
	finding->port = port;
	finding->at = port == MODEL_NONE ? MODEL_NONE : proof->model->ports[port].at;
	proof->last = finding;
	return finding;
}

/* The numbers of a finding are in it now. A port that is parked and meant for a network (as each is
 * when it is adopted) is nobody's stranger. */
static void isolation_policy_taint(struct isolation_policy_proof *proof,
				   const struct isolation_finding *finding)
{
	if (finding->fault == FAULT_STRANGER && model_vlan_is_parking(proof->model, finding->vlan))
		return;
	if (model_vlan_is_ours(proof->model, finding->vlan))
		vlan_set_add(&proof->report->tainted, finding->vlan);
	if (model_vlan_is_ours(proof->model, finding->other_vlan))
		vlan_set_add(&proof->report->tainted, finding->other_vlan);
}

static const char *switch_name(const struct isolation_policy_proof *proof, uint32_t port)
{
	return proof->model->switches[proof->model->ports[port].at].name;
}

static void isolation_policy_say_port(struct isolation_policy_proof *proof, uint32_t port,
				      unsigned vlan, struct isolation_finding *finding)
{
	finding->vlan = (uint16_t)vlan;
	finding->network = isolation_policy_owner_of(proof, vlan);
	(void)text_format(finding->path, sizeof(finding->path), "%s:%s carries VLAN %u",
			  switch_name(proof, port), proof->model->ports[port].name, vlan);
	isolation_policy_taint(proof, finding);
}

/* --- numbers and ports --- */

static void check_numbers(struct isolation_policy_proof *proof)
{
	const struct fabric_model *model = proof->model;

	for (unsigned vlan = 0; vlan < VLAN_LIMIT; vlan++)
		proof->owner[vlan] = MODEL_NONE;
	for (uint32_t i = 0; i < model->network_count; i++) {
		uint16_t vlan = model->networks[i].vlan;
		struct isolation_finding *finding;

		if (vlan < VLAN_FIRST || vlan > VLAN_LAST)
			continue;
		if (proof->owner[vlan] == MODEL_NONE && !model_vlan_is_parking(model, vlan)) {
			proof->owner[vlan] = i;
			continue;
		}
		finding = isolation_policy_find(proof, FAULT_ONE_NUMBER, MODEL_NONE);
		finding->vlan = finding->other_vlan = vlan;
		finding->network = i;
		finding->other = proof->owner[vlan];
		(void)text_format(finding->path, sizeof(finding->path), "VLAN %u", (unsigned)vlan);
		isolation_policy_taint(proof, finding);
	}
}

/* Nothing on the port that `allowed` does not have. */
static bool isolation_policy_within(port_state have, port_state allowed)
{
	struct vlan_set may;

	if (!allowed || (have->native != 0 && have->native != allowed->native))
		return false;
	if (!have->trunk)
		return true;
	may = port_vlans_all(allowed);
	return allowed->trunk && vlan_set_within(&have->tagged, &may);
}

static void check_edge(struct isolation_policy_proof *proof, uint32_t port, port_state meant,
		       port_state before)
{
	port_state have = proof->state[port];
	struct vlan_set may = {0};
	struct vlan_set all;
	struct vlan_set strange;
	struct isolation_finding *finding;
	unsigned vlan;

	if (isolation_policy_within(have, meant) || isolation_policy_within(have, before))
		return;
	if (meant)
		may = port_vlans_all(meant);
	all = port_vlans_all(have);
	strange = vlan_set_minus(&all, &may);
	vlan = vlan_set_next(&strange, VLAN_FIRST);
	finding = isolation_policy_find(proof, vlan ? FAULT_STRANGER : FAULT_TAGS, port);
	/* What it should be in is no worse for it. */
	isolation_policy_say_port(proof, port, vlan ? vlan : have->native, finding);
	vlan = vlan_set_next(&may, VLAN_FIRST);
	finding->other_vlan = (uint16_t)vlan;
	finding->other = vlan ? proof->owner[vlan] : MODEL_NONE;
}

static void check_uplink(struct isolation_policy_proof *proof, uint32_t port)
{
	const struct fabric_model *model = proof->model;
	struct vlan_set all = port_vlans_all(proof->state[port]);
	unsigned vlan = vlan_set_next(&all, model->parking);
	struct isolation_finding *finding;

	if (!vlan || !model_vlan_is_parking(model, vlan))
		return;
	finding = isolation_policy_find(proof, FAULT_PARKING, port);
	isolation_policy_say_port(proof, port, vlan, finding);
}

static void check_foreign(struct isolation_policy_proof *proof, uint32_t port)
{
	struct vlan_set all = port_vlans_all(proof->state[port]);

	for (unsigned v = vlan_set_next(&all, proof->model->vlan_low);
	     v && v <= proof->model->vlan_high; v = vlan_set_next(&all, v + 1)) {
		struct isolation_finding *finding;

		if (proof->owner[v] == MODEL_NONE)
			continue;
		finding = isolation_policy_find(proof, FAULT_FOREIGN_PORT, port);
		isolation_policy_say_port(proof, port, v, finding);
		return;
	}
}

static void check_ports(struct isolation_policy_proof *proof, const port_state meant[],
			const port_state before[])
{
	for (uint32_t i = 0; i < proof->model->port_count; i++) {
		/* What an aggregate's ports show is nothing that forwards. */
		if (!proof->state[i] || proof->model->ports[i].carrier != i)
			continue;
		switch (proof->model->ports[i].role) {
		case PORT_EDGE: check_edge(proof, i, meant[i], before ? before[i] : NULL); break;
		case PORT_UPLINK: check_uplink(proof, i); break;
		case PORT_FOREIGN:
		case PORT_FORMER: check_foreign(proof, i); break;
		case PORT_MEMBER: break;
		}
	}
}

/* --- uplinks --- */

static struct vlan_set tagged_of(port_state port)
{
	return port->trunk ? port->tagged : (struct vlan_set){0};
}

/* VLANs that arrive at the other end under their own number, in one direction or the other. A tag
 * that equals the untagged VLAN of the port it arrives at is taken by some switches. */
static struct vlan_set isolation_policy_passing(port_state p, port_state q)
{
	struct vlan_set of_p = port_vlans_all(p);
	struct vlan_set of_q = port_vlans_all(q);
	struct vlan_set tags_p = tagged_of(p);
	struct vlan_set tags_q = tagged_of(q);
	struct vlan_set tagged = vlan_set_union(&tags_p, &tags_q);
	struct vlan_set both = vlan_set_intersection(&of_p, &of_q);

	both = vlan_set_intersection(&both, &tagged);
	if (p->native && p->native == q->native)
		vlan_set_add(&both, p->native);
	return both;
}

static bool isolation_policy_translates(port_state p, port_state q)
{
	return p->native && q->native &&
	       (p->native != q->native || isolation_policy_native_of(p) == NO_VLAN);
}

static uint32_t isolation_policy_root_of(const struct isolation_policy_proof *proof,
					 uint32_t domain)
{
	while (proof->parent[domain] != domain) {
		proof->parent[domain] = proof->parent[proof->parent[domain]];
		domain = proof->parent[domain];
	}
	return domain;
}

/* False: they were one before. */
static bool isolation_policy_join(const struct isolation_policy_proof *proof, uint32_t a,
				  uint32_t b)
{
	a = isolation_policy_root_of(proof, a);
	b = isolation_policy_root_of(proof, b);
	if (a == b)
		return false;
	proof->parent[a] = b;
	return true;
}

static bool is_link(const struct isolation_policy_proof *proof, uint32_t port)
{
	uint32_t peer = proof->model->ports[port].peer;

	return proof->model->ports[port].role == PORT_UPLINK && peer != MODEL_NONE &&
	       proof->state[port] && proof->state[peer];
}

static void join_link(struct isolation_policy_proof *proof, uint32_t p, uint32_t q)
{
	const struct fabric_port *ports = proof->model->ports;
	struct vlan_set both = isolation_policy_passing(proof->state[p], proof->state[q]);

	for (unsigned v = vlan_set_next(&both, VLAN_FIRST); v; v = vlan_set_next(&both, v + 1)) {
		struct isolation_finding *finding;

		if (isolation_policy_join(proof, isolation_policy_domain_of(proof, ports[p].at, v),
					  isolation_policy_domain_of(proof, ports[q].at, v)) ||
		    proof->owner[v] == MODEL_NONE)
			continue;
		finding = isolation_policy_find(proof, FAULT_LOOP, p);
		finding->vlan = (uint16_t)v;
		finding->network = proof->owner[v];
		(void)text_format(finding->path, sizeof(finding->path),
				  "VLAN %u over %s:%s - %s:%s and another way", v,
				  switch_name(proof, p), ports[p].name, switch_name(proof, q),
				  ports[q].name);
		isolation_policy_taint(proof, finding);
	}
}

static void check_links(struct isolation_policy_proof *proof)
{
	const struct fabric_port *ports = proof->model->ports;

	for (uint32_t p = 0; p < proof->model->port_count; p++) {
		if (is_link(proof, p) && p < ports[p].peer)
			join_link(proof, p, ports[p].peer);
	}
	for (uint32_t p = 0; p < proof->model->port_count; p++) {
		uint32_t q = ports[p].peer;

		if (!is_link(proof, p) ||
		    !isolation_policy_translates(proof->state[p], proof->state[q]))
			continue;
		proof->translated = true;
		(void)isolation_policy_join(
			proof,
			isolation_policy_domain_of(proof, ports[p].at,
						   isolation_policy_native_of(proof->state[p])),
			isolation_policy_domain_of(proof, ports[q].at,
						   isolation_policy_native_of(proof->state[q])));
	}
}

/* --- the way from one domain to another --- */

struct walk {
	struct isolation_policy_proof *proof;
	uint32_t *from; /* domain -> the one before; MODEL_NONE = not seen */
	uint32_t *queue;
	uint32_t *via; /* domain -> port it was reached by */
	uint32_t count;
};

static void walk_to(struct walk *walk, uint32_t domain, uint32_t port, unsigned vlan)
{
	uint32_t next =
		isolation_policy_domain_of(walk->proof, walk->proof->model->ports[port].at, vlan);

	if (walk->from[next] != MODEL_NONE)
		return;
	walk->from[next] = domain;
	walk->via[next] = port;
	walk->queue[walk->count++] = next;
}

/* The domains next to this one. */
static void walk_next(struct walk *walk, uint32_t domain)
{
	const struct fabric_model *model = walk->proof->model;
	const port_state *state = walk->proof->state;
	const struct fabric_switch *at =
		&model->switches[isolation_policy_switch_of(walk->proof, domain)];
	unsigned vlan = isolation_policy_vlan_of(walk->proof, domain);

	for (uint32_t p = at->first_port; p < at->first_port + at->port_count; p++) {
		uint32_t q = model->ports[p].peer;
		struct vlan_set both;

		if (!is_link(walk->proof, p))
			continue;
		both = isolation_policy_passing(state[p], state[q]);
		if (vlan_set_has(&both, vlan))
			walk_to(walk, domain, q, vlan);
		if (isolation_policy_translates(state[p], state[q]) &&
		    isolation_policy_native_of(state[p]) == vlan)
			walk_to(walk, domain, q, isolation_policy_native_of(state[q]));
	}
}

static void say_way(const struct walk *walk, uint32_t start, uint32_t end,
		    struct isolation_finding *finding)
{
	const struct fabric_model *model = walk->proof->model;
	CLEANUP(text_done) struct text text = {0};
	uint32_t hops = 0;

	for (uint32_t at = end; at != start && hops < walk->count; at = walk->from[at])
		walk->queue[hops++] = at;
	text_addf(&text, "%s VLAN %u",
		  model->switches[isolation_policy_switch_of(walk->proof, start)].name,
		  isolation_policy_vlan_of(walk->proof, start));
	while (hops > 0) {
		uint32_t at = walk->queue[--hops];
		uint32_t q = walk->via[at];

		text_addf(&text, ", %s - %s, %s VLAN %u", model->ports[model->ports[q].peer].name,
			  model->ports[q].name,
			  model->switches[isolation_policy_switch_of(walk->proof, at)].name,
			  isolation_policy_vlan_of(walk->proof, at));
	}
	(void)text_copy(finding->path, sizeof(finding->path), text_get(&text));
}

static int say_path(struct isolation_policy_proof *proof, uint32_t start, uint32_t end,
		    struct isolation_finding *finding)
{
	CLEANUP(freep) uint32_t *room = malloc(3 * sizeof(*room) * proof->domain_count);
	struct walk walk = {.proof = proof};

	if (!room)
		return -ENOMEM;
	walk.from = room;
	walk.via = room + proof->domain_count;
	walk.queue = room + 2 * (size_t)proof->domain_count;
	for (uint32_t i = 0; i < proof->domain_count; i++)
		walk.from[i] = MODEL_NONE;
	walk.from[start] = start;
	walk.queue[walk.count++] = start;
	for (uint32_t i = 0; i < walk.count && walk.from[end] == MODEL_NONE; i++)
		walk_next(&walk, walk.queue[i]);
	if (walk.from[end] != MODEL_NONE)
		say_way(&walk, start, end, finding);
	return 0;
}

/* --- domains that are one --- */

/* Two domains of one component whose numbers mean different things. */
static int check_pair(struct isolation_policy_proof *proof, uint32_t a, uint32_t b)
{
	uint32_t network_a = proof->owner[isolation_policy_vlan_of(proof, a)];
	uint32_t network_b = proof->owner[isolation_policy_vlan_of(proof, b)];
	struct isolation_finding *finding;
	uint32_t swap;

	if (isolation_policy_vlan_of(proof, a) == isolation_policy_vlan_of(proof, b) ||
	    network_a == network_b)
		return 0;
	if (network_a == MODEL_NONE) {
		swap = a;
		a = b;
		b = swap;
		network_a = network_b;
		network_b = MODEL_NONE;
	}
	finding = isolation_policy_find(
		proof, network_b == MODEL_NONE ? FAULT_FOREIGN_VLAN : FAULT_JOINED, MODEL_NONE);
	finding->network = network_a;
	finding->other = network_b;
	finding->vlan = (uint16_t)isolation_policy_vlan_of(proof, a);
	finding->other_vlan = (uint16_t)isolation_policy_vlan_of(proof, b);
	finding->at = isolation_policy_switch_of(proof, a);
	isolation_policy_taint(proof, finding);
	if (finding == &proof->unlisted)
		return 0; /* nobody reads the way */
	return say_path(proof, a, b, finding);
}

/* The first domain of a component stands for it, one with a network rather than one without; so
 * every further network in it is found. */
static int isolation_policy_check_domain(struct isolation_policy_proof *proof, uint32_t domain)
{
	uint32_t root = isolation_policy_root_of(proof, domain);
	uint32_t first = proof->first[root];

	if (first == MODEL_NONE) {
		proof->first[root] = domain;
		return 0;
	}
	if (proof->owner[isolation_policy_vlan_of(proof, first)] == MODEL_NONE)
		proof->first[root] = domain;
	return check_pair(proof, first, domain);
}

static int check_domains(struct isolation_policy_proof *proof)
{
	const struct fabric_model *model = proof->model;
	struct vlan_set linked = {0};

	for (uint32_t i = 0; i < proof->vlan_count; i++)
		vlan_set_add(&linked, proof->vlans[i]);
	for (uint32_t i = 0; i < proof->domain_count; i++)
		proof->first[i] = MODEL_NONE;
	for (uint32_t s = 0; s < model->switch_count; s++) {
		const struct fabric_switch *at = &model->switches[s];
		struct vlan_set present = {0};

		for (uint32_t p = at->first_port; p < at->first_port + at->port_count; p++) {
			struct vlan_set all;

			if (!proof->state[p] || model->ports[p].carrier != p)
				continue;
			all = port_vlans_all(proof->state[p]);
			present = vlan_set_union(&present, &all);
		}
		present = vlan_set_intersection(&present, &linked);
		for (unsigned v = vlan_set_next(&present, VLAN_FIRST); v;
		     v = vlan_set_next(&present, v + 1)) {
			int rc = isolation_policy_check_domain(
				proof, isolation_policy_domain_of(proof, s, v));

			if (rc)
				return rc;
		}
	}
	return 0;
}

/* --- the proof --- */

static void number_domains(struct isolation_policy_proof *proof)
{
	struct vlan_set linked = {0};

	for (uint32_t p = 0; p < proof->model->port_count; p++) {
		if (is_link(proof, p)) {
			port_vlans_add_to(proof->state[p], &linked);
			port_vlans_add_to(proof->state[proof->model->ports[p].peer], &linked);
		}
	}
	for (unsigned v = vlan_set_next(&linked, VLAN_FIRST); v;
	     v = vlan_set_next(&linked, v + 1)) {
		proof->place[v] = (uint16_t)proof->vlan_count;
		proof->vlans[proof->vlan_count++] = (uint16_t)v;
	}
	proof->place[NO_VLAN] = (uint16_t)proof->vlan_count;
	proof->vlans[proof->vlan_count++] = NO_VLAN;
	proof->domain_count = proof->model->switch_count * proof->vlan_count;
}

static int check_ways(struct isolation_policy_proof *proof)
{
	CLEANUP(freep) uint32_t *parent = NULL;
	CLEANUP(freep) uint32_t *first = NULL;

	number_domains(proof);
	if (proof->domain_count == 0)
		return 0;
	parent = malloc(sizeof(*parent) * proof->domain_count);
	if (!parent)
		return -ENOMEM;
	proof->parent = parent;
	for (uint32_t i = 0; i < proof->domain_count; i++)
		proof->parent[i] = i;
	check_links(proof);
	if (!proof->translated)
		return 0;
	first = malloc(sizeof(*first) * proof->domain_count);
	proof->first = first;
	return first ? check_domains(proof) : -ENOMEM;
}

int isolation_check(const struct fabric_model *model, const port_state state[],
		    const port_state meant[], const port_state before[],
		    struct isolation_report *ret)
{
	struct isolation_policy_proof proof = {.model = model, .state = state, .report = ret};
	int rc;

	isolation_report_init(ret);
	check_numbers(&proof);
	check_ports(&proof, meant, before);
	rc = check_ways(&proof);
	mark_last(&proof);
	isolation_report_sort(ret);
	return proof.failed ? -ENOMEM : rc;
}
