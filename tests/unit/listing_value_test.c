// links: portal_cli
/* What people read of a value (user 30): times with their zone, numbers with their unit. csv and JSON
 * stay as the API has them. */
#include <string.h>

#include "portal/cli/listing.h"
#include "tests/support/cmocka.h"

static void test_people(void **state)
{
	static const struct {
		const char *key, *json, *people, *program;
	} rows[] = {
		{"raised_at", "\"2026-11-26T13:04:05.123456+00:00\"", "2026-11-26 13:04:05Z",
		 "2026-11-26T13:04:05.123456+00:00"},
		{"until", "\"2026-11-23T17:13:27.995184+00:00\"", "2026-11-23 17:13:27Z",
		 "2026-11-23T17:13:27.995184+00:00"},
		{"a.since", "\"2026-11-23T17:13:27Z\"", "2026-11-23 17:13:27Z",
		 "2026-11-23T17:13:27Z"},
		{"at", "\"2026-11-23T17:13:27+02:00\"", "2026-11-23 17:13:27+02:00",
		 "2026-11-23T17:13:27+02:00"},
		{"applied_at", "\"2026-11-23 17:13:27.5+00\"", "2026-11-23 17:13:27Z",
		 "2026-11-23 17:13:27.5+00"},
		{"at", "\"soon\"", "soon", "soon"},
		{"size_bytes", "107374182400", "100 GiB", "107374182400"},
		{"size_bytes", "1610612736", "1.5 GiB", "1610612736"},
		{"size_bytes", "512", "512 B", "512"},
		{"speed_bps", "10000000000", "10 Gbit/s", "10000000000"},
		{"speed_bps", "2500000000", "2.5 Gbit/s", "2500000000"},
		{"speed_bps", "0", "0 bit/s", "0"},
		{"forward.bits_per_second", "141900000.5", "142 Mbit/s", "1.419e+08"},
		{"lease_s", "3600", "1h", "3600"},
		{"lease_s", "5400", "90m", "5400"},
		{"poll_s", "30", "30s", "30"},
		{"exact_seconds", "86400", "1d", "86400"},
		{"exact_seconds", "0.5", "0.5s", "0.5"},
		{"response_ms", "12", "12 ms", "12"},
		{"response_ms", "1500", "1.5 s", "1500"},
		{"privilege", "4", "administrator", "4"},
		{"privilege", "9", "9", "9"},
		{"ports", "17", "17", "17"},
		{"dirty", "true", "yes", "true"},
		{"problem", "{\"message\": \"m\"}", "m", "{\"message\":\"m\"}"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(text_done) struct text people = {0};
		CLEANUP(text_done) struct text program = {0};
		CLEANUP(json_decrefp)
		json_t *value = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);

		assert_non_null(value);
		listing_add_value(&people, value, rows[i].key, true);
		listing_add_value(&program, value, rows[i].key, false);
		if (strcmp(text_get(&people), rows[i].people) != 0 ||
		    strcmp(text_get(&program), rows[i].program) != 0)
			fail_msg("%s %s: %s, %s", rows[i].key, rows[i].json, text_get(&people),
				 text_get(&program));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_people)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
