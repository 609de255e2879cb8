#include "portal/server/usage_csv.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/macros.h"

static const char *const usage_csv_columns[] = {"tenant",  "pdci",  "kind",    "class", "subject",
						"from_at", "to_at", "seconds", "bytes"};

void usage_csv_text(const json_t *page, struct text *ret)
{
	const json_t *row;
	size_t i;

	for (size_t c = 0; c < COUNT_OF(usage_csv_columns); c++)
		text_addf(ret, "%s%s", c > 0 ? "," : "", usage_csv_columns[c]);
	text_add(ret, "\r\n");
	json_array_foreach(json_object_get(page, "items"), i, row)
	{
		for (size_t c = 0; c < COUNT_OF(usage_csv_columns); c++) {
			const json_t *cell = json_object_get(row, usage_csv_columns[c]);

			text_add(ret, c > 0 ? "," : "");
			if (json_is_integer(cell))
				text_addf(ret, "%" JSON_INTEGER_FORMAT, json_integer_value(cell));
			else if (json_is_string(cell))
				text_add_csv(ret, json_string_value(cell));
		}
		text_add(ret, "\r\n");
	}
}

/* Of one media range, in thousandths. */
static long weight_of(const char *range, size_t size)
{
	const char *end = range + size;

	for (const char *at = memchr(range, ';', size); at;
	     at = memchr(at, ';', (size_t)(end - at))) {
		at += 1 + strspn(at + 1, " \t");
		if (end - at > 2 && strncasecmp(at, "q=", 2) == 0)
			return (long)(strtod(at + 2, NULL) * 1000);
	}
	return 1000;
}

bool usage_csv_wanted(const char *accept)
{
	static const char *const types[] = {"text/csv", "application/json"};
	long best = 0;
	bool csv = false;

	for (; accept && *accept; accept += accept[0] == ',') {
		size_t size;

		accept += strspn(accept, " \t");
		size = strcspn(accept, ",");
		for (size_t i = 0; i < COUNT_OF(types); i++) {
			size_t length = strlen(types[i]);

			if (size < length || strncasecmp(accept, types[i], length) != 0 ||
			    !strchr(",; \t", accept[length]))
				continue;
			if (weight_of(accept, size) > best) {
				best = weight_of(accept, size);
				csv = i == 0;
			}
		}
		accept += size;
	}
	return csv;
}
