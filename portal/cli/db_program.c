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

/* The longest command line, with its NULL. */
enum { DB_PROGRAM_ARGUMENTS = 16 };

struct db_program_line {
	char path[PATH_MAX];
	const char *argv[DB_PROGRAM_ARGUMENTS];
};

static int db_program_line(const char *program, const char *const arguments[],
			   struct db_program_line *ret, struct problem *problem)
{
	*ret = (struct db_program_line){.argv = {ret->path}};
	for (size_t i = 0; arguments[i] && i + 2 < COUNT_OF(ret->argv); i++)
		ret->argv[i + 1] = arguments[i];
	return db_program_path(program, ret->path, sizeof(ret->path), problem);
}

int db_program_run(const char *program, const char *const arguments[],
		   const struct run_program *how, struct problem *problem)
{
	struct run_program whole = *how;
	struct db_program_line line;
	int rc = db_program_line(program, arguments, &line, problem);

	whole.argv = line.argv;
	return rc == 0 ? run_program(&whole, problem) : rc;
}

int db_program_start(const char *program, const char *const arguments[],
		     const struct db_program_pipe *pipe, struct run_program_child *ret,
		     struct problem *problem)
{
	struct db_program_line line;
	int rc = db_program_line(program, arguments, &line, problem);

	return rc == 0 ? run_program_start(&(struct run_program){.argv = line.argv,
								 .environment = pipe->environment},
					   pipe->in, pipe->out, ret, problem)
		       : rc;
}
