#include "portal/cli/site_init_act.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/file.h"
#include "common/io/run_program.h"

#include "portal/cli/backup_key.h"
#include "portal/cli/site_check.h"

#define SITE_ACT_PROGRAM_MS 120000
#define SITE_ACT_BUILD_MS   900000 /* a kernel's modules are packed */
#define SITE_ACT_PORTALD_MS 120000 /* the first start makes the database */
#define SITE_ACT_LOOK_MS    500
#define SITE_ACT_KEYS       "/etc/haas/image-keys"
#define SITE_ACT_TASK_KEY   "/var/lib/haas/bampid/keys/bampid-task.pub"
#define SITE_ACT_BUILD      "/usr/lib/haas/bampi/agent/ramdisk/build"
#define SITE_ACT_IPXE       "/usr/lib/haas/bampi/bootd/ipxe/build"

static const char *const site_act_words[] = {"done", "already", "planned", "failed"};

/* --- what all share --- */

bool site_act_say(struct site_act *act, const char *name, enum site_act_state state,
		  const char *summary, const char *hint)
{
	json_t *row = json_object();

	(void)json_object_set_new(row, "name", json_string(name));
	(void)json_object_set_new(row, "state", json_string(site_act_words[state]));
	(void)json_object_set_new(row, "summary", json_string(summary));
	(void)json_object_set_new(row, "hint", json_string(hint));
	(void)json_array_append_new(act->rows, row);
	return state != SITE_ACT_FAILED;
}

bool site_act_fail(struct site_act *act, const char *name, const struct problem *problem)
{
	CLEANUP(text_done) struct text line = {0};

	text_addf(&line, "%s%s%s", problem->message, problem->detail[0] ? ": " : "",
		  problem->detail);
	text_blank_controls(line.data, line.size);
	return site_act_say(act, name, SITE_ACT_FAILED, text_get(&line), problem->hint);
}

bool site_act_end(struct site_act *act, const char *name, const char *summary)
{
	return site_act_say(act, name, act->dry_run ? SITE_ACT_PLANNED : SITE_ACT_DONE, summary,
			    "");
}

bool site_act_path(const struct site_act *act, const char *path, char ret[PATH_MAX])
{
	return text_format(ret, PATH_MAX, "%s%s", act->root, path);
}

bool site_act_there(const struct site_act *act, const char *path)
{
	char whole[PATH_MAX];

	return site_act_path(act, path, whole) && access(whole, F_OK) == 0;
}

/* argv[0] is a path of the machine. */
static int site_act_program(const struct site_act *act, const char *argv[], uint32_t deadline_ms,
			    struct problem *problem)
{
	char path[PATH_MAX];
	const char *asked = argv[0];
	int rc;

	if (!site_act_path(act, asked, path))
		return problem_set(problem, -ENAMETOOLONG, "the path of %s is too long", asked);
	argv[0] = path;
	rc = run_program(&(struct run_program){.argv = argv, .deadline_ms = deadline_ms}, problem);
	argv[0] = asked;
	return rc;
}

/* --- keys --- */

static int site_act_image_keys(const struct site_act *act, struct image_keys **ret,
			       struct problem *problem)
{
	char path[PATH_MAX];

	return site_act_path(act, SITE_ACT_KEYS, path)
		       ? image_keys_read(path, ret, problem)
		       : problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
}

static int site_act_image_key_make(const struct site_act *act, struct problem *problem)
{
	char public_text[IMAGE_KEY_TEXT_SIZE + 1];
	char public_path[PATH_MAX];
	char path[PATH_MAX];
	int rc = 0;

	if (!text_format(path, sizeof(path), "%s%s/site.key", act->root, act->plan->keys) ||
	    !site_act_path(act, SITE_ACT_KEYS "/site.pub", public_path))
		return problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
	if (access(path, F_OK) < 0)
		rc = haasctl_image_key_make(path, problem);
	if (rc == 0)
		rc = haasctl_image_key_public(path, public_text, problem);
	if (rc)
		return rc;
	text_copy(public_text + IMAGE_KEY_TEXT_SIZE - 1, 2, "\n");
	rc = file_write_atomic(public_path, public_text, IMAGE_KEY_TEXT_SIZE, 0644);
	return rc ? problem_set(problem, rc, "cannot write %s: %s", public_path, error_text(rc))
		  : 0;
}

