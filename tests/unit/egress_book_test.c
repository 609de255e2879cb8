// links: peregrine_flow
/* By which port frames to a MAC leave: the last sample says, for as long as a switch would know. */
#include "common/base/macros.h"

#include "peregrine/flowd/flow/egress_book.h"
#include "tests/support/cmocka.h"

#define NOW INT64_C(1795255200)

static const uint8_t node[6] = {2, 0, 0, 0, 0, 7};

/* A node that moves from port 3 to port 4: what is seen, and what is believed of it afterwards. */
static void a_moved_node_is_believed_where_it_is(void **state)
{
	static const struct {
		const char *what;
		int64_t noted_s; /* of a sample; -1 = none */
		uint32_t port;
		int64_t asked_s;
		uint32_t answer;
	} rows[] = {
		{"nothing is known", -1, 0, 0, 0},
		{"it is at 3", 0, 3, 1, 3},
		{"as long as a switch would know", -1, 0, EGRESS_AGE_S, 3},
		{"and no longer: nobody saw it go", -1, 0, EGRESS_AGE_S + 1, 0},
		{"seen again", 400, 3, 400, 3},
		{"it moves", 402, 4, 402, 4},
		{"a sample of before comes late", 401, 3, 402, 4},
		{"one of the same second", 402, 4, 403, 4},
		{"and back, at once", 403, 3, 403, 3},
		{"seen again keeps it young", 600, 3, 600 + EGRESS_AGE_S, 3},
		{"the clock was set back", -1, 0, 100, 0},
		{"and it is seen by the new one", 100, 4, 101, 4},
	};
	struct egress_book *book = NULL;

	(void)state;
	assert_int_equal(egress_book_new(&book), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("%s\n", rows[i].what);
		if (rows[i].noted_s >= 0)
			egress_book_note(book, 1, 100, node, rows[i].port, NOW + rows[i].noted_s);
		assert_int_equal(egress_book_find(book, 1, 100, node, NOW + rows[i].asked_s),
				 rows[i].answer);
		assert_int_equal(egress_book_find(book, 2, 100, node, NOW + rows[i].asked_s), 0);
		assert_int_equal(egress_book_find(book, 1, 101, node, NOW + rows[i].asked_s), 0);
	}
	egress_book_free(book);
}

static void groups_are_nowhere(void **state)
{
	static const uint8_t group[6] = {3, 0, 0, 0, 0, 7};
	struct egress_book *book = NULL;

	(void)state;
	assert_int_equal(egress_book_new(&book), 0);
	egress_book_note(book, 1, 100, group, 3, NOW);
	assert_int_equal(egress_book_find(book, 1, 100, group, NOW), 0);
	egress_book_free(book);
}

/* More MACs than it has rows: the newest is always there, of the others none is mistaken for
 * another. */
static void it_is_bounded(void **state)
{
	enum { MACS = 300000 };
	struct egress_book *book = NULL;
	uint32_t known = 0;

	(void)state;
	assert_int_equal(egress_book_new(&book), 0);
	for (uint32_t i = 0; i < MACS; i++) {
		const uint8_t mac[6] = {
			2,         0, (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8),
			(uint8_t)i};

		egress_book_note(book, 1, 100, mac, i + 1, NOW);
		assert_int_equal(egress_book_find(book, 1, 100, mac, NOW), i + 1);
	}
	for (uint32_t i = 0; i < MACS; i++) {
		const uint8_t mac[6] = {
			2,         0, (uint8_t)(i >> 24), (uint8_t)(i >> 16), (uint8_t)(i >> 8),
			(uint8_t)i};
		uint32_t port = egress_book_find(book, 1, 100, mac, NOW);

		assert_true(port == 0 || port == i + 1);
		known += port != 0;
	}
	assert_in_range(known, 40000, 65536);
	egress_book_free(book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_moved_node_is_believed_where_it_is),
		cmocka_unit_test(groups_are_nowhere),
		cmocka_unit_test(it_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
