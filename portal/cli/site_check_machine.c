/* What all checks share: findings, and the files, accounts and settings of the machine below
 * `root`. */
#include <grp.h>
#include <libconfig.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/text.h"

#include "portal/cli/site_check.h"

/* --- findings --- */

/* One line: what a terminal obeys and new lines are blanks; NULL of Jansson is text that is not
 * UTF-8. */
static json_t *site_check_machine_text(struct text *text)
{
	json_t *value;

	if (text->data)
		text_blank_controls(text->data, text->size);
	value = json_string(text_get(text));
	return value ? value : json_string("(its name is not UTF-8)");
}

static void PRINTF_LIKE(2, 0)
	site_check_machine_addv(struct text *text, const char *format, va_list arguments)
{
	char line[1024];

	// NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the caller has started it
	(void)vsnprintf(line, sizeof(line), format, arguments);
	text_add(text, line);
}

void site_check_say(struct site_check *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(check->summary, sizeof(check->summary), format, arguments);
	va_end(arguments);
	text_blank_controls(check->summary, strlen(check->summary));
}

void site_check_skip(struct site_check *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(check->summary, sizeof(check->summary), format, arguments);
	va_end(arguments);
	text_blank_controls(check->summary, strlen(check->summary));
	check->skipped = true;
}

static void site_check_machine_fill(struct text *hint, const char *format, const char *subject)
{
	const char *at;

	while ((at = strstr(format, "{}"))) {
		text_add_bytes(hint, format, (size_t)(at - format));
		text_add(hint, subject);
		format = at + 2;
	}
	text_add(hint, format);
}

void site_check_wrong(struct site_check *check, const char *subject, const char *format, ...)
{
	CLEANUP(text_done) struct text name = {0};
	CLEANUP(text_done) struct text message = {0};
	CLEANUP(text_done) struct text hint = {0};
	json_t *item = json_object();
	va_list arguments;

	va_start(arguments, format);
	site_check_machine_addv(&message, format, arguments);
	va_end(arguments);
	text_add(&name, subject);
	site_check_machine_fill(&hint, check->row->hint, subject);
	(void)json_object_set_new(item, "subject", site_check_machine_text(&name));
	(void)json_object_set_new(item, "message", site_check_machine_text(&message));
	(void)json_object_set_new(item, "hint", site_check_machine_text(&hint));
	(void)json_array_append_new(check->items, item);
}

void site_check_hint(struct site_check *check, const char *format, ...)
{
	CLEANUP(text_done) struct text hint = {0};
	va_list arguments;

	va_start(arguments, format);
	site_check_machine_addv(&hint, format, arguments);
	va_end(arguments);
	(void)json_object_set_new(json_array_get(check->items, json_array_size(check->items) - 1),
				  "hint", site_check_machine_text(&hint));
}

void site_check_problem(struct site_check *check, const char *subject,
			const struct problem *problem)
{
	site_check_wrong(check, subject, "%s%s%s", problem->message, problem->detail[0] ? ": " : "",
			 problem->detail);
	if (problem->hint[0])
		site_check_hint(check, "%s", problem->hint);
}

/* --- files --- */

bool site_check_path(const struct site_check *check, char ret[PATH_MAX], const char *format, ...)
{
	size_t used = strlen(check->root);
	va_list arguments;
	int size;

	if (!text_copy(ret, PATH_MAX, check->root))
		return false;
	va_start(arguments, format);
	size = vsnprintf(ret + used, PATH_MAX - used, format, arguments);
	va_end(arguments);
	return size >= 0 && (size_t)size < PATH_MAX - used;
}

bool site_check_exists(const struct site_check *check, const char *path)
{
	char whole[PATH_MAX];
	struct stat st;

	return site_check_path(check, whole, "%s", path) && stat(whole, &st) == 0;
}

/* --- accounts --- */

static FILE *site_check_machine_open(const struct site_check *check, const char *path)
{
	char whole[PATH_MAX];

	return site_check_path(check, whole, "%s", path) ? fopen(whole, "re") : NULL;
}

bool site_check_uid(const struct site_check *check, const char *name, uid_t *ret_uid,
		    gid_t *ret_gid)
{
	FILE *file = site_check_machine_open(check, "/etc/passwd");
	struct passwd entry;
	struct passwd *found = NULL;
	char room[4096];
	bool there = false;

	while (file && !there && fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0)
		there = strcmp(found->pw_name, name) == 0;
	if (file)
		(void)fclose(file);
	if (there) {
		*ret_uid = entry.pw_uid;
		*ret_gid = entry.pw_gid;
	}
	return there;
}

/* `member` NULL: anybody. */
static bool site_check_machine_group(const struct site_check *check, const char *name,
				     const char *member, gid_t *ret)
{
	FILE *file = site_check_machine_open(check, "/etc/group");
	struct group entry;
	struct group *found = NULL;
	char room[16384];
	bool there = false;

	while (file && !there && fgetgrent_r(file, &entry, room, sizeof(room), &found) == 0)
		there = strcmp(found->gr_name, name) == 0;
	if (file)
		(void)fclose(file);
	if (!there)
		return false;
	*ret = entry.gr_gid;
	for (char **each = entry.gr_mem; member && *each; each++) {
		if (strcmp(*each, member) == 0)
			return true;
	}
	return !member;
}

bool site_check_gid(const struct site_check *check, const char *name, gid_t *ret)
{
	return site_check_machine_group(check, name, NULL, ret);
}

bool site_check_is_member(const struct site_check *check, const char *user, const char *group)
{
	gid_t gid;

	return site_check_machine_group(check, group, user, &gid);
}

/* --- settings --- */

/* A configuration that does not parse has the usual values here: the row "configuration" tells. */
static bool site_check_machine_config(const struct site_check *check, const char *program,
				      config_t *ret)
{
	char path[PATH_MAX];

	config_init(ret);
	return site_check_path(check, path, "/etc/haas/%s.conf", program) &&
	       config_read_file(ret, path) == CONFIG_TRUE;
}

const char *site_check_setting(const struct site_check *check, const char *program,
			       const char *setting, const char *usual, char ret[PATH_MAX])
{
	const char *value = usual;
	config_t config;

	if (site_check_machine_config(check, program, &config))
		(void)config_lookup_string(&config, setting, &value);
	if (!text_copy(ret, PATH_MAX, value))
		ret[0] = '\0';
	config_destroy(&config);
	return ret;
}

int site_check_number(const struct site_check *check, const char *program, const char *setting,
		      int usual)
{
	int value = usual;
	config_t config;

	if (site_check_machine_config(check, program, &config))
		(void)config_lookup_int(&config, setting, &value);
	config_destroy(&config);
	return value;
}

size_t site_check_list(struct site_check *check, const char *program, const char *setting,
		       void (*each)(struct site_check *check, const char *value, void *context),
		       void *context)
{
	const config_setting_t *rows = NULL;
	config_t config;
	int count = 0;

	if (site_check_machine_config(check, program, &config))
		rows = config_lookup(&config, setting);
	count = rows ? config_setting_length(rows) : 0;
	for (int i = 0; i < count; i++) {
		const char *value = config_setting_get_string_elem(rows, i);

		if (value)
			each(check, value, context);
	}
	config_destroy(&config);
	return (size_t)count;
}
