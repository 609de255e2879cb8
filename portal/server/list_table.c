#include "portal/server/list_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/macros.h"

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

bool list_table_wanted(const char *accept)
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
