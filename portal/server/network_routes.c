/* /networks and the networks of a node: who is to reach whom. Ports are named in the body or the
 * query, as with /ports: their names hold slashes. */
#include <stdlib.h>
#include <string.h>

#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/network_store_sql.h"
#include "portal/server/pdci_body.h"
#include "portal/server/word_table.h"

/* clang-format off */
static const struct member_row network_routes_network_members[] = {
	{"name",   MEMBER_NAME,   MEMBER_REQUIRED, 0, 0, NULL},
	{"kind",   MEMBER_WORD,   0,               0, 0, network_kind_words},
	{"tenant", MEMBER_NAME,   0,               0, 0, NULL},
	{"prefix", MEMBER_PREFIX, 0,               0, 0, NULL},
};
static const struct member_row attachment_members[] = {
	{"switch", MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
	{"port",   MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
	{"mode",   MEMBER_WORD, 0,               0, 0,  attachment_mode_words},
};
static const struct member_row network_routes_port_members[] = {
	{"port",   MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
	{"action", MEMBER_WORD, MEMBER_REQUIRED, 0, 0,  port_action_words},
};
static const struct member_row network_routes_node_members[] = {
	{"networks", MEMBER_LIST, MEMBER_REQUIRED, 0, PDCI_NICS_MAX, NULL},
};
/* clang-format on */

/* A tenant's network is its own unless the body says otherwise, which only an operator may. */
static const char *network_routes_tenant_of(const struct exchange *exchange)
{
	return exchange_text_or(exchange, "tenant",
				exchange->tenant[0] != '\0' ? exchange->tenant : NULL);
}

static void network_routes_network_create(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, network_routes_network_members,
		      COUNT_OF(network_routes_network_members), "", &errors);
	pdci_name_check(exchange->body, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&network_create_query,
				{exchange_text(exchange, "name"),
				 exchange_text_or(exchange, "kind", "tenant"),
				 network_routes_tenant_of(exchange),
				 exchange_text(exchange, "prefix"), exchange->actor}},
			       {&network_created_query, {NULL}},
		       },
		       2);
}

static void network_routes_network_delete(struct exchange *exchange)
{
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&network_delete_query,
			 {exchange_arg(exchange, "{network}"), exchange_arg(exchange, "?tenant"),
			  exchange_arg(exchange, "@version"), exchange->actor}},
			{&network_deleted_query, {NULL}},
		},
		2);
}

static void attachment_put(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, attachment_members, COUNT_OF(attachment_members), "",
		      &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&attachment_put_query,
			 {exchange_arg(exchange, "{network}"), exchange_arg(exchange, "?tenant"),
			  exchange_text(exchange, "switch"), exchange_text(exchange, "port"),
			  exchange_text_or(exchange, "mode", "access"), exchange->actor}},
			{&attachment_placed_query,
			 {exchange_text(exchange, "switch"), exchange_text(exchange, "port")}},
		},
		2);
}

static void attachment_remove(struct exchange *exchange)
{
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&attachment_remove_query,
			 {exchange_arg(exchange, "{network}"), exchange_arg(exchange, "?tenant"),
			  exchange_arg(exchange, "?switch"), exchange_arg(exchange, "?port"),
			  exchange->actor}},
			{&attachment_removed_query, {NULL}},
		},
		2);
}

/* Of a port itself: free and ours, or nobody's whom we speak for. */
static void port_action(struct exchange *exchange)
{
	struct error_list errors = {0};
	const char *name = exchange_arg(exchange, "{switch}");
	const char *port = exchange_text(exchange, "port");
	bool park = strcmp(exchange_text_or(exchange, "action", ""), "park") == 0;

	members_check(exchange->body, network_routes_port_members,
		      COUNT_OF(network_routes_port_members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {park ? &port_park_query : &port_release_query,
				{name, port, exchange->actor}},
			       {&port_intent_query, {name, port}},
		       },
		       2);
}

static void node_networks_put(struct exchange *exchange)
{
	const json_t *networks = json_object_get(exchange->body, "networks");
	const char *node = exchange_arg(exchange, "{node}");
	CLEANUP(freep) char *text = NULL;
	struct error_list errors = {0};

	members_check(exchange->body, network_routes_node_members,
		      COUNT_OF(network_routes_node_members), "", &errors);
	if (json_is_array(networks))
		pdci_nics_check(networks, NULL, "/networks", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	text = json_dumps(networks, JSON_COMPACT);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&node_networks_put_query, {node, text, exchange->actor}},
			       {&node_networks_done_query, {node}},
		       },
		       2);
}

static const struct query_row network_routes_list_query[] = {
	QUERY_LIST,
	QUERY_TENANT,
	{"kind", QUERY_WORD, 0, network_kind_words, NULL, false, NULL},
	{"name", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row network_routes_one_query[] = {
	QUERY_TENANT,
	{0},
};
static const struct query_row network_routes_port_query[] = {
	QUERY_TENANT,
	{"switch", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"port", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{0},
};

/* clang-format off */
const struct route network_routes[] = {
	{HTTP_GET, "/api/v1/networks", ROLE_TENANT, BODY_NONE, 0, exchange_list, network_routes_list_query,
	 &network_list_query, {"?limit", "?cursor", "?tenant", "?kind", "?name"}},
	{HTTP_POST, "/api/v1/networks", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, network_routes_network_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/networks/{network}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, network_routes_one_query,
	 &network_get_query, {"{network}", "?tenant"}},
	{HTTP_DELETE, "/api/v1/networks/{network}", ROLE_TENANT, BODY_NONE, ROUTE_IF_MATCH, network_routes_network_delete, network_routes_one_query, NULL, {NULL}},
	{HTTP_PUT, "/api/v1/networks/{network}/ports", ROLE_OPERATOR, BODY_JSON, 0, attachment_put, network_routes_one_query, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/networks/{network}/ports", ROLE_OPERATOR, BODY_NONE, 0, attachment_remove, network_routes_port_query, NULL, {NULL}},
	{HTTP_POST, "/api/v1/switches/{switch}/ports/actions", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, port_action, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/nodes/{node}/networks", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL, &node_networks_query, {"{node}"}},
	{HTTP_PUT, "/api/v1/nodes/{node}/networks", ROLE_TENANT, BODY_JSON, 0, node_networks_put, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
