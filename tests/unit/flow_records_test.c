// links: peregrine_sample
/* NetFlow 9 and IPFIX: messages made by hand, and those of a real Open vSwitch and of
 * softflowd. */
#include <stdio.h>

#include "common/base/macros.h"

#include "tests/unit/exporter_fixture.h"

/* --- what records say --- */

#define FIELDS "10:2 14:4 8:4 12:4 4:1 7:2 11:2 1:4 2:4 56:6 80:6 58:2"
#define RECORD                            \
	"0004 00000005 0a000001 0a000002" \
	" 06 9c41 1451 00002710 0000000a" \
	" 020000000001 020000000002 0064"

static void a_record_is_a_flow(void **state)
{
	static const uint16_t versions[] = {NETFLOW_9, IPFIX_10};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		struct bench bench;
		struct message m;
		const struct flow_entry *entry;

		bench_make(&bench);
		begin(&m, versions[i], 0, 11);
		put_template(&m, 300, 12, FIELDS);
		put_data(&m, 300, RECORD " 000000"); /* padding */
		send(&bench, &m);
		entry = only_flow(&bench);
		assert_int_equal(entry->key.agent, 7);
		assert_int_equal(entry->key.input, 4);
		assert_int_equal(entry->key.output, 5);
		assert_int_equal(entry->key.source_port, 40001);
		assert_int_equal(entry->key.target_port, 5201);
		assert_int_equal(entry->key.ethertype, 0x800);
		assert_int_equal(entry->key.flags, FLOW_IPV4 | FLOW_RECORD);
		assert_int_equal(entry->key.source[15], 1);
		assert_int_equal(entry->key.target_mac[5], 2);
		assert_int_equal(entry->key.told_vlan, 100);
		assert_int_equal(entry->key.tag, 0);
		/* IP bytes and ten Ethernet headers; nothing was sampled, so nothing is in doubt.
		 */
		assert_int_equal(entry->bytes, 10000 + 10 * 14);
		assert_int_equal(entry->packets, 10);
		assert_true(entry->square <= 0);
		assert_int_equal(bench.harvest.counts.malformed, 0);
		assert_int_equal(bench.harvest.counts.records, 1);
		bench_end(&bench);
	}
}

static void odd_fields_are_passed_over(void **state)
{
	struct bench bench;
	struct message m;
	const struct flow_entry *entry;

	(void)state;
	bench_make(&bench);
	begin(&m, IPFIX_10, 0, 11);
	/* A name of any length, an enterprise's own field 1, a MAC that is none, a long number. */
	put_template(&m, 256, 7, "82:65535 1:4@6876 56:4 352:3 2:8 61:1 82:65535");
	put_data(&m, 256,
		 "02 7030 ffffffff 01020304 0003e8 0000000000000002 01 ff 0003 616263"
		 "00 ffffffff 01020304 0007d0 0000000000000004 01 00");
	send(&bench, &m);
	entry = only_flow(&bench);
	assert_int_equal(entry->bytes, 3000);
	assert_int_equal(entry->packets, 6);
	assert_int_equal(entry->key.flags, FLOW_RECORD | FLOW_EGRESS);
	assert_int_equal(bench.harvest.counts.malformed, 0);
	bench_end(&bench);
}

static void what_cannot_be_is_counted(void **state)
{
	struct bench bench;
	struct message m;

	(void)state;
	bench_make(&bench);
	begin(&m, IPFIX_10, 0, 11);
	put_template(&m, 256, 2, "1:8 2:8");
	put_template(&m, 257, 1, "2:8"); /* says not how much */
	put_data(&m, 256, "ffffffffffffffff 0000000000000001 0000000000000000 0000000000000000");
	put_data(&m, 257, "0000000000000001");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.records, 0);
	assert_int_equal(bench.harvest.counts.records_odd, 3);
	assert_int_equal(bench.harvest.flows.count, 0);
	bench_end(&bench);
}

/* --- sampling --- */

