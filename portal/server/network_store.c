#include "portal/server/network_store.h"

#include "portal/server/store_text.h"

/* clang-format off */
/* n is network. `applied`: every port that should carry it was read back as wanted. */
#define NETWORK_ITEM                                                                                                                               \
	"jsonb_build_object('id', n.id, 'name', n.name, 'kind', n.kind, 'tenant', t.name, 'pdci', p.name, 'prefix', n.prefix::text, "              \
	"'wanted', n.wanted, 'vlans', coalesce((select jsonb_agg(jsonb_build_object('fabric', f.name, 'vlan', x.vlan) order by f.name) "           \
	"from haas.network_vlan x join haas.fabric f on f.id = x.fabric_id where x.network_id = n.id), '[]'), 'ports_count', c.ports, "            \
	"'applied', c.open = 0, 'version', n.version, 'created_at', n.created_at)"

#define NETWORKS                                                                                                                                   \
	"haas.network n left join haas.tenant t on t.id = n.tenant_id left join haas.pdci p on p.id = n.pdci_id "                                  \
	"cross join lateral (select count(*) as ports, count(*) filter (where i.applied_version is distinct from i.wanted_version) as open "       \
	"from haas.attachment a left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port where a.network_id = n.id) c "

/* a is attachment, s its switch, i the intent of its port. What went wrong on a switch may name others: for operators. */
#define NETWORK_STORE_PORT_ITEM                                                                                                                                  \
	"jsonb_build_object('switch', s.name, 'port', a.port, 'mode', a.mode, 'node', "                                                            \
	"(select d.name from haas.node d where d.id = haas.port_node(a.switch_id, a.port)), "                                                      \
	"'applied', coalesce(i.applied_version = i.wanted_version, false), 'applied_at', i.applied_at, "                                           \
	"'problem', case when haas.is_operator() and i.applied_version is distinct from i.wanted_version then i.problem end)"

#define NETWORK_WHOLE                                                                                                                              \
	NETWORK_ITEM " || jsonb_build_object('ports', coalesce((select jsonb_agg(" NETWORK_STORE_PORT_ITEM " order by s.name, a.port) from haas.attachment a "   \
	"join haas.switch s on s.id = a.switch_id left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port "                  \
	"where a.network_id = n.id), '[]'), 'nodes', coalesce((select jsonb_agg(jsonb_build_object('node', d.name, 'nic', w.nic, 'mode', w.mode) " \
	"order by d.name, w.nic) from haas.node_network w join haas.node d on d.id = w.node_id where w.network_id = n.id), '[]'))"

#define NETWORK_STORE_KEPT "nullif(current_setting('haas.result', true), '')"

#define NETWORK_KEY "n.name || ' ' || coalesce(t.name, '')"
const struct db_query store_network_list = {
	"network_list",
	STORE_PAGE(NETWORK_KEY, NETWORK_ITEM,
		   NETWORKS "where ($2::text is null or (" NETWORK_KEY ") collate \"C\" > $2) and ($3::text is null or t.name = $3) "
			    "and ($4::text is null or n.kind = $4) and ($5::text is null or n.name = $5)",
		   "(" NETWORK_KEY ") collate \"C\""),
	5};

const struct db_query store_network_get = {
	"network_get",
	"select (" NETWORK_WHOLE ")::text, n.version, false from " NETWORKS "where n.id = haas.network_find($1, $2)", 2};

const struct db_query store_network_create = {
	"network_create",
	"select set_config('haas.result', haas.network_create($1, $2, $3, $4::cidr, null, $5)::text, true)", 5};

const struct db_query store_network_created = {
	"network_created",
	STORE_ANSWER("select 201 as status, '/api/v1/networks/' || n.id as location, n.version, " NETWORK_WHOLE
		     " as body from " NETWORKS "where n.id = " NETWORK_STORE_KEPT "::bigint"),
	0};

