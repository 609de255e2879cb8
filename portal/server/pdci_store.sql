-- SQL of the PDCI and usage routes. What one statement found or made, haas.result keeps for the next: a statement doesn't see the rows that
-- its own functions write.
-- :use portal/server/deployment_store.sql
-- :use portal/server/store_text.sql

-- :part pdci_item
-- p is pdci, t its tenant.
jsonb_build_object('id', p.id, 'name', p.name, 'tenant', t.name, 'state', p.state, 'wanted', p.wanted, 'locked', p.locked, 'problem', p.problem,
'waiting', case when p.state in ('requested', 'building', 'releasing') then haas.unclaimed_reason(p.due_at, p.claim_until, p.created_at) end,
'nodes_wanted', (select sum((g ->> 'count')::bigint) from jsonb_array_elements(p.request -> 'groups') g),
'nodes_held', (select count(*) from haas.pdci_node m where m.pdci_id = p.id and m.released_at is null),
'nodes_ready', (select count(*) from haas.pdci_node m join haas.deployment d on d.id = m.deployment_id
join haas.node x on x.id = m.node_id and x.state = 'active' and x.tenant_id = p.tenant_id where m.pdci_id = p.id
and m.released_at is null and m.replace_asked_at is null and d.plan <> 'release' and d.state = 'done'),
'actor', p.actor, 'version', p.version, 'created_at', p.created_at, 'ready_at', p.ready_at, 'ended_at', p.ended_at)

-- :part pdci_nics
-- Which NIC, or bond of which NICs, of a node carries what; m is pdci_node.
coalesce((select jsonb_agg(jsonb_build_object('nic', w.nic, 'network', n.name, 'mode', w.mode, 'address', host(w.address),
'vlan', case when w.mode = 'tagged' then haas.node_network_vlan_seen(w.node_id, w.nic, w.network_id) end,
'members', (select jsonb_agg(b.nic order by b.nic collate haas.natural_order) from haas.node_bond b where b.node_id = w.node_id and b.name = w.nic))
order by w.nic collate haas.natural_order, w.mode = 'tagged', n.name collate haas.natural_order) from haas.node_network w join haas.network n on n.id = w.network_id
where w.node_id = m.node_id and n.pdci_id = m.pdci_id and m.released_at is null), '[]')

-- :part pdci_whole
${pdci_item} || jsonb_build_object('request', p.request, 'nodes', coalesce((select jsonb_agg(jsonb_build_object('node', m.node,
'class', m.class, 'group', m.group_index, 'address', host(m.address), 'released_at', m.released_at, 'replaces', m.replaces, 'replaced_by', m.replaced_by,
'replacing', m.replace_asked_at is not null and m.replaced_by is null, 'nics', ${pdci_nics}, 'problem',
case when m.released_at is null then haas.pdci_node_fault(m.pdci_id, m.node_id) end, 'deployment',
(select ${deployment_item} from haas.deployment_view v where v.id = m.deployment_id)) order by m.group_index, m.node collate haas.natural_order)
from haas.pdci_node m where m.pdci_id = p.id), '[]'),
'networks', coalesce((select jsonb_agg(jsonb_build_object('id', n.id, 'name', n.name, 'prefix', n.prefix::text, 'wanted', n.wanted)
order by n.name collate haas.natural_order) from haas.network n where n.pdci_id = p.id), '[]'),
'volumes', coalesce((select jsonb_agg(jsonb_build_object('id', v.id, 'name', v.name, 'kind', v.kind, 'size_bytes', v.size_bytes,
'state', v.state) order by v.kind desc, v.name collate haas.natural_order) from haas.volume_view v where v.pdci_id = p.id), '[]'))

-- :part pdcis
haas.pdci p join haas.tenant t on t.id = p.tenant_id

