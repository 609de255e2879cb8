/* Does a client want a list as a table (CSV, RFC 4180) or as JSON? */
#pragma once

#include <stdbool.h>

/* Does `accept` (a header, may be NULL) prefer text/csv to application/json? */
bool list_table_wanted(const char *accept);
