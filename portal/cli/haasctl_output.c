/* From the API's JSON to what -o asks for: lists with paging, one object, cells. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

#include "portal/cli/haasctl.h"

static enum output_format format_of(const struct command_input *input)
{
	const char *word = command_option(input, "--output");
	int format = word ? output_format_parse(word) : OUTPUT_TABLE;

	return format < 0 ? OUTPUT_TABLE : (enum output_format)format;
}

int haasctl_output(struct haasctl *haasctl, const struct command_input *input,
		   const struct output_column columns[], size_t count, struct output **ret)
{
	const char *word = command_option(input, "--output");
	const char *error = NULL;

	(void)haasctl;
	if (word && output_format_parse(word) < 0)
		return haasctl_usage("-o %s is no format; choose table, json, jsonl or csv", word);
	if (output_new(stdout, format_of(input), columns, count, command_option(input, "--columns"),
		       ret, &error) < 0)
		return haasctl_usage("%s", error ? error : "cannot write");
	return EXIT_OK;
}

bool haasctl_as_json(const struct command_input *input, const json_t *json)
{
	enum output_format format = format_of(input);

	if (format != OUTPUT_JSON && format != OUTPUT_JSONL)
		return false;
	json_dumpf(json, stdout,
		   (format == OUTPUT_JSON ? JSON_INDENT(2) : JSON_COMPACT) | JSON_ENCODE_ANY);
	putchar('\n');
	return true;
}

/* Arrays of words become "a b c", arrays of objects their first member each; objects their JSON. */
static void add_value(struct text *scratch, const json_t *value)
{
	const json_t *element;
	size_t i;

	switch (json_typeof(value)) {
	case JSON_STRING: text_add(scratch, json_string_value(value)); break;
	case JSON_INTEGER:
		text_addf(scratch, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL: text_addf(scratch, "%.6g", json_real_value(value)); break;
	case JSON_TRUE: text_add(scratch, "yes"); break;
	case JSON_FALSE: text_add(scratch, "no"); break;
	case JSON_NULL: break;
	case JSON_ARRAY:
		json_array_foreach(value, i, element)
		{
			CLEANUP(freep) char *dump = NULL;

			if (i > 0)
				text_add(scratch, " ");
			if (json_is_string(element)) {
				text_add(scratch, json_string_value(element));
				continue;
			}
			dump = json_dumps(element, JSON_COMPACT | JSON_ENCODE_ANY);
			text_add(scratch, dump ? dump : "");
		}
		break;
	case JSON_OBJECT: {
		CLEANUP(freep) char *dump = json_dumps(value, JSON_COMPACT);

		text_add(scratch, dump ? dump : "");
		break;
	}
	}
}

const char *haasctl_cell(const json_t *row, const char *key, struct text *scratch)
{
	char part[64];
	const json_t *value = row;

	for (const char *at = key; at && value; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL) {
		size_t length = strcspn(at, ".");

		if (length >= sizeof(part))
			return NULL;
		memcpy(part, at, length);
		part[length] = '\0';
		value = json_object_get(value, part);
	}
	if (!value || json_is_null(value))
		return NULL;
	text_clear(scratch);
	add_value(scratch, value);
	return text_get(scratch);
}

void haasctl_row(struct output *output, const json_t *row, const struct output_column columns[],
		 size_t count)
{
	const char **cells = calloc(count, sizeof(*cells));
	struct text *texts = calloc(count, sizeof(*texts));

	for (size_t i = 0; cells && texts && i < count; i++)
		cells[i] = haasctl_cell(row, columns[i].key, &texts[i]);
	if (cells && texts)
		output_row(output, cells);
	for (size_t i = 0; texts && i < count; i++)
		text_done(&texts[i]);
	free(texts);
	free(cells);
}

static int next_page(const char *target, const char *cursor, struct text *ret)
{
	text_clear(ret);
	text_addf(ret, "%s%climit=500", target, strchr(target, '?') ? '&' : '?');
	if (cursor) {
		text_add(ret, "&cursor=");
		haasctl_escape(ret, cursor);
	}
	return ret->failed ? EXIT_FAILED : EXIT_OK;
}

int haasctl_list(struct haasctl *haasctl, const struct command_input *input, const char *target,
		 const struct output_column columns[], size_t count)
{
	CLEANUP(text_done) struct text page = {0};
	CLEANUP(text_done) struct text cursor = {0};
	const char *word = command_option(input, "--limit");
	size_t left = word && strcmp(word, "all") != 0 ? strtoul(word, NULL, 10) : SIZE_MAX;
	struct output *output = NULL;
	int status = haasctl_output(haasctl, input, columns, count, &output);

	if (status != EXIT_OK)
		return status;
	do {
		struct haasctl_reply reply = {0};
		const json_t *row;
		size_t i;

		status = next_page(target, cursor.size > 0 ? text_get(&cursor) : NULL, &page);
		if (status == EXIT_OK)
			status = haasctl_get(haasctl, input, text_get(&page), &reply);
		if (status != EXIT_OK)
			break;
		text_clear(&cursor);
		json_array_foreach(json_object_get(reply.json, "items"), i, row)
		{
			if (left == 0)
				break;
			left--;
			haasctl_row(output, row, columns, count);
		}
		const char *next = json_string_value(json_object_get(reply.json, "next"));
		if (next && left > 0)
			text_add(&cursor, next);
		haasctl_reply_done(&reply);
	} while (cursor.size > 0);
	return output_end(output) < 0 && status == EXIT_OK ? EXIT_FAILED : status;
}

static void show_lines(const json_t *object, const char *indent)
{
	const char *key;
	json_t *value;
	size_t width = 0;

	json_object_foreach((json_t *)(uintptr_t)object, key, value) width =
		strlen(key) > width ? strlen(key) : width;
	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		CLEANUP(text_done) struct text text = {0};

		add_value(&text, value);
		printf("%s%-*s  %s\n", indent, (int)width, key,
		       text.size > 0 ? text_get(&text) : "-");
	}
}

int haasctl_show(struct haasctl *haasctl, const struct command_input *input, const char *target)
{
	struct haasctl_reply reply = {0};
	int status = haasctl_get(haasctl, input, target, &reply);

	if (status != EXIT_OK)
		return status;
	if (!haasctl_as_json(input, reply.json))
		show_lines(reply.json, "");
	haasctl_reply_done(&reply);
	return EXIT_OK;
}

void haasctl_escape(struct text *text, const char *value)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *value; value++) {
		if (strchr(plain, *value))
			text_add_bytes(text, value, 1);
		else
			text_addf(text, "%%%02X", (unsigned)(unsigned char)*value);
	}
}

void haasctl_query(struct text *target, const struct command_input *input, const char *option,
		   const char *key)
{
	const char *value = command_option(input, option);

	if (!value)
		return;
	text_addf(target, "%c%s=", strchr(text_get(target), '?') ? '&' : '?', key);
	haasctl_escape(target, value);
}

void haasctl_json_words(struct text *body, const char *key, const char *const words[], size_t count)
{
	json_begin_array(body, key);
	for (size_t i = 0; i < count; i++)
		json_string(body, NULL, words[i]);
	json_end_array(body);
}
