// links: control_alloc
/* user 28: a PDCI that waited was passed by a later replacement. Which nodes are kept for who waits
 * longer. user 21: a node that nobody ever saw was given out. */
#include <errno.h>
#include <string.h>

#include "bampi/control/alloc/alloc_queue_policy.h"
#include "bampi/control/alloc/alloc_reason_policy.h"
#include "tests/support/cmocka.h"

#define ANY_FIRMWARE (1U << FIRMWARE_BIOS | 1U << FIRMWARE_UEFI)

static struct alloc_node alloc_queue_node(const char *name, const char *class,
					  enum node_state state)
{
	struct alloc_node node = {.state = state,
				  .bootable = true,
				  .dirty = state != NODE_FREE,
				  .firmware = FIRMWARE_BIOS};

	text_copy(node.name, sizeof(node.name), name);
	text_copy(node.class, sizeof(node.class), class);
	return node;
}

static void what_who_waits_longer_keeps(void **state)
{
	static const struct {
		const char *what;
		struct alloc_group group;
		const char *kept;
	} rows[] = {
		{"all that it wants",
		 {.class = "gpu", .count = 1, .firmwares = ANY_FIRMWARE},
		 "g1"},
		{"fewer are free: all of them, until the others come back",
		 {.class = "gpu", .count = 3, .firmwares = ANY_FIRMWARE},
		 "g1 g2"},
		{"of another class", {.class = "cpu", .count = 1, .firmwares = ANY_FIRMWARE}, "c1"},
		{"any class", {.class = "", .count = 1, .firmwares = ANY_FIRMWARE}, "c1"},
		{"more than the site has: none, or it would keep them for ever",
		 {.class = "gpu", .count = 5, .firmwares = ANY_FIRMWARE},
		 ""},
		{"what no node can boot: none",
		 {.class = "gpu", .count = 1, .firmwares = 1U << FIRMWARE_UEFI},
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct alloc_node nodes[] = {
			alloc_queue_node("c1", "cpu", NODE_FREE),
			alloc_queue_node("g1", "gpu", NODE_FREE),
			alloc_queue_node("g2", "gpu", NODE_FREE),
			alloc_queue_node("g3", "gpu", NODE_ACTIVE),
			alloc_queue_node("g4", "gpu", NODE_SCRUBBING),
			alloc_queue_node("g5", "gpu", NODE_BROKEN),
		};
		const struct alloc_request request = {&rows[i].group, 1, ALLOC_NEAR};
		CLEANUP(text_done) struct text kept = {0};

		assert_int_equal(alloc_keep(nodes, COUNT_OF(nodes), &request), 0);
		for (size_t j = 0; j < COUNT_OF(nodes); j++) {
			if (nodes[j].kept)
				text_addf(&kept, "%s%s", kept.size ? " " : "", nodes[j].name);
		}
		if (strcmp(text_get(&kept), rows[i].kept) != 0)
			fail_msg("%s: %s", rows[i].what, text_get(&kept));
	}
}

/* The second in the queue keeps what the first leaves, and the last gets the rest. */
static void one_after_the_other(void **state)
{
	struct alloc_node nodes[] = {
		alloc_queue_node("g1", "gpu", NODE_FREE),
		alloc_queue_node("g2", "gpu", NODE_FREE),
		alloc_queue_node("g3", "gpu", NODE_FREE),
	};
	const struct alloc_group one = {.class = "gpu", .count = 1, .firmwares = ANY_FIRMWARE};
	const struct alloc_group two = {.class = "gpu", .count = 2, .firmwares = ANY_FIRMWARE};
	const struct alloc_request first = {&one, 1, ALLOC_NEAR};
	const struct alloc_request last = {&two, 1, ALLOC_NEAR};
	CLEANUP(alloc_answer_done) struct alloc_answer answer = {0};
	CLEANUP(text_done) struct text named = {0};
	CLEANUP(text_done) struct text blind = {0};

	(void)state;
	assert_int_equal(alloc_keep(nodes, COUNT_OF(nodes), &first), 0);
	assert_int_equal(alloc_keep(nodes, COUNT_OF(nodes), &first), 0);
	assert_int_equal(nodes[0].kept + nodes[1].kept + nodes[2].kept, 2);
	assert_int_equal(alloc_choose(nodes, COUNT_OF(nodes), &last, &answer), 0);
	assert_false(answer.feasible);
	assert_int_equal(answer.got[0], 1);
	alloc_reasons(nodes, COUNT_OF(nodes), &last, &answer, true, &named);
	assert_string_equal(text_get(&named),
			    "group 1 (class gpu): 1 of 2; 2 kept for a PDCI that waits longer");
	alloc_reasons(nodes, COUNT_OF(nodes), &last, &answer, false, &blind);
	assert_string_equal(text_get(&blind),
			    "group 1 (class gpu): 1 of 2; who waits longer is served first");
}

static void never_seen(void **state)
{
	struct alloc_node node = alloc_queue_node("g1", "gpu", NODE_FREE);
	const struct alloc_group group = {.class = "gpu", .count = 1, .firmwares = ANY_FIRMWARE};
	char room[ALLOC_REFUSAL_SIZE];

	(void)state;
	assert_null(alloc_refusal(&node, &group, room, sizeof(room)));
	node.unseen = true;
	assert_string_equal(alloc_refusal(&node, &group, room, sizeof(room)),
			    "never seen (haasctl deployment create --plan inspect)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_who_waits_longer_keeps),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(never_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
