#include "peregrine/switch/switch_told.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/json_text.h"
#include "common/base/text.h"

#include "peregrine/switch/switch_driver.h"

const char *const told_part_words[TOLD_COUNT] = {
	[TOLD_PORTS] = "ports",           [TOLD_VLANS] = "vlans",
	[TOLD_ADDRESSES] = "addresses",   [TOLD_NEIGHBORS] = "neighbors",
	[TOLD_AGGREGATES] = "aggregates",
};

const char *const told_state_words[TOLD_STATE_COUNT] = {
	[TOLD_WHOLE] = "whole",
	[TOLD_PARTIAL] = "partial",
	[TOLD_MISSING] = "missing",
};

/* Aggregates come with the ports. */
static const unsigned told_of[TOLD_COUNT] = {
	[TOLD_PORTS] = PART_PORTS,      [TOLD_VLANS] = PART_VLANS,
	[TOLD_ADDRESSES] = PART_FDB,    [TOLD_NEIGHBORS] = PART_NEIGHBORS,
	[TOLD_AGGREGATES] = PART_PORTS,
};

void switch_told_add(struct switch_told *told, enum told_state state, bool failed,
		     const char *format, ...)
{
	size_t size = strlen(told->why);
	va_list list;

	if (state > told->state)
		told->state = state;
	told->failed |= failed;
	if (size > 0)
		(void)text_copy(told->why + size, sizeof(told->why) - size, "; ");
	size = strlen(told->why);
	va_start(list, format);
	(void)vsnprintf(told->why + size, sizeof(told->why) - size, format, list);
	va_end(list);
}

void switch_told_text(struct text *ret, const struct switch_told told[TOLD_COUNT])
{
	for (int part = 0; part < TOLD_COUNT; part++) {
		if (told[part].state != TOLD_WHOLE)
			text_addf(ret, "%s%s %s", ret->size ? ", " : "", told_part_words[part],
				  told_state_words[told[part].state]);
	}
}

void switch_told_json(struct text *json, const char *key, const struct switch_told told[TOLD_COUNT])
{
	json_begin_array(json, key);
	for (int part = 0; part < TOLD_COUNT; part++) {
		json_begin_object(json, NULL);
		json_put_string(json, "part", told_part_words[part]);
		json_put_string(
			json, "state",
			enum_text(told_state_words, TOLD_STATE_COUNT, (int)told[part].state));
		json_put_string(json, "reason", told[part].why);
		json_end_object(json);
	}
	json_end_array(json);
}

void switch_told_rest(struct switch_told told[TOLD_COUNT], unsigned asked, unsigned came)
{
	for (int part = 0; part < TOLD_COUNT; part++) {
		if ((asked & ~came & told_of[part]) && told[part].state == TOLD_WHOLE)
			switch_told_add(&told[part], TOLD_MISSING, false,
					"the way in which it is read does not show it");
	}
}
