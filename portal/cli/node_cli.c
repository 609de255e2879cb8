/* haasctl node */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/file.h"

#include "portal/cli/haasctl.h"

#define SHEET_LIMIT ((size_t)8 << 20)

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
	WIDE("firmware"),
	WIDE("serial"),
	TITLED_WIDE("bmc.address", "BMC"),
	WIDE("updated_at"),
};

static int node_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/nodes");
	haasctl_query(&target, input, "--state", "state");
	haasctl_query(&target, input, "--class", "class");
	haasctl_query(&target, input, "--rack", "rack");
	haasctl_query(&target, input, "--name", "name");
	return haasctl_list(context, input, text_get(&target), node_columns,
			    COUNT_OF(node_columns));
}

static void node_target(struct text *target, const char *node, const char *rest)
{
	text_add(target, "/nodes/");
	haasctl_escape(target, node);
	text_add(target, rest);
}

static int node_show(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	node_target(&target, input->words[0], "");
	return haasctl_show(context, input, text_get(&target));
}

static int node_import(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {NUMBER("row"), COLUMN("name"),
						       COLUMN("result")};
	CLEANUP(freep) char *sheet = NULL;
	struct haasctl_reply reply = {0};
	struct output *output = NULL;
	const json_t *row;
	size_t size = 0;
	size_t i;
	int rc = file_read(input->words[0], SHEET_LIMIT, &sheet, &size);

	if (rc < 0) {
		fprintf(stderr, "haasctl: cannot read %s: %s\n", input->words[0], error_text(rc));
		return EXIT_FAILED;
	}
	bool dry_run = command_option(input, "--dry-run") != NULL;
	int status =
		haasctl_call(context, input,
			     &(struct haasctl_call){.method = "POST",
						    .target = dry_run ? "/nodes/import?dry_run=true"
								      : "/nodes/import",
						    .body = sheet,
						    .body_size = size,
						    .content_type = "text/csv"},
			     &reply);
	explicit_bzero(sheet, size);
	if (status != EXIT_OK)
		return status;
	status = haasctl_output(context, input, columns, COUNT_OF(columns), &output);
	if (status == EXIT_OK) {
		json_array_foreach(json_object_get(reply.json, "rows"), i, row)
			haasctl_row(output, row, columns, COUNT_OF(columns));
		status = output_end(output) < 0 ? EXIT_FAILED : EXIT_OK;
		fprintf(stderr,
			"%s%" JSON_INTEGER_FORMAT " created, %" JSON_INTEGER_FORMAT " updated\n",
			dry_run ? "dry run, nothing written: " : "",
			json_integer_value(json_object_get(reply.json, "created")),
			json_integer_value(json_object_get(reply.json, "updated")));
	}
	haasctl_reply_done(&reply);
	return status;
}

static int node_event(void *context, const struct command_input *input, const char *event)
{
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("state")};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	struct output *output = NULL;
	const json_t *row;
	size_t i;

	json_begin_object(&body, NULL);
	haasctl_json_words(&body, "nodes", input->words, input->word_count);
	json_string(&body, "event", event);
	if (command_option(input, "--reason"))
		json_string(&body, "reason", command_option(input, "--reason"));
	json_end_object(&body);
	int status = haasctl_post(context, input, "/nodes/state", &body, &reply);
	if (status != EXIT_OK)
		return status;
	status = haasctl_output(context, input, columns, COUNT_OF(columns), &output);
	if (status == EXIT_OK) {
		json_array_foreach(json_object_get(reply.json, "nodes"), i, row)
			haasctl_row(output, row, columns, COUNT_OF(columns));
		status = output_end(output) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	haasctl_reply_done(&reply);
	return status;
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
	return node_event(context, input, "break");
}

static int node_repair(void *context, const struct command_input *input)
{
	return node_event(context, input, "repair");
}

static int node_delete(void *context, const struct command_input *input)
{
	for (size_t i = 0; i < input->word_count; i++) {
		CLEANUP(text_done) struct text target = {0};
		struct haasctl_reply reply = {0};
		char etag[72];

		node_target(&target, input->words[i], "");
		int status = haasctl_get(context, input, text_get(&target), &reply);
		if (status != EXIT_OK)
			return status;
		text_copy(etag, sizeof(etag), reply.etag);
		haasctl_reply_done(&reply);
		status = haasctl_call(context, input,
				      &(struct haasctl_call){.method = "DELETE",
							     .target = text_get(&target),
							     .if_match = etag},
				      &reply);
		haasctl_reply_done(&reply);
		if (status != EXIT_OK)
			return status;
	}
	return EXIT_OK;
}

