-- SQL of the newest values (live_values.h): asked a few times a second, however many look.
-- :use portal/server/pdci_store.sql

-- :part live_counts which
-- Silences are the operators' to see: a tenant's own alerts count for it all the same.
'open', count(*) filter (where ${which}), 'waiting', count(*) filter (where ${which} and s.acknowledged_by is null), 'critical', count(*) filter (where ${which} and s.severity = 'critical')

-- :statement live_values
-- :columns kind, name, tenant, site, body
-- $1 nodes that changed in this transaction or later, null = all -> one row a value, with the id of its tenant; kind now: name = the transaction
-- that the next question begins at, body = the one below which all ended that is shown. Names of members are those of the API.
select 'now' as kind, pg_snapshot_xmin(pg_current_snapshot())::text as name, '' as tenant, false as site, pg_snapshot_xmax(pg_current_snapshot())::text as body
union all
select 'node', n.name, coalesce(t.id::text, ''), true, jsonb_build_object('state', n.state, 'state_since', n.state_since, 'tenant', t.name,
'power', coalesce(b.observed_power, 'unknown'), 'version', n.version)::text
from haas.node n left join haas.tenant t on t.id = n.tenant_id left join haas.bmc b on b.node_id = n.id
where $1::xid8 is null or age(n.xmin) <= age($1::xid8::xid) or age(b.xmin) <= age($1::xid8::xid)
union all
select 'deployment', d.id::text, coalesce(d.tenant_id::text, ''), true, jsonb_build_object('node', d.node, 'plan', d.plan, 'state', d.state, 'step', d.step, 'step_index', d.step_index,
'attempt', d.attempt, 'percent', p.percent, 'done_bytes', p.done_bytes, 'total_bytes', p.total_bytes, 'progress', p.text, 'version', d.version)::text
from haas.deployment d left join haas.progress p on p.deployment_id = d.id and p.updated_at >= d.step_started_at
where d.due_at is not null
union all
select 'pdci', p.id::text, p.tenant_id::text, true, (${pdci_item} - 'waiting')::text
from ${pdcis} where p.state in ('requested', 'building', 'releasing')
union all
select 'job', j.id::text, coalesce(j.tenant_id::text, ''), true, jsonb_build_object('kind', j.kind, 'total', w.total, 'done', w.done, 'failed', w.failed)::text
from (select job_id from haas.deployment where due_at is not null union select job_id from haas.node_action where due_at is not null) o
join haas.job j on j.id = o.job_id cross join lateral (select count(*) as total, count(*) filter (where x.state = 'done') as done, count(*) filter (where x.ended and x.state <> 'done') as failed
from (select d.state::text as state, d.ended_at is not null as ended from haas.deployment d where d.job_id = j.id
union all select a.state::text, a.ended_at is not null from haas.node_action a where a.job_id = j.id) x) w
union all
select 'alerts', coalesce(t.name, ''), coalesce(t.id::text, ''), t.id is null, (case when t.id is null then a.told else a.own end)::text
from (select s.tenant_id, grouping(s.tenant_id) = 1 as site, jsonb_build_object(${live_counts true}) as own, jsonb_build_object(${live_counts not s.silent}) as told
from (select a.*, (haas.alert_silence_of(a.kind, a.subject)).id is not null as silent from haas.alert a where a.cleared_at is null and a.severity <> 'info') s
group by grouping sets ((), (s.tenant_id))) a left join haas.tenant t on t.id = a.tenant_id and not a.site
where a.site or t.id is not null
