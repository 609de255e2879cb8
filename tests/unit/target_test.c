// links: bootd_identify
/* The boot target of every (intent, state): the whole table of docs/architecture.md. */
#include <string.h>

#include "common/base/macros.h"

#include "bampi/bootd/identify/target_policy.h"
#include "tests/support/cmocka.h"

#define STATES 7

static const struct {
	enum intent_target intent;
	enum boot_target
		by_state[STATES]; /* discovered free reserved active scrubbing broken held */
} expected[] = {
	{INTENT_NONE,
	 {BOOT_TARGET_STOP, BOOT_TARGET_STOP, BOOT_TARGET_STOP, BOOT_TARGET_DISK, BOOT_TARGET_STOP,
	  BOOT_TARGET_STOP, BOOT_TARGET_STOP}},
	{INTENT_AGENT,
	 {BOOT_TARGET_AGENT, BOOT_TARGET_AGENT, BOOT_TARGET_AGENT, BOOT_TARGET_AGENT,
	  BOOT_TARGET_AGENT, BOOT_TARGET_AGENT, BOOT_TARGET_AGENT}},
	{INTENT_DISK,
	 {BOOT_TARGET_STOP, BOOT_TARGET_STOP, BOOT_TARGET_DISK, BOOT_TARGET_DISK, BOOT_TARGET_STOP,
	  BOOT_TARGET_STOP, BOOT_TARGET_STOP}},
};

static void every_cell(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		for (int at = 0; at < STATES; at++) {
			struct inventory_node node = {.state = (enum node_state)at,
						      .intent.target = expected[i].intent};
			struct target_decision decision = target_policy(&node);

			assert_int_equal(decision.target, expected[i].by_state[at]);
			assert_non_null(decision.reason);
			/* A person reads the reason on a console: it begins with the state. */
			if (decision.target == BOOT_TARGET_STOP)
				assert_memory_equal(decision.reason, node_state_words[node.state],
						    strlen(node_state_words[node.state]));
			node.dirty =
				true; /* changes nothing: what starts a disk is stricter already */
			assert_int_equal(target_policy(&node).target, decision.target);
		}
	}
}

static void unknown_is_none(void **state)
{
	(void)state;
	assert_int_equal(target_policy(NULL).target, BOOT_TARGET_NONE);
	assert_string_equal(boot_target_text(BOOT_TARGET_AGENT), "agent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cell),
		cmocka_unit_test(unknown_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
