/* haasctl case: a complaint, its clock, what was done and found, and the answer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static const struct output_column case_columns[] = {
	NUMBER("id"),        COLUMN("state"),          COLUMN("tenant"),
	COLUMN("opened_at"), TITLED("clock", "CLOCK"), COLUMN("text"),
	WIDE("opened_by"),   WIDE("closed_at"),        WIDE_NUMBER("alert"),
	WIDE("answer"),
};

/* "7:05" of seconds, hours where there are some. */
static void clock_of(int64_t seconds, char ret[32])
{
	if (seconds < 0)
		seconds = 0;
	if (seconds >= 3600)
		(void)text_format(ret, 32, "%" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600,
				  seconds / 60 % 60, seconds % 60);
	else
		(void)text_format(ret, 32, "%" PRId64 ":%02" PRId64, seconds / 60, seconds % 60);
}

static void add_clock(json_t *row)
{
	char text[32];

	clock_of(json_integer_value(json_object_get(row, "seconds")), text);
	(void)json_object_set_new(row, "clock", json_pack("s", text));
}

static int case_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_addf(&target, "/cases?state=%s", command_option(input, "--all") ? "all" : "open");
	haasctl_query(&target, input, "--tenant");
	return listing_source_pages(
		context, input,
		&(struct listing_source){.target = text_get(&target), .prepare = add_clock},
		COLUMNS(case_columns));
}

static int case_cli_case_open(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	const char *alert = command_option(input, "--alert");
	int64_t number = 0;

	if (alert && haasctl_number("--alert", alert, &number) != EXIT_OK)
		return EXIT_USAGE;
	json_begin_object(&body, NULL);
	if (command_option(input, "--tenant"))
		json_put_string(&body, "tenant", command_option(input, "--tenant"));
	if (alert)
		json_put_int(&body, "alert", number);
	json_put_string(&body, "text", input->words[0]);
	json_end_object(&body);
	int status = haasctl_post(context, input, "/cases", &body, &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	number = json_integer_value(json_object_get(reply.json, "id"));
	printf("case %" PRId64 "\n", number);
	fprintf(stderr,
		"its clock runs; drill writes its questions into it after: export HAAS_CASE=%" PRId64
		"\n",
		number);
	return EXIT_OK;
}

static void print_entry(const json_t *entry)
{
	const json_t *detail = json_object_get(entry, "detail");
	CLEANUP(text_done) struct text from = {0};
	CLEANUP(text_done) struct text to = {0};
	const json_t *row;
	char clock[32];
	size_t i;

	clock_of(json_integer_value(json_object_get(entry, "seconds")), clock);
	printf("+%-8s %-9s %s (%s)\n", clock, haasctl_word(entry, "kind"),
	       haasctl_word(entry, "text"), haasctl_word(entry, "actor"));
	if (strcmp(haasctl_word(entry, "kind"), "query") != 0)
		return;
	if (haasctl_word(detail, "from")[0])
		printf("          %s to %s\n",
		       listing_text(json_object_get(detail, "from"), "from_at", &from),
		       listing_text(json_object_get(detail, "to"), "to_at", &to));
	json_array_foreach(json_object_get(detail, "rows"), i, row) printf(
		"          %5.1f %% %s\n", json_number_value(json_object_get(row, "share")) * 100,
		haasctl_word(row, "name"));
}

static int case_show(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text opened = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	const json_t *entry;
	char clock[32];
	size_t i;

	haasctl_path(&target, "/cases/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	if (!listing_for_people(input) || command_option(input, "--columns")) {
		CLEANUP(json_decrefp) json_t *rows = json_pack("[O]", reply.json);

		add_clock(reply.json);
		return listing_rows(input, rows, COLUMNS(case_columns));
	}
	clock_of(json_integer_value(json_object_get(reply.json, "seconds")), clock);
	printf("case %" JSON_INTEGER_FORMAT "%s%s is %s, %s after %s\n%s\n\n",
	       json_integer_value(json_object_get(reply.json, "id")),
	       haasctl_word(reply.json, "tenant")[0] ? " of " : "",
	       haasctl_word(reply.json, "tenant"), haasctl_word(reply.json, "state"), clock,
	       listing_text(json_object_get(reply.json, "opened_at"), "opened_at", &opened),
	       haasctl_word(reply.json, "text"));
	json_array_foreach(json_object_get(reply.json, "entries"), i, entry) print_entry(entry);
	return EXIT_OK;
}

static int case_cli_post(void *context, const struct command_input *input, const char *what,
			 const char *done, struct text *body)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/cases/", input->words[0], what);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "POST",
						 .target = text_get(&target),
						 .done = done,
						 .body = body ? text_get(body) : NULL});
}

