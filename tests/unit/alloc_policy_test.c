// links: control_alloc
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/control/alloc/alloc_reason_policy.h"
#include "tests/support/cmocka.h"

#define ANY_FIRMWARE (1U << FIRMWARE_BIOS | 1U << FIRMWARE_UEFI)

static struct alloc_node free_node(const char *name, const char *class, const char *rack,
				   const char *leaf)
{
	struct alloc_node node = {.state = NODE_FREE, .bootable = true, .firmware = FIRMWARE_BIOS};

	text_copy(node.name, sizeof(node.name), name);
	text_copy(node.class, sizeof(node.class), class);
	text_copy(node.rack, sizeof(node.rack), rack);
	text_copy(node.leaf, sizeof(node.leaf), leaf);
	return node;
}

/* "a1 b2" of the picks of one group, or of all with group -1. */
static void expect_picks(const struct alloc_node nodes[], const struct alloc_answer *answer,
			 const char *wanted)
{
	CLEANUP(text_done) struct text text = {0};

	for (size_t i = 0; i < answer->pick_count; i++)
		text_addf(&text, "%s%zu:%s", i ? " " : "", answer->picks[i].group,
			  nodes[answer->picks[i].node].name);
	assert_string_equal(text_get(&text), wanted);
}

static const struct alloc_group two_gpu = {.class = "gpu", .count = 2, .firmwares = ANY_FIRMWARE};

static void choose(const struct alloc_node nodes[], size_t count, const struct alloc_group groups[],
		   size_t group_count, enum alloc_spread spread, struct alloc_answer *ret)
{
	const struct alloc_request request = {groups, group_count, spread};

	assert_int_equal(alloc_choose(nodes, count, &request, ret), 0);
}

static void near_takes_the_smallest_leaf_that_holds_all(void **state)
{
	const struct alloc_node nodes[] = {
		free_node("a1", "gpu", "r1", "leaf1"), free_node("b1", "gpu", "r2", "leaf2"),
		free_node("b2", "gpu", "r2", "leaf2"), free_node("c1", "gpu", "r3", "leaf3"),
		free_node("c2", "gpu", "r3", "leaf3"), free_node("c3", "gpu", "r3", "leaf3"),
	};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	(void)state;
	choose(nodes, COUNT_OF(nodes), &two_gpu, 1, ALLOC_NEAR, &answer);
	assert_true(answer.feasible);
	expect_picks(nodes, &answer, "0:b1 0:b2");
	assert_int_equal(answer.racks, 1);
	assert_int_equal(answer.leaves, 1);
}

static void near_begins_with_the_largest_when_none_holds_all(void **state)
{
	const struct alloc_node nodes[] = {
		free_node("a1", "gpu", "r1", "leaf1"),
		free_node("b1", "gpu", "r2", "leaf2"),
		free_node("b2", "gpu", "r2", "leaf2"),
		free_node("c1", "gpu", "r2", "leaf3"),
	};
	const struct alloc_group three = {.class = "gpu", .count = 3, .firmwares = ANY_FIRMWARE};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	(void)state;
	choose(nodes, COUNT_OF(nodes), &three, 1, ALLOC_NEAR, &answer);
	expect_picks(nodes, &answer, "0:b1 0:b2 0:c1"); /* c1: in the rack of the others */
	assert_int_equal(answer.racks, 1);
	assert_int_equal(answer.leaves, 2);
}

static void rack_spreads_evenly(void **state)
{
	const struct alloc_node nodes[] = {
		free_node("a1", "gpu", "r1", ""), free_node("a2", "gpu", "r1", ""),
		free_node("a3", "gpu", "r1", ""), free_node("b1", "gpu", "r2", ""),
		free_node("c1", "gpu", "r3", ""),
	};
	const struct alloc_group four = {.class = "gpu", .count = 4, .firmwares = ANY_FIRMWARE};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	(void)state;
	choose(nodes, COUNT_OF(nodes), &four, 1, ALLOC_RACK, &answer);
	expect_picks(nodes, &answer, "0:a1 0:a2 0:b1 0:c1");
	assert_int_equal(answer.racks, 3);
}

