#include "common/base/enum_text.h"

#include <string.h>

const char *enum_text(const char *const words[], size_t count, int value)
{
	if (value < 0 || (size_t)value >= count || !words[value])
		return "?";
	return words[value];
}

int enum_value(const char *const words[], size_t count, const char *text)
{
	for (size_t i = 0; text && i < count; i++) {
		if (words[i] && strcmp(words[i], text) == 0)
			return (int)i;
	}
	return -1;
}
