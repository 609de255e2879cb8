// links: portal_server
/* Whatever is taken for a filter: its words and values are texts of it, without quotes, within the bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/filter_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int good)
{
	if (!good)
		abort();
}

static void check_text(const struct filter *filter, const char *text)
{
	expect(text >= filter->bytes && text < filter->bytes + filter->used);
	expect(text + strlen(text) < filter->bytes + filter->used && !strchr(text, '"'));
}

static void check_word(const struct filter *filter, const struct filter_word *word)
{
	check_text(filter, word->whole);
	expect((word->operation == FILTER_SEARCH) == (word->column == NULL));
	expect(word->count > 0 && word->values >= filter->values &&
	       word->values + word->count <= filter->values + filter->value_count);
	if (word->column)
		expect(word->column[0] != '\0' &&
		       strspn(word->column, "abcdefghijklmnopqrstuvwxyz_") == strlen(word->column));
	for (size_t i = 0; i < word->count; i++) {
		check_text(filter, word->values[i]);
		expect(word->values[i][0] != '\0' || word->count == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	static struct filter filter;

	if (filter_parse(text, &filter) == 0) {
		expect(strlen(text) <= FILTER_SIZE && filter.count <= FILTER_WORDS &&
		       filter.used <= sizeof(filter.bytes));
		for (size_t i = 0; i < filter.count; i++)
			check_word(&filter, &filter.words[i]);
	}
	free(text);
	return 0;
}
