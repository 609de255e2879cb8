/* haasctl drill: stored traffic from a link down to a flow, one level at a time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/model/drill_path.h"

#include "portal/cli/listing.h"

/* What fits beside the other columns on 80. */
#define NAME_WIDTH 40

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static void rate_text(const json_t *row, char ret[32])
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	double rate = number(row, "bits_per_second");
	size_t unit = 0;

	while (rate >= 999.95 && unit + 1 < COUNT_OF(units)) {
		rate /= 1000;
		unit++;
	}
	(void)text_format(ret, 32, unit ? "%.1f %s" : "%.0f %s", rate, units[unit]);
}

/* The larger half of the 95 % interval, in percent of the estimate. */
static void bound_text(const json_t *row, char ret[16])
{
	double bytes = number(row, "bytes");
	double half = fmax(bytes - number(row, "bytes_low"), number(row, "bytes_high") - bytes);
	double percent = bytes > 0 ? half / bytes * 100 : 0;

	if (bytes <= 0)
		(void)text_copy(ret, 16, "-");
	else
		(void)text_format(ret, 16, percent < 10 ? "%.1f" : "%.0f", percent);
}

/* A row as people read it: its name cut to what fits, unless it may be wide. */
static json_t *row_for_people(const json_t *row, const char *name, bool wide)
{
	char cut[NAME_WIDTH + 1], rate[32], bound[16], share[16];
	const json_t *path = json_object_get(row, "path");

	if (!wide && !text_copy(cut, sizeof(cut), name)) {
		memcpy(cut + NAME_WIDTH - 3, "...", 4);
		name = cut;
	}
	rate_text(row, rate);
	bound_text(row, bound);
	(void)text_format(share, sizeof(share), "%.1f", number(row, "share") * 100);
	return json_pack("{s:s, s:s, s:s, s:s, s:O, s:O?, s:s}", "name", name, "rate", rate,
			 "share", share, "bound", bound, "samples", json_object_get(row, "samples"),
			 "path", path, "network", haasctl_word(row, "network"));
}

static bool has_bytes(const json_t *row)
{
	return number(row, "bytes") > 0;
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
	if (has_bytes(other) && json_array_size(rows) > 0)
		(void)json_array_append_new(rows, row_for_people(other, "other", wide));
	return json_array_size(rows) > 0 ? listing_rows(input, rows, COLUMNS(columns)) : EXIT_OK;
}

static int print_level(const struct command_input *input, const json_t *level)
{
	const json_t *total = json_object_get(level, "total");
	const json_t *exact = json_object_get(total, "exact_bytes");
	CLEANUP(text_done) struct text from = {0};
	CLEANUP(text_done) struct text to = {0};
	CLEANUP(text_done) struct text bytes = {0};
	CLEANUP(text_done) struct text counted = {0};
	const char *path = haasctl_word(level, "path");
	char rate[32], bound[16];
	const json_t *note;
	size_t i;

	printf("%s\n%s to %s UTC\n\n", path[0] ? path : "all links",
	       listing_text(json_object_get(level, "from"), "from_at", &from),
	       listing_text(json_object_get(level, "to"), "to_at", &to));
	int status = print_table(input, level);
	rate_text(total, rate);
	bound_text(total, bound);
	if (!has_bytes(total))
		printf("no traffic was seen here then\n");
	else
		printf("total %s +- %s %%, %s\n", rate, bound,
		       listing_text(json_object_get(total, "bytes"), "total_bytes", &bytes));
	if (json_is_integer(exact))
		printf("the interface counted %s\n", listing_text(exact, "exact_bytes", &counted));
	json_array_foreach(json_object_get(level, "notes"), i, note)
		printf("note: %s\n", json_string_value(note));
	return status;
}

/* Rows of the API's own members, "other" last; notes are talk. */
static int print_rows(const struct command_input *input, const json_t *level)
{
	static const struct output_column columns[] = {
		COLUMN("path"),        COLUMN("name"),       NUMBER("bytes"),
		NUMBER("bytes_low"),   NUMBER("bytes_high"), NUMBER("bits_per_second"),
		NUMBER("packets"),     NUMBER("samples"),    NUMBER("share"),
		NUMBER("exact_bytes"), COLUMN("network"),
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

static int drill(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	struct problem problem = {0};
	struct drill_path path;

	if (input->word_count > 0 && drill_path_parse(input->words[0], &path, &problem) != 0) {
		haasctl_problem(&problem);
		return EXIT_USAGE;
	}
	text_add(&target, "/drill");
	if (input->word_count > 0 && input->words[0][0]) {
		text_add(&target, "?path=");
		haasctl_escape(&target, input->words[0]);
	}
	haasctl_query(&target, input, "--at", "at");
	haasctl_query(&target, input, "--window", "window");
	haasctl_query(&target, input, "--limit", "limit");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	return listing_for_people(input) && !command_option(input, "--columns")
		       ? print_level(input, reply.json)
		       : print_rows(input, reply.json);
}

static const struct option_row drill_options[] = {
	{"--at", 0, OPTION_VALUE, "TIME", "the end: 10:42 (UTC) or RFC 3339; default now"},
	{"--window", 0, OPTION_VALUE, "TIME", "how long before it, 1m to 30d, default 5m"},
	{"--limit", 0, OPTION_VALUE, "N", "the N largest, default 100; the rest is other"},
};

static const struct command commands[] = {
	{"drill", "", "[PATH]", "whose traffic it was, from the links down to a flow",
	 OPTIONS(drill_options), 0, 1, drill},
};
const struct command_group drill_group = {commands, COUNT_OF(commands)};
