// links: peregrine_alert
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/flowd/alert/alert_text.h"
#include "peregrine/flowd/flow/attribution_index.h"
#include "tests/support/cmocka.h"

#define SECOND 1000000LL

/* What was told, one line each: "raised traffic.share:leaf1:up0:acme: acme has 80 % of leaf1:up0".
 */
struct said {
	struct text text;
	int64_t raised_us;
};

static void on_alert(void *context, enum alert_event event, const struct alert_entry *entry)
{
	static const char *const words[] = {"raised", "again", "suspect", "over", "lost"};
	CLEANUP(text_done) struct text message = {0};
	struct said *said = context;

	alert_message(entry, &message);
	text_addf(&said->text, "%s %s: %s\n", words[event], entry->key, text_get(&message));
	said->raised_us = entry->raised_us;
}

static struct alert_watch *watch_of(struct said *said, size_t limit)
{
	const struct alert_watch_options options = {
		.rules = {[ALERT_UTILISATION] = {90, 75, 1, 2},
			  [ALERT_SHARE] = {60, 45, 1, 2},
			  [ALERT_SILENT] = {60, 10, 1, 1}},
		.again_us = 30 * SECOND,
		.lost_us = 900 * SECOND,
		.limit = limit,
		.fn = on_alert,
		.context = said,
	};
	struct alert_watch *watch = NULL;

	assert_int_equal(alert_watch_new(&options, &watch), 0);
	return watch;
}

static const struct alert_asset port = {.subject_kind = "port",
					.switch_name = "leaf1",
					.port = "up0",
					.more = "",
					.switch_id = 1,
					.place = 3,
					.window_s = 1};

static void see(struct alert_watch *watch, double value, int64_t at_s)
{
	alert_watch_see(watch, ALERT_UTILISATION, &port, value, at_s * SECOND);
	alert_watch_sweep(watch, at_s * SECOND);
}

static void expect(struct said *said, const char *expected)
{
	assert_string_equal(text_get(&said->text), expected);
	text_clear(&said->text);
}

static void one_alert_from_its_begin_to_its_end(void **state)
{
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 10);

	(void)state;
	see(watch, 50, 100);
	expect(&said, "");
	see(watch, 96, 101);
	expect(&said,
	       "raised traffic.utilisation:leaf1:up0: leaf1:up0 is used to 96 % (mean of 1 s)\n");
	assert_int_equal(said.raised_us, 101 * SECOND);
	assert_int_equal(alert_watch_find(watch, "traffic.utilisation:leaf1:up0")->place, 3);
	see(watch, 95, 102);
	expect(&said, "");
	see(watch, 94, 103);
	expect(&said,
	       "suspect traffic.utilisation:leaf1:up0: leaf1:up0 is used to 94 % (mean of 1 s)\n");
	see(watch, 93, 131);
	expect(&said,
	       "again traffic.utilisation:leaf1:up0: leaf1:up0 is used to 93 % (mean of 1 s)\n");
	see(watch, 10, 132);
	see(watch, 11, 133);
	/* Nobody is asked who fills a link that is not full any more. */
	expect(&said,
	       "over traffic.utilisation:leaf1:up0: leaf1:up0 is used to 11 % (mean of 1 s), "
	       "96 % at most\n");
	assert_null(alert_watch_find(watch, "traffic.utilisation:leaf1:up0"));
	assert_int_equal(alert_watch_counts(watch).open, 0);
	alert_watch_free(watch);
	text_done(&said.text);
}

/* An alert that no frames are in has suspects too: what was changed on the switch. */
static void a_silent_switch_has_suspects(void **state)
{
	static const struct alert_asset leaf = {.subject_kind = "switch",
						.switch_name = "leaf1",
						.port = "",
						.more = "",
						.switch_id = 1,
						.place = INDEX_NONE};
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 10);

	(void)state;
	for (int64_t s = 61; s <= 64; s++) {
		alert_watch_see(watch, ALERT_SILENT, &leaf, (double)s, (100 + s) * SECOND);
		alert_watch_sweep(watch, (100 + s) * SECOND);
	}
	expect(&said, "raised traffic.silent:leaf1: leaf1 has sent no sFlow for 61 s\n"
		      "suspect traffic.silent:leaf1: leaf1 has sent no sFlow for 63 s\n");
	alert_watch_free(watch);
	text_done(&said.text);
}

static void what_is_not_heard_of_any_more_ends(void **state)
{
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 10);

	(void)state;
	see(watch, 96, 101);
	text_clear(&said.text);
	alert_watch_sweep(watch, 102 * SECOND + 900 * SECOND);
	expect(&said,
	       "lost traffic.utilisation:leaf1:up0: leaf1:up0 is used to 96 % (mean of 1 s)\n");
	/* The clock is set back by an hour: it is as if it had been seen now. */
	see(watch, 96, 5000);
	text_clear(&said.text);
	alert_watch_sweep(watch, 1400 * SECOND);
	alert_watch_sweep(watch, 2299 * SECOND);
	assert_null(strstr(text_get(&said.text), "lost"));
	alert_watch_sweep(watch, 2301 * SECOND);
	assert_non_null(strstr(text_get(&said.text), "lost"));
	alert_watch_free(watch);
	text_done(&said.text);
}

