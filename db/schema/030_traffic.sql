-- Traffic: whose it was, when; what switches sampled, summed up by link, owner, pair and flow.
do $$
begin
	if not exists (select from pg_roles where rolname = 'peregrine_flowd') then
		create role peregrine_flowd login;
	end if;
	alter role peregrine_flowd set search_path = haas;
	grant usage on schema haas to peregrine_flowd;
end
$$;
grant execute on function is_operator(), current_tenant(), in_scope(bigint), event_add(text, text, text, text, bigint, text, jsonb) to peregrine_flowd;
create policy tenant_flowd on tenant for select to peregrine_flowd using (true);
create policy node_flowd on node for select to peregrine_flowd using (true);
create policy network_flowd on network for select to peregrine_flowd using (true);
create policy alert_flowd on alert to peregrine_flowd using (true) with check (true);
grant select on tenant, node, nic, switch, port_observed, link, nic_location, network, network_vlan, fabric to peregrine_flowd;
grant select (switch_id, fabric_id, role, family, address, managed) on switch_endpoint to peregrine_flowd;
grant select, insert, update on alert to peregrine_flowd;

-- --- who was where, when ------------------------------------------------------------------------------------------------------------------

-- Every change of a binding draws a number: flowd asks for the last one every other second and reads again when it grew.
create sequence binding_change;
grant select on sequence binding_change to peregrine_flowd;

-- Frames with `tag` (0 = without one) at this port were of that network: what peregrined has read back from the switch, from then on.
create table port_binding (
	id bigint generated always as identity primary key,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	tag integer not null check (tag between 0 and 4094),
	network_id bigint not null,
	tenant_id bigint,
	valid_from timestamptz not null default clock_timestamp(),
	valid_to timestamptz,
	changed bigint not null default nextval('binding_change')
);
create unique index port_binding_open on port_binding (switch_id, port, tag) where valid_to is null;
create index port_binding_ended on port_binding (valid_to);
grant select on port_binding to peregrine_flowd;

-- A NIC was plugged in there, and was that node's.
create table nic_binding (
	id bigint generated always as identity primary key,
	mac macaddr not null,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	node_id bigint,
	node text not null default '',
	valid_from timestamptz not null default clock_timestamp(),
	valid_to timestamptz,
	changed bigint not null default nextval('binding_change')
);
create unique index nic_binding_open on nic_binding (mac) where valid_to is null;
create index nic_binding_ended on nic_binding (valid_to);
grant select on nic_binding to peregrine_flowd;

alter table vlan_history add column changed bigint not null default nextval('binding_change');
create index vlan_history_ended on vlan_history (valid_to);
grant select on vlan_history to peregrine_flowd;

-- Which network has a VNI, on all fabrics.
create table vni_binding (
	vni integer not null check (vni between 1 and 16777215),
	network_id bigint not null references network on delete cascade,
	valid_from timestamptz not null default clock_timestamp(),
	valid_to timestamptz,
	changed bigint not null default nextval('binding_change')
);
create unique index vni_binding_open on vni_binding (vni) where valid_to is null;
grant select on vni_binding to peregrine_flowd;
grant select, insert, update on vni_binding to peregrined;

-- Where a switch's sFlow comes from, when that is not its management address.
create table flow_agent (
	switch_id bigint not null references switch on delete cascade,
	agent inet not null,   -- as its datagrams name it
	source inet not null,  -- where they come from
	primary key (switch_id, agent, source)
);
create unique index flow_agent_once on flow_agent (agent, source);
grant select on flow_agent to peregrine_flowd;
grant select, insert, update, delete on flow_agent to portald;

create function vlan_history_changed() returns trigger language plpgsql as $$
begin
	new.changed := nextval('haas.binding_change');
	return new;
end
$$;
create trigger vlan_history_changed before update on vlan_history for each row execute function vlan_history_changed();
grant usage on sequence binding_change to peregrined;

-- '100-103,200' as rows.
create function vlan_numbers(p_text text)
returns setof integer immutable strict language sql set search_path = haas, pg_temp as $$
	select generate_series(split_part(part, '-', 1)::integer, coalesce(nullif(split_part(part, '-', 2), ''), split_part(part, '-', 1))::integer)
	from unnest(string_to_array(nullif(p_text, ''), ',')) part
$$;

