/* Why a node cannot be in a group of a PDCI, and why a PDCI cannot be had: for who chooses
 * (alloc_policy.h) and for who is told. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

#include "bampi/control/alloc/alloc_policy.h"

#define ALLOC_REFUSAL_SIZE 128

/* Why this node cannot be in this group, so that it can follow "3 " or its name: "active", "without
 * BMC or boot NIC"; NULL when it can. Static but for label, numbers and disks, which are written to
 * `ret`. A node of another class is "of another class". */
const char *alloc_refusal(const struct alloc_node *node, const struct alloc_group *group, char *ret,
			  size_t room);

/* Of the nodes of its class that it cannot have, how many for each reason, the most first; one
 * alone by its name: "12 active, 3 without inventory, n7 held". Not `named`: what speaks against
 * NICs, disks and numbers, once, and neither names nor how many there are: "NICs: a bond ends at
 * two switches; disks: too few or too small". */
void alloc_why(const struct alloc_node nodes[], size_t count, const struct alloc_group *group,
	       bool named, struct text *ret);

/* "group 1 (class gpu): 2 of 3; 12 active, n7 held" for each group that falls short. */
void alloc_reasons(const struct alloc_node nodes[], size_t count,
		   const struct alloc_request *request, const struct alloc_answer *answer,
		   bool named, struct text *ret);
