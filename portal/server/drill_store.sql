-- Stored traffic (db/schema/traffic.sql), level by level.

-- Each level takes as many of these parameters as it counts: $1 step, $2 from, $3 to, $4 rows at most, $5 what a collector has in memory (null:
-- nothing), $6 switch id, $7 port (null: edge ports), $8 ids of tenants, $9 reason, $10 VLAN, $11 $12 ends, $13.. source, its port, target, its
-- port, protocol, EtherType, forward.

-- A row per child, and the parent in each; without children one row whose bytes are null.
-- :row drill
--   k1             the keys of the child: common/model/drill_path.h
--   k2
--   k3
--   k4
--   k5
--   k6
--   k7
--   network
--   exact          what the interface counted, null when it said nothing
--   exact_seconds  in so many seconds
--   bytes          five as drill_sums_of reads them
--   packets
--   samples
--   square
--   missed
--   total_bytes    the same five of the parent
--   total_packets
--   total_samples
--   total_square
--   total_missed

-- :part in_time
-- A bucket's place in time and in the fabric, whose it is. Parameters that are null fold away when the statement is planned, so that an index
-- on what is left is used.
t.step = $1::int and t.at >= $2::timestamptz and t.at < $3::timestamptz and $4::int > 0

-- :part at_place
 and ((t.switch_id = $6::bigint and t.port = $7::text and t.direction = 'out')
or ($6::bigint is null and $7::text is null and t.direction = 'in'))

-- :part of_owner
 and (t.tenant_id = any($8::bigint[]) or (t.tenant_id is null and t.reason = $9::text))

-- :part of_vlan
 and t.vlan = $10::int

-- :part end_a
-- A collector orders ends by numbers of its own: another life may have them the other way round.
least(t.a, t.b)

-- :part end_b
greatest(t.a, t.b)

-- :part of_pair
 and ${end_a} = least($11::text, $12::text) and ${end_b}
 = greatest($11::text, $12::text)

-- :part forward
(t.forward = (t.a <= t.b))

-- :part links_of_all
-- What left each link: to operators as it is kept, to a tenant the sum of its own shares.
select t.switch_id, t.port, t.bytes, t.packets, t.samples, t.square from
haas.traffic_link t where ${in_time}

-- :part links_of_tenant
select t.switch_id, t.port, t.bytes, t.packets, t.samples, t.square from
haas.traffic_share t where ${in_time} and t.direction = 'out' and t.tenant_id
= haas.current_tenant() and not haas.is_operator()

-- :part sums_of t
sum(${t}.bytes)::bigint as bytes, sum(${t}.packets)::bigint as packets, sum(${t}.samples)::bigint as samples, sum(${t}.square) as square

-- :part sums
${sums_of t}

-- :part no_keys_after_1
null as k2, null as k3, null as k4, null as k5, null as k6, null as k7

-- :part no_keys_after_2
null as k3, null as k4, null as k5, null as k6, null as k7

-- :part live k1, k2, k7
-- Seconds that a collector has in memory ($5: its answer, peregrine/flowd/flowd_drill.c): minutes that the window cuts, and those that are not
-- stored. Which are, is seen in the statement's own snapshot: a minute that is being written is read in one place, never in both.
l as (select m.floor, m.total, m.rows from jsonb_to_recordset($5::jsonb -> 'minutes')
as m(at bigint, cut boolean, floor bigint, total jsonb, rows jsonb) where m.cut or not
exists (select from haas.traffic_bucket b where b.step = 60 and b.at =
to_timestamp(m.at) and starts_with(b.writer, ($5::jsonb ->> 'writer') || ':'))),
lr as (select ${k1} as k1, ${k2} as k2, r.k3, r.k4, r.k5, r.k6, ${k7}
 as k7, coalesce(r.network, '') as network, ${no_exact}, r.bytes, r.packets,
r.samples, r.square, r.missed from l cross join lateral jsonb_to_recordset(l.rows)
as r(k1 text, k2 text, k3 text, k4 text, k5 text, k6 text, k7 text, network text,
bytes bigint, packets bigint, samples bigint, square double precision, missed bigint)),

-- :part live_rows
${live r.k1 ;; r.k2 ;; r.k7}

