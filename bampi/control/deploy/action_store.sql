-- Statements of bampi/control/deploy/action_store.c.

-- :statement action_claim
-- :columns id, generation, node_id, node, action, repeated, uefi, params
with due as (
  select id, state from haas.node_action
  where due_at <= now() and (claim_until is null or claim_until <= now())
  order by due_at limit 128 for no key update skip locked
)
update haas.node_action a set claim_owner = $1, claim_until = now() + $2::bigint * interval '1 ms',
  due_at = now() + $2::bigint * interval '1 ms', generation = a.generation + 1, state = 'running'
from due, haas.node n where a.id = due.id and n.id = a.node_id
returning a.id, a.generation, a.node_id, n.name as node, a.action, due.state = 'running' as repeated, n.firmware = 'uefi' as uefi, a.params

-- :statement action_extend
-- :columns id, generation, held
with k as (select * from unnest($1::bigint[], $2::bigint[]) as k (id, generation)), kept as (
 update haas.node_action a set claim_until = now() + $3::bigint * interval '1 ms', due_at = now() + $3::bigint * interval '1 ms' from k
 where a.id = k.id and a.generation = k.generation and a.claim_owner = $4 returning a.id, a.generation)
select kept.id, kept.generation, true as held from kept union all
select k.id, k.generation, false from k where not exists (select from kept where kept.id = k.id)

-- :part rows
jsonb_to_recordset($1::jsonb) as x (id bigint, generation bigint, result jsonb, problem jsonb)

-- :statement action_save
with saved as (
  update haas.node_action a set state = case when nullif(x.problem, 'null') is null then 'done' else 'failed' end, result = nullif(x.result, 'null'),
    problem = nullif(x.problem, 'null'), due_at = null, claim_owner = null, claim_until = null, ended_at = now()
  from ${rows} where a.id = x.id and a.generation = x.generation returning a.*
)
select haas.event_told(case s.state when 'done' then 'node.action_done' else 'node.action_failed' end, 'node', n.name, s.tenant_id,
  s.action || case s.state when 'done' then ' done' else ' failed: ' || (s.problem ->> 'message') end,
  jsonb_build_object('action', s.id, 'problem', s.problem))
from saved s join haas.node n on n.id = s.node_id
