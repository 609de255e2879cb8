-- Statements of bampi/control/alloc/pdci_store.c.

-- :part members
-- e is the newest deployment of the node, whoever asked for it.
haas.pdci_node m left join haas.deployment d on d.id = m.deployment_id left join haas.node n on n.id = m.node_id
left join lateral (select x.id, x.plan, x.state, x.problem, x.due_at from haas.deployment x where x.node_id = m.node_id order by x.id desc limit 1) e on true

-- :part lost
-- No more its tenant's, by somebody's word: released, repaired or unheld by hand.
coalesce(n.state not in ('reserved', 'active', 'broken', 'held') or n.tenant_id is distinct from p.tenant_id, true)

-- :part failed
-- A cancelled or cleared deployment will never hand the node over: that counts as failed; so does a node that nobody may touch, and one that
-- is being installed by nothing.
(coalesce(d.state in ('failed', 'cancelled', 'cleared'), true) or n.state in ('broken', 'held') or ${lost}
 or (n.state = 'reserved' and d.state = 'done' and e.due_at is null))

-- :part asked
-- To be replaced, and nobody has come yet.
(m.replace_asked_at is not null and m.replaced_by is null)

-- :statement pdci_claim
-- :columns
--   id
--   generation
--   name
--   tenant
--   absent
--   state
--   request
--   nodes
--   done
--   failed
--   failed_node
--   failed_why
--   replacing
--   failed_is_spare
--   failed_is_lost
--   problem
with due as (
  select id from haas.pdci where due_at <= now() and (claim_until is null or claim_until <= now())
  order by due_at limit 1 for update skip locked
), p as (
  update haas.pdci x set claim_owner = $1, claim_until = now() + $2::bigint * interval '1 ms', due_at = now() + $2::bigint * interval '1 ms',
    generation = x.generation + 1 from due where x.id = due.id returning x.*
)
select p.id, p.generation, p.name, t.name as tenant, p.wanted = 'absent' as absent, p.state, p.request, s.nodes, s.done, s.failed, f.node as failed_node, f.why as failed_why, s.replacing, f.spare as failed_is_spare, f.lost as failed_is_lost,
  p.problem ->> 'message' as problem
from p join haas.tenant t on t.id = p.tenant_id
cross join lateral (select count(*) as nodes,
  count(*) filter (where not ${asked} and not ${failed} and d.state = 'done' and n.state = 'active') as done,
  count(*) filter (where not ${asked} and ${failed}) as failed, count(*) filter (where ${asked}) as replacing
  from ${members} where m.pdci_id = p.id and (m.released_at is null or ${asked})) s
left join lateral (select m.node, m.replaces is not null as spare, ${lost} as lost, case when n.state in ('broken', 'held') then 'it is ' || n.state
  when d.state in ('failed', 'cancelled', 'cleared') then coalesce(d.problem ->> 'message', 'deployment ' || d.id || ' is ' || d.state)
  when n.id is null then 'it was deleted' when ${lost} then 'it is ' || n.state || ': it was taken out of this PDCI'
  else coalesce(e.problem ->> 'message', 'deployment ' || e.id || ' (' || e.plan || ') is ' || e.state, 'its deployment is gone') end as why
  from ${members} where m.pdci_id = p.id and m.released_at is null and not ${asked} and ${failed}
  order by m.replaces is not null, m.node limit 1) f on true

-- :statement pdci_images
-- :columns name, found, bios, uefi
select w.name, i.id is not null as found, 'bios' = any (i.firmware) as bios, 'uefi' = any (i.firmware) as uefi
from unnest($2::text[]) with ordinality as w (name, at)
left join lateral (select x.* from haas.image x where x.name = split_part(w.name, ':', 1) and x.state = 'ready'
  and (position(':' in w.name) = 0 or x.version = substr(w.name, position(':' in w.name) + 1))
  and haas.image_allowed(x.id, (select t.id from haas.tenant t where t.name = $1)) order by x.created_at desc, x.id desc limit 1) i on true
order by w.at

-- :statement pdci_packages
-- :columns name
select w.name from unnest($2::text[]) with ordinality as w (name, at)
where not haas.package_allowed(w.name, (select t.id from haas.tenant t where t.name = $1)) order by w.at limit 1

