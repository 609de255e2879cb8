#include "portal/server/filter_wire.h"

#include <string.h>

#include "common/base/error.h"

/* One word while it is read: from `at` up to `end`, both in the text. */
struct filter_cursor {
	const char *at, *end;
};

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* A quote hides blanks and commas, up to the next one or to the end. */
static const char *word_end(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || !is_blank(*at)); at++)
		quoted = quoted != (*at == '"');
	return at;
}

/* Copies without quotes up to `end`, or to a comma outside of quotes where `commas`; moves `at`. The
 * bytes suffice: a word is kept three times at most, each time with its NUL. */
static const char *filter_keep(struct filter *filter, struct filter_cursor *cursor, bool commas)
{
	char *start = filter->bytes + filter->used;
	char *to = start;
	bool quoted = false;

	for (; cursor->at < cursor->end; cursor->at++) {
		if (*cursor->at == '"')
			quoted = !quoted;
		else if (*cursor->at == ',' && commas && !quoted)
			break;
		else
			*to++ = *cursor->at;
	}
	*to++ = '\0';
	filter->used = (size_t)(to - filter->bytes);
	return start;
}

static const struct {
	const char *text;
	enum filter_operation operation;
} operation_rows[] = {
	{"<=", FILTER_AT_MOST}, {">=", FILTER_AT_LEAST}, {"<", FILTER_BELOW},
	{">", FILTER_ABOVE},    {":", FILTER_HAS},       {"=", FILTER_IS},
};

/* COLUMN and what follows it. */
static void read_column(struct filter *filter, struct filter_word *word,
			struct filter_cursor *cursor)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t length = strspn(cursor->at, letters);
	char *column = filter->bytes + filter->used;

	if (length == 0 || cursor->at + length >= cursor->end)
		return;
	for (size_t i = 0; i < COUNT_OF(operation_rows); i++) {
		size_t size = strlen(operation_rows[i].text);

		if (strncmp(cursor->at + length, operation_rows[i].text, size) != 0)
			continue;
		for (size_t c = 0; c < length; c++) {
			column[c] = cursor->at[c];
			if (column[c] != '_')
				column[c] = (char)(column[c] | ' ');
		}
		column[length] = '\0';
		filter->used += length + 1;
		word->column = column;
		word->operation = operation_rows[i].operation;
		cursor->at += length + size;
		return;
	}
}

static int read_values(struct filter *filter, struct filter_word *word,
		       struct filter_cursor *cursor)
{
	bool more = true;

	word->values = filter->values + filter->value_count;
	while (more) {
		const char *value = filter_keep(filter, cursor, true);
		bool last = cursor->at >= cursor->end;

		more = !last;
		cursor->at += !last;
		if (value[0] == '\0' && (more || word->count > 0))
			continue;
		if (filter->value_count == FILTER_VALUES)
			return E_LIMIT;
		filter->values[filter->value_count++] = value;
		word->count++;
	}
	return 0;
}

static int read_word(struct filter *filter, struct filter_cursor cursor)
{
	struct filter_word *word = &filter->words[filter->count];
	struct filter_cursor whole;

	word->inverted = cursor.end - cursor.at > 1 && cursor.at[0] == '-';
	cursor.at += word->inverted;
	whole = cursor;
	word->whole = filter_keep(filter, &whole, false);
	read_column(filter, word, &cursor);
	if (word->operation == FILTER_SEARCH && word->whole[0] == '\0')
		return 0; /* "" */
	filter->count++;
	if (word->operation != FILTER_SEARCH)
		return read_values(filter, word, &cursor);
	if (filter->value_count == FILTER_VALUES)
		return E_LIMIT;
	word->values = filter->values + filter->value_count;
	word->count = 1;
	filter->values[filter->value_count++] = word->whole;
	return 0;
}

int filter_parse(const char *text, struct filter *ret)
{
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	if (strlen(text) > FILTER_SIZE)
		return E_LIMIT;
	while (rc == 0) {
		struct filter_cursor cursor;

		while (is_blank(*text))
			text++;
		if (!*text)
			break;
		if (ret->count == FILTER_WORDS)
			return E_LIMIT;
		ret->words[ret->count] = (struct filter_word){0};
		cursor.at = text;
		cursor.end = word_end(text);
		text = cursor.end;
		rc = read_word(ret, cursor);
	}
	return rc;
}
