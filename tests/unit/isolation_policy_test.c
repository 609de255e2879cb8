// links: peregrine_reconcile peregrine_network
//: timeout 300
/* The proof of isolation: each fault by hand, and against flooding for fabrics of any shape. */
#include "common/base/error.h"

#include "tests/unit/isolation_case.h"

/* --- each fault by hand --- */

struct small {
	struct random_fabric f;
	struct port_vlans meant_room[RF_PORTS];
	port_state meant[RF_PORTS];
};

/* s0 - s1, one uplink each (ports 0 and 3); ports 1, 2 and 4, 5 are for networks 10 and 11. */
static void small_make(struct small *s)
{
	struct random_fabric *f = &s->f;

	memset(s, 0, sizeof(*s));
	f->model = (struct fabric_model){.name = "f",
					 .vlan_low = RF_LOW,
					 .vlan_high = RF_LOW + 9,
					 .parking = RF_PARKING,
					 .switches = f->switches,
					 .switch_count = 2,
					 .ports = f->ports,
					 .members = f->members,
					 .networks = f->networks,
					 .network_count = 2};
	f->switches[0] = (struct fabric_switch){.id = 1, .name = "s0", .first_port = 0};
	f->switches[1] = (struct fabric_switch){.id = 2, .name = "s1", .first_port = 3};
	for (uint32_t p = 0; p < 6; p++)
		(void)rf_port(f, p / 3, p % 3 == 0 ? PORT_UPLINK : PORT_EDGE);
	f->ports[0].peer = 3;
	f->ports[3].peer = 0;
	for (uint32_t n = 0; n < 2; n++)
		f->networks[n] = (struct fabric_network){.id = n + 1,
							 .name = n ? "blue" : "red",
							 .tenant = n ? NULL : "acme",
							 .vlan = (uint16_t)(RF_LOW + n)};
	for (uint32_t p = 0; p < 6; p++) {
		struct port_vlans *vlans = &s->meant_room[p];

		*vlans = (struct port_vlans){.trunk = p % 3 == 0,
					     .native = p % 3 ? (uint16_t)(RF_LOW + p % 3 - 1) : 1};
		if (vlans->trunk)
			vlan_set_add_range(&vlans->tagged, RF_LOW, RF_LOW + 1);
		f->room[p] = *vlans;
		f->state[p] = &f->room[p];
		s->meant[p] = vlans;
	}
}

struct fault_row {
	const char *name;
	void (*break_it)(struct small *s);
	enum isolation_fault fault;
	const char *path;
	const char *message; /* user 10: who, and where */
	const char *hint;
};

static void break_number(struct small *s)
{
	s->f.networks[1].vlan = s->f.networks[0].vlan;
}

static void break_stranger(struct small *s)
{
	s->f.room[4].native = RF_LOW + 1;
}

static void break_tags(struct small *s)
{
	s->f.room[4].trunk = true;
}

/* No switch can mean that; an agent may say it all the same. */
static void break_access(struct small *s)
{
	s->f.room[4].native = 5000;
}

/* From red into blue by the untagged frames of a switch that tells them by no VLAN: of p0 of s0,
 * over p3 and p6 of s1, to p7 of s2. */
static void break_through_no_vlan(struct small *s)
{
	struct random_fabric *f = &s->f;
	static const struct port_vlans natives[] = {{.native = 5000}, {.native = RF_LOW + 1}};
	uint32_t ends[2];

	f->model.switch_count = 3;
	f->switches[2] = (struct fabric_switch){.id = 3, .name = "s2", .first_port = 7};
	for (uint32_t i = 0; i < 2; i++) {
		ends[i] = rf_port(f, i + 1, PORT_UPLINK);
		f->room[ends[i]] = natives[i];
		f->state[ends[i]] = s->meant[ends[i]] = &f->room[ends[i]];
	}
	f->ports[ends[0]].peer = ends[1];
	f->ports[ends[1]].peer = ends[0];
	f->room[0] = (struct port_vlans){.native = RF_LOW};
	f->room[3] = (struct port_vlans){.native = 5000};
}

static void break_foreign(struct small *s)
{
	s->f.ports[5].role = PORT_FOREIGN;
}

