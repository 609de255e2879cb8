-- PDCIs: what a tenant rents as a whole, from the request to the release; who had which node when.

create table pdci (
	id bigint generated always as identity primary key,
	tenant_id bigint not null references tenant,
	name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	-- as asked for: {"groups": [{"class", "count", "image", "nics": [{"nic", "network", "mode"}]}], "networks": [{"name", "prefix"}], "spread": "near" | "rack",
	-- "params": {"ssh_keys", "user_data"}}
	request jsonb not null,
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	-- requested: nodes are being chosen. infeasible: they cannot be, now; tried again at due_at until it is released
	state text not null default 'requested' check (state in ('requested', 'infeasible', 'building', 'ready', 'failed', 'releasing', 'released')),
	problem jsonb,
	actor text not null,
	due_at timestamptz default now(),      -- null: nothing to do until somebody asks for something
	claim_owner text,
	claim_until timestamptz,
	generation bigint not null default 0,  -- every write of a claim says "where generation = mine"
	version bigint not null default 1,
	created_at timestamptz not null default now(),
	ready_at timestamptz,
	ended_at timestamptz,
	constraint released_has_end check ((state = 'released') = (ended_at is not null)),
	constraint infeasible_has_problem check (state not in ('infeasible', 'failed') or problem is not null)
);
create unique index pdci_name on pdci (tenant_id, name) where state <> 'released';
create index pdci_due on pdci (due_at) where due_at is not null;
alter table pdci enable row level security;
create policy pdci_portald on pdci for select to portald using (in_scope(tenant_id));
create policy pdci_daemon on pdci to bampid using (true) with check (true);
create policy pdci_peregrined on pdci for select to peregrined using (true);
grant select on pdci to portald, peregrined;
grant select, update on pdci to bampid;
alter table network add constraint network_pdci foreign key (pdci_id) references pdci;

-- Its nodes. The row stays when the node is gone, so that the tenant can read what it had.
create table pdci_node (
	pdci_id bigint not null references pdci on delete cascade,
	node text not null,
	node_id bigint references node on delete set null,
	group_index integer not null,
	class text not null,
	address inet,
	deployment_id bigint references deployment on delete set null,  -- the newest that the PDCI asked for
	released_at timestamptz,
	primary key (pdci_id, node)
);
create unique index pdci_node_once on pdci_node (node_id) where released_at is null;
alter table pdci_node enable row level security;
create policy pdci_node_portald on pdci_node for select to portald using (exists (select from pdci p where p.id = pdci_id and in_scope(p.tenant_id)));
create policy pdci_node_daemon on pdci_node to bampid using (true) with check (true);
grant select on pdci_node to portald;
grant select on pdci_node to bampid;

-- Who had which node, from when to when: for bills and for questions. Names, no keys: it survives whatever it tells of. Only appended to, and closed once.
create table usage (
	id bigint generated always as identity primary key,
	tenant_id bigint not null,
	tenant text not null,
	kind text not null check (kind in ('node', 'volume')),
	subject text not null,
	class text not null default '',
	pdci text not null default '',
	from_at timestamptz not null default now(),
	to_at timestamptz,
	constraint usage_in_order check (to_at is null or to_at >= from_at)
);
create unique index usage_open on usage (kind, subject) where to_at is null;
create index usage_tenant on usage (tenant_id, from_at);
alter table usage enable row level security;
create policy usage_portald on usage for select to portald using (in_scope(tenant_id));
grant select on usage to portald;

create function usage_is_kept() returns trigger language plpgsql as $$
begin
	if tg_op = 'UPDATE' then
		if old.to_at is null and new.to_at is not null
		   and (new.id, new.tenant_id, new.tenant, new.kind, new.subject, new.class, new.pdci, new.from_at)
		     = (old.id, old.tenant_id, old.tenant, old.kind, old.subject, old.class, old.pdci, old.from_at) then
			return new;
		end if;
	end if;
	raise exception 'usage is only appended to, and closed once' using errcode = 'HA403';
