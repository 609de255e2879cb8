// links: bampi_storage
/* The accounts of a volume: names as the database has them, secrets that only the volume's leads
 * to. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/storage/volume_account.h"
#include "tests/support/cmocka.h"

static void names(void **state)
{
	char name[STORAGE_USER_SIZE];

	(void)state;
	volume_account_name(7, 2, 0, name);
	assert_string_equal(name, "v7-2");
	volume_account_name(7, 2, 12, name);
	assert_string_equal(name, "v7-2-n12"); /* node_volume_facts */
	volume_account_name(INT32_MAX, INT64_MAX, INT64_MAX, name);
	assert_string_equal(name, "v2147483647-9223372036854775807-n9223372036854775807");
}

static void secrets(void **state)
{
	/* python3: base64.urlsafe_b64encode(hashlib.blake2b(NAME, digest_size=32,
	 * key=SECRET).digest()[:12]) */
	static const struct {
		const char *secret, *name, *own;
	} rows[] = {
		{"abcdefghijklmnop", "v7-2-n12", "Fd3bIbgQAvCAZMfp"},
		{"abcdefghijklmnop", "v7-2-n13", "2O97vJdqHnwTyfBq"},
		{"abcdefghijklmnoq", "v7-2-n12", "2r_mrgGJyRsEiE7S"},
	};
	char own[STORAGE_SECRET_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_int_equal(volume_account_secret(rows[i].secret, rows[i].name, own), 0);
		assert_string_equal(own, rows[i].own);
		assert_int_equal(strlen(own), VOLUME_SECRET_LENGTH);
	}
	assert_int_equal(volume_account_secret("fifteen letters", "v7-2-n12", own), E_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
