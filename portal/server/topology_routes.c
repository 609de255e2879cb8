/* /topology, /switches/{switch}/series: the fabric as one picture with its load, and what a port
 * counted over time. */
#include <stdlib.h>

#include "portal/server/exchange.h"
#include "portal/server/topology_store_sql.h"

static const struct query_row topology_query[] = {
	{"fabric", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	QUERY_TENANT,
	{0},
};
static const struct query_row topology_routes_series_query[] = {
	{"port", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"at", QUERY_TIME, 0, NULL, NULL, false, NULL},
	{"window", QUERY_WINDOW, 0, NULL, "1h", false, NULL},
	{"points", QUERY_LIMIT, 0, NULL, "300", false, NULL},
	{0},
};

/* clang-format off */
const struct route topology_routes[] = {
	{HTTP_GET, "/api/v1/topology", ROLE_TENANT, BODY_NONE, 0, exchange_read, topology_query, &topology_get_query, {"?fabric", "?tenant"}},
	{HTTP_GET, "/api/v1/switches/{switch}/series", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, topology_routes_series_query, &port_series_query,
	 {"{switch}", "?port", "?at", "?window", "?points"}},
	{.pattern = NULL},
};
/* clang-format on */
