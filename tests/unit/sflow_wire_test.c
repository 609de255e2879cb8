// links: peregrine_sample
/* Samples of every kind that is read, field by field, from words as switches put them. */
#include "common/base/macros.h"
#include "common/net/flow_key.h"

#include "peregrine/flowd/sample/sflow_wire.h"
#include "tests/support/cmocka.h"

/* Type, number of words and words of a sample. */
#define ROW(tag, ...)                               \
	tag, sizeof((uint32_t[]){__VA_ARGS__}) / 4, \
	{                                           \
		__VA_ARGS__                         \
	}
/* A sampled header (record 1) of 64 bytes on the wire, of which 4 are shown. */
#define HEADER_RECORD 1, 20, 1, 68, 4, 4, 0x02000000
#define HIGH(value)   (uint32_t)((value) >> 32), (uint32_t)(value)

/* The only sample of `words`, read to its end. */
static struct sflow_sample sample_of(uint32_t tag, size_t count, const uint32_t *words)
{
	static uint8_t bytes[512];
	struct wire_writer writer = wire_writer(bytes, sizeof(bytes));
	struct sflow_sample sample;
	struct wire_reader reader;

	wire_put_u32(&writer, tag);
	wire_put_u32(&writer, (uint32_t)(4 * count));
	for (size_t i = 0; i < count; i++)
		wire_put_u32(&writer, words[i]);
	assert_false(writer.bad);
	reader = wire_reader(bytes, wire_written(&writer));
	assert_int_equal(sflow_next(&reader, &sample), 1);
	assert_int_equal(wire_left(&reader), 0);
	return sample;
}

