// links: common_io
/* Lines as a terminal, a pipe and journald get them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/io/journal.h"
#include "common/io/log.h"

#include "tests/support/cmocka.h"

/* stderr goes to `fd` until the end of say(). */
static void say(int fd, enum log_level level)
{
	const struct problem problem = {.code = -1, .message = "m", .detail = "d", .hint = "h"};
	const struct problem bare = {.code = -1, .message = "m"};
	int saved = dup(STDERR_FILENO);
	char large[5000];

	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	log_setup(level);
	log_info("node n17", "offer %s (deployment=%d)", "10.4.2.17", 12);
	log_debug("dhcp", "hidden?");
	log_error("tftp", "two\nlines\x1b[2J");
	log_problem(LOG_LEVEL_WARN, "bmc", &problem);
	log_problem(LOG_LEVEL_WARN, "bmc", &bare);
	memset(large, 'x', sizeof(large));
	large[sizeof(large) - 1] = '\0';
	log_warn("big", "%s", large);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	log_setup(LOG_LEVEL_INFO);
}

static void read_all(int fd, char *ret, size_t room)
{
	ssize_t got = read(fd, ret, room - 1);

	assert_true(got >= 0);
	ret[got] = '\0';
}

static void test_pipe(void **state)
{
	char out[16384];
	char *big;
	int pair[2];

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	say(pair[1], LOG_LEVEL_INFO);
	read_all(pair[0], out, sizeof(out));
	big = strstr(out, "warn big: ");
	assert_non_null(big);
	assert_in_range(strlen(big), 1000, 2048); /* cut, still one line */
	assert_int_equal(big[strlen(big) - 1], '\n');
	*big = '\0';
	assert_string_equal(out, "info node n17: offer 10.4.2.17 (deployment=12)\n"
				 "error tftp: two lines [2J\n"
				 "warn bmc: m (d; h)\n"
				 "warn bmc: m\n");
	close(pair[0]);
	close(pair[1]);
}

static void test_file(void **state)
{
	char path[] = "/tmp/haas-log-test-XXXXXX";
	char out[16384];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	say(fd, LOG_LEVEL_DEBUG);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	read_all(fd, out, sizeof(out));
	/* 2026-11-21T03:10:00.123Z info ... */
	assert_int_equal(out[4], '-');
	assert_int_equal(out[10], 'T');
	assert_memory_equal(out + 23, "Z info node n17: ", 17);
	assert_non_null(strstr(out, "Z debug dhcp: hidden?\n"));
	close(fd);
	assert_int_equal(unlink(path), 0);
}

static void test_journal(void **state)
{
	char stream[64];
	char out[16384];
	struct stat status;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fstat(pair[1], &status), 0);
	(void)text_format(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
			  (uintmax_t)status.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	say(pair[1], LOG_LEVEL_INFO);
	read_all(pair[0], out, sizeof(out));
	assert_memory_equal(out, "<6>info node n17: ", 18);
	assert_non_null(strstr(out, "\n<3>error tftp: "));
	assert_non_null(strstr(out, "\n<4>warn bmc: "));
	/* Inherited, but stderr is something else by now. */
	assert_int_equal(setenv("JOURNAL_STREAM", "1:1", 1), 0);
	say(pair[1], LOG_LEVEL_INFO);
	read_all(pair[0], out, sizeof(out));
	assert_memory_equal(out, "info node n17: ", 15);
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	close(pair[0]);
	close(pair[1]);
}

static void test_limit(void **state)
{
	struct log_limit limit = {.burst = 3, .per_minute = 60};
	char out[512];
	int saved = dup(STDERR_FILENO);
	int pair[2];
	unsigned passed = 0;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_true(dup2(pair[1], STDERR_FILENO) >= 0);
	log_setup(LOG_LEVEL_INFO);
	for (unsigned i = 0; i < 10; i++)
		passed += log_allowed(&limit, 1000);
	assert_int_equal(passed, 3);
	assert_false(log_allowed(&limit, 1999));
	assert_true(log_allowed(&limit, 2000)); /* one a second */
	assert_false(log_allowed(&limit, 2500));
	assert_false(log_allowed(&limit, 2900));
	assert_true(log_allowed(&limit, 3000)); /* parts of a second add up */
	passed = 0;
	for (unsigned i = 0; i < 10; i++)
		passed += log_allowed(&limit, 1000000);
	assert_int_equal(passed, 3); /* never more than the burst */
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	read_all(pair[0], out, sizeof(out));
	assert_string_equal(out, "warn log: 8 lines like the next were left out\n"
				 "warn log: 2 lines like the next were left out\n");
	close(pair[0]);
	close(pair[1]);
}