static void who_cannot_be_given_is_named_with_the_reason(void **state)
{
	struct alloc_node nodes[] = {
		free_node("ok", "gpu", "r1", ""),      free_node("active", "gpu", "r1", ""),
		free_node("dirty", "gpu", "r1", ""),   free_node("busy", "gpu", "r1", ""),
		free_node("nobmc", "gpu", "r1", ""),   free_node("uefi", "gpu", "r1", ""),
		free_node("sick", "gpu", "r1", ""),    free_node("other", "cpu", "r1", ""),
		free_node("unready", "gpu", "r1", ""), free_node("let", "gpu", "r1", ""),
		free_node("afar", "gpu", "r1", ""),    free_node("full", "gpu", "r1", ""),
	};
	const struct alloc_group group = {
		.class = "gpu", .count = 3, .firmwares = 1U << FIRMWARE_BIOS};
	const struct alloc_request request = {&group, 1, ALLOC_NEAR};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	CLEANUP(text_done) struct text all = {0};
	CLEANUP(text_done) struct text few = {0};

	(void)state;
	nodes[1].state = NODE_ACTIVE;
	nodes[2].dirty = true;
	nodes[3].busy = true;
	nodes[4].bootable = false;
	nodes[5].firmware = FIRMWARE_UEFI;
	text_copy(nodes[6].label, sizeof(nodes[6].label), "fan_failed");
	nodes[8].state = NODE_DISCOVERED;
	nodes[9].state = NODE_ACTIVE;
	text_copy(nodes[10].cable, sizeof(nodes[10].cable), "eth0 was found at leaf2:p4");
	text_copy(nodes[11].numbers, sizeof(nodes[11].numbers),
		  "0 of 1 VLAN numbers free in fabric main");
	assert_int_equal(alloc_choose(nodes, COUNT_OF(nodes), &request, &answer), 0);
	assert_false(answer.feasible);
	assert_int_equal(answer.got[0], 1);
	expect_picks(nodes, &answer, "0:ok");
	alloc_reasons(nodes, COUNT_OF(nodes), &request, &answer, true, &all);
	assert_string_equal(
		text_get(&all),
		"group 1 (class gpu): 1 of 3; 2 active, afar with cables in doubt, busy being "
		"worked on, dirty dirty, full with 0 of 1 VLAN numbers free in fabric main, nobmc "
		"without BMC or boot NIC, sick with health label fan_failed, uefi with firmware that does not boot the image, unready not accepted yet");
	alloc_reasons(nodes, COUNT_OF(nodes), &request, &answer, false, &few);
	assert_string_equal(text_get(&few),
			    "group 1 (class gpu): 1 of 3; 0 of 1 VLAN numbers free in fabric main");
}

/* One who can have any node does not take the only one that another can have. */
static void groups_with_less_choice_go_first(void **state)
{
	struct alloc_node nodes[] = {
		free_node("a", "gpu", "r1", "l"),
		free_node("b", "gpu", "r1", "l"),
		free_node("c", "cpu", "r1", "l"),
	};
	const struct alloc_group groups[] = {
		{.class = "", .count = 1, .firmwares = ANY_FIRMWARE},
		{.class = "gpu", .count = 1, .firmwares = ANY_FIRMWARE},
		{.class = "gpu", .count = 1, .firmwares = 1U << FIRMWARE_UEFI},
	};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	(void)state;
	nodes[0].firmware = FIRMWARE_UEFI;
	choose(nodes, COUNT_OF(nodes), groups, COUNT_OF(groups), ALLOC_NEAR, &answer);
	assert_true(answer.feasible);
	expect_picks(nodes, &answer, "0:c 1:b 2:a");
}

static void nonsense_is_refused_and_nothing_is_infeasible(void **state)
{
	const struct alloc_request none = {&two_gpu, 0, ALLOC_NEAR};
	const struct alloc_request many = {&two_gpu, ALLOC_GROUPS_MAX + 1, ALLOC_NEAR};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};

	(void)state;
	assert_int_equal(alloc_choose(NULL, 0, &none, &answer), -EINVAL);
	assert_int_equal(alloc_choose(NULL, 0, &many, &answer), -EINVAL);
	choose(NULL, 0, &two_gpu, 1, ALLOC_RACK, &answer);
	assert_false(answer.feasible);
	assert_int_equal(answer.pick_count, 0);
}

