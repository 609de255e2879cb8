// links: peregrine_reconcile peregrine_network
/* Changes side by side: parts of plans, begun as soon as nothing under way forbids it, done in any
 * order, by halves, taken back in the middle, while what is wanted changes again; after each step
 * frames are flooded through what is there, and none may get from one network to another. Switches
 * refuse what real ones refuse, so a VLAN that goes while somebody needs it is found as well. */
#include "peregrine/control/reconcile/proof_policy.h"
#include "tests/support/cmocka.h"
#include "tests/unit/random_fabric.h"

enum { SEEDS = 1500, STEPS = 60, OPEN_MAX = 6, EDITS_MAX = 160, PARKING_LOW = 2 };

struct open_batch {
	struct plan_edit edits[EDITS_MAX];
	bool done[EDITS_MAX];
	size_t count;
	int stage;
	bool undoes;
};

struct world {
	struct random_fabric f; /* first; its state is what the switches do */
	bool had[RF_PORTS][RF_VLANS];
	struct vlan_set tables[RF_SWITCHES];
	struct open_batch open[OPEN_MAX];
	size_t open_count;
	uint64_t number;
	unsigned states, begun, beside, waited, staged, undone, ways;
};

static bool may_have(const struct random_fabric *f, uint32_t port, unsigned vlan)
{
	const struct world *world = (const struct world *)(const void *)f;

	return rf_meant(f, port, vlan) || world->had[port][vlan];
}

/* Free ports of one switch are nobody's, and do not meet either. */
static void look_at_parked(const struct world *world)
{
	unsigned seen[RF_SWITCHES] = {0};

	for (uint32_t p = 0; p < world->f.model.port_count; p++) {
		struct vlan_set all = port_vlans_all(&world->f.room[p]);
		unsigned *at = &seen[world->f.ports[p].at];

		for (unsigned v = PARKING_LOW; v <= world->f.model.parking_high; v++) {
			if (!vlan_set_has(&all, v))
				continue;
			if (*at & 1U << v)
				fail_msg("seed %llu: two ports in parking VLAN %u",
					 (unsigned long long)world->number, v);
			*at |= 1U << v;
		}
	}
}

static void look(struct world *world)
{
	unsigned copies = 0;
	unsigned leaks = rf_leaks(&world->f, world->f.state, may_have, &copies);

	look_at_parked(world);
	world->states++;
	if (leaks > 0 || copies > 0)
		fail_msg("seed %llu: %u leaks, %u copies, %zu open",
			 (unsigned long long)world->number, leaks, copies, world->open_count);
}

static bool port_is_free(const struct world *world, uint32_t port)
{
	for (size_t b = 0; b < world->open_count; b++) {
		for (size_t i = 0; i < world->open[b].count; i++) {
			if (world->open[b].edits[i].port == port)
				return false;
		}
	}
	return true;
}

/* A free port of each switch in a parking VLAN of its own, so that two in one are seen to meet. */
static void world_make(struct world *world, uint64_t seed)
{
	uint16_t next[RF_SWITCHES] = {0};

	memset(world, 0, sizeof(*world));
	world->number = seed;
	rf_make(&world->f, seed);
	world->f.model.parking = PARKING_LOW;
	world->f.model.parking_high = RF_LOW - 2;
	for (uint32_t s = 0; s < world->f.model.switch_count; s++)
		world->f.switches[s].enters_first = (seed + s) % 3 == 0;
	for (uint32_t p = 0; p < world->f.model.port_count; p++) {
		const struct fabric_port *port = &world->f.ports[p];

		vlan_set_add(&world->tables[port->at], 1);
		if (port->role != PORT_EDGE)
			continue;
		world->f.room[p].native = (uint16_t)(PARKING_LOW + next[port->at]++);
		vlan_set_add(&world->tables[port->at], world->f.room[p].native);
		world->had[p][world->f.room[p].native] = true;
	}
}

/* --- what switches do --- */

static void set_port(struct world *world, uint32_t port, const struct port_vlans *vlans)
{
	struct vlan_set all = port_vlans_all(vlans);

	if (!vlan_set_within(&all, &world->tables[world->f.ports[port].at]))
		fail_msg("seed %llu: a port gets a VLAN that its switch has not",
			 (unsigned long long)world->number);
	world->f.room[port] = *vlans;
	for (unsigned v = PARKING_LOW; v <= world->f.model.parking_high; v++)
		world->had[port][v] |= vlan_set_has(&all, v);
	look(world);
}