static void break_former(struct small *s)
{
	s->f.ports[0].role = PORT_FORMER;
	s->f.ports[0].peer = s->f.ports[3].peer = MODEL_NONE;
}

/* The trap: native VLANs of the two ends differ, and two VLANs are one. */
static void break_native(struct small *s)
{
	s->f.room[0].native = RF_LOW;
	s->f.room[3].native = RF_LOW + 1;
}

static void break_to_foreign(struct small *s)
{
	s->f.room[3].native = RF_LOW;
}

static void break_parking(struct small *s)
{
	vlan_set_add(&s->f.room[0].tagged, RF_PARKING);
}

static void break_circle(struct small *s)
{
	uint32_t a = rf_port(&s->f, 1, PORT_UPLINK);
	uint32_t b = rf_port(&s->f, 1, PORT_UPLINK);

	/* A cable from s1 to itself: both of its ends are there. */
	s->f.ports[a].peer = b;
	s->f.ports[b].peer = a;
	s->f.room[a] = s->f.room[b] = s->f.room[3];
	s->f.room[a].native = s->f.room[b].native = 0;
	s->f.state[a] = s->meant[a] = &s->f.room[a];
	s->f.state[b] = s->meant[b] = &s->f.room[b];
}

static const struct fault_row fault_rows[] = {
	{"one number", break_number, FAULT_ONE_NUMBER, "VLAN 10",
	 "VLAN 10 serves network blue and network red of tenant acme",
	 "haasctl network list shows the VLAN of each network"},
	{"stranger", break_stranger, FAULT_STRANGER, "s1:p4 carries VLAN 11",
	 "port s1:p4 is in network blue; it is meant for network red of tenant acme",
	 "haasctl switch diff s1 shows what differs there"},
	{"tags", break_tags, FAULT_TAGS, "s1:p4 carries VLAN 10",
	 "access port s1:p4 of network red of tenant acme takes tagged frames",
	 "haasctl switch diff s1 shows what differs there"},
	{"access to no VLAN", break_access, FAULT_TAGS, "s1:p4 carries VLAN 5000",
	 "access port s1:p4 of VLAN 5000 takes tagged frames",
	 "haasctl switch diff s1 shows what differs there"},
	{"through no VLAN", break_through_no_vlan, FAULT_JOINED,
	 "s0 VLAN 10, p0 - p3, s1 VLAN 4095, p6 - p7, s2 VLAN 11",
	 "network red of tenant acme meets network blue at switch s0",
	 "haasctl switch diff s0 shows what differs there"},
	{"foreign port", break_foreign, FAULT_FOREIGN_PORT, "s1:p5 carries VLAN 11",
	 "port s1:p5 is in network blue; the port is not ours",
	 "haasctl switch diff s1 shows what differs there"},
	{"former link", break_former, FAULT_FOREIGN_PORT, "s0:p0 carries VLAN 10",
	 "port s0:p0 is in network red of tenant acme; the port is not ours",
	 "haasctl switch diff s0 shows what differs there"},
	{"native mismatch", break_native, FAULT_JOINED, "s0 VLAN 10, p0 - p3, s1 VLAN 11",
	 "network red of tenant acme meets network blue at switch s0",
	 "haasctl switch diff s0 shows what differs there"},
	{"native of ours", break_to_foreign, FAULT_FOREIGN_VLAN,
	 "s0 VLAN 10, p0 - p3, s1 VLAN 10, p3 - p0, s0 VLAN 1",
	 "network red of tenant acme meets VLAN 1 at switch s0; that VLAN is not ours",
	 "haasctl switch diff s0 shows what differs there"},
	{"parking", break_parking, FAULT_PARKING, "s0:p0 carries VLAN 20",
	 "port s0:p0 carries parking VLAN 20 to another switch",
	 "haasctl switch diff s0 shows what differs there"},
	{"circle", break_circle, FAULT_LOOP, "VLAN 10 over s1:p6 - s1:p7 and another way",
	 "network red of tenant acme has a loop over port s1:p6",
	 "haasctl switch diff s1 shows what differs there"},
};

