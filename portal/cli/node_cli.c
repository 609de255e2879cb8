/* haasctl node: what is known of nodes, and a person's word on them. bmc_cli.c asks their BMCs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/confirm.h"
#include "portal/cli/listing.h"
#include "portal/cli/selector.h"

static const struct output_column node_columns[] = {
	COLUMN("name"),
	COLUMN("state"),
	COLUMN("dirty"),
	COLUMN("power"),
	COLUMN("tenant"),
	COLUMN("address"),
	TITLED("deployment.step", "STEP"),
	TITLED_NUMBER("deployment.percent", "%"),
	WIDE("class"),
	WIDE("rack"),
	WIDE_NUMBER("unit"),
	TITLED_WIDE("deployment.plan", "PLAN"),
	TITLED_WIDE("location.switch", "SWITCH"),
	TITLED_WIDE("location.port", "PORT"),
	WIDE("firmware"),
	WIDE("secure_boot"),
	TITLED_WIDE("attestation.attested", "ATTESTED"),
	WIDE("serial"),
	TITLED_WIDE("bmc.address", "BMC"),
	TITLED_WIDE("health.severity", "HEALTH"),
	TITLED_WIDE("health.effects", "EFFECTS"),
	WIDE("pdci"),
	WIDE("reason"),
	WIDE("state_since"),
	TITLED_WIDE("state_actor", "BY"),
	WIDE("rented_at"),
	WIDE("updated_at"),
};

static int node_list(void *context, const struct command_input *input)
{
	return listing_filtered(context, input, "/nodes",
				OPTION_NAMES("--state", "--class", "--rack", "--name", "--tenant"),
				COLUMNS(node_columns));
}

static int node_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"name",
					    "state",
					    "dirty",
					    "reason",
					    "state_since",
					    "state_actor",
					    "power",
					    "power_at",
					    "tenant",
					    "pdci",
					    "rented_at",
					    "address",
					    "location",
					    "location.switch",
					    "location.port",
					    "location.mac",
					    "location.seen_at",
					    "health",
					    "health.severity",
					    "health.labels",
					    "health.effects",
					    "deployment",
					    "class",
					    "rack",
					    "unit",
					    "nics",
					    "nics.name",
					    "nics.mac",
					    "nics.boot",
					    "bmc",
					    "bmc.address",
					    "bmc.port",
					    "bmc.driver",
					    "bmc.username",
					    "bmc.problem",
					    "firmware",
					    "secure_boot",
					    "attestation",
					    "attestation.attested",
					    "attestation.why",
					    "attestation.at",
					    "arch",
					    "serial",
					    "uuid",
					    "deployment.id",
					    "deployment.plan",
					    "deployment.state",
					    "deployment.step",
					    NULL};

	return listing_show_named(context, input, "/nodes/", "",
				  &(struct show){order, COLUMNS(node_columns)});
}

/* Those that took the event are rows; why another did not is told on stderr too. */
static int node_event(void *context, const struct command_input *input, const char *event)
{
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("state"),
						       WIDE("refused")};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	const json_t *row;
	size_t refused = 0;
	size_t i;

	const struct selector_row chosen = {
		"/nodes", "nodes", 0, strcmp(event, "break") == 0 ? "will count as broken" : NULL};
	struct selector nodes;
	int status = selector_read(context, input, &chosen, &nodes);
	if (status != EXIT_OK)
		return status;
	json_begin_object(&body, NULL);
	selector_json(&body, "nodes", &nodes);
	json_put_string(&body, "event", event);
	if (command_option(input, "--reason"))
		json_put_string(&body, "reason", command_option(input, "--reason"));
	json_end_object(&body);
	status = haasctl_post(context, input, "/nodes/state", &body, &reply);
	if (status != EXIT_OK)
		return status;
	status = listing_rows(input, json_object_get(reply.json, "nodes"), COLUMNS(columns));
	json_array_foreach(json_object_get(reply.json, "nodes"), i, row)
	{
		if (!haasctl_word(row, "refused")[0])
			continue;
		refused++;
		fprintf(stderr, "%s: %s\n", haasctl_word(row, "node"),
			haasctl_word(row, "refused"));
	}
	haasctl_reply_done(&reply);
	return status == EXIT_OK && refused > 0 ? EXIT_PARTIAL : status;
}

