-- Statements of bampi/control/deploy/deploy_save_store.c.

-- :part ours columns
-- Rows that are not ours any more drop out here: PART_DEPLOYMENT locked those that are, so the answer cannot change.
 from jsonb_to_recordset($1::jsonb) as x (id bigint, generation bigint${columns})
 join haas.deployment d on d.id = x.id and d.generation = x.generation join haas.node n on n.id = d.node_id

-- :part time column
to_timestamp(${column} / 1000.0)

-- :part same_boot
b.token = excluded.token

-- :statement deploy_lock_health
-- What is found out about drives is written there by triggers. Both whether or not the rows are ours: that is not known yet.
select haas.node_health_lock(array(select node_id from jsonb_to_recordset($1::jsonb) as x (node_id bigint)))

-- :statement deploy_lock_node
select haas.node_lock(array(select node_id from jsonb_to_recordset($1::jsonb) as x (node_id bigint)))

-- :statement deploy_save
-- :columns id
-- Due before its claim runs out: touched since the claim, so it is looked at again at once.
with x as (select * from jsonb_to_recordset($1::jsonb) as x (id bigint, generation bigint, state text, step text, step_index integer,
  attempt integer, started_ms bigint, deadline_ms bigint, due_ms bigint, keep boolean, memo jsonb, problem jsonb, waits jsonb, ended boolean)),
locked as (select d.id from haas.deployment d join x on x.id = d.id and x.generation = d.generation order by d.id for no key update of d)
update haas.deployment d set state = x.state::haas.deployment_state, step = x.step, step_index = x.step_index, attempt = x.attempt,
  step_started_at = ${time x.started_ms}, step_deadline_at = ${time x.deadline_ms},
  due_at = case when x.due_ms is null then null when d.due_at < coalesce(d.claim_until, 'infinity') then now() else ${time x.due_ms} end,
  claim_owner = case when x.keep then $2 end, claim_until = case when x.keep then now() + $3::bigint * interval '1 ms' end,
  memo = x.memo, problem = x.problem, started_at = coalesce(d.started_at, now()),
  ended_at = case when x.ended then now() end, waiting_reason = x.waits,
  waiting_since = case when x.waits is null then null when x.waits ->> 'message' = d.waiting_reason ->> 'message' then d.waiting_since else now() end,
  version = d.version + ((d.state::text, d.step, d.attempt) is distinct from (x.state, x.step, x.attempt))::integer
from x join locked on locked.id = x.id where d.id = x.id and d.generation = x.generation returning d.id

-- :statement deploy_node_event
select haas.node_transition(y.node_id, y.event::haas.node_event, 'bampid', y.detail) from (
 select d.node_id, x.event, x.detail ${ours , event text, detail jsonb} order by d.node_id offset 0) y

-- :statement deploy_ask_place
select haas.node_place_ask(y.node_id, y.place) from (select d.node_id, x.place ${ours , place text} order by d.node_id offset 0) y

-- :statement deploy_save_step
insert into haas.deployment_step (deployment_id, step_index, step, state, attempt, started_at, ended_at, problem)
select d.id, x.step_index, x.step, x.state, x.attempt, ${time x.started_ms}, case when x.ended then now() end, x.problem
${ours , step_index integer, step text, state text, attempt integer, started_ms bigint, ended boolean, problem jsonb}
on conflict (deployment_id, step_index, attempt) do update set state = excluded.state, ended_at = excluded.ended_at,
 problem = excluded.problem

-- :statement deploy_drop_task
update haas.agent_task set state = 'dropped', updated_at = now() where id = any (array(select t.id ${ours }
join haas.agent_task t on t.deployment_id = d.id where t.state in ('queued', 'taken') order by t.id for no key update of t))
 and state in ('queued', 'taken')

-- :statement deploy_post_task
-- The params are a text here: json keeps its bytes, which are signed.
insert into haas.agent_task (id, deployment_id, node_id, token, step, kind, params, statement, signature)
select x.task, d.id, d.node_id, x.token, x.step, x.kind, x.params::json, x.statement, x.signature
${ours , task bigint, token text, step text, kind text, params text, statement text, signature text}

-- :statement deploy_remove_intent
delete from haas.boot_intent b using (select d.id ${ours }) y where b.deployment_id = y.id

