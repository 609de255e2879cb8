/* From the API's JSON to what -o and -c ask for: rows, one object, all pages of a list. JSON is the
 * API's own; tables shorten times ("2026-11-21 04:17:17Z"), and give sizes ("1.5 GiB"), speeds ("10
 * Gbit/s") and lengths of time ("15m") their units: the suffix of the key says which. */
#pragma once

#include "common/cli/output.h"

#include "portal/cli/haasctl.h"

/* Rows of an output_column table: as is, right-aligned, only with -o wide or -c, with a heading of
 * its own. Keys are members of the row's JSON; "a.b" looks inside. */
#define COLUMN(key)                     \
	{                               \
		key, NULL, false, false \
	}
#define NUMBER(key)                    \
	{                              \
		key, NULL, true, false \
	}
#define WIDE(key)                      \
	{                              \
		key, NULL, false, true \
	}
#define WIDE_NUMBER(key)              \
	{                             \
		key, NULL, true, true \
	}
#define TITLED(key, title)               \
	{                                \
		key, title, false, false \
	}
#define TITLED_NUMBER(key, title)       \
	{                               \
		key, title, true, false \
	}
#define TITLED_WIDE(key, title)         \
	{                               \
		key, title, false, true \
	}
#define COLUMNS(rows) rows, COUNT_OF(rows)

/* Rows of option_row that each list of the API's filters has. */
#define LIST_OPTIONS                                                                               \
	{"--where", 'l', OPTION_VALUE, "FILTER", "only rows like state=free rack=r07 -label:fan"}, \
	{                                                                                          \
		"--sort", 0, OPTION_VALUE, "COLUMNS", "in this order: -since,name"                 \
	}

struct listing;

/* A line for people with words in it that came from the wire: nothing that a terminal obeys is
 * printed, a space stands for it. */
void listing_line(struct text *line);

/* Opens stdout for rows; EXIT_OK or EXIT_USAGE with the error told. Nothing is written yet. */
MUST_USE int listing_new(const struct command_input *input, const struct output_column columns[],
			 size_t count, struct listing **ret);
void listing_row(struct listing *listing, const json_t *row);
/* Writes what is left unless `status` tells of a failure, frees, returns `status`. */
MUST_USE int listing_end(struct listing *listing, int status);

/* All of it: an array's rows. */
MUST_USE int listing_rows(const struct command_input *input, const json_t *rows,
			  const struct output_column columns[], size_t count);
/* GETs all pages of a list, or as many rows as --limit says, or `limit` rows (0 = all). */
MUST_USE int listing_pages(struct haasctl *haasctl, const struct command_input *input,
			   const char *target, size_t limit, const struct output_column columns[],
			   size_t count);
/* All rows of a list that the given options ask for: OPTION_NAMES("--state") adds "state=value". */
MUST_USE int listing_filtered(struct haasctl *haasctl, const struct command_input *input,
			      const char *target, const char *const filters[],
			      const struct output_column columns[], size_t count);
/* The same, where a row needs more than its own members. */
struct listing_source {
	const char *target;
	size_t limit;
	void (*prepare)(json_t *row); /* adds members that tables and CSV have columns for; may be
					 NULL */
};
MUST_USE int listing_source_pages(struct haasctl *haasctl, const struct command_input *input,
				  const struct listing_source *source,
				  const struct output_column columns[], size_t count);

/* One object: lines for people, members of `order` (NULL-ended) first; -o csv and -c make it one
 * row of `columns`. */
struct show {
	const char *const *order;
	const struct output_column *columns;
	size_t count;
};
MUST_USE int listing_object(const struct command_input *input, json_t *object,
			    const struct show *show);
/* The same with a GET before. */
MUST_USE int listing_show(struct haasctl *haasctl, const struct command_input *input,
			  const char *target, const struct show *show);

/* The same of what the first word names: `before` WORD `after`. */
MUST_USE int listing_show_named(struct haasctl *haasctl, const struct command_input *input,
				const char *before, const char *after, const struct show *show);

/* {node, refused} of each node: a line or a row for one that took it; why another did not is told on
 * stderr. EXIT_PARTIAL: one refused. */
MUST_USE int listing_nodes(const struct command_input *input, const json_t *nodes);

/* Writes the JSON itself when -o json or jsonl asks for it; false = the caller writes. */
bool listing_json(const struct command_input *input, const json_t *json);
/* Are tables asked for? Then headings and the like are welcome. */
bool listing_for_people(const struct command_input *input);
/* The API's value as text. For people the suffix of the key says how a number or a time is written,
 * and of a problem stands the message. */
void listing_add_value(struct text *ret, const json_t *value, const char *key, bool people);
/* A value as people read it; returns the text, "-" for null. `key` says how. */
const char *listing_text(const json_t *value, const char *key, struct text *scratch);
