/* Units, configuration files, clock, memory and disks: what the system and its programs tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "common/base/text.h"
#include "common/io/run_program.h"

#include "portal/cli/site_check.h"

#define SITE_CHECK_PROGRAM_MS 10000
/* Less is free than one of these: wrong. PostgreSQL stops when its disk is full. */
#define SITE_CHECK_GIB          ((uint64_t)1 << 30)
#define SITE_CHECK_DISK_BYTES   SITE_CHECK_GIB
#define SITE_CHECK_DISK_PERCENT 5
/* All daemons of an idle site with PostgreSQL; a machine sold with 2 GiB shows a little less. */
#define SITE_CHECK_MEMORY_BYTES ((uint64_t)1792 << 20)
#define SITE_CHECK_CLOCK_S      86400

/* --- units --- */

/* The value of KEY=VALUE among the lines of one unit, which end with an empty line. */
static bool site_check_system_value(const char *lines, const char *key, char *ret, size_t room)
{
	size_t length = strlen(key);

	for (const char *line = lines; *line && *line != '\n'; line += strcspn(line, "\n") + 1) {
		if (strncmp(line, key, length) == 0 && line[length] == '=')
			return text_format(ret, room, "%.*s", (int)strcspn(line + length + 1, "\n"),
					   line + length + 1);
		if (line[strcspn(line, "\n")] == '\0')
			break;
	}
	ret[0] = '\0';
	return false;
}

const char *site_check_unit_fault(const char *lines, char ret[120], bool *ret_off)
{
	char load[32];
	char active[32];
	char enabled[32];
	char result[32];
	char restarts[32];

	*ret_off = false;
	(void)site_check_system_value(lines, "LoadState", load, sizeof(load));
	(void)site_check_system_value(lines, "ActiveState", active, sizeof(active));
	(void)site_check_system_value(lines, "UnitFileState", enabled, sizeof(enabled));
	(void)site_check_system_value(lines, "Result", result, sizeof(result));
	(void)site_check_system_value(lines, "NRestarts", restarts, sizeof(restarts));
	if (strcmp(load, "not-found") == 0)
		return "the unit is not installed";
	if (strcmp(active, "active") == 0)
		return NULL;
	/* Started by its timer. */
	if (strcmp(enabled, "static") == 0 && strcmp(active, "failed") != 0)
		return NULL;
	*ret_off = strcmp(load, "masked") == 0 ||
		   (strcmp(active, "inactive") == 0 && strcmp(enabled, "disabled") == 0);
	if (*ret_off)
		return NULL;
	if (strcmp(active, "failed") == 0)
		(void)text_format(ret, 120, "the unit failed: %s", result);
	else if (strcmp(active, "inactive") == 0)
		(void)text_format(ret, 120, "the unit does not run");
	else
		(void)text_format(ret, 120, "the unit is %s, after %s restarts", active, restarts);
	return ret;
}

/* The lines of `name` in what systemctl printed; NULL = none. */
static const char *site_check_system_unit(const char *output, const char *name)
{
	char line[SITE_WORD_SIZE];
	char id[SITE_WORD_SIZE];

	(void)text_format(line, sizeof(line), "%s.service", name);
	for (const char *at = output; at && *at;) {
		if (site_check_system_value(at, "Id", id, sizeof(id)) && strcmp(id, line) == 0)
			return at;
		at = strstr(at, "\n\n");
		at = at ? at + 2 : NULL;
	}
	return NULL;
}

static void site_check_system_units_tell(struct site_check *check, const char *output)
{
	size_t count = 0;
	size_t active = 0;
	size_t off = 0;

	for (size_t i = 0; i < site_program_count; i++) {
		const struct site_program *program = &site_programs[i];
		const char *lines = site_check_system_unit(output, program->name);
		const char *fault = "systemctl says nothing about the unit";
		char room[120];
		bool is_off = false;

		if (!site_check_has(check, program->package))
			continue;
		if (lines)
			fault = site_check_unit_fault(lines, room, &is_off);
		count++;
		active += !fault && !is_off;
		off += is_off;
		check->off |= (uint32_t)is_off << i;
		if (!fault)
			continue;
		site_check_wrong(check, program->name, "%s", fault);
		if (strcmp(fault, "the unit does not run") == 0)
			site_check_hint(check, "systemctl start haas.target");
		if (strcmp(fault, "the unit is not installed") == 0)
			site_check_hint(check, "apt install the package haas-controller anew");
	}
	site_check_say(check, "%zu of %zu active, %zu switched off", active, count, off);
}

