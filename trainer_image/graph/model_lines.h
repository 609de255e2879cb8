/* A model file as lines of words, with the end of each block and repetition found. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

struct model_line {
	int number; /* of the file, from 1 */
	size_t first, count;
	size_t end; /* block, repeat: the line of its end */
};

struct model_lines {
	char *data;   /* the words, NUL-terminated */
	char *copy;   /* the same, cut at each "=" */
	char **words; /* "width=64" */
	char **keys;  /* "width" */
	size_t word_count;
	struct model_line *lines; /* those with words */
	size_t line_count;
};

/* E_MALFORMED, E_LIMIT, -ENOMEM. Call model_lines_done() in any case. */
MUST_USE int model_lines_read(struct model_lines *lines, const char *path, const char *data,
			      size_t size, struct problem *problem);
void model_lines_done(struct model_lines *lines);
