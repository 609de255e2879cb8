#include "portal/server/fabric_store.h"

#include "portal/server/alert_text.h"
#include "portal/server/fabric_text.h"
#include "portal/server/store_text.h"

#define FABRIC_ITEM                                                                                                                    \
	"jsonb_build_object('name', f.name, 'vlan_low', f.vlan_low, 'vlan_high', f.vlan_high, 'parking_vlan', "                        \
	"f.parking_vlan, 'parking_count', f.parking_count, 'quarantine_s', f.quarantine_s, 'repair', f.repair, 'version', f.version, " \
	"'created_at', f.created_at, "                                                                                                 \
	"'switches', (select count(*) from haas.switch_endpoint e where e.fabric_id = f.id), "                                         \
	"'silent', (select count(*) from haas.switch_endpoint e join haas.switch_observed o on o.switch_id = e.switch_id "             \
	"where e.fabric_id = f.id and not o.reachable), "                                                                              \
	"'links', (select count(*) from haas.link_view l where l.fabric = f.name and l.state <> 'gone'))"

#define LINK_ITEM                                                                                              \
	"jsonb_build_object('id', l.id, 'fabric', l.fabric, 'a_switch', l.a_switch, 'a_port', l.a_port, "      \
	"'b_switch', l.b_switch, 'b_port', l.b_port, 'state', l.state, 'certainty', l.certainty, 'evidence', " \
	"l.evidence, 'lag', l.lag, 'members', l.members, 'since', l.since, 'seen_at', l.seen_at)"

#define LOCATION_ITEM                                                                                               \
	"jsonb_build_object('mac', v.mac::text, 'node', v.node, 'nic', v.nic, 'switch', v.switch, 'port', v.port, " \
	"'certainty', v.certainty, 'sources', to_jsonb(v.sources), 'vlan', v.vlan, 'kind', v.kind, 'up', v.up, "    \
	"'speed_bps', v.speed_bps, 'alias', v.alias, 'since', v.since, 'seen_at', v.seen_at)"

#define WIRING_ITEM                                                                                                  \
	"jsonb_build_object('switch', s.name, 'port', w.port, 'node', n.name, 'nic', w.nic, 'peer_switch', p.name, " \
	"'peer_port', w.peer_port)"

#define SERVER_FABRIC_STORE_ANSWER(status, body, from)                              \
	STORE_ANSWER("select " status                                               \
		     " as status, null as location, null::bigint as version, " body \
		     " as body " from)

/* --- fabrics --- */

const struct db_query store_fabric_list = {
	"fabric_list",
	STORE_PAGE("f.name", FABRIC_ITEM, "haas.fabric f where ($2::text is null or f.name > $2)",
		   "f.name"),
	2};

/* The whole of it for people: switches, cables, what is wrong. */
const struct db_query store_fabric_get = {
	"fabric_get",
	"select (" FABRIC_ITEM
	" || jsonb_build_object('switch_list', coalesce((select jsonb_agg(" SWITCH_ITEM
	" order by v.role desc, v.name) from haas.switch_view v where v.fabric = f.name), '[]'), "
	"'link_list', coalesce((select jsonb_agg(" LINK_ITEM
	" order by l.a_switch, l.a_port, l.b_switch, l.b_port) from haas.link_view l where l.fabric = f.name), '[]'), "
	"'resting_list', coalesce((select jsonb_agg(jsonb_build_object('vlan', x.vlan, 'since', x.since, 'until', x.until, 'waits', "
	"coalesce((select jsonb_agg(s.name order by s.name) from haas.switch s where s.id = any (x.waits)), '[]')) order by x.vlan) "
	"from haas.network_vlan x where x.fabric_id = f.id and x.state = 'quarantine'), '[]'), "
	"'alert_list', coalesce((select jsonb_agg(" ALERT_ITEM
	" order by case a.severity when 'critical' then 0 when 'warning' then 1 else 2 end, a.kind, a.subject) from haas.alert a "
	"where a.cleared_at is null and exists (select from haas.switch_view v where v.fabric = f.name and v.name = split_part(a.subject, ':', 1))), '[]')))::text "
	"from haas.fabric f where f.name = $1",
	1};

const struct db_query store_fabric_put = {"fabric_put", "select haas.fabric_put($1, $2::jsonb, $3)",
					  3};
const struct db_query store_fabric_placed = {
	"fabric_placed",
	SERVER_FABRIC_STORE_ANSWER("200", FABRIC_ITEM, "from haas.fabric f where f.name = $1"), 1};
const struct db_query store_fabric_delete = {
	"fabric_delete",
	SERVER_FABRIC_STORE_ANSWER("204", "null::jsonb",
				   "from (select haas.fabric_delete($1, $2) offset 0) r"),
	2};

/* --- switches --- */

const struct db_query store_switch_key = {
	"switch_key",
	"select encode(public_key, 'hex') from haas.daemon_key where daemon = 'peregrined'", 0};
const struct db_query store_switch_manage = {"switch_manage",
					     "select haas.switch_manage($1, $2::jsonb, $3)", 3};
const struct db_query store_switch_managed = {
	"switch_managed",
	SERVER_FABRIC_STORE_ANSWER("200", SWITCH_ITEM, "from haas.switch_view v where v.name = $1"),
	1};
const struct db_query store_switch_release = {
	"switch_release",
	SERVER_FABRIC_STORE_ANSWER(
		"204", "null::jsonb",
		"from (select haas.switch_release($1, $2, $3::boolean) offset 0) r"),
	3};

const struct db_query store_switch_known = {
	"switch_known",
	"select s.id from haas.switch s join haas.switch_endpoint e on e.switch_id = s.id where s.name = $1",
	1};

