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

/* For people "2026-11-21T04:17:17.240032+00:00" is "2026-11-21 04:17:17"; every other format keeps
 * the API's text. */
static const char *short_time(const char *cell, char ret[20])
{
	int end = 0;

	if (sscanf(cell, "%*4[0-9]-%*2[0-9]-%*2[0-9]T%*2[0-9]:%*2[0-9]:%*2[0-9]%n", &end) != 0 ||
	    end != 19)
		return cell;
	memcpy(ret, cell, 19);
	ret[10] = ' ';
	ret[19] = '\0';
	return ret;
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
	char(*times)[20] = calloc(count, sizeof(*times));
	bool people = output_is_table(output);

	for (size_t i = 0; cells && texts && times && i < count; i++) {
		cells[i] = haasctl_cell(row, columns[i].key, &texts[i]);
		if (cells[i] && people)
			cells[i] = short_time(cells[i], times[i]);
	}
	if (cells && texts && times)
		output_row(output, cells);
	for (size_t i = 0; texts && i < count; i++)
		text_done(&texts[i]);
	free(texts);
	free(times);
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

/* One page onto the output; *left rows may still be written. */
static void write_page(struct output *output, const json_t *page,
		       const struct output_column columns[], size_t count, size_t *left)
{
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(page, "items"), i, row)
	{
		if (*left == 0)
			return;
		*left -= 1;
		haasctl_row(output, row, columns, count);
	}
}

/* JSON is the API's own: all pages joined into one array, or one object per line. */
static int list_as_json(struct haasctl *haasctl, const struct command_input *input,
			const char *target)
{
	CLEANUP(text_done) struct text page = {0};
	CLEANUP(text_done) struct text cursor = {0};
	const char *word = command_option(input, "--limit");
	size_t left = word && strcmp(word, "all") != 0 ? strtoul(word, NULL, 10) : SIZE_MAX;
	bool lines = format_of(input) == OUTPUT_JSONL;
	const char *between = "";
	int status = next_page(target, NULL, &page);

	while (status == EXIT_OK) {
		struct haasctl_reply reply = {0};
		const json_t *row;
		size_t i;

		status = haasctl_get(haasctl, input, text_get(&page), &reply);
		if (status != EXIT_OK)
			break;
		if (!lines && !*between)
			fputs("[", stdout);
		json_array_foreach(json_object_get(reply.json, "items"), i, row)
		{
			if (left == 0)
				break;
			left--;
			fputs(lines ? "" : *between == ',' ? ",\n" : "\n", stdout);
			json_dumpf(row, stdout, JSON_COMPACT);
			fputs(lines ? "\n" : "", stdout);
			between = ",";
		}
		between = *between ? between : " ";
		const char *next = json_string_value(json_object_get(reply.json, "next"));
		text_clear(&cursor);
		if (next && left > 0)
			text_add(&cursor, next);
		haasctl_reply_done(&reply);
		if (cursor.size == 0)
			break;
		status = next_page(target, text_get(&cursor), &page);
	}
	if (status == EXIT_OK && !lines)
		fputs("\n]\n", stdout);
	return status;
}

int haasctl_list(struct haasctl *haasctl, const struct command_input *input, const char *target,
		 const struct output_column columns[], size_t count)
{
	CLEANUP(text_done) struct text page = {0};
	CLEANUP(text_done) struct text cursor = {0};
	const char *word = command_option(input, "--limit");
	size_t left = word && strcmp(word, "all") != 0 ? strtoul(word, NULL, 10) : SIZE_MAX;
	struct output *output = NULL;
	struct haasctl_reply reply = {0};
	enum output_format format = format_of(input);
	int status = next_page(target, NULL, &page);

	if ((format == OUTPUT_JSON || format == OUTPUT_JSONL) &&
	    !command_option(input, "--columns"))
		return list_as_json(haasctl, input, target);
	/* Nothing is written before the server has answered: an error leaves no empty table. */
	if (status == EXIT_OK)
		status = haasctl_get(haasctl, input, text_get(&page), &reply);
	if (status == EXIT_OK)
		status = haasctl_output(haasctl, input, columns, count, &output);
	while (status == EXIT_OK) {
		const char *next = json_string_value(json_object_get(reply.json, "next"));

		write_page(output, reply.json, columns, count, &left);
		text_clear(&cursor);
		if (!next || left == 0)
			break;
		text_add(&cursor, next);
		haasctl_reply_done(&reply);
		status = next_page(target, text_get(&cursor), &page);
		if (status == EXIT_OK)
			status = haasctl_get(haasctl, input, text_get(&page), &reply);
	}
	haasctl_reply_done(&reply);
	if (output && output_end(output) < 0 && status == EXIT_OK)
		return EXIT_FAILED;
	return status;
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
