#include "common/cli/choices.h"

#include <stdint.h>
#include <string.h>

#include "common/cli/wrap.h"

#define WORD_MAX    63
#define EDITS_MAX   2
#define NEAREST_MAX 3

static bool choices_are_same(const struct choice *choice, const char *text, size_t length)
{
	return choice->length == length && memcmp(choice->text, text, length) == 0;
}

void choices_add(struct choices *choices, const char *text, size_t length)
{
	for (size_t i = 0; i < choices->count; i++) {
		if (choices_are_same(&choices->rows[i], text, length))
			return;
	}
	if (choices->count < COUNT_OF(choices->rows) && length > 0)
		choices->rows[choices->count++] = (struct choice){text, length};
}

void choices_add_words(struct choices *choices, const char *words, size_t length)
{
	for (const char *at = words; at < words + length;) {
		const char *end = memchr(at, '|', (size_t)(words + length - at));
		size_t part = (size_t)((end ? end : words + length) - at);

		choices_add(choices, at, part);
		at += part + 1;
	}
}

static size_t choices_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t choices_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	/* The last three rows of the matrix; row i is that of the first i letters of `a`. */
	size_t rows[3][WORD_MAX + 1];

	if (a_length > WORD_MAX || b_length > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i - 1) % 3];
		const size_t *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			row[j] = choices_least(above[j - 1] + (a[i - 1] != b[j - 1]),
					       choices_least(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = choices_least(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

static const struct choice *choices_find(const struct choices *choices, const char *text)
{
	for (size_t i = 0; i < choices->count; i++) {
		if (choices_are_same(&choices->rows[i], text, strlen(text)))
			return &choices->rows[i];
	}
	return NULL;
}

static size_t choices_add_synonyms(const struct choices *choices, const char *word, size_t length,
				   const struct synonym_row synonyms[], size_t count,
				   const struct choice *ret[NEAREST_MAX])
{
	size_t found = 0;

	for (size_t i = 0; i < count && found < NEAREST_MAX; i++) {
		if (strlen(synonyms[i].said) != length ||
		    memcmp(synonyms[i].said, word, length) != 0)
			continue;
		ret[found] = choices_find(choices, synonyms[i].meant);
		found += ret[found] != NULL;
	}
	return found;
}

static size_t choices_add_near(const struct choices *choices, const char *word, size_t length,
			       const struct choice *ret[NEAREST_MAX])
{
	size_t best = EDITS_MAX;
	size_t found = 0;

	for (size_t i = 0; i < choices->count; i++) {
		const struct choice *choice = &choices->rows[i];
		size_t edits = choices_distance(word, length, choice->text, choice->length);

		if (edits > best || edits * 2 >= length)
			continue;
		found = edits < best ? 0 : found;
		best = edits;
		if (found < NEAREST_MAX)
			ret[found++] = choice;
	}
	return found;
}

void choices_add_nearest(struct text *hint, const struct choices *choices, const char *word,
			 size_t length, const struct synonym_row synonyms[], size_t count)
{
	const struct choice *found[NEAREST_MAX];
	size_t near = choices_add_synonyms(choices, word, length, synonyms, count, found);

	if (near == 0)
		near = choices_add_near(choices, word, length, found);
	for (size_t i = 0; i < near; i++)
		text_addf(hint, "%s%.*s", i == 0 ? "did you mean " : " or ", (int)found[i]->length,
			  found[i]->text);
	if (near > 0)
		text_add(hint, "? ");
}

void choices_add_all(struct text *hint, const struct choices *choices)
{
	for (size_t i = 0; i < choices->count; i++)
		text_addf(hint, " %.*s", (int)choices->rows[i].length, choices->rows[i].text);
}

void choices_print_hint(FILE *out, const struct text *hint)
{
	static const char first[] = "  hint: ";

	wrap_print(out, first, strlen(first), text_get(hint));
}