/* Each port as last read, with the cable or the NICs behind it. */
/* Ours is one whose row names its members; a row stays when the aggregate is gone. */
#define AGGREGATE_OURS "coalesce(a.members && m.members, false)"
#define AGGREGATE_ITEM                                                                                                             \
	"jsonb_build_object('switch', s.name, 'aggregate', o.name, 'members', to_jsonb(m.members), 'up', o.up, 'trunk', o.trunk, " \
	"'native_vlan', o.native_vlan, 'tagged_vlans', o.tagged_vlans, 'ours', " AGGREGATE_OURS                                    \
	", "                                                                                                                       \
	"'bond', case when " AGGREGATE_OURS                                                                                        \
	" then a.bond end, 'made_at', case when " AGGREGATE_OURS                                                                   \
	" then a.made_at end, 'seen_at', o.seen_at)"

const struct db_query store_aggregate_list = {
	"aggregate_list",
	STORE_PAGE(
		"s.name || ' ' || o.name", AGGREGATE_ITEM,
		"haas.port_observed o join haas.switch s on s.id = o.switch_id "
		"left join haas.switch_aggregate a on a.switch_id = o.switch_id and a.name = o.name "
		"cross join lateral (select coalesce(array_agg(x.name order by x.name), '{}') as members from haas.port_observed x "
		"where x.switch_id = o.switch_id and x.lag = o.name) m "
		"where o.is_lag and ($2::text is null or s.name || ' ' || o.name > $2) and ($3::text is null or s.name = $3)",
		"s.name || ' ' || o.name"),
	3};

const struct db_query store_switch_ports = {
	"switch_ports",
	"select jsonb_build_object('items', coalesce((select jsonb_agg(jsonb_build_object('port', p.name, 'kind', p.kind, 'up', p.up, "
	"'admin_up', p.admin_up, 'speed_bps', p.speed_bps, 'alias', p.alias, 'lag', p.lag, 'stp', p.stp, 'trunk', p.trunk, 'native_vlan', p.native_vlan, "
	"'tagged_vlans', p.tagged_vlans, 'mac', p.mac::text, 'if_index', i.if_index, 'base_port', p.base_port, 'seen_at', p.seen_at, "
	"'peer', (select case when l.a_switch = p.switch_id and l.a_port = p.name then b.name || ':' || l.b_port else a.name || ':' || l.a_port end "
	"from haas.link l join haas.switch a on a.id = l.a_switch join haas.switch b on b.id = l.b_switch where l.state <> 'gone' "
	"and ((l.a_switch = p.switch_id and l.a_port = p.name) or (l.b_switch = p.switch_id and l.b_port = p.name)) order by l.certainty desc, l.id limit 1), "
	"'nics', coalesce((select jsonb_agg(coalesce(x.node || ':' || x.nic, x.mac::text) order by x.node, x.nic, x.mac) from haas.nic_view x "
	"where x.switch = s.name and x.port = p.name), '[]')) order by nullif(i.if_index, 0), length(p.name), p.name) from haas.port_observed p "
	"join haas.port_index i on i.switch_id = p.switch_id and i.name = p.name where p.switch_id = s.id), '[]'))::text "
	"from haas.switch s where s.name = $1",
	1};

/* --- cables and places --- */

const struct db_query store_link_list = {
	"link_list",
	STORE_PAGE(
		"l.id", LINK_ITEM,
		"haas.link_view l where ($2::bigint is null or l.id > $2::bigint) and ($3::text is null or l.fabric = $3) "
		"and ($4::text is null or $4 in (l.a_switch, l.b_switch)) and ($5::text is null or l.state = $5)",
		"l.id"),
	5};

const struct db_query store_location_list = {
	"location_list",
	STORE_PAGE(
		"v.mac", LOCATION_ITEM,
		"haas.nic_view v where ($2::text is null or v.mac > $2::macaddr) and ($3::text is null or v.mac = $3::macaddr) "
		"and ($4::text is null or v.node = $4) and ($5::text is null or v.nic = $5) and ($6::text is null or v.switch = $6) "
		"and ($7::text is null or v.port = $7)",
		"v.mac"),
	7};

/* --- the plan --- */

const struct db_query store_wiring_list = {
	"wiring_list",
	STORE_PAGE(
		"s.name || chr(1) || w.port", WIRING_ITEM,
		"haas.wiring w join haas.switch s on s.id = w.switch_id left join haas.node n on n.id = w.node_id "
		"left join haas.switch p on p.id = w.peer_switch_id where ($2::text is null or s.name || chr(1) || w.port > $2) "
		"and ($3::text is null or s.name = $3) and ($4::text is null or n.name = $4)",
		"s.name || chr(1) || w.port"),
	4};

const struct db_query store_wiring_put = {
	"wiring_put",
	"select set_config('haas.result', haas.wiring_import($1::jsonb, $2::boolean, $3::boolean, $4)::text, true)",
	4};

const struct db_query store_wiring_told = {
	"wiring_told",
	STORE_ANSWER(
		"select case when jsonb_array_length(r.j -> 'errors') = 0 then 200 else 422 end as status, null as location, null::bigint as version, "
		"case when jsonb_array_length(r.j -> 'errors') = 0 then jsonb_build_object('rows', r.j -> 'rows', 'dry_run', $1::boolean) else " STORE_PROBLEM(
			"422", "invalid", "'the plan has mistakes; nothing was written'",
			"'correct the rows and import it again'",
			"r.j -> 'errors'") " end as body from (select current_setting('haas.result')::jsonb as j) r"),
	1};

const struct db_query store_wiring_delete = {
	"wiring_delete",
	SERVER_FABRIC_STORE_ANSWER("204", "null::jsonb",
				   "from (select haas.wiring_delete($1, $2, $3) offset 0) r"),
	3};
