// links: common_net
/* The Forwarded header: whose word it is, and what is refused. */
#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/forwarded_wire.h"

#include "tests/support/cmocka.h"

static void test_decode(void **state)
{
	static const struct {
		const char *value;
		uint32_t client; /* 0 = refused */
	} rows[] = {
		{"for=10.2.0.7", 0x0a020007},
		{"  For=10.2.0.7  ", 0x0a020007},
		{"for=\"10.2.0.7:4711\"", 0x0a020007},
		{"for=10.2.0.7:80;proto=http", 0x0a020007},
		{"by=10.0.0.1; for=10.2.0.7", 0x0a020007},
		{"for=1.2.3.4, for=10.2.0.7", 0x0a020007},
		{"for=1.2.3.4,for=\"10.2.0.\\7\"", 0x0a020007},
		{"", 0},
		{"10.2.0.7", 0},
		{"for=", 0},
		{"for=10.2.0", 0},
		{"for=_hidden", 0},
		{"for=\"[2001:db8::1]\"", 0},
		{"for=10.2.0.7,", 0},
		{"for=10.2.0.7, by=1.2.3.4", 0},
		{"for=10.2.0.7;for=10.2.0.8", 0},
		{"for=\"10.2.0.7", 0},
		{"for=10.2.0.7 10.2.0.8", 0},
		{"for=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 0},
	};
	char text[FORWARDED_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint32_t client = 0;
		int rc = forwarded_decode(rows[i].value, &client);

		print_message("%s\n", rows[i].value);
		assert_int_equal(rc, rows[i].client ? 0 : E_MALFORMED);
		assert_int_equal(client, rows[i].client);
	}
	assert_string_equal(forwarded_encode(0xffffffff, text), "for=255.255.255.255");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_decode)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