/* A pair that was half made when we were killed sealed nothing: the next number is taken. */
static int site_act_backup_key_make(const struct site_act *act, struct problem *problem)
{
	char installed[PATH_MAX];
	char made[PATH_MAX];
	char base[PATH_MAX];
	int rc = E_CONFLICT;

	if (!site_act_path(act, BACKUP_KEY_DEFAULT, installed))
		return problem_set(problem, -ENAMETOOLONG, "the path of the key is too long");
	for (int number = 1; number < 100 && rc == E_CONFLICT; number++) {
		CLEANUP(freep) char *text = NULL;
		size_t size = 0;

		*problem = (struct problem){0};
		if (!text_format(base, sizeof(base), "%s%s/site%d", act->root, act->plan->keys,
				 number) ||
		    !text_format(made, sizeof(made), "%s.backup", base))
			return problem_set(problem, -ENAMETOOLONG, "the path of keys is too long");
		/* One that was made before, and not yet put in its place. */
		rc = access(made, F_OK) == 0 ? 0 : backup_key_make(base, problem);
		if (rc == 0)
			rc = file_read(made, 4096, &text, &size);
		if (rc == 0)
			rc = file_write_atomic(installed, text, size, 0600);
		if (text)
			explicit_bzero(text, size);
		if (rc == 0)
			(void)unlink(made);
	}
	return rc && !problem_is_set(problem)
		       ? problem_set(problem, rc, "cannot write %s: %s", installed, error_text(rc))
		       : rc;
}

static bool site_act_keys(struct site_act *act)
{
	static const char elsewhere[] = "keys is empty: make them on another machine";
	CLEANUP(image_keys_freep) struct image_keys *keys = NULL;
	struct problem problem = {0};

	if (site_act_image_keys(act, &keys, &problem) != 0)
		return site_act_fail(act, "image-key", &problem);
	const struct {
		const char *name, *done;
		bool there;
		int (*make)(const struct site_act *act, struct problem *problem);
	} rows[] = {
		{"image-key", "made; move site.key off this machine", image_keys_count(keys) > 0,
		 site_act_image_key_make},
		{"backup-key", "made; move site*.restore off this machine",
		 site_act_there(act, BACKUP_KEY_DEFAULT), site_act_backup_key_make},
	};
	char folder[PATH_MAX];
	bool good = true;

	if (!site_act_path(act, act->plan->keys, folder))
		return false;
	for (size_t i = 0; i < COUNT_OF(rows) && good; i++) {
		int rc;

		if (rows[i].there || act->plan->keys[0] == '\0') {
			good = site_act_say(act, rows[i].name, SITE_ACT_ALREADY,
					    rows[i].there ? "it is there" : elsewhere, "");
			continue;
		}
		rc = act->dry_run ? 0 : file_make_folder(folder, 0700);
		if (rc)
			(void)problem_set(&problem, rc, "cannot make %s: %s", folder,
					  error_text(rc));
		else if (!act->dry_run)
			rc = rows[i].make(act, &problem);
		good = rc ? site_act_fail(act, rows[i].name, &problem)
			  : site_act_end(act, rows[i].name, rows[i].done);
	}
	return good;
}

/* --- people, boot files --- */

static bool site_act_operators(struct site_act *act)
{
	struct site_check machine = {.root = act->root};
	char summary[160];

	for (char **each = act->plan->operators; each && *each; each++) {
		const char *argv[] = {
			"/usr/sbin/usermod", "-aG", "haas-operators", "--", *each, NULL};
		struct problem problem = {0};

		(void)text_format(summary, sizeof(summary), "%.100s is in group haas-operators",
				  *each);
		if (site_check_is_member(&machine, *each, "haas-operators")) {
			(void)site_act_say(act, "operator", SITE_ACT_ALREADY, summary, "");
			continue;
		}
		if (!act->dry_run &&
		    site_act_program(act, argv, SITE_ACT_PROGRAM_MS, &problem) < 0) {
			problem_hint(&problem, "adduser %.100s, then run site init again", *each);
			return site_act_fail(act, "operator", &problem);
		}
		(void)site_act_end(act, "operator", summary);
	}
	return true;
}

