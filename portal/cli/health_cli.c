/* haasctl health, node health: what BMCs told of nodes, the labels concluded from it, an operator's
 * word on them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static const struct output_column label_columns[] = {
	COLUMN("node"),
	COLUMN("label"),
	COLUMN("severity"),
	COLUMN("effective"),
	TITLED("raised_at", "SINCE"),
	WIDE("state"),
	WIDE("tenant"),
	WIDE("source"),
	WIDE("reason"),
	WIDE("hint"),
	WIDE("expires_at"),
	TITLED_WIDE("acknowledged.actor", "ACKNOWLEDGED"),
	TITLED_WIDE("silenced.until", "SILENCED"),
};

static int health_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/labels",
				OPTION_NAMES("--node", "--label", "--severity", "--effect"),
				COLUMNS(label_columns));
}

/* --- one node --- */

static void print_said(const json_t *label, const char *what)
{
	const json_t *said = json_object_get(label, what);
	CLEANUP(text_done) struct text until = {0};

	if (!json_is_object(said))
		return;
	printf("    %s by %s: %s", what, haasctl_word(said, "actor"), haasctl_word(said, "reason"));
	if (json_is_string(json_object_get(said, "until")))
		printf(" (until %s)",
		       listing_text(json_object_get(said, "until"), "until_at", &until));
	printf("\n");
}

static void print_label(const json_t *label)
{
	CLEANUP(text_done) struct text since = {0};
	CLEANUP(text_done) struct text end = {0};
	const json_t *effects = json_object_get(label, "effective");
	const json_t *effect;
	size_t i;

	printf("  %s (%s, since %s)\n    %s\n", haasctl_word(label, "label"),
	       haasctl_word(label, "severity"),
	       listing_text(json_object_get(label, "raised_at"), "raised_at", &since),
	       haasctl_word(label, "reason"));
	json_array_foreach(effects, i, effect)
		printf("%s%s", i == 0 ? "    effect: " : ", ", json_string_value(effect));
	if (json_array_size(effects) > 0)
		printf("\n");
	if (haasctl_word(label, "hint")[0])
		printf("    to do: %s\n", haasctl_word(label, "hint"));
	if (strcmp(haasctl_word(label, "source"), "operator") == 0)
		printf("    said by %s%s%s\n", haasctl_word(label, "actor"),
		       haasctl_word(label, "expires_at")[0] ? ", until " : "",
		       haasctl_word(label, "expires_at")[0]
			       ? listing_text(json_object_get(label, "expires_at"), "expires_at",
					      &end)
			       : "");
	print_said(label, "acknowledged");
	print_said(label, "silenced");
}

/* Sensors that are not well; how many there are in all. */
static void print_sensors(const json_t *health)
{
	const json_t *sensors = json_object_get(health, "sensors");
	CLEANUP(text_done) struct text at = {0};
	const json_t *sensor;
	size_t bad = 0;
	size_t i;

	if (json_is_null(json_object_get(health, "sensors_at"))) {
		printf("sensors    not read yet\n");
		return;
	}
	json_array_foreach(sensors, i, sensor)
	{
		const char *state = haasctl_word(sensor, "state");

		bad += strcmp(state, "warning") == 0 || strcmp(state, "critical") == 0;
	}
	printf("sensors    %zu, %zu not nominal (%s)\n", json_array_size(sensors), bad,
	       listing_text(json_object_get(health, "sensors_at"), "sensors_at", &at));
	json_array_foreach(sensors, i, sensor)
	{
		const char *state = haasctl_word(sensor, "state");
		CLEANUP(text_done) struct text reading = {0};

		if (strcmp(state, "warning") == 0 || strcmp(state, "critical") == 0)
			printf("  %-8s %s: %s %s\n", state, haasctl_word(sensor, "name"),
			       listing_text(json_object_get(sensor, "reading"), "reading",
					    &reading),
			       haasctl_word(sensor, "unit"));
	}
}

static void print_sel(const json_t *health)
{
	const json_t *entries = json_object_get(health, "sel");
	CLEANUP(text_done) struct text at = {0};
	const json_t *entry;
	size_t i;

	printf("event log  %s\n", listing_text(json_object_get(health, "sel_at"), "sel_at", &at));
	json_array_foreach(entries, i, entry)
	{
		CLEANUP(text_done) struct text when = {0};

		printf("  %s  %s%s%s: %s%s\n",
		       listing_text(json_object_get(entry, "at"), "at", &when),
		       haasctl_word(entry, "type"), haasctl_word(entry, "sensor")[0] ? " " : "",
		       haasctl_word(entry, "sensor"), haasctl_word(entry, "event"),
		       json_is_false(json_object_get(entry, "asserted")) ? " (over)" : "");
	}
}

