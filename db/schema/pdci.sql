-- PDCIs: the request of a tenant for nodes, networks and volumes.

-- ==== shape ====

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
	locked boolean not null default false, -- nobody releases it, replaces its nodes or takes their power by a slip
	actor text not null,
	due_at timestamptz default now(),      -- null: nothing to do until somebody asks for something
	claim_owner text,
	claim_until timestamptz,
	generation bigint not null default 0,  -- every write of a claim says "where generation = mine"
	version bigint not null default 1,
	sheet_version bigint not null default 1, -- of its OS sheet (pdci_sheet)
	created_at timestamptz not null default now(),
	ready_at timestamptz,
	ended_at timestamptz,
	constraint released_has_end check ((state = 'released') = (ended_at is not null)),
	constraint infeasible_has_problem check (state not in ('infeasible', 'failed') or problem is not null)
);
create unique index pdci_name on pdci (tenant_id, name) where state <> 'released';
create index pdci_due on pdci (due_at) where due_at is not null;
create index pdci_tenant on pdci (tenant_id, id);
alter table pdci enable row level security;

alter table network add constraint network_pdci foreign key (pdci_id) references pdci;

-- ==== functions ====

-- One transaction: the PDCI, its networks and its OS sheet (request.sheet: rows as pdci_sheet_put takes them). The nodes are chosen by bampid (alloc_policy), which also answers whether it is feasible before this is called.
-- p_id: its number where it is only tried, so that a trial uses up none.
create function pdci_create(p_tenant text, p_name text, p_request jsonb, p_actor text, p_id bigint default null)
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
		insert into pdci (id, tenant_id, name, request, actor) overriding system value
		values (coalesce(p_id, nextval(pg_get_serial_sequence('pdci', 'id'))), v_tenant, p_name, p_request - 'sheet', p_actor) returning id into v_id;
	exception when unique_violation then
		raise exception 'PDCI % exists already', p_name using errcode = 'HA409', hint = 'haasctl pdci show ' || p_name;
	end;
	for v_row in select * from jsonb_array_elements(coalesce(p_request -> 'networks', '[]')) loop
		perform network_create(v_row ->> 'name', 'tenant', (select name from tenant where id = v_tenant), (v_row ->> 'prefix')::cidr, v_id, p_actor);
	end loop;
	if p_request ? 'sheet' then
		perform packages_check(r, v_tenant) from jsonb_array_elements(p_request -> 'sheet') r where jsonb_typeof(r -> 'packages') = 'array';
		perform pdci_sheet_fill(v_id, p_request -> 'sheet');
	end if;
	perform event_add(p_actor, 'pdci.created', 'pdci', p_name, v_tenant, 'asked for', jsonb_build_object('pdci', v_id, 'request', p_request - 'sheet'));
	perform pg_notify('deployment', '');
	return v_id;
end
$$;

-- What people ask of a locked PDCI is refused. bampid itself goes on: a spare takes the place of a node that failed.
create function pdci_locked(p pdci)
returns void stable language plpgsql set search_path = haas, pg_temp as $$
begin
	if p.locked then
		raise exception 'PDCI % is locked', p.name using errcode = 'HA409', hint = format('haasctl pdci unlock %s, if it is meant', p.name);
	end if;
end
$$;

