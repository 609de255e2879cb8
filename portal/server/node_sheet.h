/* A sheet of nodes -> the specs that node_put takes. Columns are rows of a table. Rows of one name
 * are one node, each with a NIC of it: gpu1 with eth0 in row 2, gpu1 with eth1 in row 3. Such rows
 * repeat the other cells or leave them empty. A wrong cell is one error: the value, and what is
 * allowed. */
#pragma once

#include "common/http/json_reader.h"

#include "portal/server/error_list.h"
#include "portal/server/sheet_wire.h"

/* *ret is a JSON array, one object per node: members of node_put, "row" (its first; each NIC has its
 * own), and bmc.password still in clear. With errors it is not set. 0, E_INVALID when `errors` has
 * something, -ENOMEM. */
MUST_USE int node_sheet_read(const struct sheet *sheet, json_t **ret, struct error_list *errors);