/* In the old and the new one, on a switch that does so: then one of them is nobody's. */
static struct port_vlans half_entered(struct world *world, uint32_t port,
				      const struct port_vlans *before,
				      const struct port_vlans *after)
{
	struct vlan_set old = port_vlans_all(before);
	struct vlan_set new = port_vlans_all(after);
	struct port_vlans half = {.trunk = true, .tagged = vlan_set_union(&old, &new)};

	half.native = before->native && rf_random(&world->f, 2) ? before->native : after->native;
	vlan_set_remove(&half.tagged, half.native);
	for (unsigned v = PARKING_LOW; v <= world->f.model.parking_high; v++) {
		world->ways += world->f.ports[port].member_count > 0 && vlan_set_has(&new, v) &&
			       !vlan_set_has(&old, v);
		vlan_set_remove(&old, v);
		vlan_set_remove(&new, v);
	}
	if (!vlan_set_within(&old, &new) && !vlan_set_within(&new, &old))
		fail_msg("seed %llu: a port is in VLANs of two networks",
			 (unsigned long long)world->number);
	return half;
}

static struct port_vlans half_done(struct world *world, uint32_t port,
				   const struct port_vlans *before, const struct port_vlans *after)
{
	struct port_vlans half = *before;
	struct vlan_set may = port_vlans_all(after);

	if (world->f.ports[port].role == PORT_EDGE &&
	    world->f.switches[world->f.ports[port].at].enters_first)
		return half_entered(world, port, before, after);
	/* Other edge ports lose first; uplinks may as well have gained already. */
	if (world->f.ports[port].role != PORT_EDGE && rf_random(&world->f, 2) &&
	    before->native == after->native) {
		half.tagged = vlan_set_union(&before->tagged, &after->tagged);
		half.trunk = before->trunk || after->trunk;
		return half;
	}
	if (half.native != after->native)
		half.native = 0;
	half.tagged = vlan_set_intersection(&half.tagged, &may);
	half.trunk = before->trunk && after->trunk;
	if (!half.trunk)
		half.tagged = (struct vlan_set){0};
	return half;
}

static void do_vlan(struct world *world, const struct plan_edit *edit, bool undo)
{
	struct vlan_set *table = &world->tables[edit->at];

	if ((edit->edit.kind == EDIT_VLAN_CREATE) != undo) {
		vlan_set_add(table, edit->edit.vlan);
		return;
	}
	for (uint32_t p = 0; p < world->f.model.port_count; p++) {
		struct vlan_set all = port_vlans_all(&world->f.room[p]);

		if (world->f.ports[p].at == edit->at && vlan_set_has(&all, edit->edit.vlan))
			fail_msg("seed %llu: VLAN %u goes and port %u is in it",
				 (unsigned long long)world->number, (unsigned)edit->edit.vlan, p);
	}
	vlan_set_remove(table, edit->edit.vlan);
}

/* As batch_share.c: the only edit of its uplink brings VLANs, so it is about these alone. */
static bool is_shared(const struct world *world, const struct open_batch *batch, size_t i)
{
	const struct plan_edit *edit = &batch->edits[i];

	for (size_t k = 0; k < batch->count; k++) {
		if (k != i && batch->edits[k].port == edit->port)
			return false;
	}
	return edit_is_uplink(&world->f.model, edit) && edit_grows(&edit->edit);
}

static void do_shared(struct world *world, const struct switch_edit *edit, uint32_t port, bool undo)
{
	struct vlan_set gains = edit_gains(edit);
	struct port_vlans now = world->f.room[port];

	now.trunk = true;
	now.tagged =
		undo ? vlan_set_minus(&now.tagged, &gains) : vlan_set_union(&now.tagged, &gains);
	now = port_vlans_plain(&now);
	set_port(world, port, &now);
}

static void do_edit(struct world *world, struct open_batch *batch, size_t i)
{
	const struct plan_edit *edit = &batch->edits[i];
	const struct port_vlans *before = batch->undoes ? &edit->edit.after : &edit->edit.before;
	const struct port_vlans *after = batch->undoes ? &edit->edit.before : &edit->edit.after;
	struct port_vlans half;

	batch->done[i] = !batch->undoes;
	if (edit->port == MODEL_NONE) {
		do_vlan(world, edit, batch->undoes);
		return;
	}
	if (is_shared(world, batch, i)) {
		do_shared(world, &edit->edit, edit->port, batch->undoes);
		return;
	}
	assert_true(port_vlans_equal(&world->f.room[edit->port], before));
	half = half_done(world, edit->port, before, after);
	set_port(world, edit->port, &half);
	set_port(world, edit->port, after);
}

