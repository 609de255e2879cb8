// links: peregrine_fabric peregrine_switch common_net common_base
/* Ports of tenants whose cable was moved: what blocks them, what does not, and what ends it. */
#include "peregrine/control/fabric/guard_policy.h"
#include "tests/support/fabric_lab.h"

enum { RED = 7, BLUE = 8 };

/* s1:4, s1:5 and s2:5 are in networks; rows sorted as the store sorts them. */
static struct guard_port guards[] = {
	{.switch_id = 11, .port = "Ethernet1/4", .version = 3, .tenant_id = RED, .networks = "red"},
	{.switch_id = 11, .port = "Ethernet1/5", .version = 3, .tenant_id = RED, .networks = "red"},
	{.switch_id = 12,
	 .port = "Ethernet1/5",
	 .version = 1,
	 .tenant_id = BLUE,
	 .networks = "blue"},
};

static struct guard_found decide(struct lab *lab, const struct guard_block *before)
{
	struct guard_found found = {0};

	conclude(lab);
	assert_int_equal(guard_policy_decide(&lab->facts, &lab->conclusion,
					     &(struct guard_facts){.ports = guards,
								   .port_count = COUNT_OF(guards),
								   .before = before,
								   .before_count = before != NULL},
					     &found),
			 0);
	return found;
}

static void done(struct guard_found *found)
{
	free(found->items);
	free(found->look);
	*found = (struct guard_found){0};
}

/* n1 was seen at s1:4 when its intent was version 3. */
static void at_home(struct lab *lab)
{
	lab->nics[1].tenant_id = RED;
	lab->priors[0] = (struct fabric_prior){.mac = nic_mac(1),
					       .at = {1, 3},
					       .seen_us = NOW - MIN,
					       .has_home = true,
					       .home = {1, 3},
					       .home_version = 3,
					       .home_us = NOW - MIN};
	lab->facts.prior_count = 1;
}

static void what_blocks_a_port(void **state)
{
	static const struct {
		const char *what;
		int seen_at; /* port of s2 at which n1 is seen; -1 = nowhere */
		bool old_up;
		int64_t cut_us, version;
		bool other; /* n2 of the same tenant is in the old port */
		size_t blocks, looks;
	} rows[] = {
		{"moved, the old port is empty", 2, false, 0, 3, false, 1, 0},
		{"moved, the old port had no link in between", 2, true, NOW, 3, false, 1, 0},
		{"heard elsewhere, the old port kept its link", 2, true, 0, 3, false, 0, 0},
		{"lost its link before it was seen there", 2, true, NOW - 2 * MIN, 3, false, 0, 0},
		{"switched off", -1, false, NOW, 3, false, 0, 0},
		{"the port is meant for something else now", 2, false, NOW, 2, false, 0, 0},
		{"another node of the tenant is in it", 2, true, NOW, 3, true, 0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct lab *lab = *state;
		int64_t cut_us[PORTS] = {[3] = rows[i].cut_us};
		struct guard_found found;

		lab->readings[1].fdb_count = lab->readings[2].fdb_count = 0;
		at_home(lab);
		lab->priors[0].home_version = rows[i].version;
		lab->sources[1].cut_us = cut_us;
		lab->ports[1][3].up = rows[i].old_up;
		if (rows[i].seen_at >= 0)
			learns(lab, 2, (unsigned)rows[i].seen_at, 1);
		if (rows[i].other)
			learns(lab, 1, 3, 2);
		found = decide(lab, NULL);
		if (found.count != rows[i].blocks)
			fail_msg("%s: %zu blocks", rows[i].what, found.count);
		assert_int_equal(found.look_count, rows[i].looks);
		if (found.count > 0) {
			assert_string_equal(found.items[0].subject, "s1:Ethernet1/4");
			assert_int_equal(found.items[0].kind, GUARD_MOVED);
			assert_true(found.items[0].is_new);
			assert_string_equal(
				found.items[0].message,
				"node n1:eth0 was in it (red) and is in s2:Ethernet1/3; "
				"the port is parked");
		}
		done(&found);
		lab->sources[1].cut_us = NULL;
	}
}

/* The old port's switch was read before the NIC was seen elsewhere: it is read again first. */
static void an_old_reading_is_no_proof(void **state)
{
	struct lab *lab = *state;
	struct guard_found found;

	at_home(lab);
	lab->sources[1].read_us = NOW - MIN;
	learns(lab, 2, 2, 1);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 0);
	assert_int_equal(found.look_count, 1);
	assert_int_equal(found.look[0], 11);
	done(&found);
}

