// links: common_io
/* Configuration files: values, defaults, every kind of mistake, the printed sample; and the
 * daemon's arguments. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/conf.h"
#include "common/io/daemon.h"
#include "common/net/ipv4.h"

#include "tests/support/cmocka.h"

struct values {
	char *name;
	int64_t port;
	bool ipxe;
	int mode;
	uint32_t address;
	uint32_t gateway;
	struct ipv4_prefix prefix;
	char **servers;
	char **empty;
	int64_t large;
	double rate, share;
	char *user;
};

static const char *const modes[] = {"bios", "uefi", NULL};

#define AT(member) offsetof(struct values, member)

static const struct conf_row rows[] = {
	{.key = "name",
	 .type = CONF_STRING,
	 .offset = AT(name),
	 .default_text = "a \"b\" \\c",
	 .help = "what it is called"},
	{.key = "user", .type = CONF_STRING, .offset = AT(user), .default_text = ""},
	{.key = "http.port",
	 .type = CONF_INT,
	 .offset = AT(port),
	 .default_text = "8080",
	 .min = 1,
	 .max = 65535,
	 .help = "where it listens"},
	{.key = "http.address",
	 .type = CONF_ADDRESS,
	 .offset = AT(address),
	 .default_text = "10.2.0.1"},
	{.key = "http.large",
	 .type = CONF_INT,
	 .offset = AT(large),
	 .default_text = "1099511627776",
	 .unit = "bytes"},
	{.key = "http.rate", .type = CONF_REAL, .offset = AT(rate), .default_text = "1e-8"},
	{.key = "http.share",
	 .type = CONF_REAL,
	 .offset = AT(share),
	 .default_text = "0.5",
	 .max = 1},
	{.key = "boot.ipxe.on", .type = CONF_BOOL, .offset = AT(ipxe), .default_text = "true"},
	{.key = "boot.mode",
	 .type = CONF_ENUM,
	 .offset = AT(mode),
	 .default_text = "uefi",
	 .words = modes},
	{.key = "net.prefix",
	 .type = CONF_PREFIX,
	 .offset = AT(prefix),
	 .default_text = "10.2.0.0/24"},
	{.key = "net.gateway", .type = CONF_ADDRESS, .offset = AT(gateway), .default_text = ""},
	{.key = "net.servers",
	 .type = CONF_STRINGS,
	 .offset = AT(servers),
	 .default_text = "10.2.0.2, 10.2.0.3"},
	{.key = "net.empty", .type = CONF_STRINGS, .offset = AT(empty), .default_text = ""},
};

static char path[64];

static void write_conf(const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static int start(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/haas-conf-test-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int stop(void **state)
{
	(void)state;
	return unlink(path);
}

static void assert_defaults(const struct values *values)
{
	assert_string_equal(values->name, "a \"b\" \\c");
	assert_string_equal(values->user, "");
	assert_int_equal(values->port, 8080);
	assert_true(values->large == 1099511627776);
	assert_true(values->rate == 1e-8 && values->share == 0.5);
	assert_true(values->ipxe);
	assert_int_equal(values->mode, 1);
	assert_int_equal(values->address, 0x0a020001);
	assert_int_equal(values->gateway, 0);
	assert_int_equal(values->prefix.length, 24);
	assert_string_equal(values->servers[0], "10.2.0.2");
	assert_string_equal(values->servers[1], "10.2.0.3");
	assert_null(values->servers[2]);
	assert_non_null(values->empty);
	assert_null(values->empty[0]);
}

static void test_defaults(void **state)
{
	struct values values = {0};
	struct problem problem = {0};

	(void)state;
	assert_int_equal(conf_load(NULL, rows, COUNT_OF(rows), &values, &problem), 0);
	assert_defaults(&values);
	conf_done(rows, COUNT_OF(rows), &values);
	assert_null(values.name);
	assert_null(values.servers);
	write_conf("");
	values = (struct values){0};
	assert_int_equal(conf_load(path, rows, COUNT_OF(rows), &values, &problem), 0);
	assert_defaults(&values);
	conf_done(rows, COUNT_OF(rows), &values);
}

static void test_values(void **state)
{
	struct values values = {0};
	struct problem problem = {0};

	(void)state;
	write_conf("# comment\n"
		   "name = \"n\";\n"
		   "http: { port = 80; large = 5; };\n"
		   "boot: { mode = \"bios\"; ipxe: { on = false; }; };\n"
		   "net = { prefix = \"0.0.0.0/0\"; gateway = \"10.2.0.254\"; servers = [];\n"
		   "  empty = (\"x, y\", \"z\"); };\n");
	assert_int_equal(conf_load(path, rows, COUNT_OF(rows), &values, &problem), 0);
	assert_string_equal(values.name, "n");
	assert_int_equal(values.port, 80);
	assert_int_equal(values.large, 5);
	assert_int_equal(values.mode, 0);
	assert_false(values.ipxe);
	assert_int_equal(values.prefix.length, 0);
	assert_int_equal(values.gateway, 0x0a0200fe);
	assert_null(values.servers[0]);
	assert_string_equal(values.empty[0], "x, y");
	assert_string_equal(values.empty[1], "z");
	assert_null(values.empty[2]);
	conf_done(rows, COUNT_OF(rows), &values);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *message, *detail, *hint;
	} cases[] = {
		{"\nhttp: {\n port = 70000; };", 3, "http.port is wrong", "found \"70000\"",
		 "use 1..65535"},
		{"http: { port = \"80\"; };", 1, "http.port is wrong", "another type",
		 "use 1..65535"},
		{"http: { share = 1.5; };", 1, "http.share is wrong", "found \"1.5\"", "0..1"},
		{"http: { rate = \"fast\"; };", 1, "http.rate is wrong", "another type",
		 "a real number"},
		{"http: { port = 80.5; };", 1, "http.port is wrong", "another type",
		 "use 1..65535"},
		{"\nboot: { mode = \"cold\"; };", 2, "boot.mode is wrong", "found \"cold\"",
		 "use one of \"bios\", \"uefi\""},
		{"boot: { ipxe: { on = 1; }; };", 1, "boot.ipxe.on is wrong", "another type",
		 "use true or false"},
		{"http: { address = \"localhost\"; };", 1, "http.address is wrong",
		 "found \"localhost\"", "an IPv4 address"},
		{"net: { prefix = \"10.2.0.1/24\"; };", 1, "net.prefix is wrong",
		 "found \"10.2.0.1/24\"", "without host bits"},
		{"net: { servers = \"x\"; };", 1, "net.servers is wrong", "something else",
		 "a list"},
		{"net: { servers = [1, 2]; };", 1, "net.servers is wrong", "something else",
		 "a list"},
		{"http: { prot = 80; };", 1, "unknown key http.prot", "",
		 "did you mean http.port?"},
		{"port = 80;", 1, "unknown key port", "", "did you mean http.port?"},
		{"htpp: { port = 80; };", 1, "unknown key htpp", "", NULL},
		{"zzzzzzzzzzz = 80;", 1, "unknown key zzzzzzzzzzz", "", "--print-config"},
		{"http = 80;", 1, "unknown key http", "", NULL},
		{"name: { x = 1; };", 1, NULL, "", NULL},
		{"name = \"x\n", 0, NULL, "", NULL},
		{"name = ;", 1, "syntax error", "", "libconfig syntax"},
		{"name = \"a\"; name = \"b\";", 1, "duplicate setting name", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct values values = {0};
		struct problem problem = {0};
		char place[128];

		write_conf(cases[i].text);
		if (conf_load(path, rows, COUNT_OF(rows), &values, &problem) == 0)
			fail_msg("%s: accepted", cases[i].text);
		(void)text_format(place, sizeof(place), "%s:%u: ", path, cases[i].line);
		if ((cases[i].line && !strstr(problem.message, place)) ||
		    (cases[i].message && !strstr(problem.message, cases[i].message)) ||
		    !strstr(problem.detail, cases[i].detail) ||
		    (cases[i].hint && !strstr(problem.hint, cases[i].hint)))
			fail_msg("%s: %s (%s; %s)", cases[i].text, problem.message, problem.detail,
				 problem.hint);
		assert_null(values.name); /* nothing is left to free */
	}
}

