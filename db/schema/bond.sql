-- Bonds of nodes, and the aggregates of switches that they end in.

-- ==== shape ====

-- NICs of a node that its tenant uses as one, by LACP (IEEE 802.1AX). node_network.nic names the bond, so networks belong to the bond. The
-- aggregate on the switch is made by the operator or by us; the switch shows it (port_observed.lag). VLANs of the members are set on the
-- aggregate.
create table node_bond (
	node_id bigint not null references node on delete cascade,
	name text not null check (name ~ '^[a-z][a-z0-9_-]{0,14}$'),
	nic text not null check (length(nic) between 1 and 15),
	primary key (node_id, nic)
);
create index node_bond_name on node_bond (node_id, name);

-- What peregrined knows of a switch by its family and the way in which it is changed.
create table switch_ability (
	switch_id bigint primary key references switch on delete cascade,
	aggregates boolean not null default false,  -- we make aggregates there; else the operator does
	-- Whether nodes in the provisioning network hear each other there, as of the last time that several were in it. between: not at this
	-- switch, but those at other switches over uplinks. cannot: its family has nothing that keeps them apart.
	apart text not null default '' check (apart in ('', 'isolated', 'between', 'open', 'cannot', 'untold')),
	apart_at timestamptz
);

-- Aggregates that we made. The row is written before the switch is told, so that after kill -9 the owner is known. The row stays after the
-- aggregate is gone; another aggregate may take its name.
create table switch_aggregate (
	switch_id bigint not null references switch on delete cascade,
	name text not null,                 -- as the switch shows it
	bond text not null,                 -- port_intent.bond of its members then
	members text[] not null,
	made_at timestamptz not null default now(),
	primary key (switch_id, name)
);

-- ==== functions ====

-- A bond is its tenant's idea: it goes with the tenant.
create function node_bond_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	delete from node_bond where node_id = new.id;
	return null;
end
$$;

-- ==== triggers, views, rights ====

grant select on node_bond to bampid, portald, peregrined;
grant select on switch_ability to bampid, portald;
grant insert, select, update, delete on switch_ability to peregrined;
grant select on switch_aggregate to bampid, portald;
grant insert, select, update, delete on switch_aggregate to peregrined;
