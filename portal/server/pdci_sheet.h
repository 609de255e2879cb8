/* The OS sheet of a PDCI: a row for each place, the host name, addresses, keys, user data, packages
 * and disk of its OS. An empty cell is as the PDCI says it. No I/O. */
#pragma once

#include "common/base/text.h"
#include "common/http/json_reader.h"

#include "portal/server/error_list.h"
#include "portal/server/sheet_wire.h"

#define PDCI_PLACES_MAX 65536 /* 16 groups of 4096 nodes each */

/* Says in `errors` what is wrong with rows of the sheet, each with a pointer below `pointer`.
 * `request` is that of the PDCI: it says which places there are, and with which networks. */
void pdci_sheet_check(json_t *rows, const json_t *request, const char *pointer,
		      struct error_list *errors);
/* Names of packages in the rows that `refused` holds (an array of texts) are errors too. */
void pdci_sheet_check_packages(const json_t *rows, const json_t *refused, const char *pointer,
			       struct error_list *errors);
/* A CSV sheet as such rows: a new reference in *ret. 0, E_INVALID when `errors` has something,
 * -ENOMEM. Columns that say where a place is (group, class, node) are passed over. */
MUST_USE int pdci_sheet_of_csv(const struct sheet *sheet, json_t **ret, struct error_list *errors);
/* Errors about rows of a CSV sheet: row and column in place of the pointer. */
void pdci_sheet_errors_of_csv(struct error_list *errors);
/* "rows" of a sheet as CSV with a head (RFC 4180). What a spreadsheet would take for a formula gets
 * an apostrophe before it; pdci_sheet_of_csv takes it away again. */
void pdci_sheet_csv_text(const json_t *sheet, struct text *ret);
