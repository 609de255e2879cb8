-- SQL of subnets, reservations and leases. Writers notify 'address': bampi-bootd keeps what it serves in memory.
-- :use portal/server/store_text.sql

-- :part subnet_item
jsonb_build_object('name', s.name, 'prefix', s.prefix::text, 'boot_server', host(s.boot_server), 'gateway', host(s.gateway),
'dns', (select coalesce(jsonb_agg(host(d) order by n), '[]') from unnest(s.dns) with ordinality x(d, n)),
'pool_low', host(s.pool_low), 'pool_high', host(s.pool_high), 'reserved_only', s.reserved_only, 'lease_s', s.lease_s,
'shared_network', s.shared_network,
'relays', (select coalesce(jsonb_agg(host(r) order by n), '[]') from unnest(s.relays) with ordinality x(r, n)),
'version', s.version)

-- :part reservation_item
jsonb_build_object('mac', r.mac::text, 'address', host(r.address), 'subnet', s.name, 'node', n.name, 'created_at', r.created_at)

-- :part reservation_from
haas.reservation r join haas.subnet s on s.id = r.subnet_id left join haas.nic x on x.mac = r.mac
left join haas.node n on n.id = x.node_id

-- :statement subnet_list
-- :columns = document
-- :list text
--   name            natural  s.name
--   prefix          natural  s.prefix::text
--   boot_server     natural  host(s.boot_server)
--   gateway         natural  host(s.gateway)
--   pool_low        natural  host(s.pool_low)
--   pool_high       natural  host(s.pool_high)
--   reserved_only   bool     s.reserved_only
--   lease_s         number   s.lease_s
--   shared_network  natural  s.shared_network
-- $1 limit $2 cursor -> (page)
${store_page s.name ;; ${subnet_item} ;; haas.subnet s where ($2::text is null or s.name collate haas.natural_order > $2) ;; s.name collate haas.natural_order}

-- :statement subnet_get
-- :columns = resource
-- $1 name -> (body, version, whole)
select (${subnet_item})::text as body, s.version, true as whole from haas.subnet s where s.name = $1

-- :statement subnet_put
-- Made when it is not there, replaced when the version fits. Kept: made, replaced, or nothing when refused.
-- $1 name $2 version $3 prefix $4 gateway $5 dns[] $6 boot_server $7 pool_low $8 pool_high $9 reserved_only $10 lease_s: kept in haas.result
with replaced as (update haas.subnet set prefix = $3::cidr, gateway = $4::inet, dns = $5::inet[], boot_server = $6::inet,
pool_low = $7::inet, pool_high = $8::inet, reserved_only = $9::boolean, lease_s = $10::int,
shared_network = $11, relays = $12::inet[], version = version + 1
where name = $1 and version = $2::bigint returning 'replaced' as done),
made as (insert into haas.subnet (name, prefix, gateway, dns, boot_server, pool_low, pool_high, reserved_only, lease_s,
shared_network, relays)
select $1, $3::cidr, $4::inet, $5::inet[], $6::inet, $7::inet, $8::inet, $9::boolean, $10::int, $11, $12::inet[]
where $2::bigint is null and not exists (select from haas.subnet where name = $1) returning 'made' as done)
select set_config('haas.result', coalesce((select done from replaced union all select done from made), ''), true),
set_config('haas.before', coalesce((select (${subnet_item})::text from haas.subnet s where s.name = $1), ''), true)

-- :statement subnet_placed
-- :columns = answer
-- $1 name $2 version -> answer
${store_answer select case x.done when 'made' then 201 when 'replaced' then 200 else case when s.id is null or $2::bigint is not null then 412 else 428 end
end as status, case x.done when 'made' then '/api/v1/subnets/' || s.name end as location,
case when x.done is not null then s.version end as version,
case when x.done is not null then ${subnet_item}
 when s.id is null or $2::bigint is not null then ${store_problem 412 ;; stale ;; case when s.id is null then format('subnet %s does not exist', $1::text) else format('subnet %s was changed meanwhile', $1::text) end ;; 'read it again and repeat' ;; null} else ${store_problem 428 ;; precondition ;; format('subnet %s exists; replacing it needs If-Match', $1::text) ;; 'read it first and send its ETag' ;; null} end as body from (select ${kept}
 as done) x left join haas.subnet s on s.name = $1, lateral (select case when x.done is not null then
haas.event_told('subnet.' || x.done, 'subnet', $1, null, 'subnet ' || x.done, jsonb_build_object('before', ${before}, 'after', ${subnet_item}
)) end,
case when x.done is not null then pg_notify('address', '')::text end offset 0) told}

