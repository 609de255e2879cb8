#include "common/cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/enum_text.h"
#include "common/base/json_text.h"
#include "common/base/text.h"

/* A table's column is never cut; a terminal of 80 columns wraps the last one, scripts take -o csv.
 */
struct output {
	FILE *out;
	enum output_format format;
	const struct output_column *columns; /* the caller's table */
	size_t *shown;                       /* indexes into it, in the order written */
	size_t shown_count;
	size_t rows;
	char **cells; /* of a table: rows * shown_count texts */
	const char *(*paint)(const char *key, const char *cell);
	bool failed;
};

static const char *const format_words[] = {
	[OUTPUT_TABLE] = "table", [OUTPUT_WIDE] = "wide", [OUTPUT_JSON] = "json",
	[OUTPUT_JSONL] = "jsonl", [OUTPUT_CSV] = "csv",   [OUTPUT_KEY_VALUE] = "keyvalue",
};

int output_format_parse(const char *word)
{
	return enum_value(format_words, COUNT_OF(format_words), word);
}

static size_t output_find_column(const struct output_column columns[], size_t count,
				 const char *key, size_t length)
{
	size_t at = 0;

	while (at < count &&
	       (strncmp(columns[at].key, key, length) != 0 || columns[at].key[length] != '\0'))
		at++;
	return at;
}

/* Without -c: all columns, in a table only those that are not wide. */
static int output_choose(struct output *output, size_t count, const char *only,
			 const char **ret_error)
{
	output->shown = calloc(count, sizeof(*output->shown));
	if (!output->shown)
		return -ENOMEM;
	if (!only) {
		for (size_t i = 0; i < count; i++) {
			if (!output->columns[i].wide || output->format != OUTPUT_TABLE)
				output->shown[output->shown_count++] = i;
		}
		return 0;
	}
	for (const char *at = only; *at;) {
		size_t length = strcspn(at, ",");
		size_t column = output_find_column(output->columns, count, at, length);

		if (column == count) {
			*ret_error = "there is no such column; -o csv shows their names";
			return -EINVAL;
		}
		for (size_t i = 0; i < output->shown_count; i++) {
			if (output->shown[i] == column) {
				*ret_error = "a column is named twice";
				return -EINVAL;
			}
		}
		output->shown[output->shown_count++] = column;
		at += length;
		at += *at == ',';
	}
	return 0;
}

/* `cells` by column; NULL: the names of the columns. */
static void write_csv_row(struct output *output, const char *const cells[])
{
	struct text line = {0};

	for (size_t i = 0; i < output->shown_count; i++) {
		size_t column = output->shown[i];
		const char *cell = cells ? cells[column] : output->columns[column].key;

		text_add(&line, i > 0 ? "," : "");
		text_add_csv(&line, cell ? cell : "");
	}
	text_add(&line, "\r\n");
	output->failed = output->failed || line.failed;
	fputs(text_get(&line), output->out);
	text_done(&line);
}

// NOLINTNEXTLINE(readability-function-size): a format, rows and a filter are what it takes
int output_new(FILE *out, enum output_format format, const struct output_column columns[],
	       size_t count, const char *only, struct output **ret, const char **ret_error)
{
	struct output *output = calloc(1, sizeof(*output));

	if (!output)
		return -ENOMEM;
	*output = (struct output){.out = out, .format = format, .columns = columns};
	*ret_error = NULL;
	int rc = output_choose(output, count, only, ret_error);
	if (rc < 0) {
		free(output->shown);
		free(output);
		return rc;
	}
	if (format == OUTPUT_JSON)
		fputc('[', out);
	if (format == OUTPUT_CSV)
		write_csv_row(output, NULL);
	*ret = output;
	return 0;
}

static void keep_row(struct output *output, const char *const cells[])
{
	size_t have = output->rows * output->shown_count;
	char **grown = realloc(output->cells, (have + output->shown_count + 1) * sizeof(*grown));

	if (!grown) {
		output->failed = true;
		return;
	}
	output->cells = grown;
	for (size_t i = 0; i < output->shown_count; i++) {
		const char *cell = cells[output->shown[i]];

		grown[have + i] = strdup(cell && *cell ? cell : "-");
		output->failed = output->failed || !grown[have + i];
		/* A cell is one line, whatever the data says. */
		if (grown[have + i])
			text_blank_controls(grown[have + i], strlen(grown[have + i]));
	}
	output->rows++;
}

/* A JSON number without exponent (RFC 8259 6). */
static bool output_is_number(const char *cell)
{
	const char *at = cell + (*cell == '-');
	size_t whole = strspn(at, "0123456789");
	size_t part;

	if (whole == 0 || (at[0] == '0' && whole > 1))
		return false;
	at += whole;
	if (*at == '\0')
		return true;
	part = *at == '.' ? strspn(at + 1, "0123456789") : 0;
	return part > 0 && at[1 + part] == '\0';
}

