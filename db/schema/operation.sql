-- What an operator must look at now: silent daemons and BMCs, boots that another machine meddled with, foreign DHCP servers, failed and slow deployments, failed and waiting PDCIs. Each is an alert, and a line
-- of `haasctl status`. The check runs with the heartbeat of a daemon that is alive (daemon.sql), so it outlives any one of them.

-- ==== shape ====

-- Backups that were written whole (`haasctl db backup`).
create table backup (
	id bigint generated always as identity primary key,
	made_at timestamptz not null default now(),
	file text not null,
	bytes bigint not null check (bytes > 0)
);
alter table backup enable row level security;

-- The moment of the last check: one row.
create table operation_check (
	one boolean primary key default true check (one),
	at timestamptz not null
);
alter table operation_check enable row level security;
insert into operation_check (at) values ('-infinity');

create index deployment_failed on deployment (node_id) where state = 'failed';

-- ==== functions ====

-- Seconds that deployments of this plan on nodes of this class usually take at most: the slowest tenth of the last thirty begins there. Null: fewer
-- than three are done.
create function deployment_usual_s(p_plan text, p_class text)
returns double precision stable language sql set search_path = haas, pg_temp as $$
	select case when count(*) >= 3 then percentile_cont(0.9) within group (order by s.seconds) end
	from (select extract(epoch from d.ended_at - d.started_at)::double precision as seconds
	      from deployment d join node n on n.id = d.node_id
	      where d.plan = p_plan and d.state = 'done' and n.class = p_class and d.started_at is not null
	      order by d.id desc limit 30) s
$$;

create function span_text(p_since timestamptz)
returns text stable language sql set search_path = haas, pg_temp as $$
	select case when s < 120 then s || ' s' when s < 7200 then s / 60 || ' min' when s < 172800 then s / 3600 || ' h' else s / 86400 || ' days' end
	from (select greatest(0, extract(epoch from clock_timestamp() - p_since))::bigint as s) x
$$;

-- The problems of operation as they are now. `message` does not hold times that pass: an alert changes only when its problem does.
create function operation_problem()
returns table (key text, kind text, severity text, subject_kind text, subject text, tenant_id bigint, message text, hint text, since timestamptz)
stable language sql security definer set search_path = haas, pg_temp as $$
	select p.kind || ':' || p.ref, p.kind, p.severity, p.subject_kind, p.subject, p.tenant_id, p.message, p.hint, p.since from (
		-- Where another instance works the site goes on, with one controller less.
		select d.name || '@' || d.instance as ref, 'daemon.silent' as kind, case when o.instance is null then 'critical' else 'warning' end as severity, 'daemon' as subject_kind,
		       d.name || '@' || d.instance as subject, null::bigint as tenant_id,
		       format('%s on %s is not heard', d.name, d.instance) || coalesce('; ' || o.instance || ' works', '') as message,
		       format('on %s: systemctl status %s; journalctl -u %s', d.instance, d.name, d.name) as hint, d.seen_at as since
		from daemon d left join lateral (select o.instance from daemon o where o.name = d.name and o.seen_at >= clock_timestamp() - interval '15 s'
			order by o.instance limit 1) o on true
		where d.seen_at < clock_timestamp() - interval '15 s'
		union all
		select s.link, 'dhcp.foreign_server', 'critical', 'link', s.link, null,
		       format('a DHCP server that is not ours answers on %s: %s%s', s.link, array_to_string(s.names[1:3], ', '), case when cardinality(s.names) > 3 then ' and more' end),
		       'haasctl nic locate MAC names its port; switch that server off, or bar the port', s.first_at
		from (select d.link, min(d.first_at) as first_at, array_agg(host(d.address) || coalesce(' (MAC ' || d.mac::text || ')', '') order by d.first_at, d.address) as names
		      from dhcp_server d where not d.ours and d.seen_at > now() - interval '1 hour' and not dhcp_server_is_ours(d.address) group by d.link) s
		union all
		select n.name, 'bmc.silent', 'warning', 'node', n.name, null, format('the BMC of node %s does not answer', n.name),
		       format('look at its power, cable and address; haasctl node show %s', n.name), h.bmc_failing_since
		from bmc b join node n on n.id = b.node_id left join node_health h on h.node_id = n.id
		where b.failing and coalesce(h.bmc_failing_since, '-infinity') < clock_timestamp() - make_interval(secs => (select setting_number('alert.bmc_silent_s')))
		union all
		select n.name, 'deployment.failed', 'warning', 'node', n.name, d.tenant_id, format('%s of node %s failed in step %s: %s', d.plan, n.name, d.step, d.problem ->> 'message'),
		       format('haasctl deployment show %s; then deployment retry or clear', d.id), d.ended_at
		from deployment d join node n on n.id = d.node_id
		where d.state = 'failed' and not exists (select from deployment l where l.node_id = d.node_id and l.id > d.id)
		union all
		select n.name, 'deployment.slow', 'warning', 'node', n.name, d.tenant_id, format('%s of node %s takes longer than usual, in step %s', d.plan, n.name, d.step),
		       format('haasctl deployment show %s says what it waits for', d.id), d.started_at
		from deployment d join node n on n.id = d.node_id
		where d.state in ('queued', 'waiting', 'cancelling') and d.started_at is not null and d.paused is null
		      and extract(epoch from clock_timestamp() - d.started_at) > 60 + (select setting_number('alert.deployment_slow_percent')) / 100.0 * deployment_usual_s(d.plan, n.class)
		union all
		select n.name, a.kind, case a.kind when 'boot.restarted' then 'warning' else 'critical' end, 'node', n.name, null, a.message, a.hint, a.at
		from boot_alarm a join node n on n.id = a.node_id where a.at > clock_timestamp() - interval '1 day'
		union all
		select p.id::text, 'pdci.failed', 'critical', 'pdci', p.name, p.tenant_id, format('PDCI %s failed: %s', p.name, p.problem ->> 'message'),
		       format('haasctl pdci show %s; then pdci replace or release', p.name), p.created_at
		from pdci p where p.state = 'failed' and p.wanted = 'present'
		union all
		select p.id::text, 'pdci.waiting', 'warning', 'pdci', p.name, p.tenant_id, format('PDCI %s waits for nodes: %s', p.name, p.problem ->> 'message'),
		       'free nodes of the class, add some, or release the PDCI', p.created_at
		from pdci p where p.state = 'infeasible' and p.wanted = 'present' and p.created_at < clock_timestamp() - make_interval(secs => (select setting_number('alert.pdci_waiting_s')))) p
