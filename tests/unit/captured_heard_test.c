// links: peregrine_captured
/* What peregrine-captured believes of a process that looks at strangers' bytes. */
#include <stdlib.h>
#include <string.h>

#include "peregrine/captured/captured_private.h"
#include "tests/support/cmocka.h"

static enum captured_heard hear(struct taken *one, const char *text)
{
	json_error_t error;
	json_t *line = json_loads(text, 0, &error);
	enum captured_heard heard;

	if (!line)
		fail_msg("%s: %s", text, error.text);
	heard = captured_hear(one, line);
	json_decref(line);
	return heard;
}

static void forget(struct taken *one)
{
	free(one->problem);
	free(one->result);
	*one = (struct taken){0};
}

static void lines_of_a_process(void **state)
{
	static const struct {
		const char *line;
		enum captured_heard heard;
		const char *because, *problem, *result;
	} rows[] = {
		{"{\"state\":\"listening\",\"packets\":7}", HEARD_LISTENING, "", NULL, NULL},
		{"{\"state\":\"running\",\"packets\":7}", HEARD_BEAT, "", NULL, "{\"packets\":7}"},
		/* what others read as numbers are some */
		{"{\"state\":\"running\",\"packets\":\"many\",\"bytes\":-1,\"stored_bytes\":1.5,"
		 "\"dropped\":{},\"oldest_file\":3}",
		 HEARD_BEAT, "", NULL, "{\"oldest_file\":3}"},
		{"{\"state\":\"running\",\"oldest_file\":16}", HEARD_BEAT, "", NULL, NULL},
		/* no word of it ends a capture in another way than there is */
		{"{\"state\":\"ended\",\"because\":\"deadline\"}", HEARD_END, "deadline", NULL,
		 NULL},
		{"{\"state\":\"ended\",\"because\":\"approved\"}", HEARD_END, "failed", NULL, NULL},
		{"{\"state\":\"ended\",\"because\":7,\"problem\":\"x\"}", HEARD_END, "failed", NULL,
		 NULL},
		{"{\"state\":\"ended\",\"because\":\"full\",\"problem\":{\"code\":\"a\"},"
		 "\"packets\":1}",
		 HEARD_END, "full", "{\"code\":\"a\"}", "{\"packets\":1}"},
		/* no state, or one that there is not: a beat and no more */
		{"{\"state\":\"running away\"}", HEARD_BEAT, "", NULL, NULL},
		{"{\"packets\":2}", HEARD_BEAT, "", NULL, "{\"packets\":2}"},
		{"{\"lines\":\"none\",\"state\":[]}", HEARD_BEAT, "", NULL, NULL},
		/* an array is no object */
		{"[1,2]", HEARD_BEAT, "", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct taken one = {0};
		enum captured_heard heard = hear(&one, rows[i].line);

		if (heard != rows[i].heard || strcmp(one.because, rows[i].because) != 0 ||
		    strcmp(one.problem ? one.problem : "-",
			   rows[i].problem ? rows[i].problem : "-") != 0 ||
		    strcmp(one.result ? one.result : "-", rows[i].result ? rows[i].result : "-") !=
			    0)
			fail_msg("%s: %d %s %s %s", rows[i].line, (int)heard, one.because,
				 one.problem ? one.problem : "-", one.result ? one.result : "-");
		forget(&one);
	}
}

/* They go to people's terminals; the last of many are kept. */
static void live_lines(void **state)
{
	struct taken one = {0};

	(void)state;
	(void)hear(&one, "{\"lines\":[\"a\\u001b[31mb\",7,\"caf\\u00e9\\u202e\"]}");
	assert_int_equal(one.line_count, 3);
	assert_string_equal(one.lines[0], "a?[31mb");
	assert_string_equal(one.lines[1], "");
	assert_string_equal(one.lines[2], "caf?????");
	for (int i = 0; i < LIVE_LINES; i++)
		(void)hear(&one, "{\"lines\":[\"x\"]}");
	assert_int_equal(one.line_count, LIVE_LINES + 3);
	assert_string_equal(one.lines[0], "x");
	forget(&one);
}

/* A new result takes the place of the one before. */
static void results_follow(void **state)
{
	struct taken one = {0};

	(void)state;
	(void)hear(&one, "{\"state\":\"running\",\"packets\":1}");
	(void)hear(&one, "{\"state\":\"ended\",\"because\":\"stopped\",\"packets\":2}");
	assert_string_equal(one.result, "{\"packets\":2}");
	forget(&one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_a_process),
		cmocka_unit_test(live_lines),
		cmocka_unit_test(results_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
