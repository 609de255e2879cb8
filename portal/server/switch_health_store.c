#include "portal/server/switch_health_store.h"

#include "portal/server/store_text.h"

/* C promises 4095 bytes (C17 5.2.4.1), our compilers take a statement of any length. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

/* clang-format off */
/* s is switch, e its endpoint, f its fabric, h switch_health. */
#define HEALTH_OF                                                                                                                                         \
	"join haas.switch_endpoint e on e.switch_id = s.id join haas.fabric f on f.id = e.fabric_id "                                                     \
	"left join haas.switch_health h on h.switch_id = s.id cross join lateral (select sum(coalesce(x.in_errors, 0) + coalesce(x.out_errors, 0))::bigint as errors, " \
	"sum(coalesce(x.in_discards, 0) + coalesce(x.out_discards, 0))::bigint as discards from haas.port_errors x where x.switch_id = s.id) c "
#define COUNT_IN(list, condition) "(select count(*) from jsonb_array_elements(" list ") x where " condition ")"
/* `state`: nobody asked it yet, it answered the last time, or it did not. */
#define HEALTH_ITEM                                                                                                                                       \
	"jsonb_build_object('switch', s.name, 'fabric', f.name, 'address', host(e.address), 'state', case when h.switch_id is null then 'unknown' "      \
	"when h.problem is null then 'answers' else 'silent' end, 'asked_at', h.asked_at, 'heard_at', h.heard_at, 'response_ms', h.response_ms, "         \
	"'problem', h.problem, 'counters_at', h.counters_at, 'errors', c.errors, 'discards', c.discards, "                                               \
	"'root', h.stp ->> 'root', 'topology_changes', (h.stp ->> 'changes')::bigint, 'blocked', " COUNT_IN("h.stp -> 'ports'", "x ->> 'role' = 'alternate' or x ->> 'state' = 'broken'") ", " \
	"'lags_count', coalesce(jsonb_array_length(h.lags), 0), 'members_out', (select count(*) from jsonb_array_elements(h.lags) l, jsonb_array_elements(l -> 'members') m "    \
	"where not (m ->> 'bundled')::boolean), 'sensors_count', coalesce(jsonb_array_length(h.sensors), 0), "                                            \
	"'sensors_bad', " COUNT_IN("h.sensors", "x ->> 'status' <> 'ok'") ")"

const struct db_query store_switch_health_list = {
	"switch_health_list",
	/* The page first: what is summed up is an hour of counters of each switch. */
	STORE_PAGE("s.name", HEALTH_ITEM,
		   "(select x.* from haas.switch x join haas.switch_endpoint y on y.switch_id = x.id join haas.fabric z on z.id = y.fabric_id "
		   "where ($2::text is null or x.name > $2) and ($3::text is null or z.name = $3) order by x.name limit $1::int + 1) s " HEALTH_OF, "s.name"),
	3};

/* With all ports that counted, the worst first. */
const struct db_query store_switch_health_get = {
	"switch_health_get",
	"select (" HEALTH_ITEM " || jsonb_build_object('stp', h.stp, 'lags', coalesce(h.lags, '[]'), 'sensors', coalesce(h.sensors, '[]'), "
	"'ports', coalesce((select jsonb_agg(jsonb_build_object('port', x.port, 'in_errors', x.in_errors, 'out_errors', x.out_errors, 'in_discards', x.in_discards, "
	"'out_discards', x.out_discards, 'in_packets', x.in_packets, 'out_packets', x.out_packets, 'seconds', round(x.seconds::numeric, 1), 'source', x.source) "
	"order by coalesce(x.in_errors, 0) + coalesce(x.out_errors, 0) + coalesce(x.in_discards, 0) + coalesce(x.out_discards, 0) desc, x.port) "
	"from haas.port_errors x where x.switch_id = s.id), '[]')))::text from haas.switch s " HEALTH_OF "where s.name = $1",
	1};
/* clang-format on */
