// links: peregrine_reconcile peregrine_network
//: timeout 300
/* The order of changes, on fabrics of any shape: every prefix of every plan keeps tenants apart,
 * and what a plan ends with reaches whom it should. */
#include "tests/unit/isolation_case.h"

/* --- every prefix of a plan --- */

/* What a driver may have done of an edit when it died: nothing, the removing half, or all. */
static struct port_vlans half_done(const struct port_vlans *before, const struct port_vlans *after)
{
	struct port_vlans half = *before;
	struct vlan_set may = port_vlans_all(after);

	if (half.native != after->native)
		half.native = 0;
	half.tagged = vlan_set_intersection(&half.tagged, &may);
	half.trunk = before->trunk && after->trunk;
	if (!half.trunk)
		half.tagged = (struct vlan_set){0};
	return half;
}

struct run {
	struct random_fabric f;       /* first */
	bool had[RF_PORTS][RF_VLANS]; /* by the intent before */
};

static bool may_have(const struct random_fabric *f, uint32_t port, unsigned vlan)
{
	const struct run *run = (const struct run *)(const void *)f;

	return rf_meant(f, port, vlan) || run->had[port][vlan];
}

static void assert_apart(struct run *run, const port_state state[], const struct wanted *wanted,
			 const port_state before[], uint64_t seed)
{
	struct isolation_report report = check(&run->f, state, wanted->ports, before);
	unsigned copies = 0;
	unsigned leaks = rf_leaks(&run->f, state, may_have, &copies);

	if (report.count > 0 || leaks > 0 || copies > 0)
		fail_msg("seed %llu: %zu findings (%s: %s), %u leaks, %u copies",
			 (unsigned long long)seed, report.count,
			 report.count ? isolation_fault_text(report.findings[0].fault) : "",
			 report.count ? report.findings[0].path : "", leaks, copies);
}

/* Sends the edits of a plan in a random order within each stage, looking after each and after each
 * half; returns how many states it has seen. */
static unsigned walk_plan(struct run *run, const struct plan *plan, const struct wanted *wanted,
			  const port_state before[], uint64_t seed)
{
	port_state state[RF_PORTS];
	unsigned states = 0;

	memcpy(state, run->f.state, sizeof(state));
	for (int stage = 0; stage < PLAN_STAGE_COUNT; stage++) {
		size_t order[256];
		size_t count = 0;

		for (size_t i = 0; i < plan->count && count < 256; i++) {
			if (plan->edits[i].stage == (enum plan_stage)stage)
				order[count++] = i;
		}
		for (size_t i = 0; i < count; i++) {
			size_t other = i + rf_random(&run->f, (uint32_t)(count - i));
			size_t chosen = order[other];
			const struct plan_edit *edit = &plan->edits[chosen];
			struct port_vlans half;

			order[other] = order[i];
			if (edit->port == MODEL_NONE)
				continue;
			assert_true(port_vlans_equal(state[edit->port], &edit->edit.before));
			half = half_done(&edit->edit.before, &edit->edit.after);
			state[edit->port] = &half;
			assert_apart(run, state, wanted, before, seed);
			state[edit->port] = edit->after;
			assert_apart(run, state, wanted, before, seed);
			states += 2;
		}
	}
	for (uint32_t p = 0; p < run->f.model.port_count; p++)
		assert_true(port_vlans_equal(state[p], wanted->ports[p]));
	return states;
}

static void change_cabling(struct random_fabric *f)
{
	for (uint32_t p = 0; p < f->model.port_count; p++) {
		uint32_t q = f->ports[p].peer;

		if (q == MODEL_NONE || q < p || rf_random(f, 5) > 0)
			continue;
		if (rf_random(f, 2)) {
			f->ports[p].up = f->ports[q].up = !f->ports[p].up;
		} else {
			f->ports[p].role = f->ports[q].role = PORT_FORMER;
			f->ports[p].peer = f->ports[q].peer = MODEL_NONE;
		}
	}
}