create function port_binding_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_switch bigint;
	v_port text;
	v_now timestamptz := clock_timestamp();
	v_tags integer[];
	v_networks bigint[];
	v_tenants bigint[];
begin
	if tg_op = 'DELETE' then
		v_switch := old.switch_id; v_port := old.port;
	else
		v_switch := new.switch_id; v_port := new.port;
	end if;
	if tg_op <> 'DELETE' then
		select array_agg(x.tag), array_agg(n.id), array_agg(n.tenant_id) into v_tags, v_networks, v_tenants
		from (select 0 as tag, new.applied_native as vlan where new.applied_native > 0
		      union all select v, v from vlan_numbers(new.applied_tagged) v where new.applied_trunk) x
		join switch_endpoint e on e.switch_id = v_switch
		join network_vlan nv on nv.fabric_id = e.fabric_id and nv.vlan = x.vlan and nv.state = 'used'
		join network n on n.id = nv.network_id;
	end if;
	update port_binding b set valid_to = greatest(v_now, b.valid_from), changed = nextval('binding_change')
	where b.switch_id = v_switch and b.port = v_port and b.valid_to is null
		and not exists (select from unnest(v_tags, v_networks) c (tag, network_id) where c.tag = b.tag and c.network_id = b.network_id);
	insert into port_binding (switch_id, port, tag, network_id, tenant_id, valid_from)
	select v_switch, v_port, c.tag, c.network_id, c.tenant_id, v_now from unnest(v_tags, v_networks, v_tenants) c (tag, network_id, tenant_id)
	where not exists (select from port_binding b where b.switch_id = v_switch and b.port = v_port and b.tag = c.tag and b.valid_to is null);
	return null;
end
$$;
create trigger port_binding_follow after insert or delete or update of applied_trunk, applied_native, applied_tagged on port_intent
	for each row execute function port_binding_follow();

create function nic_binding_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_now timestamptz := clock_timestamp();
begin
	if tg_op <> 'INSERT' then
		update nic_binding set valid_to = greatest(v_now, valid_from), changed = nextval('binding_change') where mac = old.mac and valid_to is null;
	end if;
	if tg_op <> 'DELETE' then
		insert into nic_binding (mac, switch_id, port, node_id, node, valid_from)
		select new.mac, new.switch_id, new.port, n.id, coalesce(n.name, ''), v_now
		from (select) one left join nic x on x.mac = new.mac left join node n on n.id = x.node_id;
	end if;
	return null;
end
$$;
create trigger nic_binding_follow after insert or delete or update of switch_id, port on nic_location for each row execute function nic_binding_follow();

-- A NIC becomes a node's, or is no node's any more.
create function nic_binding_rename() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_mac macaddr;
	v_now timestamptz := clock_timestamp();
	l nic_location%rowtype;
begin
	if tg_op = 'DELETE' then v_mac := old.mac; else v_mac := new.mac; end if;
	select * into l from nic_location where mac = v_mac;
	if not found then
		return null;
	end if;
	update nic_binding set valid_to = greatest(v_now, valid_from), changed = nextval('binding_change') where mac = v_mac and valid_to is null;
	insert into nic_binding (mac, switch_id, port, node_id, node, valid_from)
	select v_mac, l.switch_id, l.port, n.id, coalesce(n.name, ''), v_now
	from (select) one left join nic x on x.mac = v_mac left join node n on n.id = x.node_id;
	return null;
end
$$;
create trigger nic_binding_rename after insert or delete or update of mac, node_id on nic for each row execute function nic_binding_rename();

insert into port_binding (switch_id, port, tag, network_id, tenant_id)
select i.switch_id, i.port, x.tag, n.id, n.tenant_id
from port_intent i
cross join lateral (select 0 as tag, i.applied_native as vlan where i.applied_native > 0
		    union all select v, v from vlan_numbers(i.applied_tagged) v where i.applied_trunk) x
join switch_endpoint e on e.switch_id = i.switch_id
join network_vlan nv on nv.fabric_id = e.fabric_id and nv.vlan = x.vlan and nv.state = 'used'
join network n on n.id = nv.network_id;
insert into nic_binding (mac, switch_id, port, node_id, node)
select l.mac, l.switch_id, l.port, n.id, coalesce(n.name, '')
from nic_location l left join nic x on x.mac = l.mac left join node n on n.id = x.node_id;