-- Locks or unlocks. One that is being released is too late to lock.
create function pdci_lock(p_pdci bigint, p_locked boolean, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p pdci%rowtype;
begin
	select * into p from pdci where id = p_pdci for update;
	if not found or not in_scope(p.tenant_id) then
		raise exception 'PDCI % does not exist', p_pdci using errcode = 'HA404', hint = 'haasctl pdci list';
	elsif p_locked and p.wanted <> 'present' then
		raise exception 'PDCI % is being released', p.name using errcode = 'HA409';
	elsif p.locked <> p_locked then
		update pdci set locked = p_locked, version = version + 1 where id = p.id;
		perform event_add(p_actor, case when p_locked then 'pdci.locked' else 'pdci.unlocked' end, 'pdci', p.name, p.tenant_id,
				  case when p_locked then 'locked' else 'unlocked' end, jsonb_build_object('pdci', p.id));
	end if;
end
$$;

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
	perform pdci_locked(p);
	-- generation moves on: whoever works on it now can no longer write
	update pdci set wanted = 'absent', state = 'releasing', problem = null, due_at = now(), claim_owner = null, claim_until = null,
		generation = generation + 1, version = version + 1 where id = p.id;
	perform event_add(p_actor, 'pdci.release', 'pdci', p.name, p.tenant_id, 'release asked for', jsonb_build_object('pdci', p.id));
	perform pg_notify('deployment', '');
end
$$;

-- Finds a PDCI by its id, or by its name in its tenant. A released PDCI keeps its name until a new one takes it. p_tenant null: in every
-- tenant that the caller sees; HA409 when several match.
create function pdci_find(p_key text, p_tenant text)
returns bigint stable language plpgsql set search_path = haas as $$
declare
	v_id bigint;
	v_tenants bigint;
begin
	select count(distinct p.tenant_id), (array_agg(p.id order by p.state = 'released', p.id desc))[1] into v_tenants, v_id
	from pdci p join tenant t on t.id = p.tenant_id
	where case when p_key ~ '^[1-9][0-9]{0,17}$' then p.id = p_key::bigint else p.name = p_key end and (p_tenant is null or t.name = p_tenant);
	if v_id is null then
		raise exception 'PDCI % does not exist', p_key using errcode = 'HA404', hint = 'haasctl pdci list shows the PDCIs';
	elsif v_tenants > 1 then
		raise exception '% tenants have a PDCI %', v_tenants, p_key using errcode = 'HA409', hint = 'name the owner: tenant=NAME (haasctl: --tenant), or use its id';
	end if;
	return v_id;
end
$$;

create function pdci_volumes() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform pdci_volume_add(new, e) from jsonb_array_elements(coalesce(new.request -> 'volumes', '[]')) with ordinality as v (e, i) order by i;
	return null;
end
$$;

-- Given back, it leaves its volumes to the tenant, but for those that go with it. Whatever else happens to it, storages look.
create function pdci_volumes_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.wanted = 'absent' and old.wanted = 'present' then
		perform event_add(new.actor, 'volume.detach', 'volume', v.name, v.tenant_id, 'its PDCI ' || new.name || ' is given back',
				  jsonb_build_object('volume', v.id, 'pdci', new.id, 'delete', not v.keep))
		from volume v where v.pdci_id = new.id;
		update volume set pdci_id = null, wanted = case when keep then wanted else 'absent' end, secret_sealed = null, secret_number = secret_number + 1,
			version = version + 1
		where pdci_id = new.id;
	end if;
	perform pg_notify('volume', '');
	return null;
end
$$;

-- What a tenant gave for its OSes is needed as long as a node may be replaced.
create function pdci_forget_user_data() returns trigger language plpgsql as $$
begin
	new.request := new.request #- '{params,user_data}';
	return new;
end
$$;

-- ==== triggers, views, rights ====

create trigger pdci_forget_user_data before update of state on pdci for each row
	when (new.state = 'released' and new.request #> '{params,user_data}' is not null) execute function pdci_forget_user_data();
create trigger pdci_volumes after insert on pdci for each row when (new.request ? 'volumes') execute function pdci_volumes();
create trigger pdci_volumes_follow after update of state, wanted on pdci for each row
	when (new.state is distinct from old.state or new.wanted is distinct from old.wanted) execute function pdci_volumes_follow();
create trigger pdci_packages_check before insert on pdci for each row when (new.request -> 'params' ? 'packages') execute function pdci_packages_check();

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

create policy pdci_portald on pdci for select to portald using (in_scope(tenant_id));
create policy pdci_daemon on pdci to bampid using (true) with check (true);
create policy pdci_peregrined on pdci for select to peregrined using (true);

grant select, update on pdci to bampid;
grant select on pdci to portald;
grant select on pdci_view to bampid, portald;
grant execute on function pdci_create(text,text,jsonb,text,bigint) to portald;
grant execute on function pdci_release(bigint,text) to portald;
grant execute on function pdci_lock(bigint,boolean,text) to portald;
grant execute on function pdci_find(text,text) to portald;
