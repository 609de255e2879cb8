/* haasctl setting: what an operator changes while the site runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static const struct output_column setting_columns[] = {
	COLUMN("name"),     NUMBER("value"),     NUMBER("default"), COLUMN("unit"),
	WIDE_NUMBER("low"), WIDE_NUMBER("high"), WIDE("words"),     WIDE("about"),
};

static int setting_list(void *context, const struct command_input *input)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/settings", &reply);

	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	return listing_rows(input, json_object_get(reply.json, "items"), COLUMNS(setting_columns));
}

/* NAME=VALUE as a member: a number, a word, or null for "default". EXIT_OK, or the error told. */
static int setting_put(struct text *body, const char *word)
{
	CLEANUP(freep) char *name = strdup(word);
	char *value = name ? strchr(name, '=') : NULL;
	char *end;
	long long number;

	if (!value || value == name || !value[1])
		return haasctl_usage("%s is not NAME=VALUE", word);
	*value++ = '\0';
	errno = 0;
	number = strtoll(value, &end, 10);
	if (strcmp(value, "default") == 0)
		json_put_null(body, name);
	else if (*end == '\0' && errno == 0)
		json_put_int(body, name, number);
	else
		json_put_string(body, name, value);
	return EXIT_OK;
}

static int setting_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	int status = EXIT_OK;

	json_begin_object(&body, NULL);
	json_begin_object(&body, "values");
	for (size_t i = 0; i < input->word_count && status == EXIT_OK; i++)
		status = setting_put(&body, input->words[i]);
	json_end_object(&body);
	json_end_object(&body);
	if (status == EXIT_OK)
		status = haasctl_get(context, input, "/settings", &before);
	if (status != EXIT_OK)
		return status;
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "PATCH",
						 .target = "/settings",
						 .body = text_get(&body),
						 .content_type = "application/merge-patch+json",
						 .before = &before});
}

static const struct command setting_cli_commands[] = {
	{"setting", "list", "", "what may be changed while the site runs", NO_OPTIONS, 0, 0,
	 setting_list, .example = "setting list -o wide"},
	{"setting", "set", "NAME=VALUE...", "change settings; default: as it was made", NO_OPTIONS,
	 1, 64, setting_set, .example = "setting set alert.backup_hours=24 login.hours=default",
	 .done = "changed: {1}"},
};
const struct command_group setting_group = {setting_cli_commands, COUNT_OF(setting_cli_commands)};
