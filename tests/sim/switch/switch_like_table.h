/* Whose manners a lab switch has: words of switch_fault_table.h that hold whatever the faults are,
 * and how it is told to save. Written from the vendors' documents, not from what a driver expects.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "tests/sim/switch/switch_mib.h"

/* One object of those that save when all of them are set in one PDU. `row`: its last arc is a row
 * that is made for this, one for all of them, and stays until it is destroyed. */
struct switch_like_save {
	oid name[SWITCH_OID_MAX];
	size_t length;
	int value;
	bool row;
};

enum { SWITCH_LIKE_SAVES = 4, SWITCH_LIKE_ROWS = 4 };

struct switch_like {
	const char *name, *what, *words;
	oid root[SWITCH_OID_MAX]; /* what of the vendor's is served */
	size_t root_length;
	struct switch_like_save saves[SWITCH_LIKE_SAVES]; /* ended by an empty name */
	oid mode[SWITCH_OID_MAX];                         /* INTEGER by port: a port's mode */
	size_t mode_length;
	int access, hybrid; /* values of it */
	bool is_dnos;       /* ports as switch_dnos.h has them */
};

/* NULL when there is none. */
const struct switch_like *switch_like_find(const char *name);
void switch_like_help(FILE *out);
