// links: common_net
/* Addresses and prefixes; the Internet checksum. */
#include <string.h>

#include "common/base/error.h"
#include "common/net/checksum.h"
#include "common/net/ipv4.h"

#include "tests/support/cmocka.h"

static void test_address(void **state)
{
	static const char *const bad[] = {"",         "1.2.3",    "1.2.3.4.5", "256.1.1.1",
					  "1.2.3.04", "1.2.3.4 ", " 1.2.3.4",  "0x1.2.3.4",
					  "1.2.3.",   "::1"};
	char text[IPV4_TEXT_SIZE];
	uint32_t address = 7;

	(void)state;
	assert_int_equal(ipv4_parse("10.2.0.17", &address), 0);
	assert_int_equal(address, 0x0a020011);
	assert_string_equal(ipv4_text(address, text), "10.2.0.17");
	assert_string_equal(ipv4_text(UINT32_MAX, text), "255.255.255.255");
	assert_string_equal(ipv4_text(0, text), "0.0.0.0");
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(ipv4_parse(bad[i], &address), E_MALFORMED);
	assert_int_equal(address, 0x0a020011);
}

static void test_prefix(void **state)
{
	static const char *const bad[] = {"10.2.0.0",     "10.2.0.0/",    "10.2.0.0/33",
					  "10.2.0.1/24",  "10.2.0.0/024", "10.2.0.0/-1",
					  "10.2.0.0/8x",  "/8",           "10.2.0.0/ 8",
					  "10.2.0.0/008", "10.2.0/8",     "1234567890123456/8"};
	struct ipv4_prefix prefix;
	char text[PREFIX_TEXT_SIZE];

	(void)state;
	assert_int_equal(ipv4_prefix_parse("10.2.0.0/23", &prefix), 0);
	assert_int_equal(prefix.length, 23);
	assert_string_equal(ipv4_prefix_text(prefix, text), "10.2.0.0/23");
	assert_true(ipv4_in_prefix(0x0a0201ff, prefix));
	assert_false(ipv4_in_prefix(0x0a020200, prefix));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(ipv4_prefix_parse(bad[i], &prefix), E_MALFORMED);
	assert_int_equal(ipv4_prefix_parse("0.0.0.0/0", &prefix), 0);
	assert_true(ipv4_in_prefix(UINT32_MAX, prefix));
	assert_int_equal(ipv4_prefix_parse("255.255.255.255/32", &prefix), 0);
	assert_string_equal(ipv4_prefix_text(prefix, text), "255.255.255.255/32");
	assert_int_equal(ipv4_mask(0), 0);
	assert_int_equal(ipv4_mask(1), 0x80000000);
	assert_int_equal(ipv4_mask(32), UINT32_MAX);
}

static void test_checksum(void **state)
{
	/* The example of RFC 1071 3, and an IPv4 header with its checksum in place. */
	static const uint8_t example[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
	static const uint8_t header[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40,
					 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
					 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
	uint8_t ones[4096];
	uint32_t sum = 0;

	(void)state;
	assert_int_equal(checksum_finish(checksum_add(0, example, sizeof(example))),
			 (uint16_t)~0xddf2U);
	assert_int_equal(checksum_finish(checksum_add(0, header, sizeof(header))), 0);
	/* In pieces, and with an odd last byte. */
	sum = checksum_add(checksum_add(0, example, 4), example + 4, 4);
	assert_int_equal(checksum_finish(sum), (uint16_t)~0xddf2U);
	assert_int_equal(checksum_finish(checksum_add(0, "\x12", 1)), (uint16_t)~0x1200U);
	assert_int_equal(checksum_finish(0), 0xffff);
	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < 200; i++) /* carries never get lost */
		sum = checksum_add(sum, ones, sizeof(ones));
	assert_int_equal(checksum_finish(sum), (uint16_t)~0xddf2U);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
