// links: sim_prober
/* The prober's judgement: who may hear whom, before, while and after a node changes its tenant. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/sim/prober_members.h"
#include "tests/sim/prober_wire.h"
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
	static const struct {
		size_t from, to;
		int64_t at;
		bool may;
	} rows[] = {
		{0, 1, 10500, true}, /* n2 goes from a to b: for the grace, both */
		{2, 1, 10500, true},  {0, 1, 10600, false},
		{2, 1, 10600, true},  {0, 2, 10500, false}, /* the grace is n2's alone */
		{9, 0, 10600, false},
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
	assert_int_equal(prober_members_follow(members, before, 1000, &line), 0);
	assert_int_equal(members->count, 5);
	assert_int_equal(members->tag_count, 2);
	assert_true(prober_may_hear(members, 0, 1, 1000));
	assert_false(prober_may_hear(members, 0, 2, 1000)); /* no grace for who is new */
	assert_false(prober_may_hear(members, 3, 3, 1000)); /* nobody's */
	assert_true(prober_may_hear(members, 4, 2, 1000) && prober_may_hear(members, 4, 0, 1000));
	assert_string_equal(prober_tenants_text(members, 4, text, sizeof(text)), "a,b");
	assert_string_equal(prober_tenants_text(members, 3, text, sizeof(text)), "-");

	assert_int_equal(prober_members_follow(members, after, 10090, &line), 0);
	assert_false(members->probes[3].active);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(prober_may_hear(members, rows[i].from, rows[i].to, rows[i].at),
				 rows[i].may);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(prober_members_follow(members, bad[i], 20000, &line), E_MALFORMED);
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
					     .sequence = 123456};
		struct prober_frame read;
		uint8_t data[PROBER_FRAME_ROOM];
		size_t size = 0;

		assert_int_equal(prober_frame_write(&frame, data, sizeof(data), &size), 0);
		assert_true(size >= 64);
		assert_int_equal(prober_frame_read(data, size, 77, &read), 0);
		assert_int_equal(read.kind, kind);
		assert_int_equal(read.sequence, 123456);
		assert_int_equal(read.inner, 202);
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