static int node_health(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text since = {0};
	struct haasctl_reply reply = {0};
	const json_t *label;
	size_t i;

	haasctl_path(&target, "/nodes/", input->words[0], "/health");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	const json_t *labels = json_object_get(reply.json, "labels");
	bool columns = command_option(input, "--columns") != NULL;
	if (columns || (!listing_json(input, reply.json) && !listing_for_people(input))) {
		status = listing_rows(input, labels, COLUMNS(label_columns));
	} else if (listing_for_people(input)) {
		printf("node %s is %s, power %s, %s\n", haasctl_word(reply.json, "node"),
		       haasctl_word(reply.json, "state"), haasctl_word(reply.json, "power"),
		       json_array_size(labels) == 0 ? "no health label" : "health labels:");
		json_array_foreach(labels, i, label) print_label(label);
		if (haasctl_word(reply.json, "bmc_failing_since")[0])
			printf("BMC        fails since %s\n",
			       listing_text(json_object_get(reply.json, "bmc_failing_since"),
					    "since_at", &since));
		print_sensors(reply.json);
		print_sel(reply.json);
	}
	haasctl_reply_done(&reply);
	return status;
}

/* --- the last day of its sensors --- */

/* least, mean, most and last of the series, as members of the row. */
static void sum_up(json_t *sensor)
{
	json_t *means = json_object_get(sensor, "mean");
	json_t *value;
	double sum = 0;
	double least = 0;
	double most = 0;
	size_t seen = 0;
	size_t i;

	json_array_foreach(means, i, value)
	{
		double low = json_number_value(json_array_get(json_object_get(sensor, "least"), i));
		double high = json_number_value(json_array_get(json_object_get(sensor, "most"), i));

		if (json_is_null(value))
			continue;
		least = seen == 0 || low < least ? low : least;
		most = seen == 0 || high > most ? high : most;
		sum += json_number_value(value);
		seen++;
		(void)json_object_set(sensor, "last", value);
	}
	(void)json_object_set_new(sensor, "seen", json_integer((json_int_t)seen));
	if (seen == 0)
		return;
	(void)json_object_set_new(sensor, "mean", json_real(sum / (double)seen));
	(void)json_object_set_new(sensor, "least", json_real(least));
	(void)json_object_set_new(sensor, "most", json_real(most));
}

static int node_series(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"), NUMBER("last"), NUMBER("mean"),      NUMBER("least"),
		NUMBER("most"), COLUMN("unit"), WIDE_NUMBER("seen"), WIDE_NUMBER("number"),
	};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	json_t *sensor;
	size_t i;

	haasctl_path(&target, "/nodes/", input->words[0], "/sensors");
	haasctl_query(&target, input, "--window");
	haasctl_query(&target, input, "--sensor");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (command_option(input, "--columns") || !listing_json(input, reply.json)) {
		json_t *sensors = json_object_get(reply.json, "sensors");

		json_array_foreach(sensors, i, sensor) sum_up(sensor);
		status = listing_rows(input, sensors, COLUMNS(columns));
	}
	haasctl_reply_done(&reply);
	return status;
}

/* --- an operator's word --- */

static int health_cli_add_duration(struct text *body, const struct command_input *input)
{
	const char *word = command_option(input, "--for");
	int64_t seconds = word ? haasctl_duration_s(word) : 0;

	if (seconds < 0 || (word && seconds == 0))
		return haasctl_usage("--for %s is not a time like 90s, 30m, 2h", word);
	if (word)
		json_put_int(body, "for_s", seconds);
	return EXIT_OK;
}

static int health_cli_act(void *context, const struct command_input *input, const char *action)
{
	CLEANUP(text_done) struct text body = {0};
	const char *const *effects = command_options(input, "--effect");
	const char *reason = command_option(input, "--reason");
	struct haasctl_reply reply = {0};

	if (!reason)
		return haasctl_usage("a reason is needed: --reason TEXT is kept with the label");
	json_begin_object(&body, NULL);
	haasctl_json_words(&body, "nodes", input->words + 1, input->word_count - 1);
	json_put_string(&body, "action", action);
	json_put_string(&body, "label", input->words[0]);
	json_put_string(&body, "reason", reason);
	if (command_option(input, "--severity"))
		json_put_string(&body, "severity", command_option(input, "--severity"));
	if (effects && effects[0]) {
		json_begin_array(&body, "effects");
		for (; *effects; effects++)
			json_put_string(&body, NULL, *effects);
		json_end_array(&body);
	}
	int status = health_cli_add_duration(&body, input);
	json_end_object(&body);
	if (status == EXIT_OK)
		status = haasctl_post(context, input, "/labels/actions", &body, &reply);
	if (status == EXIT_OK)
		status = listing_nodes(input, json_object_get(reply.json, "nodes"));
	haasctl_reply_done(&reply);
	return status;
}