/* Of the edits of its stage any that may come now: a switch does its own in their order. */
static bool advance(struct world *world, struct open_batch *batch)
{
	size_t ready[EDITS_MAX];
	size_t count = 0;

	for (;;) {
		uint32_t seen = 0;

		for (size_t k = 0; k < batch->count; k++) {
			size_t i = batch->undoes ? batch->count - 1 - k : k;

			if (batch->done[i] == !batch->undoes ||
			    (int)batch->edits[i].stage != batch->stage ||
			    (seen & 1U << batch->edits[i].at))
				continue;
			seen |= 1U << batch->edits[i].at;
			ready[count++] = i;
		}
		if (count > 0)
			break;
		batch->stage += batch->undoes ? -1 : 1;
		if (batch->stage < 0 || batch->stage >= PLAN_STAGE_COUNT)
			return false;
	}
	do_edit(world, batch, ready[rf_random(&world->f, (uint32_t)count)]);
	return true;
}

static void go_on(struct world *world, size_t b)
{
	if (!advance(world, &world->open[b]))
		world->open[b] = world->open[--world->open_count];
}

/* --- one pass --- */

struct ground {
	struct port_vlans room[RF_PORTS];
	port_state observed[RF_PORTS], applied[RF_PORTS];
	struct state_pool pool;
	struct flux flux;
	struct wanted wanted;
	struct plan plan;
	struct isolation_report now;
	struct proof proof;
};

static void lay_open(struct world *world, struct ground *ground)
{
	struct fabric_model *model = &world->f.model;
	const struct flux_ground below = {model, ground->observed, ground->applied, &ground->pool};

	assert_int_equal(flux_init(model, &ground->flux), 0);
	for (uint32_t p = 0; p < model->port_count; p++) {
		world->f.ports[p].busy = false;
		ground->room[p] = world->f.room[p];
		ground->observed[p] = ground->applied[p] = &ground->room[p];
	}
	for (uint32_t s = 0; s < model->switch_count; s++) {
		world->f.switches[s].moving = (struct vlan_set){0};
		world->f.switches[s].vlans = world->tables[s];
	}
	for (size_t b = 0; b < world->open_count; b++) {
		for (size_t i = 0; i < world->open[b].count; i++) {
			const struct plan_edit *edit = &world->open[b].edits[i];
			const struct flux_change change = {edit->at, edit->port,
							   world->open[b].undoes, &edit->edit};

			assert_int_equal(flux_lay(&ground->flux, &below, &change), 0);
		}
	}
}

static void begin(struct world *world, const struct ground *ground, uint32_t part)
{
	struct open_batch *batch = &world->open[world->open_count];

	batch->count = 0;
	batch->stage = 0;
	batch->undoes = false;
	memset(batch->done, 0, sizeof(batch->done));
	for (size_t i = 0; i < ground->plan.count; i++) {
		if (ground->proof.parts.of[i] == part && batch->count < EDITS_MAX)
			batch->edits[batch->count++] = ground->plan.edits[i];
	}
	if (batch->count == 0)
		return;
	world->begun++;
	world->beside += world->open_count > 0;
	world->open_count++;
}

/* How many parts there are that are not under way. */
static uint32_t pass(struct world *world)
{
	struct fabric_model *model = &world->f.model;
	struct ground ground = {0};
	port_state *state;
	uint32_t parts;

	lay_open(world, &ground);
	assert_int_equal(wanted_compute(model, ground.observed, &ground.wanted), 0);
	state = flux_state(&ground.flux, model, ground.observed);
	assert_non_null(state);
	assert_int_equal(
		isolation_check(model, state, ground.wanted.ports, ground.applied, &ground.now), 0);
	free(state);
	assert_int_equal(
		plan_make(model, ground.observed, &ground.wanted, ground.applied, &ground.plan), 0);

	const struct proof_ground below = {.model = model,
					   .observed = ground.observed,
					   .applied = ground.applied,
					   .wanted = &ground.wanted,
					   .plan = &ground.plan,
					   .flux = &ground.flux,
					   .now = &ground.now};

	assert_int_equal(proof_make(&below, &ground.proof), 0);
	parts = ground.proof.parts.count;
	for (uint32_t p = 0; p < parts; p++) {
		world->staged += ground.proof.staged[p];
		world->waited += !ground.proof.going[p];
		if (ground.proof.going[p] && world->open_count < OPEN_MAX)
			begin(world, &ground, p);
	}
	if (ground.proof.refused && !ground.flux.any)
		fail_msg("seed %llu: refused: %s", (unsigned long long)world->number,
			 ground.proof.fault.path);
	proof_done(&ground.proof);
	isolation_report_done(&ground.now);
	plan_done(&ground.plan);
	wanted_done(&ground.wanted);
	flux_done(&ground.flux);
	state_pool_done(&ground.pool);
	return parts;
}

