/* haasctl drill: stored traffic from a link down to a flow, one level at a time. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/model/drill_url.h"

#include "portal/cli/drill/drill_complete.h"
#include "portal/cli/drill/drill_session.h"
#include "portal/cli/listing.h"

/* What fits beside the other columns on 80. */
#define NAME_WIDTH       40
#define DEFAULT_WINDOW_S 300

/* A row as people read it: its name cut to what fits, unless it may be wide. */
static json_t *row_for_people(const json_t *row, const char *name, bool wide)
{
	char cut[NAME_WIDTH + 1];
	char rate[32];
	char bound[16];
	char share[16];
	const struct drill_part part = drill_part_of(row);
	const json_t *path = json_object_get(row, "path");

	if (!wide && !text_copy(cut, sizeof(cut), name)) {
		memcpy(cut + NAME_WIDTH - 3, "...", 4);
		name = cut;
	}
	drill_part_rate(&part, false, rate);
	drill_part_bound_text(&part, bound);
	(void)text_format(share, sizeof(share), "%.1f", part.share * 100);
	return json_pack("{s:s, s:s, s:s, s:s, s:O, s:O?, s:s}", "name", name, "rate", rate,
			 "share", share, "bound", bound, "samples", json_object_get(row, "samples"),
			 "path", path, "network", part.network);
}

static bool has_bytes(const json_t *row)
{
	return drill_part_of(row).bytes > 0;
}

static int print_table(const struct command_input *input, const json_t *level)
{
	static const struct output_column columns[] = {
		COLUMN("name"),
		TITLED_NUMBER("rate", "RATE"),
		TITLED_NUMBER("share", "SHARE %"),
		TITLED_NUMBER("bound", "+-%"),
		TITLED_NUMBER("samples", "SAMPLES"),
		TITLED_WIDE("network", "NETWORK"),
		TITLED_WIDE("path", "PATH"),
	};
	CLEANUP(json_decrefp) json_t *rows = json_array();
	const char *output = command_option(input, "--output");
	bool wide = output && strcmp(output, "wide") == 0;
	const json_t *other = json_object_get(level, "other");
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(level, "rows"), i, row)(void)
		json_array_append_new(rows, row_for_people(row, haasctl_word(row, "name"), wide));
	/* Without samples it is what rounding left, of the numbers alone. */
	if (drill_part_of(other).samples > 0 && json_array_size(rows) > 0)
		(void)json_array_append_new(rows, row_for_people(other, "other", wide));
	return json_array_size(rows) > 0 ? listing_rows(input, rows, COLUMNS(columns)) : EXIT_OK;
}

static int print_level(const struct command_input *input, const json_t *level)
{
	const json_t *total = json_object_get(level, "total");
	CLEANUP(text_done) struct text from = {0};
	CLEANUP(text_done) struct text to = {0};
	CLEANUP(text_done) struct text bytes = {0};
	CLEANUP(text_done) struct text counted = {0};
	const char *path = haasctl_word(level, "path");
	char rate[32];
	char bound[16];
	const json_t *note;
	size_t i;

	printf("%s\n%s to %s\n\n", path[0] ? path : "all links",
	       listing_text(json_object_get(level, "from"), "from_at", &from),
	       listing_text(json_object_get(level, "to"), "to_at", &to));
	int status = print_table(input, level);
	const struct drill_part sum = drill_part_of(total);
	drill_part_rate(&sum, false, rate);
	drill_part_bound_text(&sum, bound);
	if (!has_bytes(total))
		printf("no traffic was seen here then\n");
	else
		printf("total %s +- %s %%, %s\n", rate, bound,
		       listing_text(json_object_get(total, "bytes"), "total_bytes", &bytes));
	if (sum.exact_bytes >= 0) {
		drill_part_exact(&sum, json_number_value(json_object_get(level, "seconds")),
				 &counted);
		printf("%s\n", text_get(&counted));
	}
	json_array_foreach(json_object_get(level, "notes"), i, note)
		printf("note: %s\n", json_string_value(note));
	return status;
}

