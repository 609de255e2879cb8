#include "common/io/conf.h"

#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/conf_value.h"
#include "common/io/file.h"

#define FILE_LIMIT ((size_t)1 << 20)
#define PATH_SIZE  128 /* of a dotted key */

struct conf_source {
	const char *path;
	config_t config;
};

/* Dotted path of a setting; elements of lists have no name and count as their list. */
static void setting_path(const config_setting_t *setting, char ret[PATH_SIZE])
{
	char below[PATH_SIZE] = "";

	ret[0] = '\0';
	for (; setting && !config_setting_is_root(setting);
	     setting = config_setting_parent(setting)) {
		const char *name = config_setting_name(setting);

		if (!name)
			continue;
		(void)text_copy(below, sizeof(below), ret);
		(void)text_format(ret, PATH_SIZE, "%s%s%s", name, below[0] ? "." : "", below);
	}
}

static size_t edit_distance(const char *a, const char *b)
{
	size_t row[PATH_SIZE + 1];
	size_t columns = strnlen(b, PATH_SIZE);

	for (size_t j = 0; j <= columns; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < columns; j++) {
			size_t best = diagonal + (a[i] == b[j] ? 0 : 1);

			diagonal = row[j + 1];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j + 1] = best;
		}
	}
	return row[columns];
}

/* The key that was probably meant; NULL when none is near. */
static const char *nearest_key(const char *path, const struct conf_row rows[], size_t count)
{
	const char *nearest = NULL;
	size_t best = strlen(path) / 2 + 1;

	for (size_t i = 0; i < count; i++) {
		size_t distance = edit_distance(path, rows[i].key);
		const char *last = strrchr(rows[i].key, '.');

		/* The right name in the wrong group. */
		if (last && strcmp(last + 1, path) == 0)
			distance = 0;
		if (distance < best) {
			best = distance;
			nearest = rows[i].key;
		}
	}
	return nearest;
}

/* A group is known when some row lives in it. */
static bool conf_is_known(const char *path, bool group, const struct conf_row rows[], size_t count)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < count; i++) {
		if (strncmp(rows[i].key, path, length) == 0 &&
		    rows[i].key[length] == (group ? '.' : '\0'))
			return true;
	}
	return false;
}

/* The next setting of a walk over the whole tree, lists left closed; NULL at its end. */
static config_setting_t *next_setting(config_setting_t *setting)
{
	if (config_setting_is_group(setting) && config_setting_length(setting) > 0)
		return config_setting_get_elem(setting, 0);
	while (!config_setting_is_root(setting)) {
		config_setting_t *parent = config_setting_parent(setting);
		int index = config_setting_index(setting) + 1;

		if (index < config_setting_length(parent))
			return config_setting_get_elem(parent, (unsigned)index);
		setting = parent;
	}
	return NULL;
}

static int check_names(struct conf_source *source, const struct conf_row rows[], size_t count,
		       struct problem *problem)
{
	config_setting_t *setting = config_root_setting(&source->config);

	while ((setting = next_setting(setting)) != NULL) {
		char path[PATH_SIZE];
		const char *nearest;

		setting_path(setting, path);
		/* A group where a value is wanted is the value's error, told with what is allowed.
		 */
		if (conf_is_known(path, false, rows, count) ||
		    (config_setting_is_group(setting) && conf_is_known(path, true, rows, count)))
			continue;
		(void)problem_set(problem, E_MALFORMED, "%s:%u: unknown key %s", source->path,
				  config_setting_source_line(setting), path);
		nearest = nearest_key(path, rows, count);
		if (nearest)
			problem_hint(problem, "did you mean %s?", nearest);
		else
			problem_hint(problem, "--print-config lists every key");
		return E_MALFORMED;
	}
	return 0;
}

/* A whole number may stand for a real one. */
static double conf_real(const config_setting_t *setting)
{
	return config_setting_type(setting) == CONFIG_TYPE_FLOAT
		       ? config_setting_get_float(setting)
		       : (double)config_setting_get_int64(setting);
}

/* The libconfig types that stand for each of ours; a scalar as text. False when the type is
 * another. */
static bool scalar_text(const struct conf_row *row, const config_setting_t *setting,
			struct text *ret)
{
	int type = config_setting_type(setting);

	switch (row->type) {
	case CONF_INT:
		text_addf(ret, "%lld", config_setting_get_int64(setting));
		return type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
	case CONF_REAL:
		text_addf(ret, "%.17g", conf_real(setting));
		return type == CONFIG_TYPE_FLOAT || type == CONFIG_TYPE_INT ||
		       type == CONFIG_TYPE_INT64;
	case CONF_BOOL:
		text_add(ret, config_setting_get_bool(setting) ? "true" : "false");
		return type == CONFIG_TYPE_BOOL;
	case CONF_STRING:
	case CONF_TEXT:
	case CONF_ENUM:
	case CONF_ADDRESS:
	case CONF_PREFIX:
		if (type == CONFIG_TYPE_STRING)
			text_add(ret, config_setting_get_string(setting));
		return type == CONFIG_TYPE_STRING;
	case CONF_STRINGS: break;
	}
	return false;
}