/* --- what is wanted --- */

/* Until a port has got there, it may have what it was meant for before. */
static void want_anew(struct world *world, uint32_t p)
{
	struct random_fabric *f = &world->f;
	struct fabric_member *members = &f->members[2 * (size_t)p];
	struct vlan_set all = port_vlans_all(&f->room[p]);
	uint32_t first = rf_random(f, f->model.network_count);

	if (f->ports[p].role != PORT_EDGE)
		return;
	for (unsigned v = 0; v < RF_VLANS; v++) {
		if (port_is_free(world, p))
			world->had[p][v] = false;
		world->had[p][v] |= rf_meant(f, p, v) || vlan_set_has(&all, v);
	}
	f->model.member_count = RF_MEMBERS;
	f->ports[p].first_member = 2 * p;
	f->ports[p].member_count = rf_random(f, 5) == 0 ? 0 : 1;
	members[0] = (struct fabric_member){first, MEMBER_ACCESS, false};
	if (f->ports[p].member_count == 0 || f->model.network_count < 2 || rf_random(f, 4) > 0)
		return;
	members[0].mode = rf_random(f, 2) ? MEMBER_NATIVE : MEMBER_TAGGED;
	members[1] =
		(struct fabric_member){(first + 1) % f->model.network_count, MEMBER_TAGGED, false};
	f->ports[p].member_count = 2;
}

static void cut_or_mend(struct world *world)
{
	struct random_fabric *f = &world->f;
	uint32_t p = rf_random(f, f->model.port_count);
	uint32_t q = f->ports[p].peer;

	if (q != MODEL_NONE)
		f->ports[p].up = f->ports[q].up = !f->ports[p].up;
}

/* Everything comes to its end, and then nothing is left to do. */
static void settle(struct world *world)
{
	for (unsigned turn = 0; turn < 2000; turn++) {
		if (world->open_count == 0 && pass(world) == 0)
			return;
		if (world->open_count > 0)
			go_on(world, rf_random(&world->f, (uint32_t)world->open_count));
	}
	fail_msg("seed %llu: it does not end", (unsigned long long)world->number);
}

static void live(struct world *world)
{
	struct random_fabric *f = &world->f;

	for (unsigned step = 0; step < STEPS; step++) {
		uint32_t choice = rf_random(f, 40);
		size_t b = rf_random(f, (uint32_t)world->open_count);

		if (choice < 8)
			want_anew(world, rf_random(f, f->model.port_count));
		else if (choice == 8)
			cut_or_mend(world);
		else if (choice < 20)
			(void)pass(world);
		else if (choice == 20 && world->open_count > 0 && !world->open[b].undoes) {
			world->open[b].undoes = true;
			world->undone++;
		} else if (world->open_count > 0)
			go_on(world, b);
	}
	settle(world);
}

static void changes_side_by_side_keep_tenants_apart(void **unused)
{
	static struct world world;
	unsigned states = 0;
	unsigned begun = 0;
	unsigned beside = 0;
	unsigned waited = 0;
	unsigned staged = 0;
	unsigned undone = 0;
	unsigned ways = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		world_make(&world, seed);
		for (uint32_t p = 0; p < world.f.model.port_count; p++)
			want_anew(&world, p);
		settle(&world);
		live(&world);
		states += world.states;
		begun += world.begun;
		beside += world.beside;
		waited += world.waited;
		staged += world.staged;
		undone += world.undone;
		ways += world.ways;
	}
	print_message("%u batches, %u begun beside others, %u waited, %u by stages, %u undone, %u "
		      "times to a parking VLAN where ports enter first; %u states\n",
		      begun, beside, waited, staged, undone, ways, states);
	assert_true(beside > SEEDS / 2 && waited > SEEDS && staged > SEEDS / 100 &&
		    undone > SEEDS / 5 && ways > SEEDS / 3);
}