/* By Koenig's theorem, another way than the one under test: the least, over all subsets of the
 * groups, of (nodes that suit any of them) + (what the others want). */
static size_t most_possible(const struct alloc_node nodes[], size_t count,
			    const struct alloc_group groups[3])
{
	size_t least = count;
	char room[96];

	for (unsigned subset = 0; subset < 8; subset++) {
		size_t sum = 0;

		for (size_t i = 0; i < count; i++) {
			bool any = false;

			for (size_t g = 0; g < 3; g++)
				any |= (subset & 1U << g) &&
				       !alloc_refusal(&nodes[i], &groups[g], room, sizeof(room));
			sum += any;
		}
		for (size_t g = 0; g < 3; g++)
			sum += subset & 1U << g ? 0 : groups[g].count;
		least = sum < least ? sum : least;
	}
	return least;
}

/* Whatever the site: nobody twice, nobody refused, and never short of what is possible. */
static void choices_hold_for_any_site(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 400; round++) {
		struct alloc_node nodes[40];
		struct alloc_group groups[3];
		const struct alloc_request request = {
			groups, 3, (enum alloc_spread)(round % ALLOC_SPREAD_COUNT)};
		CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
		bool taken[40] = {false};
		char room[96];

		for (size_t i = 0; i < COUNT_OF(nodes); i++) {
			char name[8];
			char rack[8];
			char leaf[8];

			text_format(name, sizeof(name), "n%zu", i);
			text_format(rack, sizeof(rack), "r%d", rand() % 4);
			text_format(leaf, sizeof(leaf), "l%d", rand() % 6);
			nodes[i] = free_node(name, rand() % 3 ? "gpu" : "cpu", rack, leaf);
			nodes[i].state = rand() % 4 ? NODE_FREE : NODE_ACTIVE;
			nodes[i].firmware = rand() % 2 ? FIRMWARE_UEFI : FIRMWARE_BIOS;
		}
		for (size_t g = 0; g < 3; g++) {
			groups[g] = (struct alloc_group){.count = (unsigned)(rand() % 12 + 1),
							 .firmwares = (unsigned)(rand() % 3 + 1)};
			text_copy(groups[g].class, sizeof(groups[g].class),
				  rand() % 3 == 0 ? ""
				  : rand() % 2    ? "gpu"
						  : "cpu");
		}
		choose(nodes, COUNT_OF(nodes), groups, 3, request.spread, &answer);
		for (size_t i = 0; i < answer.pick_count; i++) {
			const struct alloc_pick *pick = &answer.picks[i];

			assert_false(taken[pick->node]);
			taken[pick->node] = true;
			assert_null(alloc_refusal(&nodes[pick->node], &groups[pick->group], room,
						  sizeof(room)));
		}
		assert_int_equal(answer.pick_count, most_possible(nodes, COUNT_OF(nodes), groups));
		assert_int_equal(answer.feasible,
				 answer.pick_count ==
					 groups[0].count + groups[1].count + groups[2].count);
	}
}