/* bampid makes the key when it starts first. False: it has not. */
static bool site_act_task_key(struct site_act *act)
{
	int64_t end_ms = clock_monotonic_ms() + SITE_ACT_PORTALD_MS;
	bool there = site_act_there(act, SITE_ACT_TASK_KEY);

	while (!there && !act->dry_run && site_act_there(act, "/run/systemd/system") &&
	       clock_monotonic_ms() < end_ms && haasctl_sleep(act->haasctl, SITE_ACT_LOOK_MS))
		there = site_act_there(act, SITE_ACT_TASK_KEY);
	return there || act->dry_run;
}

/* The script does nothing where kernel, agent and keys are those of the last time. */
static bool site_act_boot_files(struct site_act *act)
{
	char secure_boot[PATH_MAX]; /* where the keys are, if the site has some */
	char key[PATH_MAX];
	CLEANUP(image_keys_freep) struct image_keys *keys = NULL;
	const char *argv[16 + 2 * IMAGE_KEYS_MAX] = {
		SITE_ACT_BUILD,    "--agent",         "/usr/lib/haas/bampi/agent/bampi-agent",
		"--task-key",      SITE_ACT_TASK_KEY, "--kernel",
		act->plan->kernel, "--out",           "/var/lib/haas/boot"};
	size_t count = 9;
	struct problem problem = {0};

	if (act->plan->kernel[0] == '\0')
		return site_act_say(act, "boot-files", SITE_ACT_ALREADY,
				    "kernel is empty: they are made by hand", "");
	if (site_act_image_keys(act, &keys, &problem) != 0)
		return site_act_fail(act, "boot-files", &problem);
	for (size_t i = 0; i < image_keys_count(keys); i++) {
		argv[count++] = "--image-key";
		argv[count++] = image_keys_at(keys, i)->path + strlen(act->root);
	}
	if (site_act_there(act, SITE_TLS_CA)) {
		argv[count++] = "--site-ca";
		argv[count++] = SITE_TLS_CA;
	}
	if (text_format(secure_boot, sizeof(secure_boot), "%s/secure-boot", act->plan->keys) &&
	    text_format(key, sizeof(key), "%s/db.key", secure_boot) && site_act_there(act, key)) {
		argv[count++] = "--secure-boot";
		argv[count++] = secure_boot;
	}
	if (!site_act_task_key(act))
		return site_act_say(act, "boot-files",
				    site_act_there(act, "/run/systemd/system") ? SITE_ACT_FAILED
									       : SITE_ACT_PLANNED,
				    "bampid has not made the key that signs tasks",
				    "systemctl status bampid; then run site init again");
	if (!act->dry_run && site_act_program(act, argv, SITE_ACT_BUILD_MS, &problem) < 0) {
		problem_hint(&problem, "apt install busybox-static cpio binutils kmod ipxe");
		return site_act_fail(act, "boot-files", &problem);
	}
	return site_act_end(act, "boot-files", "they are in /var/lib/haas/boot");
}

/* Where scripts come by HTTPS alone nodes need iPXE that knows our CA. Minutes, the first time. */
static bool site_act_ipxe(struct site_act *act)
{
	const char *argv[] = {SITE_ACT_IPXE,        "--ca", SITE_TLS_CA, "--out",
			      "/var/lib/haas/boot", NULL};
	struct problem problem = {0};

	if (act->plan->https != SITE_HTTPS_REQUIRED)
		return true;
	if (act->plan->kernel[0] == '\0')
		return site_act_say(act, "ipxe", SITE_ACT_ALREADY,
				    "kernel is empty: it is made by hand", "");
	if (!act->dry_run && site_act_program(act, argv, SITE_ACT_BUILD_MS, &problem) < 0) {
		problem_hint(&problem, "apt install gcc make perl liblzma-dev dpkg-dev; or https = "
				       "\"offered\" until then");
		return site_act_fail(act, "ipxe", &problem);
	}
	return site_act_end(act, "ipxe", "it knows the CA of the site");
}

