// links: common_net
/* Cursors: what they read and write, and that nothing leaves the bounds. */
#include <string.h>

#include "common/net/wire.h"

#include "tests/support/cmocka.h"

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static void test_read(void **state)
{
	struct wire_reader reader = wire_reader(bytes, sizeof(bytes));
	struct wire_reader inner;
	uint8_t copy[2];

	(void)state;
	assert_int_equal(wire_u8(&reader), 0x01);
	assert_int_equal(wire_u16(&reader), 0x0203);
	assert_int_equal(wire_u32(&reader), 0x04050607);
	wire_skip(&reader, 1);
	wire_copy(&reader, copy, 2);
	assert_memory_equal(copy, "\x09\x0a", 2);
	inner = wire_cut(&reader, 3);
	assert_int_equal(wire_left(&inner), 3);
	assert_int_equal(wire_u16(&inner), 0x0b0c);
	assert_int_equal(wire_left(&reader), 3);
	assert_memory_equal(wire_bytes(&reader, 3), "\x0e\x0f\x10", 3);
	assert_int_equal(wire_left(&reader), 0);
	assert_false(reader.bad);
	reader = wire_reader(bytes, 8);
	assert_true(wire_u64(&reader) == 0x0102030405060708);
	assert_non_null(wire_bytes(&reader, 0));
	assert_false(reader.bad);
}

static void test_read_past_end(void **state)
{
	struct wire_reader reader = wire_reader(bytes, 3);
	struct wire_reader inner;
	uint8_t copy[4] = {9, 9, 9, 9};

	(void)state;
	assert_int_equal(wire_u32(&reader), 0);
	assert_true(reader.bad);
	assert_int_equal(wire_u8(&reader), 0); /* sticky, although three bytes were left */
	assert_int_equal(wire_left(&reader), 0);
	wire_copy(&reader, copy, 4);
	assert_memory_equal(copy, "\0\0\0\0", 4);
	reader = wire_reader(bytes, 3);
	inner = wire_cut(&reader, 4);
	assert_true(inner.bad && reader.bad);
	assert_int_equal(wire_u8(&inner), 0);
	reader = wire_reader(bytes, 3);
	assert_null(wire_bytes(&reader, SIZE_MAX));
	reader = wire_reader(NULL, 0);
	assert_false(reader.bad);
	assert_int_equal(wire_left(&reader), 0);
	assert_int_equal(wire_u8(&reader), 0);
	assert_true(reader.bad);
	reader = wire_reader(NULL, 5);
	assert_true(reader.bad);
}

static void test_write(void **state)
{
	uint8_t buffer[20];
	struct wire_writer writer = wire_writer(buffer, 18);

	(void)state;
	memset(buffer, 0xee, sizeof(buffer));
	wire_put_u8(&writer, 0x01);
	wire_put_u16(&writer, 0x0203);
	wire_put_u32(&writer, 0x04050607);
	wire_put_u64(&writer, 0x08090a0b0c0d0e0f);
	wire_put_bytes(&writer, "\x10", 1);
	wire_put_bytes(&writer, NULL, 0);
	wire_put_zeros(&writer, 1);
	assert_int_equal(wire_written(&writer), 17);
	assert_int_equal(wire_room(&writer), 1);
	assert_memory_equal(buffer, bytes, 16);
	assert_false(writer.bad);
	wire_put_u16(&writer, 0xffff);
	assert_true(writer.bad);
	wire_put_u8(&writer, 1); /* sticky, although one byte would fit */
	assert_int_equal(wire_written(&writer), 17);
	assert_int_equal(buffer[17], 0xee);
	assert_int_equal(buffer[18], 0xee);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_read_past_end),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
