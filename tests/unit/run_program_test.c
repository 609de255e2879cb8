// links: common_io
/* Programs of a pipeline: each has the ends that it was given, and says itself why it failed. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/run_program.h"

#include "tests/support/cmocka.h"

static void start(const char *script, int in, int out, struct run_program_child *ret)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL};
	const char *const environment[] = {"WORD=brought", NULL};
	struct problem problem = {0};

	assert_int_equal(
		run_program_start(&(struct run_program){.argv = argv, .environment = environment},
				  in, out, ret, &problem),
		0);
	assert_true(ret->pid > 0);
}

static void two_programs_are_one_pipe(void **state)
{
	struct run_program_child first;
	struct run_program_child second;
	struct problem problem = {0};
	char got[64] = "";
	int between[2];
	int out[2];

	(void)state;
	assert_int_equal(pipe2(between, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	start("echo \"$WORD by the first\"", STDIN_FILENO, between[1], &first);
	assert_int_equal(close(between[1]), 0);
	start("tr a-z A-Z", between[0], out[1], &second);
	assert_int_equal(close(between[0]), 0);
	assert_int_equal(close(out[1]), 0);
	assert_int_equal(run_program_end(&first, &problem), 0);
	assert_int_equal(run_program_end(&second, &problem), 0);
	assert_int_equal(first.pid, 0);
	assert_int_equal(read(out[0], got, sizeof(got) - 1), 21);
	assert_string_equal(got, "BROUGHT BY THE FIRST\n");
	assert_int_equal(close(out[0]), 0);
}

/* Its words are kept in a file: it may say more than a pipe holds while nobody listens. */
static void what_it_said_is_the_detail(void **state)
{
	struct run_program_child child;
	struct problem problem = {0};
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)state;
	start("yes talk | head -c 200000 >&2; echo the disk is full >&2; exit 3", nothing, nothing,
	      &child);
	assert_int_equal(run_program_end(&child, &problem), E_UNAVAILABLE);
	assert_string_equal(problem.message, "sh failed with status 3");
	assert_non_null(strstr(problem.detail, "the disk is full"));
	start("kill -9 $$", nothing, nothing, &child);
	assert_int_equal(run_program_end(&child, &problem), E_UNAVAILABLE);
	assert_string_equal(problem.message, "sh was ended by signal 9");
	assert_int_equal(close(nothing), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_programs_are_one_pipe),
		cmocka_unit_test(what_it_said_is_the_detail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
