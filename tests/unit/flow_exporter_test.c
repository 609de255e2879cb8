// links: peregrine_sample
/* What exporters of real makers send beside the common: fields of any length, filled packets, wrong
 * lengths, two pairs of addresses. Numbers ("wire 3") are those of the findings. */
#include <string.h>

#include "common/base/macros.h"

#include "tests/unit/exporter_fixture.h"

/* wire 9: of packets in SRv6 a template tells the routers' addresses and the inner ones. */
static void of_two_pairs_of_addresses_the_inner_counts(void **state)
{
#define SIX  "20010db8000000000000000000000001 20010db8000000000000000000000002 "
#define SIX2 "20010db8000000000000000000000003 20010db8000000000000000000000004 "
#define NONE "00000000000000000000000000000000 00000000000000000000000000000000 "
	static const struct {
		const char *what, *fields, *record;
		uint8_t flags, last; /* of the source */
	} rows[] = {
		{"IPv4 in SRv6", "27:16 28:16 8:4 12:4 1:4", SIX "c000020d c000020c 00000064",
		 FLOW_IPV4, 13},
		{"IPv6 in SRv6: the later pair", "27:16 28:16 27:16 28:16 1:4", SIX SIX2 "00000064",
		 FLOW_IPV6, 3},
		{"fields of both, IPv6", "27:16 28:16 8:4 12:4 1:4",
		 SIX "00000000 00000000 00000064", FLOW_IPV6, 1},
		{"fields of both, IPv4", "27:16 28:16 8:4 12:4 1:4",
		 NONE "c000020d c000020c 00000064", FLOW_IPV4, 13},
		{"fields of both, a client without an address", "27:16 28:16 8:4 12:4 1:4",
		 NONE "00000000 ffffffff 00000064", FLOW_IPV4, 0},
		{"both, the version says IPv6", "27:16 28:16 8:4 12:4 60:1 1:4",
		 SIX "c000020d c000020c 06 00000064", FLOW_IPV6, 1},
		{"both, the version says IPv4", "27:16 28:16 8:4 12:4 60:1 1:4",
		 SIX "c000020d c000020c 04 00000064", FLOW_IPV4, 13},
		{"neither", "27:16 28:16 8:4 12:4 1:4", NONE "00000000 00000000 00000064", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;
		const struct flow_key *key;
		uint16_t count = 1;

		print_message("%s\n", rows[i].what);
		for (const char *at = rows[i].fields; *at; at++)
			count = (uint16_t)(count + (*at == ' '));
		bench_make(&bench);
		begin(&m, IPFIX_10, 0, 1);
		put_template(&m, 300, count, rows[i].fields);
		put_data(&m, 300, rows[i].record);
		send(&bench, &m);
		key = &only_flow(&bench)->key;
		assert_int_equal(key->flags, FLOW_RECORD | rows[i].flags);
		assert_int_equal(key->source[15], rows[i].last);
		bench_end(&bench);
	}
#undef SIX
#undef SIX2
#undef NONE
}

/* wire 3: H3C's NetStream 9 has a name of any length in its records. */
static void nine_has_variable_fields(void **state)
{
	struct bench bench;
	struct message m;

	(void)state;
	bench_make(&bench);
	begin(&m, NETFLOW_9, 0, 11);
	put_template(&m, 300, 4, "1:4 236:65535 2:4 10:2");
	put_data(&m, 300, "000002be 00 00000009 0004 0003");
	put_data(&m, 300, "000002be 03 767066 00000009 0004 000002be ff0001 76 00000009 0004");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.records, 3);
	assert_int_equal(only_flow(&bench)->bytes, 3 * (702 + 9 * 14));
	assert_int_equal(only_flow(&bench)->key.input, 4);
	assert_int_equal(bench.harvest.counts.malformed + bench.harvest.counts.sets_unread, 0);
	bench_end(&bench);
}

/* wire 3: sets that gave nothing and are no padding: a record that is too short, a set of a number that
 * nobody gave, a template with too many fields. */
