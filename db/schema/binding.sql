-- Who was where, with the time: which port carried which network, which NIC was at which port, whose a VLAN number was.

-- ==== shape ====

-- Every change of a binding draws a number: flowd asks for the last one every other second and reads again when it grew.
create sequence binding_change;

-- Whose VLAN a number was and when: a late sample or a question about last week finds the tenant of then.
create table vlan_history (
	fabric_id bigint not null,
	vlan integer not null,
	network_id bigint not null,
	network text not null,
	tenant_id bigint,
	valid_from timestamptz not null,
	valid_to timestamptz,
	changed bigint not null default nextval('binding_change')
);
create index vlan_history_vlan on vlan_history (fabric_id, vlan, valid_from);
create index vlan_history_ended on vlan_history (valid_to);

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

-- Which network has a VNI, on all fabrics.
create table vni_binding (
	vni integer not null check (vni between 1 and 16777215),
	network_id bigint not null references network on delete cascade,
	valid_from timestamptz not null default clock_timestamp(),
	valid_to timestamptz,
	changed bigint not null default nextval('binding_change')
);
create unique index vni_binding_open on vni_binding (vni) where valid_to is null;

-- ==== functions ====

create function vlan_history_changed() returns trigger language plpgsql as $$
begin
	new.changed := nextval('haas.binding_change');
	return new;
end
$$;

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

-- ==== triggers, views, rights ====
create trigger vlan_history_changed before update on vlan_history for each row execute function vlan_history_changed();

grant insert, select, update on vlan_history to peregrined;
grant select on vlan_history to peregrine_flowd;
grant usage on sequence binding_change to peregrined;
grant select on sequence binding_change to peregrine_flowd;
grant select on port_binding to peregrine_flowd;
grant select on nic_binding to peregrine_flowd;
grant select on vni_binding to portald, peregrine_flowd;
grant insert, select, update on vni_binding to peregrined;
