/* OS sheets as CSV, both ways. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "portal/server/member_check.h"
#include "portal/server/pdci_sheet.h"

enum pdci_sheet_cell {
	PDCI_SHEET_SAYS, /* where the place is: passed over */
	PDCI_SHEET_PLACE,
	PDCI_SHEET_TEXT,
	PDCI_SHEET_WORDS, /* separated by blanks */
	PDCI_SHEET_LINES,
};

/* clang-format off */
static const struct pdci_sheet_column {
	const char *name;
	enum pdci_sheet_cell kind;
} pdci_sheet_columns[] = {
	{"place",     PDCI_SHEET_PLACE},
	{"group",     PDCI_SHEET_SAYS},
	{"class",     PDCI_SHEET_SAYS},
	{"node",      PDCI_SHEET_SAYS},
	{"hostname",  PDCI_SHEET_TEXT},
	{"addresses", PDCI_SHEET_WORDS},
	{"ssh_keys",  PDCI_SHEET_LINES},
	{"user_data", PDCI_SHEET_TEXT},
	{"packages",  PDCI_SHEET_WORDS},
	{"disk",      PDCI_SHEET_TEXT},
};
/* clang-format on */

static const char pdci_sheet_formula[] = "=+-@\t\r";

/* Does it begin a formula, behind apostrophes that may be there? One more makes it harmless. */
static bool pdci_sheet_is_formula(const char *text)
{
	char first = text[strspn(text, "'")];

	return first != '\0' && strchr(pdci_sheet_formula, first);
}

static const struct pdci_sheet_column *pdci_sheet_csv_column(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(pdci_sheet_columns); i++) {
		if (strcmp(pdci_sheet_columns[i].name, name) == 0)
			return &pdci_sheet_columns[i];
	}
	return NULL;
}

static void pdci_sheet_csv_header(const struct sheet *sheet,
				  const struct pdci_sheet_column *ret[SHEET_COLUMNS_MAX],
				  struct error_list *errors)
{
	CLEANUP(text_done) struct text allowed = {0};
	bool placed = false;

	for (size_t i = 0; i < COUNT_OF(pdci_sheet_columns); i++)
		text_addf(&allowed, "%s%s", i > 0 ? ", " : "", pdci_sheet_columns[i].name);
	for (size_t c = 0; c < sheet->column_count; c++) {
		const char *name = sheet_cell(sheet, 0, c);

		ret[c] = pdci_sheet_csv_column(name);
		if (!ret[c])
			error_list_cell(errors, 1, name, "this column is not known",
					text_get(&allowed));
		for (size_t before = 0; ret[c] && before < c; before++) {
			if (ret[before] == ret[c])
				error_list_cell(errors, 1, name, "this column is there twice",
						NULL);
		}
		placed = placed || (ret[c] && ret[c]->kind == PDCI_SHEET_PLACE);
	}
	if (!placed && errors->count == 0)
		error_list_cell(errors, 1, "place", "this column is needed", NULL);
}

static json_t *pdci_sheet_csv_list(char *cell, const char *separators)
{
	json_t *list = json_array();
	char *rest = NULL;

	for (char *at = strtok_r(cell, separators, &rest); at;
	     at = strtok_r(NULL, separators, &rest))
		(void)json_array_append_new(list, json_of_utf8(at));
	return list;
}

/* A new reference; NULL: no JSON can hold it. What is no place stays a text, which the check then
 * refuses. */
static json_t *pdci_sheet_csv_cell(enum pdci_sheet_cell kind, char *cell)
{
	size_t digits = strspn(cell, "0123456789");

	if (cell[0] == '\'' && pdci_sheet_is_formula(cell))
		cell++;
	if (kind == PDCI_SHEET_PLACE && digits > 0 && digits < 8 && cell[digits] == '\0')
		return json_integer(strtol(cell, NULL, 10));
	if (kind == PDCI_SHEET_WORDS)
		return pdci_sheet_csv_list(cell, " ");
	if (kind == PDCI_SHEET_LINES)
		return pdci_sheet_csv_list(cell, "\r\n");
	return json_of_utf8(cell);
}

