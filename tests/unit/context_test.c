// links: portal_cli
/* The file of contexts: what is kept comes back, what others could read or have broken is refused. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/context.h"
#include "tests/support/cmocka.h"

#define SECRET "haas_s_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define PIN    "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static char made[64]; /* XDG_CONFIG_HOME */

static const char *file_path(void)
{
	static char path[128];

	(void)text_format(path, sizeof(path), "%s/haas/contexts.json", made);
	return path;
}

static int make_home(void **state)
{
	(void)state;
	strcpy(made, "/tmp/haas-context-XXXXXX");
	assert_non_null(mkdtemp(made));
	return setenv("XDG_CONFIG_HOME", made, 1);
}

static int drop_home(void **state)
{
	char command[128];

	(void)state;
	(void)text_format(command, sizeof(command), "rm -rf %s", made);
	return system(command);
}

static void keep(const char *name, const char *url)
{
	struct context context = {.account = "globex/ann", .secret = SECRET, .pin = PIN};
	struct context_book book;
	struct problem problem;

	(void)text_copy(context.name, sizeof(context.name), name);
	(void)text_copy(context.url, sizeof(context.url), url);
	assert_int_equal(context_book_open(&book, &problem), 0);
	assert_int_equal(context_put(&book, &context), 0);
	(void)text_copy(book.current, sizeof(book.current), name);
	assert_int_equal(context_book_save(&book, &problem), 0);
	context_book_done(&book);
}

