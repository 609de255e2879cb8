-- SQL of switches, ports and what reads option 82. Writers notify 'address': bampi-bootd keeps all of it in memory.
-- :use portal/server/fabric_text.sql
-- :use portal/server/store_text.sql

-- :part port_item
jsonb_build_object('switch', v.switch, 'port', v.port, 'node', v.node, 'address', v.address, 'seen', v.seen)

-- :part ports
-- What is declared of a port beside what was last seen there; the key orders both.
(select coalesce(d.switch, g.switch) as switch, coalesce(d.port, g.port) as port, d.node, d.address, g.seen,
coalesce(d.switch, g.switch) || chr(9) || coalesce(d.port, g.port) as key
from (select s.name as switch, p.name as port, n.name as node, host(p.address) as address from haas.port p
join haas.switch s on s.id = p.switch_id left join haas.node n on n.id = p.node_id) d
full join (select distinct on (x.switch, x.port) x.switch, x.port, jsonb_build_object('mac', x.mac::text,
'node', n.name, 'since', x.since, 'seen_at', x.seen_at) as seen from haas.sighting x
join haas.node n on n.id = x.node_id where x.port <> '' order by x.switch, x.port, x.seen_at desc) g
on g.switch = d.switch and g.port = d.port) v

-- :part printable bytes
-- Bytes that can be printed without escapes, else null.
case when encode(${bytes}, 'escape') ~ '^[ -\[\]-~]+$' then encode(${bytes}
, 'escape') end

-- :part circuit_item
jsonb_build_object('id', c.id, 'relay', host(c.relay), 'circuit', encode(c.circuit, 'hex'), 'circuit_text', ${printable c.circuit}, 'remote', encode(c.remote, 'hex'), 'remote_text', ${printable c.remote}, 'mac', c.mac::text, 'node', n.name, 'seen', c.seen, 'first_at', c.first_at, 'last_at', c.last_at)

-- :part rule_item
jsonb_build_object('name', r.name, 'relay', r.relay::text, 'family', r.family, 'circuit', r.circuit,
'remote', r.remote, 'switch', r.switch, 'port', r.port, 'port_offset', r.port_offset, 'created_at', r.created_at)

-- :part not_found title, hint
union all select 404, null, null, ${store_problem 404 ;; not_found ;; ${title} ;; ${hint} ;; null}

-- :part port_was
-- Port $2 of switch $1 before the statement changes it.
was as (select jsonb_build_object('node', n.name, 'address', host(o.address)) as item from haas.port o join haas.switch s on s.id = o.switch_id
left join haas.node n on n.id = o.node_id where s.name = $1 and o.name = $2)

-- :statement switch_list
-- :columns = document
-- :list text
--   name        natural        v.name
--   state       text           case when v.fabric is null then 'unmanaged' when v.reachable is null then 'new' when v.reachable then 'reachable' else 'silent' end
--   fabric      natural        v.fabric
--   role        text           v.role::text
--   address     natural        v.address
--   family      text           coalesce(v.family, v.family_wanted)::text
--   managed     bool           v.managed
--   ports       number         v.port_count
--   up          number         v.ports_up
--   uplinks     number         v.uplinks
--   edges       number         v.edges
--   vlans       number         v.vlans
--   system      text unsorted  v.system
--   problem     text unsorted  v.problem ->> 'message'
--   read_at     time           v.read_at
--   created_at  time           v.created_at
-- $1 limit $2 cursor -> (page)
${store_page v.name ;; ${switch_item} ;; haas.switch_view v where ($2::text is null or v.name collate haas.natural_order > $2) ;; v.name collate haas.natural_order}

-- :statement switch_get
-- :columns = resource
-- $1 name -> (body, version, whole)
select (${switch_item})::text as body, haas.edit_version('switch', v.name) as version, false as whole from haas.switch_view v where v.name = $1

