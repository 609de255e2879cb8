// links: portal_server
/* An OS sheet that is read from CSV has rows of objects; checked without an error each place is there
 * once, and written as CSV it is read again to the same rows. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/server/pdci_sheet.h"
#include "portal/server/sheet_wire.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pdci_sheet_fuzz_request[] =
	"{\"groups\":[{\"count\":3},{\"count\":2,\"nics\":[{\"nic\":\"eth0\",\"network\":\"front\"}]}],"
	"\"networks\":[{\"name\":\"front\",\"prefix\":\"10.50.0.0/24\"},{\"name\":\"back\",\"prefix\":"
	"\"10.60.0.0/29\"}]}";

/* The rows of a text; NULL: it is none. */
static json_t *pdci_sheet_fuzz_read(const char *text, size_t size)
{
	char *copy = fuzz_text((const uint8_t *)text, size);
	struct error_list errors = {0};
	struct problem problem = {0};
	struct sheet sheet = {0};
	json_t *rows = NULL;

	if (sheet_parse(copy, size, &sheet, &problem) == 0 &&
	    (pdci_sheet_of_csv(&sheet, &rows, &errors) == 0) != (errors.count == 0))
		abort();
	pdci_sheet_errors_of_csv(&errors);
	error_list_done(&errors);
	sheet_done(&sheet);
	free(copy);
	return rows;
}

static void pdci_sheet_fuzz_again(const json_t *rows)
{
	json_t *sheet = json_pack("{s:O}", "rows", rows);
	struct text text = {0};
	json_t *again;

	pdci_sheet_csv_text(sheet, &text);
	again = pdci_sheet_fuzz_read(text_get(&text), text.size);
	if (!again || !json_equal(rows, again))
		abort();
	json_decref(again);
	json_decref(sheet);
	text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *request = json_loads(pdci_sheet_fuzz_request, 0, NULL);
	json_t *rows = pdci_sheet_fuzz_read((const char *)data, size);
	struct error_list errors = {0};

	if (rows) {
		pdci_sheet_check(rows, request, "/rows", &errors);
		if (errors.count == 0) {
			if (json_array_size(rows) > 5)
				abort();
			pdci_sheet_fuzz_again(rows);
		}
		pdci_sheet_errors_of_csv(&errors);
		error_list_done(&errors);
		json_decref(rows);
	}
	json_decref(request);
	return 0;
}
