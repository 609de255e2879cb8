-- SQL of the mailbox: agent_task, progress. Each statement serves a whole batch.

-- :part open
-- Two thousand agents ask at once, and the statistics are of a time when nobody did: the planner then reads every open task for every poll. So
-- each poll is one probe of agent_task_open, and rows are changed by their id: OPEN is a state that no index offers itself for.
t.state || '' in ('queued', 'taken')

-- :statement mailbox_take
-- :columns id, token, deployment_id, statement, params, signature
-- $1 tokens. Takes the oldest open task of each, as bampid signed it. A task that was taken before is given again: its
-- agent polls, so it never got it.
with oldest as materialized (
	select x.id from unnest($1::text[]) as p (token) cross join lateral (
		select id from agent_task where token = p.token and state in ('queued', 'taken')
		order by id limit 1) x
)
update agent_task t set state = 'taken', updated_at = now()
where t.id = any (array(select id from agent_task where id = any (array(select id from oldest))
	order by id for no key update)) and ${open}
returning t.id, t.token, t.deployment_id, t.statement, t.params, t.signature

-- :statement mailbox_over
-- :columns id, dropped
-- A task whose deployment was deleted is over too.
-- $1 task ids. Those that are over: id, dropped.
select i.id, coalesce(t.state, 'dropped') = 'dropped' as dropped
from unnest($1::bigint[]) as i (id) left join agent_task t on t.id = i.id
where coalesce(t.state, 'dropped') not in ('queued', 'taken')

-- :statement mailbox_find
-- :columns deployment_id
-- $1 task id, $2 token: deployment_id of an open task.
select deployment_id from agent_task
where id = $1::bigint and token = $2 and state in ('queued', 'taken')

-- :statement mailbox_progress
-- The join drops the rows of deployments that are gone, which would fail the whole batch.
-- $1 deployment ids, $2 percents, $3 done bytes, $4 total bytes, $5 texts.
insert into progress (deployment_id, percent, done_bytes, total_bytes, text, updated_at)
select i.deployment_id, i.percent, i.done_bytes, i.total_bytes, i.text, now()
from unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[])
	as i (deployment_id, percent, done_bytes, total_bytes, text)
join deployment d on d.id = i.deployment_id order by d.id
on conflict (deployment_id) do update set percent = excluded.percent,
	done_bytes = excluded.done_bytes, total_bytes = excluded.total_bytes,
	text = excluded.text, updated_at = excluded.updated_at

-- :statement mailbox_result
-- :columns id, outcome, count
-- A step that drops tasks holds their deployment: so that is what is locked first here too.
-- $1 task ids, $2 tokens, $3 states, $4 results, $5 problems, $6 whether the agent refused the task: it is not believed that we gave it.
-- $7 whose signature the result has ('' = none), $8 from which address. Stores the result, makes the deployments due and notifies, in one transaction.
-- A result is taken of the agent that the task was signed for. Per row: id, outcome: stored, repeated, dropped, forged, unknown.
with input as (
	select id, token, state, result::jsonb, problem::jsonb, refused, agent, address
	from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::text[])
		as i (id, token, state, result, problem, refused, agent, address)
), touched as materialized (
	select deployment_touch(array_agg(t.deployment_id)) from agent_task t join input i
	on t.id = i.id and t.token = i.token and t.agent = i.agent where t.id = any (array(select id from input)) and ${open}
), locked as materialized (
	select t.id from agent_task t, touched where t.id = any (array(select id from input))
	order by t.id for no key update of t
), changed as (
	update agent_task t set state = i.state, result = i.result, problem = i.problem,
		updated_at = now()
	from input i where t.id = i.id and t.token = i.token and t.agent = i.agent and ${open}
	and t.id = any (array(select id from locked)) returning t.id
), alarmed as materialized (
	select haas.boot_alarm_add(n.id, 'boot.task_refused', format('the agent of node %s refused a task: %s', n.name, i.problem ->> 'message'),
		i.problem ->> 'hint', jsonb_build_object('task', i.id, 'detail', i.problem ->> 'detail'))
	from input i join boot_intent b on b.token = i.token join node n on n.id = b.node_id
	where i.refused and i.agent <> '' and coalesce(b.agent_key, i.agent) = i.agent
), forged as materialized (
	select haas.boot_alarm_add(n.id, 'boot.result_forged', format('a result of task %s (%s) of node %s is not signed by its agent: it is not believed; it came from %s',
			t.id, t.kind, n.name, i.address),
		'somebody has the token of this boot: who can see the provisioning network? Or the ramdisk is older than the controller: build it again',
		jsonb_build_object('task', t.id, 'address', i.address))
	from input i join agent_task t on t.id = i.id and t.token = i.token join node n on n.id = t.node_id where t.agent is distinct from i.agent
), told as materialized (
	select pg_notify('deployment', '') from changed having count(*) > 0
)
select i.id, case when c.id is not null then 'stored' when t.id is null then 'unknown' when t.agent is distinct from i.agent then 'forged'
	when t.state in ('done', 'failed') then 'repeated' else 'dropped' end as outcome,
	(select count(*) from told) + (select count(*) from alarmed) + (select count(*) from forged) as count
from input i left join changed c on c.id = i.id
left join agent_task t on t.id = i.id and t.token = i.token