static void nics_that_do_not_fit(void **state)
{
	const struct alloc_group groups[] = {
		{.class = "gpu", .count = 1, .firmwares = ANY_FIRMWARE, .place = 0},
		{.class = "gpu", .count = 2, .firmwares = ANY_FIRMWARE, .place = 1},
	};
	const struct alloc_request request = {groups, COUNT_OF(groups), ALLOC_NEAR};
	struct alloc_node nodes[] = {
		{.id = 1,
		 .name = "n1",
		 .class = "gpu",
		 .state = NODE_FREE,
		 .bootable = true,
		 .fits = "-s"},
		{.id = 2,
		 .name = "n2",
		 .class = "gpu",
		 .state = NODE_FREE,
		 .bootable = true,
		 .fits = "--"},
		{.id = 3,
		 .name = "n3",
		 .class = "gpu",
		 .state = NODE_FREE,
		 .bootable = true,
		 .fits = "na"},
		{.id = 4,
		 .name = "n4",
		 .class = "gpu",
		 .state = NODE_ACTIVE,
		 .bootable = true,
		 .fits = "pp"},
	};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	CLEANUP(text_done) struct text named = {0};
	CLEANUP(text_done) struct text told = {0};

	(void)state;
	assert_int_equal(alloc_choose(nodes, COUNT_OF(nodes), &request, &answer), 0);
	assert_false(answer.feasible);
	assert_int_equal(answer.got[0], 1); /* n1: its bond is another group's concern */
	assert_int_equal(answer.got[1], 1);
	assert_string_equal(nodes[answer.picks[0].node].name, "n1");
	alloc_reasons(nodes, COUNT_OF(nodes), &request, &answer, true, &named);
	assert_string_equal(
		text_get(&named),
		"group 2 (class gpu): 1 of 2; n1 with a bond that ends at two switches "
		"(MLAG is not offered), n3 with a bond that is not one aggregate of its switch, n4 active");
	alloc_reasons(nodes, COUNT_OF(nodes), &request, &answer, false, &told);
	assert_string_equal(text_get(&told),
			    "group 2 (class gpu): 1 of 2; NICs: a bond ends at two switches (MLAG "
			    "is not offered), the ports of a bond are not one aggregate of their "
			    "switch");
	nodes[0].fits[1] = nodes[2].fits[1] = '-';
	nodes[0].fits[0] = 'b';
	nodes[2].fits[0] = '-';
	alloc_answer_done(&answer);
	assert_int_equal(alloc_choose(nodes, COUNT_OF(nodes), &request, &answer), 0);
	assert_true(answer.feasible);
}

/* --- local disks --- */

#define TB ((uint64_t)1000000000000)

static void disks_are_read(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} cases[] = {
		{"", 0},
		{"1f", 1},
		{"1f 2r 3u", 3},
		{"1f  2r", 1},
		{"1x", 0},
		{"1", 0},
		{"f", 0},
		{"-1f", 0},
		{"1f 2", 1},
		{"1f,2r", 1},
		{"99999999999999999999999999f", 1},
	};
	struct alloc_disk disks[2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(alloc_disks_parse(cases[i].text, disks, 2), cases[i].count);
	assert_int_equal(alloc_disks_parse("480103981056f 4000787030016r 512u", disks, 2), 3);
	assert_int_equal(disks[0].size_bytes, 480103981056);
	assert_int_equal(disks[0].kind, ALLOC_DISK_FLASH);
	assert_int_equal(disks[1].size_bytes, 4000787030016);
	assert_int_equal(disks[1].kind, ALLOC_DISK_ROTATING);
	assert_int_equal(alloc_disks_parse("1f 2r", NULL, 0), 2);
}