/* Two nodes of two tenants change places. While a free port has the only number they stay, so that
 * they do not meet it; with another one they go one after the other. */
static void one_at_a_time_by_the_number_that_is_left(void **unused)
{
	struct fabric_switch at = {.name = "s", .port_count = 3, .enters_first = true};
	struct fabric_port ports[3];
	struct fabric_network networks[] = {{1, 1, "a", NULL, 10}, {2, 2, "b", NULL, 11}};
	struct fabric_member members[] = {{1, MEMBER_ACCESS, false}, {0, MEMBER_ACCESS, false}};
	struct fabric_model model = {.vlan_low = 10,
				     .vlan_high = 19,
				     .parking = 2,
				     .parking_high = 2,
				     .switches = &at,
				     .switch_count = 1,
				     .ports = ports,
				     .port_count = 3,
				     .members = members,
				     .member_count = 2,
				     .networks = networks,
				     .network_count = 2};
	struct port_vlans room[] = {{.native = 10}, {.native = 11}, {.native = 2}};
	port_state observed[] = {&room[0], &room[1], &room[2]};
	struct wanted wanted;
	struct plan plan;

	(void)unused;
	for (uint32_t p = 0; p < 3; p++)
		ports[p] = (struct fabric_port){.name = "p",
						.role = PORT_EDGE,
						.carrier = p,
						.peer = MODEL_NONE,
						.first_member = p,
						.member_count = p < 2};
	vlan_set_add(&at.vlans, 2);
	vlan_set_add_range(&at.vlans, 10, 11);
	assert_int_equal(wanted_compute(&model, observed, &wanted), 0);
	assert_int_equal(plan_make(&model, observed, &wanted, observed, &plan), 0);
	assert_int_equal(plan.count, 0);
	assert_true(plan.stuck[0] && plan.stuck[1]);
	plan_done(&plan);
	wanted_done(&wanted);
	model.parking_high = 3;
	vlan_set_add(&at.vlans, 3);
	for (uint32_t p = 0; p < 2; p++) {
		assert_int_equal(wanted_compute(&model, observed, &wanted), 0);
		assert_int_equal(plan_make(&model, observed, &wanted, observed, &plan), 0);
		assert_int_equal(plan.count, 2);
		assert_int_equal(plan.edits[0].stage, STAGE_CUT);
		assert_int_equal(plan.edits[0].port, p);
		assert_int_equal(plan.edits[0].edit.after.native, 3);
		assert_int_equal(plan.edits[1].port, p);
		room[p] = plan.edits[1].edit.after;
		plan_done(&plan);
		wanted_done(&wanted);
	}
	assert_true(room[0].native == 11 && room[1].native == 10);
}

/* Three nodes whose tenants have left, and two numbers: the third stays among its own, unless
 * somebody else may be behind it. */
static void free_ports_share_no_number(void **unused)
{
	struct fabric_switch at = {.name = "s", .port_count = 3};
	struct fabric_port ports[3];
	const struct fabric_model model = {.vlan_low = 10,
					   .vlan_high = 19,
					   .parking = 2,
					   .parking_high = 3,
					   .switches = &at,
					   .switch_count = 1,
					   .ports = ports,
					   .port_count = 3};
	const struct port_vlans room[] = {{.native = 10}, {.native = 11}, {.native = 12}};
	const port_state observed[] = {&room[0], &room[1], &room[2]};
	struct wanted wanted;

	(void)unused;
	for (uint32_t p = 0; p < 3; p++)
		ports[p] = (struct fabric_port){
			.name = "p", .role = PORT_EDGE, .carrier = p, .peer = MODEL_NONE};
	assert_int_equal(wanted_compute(&model, observed, &wanted), 0);
	assert_true(wanted.ports[0]->native == 2 && wanted.ports[1]->native == 3);
	assert_true(wanted.ports[2] == observed[2] && wanted.faults[2] == WANTED_NO_PARKING);
	wanted_done(&wanted);
	ports[2].blocked = true;
	assert_int_equal(wanted_compute(&model, observed, &wanted), 0);
	assert_int_equal(wanted.ports[2]->native, 2);
	assert_true(wanted.ports[0]->native == 3 && wanted.faults[1] == WANTED_NO_PARKING);
	wanted_done(&wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_side_by_side_keep_tenants_apart),
		cmocka_unit_test(one_at_a_time_by_the_number_that_is_left),
		cmocka_unit_test(free_ports_share_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
