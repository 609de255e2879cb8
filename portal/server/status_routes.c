/* /status: what an operator must look at now, in one answer. */
#include <stddef.h>

#include "portal/server/exchange.h"
#include "portal/server/status_store_sql.h"

/* clang-format off */
const struct route status_routes[] = {
	{HTTP_GET, "/api/v1/status", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, NULL, &status_show_query, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
