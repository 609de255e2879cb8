/* What was read of a switch's health as rows of traffic_60_counter and documents of switch_health
 * (db/schema/counter.sql). */
#pragma once

#include <stdint.h>

#include "common/base/text.h"

#include "peregrine/control/health/counter_policy.h"
#include "peregrine/switch/switch_health.h"

/* One row for COPY, in the order of health_copy_statement. */
void health_counter_row(struct text *rows, int64_t at_us, int64_t switch_id,
			const struct port_health *port, const struct counter_interval *interval);
extern const char health_copy_statement[];

/* "null" for what was not asked for. `at_us`: now. */
void health_stp_text(const struct switch_health *health, int64_t at_us, struct text *ret);
/* For port_number_put: [{port, if_index}] of all interfaces that have a name; one that IOS's
 * command line has another name for by both. */
void health_numbers_text(const struct switch_health *health, struct text *ret);
void health_lags_text(const struct switch_health *health, struct text *ret);
void health_sensors_text(const struct switch_health *health, struct text *ret);
