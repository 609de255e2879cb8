// links: portal_cli
/* What `site report` shows of logs and settings, and what it masks. */
#include <string.h>

#include "common/base/macros.h"

#include "portal/cli/site_mask.h"
#include "tests/support/cmocka.h"

#define M SITE_MASK_TEXT

static void masks_text(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{"started (version=0.1.0)", "started (version=0.1.0)"},
		{"key is KnownSecret!x", "key is " M "x"},
		{"password=a b", "password=" M " b"},
		{"bmc_password: \"a \\\" b\", next", "bmc_password: " M ", next"},
		{"{\"auth_key\":\"x\",\"y\":\"z\"}", "{\"auth_key\":" M ",\"y\":\"z\"}"},
		{"haas.url=http://10.2.0.1:8080 haas.token=abc haas.mac=02:00",
		 "haas.url=http://10.2.0.1:8080 haas.token=" M " haas.mac=02:00"},
		{"Authorization: Digest user=a, nonce=b\nnext", "Authorization: " M "\nnext"},
		{"asked with Bearer abc, refused", "asked with Bearer " M ", refused"},
		{"https://ann:pw@hooks.example/x", "https://" M "@hooks.example/x"},
		{"GET /callback/0123456789abcdef0123456789abcdef?mac=02",
		 "GET /callback/" M "?mac=02"},
		{"digest 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		 "digest 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		{"a\n-----BEGIN EC PRIVATE KEY-----\nMI\n-----END EC PRIVATE KEY-----\nb",
		 "a\n" M "\nb"},
		{"-----BEGIN CERTIFICATE-----\nMI\n", "-----BEGIN CERTIFICATE-----\nMI\n"},
		{"the password of n1 is wrong", "the password of n1 is wrong"},
		{"wrong password: ", "wrong password: "},
		{"raw 00ff0102030405", "raw " M},
	};
	CLEANUP(site_mask_done) struct site_mask mask = {0};

	(void)state;
	site_mask_learn(&mask, "# short\nKnownSecret!\nabc\n", 24);
	site_mask_learn(&mask, "\x00\xff\x01\x02\x03\x04\x05", 7);
	assert_false(mask.failed);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text out = {0};

		site_mask_add(&mask, rows[i].in, strlen(rows[i].in), &out);
		assert_string_equal(text_get(&out), rows[i].out);
	}
}

static void masks_settings(void **state)
{
	static const char sample[] =
		"database = \"host=/pg user=x\"; user = \"haas\"; name = \"\"; webhook: { url = \"\"; "
		"secret_file = \"\"; }; port = 1;";
	static const char conf[] =
		"# a comment with Secret1\ndatabase = \"host=db password=Secret2 user=x\"; user = \"haas\"; "
		"name = \"Secret3\"; webhook: { url = \"https://a:Secret4@hooks.example:8/Secret5\"; "
		"secret_file = \"Secret6\"; }; port = 2; interfaces = [\"eth1\"]; new = [\"Secret7\"];";
	CLEANUP(site_mask_done) struct site_mask mask = {0};
	CLEANUP(text_done) struct text out = {0};
	CLEANUP(text_done) struct text later = {0};

	(void)state;
	site_mask_conf(&mask, conf, sample, &out);
	/* A daemon that quotes a wrong value. */
	site_mask_add(&mask, "name is \"Secret3\", url \"Secret5\"", 32, &later);
	assert_null(strstr(text_get(&later), "Secret"));
	assert_null(strstr(text_get(&out), "Secret"));
	static const char *const shown[] = {"host=db",
					    "password=" M,
					    "user = \"haas\";\n",
					    "name = " M ";\n",
					    "webhook.url = \"https://" M "@hooks.example:8/" M
					    "\";\n",
					    "port = 2;\n",
					    "interfaces = [\"eth1\"];\n",
					    "new = " M ";\n"};
	for (size_t i = 0; i < COUNT_OF(shown); i++)
		assert_non_null(strstr(text_get(&out), shown[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(masks_text),
					   cmocka_unit_test(masks_settings)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
