#include "bampi/bootd/boot/boot_range_wire.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Digits up to 18 are safe in 64 bits; more than that is no file size. */
static bool boot_range_wire_read_number(const char **at, uint64_t *ret)
{
	uint64_t value = 0;
	unsigned digits = 0;

	for (; **at >= '0' && **at <= '9'; (*at)++) {
		if (++digits > 18)
			return false;
		value = value * 10 + (uint64_t)(**at - '0');
	}
	*ret = value;
	return digits > 0;
}

struct boot_range boot_range_decode(const char *range, uint64_t size)
{
	const struct boot_range whole = {0, size};
	const struct boot_range nothing = {0, 0};
	uint64_t first = 0;
	uint64_t last = 0;
	bool has_first;
	bool has_last;

	if (!range || strncasecmp(range, "bytes=", 6) != 0)
		return whole;
	range += 6;
	has_first = boot_range_wire_read_number(&range, &first);
	if (*range++ != '-')
		return whole;
	has_last = boot_range_wire_read_number(&range, &last);
	if (*range || (!has_first && !has_last) || (has_first && has_last && last < first))
		return whole;
	if (!has_first) /* the last so many bytes */
		return (struct boot_range){last < size ? size - last : 0,
					   last < size ? last : size};
	if (first >= size)
		return nothing;
	if (!has_last || last >= size)
		last = size - 1;
	return (struct boot_range){first, last - first + 1};
}