/* Flow samples and discards of all forms; the pool is 4000, 3 were dropped, 1 in 400. */
static const struct {
	const char *what;
	uint32_t tag;
	size_t count;
	uint32_t words[64];
	enum sflow_kind kind;
	uint64_t source;
	uint32_t input, output, reason;
	uint16_t in_vlan, out_vlan;
	uint32_t in_vni, out_vni;
} frame_forms[] = {
	{"compact", ROW(1, 9, 0x05, 400, 4000, 3, 5, 6, 1, HEADER_RECORD), SFLOW_FLOW, 5, 5, 6, 0,
	 VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"compact, to several ports",
	 ROW(1, 9, 0x02000005, 400, 4000, 3, 5, 0x80000003, 1, HEADER_RECORD), SFLOW_FLOW,
	 0x200000005, 5, (uint32_t)PORT_MULTIPLE, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"compact, to two ports",
	 ROW(1, 9, 0x02000005, 400, 4000, 3, 5, 0x80000002, 1, HEADER_RECORD), SFLOW_FLOW,
	 0x200000005, 5, (uint32_t)PORT_TWO, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"expanded, to two ports", ROW(3, 9, 0, 7, 400, 4000, 3, 0, 5, 2, 2, 1, HEADER_RECORD),
	 SFLOW_FLOW, 7, 5, (uint32_t)PORT_TWO, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"compact, discarded by an ACL",
	 ROW(1, 9, 0x05, 400, 4000, 3, 5, 0x40000102, 1, HEADER_RECORD), SFLOW_FLOW, 5, 5,
	 (uint32_t)PORT_DISCARDED, 258, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"expanded, with an ifIndex that no compact form holds",
	 ROW(3, 9, 0, 0xf12345, 400, 4000, 3, 0, 0x21234567, 0, 0x11000000, 1, HEADER_RECORD),
	 SFLOW_FLOW, 0xf12345, 0x21234567, 0x11000000, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	/* SR Linux, IOS XR and SR OS have such numbers (LibreNMS's recordings). */
	{"expanded, with an ifIndex above 2^30, sampled where it left",
	 ROW(3, 9, 0, 0x40404001, 400, 4000, 3, 0, 0x7fffffff, 0, 0x40404001, 1, HEADER_RECORD),
	 SFLOW_FLOW, 0x40404001, 0x7fffffff, 0x40404001, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"expanded, with a number that is no ifIndex, to the switch itself",
	 ROW(3, 9, 0, 7, 400, 4000, 3, 0, 0x80000000, 0, 0xffffffff, 1, HEADER_RECORD), SFLOW_FLOW,
	 7, PORT_UNKNOWN, (uint32_t)PORT_INTERNAL, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"compact, from the switch itself, to the largest ifIndex that it holds",
	 ROW(1, 9, 7, 400, 4000, 3, 0x3fffffff, 0x3ffffffe, 1, HEADER_RECORD), SFLOW_FLOW, 7,
	 (uint32_t)PORT_INTERNAL, 0x3ffffffe, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"expanded, of a VLAN, discarded for want of room",
	 ROW(3, 9, 1, 100, 400, 4000, 3, 0, 5, 1, 259, 1, HEADER_RECORD), SFLOW_FLOW, 0x100000064,
	 5, (uint32_t)PORT_DISCARDED, 259, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"expanded, to several ports, from nobody knows where",
	 ROW(3, 9, 0, 7, 400, 4000, 3, 3, 0, 2, 4, 1, HEADER_RECORD), SFLOW_FLOW, 7, PORT_UNKNOWN,
	 (uint32_t)PORT_MULTIPLE, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"extended switch",
	 ROW(3, 9, 0, 7, 400, 4000, 3, 0, 5, 0, 6, 2, 1001, 16, 100, 7, 101, 0, HEADER_RECORD),
	 SFLOW_FLOW, 7, 5, 6, 0, 100, 101, 0, 0},
	{"a tag that was stripped, the outer of two",
	 ROW(1, 9, 7, 400, 4000, 3, 5, 6, 2, HEADER_RECORD, 1012, 12, 2, 0x88a8e064, 0x81000065),
	 SFLOW_FLOW, 7, 5, 6, 0, 100, VLAN_UNTOLD, 0, 0},
	{"no tag was stripped", ROW(1, 9, 7, 400, 4000, 3, 5, 6, 2, HEADER_RECORD, 1012, 4, 0),
	 SFLOW_FLOW, 7, 5, 6, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0, 0},
	{"a stripped tag beside extended switch, before",
	 ROW(1, 9, 7, 400, 4000, 3, 5, 6, 3, HEADER_RECORD, 1012, 8, 1, 0x81000065, 1001, 16, 100,
	     0, 101, 0),
	 SFLOW_FLOW, 7, 5, 6, 0, 100, 101, 0, 0},
	{"and behind it",
	 ROW(1, 9, 7, 400, 4000, 3, 5, 6, 3, HEADER_RECORD, 1001, 16, 100, 0, 101, 0, 1012, 8, 1,
	     0x81000065),
	 SFLOW_FLOW, 7, 5, 6, 0, 100, 101, 0, 0},
	{"VNIs, plus one; what a tunnel's ends are is passed over",
	 ROW(3, 9, 0, 7, 400, 4000, 3, 0, 5, 0, 6, 5, 1023, 8, 1, 2, 1029, 4, 5001, 1030, 4,
	     0xffffff, 1028, 4, 50, HEADER_RECORD),
	 SFLOW_FLOW, 7, 5, 6, 0, VLAN_UNTOLD, VLAN_UNTOLD, 0x1000000, 5002},
	{"a packet thrown away: its TTL was over",
	 ROW(5, 9, 0, 7, 3, 5, 0, 257, 2, 1001, 16, 100, 0, 0, 0, HEADER_RECORD), SFLOW_DISCARD, 7,
	 5, (uint32_t)PORT_DISCARDED, 257, 100, 0, 0, 0},
};

static void frames_are_read_of_every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(frame_forms); i++) {
		struct sflow_sample sample =
			sample_of(frame_forms[i].tag, frame_forms[i].count, frame_forms[i].words);
		bool flow = frame_forms[i].kind == SFLOW_FLOW;

		print_message("%s\n", frame_forms[i].what);
		assert_int_equal(sample.kind, frame_forms[i].kind);
		assert_int_equal(sample.sequence, 9);
		assert_int_equal(sample.source, frame_forms[i].source);
		assert_int_equal(sample.rate, flow ? 400 : 1);
		assert_int_equal(sample.pool, flow ? 4000 : 0);
		assert_int_equal(sample.drops, 3);
		assert_int_equal(sample.input, frame_forms[i].input);
		assert_int_equal(sample.output, frame_forms[i].output);
		assert_int_equal(sample.reason, frame_forms[i].reason);
		assert_int_equal(sample.in_vlan, frame_forms[i].in_vlan);
		assert_int_equal(sample.out_vlan, frame_forms[i].out_vlan);
		assert_int_equal(sample.in_vni, frame_forms[i].in_vni);
		assert_int_equal(sample.out_vni, frame_forms[i].out_vni);
		assert_int_equal(sample.frame_bytes, 64);
		assert_true(sample.is_ethernet);
		assert_int_equal(sample.header_size, 4);
		assert_memory_equal(sample.header, "\x02\0\0\0", 4);
	}
}

