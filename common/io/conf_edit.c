#include "common/io/conf_edit.h"

#include <ctype.h>
#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#define CONF_EDIT_KEY    128
#define CONF_EDIT_VALUES 256 /* of a list */

/* --- values --- */

void conf_edit_quote(struct text *ret, const char *string)
{
	text_add(ret, "\"");
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			text_add(ret, "\\");
		text_add_bytes(ret, string, 1);
	}
	text_add(ret, "\"");
}

/* One value without members. */
static void conf_edit_scalar(struct text *ret, const config_setting_t *setting)
{
	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_STRING: conf_edit_quote(ret, config_setting_get_string(setting)); break;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64: text_addf(ret, "%lld", config_setting_get_int64(setting)); break;
	case CONFIG_TYPE_FLOAT: text_addf(ret, "%.17g", config_setting_get_float(setting)); break;
	case CONFIG_TYPE_BOOL:
		text_add(ret, config_setting_get_bool(setting) ? "true" : "false");
		break;
	default: break;
	}
}

static void conf_edit_value(struct text *ret, const config_setting_t *setting)
{
	int count = config_setting_length(setting);

	if (!config_setting_is_array(setting) && !config_setting_is_list(setting)) {
		conf_edit_scalar(ret, setting);
		return;
	}
	text_add(ret, "[");
	for (int i = 0; i < count && i < CONF_EDIT_VALUES; i++) {
		text_add(ret, i > 0 ? ", " : "");
		conf_edit_scalar(ret, config_setting_get_elem(setting, (unsigned)i));
	}
	text_add(ret, "]");
}

static int conf_edit_read(const char *text, config_t *ret, struct problem *problem)
{
	config_init(ret);
	/* What another file says cannot be edited here. */
	if (strstr(text, "@include"))
		return problem_set(problem, E_UNSUPPORTED, "the file includes another one");
	if (config_read_string(ret, text) == CONFIG_TRUE)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "line %d: %s", config_error_line(ret),
			  config_error_text(ret));
	return E_MALFORMED;
}

int conf_edit_get(const char *text, const char *key, struct text *ret, struct problem *problem)
{
	const config_setting_t *setting;
	config_t config;
	int rc = conf_edit_read(text, &config, problem);

	setting = rc == 0 ? config_lookup(&config, key) : NULL;
	if (setting && !config_setting_is_group(setting))
		conf_edit_value(ret, setting);
	config_destroy(&config);
	return rc;
}

/* --- places in the text --- */

/* Behind a string, a comment or one character that begins at `at`. */
static const char *conf_edit_token(const char *at)
{
	if (*at == '"') {
		for (at++; *at && *at != '"'; at++)
			at += *at == '\\' && at[1];
		return at + (*at == '"');
	}
	if (*at == '#' || (at[0] == '/' && at[1] == '/'))
		return at + strcspn(at, "\n");
	if (at[0] == '/' && at[1] == '*') {
		const char *end = strstr(at + 2, "*/");

		return end ? end + 2 : at + strlen(at);
	}
	return at + (*at != '\0');
}

static bool conf_edit_is_comment(const char *at)
{
	return *at == '#' || (at[0] == '/' && (at[1] == '/' || at[1] == '*'));
}

/* The first character from `at` on that is neither blank nor part of a comment. */
static const char *conf_edit_skip(const char *at)
{
	while (*at && (isspace((unsigned char)*at) || conf_edit_is_comment(at)))
		at = conf_edit_token(at);
	return at;
}

static bool conf_edit_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '*';
}

/* Behind "name =" from `at` on; NULL: it is not there. */
static const char *conf_edit_find(const char *at, const char *name)
{
	size_t size = strlen(name);
	bool inside = false; /* a longer word */

	while (*at) {
		if (!inside && strncmp(at, name, size) == 0 && !conf_edit_is_name(at[size])) {
			const char *sign = conf_edit_skip(at + size);

			if (*sign == '=' || *sign == ':')
				return sign + 1;
		}
		inside = conf_edit_is_name(*at);
		at = conf_edit_token(at);
	}
	return NULL;
}

/* The end of the value that begins at `at`: before its ";" or "," or what follows it. */
static const char *conf_edit_end(const char *at)
{
	const char *end = at;
	int depth = 0;

	for (; *at; at = conf_edit_token(at)) {
		if (depth == 0 && (*at == ';' || *at == ',' || *at == '\n' || *at == '}' ||
				   conf_edit_is_comment(at)))
			break;
		depth += *at == '[' || *at == '(' || *at == '{';
		depth -= *at == ']' || *at == ')' || *at == '}';
		if (!isspace((unsigned char)*at))
			end = conf_edit_token(at);
	}
	return end;
}

static const char *conf_edit_line(const char *text, unsigned line)
{
	while (line > 1 && *text) {
		line -= *text == '\n';
		text++;
	}
	return text;
}

/* --- the edit --- */

/* Where a setting of the text stands, by the line that libconfig says. */
static const char *conf_edit_place(const char *text, const config_setting_t *setting)
{
	return conf_edit_find(conf_edit_line(text, config_setting_source_line(setting)),
			      config_setting_name(setting));
}

static void conf_edit_replace(const char *text, const char *from, const char *to, const char *value,
			      struct text *ret)
{
	text_add_bytes(ret, text, (size_t)(from - text));
	text_add(ret, value);
	text_add(ret, to);
}