$$;

-- Sets the alerts of operation. One check in five seconds is enough, whoever makes it; true: this was the one.
create function operation_alert_put()
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update operation_check set at = clock_timestamp() where at < clock_timestamp() - interval '5 s'
	and pg_try_advisory_xact_lock(7302);
	if not found then
		return false;
	end if;
	perform alert_set('operation', array['daemon.%', 'dhcp.%', 'bmc.%', 'boot.%', 'deployment.%', 'pdci.%'], '{}',
			  (select coalesce(jsonb_agg(to_jsonb(p) - 'since'), '[]') from operation_problem() p), 60);
	-- A daemon that was moved: its old row is no daemon any more.
	delete from daemon d where d.seen_at < now() - interval '7 days' and exists (select from daemon o where o.name = d.name and o.seen_at > now() - interval '15 s');
	return true;
end
$$;

-- Where those daemons work that work at one controller at a time; null: nobody stands by.
create function leader_text()
returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select string_agg(format('; %s works: %s', x.instance, x.names), '' order by x.instance)
	from (select l.instance, string_agg(l.name, ', ' order by l.name) as names from daemon_lead l
	      where l.name !~ '/watch$' and l.seen_at > clock_timestamp() - interval '15 s' group by l.instance) x
	where exists (select from daemon d join daemon o on o.name = d.name and o.instance > d.instance
		      where d.seen_at > clock_timestamp() - interval '15 s' and o.seen_at > clock_timestamp() - interval '15 s')
$$;

-- Commits that wait for a synchronous standby which is not there. Who has no right to read the state of a standby sees that there is one.
create function standby_problem()
returns table (message text, hint text) stable language sql security definer set search_path = haas, pg_temp as $$
	select 'no synchronous standby is connected, so every commit waits', format('start the standby (%s), or let the primary go on alone: docs/site.md, Two controllers',
		current_setting('synchronous_standby_names'))
	where current_setting('synchronous_standby_names') <> '' and not pg_is_in_recovery()
	and not exists (select from pg_stat_replication r where coalesce(r.sync_state, 'sync') in ('sync', 'quorum'))
$$;

-- The line of `haasctl status` that an alert stands under, by the first part of its kind.
create function status_section(p_kind text)
returns text immutable language sql as $$
	select case split_part(p_kind, '.', 1) when 'daemon' then 'daemons' when 'bmc' then 'bmcs' when 'boot' then 'nodes' when 'health' then 'nodes' when 'deployment' then 'deployments' when 'pdci' then 'pdcis'
	when 'traffic' then 'traffic' when 'sampling' then 'traffic' when 'capture' then 'traffic' when 'case' then 'traffic' when 'webhook' then 'notices' else 'fabric' end
$$;

