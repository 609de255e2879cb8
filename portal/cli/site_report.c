#include "portal/cli/site_report.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"
#include "common/io/file.h"
#include "common/io/run_program.h"

#include "portal/cli/site_check.h"
#include "portal/cli/site_mask.h"

#define SITE_REPORT_PROGRAM_MS 30000
#define SITE_REPORT_PART       ((size_t)1 << 20) /* a larger part is cut */
#define SITE_REPORT_SECRET     ((size_t)64 << 10)
#define SITE_REPORT_LINES      "4000" /* of each journal */

struct site_report_work {
	const struct site_report *report;
	struct site_mask mask;
	struct text settings[32]; /* of site_programs, masked */
	struct text plan;
	struct problem problem;
	bool failed;
};

/* --- secrets that are known --- */

static void site_report_learn_file(struct site_report_work *work, const char *path)
{
	CLEANUP(freep) char *bytes = NULL;
	size_t size = 0;

	if (file_read(path, SITE_REPORT_SECRET, &bytes, &size) < 0)
		return;
	site_mask_learn(&work->mask, bytes, size);
	explicit_bzero(bytes, size);
}

/* All files of a folder, and of the folders in it; certificates are public. */
// NOLINTNEXTLINE(misc-no-recursion): `depth` bounds it
static void site_report_learn(struct site_report_work *work, const char *folder, int depth)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		CLEANUP(freep) struct dirent *entry = entries[i];
		char path[PATH_MAX];
		size_t length = strlen(entry->d_name);
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    !text_format(path, sizeof(path), "%s/%s", folder, entry->d_name) ||
		    lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			site_report_learn(work, path, depth - 1);
		else if (S_ISREG(st.st_mode) &&
			 !(length > 4 && (strcmp(entry->d_name + length - 4, ".crt") == 0 ||
					  strcmp(entry->d_name + length - 4, ".pub") == 0)))
			site_report_learn_file(work, path);
	}
	freep(&entries);
}

static void site_report_learn_all(struct site_report_work *work)
{
	static const char *const files[] = {"/etc/haas/backup.key", "/root/.pgpass",
					    "/var/lib/postgresql/.pgpass"};
	char path[PATH_MAX];

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		if (text_format(path, sizeof(path), "%s%s", work->report->root, files[i]))
			site_report_learn_file(work, path);
	}
	if (text_format(path, sizeof(path), "%s/etc/haas/secret", work->report->root))
		site_report_learn(work, path, 2);
	for (size_t i = 0; i < site_program_count; i++) {
		if (site_programs[i].keys &&
		    text_format(path, sizeof(path), "%s/var/lib/haas/%s/keys", work->report->root,
				site_programs[i].state))
			site_report_learn(work, path, 1);
	}
}

/* Against what the program says is usual. */
static void site_report_learn_conf(struct site_report_work *work,
				   const struct site_program *program, struct text *ret)
{
	CLEANUP(text_done) struct text sample = {0};
	CLEANUP(freep) char *conf = NULL;
	struct problem problem = {0};
	char binary[PATH_MAX];
	char path[PATH_MAX];
	size_t size = 0;
	const char *const argv[] = {binary, "--print-config", NULL};

	if (!text_format(binary, sizeof(binary), "%s/usr/bin/%s", work->report->root,
			 program->name) ||
	    !text_format(path, sizeof(path), "%s/etc/haas/%s.conf", work->report->root,
			 program->name))
		return;
	if (run_program(&(struct run_program){.argv = argv,
					      .deadline_ms = SITE_REPORT_PROGRAM_MS,
					      .output = &sample},
			&problem) < 0)
		text_addf(ret, "(%s does not say what is usual: %s)\n", program->name,
			  problem.message);
	if (file_read(path, SITE_REPORT_PART, &conf, &size) == 0)
		site_mask_conf(&work->mask, conf, text_get(&sample), ret);
	else
		text_add(ret, "(it is not there)\n");
}

static void site_report_learn_settings(struct site_report_work *work)
{
	CLEANUP(freep) char *conf = NULL;
	char path[PATH_MAX];
	size_t size = 0;

	for (size_t i = 0; i < site_program_count && i < COUNT_OF(work->settings); i++) {
		if (site_programs[i].conf)
			site_report_learn_conf(work, &site_programs[i], &work->settings[i]);
	}
	if (text_format(path, sizeof(path), "%s/etc/haas/site.conf", work->report->root) &&
	    file_read(path, SITE_REPORT_PART, &conf, &size) == 0)
		site_mask_conf(&work->mask, conf, "", &work->plan);
}

/* --- parts --- */

/* One file of the report. What a program says about secrets in it is not believed: it is masked. */
static void site_report_put(struct site_report_work *work, const char *name, const char *bytes,
			    size_t size)
{
	CLEANUP(text_done) struct text masked = {0};
	char path[PATH_MAX];
	int rc;

	if (work->failed)
		return;
	if (work->report->progress)
		work->report->progress(name);
	site_mask_add(&work->mask, bytes, size < SITE_REPORT_PART ? size : SITE_REPORT_PART,
		      &masked);
	if (size > SITE_REPORT_PART)
		text_add(&masked, "\n(cut here)\n");
	rc = masked.failed || work->mask.failed ? -ENOMEM
	     : text_format(path, sizeof(path), "%s/%s", work->report->folder, name)
		     ? file_write_atomic(path, text_get(&masked), masked.size, 0600)
		     : -ENAMETOOLONG;
	work->failed = rc != 0;
	if (rc)
		(void)problem_set(&work->problem, rc, "cannot write %s of the report: %s", name,
				  error_text(rc));
}

static void site_report_json(struct site_report_work *work, const char *name, const json_t *json)
{
	CLEANUP(freep) char *text = json_dumps(json, JSON_INDENT(1));

	site_report_put(work, name, text ? text : "", text ? strlen(text) : 0);
}