static void test_level(void **state)
{
	(void)state;
	assert_int_equal(log_level_parse("debug"), LOG_LEVEL_DEBUG);
	assert_int_equal(log_level_parse("loud"), -1);
	log_setup(LOG_LEVEL_WARN);
	assert_true(log_enabled(LOG_LEVEL_ERROR));
	assert_false(log_enabled(LOG_LEVEL_INFO));
	log_setup(LOG_LEVEL_INFO);
}

/* What `journalctl HAAS_DEPLOYMENT=12` finds. */
static void test_fields(void **state)
{
	static const struct {
		const char *text, *fields; /* those behind HAAS_SUBJECT */
	} rows[] = {
		{"node n17: offer 10.4.2.17 (deployment=12 mac=52:54:00:00:00:01)",
		 "HAAS_DEPLOYMENT=12\nHAAS_MAC=52:54:00:00:00:01\n"},
		{"x: no fields", ""},
		{"x: not (a field)", ""},
		{"x: ends otherwise (a=1) then", ""},
		{"x: blanks in it (reason=PSU smokes again a=2)",
		 "HAAS_REASON=PSU smokes again\nHAAS_A=2\n"},
		{"x: no name (a-b=1)", ""},
		{"x: the first alone (a=1 b)", "HAAS_A=1 b\n"},
		{"x: empty (a= b=)", "HAAS_A=\nHAAS_B=\n"},
		{"x: a name of a length that nobody has (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1)",
		 ""},
		{"(", ""},
		{")", ""},
		{"()", ""},
		{"(=)", ""},
		{"", ""},
	};
	char datagram[JOURNAL_SIZE];
	char expected[JOURNAL_SIZE];
	char large[JOURNAL_SIZE + 100];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		size_t size = journal_format(datagram, 6, "bampid", "node n17", rows[i].text);

		(void)text_format(expected, sizeof(expected),
				  "MESSAGE=%s\nPRIORITY=6\nSYSLOG_IDENTIFIER=bampid\n"
				  "HAAS_SUBJECT=node n17\n%s",
				  rows[i].text, rows[i].fields);
		assert_string_equal(datagram, expected);
		assert_int_equal(size, strlen(expected));
	}
	/* A field is whole, or not there. */
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(journal_format(datagram, 3, "p", "s", large),
			 strlen("PRIORITY=3\nSYSLOG_IDENTIFIER=p\nHAAS_SUBJECT=s\n"));
}

/* A journald that listens gets the entry, and stderr nothing; one that went away is no loss. */
static void test_datagram(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int pair[2];
	char folder[] = "/tmp/haas-log-XXXXXX";
	char out[4096] = "";
	char stream[64];
	struct stat status;
	int saved = dup(STDERR_FILENO);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)text_format(name.sun_path, sizeof(name.sun_path), "%s/journal", folder);
	assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(fstat(pair[1], &status), 0);
	(void)text_format(stream, sizeof(stream), "%ju:%ju", (uintmax_t)status.st_dev,
			  (uintmax_t)status.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	log_setup_journal(name.sun_path);
	assert_true(dup2(pair[1], STDERR_FILENO) >= 0);
	log_setup(LOG_LEVEL_INFO);
	log_info("node n17", "offer %s (deployment=%d)", "10.4.2.17", 12);
	assert_int_equal(unlink(name.sun_path), 0);
	log_warn("node n18", "nobody reads");
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_true(recv(fd, out, sizeof(out) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(out, "MESSAGE=node n17: offer 10.4.2.17 (deployment=12)\nPRIORITY=6\n"
				 "SYSLOG_IDENTIFIER=unit_log\nHAAS_SUBJECT=node n17\n"
				 "HAAS_DEPLOYMENT=12\n");
	memset(out, 0, sizeof(out));
	assert_true(read(pair[0], out, sizeof(out) - 1) > 0);
	assert_string_equal(out, "<4>warn node n18: nobody reads\n");
	assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	log_setup_journal("/none");
	log_setup(LOG_LEVEL_INFO);
	close(saved);
	close(fd);
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	/* Not the journald of the machine that tests. */
	log_setup_journal("/none");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),  cmocka_unit_test(test_datagram),
		cmocka_unit_test(test_pipe),    cmocka_unit_test(test_file),
		cmocka_unit_test(test_journal), cmocka_unit_test(test_limit),
		cmocka_unit_test(test_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