static void sets_that_give_nothing_are_counted(void **state)
{
	struct bench bench;
	struct message m;
	const struct source_sums *sums;
	size_t count;

	(void)state;
	bench_make(&bench);
	begin(&m, IPFIX_10, 0, 11);
	put_template(&m, 300, 2, "1:8 2:8");
	put_data(&m, 300, "000002be 00000009");
	put_data(&m, 77, "01");
	put_data(&m, 2, "0100 0400 0001 0004");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.sets_unread, 3);
	assert_int_equal(bench.harvest.counts.records + bench.harvest.counts.malformed, 0);
	begin(&m, IPFIX_10, 0, 11);
	put_data(&m, 300, "00000000 00000000");
	put_data(&m, 300, "0000000000000001 0000000000000001 00ff");
	put_data(&m, 2, "00000000");
	put_data(&m, 301, "01"); /* before its template: counted as such */
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.sets_unread, 3);
	assert_int_equal(bench.harvest.counts.records, 1);
	assert_int_equal(bench.harvest.counts.no_template, 1);
	sums = source_book_harvest(bench.book, &count);
	assert_int_equal(count, 1);
	assert_int_equal(sums[0].unread, 3);
	bench_end(&bench);
}

/* wire 4: Cisco ACI and Palo Alto fill their packets behind the last set. */
static void zeros_behind_the_last_set_are_padding(void **state)
{
	static const uint16_t versions[] = {NETFLOW_9, IPFIX_10};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(versions); i++)
		for (size_t zeros = 0; zeros < 70; zeros++) {
			struct bench bench;
			struct message m;

			bench_make(&bench);
			begin(&m, versions[i], 0, 1);
			put_template(&m, 300, 1, "352:4");
			put_data(&m, 300, "00000064 00000064");
			wire_put_zeros(&m.writer, zeros);
			send(&bench, &m);
			assert_int_equal(bench.harvest.counts.records, 2);
			assert_int_equal(bench.harvest.counts.malformed, 0);
			begin(&m, versions[i], 1, 1);
			wire_put_zeros(&m.writer, zeros);
			wire_put_u8(&m.writer, 1);
			send(&bench, &m);
			assert_int_equal(bench.harvest.counts.malformed, 1);
			bench_end(&bench);
		}
}