static void a_rate_scales(void **state)
{
	static const struct {
		const char *what;
		uint16_t version;
		uint16_t scopes, count;
		const char *options, *told;
		const char *fields, *record;
		uint64_t bytes;
	} rows[] = {
		{"the record itself", IPFIX_10, 0, 0, "", "", "352:4 2:4 34:4",
		 "000003e8 0000000a 00000014", 20000},
		{"of the whole domain", NETFLOW_9, 1, 2, "1:4 34:4", "00000000 00000064",
		 "352:4 2:4", "000003e8 0000000a", 100000},
		{"its sampler", NETFLOW_9, 1, 3, "1:4 48:1 50:4", "00000000 05 0000000a",
		 "352:4 2:4 48:1", "000003e8 0000000a 05", 10000},
		{"the only sampler, though another is named", NETFLOW_9, 1, 3, "1:4 48:1 50:4",
		 "00000000 05 0000000a", "352:4 2:4 48:1", "000003e8 0000000a 06", 10000},
		{"one packet, then 99 not", IPFIX_10, 1, 3, "302:4 305:4 306:4",
		 "00000001 00000001 00000063", "352:4 2:4 302:4", "000003e8 0000000a 00000001",
		 100000},
		{"wire 1: a random sampler of 1 in 256", IPFIX_10, 1, 7,
		 "302:4 305:4 304:2 309:4 310:4 84:4 335:4",
		 "00000001 00000001 0003 00000001 00000100 72616e64 00000000", "352:4 2:4 302:4",
		 "000003e8 0000000a 00000001", 256000},
		{"wire 1: 2 in 100, not said how", IPFIX_10, 1, 3, "302:4 309:4 310:4",
		 "00000001 00000002 00000064", "352:4 2:4 302:4", "000003e8 0000000a 00000001",
		 50000},
		{"wire 1: the method says which fields count", IPFIX_10, 1, 6,
		 "302:4 304:1 305:4 306:4 309:4 310:4",
		 "00000001 03 00000001 00000000 00000001 00000040", "352:4 2:4 302:4",
		 "000003e8 0000000a 00000001", 64000},
		{"wire 1: a chance of 1/8 in 8 octets", IPFIX_10, 1, 3, "302:4 304:1 311:8",
		 "00000001 04 3fc0000000000000", "352:4 2:4 302:4", "000003e8 0000000a 00000001",
		 8000},
		{"wire 1: a chance of 1/512 in 4 octets", NETFLOW_9, 1, 3, "1:4 302:4 311:4",
		 "00000000 00000001 3b000000", "352:4 2:4 302:4", "000003e8 0000000a 00000001",
		 512000},
		{"wire 1: the record says its part", IPFIX_10, 0, 0, "", "",
		 "352:4 2:4 309:2 310:2", "000003e8 0000000a 0001 0014", 20000},
		{"wire 1: the record says its chance", IPFIX_10, 0, 0, "", "", "352:4 2:4 311:4",
		 "000003e8 0000000a 3f000000", 2000},
		{"wire 1: 5 out of 2 is nonsense", IPFIX_10, 0, 0, "", "", "352:4 2:4 309:2 310:2",
		 "000003e8 0000000a 0005 0002", 1000},
		{"wire 1: a chance of 2, or none at all", IPFIX_10, 1, 2, "302:4 311:4",
		 "00000001 40000000", "352:4 2:4 311:4", "000003e8 0000000a 7fc00000", 1000},
		{"nobody says: as it is", IPFIX_10, 0, 0, "", "", "352:4 2:4", "000003e8 0000000a",
		 1000},
		{"a rate of nothing: as it is", NETFLOW_9, 1, 2, "1:4 34:4", "00000000 00000000",
		 "352:4 2:4", "000003e8 0000000a", 1000},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;
		const struct flow_entry *entry;
		unsigned fields = 1;

		print_message("%s\n", rows[i].what);
		for (const char *at = rows[i].fields; *at; at++)
			fields += *at == ' ';
		bench_make(&bench);
		begin(&m, rows[i].version, 0, 1);
		if (rows[i].count) {
			put_options(&m, 512, rows[i].scopes, rows[i].count, rows[i].options);
			put_data(&m, 512, rows[i].told);
		}
		put_template(&m, 300, (uint16_t)fields, rows[i].fields);
		put_data(&m, 300, rows[i].record);
		send(&bench, &m);
		entry = only_flow(&bench);
		assert_int_equal(entry->bytes, rows[i].bytes);
		assert_int_equal(entry->packets, rows[i].bytes / 100);
		/* Of what was sampled the spread is told: ten frames of about 100 bytes. */
		assert_true(rows[i].bytes > 1000 ? entry->square > 0 : entry->square <= 0);
		bench_end(&bench);
	}
}

