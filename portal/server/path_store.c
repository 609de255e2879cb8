#include "portal/server/path_store.h"

/* C promises 4095 bytes (C17 5.2.4.1), our compilers take a statement of any length. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* clang-format off */
const struct db_query store_path_get = {
	"path_get",
	"select p::text, case when not haas.is_operator() then coalesce(haas.current_tenant(), -1) end from haas.network_path($1, $2, $3, $4) p", 4};

/* What left a port towards the other end, and of it the share of its speed. Of aggregates the members are summed up, where the collector hears of these. */
#define LOAD_OF(from)                                                                                                                                       \
	"(select jsonb_build_object('bits_per_second', x.bps, 'percent', round(x.bps * 100.0 / nullif((h ->> 'speed_bps')::numeric, 0), 1), 'by', x.by) "   \
	"from (select round(sum(r.bytes) * 8 / nullif((select seconds from w), 0))::bigint as bps, 'samples' as by, 1 as rank from r "                      \
	"where r.switch = h #>> '{" from ",switch}' and (r.port = h #>> '{" from ",port}' "                                                                 \
	"or r.port in (select m ->> '" from "' from jsonb_array_elements(h -> 'members') m)) having count(*) > 0 "                                          \
	"union all select round(c.out_bytes * 8 / c.seconds)::bigint, 'counters', 2 from c "                                                                \
	"where c.switch = h #>> '{" from ",switch}' and c.port = h #>> '{" from ",port}') x where x.bps is not null order by x.rank limit 1)"

/* Of an end that is a node nothing is heard: what it sends comes in at its port. */
#define ENTERED_AT(to)                                                                                                                                      \
	"(select jsonb_build_object('bits_per_second', x.bps, 'percent', round(x.bps * 100.0 / nullif((h ->> 'speed_bps')::numeric, 0), 1), 'by', 'counters') " \
	"from (select round(c.in_bytes * 8 / c.seconds)::bigint as bps from c where c.switch = h #>> '{" to ",switch}' and c.port = h #>> '{" to ",port}') x " \
	"where x.bps is not null)"

const struct db_query store_path_load = {
	"path_load",
	/* seconds in memory, and what left each port in them */
	"with w as (select coalesce(sum(m.seconds), 0) as seconds from jsonb_to_recordset($2::jsonb -> 'minutes') as m(seconds bigint)), "
	"r as (select k.k1 as switch, k.k2 as port, sum(k.bytes) as bytes from jsonb_to_recordset($2::jsonb -> 'minutes') as m(rows jsonb) "
	"cross join lateral jsonb_to_recordset(m.rows) as k(k1 text, k2 text, bytes bigint) group by 1, 2), "
	"ends as (select distinct e ->> 'switch' as switch, e ->> 'port' as port from jsonb_array_elements($1::jsonb -> 'paths') p, jsonb_array_elements(p -> 'hops') h, "
	"lateral (values (h -> 'a'), (h -> 'b')) v (e) where e ? 'switch'), "
	/* the last interval of its counters; only operators see any (row policy, and the view's own) */
	"c as (select e.switch, e.port, x.in_bytes, x.out_bytes, x.seconds from ends e join haas.switch s on s.name = e.switch cross join lateral "
	"(select y.in_bytes, y.out_bytes, y.seconds from ((select at, in_bytes, out_bytes, seconds from haas.port_counter where switch_id = s.id and port = any (haas.counter_names(s.id, e.port)) "
	"and at > now() - interval '3 minutes' order by at desc limit 1) union all (select at, in_bytes, out_bytes, seconds from haas.traffic_port where step = 60 "
	"and switch_id = s.id and port = e.port and at > now() - interval '4 minutes' order by at desc limit 1)) y where y.seconds > 0 order by y.at desc limit 1) x) "
	"select ($1::jsonb || jsonb_build_object('load', jsonb_build_object('seconds', (select seconds from w), 'problem', $3::text), 'paths', "
	"(select jsonb_agg(p || jsonb_build_object('hops', (select jsonb_agg(h || jsonb_build_object("
	"'forward', case when h -> 'a' ? 'switch' then " LOAD_OF("a") " else " ENTERED_AT("b") " end, "
	"'back', case when h -> 'b' ? 'switch' then " LOAD_OF("b") " else " ENTERED_AT("a") " end) order by hn) "
	"from jsonb_array_elements(p -> 'hops') with ordinality x (h, hn))) order by pn) from jsonb_array_elements($1::jsonb -> 'paths') with ordinality y (p, pn))))::text",
	3};
/* clang-format on */
