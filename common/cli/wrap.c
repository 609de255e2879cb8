#include "common/cli/wrap.h"

#include <string.h>

#define LINE_WIDTH 80

void wrap_print(FILE *out, const char *first, size_t indent, const char *words)
{
	size_t column = strlen(first);
	const char *between = "";

	fputs(first, out);
	while (*(words += strspn(words, " "))) {
		size_t length = strcspn(words, " ");

		if (column + strlen(between) + length > LINE_WIDTH && *between) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
			between = "";
		}
		fprintf(out, "%s%.*s", between, (int)length, words);
		column += strlen(between) + length;
		between = " ";
		words += length;
	}
	fputc('\n', out);
}
