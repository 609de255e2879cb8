#include "bampi/control/health_feed.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

#define HEALTH_FEED_SUBJECT "health"

static int feed_sensors(struct health *health, int64_t node_id, const struct bmc_result *result)
{
	CLEANUP(freep) struct health_reading *readings = NULL;
	size_t count = result->sensors.count;

	readings = calloc(count + 1, sizeof(*readings));
	if (!readings)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct bmc_sensor *sensor = &result->sensors.rows[i];

		readings[i] = (struct health_reading){
			.number = sensor->number,
			.name = sensor->name,
			.type = sensor->type,
			.unit = sensor->unit,
			.has_reading = sensor->has_reading,
			.reading = sensor->reading,
			.state = sensor->state,
		};
	}
	health_note_sensors(health, node_id, clock_wall_us(), readings, count);
	return 0;
}

static int feed_log(struct health *health, int64_t node_id, const struct bmc_result *result)
{
	CLEANUP(freep) struct health_entry *entries = NULL;
	const struct health_mark mark = {.known = result->sel.mark.known,
					 .record = result->sel.mark.id,
					 .stamp = result->sel.mark.stamp};
	size_t count = result->sel.count;

	entries = calloc(count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct bmc_sel_entry *entry = &result->sel.rows[i];

		entries[i] = (struct health_entry){
			.record = entry->id,
			.time_s = entry->time_s,
			.type = entry->type,
			.sensor = entry->sensor,
			.event = entry->event[0] ? entry->event : entry->text,
			.asserted = !entry->ended,
		};
	}
	health_note_log(health, node_id, &mark, entries, count);
	return 0;
}

/* A BMC that cannot be asked is not our subject here: bmc.problem tells of it. */
static void on_note(void *context, const struct bmc_note *note)
{
	int rc = 0;

	if (note->rc != 0)
		return;
	if (note->which == REFRESH_SENSORS)
		rc = feed_sensors(context, note->node_id, note->result);
	else if (note->which == REFRESH_SEL)
		rc = feed_log(context, note->node_id, note->result);
	if (rc)
		log_warn(HEALTH_FEED_SUBJECT, "node %s: a reading of its BMC was not stored: %s",
			 note->node, error_text(rc));
}

static bool sel_known(void *context, int64_t node_id, struct bmc_sel_mark *ret)
{
	struct health_mark mark;

	if (!health_log_mark(context, node_id, &mark))
		return false;
	*ret = (struct bmc_sel_mark){.known = true, .id = mark.record, .stamp = mark.stamp};
	return true;
}

int health_feed(struct endpoints *endpoints, struct health *health)
{
	return endpoints_listen(
		endpoints,
		&(struct bmc_listener){.note = on_note, .sel_known = sel_known, .context = health});
}
