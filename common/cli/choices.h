/* What a word could have been: the choices there are, and "did you mean" for one that is none of
 * them. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "common/base/text.h"

/* What people of other tools say, and what it is called here. */
struct synonym_row {
	const char *said, *meant;
};

struct choices {
	struct choice {
		const char *text; /* borrowed, not ended by NUL */
		size_t length;
	} rows[128];
	size_t count;
};

/* Not when it is among them; silently none above the limit. */
void choices_add(struct choices *choices, const char *text, size_t length);
/* Those of "on|off|cycle". */
void choices_add_words(struct choices *choices, const char *words, size_t length);
/* Edits that make one word of the other: a letter added, left out, changed, or two swapped
 * (Damerau-Levenshtein, optimal string alignment). Words of more than 63 letters are SIZE_MAX away.
 */
size_t choices_distance(const char *a, size_t a_length, const char *b, size_t b_length);
/* Adds "did you mean A or B? ": a choice that `word` is a synonym of, else the nearest: at most 2
 * edits away, and fewer than half of its letters. Nothing when none is near. */
void choices_add_nearest(struct text *hint, const struct choices *choices, const char *word,
			 size_t length, const struct synonym_row synonyms[], size_t count);
/* Adds " a b c". */
void choices_add_all(struct text *hint, const struct choices *choices);
/* "  hint: ..." in lines of 80 columns. */
void choices_print_hint(FILE *out, const struct text *hint);
