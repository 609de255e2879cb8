/* haasctl switch add, show, read ..., wiring: how switches are reached, what they say, and the
 * cabling as it was planned. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/io/file.h"

#include "portal/cli/listing.h"

#define SWITCH_CLI_FILE_LIMIT ((size_t)8 << 20)

/* --- switch add --- */

/* Strings that go into one object of the body; "none" takes one away. */
static const char *const credential_texts[][2] = {{"--snmp-user", "snmp_user"},
						  {"--snmp-auth", "snmp_auth"},
						  {"--snmp-priv", "snmp_priv"},
						  {"--ssh-user", "ssh_user"},
						  {"--ovsdb-peer", "ovsdb_peer"}};
/* The operator's word for a switch that knows nothing better. */
static const char *const insecure_words[][2] = {{"--snmp-insecure", "snmp_insecure"},
						{"--ssh-insecure", "ssh_insecure"}};
static const char *const port_numbers[][2] = {{"--snmp-port", "snmp"},
					      {"--cli-port", "cli"},
					      {"--netconf-port", "netconf"},
					      {"--ovsdb-port", "ovsdb"}};
static const char *const body_texts[][2] = {{"--fabric", "fabric"},
					    {"--role", "role"},
					    {"--family", "family"},
					    {"--address", "address"}};

static json_t *copy_of(const json_t *before, const char *path)
{
	const json_t *object = haasctl_member(before, path);

	return json_is_object(object) ? json_deep_copy(object) : json_object();
}

static void set_credentials(json_t *body, const struct command_input *input, const json_t *before)
{
	json_t *members = copy_of(before, "management.credentials");
	const char *key = command_option(input, "--host-key");
	bool any = key != NULL;

	for (size_t i = 0; i < COUNT_OF(credential_texts); i++) {
		const char *value = command_option(input, credential_texts[i][0]);

		any = any || value;
		if (value && strcmp(value, "none") == 0)
			(void)json_object_del(members, credential_texts[i][1]);
		else if (value)
			(void)json_object_set_new(members, credential_texts[i][1],
						  json_pack("s", value));
	}
	if (key) {
		bool trust_all = strcmp(key, "any") == 0;

		(void)json_object_set_new(members, "host_key_any", json_boolean(trust_all));
		(void)json_object_set_new(members, "host_key",
					  json_pack("s", trust_all ? "" : key));
	}
	for (size_t i = 0; i < COUNT_OF(insecure_words); i++) {
		const char *value = command_option(input, insecure_words[i][0]);

		any = any || value;
		if (value)
			(void)json_object_set_new(members, insecure_words[i][1],
						  json_boolean(strcmp(value, "yes") == 0));
	}
	if (any)
		(void)json_object_set_new(body, "credentials", members);
	else
		json_decref(members);
}

static int set_ports(json_t *body, const struct command_input *input, const json_t *before)
{
	json_t *ports = copy_of(before, "management.ports");
	bool any = false;
	int status = EXIT_OK;

	for (size_t i = 0; i < COUNT_OF(port_numbers) && status == EXIT_OK; i++) {
		const char *word = command_option(input, port_numbers[i][0]);
		int64_t number = 0;

		if (!word)
			continue;
		any = true;
		status = haasctl_number(port_numbers[i][0], word, &number);
		(void)json_object_set_new(ports, port_numbers[i][1], json_integer(number));
	}
	if (any && status == EXIT_OK)
		(void)json_object_set_new(body, "ports", ports);
	else
		json_decref(ports);
	return status;
}

