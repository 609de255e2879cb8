#include "portal/server/address_store.h"

#include "portal/server/store_text.h"

#define SUBNET_ITEM                                                                                                                     \
	"jsonb_build_object('name', s.name, 'prefix', s.prefix::text, 'boot_server', host(s.boot_server), 'gateway', host(s.gateway), " \
	"'dns', (select coalesce(jsonb_agg(host(d) order by n), '[]') from unnest(s.dns) with ordinality x(d, n)), "                    \
	"'pool_low', host(s.pool_low), 'pool_high', host(s.pool_high), 'reserved_only', s.reserved_only, 'lease_s', s.lease_s, "        \
	"'shared_network', s.shared_network, "                                                                                          \
	"'relays', (select coalesce(jsonb_agg(host(r) order by n), '[]') from unnest(s.relays) with ordinality x(r, n)), "              \
	"'version', s.version)"

#define RESERVATION_ITEM \
	"jsonb_build_object('mac', r.mac::text, 'address', host(r.address), 'subnet', s.name, 'node', n.name, 'created_at', r.created_at)"

#define RESERVATION_FROM                                                                                     \
	"haas.reservation r join haas.subnet s on s.id = r.subnet_id left join haas.nic x on x.mac = r.mac " \
	"left join haas.node n on n.id = x.node_id"

#define ADDRESS_STORE_RESULT "nullif(current_setting('haas.result', true), '')"

const struct db_query store_subnet_list = {
	"subnet_list",
	STORE_PAGE("s.name", SUBNET_ITEM, "haas.subnet s where ($2::text is null or s.name > $2)",
		   "s.name"),
	2};

const struct db_query store_subnet_get = {
	"subnet_get",
	"select (" SUBNET_ITEM ")::text, s.version, true from haas.subnet s where s.name = $1", 1};

/* Made when it is not there, replaced when the version fits. Kept: made, replaced, or nothing when
 * refused. */
const struct db_query store_subnet_put = {
	"subnet_put",
	"with replaced as (update haas.subnet set prefix = $3::cidr, gateway = $4::inet, dns = $5::inet[], boot_server = $6::inet, "
	"pool_low = $7::inet, pool_high = $8::inet, reserved_only = $9::boolean, lease_s = $10::int, "
	"shared_network = $11, relays = $12::inet[], version = version + 1 "
	"where name = $1 and version = $2::bigint returning 'replaced' as done), "
	"made as (insert into haas.subnet (name, prefix, gateway, dns, boot_server, pool_low, pool_high, reserved_only, lease_s, "
	"shared_network, relays) "
	"select $1, $3::cidr, $4::inet, $5::inet[], $6::inet, $7::inet, $8::inet, $9::boolean, $10::int, $11, $12::inet[] "
	"where $2::bigint is null and not exists (select from haas.subnet where name = $1) returning 'made' as done) "
	"select set_config('haas.result', coalesce((select done from replaced union all select done from made), ''), true)",
	12};

const struct db_query store_subnet_placed = {
	"subnet_placed",
	STORE_ANSWER(
		"select case x.done when 'made' then 201 when 'replaced' then 200 else case when s.id is null or $2::bigint is not null then 412 else 428 end "
		"end as status, case x.done when 'made' then '/api/v1/subnets/' || s.name end as location, "
		"case when x.done is not null then s.version end as version, "
		"case when x.done is not null then " SUBNET_ITEM
		" when s.id is null or $2::bigint is not null then " STORE_PROBLEM(
			"412", "stale",
			"case when s.id is null then format('subnet %s does not exist', $1::text) else format('subnet %s was changed meanwhile', $1::text) end",
			"'read it again and repeat'",
			"null") " else " STORE_PROBLEM("428", "precondition",
						       "format('subnet %s exists; replacing it needs If-Match', $1::text)",
						       "'read it first and send its ETag'",
						       "null") " end as body from (select " ADDRESS_STORE_RESULT
							       " as done) x left join haas.subnet s on s.name = $1, lateral (select case when x.done is not null then "
							       "haas.event_add($3, 'subnet.' || x.done, 'subnet', $1, null, 'subnet ' || x.done, " SUBNET_ITEM
							       ") end, "
							       "case when x.done is not null then pg_notify('address', '')::text end offset 0) told"),
	3};