-- --- sums of time ------------------------------------------------------------------------------------------------------------------------

-- `step` is the length of a bucket in seconds, `at` its begin. Partitions by step and time: what is too old goes as a whole.
-- One row per port (and direction) and owner: tenant, network, VLAN; or a reason why nobody's. Sums are estimates of samples; `square` is their variance
-- (peregrine/flowd/flow/estimate_policy.h), `floor` what a pair may have had that is not in traffic_pair.
create table traffic_share (
	step integer not null,
	at timestamptz not null,
	switch_id bigint not null,
	port text not null,
	direction text not null,               -- 'out': left the switch there; 'in': entered at this edge port
	tenant_id bigint,
	tenant text not null default '',
	network_id bigint,
	network text not null default '',
	vlan integer not null default 0,
	reason text not null default '',
	bytes bigint not null,
	packets bigint not null,
	samples bigint not null,
	square double precision not null,
	floor bigint not null default 0,
	partial boolean not null default false -- we were not there all the time
) partition by list (step);

-- The largest pairs of a share; what they do not have of it is "other".
create table traffic_pair (
	step integer not null,
	at timestamptz not null,
	switch_id bigint not null,
	port text not null,
	direction text not null,
	tenant_id bigint,
	network_id bigint,
	vlan integer not null default 0,
	reason text not null default '',
	a text not null,                       -- a node's name, else an IP address, else a MAC
	b text not null,
	bytes bigint not null,
	packets bigint not null,
	samples bigint not null,
	square double precision not null,
	missed bigint not null default 0,      -- what it may have had before it was first kept
	floor bigint not null default 0        -- what a flow may have had that is not in traffic_flow
) partition by list (step);

-- The largest flows of a pair; of minutes only.
create table traffic_flow (
	step integer not null,
	at timestamptz not null,
	switch_id bigint not null,
	port text not null,
	direction text not null,
	tenant_id bigint,
	network_id bigint,
	vlan integer not null default 0,
	reason text not null default '',
	a text not null,
	b text not null,
	forward boolean not null,              -- from a to b
	source text not null,                  -- address, '' without IP
	target text not null,
	source_port integer not null,
	target_port integer not null,
	protocol integer not null,
	ethertype integer not null,
	bytes bigint not null,
	packets bigint not null,
	samples bigint not null,
	square double precision not null,
	missed bigint not null default 0
) partition by list (step);

-- What the interface counters of a port said: exact. Null where a counter was not there or began anew.
create table traffic_port (
	step integer not null,
	at timestamptz not null,
	switch_id bigint not null,
	port text not null,
	seconds double precision not null,     -- of the bucket that two readings cover
	in_bytes bigint,
	out_bytes bigint,
	in_packets bigint,
	out_packets bigint,
	in_errors bigint,
	out_errors bigint,
	in_discards bigint,
	out_discards bigint,
	speed_bps bigint not null default 0
) partition by list (step);

-- Which buckets were written, by whom: in the same transaction as their rows, so that one that is sent again (was it committed?) is not counted twice. What is not
-- here was not collected.
create table traffic_bucket (
	step integer not null,
	at timestamptz not null,
	writer text not null,                  -- a collector, and which of its lives
	from_at timestamptz not null,          -- what of it was collected
	to_at timestamptz not null,
	bytes bigint not null default 0,
	unattributed_bytes bigint not null default 0,
	lost_bytes bigint not null default 0,  -- of ports that did not fit into memory
	primary key (step, at, writer)
);
create index traffic_bucket_at on traffic_bucket (at);
grant select, insert on traffic_bucket to peregrine_flowd;
grant select on traffic_bucket to portald;

-- How long each is kept, and how much time one partition holds.
create table traffic_retention (
	step integer primary key check (step in (60, 300, 3600)),
	keep interval not null check (keep >= interval '1 hour'),
	width interval not null check (width >= interval '10 minutes')
);
insert into traffic_retention values (60, '24 hours', '1 hour'), (300, '90 days', '1 day'), (3600, '730 days', '30 days');
grant select on traffic_retention to peregrine_flowd, portald;

