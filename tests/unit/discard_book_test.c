// links: peregrine_flow peregrine_sample
/* From drop notifications to counts per agent, port and reason. */
#include <stdlib.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/discard_book.h"
#include "peregrine/flowd/sample/sample_reader.h"
#include "tests/support/cmocka.h"

/* Discards of one datagram: to the switch's port, or that of its source, and by reason. */
static void discards_are_counted_where_and_why(void **state)
{
	/* agent 10.0.0.1, then: port 5 twice and once of another reason, by the source's port 6,
	 * and of a source that is no port (backplane). */
	static const uint32_t words[] = {
		5, 1,  0x0a000001, 0, 1, 1, 5,            /* */
		5, 32, 1,          0, 6, 0, 5, 0, 258, 0, /* */
		5, 32, 2,          0, 6, 0, 5, 0, 258, 0, /* */
		5, 32, 3,          0, 6, 0, 5, 0, 259, 0, /* */
		5, 32, 4,          0, 6, 0, 0, 0, 258, 0, /* */
		5, 32, 5,          2, 6, 0, 0, 0, 777, 0,
	};
	static const struct discard_row want[] = {
		{2, 5, 258, 7}, {1, 5, 259, 7}, {1, 6, 258, 7}, {1, 0, 777, 7}};
	const struct agent_row agent = {.agent = {[10] = 0xff, 0xff, 10, [15] = 1},
					.source = {[10] = 0xff, 0xff, 10, [15] = 1},
					.number = 7};
	struct harvest harvest = {.discards =
					  calloc(HARVEST_DISCARDS, sizeof(struct discard_record))};
	struct sample_reader reader = {.harvest = &harvest};
	struct agent_directory *directory = NULL;
	struct discard_book *book = NULL;
	const struct discard_row *found;
	uint8_t bytes[sizeof(words)];
	struct wire_writer writer = wire_writer(bytes, sizeof(bytes));
	size_t rows = 0;
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		wire_put_u32(&writer, words[i]);
	assert_non_null(harvest.discards);
	assert_int_equal(source_book_new(8, &reader.book), 0);
	assert_int_equal(agent_directory_new(&agent, 1, &directory), 0);
	reader.directory = directory;
	sample_reader_take(&reader, bytes, sizeof(bytes), agent.source);
	assert_int_equal(harvest.counts.malformed, 0);
	assert_int_equal(harvest.discard_count, 5);
	assert_int_equal(discard_book_new(&book), 0);
	for (size_t i = 0; i < harvest.discard_count; i++) {
		const struct discard_record *record = &harvest.discards[i];

		discard_book_add(book, record->agent, record->port, record->reason);
	}
	while ((found = discard_book_next(book, 7, &at))) {
		bool known = false;

		for (size_t i = 0; i < COUNT_OF(want); i++)
			known = known ||
				(found->port == want[i].port && found->reason == want[i].reason &&
				 found->packets == want[i].packets);
		assert_true(known);
		rows++;
	}
	assert_int_equal(rows, COUNT_OF(want));
	assert_int_equal(discard_book_total(book, 7), 5);
	at = 0;
	assert_null(discard_book_next(book, 8, &at));

	/* More reasons than there is room for: the total stays exact, the rows that are stay. */
	for (uint32_t i = 0; i < DISCARD_ROWS + 100; i++)
		discard_book_add(book, 9, 1, i);
	discard_book_add(book, 7, 5, 258);
	assert_int_equal(discard_book_total(book, 9), DISCARD_ROWS + 100);
	assert_int_equal(discard_book_total(book, 7), 6);
	for (at = rows = 0; discard_book_next(book, 9, &at);)
		rows++;
	assert_int_equal(rows, DISCARD_ROWS - COUNT_OF(want));
	discard_book_free(book);
	free(harvest.discards);
	source_book_free(reader.book);
	agent_directory_free(directory);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(discards_are_counted_where_and_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
