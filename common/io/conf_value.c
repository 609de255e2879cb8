#include "common/io/conf_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"

LEAKS_LEFT_TO_SANITIZER

static void *conf_value_member(const struct conf_row *row, void *values)
{
	return (char *)values + row->offset;
}

static int set_string(const struct conf_row *row, const char *text, void *ret)
{
	char **string = ret;
	char *copy = strdup(text);

	(void)row;
	if (!copy)
		return -ENOMEM;
	free(*string);
	*string = copy;
	return 0;
}

static int set_text(const struct conf_row *row, const char *text, void *ret)
{
	return text[0] ? set_string(row, text, ret) : E_MALFORMED;
}

static int set_int(const struct conf_row *row, const char *text, void *ret)
{
	int64_t *number = ret;
	char *end = NULL;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		return E_MALFORMED;
	if ((row->min != 0 || row->max != 0) && (value < row->min || value > row->max))
		return E_MALFORMED;
	*number = value;
	return 0;
}

static int set_real(const struct conf_row *row, const char *text, void *ret)
{
	double *number = ret;
	char *end = NULL;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(value))
		return E_MALFORMED;
	if ((row->min != 0 || row->max != 0) &&
	    (value < (double)row->min || value > (double)row->max))
		return E_MALFORMED;
	*number = value;
	return 0;
}

static int set_bool(const struct conf_row *row, const char *text, void *ret)
{
	bool *flag = ret;

	(void)row;
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return E_MALFORMED;
	*flag = text[0] == 't';
	return 0;
}

static int set_enum(const struct conf_row *row, const char *text, void *ret)
{
	int *value = ret;

	for (int i = 0; row->words[i]; i++) {
		if (strcmp(row->words[i], text) == 0) {
			*value = i;
			return 0;
		}
	}
	return E_MALFORMED;
}

static int set_address(const struct conf_row *row, const char *text, void *ret)
{
	(void)row;
	return ipv4_parse(text, ret);
}

static int set_prefix(const struct conf_row *row, const char *text, void *ret)
{
	(void)row;
	return ipv4_prefix_parse(text, ret);
}

/* NULL only makes sure that there is a list. */
static int conf_value_append_text(char ***list, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	char **longer;
	size_t count = 0;

	if (text && !copy)
		return -ENOMEM;
	while (*list && (*list)[count])
		count++;
	longer = reallocarray(*list, count + 2, sizeof(longer[0]));
	if (!longer) {
		free(copy);
		return -ENOMEM;
	}
	longer[count] = copy;
	longer[count + 1] = NULL;
	*list = longer;
	return 0;
}

int conf_value_append(const struct conf_row *row, const char *text, void *values)
{
	return conf_value_append_text(conf_value_member(row, values), text);
}

/* Only defaults come this way: words with a comma between. */
static int set_strings(const struct conf_row *row, const char *text, void *ret)
{
	int rc = conf_value_append_text(ret, NULL);

	(void)row;
	while (rc == 0 && *text) {
		size_t length = strcspn(text, ",");
		CLEANUP(freep) char *word = strndup(text, length);

		rc = word ? conf_value_append_text(ret, word) : -ENOMEM;
		text += length;
		text += strspn(text, ", ");
	}
	return rc;
}

/* In the order of enum conf_type. */
static const struct {
	int (*set)(const struct conf_row *row, const char *text, void *ret);
	const char *allowed; /* NULL: depends on the row */
} conf_value_types[] = {
	[CONF_STRING] = {set_string, "a string"},
	[CONF_TEXT] = {set_text, "a string that is not empty"},
	[CONF_INT] = {set_int, NULL},
	[CONF_REAL] = {set_real, NULL},
	[CONF_BOOL] = {set_bool, "true or false"},
	[CONF_ENUM] = {set_enum, NULL},
	[CONF_ADDRESS] = {set_address, "an IPv4 address like \"10.2.0.1\""},
	[CONF_PREFIX] = {set_prefix, "a prefix like \"10.2.0.0/24\" without host bits"},
	[CONF_STRINGS] = {set_strings, "a list of strings like [\"a\", \"b\"]"},
};

void conf_value_allowed(const struct conf_row *row, char *ret, size_t room)
{
	const char *unit = row->unit ? row->unit : "";
	struct text text = {0};

	if (conf_value_types[row->type].allowed) {
		text_add(&text, conf_value_types[row->type].allowed);
	} else if (row->type == CONF_ENUM) {
		for (size_t i = 0; row->words[i]; i++)
			text_addf(&text, "%s\"%s\"", i ? ", " : "one of ", row->words[i]);
	} else if (row->min != 0 || row->max != 0) {
		text_addf(&text, "%" PRId64 "..%" PRId64 "%s%s", row->min, row->max,
			  *unit ? " " : "", unit);
	} else {
		text_addf(&text, "a %s number%s%s", row->type == CONF_REAL ? "real" : "whole",
			  *unit ? " of " : "", unit);
	}
	(void)text_copy(ret, room, text_get(&text));
	text_done(&text);
}

int conf_value_set(const struct conf_row *row, const char *text, void *values,
		   struct problem *problem)
{
	char allowed[sizeof(problem->hint) - 16];
	int rc = conf_value_types[row->type].set(row, text, conf_value_member(row, values));

	if (rc == E_MALFORMED) {
		conf_value_allowed(row, allowed, sizeof(allowed));
		problem_detail(problem, "found \"%s\"", text);
		problem_hint(problem, "use %s", allowed);
	}
	return rc;
}

void conf_value_done(const struct conf_row *row, void *values)
{
	if (row->type == CONF_STRING || row->type == CONF_TEXT) {
		char **string = conf_value_member(row, values);

		free(*string);
		*string = NULL;
	} else if (row->type == CONF_STRINGS) {
		char ***list = conf_value_member(row, values);

		for (size_t i = 0; *list && (*list)[i]; i++)
			free((*list)[i]);
		free(*list);
		*list = NULL;
	}
}

bool conf_value_is_empty(const struct conf_row *row)
{
	return row->default_text && row->default_text[0] == '\0' && row->type != CONF_STRING &&
	       row->type != CONF_STRINGS;
}
