// links: portal_server
/* The newest values: each reader is told what changed since it was told last, and what its scope does not show any more. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/value_book.h"
#include "tests/support/cmocka.h"

static void put(struct value_book *book, const char *kind, const char *name, const char *tenant,
		const char *body, uint64_t xid)
{
	const struct value_row row = {kind, name, tenant, true, body};

	assert_int_equal(value_book_put(book, &row, xid), 0);
}

/* What a reader is told; "" = nothing. */
static void told(struct value_book *book, struct value_reader *reader, const char *wanted)
{
	struct text text = {0};

	assert_int_equal(value_book_write(book, reader, &text), wanted[0] != '\0');
	if (wanted[0] != '\0')
		assert_string_equal(text_get(&text), wanted);
	text_done(&text);
}

#define ALL   "{\"all\":true,\"items\":["
#define SOME  "{\"all\":false,\"items\":["
#define END   "],\"more\":false}"
#define D1(v) "{\"kind\":\"deployment\",\"name\":\"1\",\"value\":" v "}"
#define N1(v) "{\"kind\":\"node\",\"name\":\"n1\",\"value\":" v "}"

static void test_changes(void **state)
{
	struct value_book *book;
	struct value_reader site = {.tenant = ""};
	struct value_reader acme = {.tenant = "acme"};
	struct value_reader beta = {.tenant = "beta"};

	(void)state;
	assert_int_equal(value_book_new(&book), 0);
	value_book_begin(book);
	put(book, "deployment", "1", "acme", "10", 0);
	value_book_sweep(book, "deployment", NULL);
	told(book, &site, ALL D1("10") END);
	told(book, &acme, ALL D1("10") END);
	told(book, &beta, ALL END);
	told(book, &site, "");
	value_book_begin(book);
	put(book, "deployment", "1", "acme", "10", 0); /* the same: nothing to tell */
	value_book_sweep(book, "deployment", NULL);
	told(book, &site, "");
	for (int i = 0; i < 3; i++) /* only the newest */
		put(book, "deployment", "1", "acme", i == 2 ? "12" : i == 1 ? "11" : "9", 0);
	told(book, &site, SOME D1("12") END);
	told(book, &beta, "");
	value_book_begin(book);
	value_book_sweep(book, "deployment", NULL);
	told(book, &site, SOME D1("null") END);
	told(book, &acme, SOME D1("null") END);
	told(book, &beta, "");
	told(book, &(struct value_reader){.tenant = ""}, ALL END);
	value_book_free(book);
}

/* A node that goes to another tenant: its old one hears that it is gone, and not where to. */
static void test_moves(void **state)
{
	struct value_book *book;
	struct value_reader site = {.tenant = ""};
	struct value_reader acme = {.tenant = "acme"};
	struct value_reader beta = {.tenant = "beta"};

	(void)state;
	assert_int_equal(value_book_new(&book), 0);
	value_book_begin(book);
	put(book, "deployment", "n1", "acme", "1", 0);
	told(book, &site,
	     "{\"all\":true,\"items\":[{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":1}" END);
	told(book, &acme,
	     "{\"all\":true,\"items\":[{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":1}" END);
	told(book, &beta, ALL END);
	put(book, "deployment", "n1", "beta", "2", 0);
	told(book, &acme, SOME "{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":null}" END);
	told(book, &beta, SOME "{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":2}" END);
	told(book, &site, SOME "{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":2}" END);
	/* and back before acme looks: what it is told last is that it is there */
	put(book, "deployment", "n1", "", "3", 0);
	put(book, "deployment", "n1", "acme", "4", 0);
	told(book, &acme, SOME "{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":4}" END);
	told(book, &beta, SOME "{\"kind\":\"deployment\",\"name\":\"n1\",\"value\":null}" END);
	value_book_free(book);
}

/* Nodes are told by their changes: a new reader says as of when it has read them. */
static void test_by_change(void **state)
{
	struct value_book *book;

	(void)state;
	assert_int_equal(value_book_new(&book), 0);
	value_book_begin(book);
	put(book, "node", "n1", "acme", "1", 100);
	value_book_set_floor(book, "node", 100);
	value_book_begin(book);
	put(book, "node", "n1", "acme", "2", 120);
	told(book, &(struct value_reader){.tenant = "", .xid = 100}, ALL N1("2") END);
	told(book, &(struct value_reader){.tenant = "", .xid = 120}, ALL END);
	told(book, &(struct value_reader){.tenant = "beta", .xid = 100}, ALL END);
	told(book, &(struct value_reader){.tenant = "", .xid = 99},
	     "{\"all\":true,\"again\":[\"node\"],\"items\":[" END);
	told(book, &(struct value_reader){.tenant = ""},
	     "{\"all\":true,\"again\":[\"node\"],\"items\":[" END);
	/* deleted after it was read */
	struct value_reader late = {.tenant = "", .xid = 120};

	value_book_begin(book);
	value_book_sweep(book, "node", NULL);
	told(book, &late, ALL N1("null") END);
	told(book, &late, "");
	value_book_free(book);
}