static void each_fault_is_found(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < COUNT_OF(fault_rows); i++) {
		const struct fault_row *row = &fault_rows[i];
		struct isolation_report report;
		struct problem problem;
		struct small s;
		bool found = false;

		small_make(&s);
		report = check(&s.f, s.f.state, s.meant, NULL);
		assert_int_equal(report.count, 0);
		row->break_it(&s);
		report = check(&s.f, s.f.state, s.meant, NULL);
		for (size_t k = 0; k < report.count && k < ISOLATION_FINDINGS; k++) {
			if (report.findings[k].fault != row->fault ||
			    strcmp(report.findings[k].path, row->path) != 0)
				continue;
			found = true;
			isolation_problem(&s.f.model, &report.findings[k], ISOLATION_IS, &problem);
			assert_int_equal(problem.code, E_CONFLICT);
			assert_string_equal(problem.message, row->message);
			assert_string_equal(problem.detail, row->path);
			assert_string_equal(problem.hint, row->hint);
			isolation_problem(&s.f.model, &report.findings[k], ISOLATION_WOULD_BE,
					  &problem);
			assert_non_null(strstr(problem.message, " would "));
			assert_ptr_equal(strstr(problem.hint, "no edit was sent; "), problem.hint);
		}
		if (!found)
			fail_msg("%s: %zu findings, first %s: %s", row->name, report.count,
				 report.count ? isolation_fault_text(report.findings[0].fault)
					      : "none",
				 report.count ? report.findings[0].path : "");
	}
}

static void what_was_before_is_allowed_but_no_mixture(void **unused)
{
	struct port_vlans before_room = {.native = RF_LOW + 1};
	port_state before[RF_PORTS] = {NULL};
	struct isolation_report report;
	struct small s;

	(void)unused;
	small_make(&s);
	before[1] = &before_room;
	s.f.room[1].native = RF_LOW + 1;
	report = check(&s.f, s.f.state, s.meant, before);
	assert_int_equal(report.count, 0);
	s.f.room[1].trunk = true;
	vlan_set_add(&s.f.room[1].tagged, RF_LOW);
	report = check(&s.f, s.f.state, s.meant, before);
	assert_int_equal(report.count, 1);
}

/* --- more findings than are listed --- */

enum { MANY = ISOLATION_FINDINGS + 9 };

/* One switch whose every port is an access port of another network, and is not ours where `bad`
 * says so. */
struct many {
	struct fabric_switch at;
	struct fabric_port ports[MANY];
	struct fabric_network networks[MANY];
	char names[MANY][8];
	struct port_vlans room[MANY];
	port_state state[MANY];
	struct fabric_model model;
};

static void many_check(struct many *many, const bool bad[], struct isolation_report *ret)
{
	memset(many, 0, sizeof(*many));
	many->at = (struct fabric_switch){.id = 1, .name = "s", .port_count = MANY};
	for (uint32_t i = 0; i < MANY; i++) {
		(void)snprintf(many->names[i], sizeof(many->names[i]), "p%u", (unsigned)i);
		many->ports[i] = (struct fabric_port){.name = many->names[i],
						      .role = bad[i] ? PORT_FOREIGN : PORT_EDGE,
						      .carrier = i,
						      .peer = MODEL_NONE};
		many->networks[i] = (struct fabric_network){
			.id = i + 1, .name = many->names[i], .vlan = (uint16_t)(RF_LOW + i)};
		many->room[i].native = (uint16_t)(RF_LOW + i);
		many->state[i] = &many->room[i];
	}
	many->model = (struct fabric_model){.vlan_low = RF_LOW,
					    .vlan_high = RF_LOW + MANY,
					    .parking = RF_LOW + MANY + 1,
					    .switches = &many->at,
					    .switch_count = 1,
					    .ports = many->ports,
					    .port_count = MANY,
					    .networks = many->networks,
					    .network_count = MANY};
	assert_int_equal(isolation_check(&many->model, many->state, many->state, NULL, ret), 0);
}