static char *switch_cli_trim(char *text)
{
	size_t length;

	text += strspn(text, " \t\r");
	length = strlen(text);
	while (length > 0 && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Lines NAME=VALUE: secrets stand in a file or come by a pipe, never on the command line. */
int haasctl_read_secrets(json_t *body, const char *path)
{
	CLEANUP(freep) char *data = NULL;
	json_t *secrets = json_object();
	size_t size = 0;
	int rc = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, SWITCH_CLI_FILE_LIMIT,
			   &data, &size);
	char *rest = NULL;

	(void)json_object_set_new(body, "secrets", secrets);
	if (rc)
		return haasctl_cannot("read", path, rc);
	for (char *line = strtok_r(data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '=');

		line = switch_cli_trim(line);
		if (*line == '\0' || *line == '#')
			continue;
		if (!value)
			return haasctl_usage("%s: a line is not NAME=VALUE", path);
		*value++ = '\0';
		(void)json_object_set_new(secrets, switch_cli_trim(line),
					  json_pack("s", switch_cli_trim(value)));
	}
	return EXIT_OK;
}

static int management_body(json_t *body, const struct command_input *input, const json_t *before)
{
	const char *poll = command_option(input, "--poll");
	const char *secrets = command_option(input, "--secrets");
	int64_t seconds = poll ? haasctl_duration_s(poll) : 0;
	int status;

	if (poll && seconds < 1)
		return haasctl_usage("--poll %s is not a time like 30s, 5m", poll);
	for (size_t i = 0; i < COUNT_OF(body_texts); i++) {
		const char *value = command_option(input, body_texts[i][0]);

		if (value)
			(void)json_object_set_new(
				body, body_texts[i][1],
				json_pack("s", strcmp(value, "none") == 0 ? "" : value));
	}
	if (poll)
		(void)json_object_set_new(body, "poll_s", json_integer(seconds));
	if (command_option(input, "--managed"))
		(void)json_object_set_new(
			body, "managed",
			json_boolean(strcmp(command_option(input, "--managed"), "yes") == 0));
	if (command_option(input, "--force"))
		(void)json_object_set_new(body, "force", json_true());
	set_credentials(body, input, before);
	status = set_ports(body, input, before);
	return status == EXIT_OK && secrets ? haasctl_read_secrets(body, secrets) : status;
}

static int switch_add(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text management = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};
	CLEANUP(json_decrefp) json_t *body = json_object();
	CLEANUP(freep) char *text = NULL;

	haasctl_path(&target, "/switches/", input->words[0], "");
	haasctl_path(&management, "/switches/", input->words[0], "/management");
	int status = haasctl_get_before(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	status = management_body(body, input, before.json);
	text = json_dumps(body, JSON_COMPACT);
	if (status == EXIT_OK && !text)
		status = haasctl_cannot("write", "the request", -ENOMEM);
	return status == EXIT_OK
		       ? haasctl_do(context, input,
				    &(struct haasctl_call){.method = "PUT",
							   .target = text_get(&management),
							   .body = text,
							   .before = &before})
		       : status;
}

static int switch_release(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "DELETE", "/switches/",
			    command_option(input, "--force") ? "/management?force=true"
							     : "/management");
}

/* --- what a switch says --- */

static int switch_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"name",         "state",     "management", "observed", "parts.part", "parts.state",
		"parts.reason", "isolation", "alerts",     "base",     NULL};
	static const struct output_column columns[] = {
		COLUMN("name"), COLUMN("state"), TITLED("management.address", "ADDRESS"),
		TITLED("observed.family", "FAMILY"), TITLED("observed.read_at", "READ_AT")};

	return listing_show_named(context, input, "/switches/", "",
				  &(struct show){order, COLUMNS(columns)});
}

static int switch_ports(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("port"),
		COLUMN("kind"),
		COLUMN("up"),
		TITLED_NUMBER("native_vlan", "NATIVE"),
		TITLED("tagged_vlans", "TAGGED"),
		COLUMN("peer"),
		COLUMN("nics"),
		WIDE("trunk"),
		WIDE("alias"),
		WIDE("lag"),
		WIDE("stp"),
		WIDE_NUMBER("speed_bps"),
		WIDE("mac"),
		WIDE_NUMBER("if_index"),
		WIDE_NUMBER("base_port"),
		WIDE("admin_up"),
		WIDE("seen_at"),
	};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	haasctl_path(&target, "/switches/", input->words[0], "/ports");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	return status == EXIT_OK
		       ? listing_rows(input, json_object_get(reply.json, "items"), COLUMNS(columns))
		       : status;
}

static int switch_cli_switch_read(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("switch"),     COLUMN("family"), NUMBER("ports"),    NUMBER("vlans"),
		NUMBER("neighbors"),  NUMBER("fdb"),    NUMBER("requests"), NUMBER("odd"),
		COLUMN("incomplete"), WIDE("odd_text"), WIDE("system"),     WIDE("text"),
	};
	CLEANUP(json_decrefp) json_t *rows = json_array();
	struct tally tally = {0};
	int status;

	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};
		CLEANUP(text_done) struct text body = {0};
		CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

		haasctl_path(&target, "/switches/", input->words[i], "/read");
		status = haasctl_post_harmless(context, input, text_get(&target), &body, &reply);
		if (status == EXIT_OK)
			(void)json_array_append(rows, reply.json);
		tally_add(&tally, status);
	}
	status = listing_rows(input, rows, COLUMNS(columns));
	return status == EXIT_OK ? tally_status(&tally) : status;
}

