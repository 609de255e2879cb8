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

#define SNMP_COUNTERS_SUBJECT   "counters"
#define SNMP_COUNTERS_PERIOD_MS 5000
/* Rows of one look come from several switches, and not quite in order. */
#define OVERLAP_US ((int64_t)10 * 1000000)

enum {
	COLUMN_SWITCH,
	COLUMN_PORT,
	COLUMN_AT,
	COLUMN_SECONDS,
	COLUMN_FIRST,
	COLUMN_SPEED = COLUMN_FIRST + PORT_COUNTER_COUNT,
	COLUMN_UP
};

/* clang-format off */
/* The counters in the order of enum port_counter. Names are the SNMP agent's: of a switch that is
 * read by its command line ours may be others. */
static const struct db_query snmp_counters_read_query = {"snmp_counters",
	"select c.switch_id, coalesce(p.port, c.port), floor(extract(epoch from c.at) * 1000000)::bigint, c.seconds, c.in_bytes, c.out_bytes, c.in_packets, c.out_packets,"
	" c.in_errors, c.out_errors, c.in_discards, c.out_discards, c.speed_bps, c.up from haas.traffic_60_counter c"
	" left join haas.counter_port p on p.switch_id = c.switch_id and p.counted = lower(c.port)"
	" where c.at > to_timestamp($1::bigint / 1000000.0) and c.seconds > 0 order by c.at limit 200000", 1};
/* clang-format on */

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
		.at_us = db_int(rows, row, COLUMN_AT, 0),
		.seconds = strtod(db_text(rows, row, COLUMN_SECONDS, "0"), NULL),
		.speed_bps = (uint64_t)db_int(rows, row, COLUMN_SPEED, 0),
		.up = db_bool(rows, row, COLUMN_UP),
	};

	for (int i = 0; i < PORT_COUNTER_COUNT; i++)
		rates.per_second[i] =
			db_is_null(rows, row, COLUMN_FIRST + i)
				? (double)NAN
				: (double)db_int(rows, row, COLUMN_FIRST + i, 0) / rates.seconds;
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
		if (db_int(result, i, COLUMN_SWITCH, 0) != id) {
			id = db_int(result, i, COLUMN_SWITCH, 0);
			at = snmp_counters_find_switch(flowd->index, id);
		}
		port = at == INDEX_NONE
			       ? INDEX_NONE
			       : snmp_counters_find_port(flowd->index, at,
							 db_text(result, i, COLUMN_PORT, ""));
		if (port != INDEX_NONE)
			snmp_counters_tell(flowd, port, result, i);
		counters->last_us = db_int(result, i, COLUMN_AT, 0);
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
	counters->reading = db_submit(counters->flowd->db, &snmp_counters_read_query, params,
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