-- :part children floor
-- Stored rows and those in memory under the same keys; `floor`: what a row may have had of buckets that it is not in.
c as (select u.k1, u.k2, u.k3, u.k4, u.k5, u.k6, u.k7,
coalesce(string_agg(distinct nullif(u.network, ''), ' '), '') as network,
max(u.exact) as exact, max(u.exact_seconds) as exact_seconds, sum(u.bytes)::bigint as
bytes, sum(u.packets)::bigint as packets, sum(u.samples)::bigint as samples,
sum(u.square) as square, (sum(u.missed) + coalesce((select sum(l.floor) from l), 0) + ${floor}
)::bigint as missed from (select * from s union all select * from lr) u group by
u.k1, u.k2, u.k3, u.k4, u.k5, u.k6, u.k7),

-- :part total stored
p as (select coalesce(sum(x.bytes), 0)::bigint as bytes, coalesce(sum(x.packets),
0)::bigint as packets, coalesce(sum(x.samples), 0)::bigint as samples,
coalesce(sum(x.square), 0) as square, coalesce(sum(x.missed), 0)::bigint as missed
from (${stored} union all select (l.total ->> 'bytes')::bigint,
(l.total ->> 'packets')::bigint, (l.total ->> 'samples')::bigint,
(l.total ->> 'square')::double precision, (l.total ->> 'missed')::bigint from l) x)

-- :part total_of_children
${total select bytes, packets, samples, square, 0::bigint as missed from s}

-- :part total_of table, where, missed
${total select t.bytes, t.packets, t.samples, t.square, ${missed} as missed from
haas.${table} t where ${where}}

-- :part drill_store_answer
-- The largest children beside their parent.
select c.*, p.bytes as total_bytes, p.packets as total_packets, p.samples as total_samples, p.square as total_square,
p.missed as total_missed from p left join (select * from c order by bytes desc, k1, k2,
k3, k4, k5, k6, k7 limit $4::int) c on true
order by c.bytes desc, c.k1, c.k2, c.k3, c.k4, c.k5, c.k6, c.k7

-- :part homes
-- Where all that is kept at a port has one end, that is the port's home: only pairs with it can be there. So a pair's bound widens at its own
-- edge ports, not at those of all the tenant's nodes. An end of all pairs is the k1 of all (ends are ordered: k1 <= k2), or the k2 of all, or
-- the largest k1 and the smallest k2; of one pair alone both ends are, and none is home. `g` is what floors add up to at each home; where
-- there is none (null) they are everybody's.
e as (select switch_id, port, min(k1) as l1, max(k1) as h1, min(k2) as l2, max(k2) as
h2, array_agg(k1) as k1s, array_agg(k2) as k2s from r group by 1, 2),
m as (select x.floor, case when l1 = h1 and l2 = h2 and l1 <> l2 then null
when l1 = h1 then l1 when l2 = h2 then l2 when h1 = l2 and not exists (select from
unnest(k1s, k2s) p (k1, k2) where h1 <> p.k1 and h1 <> p.k2) then h1 end as home from
(select switch_id, port, sum(floor) as floor from f group by 1, 2) x left join e using
(switch_id, port)), g as (select home, sum(floor)::bigint as floor from m group by 1),

-- :part floor_at key
coalesce(((select jsonb_object_agg(g.home, g.floor) from g where g.home is not null)
 ->> ${key})::bigint, 0)

-- :part floor_of_asked
select coalesce(sum(g.floor), 0) from g where g.home is null or g.home
in ($11::text, $12::text)

-- :part floor_of_pair
coalesce((select g.floor from g where g.home is null), 0) + ${floor_at u.k1} + case
when u.k1 <> u.k2 then ${floor_at u.k2} else 0 end

-- :part pairs
-- All pairs of a VLAN, and what of each bucket one may have had that is not in it.
r as materialized (select t.at, t.switch_id, t.port, coalesce(t.network_id, 0) as n,
t.reason, ${end_a} as k1, ${end_b}
 as k2, t.bytes, t.packets, t.samples, t.square, t.missed, t.floor as below from
haas.traffic_pair t where ${where_vlan}
), f as materialized (select t.at, t.switch_id, t.port, coalesce(t.network_id, 0)
as n, t.reason, sum(t.floor)::bigint as floor from haas.traffic_share t where ${where_vlan}
 group by 1, 2, 3, 4, 5 having sum(t.floor) > 0), ${homes}

