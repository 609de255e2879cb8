// links: common_model
#include <string.h>

#include "common/base/error.h"
#include "common/model/drill_url.h"

#include "tests/support/cmocka.h"

static void urls_round_trip(void **state)
{
	static const struct {
		struct drill_url url;
		const char *text;
	} rows[] = {
		{{.path = ""}, "/drill"},
		{{.path = "link:leaf1:17"}, "/drill?path=link:leaf1:17"},
		{{.window = "1h"}, "/drill?window=1h"},
		/* a name with a slash, a colon, a percent: decoded twice */
		{{.path = "link:leaf1:Eth1%2F7%3A2/tenant:a%25b", .at = "10:42", .window = "5m"},
		 "/drill?path=link:leaf1:Eth1%252F7%253A2/tenant:a%2525b&at=10:42&window=5m"},
		/* what divides a query, or would end it */
		{{.path = "link:a b:c&d=e+f#g?h"}, "/drill?path=link:a%20b:c%26d%3De%2Bf%23g%3Fh"},
		{{.path = "tenant:acme/vlan:7/pair:a~b", .at = "2026-11-22T10:42:00+01:00"},
		 "/drill?path=tenant:acme/vlan:7/pair:a~b&at=2026-11-22T10:42:00%2B01:00"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text text = {0};
		struct problem problem = {0};
		struct drill_url url;

		drill_url_print(&rows[i].url, &text);
		assert_string_equal(text_get(&text), rows[i].text);
		assert_int_equal(drill_url_parse(rows[i].text, &url, &problem), 0);
		assert_string_equal(url.path, rows[i].url.path);
		assert_string_equal(url.at, rows[i].url.at);
		assert_string_equal(url.window, rows[i].url.window);
	}
}

static void hosts_are_not_looked_at(void **state)
{
	struct problem problem = {0};
	struct drill_url url;

	(void)state;
	assert_int_equal(
		drill_url_parse("https://portal.example:8443/drill?window=1h#rows", &url, &problem),
		0);
	assert_string_equal(url.window, "1h");
	assert_true(drill_url_is("https://portal.example/drill"));
	assert_false(drill_url_is("link:drill:1"));
	assert_false(drill_url_is(""));
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"/nodes?path=link:a:b", "does not lead to /drill"},
		{"/drillers", "does not lead to /drill"},
		{"ftp://portal/drill", "does not lead to /drill"},
		{"https://portal", "does not lead to /drill"},
		{"/drill?path=link:a:b&path=link:a:c", "twice"},
		{"/drill?limit=5", "other than path, at and window"},
		{"/drill?", "other than path, at and window"},
		{"/drill?path=link:a%2", "two hexadecimal digits"},
		{"/drill?at=%0a", "printable ASCII"},
		{"/drill?window=12345678901234567", "too long"},
		{"/drill?path=vlan:7", "it does not belong here"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct problem problem = {0};
		struct drill_url url = {.window = "kept"};

		assert_int_equal(drill_url_parse(rows[i].text, &url, &problem), E_MALFORMED);
		if (!strstr(problem.message, rows[i].why))
			fail_msg("%s: %s", rows[i].text, problem.message);
		assert_true(problem.hint[0]);
		assert_string_equal(url.window, "kept");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_round_trip),
		cmocka_unit_test(hosts_are_not_looked_at),
		cmocka_unit_test(what_is_wrong_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
