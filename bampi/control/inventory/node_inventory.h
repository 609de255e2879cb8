/* What the agent reports of a node's hardware (docs/architecture.md, agent task inventory):
 * checked, bounded, compared with what is declared. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

#define INVENTORY_DRIVES_MAX 256
#define INVENTORY_NICS_MAX   256

/* Checks every member that others rely on: types, ranges, lengths, counts, one key per drive. 0 or
 * E_MALFORMED, E_LIMIT. */
MUST_USE int node_inventory_check(const json_t *data, struct problem *problem);

/* What names a drive for good: its serial, or its name where the drive has none (virtio). "" for
 * what is not a drive's object. */
const char *node_inventory_drive_key(const json_t *drive);
/* Read-only or removable: not part of the node (a BMC's virtual media, a stick), never erased by
 * us. */
bool node_inventory_drive_passive(const json_t *drive);

/* The rows of table drive: [{serial,name,model,kind,size_bytes}] of a checked inventory, passive
 * ones left out. With `forget` the last erase counts no more: verdict unknown. New reference; NULL
 * = no memory. */
MUST_USE json_t *node_inventory_drives(const json_t *data, bool forget);

struct node_declared {
	const char *serial;   /* "" = not declared */
	const char *boot_mac; /* "" = not declared */
	bool uefi;
	bool secure_boot; /* its firmware is to demand signatures */
};
/* Sentences about what differs, separated by "; "; nothing when all fits. */
void node_inventory_compare(const json_t *data, const struct node_declared *declared,
			    struct text *ret);
