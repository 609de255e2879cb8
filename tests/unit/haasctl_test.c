// links: portal_cli
/* What haasctl reads of words and of event streams. */
#include <string.h>

#include "portal/cli/event_reader.h"
#include "portal/cli/haasctl.h"
#include "tests/support/cmocka.h"

static void test_duration(void **state)
{
	static const struct {
		const char *word;
		int64_t seconds;
	} rows[] = {{"0", 0},     {"90", 90},
		    {"90s", 90},  {"30m", 1800},
		    {"2h", 7200}, {"1d", 86400},
		    {"", -1},     {"m", -1},
		    {"-1s", -1},  {"5 m", -1},
		    {"5mm", -1},  {"1h30", -1},
		    {"1.5h", -1}, {"99999999999999999999", -1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (haasctl_duration_s(rows[i].word) != rows[i].seconds)
			fail_msg("%s", rows[i].word);
	}
}

static void test_number(void **state)
{
	static const char *const wrong[] = {
		"", "0", "-1", "+1", " 1", "1x", "99999999999999999999"};
	int64_t number = 7;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		assert_int_equal(haasctl_number("id", wrong[i], &number), EXIT_USAGE);
		assert_int_equal(number, 7);
	}
	assert_int_equal(haasctl_number("id", "42", &number), EXIT_OK);
	assert_int_equal(number, 42);
}

static void test_tally(void **state)
{
	struct tally tally = {0};

	(void)state;
	assert_int_equal(tally_status(&tally), EXIT_OK);
	tally_add(&tally, EXIT_CONFLICT);
	tally_add(&tally, EXIT_NOT_FOUND);
	assert_int_equal(tally_status(&tally), EXIT_NOT_FOUND);
	tally_add(&tally, EXIT_OK);
	assert_int_equal(tally_status(&tally), EXIT_PARTIAL);
}

static void test_path(void **state)
{
	struct text target = {0};

	(void)state;
	haasctl_path(&target, "/nodes/", "a/../b c?\xc3\xa9", "/events");
	assert_string_equal(text_get(&target), "/nodes/a%2F..%2Fb%20c%3F%C3%A9/events");
	text_done(&target);
}

static void keep(void *context, const char *kind, const struct text *data)
{
	text_addf(context, "%s[%s]", kind, text_get(data));
}

/* The same events whatever pieces the stream comes in. */
static void test_events(void **state)
{
	static const char stream[] = ": a comment\n\nid: 812-40\ndata: {\"a\":1}\n\n"
				     "event: console\ndata:aGk=\n\ndata: one\r\ndata: two\r\n\r\n"
				     "event: closed\n\ndata: begun";

	(void)state;
	for (size_t piece = 1; piece < sizeof(stream); piece++) {
		struct text seen = {0};
		struct event_reader reader = {.on_event = keep, .context = &seen};

		for (size_t at = 0; at < strlen(stream); at += piece) {
			size_t left = strlen(stream) - at;

			event_reader_take(&reader, stream + at, left < piece ? left : piece);
		}
		assert_string_equal(text_get(&seen), "[{\"a\":1}]console[aGk=][one\ntwo]");
		assert_string_equal(reader.id, "812-40");
		event_reader_done(&reader);
		text_done(&seen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration), cmocka_unit_test(test_number),
		cmocka_unit_test(test_tally),    cmocka_unit_test(test_path),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