static int load_strings(const struct conf_row *row, const config_setting_t *setting, void *values,
			struct problem *problem)
{
	int rc = 0;

	if (!config_setting_is_list(setting) && !config_setting_is_array(setting)) {
		rc = E_MALFORMED;
	} else {
		rc = conf_value_append(row, NULL, values);
		for (unsigned i = 0; rc == 0 && i < (unsigned)config_setting_length(setting); i++) {
			const config_setting_t *element = config_setting_get_elem(setting, i);

			rc = config_setting_type(element) != CONFIG_TYPE_STRING
				     ? E_MALFORMED
				     : conf_value_append(row, config_setting_get_string(element),
							 values);
		}
	}
	if (rc == E_MALFORMED)
		problem_detail(problem, "found something else");
	return rc;
}

static int load_row(const struct conf_row *row, const config_setting_t *setting, void *values,
		    struct problem *problem)
{
	struct text text = {0};
	int rc;

	if (row->type == CONF_STRINGS)
		return load_strings(row, setting, values, problem);
	if (!scalar_text(row, setting, &text)) {
		problem_detail(problem, "found a value of another type");
		rc = E_MALFORMED;
	} else {
		rc = text.failed ? -ENOMEM : conf_value_set(row, text_get(&text), values, problem);
	}
	text_done(&text);
	return rc;
}

/* message = FILE:LINE: KEY ...; the detail was set by whoever looked at the value. */
static int conf_blame(const struct conf_source *source, const struct conf_row *row,
		      const config_setting_t *setting, int rc, struct problem *problem)
{
	struct problem seen = *problem;
	char allowed[sizeof(problem->hint) - 16];

	if (setting)
		(void)problem_set(problem, rc, "%s:%u: %s is wrong", source->path,
				  config_setting_source_line(setting), row->key);
	else
		(void)problem_set(problem, rc, "%s: %s is missing",
				  source->path ? source->path : "no configuration file", row->key);
	conf_value_allowed(row, allowed, sizeof(allowed));
	if (seen.detail[0])
		problem_detail(problem, "%s", seen.detail);
	problem_hint(problem, "use %s", allowed);
	return rc;
}

static int load_rows(struct conf_source *source, const struct conf_row rows[], size_t count,
		     void *values, struct problem *problem)
{
	for (size_t i = 0; i < count; i++) {
		const config_setting_t *setting =
			source->path ? config_lookup(&source->config, rows[i].key) : NULL;
		int rc;

		if (setting)
			rc = load_row(&rows[i], setting, values, problem);
		else if (rows[i].default_text && conf_value_is_empty(&rows[i]))
			rc = 0; /* stays zeroed */
		else if (rows[i].default_text)
			rc = conf_value_set(&rows[i], rows[i].default_text, values, problem);
		else
			rc = E_NOT_FOUND;
		if (rc == -ENOMEM)
			return problem_set(problem, rc, "out of memory");
		if (rc != 0)
			return conf_blame(source, &rows[i], setting, rc, problem);
	}
	return 0;
}

static int read_source(struct conf_source *source, struct problem *problem)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	int rc = file_read(source->path, FILE_LIMIT, &data, &size);

	if (rc != 0) {
		return problem_set(problem, rc, "cannot read %s: %s", source->path, error_text(rc));
	}
	if (strlen(data) != size)
		return problem_set(problem, E_MALFORMED, "%s holds a NUL byte", source->path);
	if (config_read_string(&source->config, data) == CONFIG_TRUE)
		return 0;
	(void)problem_set(problem, E_MALFORMED, "%s:%d: %s", source->path,
			  config_error_line(&source->config), config_error_text(&source->config));
	problem_hint(problem, "libconfig syntax: key = value; group: { key = value; };");
	return E_MALFORMED;
}

int conf_load(const char *path, const struct conf_row rows[], size_t count, void *ret,
	      struct problem *problem)
{
	struct conf_source source = {.path = path};
	int rc = 0;

	config_init(&source.config);
	if (path)
		rc = read_source(&source, problem);
	if (rc == 0 && path)
		rc = check_names(&source, rows, count, problem);
	if (rc == 0)
		rc = load_rows(&source, rows, count, ret, problem);
	if (rc != 0)
		conf_done(rows, count, ret);
	config_destroy(&source.config);
	return rc;
}

void conf_done(const struct conf_row rows[], size_t count, void *values)
{
	for (size_t i = 0; i < count; i++)
		conf_value_done(&rows[i], values);
}