/* --- templates --- */

static void records_before_their_template_are_counted(void **state)
{
	struct bench bench;
	struct message m;
	const struct source_sums *sums;
	size_t count;

	(void)state;
	bench_make(&bench);
	begin(&m, IPFIX_10, 0, 1);
	put_data(&m, 300, "000003e8 0000000a");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.no_template, 1);
	assert_int_equal(bench.harvest.counts.malformed, 0);

	begin(&m, IPFIX_10, 1, 1);
	put_template(&m, 300, 2, "352:4 2:4");
	send(&bench, &m);
	begin(&m, IPFIX_10, 1, 2); /* another domain has templates of its own */
	put_data(&m, 300, "000003e8 0000000a");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.no_template, 2);
	begin(&m, IPFIX_10, 1, 1);
	put_data(&m, 300, "000003e8 0000000a");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.records, 1);

	/* Told anew it has another shape; withdrawn it is not known any more. */
	begin(&m, IPFIX_10, 2, 1);
	put_template(&m, 300, 2, "2:4 352:4");
	put_data(&m, 300, "00000001 00000064");
	put_template(&m, 300, 0, "");
	put_data(&m, 300, "00000001 00000064");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.records, 2);
	assert_int_equal(bench.harvest.counts.no_template, 3);
	assert_int_equal(only_flow(&bench)->bytes, 1100);
	assert_int_equal(ipfix_book_counts(bench.exporters).templates, 0);
	begin(&m, IPFIX_10, 3, 1);
	put_template(&m, 300, 1, "352:4");
	put_template(&m, 301, 1, "352:4");
	put_options(&m, 302, 1, 1, "34:4");
	put_template(&m, 2, 0, ""); /* all, but not those of options */
	send(&bench, &m);
	assert_int_equal(ipfix_book_counts(bench.exporters).templates, 1);
	assert_int_equal(bench.harvest.counts.records_missing, 0);
	sums = source_book_harvest(bench.book, &count);
	assert_int_equal(count, 2);
	assert_int_equal(sums[0].samples, 2);
	bench_end(&bench);
}

static void an_exporter_costs_only_itself(void **state)
{
	struct bench bench;
	struct message m;
	struct ipfix_book_counts counts;

	(void)state;
	bench_make(&bench);
	for (unsigned i = 0; i < IPFIX_DOMAIN_TEMPLATES + 10; i++) {
		begin(&m, IPFIX_10, 0, 1);
		put_template(&m, (uint16_t)(256 + i), 1, "352:4");
		send(&bench, &m);
	}
	counts = ipfix_book_counts(bench.exporters);
	assert_int_equal(counts.templates, IPFIX_DOMAIN_TEMPLATES);
	assert_int_equal(counts.refused, 10);
	for (uint32_t i = 0; i < 1000; i++) {
		begin(&m, IPFIX_10, 0, 100 + i);
		put_template(&m, 300, 1, "352:4");
		send(&bench, &m);
	}
	counts = ipfix_book_counts(bench.exporters);
	assert_int_equal(counts.domains, IPFIX_AGENT_DOMAINS);
	assert_int_equal(counts.templates, IPFIX_AGENT_DOMAINS);
	assert_true(counts.bytes > 0 && counts.bytes < 4096);

	/* Too many fields, none, or none with a length. */
	begin(&m, IPFIX_10, 0, 1);
	put_template(&m, 300, 400, "352:4");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.malformed, 0);
	begin(&m, IPFIX_10, 0, 1);
	put_template(&m, 300, 1, "352:0");
	send(&bench, &m);
	begin(&m, NETFLOW_9, 0, 1);
	put_template(&m, 300, 0, "");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.malformed, 2);
	bench_end(&bench);
}

/* --- what is missing --- */

