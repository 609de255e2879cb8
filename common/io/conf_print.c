/* The sample is made of the same rows that load it, so it is never out of date; unit_conf loads
 * what is printed here. */
#include <string.h>

#include "common/io/conf_value.h"

#define ALLOWED_SIZE 256

/* Length of the group part of a key, without its dot; 0 at the top. */
static size_t group_length(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot ? (size_t)(dot - key) : 0;
}

static void conf_print_indent(size_t depth, FILE *out)
{
	for (size_t i = 0; i < depth; i++)
		(void)fputc('\t', out);
}

static size_t depth_of(const char *key, size_t length)
{
	size_t depth = length ? 1 : 0;

	for (size_t i = 0; i < length; i++)
		depth += key[i] == '.';
	return depth;
}

/* How much of two group paths is the same, in whole names. */
static size_t shared_length(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t shared = 0;

	for (size_t i = 0;; i++) {
		bool a_ends = i == a_length || a[i] == '.';
		bool b_ends = i == b_length || b[i] == '.';

		if (a_ends && b_ends)
			shared = i;
		if (i == a_length || i == b_length || a[i] != b[i])
			return shared;
	}
}

static void close_groups(const char *key, size_t length, size_t keep, FILE *out)
{
	for (size_t depth = depth_of(key, length); depth > depth_of(key, keep); depth--) {
		conf_print_indent(depth - 1, out);
		(void)fputs("};\n", out);
	}
}

static void open_groups(const char *key, size_t from, size_t length, FILE *out)
{
	while (from < length) {
		size_t start = from ? from + 1 : 0;
		size_t name = strcspn(key + start, ".");

		(void)fputc('\n', out);
		conf_print_indent(depth_of(key, from), out);
		(void)fprintf(out, "%.*s: {\n", (int)name, key + start);
		from = start + name;
	}
}

static void print_string(const char *string, size_t length, FILE *out)
{
	(void)fputc('"', out);
	for (size_t i = 0; i < length; i++) {
		if (string[i] == '"' || string[i] == '\\')
			(void)fputc('\\', out);
		(void)fputc(string[i], out);
	}
	(void)fputc('"', out);
}

static void conf_print_value(const struct conf_row *row, FILE *out)
{
	const char *text = row->default_text ? row->default_text : "";

	switch (row->type) {
	case CONF_INT: /* L: libconfig wants it beyond 32 bits */
		(void)fprintf(out, "%s%s", *text ? text : "0", strlen(text) > 9 ? "L" : "");
		break;
	/* libconfig takes a whole number there too. */
	case CONF_REAL: (void)fputs(*text ? text : "0", out); break;
	case CONF_BOOL: (void)fputs(*text ? text : "false", out); break;
	case CONF_STRING:
	case CONF_TEXT:
	case CONF_ENUM:
	case CONF_ADDRESS:
	case CONF_PREFIX: print_string(text, strlen(text), out); break;
	case CONF_STRINGS:
		(void)fputc('[', out);
		for (size_t i = 0; *text; i++) {
			size_t length = strcspn(text, ",");

			(void)fputs(i ? ", " : "", out);
			print_string(text, length, out);
			text += length;
			text += strspn(text, ", ");
		}
		(void)fputc(']', out);
		break;
	}
}

static void print_row(const struct conf_row *row, size_t depth, FILE *out)
{
	const char *dot = strrchr(row->key, '.');
	char allowed[ALLOWED_SIZE];

	conf_value_allowed(row, allowed, sizeof(allowed));
	conf_print_indent(depth, out);
	(void)fprintf(out, "# %s%s%s%s\n", row->help ? row->help : "", row->help ? ": " : "",
		      allowed, row->default_text ? "" : "; required");
	conf_print_indent(depth, out);
	(void)fprintf(out, "%s%s = ", row->default_text && !conf_value_is_empty(row) ? "" : "#",
		      dot ? dot + 1 : row->key);
	conf_print_value(row, out);
	(void)fputs(";\n", out);
}

void conf_print(const struct conf_row rows[], size_t count, FILE *out)
{
	const char *open = ""; /* the key whose groups are open */

	for (size_t i = 0; i < count; i++) {
		size_t length = group_length(rows[i].key);
		size_t shared = shared_length(open, group_length(open), rows[i].key, length);

		close_groups(open, group_length(open), shared, out);
		open_groups(rows[i].key, shared, length, out);
		print_row(&rows[i], depth_of(rows[i].key, length), out);
		open = rows[i].key;
	}
	close_groups(open, group_length(open), 0, out);
}
