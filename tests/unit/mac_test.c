// links: common_net
/* Ethernet addresses as people and switches write them. */
#include <string.h>

#include "common/base/error.h"
#include "common/net/mac.h"

#include "tests/support/cmocka.h"

static void test_parse(void **state)
{
	static const char *const good[] = {"52:54:00:ab:CD:ef", "52-54-00-AB-CD-EF",
					   "5254.00ab.cdef", "525400abcdef"};
	static const char *const bad[] = {
		"",
		"52:54:00:ab:cd",
		"52:54:00:ab:cd:ef:00",
		"52:54:00:ab:cd:eg",
		"52:54-00:ab:cd:ef",
		"52:54:00:ab:cd:ef ",
		" 52:54:00:ab:cd:ef",
		"5254:00ab:cdef",
		"52.54.00.ab.cd.ef",
		"525400abcdef0",
		"52:54:00:ab:cd:e",
		"2:54:00:ab:cd:ef0",
		":::::",
	};
	struct mac mac;
	char text[MAC_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		assert_int_equal(mac_parse(good[i], &mac), 0);
		assert_string_equal(mac_text(mac, text), "52:54:00:ab:cd:ef");
		assert_int_equal(mac_key(mac), 0x525400abcdef);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(mac_parse(bad[i], &mac), E_MALFORMED);
	assert_int_equal(mac_key(mac), 0x525400abcdef); /* written only on success */
}

static void test_compare(void **state)
{
	const struct mac zero = {{0}};
	const struct mac a = {{1, 2, 3, 4, 5, 6}};
	const struct mac b = {{1, 2, 3, 4, 5, 7}};

	(void)state;
	assert_true(mac_is_zero(zero));
	assert_false(mac_is_zero(a));
	assert_true(mac_equal(a, a));
	assert_false(mac_equal(a, b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