/* Rows of the API's own members, "other" last; notes are talk. */
static int drill_cli_print_rows(const struct command_input *input, const json_t *level)
{
	static const struct output_column columns[] = {
		COLUMN("path"),        COLUMN("name"),          NUMBER("bytes"),
		NUMBER("bytes_low"),   NUMBER("bytes_high"),    NUMBER("bits_per_second"),
		NUMBER("packets"),     NUMBER("samples"),       NUMBER("share"),
		NUMBER("exact_bytes"), NUMBER("exact_seconds"), COLUMN("network"),
	};
	CLEANUP(json_decrefp) json_t *rows = json_copy(json_object_get(level, "rows"));
	CLEANUP(json_decrefp) json_t *other = json_copy(json_object_get(level, "other"));
	const json_t *note;
	size_t i;

	(void)json_object_set_new(other, "name", json_pack("s", "other"));
	(void)json_array_append(rows, other);
	int status = listing_rows(input, rows, COLUMNS(columns));
	json_array_foreach(json_object_get(level, "notes"), i, note)
		fprintf(stderr, "haasctl: %s\n", json_string_value(note));
	return status;
}

/* Where and when: the path or the URL that was given, with what the options say instead. */
static int drill_cli_place_of(const struct command_input *input, struct drill_url *ret)
{
	const char *word = input->word_count > 0 ? input->words[0] : "";
	const char *at = command_option(input, "--at");
	const char *window = command_option(input, "--window");
	struct problem problem = {0};
	struct drill_path path;
	int rc = 0;

	*ret = (struct drill_url){0};
	if (drill_url_is(word))
		rc = drill_url_parse(word, ret, &problem);
	else if ((rc = drill_path_parse(word, &path, &problem)) == 0)
		(void)text_copy(ret->path, sizeof(ret->path), word);
	if (rc) {
		haasctl_problem(&problem);
		return EXIT_USAGE;
	}
	if ((at && !text_copy(ret->at, sizeof(ret->at), at)) ||
	    (window && !text_copy(ret->window, sizeof(ret->window), window)))
		return haasctl_usage("the time is too long; say 10:42, 10:42:30 or RFC 3339, 5m");
	return EXIT_OK;
}

/* On a terminal, or by a script: the place is a first one. */
static int look_around(struct haasctl *haasctl, const struct command_input *input,
		       const struct drill_url *place, const char *script)
{
	struct drill_view view;
	struct drill_session session = {.haasctl = haasctl,
					.input = input,
					.view = &view,
					.ascii = command_option(input, "--ascii") != NULL};
	const char *limit = command_option(input, "--limit");
	struct problem problem = {0};
	struct drill_path path;
	int64_t rows = 100;
	int64_t window_s = place->window[0] ? haasctl_duration_s(place->window) : DEFAULT_WINDOW_S;

	if (window_s < 1)
		return haasctl_usage("--window %s is not a duration; say 5m, 2h or 7d",
				     place->window);
	if (limit && haasctl_number("--limit", limit, &rows) != EXIT_OK)
		return EXIT_USAGE;
	if (drill_path_parse(place->path, &path, &problem) != 0) {
		haasctl_problem(&problem);
		return EXIT_USAGE;
	}
	drill_view_init(&view, &path, place->at, window_s);
	view.limit = (size_t)rows;
	view.tenant = command_option(input, "--as-tenant");
	view.open_case = haasctl_case(input);
	int status = script ? drill_script_run(&session, script) : drill_tui_run(&session);
	if (view.capture.id && !drill_capture_is_over(&view.capture))
		fprintf(stderr, "capture %" PRId64 " goes on: haasctl capture stop %" PRId64 "\n",
			view.capture.id, view.capture.id);
	drill_view_done(&view);
	return status;
}

