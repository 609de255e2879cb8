/* haasctl.h: requests that write. A command that sets some members of a thing reads the thing
 * first: members without an option keep their value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static const char *haasctl_write_value(const struct command_input *input, const char *name,
				       const char *object, const json_t *answer,
				       struct text *scratch)
{
	size_t number = (size_t)strtoul(name, NULL, 10);

	if (number > 0)
		return number <= input->word_count ? input->words[number - 1] : "";
	if (strcmp(name, "*") == 0)
		return object ? object : input->words[0];
	return listing_text(haasctl_member(answer, name), name, scratch);
}

/* `template` with its braces filled in, onto the text. */
static void haasctl_write_fill(struct text *ret, const struct command_input *input,
			       const char *template, const char *object, const json_t *answer)
{
	CLEANUP(text_done) struct text scratch = {0};

	while (*template) {
		size_t plain = strcspn(template, "{");
		size_t length = strcspn(template + plain, "}");
		char name[32];

		text_add_bytes(ret, template, plain);
		template += plain;
		if (!*template)
			break;
		(void)text_format(name, sizeof(name), "%.*s", (int)length - 1, template + 1);
		text_add(ret, haasctl_write_value(input, name, object, answer, &scratch));
		template += length + (template[length] == '}');
	}
}

void haasctl_say_done(const struct command_input *input, const char *done, const char *object,
		      const json_t *answer)
{
	CLEANUP(text_done) struct text line = {0};

	if (!done || !listing_for_people(input))
		return;
	haasctl_write_fill(&line, input, done, object, answer);
	listing_line(&line);
}

void haasctl_say_next(const struct command_input *input, const char *next, const json_t *answer)
{
	CLEANUP(text_done) struct text line = {0};

	if (!listing_for_people(input))
		return;
	haasctl_write_fill(&line, input, next, NULL, answer);
	fprintf(stderr, "haasctl: %s\n", text_get(&line));
}

int haasctl_do(struct haasctl *haasctl, const struct command_input *input,
	       const struct haasctl_call *call)
{
	struct haasctl_reply reply = {0};
	int status = haasctl_call(haasctl, input, call, &reply);

	if (status == EXIT_OK && !listing_json(input, reply.json))
		haasctl_say_done(input, call->done ? call->done : input->command->done,
				 call->object, reply.json);
	haasctl_reply_done(&reply);
	return status;
}

int haasctl_delete(struct haasctl *haasctl, const struct command_input *input, const char *target,
		   const char *object)
{
	struct haasctl_reply reply = {0};
	char etag[sizeof(reply.etag)];
	int status = haasctl_get(haasctl, input, target, &reply);

	if (status != EXIT_OK)
		return status;
	(void)text_copy(etag, sizeof(etag), reply.etag);
	haasctl_reply_done(&reply);
	return haasctl_do(
		haasctl, input,
		&(struct haasctl_call){
			.method = "DELETE", .target = target, .if_match = etag, .object = object});
}

int haasctl_put(struct haasctl *haasctl, const struct command_input *input,
		const struct text *target, const struct text *body,
		const struct haasctl_reply *before)
{
	return haasctl_do(haasctl, input,
			  &(struct haasctl_call){.method = "PUT",
						 .target = text_get(target),
						 .edits = before ? NULL : text_get(target),
						 .before = before,
						 .body = text_get(body)});
}

int haasctl_remove(struct haasctl *haasctl, const struct command_input *input,
		   const struct text *target)
{
	return haasctl_do(haasctl, input,
			  &(struct haasctl_call){.method = "DELETE", .target = text_get(target)});
}

int haasctl_get_before(struct haasctl *haasctl, const struct command_input *input,
		       const char *target, struct haasctl_reply *ret)
{
	int status = haasctl_call(
		haasctl, input,
		&(struct haasctl_call){.method = "GET", .target = target, .untold = EXIT_NOT_FOUND},
		ret);

	if (status != EXIT_NOT_FOUND)
		return status;
	haasctl_reply_done(ret);
	*ret = (struct haasctl_reply){.status = 404};
	return EXIT_OK;
}

/* "--boot-server" -> "boot_server" */
static void haasctl_write_member(const char *option, char *ret, size_t room)
{
	(void)text_copy(ret, room, option + strlen("--"));
	for (char *dash = strchr(ret, '-'); dash; dash = strchr(dash, '-'))
		*dash = '_';
}

void haasctl_keep_words(struct text *body, const struct command_input *input,
			const char *const options[], const json_t *before)
{
	for (; *options; options++) {
		const char *value = command_option(input, *options);
		char member[64];

		haasctl_write_member(*options, member, sizeof(member));
		if (!value)
			value = haasctl_word(before, member);
		if (*value && strcmp(value, "none") != 0)
			json_put_string(body, member, value);
	}
}

int haasctl_keep_number(struct text *body, const struct command_input *input, const char *option,
			const char *member, const json_t *before)
{
	const char *value = command_option(input, option);
	const json_t *was = json_object_get(before, member);
	char *end = NULL;
	long number = value ? strtol(value, &end, 10) : 0;

	if (value && (end == value || *end))
		return haasctl_usage("%s %s is not a number", option, value);
	if (value)
		json_put_int(body, member, number);
	else if (was)
		json_put_int(body, member, json_integer_value(was));
	return EXIT_OK;
}
