// links: bootd_boot
/* Reports of agents, ranges of requests, and the memory of tasks. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/macros.h"

#include "bampi/bootd/boot/boot_range_wire.h"
#include "bampi/bootd/boot/boot_report.h"
#include "bampi/bootd/boot/task_book.h"
#include "tests/support/cmocka.h"

static void progress(void **state)
{
	static const struct {
		const char *body;
		int rc, percent;
		int64_t done_bytes, total_bytes;
		const char *text;
	} cases[] = {
		{"{\"percent\":42,\"done_bytes\":1,\"total_bytes\":9007199254740993,\"text\":\"writing\"}",
		 0, 42, 1, 9007199254740993, "writing"},
		{"{\"percent\":0}", 0, 0, 0, 0, ""},
		{"{\"percent\":100,\"text\":\"a\\u001b[2Jb\\nc\"}", 0, 100, 0, 0, "a [2Jb c"},
		{"{\"percent\":101}", E_MALFORMED, 0, 0, 0, NULL},
		{"{\"percent\":-1}", E_MALFORMED, 0, 0, 0, NULL},
		{"{\"percent\":1,\"done_bytes\":-1}", E_MALFORMED, 0, 0, 0, NULL},
		{"{\"percent\":\"1\"}", E_MALFORMED, 0, 0, 0, NULL},
		{"{\"percent\":1,\"text\":7}", E_MALFORMED, 0, 0, 0, NULL},
		{"{}", E_MALFORMED, 0, 0, 0, NULL},
		{"[]", E_MALFORMED, 0, 0, 0, NULL},
		{"", E_MALFORMED, 0, 0, 0, NULL},
		{"{\"percent\":1,\"percent\":2}", E_MALFORMED, 0, 0, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct boot_progress report = {0};
		struct problem problem = {0};

		assert_int_equal(boot_progress_decode(cases[i].body, strlen(cases[i].body), &report,
						      &problem),
				 cases[i].rc);
		if (cases[i].rc) {
			assert_true(problem_is_set(&problem));
			continue;
		}
		assert_int_equal(report.percent, cases[i].percent);
		assert_int_equal(report.done_bytes, cases[i].done_bytes);
		assert_int_equal(report.total_bytes, cases[i].total_bytes);
		assert_string_equal(report.text, cases[i].text);
	}
}

/* A text is cut between characters, never inside one. */
static void long_text(void **state)
{
	struct text body = {0};
	struct boot_progress report;
	struct problem problem;

	(void)state;
	text_add(&body, "{\"percent\":1,\"text\":\"");
	for (int i = 0; i < 100; i++)
		text_add(&body, "\xe2\x82\xac"); /* the euro sign, three bytes */
	text_add(&body, "\"}");
	assert_int_equal(boot_progress_decode(body.data, body.size, &report, &problem), 0);
	assert_int_equal(strlen(report.text), 159);
	assert_int_equal(strlen(report.text) % 3, 0);
	text_done(&body);
}