const struct db_query store_subnet_delete = {
	"subnet_delete",
	STORE_ANSWER_WITH(
		"gone as (delete from haas.subnet where name = $1 and version = $2::bigint returning name), "
		"told as (select haas.event_add($3, 'subnet.deleted', 'subnet', name, null, 'subnet deleted'), pg_notify('address', '') from gone) ",
		"select 204 as status, null as location, null::bigint as version, null::jsonb as body from told "
		"union all select 404, null, null, " STORE_PROBLEM(
			"404", "not_found", "format('subnet %s does not exist', $1::text)",
			"'haasctl subnet list shows the subnets'",
			"null") " where not exists (select from haas.subnet where name = $1) "
				"union all select 412, null, null, " STORE_PROBLEM(
					"412", "stale",
					"format('subnet %s was changed meanwhile', $1::text)",
					"'read it again and repeat'",
					"null") " from haas.subnet where name = $1 and version <> $2::bigint"),
	3};

const struct db_query store_reservation_list = {
	"reservation_list",
	STORE_PAGE("r.mac", RESERVATION_ITEM,
		   RESERVATION_FROM " where ($2::macaddr is null or r.mac > $2::macaddr)", "r.mac"),
	2};

const struct db_query store_reservation_clear = {
	"reservation_clear", "delete from haas.reservation where mac = $1::macaddr", 1};

const struct db_query store_reservation_put = {
	"reservation_put",
	STORE_ANSWER_WITH(
		"made as (insert into haas.reservation (mac, subnet_id, address) select $1::macaddr, s.id, $3::inet from haas.subnet s "
		"where s.name = $2 and $3::inet <<= s.prefix returning mac, address, subnet_id, created_at), "
		"told as (select haas.event_add($4, 'reservation.placed', 'reservation', mac::text, null, format('%s is kept for %s', host(address), mac)), "
		"pg_notify('address', '') from made) ",
		"select 200 as status, null as location, null::bigint as version, jsonb_build_object('mac', r.mac::text, 'address', host(r.address), "
		"'subnet', s.name, 'node', n.name, 'created_at', r.created_at) as body from told, made r join haas.subnet s on s.id = r.subnet_id "
		"left join haas.nic x on x.mac = r.mac left join haas.node n on n.id = x.node_id "
		"union all select 422, null, null, " STORE_PROBLEM(
			"422", "invalid", "format('%s is not in subnet %s', $3::text, $2::text)",
			"'haasctl subnet list shows the subnets'",
			"null") " where not exists (select from haas.subnet s where s.name = $2 and $3::inet <<= s.prefix)"),
	4};

const struct db_query store_reservation_drop = {
	"reservation_drop",
	STORE_ANSWER_WITH(
		"gone as (delete from haas.reservation where mac = $1::macaddr returning mac, address), "
		"told as (select haas.event_add($2, 'reservation.deleted', 'reservation', mac::text, null, format('%s is free again', host(address))), "
		"pg_notify('address', '') from gone) ",
		"select 204 as status, null as location, null::bigint as version, null::jsonb as body from told "
		"union all select 404, null, null, " STORE_PROBLEM(
			"404", "not_found", "format('%s has no reservation', $1::text)",
			"'haasctl reservation list shows what there is'",
			"null") " where not exists (select from haas.reservation where mac = $1::macaddr)"),
	2};

const struct db_query store_lease_list = {
	"lease_list",
	STORE_PAGE(
		"l.address",
		"jsonb_build_object('address', l.address, 'mac', l.mac, 'subnet', l.subnet, 'node', l.node, 'state', l.state, 'client', l.client, "
		"'reserved', l.reserved, 'bound_at', l.bound_at, 'expires_at', l.expires_at)",
		"haas.lease_view l where ($2::text is null or l.address::inet > $2::inet) and ($3::text is null or l.subnet = $3) "
		"and ($4::text is null or l.node = $4) and ($5::text is null or l.mac = $5) and ($6::text is null or l.state = $6)",
		"l.address::inet"),
	6};

const struct db_query store_lease_reclaim = {
	"lease_reclaim",
	STORE_ANSWER("select case when r.done then 204 else 404 end as status, null as location, null as version, case when not r.done then " STORE_PROBLEM(
		"404", "not_found", "format('there is no lease of %s', $1::text)",
		"'haasctl lease list shows the leases'",
		"null") " end as body from (select haas.lease_reclaim($1::inet, $2) as done offset 0) r"),
	2};
