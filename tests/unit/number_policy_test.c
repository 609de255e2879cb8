// links: peregrine_network
/* VLAN numbers: which one is given, when one rests, and what the audit finds. */
#include <string.h>

#include "common/base/error.h"

#include "peregrine/control/network/number_policy.h"
#include "tests/support/cmocka.h"

enum { NOW = 1000000 };

static const struct number_row rows[] = {
	{.vlan = 100, .state = NUMBER_USED, .network_id = 1},
	{.vlan = 101, .state = NUMBER_RESTING, .until_ms = NOW + 5000},
	{.vlan = 102, .state = NUMBER_RESTING, .until_ms = NOW - 1},
	{.vlan = 103, .state = NUMBER_RESTING, .until_ms = NOW - 1},
};

static struct number_pool pool_of(uint16_t high)
{
	struct number_pool pool = {.fabric = "f1",
				   .low = 100,
				   .high = high,
				   .parking = 105,
				   .rows = rows,
				   .row_count = COUNT_OF(rows)};

	vlan_set_add(&pool.seen, 100);
	vlan_set_add(&pool.seen, 103); /* a switch that was away still has a port in it */
	vlan_set_add(&pool.seen, 104); /* nobody's */
	vlan_set_add(&pool.seen, 700); /* out of our range: not ours to judge */
	vlan_set_add(&pool.reserved, 106);
	vlan_set_add(&pool.tables, 107); /* somebody made it and put no port into it */
	return pool;
}

static void the_first_that_is_really_free(void **unused)
{
	struct number_pool pool = pool_of(120);
	struct vlan_set taken = {0};
	struct problem problem = {0};
	uint16_t vlan = 0;

	(void)unused;
	assert_int_equal(number_assign(&pool, NULL, NOW, &vlan, &problem), 0);
	assert_int_equal(vlan, 108); /* 104 leaked, 105 parking, 106 reserved, 107 on a switch */
	vlan_set_add(&taken, 108);
	assert_int_equal(number_assign(&pool, &taken, NOW, &vlan, &problem), 0);
	assert_int_equal(vlan, 109);
}

static void a_rest_ends_when_no_switch_shows_it(void **unused)
{
	struct number_pool pool = pool_of(120);
	struct vlan_set rested = number_rested(&pool, NOW);

	(void)unused;
	assert_int_equal(vlan_set_count(&rested), 1);
	assert_true(vlan_set_has(&rested, 102));
	rested = number_rested(&pool, NOW + 5000);
	assert_int_equal(vlan_set_count(&rested), 2);
	assert_true(vlan_set_has(&rested, 101));
	pool.seen = (struct vlan_set){0};
	rested = number_rested(&pool, NOW + 5000);
	assert_int_equal(vlan_set_count(&rested), 3);
}

/* It would come back with a port in it when it reboots. */
static void a_rest_goes_on_while_a_switch_may_start_with_it(void **unused)
{
	static const struct number_row waiting[] = {
		{.vlan = 100, .state = NUMBER_RESTING, .until_ms = NOW - 1, .waits = "leaf1"},
		{.vlan = 101, .state = NUMBER_RESTING, .until_ms = NOW - 1},
	};
	struct number_pool pool = {
		.fabric = "f1", .low = 100, .high = 101, .parking = 99, .rows = waiting};
	struct vlan_set rested;
	struct problem problem = {0};
	uint16_t vlan = 7;

	(void)unused;
	pool.row_count = 2;
	rested = number_rested(&pool, NOW);
	assert_int_equal(vlan_set_count(&rested), 1);
	assert_true(vlan_set_has(&rested, 101));
	pool.row_count = 1;
	pool.high = 100;
	assert_int_equal(number_assign(&pool, NULL, NOW, &vlan, &problem), E_LIMIT);
	assert_int_equal(vlan, 7);
	assert_non_null(strstr(problem.hint, "1 wait until switch leaf1 has saved"));
}

static void an_empty_range_says_where_it_has_gone(void **unused)
{
	struct number_pool pool = pool_of(106);
	struct problem problem = {0};
	uint16_t vlan = 7;

	(void)unused;
	assert_int_equal(number_assign(&pool, NULL, NOW, &vlan, &problem), E_LIMIT);
	assert_int_equal(vlan, 7);
	assert_string_equal(problem.message, "fabric f1 has no free VLAN");
	assert_string_equal(problem.detail,
			    "100-106: 1 used, 3 in quarantine, 1 on switches without an owner, "
			    "1 that a switch cannot carry");
	assert_non_null(strstr(problem.hint, "the next VLAN leaves its quarantine in 0 s"));
}

static void the_audit_looks_both_ways(void **unused)
{
	struct number_pool pool = pool_of(120);
	struct vlan_set expected = {0};
	struct number_audit audit;

	(void)unused;
	vlan_set_add(&expected, 100);
	vlan_set_add(&expected, 110);
	audit = number_audit(&pool, &expected);
	assert_int_equal(vlan_set_count(&audit.leaked), 1);
	assert_true(vlan_set_has(&audit.leaked, 104));
	assert_int_equal(vlan_set_count(&audit.missing), 1);
	assert_true(vlan_set_has(&audit.missing, 110));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_is_really_free),
		cmocka_unit_test(a_rest_ends_when_no_switch_shows_it),
		cmocka_unit_test(a_rest_goes_on_while_a_switch_may_start_with_it),
		cmocka_unit_test(an_empty_range_says_where_it_has_gone),
		cmocka_unit_test(the_audit_looks_both_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
