/* haasctl site report: one tar for a bug report. It is packed in a folder of its own beside the file, which
 * appears whole or not at all. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/run_program.h"

#include "portal/cli/listing.h"
#include "portal/cli/site_check.h"
#include "portal/cli/site_report.h"

#define SITE_REPORT_CLI_PACK_MS 120000

static void site_report_cli_progress(const char *part)
{
	fprintf(stderr, "  %s\n", part);
}

static int site_report_cli_remove(const char *path, const struct stat *st, int kind,
				  struct FTW *place)
{
	(void)st;
	(void)kind;
	(void)place;
	return remove(path);
}

/* "haas-report-c1-20261126T1915": the folder in the tar, and the usual name of the file. */
static void site_report_cli_name(char ret[128])
{
	time_t now = time(NULL);
	char when[32] = "";
	char host[65] = "";
	struct tm utc;

	(void)gethostname(host, sizeof(host) - 1);
	host[strcspn(host, "./")] = '\0';
	(void)strftime(when, sizeof(when), "%Y%m%dT%H%M%S", gmtime_r(&now, &utc));
	(void)text_format(ret, 128, "haas-report-%s-%s", host, when);
}

static int site_report_cli_pack(const char *folder, const char *name, const char *path,
				struct problem *problem)
{
	char part[PATH_MAX];
	const char *const argv[] = {"/bin/tar",
				    "--create",
				    "--gzip",
				    "--owner=root:0",
				    "--group=root:0",
				    "--directory",
				    folder,
				    "--file",
				    part,
				    name,
				    NULL};
	int rc;

	if (!text_format(part, sizeof(part), "%s.part", path))
		return problem_set(problem, -ENAMETOOLONG, "the path %s is too long", path);
	(void)umask(0077);
	rc = run_program(
		&(struct run_program){.argv = argv, .deadline_ms = SITE_REPORT_CLI_PACK_MS},
		problem);
	if (rc == 0 && (chmod(part, 0600) < 0 || rename(part, path) < 0))
		rc = problem_set(problem, -errno, "cannot write %s: %s", path, strerror(errno));
	if (rc)
		(void)unlink(part);
	return rc;
}

static int site_report_cli_write(const struct site_report *how, const char *name, const char *path,
				 struct problem *problem)
{
	struct site_report report = *how;
	char work[PATH_MAX];
	char folder[PATH_MAX];
	int rc;

	if (!text_format(work, sizeof(work), "%s.XXXXXX", path) || !mkdtemp(work))
		return problem_set(problem, -errno, "cannot make a folder beside %s: %s", path,
				   strerror(errno));
	if (!text_format(folder, sizeof(folder), "%s/%s", work, name) || mkdir(folder, 0700) < 0)
		rc = problem_set(problem, -errno, "cannot make a folder in %s", work);
	else
		rc = 0;
	report.folder = folder;
	if (rc == 0)
		rc = site_report_write(&report, problem);
	if (rc == 0)
		rc = site_report_cli_pack(work, name, path, problem);
	(void)nftw(work, site_report_cli_remove, 8, FTW_DEPTH | FTW_PHYS);
	return rc;
}

static int site_report_cli_run(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text root = {0};
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};
	struct stat st;
	char name[128];
	char path[PATH_MAX];

	if (site_check_needs_root("site report", "only root can read the logs of the daemons") !=
	    EXIT_OK)
		return EXIT_DENIED;
	int status = haasctl_use_here(context, input);
	if (status != EXIT_OK)
		return status;
	site_check_root(input, &root);
	site_check_conninfo(input, text_get(&root), &conninfo);
	site_report_cli_name(name);
	if (!text_format(path, sizeof(path), "%s%s", input->word_count ? input->words[0] : name,
			 input->word_count ? "" : ".tar.gz"))
		return haasctl_usage("the name of the file is too long");
	if (stat(path, &st) == 0)
		return haasctl_usage("%s is there already; name another file", path);
	int rc = site_report_cli_write(
		&(struct site_report){
			.haasctl = context,
			.input = input,
			.root = text_get(&root),
			.conninfo = text_get(&conninfo),
			.progress = listing_for_people(input) ? site_report_cli_progress : NULL},
		name, path, &problem);
	if (rc) {
		haasctl_problem(&problem);
		return EXIT_FAILED;
	}
	fputs("Secrets are masked. Names and addresses of nodes and tenants are in it: read it before you send it.\n",
	      stderr);
	printf("%s\n", path);
	return EXIT_OK;
}

static const struct option_row site_report_cli_options[] = {
	{"--database", 0, OPTION_VALUE, "CONNINFO", "another PostgreSQL (default HAAS_DATABASE)"},
	{"--root", 0, OPTION_VALUE, "DIR", "the machine whose files lie below DIR"},
};
static const struct command site_report_cli_commands[] = {
	{"site", "report", "[FILE]", "logs, states and settings in one tar, without secrets",
	 OPTIONS(site_report_cli_options), 0, 1, site_report_cli_run,
	 .example = "site report report.tar.gz"},
};
const struct command_group site_report_group = {site_report_cli_commands,
						COUNT_OF(site_report_cli_commands)};
