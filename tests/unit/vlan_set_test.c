// links: common_net
#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "tests/support/cmocka.h"

static void texts_round_trip(void **state)
{
	static const struct {
		const char *text, *again;
		size_t count;
	} rows[] = {
		{"", "", 0},
		{"none", "", 0},
		{" 7 ", "7", 1},
		{"1-4094", "1-4094", 4094},
		{"100-103,200", "100-103,200", 5},
		{"200, 100 - 103 ,101", "100-103,200", 5},
		{"63,64,65,127,128", "63-65,127-128", 5},
		{"1,4094", "1,4094", 2},
		{"1023,1024,2047-2048", "1023-1024,2047-2048", 4},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text text = {0};
		struct vlan_set set;

		assert_int_equal(vlan_set_parse(rows[i].text, &set), 0);
		vlan_set_text(&set, &text);
		assert_string_equal(text_get(&text), rows[i].again);
		assert_int_equal(vlan_set_count(&set), rows[i].count);
		assert_int_equal(vlan_set_is_empty(&set), rows[i].count == 0);
	}
}

static void nonsense_is_refused_and_leaves_the_result(void **state)
{
	static const char *const rows[] = {"0",   "4095", "1-4095", "5-4",
					   "1,",  ",1",   "-1",     "1--2",
					   "all", "1;2",  "1 2",    "99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct vlan_set set = {0};

		vlan_set_add(&set, 9);
		assert_int_equal(vlan_set_parse(rows[i], &set), E_MALFORMED);
		assert_true(vlan_set_has(&set, 9));
	}
}

static void sets_are_algebra(void **state)
{
	struct vlan_set a, b, both, either, only;

	(void)state;
	assert_int_equal(vlan_set_parse("10-20,4000", &a), 0);
	assert_int_equal(vlan_set_parse("15-30", &b), 0);
	both = vlan_set_intersection(&a, &b);
	either = vlan_set_union(&a, &b);
	only = vlan_set_minus(&a, &b);
	assert_int_equal(vlan_set_count(&both), 6);
	assert_int_equal(vlan_set_count(&either), 22);
	assert_int_equal(vlan_set_count(&only), 6);
	assert_true(vlan_set_within(&both, &a) && vlan_set_within(&both, &b));
	assert_false(vlan_set_within(&a, &b));
	b = vlan_set_union(&both, &only);
	assert_true(vlan_set_equal(&a, &b));
}

static void what_is_no_vlan_is_never_a_member(void **state)
{
	struct vlan_set set = {0};

	(void)state;
	vlan_set_add(&set, 0);
	vlan_set_add(&set, 4095);
	vlan_set_add(&set, 70000);
	assert_true(vlan_set_is_empty(&set));
	vlan_set_add_range(&set, 4090, 5000);
	assert_int_equal(vlan_set_count(&set), 5);
	vlan_set_remove(&set, 4095);
	vlan_set_remove(&set, 4094);
	assert_int_equal(vlan_set_next(&set, 4093), 4093);
	assert_int_equal(vlan_set_next(&set, 4094), 0);
	assert_int_equal(vlan_set_next(&set, 5000), 0);
}

static void a_range_is_its_members(void **state)
{
	/* at, before and after a word's ends; nothing, backwards, all */
	static const unsigned ends[] = {0,   1,    2,    62,   63,   64,   65,   127,  128,
					129, 2047, 2048, 4032, 4093, 4094, 4095, 4096, 70000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		for (size_t k = 0; k < COUNT_OF(ends); k++) {
			struct vlan_set range = {0};
			struct vlan_set members = {0};

			vlan_set_add(&range, 1000);
			vlan_set_add(&members, 1000);
			vlan_set_add_range(&range, ends[i], ends[k]);
			for (unsigned v = ends[i]; v <= ends[k]; v++)
				vlan_set_add(&members, v);
			assert_true(vlan_set_equal(&range, &members));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_round_trip),
		cmocka_unit_test(nonsense_is_refused_and_leaves_the_result),
		cmocka_unit_test(sets_are_algebra),
		cmocka_unit_test(what_is_no_vlan_is_never_a_member),
		cmocka_unit_test(a_range_is_its_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
