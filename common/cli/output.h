/* One writer, several formats: rows of cells as table, JSON, JSON lines or CSV (RFC 4180). Data
 * goes to stdout, talk to stderr. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/base/macros.h"

enum output_format {
	OUTPUT_TABLE,
	OUTPUT_WIDE, /* a table with the wide columns too */
	OUTPUT_JSON,
	OUTPUT_JSONL,
	OUTPUT_CSV,
	OUTPUT_KEY_VALUE
};

struct output_column {
	const char *key;   /* JSON member, CSV header */
	const char *title; /* table heading; NULL = key in upper case */
	bool number;       /* right-aligned; raw in JSON */
	bool wide;         /* left out of the table unless asked for */
};

struct output;

/* -1 when the word is not a format. */
int output_format_parse(const char *word);
/* `columns` filter: "name,state" or NULL; an unknown column is an error text in *ret_error. */
MUST_USE int output_new(FILE *out, enum output_format format, const struct output_column columns[],
			size_t count, const char *only, struct output **ret,
			const char **ret_error);
/* Are these rows for people? Then times and the like may be shortened. */
bool output_is_table(const struct output *output);
/* Colour for the cells of a table: `paint` gives the SGR parameters (ECMA-48 8.3.117) for a cell,
 * "31", or NULL. */
void output_paint(struct output *output, const char *(*paint)(const char *key, const char *cell));
/* One cell per column; NULL is empty / null. Copied. */
void output_row(struct output *output, const char *const cells[]);
/* Writes what a table or array still holds, frees. Returns 0 or -errno of the stream. */
MUST_USE int output_end(struct output *output);
/* Colour only on a terminal, not with NO_COLOR or TERM=dumb. */
bool output_colour(FILE *out, const char *when);