static int switch_diff(void *context, const struct command_input *input)
{
	static const char *const order[] = {"switch",       "usable",   "saved",
					    "save_problem", "problem",  "changes",
					    "drift",        "unproven", NULL};
	static const struct output_column columns[] = {COLUMN("switch"), COLUMN("changes"),
						       COLUMN("drift")};

	return listing_show_named(context, input, "/switches/", "/diff",
				  &(struct show){order, COLUMNS(columns)});
}

static int switch_reconcile(void *context, const struct command_input *input)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};

		haasctl_path(&target, "/switches/", input->words[i], "/reconcile");
		tally_add(&tally, haasctl_do(context, input,
					     &(struct haasctl_call){.method = "POST",
								    .target = text_get(&target),
								    .object = input->words[i],
								    .harmless = true}));
	}
	return tally_status(&tally);
}

/* --- wiring --- */

static int wiring_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("switch"),      COLUMN("port"),
						       COLUMN("node"),        COLUMN("nic"),
						       COLUMN("peer_switch"), COLUMN("peer_port")};
	return listing_filtered(context, input, "/wiring", OPTION_NAMES("--switch", "--node"),
				COLUMNS(columns));
}

static int switch_cli_put_rows(struct haasctl *haasctl, const struct command_input *input,
			       json_t *rows)
{
	CLEANUP(json_decrefp)
	json_t *body = json_pack("{s:o, s:b, s:b}", "rows", rows, "replace",
				 command_option(input, "--replace") != NULL, "dry_run",
				 command_option(input, "--dry-run") != NULL);
	CLEANUP(freep) char *text = json_dumps(body, JSON_COMPACT);
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	if (!text)
		return haasctl_cannot("write", "the request", -ENOMEM);
	int status = haasctl_call(haasctl, input,
				  &(struct haasctl_call){.method = "PUT",
							 .target = "/wiring",
							 .body = text,
							 .edits = "/wiring/plan"},
				  &reply);
	if (status == EXIT_OK && !listing_json(input, reply.json))
		haasctl_say_done(
			input,
			json_is_true(json_object_get(reply.json, "dry_run"))
				? "dry run, nothing written: {rows} planned cables are right"
				: input->command->done,
			NULL, reply.json);
	return status;
}

/* The next cell of a line (RFC 4180 without line ends in quotes); *line is NULL after the last. */
static char *next_cell(char **line)
{
	char *cell = *line;
	char *out = cell;
	bool quoted = *cell == '"';
	char *at = cell + quoted;

	for (; *at && (quoted || *at != ','); at++) {
		if (quoted && *at == '"' && *++at != '"')
			quoted = false;
		if (!quoted && (*at == ',' || *at == '\0'))
			break;
		*out++ = *at;
	}
	*line = *at == ',' ? at + 1 : NULL;
	*out = '\0';
	return switch_cli_trim(cell);
}

#define CELLS_MAX 6

static int read_heading(char *line, const char *keys[CELLS_MAX], size_t *ret_count)
{
	static const char *const known[CELLS_MAX] = {"switch", "port",        "node",
						     "nic",    "peer_switch", "peer_port"};

	*ret_count = 0;
	while (line) {
		const char *word = next_cell(&line);
		const char *key = NULL;

		for (size_t i = 0; i < CELLS_MAX; i++) {
			if (strcmp(word, known[i]) == 0)
				key = known[i];
		}
		if (!key || *ret_count == CELLS_MAX)
			return haasctl_usage("there is no column '%s'; columns are switch, port, "
					     "node, nic, peer_switch, peer_port",
					     word);
		keys[(*ret_count)++] = key;
	}
	return EXIT_OK;
}

static int switch_cli_read_sheet(char *data, json_t *rows)
{
	const char *keys[CELLS_MAX] = {0};
	size_t count = 0;
	int64_t number = 0;
	int status = EXIT_OK;

	while (data && *data && status == EXIT_OK) {
		char *line = data;
		char *end = strchr(data, '\n');
		json_t *row;

		data = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		number++;
		line = switch_cli_trim(line);
		if (*line == '\0' || *line == '#')
			continue;
		if (count == 0) {
			status = read_heading(line, keys, &count);
			continue;
		}
		row = json_pack("{s:I}", "row", (json_int_t)number);
		for (size_t i = 0; line && i < count; i++) {
			const char *cell = next_cell(&line);

			if (*cell)
				(void)json_object_set_new(row, keys[i], json_pack("s", cell));
		}
		if (line)
			status = haasctl_usage("row %lld has more cells than the heading",
					       (long long)number);
		(void)json_array_append_new(rows, row);
	}
	return status;
}

