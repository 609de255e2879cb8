#include "portal/cli/listing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#define PAGE_SIZE 500 /* rows asked for at once */

struct listing {
	const struct output_column *columns;
	size_t count;
	enum output_format format;
	const char *only;      /* -c */
	const char *color;     /* --color */
	struct output *output; /* table and CSV, from the first row on */
	size_t rows;           /* written as JSON */
	bool failed;
};

/* --- rows --- */

static enum output_format listing_format_of(const struct command_input *input)
{
	const char *word = command_option(input, "--output");
	int format = word ? output_format_parse(word) : OUTPUT_TABLE;

	return format < 0 ? OUTPUT_TABLE : (enum output_format)format;
}

static bool is_json(enum output_format format)
{
	return format == OUTPUT_JSON || format == OUTPUT_JSONL;
}

bool listing_for_people(const struct command_input *input)
{
	enum output_format format = listing_format_of(input);

	return format == OUTPUT_TABLE || format == OUTPUT_WIDE;
}

bool listing_json(const struct command_input *input, const json_t *json)
{
	enum output_format format = listing_format_of(input);

	if (!is_json(format))
		return false;
	if (json)
		(void)json_dumpf(json, stdout,
				 (format == OUTPUT_JSON ? JSON_INDENT(2) : JSON_COMPACT) |
					 JSON_ENCODE_ANY);
	if (json)
		putchar('\n');
	return true;
}

/* Never colour alone: the word stands there too. */
static const char *listing_paint(const char *key, const char *cell)
{
	static const struct {
		const char *word, *sgr;
	} rows[] = {{"failed", "31"},     {"broken", "31"}, {"held", "33"},   {"cancelled", "33"},
		    {"cancelling", "33"}, {"active", "32"}, {"done", "32"},   {"ready", "32"},
		    {"erased", "32"},     {"free", "32"},   {"waiting", "36"}};

	if (strcmp(key, "dirty") == 0)
		return strcmp(cell, "yes") == 0 ? "33" : NULL;
	if (strcmp(key, "state") != 0 && strcmp(key, "verdict") != 0)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].word, cell) == 0)
			return rows[i].sgr;
	}
	return NULL;
}

static size_t listing_find_column(const struct listing *listing, const char *key, size_t length)
{
	size_t at = 0;

	while (at < listing->count && (strncmp(listing->columns[at].key, key, length) != 0 ||
				       listing->columns[at].key[length] != '\0'))
		at++;
	return at;
}

static int unknown_column(const struct listing *listing, const char *word, size_t length)
{
	CLEANUP(text_done) struct text hint = {0};
	struct choices columns = {0};

	fprintf(stderr, "haasctl: there is no column %.*s\n", (int)length, word);
	for (size_t i = 0; i < listing->count; i++)
		choices_add(&columns, listing->columns[i].key, strlen(listing->columns[i].key));
	choices_add_nearest(&hint, &columns, word, length, NULL, 0);
	text_add(&hint, "choose from");
	choices_add_all(&hint, &columns);
	choices_print_hint(stderr, &hint);
	return EXIT_USAGE;
}

/* -c, before anybody is asked for rows. */
static int check_columns(const struct listing *listing)
{
	size_t length;

	for (const char *at = listing->only; at && *at; at += length + (at[length] == ',')) {
		length = strcspn(at, ",");
		if (listing_find_column(listing, at, length) == listing->count)
			return unknown_column(listing, at, length);
	}
	return EXIT_OK;
}

int listing_new(const struct command_input *input, const struct output_column columns[],
		size_t count, struct listing **ret)
{
	struct listing *listing = calloc(1, sizeof(*listing));

	if (!listing) {
		(void)haasctl_cannot("write", "rows", -ENOMEM);
		return EXIT_FAILED;
	}
	*listing = (struct listing){.columns = columns,
				    .count = count,
				    .format = listing_format_of(input),
				    .only = command_option(input, "--columns"),
				    .color = command_option(input, "--color")};
	int status = check_columns(listing);
	if (status != EXIT_OK) {
		free(listing);
		return status;
	}
	*ret = listing;
	return EXIT_OK;
}

