-- What a drill path names is found by its name, not by looking through the traffic of the window; and the links of a window by an index that leads to nothing else.

-- Every name that a tenant has had: stored traffic is of an id, paths name it.
create table tenant_name (
	name text not null,
	tenant_id bigint not null,             -- may be gone: its traffic is kept
	primary key (name, tenant_id)
);
alter table tenant_name enable row level security;
create policy tenant_name_portald on tenant_name for select to portald using ((select is_operator()) or tenant_id = (select current_tenant()));
grant select on tenant_name to portald;

create function tenant_name_keep() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into tenant_name (name, tenant_id) values (new.name, new.id) on conflict do nothing;
	return null;
end
$$;
create trigger tenant_name_keep after insert or update of name on tenant for each row execute function tenant_name_keep();
insert into tenant_name (name, tenant_id)
select name, id from tenant union select tenant, tenant_id from traffic_share where tenant_id is not null and tenant <> '';

-- Blocks of a minute hold what came in as well, and lie beside those of other minutes: half of what a BRIN index led to was not asked for.
drop index traffic_share_at;
create index traffic_share_at on traffic_share (at) where direction = 'out';

-- --- samples against counters ---------------------------------------------------------------------------------------------------------------

-- What samples said of the very seconds in which out_bytes were counted: how far the samples of a port are from the truth.
alter table traffic_port add column out_sampled bigint; -- null = written before this was

-- What the interface counters of ports (one, or with p_switch null all) say of what samples say of what left there: `scale` makes one of the other, by the seconds of which both speak;
-- `covered` is their part of what was collected, as common/model/scale_policy reckons with it. Both are null where that is half or less: an estimate is no better for it then; `scale` also where the counter stood still. Readings
-- need not meet the window: where they speak of m times what was collected, so much more is not of it (1 - 1/m of an estimate's variance stays: m / (2m - 1) is covered), to three times.
-- Whoever sees some traffic of a link may know its scale; `exact` bytes, and in how many seconds, are the operators'.
create function port_scale(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text)
returns table (switch_id bigint, port text, exact bigint, seconds double precision, scale double precision, covered double precision)
stable language plpgsql security definer set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
	v_collected double precision;
	v_all boolean := is_operator();
begin
	select sum(extract(epoch from x.upper - x.lower)) into v_collected
	from (select min(b.from_at) as lower, max(b.to_at) as upper from traffic_bucket b where b.step = p_step and b.at >= p_from and b.at < p_to group by b.at) x;
	return query
	select x.switch_id, x.port, case when v_all then x.exact end, case when v_all then x.seconds end, case when x.usable then nullif(x.counted, 0) / x.sampled end,
		case when not x.usable then null when x.both_seconds <= v_collected then x.both_seconds / v_collected else x.both_seconds / (2 * x.both_seconds - v_collected) end
	from (select y.*, y.both_seconds > v_collected / 2 and y.both_seconds <= v_collected * 3 as usable from (
		select t.switch_id, t.port, sum(t.out_bytes)::bigint as exact, sum(t.seconds) filter (where t.out_bytes is not null) as seconds,
			sum(t.seconds) filter (where t.out_bytes is not null and t.out_sampled is not null) as both_seconds,
			(sum(t.out_bytes) filter (where t.out_sampled is not null))::double precision as counted,
			nullif((sum(t.out_sampled) filter (where t.out_bytes is not null))::double precision, 0) as sampled
		from traffic_port t
		where t.step = p_step and t.at >= p_from and t.at < p_to and (p_switch is null or (t.switch_id = p_switch and t.port = p_port))
		group by t.switch_id, t.port) y) x;
end
$$;
revoke execute on function port_scale(integer, timestamptz, timestamptz, bigint, text) from public;
grant execute on function port_scale(integer, timestamptz, timestamptz, bigint, text) to portald;

-- What samples say left by a link, of what the asking one may see: parts are parts of it. With the invoker's rights: from bounds that others' traffic had a part in, a tenant could reckon it.
create function link_spread(p_step integer, p_from timestamptz, p_to timestamptz, p_switch bigint, p_port text)
returns table (bytes bigint, square double precision)
stable language plpgsql set search_path = haas, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
	return query select sum(t.bytes)::bigint, sum(t.square) from traffic_share t
	where t.step = p_step and t.at >= p_from and t.at < p_to and t.switch_id = p_switch and t.port = p_port and t.direction = 'out';
end
$$;
revoke execute on function link_spread(integer, timestamptz, timestamptz, bigint, text) from public;
grant execute on function link_spread(integer, timestamptz, timestamptz, bigint, text) to portald;
