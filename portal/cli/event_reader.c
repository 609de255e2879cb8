#include "portal/cli/event_reader.h"

#include <string.h>

#define LINE_LIMIT ((size_t)1 << 20)

void event_reader_done(struct event_reader *reader)
{
	text_done(&reader->line);
	text_done(&reader->data);
}

/* The value behind "name:" and one space, NULL when the line has another name. */
static const char *event_reader_field(const char *line, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(line, name, length) != 0 || line[length] != ':')
		return NULL;
	return line + length + 1 + (line[length + 1] == ' ');
}

static void event_reader_take_line(struct event_reader *reader)
{
	const char *line = text_get(&reader->line);
	const char *value;

	if (*line == '\0') {
		if (reader->data.size > 0)
			reader->on_event(reader->context, reader->kind, &reader->data);
		text_clear(&reader->data);
		reader->kind[0] = '\0';
	} else if ((value = event_reader_field(line, "data")) != NULL) {
		if (reader->data.size > 0)
			text_add(&reader->data, "\n");
		if (reader->data.size + strlen(value) < LINE_LIMIT)
			text_add(&reader->data, value);
	} else if ((value = event_reader_field(line, "event")) != NULL) {
		(void)text_copy(reader->kind, sizeof(reader->kind), value);
	} else if ((value = event_reader_field(line, "id")) != NULL) {
		(void)text_copy(reader->id, sizeof(reader->id), value);
	}
}

void event_reader_take(struct event_reader *reader, const void *data, size_t size)
{
	const char *at = data;

	for (size_t i = 0; i < size; i++) {
		if (at[i] == '\n') {
			event_reader_take_line(reader);
			text_clear(&reader->line);
		} else if (at[i] != '\r' && reader->line.size < LINE_LIMIT) {
			text_add_bytes(&reader->line, &at[i], 1);
		}
	}
}
