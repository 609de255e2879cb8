-- How long deployments take: what the newest that ended well took, and what that says of those under way.

-- ==== shape ====

-- What the newest 32 deployments took that ended well, of a plan on nodes of a class; an element each, in seconds. step_s: this step, in its last
-- attempt; left_s: from the begin of that attempt to the end of all. Of step '' step_s is null, and left_s all of it. It outlives the deployments.
create table deployment_pace (
	plan text not null,
	class text not null,
	step text not null,
	step_index integer not null,
	step_s double precision[] not null,
	left_s double precision[] not null,
	primary key (plan, class, step)
);

-- ==== functions ====

-- Called when they have ended well, in the transaction that says so. One statement, in the order of its rows: two callers form no ring.
create function deployment_pace_learn(p_deployments bigint[])
returns void language sql security definer set search_path = haas, pg_temp as $$
	insert into deployment_pace as p (plan, class, step, step_index, step_s, left_s)
	select x.plan, x.class, x.step, max(x.step_index), (array_agg(x.step_s order by x.ended_at desc))[1:32], (array_agg(x.left_s order by x.ended_at desc))[1:32]
	from (select distinct on (d.id, s.step) d.ended_at, d.plan, n.class, s.step, s.step_index, extract(epoch from s.ended_at - s.started_at) as step_s, extract(epoch from w.ended_at - s.started_at) as left_s
	      from deployment d join node n on n.id = d.node_id
	      cross join lateral (select min(y.started_at) as started_at, max(y.ended_at) as ended_at from deployment_step y where y.deployment_id = d.id) w
	      cross join lateral (select y.step, y.step_index, y.attempt, y.started_at, y.ended_at from deployment_step y where y.deployment_id = d.id and y.state = 'done'
				  union all select '', -1, 0, w.started_at, null) s
	      where d.id = any (p_deployments) and d.state = 'done' and w.ended_at is not null
	      order by d.id, s.step, s.attempt desc) x
	group by x.plan, x.class, x.step order by x.plan, x.class, x.step
	on conflict (plan, class, step) do update set step_index = excluded.step_index, step_s = (excluded.step_s || p.step_s)[1:32], left_s = (excluded.left_s || p.left_s)[1:32]
$$;

create function deployment_pace_of(p_plan text, p_class text, p_step text)
returns deployment_pace stable language sql security definer set search_path = haas, pg_temp as $$
	select * from deployment_pace where plan = p_plan and class = p_class and step = p_step
$$;

-- The steps of this plan after this one, as they went.
create function deployment_ahead(p_plan text, p_class text, p_index integer)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_agg(jsonb_build_object('step', p.step, 'usual_s', round(x.usual_s), 'bound_s', round(x.bound_s), 'samples', x.samples) order by p.step_index)
	from deployment_pace p
	cross join lateral (select count(*) as samples, percentile_cont(0.5) within group (order by s.took_s) as usual_s, percentile_cont(0.9) within group (order by s.took_s) as bound_s
			    from unnest(p.step_s) as s (took_s)) x
	where p.plan = p_plan and p.class = p_class and p.step_index > p_index and p.step <> ''
$$;

-- When it ends, if it goes on as such deployments went. Where its step has taken some time already, only those count that took longer; a step
-- that tells its share is judged by the share. `late`: its step takes longer than it ever did, so its end is that of the others, and there is no
-- bound. Null: nothing is known.
create function deployment_eta(p_step_s double precision[], p_left_s double precision[], p_gone_s double precision, p_percent integer)
returns jsonb stable language sql as $$
	select jsonb_build_object('at', date_trunc('second', now() + make_interval(secs => w.left_s[1])), 'latest', date_trunc('second', now() + make_interval(secs => case when not w.late then w.left_s[2] end)),
				  'step_at', date_trunc('second', now() + make_interval(secs => w.step_left_s)), 'late', w.late, 'usual_s', round(w.step_s[1]), 'bound_s', round(w.step_s[2]), 'samples', w.samples)
	from (select count(*) as samples, bool_and(x.rest_s is null) as late, percentile_cont(array[0.5, 0.9]) within group (order by x.step_s) as step_s,
		     percentile_cont(0.5) within group (order by x.rest_s) as step_left_s,
		     percentile_cont(array[0.5, 0.9]) within group (order by case when x.rest_s is not null or x.late then coalesce(x.rest_s, 0) + x.tail_s end) as left_s
	      from (select s.step_s, coalesce(s.left_s - s.step_s, s.left_s) as tail_s, o.rest_s, bool_and(o.rest_s is null) over () as late
		    from unnest(p_step_s, p_left_s) as s (step_s, left_s)
		    cross join lateral (select case when p_percent between 3 and 99 and p_gone_s >= 10 then p_gone_s * (100 - p_percent) / p_percent
						    when s.step_s is null then 0
						    when s.step_s > p_gone_s then s.step_s - p_gone_s end as rest_s) o) x) w
	where w.samples > 0
$$;

-- ==== triggers, views, rights ====
grant execute on function deployment_pace_learn(bigint[]) to bampid;
grant execute on function deployment_pace_of(text,text,text) to portald;
grant execute on function deployment_ahead(text,text,integer) to portald;
grant execute on function deployment_eta(double precision[],double precision[],double precision,integer) to portald;
