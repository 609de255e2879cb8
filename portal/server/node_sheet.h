/* A sheet of nodes -> the specs that node_put takes. Columns are rows of a table; every wrong cell
 * is named with what it allows. */
#pragma once

#include "common/http/json_reader.h"

#include "portal/server/error_list.h"
#include "portal/server/sheet_wire.h"

/* *ret is a JSON array, one object per row of the sheet: members of node_put, "row", and
 * bmc.password still in clear. With errors it is not set. 0, E_INVALID when `errors` has something,
 * -ENOMEM. */
MUST_USE int node_sheet_read(const struct sheet *sheet, json_t **ret, struct error_list *errors);
