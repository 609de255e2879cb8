#include "portal/cli/say.h"

#include <stdlib.h>

#include "common/base/text.h"

/* Between new lines and tabs, which are meant. */
static void say_mask(char *bytes, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = 0;

		while (at + length < size && bytes[at + length] != '\n' &&
		       bytes[at + length] != '\t')
			length++;
		text_blank_controls(bytes + at, length);
		at += length + 1;
	}
}

int say_list(FILE *out, const char *format, va_list arguments)
{
	CLEANUP(freep) char *line = NULL;
	int size = vasprintf(&line, format, arguments);

	if (size < 0) {
		line = NULL; /* of no meaning then */
		return -1;
	}
	say_mask(line, (size_t)size);
	return fwrite(line, 1, (size_t)size, out) == (size_t)size ? size : -1;
}

int say(FILE *out, const char *format, ...)
{
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = say_list(out, format, arguments);
	va_end(arguments);
	return written;
}

void say_control(FILE *out, const char *sequence)
{
	fputs(sequence, out);
}
