/* haasctl status: what an operator must look at now, on one screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portal/cli/listing.h"

/* A note is of an alert that somebody acknowledged or silenced: they know what to do. */
static void status_cli_print_item(const json_t *item)
{
	bool wrong = strcmp(haasctl_word(item, "state"), "wrong") == 0;
	const json_t *since = json_object_get(item, "since");
	const char *next = haasctl_word(item, "hint");
	CLEANUP(text_done) struct text line = {0};
	CLEANUP(text_done) struct text time = {0};

	text_addf(&line, "    %s %s: %s", wrong ? "!" : "-", haasctl_word(item, "subject"),
		  haasctl_word(item, "message"));
	listing_line(&line);
	if (!wrong)
		return;
	text_clear(&line);
	if (!json_is_null(since))
		text_addf(&line, "since %s%s", listing_text(since, "since", &time),
			  next[0] ? "; " : "");
	if (next[0])
		text_addf(&line, "next: %s", next);
	if (line.size > 0) {
		say(stdout, "      ");
		listing_line(&line);
	}
}

static void status_cli_print(const json_t *status)
{
	const json_t *section;
	const json_t *item;
	size_t i;
	size_t j;

	json_array_foreach(json_object_get(status, "sections"), i, section)
	{
		CLEANUP(text_done) struct text line = {0};

		text_addf(&line, "%-12s %-6s %s", haasctl_word(section, "name"),
			  haasctl_word(section, "state"), haasctl_word(section, "summary"));
		listing_line(&line);
		json_array_foreach(json_object_get(section, "items"), j, item)
			status_cli_print_item(item);
	}
}

/* The exit status is the answer for scripts: 1 when something is wrong. */
static int status_cli_show(void *context, const struct command_input *input)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/status", &reply);

	if (status != EXIT_OK)
		return status;
	if (!listing_json(input, reply.json))
		status_cli_print(reply.json);
	return json_is_true(json_object_get(reply.json, "ok")) ? EXIT_OK : EXIT_FAILED;
}

static const struct command status_cli_commands[] = {
	{"status", "", "", "what to look at now; exit 1 when something is wrong", NO_OPTIONS, 0, 0,
	 status_cli_show, .example = "status"},
};
const struct command_group status_group = {status_cli_commands, COUNT_OF(status_cli_commands)};
