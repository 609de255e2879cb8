/* haasctl fabric, nic, link: what is plugged in where, and what is wrong with it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/base/json_text.h"
#include "common/net/mac.h"

#include "portal/cli/listing.h"

/* --- fabric --- */

static const struct output_column fabric_columns[] = {
	COLUMN("name"),
	NUMBER("vlan_low"),
	NUMBER("vlan_high"),
	TITLED_NUMBER("parking_vlan", "PARKING"),
	NUMBER("switches"),
	NUMBER("silent"),
	NUMBER("links"),
	COLUMN("repair"),
	WIDE_NUMBER("quarantine_s"),
	WIDE("created_at"),
};

static int fabric_list(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/fabrics", 0, COLUMNS(fabric_columns));
}

/* "100-199" */
static int fabric_cli_add_range(struct text *body, const char *word)
{
	char *end = NULL;
	long low = word ? strtol(word, &end, 10) : 0;
	long high;

	if (!word)
		return EXIT_OK;
	if (end == word || *end != '-')
		return haasctl_usage("--vlans %s is not a range like 100-199", word);
	word = end + 1;
	high = strtol(word, &end, 10);
	if (end == word || *end)
		return haasctl_usage("--vlans ...%s is not a range like 100-199", word);
	json_put_int(body, "vlan_low", low);
	json_put_int(body, "vlan_high", high);
	return EXIT_OK;
}

/* One number or a range. */
static int add_parking(struct text *body, const char *range)
{
	char *end = NULL;
	const char *word = range;
	long low = range ? strtol(range, &end, 10) : 0;
	long high = low;
	bool good = end != range;

	if (!range)
		return EXIT_OK;
	if (good && *end == '-') {
		word = end + 1;
		high = strtol(word, &end, 10);
		good = end != word;
	}
	if (!good || *end || low < 2 || low > 4094 || high < low || high > 4094)
		return haasctl_usage("--parking %s is not a VLAN or range like 4000-4063", range);
	json_put_int(body, "parking_vlan", low);
	if (word != range)
		json_put_int(body, "parking_count", high - low + 1);
	return EXIT_OK;
}

static int fabric_cli_fabric_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	const char *repair = command_option(input, "--foreign");
	const char *quarantine = command_option(input, "--quarantine");
	int64_t seconds = quarantine ? haasctl_duration_s(quarantine) : 0;

	if (seconds < 0)
		return haasctl_usage("--quarantine %s is not a time like 90s, 30m, 2h", quarantine);
	haasctl_path(&target, "/fabrics/", input->words[0], "");
	json_begin_object(&body, NULL);
	int status = fabric_cli_add_range(&body, command_option(input, "--vlans"));
	if (status == EXIT_OK)
		status = add_parking(&body, command_option(input, "--parking"));
	if (quarantine)
		json_put_int(&body, "quarantine_s", seconds);
	if (repair)
		json_put_string(&body, "repair", repair);
	if (command_option(input, "--take"))
		json_put_bool(&body, "take", true);
	json_end_object(&body);
	return status == EXIT_OK ? haasctl_put(context, input, &target, &body, NULL) : status;
}

static int fabric_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/fabrics/", input->words[0], "");
	return haasctl_remove(context, input, &target);
}

/* "leaf1:up1 = spine1:dn1" as one cell. */
static json_t *link_rows(const json_t *links)
{
	json_t *rows = json_array();
	const json_t *link;
	size_t i;

	json_array_foreach(links, i, link)
	{
		CLEANUP(text_done) struct text cable = {0};

		text_addf(&cable, "%s:%s - %s:%s", haasctl_word(link, "a_switch"),
			  haasctl_word(link, "a_port"), haasctl_word(link, "b_switch"),
			  haasctl_word(link, "b_port"));
		(void)json_array_append_new(
			rows, json_pack("{s:s, s:s, s:O, s:s, s:s, s:s}", "cable", text_get(&cable),
					"state", haasctl_word(link, "state"), "certainty",
					json_object_get(link, "certainty"), "evidence",
					haasctl_word(link, "evidence"), "since",
					haasctl_word(link, "since"), "seen_at",
					haasctl_word(link, "seen_at")));
	}
	return rows;
}

