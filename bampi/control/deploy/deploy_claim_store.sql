-- Statements of bampi/control/deploy/deploy_claim_store.c.

-- :part ms column
-- Times leave the database as milliseconds since 1970.
floor(extract(epoch from ${column}) * 1000)::bigint

-- :part ahead
-- Who is further along goes first, as if due so much earlier per step begun: of ten thousand at once the first are installed while the last
-- still wait, instead of all going side by side. Whoever has waited for longer than that goes before all of them, so nobody starves; cancel is
-- wanted soon. A BMC's answer counts as due now, not as due when the claim runs out.
interval '2 minutes'

-- :part due_again
now() + $2::bigint * interval '1 ms'

-- :statement deploy_claim
-- :columns id, generation
update haas.deployment set claim_owner = $1, claim_until = ${due_again}, generation = generation + 1, due_at = ${due_again}
where id = any (array(
  select id from haas.deployment
  where due_at is not null and (due_at <= now() or id = any ($3::bigint[]))
    and (claim_until is null or claim_until <= now() or claim_owner = $1)
  order by least(due_at, now()) - ${ahead} * (case state when 'queued' then 0 when 'cancelling' then 60 else step_index + 1 end)
  limit 256 for no key update skip locked)) returning id, generation

-- :statement deploy_facts
-- :columns
--   id
--   generation
--   plan
--   state
--   step
--   step_index
--   attempt
--   step_started_ms
--   step_deadline_ms
--   created_ms
--   tenant_id
--   tenant
--   actor
--   params
--   memo
--   problem
--   node_id
--   node
--   serial
--   boot_mac
--   node_state
--   dirty
--   firmware
--   secure_boot
--   attest_key
--   attest_pcr7
--   manifest
--   signature
--   stored_digest
--   root_partition
--   withdrawn
--   intent_target
--   intent_deployment_id
--   intent_token
--   intent_nonce
--   intent_agent_key
--   intent_fetched
--   intent_ended
--   observations
--   task_id
--   task_kind
--   task_state
--   task_token
--   task_step
--   task_created_ms
--   task_updated_ms
--   task_result
--   task_problem
--   progress_ms
--   attempts
--   results
--   drives
--   certified
--   chain_head
--   boot_server
--   leased_ms
--   place
--   packages
--   volumes
--   now_ms
--   fresh_task
-- Whoever has a new generation by now is not ours any more.
select c.id, c.generation, c.plan, c.state, c.step, c.step_index, c.attempt, ${ms c.step_started_at} as step_started_ms, ${ms c.step_deadline_at} as step_deadline_ms,
${ms c.created_at} as created_ms, c.tenant_id, t.name as tenant, c.actor, c.params, c.memo, c.problem,
n.id as node_id, n.name as node, n.serial, b.mac as boot_mac, n.state as node_state, n.dirty, n.firmware, n.secure_boot, pin.key as attest_key, pin.pcr7 as attest_pcr7,
i.manifest, encode(i.signature, 'hex') as signature, i.stored_digest, i.root_partition, i.state = 'withdrawn' as withdrawn,
bi.target as intent_target, bi.deployment_id as intent_deployment_id, bi.token as intent_token, bi.nonce as intent_nonce,
bi.agent_key as intent_agent_key, bi.fetched_at is not null as intent_fetched, bi.ended_why as intent_ended,
(select jsonb_object_agg(o.kind, jsonb_build_object('at_ms', ${ms o.at}, 'token', o.token, 'detail', o.detail, 'bytes', o.bytes))
 from haas.boot_observation o where o.node_id = n.id) as observations,
a.id as task_id, a.kind as task_kind, a.state as task_state, a.token as task_token, a.step as task_step, ${ms a.created_at} as task_created_ms, ${ms a.updated_at} as task_updated_ms, a.result as task_result, a.problem as task_problem,
(select ${ms p.updated_at} from haas.progress p where p.deployment_id = c.id) as progress_ms,
(select jsonb_object_agg(s.step_index, s.attempt) from
 (select step_index, max(attempt) as attempt from haas.deployment_step where deployment_id = c.id group by 1) s) as attempts,