static void gaps_are_counted(void **state)
{
	static const struct {
		const char *what;
		uint16_t version;
		uint32_t sequences[4]; /* of messages of two records each */
		uint64_t missing;
		bool restarted;
	} rows[] = {
		{"messages in order", NETFLOW_9, {10, 11, 12, 13}, 0, false},
		{"a message is missing", NETFLOW_9, {10, 12, 13, 14}, 1, false},
		{"records in order", IPFIX_10, {10, 12, 14, 16}, 0, false},
		{"three records are missing", IPFIX_10, {10, 12, 17, 19}, 3, false},
		{"over the wrap", IPFIX_10, {0xfffffffe, 0, 2, 4}, 0, false},
		{"one came late", IPFIX_10, {10, 14, 12, 16}, 2, false},
		{"it began anew", IPFIX_10, {5000000, 0, 2, 4}, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;
		const struct source_sums *sums;
		size_t count;

		print_message("%s\n", rows[i].what);
		bench_make(&bench);
		for (size_t j = 0; j < 4; j++) {
			begin(&m, rows[i].version, rows[i].sequences[j], 1);
			put_template(&m, 300, 1, "352:4");
			put_data(&m, 300, "00000064 00000064");
			send(&bench, &m);
		}
		assert_int_equal(bench.harvest.counts.records_missing, rows[i].missing);
		sums = source_book_harvest(bench.book, &count);
		assert_int_equal(count, 1);
		assert_int_equal(sums[0].samples, 8);
		assert_int_equal(sums[0].missing, rows[i].missing);
		assert_int_equal(sums[0].restarted, rows[i].restarted);
		bench_end(&bench);
	}
}

static void what_is_no_message_is_refused(void **state)
{
	static const uint8_t stranger[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2};
	static const uint8_t five[48] = {0, 5, 0, 1};
	static const uint8_t cut[16] = {0, 10, 0, 40};
	struct bench bench;
	struct message m;

	(void)state;
	bench_make(&bench);
	take(&bench, five, sizeof(five));
	take(&bench, cut, sizeof(cut));
	take(&bench, cut, 1);
	begin(&m, NETFLOW_9, 0, 1);
	send(&bench, &m);
	ipfix_reader_take(&bench.reader, bench.exporters, m.bytes, wire_written(&m.writer),
			  stranger);
	assert_int_equal(bench.harvest.counts.datagrams, 5);
	assert_int_equal(bench.harvest.counts.other_version, 1);
	assert_int_equal(bench.harvest.counts.malformed, 2);
	assert_int_equal(bench.harvest.counts.unknown_agent, 1);
	bench_end(&bench);
}

/* Messages each behind its length in two bytes. */
static void take_file(struct bench *bench, const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t head[2];

	assert_non_null(file);
	while (fread(head, 1, 2, file) == 2) {
		uint8_t message[65536];
		size_t size = (size_t)(head[0] << 8 | head[1]);

		assert_int_equal(fread(message, 1, size, file), size);
		take(bench, message, size);
	}
	(void)fclose(file);
}

/* tests/data/ipfix-ovs.bin: an Open vSwitch 3.1 with two ports in VLAN 100 (ifIndex 2 and 3), 200
 * pings of 1042 bytes of frame and their answers, 1 in 4 sampled, as ingress and as egress. */
static void a_real_switch_is_read_to_its_end(void **state)
{
	struct bench bench;
	const struct source_sums *sums;
	struct flow_entry *entry;
	uint64_t in_bytes = 0;
	uint64_t out_bytes = 0;
	size_t count;
	size_t at = 0;

	(void)state;
	bench_make(&bench);
	take_file(&bench, TEST_SOURCE_DIR "/data/ipfix-ovs.bin");
	assert_int_equal(bench.harvest.counts.datagrams, 220);
	assert_int_equal(bench.harvest.counts.malformed + bench.harvest.counts.no_template, 0);
	assert_int_equal(bench.harvest.counts.records_missing, 0);
	assert_int_equal(bench.harvest.counts.records, 200);
	assert_int_equal(ipfix_book_counts(bench.exporters).templates, 89);
	while ((entry = flow_table_next(&bench.harvest.flows, &at))) {
		if (entry->key.protocol != 1)
			continue;
		assert_true(entry->key.flags & FLOW_IPV4);
		assert_true(entry->key.input == 2 || entry->key.input == 3);
		assert_true(entry->key.target_port == 0x800 || entry->key.target_port == 0);
		if (entry->key.flags & FLOW_EGRESS) {
			assert_int_equal(entry->key.output, entry->key.input == 2 ? 3 : 2);
			out_bytes += entry->bytes;
		} else {
			assert_int_equal(entry->key.output, PORT_UNKNOWN);
			in_bytes += entry->bytes;
		}
	}
	/* 400 frames of 1042 bytes each way of looking; about 100 samples: 95 % are within 20 %. */
	assert_true(in_bytes > 300000 && in_bytes < 540000);
	assert_true(out_bytes > 300000 && out_bytes < 540000);
	/* What it says of itself is of domain 0. */
	sums = source_book_harvest(bench.book, &count);
	assert_int_equal(count, 2);
	assert_int_equal(sums[0].sub_agent + sums[1].sub_agent, 11);
	bench_end(&bench);
}

/* tests/data/netflow9-softflowd.bin: softflowd 1.1, recorded by tests/data/record_netflow9, which
 * says what passed. It tells bytes of IP packets: a frame has 14 more. */
static void a_real_exporter_of_netflow_9_is_read_to_its_end(void **state)
{
	enum { PROTOCOL_ICMP = 1, PROTOCOL_UDP = 17 };
	static const struct {
		uint8_t protocol;
		uint16_t target_port; /* of ICMP: type and code */
		uint8_t flags, from;  /* the last byte of the MAC */
		uint64_t packets, bytes;
	} rows[] = {
		{PROTOCOL_ICMP, 0x800, FLOW_IPV4, 1, 50, 50 * (1028 + UINT64_C(14))},
		{PROTOCOL_ICMP, 0, FLOW_IPV4, 2, 50, 50 * (1028 + UINT64_C(14))},
		{PROTOCOL_UDP, 4002, FLOW_IPV4, 1, 40, 40 * (1228 + UINT64_C(14))},
		{PROTOCOL_UDP, 4002, FLOW_IPV6, 1, 30, 30 * (748 + UINT64_C(14))},
	};
	struct bench bench;
	struct flow_entry *entry;
	unsigned found = 0;
	size_t at = 0;

	(void)state;
	bench_make(&bench);
	take_file(&bench, TEST_SOURCE_DIR "/data/netflow9-softflowd.bin");
	assert_int_equal(bench.harvest.counts.datagrams, 1);
	assert_int_equal(bench.harvest.counts.malformed + bench.harvest.counts.no_template, 0);
	assert_int_equal(bench.harvest.counts.records_odd + bench.harvest.counts.records_missing,
			 0);
	/* Four of these rows, and the other end's "port unreachable". */
	assert_int_equal(bench.harvest.counts.records, 5);
	assert_int_equal(ipfix_book_counts(bench.exporters).templates, 5);
	while ((entry = flow_table_next(&bench.harvest.flows, &at)))
		for (size_t i = 0; i < COUNT_OF(rows); i++) {
			const struct flow_key *key = &entry->key;

			if (key->protocol != rows[i].protocol ||
			    key->target_port != rows[i].target_port ||
			    key->source_mac[5] != rows[i].from || !(key->flags & rows[i].flags))
				continue;
			found++;
			assert_true(key->flags & FLOW_RECORD);
			/* It tells that of the frame that left (57), which a router changes. */
			assert_memory_equal(key->target_mac, "\0\0\0\0\0\0", 6);
			assert_int_equal(key->source_port,
					 rows[i].protocol == PROTOCOL_UDP ? 4001 : 0);
			assert_int_equal(entry->packets, rows[i].packets);
			assert_int_equal(entry->bytes, rows[i].bytes);
		}
	assert_int_equal(found, COUNT_OF(rows));
	bench_end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_a_flow),
		cmocka_unit_test(odd_fields_are_passed_over),
		cmocka_unit_test(what_cannot_be_is_counted),
		cmocka_unit_test(a_rate_scales),
		cmocka_unit_test(records_before_their_template_are_counted),
		cmocka_unit_test(an_exporter_costs_only_itself),
		cmocka_unit_test(gaps_are_counted),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(a_real_switch_is_read_to_its_end),
		cmocka_unit_test(a_real_exporter_of_netflow_9_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