static const struct output_column link_columns[] = {
	COLUMN("cable"),          COLUMN("state"), TITLED_NUMBER("certainty", "SURE"),
	TITLED("evidence", "BY"), WIDE("since"),   WIDE("seen_at"),
};

static bool fabric_cli_is_silent(const json_t *alert)
{
	return strcmp(haasctl_word(alert, "kind"), "wiring.silent") == 0;
}

/* Cables of nodes that are off are no trouble: one line for all of them. */
static void print_alerts(const json_t *alerts)
{
	const json_t *alert;
	char count[COUNT_TEXT_SIZE];
	size_t silent = 0;
	size_t i;

	json_array_foreach(alerts, i, alert) silent += fabric_cli_is_silent(alert);
	if (json_array_size(alerts) == silent)
		printf("\nnothing is wrong\n");
	else
		printf("\n%s:\n",
		       count_text(count, (int64_t)(json_array_size(alerts) - silent), "problem"));
	json_array_foreach(alerts, i, alert)
	{
		if (fabric_cli_is_silent(alert))
			continue;
		printf("  %s %s (%s%s%s)\n    %s\n", haasctl_word(alert, "subject"),
		       haasctl_word(alert, "kind"), haasctl_word(alert, "severity"),
		       haasctl_word(alert, "acknowledged_by")[0] ? ", seen by " : "",
		       haasctl_word(alert, "acknowledged_by"), haasctl_word(alert, "message"));
		if (haasctl_word(alert, "hint")[0])
			printf("    to do: %s\n", haasctl_word(alert, "hint"));
	}
	if (silent > 0)
		printf("%s silent, as expected: haasctl alert list --kind wiring.silent\n",
		       count_text(count, (int64_t)silent, "planned cable"));
}

/* Numbers that were given back; each that waits for switches, with their names. */
static void print_resting(const json_t *resting)
{
	const json_t *one;
	size_t i;

	if (json_array_size(resting) > 0)
		printf("\nVLANs in quarantine before they are used again: %zu\n",
		       json_array_size(resting));
	json_array_foreach(resting, i, one)
	{
		const json_t *waits = json_object_get(one, "waits");

		if (json_array_size(waits) == 0)
			continue;
		printf("  %" JSON_INTEGER_FORMAT " also until saved by",
		       json_integer_value(json_object_get(one, "vlan")));
		for (size_t k = 0; k < json_array_size(waits); k++)
			printf(" %s", json_string_value(json_array_get(waits, k)));
		printf("\n");
	}
}

static int fabric_show(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),
		TITLED("management.role", "ROLE"),
		TITLED("management.address", "ADDRESS"),
		TITLED("observed.family", "FAMILY"),
		COLUMN("state"),
		TITLED_NUMBER("observed.up", "UP"),
		TITLED_NUMBER("observed.uplinks", "UPLINKS"),
		TITLED_WIDE("observed.read_at", "READ_AT"),
		TITLED_WIDE("observed.text", "TEXT"),
	};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	haasctl_path(&target, "/fabrics/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	const json_t *switches = json_object_get(reply.json, "switch_list");
	CLEANUP(json_decrefp) json_t *links = link_rows(json_object_get(reply.json, "link_list"));
	if (!listing_for_people(input) || command_option(input, "--columns"))
		return listing_rows(input, switches, COLUMNS(columns));
	printf("fabric %s: VLANs %" JSON_INTEGER_FORMAT "-%" JSON_INTEGER_FORMAT
	       ", free ports in %" JSON_INTEGER_FORMAT "-%" JSON_INTEGER_FORMAT
	       ", foreign changes: %s\n\n",
	       haasctl_word(reply.json, "name"),
	       json_integer_value(json_object_get(reply.json, "vlan_low")),
	       json_integer_value(json_object_get(reply.json, "vlan_high")),
	       json_integer_value(json_object_get(reply.json, "parking_vlan")),
	       json_integer_value(json_object_get(reply.json, "parking_vlan")) +
		       json_integer_value(json_object_get(reply.json, "parking_count")) - 1,
	       haasctl_word(reply.json, "repair"));
	status = listing_rows(input, switches, COLUMNS(columns));
	printf("\n");
	if (status == EXIT_OK)
		status = listing_rows(input, links, COLUMNS(link_columns));
	print_resting(json_object_get(reply.json, "resting_list"));
	print_alerts(json_object_get(reply.json, "alert_list"));
	return status;
}

