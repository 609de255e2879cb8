/* main() of a program of units: called by the name of a unit (a link to it, or its argument) it is that unit; called by its own
 * name it runs all, each in a process of its own, so that a crash names its unit and nothing leaks from one into the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit_table.h"

static const struct unit_row *unit_find(const char *name)
{
	for (const struct unit_row *row = unit_table; row->name; row++)
		if (strcmp(row->name, name) == 0)
			return row;
	return NULL;
}

static int unit_run(const struct unit_row *row, int argc, char **argv)
{
	return row->run ? row->run() : fuzz_replay(row->fuzz, row->corpus, argc, argv);
}

/* Returns 0 if the unit passed or was skipped. */
static int unit_run_apart(const struct unit_row *row)
{
	int status = 0;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid == 0)
		exit(unit_run(row, 0, NULL)); /* NOLINT(concurrency-mt-unsafe): one thread */
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77))
		return 0;
	(void)fprintf(stderr, "FAIL %s\n", row->name);
	return -1;
}

int main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const struct unit_row *row = argc > 0 ? unit_find(slash ? slash + 1 : argv[0]) : NULL;
	int failed = 0;

	if (row)
		return unit_run(row, argc - 1, argv + 1);
	if (argc > 1) {
		row = unit_find(argv[1]);
		if (row)
			return unit_run(row, argc - 2, argv + 2);
		for (row = unit_table; row->name; row++)
			puts(row->name);
		return strcmp(argv[1], "--list") == 0 ? 0 : 2;
	}
	for (row = unit_table; row->name; row++)
		failed += unit_run_apart(row) != 0;
	return failed > 0;
}
