/* haasctl alert: alerts for a person to check, their suspects, and what nobody wants to hear
 * of for a while. */
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static int alert_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		NUMBER("id"),           COLUMN("severity"),   COLUMN("subject"),
		COLUMN("kind"),         COLUMN("raised_at"),  TITLED("acknowledged_by", "SEEN_BY"),
		WIDE("message"),        WIDE("hint"),         WIDE("seen_at"),
		WIDE("cleared_at"),     WIDE("subject_kind"), WIDE("acknowledged_at"),
		WIDE("silenced_until"), WIDE("tenant"),
	};
	/* Which of them are over is what one looks for then. */
	static const struct output_column all_columns[] = {
		NUMBER("id"),           COLUMN("subject"),
		COLUMN("kind"),         COLUMN("raised_at"),
		COLUMN("cleared_at"),   TITLED_WIDE("acknowledged_by", "SEEN_BY"),
		WIDE("severity"),       WIDE("message"),
		WIDE("hint"),           WIDE("seen_at"),
		WIDE("subject_kind"),   WIDE("acknowledged_at"),
		WIDE("silenced_until"), WIDE("tenant"),
	};
	CLEANUP(text_done) struct text target = {0};
	const char *state = command_option(input, "--all")        ? "all"
			    : command_option(input, "--silenced") ? "silenced"
								  : "open";

	text_addf(&target, "/alerts?state=%s", state);
	haasctl_query(&target, input, "--kind");
	haasctl_query(&target, input, "--subject");
	if (strcmp(state, "all") == 0)
		return listing_pages(context, input, text_get(&target), 0, COLUMNS(all_columns));
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(columns));
}

/* Of one that is over as it was then. */
static void print_drill(const char *before, const char *path, const char *at)
{
	if (path[0])
		printf("%shaasctl drill %s%s%s\n", before, path, at[0] ? " --at " : "", at);
}

static void print_suspects(const json_t *suspects, const char *at)
{
	const json_t *suspect;
	size_t i;

	if (json_array_size(suspects) > 0)
		printf("\nsuspects, the first one most:\n");
	json_array_foreach(suspects, i, suspect)
	{
		printf("%3zu. %s %s (%" JSON_INTEGER_FORMAT ")\n     %s\n", i + 1,
		       haasctl_word(suspect, "kind"), haasctl_word(suspect, "name"),
		       json_integer_value(json_object_get(suspect, "score")),
		       haasctl_word(suspect, "reasons"));
		print_drill("     ", haasctl_word(suspect, "drill"), at);
	}
}

/* Paths have no quotes and no blanks in them: what is odd is percent-encoded. */
static int alert_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"id",         "kind",   "severity",        "subject", "message",   "value",
		"peak",       "unit",   "window_s",        "hint",    "raised_at", "seen_at",
		"cleared_at", "tenant", "acknowledged_by", NULL};
	static const struct output_column columns[] = {
		COLUMN("id"), COLUMN("kind"), COLUMN("subject"), COLUMN("message"), COLUMN("hint")};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	haasctl_path(&target, "/alerts/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	CLEANUP(json_decrefp) json_t *alert = json_copy(reply.json);
	const char *at = haasctl_word(reply.json, "drill_at");
	bool people = listing_for_people(input) && !command_option(input, "--columns");

	if (people) {
		(void)json_object_del(alert, "suspects");
		(void)json_object_del(alert, "drill");
		(void)json_object_del(alert, "drill_at");
	}
	status = listing_object(input, alert, &(struct show){order, COLUMNS(columns)});
	if (people) {
		print_drill("\n", haasctl_word(reply.json, "drill"), at);
		print_suspects(json_object_get(reply.json, "suspects"), at);
	}
	return status;
}

static int alert_cli_alert_acknowledge(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "POST", "/alerts/", "/acknowledge");
}

/* --- silences --- */

static const struct output_column silence_columns[] = {
	NUMBER("id"),    COLUMN("kind"),   COLUMN("subject"),  COLUMN("reason"), COLUMN("until"),
	COLUMN("actor"), NUMBER("silent"), WIDE("created_at"), WIDE("ended_by"),
};