/* As many as before, and the new one is beyond the list. */
static void a_new_finding_is_found_among_many(void **unused)
{
	CLEANUP(isolation_report_done) struct isolation_report before = {0};
	CLEANUP(isolation_report_done) struct isolation_report after = {0};
	struct isolation_finding finding;
	struct vlan_set vlans;
	struct many many;
	bool bad[MANY];

	(void)unused;
	for (uint32_t i = 0; i < MANY; i++)
		bad[i] = i < MANY - 1;
	many_check(&many, bad, &before);
	assert_int_equal(before.count, MANY - 1);
	assert_int_equal(before.mark_count, MANY - 1);
	assert_false(isolation_news(&many.model, &before, &before, &vlans, &finding));
	assert_true(vlan_set_is_empty(&vlans));
	bad[3] = false;
	bad[MANY - 1] = true;
	many_check(&many, bad, &after);
	assert_int_equal(after.count, before.count);
	assert_true(isolation_news(&many.model, &before, &after, &vlans, &finding));
	assert_int_equal(vlan_set_count(&vlans), 1);
	assert_true(vlan_set_has(&vlans, RF_LOW + MANY - 1));
	assert_int_equal(finding.port, MANY - 1);
	assert_string_equal(finding.path, "s:p40 carries VLAN 50");
	assert_true(isolation_news(&many.model, &after, &before, &vlans, NULL));
	assert_true(vlan_set_has(&vlans, RF_LOW + 3));
}

/* Whom a further port would be held for: any of them, listed or not. */
static void a_vlan_is_found_among_many(void **unused)
{
	CLEANUP(isolation_report_done) struct isolation_report report = {0};
	struct isolation_finding finding;
	struct vlan_set vlans = {0};
	struct many many;
	bool bad[MANY];

	(void)unused;
	for (uint32_t i = 0; i < MANY; i++)
		bad[i] = i != 5;
	many_check(&many, bad, &report);
	vlan_set_add(&vlans, RF_LOW + 5);
	assert_false(vlan_set_has(&report.named, RF_LOW + 5));
	assert_false(isolation_with(&many.model, &report, &vlans, &finding));
	vlan_set_add(&vlans, RF_LOW + MANY - 1);
	assert_true(vlan_set_has(&report.named, RF_LOW + MANY - 1));
	assert_true(isolation_with(&many.model, &report, &vlans, &finding));
	assert_int_equal(finding.port, MANY - 1);
	assert_int_equal(finding.network, MANY - 1);
	vlan_set_add(&vlans, RF_LOW);
	assert_true(isolation_with(&many.model, &report, &vlans, &finding));
	assert_string_equal(finding.path, "s:p0 carries VLAN 10");
}

/* --- against flooding --- */

/* Never "proven" where a frame gets through; and a path that is named is one that frames take. */
static void the_proof_agrees_with_flooding(void **unused)
{
	unsigned clean = 0;
	unsigned leaking = 0;
	unsigned joined = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct random_fabric f;
		struct wanted wanted;
		struct isolation_report report;
		unsigned copies = 0;
		unsigned leaks;

		rf_make(&f, seed);
		rf_intend(&f);
		assert_int_equal(wanted_compute(&f.model, f.state, &wanted), 0);
		rf_settle(&f, wanted.ports);
		for (uint32_t n = rf_random(&f, 4); n > 0; n--) {
			uint32_t p = rf_random(&f, f.model.port_count);

			f.room[p] = random_vlans(&f);
		}
		/* What is equal to what is there is the same pointer: want it anew. */
		wanted_done(&wanted);
		assert_int_equal(wanted_compute(&f.model, f.state, &wanted), 0);
		report = check(&f, f.state, wanted.ports, NULL);
		leaks = rf_leaks(&f, f.state, rf_meant, &copies);
		clean += report.count == 0;
		leaking += leaks > 0;
		if (report.count == 0 && (leaks > 0 || copies > 0))
			fail_msg("seed %llu: proven, and yet %u leaks, %u copies",
				 (unsigned long long)seed, leaks, copies);
		for (size_t i = 0; i < report.count && i < ISOLATION_FINDINGS; i++) {
			const struct isolation_finding *finding = &report.findings[i];

			joined += finding->fault == FAULT_JOINED;
			if (finding->fault == FAULT_JOINED)
				assert_true(strstr(finding->path, " - ") != NULL);
		}
		wanted_done(&wanted);
	}
	print_message("%u clean, %u leaking, %u joined of %u\n", clean, leaking, joined,
		      (unsigned)SEEDS);
	assert_true(clean > SEEDS / 20 && leaking > SEEDS / 20 && joined > SEEDS / 50);
}