static void test_files(void **state)
{
	static const struct conf_row required[] = {
		{.key = "database", .type = CONF_STRING, .offset = AT(name)}};
	struct values values = {0};
	struct problem problem = {0};

	(void)state;
	assert_int_equal(conf_load("/nonexistent/x.conf", rows, COUNT_OF(rows), &values, &problem),
			 -ENOENT);
	assert_string_equal(problem.message,
			    "cannot read /nonexistent/x.conf: No such file or directory");
	write_conf("");
	assert_int_equal(conf_load(path, required, 1, &values, &problem), E_NOT_FOUND);
	assert_non_null(strstr(problem.message, ": database is missing"));
}

/* What is printed loads, and is the defaults. */
static void test_sample(void **state)
{
	FILE *file = fopen(path, "we");
	struct values values = {0};
	struct problem problem = {0};

	(void)state;
	assert_non_null(file);
	conf_print(rows, COUNT_OF(rows), file);
	assert_int_equal(fclose(file), 0);
	if (conf_load(path, rows, COUNT_OF(rows), &values, &problem) != 0)
		fail_msg("%s (%s)", problem.message, problem.detail);
	assert_defaults(&values);
	conf_done(rows, COUNT_OF(rows), &values);
}

/* The daemon. */

static unsigned started;
static unsigned stopped;

