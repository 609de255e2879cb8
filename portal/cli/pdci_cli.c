/* haasctl pdci, usage: what tenants rent as a whole, and what they had. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/count_text.h"
#include "common/base/json_text.h"

#include "portal/cli/confirm.h"
#include "portal/cli/listing.h"

/* The path of a PDCI with whose it is; `after` goes behind its name. */
static void pdci_target(struct text *target, const struct command_input *input, const char *name,
			const char *after)
{
	haasctl_path(target, "/pdcis/", name, after);
	haasctl_query(target, input, "--tenant");
}

/* --- asking for one --- */

static const struct output_column pdci_columns[] = {
	NUMBER("id"),
	COLUMN("name"),
	COLUMN("tenant"),
	COLUMN("state"),
	TITLED_NUMBER("nodes_ready", "READY"),
	TITLED_NUMBER("nodes_wanted", "NODES"),
	COLUMN("created_at"),
	WIDE("locked"),
	WIDE_NUMBER("nodes_held"),
	WIDE("ready_at"),
	WIDE("ended_at"),
	WIDE("actor"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

/* Shows what was asked for, and follows it when --watch says so. A watch writes its own lines. */
static int pdci_cli_follow(void *context, const struct command_input *input,
			   struct haasctl_reply *reply)
{
	CLEANUP(text_done) struct text target = {0};
	bool watch = command_option(input, "--watch") != NULL;
	json_t *rows;
	int status = EXIT_OK;

	text_addf(&target, "/pdcis/%" JSON_INTEGER_FORMAT,
		  json_integer_value(json_object_get(reply->json, "id")));
	if (!watch && !listing_json(input, reply->json)) {
		rows = json_pack("[O]", reply->json);
		status = listing_rows(input, rows, COLUMNS(pdci_columns));
		json_decref(rows);
	}
	if (!watch)
		fprintf(stderr, "follow it: haasctl pdci watch %s\n",
			haasctl_word(reply->json, "name"));
	haasctl_reply_done(reply);
	return watch ? watch_pdci(context, input, text_get(&target)) : status;
}

static int pdci_cli_pdci_create(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	bool dry_run = command_option(input, "--dry-run") != NULL;
	struct haasctl_reply reply = {0};
	int64_t limit_s = 0;
	int status = pdci_create_body(&body, input);

	if (status == EXIT_OK)
		status = haasctl_timeout_s(input, &limit_s); /* before anything is begun */
	if (status == EXIT_OK)
		status = haasctl_post(context, input, dry_run ? "/pdcis?dry_run=true" : "/pdcis",
				      &body, &reply);
	if (status != EXIT_OK)
		return status;
	if (!dry_run)
		return pdci_cli_follow(context, input, &reply);
	status = pdci_feasibility_tell(input, reply.json);
	haasctl_reply_done(&reply);
	return status;
}

/* --- looking --- */

static int pdci_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/pdcis");
	haasctl_query(&target, input, "--state");
	haasctl_query(&target, input, "--tenant");
	if (!command_option(input, "--all") && !command_option(input, "--state"))
		text_addf(&target, "%cactive=true", strchr(text_get(&target), '?') ? '&' : '?');
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(pdci_columns));
}

/* Shared volumes one by one; the disks of its nodes as a sum. */
static void show_volumes(const json_t *volumes)
{
	CLEANUP(text_done) struct text text = {0};
	const char *title = "volumes";
	json_int_t bytes = 0;
	const json_t *volume;
	size_t disks = 0;
	size_t i;

	json_array_foreach(volumes, i, volume)
	{
		if (strcmp(haasctl_word(volume, "kind"), "local") == 0) {
			bytes += json_integer_value(json_object_get(volume, "size_bytes"));
			disks++;
			continue;
		}
		printf("  %-10s %s %s %s\n", title, haasctl_word(volume, "name"),
		       listing_text(json_object_get(volume, "size_bytes"), "size_bytes", &text),
		       haasctl_word(volume, "state"));
		title = "";
	}
	if (disks > 0) {
		json_t *sum = json_integer(bytes);
		char count[COUNT_TEXT_SIZE];

		printf("  %-10s %s, %s\n", title, count_text(count, (int64_t)disks, "local disk"),
		       listing_text(sum, "size_bytes", &text));
		json_decref(sum);
	}
}

