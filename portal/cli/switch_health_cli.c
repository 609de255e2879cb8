/* haasctl switch health: reachability, errors, spanning tree, aggregates, sensors. */
#include <stdio.h>
#include <stdlib.h>

#include "portal/cli/listing.h"

static const struct output_column switch_health_cli_columns[] = {
	COLUMN("switch"),
	COLUMN("state"),
	COLUMN("heard_at"),
	TITLED_NUMBER("response_ms", "RESPONSE"),
	NUMBER("errors"),
	NUMBER("discards"),
	NUMBER("blocked"),
	TITLED_NUMBER("members_out", "LAG_OUT"),
	TITLED_NUMBER("sensors_bad", "BAD"),
	WIDE("fabric"),
	WIDE("address"),
	WIDE("asked_at"),
	WIDE("counters_at"),
	WIDE("root"),
	TITLED_WIDE("topology_changes", "CHANGES"),
	TITLED_WIDE("lags_count", "LAGS"),
	TITLED_WIDE("sensors_count", "SENSORS"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

static const struct output_column port_columns[] = {
	COLUMN("port"),
	TITLED_NUMBER("in_errors", "IN_ERR"),
	TITLED_NUMBER("out_errors", "OUT_ERR"),
	TITLED_NUMBER("in_discards", "IN_DISC"),
	TITLED_NUMBER("out_discards", "OUT_DISC"),
	TITLED_NUMBER("in_packets", "IN_PKTS"),
	TITLED_NUMBER("out_packets", "OUT_PKTS"),
	TITLED_NUMBER("seconds", "OF_S"),
	TITLED_WIDE("source", "SOURCE"),
};

static const struct output_column stp_columns[] = {
	COLUMN("port"),
	COLUMN("role"),
	COLUMN("state"),
	NUMBER("transitions"),
};

static const struct output_column member_columns[] = {
	TITLED("lag", "AGGREGATE"),
	COLUMN("port"),
	COLUMN("up"),
	COLUMN("bundled"),
	COLUMN("partner"),
	TITLED_WIDE("actor_state", "ACTOR"),
	TITLED_WIDE("partner_state", "PARTNER_STATE"),
};

static const struct output_column sensor_columns[] = {
	COLUMN("name"), COLUMN("port"),   NUMBER("value"),
	COLUMN("unit"), COLUMN("status"), WIDE("text"),
};

/* What a switch has many of, as tables below its lines. */
static const struct part {
	const char *key, *heading;
	const struct output_column *columns;
	size_t count;
} switch_health_cli_parts[] = {
	{"ports", "ports, in the last hour", COLUMNS(port_columns)},
	{"stp_ports", "spanning tree", COLUMNS(stp_columns)},
	{"members", "aggregates", COLUMNS(member_columns)},
	{"sensors", "sensors", COLUMNS(sensor_columns)},
};

/* Members of an aggregate, each as a row of its own. */
static void lift_members(const json_t *lag, json_t *rows)
{
	const json_t *members = json_object_get(lag, "members");

	for (size_t i = 0; i < json_array_size(members); i++) {
		json_t *member = json_array_get(members, i);

		(void)json_object_set(member, "lag", json_object_get(lag, "lag"));
		(void)json_array_append(rows, member);
	}
}

/* Rows are looked for at the top. */
static void switch_health_cli_lift(json_t *health)
{
	json_t *stp = json_object_get(health, "stp");
	const json_t *lags = json_object_get(health, "lags");
	json_t *members = json_array();

	(void)json_object_set(health, "stp_ports", json_object_get(stp, "ports"));
	(void)json_object_del(stp, "ports");
	for (size_t i = 0; i < json_array_size(lags); i++)
		lift_members(json_array_get(lags, i), members);
	(void)json_object_del(health, "lags");
	(void)json_object_set_new(health, "members", members);
}

static int switch_health_cli_write_all(const struct command_input *input, json_t *health,
				       const struct show *show)
{
	json_t *rows[COUNT_OF(switch_health_cli_parts)];
	int status;

	switch_health_cli_lift(health);
	for (size_t i = 0; i < COUNT_OF(switch_health_cli_parts); i++) {
		rows[i] = json_incref(json_object_get(health, switch_health_cli_parts[i].key));
		(void)json_object_del(health, switch_health_cli_parts[i].key);
	}
	status = listing_object(input, health, show);
	for (size_t i = 0; i < COUNT_OF(switch_health_cli_parts); i++) {
		if (status == EXIT_OK && json_array_size(rows[i]) > 0) {
			printf("\n%s\n", switch_health_cli_parts[i].heading);
			status = listing_rows(input, rows[i], switch_health_cli_parts[i].columns,
					      switch_health_cli_parts[i].count);
		}
		json_decref(rows[i]);
	}
	return status;
}

static int show_one(struct haasctl *haasctl, const struct command_input *input)
{
	static const char *const order[] = {"switch",   "state",    "heard_at",    "response_ms",
					    "problem",  "asked_at", "counters_at", "errors",
					    "discards", NULL};
	const struct show show = {order, COLUMNS(switch_health_cli_columns)};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	int status;

	haasctl_path(&target, "/switches/", input->words[0], "/health");
	status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status == EXIT_OK)
		status = listing_for_people(input) && !command_option(input, "--columns")
				 ? switch_health_cli_write_all(input, reply.json, &show)
				 : listing_object(input, reply.json, &show);
	haasctl_reply_done(&reply);
	return status;
}

int haasctl_switch_health(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	if (input->word_count > 0)
		return show_one(context, input);
	text_add(&target, "/switch-health");
	haasctl_query(&target, input, "--fabric");
	return listing_pages(context, input, text_get(&target), 0,
			     COLUMNS(switch_health_cli_columns));
}
