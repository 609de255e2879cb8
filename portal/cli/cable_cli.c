/* haasctl switch, port, circuit: which cable goes where, and how relays tell in option 82. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

/* --- switch --- */

static const struct output_column switch_columns[] = {
	COLUMN("name"),
	TITLED("management.fabric", "FABRIC"),
	TITLED("management.role", "ROLE"),
	TITLED("management.address", "ADDRESS"),
	TITLED("observed.family", "FAMILY"),
	COLUMN("state"),
	TITLED_NUMBER("observed.up", "UP"),
	COLUMN("base"),
	WIDE("ports"),
	WIDE_NUMBER("port_low"),
	WIDE_NUMBER("port_high"),
	WIDE("moved"),
	WIDE("swapped"),
	TITLED_WIDE("observed.read_at", "READ_AT"),
	WIDE("created_at"),
};

static int switch_list(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/switches", 0, COLUMNS(switch_columns));
}

static int cable_cli_switch_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};

	haasctl_path(&target, "/switches/", input->words[0], "");
	int status = haasctl_get_before(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	haasctl_keep_words(&body, input, OPTION_NAMES("--base", "--ports", "--moved", "--swapped"),
			   before.json);
	status = haasctl_keep_number(&body, input, "--low", "port_low", before.json);
	if (status == EXIT_OK)
		status = haasctl_keep_number(&body, input, "--high", "port_high", before.json);
	json_end_object(&body);
	return status == EXIT_OK ? haasctl_put(context, input, &target, &body, &before) : status;
}

static int switch_delete(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/switches/",
			    command_option(input, "--force") ? "?force=true" : "");
}

/* --- port --- */

static int port_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("switch"),
		COLUMN("port"),
		COLUMN("node"),
		COLUMN("address"),
		TITLED("seen.node", "SEEN"),
		TITLED_WIDE("seen.mac", "MAC"),
		TITLED("seen.seen_at", "LAST"),
		TITLED_WIDE("seen.since", "SINCE"),
	};
	return listing_filtered(context, input, "/ports", OPTION_NAMES("--switch"),
				COLUMNS(columns));
}

static void port_target(struct text *target, const struct command_input *input)
{
	text_add(target, "/ports?switch=");
	text_add_percent(target, input->words[0]);
	text_add(target, "&port=");
	text_add_percent(target, input->words[1]);
}

static int port_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	const json_t *was;

	port_target(&target, input);
	int status = haasctl_get(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	was = json_array_get(json_object_get(before.json, "items"), 0);
	json_begin_object(&body, NULL);
	json_put_string(&body, "switch", input->words[0]);
	json_put_string(&body, "port", input->words[1]);
	haasctl_keep_words(&body, input, OPTION_NAMES("--node", "--address"), was);
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){
				  .method = "PUT", .target = "/ports", .body = text_get(&body)});
}

static int port_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	port_target(&target, input);
	return haasctl_remove(context, input, &target);
}

/* --- circuit --- */

static int circuit_unknown(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		NUMBER("id"),        COLUMN("relay"),   COLUMN("circuit"),    COLUMN("mac"),
		NUMBER("seen"),      COLUMN("last_at"), WIDE("circuit_text"), WIDE("remote"),
		WIDE("remote_text"), WIDE("node"),      WIDE("first_at"),
	};
	return listing_filtered(context, input, "/circuits", OPTION_NAMES("--relay"),
				COLUMNS(columns));
}

static int circuit_forget(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/circuits/", "");
}

static int cable_cli_circuit_families(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),
		COLUMN("help"),
		WIDE("circuit"),
		WIDE("remote"),
		WIDE("switch"),
		WIDE("port"),
		WIDE_NUMBER("port_offset"),
	};
	struct haasctl_reply reply = {0};
	int status = haasctl_get(context, input, "/circuit-families", &reply);

	if (status == EXIT_OK)
		status =
			listing_rows(input, json_object_get(reply.json, "items"), COLUMNS(columns));
	haasctl_reply_done(&reply);
	return status;
}

static int circuit_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),   COLUMN("relay"), COLUMN("family"),
		COLUMN("switch"), COLUMN("port"),  TITLED_NUMBER("port_offset", "OFFSET"),
		WIDE("circuit"),  WIDE("remote"),  WIDE("created_at"),
	};

	return listing_pages(context, input, "/circuit-rules", 0, COLUMNS(columns));
}

static int circuit_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};

	haasctl_path(&target, "/circuit-rules/", input->words[0], "");
	int status = haasctl_get_before(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	haasctl_keep_words(
		&body, input,
		OPTION_NAMES("--relay", "--family", "--circuit", "--remote", "--switch", "--port"),
		before.json);
	status = haasctl_keep_number(&body, input, "--offset", "port_offset", before.json);
	json_end_object(&body);
	return status == EXIT_OK ? haasctl_put(context, input, &target, &body, &before) : status;
}

static int circuit_delete(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/circuit-rules/", "");
}