static int health_add(void *context, const struct command_input *input)
{
	return health_cli_act(context, input, "add");
}

static int health_acknowledge(void *context, const struct command_input *input)
{
	return health_cli_act(context, input, "acknowledge");
}

static int health_silence(void *context, const struct command_input *input)
{
	if (!command_option(input, "--for"))
		return haasctl_usage("a silence needs an end: --for 2h");
	return health_cli_act(context, input, "silence");
}

static int health_clear(void *context, const struct command_input *input)
{
	return health_cli_act(context, input, "clear");
}

static const struct option_row series_options[] = {
	{"--window", 0, OPTION_VALUE, "TIME", "so far back, 30m, 6h (default 1d, at most)"},
	{"--sensor", 0, OPTION_VALUE, "SENSOR", "only sensors of this name"},
};
static const struct option_row health_cli_list_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "of this node"},
	{"--label", 0, OPTION_VALUE, "LABEL", "only this label"},
	{"--severity", 0, OPTION_VALUE, "info|warning|critical", "only of this severity"},
	{"--effect", 0, OPTION_VALUE, "no_allocation|no_automation", "only with this effect now"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row health_cli_add_options[] = {
	{"--reason", 0, OPTION_VALUE, "TEXT", "the reason; kept with the label and in the event"},
	{"--effect", 0, OPTION_REPEAT, "no_allocation|no_automation",
	 "its effect; may be repeated"},
	{"--severity", 0, OPTION_VALUE, "info|warning|critical", "default warning"},
	{"--for", 0, OPTION_VALUE, "TIME", "expires after 30m, 8h (default never)"},
};
static const struct option_row acknowledge_options[] = {
	{"--reason", 0, OPTION_VALUE, "TEXT", "the present work on it"},
	{"--for", 0, OPTION_VALUE, "TIME", "forgotten after 30m, 8h (default with the label)"},
};
static const struct option_row health_cli_silence_options[] = {
	{"--reason", 0, OPTION_VALUE, "TEXT", "the reason for the silence"},
	{"--for", 0, OPTION_VALUE, "TIME", "time that its effects are suspended, 30m, 8h"},
};
static const struct option_row clear_options[] = {
	{"--reason", 0, OPTION_VALUE, "TEXT", "how it was repaired"},
};

static const struct command health_cli_commands[] = {
	{"node", "health", "NODE", "health labels, sensors and event log of a node", NO_OPTIONS, 1,
	 1, node_health, .example = "node health n1"},
	{"node", "series", "NODE", "the last day of its sensors; -o json has each part of it",
	 OPTIONS(series_options), 1, 1, node_series, .example = "node series n1 --window 6h"},
	{"health", "list", "", "health labels and their effects", OPTIONS(health_cli_list_options),
	 0, 0, health_list, .example = "health list --severity critical"},
	{"health", "add", "LABEL NODE...", "put a label on nodes", OPTIONS(health_cli_add_options),
	 2, 1001, health_add,
	 .example = "health add fan n1 --reason 'fan 3 is loud' --effect no_allocation",
	 .done = "label {1} added to node {*}"},
	{"health", "acknowledge", "LABEL NODE...", "note that an operator knows; no other effect",
	 OPTIONS(acknowledge_options), 2, 1001, health_acknowledge,
	 .example = "health acknowledge fan n1 --reason 'a new fan is ordered'",
	 .done = "label {1} of node {*} acknowledged"},
	{"health", "silence", "LABEL NODE...", "suspend a label's effects for some time",
	 OPTIONS(health_cli_silence_options), 2, 1001, health_silence,
	 .example = "health silence fan n1 --for 8h --reason 'fan is replaced at noon'",
	 .done = "label {1} of node {*} silenced"},
	{"health", "clear", "LABEL NODE...",
	 "remove a label after repair; a rule sets it again if needed", OPTIONS(clear_options), 2,
	 1001, health_clear, .example = "health clear fan n1 --reason 'fan replaced'",
	 .done = "label {1} removed from node {*}"},
};
const struct command_group health_group = {health_cli_commands, COUNT_OF(health_cli_commands)};