static void a_stranger_in_a_port(void **state)
{
	struct lab *lab = *state;
	struct guard_found found;
	struct guard_block before;

	/* n2 of nobody, n3 of blue in the port of red. */
	learns(lab, 1, 3, 2);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 0);
	done(&found);
	lab->nics[2].tenant_id = BLUE;
	found = decide(lab, NULL);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].kind, GUARD_FOREIGN);
	before = found.items[0];
	done(&found);
	/* As long as it is there, also when it says nothing. */
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	assert_false(found.items[0].is_new);
	done(&found);
	lab->readings[1].fdb_count = 0;
	lab->priors[0] = (struct fabric_prior){.mac = nic_mac(2), .at = {1, 3}, .seen_us = NOW};
	lab->facts.prior_count = 1;
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	done(&found);
	lab->ports[1][3].up = false;
	found = decide(lab, &before);
	assert_int_equal(found.count, 0);
	done(&found);
}

static void what_ends_a_block(void **state)
{
	struct lab *lab = *state;
	const struct guard_block before = {.switch_id = 11,
					   .port = "Ethernet1/4",
					   .kind = GUARD_MOVED,
					   .mac = nic_mac(1),
					   .version = 3};
	struct guard_found found;

	/* It is somewhere else, or silent: stays. */
	learns(lab, 2, 2, 1);
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	done(&found);
	lab->readings[2].fdb_count = 0;
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	done(&found);
	/* The switch cannot be read: stays. */
	lab->sources[1].reading = NULL;
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	done(&found);
	lab->sources[1].reading = &lab->readings[1];
	/* Somebody has stated another intent. */
	guards[0].version = 4;
	found = decide(lab, &before);
	guards[0].version = 3;
	assert_int_equal(found.count, 0);
	done(&found);
	/* It is back. */
	learns(lab, 1, 3, 1);
	found = decide(lab, &before);
	assert_int_equal(found.count, 0);
	done(&found);
}

/* s1:4 and s1:5 are members of s1:6. */
static void as_one(struct lab *lab)
{
	lab->ports[1][5].is_lag = true;
	lab->ports[1][3].lag = lab->ports[1][4].lag = lab->ports[1][5].if_index;
}

/* n1 was seen at a port of its own; the port is in an aggregate since, and lost its link. */
static void a_member_without_link_is_not_left(void **state)
{
	struct lab *lab = *state;
	int64_t cut_us[PORTS] = {[3] = NOW};
	const struct guard_block before = {.switch_id = 11,
					   .port = "Ethernet1/4",
					   .kind = GUARD_MOVED,
					   .mac = nic_mac(1),
					   .version = 3};
	struct guard_found found;

	at_home(lab);
	lab->sources[1].cut_us = cut_us;
	lab->ports[1][3].up = false;
	learns(lab, 1, 5, 1);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 1); /* s1:6 is another port */
	done(&found);
	as_one(lab);
	found = decide(lab, NULL);
	assert_int_equal(found.count + found.look_count, 0);
	done(&found);
	found = decide(lab, &before);
	assert_int_equal(found.count, 0);
	done(&found);
}

/* Its VLANs are those of the aggregate: to park one member would park nothing. */
static void a_member_that_was_moved_blocks_the_aggregate(void **state)
{
	struct lab *lab = *state;
	struct guard_found found;

	at_home(lab);
	as_one(lab);
	lab->ports[1][3].up = false;
	learns(lab, 2, 2, 1);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 2);
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(found.items[i].kind, GUARD_MOVED);
		assert_string_equal(found.items[i].port, guards[i].port);
	}
	done(&found);
}