/* --- units --- */

/* `unit` NULL: the verb has none. */
static bool site_act_unit(struct site_act *act, const char *verb, const char *unit)
{
	const char *argv[] = {"/usr/bin/systemctl", verb, unit, NULL};
	struct problem problem = {0};
	char summary[96];

	(void)text_format(summary, sizeof(summary), "systemctl %s%s%s", verb, unit ? " " : "",
			  unit ? unit : "");
	if (!act->dry_run && site_act_program(act, argv, SITE_ACT_PROGRAM_MS, &problem) < 0) {
		if (unit)
			problem_hint(&problem, "systemctl status %s; journalctl -u %s -n 30", unit,
				     unit);
		return site_act_fail(act, "unit", &problem);
	}
	return site_act_end(act, "unit", summary);
}

/* Of a daemon that runs: it reads most settings when it starts. */
static bool site_act_restarts(struct site_act *act)
{
	static const char begin[] = "/etc/haas/";
	char last[64] = "";

	for (size_t i = 0; i < act->changes->count; i++) {
		const struct site_change *change = &act->changes->rows[i];
		const char *name = change->path + sizeof(begin) - 1;
		char unit[64];

		if (change->state != SITE_CHANGE_EDIT || !change->key[0])
			continue;
		(void)text_format(unit, sizeof(unit), "%.*s.service", (int)strcspn(name, "."),
				  name);
		if (strcmp(unit, last) == 0)
			continue;
		(void)text_copy(last, sizeof(last), unit);
		if (!site_act_unit(act, "try-restart", unit))
			return false;
	}
	return true;
}

static bool site_act_units(struct site_act *act)
{
	const bool elsewhere = act->plan->database[0] != '\0';
	static const struct {
		const char *role, *verb, *unit;
		int elsewhere; /* only when the database is (1), is not (0) elsewhere; -1 always */
	} rows[] = {
		{"controller", "daemon-reload", NULL, -1},
		{"controller", "disable", "haas-db.service", 1},
		{"controller", "stop", "haas-db.service", 1},
		{"controller", "enable", "haas-db.service", 0},
		{"controller", "enable", "haas.target", -1},
		{"controller", "start", "haas.target", -1},
		{"controller", "start", "haas-backup.timer", -1},
		/* They may have run before the image key was there, as after a restart of the machine. */
		{"controller", "try-reload-or-restart", "portald.service", -1},
		{"controller", "try-reload-or-restart", "bampid.service", -1},
		/* Debian starts its own tgtd, on the port of ours. */
		{"storage", "disable", "tgt.service", -1},
		{"storage", "stop", "tgt.service", -1},
		{"storage", "start", "haas-tgtd.service", -1},
		{"storage", "start", "bampi-stored.service", -1},
		{"relay", "start", "bampi-relay.service", -1},
	};

	if (!site_act_there(act, "/run/systemd/system"))
		return site_act_say(act, "unit", SITE_ACT_ALREADY,
				    "systemd does not run here: the next boot starts them", "");
	if (!site_act_restarts(act))
		return false;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (site_plan_has(act->plan, rows[i].role) &&
		    (rows[i].elsewhere < 0 || (rows[i].elsewhere == 1) == elsewhere) &&
		    !site_act_unit(act, rows[i].verb, rows[i].unit))
			return false;
	}
	return true;
}

/* --- subnets --- */

/* EXIT_OK with ret->json NULL: there is no such subnet. A portald that starts is waited for. */
static int site_act_subnet_read(struct site_act *act, const char *target, struct haasctl_reply *ret,
				struct problem *problem)
{
	int64_t end_ms = clock_monotonic_ms() + SITE_ACT_PORTALD_MS;
	int status;