/* wire 5: the last set reaches to the end of the datagram, or two zeros stand there. */
static void a_length_may_lack_two_octets(void **state)
{
	static const struct {
		size_t lacks, zeros;
		uint64_t records, malformed;
	} rows[] = {{0, 0, 2, 0}, {2, 0, 2, 0}, {2, 2, 2, 0},
		    {3, 0, 2, 0}, {4, 0, 0, 1}, {20, 0, 0, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;
		size_t size;

		bench_make(&bench);
		begin(&m, IPFIX_10, 0, 1);
		put_template(&m, 300, 1, "352:4");
		put_data(&m, 300, "00000064 00000064");
		wire_put_zeros(&m.writer, rows[i].zeros);
		size = wire_written(&m.writer);
		put_u16_at(m.bytes + 2, size - rows[i].lacks);
		take(&bench, m.bytes, size);
		assert_int_equal(bench.harvest.counts.records, rows[i].records);
		assert_int_equal(bench.harvest.counts.malformed, rows[i].malformed);
		/* Cut short on its way it is no message: sets may lack their end. */
		take(&bench, m.bytes, size - rows[i].lacks - 1);
		assert_int_equal(bench.harvest.counts.malformed, rows[i].malformed + 1);
		bench_end(&bench);
	}
}

/* wire gaps: an IPv4 packet of UDP in VLAN 100, as Cisco and Juniper export it whole: its begin, how long it
 * was, and by options that it is one of 400. */
static void raw_frames_are_read_as_sflows(void **state)
{
#define TAGGED                                                                   \
	"020000000002 020000000001 8100 0064 0800 4500 0200 00004000 40 11 0000" \
	"0a000001 0a000002 9c41 1451 0020 0000"
	static const struct {
		const char *what, *fields, *record;
		uint64_t records, no_header, bytes;
	} rows[] = {
		{"its own length", "10:4 14:4 312:2 315:65535", "00000004 00000005 0206 2e" TAGGED,
		 1, 0, 518 * 400},
		{"a fixed length", "10:4 14:4 312:2 315:46", "00000004 00000005 0206" TAGGED, 1, 0,
		 518 * 400},
		{"no size: that of its begin", "10:4 14:4 315:65535", "00000004 00000005 2e" TAGGED,
		 1, 0, 46 * 400},
		{"a kind, and no offset", "10:4 14:4 408:2 409:2 312:2 315:65535",
		 "00000004 00000005 0001 0000 0206 2e" TAGGED, 1, 0, 518 * 400},
		{"not of Ethernet", "10:4 14:4 408:2 312:2 315:65535",
		 "00000004 00000005 0002 0206 2e" TAGGED, 0, 1, 0},
		{"not its begin", "10:4 14:4 409:2 312:2 315:65535",
		 "00000004 00000005 0010 0206 2e" TAGGED, 0, 1, 0},
		{"none", "10:4 14:4 312:2 315:65535", "00000004 00000005 0206 00", 0, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;
		const struct flow_key *key;
		uint16_t count = 1;

		print_message("%s\n", rows[i].what);
		for (const char *at = rows[i].fields; *at; at++)
			count = (uint16_t)(count + (*at == ' '));
		bench_make(&bench);
		begin(&m, IPFIX_10, 0, 1);
		put_options(&m, 512, 1, 2, "149:4 34:4");
		put_data(&m, 512, "00000001 00000190");
		put_template(&m, 300, count, rows[i].fields);
		put_data(&m, 300, rows[i].record);
		send(&bench, &m);
		assert_int_equal(bench.harvest.counts.records, rows[i].records);
		assert_int_equal(bench.harvest.counts.no_header, rows[i].no_header);
		assert_int_equal(bench.harvest.counts.records_odd, 0);
		assert_int_equal(bench.harvest.counts.malformed, 0);
		if (rows[i].records) {
			assert_int_equal(only_flow(&bench)->bytes, rows[i].bytes);
			assert_int_equal(only_flow(&bench)->packets, 400);
			key = &only_flow(&bench)->key;
			assert_int_equal(key->flags, FLOW_RECORD | FLOW_IPV4);
			assert_int_equal(key->input, 4);
			assert_int_equal(key->output, 5);
			assert_int_equal(key->tag, 100);
			assert_int_equal(key->source[15], 1);
			assert_int_equal(key->source_mac[5], 1);
			assert_int_equal(key->target_port, 5201);
			assert_int_equal(key->told_vlan, VLAN_UNTOLD);
		}
		bench_end(&bench);
	}
#undef TAGGED
}

/* Counted again, 2026-11-26: an ifIndex is 1 to 2^31 - 1; other numbers name no port. */
static void ports_have_any_if_index(void **state)
{
	static const struct {
		const char *record;
		uint32_t input, output;
	} rows[] = {
		{"00000000 00000001 00000064", PORT_UNKNOWN, 1},
		{"3fffffff 40000000 00000064", 0x3fffffff, 0x40000000},
		{"40404001 7fffffff 00000064", 0x40404001, 0x7fffffff},
		{"80000003 ffffffff 00000064", PORT_UNKNOWN, PORT_UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;

		bench_make(&bench);
		begin(&m, IPFIX_10, 0, 1);
		put_template(&m, 300, 3, "10:4 14:4 352:4");
		put_data(&m, 300, rows[i].record);
		send(&bench, &m);
		assert_int_equal(only_flow(&bench)->key.input, rows[i].input);
		assert_int_equal(only_flow(&bench)->key.output, rows[i].output);
		bench_end(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_two_pairs_of_addresses_the_inner_counts),
		cmocka_unit_test(nine_has_variable_fields),
		cmocka_unit_test(sets_that_give_nothing_are_counted),
		cmocka_unit_test(zeros_behind_the_last_set_are_padding),
		cmocka_unit_test(a_length_may_lack_two_octets),
		cmocka_unit_test(raw_frames_are_read_as_sflows),
		cmocka_unit_test(ports_have_any_if_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