/* For what it waits, and each of its nodes; with the last attempt's problem. */
static void show_waiting(const json_t *of, const char *whose)
{
	const json_t *waiting = json_object_get(of, "waiting");
	const char *last = haasctl_word(json_object_get(of, "last_problem"), "message");
	CLEANUP(text_done) struct text since = {0};

	if (!haasctl_word(waiting, "message")[0])
		return;
	printf("  %-10s %s%s%s, since %s\n", "waits", whose, whose[0] ? ": " : "",
	       haasctl_word(waiting, "message"),
	       listing_text(json_object_get(waiting, "since"), "since_at", &since));
	if (haasctl_word(waiting, "detail")[0])
		printf("  %-10s %s\n", "detail", haasctl_word(waiting, "detail"));
	if (haasctl_word(waiting, "hint")[0])
		printf("  %-10s %s\n", "hint", haasctl_word(waiting, "hint"));
	if (last[0])
		printf("  %-10s %s\n", "last try", last);
}

static void show_waiting_nodes(const json_t *pdci)
{
	const json_t *node;
	size_t i;

	show_waiting(pdci, "");
	json_array_foreach(json_object_get(pdci, "nodes"), i, node)
		show_waiting(json_object_get(node, "deployment"), haasctl_word(node, "node"));
}

/* A line for each node with one; what the PDCI says of it is not said again. */
static void show_node_problems(const json_t *pdci)
{
	const char *told = haasctl_word(json_object_get(pdci, "problem"), "message");
	CLEANUP(text_done) struct text time = {0};
	const json_t *node;
	size_t i;

	json_array_foreach(json_object_get(pdci, "nodes"), i, node)
	{
		const json_t *problem = json_object_get(node, "problem");
		const json_t *since = json_object_get(problem, "since");
		const char *message = haasctl_word(problem, "message");
		const char *hint = haasctl_word(problem, "hint");

		if (!message[0] || (told[0] && strstr(told, message)))
			continue;
		printf("  %-10s %s: %s\n", "node", haasctl_word(node, "node"), message);
		if (since) /* broken or held: by whom */
			printf("  %-10s %s %s\n", "since", listing_text(since, "since", &time),
			       haasctl_word(problem, "detail"));
		if (hint[0])
			printf("  %-10s %s\n", "hint", hint);
	}
}

static void pdci_cli_show_head(const json_t *pdci)
{
	static const char *const members[] = {"actor", "created_at", "ready_at", "ended_at"};
	static const char *const parts[] = {"message", "detail", "hint"};
	const json_t *problem = json_object_get(pdci, "problem");
	CLEANUP(text_done) struct text text = {0};
	const json_t *network;
	size_t i;

	printf("pdci %s of %s is %s%s, %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
	       " nodes ready\n",
	       haasctl_word(pdci, "name"), haasctl_word(pdci, "tenant"),
	       haasctl_word(pdci, "state"),
	       json_is_true(json_object_get(pdci, "locked")) ? " and locked" : "",
	       json_integer_value(json_object_get(pdci, "nodes_ready")),
	       json_integer_value(json_object_get(pdci, "nodes_wanted")));
	for (i = 0; i < COUNT_OF(members); i++) {
		const json_t *value = json_object_get(pdci, members[i]);

		if (value && !json_is_null(value))
			printf("  %-10s %s\n", members[i], listing_text(value, members[i], &text));
	}
	json_array_foreach(json_object_get(pdci, "networks"), i, network)
		printf("  %-10s %s %s\n", i == 0 ? "networks" : "", haasctl_word(network, "name"),
		       haasctl_word(network, "prefix"));
	show_volumes(json_object_get(pdci, "volumes"));
	for (i = 0; i < COUNT_OF(parts); i++) {
		if (haasctl_word(problem, parts[i])[0])
			printf("  %-10s %s\n", i == 0 ? "problem" : parts[i],
			       haasctl_word(problem, parts[i]));
	}
	show_node_problems(pdci);
	show_waiting_nodes(pdci);
}

/* Its members: who is there, or whose place is still vacant. */
static bool pdci_cli_has_left(const json_t *node)
{
	return haasctl_word(node, "released_at")[0] &&
	       !json_is_true(json_object_get(node, "replacing"));
}