static int print_once(struct haasctl *haasctl, const struct command_input *input,
		      const struct drill_url *place)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	drill_url_print(place, &target);
	haasctl_query(&target, input, "--limit");
	int status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	return listing_for_people(input) && !command_option(input, "--columns")
		       ? print_level(input, reply.json)
		       : drill_cli_print_rows(input, reply.json);
}

/* By column in the API, a row each for people. */
static int print_series(struct haasctl *haasctl, const struct command_input *input,
			const struct drill_url *place)
{
	static const char *const names[] = {"at", "seconds", "bits_per_second", "low", "high"};
	static const struct output_column columns[] = {
		COLUMN("begin_at"),
		NUMBER("seconds"),
		TITLED_NUMBER("bits_per_second", "RATE"),
		TITLED_NUMBER("low_bits_per_second", "LOW"),
		TITLED_NUMBER("high_bits_per_second", "HIGH"),
	};
	CLEANUP(text_done) struct text url = {0};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(json_decrefp) json_t *rows = json_array();
	const json_t *values[COUNT_OF(names)];
	const json_t *note;
	size_t i;

	drill_url_print(place, &url);
	text_addf(&target, "/drill/series%s", text_get(&url) + strcspn(text_get(&url), "?"));
	int status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	for (i = 0; i < COUNT_OF(names); i++)
		values[i] = json_object_get(reply.json, names[i]);
	for (i = 0; i < json_array_size(values[0]); i++) {
		char at[32] = "";
		time_t begin = (time_t)json_integer_value(json_array_get(values[0], i));
		struct tm parts;

		if (gmtime_r(&begin, &parts))
			(void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &parts);
		(void)json_array_append_new(
			rows, json_pack("{s:s, s:O?, s:O?, s:O?, s:O?}", "begin_at", at, "seconds",
					json_array_get(values[1], i), "bits_per_second",
					json_array_get(values[2], i), "low_bits_per_second",
					json_array_get(values[3], i), "high_bits_per_second",
					json_array_get(values[4], i)));
	}
	status = listing_rows(input, rows, COLUMNS(columns));
	json_array_foreach(json_object_get(reply.json, "notes"), i, note)
		fprintf(stderr, "haasctl: %s\n", json_string_value(note));
	return status;
}

static int drill_cli_drill(void *context, const struct command_input *input)
{
	const char *script = command_option(input, "--script");
	const char *prefix = command_option(input, "--complete");
	struct drill_url place;

	if (prefix)
		return drill_complete_run(context, input, prefix);
	int status = drill_cli_place_of(input, &place);
	if (status != EXIT_OK)
		return status;
	if (command_option(input, "--series"))
		return print_series(context, input, &place);
	bool asked_for_rows =
		command_option(input, "--output") || command_option(input, "--columns");
	if (script || (!asked_for_rows && drill_tui_possible()))
		return look_around(context, input, &place, script);
	return print_once(context, input, &place);
}

static const struct option_row drill_options[] = {
	{"--at", 0, OPTION_VALUE, "TIME", "the end: 10:42[:30] (UTC) or RFC 3339; default now"},
	{"--window", 0, OPTION_VALUE, "TIME", "how long before it, 1s to 30d, default 5m"},
	{"--limit", 0, OPTION_VALUE, "N", "the N largest, default 100; the rest is other"},
	{"--series", 0, OPTION_FLAG, NULL, "its rate over time, instead of its parts"},
	{"--ascii", 0, OPTION_FLAG, NULL, "on a terminal: nothing but ASCII"},
	{"--script", 0, OPTION_VALUE, "SCRIPT", "press these keys; see haasctl(1)"},
	{"--complete", 0, OPTION_VALUE, "PREFIX", "paths that begin so, for shells"},
};

static const struct command drill_cli_commands[] = {
	{"drill", "", "[WHERE]", "traffic by owner, from the links down to a flow",
	 OPTIONS(drill_options), 0, 1, drill_cli_drill,
	 .example = "drill link:leaf1:Ethernet1/49 --window 5m"},
};
const struct command_group drill_group = {drill_cli_commands, COUNT_OF(drill_cli_commands)};
