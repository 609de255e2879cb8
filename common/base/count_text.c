#include "common/base/count_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/text.h"

static bool count_text_ends(const char *noun, const char *end)
{
	size_t length = strlen(noun);

	return length > strlen(end) && strcmp(noun + length - strlen(end), end) == 0;
}

const char *count_text(char ret[COUNT_TEXT_SIZE], int64_t count, const char *noun)
{
	static const char *const hissing[] = {"s", "x", "z", "ch", "sh"};
	const char *end = "s";
	int length = (int)strlen(noun);

	for (size_t i = 0; i < COUNT_OF(hissing); i++) {
		if (count_text_ends(noun, hissing[i]))
			end = "es";
	}
	if (count_text_ends(noun, "y") && !strchr("aeiou", noun[length - 2])) {
		end = "ies";
		length--;
	}
	if (count == 1)
		(void)text_format(ret, COUNT_TEXT_SIZE, "1 %s", noun);
	else
		(void)text_format(ret, COUNT_TEXT_SIZE, "%" PRId64 " %.*s%s", count, length, noun,
				  end);
	return ret;
}
