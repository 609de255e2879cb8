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

/* A counter of a family that a label tells apart; `word` is the label's value. */
#define METRIC_COUNTED(name, label, word, at, help)                   \
	{                                                             \
		name, METRIC_COUNTER, label "=\"" word "\"", at, help \
	}

/* Adds rows to an exposition of several parts; metrics_end adds its last line. */
void metrics_add(struct text *ret, const struct metric_row rows[], size_t count,
		 const void *values);
void metrics_end(struct text *ret);
/* An exposition of one part, whole. */
void metrics_write(struct text *ret, const struct metric_row rows[], size_t count,
		   const void *values);
#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
