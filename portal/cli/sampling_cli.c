/* haasctl sampling: what switches send of their traffic to the collector. */
#include <stdio.h>
#include <stdlib.h>

#include "portal/cli/listing.h"

static const struct output_column sampling_cli_columns[] = {
	COLUMN("switch"),
	COLUMN("state"),
	TITLED("setting.collector", "COLLECTOR"),
	TITLED_NUMBER("setting.port", "PORT"),
	TITLED_NUMBER("rate_low", "FROM"),
	TITLED_NUMBER("rate_high", "TO"),
	TITLED_NUMBER("told_rate", "TOLD"),
	COLUMN("backoff"),
	WIDE("fabric"),
	TITLED_WIDE("setting.of", "SET_FOR"),
	TITLED_WIDE("setting.rate", "RATE"),
	TITLED_WIDE("setting.header", "HEADER"),
	TITLED_WIDE("setting.poll_s", "POLL"),
	WIDE_NUMBER("sources"),
	WIDE("checked_at"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

static int sampling_show(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/sampling", OPTION_NAMES("--fabric", "--switch"),
				COLUMNS(sampling_cli_columns));
}

/* EXIT_OK or EXIT_USAGE. */
static int setting_of(const struct command_input *input, json_t *body)
{
	static const char *const numbers[][2] = {
		{"--port", "port"}, {"--rate", "rate"}, {"--header", "header"}};
	const char *poll = command_option(input, "--poll");
	int64_t seconds = poll ? haasctl_duration_s(poll) : 0;

	if (poll && seconds < 1)
		return haasctl_usage("--poll %s is not a time like 20s, 1m", poll);
	if (poll)
		(void)json_object_set_new(body, "poll_s", json_integer(seconds));
	if (command_option(input, "--collector"))
		(void)json_object_set_new(body, "collector",
					  json_pack("s", command_option(input, "--collector")));
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		const char *value = command_option(input, numbers[i][0]);
		char *end = NULL;
		long long number = value ? strtoll(value, &end, 10) : 0;

		if (!value)
			continue;
		if (end == value || *end)
			return haasctl_usage("%s %s is not a number", numbers[i][0], value);
		(void)json_object_set_new(body, numbers[i][1], json_integer(number));
	}
	(void)json_object_set_new(body, "enabled", json_boolean(!command_option(input, "--off")));
	return EXIT_OK;
}

static int sampling_set(void *context, const struct command_input *input)
{
	const char *fabric = command_option(input, "--fabric");
	const char *name = command_option(input, "--switch");
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(json_decrefp) json_t *body = json_object();
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(freep) char *text = NULL;
	int status = setting_of(input, body);

	if (status != EXIT_OK)
		return status;
	if (!fabric == !name)
		return haasctl_usage("say --fabric FABRIC or --switch SWITCH");
	haasctl_path(&target, fabric ? "/fabrics/" : "/switches/", fabric ? fabric : name,
		     "/sampling");
	text = json_dumps(body, JSON_COMPACT);
	status = haasctl_call(context, input,
			      &(struct haasctl_call){.method = "PUT",
						     .target = text_get(&target),
						     .edits = text_get(&target),
						     .body = text},
			      &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	return listing_rows(input, json_object_get(reply.json, "items"),
			    COLUMNS(sampling_cli_columns));
}

/* What was not taken, if anything. */
static void tell_refused(const json_t *answer)
{
	static const struct {
		const char *key, *words;
	} rows[] = {
		{"spoofed", "name a switch but come from elsewhere"},
		{"limited", "were more than one switch may send (agent_datagrams of flowd)"},
		{"unknown_agent", "name no switch of ours"},
		{"malformed", "could not be read to their end"},
		{"oversized", "were too long"},
		{"other_version", "were not sFlow 5, NetFlow 9 or IPFIX"},
	};
	const json_t *refused = json_object_get(answer, "refused");
	json_int_t dropped = json_integer_value(json_object_get(answer, "datagrams_dropped"));

	if (dropped > 0)
		fprintf(stderr, "haasctl: the collector's queues had no room for %lld datagrams\n",
			(long long)dropped);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		json_int_t count = json_integer_value(json_object_get(refused, rows[i].key));

		if (count > 0)
			fprintf(stderr, "haasctl: %lld datagrams %s\n", (long long)count,
				rows[i].words);
	}
}

/* Switches that sample, and of whose samples nobody can tell the ports. */
static void tell_unnumbered(const json_t *agents)
{
	const json_t *agent;
	size_t i;

	json_array_foreach(agents, i, agent)
	{
		if (!json_is_false(json_object_get(agent, "numbered")) ||
		    json_integer_value(json_object_get(agent, "samples")) == 0)
			continue;
		fprintf(stderr,
			"haasctl: no ifIndex of a port of %s is known, so its samples are not attributed; give it SNMP credentials (haasctl switch add)\n",
			json_string_value(json_object_get(agent, "switch")));
	}
}

