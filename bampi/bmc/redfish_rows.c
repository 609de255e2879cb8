/* Rows of Redfish answers: sensors, log entries, firmware. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "bampi/bmc/redfish_json.h"

static const char *redfish_rows_text_of(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

/* Room for one more row of `size` bytes; *rows may move. NULL with *ret_rc: 0 = full, -ENOMEM. */
static void *redfish_rows_row_add(void **rows, size_t *count, size_t size, int *ret_rc)
{
	char *grown;

	*ret_rc = 0;
	if (*count >= REDFISH_ROWS_MAX)
		return NULL;
	if ((*count & (*count - 1)) == 0) { /* grows at each power of two */
		grown = realloc(*rows, (*count ? *count * 2 : 1) * size);
		if (!grown) {
			*ret_rc = -ENOMEM;
			return NULL;
		}
		*rows = grown;
	}
	grown = (char *)*rows + (*count)++ * size;
	memset(grown, 0, size);
	return grown;
}

/* --- sensors --- */

static const char *redfish_rows_state_of(const json_t *sensor)
{
	const json_t *status = json_object_get(sensor, "Status");
	const char *health = redfish_rows_text_of(status, "Health");

	if (strcmp(health, "OK") == 0)
		return "nominal";
	if (strcmp(health, "Warning") == 0)
		return "warning";
	return strcmp(health, "Critical") == 0 ? "critical" : "unknown";
}

static const char *unit_of(const char *theirs)
{
	static const struct {
		const char *theirs, *ours;
	} units[] = {{"Cel", "degrees C"}, {"%", "percent"}, {"Percent", "percent"}};

	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (strcmp(units[i].theirs, theirs) == 0)
			return units[i].ours;
	}
	return theirs;
}

static int sensor_add(const json_t *sensor, const char *type, const char *unit,
		      const char *reading_key, struct bmc_result *ret)
{
	const json_t *reading = json_object_get(sensor, reading_key);
	const json_t *number = json_object_get(sensor, "SensorNumber");
	struct bmc_sensor *row;
	void *rows = ret->sensors.rows;
	int rc;

	if (strcmp(redfish_rows_text_of(json_object_get(sensor, "Status"), "State"), "Absent") == 0)
		return 0;
	row = redfish_rows_row_add(&rows, &ret->sensors.count, sizeof(*row), &rc);
	ret->sensors.rows = rows;
	if (!row)
		return rc;
	row->number = (uint8_t)json_integer_value(number);
	(void)text_copy(row->name, sizeof(row->name), redfish_rows_text_of(sensor, "Name"));
	(void)text_copy(row->type, sizeof(row->type), type);
	(void)text_copy(row->unit, sizeof(row->unit), unit);
	(void)text_copy(row->state, sizeof(row->state), redfish_rows_state_of(sensor));
	row->has_reading = json_is_number(reading) && isfinite(json_number_value(reading));
	row->reading = row->has_reading ? json_number_value(reading) : 0;
	return 0;
}

int redfish_sensors_add(const json_t *json, struct bmc_result *ret)
{
	static const struct {
		const char *list, *type, *unit, *reading;
	} lists[] = {
		{"Temperatures", "Temperature", "degrees C", "ReadingCelsius"},
		{"Fans", "Fan", NULL, "Reading"},
		{"Voltages", "Voltage", "V", "ReadingVolts"},
		{"PowerControl", "Power", "W", "PowerConsumedWatts"},
	};
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		const json_t *list = json_object_get(json, lists[i].list);

		for (size_t j = 0; j < json_array_size(list) && rc == 0; j++) {
			const json_t *sensor = json_array_get(list, j);
			const char *unit =
				lists[i].unit
					? lists[i].unit
					: unit_of(redfish_rows_text_of(sensor, "ReadingUnits"));

			rc = sensor_add(sensor, lists[i].type, unit, lists[i].reading, ret);
		}
	}
	if (rc == 0 && json_object_get(json, "ReadingType")) /* a Sensor resource */
		rc = sensor_add(json, redfish_rows_text_of(json, "ReadingType"),
				unit_of(redfish_rows_text_of(json, "ReadingUnits")), "Reading",
				ret);
	return rc;
}