int pdci_sheet_of_csv(const struct sheet *sheet, json_t **ret, struct error_list *errors)
{
	const struct pdci_sheet_column *columns[SHEET_COLUMNS_MAX];
	CLEANUP(json_decrefp) json_t *rows = json_array();

	if (!rows)
		return -ENOMEM;
	pdci_sheet_csv_header(sheet, columns, errors);
	if (errors->count > 0)
		return E_INVALID;
	for (size_t row = 1; row < sheet->row_count; row++) {
		json_t *object = json_object();

		for (size_t c = 0; c < sheet->column_count; c++) {
			char *cell = sheet_cell(sheet, row, c);
			json_t *value;

			if (cell[0] == '\0' || columns[c]->kind == PDCI_SHEET_SAYS)
				continue;
			value = pdci_sheet_csv_cell(columns[c]->kind, cell);
			if (json_is_array(value) && json_array_size(value) == 0)
				json_decref(value); /* blanks alone */
			else if (value)
				(void)json_object_set_new(object, columns[c]->name, value);
			else
				error_list_cell(errors, row + 1, columns[c]->name, "is not UTF-8",
						NULL);
		}
		if (json_array_append_new(rows, object) != 0)
			return -ENOMEM;
	}
	if (errors->count > 0)
		return E_INVALID;
	*ret = TAKE(rows);
	return 0;
}

void pdci_sheet_errors_of_csv(struct error_list *errors)
{
	json_t *item;
	size_t i;

	json_array_foreach(errors->items, i, item)
	{
		const char *pointer = json_string_value(json_object_get(item, "pointer"));
		const char *row = pointer ? strchr(pointer + 1, '/') : NULL;
		const char *column = row ? strchr(row + 1, '/') : NULL;

		if (!column)
			continue;
		(void)json_object_set_new(item, "row", json_integer(strtol(row + 1, NULL, 10) + 2));
		(void)json_object_set_new(item, "column",
					  json_stringn(column + 1, strcspn(column + 1, "/")));
		(void)json_object_del(item, "pointer");
	}
}

/* --- to CSV --- */

static void pdci_sheet_csv_add(const json_t *value, const char *separator, struct text *ret)
{
	CLEANUP(text_done) struct text cell = {0};
	CLEANUP(text_done) struct text safe = {0};
	const json_t *one;
	size_t i;

	if (json_is_integer(value))
		text_addf(&cell, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_string(value))
		text_add(&cell, json_string_value(value));
	json_array_foreach(value, i, one)
		text_addf(&cell, "%s%s", i > 0 ? separator : "", json_string_value(one));
	if (pdci_sheet_is_formula(text_get(&cell)))
		text_add(&safe, "'");
	text_add(&safe, text_get(&cell));
	text_add_csv(ret, text_get(&safe));
}

void pdci_sheet_csv_text(const json_t *sheet, struct text *ret)
{
	const json_t *row;
	size_t i;

	for (size_t c = 0; c < COUNT_OF(pdci_sheet_columns); c++)
		text_addf(ret, "%s%s", c > 0 ? "," : "", pdci_sheet_columns[c].name);
	text_add(ret, "\r\n");
	json_array_foreach(json_object_get(sheet, "rows"), i, row)
	{
		for (size_t c = 0; c < COUNT_OF(pdci_sheet_columns); c++) {
			text_add(ret, c > 0 ? "," : "");
			pdci_sheet_csv_add(
				json_object_get(row, pdci_sheet_columns[c].name),
				pdci_sheet_columns[c].kind == PDCI_SHEET_LINES ? "\n" : " ", ret);
		}
		text_add(ret, "\r\n");
	}
}
