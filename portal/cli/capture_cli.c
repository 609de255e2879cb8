/* haasctl capture: packets of a tenant, with its consent. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

#include "portal/cli/capture_download.h"
#include "portal/cli/listing.h"

#define CAPTURE_CLI_POLL_MS 500

static const struct output_column capture_cli_columns[] = {
	NUMBER("id"),
	COLUMN("tenant"),
	COLUMN("node"),
	COLUMN("peer"),
	COLUMN("state"),
	NUMBER("packets"),
	TITLED_NUMBER("stored_bytes", "STORED"),
	COLUMN("requester"),
	COLUMN("consent_by"),
	COLUMN("because"),
	WIDE("switch"),
	WIDE("port"),
	WIDE("filter"),
	WIDE_NUMBER("snap_length"),
	WIDE_NUMBER("seconds"),
	WIDE_NUMBER("dropped"),
	WIDE("consent"),
	WIDE("reason"),
	WIDE("files"),
	WIDE_NUMBER("case"),
	WIDE("created_at"),
	WIDE("started_at"),
	WIDE("ended_at"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

static int capture_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/captures");
	haasctl_query(&target, input, "--tenant");
	haasctl_query(&target, input, "--state");
	if (!command_option(input, "--all") && !command_option(input, "--state"))
		text_addf(&target, "%cactive=true", strchr(text_get(&target), '?') ? '&' : '?');
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(capture_cli_columns));
}

static int capture_cli_tell_one(const struct command_input *input, struct haasctl_reply *reply)
{
	int status = EXIT_OK;

	if (!listing_json(input, reply->json)) {
		json_t *rows = json_pack("[O]", reply->json);

		status = listing_rows(input, rows, COLUMNS(capture_cli_columns));
		json_decref(rows);
	}
	haasctl_reply_done(reply);
	return status;
}

/* --- one, as it goes --- */

static int64_t capture_cli_number_of(const json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

static void show_side(const json_t *tcp, const char *side, const char *arrow)
{
	CLEANUP(text_done) struct text line = {0};
	CLEANUP(text_done) struct text size = {0};
	const json_t *told = json_object_get(tcp, side);
	static const struct {
		const char *name, *word;
	} counts[] = {{"retransmissions", "sent again"},
		      {"out_of_order", "out of order"},
		      {"duplicate_acks", "duplicate acks"},
		      {"zero_windows", "windows closed"},
		      {"resets", "resets"},
		      {"unseen", "not seen by us"}};

	text_addf(&line, "    %s %" PRId64 " segments, %s", arrow,
		  capture_cli_number_of(told, "segments"),
		  listing_text(json_object_get(told, "payload_bytes"), "payload_bytes", &size));
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		if (capture_cli_number_of(told, counts[i].name) > 0)
			text_addf(&line, ", %" PRId64 " %s",
				  capture_cli_number_of(told, counts[i].name), counts[i].word);
	}
	if (capture_cli_number_of(told, "rtt_count") > 0)
		text_addf(&line, ", rtt %.3f/%.3f/%.3f ms",
			  (double)capture_cli_number_of(told, "rtt_least_us") / 1000,
			  (double)capture_cli_number_of(told, "rtt_mean_us") / 1000,
			  (double)capture_cli_number_of(told, "rtt_most_us") / 1000);
	listing_line(&line);
}

/* Nothing that it says tells so: a port's number or an address does. */
static const char *by_port(const json_t *row)
{
	return json_is_true(json_object_get(row, "guessed")) ? " (guessed by port or address)" : "";
}

static void show_conversations(const json_t *rows)
{
	size_t count = json_array_size(rows);

	if (count > 0)
		printf("conversations\n");
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(rows, i);
		const json_t *tcp = json_object_get(row, "tcp");
		const char *application = haasctl_word(row, "application");
		CLEANUP(text_done) struct text line = {0};
		CLEANUP(text_done) struct text there = {0};
		CLEANUP(text_done) struct text back = {0};

		text_addf(&line, "  %s ~ %s %s %s%s %" PRId64 " packets, %s + %s",
			  haasctl_word(row, "a"), haasctl_word(row, "b"),
			  haasctl_word(row, "protocol"), application[0] ? application : "-",
			  by_port(row), capture_cli_number_of(row, "packets"),
			  listing_text(json_object_get(row, "bytes_ab"), "ab_bytes", &there),
			  listing_text(json_object_get(row, "bytes_ba"), "ba_bytes", &back));
		listing_line(&line);
		if (!tcp)
			continue;
		if (capture_cli_number_of(tcp, "handshake_us") > 0)
			printf("    handshake %.3f ms\n",
			       (double)capture_cli_number_of(tcp, "handshake_us") / 1000);
		show_side(tcp, "ab", "->");
		show_side(tcp, "ba", "<-");
	}
}

