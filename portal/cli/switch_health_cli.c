/* haasctl switch health: reachability, errors, spanning tree, aggregates, sensors. */
#include <stdio.h>
#include <stdlib.h>

#include "portal/cli/listing.h"

static const struct output_column columns[] = {
	COLUMN("switch"),
	COLUMN("state"),
	COLUMN("heard_at"),
	TITLED_NUMBER("response_ms", "MS"),
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

static int show_one(struct haasctl *haasctl, const struct command_input *input)
{
	static const char *const order[] = {"switch",
					    "state",
					    "heard_at",
					    "response_ms",
					    "problem",
					    "asked_at",
					    "counters_at",
					    "errors",
					    "discards",
					    "ports",
					    "ports.port",
					    "ports.in_errors",
					    "ports.out_errors",
					    "ports.in_discards",
					    "ports.out_discards",
					    "ports.in_packets",
					    "ports.out_packets",
					    "ports.seconds",
					    "ports.source",
					    "stp",
					    "lags",
					    "sensors",
					    "sensors.name",
					    "sensors.port",
					    "sensors.value",
					    "sensors.unit",
					    "sensors.status",
					    NULL};
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/switches/", input->words[0], "/health");
	return listing_show(haasctl, input, text_get(&target),
			    &(struct show){order, COLUMNS(columns)});
}

int haasctl_switch_health(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	if (input->word_count > 0)
		return show_one(context, input);
	text_add(&target, "/switch-health");
	haasctl_query(&target, input, "--fabric", "fabric");
	return listing_pages(context, input, text_get(&target), 0, COLUMNS(columns));
}