/* --- what the BMC does --- */

static int ask_bmc(void *context, const struct command_input *input, const char *action,
		   const char *const nodes[], size_t count, json_t **ret_items)
{
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};

	json_begin_object(&body, NULL);
	haasctl_json_words(&body, "nodes", nodes, count);
	json_string(&body, "action", action);
	if (strcmp(action, "boot_device") == 0) {
		json_begin_object(&body, "params");
		json_string(&body, "device",
			    command_option(input, "--device") ? command_option(input, "--device")
							      : "pxe");
		json_bool(&body, "persistent", command_option(input, "--persistent") != NULL);
		json_end_object(&body);
	}
	json_bool(&body, "force", command_option(input, "--force") != NULL);
	json_end_object(&body);
	int status = haasctl_post(context, input, "/nodes/actions", &body, &reply);
	if (status != EXIT_OK)
		return status;
	int64_t job = json_integer_value(json_object_get(reply.json, "job"));
	haasctl_reply_done(&reply);
	if (command_option(input, "--no-wait")) {
		printf("job %" PRId64 "\n", job);
		return EXIT_OK;
	}
	return haasctl_wait_job(context, input, job, ret_items);
}

static int node_power(void *context, const struct command_input *input)
{
	static const char *const verbs[][2] = {
		{"on", "power_on"},       {"off", "power_off"},   {"cycle", "power_cycle"},
		{"reset", "power_reset"}, {"soft", "power_soft"}, {"status", "power_status"},
	};
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("state"),
						       TITLED("result.power", "POWER")};
	json_t *items = NULL;
	struct output *output = NULL;
	const char *action = NULL;
	const json_t *item;
	size_t i;

	for (i = 0; i < COUNT_OF(verbs); i++)
		action = strcmp(verbs[i][0], input->words[0]) == 0 ? verbs[i][1] : action;
	if (!action)
		return haasctl_usage("power %s? choose on, off, cycle, reset, soft or status",
				     input->words[0]);
	int status =
		ask_bmc(context, input, action, input->words + 1, input->word_count - 1, &items);
	if (items &&
	    haasctl_output(context, input, columns, COUNT_OF(columns), &output) == EXIT_OK) {
		json_array_foreach(items, i, item)
			haasctl_row(output, item, columns, COUNT_OF(columns));
		if (output_end(output) < 0)
			status = EXIT_FAILED;
	}
	json_decref(items);
	return status;
}

/* One node, one reading of its BMC, shown as the array or object that it is. */
static int node_reading(void *context, const struct command_input *input, const char *action)
{
	json_t *items = NULL;
	int status = ask_bmc(context, input, action, input->words, input->word_count, &items);
	const json_t *result = json_object_get(json_array_get(items, 0), "result");

	if (status == EXIT_OK && result && !haasctl_as_json(input, result)) {
		char *dump = json_dumps(result, JSON_INDENT(2) | JSON_ENCODE_ANY);

		printf("%s\n", dump ? dump : "");
		free(dump);
	}
	json_decref(items);
	return status;
}

static int node_sensors(void *context, const struct command_input *input)
{
	return node_reading(context, input, "sensors");
}

static int node_sel(void *context, const struct command_input *input)
{
	return node_reading(context, input, "sel");
}

static int node_fru(void *context, const struct command_input *input)
{
	return node_reading(context, input, "fru");
}

static int node_boot_device(void *context, const struct command_input *input)
{
	return node_reading(context, input, "boot_device");
}

static int node_identify(void *context, const struct command_input *input)
{
	return node_reading(context, input, "identify");
}

/* --- what is known --- */

static int node_inventory(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};

	node_target(&target, input->words[0], "/inventory");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (!haasctl_as_json(input, reply.json)) {
		char *dump = json_dumps(json_object_get(reply.json, "data"), JSON_INDENT(2));

		printf("%s\n", dump ? dump : "");
		free(dump);
	}
	haasctl_reply_done(&reply);
	return EXIT_OK;
}

static int node_drives(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),    COLUMN("serial"), COLUMN("model"),  NUMBER("size_bytes"),
		COLUMN("verdict"), COLUMN("method"), COLUMN("reason"), COLUMN("verdict_at"),
	};
	CLEANUP(text_done) struct text target = {0};

	node_target(&target, input->words[0], "/drives");
	return haasctl_list(context, input, text_get(&target), columns, COUNT_OF(columns));
}