/* Late, so that a refused request leaves no heading behind. */
static bool open_output(struct listing *listing)
{
	const char *error = NULL;

	if (listing->output || listing->failed)
		return !listing->failed;
	if (output_new(stdout, listing->format, listing->columns, listing->count, listing->only,
		       &listing->output, &error) < 0) {
		fprintf(stderr, "haasctl: %s\n", error ? error : error_text(-ENOMEM));
		listing->failed = true;
		return false;
	}
	if (output_colour(stdout, listing->color))
		output_paint(listing->output, listing_paint);
	return true;
}

static void listing_write_json_row(struct listing *listing, const json_t *row)
{
	if (listing->format == OUTPUT_JSON)
		fputs(listing->rows == 0 ? "[\n" : ",\n", stdout);
	if (listing->only) {
		json_t *some = json_object();

		for (const char *at = listing->only; *at;) {
			size_t column = listing_find_column(listing, at, strcspn(at, ","));
			const char *key = listing->columns[column].key;
			const json_t *value = haasctl_member(row, key);

			(void)json_object_set_new(some, key,
						  value ? json_deep_copy(value) : json_pack("n"));
			at += strcspn(at, ",");
			at += *at == ',';
		}
		(void)json_dumpf(some, stdout, JSON_COMPACT);
		json_decref(some);
	} else {
		(void)json_dumpf(row, stdout, JSON_COMPACT);
	}
	if (listing->format == OUTPUT_JSONL)
		putchar('\n');
	listing->rows++;
}

static void write_cells(struct listing *listing, const json_t *row)
{
	const char **cells = calloc(listing->count, sizeof(*cells));
	struct text *texts = calloc(listing->count, sizeof(*texts));
	bool people = output_is_table(listing->output);

	for (size_t i = 0; cells && texts && i < listing->count; i++) {
		const json_t *value = haasctl_member(row, listing->columns[i].key);

		if (!value || json_is_null(value))
			continue;
		listing_add_value(&texts[i], value, listing->columns[i].key, people);
		cells[i] = text_get(&texts[i]);
	}
	if (cells && texts)
		output_row(listing->output, cells);
	else
		listing->failed = true;
	for (size_t i = 0; texts && i < listing->count; i++)
		text_done(&texts[i]);
	free(texts);
	free(cells);
}

void listing_row(struct listing *listing, const json_t *row)
{
	if (is_json(listing->format))
		listing_write_json_row(listing, row);
	else if (open_output(listing))
		write_cells(listing, row);
}

int listing_end(struct listing *listing, int status)
{
	if (listing->format == OUTPUT_JSON && status == EXIT_OK)
		fputs(listing->rows == 0 ? "[]\n" : "\n]\n", stdout);
	if (!is_json(listing->format) && status == EXIT_OK)
		(void)open_output(listing); /* the heading alone is an answer too */
	/* A broken stdout is told by main. */
	if (listing->output && output_end(listing->output) == -ENOMEM)
		listing->failed = true;
	if (listing->failed && status == EXIT_OK)
		status = EXIT_FAILED;
	free(listing);
	return status;
}

int listing_rows(const struct command_input *input, const json_t *rows,
		 const struct output_column columns[], size_t count)
{
	struct listing *listing = NULL;
	const json_t *row;
	size_t i;
	int status = listing_new(input, columns, count, &listing);

	if (status != EXIT_OK)
		return status;
	json_array_foreach(rows, i, row) listing_row(listing, row);
	return listing_end(listing, EXIT_OK);
}

/* --- lists --- */

static int listing_limit_of(const struct command_input *input, size_t usual, size_t *ret)
{
	const char *word = command_option(input, "--limit");
	int64_t limit = (int64_t)usual;
	int status = EXIT_OK;

	if (word && strcmp(word, "all") == 0)
		limit = 0;
	else if (word)
		status = haasctl_number("--limit", word, &limit);
	*ret = limit > 0 ? (size_t)limit : SIZE_MAX;
	return status;
}

