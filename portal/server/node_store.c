#include "portal/server/node_store.h"

#include "portal/server/store_text.h"

/* One node as the API shows it; v is node_view. The BMC is the operator's business. */
#define NODE_ITEM                                                                                                                       \
	"jsonb_build_object('name', v.name, 'class', v.class, 'rack', v.rack, 'unit', v.unit, 'firmware', v.firmware, 'arch', v.arch, " \
	"'serial', v.serial, 'uuid', v.uuid, 'state', v.state, 'dirty', v.dirty, 'tenant', v.tenant, 'nics', coalesce(v.nics, '[]'), "  \
	"'bmc', case when v.bmc_driver is not null and haas.is_operator() then jsonb_build_object('driver', v.bmc_driver, "             \
	"'address', v.bmc_address, 'port', v.bmc_port, 'username', v.bmc_username, 'cipher_suite', v.bmc_cipher_suite, "                \
	"'workarounds', to_jsonb(v.bmc_workarounds), 'tls', v.bmc_tls, 'fingerprint', v.bmc_fingerprint, 'uri', v.bmc_uri, "            \
	"'problem', v.bmc_problem) end, "                                                                                               \
	"'power', v.power, 'power_at', v.power_at, 'address', v.address, 'health', haas.node_health_word(v.id), "                       \
	"'location', case when haas.is_operator() then "                                                                                \
	"(select jsonb_build_object('switch', g.switch, 'port', g.port, 'mac', g.mac::text, 'since', g.since, 'seen_at', g.seen_at) "   \
	"from haas.sighting g where g.node_id = v.id and g.port <> '' order by g.seen_at desc, g.mac limit 1) end, "                    \
	"'deployment', case when v.deployment_id is not null then jsonb_build_object('id', v.deployment_id, 'plan', v.plan, "           \
	"'state', v.deployment_state, 'step', v.step, 'percent', v.percent, 'progress', v.progress) end, "                              \
	"'version', v.version, 'created_at', v.created_at, 'updated_at', v.updated_at)"

/* node_put of one spec `s.spec` beside what is known of the node (v, left joined): members of the
 * BMC that are left out stay as they are (its port, while the driver does). */
#define NODE_PUT(actor, dry_run)                                                                                                             \
	"case when s.spec ? 'bmc' and v.bmc_driver is null and s.spec #> '{bmc,address}' is null and s.spec #> '{bmc,uri}' is null then "    \
	"'{\"result\": \"refused\", \"errors\": [{\"column\": \"bmc_address\", \"message\": \"needed: the node has no BMC yet\"}]}'::jsonb " \
	"else haas.node_put((s.spec - 'bmc') || case when s.spec ? 'bmc' then jsonb_build_object('bmc', jsonb_strip_nulls("                  \
	"jsonb_build_object('driver', v.bmc_driver, 'address', v.bmc_address, 'username', v.bmc_username, "                                  \
	"'port', case when coalesce(s.spec #>> '{bmc,driver}', v.bmc_driver) = v.bmc_driver then v.bmc_port end, "                           \
	"'cipher_suite', v.bmc_cipher_suite, 'workarounds', to_jsonb(v.bmc_workarounds), 'tls', v.bmc_tls, "                                 \
	"'fingerprint', v.bmc_fingerprint, 'uri', v.bmc_uri) || (s.spec -> 'bmc'))) else '{}' end, " dry_run                                 \
	", " actor ") end"

#define NODE_STORE_RESULT "nullif(current_setting('haas.result', true), '')::jsonb"

const struct db_query store_node_list = {
	"node_list",
	STORE_PAGE(
		"v.name", NODE_ITEM,
		"haas.node_view v where ($2::text is null or v.name > $2) and ($3::text is null or v.state = $3::haas.node_state) "
		"and ($4::text is null or v.class = $4) and ($5::text is null or v.rack = $5) and ($6::text is null or v.name like $6)",
		"v.name"),
	6};

/* Power, lease and deployment change without the version: never 304. */
const struct db_query store_node_get = {
	"node_get",
	"select (" NODE_ITEM ")::text, v.version, false from haas.node_view v where v.name = $1",
	1};

const struct db_query store_node_inventory = {
	"node_inventory",
	"select jsonb_build_object('node', n.name, 'at', i.at, 'deployment', i.deployment_id, 'data', i.data)::text "
	"from haas.node n join haas.node_inventory i on i.node_id = n.id where n.name = $1",
	1};