static int case_cli_case_note(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "kind", command_option(input, "--finding") ? "finding" : "note");
	json_put_string(&body, "text", input->words[1]);
	json_end_object(&body);
	return case_cli_post(
		context, input, "/entries",
		command_option(input, "--finding") ? "finding written into case {1}" : NULL, &body);
}

static int case_cli_case_close(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "answer", input->words[1]);
	json_put_bool(&body, "publish", command_option(input, "--publish") != NULL);
	json_end_object(&body);
	return case_cli_post(
		context, input, "/close",
		command_option(input, "--publish") ? "case {1} closed, its report published" : NULL,
		&body);
}

static int case_cli_case_publish(void *context, const struct command_input *input)
{
	return case_cli_post(context, input, "/publish", NULL, NULL);
}

static int case_report(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	haasctl_path(&target, "/cases/", input->words[0], "/report");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	printf("%s", haasctl_word(reply.json, "report")); /* lines of a mail: masked by the door */
	return EXIT_OK;
}

static const struct option_row open_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "the complaining tenant (yours, if you have one)"},
	{"--alert", 0, OPTION_VALUE, "ALERT", "the alert that it is about"},
};
static const struct option_row case_cli_list_options[] = {
	{"--all", 0, OPTION_FLAG, NULL, "also those that were answered"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row note_options[] = {
	{"--finding", 0, OPTION_FLAG, NULL, "the tenant can read it, unlike a note"},
};
static const struct option_row close_options[] = {
	{"--publish", 0, OPTION_FLAG, NULL, "the tenant can read the report from now on"},
};

static const struct command case_cli_commands[] = {
	{"case", "open", "TEXT", "a complaint comes in: its clock runs", OPTIONS(open_options), 1,
	 1, case_cli_case_open,
	 .example = "case open 'n1 reaches n2 at 3 Gbit/s only' --tenant acme"},
	{"case", "list", "", "complaints that wait for an answer", OPTIONS(case_cli_list_options),
	 0, 0, case_list, .example = "case list --all"},
	{"case", "show", "CASE", "questions, steps and findings so far", NO_OPTIONS, 1, 1,
	 case_show, .example = "case show 5"},
	{"case", "note", "CASE TEXT", "write a note or finding into a case", OPTIONS(note_options),
	 2, 2, case_cli_case_note, .example = "case note 5 'link leaf1:up1 is full' --finding",
	 .done = "note written into case {1}"},
	{"case", "close", "CASE ANSWER", "answer a case: its clock stops", OPTIONS(close_options),
	 2, 2, case_cli_case_close,
	 .example = "case close 5 'a second uplink is in since 14:05' --publish",
	 .done = "case {1} closed"},
	{"case", "publish", "CASE", "let the tenant read the report", NO_OPTIONS, 1, 1,
	 case_cli_case_publish, .example = "case publish 5",
	 .done = "report of case {1} published"},
	{"case", "report", "CASE", "the answer with its timeline, as Markdown", NO_OPTIONS, 1, 1,
	 case_report, .example = "case report 5"},
};
const struct command_group case_group = {case_cli_commands, COUNT_OF(case_cli_commands)};