void site_check_units(struct site_check *check)
{
	char names[16][SITE_WORD_SIZE];
	char path[PATH_MAX];
	const char *argv[20] = {path, "show", "-p",
				"Id,LoadState,ActiveState,UnitFileState,Result,NRestarts"};
	CLEANUP(text_done) struct text output = {0};
	struct problem problem = {0};
	size_t used = 4;

	if (!site_check_exists(check, "/run/systemd/system") ||
	    !site_check_path(check, path, "/usr/bin/systemctl")) {
		site_check_skip(check, "systemd does not run here");
		return;
	}
	for (size_t i = 0; i < site_program_count && i < COUNT_OF(names); i++) {
		(void)text_format(names[i], sizeof(names[i]), "%s.service", site_programs[i].name);
		argv[used++] = names[i];
	}
	if (run_program(&(struct run_program){.argv = argv,
					      .deadline_ms = SITE_CHECK_PROGRAM_MS,
					      .output = &output},
			&problem) < 0) {
		site_check_problem(check, "systemctl", &problem);
		return;
	}
	site_check_system_units_tell(check, text_get(&output));
}

/* --- configuration --- */

/* The daemon's own account reads the file, as when it starts. */
static void site_check_system_conf(struct site_check *check, const struct site_program *program)
{
	char path[PATH_MAX];
	char conf[PATH_MAX];
	const char *const argv[] = {path, "--check-config", "--config", conf, NULL};
	static const char said[] = "error configuration: ";
	struct problem problem = {0};
	struct stat st;

	if (!site_check_path(check, path, "/usr/bin/%s", program->name) ||
	    !site_check_path(check, conf, "/etc/haas/%s.conf", program->name))
		return;
	if (stat(path, &st) < 0) {
		site_check_wrong(check, program->name, "/usr/bin/%s is not there", program->name);
		site_check_hint(check, "apt install the package of %s anew", program->name);
		return;
	}
	if (stat(conf, &st) < 0) {
		site_check_wrong(check, program->name, "/etc/haas/%s.conf is not there",
				 program->name);
		site_check_hint(check, "%s --print-config >/etc/haas/%s.conf", program->name,
				program->name);
		return;
	}
	if (run_program(&(struct run_program){.argv = argv,
					      .user = check->root[0] ? NULL : program->user,
					      .deadline_ms = SITE_CHECK_PROGRAM_MS},
			&problem) < 0) {
		const char *words = problem.detail[0] ? problem.detail : problem.message;

		/* "error configuration: FILE:LINE: ...", as its log has it */
		if (strncmp(words, said, sizeof(said) - 1) == 0)
			words += sizeof(said) - 1;
		site_check_wrong(check, program->name, "%s", words);
	}
}

void site_check_configuration(struct site_check *check)
{
	size_t count = 0;

	for (size_t i = 0; i < site_program_count; i++) {
		if (!site_programs[i].conf || !site_check_has(check, site_programs[i].package))
			continue;
		site_check_system_conf(check, &site_programs[i]);
		count++;
	}
	site_check_say(check, "%zu files in /etc/haas", count);
}

/* --- clock --- */