static int link_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("a_switch"),     COLUMN("a_port"), COLUMN("b_switch"),
		COLUMN("b_port"),       COLUMN("state"),  TITLED_NUMBER("certainty", "SURE"),
		WIDE("since"),          WIDE("evidence"), WIDE("lag"),
		WIDE_NUMBER("members"), WIDE("fabric"),   WIDE("seen_at"),
		WIDE_NUMBER("id"),
	};
	return listing_filtered(context, input, "/links",
				OPTION_NAMES("--fabric", "--switch", "--state"), COLUMNS(columns));
}

/* --- nic --- */

static const struct output_column location_columns[] = {
	COLUMN("node"),    COLUMN("nic"),
	COLUMN("mac"),     COLUMN("switch"),
	COLUMN("port"),    TITLED_NUMBER("certainty", "SURE"),
	COLUMN("sources"), TITLED_WIDE("vlan", "VLAN"),
	WIDE("kind"),      WIDE("up"),
	WIDE("alias"),     WIDE("since"),
	WIDE("seen_at"),
};

static int nic_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/locations",
				OPTION_NAMES("--node", "--switch", "--port"),
				COLUMNS(location_columns));
}

/* MAC, NODE or NODE:NIC. */
static void location_target(struct text *target, const char *word)
{
	char mac_word[MAC_TEXT_SIZE];
	struct mac mac;
	char node[64];
	size_t length = strcspn(word, ":");

	text_add(target, "/locations?");
	if (mac_parse(word, &mac) == 0) {
		text_addf(target, "mac=%s", mac_text(mac, mac_word));
		return;
	}
	(void)text_format(node, sizeof(node), "%.*s", (int)(length < 63 ? length : 63), word);
	text_add(target, "node=");
	text_add_percent(target, node);
	if (word[length] == ':') {
		text_add(target, "&nic=");
		text_add_percent(target, word + length + 1);
	}
}

static void say_blinks(const json_t *place, const json_t *reply, int64_t seconds)
{
	const char *port = haasctl_word(place, "port");
	const char *name = haasctl_word(place, "switch");
	bool whole = strcmp(haasctl_word(reply, "blinks"), "switch") == 0;
	const json_t *real = json_object_get(reply, "seconds");
	long long time = real ? (long long)json_integer_value(real) : (long long)seconds;

	if (time == 0)
		fprintf(stderr, "%s %s blinks no more\n", whole ? "switch" : "the port on switch",
			name);
	else if (whole)
		fprintf(stderr, "switch %s blinks for %lld s, as a whole: look for its port %s\n",
			name, time, port);
	else
		fprintf(stderr, "port %s of switch %s blinks for %lld s\n", port, name, time);
}

static int fabric_cli_blink(struct haasctl *haasctl, const struct command_input *input,
			    const json_t *place, int64_t seconds)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	haasctl_path(&target, "/switches/", haasctl_word(place, "switch"), "/locate");
	json_begin_object(&body, NULL);
	json_put_string(&body, "port", haasctl_word(place, "port"));
	json_put_int(&body, "seconds", seconds);
	json_end_object(&body);
	int status = haasctl_post_harmless(haasctl, input, text_get(&target), &body, &reply);
	if (status == EXIT_OK)
		say_blinks(place, reply.json, seconds);
	return status;
}