-- :statement switch_put
-- $1 name $2 ports $3 base $4 port_low $5 port_high $6 moved $7 swapped; store_switch_managed answers
with was as (select to_jsonb(o) - 'id' as item from haas.switch o where o.name = $1),
s as (insert into haas.switch (name, ports, base, port_low, port_high, moved, swapped)
values ($1, $2, $3::inet, $4::int, $5::int, $6, $7) on conflict (name) do update set ports = excluded.ports,
base = excluded.base, port_low = excluded.port_low, port_high = excluded.port_high, moved = excluded.moved,
swapped = excluded.swapped returning *)
select haas.event_told('switch.placed', 'switch', s.name, null, 'switch placed',
jsonb_build_object('before', (select item from was), 'after', to_jsonb(s) - 'id')),
pg_notify('address', '') from s

-- :statement switch_delete
-- :columns = answer
-- $1 name $2 actor $3 force -> answer
${store_answer select 204 as status, null as location, null::bigint as version, null::jsonb as body
from (select haas.switch_delete($1, $2, $3::boolean) offset 0) r}

-- :statement port_list
-- :columns = document
-- :list text
--   switch     natural  v.switch
--   port       natural  v.port
--   node       natural  v.node
--   address    natural  v.address
--   seen_node  natural  v.seen ->> 'node'
--   seen_mac   text     v.seen ->> 'mac'
--   seen_at    time     (v.seen ->> 'seen_at')::timestamptz
-- $1 limit $2 cursor $3 switch $4 port -> (page)
${store_page v.key ;; ${port_item} ;; ${ports}
 where ($2::text is null or v.key collate haas.natural_order > $2) and ($3::text is null or v.switch = $3)
and ($4::text is null or v.port = $4) ;; v.key collate haas.natural_order}

-- :statement port_put
-- :columns = answer
-- $1 switch $2 port $3 node $4 address -> answer
${store_answer_with ${port_was},
p as (insert into haas.port (switch_id, name, node_id, address) select s.id, $2, n.id, $4::inet from haas.switch s
left join haas.node n on n.name = $3 where s.name = $1 and ($3::text is null or n.id is not null)
on conflict (switch_id, name) do update set node_id = excluded.node_id, address = excluded.address returning *),
told as (select haas.event_told('port.placed', 'port', $1 || ':' || $2, null, format('port %s of switch %s is for %s%s',
$2::text, $1::text, coalesce($3::text, 'anybody'), coalesce(' at ' || $4::text, '')),
jsonb_build_object('before', (select item from was), 'after', jsonb_build_object('node', $3::text, 'address', host(p.address)))), pg_notify('address', '') from p) ;; select 200 as status, null as location, null::bigint as version, jsonb_build_object('switch', $1::text, 'port', $2::text,
'node', $3::text, 'address', host(p.address), 'seen', (select v.seen from ${ports}
 where v.switch = $1 and v.port = $2))
as body from told, p ${not_found format('switch %s is not declared', $1::text) ;; 'haasctl switch set declares it'} where not exists (select from haas.switch where name = $1) ${not_found format('node %s does not exist', $3::text) ;; 'haasctl node list shows the nodes'} from haas.switch where name = $1 and $3::text is not null and not exists (select from haas.node where name = $3)}

-- :statement port_delete
-- :columns = answer
-- $1 switch $2 port -> answer
${store_answer_with ${port_was},
gone as (delete from haas.port p using haas.switch s where s.id = p.switch_id and s.name = $1 and p.name = $2
returning p.name),
told as (select haas.event_told('port.deleted', 'port', $1 || ':' || $2, null, 'port deleted',
jsonb_build_object('before', (select item from was))),
pg_notify('address', '') from gone) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from told ${not_found format('port %s of switch %s is not declared', $2::text, $1::text) ;; 'haasctl port list shows the ports'} where not exists (select from haas.port p join haas.switch s on s.id = p.switch_id where s.name = $1 and p.name = $2)}

-- :statement circuit_list
-- :columns = document
-- :list bigint
--   id            number         c.id
--   relay         natural        host(c.relay)
--   circuit       text unsorted  encode(c.circuit, 'hex')
--   circuit_text  text unsorted  ${printable c.circuit}
--   remote        text unsorted  encode(c.remote, 'hex')
--   remote_text   text unsorted  ${printable c.remote}
--   mac           text           c.mac::text
--   node          natural        n.name
--   seen          number         c.seen
--   first_at      time           c.first_at
--   last_at       time           c.last_at
-- $1 limit $2 cursor $3 relay -> (page)
${store_page c.id ;; ${circuit_item} ;; haas.circuit_unknown c left join haas.nic x on x.mac = c.mac left join haas.node n on n.id = x.node_id
where ($2::bigint is null or c.id > $2::bigint) and ($3::text is null or c.relay = $3::inet) ;; c.id}