static void test_comes_back(void **state)
{
	struct context_book book;
	struct problem problem;
	struct stat status;
	const struct context *one;

	(void)state;
	assert_int_equal(context_book_read(&book, &problem), 0); /* no file is an empty book */
	assert_int_equal(book.count, 0);
	context_book_done(&book);
	keep("a", "https://haas.example");
	keep("b", "https://10.0.0.1:8443");
	keep("a", "https://other.example");
	assert_int_equal(stat(file_path(), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	(void)text_format(problem.detail, sizeof(problem.detail), "%s/haas", made);
	assert_int_equal(stat(problem.detail, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(context_book_read(&book, &problem), 0);
	assert_int_equal(book.count, 2);
	assert_string_equal(book.current, "a");
	one = context_find(&book, "a");
	assert_string_equal(one->url, "https://other.example");
	assert_string_equal(one->account, "globex/ann");
	assert_string_equal(one->secret, SECRET);
	assert_string_equal(one->pin, PIN);
	assert_string_equal(one->ca, "");
	assert_true(context_drop(&book, "a"));
	assert_false(context_drop(&book, "a"));
	assert_string_equal(book.current, "");
	assert_non_null(context_find(&book, "b"));
	context_book_done(&book);
}

static void refuses(const char *text, int rc)
{
	struct context_book book;
	struct problem problem;

	if (text)
		assert_int_equal(file_write_atomic(file_path(), text, strlen(text), 0600), 0);
	assert_int_equal(context_book_read(&book, &problem), rc);
	assert_true(problem_is_set(&problem) && problem.hint[0]);
	/* Nor is a file that nobody understands written over. */
	assert_int_equal(context_book_open(&book, &problem), rc);
}

static void test_refused(void **state)
{
	static const char *const broken[] = {
		"",
		"{",
		"[]",
		"{\"contexts\": {}}",
		"{\"contexts\": [{\"name\": \"a\"}]}",
		"{\"contexts\": [{\"name\": \"a\", \"url\": \"http://x\"}]}",
		"{\"contexts\": [{\"name\": \"none\", \"url\": \"https://x\"}]}",
		"{\"contexts\": [{\"name\": \"a\", \"url\": \"https://x\", \"secret\": \"haas_s_a\\r\\nX: y\"}]}",
		"{\"contexts\": [{\"name\": \"a\", \"url\": \"https://x\", \"pin\": \"sha256//A\"}]}",
		"{\"contexts\": [{\"name\": 7, \"url\": \"https://x\"}]}",
		"{\"contexts\": [[[[[[]]]]]]}",
	};
	struct context_book book;
	struct problem problem;

	(void)state;
	keep("a", "https://haas.example");
	assert_int_equal(chmod(file_path(), 0640), 0);
	refuses(NULL, E_DENIED);
	assert_int_equal(chmod(file_path(), 0600), 0);
	for (size_t i = 0; i < COUNT_OF(broken); i++) {
		assert_int_equal(file_write_atomic(file_path(), broken[i], strlen(broken[i]), 0600),
				 0);
		assert_int_not_equal(context_book_read(&book, &problem), 0);
		assert_true(problem_is_set(&problem) && problem.hint[0]);
	}
	refuses("{\"contexts\": [{\"name\": \"a\"}]}", E_MALFORMED);
	assert_int_equal(unlink(file_path()), 0);
}

static void test_limit(void **state)
{
	struct context context = {.url = "https://x"};
	struct context_book book;
	struct problem problem;

	(void)state;
	assert_int_equal(context_book_open(&book, &problem), 0);
	for (size_t i = 0; i < CONTEXT_COUNT_MAX; i++) {
		(void)text_format(context.name, sizeof(context.name), "c%zu", i);
		assert_int_equal(context_put(&book, &context), 0);
	}
	assert_int_equal(context_put(&book, &context), 0); /* the same again */
	strcpy(context.name, "more");
	assert_int_equal(context_put(&book, &context), E_LIMIT);
	assert_int_equal(context_book_save(&book, &problem), 0);
	context_book_done(&book);
	assert_int_equal(context_book_read(&book, &problem), 0);
	assert_int_equal(book.count, CONTEXT_COUNT_MAX);
	context_book_done(&book);
}

static void test_urls(void **state)
{
	static const struct {
		const char *url, *clean, *name; /* clean NULL: refused */
		unsigned port;
	} rows[] = {
		{"https://Haas.Example/", "https://haas.example", "haas.example", 443},
		{"HTTPS://haas.example:443", "https://haas.example", "haas.example", 443},
		{"https://10.0.0.1:8443/", "https://10.0.0.1:8443", "10.0.0.1-8443", 8443},
		{"unix:/run/x", "unix:/run/x", "local", 0},
		{"http://haas.example", NULL, NULL, 0},
		{"https://", NULL, NULL, 0},
		{"https://:443", NULL, NULL, 0},
		{"https://a:0", NULL, NULL, 0},
		{"https://a:65536", NULL, NULL, 0},
		{"https://a:-1", NULL, NULL, 0},
		{"https://a:8443x", NULL, NULL, 0},
		{"https://a/path", NULL, NULL, 0},
		{"https://ann@a", NULL, NULL, 0},
		{"https://ann:x@a", NULL, NULL, 0},
		{"https://a\r\nX: y", NULL, NULL, 0},
		{"https://-a", NULL, NULL, 0},
		{"unix:relative", NULL, NULL, 0},
		{"unix:/a\nb", NULL, NULL, 0},
		{"haas.example", NULL, NULL, 0},
		{"", NULL, NULL, 0},
	};
	char clean[CONTEXT_URL_SIZE];
	char host[CONTEXT_URL_SIZE];
	char name[CONTEXT_NAME_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool good = context_url_clean(rows[i].url, clean);

		assert_int_equal(good, rows[i].clean != NULL);
		if (!good)
			continue;
		assert_string_equal(clean, rows[i].clean);
		assert_int_equal(context_url_host(clean, host), rows[i].port);
		context_url_name(clean, name);
		assert_string_equal(name, rows[i].name);
		assert_true(context_name_is_good(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_comes_back, make_home, drop_home),
		cmocka_unit_test_setup_teardown(test_refused, make_home, drop_home),
		cmocka_unit_test_setup_teardown(test_limit, make_home, drop_home),
		cmocka_unit_test(test_urls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