static int nic_locate(void *context, const struct command_input *input)
{
	const char *word = command_option(input, "--blink");
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int64_t seconds = word ? haasctl_duration_s(word) : 0;
	const json_t *items;

	if (seconds < 0 || seconds > 600)
		return haasctl_usage("--blink %s is not a time up to 600s", word);
	location_target(&target, input->words[0]);
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	items = json_object_get(reply.json, "items");
	/* a head over nothing is no answer for people */
	if (json_array_size(items) > 0 || !listing_for_people(input))
		status = listing_rows(input, items, COLUMNS(location_columns));
	if (status == EXIT_OK && json_array_size(items) == 0) {
		fprintf(stderr,
			"haasctl: %s was seen at no port\n"
			"  hint: haasctl switch read SWITCH reads a switch at once\n",
			input->words[0]);
		return EXIT_NOT_FOUND;
	}
	if (status == EXIT_OK && word)
		status = fabric_cli_blink(context, input, json_array_get(items, 0), seconds);
	return status;
}

static const struct option_row fabric_options[] = {
	{"--vlans", 0, OPTION_VALUE, "LOW-HIGH", "our VLANs; no other is touched"},
	{"--parking", 0, OPTION_VALUE, "LOW[-HIGH]",
	 "of free ports, outside of them; LOW: 64 from it on"},
	{"--quarantine", 0, OPTION_VALUE, "TIME", "before a returned VLAN is used again, 10m"},
	{"--foreign", 0, OPTION_VALUE, "repair|report", "what to do about a foreign change"},
	{"--take", 0, OPTION_FLAG, NULL, "also VLANs that its switches have already"},
};
static const struct option_row link_options[] = {
	{"--fabric", 0, OPTION_VALUE, "FABRIC", "only of this fabric"},
	{"--switch", 0, OPTION_VALUE, "SWITCH", "only at this switch"},
	{"--state", 0, OPTION_VALUE, "confirmed|claimed|conflict|gone", "only these"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row nic_list_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "only of this node"},
	{"--switch", 0, OPTION_VALUE, "SWITCH", "only at this switch"},
	{"--port", 0, OPTION_VALUE, "PORT", "only at this port"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row locate_options[] = {
	{"--blink", 0, OPTION_VALUE, "TIME", "blink the LED of the port so long, where it can"},
};

static const struct command fabric_cli_commands[] = {
	{"fabric", "list", "", "fabrics and how many switches they have", NO_OPTIONS, 0, 0,
	 fabric_list, .example = "fabric list"},
	{"fabric", "create", "FABRIC", "declare a fabric, or change the named settings",
	 OPTIONS(fabric_options), 1, 1, fabric_cli_fabric_set,
	 .example = "fabric create main --vlans 1300-1399 --parking 1200",
	 .done = "fabric {1} saved"},
	{"fabric", "show", "FABRIC", "its switches, cables, VLANs in quarantine and problems",
	 NO_OPTIONS, 1, 1, fabric_show, .example = "fabric show main"},
	{"fabric", "delete", "FABRIC", "forget a fabric without switches", NO_OPTIONS, 1, 1,
	 fabric_delete, .example = "fabric delete main", .done = "fabric {1} deleted"},
	{"link", "list", "", "cables between switches as found", OPTIONS(link_options), 0, 0,
	 link_list, .example = "link list"},
	{"nic", "list", "", "where MACs are plugged in", OPTIONS(nic_list_options), 0, 0, nic_list,
	 .example = "nic list"},
	{"nic", "locate", "NIC", "switch and port of a MAC, NODE or NODE:NIC, and the source",
	 OPTIONS(locate_options), 1, 1, nic_locate, .example = "nic locate n1:eth0"},
};
const struct command_group fabric_group = {fabric_cli_commands, COUNT_OF(fabric_cli_commands)};
