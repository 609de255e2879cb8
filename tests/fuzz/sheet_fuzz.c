// links: portal_server
/* A sheet that parses has a full grid of terminated cells inside of its own buffer; written again
 * as CSV it parses to the same cells. What node_sheet makes of it are objects with a valid name
 * that no other has, each with NICs of different names of which the first boots, or errors, never
 * both. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/node_sheet.h"
#include "portal/server/sheet_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_cell(struct text *text, const char *cell)
{
	text_add(text, "\"");
	for (; *cell; cell++)
		text_addf(text, *cell == '"' ? "\"%c" : "%c", *cell);
	text_add(text, "\"");
}

static void write_sheet(struct text *text, const struct sheet *sheet)
{
	for (size_t row = 0; row < sheet->row_count; row++) {
		for (size_t column = 0; column < sheet->column_count; column++) {
			text_add(text, column > 0 ? "," : "");
			write_cell(text, sheet_cell(sheet, row, column));
		}
		text_add(text, "\r\n");
	}
}

static void check_again(const struct sheet *sheet)
{
	struct text text = {0};
	struct sheet again;
	struct problem problem = {0};

	write_sheet(&text, sheet);
	if (sheet_parse(text.data, text.size, &again, &problem) != 0)
		abort();
	if (again.row_count != sheet->row_count || again.column_count != sheet->column_count)
		abort();
	for (size_t i = 0; i < sheet->row_count * sheet->column_count; i++) {
		if (strcmp(sheet->cells[i], again.cells[i]) != 0)
			abort();
	}
	sheet_done(&again);
	text_done(&text);
}

static void check_nics(const json_t *nics)
{
	json_t *names = json_object();

	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		const char *name = json_string_value(json_object_get(nic, "name"));

		if (!name || !json_is_string(json_object_get(nic, "mac")) ||
		    json_is_true(json_object_get(nic, "boot")) != (i == 0) ||
		    json_object_set(names, name, json_true()) != 0)
			abort();
	}
	if (json_object_size(names) != json_array_size(nics) || json_array_size(nics) > 32)
		abort();
	json_decref(names);
}

static void check_specs(const struct sheet *sheet)
{
	struct error_list errors = {0};
	json_t *names = json_object();
	json_t *specs = NULL;
	int rc = node_sheet_read(sheet, &specs, &errors);

	if ((rc == 0) != (errors.count == 0) || (rc == 0) != (specs != NULL))
		abort();
	for (size_t i = 0; i < json_array_size(specs); i++) {
		const json_t *spec = json_array_get(specs, i);
		const char *name = json_string_value(json_object_get(spec, "name"));

		if (!name || name[0] == '\0' || strlen(name) > 63 ||
		    json_object_set(names, name, json_true()) != 0)
			abort();
		check_nics(json_object_get(spec, "nics"));
	}
	if (json_object_size(names) != json_array_size(specs))
		abort();
	json_decref(names);
	json_decref(specs);
	error_list_done(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = fuzz_text(data, size);
	struct sheet sheet = {0};
	struct problem problem = {0};

	if (sheet_parse(copy, size, &sheet, &problem) == 0) {
		for (size_t i = 0; i < sheet.row_count * sheet.column_count; i++) {
			const char *cell = sheet.cells[i];

			if (cell < copy || cell + strlen(cell) > copy + size ||
			    strlen(cell) > SHEET_CELL_MAX)
				abort();
		}
		check_again(&sheet);
		check_specs(&sheet);
	} else if (problem.message[0] == '\0') {
		abort();
	}
	sheet_done(&sheet);
	free(copy);
	return 0;
}