/* A switch may tell anything as its native VLAN. */
static void a_number_that_is_none_is_a_domain_like_others(void **state)
{
	static const uint16_t natives[] = {4095, 4096, 60000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(natives); i++) {
		struct isolation_report report;
		struct small s;

		small_make(&s);
		s.f.room[0].native = natives[i];
		report = check(&s.f, s.f.state, s.meant, NULL);
		assert_int_equal(report.count, 0);
		s.f.room[3].native = RF_LOW + 1;
		report = check(&s.f, s.f.state, s.meant, NULL);
		assert_int_equal(report.count, 0); /* nobody else is in it */
	}
}

/* Two ends were cabled and one has become a node's: its port carries what the node is meant for. */
static void a_node_on_a_links_end_gets_no_tags(void **state)
{
	struct small s;
	struct wanted wanted;

	(void)state;
	small_make(&s);
	s.f.ports[3].role = PORT_EDGE;
	for (uint32_t i = 0; i < 2; i++) {
		s.f.members[i] = (struct fabric_member){.network = 0, .mode = MEMBER_ACCESS};
		s.f.ports[i ? 4 : 1].first_member = i;
		s.f.ports[i ? 4 : 1].member_count = 1;
	}
	s.f.model.member_count = 2;
	assert_int_equal(wanted_compute(&s.f.model, s.f.state, &wanted), 0);
	assert_false(wanted.ports[3]->trunk);
	assert_int_equal(wanted.ports[3]->native, RF_PARKING);
	assert_int_equal(wanted.ports[4]->native, RF_LOW);
	wanted_done(&wanted);
}

/* --- where states live --- */

static void an_untagged_vlan_is_one_state_for_all(void **state)
{
	struct state_pool pools[2] = {0};
	struct port_vlans trunk = {.trunk = true, .native = 7};
	port_state kept;

	(void)state;
	for (unsigned v = 0; v < VLAN_LIMIT; v++) {
		const struct port_vlans access = {.native = (uint16_t)v};
		port_state one = state_pool_add(&pools[0], &access, NULL);

		assert_true(port_vlans_equal(one, &access) && one != &access);
		assert_ptr_equal(state_pool_add(&pools[1], &access, one), one);
		assert_ptr_equal(state_pool_add(&pools[1], &access, NULL), one);
	}
	/* What has tags, or drops untagged frames, or should have no tags and has, is a copy. */
	kept = state_pool_add(&pools[0], &trunk, NULL);
	assert_true(port_vlans_equal(kept, &trunk) && kept->trunk && kept->native == 7);
	vlan_set_add(&trunk.tagged, 9);
	kept = state_pool_add(&pools[1], &trunk, NULL);
	trunk.trunk = false;
	assert_true(vlan_set_has(&kept->tagged, 9));
	kept = state_pool_add(&pools[1], &trunk, NULL);
	assert_true(port_vlans_equal(kept, &trunk) && vlan_set_has(&kept->tagged, 9));
	trunk = (struct port_vlans){.trunk = true};
	kept = state_pool_add(&pools[1], &trunk, NULL);
	assert_true(port_vlans_equal(kept, &trunk) && kept->trunk);
	for (size_t i = 0; i < COUNT_OF(pools); i++)
		state_pool_done(&pools[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_is_found),
		cmocka_unit_test(what_was_before_is_allowed_but_no_mixture),
		cmocka_unit_test(a_new_finding_is_found_among_many),
		cmocka_unit_test(a_vlan_is_found_among_many),
		cmocka_unit_test(the_proof_agrees_with_flooding),
		cmocka_unit_test(a_number_that_is_none_is_a_domain_like_others),
		cmocka_unit_test(a_node_on_a_links_end_gets_no_tags),
		cmocka_unit_test(an_untagged_vlan_is_one_state_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