/* The proposal of this family, or the first; NULL when there is none. */
static const json_t *cable_cli_choose(const json_t *items, const char *family)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		if (!family ||
		    strcmp(haasctl_word(haasctl_member(item, "rule"), "family"), family) == 0)
			return item;
	}
	return NULL;
}

/* What the rule would make of the other samples: the reason to take it or not. */
static int tell_proposals(const struct command_input *input, const json_t *items)
{
	static const struct output_column columns[] = {
		TITLED("rule.family", "FAMILY"),
		TITLED("rule.relay", "RELAY"),
		TITLED_WIDE("rule.remote", "REMOTE"),
		TITLED("rule.switch", "SWITCH"),
		TITLED_NUMBER("rule.port_offset", "OFFSET"),
		TITLED_NUMBER("reads_count", "READS"),
		WIDE("help"),
	};
	const json_t *first = cable_cli_choose(items, command_option(input, "--family"));
	const json_t *read;
	size_t i;
	int status = listing_rows(input, items, COLUMNS(columns));

	if (status != EXIT_OK || !first || !listing_for_people(input))
		return status;
	fprintf(stderr, "%s would read:\n", haasctl_word(haasctl_member(first, "rule"), "family"));
	json_array_foreach(json_object_get(first, "reads"), i, read)
	{
		fprintf(stderr,
			"  circuit %" JSON_INTEGER_FORMAT " of %s as port %s of switch %s\n",
			json_integer_value(json_object_get(read, "circuit")),
			haasctl_word(read, "relay"), haasctl_word(read, "port"),
			haasctl_word(read, "switch"));
	}
	return EXIT_OK;
}

