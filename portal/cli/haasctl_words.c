/* Words of a command line: numbers, durations, paths, members; and the sum of several outcomes. */
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/haasctl.h"

int haasctl_number(const char *name, const char *word, int64_t *ret)
{
	char *end = NULL;
	long long number = strtoll(word, &end, 10);

	if (*word < '0' || *word > '9' || *end != '\0' || number < 1 || number == INT64_MAX)
		return haasctl_usage("%s %s is not a positive number", name, word);
	*ret = number;
	return EXIT_OK;
}

int64_t haasctl_duration_s(const char *text)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'\0', 1}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char *end;
	long long number = strtoll(text, &end, 10);

	if (end == text || number < 0 || number > 1000000)
		return -1;
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (*end == units[i].unit && (*end == '\0' || end[1] == '\0'))
			return number * units[i].seconds;
	}
	return -1;
}

int haasctl_timeout_s(const struct command_input *input, int64_t *ret)
{
	const char *word = command_option(input, "--timeout");
	int64_t limit_s = word ? haasctl_duration_s(word) : 3600;

	if (limit_s < 0)
		return haasctl_usage("--timeout %s is not a duration; say 90s, 30m or 2h", word);
	*ret = limit_s;
	return EXIT_OK;
}

void tally_add(struct tally *tally, int status)
{
	if (status == EXIT_OK) {
		tally->good++;
		return;
	}
	tally->bad++;
	tally->failure = status;
}

int tally_status(const struct tally *tally)
{
	if (tally->bad == 0)
		return EXIT_OK;
	return tally->good > 0 ? EXIT_PARTIAL : tally->failure;
}

int haasctl_each(struct haasctl *haasctl, const struct command_input *input, const char *method,
		 const char *before, const char *after)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(haasctl); i++) {
		CLEANUP(text_done) struct text target = {0};

		haasctl_path(&target, before, input->words[i], after);
		tally_add(&tally, haasctl_do(haasctl, input,
					     &(struct haasctl_call){.method = method,
								    .target = text_get(&target),
								    .object = input->words[i]}));
	}
	return tally_status(&tally);
}

int haasctl_rows(const json_t *rows, haasctl_row_fn fn, void *context)
{
	const json_t *row;
	size_t i;
	int status = EXIT_OK;

	json_array_foreach(rows, i, row)
	{
		status = fn(context, row);
		if (status != EXIT_OK)
			break;
	}
	return status;
}

int haasctl_pages(struct haasctl *haasctl, const struct command_input *input, const char *target,
		  haasctl_row_fn fn, void *context)
{
	CLEANUP(text_done) struct text page = {0};
	int status = EXIT_OK;

	text_add(&page, target);
	while (status == EXIT_OK && page.size > 0) {
		CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
		const char *next;

		status = haasctl_get(haasctl, input, text_get(&page), &reply);
		if (status == EXIT_OK)
			status = haasctl_rows(json_object_get(reply.json, "items"), fn, context);
		next = haasctl_word(reply.json, "next");
		text_clear(&page);
		if (*next) {
			text_addf(&page, "%s&cursor=", target);
			text_add_percent(&page, next);
		}
	}
	return status;
}

void haasctl_path(struct text *target, const char *before, const char *word, const char *after)
{
	text_clear(target);
	text_add(target, before);
	text_add_percent(target, word);
	text_add(target, after);
}

bool haasctl_from_base64(const char *base64, unsigned char *ret, size_t room, size_t *ret_size)
{
	return sodium_base642bin(ret, room, base64, strlen(base64), NULL, ret_size, NULL,
				 sodium_base64_VARIANT_ORIGINAL) == 0;
}

const char *haasctl_split_version(const char *word, char name[128])
{
	const char *colon = strchr(word, ':');

	if (!colon || !text_format(name, 128, "%.*s", (int)(colon - word), word))
		return NULL;
	return colon + 1;
}

int haasctl_version_path(struct text *target, const char *before, const char *word)
{
	char name[128];
	const char *version = haasctl_split_version(word, name);

	if (!version)
		return haasctl_usage("say NAME:VERSION, not %s", word);
	haasctl_path(target, before, name, "/");
	text_add_percent(target, version);
	return EXIT_OK;
}

void haasctl_query(struct text *target, const struct command_input *input, const char *option)
{
	const char *value = command_option(input, option);

	if (!value)
		return;
	text_addf(target, "%c%s=", strchr(text_get(target), '?') ? '&' : '?',
		  option + strlen("--"));
	text_add_percent(target, value);
}

void haasctl_json_words(struct text *body, const char *key, const char *const words[], size_t count)
{
	json_begin_array(body, key);
	for (size_t i = 0; i < count; i++)
		json_put_string(body, NULL, words[i]);
	json_end_array(body);
}

const char *haasctl_word(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

const json_t *haasctl_member(const json_t *row, const char *path)
{
	char part[64];

	while (row) {
		size_t length = strcspn(path, ".");

		(void)text_format(part, sizeof(part), "%.*s", (int)length, path);
		row = json_object_get(row, part);
		if (path[length] == '\0')
			break;
		path += length + 1;
	}
	return row;
}
