#include "bampi/bootd/boot/mailbox_store.h"

/* Two thousand agents ask at once, and the statistics are of a time when nobody did: the planner
 * then reads every open task for every poll. So each poll is one probe of agent_task_open, and rows
 * are changed by their id: OPEN is a state that no index offers itself for. */
#define OPEN "t.state || '' in ('queued', 'taken')"

const struct db_query mailbox_take_query = {
	.name = "mailbox_take",
	.sql = "with oldest as materialized (\n"
	       "	select x.id from unnest($1::text[]) as p (token) cross join lateral (\n"
	       "		select id from agent_task where token = p.token and state in ('queued', 'taken')\n"
	       "		order by id limit 1) x\n"
	       ")\n"
	       "update agent_task t set state = 'taken', updated_at = now()\n"
	       "where t.id = any (array(select id from agent_task where id = any (array(select id from oldest))\n"
	       "	order by id for no key update)) and " OPEN "\n"
	       "returning t.id, t.token, t.deployment_id, t.kind, t.params",
	.param_count = 1,
};

/* A task whose deployment was deleted is over too. */
const struct db_query mailbox_over_query = {
	.name = "mailbox_over",
	.sql = "select i.id, coalesce(t.state, 'dropped') = 'dropped'\n"
	       "from unnest($1::bigint[]) as i (id) left join agent_task t on t.id = i.id\n"
	       "where coalesce(t.state, 'dropped') not in ('queued', 'taken')",
	.param_count = 1,
};

const struct db_query mailbox_find_query = {
	.name = "mailbox_find",
	.sql = "select deployment_id from agent_task\n"
	       "where id = $1::bigint and token = $2 and state in ('queued', 'taken')",
	.param_count = 2,
};

/* The join drops the rows of deployments that are gone, which would fail the whole batch. */
const struct db_query mailbox_progress_query = {
	.name = "mailbox_progress",
	.sql = "insert into progress (deployment_id, percent, done_bytes, total_bytes, text, updated_at)\n"
	       "select i.deployment_id, i.percent, i.done_bytes, i.total_bytes, i.text, now()\n"
	       "from unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::text[])\n"
	       "	as i (deployment_id, percent, done_bytes, total_bytes, text)\n"
	       "join deployment d on d.id = i.deployment_id order by d.id\n"
	       "on conflict (deployment_id) do update set percent = excluded.percent,\n"
	       "	done_bytes = excluded.done_bytes, total_bytes = excluded.total_bytes,\n"
	       "	text = excluded.text, updated_at = excluded.updated_at",
	.param_count = 5,
};

/* A step that drops tasks holds their deployment: so that is what is locked first here too. */
const struct db_query mailbox_result_query = {
	.name = "mailbox_result",
	.sql = "with input as (\n"
	       "	select id, token, state, result::jsonb, problem::jsonb\n"
	       "	from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])\n"
	       "		as i (id, token, state, result, problem)\n"
	       "), touched as materialized (\n"
	       "	select deployment_touch(array_agg(t.deployment_id)) from agent_task t join input i\n"
	       "	on t.id = i.id and t.token = i.token where t.id = any (array(select id from input)) and " OPEN
	       "\n"
	       "), locked as materialized (\n"
	       "	select t.id from agent_task t, touched where t.id = any (array(select id from input))\n"
	       "	order by t.id for no key update of t\n"
	       "), changed as (\n"
	       "	update agent_task t set state = i.state, result = i.result, problem = i.problem,\n"
	       "		updated_at = now()\n"
	       "	from input i where t.id = i.id and t.token = i.token and " OPEN "\n"
	       "	and t.id = any (array(select id from locked)) returning t.id\n"
	       "), told as materialized (\n"
	       "	select pg_notify('deployment', '') from changed having count(*) > 0\n"
	       ")\n"
	       "select i.id, case when c.id is not null then 'stored' when t.id is null then 'unknown'\n"
	       "	when t.state in ('done', 'failed') then 'repeated' else 'dropped' end,\n"
	       "	(select count(*) from told)\n"
	       "from input i left join changed c on c.id = i.id\n"
	       "left join agent_task t on t.id = i.id and t.token = i.token",
	.param_count = 5,
};