-- :statement pdci_nodes
-- :columns
--   id
--   name
--   class
--   rack
--   state
--   firmware
--   dirty
--   busy      t: a deployment is due, or a PDCI still has the node that somebody released by hand
--   bootable  t: a BMC and a boot NIC are known
--   unseen    t: its BMC never answered, nothing was found in it, no plan ever came to its end on it
--   label     the health label that forbids it
--   leaf      the switch that the node hangs at, or nothing
--   fits      why the node does not fit the request; null: it fits
--   disks     of alloc_disks_parse; null: nobody looked. NVMe is flash, whatever its drive says
--   cable     the fault of a port of the node
--   numbers   why the VLAN numbers of its fabric do not suffice
with short as materialized (select * from haas.vlan_short(nullif($2, '0')::bigint, $1::jsonb, $3::integer))
select n.id, n.name, n.class, n.rack, n.state, n.firmware, n.dirty,
  exists (select from haas.deployment d where d.node_id = n.id and d.due_at is not null)
   or (n.state = 'free' and exists (select from haas.pdci_node m where m.node_id = n.id and m.released_at is null)) as busy,
  exists (select from haas.bmc b where b.node_id = n.id) and exists (select from haas.nic x where x.node_id = n.id and x.boot) as bootable,
  not (exists (select from haas.node_inventory i where i.node_id = n.id) or exists (select from haas.bmc b where b.node_id = n.id and b.observed_at is not null)
   or exists (select from haas.deployment d where d.node_id = n.id and d.state = 'done')) as unseen,
  case when n.state = 'free' then (haas.health_effect(n.id, 'no_allocation')).label end as label,
  coalesce((select s.name from haas.wiring w join haas.switch s on s.id = w.switch_id where w.node_id = n.id order by s.name limit 1),
           (select s.name from haas.nic_location l join haas.nic x on x.mac = l.mac join haas.switch s on s.id = l.switch_id
            where x.node_id = n.id order by x.boot desc, s.name limit 1),
           (select s.name from haas.port p join haas.switch s on s.id = p.switch_id where p.node_id = n.id order by s.name limit 1), '') as leaf,
  case when n.state = 'free' then haas.node_fits(n.id, n.class, $1::jsonb) end as fits,
  case when n.state = 'free' and jsonb_path_exists($1::jsonb, '$.groups[*].disks') then (select
   (select coalesce(string_agg((d ->> 'size_bytes') || case when d -> 'rotational' = 'true' then 'r' when d -> 'rotational' = 'false' or d ->> 'kind' = 'nvme' then 'f' else 'u' end, ' '), '')
    from jsonb_array_elements(coalesce(i.data -> 'disks', '[]')) d
    where coalesce(d -> 'removable' <> 'true', true) and coalesce(d -> 'read_only' <> 'true', true))
   from haas.node_inventory i where i.node_id = n.id) end as disks,
  case when n.state = 'free' and exists (select from jsonb_array_elements($1::jsonb -> 'groups') g where coalesce(g ->> 'class', '') in ('', n.class))
   then haas.node_port_fault(n.id) end as cable,
  case when n.state = 'free' and exists (select from short) then (select min(s.why) from short s
    where s.fabric_id in (select haas.node_fabrics(n.id))) end as numbers
from haas.node n order by n.name

-- :statement pdci_waiters
-- :columns
--   id
--   tenant
--   request
--   counts   nodes that each group waits for
-- PDCIs that wait longer than PDCI $1 (0: than a question) for nodes of a class of request $2, first come, first. One whose last attempt failed for
-- another reason than missing nodes (requested, with a problem) holds nobody up.
with w as (
  select p.id, t.name as tenant, p.request, p.created_at as since, (select jsonb_agg(g -> 'count' order by i) from jsonb_array_elements(p.request -> 'groups') with ordinality as x (g, i)) as counts
  from haas.pdci p join haas.tenant t on t.id = p.tenant_id where p.wanted = 'present' and (p.state = 'infeasible' or (p.state = 'requested' and p.problem is null))
  union all
  select p.id, t.name, p.request, v.since, (select jsonb_agg((select count(*) from haas.pdci_node m where m.pdci_id = p.id and ${asked} and m.released_at is not null
    and m.group_index = i - 1) order by i) from jsonb_array_elements(p.request -> 'groups') with ordinality as x (g, i))
  from haas.pdci p join haas.tenant t on t.id = p.tenant_id
  cross join lateral (select min(m.replace_asked_at) as since from haas.pdci_node m where m.pdci_id = p.id and ${asked} and m.released_at is not null) v
  where p.wanted = 'present' and p.state not in ('requested', 'infeasible') and v.since is not null
    and coalesce(p.problem ->> 'code', 'conflict') = 'conflict'
)
select w.id, w.tenant, w.request, w.counts from w left join w me on me.id = $1::bigint
where w.id <> $1::bigint and (w.since, w.id) < (coalesce(me.since, 'infinity'), coalesce(me.id, 0))
  and exists (select from jsonb_array_elements(w.request -> 'groups') with ordinality as x (g, i), jsonb_array_elements($2::jsonb -> 'groups') h
    where (w.counts ->> (i - 1)::integer)::bigint > 0 and (coalesce(g ->> 'class', '') in ('', h ->> 'class') or coalesce(h ->> 'class', '') = ''))
order by w.since, w.id

-- :statement pdci_allocate
select haas.pdci_allocate($1::bigint, $2::bigint, $3::jsonb, 'bampid')

-- :statement pdci_release
-- :columns node, waits_for
select node, waits_for from haas.pdci_release_step($1::bigint, $2::bigint, 'bampid')

-- :statement pdci_replace
select haas.pdci_replace_broken($1::bigint, $2::bigint, $3)

-- :statement pdci_replace_step
-- :columns node, group_index, waits_for
select node, group_index, waits_for from haas.pdci_replace_step($1::bigint, $2::bigint, 'bampid')

-- :statement pdci_replace_take
select haas.pdci_replace_take($1::bigint, $2::bigint, $3::jsonb, 'bampid')

-- :statement pdci_save
-- Due before its claim runs out: one of its nodes changed since, so it is looked at again at once.
with was as (select id, name, tenant_id, state from haas.pdci where id = $1::bigint), saved as (
  update haas.pdci p set state = $3, problem = $4::jsonb, due_at = case when p.due_at < p.claim_until then now() when $5::bigint >= 0 then now() + $5::bigint * interval '1 ms' end,
    claim_owner = null, claim_until = null, version = version + case when p.state <> $3 or p.problem is distinct from $4::jsonb then 1 else 0 end,
    ready_at = case when $3 = 'ready' then coalesce(p.ready_at, now()) else p.ready_at end
  where p.id = $1::bigint and p.generation = $2::bigint returning p.id
)
select haas.event_told('pdci.' || $3, 'pdci', was.name, was.tenant_id, coalesce($4::jsonb ->> 'message', was.state || ' -> ' || $3),
  jsonb_build_object('pdci', was.id, 'problem', $4::jsonb)) from was join saved on true where was.state <> $3