/* What is gone is not told for ever; who was away longer begins anew. */
static void test_forgets(void **state)
{
	struct value_book *book;
	struct value_reader quick = {.tenant = ""};
	struct value_reader slow = {.tenant = ""};

	(void)state;
	assert_int_equal(value_book_new(&book), 0);
	value_book_begin(book);
	put(book, "deployment", "1", "", "1", 0);
	told(book, &slow, ALL D1("1") END);
	quick = slow;
	value_book_begin(book);
	put(book, "job", "7", "", "1", 0);
	value_book_sweep(book, "deployment", NULL);
	value_book_forget(book);
	told(book, &quick, SOME "{\"kind\":\"job\",\"name\":\"7\",\"value\":1}," D1("null") END);
	value_book_forget(book);
	told(book, &quick, "");
	told(book, &slow, ALL "{\"kind\":\"job\",\"name\":\"7\",\"value\":1}" END);
	value_book_free(book);
}

/* A node that is gone is not told for ever: who read before that is told to read again, also between two texts. */
static void test_forgets_by_change(void **state)
{
	struct value_book *book;
	struct value_reader before = {.tenant = "", .xid = 100};
	struct value_reader after = {.tenant = "", .xid = 130};
	char *large = malloc(VALUE_BOOK_EVENT + 3);
	struct text text = {0};

	(void)state;
	assert_non_null(large);
	memset(large, '1', VALUE_BOOK_EVENT + 2);
	large[VALUE_BOOK_EVENT + 2] = '\0';
	assert_int_equal(value_book_new(&book), 0);
	value_book_begin(book);
	put(book, "deployment", "1", "", large, 100);
	put(book, "node", "n1", "", "1", 100);
	value_book_set_floor(book, "node", 100);
	value_book_begin(book);
	put(book, "deployment", "1", "", large, 120);
	put(book, "job", "7", "", "1", 120);
	put(book, "job", "8", "", "1", 120);
	value_book_sweep(book, "node", NULL);
	value_book_forget(book);
	assert_true(value_book_write(book, &before, &text));
	assert_true(value_book_write(book, &after, &text));
	assert_null(strstr(text_get(&text), "again"));
	assert_non_null(strstr(text_get(&text), "\"more\":true"));
	text_clear(&text);
	value_book_forget(book);
	assert_true(value_book_write(book, &before, &text));
	assert_memory_equal(text_get(&text), "{\"all\":true,\"again\":[\"node\"]", 28);
	text_done(&text);
	told(book, &after, SOME "{\"kind\":\"job\",\"name\":\"8\",\"value\":1}" END);
	told(book, &before, SOME "{\"kind\":\"job\",\"name\":\"8\",\"value\":1}" END);
	value_book_free(book);
	free(large);
}

/* Many values come in several texts, none of which is large, and none is missing: also when they are older than what was forgotten. */
static void test_many(void **state)
{
	enum { COUNT = 5000 };
	struct value_book *book;
	struct value_reader reader = {.tenant = ""};
	bool more = true;
	size_t seen = 0;
	int texts = 0;

	(void)state;
	assert_int_equal(value_book_new(&book), 0);
	value_book_begin(book);
	for (int i = 0; i < COUNT; i++) {
		char name[16];

		assert_true(text_format(name, sizeof(name), "%d", i));
		put(book, "deployment", name, "", "{\"percent\":10}", 0);
	}
	value_book_forget(book);
	for (; more; texts++) {
		struct text text = {0};

		value_book_forget(book);
		assert_true(value_book_write(book, &reader, &text));
		assert_true(text.size < VALUE_BOOK_EVENT + 1000);
		more = strstr(text_get(&text), "\"more\":true") != NULL;
		assert_int_equal(strstr(text_get(&text), "\"all\":true") != NULL, texts == 0);
		for (const char *at = text_get(&text); (at = strstr(at, "percent")); at++)
			seen++;
		text_done(&text);
	}
	assert_int_equal(seen, COUNT);
	assert_true(texts > 2);
	told(book, &reader, "");
	value_book_free(book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),           cmocka_unit_test(test_moves),
		cmocka_unit_test(test_by_change),         cmocka_unit_test(test_forgets),
		cmocka_unit_test(test_forgets_by_change), cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
