/* What switches print, for unit tests: tests/fuzz/corpus/cli_text. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "tests/support/cmocka.h"

/* The sample without its first line; the dialect of its first word. */
static inline char *sample(const char *name, const struct cli_dialect **ret)
{
	char path[512], family[32] = "", line[64];
	struct text text = {0};
	char piece[1024];
	FILE *file;

	text_format(path, sizeof(path), "%s/fuzz/corpus/cli_text/%s", TEST_SOURCE_DIR, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	text_format(family, sizeof(family), "%.*s", (int)strcspn(line, " "), line);
	for (size_t got; (got = fread(piece, 1, sizeof(piece), file)) > 0;)
		text_add_bytes(&text, piece, got);
	(void)fclose(file);
	*ret = NULL;
	for (size_t i = 0; i < cli_dialect_count; i++) {
		if (strcmp(cli_dialects[i]->name, family) == 0)
			*ret = cli_dialects[i];
	}
	assert_non_null(*ret);
	return text_take(&text);
}