end
$$;
create trigger usage_kept before update or delete on usage for each row execute function usage_is_kept();
create trigger usage_kept_whole before truncate on usage for each statement execute function usage_is_kept();

-- A tenant uses a node from the moment it is handed over (active) until its release begins, whoever asked for either. A reinstall is part of it.
create function usage_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.tenant_id is not null and new.state = 'active' then
		insert into usage (tenant_id, tenant, kind, subject, class, pdci)
		select t.id, t.name, 'node', new.name, new.class,
		       coalesce((select p.name from pdci_node x join pdci p on p.id = x.pdci_id where x.node_id = new.id and x.released_at is null), '')
		from tenant t where t.id = new.tenant_id
		on conflict do nothing;
	elsif new.tenant_id is null or new.state in ('scrubbing', 'free', 'discovered') then
		update usage set to_at = greatest(now(), from_at) where kind = 'node' and subject = new.name and to_at is null;
	end if;
	return null;
end
$$;
create trigger usage_follow after update of state, tenant_id on node for each row
	when (new.state is distinct from old.state or new.tenant_id is distinct from old.tenant_id) execute function usage_follow();
create function usage_end() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update usage set to_at = greatest(now(), from_at) where kind = 'node' and subject = old.name and to_at is null;
	return null;
end
$$;
create trigger usage_end after delete on node for each row execute function usage_end();

-- --- asked for by people --------------------------------------------------------------------------------------------------------------------

