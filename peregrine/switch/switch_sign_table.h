/* How a switch's family is found, when no operator has named it: by its sysObjectID and the words
 * of its sysDescr. */
#pragma once

#include <stddef.h>

#include "peregrine/switch/switch_family_table.h"

struct switch_sign {
	const char *object_id; /* prefix of sysObjectID in whole arcs, ".1.3.6.1.4.1.9.1" */
	const char *word;      /* that sysDescr has to hold; "" = none */
	const char *family;
};

extern const struct switch_sign switch_sign_table[];
extern const size_t switch_sign_count;

/* The family of the most specific sign that holds: a sign with a word before one without, then the
 * longer prefix, then the longer word. Never NULL: a switch without a sign is "generic". */
const struct switch_family *switch_family_detect(const char *object_id, const char *text);
