// links: common_net
/* Router solicitations as they come, the advertisement as it leaves. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/net/ra_wire.h"

#include "tests/support/cmocka.h"

#define WITH_SOURCE "\205\0\0\0\0\0\0\0\1\1\2\0\0\0\0\7"

static const struct {
	const char *name, *bytes;
	size_t size;
	int hop_limit, rc;
} solicitations[] = {
	{"bare", "\205\0\0\0\0\0\0\0", 8, 255, 0},
	{"with source", WITH_SOURCE, 16, 255, 0},
	{"from another link", WITH_SOURCE, 16, 64, E_MALFORMED},
	{"short", "\205\0\0\0\0\0\0", 7, 255, E_MALFORMED},
	{"code", "\205\1\0\0\0\0\0\0", 8, 255, E_MALFORMED},
	{"advertisement", "\206\0\0\0\0\0\0\0", 8, 255, E_MALFORMED},
	{"option of length 0", "\205\0\0\0\0\0\0\0\1\0\2\0\0\0\0\7", 16, 255, E_MALFORMED},
	{"option cut off", "\205\0\0\0\0\0\0\0\1\2\2\0\0\0\0\7", 16, 255, E_MALFORMED},
	{"unknown option", "\205\0\0\0\0\0\0\0\16\1\2\0\0\0\0\7", 16, 255, 0},
};

static void solicitation(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(solicitations); i++) {
		struct ra_solicitation got = {0};
		int rc = ra_solicitation_decode(solicitations[i].bytes, solicitations[i].size,
						solicitations[i].hop_limit, &got);

		if (rc != solicitations[i].rc)
			print_message("%s\n", solicitations[i].name);
		assert_int_equal(rc, solicitations[i].rc);
	}
}

static void source_is_read(void **state)
{
	struct ra_solicitation got;

	(void)state;
	assert_int_equal(ra_solicitation_decode(WITH_SOURCE, 16, 255, &got), 0);
	assert_memory_equal(got.source.bytes, "\2\0\0\0\0\7", 6);
}

static void advertisement(void **state)
{
	const struct ra_advertisement sent = {.source = {{2, 0, 0, 0, 0, 9}}};
	struct ra_advertisement got;
	uint8_t bytes[64];
	size_t size;

	(void)state;
	assert_int_equal(ra_advertisement_encode(&sent, bytes, sizeof(bytes), &size), 0);
	assert_int_equal(size, 24);
	/* nothing offered: no flags, not a router */
	assert_memory_equal(bytes, "\206\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\1\2\0\0\0\0\11", 24);
	assert_int_equal(ra_advertisement_decode(bytes, size, &got), 0);
	assert_memory_equal(&got.source, &sent.source, sizeof(sent.source));
	assert_int_not_equal(ra_advertisement_encode(&sent, bytes, 23, &size), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solicitation),
		cmocka_unit_test(source_is_read),
		cmocka_unit_test(advertisement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