/* dpkg keeps the time when a program was built: no clock is right that shows an earlier one. */
static bool site_check_system_clock_back(struct site_check *check)
{
	char now_text[32];
	char path[PATH_MAX];
	time_t now = time(NULL);
	struct stat st;
	struct tm when;

	if (!site_check_path(check, path, "/usr/bin/haasctl") || stat(path, &st) < 0 ||
	    st.st_mtime <= now + SITE_CHECK_CLOCK_S)
		return false;
	(void)strftime(now_text, sizeof(now_text), "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &when));
	site_check_say(check, "wrong: %s", now_text);
	site_check_wrong(check, "clock", "it shows %s, and this program is of a later time",
			 now_text);
	site_check_hint(check, "timedatectl set-time 'YYYY-MM-DD HH:MM:SS'; apt install chrony");
	return true;
}

void site_check_clock(struct site_check *check)
{
	char path[PATH_MAX];
	const char *const argv[] = {path, "show", "-p", "NTPSynchronized", "--value", NULL};
	CLEANUP(text_done) struct text output = {0};
	struct problem problem = {0};

	if (site_check_system_clock_back(check))
		return;
	if (!site_check_exists(check, "/usr/bin/timedatectl") ||
	    !site_check_path(check, path, "/usr/bin/timedatectl")) {
		site_check_skip(check, "timedatectl is not installed");
		return;
	}
	if (run_program(&(struct run_program){.argv = argv,
					      .deadline_ms = SITE_CHECK_PROGRAM_MS,
					      .output = &output},
			&problem) < 0) {
		site_check_skip(check, "%s", problem.message);
		return;
	}
	site_check_say(check, "synchronised");
	if (strncmp(text_get(&output), "yes", 3) != 0) {
		site_check_say(check, "not synchronised");
		site_check_wrong(check, "clock",
				 "leases, alerts and certificates carry times of this clock");
	}
}

/* --- memory --- */

/* MemTotal of /proc/meminfo; 0: it cannot be read. */
static uint64_t site_check_system_memory(const struct site_check *check)
{
	char path[PATH_MAX];
	char line[128];
	unsigned long long kib = 0;
	FILE *file;

	if (!site_check_path(check, path, "/proc/meminfo"))
		return 0;
	file = fopen(path, "re");
	while (file && kib == 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "MemTotal:", 9) == 0)
			kib = strtoull(line + 9, NULL, 10);
	}
	if (file)
		(void)fclose(file);
	return (uint64_t)kib << 10;
}

void site_check_memory(struct site_check *check)
{
	uint64_t bytes = site_check_system_memory(check);

	if (bytes == 0) {
		site_check_skip(check, "/proc/meminfo cannot be read");
		return;
	}
	site_check_say(check, "%.1f GiB", (double)bytes / (double)SITE_CHECK_GIB);
	if (bytes < SITE_CHECK_MEMORY_BYTES)
		site_check_wrong(check, "memory",
				 "there are %.1f GiB; PostgreSQL and the daemons need %.1f GiB",
				 (double)bytes / (double)SITE_CHECK_GIB,
				 (double)SITE_CHECK_MEMORY_BYTES / (double)SITE_CHECK_GIB);
}

/* --- disks --- */

static const char *const site_check_system_folders[] = {"/var/lib/haas",
							"/var/lib/haas/images",
							"/var/lib/haas/pg",
							"/var/lib/haas/peregrine-captured",
							"/var/lib/haas/bampi-stored",
							"/var/log"};

static bool site_check_system_seen(dev_t seen[], size_t *count, dev_t device)
{
	for (size_t i = 0; i < *count; i++) {
		if (seen[i] == device)
			return true;
	}
	seen[(*count)++] = device;
	return false;
}

void site_check_disks(struct site_check *check)
{
	dev_t seen[COUNT_OF(site_check_system_folders)];
	CLEANUP(text_done) struct text summary = {0};
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(site_check_system_folders); i++) {
		const char *folder = site_check_system_folders[i];
		char path[PATH_MAX];
		struct statvfs disk;
		struct stat st;

		if (!site_check_path(check, path, "%s", folder) || stat(path, &st) < 0 ||
		    site_check_system_seen(seen, &count, st.st_dev) || statvfs(path, &disk) < 0 ||
		    disk.f_blocks == 0)
			continue;
		uint64_t bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
		unsigned percent = (unsigned)(disk.f_bavail * 100 / disk.f_blocks);
		text_addf(&summary, "%s%s %.1f GiB free", summary.size > 0 ? ", " : "", folder,
			  (double)bytes / (double)SITE_CHECK_DISK_BYTES);
		if (bytes < SITE_CHECK_DISK_BYTES || percent < SITE_CHECK_DISK_PERCENT)
			site_check_wrong(check, folder, "%.2f GiB are free, %u %% of the disk",
					 (double)bytes / (double)SITE_CHECK_DISK_BYTES, percent);
	}
	site_check_say(check, "%s", text_get(&summary));
}