/* In the table: only members; who left stands below them. With -o wide, and for programs, all. */
static int pdci_cli_show_nodes(const struct command_input *input, const json_t *pdci,
			       const struct output_column columns[], size_t count)
{
	const char *format = command_option(input, "--output");
	const json_t *nodes = json_object_get(pdci, "nodes");
	CLEANUP(json_decrefp) json_t *members = json_array();
	CLEANUP(text_done) struct text left = {0};
	int status = EXIT_OK;
	json_t *node;
	size_t i;

	if (command_option(input, "--columns") || (format && strcmp(format, "table") != 0))
		return json_array_size(nodes) > 0 || !listing_for_people(input)
			       ? listing_rows(input, nodes, columns, count)
			       : EXIT_OK;
	json_array_foreach(nodes, i, node)
	{
		if (!pdci_cli_has_left(node)) {
			(void)json_array_append(members, node);
			continue;
		}
		text_addf(&left, "%s%s", left.size > 0 ? ", " : "", haasctl_word(node, "node"));
		if (haasctl_word(node, "replaced_by")[0])
			text_addf(&left, " (now %s)", haasctl_word(node, "replaced_by"));
	}
	if (json_array_size(members) > 0)
		status = listing_rows(input, members, columns, count);
	if (left.size > 0)
		printf("left: %s\n", text_get(&left));
	return status;
}

/* The networks of each node's NICs, a row each. */
static int show_nics(const struct command_input *input, const json_t *pdci)
{
	static const struct output_column columns[] = {
		COLUMN("node"), COLUMN("nic"),  TITLED("members", "OF"), COLUMN("network"),
		COLUMN("mode"), NUMBER("vlan"), COLUMN("address"),
	};
	CLEANUP(json_decrefp) json_t *rows = json_array();
	const json_t *node;
	json_t *nic;
	size_t i;
	size_t j;

	json_array_foreach(json_object_get(pdci, "nodes"), i, node)
	{
		json_array_foreach(json_object_get(node, "nics"), j, nic)
		{
			(void)json_object_set(nic, "node", json_object_get(node, "node"));
			(void)json_array_append(rows, nic);
		}
	}
	return listing_rows(input, rows, COLUMNS(columns));
}

/* For people a head and its nodes; with -o csv or -c the nodes; JSON is the whole. */
static int pdci_show(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("node"),
		COLUMN("class"),
		COLUMN("address"),
		TITLED("deployment.plan", "PLAN"),
		TITLED("deployment.state", "STATE"),
		TITLED("deployment.step", "STEP"),
		TITLED_NUMBER("deployment.percent", "%"),
		WIDE_NUMBER("group"),
		TITLED_WIDE("deployment.id", "DEPLOYMENT"),
		TITLED_WIDE("deployment.image", "IMAGE"),
		TITLED_WIDE("deployment.image_version", "VERSION"),
		WIDE("replaces"),
		WIDE("replaced_by"),
		WIDE("released_at"),
		TITLED_WIDE("problem.message", "PROBLEM"),
		TITLED_WIDE("deployment.waiting.message", "WAITS"),
		TITLED_WIDE("deployment.waiting.since", "SINCE"),
	};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	int status;

	pdci_target(&target, input, input->words[0], "");
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (command_option(input, "--nics")) {
		status = show_nics(input, reply.json);
	} else if (command_option(input, "--columns") || !listing_json(input, reply.json)) {
		if (listing_for_people(input) && !command_option(input, "--columns"))
			pdci_cli_show_head(reply.json);
		status = pdci_cli_show_nodes(input, reply.json, COLUMNS(columns));
	}
	haasctl_reply_done(&reply);
	return status;
}

static int pdci_watch(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	pdci_target(&target, input, input->words[0], "");
	return watch_pdci(context, input, text_get(&target));
}

/* `node` NULL: all of it. */
static int pdci_act(void *context, const struct command_input *input, const char *action,
		    const char *node)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int64_t limit_s = 0;
	int status = haasctl_timeout_s(input, &limit_s); /* before anything is begun */

	pdci_target(&target, input, input->words[0], "/actions");
	json_begin_object(&body, NULL);
	json_put_string(&body, "action", action);
	if (node)
		json_put_string(&body, "node", node);
	json_end_object(&body);
	if (status == EXIT_OK)
		status = haasctl_post(context, input, text_get(&target), &body, &reply);
	return status == EXIT_OK ? pdci_cli_follow(context, input, &reply) : status;
}

static int pdci_release(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_PDCI, 0, "will be erased"};
	int status = confirm_ask(context, input, &row);

	return status == EXIT_OK ? pdci_act(context, input, "release", NULL) : status;
}

static int pdci_replace(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_PDCI_NODE, 0, "will be erased"};
	int status = confirm_ask(context, input, &row);

	return status == EXIT_OK ? pdci_act(context, input, "replace", input->words[1]) : status;
}

static int pdci_cli_lock(void *context, const struct command_input *input, const char *action)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};

	pdci_target(&target, input, input->words[0], "/actions");
	json_begin_object(&body, NULL);
	json_put_string(&body, "action", action);
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "POST",
						 .target = text_get(&target),
						 .body = text_get(&body)});
}

static int pdci_lock(void *context, const struct command_input *input)
{
	return pdci_cli_lock(context, input, "lock");
}

