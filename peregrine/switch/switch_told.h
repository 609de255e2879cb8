/* Which parts of a reading came whole, and why not all of them did. An operator sees this beside
 * the reading: an empty table and a table that was not read look alike. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"

struct text;

enum told_part {
	TOLD_PORTS,
	TOLD_VLANS,
	TOLD_ADDRESSES,
	TOLD_NEIGHBORS,
	TOLD_AGGREGATES,
	TOLD_COUNT
};
enum told_state { TOLD_WHOLE, TOLD_PARTIAL, TOLD_MISSING, TOLD_STATE_COUNT };

struct switch_told {
	enum told_state state;
	bool failed; /* the switch could have shown it: whoever depends on it is warned */
	char why[160];
};

extern const char *const told_part_words[TOLD_COUNT];
extern const char *const told_state_words[TOLD_STATE_COUNT];

/* Some of it did not come. What was said before stays; the worse state counts. */
void switch_told_add(struct switch_told *told, enum told_state state, bool failed,
		     const char *format, ...) PRINTF_LIKE(4, 5);
/* "vlans missing, addresses partial"; nothing when all is whole. */
void switch_told_text(struct text *ret, const struct switch_told told[TOLD_COUNT]);
/* [{part, state, reason}], as the database and the API have it. */
void switch_told_json(struct text *json, const char *key,
		      const struct switch_told told[TOLD_COUNT]);
/* Of parts (bits of enum switch_part) that were asked for, those that did not come and of which
 * nobody said why: this way in does not show them. */
void switch_told_rest(struct switch_told told[TOLD_COUNT], unsigned asked, unsigned came);
