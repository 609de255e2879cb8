// links: sim_prober
/* The prober's judgement: who may hear whom, before, while and after a node changes its tenant. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/sim/prober/prober_members.h"
#include "tests/sim/prober/prober_wire.h"
#include "tests/support/cmocka.h"

static void test_members(void **state)
{
	static const char before[] = "# four\n"
				     "grace 500\n"
				     "tags 100 201\n"
				     "probe n1 ns1 eth0 a\n"
				     "probe n2 ns2 eth0 a\n"
				     "probe n3 ns3 eth0 b\n"
				     "probe n4 ns4 eth0 -\n"
				     "probe n5 ns5 eth0 a,b\n";
	static const char after[] = "grace 500\n"
				    "probe n1 ns1 eth0 a\n"
				    "probe n2 ns2 eth0 b\n"
				    "probe n3 ns3 eth0 b\n";
	enum { S = 1000000 }; /* `after` holds from 10 s on, with half a second of grace */
	static const struct {
		size_t from, to;
		int64_t sent_us, arrived_us;
		bool may;
	} rows[] = {
		{0, 1, 9 * S, 9 * S + 50, true}, /* n2 goes from a to b */
		{2, 1, 9 * S, 9 * S + 50, false},
		{0, 1, 10 * S, 10 * S + 499999, true}, /* for the grace, both */
		{2, 1, 10 * S, 10 * S + 499999, true},
		{0, 1, 10 * S + 500000, 10 * S + 500001, false},
		{2, 1, 10 * S + 500000, 10 * S + 500001, true},
		{0, 1, 9 * S, 10 * S + 500000, false}, /* sent in time, and too late at n2 */
		{1, 0, 9 * S, 10 * S + 500000, true},  /* n2 sent it as a's, whenever it comes */
		{1, 0, 10 * S + 500000, 10 * S + 500001, false},
		{0, 2, 10 * S, 10 * S + 1, false}, /* the grace is n2's alone */
		{9, 0, 10 * S, 10 * S + 1, false},
	};
	static const char *const bad[] = {"probe n1 ns1 eth0\n",
					  "probe n1 ns1 eth0 a extra\n",
					  "tags 4096\n",
					  "grace x\n",
					  "what\n",
					  "probe n1 a b c\nprobe n1 a b c\n"};
	struct prober_members *members = calloc(1, sizeof(*members));
	char text[64];
	unsigned line;

	(void)state;
	assert_non_null(members);
	assert_int_equal(prober_members_follow(members, before, S, &line), 0);
	assert_int_equal(members->count, 5);
	assert_int_equal(members->tag_count, 2);
	assert_true(prober_may_hear(members, 0, S, 1, S));
	assert_false(prober_may_hear(members, 0, S, 2, S)); /* no grace for who is new */
	assert_false(prober_may_hear(members, 3, S, 3, S)); /* nobody's */
	assert_true(prober_may_hear(members, 4, S, 2, S) && prober_may_hear(members, 4, S, 0, S));
	assert_string_equal(prober_tenants_text(members, 4, text, sizeof(text)), "a,b");
	assert_string_equal(prober_tenants_text(members, 3, text, sizeof(text)), "-");

	assert_int_equal(prober_members_follow(members, after, 10 * S, &line), 0);
	assert_false(members->probes[3].active);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(prober_may_hear(members, rows[i].from, rows[i].sent_us, rows[i].to,
						 rows[i].arrived_us),
				 rows[i].may);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(prober_members_follow(members, bad[i], 20 * S, &line),
				 E_MALFORMED);
	assert_true(members->probes[0].active); /* a file that is wrong changes nothing */
	free(members);
}

static void test_frames(void **state)
{
	(void)state;
	for (enum prober_kind kind = 0; kind < PROBER_KINDS; kind++) {
		struct prober_frame frame = {.token = 77,
					     .sender = 3,
					     .kind = kind,
					     .outer = 201,
					     .inner = 202,
					     .sequence = 123456,
					     .sent_us = 1795286400123456};
		struct prober_frame read;
		uint8_t data[PROBER_FRAME_ROOM];
		size_t size = 0;

		assert_int_equal(prober_frame_write(&frame, data, sizeof(data), &size), 0);
		assert_true(size >= 64);
		assert_int_equal(prober_frame_read(data, size, 77, &read), 0);
		assert_int_equal(read.kind, kind);
		assert_int_equal(read.sequence, 123456);
		assert_int_equal(read.inner, 202);
		assert_true(read.sent_us == frame.sent_us);
		assert_int_equal(prober_frame_read(data, size, 78, &read), E_NOT_FOUND);
		assert_int_equal(prober_frame_read(data, size - 1, 77, &read), E_NOT_FOUND);
		/* A tag taken off on the way moves the tail; it is still the tail. */
		assert_int_equal(prober_frame_read(data + 4, size - 4, 77, &read), 0);
		assert_int_equal(prober_frame_write(&frame, data, 40, &size), E_LIMIT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