-- :statement circuit_drop
-- :columns = answer
-- $1 id -> answer
${store_answer_with gone as (delete from haas.circuit_unknown where id = $1::bigint returning relay, circuit),
told as (select haas.event_told('circuit.forgotten', 'relay', host(relay), null, 'a sample was forgotten',
jsonb_build_object('circuit', encode(circuit, 'hex'))) from gone) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from told ${not_found format('there is no circuit %s', $1::text) ;; 'haasctl circuit unknown shows the samples'} where not exists (select from haas.circuit_unknown where id = $1::bigint)}

-- :statement circuit_samples
-- :columns id, relay, circuit, remote
-- The latest samples, at most 1000, and $1 whatever its age -> (id, relay, circuit, remote) in hex. $1 may be NULL.
select c.id, host(c.relay) as relay, encode(c.circuit, 'hex') as circuit, encode(c.remote, 'hex') as remote from haas.circuit_unknown c
order by c.id = $1::bigint desc nulls last, c.last_at desc, c.id limit 1000

-- :statement rule_list
-- :columns = document
-- :list text
--   name        natural        r.name
--   relay       natural        r.relay::text
--   family      text           r.family::text
--   circuit     text unsorted  r.circuit
--   remote      text unsorted  r.remote
--   switch      natural        r.switch
--   port        natural        r.port
--   created_at  time           r.created_at
-- $1 limit $2 cursor -> (page)
${store_page r.name ;; ${rule_item} ;; haas.circuit_rule r where ($2::text is null or r.name collate haas.natural_order > $2) ;; r.name collate haas.natural_order}

-- :statement rule_get
-- :columns = resource
-- $1 name -> (body, version, whole)
select (${rule_item})::text as body, haas.edit_version('rule', r.name) as version, false as whole from haas.circuit_rule r where r.name = $1

-- :statement rule_put
-- $1 name $2 relay $3 family $4 circuit $5 remote $6 switch $7 port $8 port_offset $9 ids of the samples that it reads; rule_told answers
with was as (select ${rule_item}
 as item from haas.circuit_rule r where r.name = $1),
r as (insert into haas.circuit_rule (name, relay, family, circuit, remote, switch, port, port_offset)
values ($1, $2::cidr, $3, $4, $5, $6, $7, $8::int) on conflict (name) do update set relay = excluded.relay,
family = excluded.family, circuit = excluded.circuit, remote = excluded.remote, switch = excluded.switch,
port = excluded.port, port_offset = excluded.port_offset returning *),
gone as (delete from haas.circuit_unknown where id = any ($9::bigint[]) returning id),
told as (select haas.event_told('circuit.learned', 'rule', r.name, null, 'rule placed',
jsonb_build_object('before', (select item from was), 'after', ${rule_item}
)), pg_notify('address', '') from r)
select set_config('haas.result', (select count(*) from gone)::text, true) from told

-- :statement rule_told
-- :columns = answer
-- $1 name -> answer, with the version that the rule has now
${store_answer select 200 as status, null as location, haas.edit_version('rule', r.name) as version, ${rule_item}
 || jsonb_build_object('reads', current_setting('haas.result')::bigint) as body from haas.circuit_rule r where r.name = $1}

-- :statement rule_delete
-- :columns = answer
-- $1 name -> answer
${store_answer_with gone as (delete from haas.circuit_rule r where r.name = $1 returning r.name, ${rule_item}
 as was),
told as (select haas.event_told('circuit.rule_deleted', 'rule', name, null, 'rule deleted', jsonb_build_object('before', was)),
pg_notify('address', '') from gone) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from told ${not_found format('rule %s does not exist', $1::text) ;; 'haasctl circuit list shows the rules'} where not exists (select from haas.circuit_rule where name = $1)}
