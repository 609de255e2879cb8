// links: common_base
/* Texts, problems, enum words, error words, hex, digests, time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/problem.h"
#include "common/base/text.h"

#include "tests/support/cmocka.h"

static void test_controls(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{"n1\n\033[31mred\x7f", "n1  [31mred "},
		{"\xc2\x9b 2J, \xc2\x80\xc2\x9f", "   2J,     "},
		{"Z\xc3\xbcrich \xc2\xa0\xe2\x80\x9c", "Z\xc3\xbcrich \xc2\xa0\xe2\x80\x9c"},
		{"\xc2", "\xc2"}, /* cut off: nothing behind it is looked at */
		{"", ""},
	};
	char bytes[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_true(text_copy(bytes, sizeof(bytes), rows[i].from));
		text_blank_controls(bytes, strlen(bytes));
		assert_string_equal(bytes, rows[i].to);
	}
}

static void test_build(void **state)
{
	struct text text = {0};
	char *taken;

	(void)state;
	assert_string_equal(text_get(&text), "");
	text_add(&text, "a");
	text_addf(&text, "%d-%s", 7, "b");
	text_add_bytes(&text, "\0c", 2);
	assert_int_equal(text.size, 6);
	assert_memory_equal(text.data, "a7-b\0c", 7);
	text_clear(&text);
	assert_string_equal(text_get(&text), "");
	for (unsigned i = 0; i < 10000; i++)
		text_addf(&text, "%04u", i % 10000);
	assert_int_equal(text.size, 40000);
	assert_memory_equal(text.data + (size_t)4 * 1234, "1234", 4);
	assert_false(text.failed);
	taken = text_take(&text);
	assert_int_equal(strlen(taken), 40000);
	free(taken);
	assert_null(text.data);
	taken = text_take(&text);
	assert_string_equal(taken, "");
	free(taken);
}

/* After a failure nothing is added any more, and the end tells. */
static void test_failure(void **state)
{
	struct text text = {0};

	(void)state;
	text_add(&text, "kept");
	text_add_bytes(&text, "x", SIZE_MAX / 2);
	assert_true(text.failed);
	text_add(&text, "lost");
	text_addf(&text, "%d", 1);
	assert_string_equal(text_get(&text), "kept");
	assert_null(text_take(&text));
	assert_false(text.failed);
}

static void test_fixed(void **state)
{
	char array[5];

	(void)state;
	assert_true(text_copy(array, sizeof(array), "abcd"));
	assert_false(text_copy(array, sizeof(array), "abcde"));
	assert_string_equal(array, "abcd");
	assert_false(text_copy(array, 0, ""));
	assert_true(text_format(array, sizeof(array), "%d", 1234));
	assert_false(text_format(array, sizeof(array), "%d", 12345));
	assert_string_equal(array, "1234");
}

static void test_problem(void **state)
{
	struct problem problem = {0};
	char large[2000];

	(void)state;
	assert_false(problem_is_set(&problem));
	problem_detail(&problem, "old");
	assert_int_equal(problem_set(&problem, E_CONFLICT, "node %s", "n1"), E_CONFLICT);
	assert_true(problem_is_set(&problem));
	assert_string_equal(problem.message, "node n1");
	assert_string_equal(problem.detail, "");
	problem_hint(&problem, "%d", 3);
	assert_string_equal(problem.hint, "3");
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	problem_detail(&problem, "%s", large);
	assert_int_equal(strlen(problem.detail), sizeof(problem.detail) - 1);
}

static void test_words(void **state)
{
	static const char *const words[] = {[0] = "free", [2] = "held"};

	(void)state;
	assert_string_equal(enum_text(words, 3, 2), "held");
	assert_string_equal(enum_text(words, 3, 1), "?");
	assert_string_equal(enum_text(words, 3, 3), "?");
	assert_string_equal(enum_text(words, 3, -1), "?");
	assert_int_equal(enum_value(words, 3, "held"), 2);
	assert_int_equal(enum_value(words, 3, "hel"), -1);
	assert_int_equal(enum_value(words, 3, NULL), -1);
}

static void test_errors(void **state)
{
	(void)state;
	assert_string_equal(error_text(0), "success");
	assert_string_equal(error_text(-ENOENT), "No such file or directory");
	assert_string_equal(error_text(E_CONFLICT), "conflict");
	assert_string_equal(error_text(-999), "unknown error");
	assert_string_equal(error_text(-99999), "unknown error");
	assert_string_equal(error_text(1), "unknown error");
	assert_string_equal(error_word(E_NOT_FOUND), "not_found");
	assert_string_equal(error_word(-EIO), "internal");
	for (int rc = E_MALFORMED; rc >= E_INVALID; rc--) /* every number of ours has both */
		assert_string_not_equal(error_word(rc), "internal");
}

static void test_hex(void **state)
{
	const uint8_t bytes[] = {0x00, 0x7f, 0xff, 0xa5};
	uint8_t back[4] = {1, 2, 3, 4};
	char text[9];

	(void)state;
	hex_encode(bytes, sizeof(bytes), text);
	assert_string_equal(text, "007fffa5");
	assert_int_equal(hex_decode("007FFfa5", back, 4), 0);
	assert_memory_equal(back, bytes, 4);
	memset(back, 9, sizeof(back));
	assert_int_equal(hex_decode("007fffa", back, 4), E_MALFORMED);
	assert_int_equal(hex_decode("007fffa50", back, 4), E_MALFORMED);
	assert_int_equal(hex_decode("007fffag", back, 4), E_MALFORMED);
	assert_int_equal(hex_decode("", back, 4), E_MALFORMED);
	assert_int_equal(back[0], 9); /* written only on success */
	assert_int_equal(hex_decode("", back, 0), 0);
}

static void test_digest(void **state)
{
	char digest[DIGEST_TEXT_SIZE];
	char token[TOKEN_TEXT_SIZE];
	char other[TOKEN_TEXT_SIZE];

	(void)state;
	/* b2sum -l 256 of "abc". */
	digest_text("abc", 3, digest);
	assert_string_equal(digest,
			    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
	token_new(token);
	token_new(other);
	assert_int_equal(strlen(token), 32);
	assert_string_not_equal(token, other);
}

static void test_clock(void **state)
{
	char text[CLOCK_TEXT_SIZE];
	int64_t before = clock_monotonic_ms();

	(void)state;
	assert_string_equal(clock_text(0, text), "1970-01-01T00:00:00.000Z");
	assert_string_equal(clock_text(1795230600123999, text), "2026-11-21T03:10:00.123Z");
	assert_string_equal(clock_text(-1, text), "1969-12-31T23:59:59.999Z");
	assert_string_equal(clock_text(INT64_MAX, text), "?");
	assert_true(clock_wall_us() > 1700000000000000);
	assert_true(clock_monotonic_ms() >= before);
}

static void test_percent(void **state)
{
	CLEANUP(text_done) struct text text = {0};

	(void)state;
	text_add_percent(&text, "aZ09-._~");
	text_add_percent(&text, " /%&=+\xc3\xa4");
	assert_string_equal(text_get(&text), "aZ09-._~%20%2F%25%26%3D%2B%C3%A4");
	assert_null(text_or_null(""));
	assert_string_equal(text_or_null("x"), "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_controls), cmocka_unit_test(test_build),
		cmocka_unit_test(test_failure),  cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_problem),  cmocka_unit_test(test_words),
		cmocka_unit_test(test_errors),   cmocka_unit_test(test_hex),
		cmocka_unit_test(test_digest),   cmocka_unit_test(test_clock),
		cmocka_unit_test(test_percent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
