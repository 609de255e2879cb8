/* OpenMetrics text from rows of counters and gauges; the values live in the program's struct. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE };

struct metric_row {
	const char *name; /* "haas_dhcp_requests_total"; base units */
	enum metric_type type;
	const char *labels; /* "type=\"discover\"" or NULL */
	size_t offset;      /* of a uint64_t in the values struct */
	const char *help;
};

void metrics_write(struct text *ret, const struct metric_row rows[], size_t count,
		   const void *values);
#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