const struct db_query store_network_delete = {
	"network_delete",
	"select set_config('haas.result', haas.network_remove($1, $2, $3::bigint, $4)::text, true)", 4};

const struct db_query store_network_deleted = {
	"network_deleted",
	STORE_ANSWER("select 202 as status, null as location, n.version, " NETWORK_WHOLE
		     " as body from " NETWORKS "where n.id = " NETWORK_STORE_KEPT "::bigint"),
	0};

const struct db_query store_attachment_put = {
	"attachment_put",
	"select set_config('haas.result', f.id::text, true), haas.attachment_put($3, $4, f.id, $5, $6) "
	"from (select haas.network_find($1, $2) as id offset 0) f",
	6};

const struct db_query store_attachment_placed = {
	"attachment_placed",
	STORE_ANSWER("select 200 as status, null as location, null::bigint as version, " NETWORK_STORE_PORT_ITEM
		     " || jsonb_build_object('network', n.name) as body from haas.attachment a join haas.network n on n.id = a.network_id "
		     "join haas.switch s on s.id = a.switch_id left join haas.port_intent i on i.switch_id = a.switch_id and i.port = a.port "
		     "where a.network_id = " NETWORK_STORE_KEPT "::bigint and s.name = $1 and a.port = $2"),
	2};

const struct db_query store_attachment_remove = {
	"attachment_remove",
	"select haas.attachment_remove($3, $4, haas.network_find($1, $2), $5)", 5};

const struct db_query store_attachment_removed = {
	"attachment_removed",
	STORE_ANSWER("select 204 as status, null as location, null::bigint as version, null::jsonb as body"), 0};

const struct db_query store_port_park = {"port_park", "select haas.port_park($1, $2, $3)", 3};
const struct db_query store_port_release = {"port_release", "select haas.port_release($1, $2, $3)", 3};

const struct db_query store_port_intent = {
	"port_intent",
	STORE_ANSWER("select 200 as status, null as location, null::bigint as version, jsonb_build_object('switch', s.name, 'port', $2::text, "
		     "'ours', i.port is not null, 'applied', i.applied_version = i.wanted_version, 'applied_at', i.applied_at, 'problem', "
		     "case when i.applied_version is distinct from i.wanted_version then i.problem end) as body "
		     "from haas.switch s left join haas.port_intent i on i.switch_id = s.id and i.port = $2 where s.name = $1"),
	2};

/* d is node. */
#define NODE_NETWORKS                                                                                                                              \
	"jsonb_build_object('node', d.name, 'place', x.place, 'applied', x.open = 0 and f.fault is null, 'ports_count', x.ports, "                 \
	"'problem', case when haas.is_operator() then coalesce(x.problem, f.fault) end, 'networks', coalesce((select jsonb_agg(jsonb_build_object(" \
	"'nic', w.nic, 'network', n.name, 'mode', w.mode) order by w.nic, n.name) from haas.node_network w join haas.network n on n.id = w.network_id " \
	"where w.node_id = d.id), '[]'))"
#define NODES                                                                                   \
	"haas.node d cross join lateral haas.node_network_state(d.id) x cross join lateral (select " \
	"haas.node_network_fault(d.id) as fault) f where d.name = $1"

const struct db_query store_node_networks = {
	"node_networks", "select (" NODE_NETWORKS ")::text from " NODES, 1};

const struct db_query store_node_networks_put = {
	"node_networks_put",
	"select set_config('haas.result', haas.node_networks_put($1, $2::jsonb, $3)::text, true)", 3};

const struct db_query store_node_networks_done = {
	"node_networks_done",
	STORE_ANSWER("select 200 as status, null as location, null::bigint as version, " NODE_NETWORKS
		     " || jsonb_build_object('missing', coalesce((" NETWORK_STORE_KEPT "::jsonb) -> 'missing', '[]')) as body from " NODES),
	1};
/* clang-format on */