	do {
		*problem = (struct problem){0};
		status = haasctl_call(act->haasctl, act->input,
				      &(struct haasctl_call){.method = "GET",
							     .target = target,
							     .problem = problem,
							     .by_itself = true},
				      ret);
	} while (status == EXIT_UNREACHABLE && clock_monotonic_ms() < end_ms &&
		 haasctl_sleep(act->haasctl, SITE_ACT_LOOK_MS));
	return status == EXIT_NOT_FOUND ? EXIT_OK : status;
}

static void site_act_subnet_body(const struct site_subnet *subnet, struct text *ret)
{
	const struct {
		const char *key, *value;
	} rows[] = {{"prefix", subnet->prefix},
		    {"boot_server", subnet->server},
		    {"gateway", subnet->gateway},
		    {"pool_low", subnet->low},
		    {"pool_high", subnet->high}};
	json_t *body = json_object();

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].value[0])
			(void)json_object_set_new(body, rows[i].key, json_string(rows[i].value));
	}
	(void)json_object_set_new(body, "reserved_only", json_boolean(!subnet->open));
	CLEANUP(freep) char *text = json_dumps(body, 0);
	json_decref(body);
	text_add(ret, text ? text : "{}");
}

/* What the plan says is so in the subnet. */
static bool site_act_subnet_same(const json_t *is, const char *body)
{
	json_t *wanted = json_loads(body, 0, NULL);
	const char *key;
	const json_t *value;
	bool same = true;

	json_object_foreach(wanted, key, value) same =
		same && json_equal(value, json_object_get(is, key));
	json_decref(wanted);
	return same;
}

static bool site_act_subnet(struct site_act *act, const struct site_subnet *subnet)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply after = {0};
	struct problem problem = {0};
	char summary[128];
	int status;

	(void)text_format(summary, sizeof(summary), "%s, %s", subnet->name, subnet->prefix);
	if (act->dry_run)
		return site_act_end(act, "subnet", summary);
	/* The portald here is that of another machine. */
	if (act->root[0])
		return site_act_say(act, "subnet", SITE_ACT_PLANNED, summary,
				    "run site init on that machine");
	haasctl_path(&target, "/subnets/", subnet->name, "");
	site_act_subnet_body(subnet, &body);
	status = site_act_subnet_read(act, text_get(&target), &before, &problem);
	if (status == EXIT_OK && before.json && json_object_get(before.json, "prefix")) {
		if (site_act_subnet_same(before.json, text_get(&body)))
			return site_act_say(act, "subnet", SITE_ACT_ALREADY, summary, "");
		(void)problem_set(&problem, E_CONFLICT, "subnet %s is not as in the plan",
				  subnet->name);
		problem_hint(&problem, "haasctl subnet show %s; correct one of them", subnet->name);
		return site_act_fail(act, "subnet", &problem);
	}
	if (status == EXIT_OK)
		status = haasctl_call(act->haasctl, act->input,
				      &(struct haasctl_call){.method = "PUT",
							     .target = text_get(&target),
							     .body = text_get(&body),
							     .problem = &problem,
							     .by_itself = true},
				      &after);
	return status == EXIT_OK ? site_act_end(act, "subnet", summary)
				 : site_act_fail(act, "subnet", &problem);
}

static bool site_act_subnets(struct site_act *act)
{
	bool good = true;

	for (char **each = act->plan->subnets; each && *each && good; each++) {
		struct problem problem = {0};
		struct site_subnet subnet;

		good = site_subnet_parse(*each, &subnet, &problem) == 0 &&
		       site_act_subnet(act, &subnet);
	}
	return good;
}

bool site_act_run(struct site_act *act)
{
	static const struct {
		const char *role; /* NULL: any */
		bool (*run)(struct site_act *act);
	} rows[] = {{"controller", site_act_keys},       {"controller", site_act_https},
		    {"controller", site_act_operators},  {NULL, site_act_units},
		    {"controller", site_act_boot_files}, {"controller", site_act_ipxe},
		    {"controller", site_act_subnets}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if ((!rows[i].role || site_plan_has(act->plan, rows[i].role)) && !rows[i].run(act))
			return false;
	}
	return true;
}