static void a_stranger_in_an_aggregate(void **state)
{
	struct lab *lab = *state;
	struct guard_found found;
	struct guard_block before;

	as_one(lab);
	lab->nics[2].tenant_id = BLUE;
	learns(lab, 1, 5, 2);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 2);
	for (size_t i = 0; i < found.count; i++) {
		assert_int_equal(found.items[i].kind, GUARD_FOREIGN);
		assert_string_equal(found.items[i].port, guards[i].port);
	}
	before = found.items[1];
	done(&found);
	/* Silent, and not known to be gone: both stay as they were. */
	lab->readings[1].fdb_count = 0;
	lab->priors[0] = (struct fabric_prior){.mac = nic_mac(2), .at = {1, 5}, .seen_us = NOW};
	lab->facts.prior_count = 1;
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].port, "Ethernet1/5");
	done(&found);
	lab->facts.prior_count = 0;
	found = decide(lab, &before);
	assert_int_equal(found.count, 0);
	done(&found);
}

/* n3 of blue lost its link, and is heard at the port that was given to red's n2: that one is
 * parked, n3's own is not. Were n3 moved there, then so it is; its own has no link, or shows who
 * came. */
static void an_address_of_a_node_without_link(void **state)
{
	struct lab *lab = *state;
	int64_t others[PORTS] = {[3] = 102};
	int64_t own[PORTS] = {[4] = 103};
	struct guard_found found;

	lab->nics[2].tenant_id = RED;
	lab->nics[3].tenant_id = BLUE;
	lab->sources[1].holder = others;
	lab->sources[2].holder = own;
	lab->ports[2][4].up = false;
	lab->priors[0] = (struct fabric_prior){.mac = nic_mac(3),
					       .at = {2, 4},
					       .has_home = true,
					       .home = {2, 4},
					       .home_version = 1,
					       .home_us = NOW - MIN,
					       .seen_us = NOW - MIN};
	lab->facts.prior_count = 1;
	learns(lab, 1, 3, 3);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0].subject, "s1:Ethernet1/4");
	assert_string_equal(
		found.items[0].message,
		"a device there uses the MAC of node n3:eth0 of another tenant, which is "
		"heard nowhere else (red); the port is parked");
	done(&found);
}

/* n3 of blue is in its own port; red's n2 sends under its address: red's port alone is parked. */
static void an_address_of_another_tenant(void **state)
{
	struct lab *lab = *state;
	int64_t own[PORTS] = {[4] = 103};
	struct guard_found found;
	struct guard_block before;

	lab->nics[3].tenant_id = BLUE;
	lab->sources[2].holder = own;
	lab->sources[2].read_us = NOW - MIN;
	learns(lab, 2, 4, 3);
	learns(lab, 1, 3, 3);
	found = decide(lab, NULL);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].kind, GUARD_FOREIGN);
	assert_string_equal(found.items[0].subject, "s1:Ethernet1/4");
	assert_string_equal(
		found.items[0].message,
		"a device there uses the MAC of node n3:eth0 of another tenant, which is "
		"in s2:Ethernet1/5 (red); the port is parked");
	assert_int_equal(found.look_count, 1); /* does that one still have its link? */
	assert_int_equal(found.look[0], 12);
	before = found.items[0];
	done(&found);
	found = decide(lab, &before);
	assert_int_equal(found.count, 1);
	assert_false(found.items[0].is_new);
	done(&found);
	lab->readings[1].fdb_count = 0;
	found = decide(lab, &before);
	assert_int_equal(found.count, 0);
	done(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_blocks_a_port),
		TEST(an_old_reading_is_no_proof),
		TEST(a_stranger_in_a_port),
		TEST(what_ends_a_block),
		TEST(a_member_without_link_is_not_left),
		TEST(a_member_that_was_moved_blocks_the_aggregate),
		TEST(a_stranger_in_an_aggregate),
		TEST(an_address_of_another_tenant),
		TEST(an_address_of_a_node_without_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