static void every_prefix_of_a_plan_keeps_tenants_apart(void **unused)
{
	unsigned states = 0;
	unsigned plans = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct run run;

		memset(&run.had, 0, sizeof(run.had));
		rf_make(&run.f, seed);
		for (unsigned round = 0; round < 4; round++) {
			port_state before[RF_PORTS];
			struct wanted wanted;
			struct plan plan;

			rf_intend(&run.f);
			if (round > 0 && rf_random(&run.f, 2))
				change_cabling(&run.f);
			assert_int_equal(wanted_compute(&run.f.model, run.f.state, &wanted), 0);
			memcpy(before, run.f.state, sizeof(before));
			assert_int_equal(
				plan_make(&run.f.model, run.f.state, &wanted, before, &plan), 0);
			/* A cable that is gone leaves a port that is not apart until it is cut. */
			if (check(&run.f, run.f.state, wanted.ports, before).count == 0) {
				states += walk_plan(&run, &plan, &wanted, before, seed);
				plans++;
			}
			rf_settle(&run.f, wanted.ports);
			for (uint32_t p = 0; p < run.f.model.port_count; p++) {
				for (unsigned v = 0; v < RF_VLANS; v++)
					run.had[p][v] = rf_meant(&run.f, p, v);
			}
			plan_done(&plan);
			wanted_done(&wanted);
		}
	}
	print_message("%u plans, %u states\n", plans, states);
	assert_true(plans > SEEDS && states > SEEDS * 10);
}

/* Somebody changed ports by hand: repairing brings no fault that was not there, and ends clean. */
static void repairing_makes_nothing_worse(void **unused)
{
	unsigned repaired = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_fabric f;
		port_state state[RF_PORTS];
		port_state before[RF_PORTS];
		struct isolation_report first;
		struct wanted wanted;
		struct plan plan;

		rf_make(&f, seed);
		rf_intend(&f);
		assert_int_equal(wanted_compute(&f.model, f.state, &wanted), 0);
		rf_settle(&f, wanted.ports);
		wanted_done(&wanted);
		struct port_vlans applied_room[RF_PORTS];

		memcpy(applied_room, f.room, sizeof(applied_room));
		for (uint32_t p = 0; p < f.model.port_count; p++)
			before[p] = &applied_room[p];
		for (uint32_t n = 1 + rf_random(&f, 3); n > 0; n--)
			f.room[rf_random(&f, f.model.port_count)] = random_vlans(&f);
		assert_int_equal(wanted_compute(&f.model, f.state, &wanted), 0);
		assert_int_equal(plan_make(&f.model, f.state, &wanted, before, &plan), 0);
		first = check(&f, f.state, wanted.ports, before);
		repaired += first.count > 0;
		memcpy(state, f.state, sizeof(state));
		for (size_t i = 0; i < plan.count; i++) {
			struct isolation_report report;

			if (plan.edits[i].port == MODEL_NONE)
				continue;
			state[plan.edits[i].port] = plan.edits[i].after;
			report = check(&f, state, wanted.ports, before);
			if (report.count > first.count)
				fail_msg("seed %llu: %zu findings, then %zu (%s: %s)",
					 (unsigned long long)seed, first.count, report.count,
					 isolation_fault_text(report.findings[0].fault),
					 report.findings[0].path);
		}
		assert_int_equal(check(&f, state, wanted.ports, before).count, 0);
		plan_done(&plan);
		wanted_done(&wanted);
	}
	assert_true(repaired > SEEDS / 4);
}

/* --- trees --- */

/* Ports of one network reach one another wherever cables allow it, over no circle. */
static void networks_reach_all_their_ports(void **unused)
{
	unsigned pairs = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_fabric f;
		struct wanted wanted;

		rf_make(&f, seed);
		rf_intend(&f);
		assert_int_equal(wanted_compute(&f.model, f.state, &wanted), 0);
		for (uint32_t p = 0; p < f.model.port_count; p++) {
			for (unsigned v = RF_LOW; v < RF_LOW + RF_NETWORKS; v++) {
				struct rf_flood flood = {.f = &f, .state = wanted.ports};

				if (f.ports[p].role != PORT_EDGE || !rf_meant(&f, p, v))
					continue;
				rf_arrive(&flood, (struct rf_frame){p, v});
				assert_int_equal(flood.copies, 0);
				for (uint32_t q = 0; q < f.model.port_count; q++) {
					if (q == p || !rf_meant(&f, q, v))
						continue;
					pairs++;
					assert_true(flood.reached[q][v] ||
						    vlan_set_has(&wanted.split, v));
				}
			}
		}
		wanted_done(&wanted);
	}
	assert_true(pairs > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_prefix_of_a_plan_keeps_tenants_apart),
		cmocka_unit_test(repairing_makes_nothing_worse),
		cmocka_unit_test(networks_reach_all_their_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
