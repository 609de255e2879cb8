/* A page of usage as a table for spreadsheets and bills (RFC 4180). No I/O. */
#pragma once

#include <stdbool.h>

#include "common/base/text.h"
#include "common/http/json_reader.h"

/* Does an Accept header (RFC 9110 12.5.1; NULL = none) ask for CSV rather than for JSON? Whichever
 * of the two it names with the higher weight, the first of equals; neither: no. */
bool usage_csv_wanted(const char *accept);
/* A head and a line per row of `page`, as the API has it: {"items": [..]}. */
void usage_csv_text(const json_t *page, struct text *ret);