static int node_trace(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("at"),      COLUMN("actor"),   COLUMN("kind"),
		COLUMN("message"), WIDE_NUMBER("id"), WIDE("detail"),
	};
	CLEANUP(text_done) struct text target = {0};

	node_target(&target, input->words[0], "/events");
	return haasctl_list(context, input, text_get(&target), columns, COUNT_OF(columns));
}

static int node_console(void *context, const struct command_input *input)
{
	return console_run(context, input, input->words[0]);
}

static const struct option_row list_options[] = {
	{"--state", 0, OPTION_VALUE, "STATE",
	 "discovered, free, reserved, active, scrubbing, broken or held"},
	{"--class", 0, OPTION_VALUE, "CLASS", "only this class"},
	{"--rack", 0, OPTION_VALUE, "RACK", "only this rack"},
	{"--name", 0, OPTION_VALUE, "GLOB", "only names like this, gpu*"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};
static const struct option_row import_options[] = {
	{"--dry-run", 0, OPTION_FLAG, NULL, "only check; an error per wrong cell"}};
static const struct option_row event_options[] = {
	{"--reason", 0, OPTION_VALUE, "TEXT", "kept with the event"}};
static const struct option_row bmc_options[] = {
	{"--force", 0, OPTION_FLAG, NULL, "also while a deployment works on the node"},
	{"--no-wait", 0, OPTION_FLAG, NULL, "print the job and return"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long, 90s, 5m (default 1h)"},
};
static const struct option_row boot_options[] = {
	{"--device", 0, OPTION_VALUE, "DEVICE", "pxe, disk or none (default pxe)"},
	{"--persistent", 0, OPTION_FLAG, NULL, "for every boot, not only the next"},
	{"--force", 0, OPTION_FLAG, NULL, "also while a deployment works on the node"},
};
static const struct option_row console_options[] = {
	{"--read-only", 0, OPTION_FLAG, NULL, "only look; without a terminal this is the default"}};
static const struct option_row page_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"}};

static const struct command commands[] = {
	{"node", "list", "", "nodes with state, power and what is done to them",
	 OPTIONS(list_options), 0, 0, node_list},
	{"node", "show", "NODE", "one node", NO_OPTIONS, 1, 1, node_show},
	{"node", "import", "FILE", "create or update nodes from a CSV sheet, all or none",
	 OPTIONS(import_options), 1, 1, node_import},
	{"node", "accept", "NODE...", "say that the disks hold nobody's data: discovered -> free",
	 OPTIONS(event_options), 1, 1000, node_accept},
	{"node", "hold", "NODE...", "take nodes out of allocation", OPTIONS(event_options), 1, 1000,
	 node_hold},
	{"node", "unhold", "NODE...", "held -> discovered", OPTIONS(event_options), 1, 1000,
	 node_unhold},
	{"node", "break", "NODE...", "mark as broken", OPTIONS(event_options), 1, 1000, node_break},
	{"node", "repair", "NODE...", "broken -> discovered", OPTIONS(event_options), 1, 1000,
	 node_repair},
	{"node", "delete", "NODE...", "forget nodes that hold nobody's data", NO_OPTIONS, 1, 1000,
	 node_delete},
	{"node", "power", "on|off|cycle|reset|soft|status NODE...",
	 "power by the BMC, confirmed by reading back", OPTIONS(bmc_options), 2, 1000, node_power},
	{"node", "boot-device", "NODE...", "what the node boots next", OPTIONS(boot_options), 1,
	 1000, node_boot_device},
	{"node", "identify", "NODE", "blink the node's light", OPTIONS(bmc_options), 1, 1,
	 node_identify},
	{"node", "sensors", "NODE", "sensor readings of the BMC", OPTIONS(bmc_options), 1, 1,
	 node_sensors},
	{"node", "sel", "NODE", "the BMC's event log", OPTIONS(bmc_options), 1, 1, node_sel},
	{"node", "fru", "NODE", "the BMC's part numbers", OPTIONS(bmc_options), 1, 1, node_fru},
	{"node", "inventory", "NODE", "what the agent found in the node", NO_OPTIONS, 1, 1,
	 node_inventory},
	{"node", "drives", "NODE", "drives and the verdict of their last erase", NO_OPTIONS, 1, 1,
	 node_drives},
	{"node", "trace", "NODE", "the node's story, from its events", OPTIONS(page_options), 1, 1,
	 node_trace},
	{"node", "console", "NODE", "the serial console (leave with Ctrl-])",
	 OPTIONS(console_options), 1, 1, node_console},
};
const struct command_group node_group = {commands, COUNT_OF(commands)};