-- :part others_floors all, floors, own
-- A row's own page: of buckets that it is in no floor speaks of it, as in the list above.
 union all select 0, 0, 0, 0, (${all}) - (select coalesce(sum(${floors}.floor), 0) from (select distinct at, switch_id, port, n, reason from ${own}
) x join ${floors} using (at, switch_id, port, n, reason))

-- :part no_exact
null::bigint as exact, null::double precision as exact_seconds

-- :statement drill_window
-- :columns
--   from     RFC 3339, whole buckets
--   to
--   step     seconds: the finest that is kept since its first bucket, at most 400 of them from there on
--   kept     t: it begins no earlier than that is kept
--   buckets  how many there may be
--   present  of them collected at least in part
--   seconds  collected
--   bytes    entered; null for a tenant, as the next two
--   nobodys  of them nobody's
--   lost     did not fit into memory of the collector
--   switch   its id; null when there is none
--   tenants  the ids that had the name, as an array; null when nobody had
--   operator  t or f
--   at       the end asked for, seconds since 1970; null = now
--   recent   t: it may reach into what a collector has in memory
--   scope    the tenant who asks; null = an operator
--   turned   t: $6 comes behind $7 in the database's order
--   thinned  the worst of its buckets: one of so many samples was used
--   pending  of those that there may be: the last ones, not summed up yet
--   until    where these begin
-- $1 = end, RFC 3339, HH:MM or HH:MM:SS, null = the last bucket that is over; $2 = seconds; $3 = switch, null = none; $4 = tenant, null =
-- none; $5 = t when only the finest step will do; $6 $7 = ends of the path, null = none.
with asked as (select case when $1::text ~ '^[0-9]{2}:[0-9]{2}(:[0-9]{2})?$' then date_trunc('day', now()) +
$1::text::interval else $1::text::timestamptz end as at, make_interval(secs => $2::int) as length),
ends as materialized (select case when at > now() and $1::text ~ '^[0-9]{2}:' then at - interval '1 day' else
coalesce(at, now()) end as at, length, at is null as last from asked),
-- Before its first bucket, of whatever step, there is nothing to be read: where all began lately the finest step has it, and a coarse one may
-- not have it yet.
first as materialized (select greatest(e.at - e.length, coalesce(min(x.at), e.at)) as at from ends e
left join haas.traffic_retention r on true left join lateral (select b.at from haas.traffic_bucket b where b.step = r.step
and b.at > e.at - e.length - make_interval(secs => r.step) and b.at < e.at order by b.at limit 1) x on true group by e.at, e.length),
step as materialized (select e.*, coalesce((select min(r.step) from haas.traffic_retention r where f.at >= now() - r.keep
and e.at - f.at <= make_interval(secs => 400 * r.step)), 3600) as fits from ends e, first f),
chosen as (select s.*, case when $5::boolean then 60 else fits end as step from step s),
bounds as (select c.step, c.length, case when c.last then floor(extract(epoch from c.at) / c.step)
else ceil(extract(epoch from c.at) / c.step) end * c.step as upper,
extract(epoch from c.at - c.length) as lower, c.last from chosen c),
v as (select b.step, to_timestamp(case when b.last then b.upper - ceil(extract(epoch from b.length) / b.step)
* b.step else floor(b.lower / b.step) * b.step end::double precision) as lower,
to_timestamp(b.upper::double precision) as upper from bounds b),
-- from `closed` on a bucket that is not there may still be written
w as (select v.*, least(v.upper, greatest(v.lower, to_timestamp((floor((extract(epoch from now()) - 120) / v.step) * v.step)::double precision))) as closed from v),
collected as (select count(distinct b.at) as present, count(distinct b.at) filter (where b.at >= w.closed) as open,
sum(b.bytes)::bigint as bytes,
sum(b.unattributed_bytes)::bigint as nobodys, sum(b.lost_bytes)::bigint as lost, max(b.thinned) as thinned,
range_agg(tstzrange(b.from_at, greatest(b.from_at, b.to_at))) filter (where b.at is not null) as ranges
from w left join haas.traffic_bucket b on b.step = w.step and b.at >= w.lower and b.at < w.upper)
select to_char(w.lower, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as from, to_char(w.upper, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as to,
w.step, greatest(w.lower, f.at) >= now() - (select r.keep from haas.traffic_retention r where r.step = w.step) as kept,
(extract(epoch from w.upper - w.lower) / w.step)::bigint as buckets, c.present,
(select coalesce(round(sum(extract(epoch from upper(r) - lower(r)))::numeric, 3), 0) from
unnest(c.ranges * tstzmultirange(tstzrange(w.lower, w.upper))) r) as seconds,
case when haas.is_operator() then coalesce(c.bytes, 0) end as bytes, case when haas.is_operator() then
coalesce(c.nobodys, 0) end as nobodys, case when haas.is_operator() then coalesce(c.lost, 0) end as lost,
(select s.id from haas.switch s where s.name = $3::text) as switch,
(select array_agg(x.tenant_id) from haas.tenant_name x where x.name = $4::text) as tenants, haas.is_operator() as operator,
case when not e.last then ceil(extract(epoch from e.at))::bigint end as at, e.at > now() - interval '2 hours' and w.step = 60 as recent,
case when not haas.is_operator() then coalesce(haas.current_tenant(), -1) end as scope, $6::text > $7::text as turned, coalesce(c.thinned, 1) as thinned,
y.count as pending, to_char(w.upper - make_interval(secs => y.count * w.step), 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as until
from w, collected c, ends e, first f, lateral (select (extract(epoch from w.upper - w.closed) / w.step)::bigint - c.open as count) y

-- :statement drill_present
-- Is there stored traffic at a switch that the asking one may see?
-- A row, or none. $1 step, $2 from, $3 to, $4 switch id.
select from haas.traffic_share t where t.step = $1::int and t.at >= $2::timestamptz and t.at < $3::timestamptz
and t.switch_id = $4::bigint limit 1

-- :statement drill_unknown
-- :columns kind, name, list
-- The part of a path that is not and was not, or no row: kind, name, what lists what there is. $1 switch id, $2 port, $3 ids of tenants, $4
-- VLAN, $5 $6 ends; null = not in the path.
select kind, name, list from haas.drill_unknown($1::bigint, $2::text, $3::bigint[], $4::int, $5::text, $6::text)

-- :part covered square
-- What of a window counters say, less what a burst at its ends may be off: it is on either side by up to half a second, either way alike.
1 / (1 / x.covered + coalesce(power(x.shift, 2) / 12 / nullif(${square}, 0), 0))

-- :statement drill_scale
-- :columns
--   exact    bytes that the link counted; null for a tenant and where nothing is known
--   seconds  in so many
--   factor   counted / sampled; null: known of too little time
--   covered  of the time, the part of which the factor is known
--   bytes    sampled at the link, of what the asking side may see; null: nothing
--   square
-- $1 step, $2 from, $3 to, $4 switch id, $5 port, $6 what a collector has in memory.
select x.exact, x.seconds, x.scale as factor, ${covered l.square} as covered, l.bytes, l.square from
haas.link_spread($1::int, $2::timestamptz, $3::timestamptz, $4::bigint, $5::text, $6::jsonb) l
left join haas.port_scale($1::int, $2::timestamptz, $3::timestamptz, $4::bigint, $5::text, $6::jsonb) x on true

-- :statement drill_joined
-- :columns present, seconds, memory, bytes, nobodys, lost, thinned
-- What of the minutes that are read together was collected, as above: stored ones, and those in memory ($3: a collector's answer) that are
-- not.
-- $1 = from, $2 = to, whole minutes; $3 = a collector's answer.
with w as (select $1::timestamptz as lower, $2::timestamptz as upper),
b as (select b.at, b.writer, b.bytes, b.unattributed_bytes, b.lost_bytes, b.thinned, tstzrange(b.from_at, greatest(b.from_at, b.to_at))
* tstzrange(w.lower, w.upper) as range from w join haas.traffic_bucket b on b.step = 60 and b.at >= w.lower and b.at < w.upper),
l as (select to_timestamp(m.at) as at, m.seconds, m.thinned, m.total from jsonb_to_recordset($3::jsonb -> 'minutes') as m(at bigint, cut boolean,
seconds bigint, thinned double precision, total jsonb) where m.cut or not exists (select from haas.traffic_bucket x where x.step = 60 and
x.at = to_timestamp(m.at) and starts_with(x.writer, ($3::jsonb ->> 'writer') || ':')))
select (select count(distinct y.at) from (select at from b union all select at from l) y) as present,
(select coalesce(round(sum(extract(epoch from upper(r) - lower(r)))::numeric, 3), 0) from (select range_agg(range) as ranges from b) y,
unnest(y.ranges) r) + coalesce((select sum(seconds) from l), 0) as seconds, coalesce((select sum(seconds) from l), 0) as memory,
case when haas.is_operator() then coalesce((select sum(bytes) from b), 0)::bigint end as bytes,
case when haas.is_operator() then coalesce((select sum(unattributed_bytes) from b), 0)::bigint end as nobodys,
case when haas.is_operator() then coalesce((select sum(lost_bytes) from b), 0)::bigint end as lost,
coalesce(greatest((select max(thinned) from b), (select max(thinned) from l)), 1) as thinned

-- :part where_link
${in_time} ${at_place}

-- :part where_owner
${where_link} ${of_owner}

-- :part where_vlan
${where_owner} ${of_vlan}

-- :part where_pair
${where_vlan} ${of_pair}

-- :part where_flow
${where_pair} and t.source = $13::text and t.source_port = $14::int and t.target =
$15::text and t.target_port = $16::int and t.protocol = $17::int and
t.ethertype = $18::int and ${forward} = $19::boolean

-- :statement drill_all
-- :columns = drill
-- Each link by its own scale, of what is stored and of what is in memory together.
with b as (select t.switch_id, t.port, ${sums} from (${links_of_all}
 union all ${links_of_tenant}) t group by t.switch_id, t.port), ${live_rows}u as (select y.k1, y.k2, ${sums_of y}, sum(y.missed)::bigint as missed from
(select w.name as k1, b.port as k2, b.bytes, b.packets, b.samples, b.square, 0::bigint as missed from b
join haas.switch w on w.id = b.switch_id
union all select k1, k2, bytes, packets, samples, square, missed from lr) y group by y.k1, y.k2),
x as (select w.name as k1, y.port as k2, y.exact, y.seconds, y.scale as factor, y.covered, y.shift from haas.port_scale($1::int,
$2::timestamptz, $3::timestamptz, null, null, $5::jsonb) y join haas.switch w on w.id = y.switch_id),
c as (select u.k1, u.k2, ${no_keys_after_2}
, '' as network, x.exact, x.seconds as exact_seconds,
case when x.factor is null then u.bytes else floor(u.bytes * x.factor)::bigint end as bytes,
case when x.factor is null then u.packets else floor(u.packets * x.factor)::bigint end as packets, u.samples,
case when x.factor is null then u.square when haas.is_operator() then u.square * x.factor * x.factor * (1 / (${covered u.square}) - 1)
else power(greatest(1, x.factor) * sqrt(u.square) + u.bytes * abs(x.factor - 1) / 1.959964, 2) end as square,
-- scale_own
(u.missed + coalesce((select sum(l.floor) from l), 0))::bigint as missed from u left join x using (k1, k2)),
-- and links that memory did not tell: in the total alone
${total select bytes, packets, samples, square, 0::bigint as missed from c union all
select -bytes, -packets, -samples, -square, 0 from lr} ${drill_store_answer}

-- :statement drill_link
-- :columns = drill
with s as (select t.tenant as k1, t.reason as k2, ${no_keys_after_2}
, '' as network, ${no_exact}, ${sums}
, 0::bigint as missed from haas.traffic_share t where ${where_link}
 group by t.tenant, t.reason), ${live_rows}${children 0}
${total_of_children}${drill_store_answer}

-- :statement drill_owner
-- :columns = drill
with s as (select t.vlan::text as k1, ${no_keys_after_1}
, t.network, ${no_exact}, ${sums}
, 0::bigint as missed from haas.traffic_share t where ${where_owner}
 group by t.vlan, t.network), ${live_rows}${children 0}
${total_of_children}${drill_store_answer}

-- :statement drill_vlan
-- :columns = drill
-- A pair that is not there in a bucket may have had as much as the smallest that was kept, at each port where it may be.
with ${pairs}
-- Where a pair is, no floor speaks of it: once, also where two collectors wrote of a bucket.
d as (select x.k1, x.k2, sum(f.floor)::bigint as floor from (select distinct at, switch_id, port, n, reason, k1, k2 from r) x
join f using (at, switch_id, port, n, reason) group by 1, 2),
b as (select t.k1, t.k2, ${sums}
, sum(t.missed) as missed from r t group by 1, 2),
s as (select b.k1, b.k2, ${no_keys_after_2}, '' as network, ${no_exact}
, b.bytes, b.packets, b.samples, b.square, (b.missed - coalesce(d.floor, 0))::bigint as missed
from b left join d using (k1, k2)), ${live least(r.k1, r.k2) ;; greatest(r.k1, r.k2) ;; r.k7}
${children ${floor_of_pair}} ${total_of traffic_share ;; ${where_vlan} ;; 0}${drill_store_answer}

-- :statement drill_pair
-- :columns = drill
-- A flow that is not there, likewise: as much as the smallest that was kept of its pair.
with b as (select t.at, t.switch_id, t.port, coalesce(t.network_id, 0) as n, t.reason,
t.source as k1, t.source_port::text as k2, t.target as k3, t.target_port::text as k4,
t.protocol::text as k5, t.ethertype::text as k6, ${forward}::text as k7, ${sums}
, sum(t.missed)::bigint as missed from haas.traffic_flow t where ${where_pair}
 group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), ${pairs}
o as (select r.* from r where r.k1 = least($11::text, $12::text) and r.k2 = greatest($11::text, $12::text)),
h as (select at, switch_id, port, n, reason, sum(below)::bigint as floor from o
group by 1, 2, 3, 4, 5 having sum(below) > 0),
s as (select b.k1, b.k2, b.k3, b.k4, b.k5, b.k6, b.k7, '' as network, ${no_exact}
, sum(b.bytes)::bigint as bytes, sum(b.packets)::bigint as packets,
sum(b.samples)::bigint as samples, sum(b.square) as square,
(sum(b.missed) - coalesce(sum(h.floor), 0))::bigint as missed
from b left join h using (at, switch_id, port, n, reason) group by 1, 2, 3, 4, 5, 6, 7), ${live_rows}${children coalesce((select sum(h.floor) from h), 0)} ${total select bytes, packets, samples, square, missed from o ${others_floors ${floor_of_asked} ;; f ;; o}} ${drill_store_answer}

-- :statement drill_flow
-- :columns = drill
with h as (select t.at, t.switch_id, t.port, coalesce(t.network_id, 0) as n, t.reason,
sum(t.floor)::bigint as floor from haas.traffic_pair t where ${where_pair}
 group by 1, 2, 3, 4, 5 having sum(t.floor) > 0),
o as materialized (select t.at, t.switch_id, t.port, coalesce(t.network_id, 0) as n, t.reason, t.bytes, t.packets,
t.samples, t.square, t.missed from haas.traffic_flow t where ${where_flow}),
c as (select null as k1, ${no_keys_after_1}, '' as network, ${no_exact}
, 0::bigint as bytes, 0::bigint as packets,
0::bigint as samples, 0::double precision as square, 0::bigint as missed where false), ${live_rows}${total select bytes, packets, samples, square, missed from o ${others_floors select coalesce(sum(h.floor), 0) from h ;; h ;; o}}
${drill_store_answer}

-- A series: what its place adds up to, bucket by bucket, and second by second where a collector tells them.
-- :row drill_series
--   at       seconds since 1970: its begin
--   seconds  collected
--   bytes    five as drill_sums_of reads them
--   packets
--   samples
--   square
--   missed

-- :part series_of before, stored, factor
-- A minute is from memory where it is cut, or not stored by this collector, as for a level; and where memory has all of its seconds. What another life of
-- the collector stored of a minute stands beside what this one has in memory. `factor`: of what memory says, counted to sampled.
with ${before}k as (select b.at, (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0) from unnest(range_agg(tstzrange(b.from_at, greatest(b.from_at, b.to_at)))) r) as seconds,
bool_or(b.mine) as some_mine, bool_and(b.mine) as mine from (select x.at, x.from_at, x.to_at, coalesce(starts_with(x.writer, ($5::jsonb ->> 'writer') || ':'), false) as mine
from haas.traffic_bucket x where x.step = $1::int and x.at >= $2::timestamptz and x.at < $3::timestamptz) b group by b.at),
u as (select to_timestamp(m.at) as at, m.at as begin, m.seconds, m.first, m.series, m.total from jsonb_to_recordset($5::jsonb -> 'minutes')
as m(at bigint, cut boolean, seconds bigint, first bigint, series jsonb, total jsonb) left join k on k.at = to_timestamp(m.at)
where m.cut or k.at is null or not k.some_mine or k.mine and jsonb_array_length(m.series) >= floor(k.seconds)),
x as (${stored})
select extract(epoch from k.at)::bigint as at, k.seconds, coalesce(x.bytes, 0) as bytes, coalesce(x.packets, 0) as packets, coalesce(x.samples, 0) as samples,
coalesce(x.square, 0) as square, coalesce(x.missed, 0) as missed from k left join x using (at) where not (k.mine and exists (select from u where u.at = k.at))
union all select u.first + s.n - 1, 1, floor((s.e ->> 0)::bigint * ${factor})::bigint, floor((s.e ->> 1)::bigint * ${factor})::bigint, (s.e ->> 2)::bigint,
(s.e ->> 3)::double precision * power(${factor}, 2), 0
from u cross join lateral jsonb_array_elements(u.series) with ordinality s(e, n)
union all select u.begin, u.seconds, floor((u.total ->> 'bytes')::bigint * ${factor})::bigint, floor((u.total ->> 'packets')::bigint * ${factor})::bigint,
(u.total ->> 'samples')::bigint, (u.total ->> 'square')::double precision * power(${factor}, 2), 0 from u where u.series is null and u.seconds > 0
order by 1

-- :part series table, where, missed
${series_of  ;; select t.at, ${sums}, sum(${missed})::bigint as missed from haas.${table} t where ${where}
 group by t.at ;; 1}

-- :statement series_all
-- :columns = drill_series
-- What left all links: each by its own scale, as its level is. Of memory by the mean of what it has of each. Bounds are those of samples.
${series_of s as materialized (select y.switch_id, y.port, coalesce(y.scale, 1) as scale from haas.port_scale($1::int, $2::timestamptz, $3::timestamptz, null, null, $5::jsonb) y),
f as materialized (select coalesce(sum(r.bytes * coalesce(s.scale, 1)) / nullif(sum(r.bytes), 0), 1) as factor from jsonb_to_recordset($5::jsonb -> 'minutes') as m(rows jsonb)
cross join lateral jsonb_to_recordset(m.rows) as r(k1 text, k2 text, bytes bigint) left join haas.switch w on w.name = r.k1 left join s on s.switch_id = w.id and s.port = r.k2),
 ;; select t.at, floor(sum(t.bytes * coalesce(s.scale, 1)))::bigint as bytes, floor(sum(t.packets * coalesce(s.scale, 1)))::bigint as packets,
sum(t.samples)::bigint as samples, sum(t.square * power(coalesce(s.scale, 1), 2)) as square, 0::bigint as missed
from (select t.at, t.switch_id, t.port, t.bytes, t.packets, t.samples, t.square from haas.traffic_link t where ${in_time}
 union all select t.at, t.switch_id, t.port, t.bytes, t.packets, t.samples, t.square from haas.traffic_share t where ${in_time}
 and t.direction = 'out' and t.tenant_id = haas.current_tenant() and not haas.is_operator()) t left join s using (switch_id, port) group by t.at
 ;; (select f.factor from f)}

-- :statement series_link
-- :columns = drill_series
${series traffic_share ;; ${where_link} ;; 0}

-- :statement series_owner
-- :columns = drill_series
${series traffic_share ;; ${where_owner} ;; 0}

-- :statement series_vlan
-- :columns = drill_series
${series traffic_share ;; ${where_vlan} ;; 0}

-- :statement series_pair
-- :columns = drill_series
${series traffic_pair ;; ${where_pair} ;; t.missed}

-- :statement series_flow
-- :columns = drill_series
${series traffic_flow ;; ${where_flow} ;; t.missed}
