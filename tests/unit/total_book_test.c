// links: peregrine_sample
/* wire gaps: totals of flows as what they grew by, in the book and from messages. */
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/sample/total_book.h"
#include "tests/unit/exporter_fixture.h"

enum { HEARD_MS = 1000000, NEW_MS = HEARD_MS + 10000 };

#define G(n) ((uint64_t)(n) << 30)

static void totals_are_told_as_growth(void **state)
{
	static const struct {
		const char *what;
		uint8_t byte_width, packet_width;
		int64_t began_ms;
		uint64_t before[2], now[2]; /* bytes, packets */
		bool late;
		uint64_t grew[2];
	} rows[] = {
		{"it grew", 8, 8, 0, {1000, 10}, {1500, 12}, false, {500, 2}},
		{"it did not", 8, 8, 0, {1000, 10}, {1000, 10}, false, {0, 0}},
		{"bytes wrapped", 4, 4, 0, {G(4) - 100, 10}, {200, 12}, false, {300, 2}},
		{"packets wrapped", 8, 4, 0, {G(4), G(4) - 1}, {G(5), 4}, false, {G(1), 5}},
		{"bytes alone wrapped", 4, 0, 5, {G(4) - 100, 0}, {200, 0}, false, {300, 0}},
		{"bytes alone, and no begin: anew",
		 4,
		 0,
		 TOTAL_UNTOLD,
		 {G(4) - 100, 0},
		 {200, 0},
		 false,
		 {200, 0}},
		{"it began anew", 4, 4, TOTAL_UNTOLD, {1000, 10}, {300, 3}, false, {300, 3}},
		{"too wide to wrap: anew", 8, 8, 0, {1000, 10}, {300, 12}, false, {300, 12}},
		{"a late message", 4, 4, 0, {1000, 10}, {900, 9}, true, {0, 0}},
		{"late, and yet it grew", 4, 4, 0, {1000, 10}, {1500, 12}, true, {500, 2}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct total_key key = {.identity = 1};
		struct total_said said = {.bytes = rows[i].before[0],
					  .packets = rows[i].before[1],
					  .byte_width = rows[i].byte_width,
					  .packet_width = rows[i].packet_width,
					  .began_ms = rows[i].began_ms,
					  .heard_ms = HEARD_MS};
		struct total_growth growth;
		struct total_book *book;

		print_message("%s\n", rows[i].what);
		assert_int_equal(total_book_new(7, &book), 0);
		growth = total_book_take(book, &key, &said);
		assert_true(growth.first && !growth.bytes && !growth.packets && !growth.forgot);
		said.bytes = rows[i].now[0];
		said.packets = rows[i].now[1];
		said.late = rows[i].late;
		growth = total_book_take(book, &key, &said);
		assert_false(growth.first);
		assert_int_equal(growth.bytes, rows[i].grew[0]);
		assert_int_equal(growth.packets, rows[i].grew[1]);
		/* The same once more is nothing more. */
		growth = total_book_take(book, &key, &said);
		assert_int_equal(growth.bytes + growth.packets, 0);
		total_book_free(book);
	}
}

static void a_new_flow_counts_whole(void **state)
{
	struct total_said said = {.bytes = 700, .packets = 7, .byte_width = 8, .packet_width = 8};
	struct total_key key = {.identity = 1};
	struct total_growth growth;
	struct total_book *book;

	(void)state;
	assert_int_equal(total_book_new(7, &book), 0);
	said.heard_ms = HEARD_MS;
	said.began_ms = NEW_MS;
	growth = total_book_take(book, &key, &said);
	assert_false(growth.first);
	assert_int_equal(growth.bytes, 700);
	assert_int_equal(growth.packets, 7);
	for (int64_t began_ms = HEARD_MS - 1; began_ms < HEARD_MS + 2000; began_ms += 500) {
		key.identity++;
		said.began_ms = began_ms;
		growth = total_book_take(book, &key, &said);
		assert_true(growth.first);
		assert_int_equal(growth.bytes, 0);
	}
	total_book_free(book);
}

/* Three times as many flows as there is room for, twice: each counts whole once at most, and later
 * by what it grew by; never twice. */
static void what_lost_its_place_counts_no_more_than_it_was(void **state)
{
	enum { FLOWS = 3 * TOTAL_FLOWS };
	struct total_said said = {.byte_width = 8, .packet_width = 8, .heard_ms = HEARD_MS};
	struct total_key key = {0};
	struct total_book *book;
	uint64_t forgot = 0;
	uint64_t bytes = 0;

	(void)state;
	assert_int_equal(total_book_new(7, &book), 0);
	for (uint64_t round = 1; round <= 2; round++)
		for (uint64_t i = 0; i < FLOWS; i++) {
			struct total_growth growth;

			key.identity = i;
			said.began_ms = NEW_MS + (int64_t)i;
			said.bytes = said.packets = 100 * round;
			growth = total_book_take(book, &key, &said);
			assert_true(growth.bytes <= 100);
			bytes += growth.bytes;
			forgot += growth.forgot;
		}
	assert_true(forgot > FLOWS && forgot < 2 * FLOWS);
	assert_true(bytes >= UINT64_C(100) * FLOWS && bytes <= UINT64_C(200) * FLOWS);
	total_book_free(book);
}

/* A permanent cache tells its flows again and again; of two that differ in their type of service
 * alone each has a total of its own. */
static void an_exporter_of_totals_alone_is_counted(void **state)
{
	static const struct {
		const char *record; /* of two flows: input, tos, begin, bytes, packets */
		uint64_t bytes, packets, first;
	} messages[] = {
		{"0004 00 000000 000003e8 0000000a 0004 20 000000 00989680 00002710", 0, 0, 2},
		{"0004 00 000000 000007d0 00000014 0004 20 000000 00989680 00002710",
		 1000 + 10 * 14, 10, 2},
		{"0004 00 000000 000007d0 00000014 0004 20 000000 00989a68 0000271a",
		 2000 + 20 * 14, 20, 2},
	};
	struct bench bench;
	struct message m;

	(void)state;
	bench_make(&bench);
	for (size_t i = 0; i < COUNT_OF(messages); i++) {
		begin(&m, NETFLOW_9, (uint32_t)i, 1);
		put_template(&m, 300, 5, "10:2 5:1 150:3 85:4 86:4");
		put_data(&m, 300, messages[i].record);
		send(&bench, &m);
		assert_int_equal(bench.harvest.counts.totals, 2 * (i + 1));
		assert_int_equal(bench.harvest.counts.totals_first, messages[i].first);
		assert_int_equal(bench.harvest.counts.records_odd, 0);
		if (messages[i].bytes) {
			assert_int_equal(only_flow(&bench)->bytes, messages[i].bytes);
			assert_int_equal(only_flow(&bench)->packets, messages[i].packets);
			assert_int_equal(only_flow(&bench)->key.input, 4);
		} else {
			assert_int_equal(bench.harvest.flows.count, 0);
		}
	}
	/* Deltas beside totals are what counts. */
	begin(&m, NETFLOW_9, COUNT_OF(messages), 1);
	put_template(&m, 301, 4, "10:2 1:4 2:4 85:4");
	put_data(&m, 301, "0005 00000064 00000001 7fffffff");
	send(&bench, &m);
	assert_int_equal(bench.harvest.counts.totals, 2 * COUNT_OF(messages));
	assert_int_equal(bench.harvest.flows.count, 2);
	bench_end(&bench);
}

/* A firewall tells a connection once, when it is over. Its begin says, in whatever form, whether it
 * began while the firewall was heard. */
static void a_begin_is_read_in_each_form(void **state)
{
	static const struct {
		const char *what;
		uint16_t version;
		const char *fields, *before,
			*after; /* the records of a flow from before, and of one since */
	} rows[] = {
		/* Messages are of 1763798400 = 0x69216d80; the flows of 100 s before and after. */
		{"seconds", IPFIX_10, "150:4 85:4", "69216d1c 00000064", "69216de4 00000064"},
		{"milliseconds", IPFIX_10, "152:8 85:4", "0000019aaa923560 00000064",
		 "0000019aaa9542a0 00000064"},
		{"NTP", IPFIX_10, "154:8 85:4", "eccbeb9c80000000 00000064",
		 "eccbec6480000000 00000064"},
		{"NTP in the field of nanoseconds", IPFIX_10, "156:8 85:4",
		 "eccbeb9c80000000 00000064", "eccbec6480000000 00000064"},
		{"uptime, and when it began", IPFIX_10, "22:4 160:8 85:4",
		 "00000000 0000019aaa923560 00000064", "00030d40 0000019aaa923560 00000064"},
		/* The header's uptime is 1000 in the first message. */
		{"uptime of version 9", NETFLOW_9, "22:4 85:4", "00000001 00000064",
		 "00001770 00000064"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bench bench;
		struct message m;
		uint16_t count = 1;

		print_message("%s\n", rows[i].what);
		for (const char *at = rows[i].fields; *at; at++)
			count = (uint16_t)(count + (*at == ' '));
		bench_make(&bench);
		begin(&m, rows[i].version, 0, 1);
		put_template(&m, 300, count, rows[i].fields);
		put_data(&m, 300, rows[i].before);
		send(&bench, &m);
		assert_int_equal(bench.harvest.counts.totals_first, 1);
		assert_int_equal(bench.harvest.flows.count, 0);
		begin(&m, rows[i].version, 1, 1);
		if (rows[i].version == NETFLOW_9) { /* 10 s later */
			put_u16_at(m.bytes + 6, 11000);
			put_u16_at(m.bytes + 10, 0x6d8a);
		}
		put_data(&m, 300, rows[i].after);
		send(&bench, &m);
		assert_int_equal(bench.harvest.counts.totals_first, 1);
		assert_int_equal(only_flow(&bench)->bytes, 100);
		bench_end(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_are_told_as_growth),
		cmocka_unit_test(a_new_flow_counts_whole),
		cmocka_unit_test(what_lost_its_place_counts_no_more_than_it_was),
		cmocka_unit_test(an_exporter_of_totals_alone_is_counted),
		cmocka_unit_test(a_begin_is_read_in_each_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
