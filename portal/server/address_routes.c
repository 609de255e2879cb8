/* /subnets, /reservations, /leases: which addresses there are, and who has them. */
#include <string.h>

#include "common/db/array.h"

#include "portal/server/address_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"

/* clang-format off */
static const struct member_row subnet_members[] = {
	{"prefix",          MEMBER_PREFIX, MEMBER_REQUIRED, 0,  0,        NULL},
	{"boot_server",     MEMBER_IPV4,   MEMBER_REQUIRED, 0,  0,        NULL},
	{"gateway",         MEMBER_IPV4,   MEMBER_NULLABLE, 0,  0,        NULL},
	{"dns",             MEMBER_LIST,   0,               0,  8,        NULL},
	{"pool_low",        MEMBER_IPV4,   MEMBER_NULLABLE, 0,  0,        NULL},
	{"pool_high",       MEMBER_IPV4,   MEMBER_NULLABLE, 0,  0,        NULL},
	{"reserved_only",   MEMBER_BOOL,   0,               0,  0,        NULL},
	{"lease_s",         MEMBER_INT,    0,               60, 31536000, NULL},
	{"shared_network",  MEMBER_NAME,   MEMBER_NULLABLE, 0,  0,        NULL},
	{"relays",          MEMBER_LIST,   0,               0,  16,       NULL},
};
static const struct member_row reservation_members[] = {
	{"subnet",  MEMBER_NAME, MEMBER_REQUIRED, 0, 0, NULL},
	{"address", MEMBER_IPV4, MEMBER_REQUIRED, 0, 0, NULL},
};
/* clang-format on */

static void check_subnet(struct exchange *exchange, struct error_list *errors)
{
	const struct member_row name = {.kind = MEMBER_NAME};
	const struct member_row server = {.kind = MEMBER_IPV4};
	const json_t *dns = json_object_get(exchange->body, "dns");
	const json_t *relays = json_object_get(exchange->body, "relays");
	char room[128];
	const char *allowed = member_text_check(&name, exchange_arg(exchange, "{subnet}"), room);

	members_check(exchange->body, subnet_members, COUNT_OF(subnet_members), "", errors);
	if (json_is_array(dns))
		elements_check(dns, &server, true, "/dns", errors);
	if (json_is_array(relays))
		elements_check(relays, &server, true, "/relays", errors);
	if (allowed)
		error_list_name(errors, exchange_arg(exchange, "{subnet}"), allowed);
}

/* "{a,b}" of an array of texts; of nothing, the empty one. */
static void address_routes_add_addresses(struct text *ret, const json_t *list)
{
	array_begin(ret);
	for (size_t i = 0; i < json_array_size(list); i++)
		array_add(ret, json_string_value(json_array_get(list, i)));
	array_end(ret);
}

static void subnet_put(struct exchange *exchange)
{
	const char *name = exchange_arg(exchange, "{subnet}");
	const char *version = exchange_arg(exchange, "@version");
	const json_t *lease = json_object_get(exchange->body, "lease_s");
	const char *reserved_only =
		json_is_false(json_object_get(exchange->body, "reserved_only")) ? "false" : "true";
	struct error_list errors = {0};
	struct text servers = {0};
	struct text relays = {0};
	char lease_s[24];

	check_subnet(exchange, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	(void)text_format(lease_s, sizeof(lease_s), "%lld",
			  lease ? (long long)json_integer_value(lease) : 3600LL);
	address_routes_add_addresses(&servers, json_object_get(exchange->body, "dns"));
	address_routes_add_addresses(&relays, json_object_get(exchange->body, "relays"));
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&subnet_put_query,
				{name, version, exchange_text(exchange, "prefix"),
				 exchange_text(exchange, "gateway"), text_get(&servers),
				 exchange_text(exchange, "boot_server"),
				 exchange_text(exchange, "pool_low"),
				 exchange_text(exchange, "pool_high"), reserved_only, lease_s,
				 exchange_text(exchange, "shared_network"), text_get(&relays)}},
			       {&subnet_placed_query, {name, version}},
		       },
		       2);
	text_done(&servers);
	text_done(&relays);
}

static void reservation_put(struct exchange *exchange)
{
	const char *mac = exchange_arg(exchange, "{mac}");
	struct error_list errors = {0};

	members_check(exchange->body, reservation_members, COUNT_OF(reservation_members), "",
		      &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&reservation_clear_query, {mac}},
			       {&reservation_put_query,
				{mac, exchange_text(exchange, "subnet"),
				 exchange_text(exchange, "address")}},
		       },
		       2);
}

static const struct query_row address_routes_page_query[] = {QUERY_LIST, {0}};
static const char *const lease_states[] = {"bound", "declined", "released", NULL};
static const struct query_row lease_query[] = {
	QUERY_LIST,
	{"subnet", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"mac", QUERY_TEXT, 17, NULL, NULL, false, NULL},
	{"state", QUERY_WORD, 0, lease_states, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route address_routes[] = {
	{HTTP_GET, "/api/v1/subnets", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, address_routes_page_query, &subnet_list_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/subnets/{subnet}", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &subnet_get_query, {"{subnet}"}},
	{HTTP_PUT, "/api/v1/subnets/{subnet}", ROLE_OPERATOR, BODY_JSON, 0, subnet_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/subnets/{subnet}", ROLE_OPERATOR, BODY_NONE, ROUTE_IF_MATCH, exchange_change, NULL,
	 &subnet_delete_query, {"{subnet}", "@version"}},
	{HTTP_GET, "/api/v1/reservations", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, address_routes_page_query,
	 &reservation_list_query, {"?limit", "?cursor"}},
	{HTTP_PUT, "/api/v1/reservations/{mac}", ROLE_OPERATOR, BODY_JSON, 0, reservation_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/reservations/{mac}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &reservation_drop_query, {"{mac}"}},
	{HTTP_GET, "/api/v1/leases", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, lease_query,
	 &lease_list_query, {"?limit", "?cursor", "?subnet", "?node", "?mac", "?state"}},
	{HTTP_POST, "/api/v1/leases/{address}/reclaim", ROLE_OPERATOR, BODY_NONE, ROUTE_IDEMPOTENT, exchange_change, NULL,
	 &lease_reclaim_query, {"{address}", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