static int start_daemon(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	const struct values *v = values;
	unsigned *mark = state;

	(void)loop;
	assert_int_equal(*mark, 0);
	started++;
	*mark = started;
	if (v->port == 81)
		return problem_set(problem, E_UNAVAILABLE, "no");
	return raise(SIGTERM);
}

static void stop_daemon(void *state)
{
	assert_int_equal(*(const unsigned *)state, started);
	stopped++;
}

static int check_values(const void *values, struct problem *problem)
{
	const struct values *v = values;

	return v->port == 82 ? problem_set(problem, E_INVALID, "82 is taken") : 0;
}

static int run(const char *first, const char *second)
{
	static const struct conf_table table = {.rows = rows,
						.count = COUNT_OF(rows),
						.values_size = sizeof(struct values),
						.check = check_values};
	static const struct daemon_spec spec = {.name = "tested",
						.summary = "is tested",
						.default_conf = "/nonexistent/tested.conf",
						.conf = &table,
						.start = start_daemon,
						.stop = stop_daemon,
						.state_size = sizeof(started)};
	char program[] = "tested";
	char one[128];
	char two[128];
	char *argv[] = {program, one, two, NULL};

	(void)text_copy(one, sizeof(one), first);
	(void)text_copy(two, sizeof(two), second ? second : "");
	if (!second)
		argv[2] = NULL;
	started = 0;
	stopped = 0;
	return daemon_main(&spec, second ? 3 : 2, argv);
}

static void test_daemon(void **state)
{
	char option[128];

	(void)state;
	(void)text_format(option, sizeof(option), "--config=%s", path);
	write_conf("http: { port = 80; };");
	assert_int_equal(run(option, NULL), 0);
	assert_int_equal(started, 1);
	assert_int_equal(stopped, 1);
	assert_int_equal(run(option, "--check-config"), 0);
	assert_int_equal(started, 0);
	assert_int_equal(run("--foreground", NULL), 0); /* no file: defaults */
	assert_int_equal(started, 1);
	write_conf("http: { port = 81; };");
	assert_int_equal(run(option, NULL), 1);
	assert_int_equal(started, 1);
	assert_int_equal(stopped, 1); /* what stood when it failed is taken down */
	write_conf("http: { port = 82; };");
	assert_int_equal(run(option, "--check-config"), 2);
	write_conf("http: { prot = 82; };");
	assert_int_equal(run(option, NULL), 2);
	assert_int_equal(run("--config=/nonexistent", NULL), 2);
	assert_int_equal(run("--loud", NULL), 2);
	assert_int_equal(run("word", NULL), 2);
	assert_int_equal(run("--log-level=loud", NULL), 2);
	assert_int_equal(run("--version", NULL), 0);
	assert_int_equal(run("--help", NULL), 0);
	assert_int_equal(started, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_defaults, start, stop),
		cmocka_unit_test_setup_teardown(test_values, start, stop),
		cmocka_unit_test_setup_teardown(test_mistakes, start, stop),
		cmocka_unit_test_setup_teardown(test_files, start, stop),
		cmocka_unit_test_setup_teardown(test_sample, start, stop),
		cmocka_unit_test_setup_teardown(test_daemon, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
