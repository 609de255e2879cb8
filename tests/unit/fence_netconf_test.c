// links: peregrine_switch
/* A change by NETCONF whose claim ends after any of its messages: no message more is sent, not even
 * to give a lock back, and no edit counts as taken that is not proven, or as not tried that may be in force. */
#include "tests/support/netconf_bench.h"

/* `first`: the message that may bring the edit into force. `proof`: with its answer it is, for good. */
static void cut_everywhere(const char *family, const char *hello, const struct turn *turns,
			   size_t count, size_t first, size_t proof)
{
	struct switch_edit edit = port_edit("Ethernet1/1", 120);

	for (size_t last = 1; last < count; last++) {
		enum edit_result result = EDIT_NOT_TRIED;
		struct switch_request change = {
			.op = SWITCH_CHANGE, .edits = &edit, .edit_count = 1, .results = &result};
		struct ended ended = {0};
		struct bench bench;

		assert_int_equal(fence_new(INT64_MAX, &change.fence), 0);
		bench_open(&bench, family, hello, turns);
		assert_int_equal(netconf_switch_driver.start(bench.session, &change,
							     clock_monotonic_ms() + 20000, on_call,
							     &ended),
				 0);
		while (!ended.over) {
			if (bench.script.at >= last)
				fence_drop(change.fence);
			loop_run_once(bench.loop);
		}
		if (ended.rc != E_LAPSED || bench.script.at != last ||
		    result != (last > proof   ? EDIT_TAKEN
			       : last > first ? EDIT_UNKNOWN
					      : EDIT_NOT_TRIED))
			fail_msg("%s after %zu messages: %d, %zu sent, result %d", family, last,
				 ended.rc, bench.script.at, (int)result);
		bench.script.turns = &(const struct turn){0};
		bench.script.at = 0;
		bench_close(&bench);
		fence_unref(change.fence);
	}
}

static void nothing_is_sent_after_the_claim(void **state)
{
	static const struct turn running[] = {
		{"<get>", NX("110", "110"), false, false},
		{"<lock><target><running/>", OK, false, false},
		{EDIT_1, OK, false, false},
		{"<get>", NX("120", "110"), false, false},
		{"<unlock><target><running/>", OK, false, false},
	};
	static const struct turn candidate[] = {
		{"<get>", OC("110"), false, false},
		{"<lock><target><running/>", OK, false, false},
		{"<lock><target><candidate/>", OK, false, false},
		{"<edit-config><target><candidate/>", OK, false, false},
		{"<validate><source><candidate/>", OK, false, false},
		{"<commit><confirmed/><confirm-timeout>30<", OK, false, false},
		{"<get>", OC("120"), false, false},
		{"<commit/>", OK, false, false},
		{"<unlock><target><candidate/>", OK, false, false},
		{"<unlock><target><running/>", OK, false, false},
	};

	(void)state;
	cut_everywhere("cisco-nxos-netconf", HELLO(RUNNING), running, COUNT_OF(running), 2, 3);
	/* A commit that was about to be sent counts as sent, and locks are given back before it is
	 * called taken. */
	cut_everywhere("openconfig", HELLO(NEW CANDIDATE), candidate, COUNT_OF(candidate), 4,
		       COUNT_OF(candidate));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_sent_after_the_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
