/* Server-sent events from the bytes of a stream (WHATWG HTML 9.2.6). */
#pragma once

#include <stddef.h>

#include "common/base/text.h"

struct event_reader {
	struct text line, data;
	char kind[32]; /* of the event begun; "" = message */
	char id[64];   /* of the last event that had one */
	void (*on_event)(void *context, const char *kind, const struct text *data);
	void *context;
};

void event_reader_done(struct event_reader *reader);
/* Calls on_event for each event that has data and ends in these bytes. */
void event_reader_take(struct event_reader *reader, const void *data, size_t size);
