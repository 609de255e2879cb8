// links: portal_server
/* Whose load is asked for, and whose is dropped. */
#include <stdio.h>
#include <string.h>

#include "portal/server/looker_book.h"
#include "portal/server/value_book.h"
#include "tests/support/cmocka.h"

static void test_turns(void **state)
{
	struct looker_book book = {0};

	(void)state;
	assert_null(looker_book_next(&book, 0));
	assert_true(looker_book_look(&book, "", 1000));
	assert_true(looker_book_look(&book, "7", 1000));
	assert_string_equal(looker_book_next(&book, 1000), "");
	assert_string_equal(looker_book_next(&book, 1000), "7");
	assert_string_equal(looker_book_next(&book, 1000), "");
	assert_true(looker_book_look(&book, "7", 2500));
	assert_string_equal(looker_book_next(&book, 3100), "7");
	assert_string_equal(looker_book_next(&book, 3100), "7");
	assert_null(looker_book_next(&book, 2500 + LOOKER_BOOK_MS));
}

static void test_bound(void **state)
{
	struct looker_book book = {0};
	char tenant[LOOKER_BOOK_ID_SIZE];

	(void)state;
	for (int i = 0; i < LOOKER_BOOK_MAX; i++) {
		(void)snprintf(tenant, sizeof(tenant), "%d", i);
		assert_true(looker_book_look(&book, tenant, 0));
	}
	assert_false(looker_book_look(&book, "new", 0));
	assert_true(looker_book_look(&book, "7", LOOKER_BOOK_MS));
	assert_false(
		looker_book_leave(&book, LOOKER_BOOK_MS, tenant)); /* of none was anything kept */
	assert_int_equal(book.count, 1);
	assert_true(looker_book_look(&book, "new", LOOKER_BOOK_MS));
}

static void put(struct value_book *values, struct looker_book *book, const char *tenant,
		const char *name)
{
	value_book_begin(values);
	assert_int_equal(value_book_put(values,
					&(struct value_row){.kind = "load",
							    .name = name,
							    .tenant = tenant,
							    .site = tenant[0] == '\0',
							    .body = "1"},
					0),
			 0);
	value_book_sweep(values, "load", tenant);
	if (!looker_book_hold(book, tenant)) {
		value_book_begin(values);
		value_book_sweep(values, "load", tenant);
	}
}

static void shown(struct value_book *values, const char *tenant, const char *expected)
{
	struct value_reader reader = {.tenant = tenant};
	struct text out = {0};

	(void)value_book_write(values, &reader, &out);
	if ((strstr(text_get(&out), "\"name\":\"a:1\"") != NULL) != (expected != NULL))
		fail_msg("tenant %s: %s", tenant, text_get(&out));
	text_done(&out);
}

/* A tenant that left, or was deleted, leaves no value behind; nor does an answer that comes too late. */
static void test_left(void **state)
{
	struct value_book *values = NULL;
	struct looker_book book = {0};
	char left[LOOKER_BOOK_ID_SIZE];

	(void)state;
	assert_int_equal(value_book_new(&values), 0);
	assert_true(looker_book_look(&book, "7", 0));
	assert_true(looker_book_look(&book, "8", 0));
	put(values, &book, "7", "a:1");
	put(values, &book, "8", "a:1");
	assert_true(looker_book_look(&book, "8", LOOKER_BOOK_MS - 1));
	assert_true(looker_book_leave(&book, LOOKER_BOOK_MS, left));
	assert_string_equal(left, "7");
	value_book_begin(values);
	value_book_sweep(values, "load", left);
	assert_false(looker_book_leave(&book, LOOKER_BOOK_MS, left));
	shown(values, "7", NULL);
	shown(values, "8", "there");
	put(values, &book, "7", "a:1"); /* the answer that was asked for before it left */
	shown(values, "7", NULL);
	shown(values, "8", "there");
	value_book_free(values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