-- :statement subnet_delete
-- :columns = answer
-- $1 name $2 version -> answer
${store_answer_with gone as (delete from haas.subnet s where s.name = $1 and s.version = $2::bigint returning s.name, ${subnet_item}
 as was),
told as (select haas.event_told('subnet.deleted', 'subnet', name, null, 'subnet deleted', jsonb_build_object('before', was)), pg_notify('address', '') from gone) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from told
union all select 404, null, null, ${store_problem 404 ;; not_found ;; format('subnet %s does not exist', $1::text) ;; 'haasctl subnet list shows the subnets' ;; null} where not exists (select from haas.subnet where name = $1)
union all select 412, null, null, ${store_problem 412 ;; stale ;; format('subnet %s was changed meanwhile', $1::text) ;; 'read it again and repeat' ;; null} from haas.subnet where name = $1 and version <> $2::bigint}

-- :statement reservation_list
-- :columns = document
-- :list macaddr
--   mac         text     r.mac::text
--   address     natural  host(r.address)
--   subnet      natural  s.name
--   node        natural  n.name
--   created_at  time     r.created_at
-- $1 limit $2 cursor -> (page)
${store_page r.mac ;; ${reservation_item} ;; ${reservation_from} where ($2::macaddr is null or r.mac > $2::macaddr) ;; r.mac}

-- :statement reservation_clear
-- $1 mac: what is there is kept in haas.before
with gone as (delete from haas.reservation where mac = $1::macaddr returning address)
select set_config('haas.before', coalesce((select jsonb_build_object('address', host(address))::text from gone), ''), true)

-- :statement reservation_put
-- :columns = answer
-- $1 mac $2 subnet $3 address -> answer
${store_answer_with made as (insert into haas.reservation (mac, subnet_id, address) select $1::macaddr, s.id, $3::inet from haas.subnet s
where s.name = $2 and $3::inet <<= s.prefix returning mac, address, subnet_id, created_at),
told as (select haas.event_told('reservation.placed', 'reservation', mac::text, null, format('%s is kept for %s', host(address), mac),
jsonb_build_object('before', ${before}, 'after', jsonb_build_object('address', host(address)))),
pg_notify('address', '') from made) ;; select 200 as status, null as location, null::bigint as version, jsonb_build_object('mac', r.mac::text, 'address', host(r.address),
'subnet', s.name, 'node', n.name, 'created_at', r.created_at) as body from told, made r join haas.subnet s on s.id = r.subnet_id
left join haas.nic x on x.mac = r.mac left join haas.node n on n.id = x.node_id
union all select 422, null, null, ${store_problem 422 ;; invalid ;; format('%s is not in subnet %s', $3::text, $2::text) ;; 'haasctl subnet list shows the subnets' ;; null} where not exists (select from haas.subnet s where s.name = $2 and $3::inet <<= s.prefix)}

-- :statement reservation_drop
-- :columns = answer
-- $1 mac -> answer
${store_answer_with gone as (delete from haas.reservation where mac = $1::macaddr returning mac, address),
told as (select haas.event_told('reservation.deleted', 'reservation', mac::text, null, format('%s is free again', host(address)),
jsonb_build_object('before', jsonb_build_object('address', host(address)))),
pg_notify('address', '') from gone) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from told
union all select 404, null, null, ${store_problem 404 ;; not_found ;; format('%s has no reservation', $1::text) ;; 'haasctl reservation list shows what there is' ;; null} where not exists (select from haas.reservation where mac = $1::macaddr)}

-- :statement lease_list
-- :columns = document
-- :list inet
--   address     natural  l.address
--   mac         text     l.mac
--   subnet      natural  l.subnet
--   node        natural  l.node
--   state       text     l.state::text
--   client      text     l.client::text
--   reserved    bool     l.reserved
--   bound_at    time     l.bound_at
--   expires_at  time     l.expires_at
-- $1 limit $2 cursor $3 subnet $4 node -> (page)
${store_page l.address ;; jsonb_build_object('address', l.address, 'mac', l.mac, 'subnet', l.subnet, 'node', l.node, 'state', l.state, 'client', l.client,
'reserved', l.reserved, 'bound_at', l.bound_at, 'expires_at', l.expires_at) ;; haas.lease_view l where ($2::text is null or l.address::inet > $2::inet) and ($3::text is null or l.subnet = $3)
and ($4::text is null or l.node = $4) and ($5::text is null or l.mac = $5) and ($6::text is null or l.state = $6) ;; l.address::inet}

-- :statement lease_reclaim
-- :columns = answer
-- $1 address $2 actor -> answer
${store_answer select case when r.done then 204 else 404 end as status, null as location, null as version, case when not r.done then ${store_problem 404 ;; not_found ;; format('there is no lease of %s', $1::text) ;; 'haasctl lease list shows the leases' ;; null} end as body from (select haas.lease_reclaim($1::inet, $2) as done offset 0) r}
