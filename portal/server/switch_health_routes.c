/* /switch-health, /switches/{switch}/health: how switches are. */
#include <stdlib.h>

#include "portal/server/exchange.h"
#include "portal/server/switch_health_store_sql.h"

static const struct query_row switch_health_routes_list_query[] = {
	QUERY_PAGE_TEXT,
	{"fabric", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route switch_health_routes[] = {
	{HTTP_GET, "/api/v1/switch-health", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, switch_health_routes_list_query, &switch_health_list_query,
	 {"?limit", "?cursor", "?fabric"}},
	{HTTP_GET, "/api/v1/switches/{switch}/health", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, NULL, &switch_health_get_query, {"{switch}"}},
	{.pattern = NULL},
};
/* clang-format on */