/* The name of a rule: what --rule says, else the switch when that makes a name, else its family. */
static const char *rule_name(const struct command_input *input, const json_t *rule)
{
	const char *switch_name = haasctl_word(rule, "switch");

	if (command_option(input, "--rule"))
		return command_option(input, "--rule");
	if (*switch_name &&
	    strspn(switch_name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(switch_name))
		return switch_name;
	return haasctl_word(rule, "family");
}

static int accept_proposal(struct haasctl *haasctl, const struct command_input *input,
			   const json_t *item)
{
	json_t *rule = json_object_get(item, "rule");
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	const char *name = rule_name(input, rule);
	CLEANUP(freep) char *text = json_dumps(rule, JSON_COMPACT);

	if (!text)
		return haasctl_cannot("write", "the rule", -ENOMEM);
	text_add(&body, text);
	haasctl_path(&target, "/circuit-rules/", name, "");
	return haasctl_put(haasctl, input, &target, &body, NULL);
}

static int circuit_learn(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	const char *family = command_option(input, "--family");
	const json_t *items;

	haasctl_path(&target, "/circuits/", input->words[0], "/proposals");
	json_begin_object(&body, NULL);
	json_put_string(&body, "switch", input->words[1]);
	json_put_string(&body, "port", input->words[2]);
	json_end_object(&body);
	int status = haasctl_post_harmless(context, input, text_get(&target), &body, &reply);
	if (status != EXIT_OK)
		return status;
	items = json_object_get(reply.json, "items");
	if (!cable_cli_choose(items, family)) {
		fprintf(stderr,
			"haasctl: no%s%s rule makes this port %s of switch %s\n"
			"hint: haasctl circuit unknown -o wide shows the bytes; haasctl circuit set "
			"takes a template of your own\n",
			family ? " " : "", family ? family : "", input->words[2], input->words[1]);
		return EXIT_NOT_FOUND;
	}
	if (command_option(input, "--accept"))
		return accept_proposal(context, input, cable_cli_choose(items, family));
	status = tell_proposals(input, items);
	if (status == EXIT_OK && listing_for_people(input))
		fprintf(stderr,
			"nothing was written; --accept writes it, --family chooses another\n");
	return status;
}

static const struct option_row cable_cli_page_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row switch_options[] = {
	{"--base", 0, OPTION_VALUE, "ADDRESS", "port n gives ADDRESS + n, or none"},
	{"--ports", 0, OPTION_VALUE, "PATTERN", "finds n in the name of a port: Ethernet1/{port}"},
	{"--low", 0, OPTION_VALUE, "N", "first port that gives an address, 1"},
	{"--high", 0, OPTION_VALUE, "N", "last one, 1024"},
	{"--moved", 0, OPTION_VALUE, "answer|silence",
	 "to a node with a cable that was moved here"},
	{"--swapped", 0, OPTION_VALUE, "answer|silence",
	 "an address for a new NIC of the port's node"},
};
static const struct option_row port_list_options[] = {
	{"--switch", 0, OPTION_VALUE, "SWITCH", "only this switch"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row port_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE", "the node that is meant to be behind it, or none"},
	{"--address", 0, OPTION_VALUE, "ADDRESS", "address for the machine behind it, or none"},
};
static const struct option_row unknown_options[] = {
	{"--relay", 0, OPTION_VALUE, "ADDRESS", "only of this relay"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row learn_options[] = {
	{"--accept", 0, OPTION_FLAG, NULL, "make the rule"},
	{"--family", 0, OPTION_VALUE, "FAMILY", "this one, not the likeliest"},
	{"--rule", 0, OPTION_VALUE, "RULE", "its name (default that of the switch, or the family)"},
};
static const struct option_row rule_options[] = {
	{"--relay", 0, OPTION_VALUE, "PREFIX", "relays by their address, 10.2.0.1/32; none = any"},
	{"--family", 0, OPTION_VALUE, "FAMILY", "see haasctl circuit families, or none"},
	{"--circuit", 0, OPTION_VALUE, "TEMPLATE", "of the circuit-id: Ethernet{slot}/{port}"},
	{"--remote", 0, OPTION_VALUE, "TEMPLATE", "template of the remote-id, or none"},
	{"--switch", 0, OPTION_VALUE, "FORMAT", "the switch: sw2, {switch}, {mac}"},
	{"--port", 0, OPTION_VALUE, "FORMAT", "the port: {slot}/{port}; - = it names none"},
	{"--offset", 0, OPTION_VALUE, "N", "added to the number of the port"},
};

static const struct option_row delete_options[] = {
	{"--force", 0, OPTION_FLAG, NULL, "it is gone for good: forget the networks of its ports"},
};

static const struct command cable_cli_commands[] = {
	{"switch", "list", "", "managed switches, and those with ports that give addresses",
	 OPTIONS(cable_cli_page_options), 0, 0, switch_list, .example = "switch list -o wide"},
	{"switch", "set", "SWITCH", "declare a switch, or change the named settings",
	 OPTIONS(switch_options), 1, 1, cable_cli_switch_set,
	 .example = "switch set leaf1 --base 10.2.0.0 --ports Ethernet1/{port}",
	 .done = "address rule of switch {1} saved"},
	{"switch", "delete", "SWITCH...", "forget switches and their ports",
	 OPTIONS(delete_options), 1, 1000, switch_delete, .example = "switch delete leaf1",
	 .done = "switch {*} deleted"},
	{"port", "list", "", "declared and seen nodes behind ports", OPTIONS(port_list_options), 0,
	 0, port_list, .example = "port list --switch leaf1"},
	{"port", "load", "SWITCH:PORT", "what its counters said over time",
	 OPTIONS(topology_load_options), 1, 1, haasctl_port_load,
	 .example = "port load leaf1:Ethernet1/7 --window 6h"},
	{"port", "set", "SWITCH PORT", "declare the node behind a port, or the address it gives",
	 OPTIONS(port_options), 2, 2, port_set, .example = "port set leaf1 Ethernet1/7 --node n7",
	 .done = "port {1}:{2} saved"},
	{"port", "delete", "SWITCH PORT", "forget the declaration of a port", NO_OPTIONS, 2, 2,
	 port_delete, .example = "port delete leaf1 Ethernet1/7",
	 .done = "declaration of port {1}:{2} deleted"},
	{"port", "park", "SWITCH:PORT...", "ports are ours, and in no network", NO_OPTIONS, 1, 1000,
	 haasctl_port_park, .example = "port park leaf1:Ethernet1/9", .done = "port {*} parked"},
	{"port", "release", "SWITCH:PORT...", "ports stay as they are and are ours no more",
	 NO_OPTIONS, 1, 1000, haasctl_port_release, .example = "port release leaf1:Ethernet1/9",
	 .done = "port {*} released"},
	{"circuit", "unknown", "", "option 82 texts without a rule", OPTIONS(unknown_options), 0, 0,
	 circuit_unknown, .example = "circuit unknown --relay 10.2.0.1"},
	{"circuit", "learn", "CIRCUIT SWITCH PORT", "rules by which this circuit is that port",
	 OPTIONS(learn_options), 3, 3, circuit_learn,
	 .example = "circuit learn 12 leaf1 Ethernet1/7 --accept",
	 .done = "rule {name} saved: it reads {reads} of the unknown circuits"},
	{"circuit", "forget", "CIRCUIT...", "drop samples", NO_OPTIONS, 1, 1000, circuit_forget,
	 .example = "circuit forget 12", .done = "sample {*} deleted"},
	{"circuit", "list", "", "the rules that read option 82", OPTIONS(cable_cli_page_options), 0,
	 0, circuit_list, .example = "circuit list -o wide"},
	{"circuit", "set", "RULE", "make a rule, or change the named settings",
	 OPTIONS(rule_options), 1, 1, circuit_set,
	 .example = "circuit set leaf1 --relay 10.2.0.1/32 --family cisco-ios",
	 .done = "rule {1} saved"},
	{"circuit", "delete", "RULE...", "remove rules", NO_OPTIONS, 1, 1000, circuit_delete,
	 .example = "circuit delete leaf1", .done = "rule {*} deleted"},
	{"circuit", "families", "", "families of switches that are known", NO_OPTIONS, 0, 0,
	 cable_cli_circuit_families, .example = "circuit families"},
};
const struct command_group cable_group = {cable_cli_commands, COUNT_OF(cable_cli_commands)};