static void show_applications(const json_t *rows)
{
	size_t count = json_array_size(rows);

	if (count > 0)
		printf("applications\n");
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(rows, i);
		CLEANUP(text_done) struct text line = {0};
		CLEANUP(text_done) struct text size = {0};

		text_addf(&line, "  %-20s %" PRId64 " conversations, %" PRId64 " packets, %s%s",
			  haasctl_word(row, "application"),
			  capture_cli_number_of(row, "conversations"),
			  capture_cli_number_of(row, "packets"),
			  listing_text(json_object_get(row, "bytes"), "all_bytes", &size),
			  by_port(row));
		listing_line(&line);
	}
}

static int capture_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"id",         "tenant",  "node",      "peer",    "state",      "because", "packets",
		"bytes",      "dropped", "case",      "filter",  "switch",     "port",    "consent",
		"consent_by", "reason",  "requester", "problem", "created_at", NULL};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	const struct show show = {order, COLUMNS(capture_cli_columns)};
	json_t *result;
	json_t *applications;
	json_t *conversations;
	int status;

	haasctl_path(&target, "/captures/", input->words[0], "");
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status == EXIT_OK &&
	    (!listing_for_people(input) || command_option(input, "--columns"))) {
		status = listing_object(input, reply.json, &show);
	} else if (status == EXIT_OK) {
		/* What it found has sections of its own below. */
		result = json_object_get(reply.json, "result");
		applications = json_incref(json_object_get(result, "applications"));
		conversations = json_incref(json_object_get(result, "conversations"));
		(void)json_object_del(result, "applications");
		(void)json_object_del(result, "conversations");
		(void)json_object_set(reply.json, "tcp", json_object_get(result, "tcp"));
		(void)json_object_del(result, "tcp");
		status = listing_object(input, reply.json, &show);
		show_applications(applications);
		show_conversations(conversations);
		json_decref(applications);
		json_decref(conversations);
	}
	haasctl_reply_done(&reply);
	return status;
}

static void put_packet(const char *packet)
{
	CLEANUP(text_done) struct text line = {0};

	text_add(&line, packet ? packet : "");
	listing_line(&line);
}

/* Lines as they come, until it is over. */
static int capture_watch(void *context, const struct command_input *input)
{
	int status = EXIT_OK;
	int64_t after = 0;

	while (status == EXIT_OK) {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text query = {0};
		struct haasctl_reply reply = {0};
		bool over;

		haasctl_path(&target, "/captures/", input->words[0], "");
		status = haasctl_get(context, input, text_get(&target), &reply);
		if (status != EXIT_OK)
			return status;
		over = strcmp(haasctl_word(reply.json, "state"), "ended") == 0;
		if (strcmp(haasctl_word(reply.json, "state"), "running") == 0) {
			struct haasctl_reply live = {0};
			const json_t *lines;

			text_addf(&query, "/live?after=%" PRId64, after);
			text_clear(&target);
			haasctl_path(&target, "/captures/", input->words[0], text_get(&query));
			if (haasctl_get(context, input, text_get(&target), &live) == EXIT_OK) {
				lines = json_object_get(live.json, "lines");
				for (size_t i = 0; i < json_array_size(lines); i++)
					put_packet(json_string_value(json_array_get(lines, i)));
				after = capture_cli_number_of(live.json, "next");
				(void)fflush(stdout);
			}
			haasctl_reply_done(&live);
		}
		haasctl_reply_done(&reply);
		if (over)
			return EXIT_OK;
		if (!haasctl_sleep(context, CAPTURE_CLI_POLL_MS))
			status = EXIT_INTERRUPTED;
	}
	return status;
}

/* --- asking, agreeing, ending --- */

static int capture_cli_add_numbers(const struct command_input *input, struct text *body)
{
	static const struct {
		const char *option, *member;
	} numbers[] = {{"--seconds", "seconds"}, {"--snap", "snap_length"}};
	int64_t bytes = 0;
	int status = EXIT_OK;

	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		const char *word = command_option(input, numbers[i].option);
		char *end = NULL;
		long long number = word ? strtoll(word, &end, 10) : 0;

		if (word && (end == word || *end))
			return haasctl_usage("%s %s is not a number", numbers[i].option, word);
		if (word)
			json_put_int(body, numbers[i].member, number);
	}
	if (command_option(input, "--size"))
		status = haasctl_size("--size", command_option(input, "--size"), &bytes);
	if (bytes > 0)
		json_put_int(body, "max_bytes", bytes);
	return status;
}