static void results(void **state)
{
	static const struct {
		const char *body;
		int rc;
		const char *data, *problem;
	} cases[] = {
		{"{\"ok\":true,\"data\":{\"disk\": \"sda\"}}", 0, "{\"disk\":\"sda\"}", NULL},
		{"{\"ok\":true}", 0, "{}", NULL},
		{"{\"ok\":true,\"data\":null}", 0, "{}", NULL},
		{"{\"ok\":false,\"problem\":{\"message\":\"no disk\"}}", 0, NULL,
		 "{\"message\":\"no disk\",\"detail\":\"\",\"hint\":\"\"}"},
		{"{\"ok\":false,\"problem\":{\"message\":\"a\\nb\",\"detail\":\"d\",\"hint\":\"h\"}}",
		 0, NULL, "{\"message\":\"a b\",\"detail\":\"d\",\"hint\":\"h\"}"},
		{"{\"ok\":false,\"problem\":{\"message\":\"\"}}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":false,\"problem\":{}}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":false,\"problem\":\"no\"}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":false}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":1}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":true,\"data\":[]}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":true,\"data\":{\"a\":\"\\u0000\"}}", E_MALFORMED, NULL, NULL},
		{"{\"ok\":true,\"data\":{\"a\":\"\xff\"}}", E_MALFORMED, NULL, NULL},
		{"null", E_MALFORMED, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct boot_result result = {0};
		struct problem problem = {0};

		assert_int_equal(
			boot_result_decode(cases[i].body, strlen(cases[i].body), &result, &problem),
			cases[i].rc);
		assert_int_equal(result.data != NULL, cases[i].data != NULL);
		assert_int_equal(result.problem != NULL, cases[i].problem != NULL);
		if (result.data)
			assert_string_equal(result.data, cases[i].data);
		if (result.problem)
			assert_string_equal(result.problem, cases[i].problem);
		boot_result_done(&result);
	}
}

static void too_large(void **state)
{
	size_t size = BOOT_RESULT_LIMIT + 1;
	char *body = malloc(size);
	struct boot_result result;
	struct problem problem;

	(void)state;
	assert_non_null(body);
	memset(body, ' ', size);
	assert_int_equal(boot_result_decode(body, size, &result, &problem), E_LIMIT);
	free(body);
}

static void ranges(void **state)
{
	static const struct {
		const char *range;
		uint64_t size, first, count;
	} cases[] = {
		{NULL, 100, 0, 100},        {"bytes=0-9", 100, 0, 10},
		{"bytes=90-", 100, 90, 10}, {"bytes=90-1000", 100, 90, 10},
		{"bytes=-10", 100, 90, 10}, {"bytes=-1000", 100, 0, 100},
		{"bytes=-0", 100, 100, 0},  {"bytes=99-99", 100, 99, 1},
		{"bytes=100-", 100, 0, 0},  {"bytes=0-", 0, 0, 0},
		{"bytes=9-3", 100, 0, 100}, {"bytes=0-1,5-6", 100, 0, 100},
		{"bytes=-", 100, 0, 100},   {"bytes=0-99999999999999999999", 100, 0, 100},
		{"lines=0-9", 100, 0, 100},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct boot_range range = boot_range_decode(cases[i].range, cases[i].size);

		assert_int_equal(range.first, cases[i].first);
		assert_int_equal(range.size, cases[i].count);
	}
}

static void tasks(void **state)
{
	static const char mine[] = "00112233445566778899aabbccddeeff";
	static const char other[] = "ff112233445566778899aabbccddee00";
	struct task_book book = {0};
	struct text ids = {0};

	(void)state;
	assert_non_null(task_book_put(&book, 7, 70, mine, 1000));
	assert_non_null(task_book_put(&book, 8, 80, other, 2000));
	task_book_find(&book, 7)->unwanted = true;
	assert_null(task_book_find(&book, 9));
	assert_null(task_book_find_of(&book, 7, other));
	assert_null(task_book_find_of(&book, 7, "short"));
	assert_int_equal(task_book_find_of(&book, 7, mine)->deployment_id, 70);
	/* handed out anew: wanted again */
	assert_false(task_book_put(&book, 7, 71, mine, 3000)->unwanted);
	task_book_ids(&book, &ids);
	assert_string_equal(text_get(&ids), "{7,8}");
	task_book_forget(&book, 2500);
	assert_null(task_book_find(&book, 8));
	assert_non_null(task_book_find(&book, 7));
	task_book_remove(&book, 7);
	task_book_remove(&book, 7);
	assert_null(task_book_find(&book, 7));
	task_book_done(&book);
	text_done(&ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(progress),  cmocka_unit_test(long_text), cmocka_unit_test(results),
		cmocka_unit_test(too_large), cmocka_unit_test(ranges),    cmocka_unit_test(tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
