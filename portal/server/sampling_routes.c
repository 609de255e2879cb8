/* /sampling, and what the switches of a fabric, or one switch, shall send; /traffic/agents and
 * /traffic/export: what of it came and was lost, and what becomes of it in Kafka, which only the
 * collector knows. */
#include <stdlib.h>

#include "portal/server/daemon_call.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/sampling_store_sql.h"

#define SAMPLING_ROUTES_COLLECTOR_MS 3000

/* clang-format off */
static const struct member_row setting_members[] = {
	{"enabled",   MEMBER_BOOL, 0, 0,  0,        NULL},
	{"collector", MEMBER_TEXT, 0, 1,  45,       NULL},
	{"port",      MEMBER_INT,  0, 1,  65535,    NULL},
	{"rate",      MEMBER_INT,  0, 0,  16777216, NULL},
	{"header",    MEMBER_INT,  0, 64, 256,      NULL},
	{"poll_s",    MEMBER_INT,  0, 1,  3600,     NULL},
};
/* clang-format on */

static void sampling_routes_set(struct exchange *exchange, const char *kind, const char *name)
{
	CLEANUP(freep) char *spec = NULL;

	spec = exchange_checked_body(exchange, setting_members, COUNT_OF(setting_members));
	if (!spec)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&sampling_set_query, {kind, name, spec, exchange->actor}},
			       {&sampling_now_query, {kind, name}},
		       },
		       2);
}

static void sampling_routes_fabric_set(struct exchange *exchange)
{
	sampling_routes_set(exchange, "fabric", exchange_arg(exchange, "{fabric}"));
}

static void sampling_routes_switch_set(struct exchange *exchange)
{
	sampling_routes_set(exchange, "switch", exchange_arg(exchange, "{switch}"));
}

/* GET /traffic/agents, /traffic/export */
static void collector_get(struct exchange *exchange)
{
	daemon_pass_on(exchange,
		       &(struct daemon_ask){.daemon = "peregrine-flowd",
					    .socket = exchange->portal->conf->flowd_socket,
					    .timeout_ms = SAMPLING_ROUTES_COLLECTOR_MS});
}

static const struct query_row sampling_routes_list_query[] = {
	QUERY_LIST,
	{"fabric", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"switch", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route sampling_routes[] = {
	{HTTP_GET, "/api/v1/sampling", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, sampling_routes_list_query, &sampling_list_query,
	 {"?limit", "?cursor", "?fabric", "?switch"}},
	{HTTP_GET, "/api/v1/traffic/agents", ROLE_OPERATOR, BODY_NONE, 0, collector_get, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/traffic/export", ROLE_OPERATOR, BODY_NONE, 0, collector_get, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/fabrics/{fabric}/sampling", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &sampling_get_fabric_query, {"{fabric}"}},
	{HTTP_PUT, "/api/v1/fabrics/{fabric}/sampling", ROLE_OPERATOR, BODY_JSON, 0, sampling_routes_fabric_set, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/switches/{switch}/sampling", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &sampling_get_switch_query, {"{switch}"}},
	{HTTP_PUT, "/api/v1/switches/{switch}/sampling", ROLE_OPERATOR, BODY_JSON, 0, sampling_routes_switch_set, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