(select jsonb_object_agg(r.kind, r.result) from (select distinct on (x.kind) x.kind, x.result from haas.agent_task x
  where x.deployment_id = c.id and x.state = 'done' and x.kind in ('erase', 'verify_erased', 'write_image') order by x.kind, x.id desc) r) as results,
-- '[]' is an inventory without drives; without an inventory it is null.
case when c.plan = 'release' then
 coalesce((select jsonb_agg(jsonb_build_object('serial', v.serial, 'name', v.name, 'size_bytes', v.size_bytes) order by v.serial)
  from haas.drive v where v.node_id = n.id), (select '[]'::jsonb from haas.node_inventory v where v.node_id = n.id)) end as drives,
exists (select from haas.certificate f where f.deployment_id = c.id) as certified,
(select f.hash from haas.certificate f order by f.id desc limit 1) as chain_head,
lease.boot_server, lease.leased_ms,
haas.node_place_facts(n.id) as place,
case when c.plan in ('install', 'reinstall') and c.params ? 'packages' then haas.deployment_packages(c.params, c.tenant_id) end as packages,
case when c.plan in ('install', 'reinstall') then haas.node_volume_facts(n.id) end as volumes,
${ms clock_timestamp()} as now_ms,
-- The number of the task that this look may post: it is signed before it is written.
nextval('haas.agent_task_id_seq') as fresh_task
from unnest($1::bigint[], $2::bigint[]) k (id, generation) join haas.deployment c on c.id = k.id and c.generation = k.generation
 join haas.node n on n.id = c.node_id
 left join haas.nic b on b.node_id = n.id and b.boot
 left join haas.node_attestation pin on pin.node_id = n.id
 left join haas.tenant t on t.id = c.tenant_id
 left join haas.image i on i.id = c.image_id
 left join haas.boot_intent bi on bi.node_id = n.id
 -- What was seen is written once a second; a lease stands here before its ACK.
 left join lateral (select host(s.boot_server) as boot_server, ${ms greatest(l.bound_at, l.expires_at - s.lease_s * interval '1 s')} as leased_ms
  from haas.lease l join haas.subnet s on s.id = l.subnet_id where l.mac = b.mac and l.state = 'bound' order by l.expires_at desc limit 1) lease on true
 left join lateral (select * from haas.agent_task x where x.deployment_id = c.id and x.step = c.step order by x.id desc limit 1) a on true
order by c.id

-- :statement deploy_next
-- :columns next_ms
select floor(extract(epoch from min(due_at) - clock_timestamp()) * 1000)::bigint as next_ms from (
 select min(due_at) as due_at from haas.deployment where due_at > now()
 union all select min(due_at) from haas.node_action where due_at > now()) x

-- :statement deploy_extend
-- :columns id, generation, held
-- What we claimed ourselves meanwhile has a new generation, and is ours: its BMC job is known by the old one until its facts are there.
with k as (select * from unnest($1::bigint[], $2::bigint[]) as k (id, generation)), kept as (
 update haas.deployment d set claim_until = now() + $3::bigint * interval '1 ms' from k
 where d.id = any (array(select id from haas.deployment where id = any ($1::bigint[]) and claim_owner = $4 order by id for no key update))
 and d.id = k.id and d.generation = k.generation and d.claim_owner = $4 returning d.id, d.generation)
select kept.id, kept.generation, true as held from kept union all
select k.id, k.generation, false from k where not exists (select from kept where kept.id = k.id)
 and not exists (select from haas.deployment d where d.id = k.id and d.claim_owner = $4)

-- :statement deploy_chain_head
-- :columns hash
select hash from haas.certificate order by id desc limit 1
