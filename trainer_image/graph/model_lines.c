#include "trainer_image/graph/model_lines.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/graph/model_text.h"

enum { LINES_MAX = 20000, LINES_WORDS_MAX = 20000, LINES_DEPTH_MAX = 16, LINES_WORD_MAX = 126 };

static int lines_bad(struct problem *problem, const char *path, int number, const char *what)
{
	(void)problem_set(problem, E_MALFORMED, "line %d: %s", number, what);
	problem_detail(problem, "%s:%d", path, number);
	return E_MALFORMED;
}

static bool lines_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '(' || c == ')' || c == ',';
}

/* Cuts one line into words. */
static int lines_cut(struct model_lines *lines, char *at, const char *end, const char **ret_why)
{
	while (at < end) {
		char *start = at;

		if (lines_is_blank(*at) || *at == '\0') {
			*at++ = '\0';
			continue;
		}
		while (at < end && !lines_is_blank(*at)) {
			if ((unsigned char)*at < 0x21 || (unsigned char)*at > 0x7e) {
				*ret_why = "a byte that is no letter of ASCII";
				return E_MALFORMED;
			}
			at++;
		}
		if (at - start > LINES_WORD_MAX) {
			*ret_why = "a word of more than 126 letters";
			return E_MALFORMED;
		}
		if (lines->word_count == LINES_WORDS_MAX) {
			*ret_why = "more than 20000 words";
			return E_MALFORMED;
		}
		lines->words[lines->word_count++] = start;
	}
	return 0;
}

static int lines_split(struct model_lines *lines, size_t size, const char *path,
		       struct problem *problem)
{
	char *at = lines->data;
	char *end = at + size;

	for (int number = 1; at < end; number++) {
		char *next = memchr(at, '\n', (size_t)(end - at));
		char *stop = next ? next : end;
		char *comment = memchr(at, '#', (size_t)(stop - at));
		size_t first = lines->word_count;
		const char *why = NULL;

		if (comment)
			memset(comment, ' ', (size_t)(stop - comment));
		if (memchr(at, '\0', (size_t)(stop - at)))
			return lines_bad(problem, path, number,
					 "a byte that is no letter of ASCII");
		if (lines_cut(lines, at, stop, &why) < 0)
			return lines_bad(problem, path, number, why);
		*stop = '\0';
		if (lines->word_count > first)
			lines->lines[lines->line_count++] =
				(struct model_line){number, first, lines->word_count - first, 0};
		at = next ? next + 1 : end;
	}
	return 0;
}

/* Finds the end of each block and repetition. */
static int lines_match(struct model_lines *lines, const char *path, struct problem *problem)
{
	size_t open[LINES_DEPTH_MAX];
	size_t depth = 0;

	for (size_t i = 0; i < lines->line_count; i++) {
		const char *word = lines->words[lines->lines[i].first];
		assert(word); /* lines without words are left out */
		bool block = strcmp(word, "block") == 0;

		if (block && lines->lines[i].count < 2)
			return lines_bad(problem, path, lines->lines[i].number,
					 "block: a name stands behind it");
		if (block && depth > 0)
			return lines_bad(problem, path, lines->lines[i].number,
					 "a block does not stand in another, nor in a repetition");
		if (block || strcmp(word, "repeat") == 0) {
			if (depth == LINES_DEPTH_MAX)
				return lines_bad(problem, path, lines->lines[i].number,
						 "more than 16 levels");
			open[depth++] = i;
		} else if (strcmp(word, "end") == 0) {
			if (depth == 0 || lines->lines[i].count > 1)
				return lines_bad(problem, path, lines->lines[i].number,
						 "end: it ends no block and no repetition");
			lines->lines[open[--depth]].end = i;
		}
	}
	if (depth > 0)
		return lines_bad(problem, path, lines->lines[open[depth - 1]].number,
				 "its \"end\" is missing");
	return 0;
}

int model_lines_read(struct model_lines *lines, const char *path, const char *data, size_t size,
		     struct problem *problem)
{
	*lines = (struct model_lines){0};
	if (size > MODEL_TEXT_MAX)
		return problem_set(problem, E_LIMIT, "%s: larger than 1 MiB", path);
	lines->data = calloc(1, size + 1);
	lines->copy = calloc(1, size + 1);
	lines->words = calloc(LINES_WORDS_MAX, sizeof(lines->words[0]));
	lines->keys = calloc(LINES_WORDS_MAX, sizeof(lines->keys[0]));
	lines->lines = calloc(LINES_MAX, sizeof(lines->lines[0]));
	if (!lines->data || !lines->copy || !lines->words || !lines->keys || !lines->lines)
		return problem_set(problem, -ENOMEM, "no memory for the model");
	if (size > 0)
		memcpy(lines->data, data, size);
	int rc = lines_split(lines, size, path, problem);

	rc = rc < 0 ? rc : lines_match(lines, path, problem);
	if (rc < 0)
		return rc;
	if (lines->line_count == 0)
		return problem_set(problem, E_MALFORMED, "%s: the file has no lines", path);
	memcpy(lines->copy, lines->data, size + 1);
	for (size_t i = 0; i < lines->word_count; i++) {
		lines->keys[i] = lines->copy + (lines->words[i] - lines->data);
		lines->keys[i][strcspn(lines->keys[i], "=")] = '\0';
	}
	return 0;
}

void model_lines_done(struct model_lines *lines)
{
	free(lines->data);
	free(lines->copy);
	free(lines->words);
	free(lines->keys);
	free(lines->lines);
}
