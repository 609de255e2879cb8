/* haasctl node: what the BMC of a node is asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/confirm.h"
#include "portal/cli/listing.h"
#include "portal/cli/refusal.h"
#include "portal/cli/selector.h"

/* Asks, waits, and gives the items of the job; *ret_items is NULL with --no-wait. Nodes that are not asked are told,
 * and the others go on. */
static int ask_bmc(void *context, const struct command_input *input, const char *action,
		   const struct selector *nodes, json_t **ret_items)
{
	CLEANUP(text_done) struct text body = {0};
	const char *device = command_option(input, "--device");
	struct haasctl_reply reply = {0};

	json_begin_object(&body, NULL);
	selector_json(&body, "nodes", nodes);
	json_put_string(&body, "action", action);
	if (strcmp(action, "boot_device") == 0) {
		json_begin_object(&body, "params");
		json_put_string(&body, "device", device ? device : "pxe");
		json_put_bool(&body, "persistent", command_option(input, "--persistent") != NULL);
		json_end_object(&body);
	}
	json_put_bool(&body, "force", command_option(input, "--force") != NULL);
	json_end_object(&body);
	int status = haasctl_post(context, input, "/nodes/actions", &body, &reply);
	if (status != EXIT_OK)
		return status;
	int64_t job = json_integer_value(json_object_get(reply.json, "job"));
	bool wait = command_option(input, "--no-wait") == NULL;
	if (!wait && !listing_json(input, reply.json))
		printf("job %" PRId64 "\n", job);
	size_t refused = refusal_tell_items(json_object_get(reply.json, "refused"));
	haasctl_reply_done(&reply);
	status = wait ? haasctl_wait_job(context, input, job, ret_items) : EXIT_OK;
	return status == EXIT_OK && refused > 0 ? EXIT_PARTIAL : status;
}

/* One row per node; failures are told on stderr by the wait. */
static int ask_many(void *context, const struct command_input *input, const char *action,
		    const struct selector *nodes, const struct output_column columns[],
		    size_t count)
{
	struct listing *listing = NULL;
	json_t *items = NULL;
	const json_t *item;
	size_t i;
	int status = listing_new(input, columns, count, &listing); /* -c, before anything is done */

	if (status != EXIT_OK)
		return status;
	status = ask_bmc(context, input, action, nodes, &items);
	json_array_foreach(items, i, item) listing_row(listing, item);
	int written = listing_end(listing, items ? EXIT_OK : EXIT_FAILED);
	bool shown = items != NULL;
	json_decref(items);
	return status == EXIT_OK && shown ? written : status;
}

/* What ends nothing that runs. */
static int ask_chosen(void *context, const struct command_input *input, const char *action,
		      const struct output_column columns[], size_t count)
{
	static const struct selector_row row = {"/nodes", "nodes", 0, NULL};
	struct selector nodes;
	int status = selector_read(context, input, &row, &nodes);

	return status == EXIT_OK ? ask_many(context, input, action, &nodes, columns, count)
				 : status;
}

static int bmc_cli_node_power(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("state"),
						       TITLED("result.power", "POWER"),
						       TITLED_WIDE("result.confirm", "CONFIRMED"),
						       TITLED_WIDE("problem.message", "PROBLEM")};
	static const struct confirm_row row = {CONFIRM_NODES, 1, "will lose what runs on it"};
	bool harmless =
		strcmp(input->words[0], "on") == 0 || strcmp(input->words[0], "status") == 0;
	const struct selector_row chosen = {"/nodes", "nodes", 1,
					    harmless ? NULL : "will lose what runs on them"};
	struct selector nodes;
	int status = selector_read(context, input, &chosen, &nodes);
	char action[32];

	if (status == EXIT_OK && !harmless && !nodes.where)
		status = confirm_ask(context, input, &row);
	if (status != EXIT_OK)
		return status;
	(void)text_format(action, sizeof(action), "power_%s", input->words[0]);
	return ask_many(context, input, action, &nodes, COLUMNS(columns));
}

static int node_boot_device(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("node"), COLUMN("state"), TITLED("result.boot.device", "DEVICE"),
		TITLED("result.boot.persistent", "PERSISTENT"),
		TITLED_WIDE("problem.message", "PROBLEM")};

	return ask_chosen(context, input, "boot_device", COLUMNS(columns));
}

static int node_identify(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("state"),
						       TITLED_WIDE("problem.message", "PROBLEM")};

	return ask_chosen(context, input, "identify", COLUMNS(columns));
}

/* One node, one reading of its BMC: the rows of the array that is called like the action. */
static int node_reading(void *context, const struct command_input *input, const char *action,
			const struct output_column columns[], size_t count)
{
	struct listing *listing = NULL;
	json_t *items = NULL;
	const json_t *row;
	size_t i;
	int status = listing_new(input, columns, count, &listing);

	if (status != EXIT_OK)
		return status;
	status = ask_bmc(context, input, action,
			 &(struct selector){.names = input->words, .count = 1}, &items);
	const json_t *result = json_object_get(json_array_get(items, 0), "result");
	const json_t *rows = json_object_get(result, action);
	if (json_is_object(rows))
		listing_row(listing, rows);
	json_array_foreach(rows, i, row) listing_row(listing, row);
	status = listing_end(listing, status);
	json_decref(items);
	return status;
}

static int node_sensors(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("name"),    COLUMN("type"),
						       NUMBER("reading"), COLUMN("unit"),
						       COLUMN("state"),   WIDE_NUMBER("number")};

	return node_reading(context, input, "sensors", COLUMNS(columns));
}