static void output_write_json_row(struct output *output, const char *const cells[])
{
	struct text text = {0};

	json_begin_object(&text, NULL);
	for (size_t i = 0; i < output->shown_count; i++) {
		const struct output_column *column = &output->columns[output->shown[i]];
		const char *cell = cells[output->shown[i]];

		if (cell && column->number && output_is_number(cell))
			json_put_raw(&text, column->key, cell);
		else
			json_put_string(&text, column->key, cell);
	}
	json_end_object(&text);
	output->failed = output->failed || text.failed;
	if (output->format == OUTPUT_JSON)
		fputs(output->rows > 0 ? ",\n " : "\n ", output->out);
	fputs(text_get(&text), output->out);
	if (output->format == OUTPUT_JSONL)
		fputc('\n', output->out);
	text_done(&text);
	output->rows++;
}

bool output_is_table(const struct output *output)
{
	return output->format == OUTPUT_TABLE || output->format == OUTPUT_WIDE;
}

void output_paint(struct output *output, const char *(*paint)(const char *key, const char *cell))
{
	output->paint = paint;
}

void output_row(struct output *output, const char *const cells[])
{
	switch (output->format) {
	case OUTPUT_TABLE:
	case OUTPUT_WIDE: keep_row(output, cells); break;
	case OUTPUT_JSON:
	case OUTPUT_JSONL: output_write_json_row(output, cells); break;
	case OUTPUT_CSV: write_csv_row(output, cells); break;
	case OUTPUT_KEY_VALUE:
		for (size_t i = 0; i < output->shown_count; i++) {
			const char *cell = cells[output->shown[i]];

			fprintf(output->out, "%zu.%s=%s\n", output->rows,
				output->columns[output->shown[i]].key, cell ? cell : "");
		}
		output->rows++;
		break;
	}
}

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
static size_t width_of(const char *cell)
{
	size_t width = 0;

	for (; *cell; cell++)
		width += ((unsigned char)*cell & 0xc0) != 0x80;
	return width;
}

/* `sgr` is the colour's parameters or NULL; escapes take no place. */
static void write_cell(FILE *out, const char *cell, size_t width, bool right, const char *sgr)
{
	size_t have = width_of(cell);
	int pad = have < width ? (int)(width - have) : 0;

	fprintf(out, "%*s", right ? pad : 0, "");
	if (sgr)
		fprintf(out, "\033[%sm%s\033[0m", sgr, cell);
	else
		fputs(cell, out);
	fprintf(out, "%*s", right ? 0 : pad, "");
}

static void upper_case(char *text)
{
	for (; *text; text++) {
		if (*text >= 'a' && *text <= 'z')
			*text = (char)(*text - 'a' + 'A');
	}
}

/* `cells` of a row, or NULL for the heading. The last cell is not padded. */
static void output_write_line(const struct output *output, const size_t widths[],
			      char *const cells[])
{
	for (size_t i = 0; i < output->shown_count; i++) {
		const struct output_column *column = &output->columns[output->shown[i]];
		bool last = i + 1 == output->shown_count;
		const char *cell = NULL;
		const char *sgr = NULL;
		char title[64];

		if (!cells) {
			(void)text_copy(title, sizeof(title),
					column->title ? column->title : column->key);
			upper_case(title);
			cell = title;
		} else {
			cell = cells[i];
			sgr = output->paint ? output->paint(column->key, cell) : NULL;
		}
		write_cell(output->out, cell, last && !column->number ? 0 : widths[i],
			   column->number, sgr);
		fputs(last ? "\n" : "  ", output->out);
	}
}

static void write_table(struct output *output)
{
	size_t count = output->shown_count;
	size_t rows = output->cells ? output->rows : 0;
	size_t *widths = calloc(count + 1, sizeof(*widths));

	for (size_t i = 0; widths && i < count; i++) {
		const struct output_column *column = &output->columns[output->shown[i]];

		widths[i] = width_of(column->title ? column->title : column->key);
		for (size_t row = 0; row < rows; row++) {
			size_t width = width_of(output->cells[row * count + i]);

			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	if (widths)
		output_write_line(output, widths, NULL);
	for (size_t row = 0; widths && row < rows; row++)
		output_write_line(output, widths, output->cells + row * count);
	output->failed = output->failed || !widths;
	free(widths);
}

int output_end(struct output *output)
{
	size_t cells = output->cells ? output->rows * output->shown_count : 0;

	if (output_is_table(output) && !output->failed)
		write_table(output);
	if (output->format == OUTPUT_JSON)
		fputs(output->rows > 0 ? "\n]\n" : "]\n", output->out);
	int rc = output->failed ? -ENOMEM : 0;
	if (fflush(output->out) != 0 || ferror(output->out))
		rc = -EIO;
	for (size_t i = 0; i < cells; i++)
		free(output->cells[i]);
	free(output->cells);
	free(output->shown);
	free(output);
	return rc;
}

bool output_colour(FILE *out, const char *when)
{
	const char *none = getenv("NO_COLOR"); // NOLINT(concurrency-mt-unsafe): one thread
	const char *terminal = getenv("TERM"); // NOLINT(concurrency-mt-unsafe): one thread

	if (when && strcmp(when, "always") == 0)
		return true;
	if (when && strcmp(when, "never") == 0)
		return false;
	return isatty(fileno(out)) && !(none && *none) && terminal && strcmp(terminal, "dumb") != 0;
}
