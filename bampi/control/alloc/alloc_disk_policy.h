/* Has a node the local disks that a group asks for? Pure. A node's disks are those that its agent
 * found (inventory) and that a tenant can use: neither removable nor read-only. The one that the
 * image goes to is one of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define ALLOC_DISKS_MAX 256

enum alloc_disk_kind {
	ALLOC_DISK_UNKNOWN, /* nobody asked the drive */
	ALLOC_DISK_FLASH,
	ALLOC_DISK_ROTATING,
	ALLOC_DISK_KIND_COUNT
};

struct alloc_disk {
	uint64_t size_bytes;
	enum alloc_disk_kind kind;
};

struct alloc_disks_wanted {
	unsigned count;            /* 0: nothing is asked */
	uint64_t min_bytes;        /* of each of them */
	enum alloc_disk_kind kind; /* ALLOC_DISK_UNKNOWN = any */
};

struct alloc_disks {
	bool known; /* there is an inventory */
	const struct alloc_disk *disks;
	size_t count;
};

/* "1000204886016f 4000787030016r 512u": sizes in bytes, f flash, r rotating, u unknown. Writes at
 * most `room` disks and returns how many there are; what follows an unreadable word is left out. */
size_t alloc_disks_parse(const char *text, struct alloc_disk ret[], size_t room);

/* NULL when it has them, else why not: "with 1 of 2 local disks of at least 1.8 TiB". Static, or
 * written to `ret`. */
const char *alloc_disks_refusal(const struct alloc_disks *disks,
				const struct alloc_disks_wanted *wanted, char *ret, size_t room);