static int node_accept(void *context, const struct command_input *input)
{
	return node_event(context, input, "accept");
}

static int node_hold(void *context, const struct command_input *input)
{
	return node_event(context, input, "hold");
}

static int node_unhold(void *context, const struct command_input *input)
{
	return node_event(context, input, "unhold");
}

static int node_break(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_NODES, 0, "will count as broken"};
	int status = confirm_ask(context, input, &row);

	return status == EXIT_OK ? node_event(context, input, "break") : status;
}

static int node_repair(void *context, const struct command_input *input)
{
	return node_event(context, input, "repair");
}

static int node_delete(void *context, const struct command_input *input)
{
	struct tally tally = {0};

	for (size_t i = 0; i < input->word_count && !haasctl_interrupted(context); i++) {
		CLEANUP(text_done) struct text target = {0};

		haasctl_path(&target, "/nodes/", input->words[i], "");
		tally_add(&tally,
			  haasctl_delete(context, input, text_get(&target), input->words[i]));
	}
	return tally_status(&tally);
}

/* One NIC of the node with the MAC that it has now; the others as they are. */
static void nic_body(struct text *body, const struct command_input *input, const json_t *nics)
{
	const char *name = input->words[1];
	const json_t *nic;
	bool there = false;
	size_t i;

	json_begin_object(body, NULL);
	json_begin_array(body, "nics");
	json_array_foreach(nics, i, nic)
	{
		bool this = strcmp(haasctl_word(nic, "name"), name) == 0;

		there = there || this;
		json_begin_object(body, NULL);
		json_put_string(body, "name", haasctl_word(nic, "name"));
		json_put_string(body, "mac", this ? input->words[2] : haasctl_word(nic, "mac"));
		json_put_bool(body, "boot", json_is_true(json_object_get(nic, "boot")));
		json_end_object(body);
	}
	if (!there) {
		json_begin_object(body, NULL);
		json_put_string(body, "name", name);
		json_put_string(body, "mac", input->words[2]);
		json_put_bool(body, "boot", json_array_size(nics) == 0);
		json_end_object(body);
	}
	json_end_array(body);
	json_end_object(body);
}

static int node_nic(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};

	haasctl_path(&target, "/nodes/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	nic_body(&body, input, json_object_get(before.json, "nics"));
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "PATCH",
						 .target = text_get(&target),
						 .body = text_get(&body),
						 .content_type = "application/merge-patch+json",
						 .before = &before});
}

static int node_inventory(void *context, const struct command_input *input)
{
	static const char *const order[] = {"vendor",
					    "product",
					    "serial",
					    "uuid",
					    "firmware",
					    "cpu",
					    "memory_bytes",
					    "gpus",
					    "disks",
					    "disks.name",
					    "disks.model",
					    "disks.serial",
					    "disks.size_bytes",
					    "disks.kind",
					    "nics",
					    "nics.name",
					    "nics.mac",
					    "nics.driver",
					    "nics.speed_mbps",
					    "bmc",
					    NULL};
	static const struct output_column columns[] = {COLUMN("vendor"),
						       COLUMN("product"),
						       COLUMN("serial"),
						       COLUMN("firmware"),
						       TITLED("cpu.model", "CPU"),
						       NUMBER("memory_bytes"),
						       WIDE("uuid"),
						       WIDE("disks"),
						       WIDE("nics"),
						       WIDE("gpus")};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};

	haasctl_path(&target, "/nodes/", input->words[0], "/inventory");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (command_option(input, "--columns") || !listing_json(input, reply.json))
		status = listing_object(input, json_object_get(reply.json, "data"),
					&(struct show){order, COLUMNS(columns)});
	haasctl_reply_done(&reply);
	return status;
}

static int node_drives(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),    COLUMN("serial"), TITLED_NUMBER("size_bytes", "SIZE"),
		COLUMN("verdict"), COLUMN("method"), COLUMN("verdict_at"),
		WIDE("model"),     WIDE("kind"),     WIDE("reason"),
	};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};

	haasctl_path(&target, "/nodes/", input->words[0], "/drives");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status == EXIT_OK)
		status =
			listing_rows(input, json_object_get(reply.json, "items"), COLUMNS(columns));
	haasctl_reply_done(&reply);
	return status;
}