static int capture_cli_capture_start(void *context, const struct command_input *input)
{
	static const char *const texts[][2] = {{"--node", "node"},
					       {"--peer", "peer"},
					       {"--filter", "filter"},
					       {"--reason", "reason"}};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int status;

	if (input->word_count == 0 && !command_option(input, "--node"))
		return haasctl_usage(
			"a capture needs a path like tenant:acme/vlan:1301/pair:n1~n2, or --node NODE");
	json_begin_object(&body, NULL);
	if (input->word_count > 0)
		json_put_string(&body, "path", input->words[0]);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (command_option(input, texts[i][0]))
			json_put_string(&body, texts[i][1], command_option(input, texts[i][0]));
	}
	if (command_option(input, "--ring"))
		json_put_bool(&body, "wrap", true);
	status = capture_cli_add_numbers(input, &body);
	json_end_object(&body);
	if (status == EXIT_OK)
		status = haasctl_post(context, input, "/captures", &body, &reply);
	return status == EXIT_OK ? capture_cli_tell_one(input, &reply) : status;
}

static int capture_cli_act(void *context, const struct command_input *input, const char *action)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count; i++) {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text body = {0};
		struct haasctl_reply reply = {0};
		int status;

		haasctl_path(&target, "/captures/", input->words[i], "/actions");
		json_begin_object(&body, NULL);
		json_put_string(&body, "action", action);
		json_end_object(&body);
		status = haasctl_post(context, input, text_get(&target), &body, &reply);
		if (status == EXIT_OK)
			status = capture_cli_tell_one(input, &reply);
		tally_add(&tally, status);
	}
	return tally_status(&tally);
}

static int capture_approve(void *context, const struct command_input *input)
{
	return capture_cli_act(context, input, "approve");
}

static int capture_stop(void *context, const struct command_input *input)
{
	return capture_cli_act(context, input, "stop");
}

static int capture_remove(void *context, const struct command_input *input)
{
	return capture_cli_act(context, input, "remove");
}

/* --- consent, mirror ports --- */

static const struct output_column capture_cli_grant_columns[] = {
	NUMBER("id"),         COLUMN("tenant"),     COLUMN("node"),  COLUMN("granted_by"),
	COLUMN("created_at"), COLUMN("expires_at"), COLUMN("valid"),
};

static int capture_grants(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/capture-grants", 0,
			     COLUMNS(capture_cli_grant_columns));
}

static int capture_grant(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int status;

	if (!command_option(input, "--until"))
		return haasctl_usage("a grant ends: --until 2026-12-01T18:00:00Z");
	json_begin_object(&body, NULL);
	if (command_option(input, "--node"))
		json_put_string(&body, "node", command_option(input, "--node"));
	json_put_string(&body, "expires_at", command_option(input, "--until"));
	json_end_object(&body);
	status = haasctl_post(context, input, "/capture-grants", &body, &reply);
	if (status == EXIT_OK && !listing_json(input, reply.json)) {
		json_t *rows = json_pack("[O]", reply.json);

		status = listing_rows(input, rows, COLUMNS(capture_cli_grant_columns));
		json_decref(rows);
	}
	haasctl_reply_done(&reply);
	return status;
}

static int capture_withdraw(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/capture-grants/", input->words[0], "");
	return haasctl_remove(context, input, &target);
}

static const struct output_column point_columns[] = {
	COLUMN("switch"),    COLUMN("port"),   COLUMN("collector"),
	COLUMN("interface"), COLUMN("kind"),   NUMBER("session"),
	COLUMN("address"),   COLUMN("origin"), COLUMN("there"),
};

static int capture_points(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/capture-points", 0, COLUMNS(point_columns));
}

static int capture_point(void *context, const struct command_input *input)
{
	const char *session = command_option(input, "--session");
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};

	haasctl_path(&target, "/capture-points/", input->words[0], "");
	if (command_option(input, "--none"))
		return haasctl_do(
			context, input,
			&(struct haasctl_call){.method = "DELETE",
					       .target = text_get(&target),
					       .done = "mirror target of switch {1} removed"});
	json_begin_object(&body, NULL);
	haasctl_keep_words(&body, input,
			   OPTION_NAMES("--port", "--address", "--origin", "--interface",
					"--collector", "--kind"),
			   NULL);
	if (session)
		json_put_int(&body, "session", strtoll(session, NULL, 10));
	json_end_object(&body);
	return haasctl_do(
		context, input,
		&(struct haasctl_call){
			.method = "PUT",
			.target = text_get(&target),
			.edits = text_get(&target),
			.body = text_get(&body),
			.done = command_option(input, "--address")
					? "mirrors of {switch} are sent to {address}; collector "
					  "{collector} reads them at {interface}"
					: "mirrors of {switch} go out of port {port}; collector "
					  "{collector} reads them at {interface}"});
}

