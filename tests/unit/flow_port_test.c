// links: peregrine_sample
/* Ports of samples, by ifIndexes of all sizes. */
#include "common/base/macros.h"

#include "peregrine/flowd/sample/sample_reader.h"
#include "tests/unit/flow_fixture.h"

/* One frame in 100, in the expanded form. */
static size_t build_expanded(uint8_t *out, uint32_t class, uint32_t index, uint32_t input,
			     uint32_t output)
{
	const uint32_t words[] = {
		5,      1,     0x0a000001, 0,   1,   1,  1, 3,     44 + 8 + 16 + 16,
		1,      class, index,      100, 100, 0,  0, input, 0,
		output, 1,     1,          32,  1,   68, 4, 16};
	struct wire_writer writer = wire_writer(out, 512);

	for (size_t i = 0; i < COUNT_OF(words); i++)
		wire_put_u32(&writer, words[i]);
	wire_put_zeros(&writer, 16);
	assert_false(writer.bad);
	return wire_written(&writer);
}

/* Counted again, 2026-11-26: ifIndexes beyond what compact forms hold are whole (SR Linux:
 * 0x40404001, NX-OS: 0x1a000200), and a frame that was sampled where it left is known by them. */
static void ports_have_any_if_index(void **state)
{
	static const struct {
		uint32_t class, index, input, output;
		bool egress;
	} rows[] = {
		{0, 0x40404001, 0x40404002, 0x40404001, true},
		{0, 0x40404002, 0x40404002, 0x40404001, false},
		{0, 0x1a000200, 0x1a000400, 0x1a000200, true},
		{0, 0x1a000200, 0x1a000400, 0x000200, false},
		{0, 5, 6, 0x7f000005, false},
		{1, 5, 6, 5, false}, /* VLAN 5 */
		{0, 5, 6, 5, true},
	};
	const struct agent_row row = agent_at(0x0a000001, 0x0a000001, 1);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct harvest harvest = {0};
		struct source_book *book = NULL;
		struct agent_directory *directory = NULL;
		struct sample_reader reader = {.harvest = &harvest};
		uint8_t packet[512];
		size_t at = 0;
		size_t size = build_expanded(packet, rows[i].class, rows[i].index, rows[i].input,
					     rows[i].output);
		const struct flow_entry *entry;

		assert_int_equal(flow_table_init(&harvest.flows, 8, 0), 0);
		assert_int_equal(source_book_new(8, &book), 0);
		assert_int_equal(agent_directory_new(&row, 1, &directory), 0);
		reader.book = book;
		reader.directory = directory;
		sample_reader_take(&reader, packet, size, row.source);
		sample_reader_flush(&reader);
		entry = flow_table_next(&harvest.flows, &at);
		assert_non_null(entry);
		assert_int_equal(entry->key.input, rows[i].input);
		assert_int_equal(entry->key.output, rows[i].output);
		assert_int_equal(entry->key.flags & FLOW_EGRESS, rows[i].egress ? FLOW_EGRESS : 0);
		flow_table_done(&harvest.flows);
		source_book_free(book);
		agent_directory_free(directory);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_have_any_if_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