static int wiring_import(void *context, const struct command_input *input)
{
	const char *path = input->words[0];
	CLEANUP(freep) char *data = NULL;
	json_t *rows = json_array();
	size_t size = 0;
	int rc = file_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, SWITCH_CLI_FILE_LIMIT,
			   &data, &size);
	int status = rc ? haasctl_cannot("read", path, rc) : switch_cli_read_sheet(data, rows);

	if (status == EXIT_OK)
		return switch_cli_put_rows(context, input, rows);
	json_decref(rows);
	return status;
}

/* "NAME:REST" -> both; without a colon the second is empty. */
static json_t *switch_cli_split(const char *word, const char *first, const char *second)
{
	size_t length = strcspn(word, ":");

	return json_pack("{s:s%, s:s}", first, word, length, second,
			 word[length] == ':' ? word + length + 1 : "");
}

static int wiring_set(void *context, const struct command_input *input)
{
	const char *node = command_option(input, "--node");
	const char *peer = command_option(input, "--peer");
	json_t *row;

	if (!node == !peer)
		return haasctl_usage(
			"the other end is needed: --node NODE[:NIC] or --peer SWITCH:PORT");
	row = node ? switch_cli_split(node, "node", "nic")
		   : switch_cli_split(peer, "peer_switch", "peer_port");
	(void)json_object_set_new(row, "switch", json_pack("s", input->words[0]));
	(void)json_object_set_new(row, "port", json_pack("s", input->words[1]));
	return switch_cli_put_rows(context, input, json_pack("[o]", row));
}

static int wiring_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/wiring?switch=");
	text_add_percent(&target, input->words[0]);
	text_add(&target, "&port=");
	text_add_percent(&target, input->words[1]);
	return haasctl_remove(context, input, &target);
}