static int pdci_unlock(void *context, const struct command_input *input)
{
	return pdci_cli_lock(context, input, "unlock");
}

/* "2x H100, EPYC 9654, 2.0 TiB, 3 disks" */
static void pdci_cli_add_hardware(json_t *row)
{
	const json_t *hardware = json_object_get(row, "hardware");
	const json_t *gpus = json_object_get(hardware, "gpus");
	CLEANUP(text_done) struct text text = {0};
	CLEANUP(text_done) struct text memory = {0};
	const char *gpu = json_string_value(json_array_get(gpus, 0));
	char count[COUNT_TEXT_SIZE];

	if (!json_is_object(hardware))
		return;
	if (gpu)
		text_addf(&text, "%zu x %s, ", json_array_size(gpus), gpu);
	if (haasctl_word(hardware, "cpu")[0])
		text_addf(&text, "%s, ", haasctl_word(hardware, "cpu"));
	if (json_is_integer(json_object_get(hardware, "memory_bytes")))
		text_addf(&text, "%s, ",
			  listing_text(json_object_get(hardware, "memory_bytes"), "memory_bytes",
				       &memory));
	text_add(&text,
		 count_text(count, (int64_t)json_array_size(json_object_get(hardware, "disks")),
			    "disk"));
	(void)json_object_set_new(row, "hardware", json_stringn(text_get(&text), text.size));
}

static int pdci_cli_classes(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("class"), NUMBER("free"),
						       COLUMN("nics"), COLUMN("hardware")};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	json_t *rows;
	json_t *row;
	size_t i;
	int status;

	text_add(&target, "/classes");
	haasctl_query(&target, input, "--tenant");
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK || listing_json(input, reply.json))
		return status;
	rows = json_object_get(reply.json, "items");
	json_array_foreach(rows, i, row) pdci_cli_add_hardware(row);
	return listing_rows(input, rows, COLUMNS(columns));
}

/* --- usage --- */

static void add_hours(json_t *row)
{
	json_int_t seconds = json_integer_value(json_object_get(row, "seconds"));
	CLEANUP(text_done) struct text hours = {0};

	text_addf(&hours, "%.2f", (double)seconds / 3600);
	(void)json_object_set_new(row, "hours", json_stringn(text_get(&hours), hours.size));
}

static int pdci_cli_usage_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("tenant"),          COLUMN("pdci"),         COLUMN("class"),
		TITLED("subject", "NODE"), COLUMN("from_at"),      COLUMN("to_at"),
		NUMBER("hours"),           WIDE_NUMBER("seconds"), WIDE("kind"),
	};
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/usage");
	haasctl_query(&target, input, "--tenant");
	haasctl_query(&target, input, "--from");
	haasctl_query(&target, input, "--to");
	return listing_source_pages(
		context, input,
		&(struct listing_source){.target = text_get(&target), .prepare = add_hours},
		COLUMNS(columns));
}