/* Exporters of NetFlow or IPFIX of which a part is in a shape that we do not read. */
static void tell_unread(const json_t *agents)
{
	const json_t *agent;
	size_t i;

	json_array_foreach(agents, i, agent)
	{
		json_int_t sets = json_integer_value(json_object_get(agent, "sets_unread"));

		if (sets > 0)
			fprintf(stderr,
				"haasctl: %lld sets of flow records of %s have a shape that is not "
				"read: their traffic is not counted\n",
				(long long)sets,
				json_string_value(json_object_get(agent, "switch")));
	}
}

static int sampling_agents(void *context, const struct command_input *input)
{
	static const struct output_column members[] = {
		COLUMN("switch"),
		COLUMN("heard_at"),
		TITLED_NUMBER("sampling_rate", "RATE"),
		NUMBER("samples"),
		TITLED_NUMBER("samples_missing", "LOST"),
		TITLED_NUMBER("datagrams_dropped", "QUEUE"),
		TITLED_NUMBER("samples_dropped", "DROPPED"),
		NUMBER("discards"),
		WIDE_NUMBER("factor"),
		WIDE("silent"),
		WIDE("numbered"),
		WIDE_NUMBER("datagrams"),
		WIDE_NUMBER("datagrams_missing"),
		WIDE_NUMBER("restarts"),
		WIDE_NUMBER("seconds_limited"),
		WIDE_NUMBER("sets_unread"),
	};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/traffic/agents", &reply);
	int64_t thin;

	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	status = listing_rows(input, json_object_get(reply.json, "agents"), COLUMNS(members));
	thin = json_integer_value(json_object_get(reply.json, "thin_factor"));
	if (thin > 1 && listing_for_people(input))
		fprintf(stderr,
			"haasctl: the collector is overloaded: one of %lld samples is used\n",
			(long long)thin);
	if (listing_for_people(input)) {
		tell_unnumbered(json_object_get(reply.json, "agents"));
		tell_unread(json_object_get(reply.json, "agents"));
		tell_refused(reply.json);
	}
	return status;
}

static int sampling_export(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"state",         "brokers",       "problem",  "written_at", "written", "waiting",
		"waiting_bytes", "without_flows", "given_up", "failures",   "writer",  NULL};
	static const struct output_column members[] = {
		COLUMN("state"),         COLUMN("brokers"),  COLUMN("written_at"),
		NUMBER("written"),       NUMBER("waiting"),  NUMBER("waiting_bytes"),
		NUMBER("without_flows"), NUMBER("given_up"), NUMBER("failures"),
		WIDE("writer"),          WIDE("problem"),
	};

	return listing_show(context, input, "/traffic/export",
			    &(struct show){order, COLUMNS(members)});
}

static const struct option_row sampling_cli_show_options[] = {
	{"--fabric", 0, OPTION_VALUE, "FABRIC", "only of this fabric"},
	{"--switch", 0, OPTION_VALUE, "SWITCH", "only this switch"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row set_options[] = {
	{"--fabric", 0, OPTION_VALUE, "FABRIC", "all switches of this fabric"},
	{"--switch", 0, OPTION_VALUE, "SWITCH", "this switch, overriding its fabric"},
	{"--collector", 0, OPTION_VALUE, "ADDRESS", "where peregrine-flowd listens"},
	{"--port", 0, OPTION_VALUE, "PORT", "its UDP port (default 6343)"},
	{"--rate", 0, OPTION_VALUE, "N", "1 frame in N; 0: by the speed of each port (default)"},
	{"--header", 0, OPTION_VALUE, "BYTES", "of each frame (default 128)"},
	{"--poll", 0, OPTION_VALUE, "TIME", "counters of ports each so often (default 20s)"},
	{"--off", 0, OPTION_FLAG, NULL, "remove our set-up from the switches"},
};

static const struct command sampling_cli_commands[] = {
	{"sampling", "show", "", "sampling rates of switches: wanted, found and reported",
	 OPTIONS(sampling_cli_show_options), 0, 0, sampling_show, .example = "sampling show"},
	{"sampling", "set", "", "set what switches send; the rest stays unchanged",
	 OPTIONS(set_options), 0, 0, sampling_set,
	 .example = "sampling set --switch leaf1 --rate 1000 --collector 10.0.0.5"},
	{"sampling", "agents", "", "samples received, lost and dropped, per switch", NO_OPTIONS, 0,
	 0, sampling_agents, .example = "sampling agents"},
	{"sampling", "export", "", "state of the export to Kafka", NO_OPTIONS, 0, 0,
	 sampling_export, .example = "sampling export"},
};
const struct command_group sampling_group = {sampling_cli_commands,
					     COUNT_OF(sampling_cli_commands)};
