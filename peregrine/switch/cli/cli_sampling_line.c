#include "peregrine/switch/cli/cli_sampling_line.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"

bool sampling_line_begins(const char *at, size_t size, const char *line, size_t length)
{
	if (size < length || strncasecmp(at, line, length) != 0)
		return false;
	return size == length || at[length] == ' ' || (length > 0 && line[length - 1] == ' ');
}

bool sampling_line_next(const struct cli_dialect *dialect, struct sampling_cursor *cursor)
{
	static const char head[] = "interface ";
	const char *end;

	if (!*cursor->next)
		return false;
	cursor->at = cursor->next;
	end = cursor->at + strcspn(cursor->at, "\n");
	cursor->next = end + (*end == '\n');
	cursor->is_inside = isspace((unsigned char)*cursor->at);
	while (cursor->at < end && isspace((unsigned char)*cursor->at))
		cursor->at++;
	while (end > cursor->at && isspace((unsigned char)end[-1]))
		end--;
	cursor->size = (size_t)(end - cursor->at);
	if (cursor->is_inside)
		return true;
	cursor->head = cursor->at;
	cursor->head_size = cursor->size;
	cursor->port[0] = '\0';
	if (sampling_line_begins(cursor->at, cursor->size, head, sizeof(head) - 1)) {
		char name[64];

		(void)text_format(name, sizeof(name), "%.*s",
				  (int)(cursor->size - sizeof(head) + 1),
				  cursor->at + sizeof(head) - 1);
		cli_port_name(dialect, name, cursor->port, sizeof(cursor->port));
	}
	return true;
}

bool sampling_line_is_at(const struct cli_dialect *dialect, const struct sampling_cursor *cursor,
			 struct sampling_place place)
{
	if (cursor->is_inside != (place.port || place.section))
		return false;
	if (place.port)
		return cli_port_same(dialect, cursor->port, place.port);
	return !place.section || (cursor->head_size == strlen(place.section) &&
				  strncasecmp(cursor->head, place.section, cursor->head_size) == 0);
}

bool sampling_line_find(const struct cli_dialect *dialect, const char *text, const char *line,
			size_t length, struct sampling_place place, struct sampling_cursor *ret)
{
	*ret = (struct sampling_cursor){.next = text};
	while (sampling_line_next(dialect, ret)) {
		if (sampling_line_is_at(dialect, ret, place) &&
		    sampling_line_begins(ret->at, ret->size, line, length))
			return true;
	}
	return false;
}
