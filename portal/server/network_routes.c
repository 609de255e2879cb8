/* /networks and the networks of a node: who is to reach whom. Ports are named in the body or the
 * query, as with /ports: their names hold slashes. */
#include <stdlib.h>
#include <string.h>

#include "portal/server/exchange.h"
#include "portal/server/member_check.h"
#include "portal/server/network_store.h"
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

static const char *network_routes_text_of(const struct exchange *exchange, const char *name,
					  const char *fallback)
{
	const char *text = json_string_value(json_object_get(exchange->body, name));

	return text ? text : fallback;
}

/* A tenant's network is its own unless the body says otherwise, which only an operator may. */
static const char *network_routes_tenant_of(const struct exchange *exchange)
{
	return network_routes_text_of(exchange, "tenant",
				      exchange->tenant[0] != '\0' ? exchange->tenant : NULL);
}

static void network_routes_network_create(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, network_routes_network_members,
		      COUNT_OF(network_routes_network_members), "", &errors);
	pdci_name_check(exchange->body, &errors);
	if (errors.count > 0) {
		exchange_refuse(exchange, &errors);
		return;
	}
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&store_network_create,
			 {network_routes_text_of(exchange, "name", NULL),
			  network_routes_text_of(exchange, "kind", "tenant"),
			  network_routes_tenant_of(exchange),
			  network_routes_text_of(exchange, "prefix", NULL), exchange->actor}},
			{&store_network_created, {NULL}},
		},
		2);
}

static void network_routes_network_delete(struct exchange *exchange)
{
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&store_network_delete,
			 {exchange_arg(exchange, "{network}"), exchange_arg(exchange, "?tenant"),
			  exchange_arg(exchange, "@version"), exchange->actor}},
			{&store_network_deleted, {NULL}},
		},
		2);
}

static void attachment_put(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, attachment_members, COUNT_OF(attachment_members), "",
		      &errors);
	if (errors.count > 0) {
		exchange_refuse(exchange, &errors);
		return;
	}
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&store_attachment_put,
			 {exchange_arg(exchange, "{network}"), exchange_arg(exchange, "?tenant"),
			  network_routes_text_of(exchange, "switch", NULL),
			  network_routes_text_of(exchange, "port", NULL),
			  network_routes_text_of(exchange, "mode", "access"), exchange->actor}},
			{&store_attachment_placed,
			 {network_routes_text_of(exchange, "switch", NULL),
			  network_routes_text_of(exchange, "port", NULL)}},
		},
		2);
}

static void attachment_remove(struct exchange *exchange)
{
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&store_attachment_remove,
			 {exchange_arg(exchange, "{network}"), exchange_arg(exchange, "?tenant"),
			  exchange_arg(exchange, "?switch"), exchange_arg(exchange, "?port"),
			  exchange->actor}},
			{&store_attachment_removed, {NULL}},
		},
		2);
}

/* Of a port itself: free and ours, or nobody's whom we speak for. */
static void port_action(struct exchange *exchange)
{
	struct error_list errors = {0};
	const char *name = exchange_arg(exchange, "{switch}");
	const char *port = network_routes_text_of(exchange, "port", NULL);
	bool park = strcmp(network_routes_text_of(exchange, "action", ""), "park") == 0;

	members_check(exchange->body, network_routes_port_members,
		      COUNT_OF(network_routes_port_members), "", &errors);
	if (errors.count > 0) {
		exchange_refuse(exchange, &errors);
		return;
	}
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {park ? &store_port_park : &store_port_release,
				{name, port, exchange->actor}},
			       {&store_port_intent, {name, port}},
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
	if (errors.count > 0) {
		exchange_refuse(exchange, &errors);
		return;
	}
	text = json_dumps(networks, JSON_COMPACT);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&store_node_networks_put, {node, text, exchange->actor}},
			       {&store_node_networks_done, {node}},
		       },
		       2);
}

static const struct query_row network_routes_list_query[] = {
	QUERY_PAGE_TEXT,
	{"tenant", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"kind", QUERY_WORD, 0, network_kind_words, NULL, false, NULL},
	{"name", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row network_routes_one_query[] = {
	{"tenant", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row network_routes_port_query[] = {
	{"tenant", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"switch", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"port", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{0},
};

/* clang-format off */
const struct route network_routes[] = {
	{HTTP_GET, "/api/v1/networks", ROLE_TENANT, BODY_NONE, 0, exchange_read, network_routes_list_query,
	 &store_network_list, {"?limit", "?cursor", "?tenant", "?kind", "?name"}},
	{HTTP_POST, "/api/v1/networks", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, network_routes_network_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/networks/{network}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, network_routes_one_query,
	 &store_network_get, {"{network}", "?tenant"}},
	{HTTP_DELETE, "/api/v1/networks/{network}", ROLE_TENANT, BODY_NONE, ROUTE_IF_MATCH, network_routes_network_delete, network_routes_one_query, NULL, {NULL}},
	{HTTP_PUT, "/api/v1/networks/{network}/ports", ROLE_OPERATOR, BODY_JSON, 0, attachment_put, network_routes_one_query, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/networks/{network}/ports", ROLE_OPERATOR, BODY_NONE, 0, attachment_remove, network_routes_port_query, NULL, {NULL}},
	{HTTP_POST, "/api/v1/switches/{switch}/ports/actions", ROLE_OPERATOR, BODY_JSON, 0, port_action, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/nodes/{node}/networks", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &store_node_networks, {"{node}"}},
	{HTTP_PUT, "/api/v1/nodes/{node}/networks", ROLE_TENANT, BODY_JSON, 0, node_networks_put, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