/* --- log entries --- */

/* "2024-02-29T12:00:00+01:00" or "...Z" (ISO 8601) -> seconds since 1970; 0 = not understood. */
static int64_t time_of(const char *text)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	int64_t offset_s = 0;
	unsigned hours;
	unsigned minutes;
	int64_t time_s;

	if (!rest)
		return 0;
	if (*rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	/* NOLINTNEXTLINE(cert-err34-c): two digits each */
	if ((*rest == '+' || *rest == '-') && sscanf(rest + 1, "%2u:%2u", &hours, &minutes) == 2)
		offset_s = (int64_t)(hours * 3600 + minutes * 60) * (*rest == '+' ? 1 : -1);
	time_s = (int64_t)timegm(&tm) - offset_s;
	return time_s > 0 ? time_s : 0;
}

int redfish_entries_add(const json_t *json, struct bmc_result *ret)
{
	const json_t *list = json_object_get(json, "Members");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *entry = json_array_get(list, i);
		const char *severity = redfish_rows_text_of(entry, "Severity");
		void *rows = ret->sel.rows;
		struct bmc_sel_entry *row;
		int rc;

		if (!json_object_get(entry, "Message"))
			continue; /* only a link */
		row = redfish_rows_row_add(&rows, &ret->sel.count, sizeof(*row), &rc);
		ret->sel.rows = rows;
		if (!row)
			return rc;
		row->id = (uint16_t)strtoul(redfish_rows_text_of(entry, "Id"), NULL, 10);
		row->time_s = time_of(redfish_rows_text_of(entry, "Created"));
		(void)text_format(row->text, sizeof(row->text), "%s%s%s",
				  strcmp(severity, "OK") == 0 ? "" : severity,
				  severity[0] && strcmp(severity, "OK") != 0 ? ": " : "",
				  redfish_rows_text_of(entry, "Message"));
	}
	return 0;
}

static int redfish_rows_entry_order(const void *a, const void *b)
{
	const struct bmc_sel_entry *x = a;
	const struct bmc_sel_entry *y = b;

	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void redfish_entries_sort(struct bmc_result *ret)
{
	if (ret->sel.count > 1)
		qsort(ret->sel.rows, ret->sel.count, sizeof(*ret->sel.rows),
		      redfish_rows_entry_order);
}

void redfish_entries_after(struct bmc_result *ret, const struct bmc_sel_mark *after)
{
	size_t count = ret->sel.count;
	size_t first = 0;

	for (size_t i = 0; i < count && after->known; i++) {
		const struct bmc_sel_entry *row = &ret->sel.rows[i];

		if (row->id == after->id && (uint32_t)row->time_s == after->stamp)
			first = i + 1;
	}
	ret->sel.restarted = after->known && first == 0;
	if (count > 0)
		ret->sel.mark = (struct bmc_sel_mark){
			.known = true,
			.id = ret->sel.rows[count - 1].id,
			.stamp = (uint32_t)ret->sel.rows[count - 1].time_s,
		};
	if (first > 0)
		memmove(ret->sel.rows, ret->sel.rows + first,
			(count - first) * sizeof(*ret->sel.rows));
	ret->sel.count = count - first;
}

/* --- firmware and FRU --- */

int redfish_fru_add(struct bmc_result *ret, const char *area, const char *key, const char *value)
{
	void *rows = ret->fru.rows;
	struct bmc_fru *row;
	int rc;

	if (!value[0])
		return 0;
	row = redfish_rows_row_add(&rows, &ret->fru.count, sizeof(*row), &rc);
	ret->fru.rows = rows;
	if (!row)
		return rc;
	(void)text_copy(row->area, sizeof(row->area), area);
	(void)text_copy(row->key, sizeof(row->key), key);
	(void)text_copy(row->value, sizeof(row->value), value);
	return 0;
}

int redfish_firmware_add(const json_t *json, struct bmc_result *ret)
{
	const char *name = redfish_rows_text_of(json, "Name");

	return redfish_fru_add(ret, "firmware", name[0] ? name : redfish_rows_text_of(json, "Id"),
			       redfish_rows_text_of(json, "Version"));
}
