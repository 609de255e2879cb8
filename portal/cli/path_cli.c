/* haasctl network path: the links that a tenant's networks use between two of its nodes, drawn from
 * the one to the other, with what each carries now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portal/cli/drill/drill_page.h"
#include "portal/cli/listing.h"

/* "n1:eth0+eth1", "leaf1:up2". */
static void path_cli_add_end(struct text *text, const json_t *end)
{
	const char *node = haasctl_word(end, "node");
	const json_t *nic;
	size_t i;

	if (!node[0]) {
		text_addf(text, "%s:%s", haasctl_word(end, "switch"), haasctl_word(end, "port"));
		return;
	}
	text_add(text, node);
	json_array_foreach(json_object_get(end, "nics"), i, nic)
		text_addf(text, "%c%s", i > 0 ? '+' : ':', json_string_value(nic));
}

static bool is_true(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* --- rows, for -o csv, jsonl and -c --- */

static json_t *path_cli_row_of(const json_t *path, const json_t *hop)
{
	static const char *const of_path[] = {"network", "fabric", "vlan", "vni"};
	CLEANUP(text_done) struct text a = {0};
	CLEANUP(text_done) struct text b = {0};
	CLEANUP(text_done) struct text faults = {0};
	json_t *row = json_deep_copy(hop);
	const json_t *fault;
	size_t i;

	path_cli_add_end(&a, json_object_get(hop, "a"));
	path_cli_add_end(&b, json_object_get(hop, "b"));
	json_array_foreach(json_object_get(hop, "faults"), i, fault)
		text_addf(&faults, "%s%s", i > 0 ? "; " : "", json_string_value(fault));
	for (i = 0; i < COUNT_OF(of_path); i++)
		(void)json_object_set(row, of_path[i], json_object_get(path, of_path[i]));
	(void)json_object_set(row, "path", json_object_get(path, "state"));
	(void)json_object_set_new(row, "a", json_pack("s", text_get(&a)));
	(void)json_object_set_new(row, "b", json_pack("s", text_get(&b)));
	(void)json_object_set_new(row, "faults", json_pack("s", text_get(&faults)));
	return row;
}

static int path_cli_print_rows(const struct command_input *input, const json_t *answer)
{
	static const struct output_column columns[] = {
		COLUMN("network"),
		COLUMN("fabric"),
		NUMBER("vlan"),
		NUMBER("vni"),
		COLUMN("path"),
		COLUMN("kind"),
		COLUMN("a"),
		COLUMN("b"),
		COLUMN("state"),
		NUMBER("certainty"),
		COLUMN("up"),
		NUMBER("speed_bps"),
		TITLED_NUMBER("forward.bits_per_second", "FORWARD"),
		TITLED_NUMBER("forward.percent", "FORWARD_PERCENT"),
		TITLED_NUMBER("back.bits_per_second", "BACK"),
		TITLED_NUMBER("back.percent", "BACK_PERCENT"),
		COLUMN("faults"),
	};
	CLEANUP(json_decrefp) json_t *rows = json_array();
	const json_t *path;
	const json_t *hop;
	size_t i;
	size_t j;

	json_array_foreach(json_object_get(answer, "paths"), i, path)
		json_array_foreach(json_object_get(path, "hops"), j, hop)(void)
			json_array_append_new(rows, path_cli_row_of(path, hop));
	return listing_rows(input, rows, COLUMNS(columns));
}

/* --- the drawing --- */

/* "> 1.2 Gbit/s 12.3 %"; nothing when nobody knows. */
static void add_load(struct text *text, const json_t *hop, const char *key, char arrow)
{
	const json_t *load = json_object_get(hop, key);
	const struct drill_part part = {
		.bits_per_second = json_number_value(json_object_get(load, "bits_per_second"))};
	const json_t *percent = json_object_get(load, "percent");
	char rate[32];

	if (!json_is_object(load))
		return;
	drill_part_rate(&part, false, rate);
	text_addf(text, "  %c %s", arrow, rate);
	if (json_is_number(percent))
		text_addf(text, " %.1f %%", json_number_value(percent));
}

static void add_speed(struct text *text, const json_t *hop)
{
	double gigabits = json_number_value(json_object_get(hop, "speed_bps")) / 1e9;

	if (gigabits >= 1)
		text_addf(text, "  %gG", gigabits);
	else if (gigabits > 0)
		text_addf(text, "  %gM", gigabits * 1000);
}

static void add_members(struct text *text, const json_t *hop)
{
	const json_t *members = json_object_get(hop, "members");
	const json_t *member;
	size_t i;

	if (json_array_size(members) == 0)
		return;
	text_add(text, "  (");
	json_array_foreach(members, i, member)
	{
		const char *a = haasctl_word(member, "a");
		const char *b = haasctl_word(member, "b");

		text_addf(text, "%s%s%s%s%s", i > 0 ? ", " : "", a, a[0] && b[0] ? "-" : "", b,
			  is_true(member, "up") ? "" : " down");
	}
	text_add(text, ")");
}

/* Wide enough for both ends of all hops. */
struct widths {
	size_t a, b;
};

static void draw_hop(const json_t *hop, const struct widths *widths)
{
	CLEANUP(text_done) struct text a = {0};
	CLEANUP(text_done) struct text b = {0};
	CLEANUP(text_done) struct text about = {0};
	const json_t *faults = json_object_get(hop, "faults");
	bool several = json_array_size(json_object_get(hop, "members")) > 0;
	CLEANUP(text_done) struct text line = {0};
	const json_t *fault;
	size_t i;

	path_cli_add_end(&a, json_object_get(hop, "a"));
	path_cli_add_end(&b, json_object_get(hop, "b"));
	text_addf(&about, "%s %" JSON_INTEGER_FORMAT " %%", haasctl_word(hop, "state"),
		  json_integer_value(json_object_get(hop, "certainty")));
	add_speed(&about, hop);
	add_load(&about, hop, "forward", '>');
	add_load(&about, hop, "back", '<');
	add_members(&about, hop);
	text_addf(&line, "  %-*s %s %-*s  %s", (int)widths->a, text_get(&a),
		  json_array_size(faults) > 0 ? "-X-" : (several ? "===" : "---"), (int)widths->b,
		  text_get(&b), text_get(&about));
	listing_line(&line);
	json_array_foreach(faults, i, fault)
	{
		text_clear(&line);
		text_addf(&line, "  %-*s  X  %s", (int)widths->a, "", json_string_value(fault));
		listing_line(&line);
	}
}

static void draw_path(const json_t *path)
{
	const json_t *hops = json_object_get(path, "hops");
	const json_t *vlan = json_object_get(path, "vlan");
	const json_t *vni = json_object_get(path, "vni");
	const char *problem = haasctl_word(path, "problem");
	CLEANUP(text_done) struct text line = {0};
	struct widths widths = {0};
	const json_t *row;
	size_t i;

	text_addf(&line, "network %s, fabric %s", haasctl_word(path, "network"),
		  haasctl_word(path, "fabric"));
	if (json_is_integer(vlan))
		text_addf(&line, ", VLAN %" JSON_INTEGER_FORMAT, json_integer_value(vlan));
	if (json_is_integer(vni))
		text_addf(&line, ", VNI %" JSON_INTEGER_FORMAT, json_integer_value(vni));
	text_addf(&line, ": %s", problem[0] ? problem : "whole");
	putchar('\n');
	listing_line(&line);
	json_array_foreach(hops, i, row)
	{
		CLEANUP(text_done) struct text a = {0};
		CLEANUP(text_done) struct text b = {0};

		path_cli_add_end(&a, json_object_get(row, "a"));
		path_cli_add_end(&b, json_object_get(row, "b"));
		widths.a = a.size > widths.a ? a.size : widths.a;
		widths.b = b.size > widths.b ? b.size : widths.b;
	}
	json_array_foreach(hops, i, row) draw_hop(row, &widths);
	json_array_foreach(json_object_get(path, "notes"), i, row)
		printf("  note: %s\n", json_string_value(row));
}

static void path_cli_draw(const json_t *answer)
{
	const char *absent = haasctl_word(json_object_get(answer, "load"), "problem");
	const json_t *path;
	size_t i;

	printf("tenant %s, from %s to %s\n", haasctl_word(answer, "tenant"),
	       haasctl_word(answer, "a"), haasctl_word(answer, "b"));
	json_array_foreach(json_object_get(answer, "paths"), i, path) draw_path(path);
	if (absent[0])
		printf("\nno traffic of the last seconds: %s\n", absent);
}

static bool is_cut(const json_t *answer)
{
	const json_t *path;
	size_t i;

	json_array_foreach(json_object_get(answer, "paths"), i, path)
	{
		if (strcmp(haasctl_word(path, "state"), "whole") != 0)
			return true;
	}
	return false;
}

int haasctl_network_path(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status;

	haasctl_path(&target, "/tenants/", input->words[0], "/path?a=");
	text_add_percent(&target, input->words[1]);
	text_add(&target, "&b=");
	text_add_percent(&target, input->words[2]);
	haasctl_query(&target, input, "--network");
	status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	if (listing_json(input, reply.json))
		status = EXIT_OK;
	else if (listing_for_people(input) && !command_option(input, "--columns"))
		path_cli_draw(reply.json);
	else
		status = path_cli_print_rows(input, reply.json);
	return status == EXIT_OK && is_cut(reply.json) ? EXIT_FAILED : status;
}