static const struct sflow_counters whole_counters = {
	.if_index = 5,
	.type = 6,
	.direction = 1,
	.status = 3,
	.speed_bps = 100000000000U,
	.in_octets = 0x123456789abU,
	.out_octets = 0xfedcba98765U,
	.in_unicast = 11,
	.in_multicast = 12,
	.in_broadcast = 13,
	.in_discards = 14,
	.in_errors = 15,
	.in_unknown = 16,
	.out_unicast = 21,
	.out_multicast = 22,
	.out_broadcast = 23,
	.out_discards = 24,
	.out_errors = 25,
	.alignment_errors = 31,
	.fcs_errors = 32,
	.symbol_errors = 33,
	.has_generic = true,
	.has_ethernet = true,
};

static void counters_are_read_of_both_forms(void **state)
{
	static const struct {
		uint32_t tag;
		size_t count;
		uint32_t words[64];
	} rows[] = {
		{ROW(2, 77, 5, 3, /**/ 1, 88, 5, 6, HIGH(100000000000U), 1, 3, HIGH(0x123456789abU),
		     11, 12, 13, 14, 15, 16, HIGH(0xfedcba98765U), 21, 22, 23, 24, 25, 0, /**/ 2,
		     52, 31, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, /**/ 5, 28, 1301,
		     HIGH(0x200000003U), 41, 42, 43, 44)},
		{ROW(4, 77, 0, 5, 3, /**/ 5, 28, 1301, HIGH(0x200000003U), 41, 42, 43, 44, /**/ 2,
		     52, 31, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 33, /**/ 1, 88, 5, 6,
		     HIGH(100000000000U), 1, 3, HIGH(0x123456789abU), 11, 12, 13, 14, 15, 16,
		     HIGH(0xfedcba98765U), 21, 22, 23, 24, 25, 0)},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sflow_sample sample = sample_of(rows[i].tag, rows[i].count, rows[i].words);
		const struct sflow_counters *c = &sample.counters;
		const struct sflow_counters *want = &whole_counters;

		assert_int_equal(sample.kind, SFLOW_COUNTERS);
		assert_int_equal(sample.sequence, 77);
		assert_int_equal(sample.source, 5);
#define SAME(member) assert_int_equal(c->member, want->member)
		SAME(if_index);
		SAME(type);
		SAME(direction);
		SAME(status);
		SAME(speed_bps);
		SAME(in_octets);
		SAME(out_octets);
		SAME(in_unicast);
		SAME(in_multicast);
		SAME(in_broadcast);
		SAME(in_discards);
		SAME(in_errors);
		SAME(in_unknown);
		SAME(out_unicast);
		SAME(out_multicast);
		SAME(out_broadcast);
		SAME(out_discards);
		SAME(out_errors);
		SAME(alignment_errors);
		SAME(fcs_errors);
		SAME(symbol_errors);
		SAME(has_generic);
		SAME(has_ethernet);
#undef SAME
		assert_int_equal(sample.vlan.vlan, 1301);
		assert_int_equal(sample.vlan.octets, 0x200000003U);
		assert_int_equal(sample.vlan.unicast, 41);
		assert_int_equal(sample.vlan.multicast, 42);
		assert_int_equal(sample.vlan.broadcast, 43);
		assert_int_equal(sample.vlan.discards, 44);
	}
}

static void reasons_have_names(void **state)
{
	static const struct {
		uint32_t reason;
		const char *text;
	} rows[] = {
		{0, "net_unreachable"},
		{15, "precedence_cutoff"},
		{16, NULL},
		{255, NULL},
		{256, "unknown"},
		{257, "ttl_exceeded"},
		{258, "acl"},
		{259, "no_buffer_space"},
		{264, "vlan_tag_mismatch"},
		{269, "blackhole_route"},
		{270, NULL},
		{UINT32_MAX, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *text = sflow_reason_text(rows[i].reason);

		assert_int_equal(text == NULL, rows[i].text == NULL);
		if (text)
			assert_string_equal(text, rows[i].text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_read_of_every_form),
		cmocka_unit_test(counters_are_read_of_both_forms),
		cmocka_unit_test(reasons_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