const struct db_query store_node_drives = {
	"node_drives",
	"select jsonb_build_object('items', coalesce(jsonb_agg(jsonb_build_object('serial', d.serial, 'name', d.name, 'model', d.model, "
	"'kind', d.kind, 'size_bytes', d.size_bytes, 'verdict', d.verdict, 'method', d.method, 'reason', d.reason, "
	"'verdict_at', d.verdict_at) order by d.name, d.serial) filter (where d.serial is not null), '[]'))::text "
	"from haas.node n left join haas.drive d on d.node_id = n.id where n.name = $1 group by n.id",
	1};

const struct db_query store_node_visible = {"node_visible",
					    "select 1 from haas.node where name = $1", 1};

const struct db_query store_seal_key = {
	"seal_key", "select encode(public_key, 'hex') from haas.daemon_key where daemon = 'bampid'",
	0};

const struct db_query store_node_create = {
	"node_create",
	"select set_config('haas.result', coalesce((select " NODE_PUT(
		"$2",
		"false") " from (select $1::jsonb as spec) s "
			 "left join haas.node_view v on v.name = s.spec ->> 'name' where v.name is null), '{\"result\": \"exists\"}')::text, true)",
	2};

const struct db_query store_node_created = {
	"node_created",
	STORE_ANSWER(
		"select 201 as status, '/api/v1/nodes/' || v.name as location, v.version, " NODE_ITEM
		" as body "
		"from haas.node_view v, (select " NODE_STORE_RESULT
		" as r) x where v.name = $1 and x.r ->> 'result' = 'created' and x.r -> 'errors' = '[]' "
		"union all select 409, null, null, " STORE_PROBLEM(
			"409", "conflict", "format('node %s exists', $1::text)",
			"'change it with PATCH, or import its row again'",
			"null") " from (select " NODE_STORE_RESULT
				" as r) x where x.r ->> 'result' = 'exists' "
				"union all select 409, null, null, " STORE_PROBLEM(
					"409", "conflict", "'the node is at odds with another one'",
					"'see errors'",
					"x.r -> 'errors'") " from (select " NODE_STORE_RESULT
							   " as r) x where x.r -> 'errors' <> '[]'"),
	1};

const struct db_query store_node_lock = {
	"node_lock",
	"select haas.node_put(jsonb_build_object('name', n.name), true, $2) from haas.node n where n.name = $1",
	2};

const struct db_query store_node_patch = {
	"node_patch",
	"select set_config('haas.result', (" NODE_PUT(
		"$4",
		"false") ")::text, true) "
			 "from (select $3::jsonb || jsonb_build_object('name', $1::text) as spec) s join haas.node_view v on v.name = s.spec ->> 'name' "
			 "where v.version = $2::bigint",
	4};

const struct db_query store_node_patched = {
	"node_patched",
	STORE_ANSWER(
		"select 200 as status, null as location, v.version, " NODE_ITEM
		" as body from haas.node_view v, (select " NODE_STORE_RESULT " as r) x "
		"where v.name = $1 and x.r -> 'errors' = '[]' "
		"union all select 409, null, null, " STORE_PROBLEM(
			"409", "conflict", "'the node is at odds with another one'", "'see errors'",
			"x.r -> 'errors'") " from (select " NODE_STORE_RESULT
					   " as r) x where x.r -> 'errors' <> '[]' "
					   "union all select 412, null, null, " STORE_PROBLEM(
						   "412", "stale",
						   "format('node %s was changed meanwhile', $1::text)",
						   "'read it again and repeat'",
						   "null") " from haas.node n where n.name = $1 and " NODE_STORE_RESULT
							   " is null "
							   "union all select 404, null, null, " STORE_PROBLEM(
								   "404", "not_found",
								   "format('node %s does not exist', $1::text)",
								   "'haasctl node list shows the nodes'",
								   "null") " where not exists (select from haas.node n where n.name = $1)"),
	1};

const struct db_query store_node_delete = {
	"node_delete",
	STORE_ANSWER("select case when r.why is null then 204 else 409 end as status, null as location, null as version, case when r.why is not null then " STORE_PROBLEM(
		"409", "conflict", "r.why",
		"'haasctl deployment create release NODE erases its disks'",
		"null") " end as body from (select haas.node_delete($1, $2::bigint, $3) as why offset 0) r"),
	3};

/* Locks the rows of all nodes and their BMCs, in the order of their ids, and keeps what is wrong
 * with each. */
const struct db_query store_node_check = {
	"node_check",
	"select set_config('haas.result', (with locked as materialized (select haas.node_put_lock(array(select e ->> 'name' "
	"from jsonb_array_elements($1::jsonb) e))) select jsonb_agg(" NODE_PUT(
		"$2",
		"true") " || jsonb_build_object('row', s.spec -> 'row', "
			"'name', s.spec -> 'name') order by s.n)::text "
			"from locked, jsonb_array_elements($1::jsonb) with ordinality s(spec, n) left join haas.node_view v on v.name = s.spec ->> 'name'), true)",
	2};