-- {"ok", "at", "sections": [{"name", "state", "summary", "items": [{"state", "subject_kind", "subject", "alert", "since", "message", "hint"}]}]}. A section
-- is wrong when one of its items is. An alert that a person acknowledged or silenced is a note: it is known. `alert`: its number, where an alert says it.
create function site_status()
returns jsonb stable language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_sections jsonb;
begin
	if not is_operator() then
		raise exception 'only an operator may see the status of the site' using errcode = 'HA403';
	end if;
	with item as (
		select status_section(a.kind) as section, case when a.acknowledged_by is not null or (alert_silence_of(a.kind, a.subject)).id is not null then 'note' else 'wrong' end as state,
		       a.subject_kind, a.subject, a.id as alert, a.raised_at as since, a.message, coalesce(a.detail ->> 'hint', '') as hint
		from alert a where a.cleared_at is null and a.severity <> 'info' and split_part(a.kind, '.', 1) not in ('daemon', 'dhcp', 'bmc', 'boot', 'deployment', 'pdci')
		union all
		select status_section(p.kind), case when a.acknowledged_by is not null or (alert_silence_of(p.kind, p.subject)).id is not null then 'note' else 'wrong' end,
		       p.subject_kind, p.subject, a.id, p.since, p.message, p.hint
		from operation_problem() p left join alert a on a.key = p.key and a.cleared_at is null
		union all
		select 'database', 'wrong', 'site', coalesce(nullif(r.application_name, ''), 'standby'), null, null, format('the standby is %s behind', r.replay_lag), 'look at its log, its disk and the network between'
		from pg_stat_replication r where r.replay_lag > interval '30 s'
		union all
		select 'database', 'wrong', 'site', 'database', null, null, s.message, s.hint from standby_problem() s
		union all
		select 'database', 'wrong', 'site', 'database', null, r.restored_at, restoration_text(r) || '; nodes, switches and volumes are left as they are',
		       'compare nodes, switches and volumes with the database; then haasctl db accept-restore'
		from restoration r
		union all
		select 'backups', 'wrong', 'site', 'database', null, max(b.made_at), case when max(b.made_at) is null then 'no backup was ever made' else format('the last backup is older than %s', count_text(setting_number('alert.backup_hours'), 'hour')) end,
		       'haasctl db backup FILE'
		from backup b having coalesce(max(b.made_at), (select min(n.created_at) from node n)) < clock_timestamp() - make_interval(hours => setting_number('alert.backup_hours')::integer)
		union all
		select 'notices', 'wrong', 'site', n.target, null, min(a.raised_at), format('%s alerts could not be told: %s', count(*), max(n.problem ->> 'message')), 'look at the receiver, and at portal-outward.conf'
		from notice n join alert a on a.id = n.alert_id where n.attempts >= 3 group by n.target
	), line (place, name, summary) as (
		values (1, 'daemons', (select format('%s of %s heard', count(*) filter (where d.seen_at >= clock_timestamp() - interval '15 s'), count(*)) || coalesce(leader_text(), '') from daemon d)),
		(2, 'database', (select format('%s, %s standby', pg_size_pretty(pg_database_size(current_database())), case count(*) when 0 then 'no' else count(*)::text end) from pg_stat_replication)),
		(3, 'bmcs', (select format('%s of %s answer', count(*) filter (where not b.failing), count(*)) from bmc b)),
		(4, 'fabric', (select format('%s of %s switches answer', count(*) filter (where o.reachable), count(*)) from switch_endpoint e left join switch_observed o on o.switch_id = e.switch_id)),
		(5, 'nodes', (select coalesce(string_agg(format('%s %s', s.count, s.state), ', ' order by s.state), 'none') from (select n.state, count(*) as count from node n group by n.state) s)),
		(6, 'deployments', (select format('%s under way, %s failed', count(*) filter (where d.due_at is not null),
			count(*) filter (where d.state = 'failed' and not exists (select from deployment l where l.node_id = d.node_id and l.id > d.id))) from deployment d where d.due_at is not null or d.state = 'failed')),
		(7, 'pdcis', (select coalesce(string_agg(format('%s %s', s.count, s.state), ', ' order by s.state), 'none') from (select p.state, count(*) as count from pdci p where p.state <> 'released' group by p.state) s)),
		(8, 'traffic', (select format('%s alerts', count(*)) from item i where i.section = 'traffic')),
		(9, 'notices', (select coalesce(string_agg(format('%s told to %s', s.count, s.target), ', ' order by s.target), 'nobody outside is told')
			from (select n.target, count(*) as count from notice n where n.told is not null group by n.target) s)),
		(10, 'backups', (select case when max(b.made_at) is null then 'none was made' else 'last ' || span_text(max(b.made_at)) || ' ago' end from backup b))
	)
	select jsonb_agg(jsonb_build_object('name', l.name, 'summary', l.summary,
			 'state', case when exists (select from item i where i.section = l.name and i.state = 'wrong') then 'wrong' else 'ok' end,
			 'items', (select coalesce(jsonb_agg(jsonb_build_object('state', i.state, 'subject_kind', i.subject_kind, 'subject', i.subject, 'alert', i.alert, 'since', i.since, 'message', i.message, 'hint', i.hint)
					   order by i.state desc, i.since, i.subject), '[]') from item i where i.section = l.name)) order by l.place)
	into v_sections from line l;
	return jsonb_build_object('ok', not jsonb_path_exists(v_sections, '$[*] ? (@.state == "wrong")'), 'at', now(), 'sections', v_sections);
end
$$;

-- ==== triggers, views, rights ====
grant execute on function site_status() to portald;