static int node_trace(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("at"),      COLUMN("actor"),
		COLUMN("message"), TITLED("detail.reason", "REASON"),
		WIDE("kind"),      WIDE_NUMBER("id"),
		WIDE("detail"),
	};
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/nodes/", input->words[0], "/events");
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(columns));
}

static const struct option_row node_cli_list_options[] = {
	{"--state", 0, OPTION_VALUE, "discovered|free|reserved|active|scrubbing|broken|held",
	 "only in this state"},
	{"--class", 0, OPTION_VALUE, "CLASS", "only this class"},
	{"--rack", 0, OPTION_VALUE, "RACK", "only this rack"},
	{"--name", 0, OPTION_VALUE, "GLOB", "only names like this, gpu*"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row node_cli_event_options[] = {
	SELECTOR_OPTIONS,
	{"--reason", 0, OPTION_VALUE, "TEXT", "shown with the node, kept with the event"}};
static const struct option_row node_cli_break_options[] = {
	SELECTOR_OPTIONS,
	{"--reason", 0, OPTION_VALUE, "TEXT", "shown with the node, kept with the event"},
	CONFIRM_OPTION,
};
static const struct option_row node_cli_page_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"}};

static const struct command node_cli_commands[] = {
	{"node", "list", "", "nodes with state, power and running deployment",
	 OPTIONS(node_cli_list_options), 0, 0, node_list,
	 .example = "node list --state free -o wide"},
	{"node", "show", "NODE", "one node", NO_OPTIONS, 1, 1, node_show,
	 .example = "node show n1"},
	{"node", "describe", "NODE", "all of a node on one screen, with its last events",
	 NO_OPTIONS, 1, 1, haasctl_describe_node, .example = "node describe n1"},
	{"node", "import", "[FILE]", "create or update nodes from a CSV sheet (- = stdin)",
	 OPTIONS(node_sheet_options), 0, 1, haasctl_node_import,
	 .example = "node import nodes.csv --dry-run"},
	{"node", "accept", "[NODE...]", "their disks hold no tenant's data: discovered -> free",
	 OPTIONS(node_cli_event_options), 0, 1000, node_accept, .example = "node accept n1"},
	{"node", "hold", "[NODE...]", "take nodes out of allocation",
	 OPTIONS(node_cli_event_options), 0, 1000, node_hold,
	 .example = "node hold --where 'rack=r07 state=free' --reason 'rack r07 moves'"},
	{"node", "unhold", "[NODE...]", "held -> discovered", OPTIONS(node_cli_event_options), 0,
	 1000, node_unhold, .example = "node unhold n1"},
	{"node", "break", "[NODE...]", "mark as broken", OPTIONS(node_cli_break_options), 0, 1000,
	 node_break, .example = "node break n1 --reason 'power supply smokes'"},
	{"node", "repair", "[NODE...]", "broken -> discovered", OPTIONS(node_cli_event_options), 0,
	 1000, node_repair, .example = "node repair n1"},
	{"node", "delete", "NODE...", "forget nodes that hold no tenant's data", NO_OPTIONS, 1,
	 1000, node_delete, .example = "node delete n1", .done = "node {*} deleted"},
	{"node", "nic", "NODE NAME MAC", "a NIC was put in or replaced: its MAC is this now",
	 NO_OPTIONS, 3, 3, node_nic, .example = "node nic n1 eth0 52:54:00:00:00:17",
	 .done = "NIC {2} of node {1} saved with MAC {3}"},
	{"node", "inventory", "NODE", "the node's hardware as its agent found it", NO_OPTIONS, 1, 1,
	 node_inventory, .example = "node inventory n1"},
	{"node", "drives", "NODE", "drives and the verdict of their last erase", NO_OPTIONS, 1, 1,
	 node_drives, .example = "node drives n1"},
	{"node", "trace", "NODE", "the node's story, from its events",
	 OPTIONS(node_cli_page_options), 1, 1, node_trace, .example = "node trace n1"},
};
const struct command_group node_group = {node_cli_commands, COUNT_OF(node_cli_commands)};
