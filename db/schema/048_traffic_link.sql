-- The list of links from a row for each link: it was added up from the shares of all owners whenever it was asked for, 10,000 of them for 5 minutes of 500 links.

-- What left a port in a bucket, whoever's it was: the shares that left there, added up when they are written. So it is their sum, whoever writes them, and in the same transaction.
create table traffic_link (
	step integer not null,
	at timestamptz not null,
	switch_id bigint not null,
	port text not null,
	bytes bigint not null,
	packets bigint not null,
	samples bigint not null,
	square double precision not null
) partition by list (step);
create table traffic_60_link partition of traffic_link for values in (60) partition by range (at);
create table traffic_300_link partition of traffic_link for values in (300) partition by range (at);
create table traffic_3600_link partition of traffic_link for values in (3600) partition by range (at);
-- Others' traffic has a part in it.
alter table traffic_link enable row level security;
create policy traffic_link_portald on traffic_link for select to portald using ((select is_operator()));
grant select on traffic_link to portald;

create function traffic_link_add() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into traffic_link (step, at, switch_id, port, bytes, packets, samples, square)
	select step, at, switch_id, port, sum(bytes), sum(packets), sum(samples), sum(square) from written where direction = 'out' group by step, at, switch_id, port;
	return null;
end
$$;
-- A statement's triggers are those of the table that it names: flowd writes into the tables of a step.
create trigger traffic_link_add after insert on traffic_share referencing new table as written for each statement execute function traffic_link_add();
create trigger traffic_link_add after insert on traffic_60_share referencing new table as written for each statement execute function traffic_link_add();
create trigger traffic_link_add after insert on traffic_300_share referencing new table as written for each statement execute function traffic_link_add();
create trigger traffic_link_add after insert on traffic_3600_share referencing new table as written for each statement execute function traffic_link_add();

-- As in 043_switch_health, and the links with them.
create or replace function traffic_partitions_turn(p_now timestamptz)
returns integer language plpgsql security definer set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_parent text;
	v_name text;
	v_begin timestamptz;
	v_width bigint;
	v_count integer := 0;
	v_parents text[] := array['share', 'link', 'pair', 'flow', 'port', 'counter'];
begin
	-- One at a time: two daemons would make the same one.
	perform pg_advisory_xact_lock(hashtext('traffic_partitions_turn'));
	for r in select * from traffic_retention order by step loop
		v_width := extract(epoch from r.width)::bigint;
		foreach v_parent in array v_parents loop
			continue when to_regclass(format('traffic_%s_%s', r.step, v_parent)) is null;
			for i in -1 .. 2 loop
				v_begin := to_timestamp((extract(epoch from p_now)::bigint / v_width + i) * v_width);
				v_name := format('traffic_%s_%s_%s', r.step, v_parent, to_char(v_begin at time zone 'UTC', 'YYYYMMDDHH24MI'));
				continue when to_regclass(v_name) is not null;
				execute format('create table %I partition of %I for values from (%L) to (%L)', v_name, format('traffic_%s_%s', r.step, v_parent),
					       v_begin, v_begin + r.width);
				v_count := v_count + 1;
			end loop;
		end loop;
	end loop;
	delete from traffic_bucket b using traffic_retention t where b.step = t.step and b.at < p_now - t.keep;
	for r in
		select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
		join traffic_retention t on p.relname in (select format('traffic_%s_%s', t.step, x) from unnest(v_parents) x)
		where c.relnamespace = 'haas'::regnamespace
			and to_timestamp(substring(c.relname from '[0-9]{12}$') || ' +00', 'YYYYMMDDHH24MI TZH') + t.width < p_now - t.keep
	loop
		execute format('drop table %I', r.name);
		v_count := v_count + 1;
	end loop;
	return v_count;
end
$$;

-- What was written before this, in partitions like those of its shares.
do $$
declare
	r record;
begin
	for r in
		select c.relname as name, p.relname as parent, pg_get_expr(c.relpartbound, c.oid) as bounds from pg_inherits i join pg_class c on c.oid = i.inhrelid
		join pg_class p on p.oid = i.inhparent where p.relname in ('traffic_60_share', 'traffic_300_share', 'traffic_3600_share') and p.relnamespace = 'haas'::regnamespace
	loop
		execute format('create table %I partition of %I %s', replace(r.name, 'share', 'link'), replace(r.parent, 'share', 'link'), r.bounds);
	end loop;
end
$$;
insert into traffic_link (step, at, switch_id, port, bytes, packets, samples, square)
select step, at, switch_id, port, sum(bytes), sum(packets), sum(samples), sum(square) from traffic_share where direction = 'out' group by step, at, switch_id, port;
create index traffic_link_at on traffic_link (at);
select traffic_partitions_turn(now());

-- All links at a time are a tenant's alone to add up from shares: its own.
drop index traffic_share_at;
create index traffic_share_out on traffic_share (tenant_id, at) where direction = 'out';

-- The flows of a pair, wherever they came in, without those of all the tenant's pairs.
drop index traffic_flow_tenant;
create index traffic_flow_tenant on traffic_flow (tenant_id, least(a, b), greatest(a, b), at) where direction = 'in';