/* What a program prints, or why it does not. */
static void site_report_program(struct site_report_work *work, const char *name, const char *argv[])
{
	CLEANUP(text_done) struct text output = {0};
	struct problem problem = {0};
	char path[PATH_MAX];

	if (!text_format(path, sizeof(path), "%s%s", work->report->root, argv[0]))
		return;
	argv[0] = path;
	if (run_program(&(struct run_program){.argv = argv,
					      .deadline_ms = SITE_REPORT_PROGRAM_MS,
					      .output = &output},
			&problem) < 0)
		text_addf(&output, "(%s: %s)\n", problem.message, problem.detail);
	site_report_put(work, name, text_get(&output), output.size);
}

static void site_report_status(struct site_report_work *work)
{
	struct haasctl_reply reply = {0};
	struct problem problem = {0};
	int status = haasctl_call(work->report->haasctl, work->report->input,
				  &(struct haasctl_call){.method = "GET",
							 .target = "/status",
							 .problem = &problem,
							 .by_itself = true},
				  &reply);

	if (status != EXIT_OK)
		reply.json = json_pack("{s:s, s:s}", "message", problem.message, "detail",
				       problem.detail);
	site_report_json(work, "status.json", reply.json);
	haasctl_reply_done(&reply);
}

static void site_report_check(struct site_report_work *work)
{
	struct site_check check = {.root = work->report->root, .conninfo = work->report->conninfo};
	json_t *whole = site_check_all(&check, NULL);

	site_report_json(work, "site-check.json", whole);
	json_decref(whole);
}

static void site_report_system(struct site_report_work *work)
{
	const struct {
		const char *name, *argv[12];
	} rows[] = {
		{"packages.txt",
		 {"/usr/bin/dpkg-query", "-W", "haas-*", "postgresql-*", "tgt", "systemd", "ipxe",
		  NULL}},
		{"os.txt", {"/bin/cat", "/etc/os-release", "/proc/version", "/proc/uptime", NULL}},
		{"memory.txt", {"/bin/cat", "/proc/meminfo", "/proc/loadavg", NULL}},
		{"disks.txt", {"/bin/df", "-kP", NULL}},
		{"addresses.txt", {"/sbin/ip", "-brief", "address", NULL}},
		{"routes.txt", {"/sbin/ip", "route", NULL}},
		{"sockets.txt", {"/bin/ss", "-lntuxp", NULL}},
		{"clock.txt", {"/usr/bin/timedatectl", "show", NULL}},
		{"timers.txt", {"/usr/bin/systemctl", "list-timers", "--all", "--no-pager", NULL}},
		{"failed.txt",
		 {"/usr/bin/systemctl", "list-units", "--failed", "--no-pager", NULL}},
		{"kernel.log",
		 {"/usr/bin/journalctl", "-k", "-b", "-p", "warning", "-n", SITE_REPORT_LINES,
		  "--no-pager", "-o", "short-iso", NULL}},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *argv[12];

		memcpy(argv, rows[i].argv, sizeof(argv));
		site_report_program(work, rows[i].name, argv);
	}
}

static void site_report_unit(struct site_report_work *work, const struct site_program *program)
{
	char unit[64];
	char name[80];
	const char *show[] = {
		"/usr/bin/systemctl",
		"show",
		unit,
		"--no-pager",
		"-p", // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one list
		"Id,LoadState,ActiveState,SubState,UnitFileState,Result,NRestarts,ExecMainStatus,"
		"ActiveEnterTimestamp,MemoryCurrent,MemoryPeak,CPUUsageNSec,TasksCurrent,"
		"FragmentPath,DropInPaths",
		NULL};
	const char *journal[] = {
		"/usr/bin/journalctl", "-u", unit, "-n", SITE_REPORT_LINES, "--no-pager", "-o",
		"short-iso-precise",   NULL};

	(void)text_format(unit, sizeof(unit), "%s.service", program->name);
	(void)text_format(name, sizeof(name), "unit-%s.txt", program->name);
	site_report_program(work, name, show);
	(void)text_format(name, sizeof(name), "journal-%s.log", program->name);
	site_report_program(work, name, journal);
}

static void site_report_program_parts(struct site_report_work *work)
{
	for (size_t i = 0; i < site_program_count && !work->failed; i++) {
		struct site_check machine = {.root = work->report->root};
		char name[80];

		if (!site_check_has(&machine, site_programs[i].package))
			continue;
		site_report_unit(work, &site_programs[i]);
		(void)text_format(name, sizeof(name), "conf-%s.txt", site_programs[i].name);
		if (site_programs[i].conf)
			site_report_put(work, name, text_get(&work->settings[i]),
					work->settings[i].size);
	}
	site_report_put(work, "conf-site.txt", text_get(&work->plan), work->plan.size);
}

static void site_report_done(struct site_report_work *work)
{
	site_mask_done(&work->mask);
	for (size_t i = 0; i < COUNT_OF(work->settings); i++)
		text_done(&work->settings[i]);
	text_done(&work->plan);
}

int site_report_write(const struct site_report *report, struct problem *problem)
{
	CLEANUP(site_report_done) struct site_report_work work = {.report = report};
	CLEANUP(text_done) struct text database = {0};

	/* All secrets are known before the first part is written. */
	site_report_learn_all(&work);
	site_report_learn_settings(&work);
	site_report_status(&work);
	site_report_check(&work);
	site_report_system(&work);
	site_report_program_parts(&work);
	site_report_database(report->conninfo, &database);
	site_report_put(&work, "database.txt", text_get(&database), database.size);
	if (!work.failed)
		return 0;
	*problem = work.problem;
	return problem->code;
}