-- One transaction: the PDCI and its networks. The nodes are chosen by bampid (alloc_policy), which also answers whether it is feasible before this is called.
create function pdci_create(p_tenant text, p_name text, p_request jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
	v_id bigint;
	v_row jsonb;
	v_image text;
begin
	select id into v_tenant from tenant where name = p_tenant;
	if p_tenant is null and not is_operator() then
		v_tenant := current_tenant();
	end if;
	if v_tenant is null or not in_scope(v_tenant) then
		raise exception 'tenant % does not exist', coalesce(p_tenant, '(none)') using errcode = 'HA404', hint = 'a PDCI belongs to a tenant';
	end if;
	for v_row in select * from jsonb_array_elements(p_request -> 'groups') loop
		v_image := v_row ->> 'image';
		if not exists (select from image i where i.name = split_part(v_image, ':', 1) and i.state = 'ready'
				and (position(':' in v_image) = 0 or i.version = substr(v_image, position(':' in v_image) + 1))
				and image_allowed(i.id, v_tenant)) then
			raise exception 'image % does not exist or may not be used here', v_image using errcode = 'HA404',
				hint = 'haasctl image list shows the images that are ready';
		end if;
	end loop;
	begin
		insert into pdci (tenant_id, name, request, actor) values (v_tenant, p_name, p_request, p_actor) returning id into v_id;
	exception when unique_violation then
		raise exception 'PDCI % exists already', p_name using errcode = 'HA409', hint = 'haasctl pdci show ' || p_name;
	end;
	for v_row in select * from jsonb_array_elements(coalesce(p_request -> 'networks', '[]')) loop
		perform network_create(v_row ->> 'name', 'tenant', (select name from tenant where id = v_tenant), (v_row ->> 'prefix')::cidr, v_id, p_actor);
	end loop;
	perform event_add(p_actor, 'pdci.created', 'pdci', p_name, v_tenant, 'asked for', jsonb_build_object('pdci', v_id, 'request', p_request));
	perform pg_notify('deployment', '');
	return v_id;
end
$$;
grant execute on function pdci_create(text, text, jsonb, text) to portald;

-- All of it goes back: nodes are erased, ports parked, networks, addresses and numbers returned.
create function pdci_release(p_pdci bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p pdci%rowtype;
begin
	select * into p from pdci where id = p_pdci for update;
	if not found or not in_scope(p.tenant_id) then
		raise exception 'PDCI % does not exist', p_pdci using errcode = 'HA404', hint = 'haasctl pdci list';
	end if;
	if p.wanted = 'absent' then
		return;
	end if;
	-- generation moves on: whoever works on it now can no longer write
	update pdci set wanted = 'absent', state = 'releasing', problem = null, due_at = now(), claim_owner = null, claim_until = null,
		generation = generation + 1, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.release', 'pdci', p.name, p.tenant_id, 'release asked for', jsonb_build_object('pdci', p.id));
	perform pg_notify('deployment', '');
end
$$;
grant execute on function pdci_release(bigint, text) to portald;

-- --- done by bampid -------------------------------------------------------------------------------------------------------------------------

-- The n-th usable address of a network, counted from the end of the first eighth: what is before it is the tenant's own to give out.
create function network_address(p_prefix cidr, p_index integer)
returns inet immutable language sql as $$
	select set_masklen(a, masklen(p_prefix))
	from (select set_masklen(host(network(p_prefix))::inet, 32) + (1 << (29 - masklen(p_prefix))) + p_index as a where masklen(p_prefix) <= 29) x
	where a < set_masklen(host(broadcast(p_prefix))::inet, 32)
$$;

-- Takes the nodes that alloc_policy chose, all or none: [{"group": index, "node": id}]; their deployments are queued. HA409: one of them can no longer be had
-- (somebody was faster); choose again.
create function pdci_allocate(p_pdci bigint, p_generation bigint, p_nodes jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	v_tenant text;
	v_group jsonb;
	v_index integer;
	v_names text[];
	v_at integer := 0;
	r record;
	c record;
	v_nics jsonb;
	v_addresses jsonb;
	v_networks jsonb;
	v_own inet;
begin
	select * into p from pdci where id = p_pdci and generation = p_generation and wanted = 'present' for update;
	if not found then
		raise exception 'PDCI % was taken over', p_pdci using errcode = 'HA412';
	end if;
	select name into v_tenant from tenant where id = p.tenant_id;
	perform set_config('haas.scope', 'operator', true);   -- this transaction acts for the tenant, on nodes that are nobody's yet
	perform from node n where n.id in (select (x ->> 'node')::bigint from jsonb_array_elements(p_nodes) x) order by n.id for no key update;
	for v_group, v_index in select e, (i - 1)::integer from jsonb_array_elements(p.request -> 'groups') with ordinality as g (e, i) loop
		select array_agg(n.name order by n.name) into v_names
		from jsonb_array_elements(p_nodes) x join node n on n.id = (x ->> 'node')::bigint where (x ->> 'group')::integer = v_index;
		continue when v_names is null;
		for r in select * from deployment_create('install', v_names, v_group ->> 'image', v_tenant, coalesce(p.request -> 'params', '{}'), p_actor) loop
			if r.refused is not null then
				raise exception 'node % can no longer be had: %', r.node, r.refused using errcode = 'HA409';
			end if;
			select n.* into c from node n where n.name = r.node;
			-- NICs of the group, else the first network untagged on the NIC that it boots from and the others tagged on it
			v_nics := coalesce(v_group -> 'nics',
					   (select jsonb_agg(jsonb_build_object('nic', b.name, 'network', w.e ->> 'name',
										'mode', case when jsonb_array_length(p.request -> 'networks') = 1 then 'access'
											     when w.i = 1 then 'native' else 'tagged' end))
					    from nic b, jsonb_array_elements(p.request -> 'networks') with ordinality as w (e, i)
					    where b.node_id = c.id and b.boot), '[]');
			select coalesce(jsonb_agg(jsonb_build_object('nic', x ->> 'nic', 'network', n.id, 'mode', coalesce(x ->> 'mode', 'access'))), '[]') into v_networks
			from jsonb_array_elements(v_nics) x join network n on n.pdci_id = p.id and n.name = x ->> 'network';
			perform node_networks_set(c.id, v_networks, p_actor);
			-- untagged networks with a prefix give the node an address
			select jsonb_agg(jsonb_build_object('mac', b.mac::text, 'address', a.address::text)), min(host(a.address)::inet) into v_addresses, v_own
			from jsonb_array_elements(v_nics) x join network n on n.pdci_id = p.id and n.name = x ->> 'network'
			join nic b on b.node_id = c.id and b.name = x ->> 'nic'
			cross join lateral (select network_address(n.prefix, v_at) as address) a
			where coalesce(x ->> 'mode', 'access') <> 'tagged' and a.address is not null;
			update deployment d set params = d.params || jsonb_strip_nulls(jsonb_build_object('hostname', coalesce(d.params ->> 'hostname', c.name), 'addresses', v_addresses))
			where d.id = r.deployment_id;
			insert into pdci_node (pdci_id, node, node_id, group_index, class, address, deployment_id)
			values (p.id, c.name, c.id, v_index, c.class, v_own, r.deployment_id);
			v_at := v_at + 1;
		end loop;
	end loop;
	update pdci set state = 'building', problem = null, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.allocated', 'pdci', p.name, p.tenant_id,
			  (select format('%s nodes: %s', count(*), string_agg(x.node, ', ' order by x.node)) from pdci_node x where x.pdci_id = p.id),
			  jsonb_build_object('pdci', p.id));
end
$$;
grant execute on function pdci_allocate(bigint, bigint, jsonb, text) to bampid;

-- Release of its nodes, as far as it goes: what is being installed is cancelled first, what a cancel left behind (discovered, dirty) is erased too, what nobody may
-- touch (held, broken) is told. Called again until all are free; then its networks go and it is released. Returns the nodes that are still there and what they wait for.
create function pdci_release_step(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	p pdci%rowtype;
	r record;
	x record;
	v_network network%rowtype;
	v_left integer := 0;
begin
	select * into p from pdci where id = p_pdci and generation = p_generation and wanted = 'absent' for update;
	if not found then
		raise exception 'PDCI % was taken over', p_pdci using errcode = 'HA412';
	end if;
	perform set_config('haas.scope', 'operator', true);
	perform from node n join pdci_node m on m.node_id = n.id where m.pdci_id = p.id and m.released_at is null order by n.id for no key update of n;
	for r in
		select m.node as name, n.id, n.state, n.dirty, n.tenant_id, d.id as deployment, d.plan, d.state as deployment_state
		from pdci_node m join node n on n.id = m.node_id
		left join deployment d on d.node_id = n.id and d.due_at is not null
		where m.pdci_id = p.id and m.released_at is null order by n.id
	loop
		if (r.state = 'free' and r.deployment is null) or r.tenant_id <> p.tenant_id then
			delete from node_network where node_id = r.id;
			update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node = r.name;
			continue;
		end if;
		v_left := v_left + 1;
		node := r.name;
		if r.deployment is not null and r.plan <> 'release' and r.deployment_state <> 'cancelling' then
			perform deployment_request(r.deployment, 'cancel', p_actor);
			waits_for := format('deployment %s (%s) to be cancelled', r.deployment, r.plan);
		elsif r.deployment is not null then
			waits_for := format('deployment %s (%s)', r.deployment, r.plan);
		else
			waits_for := null;
			-- a failed install leaves its node reserved: put away, it can be erased. A failed release is a person's to look at.
			perform deployment_request(d.id, 'clear', p_actor) from deployment d
			where d.node_id = r.id and d.state = 'failed' and d.plan <> 'release' and not exists (select from deployment y where y.node_id = r.id and y.id > d.id);
			for x in select * from deployment_create('release', array[r.name], null, null, '{}', p_actor) loop
				waits_for := coalesce(x.refused, format('deployment %s (release)', x.deployment_id));
				update pdci_node m set deployment_id = coalesce(x.deployment_id, m.deployment_id) where m.pdci_id = p.id and m.node = r.name;
			end loop;
		end if;
		return next;
	end loop;
	update pdci_node m set released_at = now() where m.pdci_id = p.id and m.node_id is null and m.released_at is null;
	if v_left > 0 then
		return;
	end if;
	for v_network in select * from network where pdci_id = p.id and wanted = 'present' order by id loop
		if exists (select from attachment a where a.network_id = v_network.id) or exists (select from node_network w where w.network_id = v_network.id) then
			node := '';
			waits_for := format('network %s to be empty', v_network.name);
			return next;
			v_left := v_left + 1;
		elsif exists (select from network_vlan x where x.network_id = v_network.id) then
			perform network_delete(v_network.id, p_actor);
		else   -- it never had a number, so no switch knows of it: its name is free at once
			delete from network where id = v_network.id;
			perform event_add(p_actor, 'network.deleted', 'network', v_network.name, v_network.tenant_id, 'returned with its PDCI',
					  jsonb_build_object('network', v_network.id, 'pdci', p.id));
		end if;
	end loop;
	if v_left = 0 then
		update pdci set state = 'released', problem = null, ended_at = now(), due_at = null, claim_owner = null, claim_until = null, version = version + 1 where id = p.id;
		perform event_add(p_actor, 'pdci.released', 'pdci', p.name, p.tenant_id, 'all of it is back', jsonb_build_object('pdci', p.id));
	end if;
end
$$;
grant execute on function pdci_release_step(bigint, bigint, text) to bampid;

-- What the API reads.
create view pdci_view with (security_invoker = true) as
select p.id, p.name, t.name as tenant, p.tenant_id, p.request, p.wanted, p.state, p.problem, p.actor, p.version, p.created_at, p.ready_at, p.ended_at,
       (select coalesce(jsonb_agg(jsonb_build_object('node', m.node, 'class', m.class, 'group', m.group_index, 'address', m.address::text, 'deployment', m.deployment_id,
						     'plan', d.plan, 'deployment_state', d.state, 'step', d.step, 'percent', g.percent, 'progress', g.text,
						     'problem', d.problem, 'released_at', m.released_at) order by m.group_index, m.node), '[]')
	from pdci_node m left join deployment d on d.id = m.deployment_id
	left join progress g on g.deployment_id = d.id and d.due_at is not null and g.updated_at >= d.step_started_at
	where m.pdci_id = p.id) as nodes,
       (select coalesce(jsonb_agg(jsonb_build_object('id', n.id, 'name', n.name, 'prefix', n.prefix::text, 'wanted', n.wanted) order by n.name), '[]')
	from network n where n.pdci_id = p.id) as networks
from pdci p join tenant t on t.id = p.tenant_id;
grant select on pdci_view to portald, bampid;

-- --- what bampid's steps isolate, attach and detach ask and look at ---------------------------------------------------------------------------

alter table node_place add column problem jsonb;   -- why it could not be asked for

-- As node_network_set; what speaks against it is kept as a problem of that node alone, so that one wrong cable stops no batch.
create function node_place_ask(p_node bigint, p_place text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_message text;
	v_hint text;
begin
	begin
		perform node_network_set(p_node, p_place, 'bampid');
		update node_place set problem = null where node_id = p_node;
	exception when sqlstate 'HA409' or sqlstate 'HA404' or sqlstate 'HA422' then
		get stacked diagnostics v_message = message_text, v_hint = pg_exception_hint;
		insert into node_place (node_id, problem) values (p_node, jsonb_build_object('message', v_message, 'hint', v_hint))
		on conflict (node_id) do update set problem = excluded.problem;
	end;
end
$$;
grant execute on function node_place_ask(bigint, text) to bampid;

-- [place, ports of the node that we know, ports not applied yet, networks it is meant for, problem of asking, problem of a port]; null: no switch is ours to configure.
create function node_place_facts(p_node bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when exists (select from switch_endpoint where managed) then (
		select jsonb_build_array(s.place, s.ports, s.open, (select count(*) from node_network w where w.node_id = p_node),
					 (select w.problem from node_place w where w.node_id = p_node), s.problem)
		from node_network_state(p_node) s) end
$$;
grant execute on function node_place_facts(bigint) to bampid;
