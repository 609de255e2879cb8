#include "portal/server/health_store.h"

#include "portal/server/store_text.h"

/* v is health_label_view. */
#define LABEL_ITEM                                                                                                                      \
	"jsonb_build_object('node', v.node, 'state', v.node_state, 'tenant', v.tenant, 'label', v.label, 'severity', v.severity, "      \
	"'effects', to_jsonb(v.effects), 'effective', to_jsonb(v.effective), 'reason', v.reason, 'hint', v.hint, 'source', v.source, "  \
	"'actor', v.actor, 'raised_at', v.since, 'expires_at', v.expires_at, "                                                          \
	"'acknowledged', case when v.acknowledged_by is not null then jsonb_build_object('actor', v.acknowledged_by, 'reason', "        \
	"v.acknowledged_reason, 'until', v.acknowledged_until) end, "                                                                   \
	"'silenced', case when v.silenced_by is not null then jsonb_build_object('actor', v.silenced_by, 'reason', v.silenced_reason, " \
	"'until', v.silenced_until) end)"

#define SEL_ITEM                                                                                                        \
	"jsonb_build_object('record', s.record, 'at', case when s.bmc_time_s > 0 then to_timestamp(s.bmc_time_s) end, " \
	"'seen_at', s.seen_at, 'type', s.type, 'sensor', s.sensor, 'event', s.event, 'asserted', s.asserted)"

const struct db_query store_node_health = {
	"node_health",
	"select jsonb_build_object('node', n.name, 'state', n.state, 'power', coalesce(b.observed_power, 'unknown'), "
	"'labels', coalesce((select jsonb_agg(" LABEL_ITEM
	" order by v.severity = 'critical' desc, v.since, v.label) "
	"from haas.health_label_view v where v.node_id = n.id), '[]'), "
	"'sensors', coalesce(h.sensors, '[]'), 'sensors_at', h.sensors_at, "
	"'sel', coalesce((select jsonb_agg(" SEL_ITEM " order by s.id desc) from "
	"(select * from haas.sel_entry e where e.node_id = n.id order by e.id desc limit 10) s), '[]'), 'sel_at', h.sel_at, "
	"'bmc_failing_since', h.bmc_failing_since)::text "
	"from haas.node n left join haas.node_health h on h.node_id = n.id left join haas.bmc b on b.node_id = n.id where n.name = $1",
	1};

const struct db_query store_node_sel = {
	"node_sel",
	STORE_PAGE(
		"s.id", SEL_ITEM,
		"haas.sel_entry s where s.node_id = (select n.id from haas.node n where n.name = $3) and ($2::bigint is null or s.id < $2::bigint)",
		"s.id desc") " having exists (select from haas.node n where n.name = $3)",
	3};

#define LABEL_KEY "v.node || ' ' || v.label || ' ' || v.source"
const struct db_query store_label_list = {
	"label_list",
	STORE_PAGE(
		LABEL_KEY, LABEL_ITEM,
		"haas.health_label_view v where ($2::text is null or (" LABEL_KEY
		") collate \"C\" > $2) and ($3::text is null or v.node = $3) "
		"and ($4::text is null or v.label = $4) and ($5::text is null or v.severity = $5) "
		"and ($6::text is null or $6 = any (v.effective))",
		"(" LABEL_KEY ") collate \"C\""),
	6};

const struct db_query store_label_request = {
	"label_request",
	STORE_ANSWER(
		"select case when r.done > 0 then 200 else 409 end as status, null as location, null as version, "
		"case when r.done > 0 then jsonb_build_object('nodes', r.rows) else " STORE_PROBLEM(
			"409", "conflict",
			"case when r.refused = 1 then r.why else 'all nodes refuse' end", "r.hint",
			"r.wrong") " end as body from (select count(*) filter (where x.refused is null) as done, count(x.refused) as refused, "
				   "max(x.refused) as why, max(x.hint) as hint, "
				   "jsonb_agg(jsonb_build_object('node', x.node, 'refused', x.refused)) as rows, "
				   "jsonb_agg(jsonb_build_object('node', x.node, 'message', x.refused, 'hint', x.hint)) "
				   "filter (where x.refused is not null) as wrong "
				   "from haas.health_request($1::text[], $2, $3, $4, $5::text[], $6, now() + $7::bigint * interval '1 s', $8) x) r"),
	8};
