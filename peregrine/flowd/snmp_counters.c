#include "peregrine/flowd/snmp_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "peregrine/flowd/flowd_private.h"
#include "peregrine/flowd/snmp_counters_sql.h"

#define SNMP_COUNTERS_SUBJECT   "counters"
#define SNMP_COUNTERS_PERIOD_MS 5000
/* Rows of one look come from several switches, and not quite in order. */
#define OVERLAP_US ((int64_t)10 * 1000000)

struct snmp_counters {
	struct flowd *flowd;
	struct loop_timer *timer;
	int64_t last_us; /* the newest row so far */
	bool reading;
};

static uint32_t snmp_counters_find_switch(const struct attribution_index *index, int64_t id)
{
	for (uint32_t i = 0; i < index->switch_count; i++)
		if (index->switches[i].id == id)
			return i;
	return INDEX_NONE;
}

static uint32_t snmp_counters_find_port(const struct attribution_index *index, uint32_t at,
					const char *name)
{
	const struct index_switch *owner = &index->switches[at];

	for (uint32_t i = owner->ports; i < owner->ports + owner->port_count; i++)
		if (strcmp(index->ports[i].name, name) == 0)
			return i;
	return INDEX_NONE;
}

static void snmp_counters_tell(struct flowd *flowd, uint32_t port, const PGresult *rows, int row)
{
	uint32_t place = rollup_place(flowd->rollup, port);
	struct port_rates rates = {
		.at_us = db_int(rows, row, SNMP_COUNTERS_AT_US, 0),
		.seconds = strtod(db_text(rows, row, SNMP_COUNTERS_SECONDS, "0"), NULL),
		.speed_bps = (uint64_t)db_int(rows, row, SNMP_COUNTERS_SPEED_BPS, 0),
		.up = db_bool(rows, row, SNMP_COUNTERS_UP),
	};

	for (int i = 0; i < PORT_COUNTER_COUNT; i++)
		rates.per_second[i] =
			db_is_null(rows, row, SNMP_COUNTERS_IN_BYTES + i)
				? (double)NAN
				: (double)db_int(rows, row, SNMP_COUNTERS_IN_BYTES + i, 0) /
					  rates.seconds;
	if (place == INDEX_NONE)
		return;
	if (port_counters_tell(flowd->counters, place, &rates))
		flowd->totals.snmp_rates++;
	if (port_counters_wait(flowd->counters, place, &rates))
		flowd->totals.snmp_sums++;
}

static void snmp_counters_on_read(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct snmp_counters *counters = context;
	struct flowd *flowd = counters->flowd;
	int rows = rc || !flowd->index ? 0 : PQntuples(result);
	uint32_t at = INDEX_NONE;
	int64_t id = -1;

	counters->reading = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_WARN, SNMP_COUNTERS_SUBJECT, problem);
	for (int i = 0; i < rows; i++) {
		uint32_t port;

		/* One switch's rows have one time, so they stand together, mostly. */
		if (db_int(result, i, SNMP_COUNTERS_SWITCH_ID, 0) != id) {
			id = db_int(result, i, SNMP_COUNTERS_SWITCH_ID, 0);
			at = snmp_counters_find_switch(flowd->index, id);
		}
		port = at == INDEX_NONE ? INDEX_NONE
					: snmp_counters_find_port(
						  flowd->index, at,
						  db_text(result, i, SNMP_COUNTERS_PORT, ""));
		if (port != INDEX_NONE)
			snmp_counters_tell(flowd, port, result, i);
		counters->last_us = db_int(result, i, SNMP_COUNTERS_AT_US, 0);
	}
}

static void snmp_counters_on_timer(void *context)
{
	struct snmp_counters *counters = context;
	char from[24];
	const char *params[] = {from};

	loop_timer_arm(counters->timer, SNMP_COUNTERS_PERIOD_MS);
	if (counters->reading || !db_connected(counters->flowd->db))
		return;
	(void)text_format(from, sizeof(from), "%" PRId64, counters->last_us - OVERLAP_US);
	counters->reading = db_submit(counters->flowd->db, &snmp_counters_query, params,
				      snmp_counters_on_read, counters) == 0;
}

int snmp_counters_new(struct flowd *flowd, struct snmp_counters **ret)
{
	struct snmp_counters *counters = calloc(1, sizeof(*counters));
	int rc;

	if (!counters)
		return -ENOMEM;
	*counters = (struct snmp_counters){.flowd = flowd, .last_us = clock_wall_us()};
	rc = loop_timer_new(flowd->loop, snmp_counters_on_timer, counters, &counters->timer);
	if (rc) {
		free(counters);
		return rc;
	}
	loop_timer_arm(counters->timer, SNMP_COUNTERS_PERIOD_MS);
	*ret = counters;
	return 0;
}

void snmp_counters_free(struct snmp_counters *counters)
{
	if (!counters)
		return;
	loop_timer_free(counters->timer);
	free(counters);
}
