-- What the API reads. security_invoker: row policies of the reader apply, so a tenant sees its own through the same views.
create view node_view with (security_invoker = true) as
select n.id, n.name, n.class, n.rack, n.unit, n.firmware, n.arch, n.serial, n.uuid, n.state, n.dirty, t.name as tenant, n.tenant_id,
       n.version, n.created_at, n.updated_at,
       b.driver as bmc_driver, host(b.address) as bmc_address, b.port as bmc_port, b.username as bmc_username,
       b.cipher_suite as bmc_cipher_suite, b.workarounds as bmc_workarounds, coalesce(b.observed_power, 'unknown') as power,
       b.observed_at as power_at, b.problem as bmc_problem,
       (select jsonb_agg(jsonb_build_object('name', x.name, 'mac', x.mac::text, 'boot', x.boot) order by x.name) from nic x where x.node_id = n.id) as nics,
       (select host(l.address) from lease l join nic x on x.mac = l.mac where x.node_id = n.id and l.state = 'bound' order by x.boot desc, l.expires_at desc limit 1) as address,
       d.id as deployment_id, d.plan, case when d.state in ('done', 'cancelled', 'cleared') then '' else d.step end as step,
       d.state as deployment_state, p.percent, p.text as progress
from node n
left join tenant t on t.id = n.tenant_id
left join bmc b on b.node_id = n.id
left join lateral (select * from deployment x where x.node_id = n.id order by x.id desc limit 1) d on true
left join progress p on p.deployment_id = d.id and d.due_at is not null and p.updated_at >= d.step_started_at;

create view deployment_view with (security_invoker = true) as
select d.id, d.job_id, d.plan, d.node, t.name as tenant, d.tenant_id, i.name as image, i.version as image_version, d.actor, d.state,
       d.step, d.step_index, d.attempt, d.problem, d.version, d.params, d.created_at, d.started_at, d.ended_at, d.step_started_at, d.step_deadline_at,
       p.percent, p.done_bytes, p.total_bytes, p.text as progress,
       (select jsonb_agg(jsonb_build_object('step', s.step, 'state', s.state, 'attempt', s.attempt, 'started_at', s.started_at, 'ended_at', s.ended_at,
						 'problem', s.problem) order by s.step_index, s.attempt)
	from deployment_step s where s.deployment_id = d.id) as steps
from deployment d
left join tenant t on t.id = d.tenant_id
left join image i on i.id = d.image_id
-- progress belongs to the step that was running when it was told
left join progress p on p.deployment_id = d.id and p.updated_at >= d.step_started_at;

create view job_view with (security_invoker = true) as
select j.id, j.kind, j.actor, j.tenant_id, j.created_at, w.total, w.done, w.failed, w.ended_at,
       case when w.total = w.done + w.failed then case when w.failed > 0 then 'failed' else 'done' end else 'running' end as state, w.items
from job j
join lateral (
	select count(*) as total, count(*) filter (where ok) as done, count(*) filter (where not ok) as failed,
	       case when bool_and(x.ended_at is not null) then max(x.ended_at) end as ended_at, jsonb_agg(x.item order by x.id) as items
	from (
		select d.id, d.state = 'done' as ok, d.ended_at,
		       jsonb_build_object('deployment', d.id, 'node', d.node, 'state', d.state, 'step', d.step, 'problem', d.problem) as item
		from deployment d where d.job_id = j.id and d.ended_at is not null
		union all
		select d.id, null, null, jsonb_build_object('deployment', d.id, 'node', d.node, 'state', d.state, 'step', d.step, 'problem', d.problem)
		from deployment d where d.job_id = j.id and d.ended_at is null
		union all
		select a.id, case a.state when 'done' then true when 'failed' then false end, a.ended_at,
		       jsonb_build_object('action', a.action, 'node', a.node, 'state', a.state, 'result', a.result, 'problem', a.problem)
		from node_action a where a.job_id = j.id
	) x
) w on true;

create view lease_view with (security_invoker = true) as
select host(l.address) as address, l.mac::text as mac, s.name as subnet, n.name as node, l.state, l.client, l.expires_at, l.bound_at,
       exists (select from reservation r where r.mac = l.mac and r.address = l.address) as reserved
from lease l
join subnet s on s.id = l.subnet_id
left join nic x on x.mac = l.mac
left join node n on n.id = x.node_id;

create view image_view with (security_invoker = true) as
select i.id, i.name, i.version, t.name as tenant, i.tenant_id, i.public, i.key_id, i.digest, i.stored_digest, i.size_bytes, i.stored_bytes,
       i.root_partition, i.firmware, i.state, i.received_bytes, i.version_number, i.created_at,
       (select jsonb_agg(g.tenant_id) from image_grant g where g.image_id = i.id) as granted_tenant_ids
from image i left join tenant t on t.id = i.tenant_id;

grant select on node_view, deployment_view, job_view, lease_view, image_view to portald;