static int node_sel(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {NUMBER("id"), COLUMN("at"), COLUMN("text")};

	static const struct output_column kept_columns[] = {
		COLUMN("at"),          COLUMN("type"),   COLUMN("sensor"), COLUMN("event"),
		WIDE_NUMBER("record"), WIDE("asserted"), WIDE("seen_at")};
	CLEANUP(text_done) struct text target = {0};

	if (!command_option(input, "--kept"))
		return node_reading(context, input, "sel", COLUMNS(columns));
	haasctl_path(&target, "/nodes/", input->words[0], "/sel");
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(kept_columns));
}

static int node_fru(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {NUMBER("device"), COLUMN("area"),
						       COLUMN("key"), COLUMN("value")};

	return node_reading(context, input, "fru", COLUMNS(columns));
}

static int node_users(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {NUMBER("id"), COLUMN("name"),
						       COLUMN("enabled"), COLUMN("privilege")};

	return node_reading(context, input, "users", COLUMNS(columns));
}

static int node_lan(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("address"), COLUMN("netmask"),
						       COLUMN("gateway"), COLUMN("mac"),
						       COLUMN("dhcp"),    NUMBER("vlan")};

	return node_reading(context, input, "lan", COLUMNS(columns));
}

/* For a BMC that is mute though it is connected: a console that is open elsewhere goes on. */
static int reopen_console(struct haasctl *haasctl, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int status;

	haasctl_path(&target, "/nodes/", input->words[0], "/console/reopen");
	status = haasctl_post_harmless(haasctl, input, text_get(&target), &body, &reply);
	haasctl_reply_done(&reply);
	if (status == EXIT_OK)
		haasctl_say_done(input, "console of node {1}: its session is opened anew", NULL,
				 NULL);
	return status;
}

static int node_console(void *context, const struct command_input *input)
{
	if (command_option(input, "--reopen"))
		return reopen_console(context, input);
	return command_option(input, "--log") ? console_log_show(context, input, input->words[0])
					      : console_run(context, input, input->words[0]);
}

static const struct option_row power_options[] = {
	SELECTOR_OPTIONS,
	CONFIRM_OPTION,
	{"--force", 0, OPTION_FLAG, NULL, "also while a deployment works on the node"},
	{"--no-wait", 0, OPTION_FLAG, NULL, "print the job and return"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long, 90s, 5m (default 1h)"},
};
static const struct option_row boot_options[] = {
	{"--device", 0, OPTION_VALUE, "pxe|disk|none", "default pxe"},
	{"--persistent", 0, OPTION_FLAG, NULL, "for every boot, not only the next"},
	SELECTOR_OPTIONS,
	{"--force", 0, OPTION_FLAG, NULL, "also while a deployment works on the node"},
	{"--no-wait", 0, OPTION_FLAG, NULL, "print the job and return"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long, 90s, 5m (default 1h)"},
};
static const struct option_row bmc_cli_wait_options[] = {
	{"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long, 90s, 5m (default 1h)"}};
static const struct option_row identify_options[] = {
	SELECTOR_OPTIONS,
	{"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long, 90s, 5m (default 1h)"},
};
static const struct option_row sel_options[] = {
	{"--kept", 0, OPTION_FLAG, NULL, "the stored log, newest first; asks no BMC"},
	{"--limit", 0, OPTION_VALUE, "N", "with --kept: at most N rows (default all)"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long, 90s, 5m (default 1h)"},
};
static const struct option_row console_options[] = {
	{"--read-only", 0, OPTION_FLAG, NULL, "read only; always so without a terminal"},
	{"--log", 0, OPTION_FLAG, NULL, "the stored log, also of a dead node"},
	{"--reopen", 0, OPTION_FLAG, NULL, "end its session and begin another, for a mute BMC"}};

static const struct command bmc_cli_commands[] = {
	{"node", "power", "on|off|cycle|reset|soft|status [NODE...]",
	 "power by the BMC, confirmed by reading back", OPTIONS(power_options), 1, 1000,
	 bmc_cli_node_power, .example = "node power cycle n1"},
	{"node", "boot-device", "[NODE...]", "set the next boot device of nodes",
	 OPTIONS(boot_options), 0, 1000, node_boot_device,
	 .example = "node boot-device n1 --device pxe"},
	{"node", "identify", "[NODE...]", "blink the nodes' lights", OPTIONS(identify_options), 0,
	 1000, node_identify, .example = "node identify n1"},
	{"node", "sensors", "NODE", "sensor readings of the BMC", OPTIONS(bmc_cli_wait_options), 1,
	 1, node_sensors, .example = "node sensors n1"},
	{"node", "sel", "NODE", "the BMC's event log", OPTIONS(sel_options), 1, 1, node_sel,
	 .example = "node sel n1"},
	{"node", "fru", "NODE", "the BMC's part numbers", OPTIONS(bmc_cli_wait_options), 1, 1,
	 node_fru, .example = "node fru n1"},
	{"node", "users", "NODE", "the BMC's users", OPTIONS(bmc_cli_wait_options), 1, 1,
	 node_users, .example = "node users n1"},
	{"node", "lan", "NODE", "the BMC's own network settings", OPTIONS(bmc_cli_wait_options), 1,
	 1, node_lan, .example = "node lan n1"},
	{"node", "console", "NODE", "the serial console (leave with Ctrl-])",
	 OPTIONS(console_options), 1, 1, node_console, .example = "node console n1"},
};
const struct command_group bmc_group = {bmc_cli_commands, COUNT_OF(bmc_cli_commands)};