static int alert_cli_alert_silence(void *context, const struct command_input *input)
{
	static const char *const members[] = {"kind", "subject"};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	const char *length = command_option(input, "--for");
	int64_t seconds = length ? haasctl_duration_s(length) : 0;
	const char *reason = command_option(input, "--reason");

	if (!reason)
		return haasctl_usage("a reason is needed: --reason TEXT is kept with the silence");
	if (!length)
		return haasctl_usage("say how long: --for 2h");
	if (seconds < 1)
		return haasctl_usage("--for %s is not a time like 90s, 30m, 2h, 3d", length);
	if (!command_option(input, "--kind") && !command_option(input, "--subject"))
		return haasctl_usage("a silence needs --kind, --subject, or both");
	json_begin_object(&body, NULL);
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		char option[16];

		(void)text_format(option, sizeof(option), "--%s", members[i]);
		if (command_option(input, option))
			json_put_string(&body, members[i], command_option(input, option));
	}
	json_put_string(&body, "reason", reason);
	json_put_int(&body, "for_s", seconds);
	json_end_object(&body);
	int status = haasctl_post(context, input, "/silences", &body, &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	CLEANUP(json_decrefp) json_t *rows = json_pack("[O]", reply.json);

	return listing_rows(input, rows, COLUMNS(silence_columns));
}

static int alert_silences(void *context, const struct command_input *input)
{
	return listing_pages(context, input,
			     command_option(input, "--all") ? "/silences?state=all" : "/silences",
			     0, COLUMNS(silence_columns));
}

static int alert_unsilence(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/silences/", "");
}

static const struct option_row alert_cli_list_options[] = {
	{"--all", 0, OPTION_FLAG, NULL, "also those that ended, are silenced, or only inform"},
	{"--silenced", 0, OPTION_FLAG, NULL, "those that are open and silenced"},
	{"--kind", 0, OPTION_VALUE, "KIND", "wiring.miscabled, or a pattern: wiring.*"},
	{"--subject", 0, OPTION_VALUE, "SUBJECT", "of this switch, port (SWITCH:PORT) or node"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row alert_cli_silence_options[] = {
	{"--reason", 0, OPTION_VALUE, "TEXT", "the reason for the silence"},
	{"--for", 0, OPTION_VALUE, "TIME", "how long, 30m, 2h, 3d"},
	{"--kind", 0, OPTION_VALUE, "KIND", "begin of their kinds: traffic., wiring.missing"},
	{"--subject", 0, OPTION_VALUE, "SUBJECT", "begin of their subjects: leaf1:, leaf1:up0"},
};
static const struct option_row silences_options[] = {
	{"--all", 0, OPTION_FLAG, NULL, "also those that have ended"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};

static const struct command alert_cli_commands[] = {
	{"alert", "list", "", "open alerts, for a person to check", OPTIONS(alert_cli_list_options),
	 0, 0, alert_list, .example = "alert list --kind 'wiring.*'"},
	{"alert", "show", "ALERT", "one alert: what to do, and its suspects", NO_OPTIONS, 1, 1,
	 alert_show, .example = "alert show 17"},
	{"alert", "ack", "ALERT...", "note that an operator takes care of it", NO_OPTIONS, 1, 1000,
	 alert_cli_alert_acknowledge, .example = "alert ack 17", .done = "alert {*} acknowledged"},
	{"alert", "silence", "", "suppress alerts for a while", OPTIONS(alert_cli_silence_options),
	 0, 0, alert_cli_alert_silence,
	 .example = "alert silence --reason 'spine1 is replaced' --subject spine1: --for 2h"},
	{"alert", "silences", "", "silences with their author and end", OPTIONS(silences_options),
	 0, 0, alert_silences, .example = "alert silences --all"},
	{"alert", "unsilence", "SILENCE...", "end a silence", NO_OPTIONS, 1, 1000, alert_unsilence,
	 .example = "alert unsilence 4", .done = "silence {*} ended"},
};
const struct command_group alert_group = {alert_cli_commands, COUNT_OF(alert_cli_commands)};