static void listing_add(struct text *target, const struct command_input *input, const char *option,
			const char *name)
{
	const char *value = command_option(input, option);

	if (!value)
		return;
	text_addf(target, "%c%s=", strchr(text_get(target), '?') ? '&' : '?', name);
	text_add_percent(target, value);
}

static void page_target(const char *target, size_t left, const char *cursor, struct text *ret)
{
	text_clear(ret);
	text_addf(ret, "%s%climit=%zu", target, strchr(target, '?') ? '&' : '?',
		  left < PAGE_SIZE ? left : PAGE_SIZE);
	if (cursor) {
		text_add(ret, "&cursor=");
		text_add_percent(ret, cursor);
	}
}

int listing_pages(struct haasctl *haasctl, const struct command_input *input, const char *target,
		  size_t limit, const struct output_column columns[], size_t count)
{
	return listing_source_pages(haasctl, input,
				    &(struct listing_source){.target = target, .limit = limit},
				    columns, count);
}

int listing_filtered(struct haasctl *haasctl, const struct command_input *input, const char *target,
		     const char *const filters[], const struct output_column columns[],
		     size_t count)
{
	CLEANUP(text_done) struct text filtered = {0};

	text_add(&filtered, target);
	for (; *filters; filters++)
		haasctl_query(&filtered, input, *filters);
	return listing_pages(haasctl, input, text_get(&filtered), 0, columns, count);
}

static void write_items(struct listing *listing, const struct listing_source *source, json_t *items)
{
	json_t *row;
	size_t i;

	json_array_foreach(items, i, row)
	{
		if (source->prepare && !is_json(listing->format))
			source->prepare(row);
		listing_row(listing, row);
	}
}

int listing_source_pages(struct haasctl *haasctl, const struct command_input *input,
			 const struct listing_source *source, const struct output_column columns[],
			 size_t count)
{
	CLEANUP(text_done) struct text page = {0};
	CLEANUP(text_done) struct text target = {0};
	struct listing *listing = NULL;
	size_t left = 0;
	int status = listing_limit_of(input, source->limit, &left);

	text_add(&target, source->target);
	listing_add(&target, input, "--where", "q");
	listing_add(&target, input, "--sort", "sort");

	if (status == EXIT_OK)
		status = listing_new(input, columns, count, &listing);
	if (status != EXIT_OK)
		return status;
	page_target(text_get(&target), left, NULL, &page);
	while (page.size > 0 && !ferror(stdout)) {
		struct haasctl_reply reply = {0};
		json_t *items;

		status = haasctl_get(haasctl, input, text_get(&page), &reply);
		if (status != EXIT_OK)
			break;
		items = json_object_get(reply.json, "items");
		write_items(listing, source, items);
		left -= json_array_size(items) < left ? json_array_size(items) : left;
		const char *next = haasctl_word(reply.json, "next");
		if (*next && left > 0)
			page_target(text_get(&target), left, next, &page);
		else
			text_clear(&page);
		haasctl_reply_done(&reply);
	}
	return listing_end(listing, status);
}

/* --- one object --- */

/* Left column of one object's lines. */
#define KEY_WIDTH 14

static bool is_among(const char *const words[], size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], word) == 0)
			return true;
	}
	return false;
}

/* The members of `object`, NULL-ended: first those that `order` names behind "prefix.", as written
 * there, then the others. Freed by the caller; NULL without memory. */
static const char **keys_of(json_t *object, const char *const *order, const char *prefix)
{
	const char **keys = calloc(json_object_size(object) + 1, sizeof(*keys));
	size_t length = strlen(prefix);
	size_t count = 0;
	const char *key;
	json_t *value;

	for (; keys && *order; order++) {
		if (strncmp(*order, prefix, length) != 0 || strchr(*order + length, '.') ||
		    !json_object_get(object, *order + length))
			continue;
		keys[count++] = *order + length;
	}
	json_object_foreach(object, key, value)
	{
		if (keys && !is_among(keys, count, key))
			keys[count++] = key;
	}
	return keys;
}