static const struct option_row pdci_cli_list_options[] = {
	{"--state", 0, OPTION_VALUE,
	 "requested|infeasible|building|ready|failed|releasing|released", "only in this state"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--all", 0, OPTION_FLAG, NULL, "also those that are released"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row pdci_cli_create_options[] = {
	{"--class", 0, OPTION_VALUE, "CLASS", "of its nodes (default any)"},
	{"--nodes", 0, OPTION_VALUE, "N", "how many"},
	{"--image", 0, OPTION_VALUE, "NAME[:VERSION]", "the image to install"},
	{"--nic", 0, OPTION_REPEAT, "NIC:NETWORK[:MODE]",
	 "a network of a NIC (default: all on the boot NIC)"},
	{"--bond", 0, OPTION_REPEAT, "NAME=NIC+NIC",
	 "NICs used as one (LACP); its networks: --nic"},
	{"--disks", 0, OPTION_VALUE, "N", "only nodes of at least so many local disks"},
	{"--min-disk", 0, OPTION_VALUE, "SIZE", "of at least this size each: 2T, 960G"},
	{"--disk-kind", 0, OPTION_VALUE, "flash|rotating", "of this kind (default any)"},
	{"--group", 0, OPTION_REPEAT, "class=C,nodes=N,image=I",
	 "more of another kind; may be repeated"},
	{"--network", 0, OPTION_REPEAT, "NAME[=PREFIX]", "a network of its own; may be repeated"},
	{"--volume", 0, OPTION_REPEAT, "size=SIZE[,name=NAME][,delete]",
	 "a volume, new or (name=NAME) there; may be repeated"},
	{"--spread", 0, OPTION_VALUE, "near|rack",
	 "few switches and racks, or many racks (default near)"},
	{"--spare", 0, OPTION_VALUE, "none|automatic",
	 "automatic: a node that fails is replaced, once"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "for whom"},
	{"--ssh-key", 0, OPTION_REPEAT, "FILE", "public keys for root; may be repeated"},
	{"--user-data", 0, OPTION_VALUE, "FILE", "handed to the installed OS"},
	{"--package", 0, OPTION_REPEAT, "NAME:VERSION",
	 "installed at the first start; may be repeated"},
	{"--dry-run", 0, OPTION_FLAG, NULL, "only report whether it is possible now"},
	{"--watch", 'w', OPTION_FLAG, NULL, "watch it until it is ready"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row pdci_cli_show_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
	{"--nics", 0, OPTION_FLAG, NULL, "the networks of each node's NICs"},
};
static const struct option_row pdci_cli_watch_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row pdci_cli_release_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
	CONFIRM_OPTION,
	{"--watch", 'w', OPTION_FLAG, NULL, "watch it until that is done"},
	{"--timeout", 0, OPTION_VALUE, "TIME", "watch at most so long (default 1h)"},
};
static const struct option_row pdci_cli_owner_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
};
static const struct option_row pdci_cli_classes_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "the tenant that it is for"},
};
static const struct option_row pdci_cli_sheet_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name"},
	{"--dry-run", 0, OPTION_FLAG, NULL, "only check; an error per wrong cell"},
};
static const struct option_row usage_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--from", 0, OPTION_VALUE, "TIME", "2026-11-01 or 2026-11-01T08:00:00Z (default all)"},
	{"--to", 0, OPTION_VALUE, "TIME", "up to, without it (default now)"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};

static const struct command pdci_cli_commands[] = {
	{"pdci", "create", "NAME", "ask for nodes, networks and images as one",
	 OPTIONS(pdci_cli_create_options), 1, 1, pdci_cli_pdci_create,
	 .example = "pdci create web --tenant acme --nodes 2 --image debian:12"},
	{"pdci", "classes", "", "classes that can be rented, with their free nodes",
	 OPTIONS(pdci_cli_classes_options), 0, 0, pdci_cli_classes, .example = "pdci classes"},
	{"pdci", "list", "", "PDCIs, newest first", OPTIONS(pdci_cli_list_options), 0, 0, pdci_list,
	 .example = "pdci list --tenant acme"},
	{"pdci", "show", "PDCI", "one PDCI with its nodes and networks",
	 OPTIONS(pdci_cli_show_options), 1, 1, pdci_show, .example = "pdci show web"},
	{"pdci", "describe", "PDCI", "all of a PDCI on one screen, with its last events",
	 OPTIONS(pdci_cli_owner_options), 1, 1, haasctl_describe_pdci,
	 .example = "pdci describe web"},
	{"pdci", "watch", "PDCI", "one line per node until it is ready or released",
	 OPTIONS(pdci_cli_watch_options), 1, 1, pdci_watch, .example = "pdci watch web"},
	{"pdci", "release", "PDCI", "return a PDCI: its nodes are erased",
	 OPTIONS(pdci_cli_release_options), 1, 1, pdci_release,
	 .example = "pdci release web --tenant acme"},
	{"pdci", "replace", "PDCI NODE", "another node in the place of one of its nodes",
	 OPTIONS(pdci_cli_release_options), 2, 2, pdci_replace, .example = "pdci replace web n1"},
	{"pdci", "lock", "PDCI", "refuse release, replace and power off until it is unlocked",
	 OPTIONS(pdci_cli_owner_options), 1, 1, pdci_lock, .example = "pdci lock web",
	 .done = "PDCI {1} locked"},
	{"pdci", "unlock", "PDCI", "allow them again", OPTIONS(pdci_cli_owner_options), 1, 1,
	 pdci_unlock, .example = "pdci unlock web", .done = "PDCI {1} unlocked"},
	{"pdci", "sheet", "show|set PDCI [FILE]", "what the OS at each place is told; FILE is CSV",
	 OPTIONS(pdci_cli_sheet_options), 2, 3, haasctl_pdci_sheet,
	 .example = "pdci sheet set web sheet.csv --dry-run"},
	{"usage", "list", "", "usage: tenants, nodes, begin and end", OPTIONS(usage_options), 0, 0,
	 pdci_cli_usage_list,
	 .example = "usage list --tenant acme --from 2026-11-01 --to 2026-12-01"},
};
const struct command_group pdci_group = {pdci_cli_commands, COUNT_OF(pdci_cli_commands)};