create table traffic_60_share partition of traffic_share for values in (60) partition by range (at);
create table traffic_300_share partition of traffic_share for values in (300) partition by range (at);
create table traffic_3600_share partition of traffic_share for values in (3600) partition by range (at);
create table traffic_60_pair partition of traffic_pair for values in (60) partition by range (at);
create table traffic_300_pair partition of traffic_pair for values in (300) partition by range (at);
create table traffic_3600_pair partition of traffic_pair for values in (3600) partition by range (at);
create table traffic_60_flow partition of traffic_flow for values in (60) partition by range (at);
create table traffic_60_port partition of traffic_port for values in (60) partition by range (at);
create table traffic_300_port partition of traffic_port for values in (300) partition by range (at);
create table traffic_3600_port partition of traffic_port for values in (3600) partition by range (at);

create index traffic_share_port on traffic_share (switch_id, port, direction, at);
create index traffic_share_tenant on traffic_share (tenant_id, at) where direction = 'in';
create index traffic_pair_port on traffic_pair (switch_id, port, direction, network_id, vlan, at);
create index traffic_pair_tenant on traffic_pair (tenant_id, network_id, at) where direction = 'in';
create index traffic_flow_port on traffic_flow (switch_id, port, direction, network_id, vlan, at);
create index traffic_flow_tenant on traffic_flow (tenant_id, network_id, at) where direction = 'in';
create index traffic_port_port on traffic_port (switch_id, port, at);
create index traffic_port_at on traffic_port (at);

alter table traffic_share enable row level security;
alter table traffic_pair enable row level security;
alter table traffic_flow enable row level security;
alter table traffic_port enable row level security;
-- A tenant sees its own traffic, at whatever port; counters of ports and what is nobody's are the operator's.
create policy traffic_share_portald on traffic_share for select to portald using (in_scope(tenant_id));
create policy traffic_pair_portald on traffic_pair for select to portald using (in_scope(tenant_id));
create policy traffic_flow_portald on traffic_flow for select to portald using (in_scope(tenant_id));
create policy traffic_port_portald on traffic_port for select to portald using (is_operator());
create policy traffic_share_flowd on traffic_share for select to peregrine_flowd using (true);
create policy traffic_pair_flowd on traffic_pair for select to peregrine_flowd using (true);
create policy traffic_flow_flowd on traffic_flow for select to peregrine_flowd using (true);
create policy traffic_port_flowd on traffic_port for select to peregrine_flowd using (true);
grant select on traffic_share, traffic_pair, traffic_flow, traffic_port to portald;
grant select on traffic_share, traffic_pair, traffic_flow, traffic_port to peregrine_flowd;
-- COPY does not go with row policies: flowd writes into the tables of a step, which have none and which nobody else may touch.
grant insert on traffic_60_share, traffic_300_share, traffic_3600_share, traffic_60_pair, traffic_300_pair, traffic_3600_pair, traffic_60_flow, traffic_60_port,
	traffic_300_port, traffic_3600_port to peregrine_flowd;

-- Makes partitions until two widths ahead and drops what is older than kept. Returns how many came and went. Called by flowd at its start and every ten minutes.
create function traffic_partitions_turn(p_now timestamptz)
returns integer language plpgsql security definer set search_path = haas, pg_temp set client_min_messages = warning as $$
declare
	r record;
	v_parent text;
	v_name text;
	v_begin timestamptz;
	v_width bigint;
	v_count integer := 0;
begin
	-- One at a time: two daemons would make the same one.
	perform pg_advisory_xact_lock(hashtext('traffic_partitions_turn'));
	for r in select * from traffic_retention order by step loop
		v_width := extract(epoch from r.width)::bigint;
		foreach v_parent in array array['share', 'pair', 'flow', 'port'] loop
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
		join traffic_retention t on p.relname in (format('traffic_%s_share', t.step), format('traffic_%s_pair', t.step), format('traffic_%s_flow', t.step),
							   format('traffic_%s_port', t.step))
		where c.relnamespace = 'haas'::regnamespace
			and to_timestamp(substring(c.relname from '[0-9]{12}$') || ' +00', 'YYYYMMDDHH24MI TZH') + t.width < p_now - t.keep
	loop
		execute format('drop table %I', r.name);
		v_count := v_count + 1;
	end loop;
	return v_count;
end
$$;
revoke execute on function traffic_partitions_turn(timestamptz) from public;
grant execute on function traffic_partitions_turn(timestamptz) to peregrine_flowd;
select traffic_partitions_turn(now());
