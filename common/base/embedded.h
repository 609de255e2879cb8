/* A file compiled into the program (cmake/embed.cmake). The bytes are followed by a NUL, so text
 * can be used as a string. */
#pragma once

#include <stddef.h>

struct embedded {
	const char *name; /* file name without folder; NULL ends a table */
	const unsigned char *data;
	size_t size;
};