/* A key that is not in the text: at the begin of its group, which is made where it is missing. */
static bool conf_edit_insert(const char *text, const config_t *config, const char *key,
			     const char *value, struct text *ret)
{
	const char *dot = strrchr(key, '.');
	char group[CONF_EDIT_KEY];
	char line[CONF_EDIT_KEY + 8];

	if (!dot) {
		text_add(ret, text);
		text_addf(ret, "%s%s = %s;\n", *text && text[strlen(text) - 1] != '\n' ? "\n" : "",
			  key, value);
		return true;
	}
	if (!text_format(group, sizeof(group), "%.*s", (int)(dot - key), key))
		return false;
	const config_setting_t *setting = config_lookup(config, group);
	if (!setting) {
		text_add(ret, text);
		text_addf(ret, "%s%s: {\n\t%s = %s;\n};\n",
			  *text && text[strlen(text) - 1] != '\n' ? "\n" : "", group, dot + 1,
			  value);
		return !strchr(group, '.');
	}
	const char *at = conf_edit_place(text, setting);
	at = at ? conf_edit_skip(at) : NULL;
	if (!at || *at != '{')
		return false;
	(void)text_format(line, sizeof(line), "\n\t%s = ", dot + 1);
	text_add_bytes(ret, text, (size_t)(at + 1 - text));
	text_add(ret, line);
	text_add(ret, value);
	text_add(ret, ";");
	text_add(ret, at + 1);
	return true;
}

/* All settings but `key`, in libconfig's own writing. */
static bool conf_edit_dump(config_t *config, const char *key, struct text *ret)
{
	config_setting_t *setting = config_lookup(config, key);
	const char *dot = strrchr(key, '.');
	char *memory = NULL;
	size_t size = 0;
	FILE *out;

	if (setting)
		(void)config_setting_remove(config_setting_parent(setting), dot ? dot + 1 : key);
	if (dot) {
		char group[CONF_EDIT_KEY];

		/* A group that was made for the key is none of the others. */
		(void)text_format(group, sizeof(group), "%.*s", (int)(dot - key), key);
		setting = config_lookup(config, group);
		if (setting && config_setting_is_group(setting) &&
		    config_setting_length(setting) == 0)
			(void)config_setting_remove(config_setting_parent(setting),
						    config_setting_name(setting));
	}
	out = open_memstream(&memory, &size);
	if (!out)
		return false;
	config_write(config, out);
	bool written = fclose(out) == 0;
	if (written)
		text_add_bytes(ret, memory, size);
	free(memory);
	return written && !ret->failed;
}

/* The edited text says the value, and of all other settings what the old one said. */
static bool conf_edit_holds(const char *edited, config_t *before, const char *key,
			    const char *value)
{
	CLEANUP(text_done) struct text want = {0};
	CLEANUP(text_done) struct text got = {0};
	CLEANUP(text_done) struct text others = {0};
	CLEANUP(text_done) struct text others_before = {0};
	CLEANUP(text_done) struct text line = {0};
	struct problem problem = {0};
	config_t after;
	bool same;

	text_addf(&line, "value = %s;", value);
	if (line.failed || conf_edit_get(text_get(&line), "value", &want, &problem) != 0 ||
	    want.size == 0 || conf_edit_get(edited, key, &got, &problem) != 0 ||
	    strcmp(text_get(&want), text_get(&got)) != 0)
		return false;
	same = conf_edit_read(edited, &after, &problem) == 0 &&
	       conf_edit_dump(&after, key, &others) &&
	       conf_edit_dump(before, key, &others_before) &&
	       strcmp(text_get(&others), text_get(&others_before)) == 0;
	config_destroy(&after);
	return same;
}

static int conf_edit_by_hand(const char *key, const char *value, struct problem *problem)
{
	(void)problem_set(problem, E_UNSUPPORTED, "the setting %s cannot be edited", key);
	problem_hint(problem, "write it by hand: %s = %s;", key, value);
	return E_UNSUPPORTED;
}

int conf_edit_set(const char *text, const char *key, const char *value, struct text *ret,
		  struct problem *problem)
{
	CLEANUP(text_done) struct text edited = {0};
	const config_setting_t *setting;
	config_t config;
	bool done = false;
	int rc = conf_edit_read(text, &config, problem);

	setting = rc == 0 ? config_lookup(&config, key) : NULL;
	if (setting && config_setting_is_group(setting)) {
		rc = conf_edit_by_hand(key, value, problem);
	} else if (rc == 0 && setting) {
		const char *from = conf_edit_place(text, setting);

		from = from ? conf_edit_skip(from) : NULL;
		done = from != NULL;
		if (done)
			conf_edit_replace(text, from, conf_edit_end(from), value, &edited);
	} else if (rc == 0) {
		done = conf_edit_insert(text, &config, key, value, &edited);
	}
	if (rc == 0 && edited.failed)
		rc = problem_set(problem, -ENOMEM, "out of memory");
	if (rc == 0 && (!done || !conf_edit_holds(text_get(&edited), &config, key, value)))
		rc = conf_edit_by_hand(key, value, problem);
	config_destroy(&config);
	if (rc == 0)
		text_add_bytes(ret, text_get(&edited), edited.size);
	return rc;
}
