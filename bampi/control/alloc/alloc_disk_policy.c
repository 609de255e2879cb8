#include "bampi/control/alloc/alloc_disk_policy.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

static const char alloc_disk_policy_letters[ALLOC_DISK_KIND_COUNT] = {
	[ALLOC_DISK_UNKNOWN] = 'u',
	[ALLOC_DISK_FLASH] = 'f',
	[ALLOC_DISK_ROTATING] = 'r',
};

static const char *const kind_texts[ALLOC_DISK_KIND_COUNT] = {
	[ALLOC_DISK_UNKNOWN] = "",
	[ALLOC_DISK_FLASH] = "flash ",
	[ALLOC_DISK_ROTATING] = "rotating ",
};

size_t alloc_disks_parse(const char *text, struct alloc_disk ret[], size_t room)
{
	size_t count = 0;

	while (*text >= '0' && *text <= '9') {
		char *end;
		uint64_t size_bytes = strtoull(text, &end, 10);
		const char *letter = *end ? memchr(alloc_disk_policy_letters, *end,
						   sizeof(alloc_disk_policy_letters))
					  : NULL;

		if (!letter)
			break;
		if (count < room)
			ret[count] = (struct alloc_disk){
				size_bytes,
				(enum alloc_disk_kind)(letter - alloc_disk_policy_letters)};
		count++;
		text = end + 1;
		text += *text == ' ';
	}
	return count;
}

/* "1.8 TiB"; a whole number without a point. */
static void size_text(uint64_t size_bytes, char *ret, size_t room)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)size_bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < COUNT_OF(units)) {
		value /= 1024;
		unit++;
	}
	if (value == (double)(uint64_t)value)
		(void)text_format(ret, room, "%.0f %s", value, units[unit]);
	else
		(void)text_format(ret, room, "%.1f %s", value, units[unit]);
}

const char *alloc_disks_refusal(const struct alloc_disks *disks,
				const struct alloc_disks_wanted *wanted, char *ret, size_t room)
{
	unsigned fit = 0;
	unsigned maybe = 0; /* large enough, and nobody knows of what kind */
	char size[32];

	if (wanted->count == 0)
		return NULL;
	if (!disks->known)
		return "without inventory (disks not known)";
	for (size_t i = 0; i < disks->count; i++) {
		bool large = disks->disks[i].size_bytes >= wanted->min_bytes;
		enum alloc_disk_kind kind = disks->disks[i].kind;

		fit += large && (!wanted->kind || kind == wanted->kind);
		maybe += large && wanted->kind && kind == ALLOC_DISK_UNKNOWN;
	}
	if (fit >= wanted->count)
		return NULL;
	if (fit + maybe >= wanted->count)
		return "with disks of a kind that is not known (inspect)";
	size_text(wanted->min_bytes, size, sizeof(size));
	(void)text_format(ret, room, "with %u of %u local %sdisks%s%s", fit, wanted->count,
			  kind_texts[wanted->kind], wanted->min_bytes ? " of at least " : "",
			  wanted->min_bytes ? size : "");
	return ret;
}
