// links: peregrine_flow
#include "common/base/macros.h"

#include "peregrine/flowd/flow/vlan_book.h"
#include "tests/support/cmocka.h"

#define SECOND 1000000LL

static void readings_of_a_vlan_become_sums(void **state)
{
	static const struct {
		const char *what;
		int64_t at_s;
		uint64_t octets;
		uint32_t frames, discards;
		uint64_t bytes, packets, dropped; /* so far */
		double seconds, rate;
	} rows[] = {
		{"the first one tells nothing", 10, 1000, 10, 5, 0, 0, 0, 0, 0},
		{"ten seconds later", 20, 6000, 20, 5, 5000, 10, 0, 10, 4000},
		{"the same instant", 20, 6000, 20, 5, 5000, 10, 0, 10, 4000},
		{"nothing", 30, 6000, 20, 5, 5000, 10, 0, 20, 0},
		{"it began anew", 40, 100, 0xfffffffe, 0xffffffff, 5000, 10, 0, 20, 0},
		{"frames and discards wrap", 50, 200, 2, 1, 5100, 14, 2, 30, 80},
		{"our clock was set back", 5, 300, 3, 1, 5100, 14, 2, 30, 80},
		{"and goes on", 15, 400, 4, 1, 5200, 15, 2, 40, 80},
	};
	struct vlan_book *book = NULL;
	size_t at;

	(void)state;
	assert_int_equal(vlan_book_new(&book), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct sflow_vlan_counters reading = {.vlan = 100,
							    .octets = rows[i].octets,
							    .unicast = rows[i].frames,
							    .multicast = 7,
							    .discards = rows[i].discards};
		const struct vlan_row *row;

		print_message("%s\n", rows[i].what);
		vlan_book_note(book, 7, rows[i].at_s * SECOND, &reading);
		at = 0;
		row = vlan_book_next(book, 7, &at);
		assert_non_null(row);
		assert_int_equal(row->vlan, 100);
		assert_int_equal(row->bytes, rows[i].bytes);
		assert_int_equal(row->packets, rows[i].packets);
		assert_int_equal(row->discards, rows[i].dropped);
		assert_true(row->seconds == rows[i].seconds);
		assert_true(row->bits_per_second == rows[i].rate);
		assert_null(vlan_book_next(book, 7, &at));
	}
	at = 0;
	assert_null(vlan_book_next(book, 8, &at));
	vlan_book_free(book);
}

/* More than there is room for: those that are there stay. */
static void a_full_book_keeps_what_it_has(void **state)
{
	struct vlan_book *book = NULL;
	size_t rows = 0;
	size_t at = 0;

	(void)state;
	assert_int_equal(vlan_book_new(&book), 0);
	for (uint32_t i = 0; i < VLAN_ROWS + 100; i++) {
		const struct sflow_vlan_counters reading = {.vlan = 1 + i % 4000, .octets = i};

		vlan_book_note(book, (uint16_t)(1 + i / 4000), SECOND, &reading);
	}
	for (uint16_t agent = 1; agent <= 5; agent++)
		for (at = 0; vlan_book_next(book, agent, &at);)
			rows++;
	assert_int_equal(rows, VLAN_ROWS);
	vlan_book_free(book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings_of_a_vlan_become_sums),
		cmocka_unit_test(a_full_book_keeps_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