-- :statement deploy_put_intent
insert into haas.boot_intent as b (node_id, target, deployment_id, token, nonce, stored_digest)
select d.node_id, x.target, d.id, x.token, x.nonce, case when x.target = 'agent' then i.stored_digest end
${ours , target text, token text, nonce text} left join haas.image i on i.id = d.image_id order by d.node_id
on conflict (node_id) do update set target = excluded.target, deployment_id = excluded.deployment_id, token = excluded.token,
 nonce = excluded.nonce, stored_digest = excluded.stored_digest, changed_at = now(),
 fetched_at = case when ${same_boot} then b.fetched_at end, fetched_by = case when ${same_boot} then b.fetched_by end,
 fetched_connection = case when ${same_boot} then b.fetched_connection end, agent_key = case when ${same_boot} then b.agent_key end,
 agent_by = case when ${same_boot} then b.agent_by end, ended_at = case when ${same_boot} then b.ended_at end,
 ended_why = case when ${same_boot} then b.ended_why end

-- :statement deploy_put_inventory
-- A NIC without a neighbour was not listened on for long enough: the one it had is kept.
insert into haas.node_inventory as v (node_id, data, deployment_id) select d.node_id, x.data, d.id ${ours , data jsonb} order by d.node_id
on conflict (node_id) do update set data = jsonb_set(excluded.data, '{nics}', coalesce(
  (select jsonb_agg(case when a.nic -> 'lldp' = 'null' and b.lldp is not null then a.nic || jsonb_build_object('lldp', b.lldp) else a.nic end
    order by a.place) from jsonb_array_elements(excluded.data -> 'nics') with ordinality as a (nic, place)
    left join lateral (select o -> 'lldp' as lldp from jsonb_array_elements(v.data -> 'nics') o where o -> 'mac' = a.nic -> 'mac' limit 1) b
    on true), '[]')),
  deployment_id = excluded.deployment_id, at = now()

-- :statement deploy_put_attestation
insert into haas.node_attestation (node_id, attested, why, deployment_id, key, pcr7)
select d.node_id, x.attested, x.why, d.id, x.key, x.pcr7 ${ours , attested boolean, why text, key text, pcr7 text} order by d.node_id
on conflict (node_id) do update set attested = excluded.attested, why = excluded.why, deployment_id = excluded.deployment_id,
 key = excluded.key, pcr7 = excluded.pcr7, at = now()

-- :statement deploy_put_drive
-- Only a complete list is the new truth about sizes: else a drive that hides a part of itself would be known by the rest.
insert into haas.drive as v (node_id, serial, name, model, kind, size_bytes, verdict, method, reason, verdict_at)
select d.node_id, y.serial, coalesce(y.name, ''), coalesce(y.model, ''), coalesce(y.kind, ''),
 coalesce(case when x.complete then y.size_bytes else greatest(y.size_bytes, known.size_bytes) end, 0),
 coalesce(y.verdict, 'unknown'), coalesce(y.method, ''), coalesce(y.reason, ''), case when y.verdict is not null then now() end
${ours , drives jsonb, complete boolean}
cross join jsonb_to_recordset(x.drives) as y (serial text, name text, model text, kind text, size_bytes bigint, verdict text,
  method text, reason text) left join haas.drive known on known.node_id = d.node_id and known.serial = y.serial order by d.node_id, y.serial
on conflict (node_id, serial) do update set name = excluded.name, model = excluded.model,
 kind = case when excluded.kind = '' then v.kind else excluded.kind end, size_bytes = excluded.size_bytes,
 verdict = case when excluded.verdict_at is null then v.verdict else excluded.verdict end,
 method = case when excluded.verdict_at is null then v.method else excluded.method end,
 reason = case when excluded.verdict_at is null then v.reason else excluded.reason end,
 verdict_at = coalesce(excluded.verdict_at, v.verdict_at)

-- :statement deploy_drop_drive
delete from haas.drive v using (select d.node_id, x.drives ${ours , drives jsonb}) y
 where v.node_id = y.node_id and not exists (select from jsonb_array_elements(y.drives) z where z ->> 'serial' = v.serial)

-- :statement deploy_put_certificate
insert into haas.certificate (node, deployment_id, body, previous_hash, hash, signature, public_key)
select x.node, d.id, x.body, x.previous_hash, x.hash, x.signature, x.public_key from (
 select d.id, x.* ${ours , ord integer, node text, body text, previous_hash text, hash text, signature text, public_key text}
) x (deployment, id, generation, ord, node, body, previous_hash, hash, signature, public_key)
 join haas.deployment d on d.id = x.deployment order by x.ord

-- :statement deploy_event
select haas.event_told(y.kind, 'node', y.name, y.tenant_id, y.message, y.detail) from (
 select x.kind, n.name, d.tenant_id, x.message, x.detail ${ours , ord integer, kind text, message text, detail jsonb}
order by x.ord offset 0) y

-- :statement deploy_learn_pace
-- After the steps, whose times it reads.
select haas.deployment_pace_learn(array(select d.id ${ours }))
