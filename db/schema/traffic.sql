-- Traffic by step and time: shares, pairs, flows, exact counters of ports, totals of links; partitions and how long each is kept.
--
-- Row policies ask for the scope once a statement, not once a row: `(select is_operator())`. The list of links reads traffic_link, a total per link
-- that a trigger adds up in the transaction of the shares.

-- ==== shape ====

-- Where a switch's sFlow comes from, when that is not its management address.
create table flow_agent (
	switch_id bigint not null references switch on delete cascade,
	agent inet not null,   -- as its datagrams name it
	source inet not null,  -- where they come from
	primary key (switch_id, agent, source)
);
create unique index flow_agent_once on flow_agent (agent, source);

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
create index traffic_share_port on traffic_share (switch_id, port, direction, at);
create index traffic_share_tenant on traffic_share (tenant_id, at) where direction = 'in';
create index traffic_share_out on traffic_share (tenant_id, at) where direction = 'out';
alter table traffic_share enable row level security;

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
create index traffic_pair_port on traffic_pair (switch_id, port, direction, network_id, vlan, at);
create index traffic_pair_tenant on traffic_pair (tenant_id, network_id, at) where direction = 'in';
alter table traffic_pair enable row level security;

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
create index traffic_flow_port on traffic_flow (switch_id, port, direction, network_id, vlan, at);
create index traffic_flow_tenant on traffic_flow (tenant_id, least(a, b), greatest(a, b), at) where direction = 'in';
alter table traffic_flow enable row level security;

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
	speed_bps bigint not null default 0,
	out_sampled bigint,                    -- bytes by samples in the very seconds of out_bytes; the difference is the samples' error
	interval_s real                       -- seconds between two readings; 0 = not known
) partition by list (step);
create index traffic_port_port on traffic_port (switch_id, port, at);
create index traffic_port_at on traffic_port (at);
alter table traffic_port enable row level security;

-- Which buckets were written, and by whom. The row is written in the same transaction as the bucket: a bucket that is sent again after a
-- lost commit is not counted twice. A bucket without a row was not collected.
create table traffic_bucket (
	step integer not null,
	at timestamptz not null,
	writer text not null,                  -- a collector, and which of its lives
	from_at timestamptz not null,          -- what of it was collected
	to_at timestamptz not null,
	bytes bigint not null default 0,
	unattributed_bytes bigint not null default 0,
	lost_bytes bigint not null default 0,  -- of ports that did not fit into memory
	thinned double precision not null default 1,  -- an overloaded collector uses one of so many samples; the worst second of the bucket counts
	primary key (step, at, writer)
);
create index traffic_bucket_at on traffic_bucket (at);

-- How long each is kept, and how much time one partition holds.
create table traffic_retention (
	step integer primary key check (step in (60, 300, 3600)),
	keep interval not null check (keep >= interval '1 hour'),
	width interval not null check (width >= interval '10 minutes')
);

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

-- The bytes that left a port in a bucket, of all owners. A trigger adds up the shares in the transaction that writes them, so the sum is
-- right for every writer.
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
create index traffic_link_at on traffic_link (at);
alter table traffic_link enable row level security;

create table traffic_60_link partition of traffic_link for values in (60) partition by range (at);

create table traffic_300_link partition of traffic_link for values in (300) partition by range (at);

create table traffic_3600_link partition of traffic_link for values in (3600) partition by range (at);

insert into traffic_retention values (60, '24 hours', '1 hour'), (300, '90 days', '1 day'), (3600, '730 days', '30 days');

-- ==== functions ====

-- Makes partitions until two widths ahead, and drops partitions older than `keep`: of traffic, of link totals, and of SNMP counters. Returns how
-- many came and went. flowd and peregrined call it at their start, and flowd every ten minutes.
create function traffic_partitions_turn(p_now timestamptz)
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

create function traffic_link_add() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into traffic_link (step, at, switch_id, port, bytes, packets, samples, square)
	select step, at, switch_id, port, sum(bytes), sum(packets), sum(samples), sum(square) from written where direction = 'out' group by step, at, switch_id, port;
	return null;
end
$$;

-- ==== triggers, views, rights ====

-- A statement's triggers are those of the table that it names: flowd writes into the tables of a step.
create trigger traffic_link_add after insert on traffic_share referencing new table as written for each statement execute function traffic_link_add();
create trigger traffic_link_add after insert on traffic_60_share referencing new table as written for each statement execute function traffic_link_add();
create trigger traffic_link_add after insert on traffic_300_share referencing new table as written for each statement execute function traffic_link_add();
create trigger traffic_link_add after insert on traffic_3600_share referencing new table as written for each statement execute function traffic_link_add();

-- A tenant sees its own traffic, at whatever port; counters of ports and what is nobody's are the operator's.
create policy traffic_share_portald on traffic_share for select to portald
	using ((select is_operator()) or tenant_id = (select current_tenant()));
create policy traffic_pair_portald on traffic_pair for select to portald
	using ((select is_operator()) or tenant_id = (select current_tenant()));
create policy traffic_flow_portald on traffic_flow for select to portald
	using ((select is_operator()) or tenant_id = (select current_tenant()));
create policy traffic_port_portald on traffic_port for select to portald using ((select is_operator()));
create policy traffic_share_flowd on traffic_share for select to peregrine_flowd using (true);
create policy traffic_pair_flowd on traffic_pair for select to peregrine_flowd using (true);
create policy traffic_flow_flowd on traffic_flow for select to peregrine_flowd using (true);
create policy traffic_port_flowd on traffic_port for select to peregrine_flowd using (true);
create policy traffic_link_portald on traffic_link for select to portald using ((select is_operator()));

grant insert, select, update, delete on flow_agent to portald;
grant select on flow_agent to peregrine_flowd;
grant select on traffic_share to portald, peregrine_flowd;
grant select on traffic_pair to portald, peregrine_flowd;
grant select on traffic_flow to portald, peregrine_flowd;
grant select on traffic_port to portald, peregrine_flowd;
grant select on traffic_bucket to portald;
grant insert, select on traffic_bucket to peregrine_flowd;
grant select on traffic_retention to portald, peregrine_flowd;
grant insert on traffic_60_share to peregrine_flowd;
grant insert on traffic_300_share to peregrine_flowd;
grant insert on traffic_3600_share to peregrine_flowd;
grant insert on traffic_60_pair to peregrine_flowd;
grant insert on traffic_300_pair to peregrine_flowd;
grant insert on traffic_3600_pair to peregrine_flowd;
grant insert on traffic_60_flow to peregrine_flowd;
grant insert on traffic_60_port to peregrine_flowd;
grant insert on traffic_300_port to peregrine_flowd;
grant insert on traffic_3600_port to peregrine_flowd;
grant select on traffic_link to portald;
grant execute on function traffic_partitions_turn(timestamptz) to peregrined, peregrine_flowd;

select traffic_partitions_turn(now());