-- :statement pdci_list
-- :columns = document
-- :list bigint
--   id            number         p.id
--   name          natural        p.name
--   tenant        natural        t.name
--   state         text           p.state::text
--   wanted        text           p.wanted::text
--   locked        bool           p.locked
--   nodes_wanted  number         (select sum((g ->> 'count')::bigint) from jsonb_array_elements(p.request -> 'groups') g)
--   nodes_held    number         (select count(*) from haas.pdci_node m where m.pdci_id = p.id and m.released_at is null)
--   problem       text unsorted  p.problem ->> 'message'
--   actor         text           p.actor
--   created_at    time           p.created_at
--   ready_at      time           p.ready_at
--   ended_at      time           p.ended_at
-- $1 limit $2 cursor $3 state $4 active $5 tenant $6 name -> (page)
${store_page p.id ;; ${pdci_item} ;; ${pdcis} where ($2::bigint is null or p.id < $2::bigint) and ($3::text is null or p.state = $3)
and ($4::boolean is null or (p.state <> 'released') = $4::boolean) and ($5::text is null or t.name = $5)
and ($6::text is null or p.name = $6) ;; p.id desc}

-- :statement pdci_get
-- :columns = document
-- $1 id or name $2 tenant -> (body)
select (${pdci_whole})::text as body from ${pdcis} where p.id = haas.pdci_find($1, $2)

-- :statement class_list
-- :columns = document
-- $1 tenant -> (body)
select jsonb_build_object('items', haas.classes_offered_to($1))::text as body

-- :statement pdci_try
-- :columns feasibility
-- as store_pdci_create, nothing is kept -> ({volumes, links})
select haas.pdci_try($1, $2, $3::jsonb, $4)::text as feasibility

-- :statement pdci_create
-- $1 tenant $2 name $3 request $4 actor
select set_config('haas.result', haas.pdci_create($1, $2, $3::jsonb, $4)::text, true)

-- :statement pdci_created
-- :columns = answer
-- -> answer
${store_answer select 201 as status, '/api/v1/pdcis/' || p.id as location, null::bigint as version, ${pdci_whole}
 as body from ${pdcis} where p.id = ${kept}::bigint}

-- :statement pdci_release_ask
-- $1 id or name $2 tenant $3 actor
select set_config('haas.result', f.id::text, true), haas.pdci_release(f.id, $3) from (select haas.pdci_find($1, $2) as id offset 0) f

-- :statement pdci_replace_ask
-- $4: as for a release, so that both are called alike.
-- as store_pdci_release; $4 node
select set_config('haas.result', f.id::text, true), haas.pdci_replace(f.id, $4, $3) from (select haas.pdci_find($1, $2) as id offset 0) f

-- :statement pdci_lock_ask
-- as store_pdci_release; $4 locked
select set_config('haas.result', f.id::text, true), haas.pdci_lock(f.id, $4::boolean, $3) from (select haas.pdci_find($1, $2) as id offset 0) f

-- :statement pdci_released
-- :columns = answer
-- -> answer
${store_answer select 202 as status, '/api/v1/pdcis/' || p.id as location, null::bigint as version, ${pdci_whole}
 as body from ${pdcis} where p.id = ${kept}::bigint}

-- :part usage_from
-- What of a row lies between $4 and $5 is in from_at, to_at and seconds; to_at is null while it goes on.
greatest(u.from_at, $4::timestamptz)

-- :part usage_to
least(coalesce(u.to_at, now()), $5::timestamptz)

-- :statement usage_list
-- :columns = document
-- :list bigint
--   tenant   natural  u.tenant
--   pdci     natural  u.pdci
--   kind     text     u.kind::text
--   class    natural  u.class
--   subject  natural  u.subject
--   from_at  time     ${usage_from}
--   to_at    time     least(u.to_at, $5::timestamptz)
--   seconds  number   greatest(floor(extract(epoch from ${usage_to} - ${usage_from})), 0)::bigint
--   bytes    number   u.bytes
-- $1 limit $2 cursor $3 tenant $4 from $5 to $6 kind -> (page)
${store_page u.id ;; jsonb_build_object('tenant', u.tenant, 'kind', u.kind, 'subject', u.subject, 'class', u.class, 'pdci', u.pdci, 'from_at', ${usage_from},
'to_at', least(u.to_at, $5::timestamptz), 'seconds', greatest(floor(extract(epoch from ${usage_to} - ${usage_from})), 0)::bigint, 'bytes', u.bytes) ;; haas.usage u where ($2::bigint is null or u.id > $2::bigint) and ($3::text is null or u.tenant = $3)
and ($4::timestamptz is null or coalesce(u.to_at, now()) > $4::timestamptz) and ($5::timestamptz is null or u.from_at < $5::timestamptz)
and ($6::text is null or u.kind = $6) ;; u.id}