/* An object in one line: its values, of its flags the names of those that are set. */
static void add_inline(struct text *ret, json_t *object, const char *const *order,
		       const char *prefix)
{
	const char **keys = keys_of(object, order, prefix);
	const char *between = "";

	for (size_t i = 0; keys && keys[i]; i++) {
		const json_t *value = json_object_get(object, keys[i]);

		if (json_is_null(value) || json_is_false(value))
			continue;
		text_add(ret, between);
		if (json_is_true(value))
			text_add(ret, keys[i]);
		else
			listing_add_value(ret, value, keys[i], true);
		between = "  ";
	}
	free(keys);
}

/* "key  value"; what takes several lines stands below each other. */
static void write_lines(const char *key, int indent, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		printf("%*s%-*s %.*s\n", indent, "", KEY_WIDTH - indent, key, (int)length, text);
		key = "";
		text += length + (text[length] == '\n');
	}
}

static void write_member(const char *key, int indent, json_t *value, const char *const *order)
{
	CLEANUP(text_done) struct text text = {0};
	char prefix[64];
	json_t *element;
	size_t i;

	if (!json_is_array(value) || !json_is_object(json_array_get(value, 0))) {
		write_lines(key, indent, listing_text(value, key, &text));
		return;
	}
	(void)text_format(prefix, sizeof(prefix), "%s.", key);
	json_array_foreach(value, i, element)
	{
		text_add(&text, i > 0 ? "\n" : "");
		add_inline(&text, element, order, prefix);
	}
	write_lines(key, indent, text_get(&text));
}

/* An object inside: its name, then its members, indented. */
static void listing_write_top(const char *key, json_t *value, const char *const *order)
{
	const char **keys;
	char prefix[64];

	if (!json_is_object(value) || json_object_size(value) == 0) {
		write_member(key, 0, value, order);
		return;
	}
	(void)text_format(prefix, sizeof(prefix), "%s.", key);
	keys = keys_of(value, order, prefix);
	printf("%s\n", key);
	for (size_t i = 0; keys && keys[i]; i++)
		write_member(keys[i], 2, json_object_get(value, keys[i]), order);
	free(keys);
}

static void write_object(json_t *object, const char *const *order)
{
	const char **keys = keys_of(object, order, "");

	for (size_t i = 0; keys && keys[i]; i++)
		listing_write_top(keys[i], json_object_get(object, keys[i]), order);
	free(keys);
}

int listing_object(const struct command_input *input, json_t *object, const struct show *show)
{
	struct listing *listing = NULL;

	if (!command_option(input, "--columns")) {
		if (listing_json(input, object))
			return EXIT_OK;
		if (listing_for_people(input)) {
			write_object(object, show->order);
			return EXIT_OK;
		}
	}
	int status = listing_new(input, show->columns, show->count, &listing);
	if (status != EXIT_OK)
		return status;
	listing_row(listing, object);
	return listing_end(listing, EXIT_OK);
}

int listing_show(struct haasctl *haasctl, const struct command_input *input, const char *target,
		 const struct show *show)
{
	struct haasctl_reply reply = {0};
	int status = haasctl_get(haasctl, input, target, &reply);

	if (status == EXIT_OK)
		status = listing_object(input, reply.json, show);
	haasctl_reply_done(&reply);
	return status;
}

int listing_show_named(struct haasctl *haasctl, const struct command_input *input,
		       const char *before, const char *after, const struct show *show)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, before, input->words[0], after);
	return listing_show(haasctl, input, text_get(&target), show);
}

int listing_nodes(const struct command_input *input, const json_t *nodes)
{
	static const struct output_column columns[] = {COLUMN("node"), COLUMN("refused")};
	const json_t *row;
	size_t refused = 0;
	size_t i;
	int status =
		listing_for_people(input) ? EXIT_OK : listing_rows(input, nodes, COLUMNS(columns));

	json_array_foreach(nodes, i, row)
	{
		if (!haasctl_word(row, "refused")[0]) {
			haasctl_say_done(input, input->command->done, haasctl_word(row, "node"),
					 row);
			continue;
		}
		refused++;
		fprintf(stderr, "haasctl: %s\n", haasctl_word(row, "refused"));
	}
	return status == EXIT_OK && refused > 0 ? EXIT_PARTIAL : status;
}