static const struct option_row capture_cli_list_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--state", 0, OPTION_VALUE, "STATE", "only in this state: waiting, running, ended ..."},
	{"--all", 0, OPTION_FLAG, NULL, "also those that have ended"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row start_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "this node's traffic, instead of a path"},
	{"--peer", 0, OPTION_VALUE, "NODE", "only traffic between the two nodes"},
	{"--filter", 0, OPTION_VALUE, "BPF", "as tcpdump has it: tcp port 443 and host 10.50.0.7"},
	{"--seconds", 0, OPTION_VALUE, "N", "for so long (default 60)"},
	{"--snap", 0, OPTION_VALUE, "N", "bytes of each frame that are kept (default 128)"},
	{"--size", 0, OPTION_VALUE, "SIZE", "of its files, at most (default 64M)"},
	{"--ring", 0, OPTION_FLAG, NULL, "when full, new packets take the place of the oldest"},
	{"--reason", 0, OPTION_VALUE, "TEXT", "the reason; written to the audit log"},
};
static const struct option_row grant_options[] = {
	{"--until", 0, OPTION_VALUE, "TIME", "when it ends, within 30 days"},
	{"--node", 0, OPTION_VALUE, "NODE", "only of this node (default all)"},
};
static const struct option_row limit_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row point_options[] = {
	{"--port", 0, OPTION_VALUE, "PORT", "port of the switch where mirrored frames leave"},
	{"--address", 0, OPTION_VALUE, "IPV4", "or: address of the collector (ERSPAN)"},
	{"--origin", 0, OPTION_VALUE, "IPV4", "address of the switch that sends them (ERSPAN)"},
	{"--interface", 0, OPTION_VALUE, "NAME", "interface of the collector where they arrive"},
	{"--collector", 0, OPTION_VALUE, "NAME", "which peregrine-captured (default main)"},
	{"--kind", 0, OPTION_VALUE, "KIND", "port, gre, erspan or vxlan (default port or erspan)"},
	{"--session", 0, OPTION_VALUE, "N", "GRE key, ERSPAN session or VNI (default any)"},
	{"--none", 0, OPTION_FLAG, NULL, "remove its mirror port"},
};

static const struct command capture_cli_commands[] = {
	{"capture", "start", "[PATH]", "ask for packets of a pair or a node",
	 OPTIONS(start_options), 0, 1, capture_cli_capture_start,
	 .example = "capture start tenant:acme/vlan:1301/pair:n1~n2 --seconds 30"},
	{"capture", "list", "", "captures, newest first", OPTIONS(capture_cli_list_options), 0, 0,
	 capture_list, .example = "capture list --all"},
	{"capture", "show", "CAPTURE", "one, with its TCP and applications", NO_OPTIONS, 1, 1,
	 capture_show, .example = "capture show 3"},
	{"capture", "watch", "CAPTURE", "its packets as they come, a line each", NO_OPTIONS, 1, 1,
	 capture_watch, .example = "capture watch 3"},
	{"capture", "approve", "CAPTURE...", "consent to another operator's request", NO_OPTIONS, 1,
	 100, capture_approve, .example = "capture approve 3"},
	{"capture", "stop", "CAPTURE...", "end it now", NO_OPTIONS, 1, 100, capture_stop,
	 .example = "capture stop 3"},
	{"capture", "download", "CAPTURE [FILE]", "its packets, as pcapng", NO_OPTIONS, 1, 2,
	 haasctl_capture_download, .example = "capture download 3 n1.pcapng",
	 .done = "packets of capture {1} written to {2}"},
	{"capture", "remove", "CAPTURE...", "delete its packets", NO_OPTIONS, 1, 100,
	 capture_remove, .example = "capture remove 3"},
	{"capture", "grant", "", "as a tenant: consent to captures", OPTIONS(grant_options), 0, 0,
	 capture_grant, .example = "capture grant --until 2026-12-01T18:00:00Z --node n1"},
	{"capture", "grants", "", "consents to captures", OPTIONS(limit_options), 0, 0,
	 capture_grants, .example = "capture grants"},
	{"capture", "withdraw", "GRANT", "as a tenant: withdraw consent", NO_OPTIONS, 1, 1,
	 capture_withdraw, .example = "capture withdraw 2", .done = "consent {1} withdrawn"},
	{"capture", "point", "SWITCH", "set the target of a switch's mirrors",
	 OPTIONS(point_options), 1, 1, capture_point,
	 .example = "capture point leaf1 --port Ethernet1/48"},
	{"capture", "points", "", "switches that have a mirror port", OPTIONS(limit_options), 0, 0,
	 capture_points, .example = "capture points"},
};
const struct command_group capture_group = {capture_cli_commands, COUNT_OF(capture_cli_commands)};
