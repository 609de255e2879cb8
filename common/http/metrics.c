/* OpenMetrics 1.0: one HELP and TYPE per family, rows of a family together, "# EOF" at the end. */
#include "common/http/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* A counter's family has no _total (OpenMetrics 1.0, "Counter"). */
static int family_length(const struct metric_row *row)
{
	size_t length = strlen(row->name);

	if (row->type == METRIC_COUNTER && length > 6 &&
	    strcmp(row->name + length - 6, "_total") == 0)
		length -= 6;
	return (int)length;
}

void metrics_add(struct text *ret, const struct metric_row rows[], size_t count, const void *values)
{
	for (size_t i = 0; i < count; i++) {
		const struct metric_row *row = &rows[i];
		bool first = i == 0 || strcmp(rows[i - 1].name, row->name) != 0;
		uint64_t value;

		memcpy(&value, (const char *)values + row->offset, sizeof(value));
		if (first) {
			text_addf(ret, "# HELP %.*s %s\n", family_length(row), row->name,
				  row->help);
			text_addf(ret, "# TYPE %.*s %s\n", family_length(row), row->name,
				  row->type == METRIC_COUNTER ? "counter" : "gauge");
		}
		text_addf(ret, "%s%s%s%s %" PRIu64 "\n", row->name, row->labels ? "{" : "",
			  row->labels ? row->labels : "", row->labels ? "}" : "", value);
	}
}

void metrics_end(struct text *ret)
{
	text_add(ret, "# EOF\n");
}

void metrics_write(struct text *ret, const struct metric_row rows[], size_t count,
		   const void *values)
{
	metrics_add(ret, rows, count, values);
	metrics_end(ret);
}