static void one_of_an_earlier_life_is_taken_over(void **state)
{
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 10);

	(void)state;
	alert_watch_adopt(watch,
			  &(struct alert_kept){"traffic.utilisation:leaf1:up0",
					       "traffic.utilisation", "port", "leaf1:up0", 0,
					       7 * SECOND},
			  100 * SECOND);
	alert_watch_adopt(watch,
			  &(struct alert_kept){"traffic.of_tomorrow:leaf1", "traffic.of_tomorrow",
					       "switch", "leaf1", 0, 7 * SECOND},
			  100 * SECOND);
	assert_int_equal(alert_watch_counts(watch).open, 1);
	/* Still too much: it is the same one, and nobody is told again. */
	see(watch, 99, 101);
	assert_null(strstr(text_get(&said.text), "raised"));
	see(watch, 10, 102);
	see(watch, 10, 103);
	assert_non_null(strstr(text_get(&said.text), "over traffic.utilisation:leaf1:up0"));
	assert_int_equal(said.raised_us, 7 * SECOND);
	/* Raised in this life before the database told: the first time counts. */
	see(watch, 99, 110);
	alert_watch_adopt(watch,
			  &(struct alert_kept){"traffic.utilisation:leaf1:up0",
					       "traffic.utilisation", "port", "leaf1:up0", 0,
					       8 * SECOND},
			  111 * SECOND);
	assert_int_equal(alert_watch_find(watch, "traffic.utilisation:leaf1:up0")->raised_us,
			 8 * SECOND);
	assert_int_equal(alert_watch_counts(watch).open, 1);
	alert_watch_free(watch);
	text_done(&said.text);
}

static bool is_known(void *context, const struct alert_entry *entry)
{
	(void)entry;
	return *(bool *)context;
}

/* A tenant that sends nothing any more has no row: its part is 0 where its link is known. */
static void a_tenant_that_stops_is_over(void **state)
{
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 10);
	struct alert_asset part = port;
	bool known = false;

	(void)state;
	part.more = "acme";
	part.tenant = 5;
	alert_watch_see(watch, ALERT_SHARE, &part, 80, 100 * SECOND);
	expect(&said,
	       "raised traffic.share:leaf1:up0:acme: acme has 80 % of leaf1:up0 (mean of 1 s)\n");
	for (int64_t at_s = 101; at_s < 110; at_s++)
		alert_watch_absent(watch, ALERT_SHARE, at_s * SECOND, is_known, &known);
	expect(&said, "");
	known = true;
	for (int64_t at_s = 110; at_s < 113; at_s++)
		alert_watch_absent(watch, ALERT_SHARE, at_s * SECOND, is_known, &known);
	expect(&said,
	       "over traffic.share:leaf1:up0:acme: acme has 0.0 % of leaf1:up0 (mean of 1 s), "
	       "80 % at most\n");
	/* Of an earlier life only the key says whose it was. */
	alert_watch_adopt(watch,
			  &(struct alert_kept){"traffic.share:leaf1:up0:acme", "traffic.share",
					       "port", "leaf1:up0", 5, 7 * SECOND},
			  200 * SECOND);
	for (int64_t at_s = 201; at_s < 204; at_s++)
		alert_watch_absent(watch, ALERT_SHARE, at_s * SECOND, is_known, &known);
	expect(&said, "over traffic.share:leaf1:up0:acme: acme has 0.0 % of leaf1:up0\n");
	alert_watch_free(watch);
	text_done(&said.text);
}

static void no_more_than_there_is_room_for(void **state)
{
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 2);
	char name[16];

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct alert_asset asset = port;

		(void)snprintf(name, sizeof(name), "p%d", i);
		asset.port = name;
		alert_watch_see(watch, ALERT_UTILISATION, &asset, 95, 100 * SECOND);
	}
	assert_int_equal(alert_watch_counts(watch).open, 2);
	assert_int_equal(alert_watch_counts(watch).refused, 3);
	alert_watch_free(watch);
	text_done(&said.text);
}

static void where_to_look(void **state)
{
	struct said said = {0};
	struct alert_watch *watch = watch_of(&said, 10);
	struct alert_asset part = port;
	CLEANUP(text_done) struct text path = {0};

	(void)state;
	part.port = "Ethernet1/4";
	part.more = "acme";
	alert_watch_see(watch, ALERT_SHARE, &part, 80, 100 * SECOND);
	alert_drill(alert_watch_find(watch, "traffic.share:leaf1:Ethernet1/4:acme"), &path);
	assert_string_equal(text_get(&path), "link:leaf1:Ethernet1%2F4/tenant:acme");
	alert_watch_free(watch);
	text_done(&said.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_alert_from_its_begin_to_its_end),
		cmocka_unit_test(a_silent_switch_has_suspects),
		cmocka_unit_test(what_is_not_heard_of_any_more_ends),
		cmocka_unit_test(one_of_an_earlier_life_is_taken_over),
		cmocka_unit_test(a_tenant_that_stops_is_over),
		cmocka_unit_test(no_more_than_there_is_room_for),
		cmocka_unit_test(where_to_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
