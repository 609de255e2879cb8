#include "portal/server/sheet_wire.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* Reads at `at`, writes at `put`: unquoting only ever shortens. */
struct sheet_reader {
	char *at, *put, *end;
	size_t row; /* for problems; records, not lines */
	struct problem *problem;
};

enum cell_end { CELL_COMMA, CELL_RECORD, CELL_DATA };

static int sheet_wire_refuse(struct sheet_reader *reader, int rc, const char *what)
{
	(void)problem_set(reader->problem, rc, "row %zu: %s", reader->row, what);
	problem_hint(reader->problem,
		     "the sheet is CSV (RFC 4180), as haasctl node import --template prints it");
	return rc;
}

/* What ended the cell, consumed: comma, end of line, end of data. */
static int end_cell(struct sheet_reader *reader, enum cell_end *ret)
{
	if (reader->at == reader->end) {
		*ret = CELL_DATA;
		return 0;
	}
	if (*reader->at == ',') {
		*ret = CELL_COMMA;
	} else {
		if (*reader->at == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n')
			reader->at++;
		if (*reader->at != '\n')
			return sheet_wire_refuse(reader, E_MALFORMED, "text after a closing quote");
		*ret = CELL_RECORD;
	}
	reader->at++;
	return 0;
}

static bool at_line_end(const struct sheet_reader *reader)
{
	return *reader->at == '\n' ||
	       (*reader->at == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n');
}

static int read_quoted(struct sheet_reader *reader)
{
	for (reader->at++; reader->at < reader->end; *reader->put++ = *reader->at++) {
		if (*reader->at != '"')
			continue;
		reader->at++;
		if (reader->at == reader->end || *reader->at != '"')
			return 0;
	}
	return sheet_wire_refuse(reader, E_MALFORMED, "a quoted cell does not end");
}

static int read_plain(struct sheet_reader *reader)
{
	for (; reader->at < reader->end && *reader->at != ',' && !at_line_end(reader);
	     *reader->put++ = *reader->at++) {
		if (*reader->at == '"')
			return sheet_wire_refuse(reader, E_MALFORMED,
						 "a quote inside of a cell without quotes");
	}
	return 0;
}

/* The byte that ended the cell was read by then, so its place is free for the NUL; at the end of
 * the data the caller's own NUL stands. */
static int sheet_wire_read_cell(struct sheet_reader *reader, char **ret, enum cell_end *ret_end)
{
	char *cell = reader->put;
	int rc = reader->at < reader->end && *reader->at == '"' ? read_quoted(reader)
								: read_plain(reader);

	if (rc == 0 && reader->put - cell > SHEET_CELL_MAX)
		rc = sheet_wire_refuse(reader, E_LIMIT, "a cell is too long");
	if (rc == 0 && memchr(cell, '\0', (size_t)(reader->put - cell)))
		rc = sheet_wire_refuse(reader, E_MALFORMED, "a cell holds a NUL");
	if (rc == 0)
		rc = end_cell(reader, ret_end);
	if (rc != 0)
		return rc;
	*reader->put++ = '\0';
	*ret = cell;
	return 0;
}

static int read_record(struct sheet_reader *reader, char *cells[SHEET_COLUMNS_MAX],
		       size_t *ret_count, enum cell_end *ret_end)
{
	enum cell_end end = CELL_COMMA;
	size_t count = 0;
	int rc;

	while (end == CELL_COMMA) {
		if (count == SHEET_COLUMNS_MAX)
			return sheet_wire_refuse(reader, E_LIMIT, "too many columns");
		rc = sheet_wire_read_cell(reader, &cells[count++], &end);
		if (rc != 0)
			return rc;
	}
	*ret_count = count;
	*ret_end = end;
	return 0;
}

static int sheet_wire_add_record(struct sheet *sheet, struct sheet_reader *reader,
				 char *const cells[], size_t count)
{
	char **more;

	if (sheet->row_count == 0)
		sheet->column_count = count;
	if (count != sheet->column_count) {
		(void)problem_set(reader->problem, E_MALFORMED,
				  "row %zu has %zu cells, the first row has %zu", reader->row,
				  count, sheet->column_count);
		problem_hint(reader->problem,
			     "a comma inside of a cell needs quotes around the cell");
		return E_MALFORMED;
	}
	if (sheet->row_count == SHEET_ROWS_MAX)
		return sheet_wire_refuse(reader, E_LIMIT, "too many rows");
	if ((sheet->row_count & (sheet->row_count - 1)) == 0) { /* doubles at each power of two */
		size_t rows = sheet->row_count == 0 ? 1 : 2 * sheet->row_count;

		more = reallocarray(sheet->cells, rows * count, sizeof(*more));
		if (!more)
			return -ENOMEM;
		sheet->cells = more;
	}
	memcpy(&sheet->cells[sheet->row_count++ * count], cells, count * sizeof(*cells));
	return 0;
}

static int read_records(struct sheet_reader *reader, struct sheet *sheet)
{
	char *cells[SHEET_COLUMNS_MAX];
	enum cell_end end = CELL_RECORD;
	size_t count;
	int rc = 0;

	while (rc == 0 && end == CELL_RECORD && reader->at < reader->end) {
		if (at_line_end(reader)) { /* an empty line */
			reader->at += *reader->at == '\r' ? 2 : 1;
			continue;
		}
		reader->row++;
		rc = read_record(reader, cells, &count, &end);
		if (rc == 0)
			rc = sheet_wire_add_record(sheet, reader, cells, count);
	}
	return rc;
}

int sheet_parse(char *data, size_t size, struct sheet *ret, struct problem *problem)
{
	static const char mark[] =
		"\xef\xbb\xbf"; /* UTF-8 byte order mark, as spreadsheets write it */
	struct sheet sheet = {0};
	struct sheet_reader reader = {
		.at = data, .put = data, .end = data + size, .problem = problem};
	int rc;

	if (size >= 3 && memcmp(data, mark, 3) == 0)
		reader.at += 3;
	rc = read_records(&reader, &sheet);
	if (rc == 0 && sheet.row_count == 0) {
		rc = problem_set(problem, E_MALFORMED, "the sheet is empty");
		problem_hint(
			problem,
			"the first row names the columns: haasctl node import --template prints them");
	}
	if (rc != 0) {
		sheet_done(&sheet);
		return rc;
	}
	*ret = sheet;
	return 0;
}

void sheet_done(struct sheet *sheet)
{
	free(sheet->cells);
	*sheet = (struct sheet){0};
}

char *sheet_cell(const struct sheet *sheet, size_t row, size_t column)
{
	return sheet->cells[row * sheet->column_count + column];
}
