#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "portal/cli/db_admin.h"

static int program_folder(char *ret, size_t room, struct problem *problem)
{
	glob_t found = {0};
	bool fits = false;

	/* glob sorts by name; versions of PostgreSQL have two digits until 100. */
	if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0)
		fits = text_copy(ret, room, found.gl_pathv[found.gl_pathc - 1]);
	globfree(&found);
	if (fits)
		return 0;
	problem_set(problem, E_NOT_FOUND, "PostgreSQL's server programs are not installed");
	problem_hint(problem,
		     "apt-get install postgresql-15, or use any server by --database CONNINFO");
	return E_NOT_FOUND;
}

int db_program_path(const char *program, char *ret, size_t room, struct problem *problem)
{
	int rc = program_folder(ret, room, problem);
	size_t used = rc == 0 ? strlen(ret) : 0;

	if (rc == 0 && !text_format(ret + used, room - used, "/%s", program))
		return problem_set(problem, -ENAMETOOLONG, "path of %s is too long", program);
	return rc;
}

int db_program_run(const char *program, const char *const arguments[],
		   const struct run_program *how, struct problem *problem)
{
	struct run_program whole = *how;
	char path[PATH_MAX];
	const char *argv[16] = {path};
	int rc = db_program_path(program, path, sizeof(path), problem);

	if (rc < 0)
		return rc;
	for (size_t i = 0; arguments[i] && i + 2 < COUNT_OF(argv); i++)
		argv[i + 1] = arguments[i];
	whole.argv = argv;
	return run_program(&whole, problem);
}
