/* haasctl switch topology, port load: what links carry now, and ports over time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "portal/cli/listing.h"

const struct option_row topology_load_options[3] = {
	{"--at", 0, OPTION_VALUE, "TIME", "the end; default is now"},
	{"--window", 0, OPTION_VALUE, "TIME", "how long before it: 5m, 1h, 30d"},
	{"--points", 0, OPTION_VALUE, "N", "steps at most, 300"},
};

/* --- the links of the picture --- */

static const struct output_column topology_columns[] = {
	COLUMN("cable"),
	COLUMN("up"),
	TITLED_NUMBER("speed_bps", "CAPACITY"),
	TITLED_NUMBER("forward_bps", "FORWARD"),
	TITLED_NUMBER("forward_percent", "%"),
	TITLED_NUMBER("back_bps", "BACK"),
	TITLED_NUMBER("back_percent", "%"),
	COLUMN("by"),
	WIDE("state"),
	WIDE_NUMBER("members"),
	WIDE("fabric"),
	WIDE("at"),
};

static void topology_cli_lift(json_t *row, const char *key)
{
	const json_t *load = json_object_get(row, key);
	CLEANUP(text_done) struct text name = {0};

	text_addf(&name, "%s_bps", key);
	(void)json_object_set(row, text_get(&name), json_object_get(load, "bits_per_second"));
	text_clear(&name);
	text_addf(&name, "%s_percent", key);
	(void)json_object_set(row, text_get(&name), json_object_get(load, "percent"));
	if (json_is_object(load)) {
		(void)json_object_set(row, "by", json_object_get(load, "by"));
		(void)json_object_set(row, "at", json_object_get(load, "at"));
	}
}

/* Cells that the picture has in parts. */
static void topology_cli_prepare(json_t *link)
{
	CLEANUP(text_done) struct text cable = {0};

	text_addf(&cable, "%s:%s - %s:%s", haasctl_word(link, "a_switch"),
		  haasctl_word(link, "a_port"), haasctl_word(link, "b_switch"),
		  haasctl_word(link, "b_port"));
	(void)json_object_set_new(link, "cable", json_string(text_get(&cable)));
	topology_cli_lift(link, "back");
	topology_cli_lift(link, "forward");
}

static void topology_cli_tell_trees(const json_t *answer)
{
	const json_t *tree;
	size_t i;

	json_array_foreach(json_object_get(answer, "trees"), i, tree)
	{
		CLEANUP(text_done) struct text line = {0};
		const json_t *network;
		size_t k;

		text_addf(&line, "%s%zu links carry tenant %s:", i > 0 ? "" : "\n",
			  json_array_size(json_object_get(tree, "links")),
			  haasctl_word(tree, "tenant"));
		json_array_foreach(json_object_get(tree, "networks"), k, network)
			text_addf(&line, " %s", json_string_value(network));
		if (i == 0)
			putchar('\n');
		listing_line(&line);
	}
}

int haasctl_switch_topology(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	json_t *link;
	json_t *links;
	size_t i;
	int status;

	text_add(&target, "/topology");
	haasctl_query(&target, input, "--fabric");
	haasctl_query(&target, input, "--tenant");
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	links = json_object_get(reply.json, "links");
	json_array_foreach(links, i, link) topology_cli_prepare(link);
	status = listing_rows(input, links, COLUMNS(topology_columns));
	if (status == EXIT_OK && listing_for_people(input) && !command_option(input, "--columns"))
		topology_cli_tell_trees(reply.json);
	return status;
}

/* --- over time --- */

static time_t topology_cli_begin(const json_t *answer)
{
	struct tm tm = {0};

	return strptime(haasctl_word(answer, "from"), "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

static void set_at(json_t *row, const char *key, const json_t *values, size_t at)
{
	json_t *value = json_array_get(values, at);

	(void)json_object_set_new(row, key, value ? json_incref(value) : json_null());
}

/* A row for each step: arrays of the answer side by side. `parts` names members with a low, mean and
 * high of their own; "" = the answer itself. */
static json_t *topology_cli_steps(const json_t *answer, const char *const parts[],
				  const char *const plain[])
{
	static const char *const kinds[] = {"low", "mean", "high"};
	json_t *rows = json_array();
	time_t from = topology_cli_begin(answer);
	int64_t step_s = json_integer_value(json_object_get(answer, "step_s"));
	const json_t *first = parts[0][0]
				      ? json_object_get(json_object_get(answer, parts[0]), "mean")
				      : json_object_get(answer, "mean");

	for (size_t at = 0; at < json_array_size(first); at++) {
		json_t *row = json_object();
		time_t begin = from + (time_t)((int64_t)at * step_s);
		char text[32] = "";
		struct tm tm;

		if (gmtime_r(&begin, &tm))
			(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
		(void)json_object_set_new(row, "at", json_string(text));
		for (size_t k = 0; parts[k]; k++)
			for (size_t i = 0; i < COUNT_OF(kinds); i++) {
				const json_t *of =
					parts[k][0] ? json_object_get(answer, parts[k]) : answer;
				CLEANUP(text_done) struct text key = {0};

				text_addf(&key, "%s%s%s_bps", parts[k], parts[k][0] ? "_" : "",
					  kinds[i]);
				set_at(row, text_get(&key), json_object_get(of, kinds[i]), at);
			}
		for (size_t k = 0; plain[k]; k++)
			set_at(row, plain[k], json_object_get(answer, plain[k]), at);
		(void)json_array_append_new(rows, row);
	}
	return rows;
}

static void topology_cli_window(struct text *target, const struct command_input *input)
{
	haasctl_query(target, input, "--at");
	haasctl_query(target, input, "--window");
	haasctl_query(target, input, "--points");
}

int haasctl_port_load(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("at"),
		TITLED_NUMBER("out_mean_bps", "OUT"),
		TITLED_NUMBER("out_high_bps", "OUT_MOST"),
		TITLED_NUMBER("in_mean_bps", "IN"),
		TITLED_NUMBER("in_high_bps", "IN_MOST"),
		NUMBER("errors"),
		NUMBER("discards"),
		TITLED_WIDE("out_low_bps", "OUT_LEAST"),
		TITLED_WIDE("in_low_bps", "IN_LEAST"),
	};
	static const char *const parts[] = {"out", "in", NULL};
	static const char *const plain[] = {"errors", "discards", NULL};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(json_decrefp) json_t *rows = NULL;
	const char *colon = strchr(input->words[0], ':');
	CLEANUP(freep)
	char *name = colon ? strndup(input->words[0], (size_t)(colon - input->words[0])) : NULL;
	int status;

	if (!name || !name[0] || !colon[1])
		return haasctl_usage("%s is not SWITCH:PORT", input->words[0]);
	haasctl_path(&target, "/switches/", name, "/series?port=");
	text_add_percent(&target, colon + 1);
	topology_cli_window(&target, input);
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	rows = topology_cli_steps(reply.json, parts, plain);
	return listing_rows(input, rows, COLUMNS(columns));
}