static const struct option_row switch_cli_add_options[] = {
	{"--fabric", 0, OPTION_VALUE, "FABRIC", "fabric of the switch (default the only one)"},
	{"--address", 0, OPTION_VALUE, "ADDRESS", "of its management"},
	{"--role", 0, OPTION_VALUE, "leaf|spine", "default leaf"},
	{"--family", 0, OPTION_VALUE, "FAMILY", "none = detected from the switch (the default)"},
	{"--secrets", 0, OPTION_VALUE, "FILE", "lines NAME=VALUE, see haasctl(1); - = stdin"},
	{"--snmp-user", 0, OPTION_VALUE, "USER", "SNMPv3, or none"},
	{"--snmp-auth", 0, OPTION_VALUE, "sha|sha256|none", "of the SNMPv3 user"},
	{"--snmp-priv", 0, OPTION_VALUE, "aes|none", "of the SNMPv3 user"},
	{"--ssh-user", 0, OPTION_VALUE, "USER", "for CLI and NETCONF, or none"},
	{"--host-key", 0, OPTION_VALUE, "SHA256:...", "its SSH host key; any = keep the first"},
	{"--snmp-insecure", 0, OPTION_VALUE, "yes|no", "set it by SNMP that is not encrypted"},
	{"--ssh-insecure", 0, OPTION_VALUE, "yes|no", "SSH with SHA-1 or CBC, for old switches"},
	{"--ovsdb-peer", 0, OPTION_VALUE, "SHA256:...",
	 "its OVSDB certificate; or ca, plain, none"},
	{"--snmp-port", 0, OPTION_VALUE, "N", "where not 161"},
	{"--cli-port", 0, OPTION_VALUE, "N", "where not 22"},
	{"--netconf-port", 0, OPTION_VALUE, "N", "where not 830"},
	{"--ovsdb-port", 0, OPTION_VALUE, "N", "where not 6640"},
	{"--poll", 0, OPTION_VALUE, "TIME", "how often it is asked whether anything changed, 30s"},
	{"--managed", 0, OPTION_VALUE, "yes|no", "no = read, never changed"},
	{"--force", 0, OPTION_FLAG, NULL, "another fabric or not managed, though it is in use"},
};
static const struct option_row wiring_list_options[] = {
	{"--switch", 0, OPTION_VALUE, "SWITCH", "only of this switch"},
	{"--node", 0, OPTION_VALUE, "NODE", "only of this node"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row switch_cli_import_options[] = {
	{"--replace", 0, OPTION_FLAG, NULL, "drop cables that are not in the file"},
	{"--dry-run", 0, OPTION_FLAG, NULL, "only report errors"},
};
static const struct option_row wiring_set_options[] = {
	{"--node", 0, OPTION_VALUE, "NODE[:NIC]", "node whose NIC belongs there; without NIC any"},
	{"--peer", 0, OPTION_VALUE, "SWITCH:PORT", "the other end of an uplink"},
};

static const struct option_row health_options[] = {
	{"--fabric", 0, OPTION_VALUE, "FABRIC", "only switches of this fabric"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row switch_cli_release_options[] = {
	{"--force", 0, OPTION_FLAG, NULL, "it is gone for good: forget the networks of its ports"},
};

static const struct option_row switch_cli_topology_options[] = {
	{"--fabric", 0, OPTION_VALUE, "FABRIC", "only this fabric"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "links that carry its VLANs at both ends"},
};

static const struct command switch_cli_commands[] = {
	{"wiring", "list", "", "the cabling as it was planned", OPTIONS(wiring_list_options), 0, 0,
	 wiring_list, .example = "wiring list --switch leaf1"},
	{"wiring", "set", "SWITCH PORT", "plan one cable", OPTIONS(wiring_set_options), 2, 2,
	 wiring_set, .example = "wiring set leaf1 Ethernet1/7 --node n7:eth0",
	 .done = "cable of port {1}:{2} planned"},
	{"wiring", "import", "FILE", "plan cables: CSV of switch, port and node, nic or peer",
	 OPTIONS(switch_cli_import_options), 1, 1, wiring_import,
	 .example = "wiring import cables.csv --dry-run", .done = "{rows} planned cables saved"},
	{"wiring", "delete", "SWITCH PORT", "drop planned cables", NO_OPTIONS, 2, 2, wiring_delete,
	 .example = "wiring delete leaf1 Ethernet1/7",
	 .done = "planned cable of port {1}:{2} deleted"},
	{"switch", "add", "SWITCH", "add a switch, or change the named settings",
	 OPTIONS(switch_cli_add_options), 1, 1, switch_add,
	 .example = "switch add leaf1 --address 10.254.0.1 --secrets leaf1.secrets",
	 .done = "switch {1} saved"},
	{"switch", "show", "SWITCH", "its address, settings and last answer", NO_OPTIONS, 1, 1,
	 switch_show, .example = "switch show leaf1"},
	{"switch", "describe", "SWITCH", "all of a switch on one screen, with its last events",
	 NO_OPTIONS, 1, 1, haasctl_describe_switch, .example = "switch describe leaf1"},
	{"switch", "ports", "SWITCH", "its ports as last read, with their neighbours", NO_OPTIONS,
	 1, 1, switch_ports, .example = "switch ports leaf1"},
	{"switch", "aggregates", "[SWITCH]", "aggregates (LACP) that it shows, ours and others'",
	 NO_OPTIONS, 0, 1, haasctl_switch_aggregates, .example = "switch aggregates leaf1"},
	{"switch", "health", "[SWITCH]", "does it answer, errors, spanning tree, LAGs, sensors",
	 OPTIONS(health_options), 0, 1, haasctl_switch_health, .example = "switch health leaf1"},
	{"switch", "topology", "", "all links with what they carry, or a tenant's tree",
	 OPTIONS(switch_cli_topology_options), 0, 0, haasctl_switch_topology,
	 .example = "switch topology --tenant acme"},
	{"switch", "read", "SWITCH...", "read all of it now, also while it is in back-off",
	 NO_OPTIONS, 1, 1000, switch_cli_switch_read, .example = "switch read leaf1"},
	{"switch", "diff", "SWITCH", "the pending changes of a switch", NO_OPTIONS, 1, 1,
	 switch_diff, .example = "switch diff leaf1"},
	{"switch", "reconcile", "SWITCH...", "repair differences from the wanted state", NO_OPTIONS,
	 1, 1000, switch_reconcile, .example = "switch reconcile leaf1",
	 .done = "switch {*}: reconciliation has begun"},
	{"switch", "release", "SWITCH...", "stop managing it; its address rules stay",
	 OPTIONS(switch_cli_release_options), 1, 1000, switch_release,
	 .example = "switch release leaf1", .done = "switch {*} released"},
};
const struct command_group switch_group = {switch_cli_commands, COUNT_OF(switch_cli_commands)};
