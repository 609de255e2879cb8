// links: portal_server
/* Codes of RFC 6238, appendix B (SHA-1, the last six digits), the window, and codes that were used. */
#include <string.h>

#include "portal/server/totp_policy.h"
#include "tests/support/cmocka.h"

static const uint8_t secret[TOTP_SECRET_SIZE] = "12345678901234567890";

static void test_vectors(void **state)
{
	static const struct {
		int64_t at;
		uint32_t code;
		const char *text;
	} rows[] = {
		{59, 287082, "287082"},         {1111111109, 81804, "081804"},
		{1111111111, 50471, "050471"},  {1234567890, 5924, "005924"},
		{2000000000, 279037, "279037"}, {20000000000, 353130, "353130"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int64_t counter = rows[i].at / TOTP_STEP_S;

		assert_int_equal(totp_code(secret, (uint64_t)counter), rows[i].code);
		assert_int_equal(totp_find(secret, rows[i].text, rows[i].at, 0), counter);
		assert_int_equal(totp_find(secret, rows[i].text, rows[i].at, counter), 0);
		assert_int_equal(totp_find(secret, rows[i].text, rows[i].at + 30, counter - 1),
				 counter);
		assert_int_equal(totp_find(secret, rows[i].text, rows[i].at - 30, 0), counter);
		assert_int_equal(totp_find(secret, rows[i].text, rows[i].at + 60, 0), 0);
		assert_int_equal(totp_find(secret, rows[i].text, rows[i].at - 60, 0), 0);
	}
}

static void test_no_codes(void **state)
{
	(void)state;
	assert_int_equal(totp_find(secret, "", 59, 0), 0);
	assert_int_equal(totp_find(secret, "28708", 59, 0), 0);
	assert_int_equal(totp_find(secret, "2870820", 59, 0), 0);
	assert_int_equal(totp_find(secret, "287083", 59, 0), 0);
	assert_int_equal(totp_find(secret, "287082", -59, 0), 0);
}

static void test_base32(void **state)
{
	char text[TOTP_TEXT_SIZE];

	(void)state;
	totp_base32(secret, sizeof(secret), text);
	assert_string_equal(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
	totp_base32((const uint8_t *)"fooba", 5, text); /* RFC 4648, 10 */
	assert_string_equal(text, "MZXW6YTB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_no_codes),
		cmocka_unit_test(test_base32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