static void disks_that_are_asked_for(void **state)
{
	static const struct {
		const char *disks; /* NULL: no inventory */
		struct alloc_disks_wanted wanted;
		const char *refusal; /* NULL: it has them */
	} cases[] = {
		{NULL, {0, 0, 0}, NULL},
		{NULL, {1, 0, 0}, "without inventory (disks not known)"},
		{"", {0, 0, 0}, NULL},
		{"", {1, 0, 0}, "with 0 of 1 local disks"},
		{"1f", {1, 0, 0}, NULL},
		{"1f 1f", {3, 0, 0}, "with 2 of 3 local disks"},
		{"2000398934016r 480103981056f", {1, 2 * TB, 0}, NULL},
		{"2000398934016r", {1, 2000398934016, 0}, NULL},
		{"2000398934016r",
		 {1, 2000398934017, 0},
		 "with 0 of 1 local disks of at least 1.8 TiB"},
		{"2199023255551f 1f",
		 {2, (uint64_t)2 << 40, 0},
		 "with 0 of 2 local disks of at least 2 TiB"},
		{"2000398934016r 480103981056f",
		 {1, TB, ALLOC_DISK_FLASH},
		 "with 0 of 1 local flash disks of at least 931.3 GiB"},
		{"2000398934016r 480103981056f", {1, 0, ALLOC_DISK_FLASH}, NULL},
		{"2000398934016r 480103981056f",
		 {2, 0, ALLOC_DISK_ROTATING},
		 "with 1 of 2 local rotating disks"},
		{"2000398934016u", {1, TB, 0}, NULL},
		{"2000398934016u",
		 {1, TB, ALLOC_DISK_FLASH},
		 "with disks of a kind that is not known (inspect)"},
		{"480103981056u",
		 {1, TB, ALLOC_DISK_FLASH},
		 "with 0 of 1 local flash disks of at least 931.3 GiB"},
		{"2000398934016u 2000398934016f", {1, TB, ALLOC_DISK_FLASH}, NULL},
		{"2000398934016u 2000398934016f",
		 {3, TB, ALLOC_DISK_FLASH},
		 "with 1 of 3 local flash disks of at least 931.3 GiB"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct alloc_disk list[4];
		struct alloc_disks disks = {cases[i].disks != NULL, list, 0};
		char room[96];
		const char *why;

		disks.count = alloc_disks_parse(cases[i].disks ? cases[i].disks : "", list, 4);
		why = alloc_disks_refusal(&disks, &cases[i].wanted, room, sizeof(room));
		if (cases[i].refusal)
			assert_string_equal(why ? why : "(fits)", cases[i].refusal);
		else
			assert_null(why);
	}
}

/* Who has the disks is taken; who has not is told why, to a tenant without names. */
static void nodes_are_chosen_by_their_disks(void **state)
{
	const struct alloc_disk large = {4 * TB, ALLOC_DISK_ROTATING};
	const struct alloc_disk small = {TB, ALLOC_DISK_FLASH};
	const struct alloc_disk both[] = {large, small};
	struct alloc_node nodes[] = {
		free_node("a", "gpu", "r1", "l"), free_node("b", "gpu", "r1", "l"),
		free_node("c", "gpu", "r1", "l"), free_node("d", "gpu", "r1", "l"),
		free_node("e", "gpu", "r1", "l"),
	};
	const struct alloc_group groups[] = {
		{.class = "gpu", .count = 1, .firmwares = ANY_FIRMWARE},
		{.class = "gpu", .count = 3, .firmwares = ANY_FIRMWARE, .disks = {1, 2 * TB, 0}},
	};
	const struct alloc_request request = {groups, COUNT_OF(groups), ALLOC_NEAR};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	CLEANUP(text_done) struct text named = {0};
	CLEANUP(text_done) struct text told = {0};

	(void)state;
	nodes[0].disks = (struct alloc_disks){true, both, 2};
	nodes[1].disks = (struct alloc_disks){true, &small, 1};
	nodes[2].disks = (struct alloc_disks){true, &large, 1};
	nodes[4].disks = (struct alloc_disks){true, &large, 1};
	nodes[4].state = NODE_ACTIVE;
	choose(nodes, COUNT_OF(nodes), groups, COUNT_OF(groups), ALLOC_NEAR, &answer);
	assert_false(answer.feasible);
	expect_picks(nodes, &answer, "0:b 1:a 1:c"); /* b: all that it can be had for */
	alloc_reasons(nodes, COUNT_OF(nodes), &request, &answer, true, &named);
	assert_string_equal(text_get(&named),
			    "group 2 (class gpu): 2 of 3; b with 0 of 1 local disks of at least "
			    "1.8 TiB, d without inventory (disks not known), e active");
	alloc_reasons(nodes, COUNT_OF(nodes), &request, &answer, false, &told);
	assert_string_equal(text_get(&told), "group 2 (class gpu): 2 of 3; disks: too few, too "
					     "small or of another kind");
	alloc_answer_done(&answer);
	nodes[4].state = NODE_FREE;
	choose(nodes, COUNT_OF(nodes), groups, COUNT_OF(groups), ALLOC_NEAR, &answer);
	assert_true(answer.feasible);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(near_takes_the_smallest_leaf_that_holds_all),
		cmocka_unit_test(near_begins_with_the_largest_when_none_holds_all),
		cmocka_unit_test(rack_spreads_evenly),
		cmocka_unit_test(who_cannot_be_given_is_named_with_the_reason),
		cmocka_unit_test(groups_with_less_choice_go_first),
		cmocka_unit_test(nonsense_is_refused_and_nothing_is_infeasible),
		cmocka_unit_test(choices_hold_for_any_site),
		cmocka_unit_test(nics_that_do_not_fit),
		cmocka_unit_test(disks_are_read),
		cmocka_unit_test(disks_that_are_asked_for),
		cmocka_unit_test(nodes_are_chosen_by_their_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
