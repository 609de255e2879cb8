// links: peregrine_sample
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/net/frame_key_wire.h"

#include "peregrine/flowd/sample/sample_reader.h"
#include "peregrine/flowd/sample/thin_policy.h"
#include "tests/support/cmocka.h"
#include "tests/unit/flow_fixture.h"

#define MACS "020000000001020000000002"

/* --- what a frame says --- */

static struct flow_key key_of(const char *hex)
{
	uint8_t bytes[256];
	struct flow_key key = {.agent = 7, .input = 4, .output = 5, .told_vlan = VLAN_UNTOLD};
	size_t size = 0;

	for (; hex[2 * size]; size++) {
		unsigned value;

		assert_int_equal(sscanf(hex + 2 * size, "%2x", &value), 1);
		bytes[size] = (uint8_t)value;
	}
	frame_key_decode(bytes, size, &key);
	assert_int_equal(key.agent, 7);
	assert_int_equal(key.input, 4);
	return key;
}

static void frames_are_told_apart(void **state)
{
	static const struct {
		const char *what, *hex;
		uint16_t ethertype, tag, source_port, target_port;
		uint8_t protocol, flags;
		uint32_t vni;
	} rows[] = {
		{"nothing", "", 0, 0, 0, 0, 0, 0, 0},
		{"lldp",
		 "0180c200000e020000000002"
		 "88cc0207",
		 0x88cc, 0, 0, 0, 0, 0, 0},
		{"arp with a tag",
		 MACS "81000064"
		      "08060001",
		 0x806, 100, 0, 0, 0, 0, 0},
		{"tcp",
		 MACS "0800"
		      "4500002800004000400600000a0000010a000002"
		      "9c41145100000000",
		 0x800, 0, 40001, 5201, 6, FLOW_IPV4, 0},
		{"tcp, two tags: the outer one is ours",
		 MACS "8100006481000065"
		      "0800"
		      "4500002800004000400600000a0000010a000002"
		      "9c411451",
		 0x800, 100, 40001, 5201, 6, FLOW_IPV4, 0},
		{"tcp, a service tag: the sender's own",
		 MACS "88a8006481000065"
		      "0800"
		      "4500002800004000400600000a0000010a000002"
		      "9c411451",
		 0x800, 0, 40001, 5201, 6, FLOW_IPV4, 0},
		{"options before the ports",
		 MACS "0800"
		      "4600002800004000401100000a0000010a00000201010101"
		      "00350036",
		 0x800, 0, 53, 54, 17, FLOW_IPV4, 0},
		{"a later fragment has no ports",
		 MACS "0800"
		      "4500002800002010401100000a0000010a000002"
		      "00350036",
		 0x800, 0, 0, 0, 17, FLOW_IPV4 | FLOW_FRAGMENT, 0},
		{"cut before its ports",
		 MACS "0800"
		      "4500002800004000401100000a0000010a000002"
		      "0035",
		 0x800, 0, 0, 0, 17, FLOW_IPV4 | FLOW_CUT, 0},
		{"ping",
		 MACS "0800"
		      "4500002800004000400100000a0000010a000002"
		      "0800",
		 0x800, 0, 0, 0x800, 1, FLOW_IPV4, 0},
		{"no ip after all",
		 MACS "0800"
		      "6500002800004000400100000a0000010a000002",
		 0x800, 0, 0, 0, 0, 0, 0},
		{"ipv6 behind options and a first fragment",
		 MACS "86dd"
		      "600000000028"
		      "0040"
		      "20010db8000000000000000000000001"
		      "20010db8000000000000000000000002"
		      "2c00010400000000"
		      "1100000000000009"
		      "00350036",
		 0x86dd, 0, 53, 54, 17, FLOW_IPV6, 0},
		{"vxlan: the frame inside",
		 MACS "81000fa0"
		      "0800"
		      "4500002800004000401100000a6300010a630002"
		      "c00012b500000000"
		      "0800000000138900"
		      "02000000000a02000000000b"
		      "0800"
		      "450000280000400040060000c0a80701c0a80702"
		      "9c411451",
		 0x800, 4000, 40001, 5201, 6, FLOW_IPV4 | FLOW_INNER, 5002},
		{"vxlan without an id",
		 MACS "0800"
		      "4500002800004000401100000a6300010a630002"
		      "c00012b500000000"
		      "0000000000138900"
		      "02000000000a02000000000b0800",
		 0x800, 0, 49152, 4789, 17, FLOW_IPV4, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct flow_key key = key_of(rows[i].hex);

		print_message("%s\n", rows[i].what);
		assert_int_equal(key.ethertype, rows[i].ethertype);
		assert_int_equal(key.tag, rows[i].tag);
		assert_int_equal(key.source_port, rows[i].source_port);
		assert_int_equal(key.target_port, rows[i].target_port);
		assert_int_equal(key.protocol, rows[i].protocol);
		assert_int_equal(key.flags, rows[i].flags);
		assert_int_equal(key.vni, rows[i].vni);
	}
}

/* --- one second's harvest --- */

struct bench {
	struct harvest harvest;
	struct source_book *book;
	struct agent_directory *directory;
	struct sample_reader reader;
};

static void bench_make(struct bench *bench, const struct agent_row *rows, size_t count,
		       unsigned bits)
{
	*bench = (struct bench){0};
	assert_int_equal(flow_table_init(&bench->harvest.flows, bits, 0), 0);
	bench->harvest.counters = calloc(HARVEST_COUNTERS, sizeof(struct counter_record));
	bench->harvest.discards = calloc(HARVEST_DISCARDS, sizeof(struct discard_record));
	assert_non_null(bench->harvest.counters);
	assert_non_null(bench->harvest.discards);
	assert_int_equal(source_book_new(64, &bench->book), 0);
	assert_int_equal(agent_directory_new(rows, count, &bench->directory), 0);
	bench->reader = (struct sample_reader){
		.harvest = &bench->harvest, .book = bench->book, .directory = bench->directory};
}

static void bench_end(struct bench *bench)
{
	flow_table_done(&bench->harvest.flows);
	free(bench->harvest.counters);
	free(bench->harvest.discards);
	source_book_free(bench->book);
	agent_directory_free(bench->directory);
}

/* tests/data/sflow-lab.pcap: six Open vSwitches, 20 s of iperf3; what is in it stands in its truth
 * file. */
static void read_recording(struct bench *bench)
{
	FILE *file = fopen(TEST_SOURCE_DIR "/data/sflow-lab.pcap", "rb");
	struct agent_row rows[6];
	uint8_t head[24];
	uint8_t record[16];
	uint8_t packet[2048];

	assert_non_null(file);
	for (unsigned i = 0; i < 6; i++)
		rows[i] = agent_at(0x0aff000b + i, 0x0aff000b + i, (uint16_t)i);
	agent_directory_free(bench->directory);
	assert_int_equal(agent_directory_new(rows, 6, &bench->directory), 0);
	bench->reader.directory = bench->directory;
	assert_int_equal(fread(head, 1, sizeof(head), file), sizeof(head));
	while (fread(record, 1, sizeof(record), file) == sizeof(record)) {
		uint32_t size;
		uint8_t source[16] = {[10] = 0xff, [11] = 0xff};

		memcpy(&size, record + 8, 4);
		assert_true(size > 42 && size <= sizeof(packet));
		assert_int_equal(fread(packet, 1, size, file), size);
		memcpy(source + 12, packet + 26, 4);
		sample_reader_take(&bench->reader, packet + 42, size - 42, source);
	}
	(void)fclose(file);
	sample_reader_flush(&bench->reader);
}

static void a_recorded_fabric_is_read_to_its_end(void **state)
{
	struct bench bench;
	uint64_t flow_a = 0;
	uint64_t samples = 0;
	const struct source_sums *sums;
	struct flow_entry *entry;
	size_t at = 0;
	size_t count;

	(void)state;
	bench_make(&bench, NULL, 0, 12);
	read_recording(&bench);
	assert_int_equal(bench.harvest.counts.datagrams, 549);
	assert_int_equal(bench.harvest.counts.samples, 2380);
	assert_int_equal(bench.harvest.counts.malformed, 0);
	assert_int_equal(bench.harvest.counts.unknown_agent + bench.harvest.counts.spoofed, 0);
	/* 408 counter samples; 40 of them are about the switches' processes (2203, 2207). */
	assert_int_equal(bench.harvest.counter_count, 368);

	while ((entry = flow_table_next(&bench.harvest.flows, &at))) {
		samples += entry->samples;
		if (entry->key.source_port == 40001 && entry->key.agent == 0)
			flow_a += entry->bytes;
	}
	assert_int_equal(samples, 2380);
	/* Flow A left its node with 130,774,925 bytes; about 220 samples: 95 % are within 14 %. */
	assert_true(flow_a > 105000000 && flow_a < 157000000);

	sums = source_book_harvest(bench.book, &count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sums[i].missing, 0);
	assert_int_equal(count, 12); /* six agents, one source and one line of datagrams each */
	bench_end(&bench);
}

static void totals_of(const struct bench *bench, double *ret_bytes, double *ret_square)
{
	const struct flow_entry *entry;
	size_t at = 0;

	*ret_bytes = *ret_square = 0;
	while ((entry = flow_table_next(&bench->harvest.flows, &at))) {
		*ret_bytes += (double)entry->bytes;
		*ret_square += entry->square;
	}
}

/* Overload: one of four samples stands for four. On average the sums stay what they are, and the
 * bound that is printed with them holds as often as it says. */
static void thinned_samples_stand_for_all(void **state)
{
	enum { TIMES = 400 };
	struct bench bench;
	double all;
	double square;
	double sum = 0;
	unsigned outside = 0;

	(void)state;
	bench_make(&bench, NULL, 0, 12);
	read_recording(&bench);
	totals_of(&bench, &all, &square);
	for (unsigned i = 0; i < TIMES; i++) {
		double bytes;
		double off;
		size_t count;
		const struct source_sums *sums;

		bench_end(&bench);
		bench_make(&bench, NULL, 0, 12);
		bench.reader.thin = 4;
		bench.reader.chance = 0x1234567 + i * 0x9e3779b97f4a7c15U;
		read_recording(&bench);
		assert_int_equal(bench.harvest.counts.samples, 2380);
		assert_in_range(bench.harvest.counts.thinned, 2380 / 2, 2379);
		sums = source_book_harvest(bench.book, &count);
		for (size_t j = 0; j < count; j++)
			assert_int_equal(sums[j].missing, 0);
		totals_of(&bench, &bytes, &square);
		sum += bytes;
		/* Of the variance three quarters are from thinning, the rest from sampling. */
		off = (bytes - all) * (bytes - all) / (square * 3 / 4);
		outside += off > 1.96 * 1.96;
	}
	assert_true(sum / TIMES > all * 0.99 && sum / TIMES < all * 1.01);
	assert_in_range(outside, TIMES / 100, TIMES / 10);
	bench_end(&bench);
}

static void overload_is_thinned_by_a_known_factor(void **state)
{
	static const struct {
		struct thin_state state;
		struct thin_facts facts;
		struct thin_state next;
	} rows[] = {
		{{0, 0}, {1000, 0, 0}, {1, 1}},        {{1, 5}, {1000, 3, 0}, {2, 0}},
		{{2, 0}, {1000, 3, 0}, {4, 0}},        {{64, 0}, {1000, 3, 0}, {64, 0}},
		{{4, 8}, {1000, 0, 0}, {4, 9}},        {{4, 9}, {1000, 0, 0}, {2, 0}},
		{{1, 9}, {1000, 0, 0}, {1, 10}},       {{1, 0}, {1000, 0, 1000}, {1, 1}},
		{{1, 0}, {1001, 0, 1000}, {2, 1}},     {{1, 0}, {10000, 0, 1000}, {16, 1}},
		{{16, 9}, {10000, 0, 1000}, {16, 0}},  {{16, 9}, {4000, 0, 1000}, {8, 0}},
		{{1, 0}, {1000000, 0, 1000}, {64, 1}}, {{16, 3}, {10000, 1, 1000}, {32, 0}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct thin_state next = thin_next(&rows[i].state, &rows[i].facts);

		assert_int_equal(next.factor, rows[i].next.factor);
		assert_int_equal(next.calm, rows[i].next.calm);
	}
}

static void strangers_are_refused(void **state)
{
	const struct agent_row rows[] = {agent_at(0x0a000001, 0x0a000001, 1),
					 agent_at(0x0a000001, 0x0a000009, 1),
					 agent_at(0x0a000003, 0x0a000003, 3)};
	static const struct {
		uint32_t agent, source;
		int number;
	} asked[] = {
		{0x0a000001, 0x0a000001, 1},
		{0x0a000001, 0x0a000009, 1},
		{0x0a000003, 0x0a000003, 3},
		{0x0a000001, 0x0a000003, AGENT_SPOOFED},
		{0x0a000003, 0x0a000001, AGENT_SPOOFED},
		{0x0a000003, 0xffffffff, AGENT_SPOOFED},
		{0x0a000002, 0x0a000002, AGENT_UNKNOWN},
		{0x0a000004, 0x0a000001, AGENT_UNKNOWN},
		{0x00000000, 0x0a000001, AGENT_UNKNOWN},
	};
	struct agent_directory *directory = NULL;

	(void)state;
	assert_int_equal(agent_directory_new(rows, COUNT_OF(rows), &directory), 0);
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		struct agent_row row = agent_at(asked[i].agent, asked[i].source, 0);

		assert_int_equal(agent_directory_find(directory, row.agent, row.source),
				 asked[i].number);
	}
	agent_directory_free(directory);
}

/* Changes `*value`, a part of add->key, until the flow's place is `place`. */
static void make_for_place(const struct flow_table *table, struct flow_add *add, uint32_t *value,
			   uint32_t place)
{
	do {
		++*value;
		flow_table_expect(table, add);
	} while ((add->hash & table->mask) != place);
}

static uint64_t bytes_of(const struct flow_table *table, unsigned *ret_apart)
{
	struct flow_entry *entry;
	uint64_t bytes = 0;
	size_t at = 0;

	*ret_apart = 0;
	while ((entry = flow_table_next(table, &at))) {
		bytes += entry->bytes;
		*ret_apart += !(entry->key.flags & FLOW_FOLDED);
	}
	return bytes;
}

/* Flows that somebody made for one place of the table are folded when they are many: no sample of
 * theirs costs more than so much. Totals stay. Who does not know the seed makes them for many. */
static void flows_made_for_one_place_are_folded(void **state)
{
	enum { MANY = 300, REACH = 256 };
	struct flow_table table;
	struct flow_table other;
	struct flow_add add = {.key = {.flags = FLOW_IPV4}, .rate = 10, .frame_bytes = 100};
	unsigned apart;

	(void)state;
	assert_int_equal(flow_table_init(&table, 10, 1), 0);
	assert_int_equal(flow_table_init(&other, 10, 2), 0);
	for (unsigned i = 0; i < MANY; i++) {
		make_for_place(&table, &add, &add.key.output, 77);
		flow_table_add(&table, &add);
		put_sample(&other, add);
	}
	assert_int_equal(bytes_of(&table, &apart), MANY * 1000);
	assert_int_equal(apart, REACH);
	assert_int_equal(table.folded, MANY - REACH);
	assert_int_equal(table.lost, 0);
	assert_int_equal(bytes_of(&other, &apart), MANY * 1000);
	assert_int_equal(apart, MANY);
	flow_table_done(&table);
	flow_table_done(&other);
}

/* Nor is a folded one looked for without end: a VNI is of the sender's choice, and is then left
 * out, too. */
static void folded_flows_made_for_one_place_are_folded_again(void **state)
{
	enum { MANY = 1200, FULL = 3072, REACH = 1024 };
	struct flow_add add = {.key = {.input = 1, .output = 2}, .rate = 10, .frame_bytes = 100};
	struct flow_add made = {.key = {.input = 1, .output = 2, .flags = FLOW_FOLDED},
				.rate = 10,
				.frame_bytes = 100};
	struct flow_table table;
	struct flow_entry *entry;
	unsigned apart;
	uint64_t rest = 0;
	size_t at = 0;

	(void)state;
	assert_int_equal(flow_table_init(&table, 12, 0), 0);
	for (uint16_t i = 0; i < FULL; i++) {
		add.key.source_port = i;
		put_sample(&table, add);
	}
	for (unsigned i = 0; i < MANY; i++) {
		make_for_place(&table, &made, &made.key.vni, 77);
		add.key = made.key;
		add.key.source_port = FULL;
		add.key.flags = 0;
		put_sample(&table, add);
	}
	assert_int_equal(bytes_of(&table, &apart), (FULL + MANY) * 1000);
	assert_int_equal(apart, FULL);
	assert_int_equal(table.folded, MANY);
	assert_int_equal(table.lost, 0);
	while ((entry = flow_table_next(&table, &at)))
		rest += entry->key.flags & FLOW_FOLDED && !entry->key.vni ? entry->samples : 0;
	assert_in_range(rest, MANY - REACH, MANY - 1);
	flow_table_done(&table);
}

/* Nothing of the second before is found, whatever is put there. */
static void a_cleared_table_is_empty(void **state)
{
	struct flow_add add = {.key = {.input = 1, .output = 2}, .rate = 10, .frame_bytes = 100};
	struct flow_table table;
	struct flow_entry *entry;
	size_t at = 0;

	(void)state;
	assert_int_equal(flow_table_init(&table, 8, 0), 0);
	put_sample(&table, add);
	put_sample(&table, add);
	flow_table_clear(&table);
	assert_null(flow_table_next(&table, &at));
	at = 0;
	put_sample(&table, add);
	entry = flow_table_next(&table, &at);
	assert_int_equal(entry->samples, 1);
	assert_int_equal(entry->bytes, 1000);
	assert_null(flow_table_next(&table, &at));
	flow_table_done(&table);
}

/* What does not fit any more keeps its place in the totals of its ports. */
static void a_full_table_folds(void **state)
{
	struct flow_table table;
	struct flow_entry *entry;
	uint64_t samples = 0;
	uint64_t bytes = 0;
	uint64_t folded = 0;
	size_t at = 0;

	(void)state;
	assert_int_equal(flow_table_init(&table, 8, 0), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		struct flow_add add = {.rate = 10, .frame_bytes = 100};

		add.key = (struct flow_key){.input = 1 + i % 3,
					    .output = 9,
					    .source_port = (uint16_t)i,
					    .flags = FLOW_IPV4};
		put_sample(&table, add);
	}
	while ((entry = flow_table_next(&table, &at))) {
		samples += entry->samples;
		bytes += entry->bytes;
		folded += entry->key.flags & FLOW_FOLDED ? entry->samples : 0;
		assert_true(entry->key.flags & FLOW_FOLDED ? !entry->key.source_port : true);
	}
	assert_int_equal(samples, 1000);
	assert_int_equal(bytes, 1000 * 10 * 100);
	assert_int_equal(table.folded, 1000 - 192);
	assert_int_equal(folded, table.folded);
	assert_int_equal(table.lost, 0);
	flow_table_clear(&table);
	at = 0;
	assert_null(flow_table_next(&table, &at));
	flow_table_done(&table);
}

/* --- what sources say of themselves --- */

static void loss_and_new_beginnings_are_seen(void **state)
{
	static const struct {
		const char *what;
		struct {
			uint32_t sequence, pool, drops;
		} said[6];
		uint64_t samples, rates, pool, drops, missing;
		bool restarted;
	} rows[] = {
		{"in order", {{10, 100, 0}, {11, 110, 0}, {12, 119, 0}}, 2, 20, 19, 0, 0, false},
		{"two are missing", {{10, 100, 0}, {13, 140, 0}}, 1, 10, 40, 0, 2, false},
		{"the agent dropped some", {{10, 100, 1}, {11, 150, 4}}, 1, 10, 50, 3, 0, false},
		{"one came late",
		 {{10, 100, 0}, {12, 120, 0}, {11, 110, 0}},
		 2,
		 20,
		 20,
		 0,
		 0,
		 false},
		{"all wrap",
		 {{0xffffffff, 0xfffffff6, 0xffffffff}, {0, 4, 0}, {1, 14, 0}},
		 2,
		 20,
		 24,
		 1,
		 0,
		 false},
		{"it began anew",
		 {{5000000, 900000, 0}, {5000001, 900010, 0}, {1, 10, 0}, {2, 20, 0}},
		 1,
		 10,
		 10,
		 0,
		 0,
		 true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct source_book *book = NULL;
		const struct source_sums *sums;
		size_t count;
		uint64_t samples = 0;

		print_message("%s\n", rows[i].what);
		assert_int_equal(source_book_new(8, &book), 0);
		for (size_t j = 0; j < 6 && rows[i].said[j].pool; j++) {
			const struct source_said said = {.agent = 1,
							 .source = 2U << 24 | 1000,
							 .sequence = rows[i].said[j].sequence,
							 .pool = rows[i].said[j].pool,
							 .drops = rows[i].said[j].drops,
							 .rate = 10};

			assert_int_equal(source_book_sample(book, &said), 0);
			if (j == 0) /* where it stood before tells nothing of this harvest */
				(void)source_book_harvest(book, &count);
			else
				samples++;
		}
		sums = source_book_harvest(book, &count);
		assert_int_equal(count, 1);
		assert_int_equal(sums->samples, rows[i].samples);
		assert_int_equal(sums->rates, rows[i].rates);
		assert_int_equal(sums->pool, rows[i].pool);
		assert_int_equal(sums->drops, rows[i].drops);
		assert_int_equal(sums->missing, rows[i].missing);
		assert_int_equal(sums->restarted, rows[i].restarted);
		assert_true(samples > 0);
		source_book_free(book);
	}
}

/* Clocks of agents say how long an interval of counters was (port_counters_test), and nothing of
 * samples: however they jump, none is lost and nobody began anew. */
static void an_agents_clock_may_jump(void **state)
{
	static const uint32_t uptimes_ms[] = {1000, 5, UINT32_MAX, 0, 4000000000, 1, 1, 2000};
	const struct agent_row row = agent_at(0x0a000001, 0x0a000001, 1);
	const struct source_sums *sums;
	struct bench bench;
	size_t count;

	(void)state;
	bench_make(&bench, &row, 1, 8);
	for (uint32_t i = 0; i < COUNT_OF(uptimes_ms); i++) {
		uint8_t packet[512];
		size_t size = build(packet, 0x0a000001, i + 1);
		struct wire_writer uptime = wire_writer(packet + 20, 4);

		wire_put_u32(&uptime, uptimes_ms[i]);
		sample_reader_take(&bench.reader, packet, size, row.source);
		if (i == 0) /* whose first sample it is begins anew */
			(void)source_book_harvest(bench.book, &count);
	}
	sample_reader_flush(&bench.reader);
	assert_int_equal(bench.harvest.counts.samples, COUNT_OF(uptimes_ms));
	sums = source_book_harvest(bench.book, &count);
	assert_int_equal(count, 2); /* its datagrams, and the source of its samples */
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(sums[i].missing, 0);
		assert_false(sums[i].restarted);
	}
	bench_end(&bench);
}

/* Wherever it is cut: counted, and nothing is made of it. */
static void what_is_cut_is_counted(void **state)
{
	const struct agent_row row = agent_at(0x0a000001, 0x0a000001, 1);
	struct bench bench;
	uint8_t packet[512];
	size_t size = build(packet, 0x0a000001, 1);

	(void)state;
	bench_make(&bench, &row, 1, 8);
	for (size_t cut = 0; cut < size; cut++) {
		sample_reader_take(&bench.reader, packet, cut, row.source);
		assert_int_equal(bench.harvest.counts.malformed, cut + 1);
	}
	sample_reader_flush(&bench.reader);
	assert_int_equal(bench.harvest.counts.samples, 0);
	assert_int_equal(bench.harvest.flows.count, 0);
	bench_end(&bench);
}

/* S23: who forges the addresses of one agent has no more than that agent, and no other suffers. */
static void an_agent_has_its_share(void **state)
{
	const struct agent_row rows[] = {agent_at(0x0a000001, 0x0a000001, 1),
					 agent_at(0x0a000002, 0x0a000002, 2)};
	struct bench bench;
	uint8_t packet[512];

	(void)state;
	bench_make(&bench, rows, 2, 8);
	bench.reader.heard = calloc(AGENT_LIMIT + 1, sizeof(*bench.reader.heard));
	bench.reader.heard_max = 10;
	for (unsigned second = 1; second <= 2; second++) {
		for (uint32_t i = 1; i <= 100; i++)
			sample_reader_take(&bench.reader, packet, build(packet, 0x0a000001, i),
					   rows[0].source);
		sample_reader_take(&bench.reader, packet, build(packet, 0x0a000002, second),
				   rows[1].source);
		assert_int_equal(bench.harvest.counts.limited, 90 * second);
		assert_int_equal(bench.harvest.counts.samples, 11 * second);
		assert_int_equal(bench.harvest.loud_count, second);
		assert_int_equal(bench.harvest.loud[second - 1], 1);
		sample_reader_renew(&bench.reader);
	}
	free(bench.reader.heard);
	bench_end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_told_apart),
		cmocka_unit_test(a_recorded_fabric_is_read_to_its_end),
		cmocka_unit_test(thinned_samples_stand_for_all),
		cmocka_unit_test(overload_is_thinned_by_a_known_factor),
		cmocka_unit_test(strangers_are_refused),
		cmocka_unit_test(what_is_cut_is_counted),
		cmocka_unit_test(an_agent_has_its_share),
		cmocka_unit_test(a_full_table_folds),
		cmocka_unit_test(flows_made_for_one_place_are_folded),
		cmocka_unit_test(folded_flows_made_for_one_place_are_folded_again),
		cmocka_unit_test(a_cleared_table_is_empty),
		cmocka_unit_test(loss_and_new_beginnings_are_seen),
		cmocka_unit_test(an_agents_clock_may_jump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