/* New ones by name: two sheets that make the same nodes make them in the same order. */
const struct db_query store_node_import = {
	"node_import",
	"select " NODE_PUT(
		"$2",
		"false") " from jsonb_array_elements($1::jsonb) s(spec) "
			 "left join haas.node_view v on v.name = s.spec ->> 'name' where not $3::boolean "
			 "and not exists (select from jsonb_array_elements(" NODE_STORE_RESULT
			 ") e where e -> 'errors' <> '[]') order by s.spec ->> 'name'",
	3};

const struct db_query store_node_imported = {
	"node_imported",
	STORE_ANSWER(
		"select case when w.wrong is null then 200 else 409 end as status, null as location, null as version, "
		"case when w.wrong is null then jsonb_build_object('dry_run', $1::boolean, "
		"'created', (select count(*) from jsonb_array_elements(x.r) e where e ->> 'result' = 'created'), "
		"'updated', (select count(*) from jsonb_array_elements(x.r) e where e ->> 'result' = 'updated'), "
		"'rows', (select jsonb_agg(e - 'errors') from jsonb_array_elements(x.r) e)) "
		"else " STORE_PROBLEM(
			"409", "conflict",
			"'the sheet is at odds with nodes that exist; nothing was written'",
			"'see errors; correct the cells and send it again'",
			"w.wrong") " end as body from (select " NODE_STORE_RESULT
				   " as r) x, lateral (select jsonb_agg(jsonb_build_object('row', e -> 'row') || c) as wrong "
				   "from jsonb_array_elements(x.r) e, jsonb_array_elements(e -> 'errors') c) w"),
	1};

const struct db_query store_node_fire = {
	"node_fire",
	"select set_config('haas.result', (with locked as materialized (select haas.node_lock($1::text[])) "
	"select jsonb_agg(jsonb_build_object('node', x.name, 'state', case when n.id is not null then "
	"haas.node_request(n.name, $2::haas.node_event, $3, $4) end) order by x.n)::text "
	"from locked, unnest($1::text[]) with ordinality x(name, n) left join haas.node n on n.name = x.name), true)",
	4};

const struct db_query store_node_fired = {
	"node_fired",
	STORE_ANSWER(
		"select case when bool_or(i.fired) then 200 when bool_or(i.known) then 409 else 404 end as status, null as location, null as version, "
		"case when bool_or(i.fired) then jsonb_build_object('nodes', jsonb_agg(jsonb_build_object('node', i.node, 'state', i.state, "
		"'refused', i.refused)))  when bool_or(i.known) then " STORE_PROBLEM(
			"409", "conflict",
			"case when count(*) = 1 then max(i.refused) else 'all nodes refuse' end",
			"'haasctl node show tells the state'",
			"jsonb_agg(jsonb_build_object('node', i.node, 'message', i.refused))") " else " STORE_PROBLEM("404",
														      "not_found",
														      "case when count(*) = 1 then max(i.refused) else 'none of the nodes exists' end",
														      "'haasctl node list shows the nodes'",
														      "null") " end as body from (select e ->> 'node' as node, e ->> 'state' is not null as fired, n.id is not null as known, n.state, "
															      "case when n.id is null then format('node %s does not exist', e ->> 'node') when e ->> 'state' is null then "
															      "format('node %s is %s%s; %s is not possible from there', n.name, n.state, case when n.dirty then ' and dirty' else '' end, $1::text) "
															      "end as refused from jsonb_array_elements(" NODE_STORE_RESULT
															      ") e left join haas.node n on n.name = e ->> 'node') i"),
	1};

const struct db_query store_node_action = {
	"node_action",
	STORE_ANSWER(
		"select case when r.refused = 0 then 202 else 409 end as status, case when r.refused = 0 then '/api/v1/jobs/' || r.job end as location, "
		"null as version, case when r.refused = 0 then jsonb_build_object('job', r.job, 'actions', r.made) else " STORE_PROBLEM(
			"409", "conflict",
			"case when r.refused = 1 then r.why else r.refused || ' nodes refuse' end",
			"r.hint",
			"r.wrong") " end as body from (select count(refused) as refused, max(job_id) as job, max(refused) as why, max(hint) as hint, "
				   "jsonb_agg(jsonb_build_object('id', action_id, 'node', node)) as made, "
				   "jsonb_agg(jsonb_build_object('node', node, 'message', refused, 'hint', hint)) filter (where refused is not null) as wrong "
				   "from haas.node_action_create($1::text[], $2, $3::jsonb, $4::boolean, $5)) r"),
	5};
