-- The network of a PDCI to its volumes, when it begins and ends, and the secrets of initiators.
--
-- A node reaches a volume only while its PDCI has the volume. A node that is replaced stays on its networks while a volume is open to it, so that
-- the next node with its addresses finds no session.

-- ==== shape ====

-- The secret of a volume, sealed by its storage to the key of the agent that writes it into a node's OS. Nobody else can open it, and
-- neither can the agent of the next boot.
create table volume_login (
	volume_id bigint not null references volume on delete cascade,
	node_id bigint not null references node on delete cascade,
	agent_key text not null check (agent_key ~ '^[0-9a-f]{64}$'),
	secret_number bigint not null,
	sealed bytea not null check (length(sealed) <= 2048),
	primary key (volume_id, node_id)
);
create index volume_login_node on volume_login (node_id);
alter table volume_login enable row level security;

-- ==== functions ====

-- The storage's own address there is the first, that of a node follows from its place in the PDCI.
create function storage_address(p_prefix cidr) returns text immutable language sql as $$ select host(host(network(p_prefix))::inet + 1) $$;

create function storage_portal(p_prefix cidr, p_portal text) returns text immutable language sql as $$ select haas.storage_address(p_prefix) || ':' || substring(p_portal from '[0-9]+$') $$;

-- A tenant's own network may not have addresses of a storage: a node has both.
create function network_prefix_is_free() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if new.storage_id is null and exists (select from storage s where s.prefix && new.prefix) then
		raise exception 'prefix % overlaps addresses that lead to a storage', new.prefix using errcode = 'HA422', hint = 'choose another';
	end if;
	return new;
end
$$;

-- The storage's port carries all its networks, tagged, beside what an operator put there.
create function storage_port_apply(p_storage bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s storage%rowtype;
	v_networks bigint[];
	v_modes text[];
begin
	select * into s from storage where id = p_storage for no key update;
	if s.port is null then
		return;
	end if;
	perform from port_intent where switch_id = s.switch_id and port = s.port for no key update;
	select coalesce(array_agg(x.id order by x.id), '{}'), coalesce(array_agg(case when x.mode = 'access' and count_all > 1 then 'native' else x.mode end order by x.id), '{}')
	into v_networks, v_modes from (select y.*, count(*) over () as count_all from (
		select a.network_id as id, a.mode from attachment a join network n on n.id = a.network_id
		where a.switch_id = s.switch_id and a.port = s.port and n.storage_id is null
		union all
		select n.id, 'tagged' from network n where n.storage_id = s.id and n.wanted = 'present') y) x;
	perform port_networks_apply(s.switch_id, s.port, v_networks, v_modes, p_actor);
end
$$;

-- The network of a PDCI at a storage, made when its first volume there is attached; nodes that it has by then become members at once.
create function storage_network_begin(p_pdci bigint, p_storage bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s storage%rowtype;
	p pdci%rowtype;
	v_scope text := coalesce(current_setting('haas.scope', true), '');
	v_places integer;
	v_length integer := 28;
	v_prefix cidr;
	v_network bigint;
	v_name text;
	r record;
begin
	select * into s from storage where id = p_storage for no key update;
	if s.port is null or exists (select from network n where n.storage_id = s.id and n.pdci_id = p_pdci and n.wanted = 'present') then
		return;
	end if;
	select * into p from pdci where id = p_pdci;
	select greatest((select sum((g ->> 'count')::integer) from jsonb_array_elements(p.request -> 'groups') g), (select max(m.slot) + 1 from pdci_node m where m.pdci_id = p_pdci), 1) into v_places;
	while v_length > masklen(s.prefix) and network_address(set_masklen(s.prefix, v_length)::cidr, v_places - 1) is null loop
		v_length := v_length - 1;
	end loop;
	select set_masklen((network(s.prefix)::inet + i * (1::bigint << (32 - v_length))), v_length)::cidr as part into v_prefix
	from generate_series(0, (1::bigint << (v_length - masklen(s.prefix))) - 1) i
	where not exists (select from network n where n.storage_id = s.id
			  and n.prefix && set_masklen((network(s.prefix)::inet + i * (1::bigint << (32 - v_length))), v_length)::cidr)
	order by i limit 1;
	if v_prefix is null or network_address(v_prefix, v_places - 1) is null then
		raise exception 'storage % has no addresses left for % in %', s.name, count_text(v_places, 'node'), s.prefix using errcode = 'HA409', hint = 'haasctl storage set --prefix, or another storage';
	end if;
	-- The one of before may not be off all switches yet.
	select x.name into v_name from generate_series(1, 10000) i, format('volumes-%s-%s%s', p_pdci, s.id, case when i > 1 then '-' || i else '' end) as x(name)
	where not exists (select from network n where n.name = x.name) order by i limit 1;
	insert into network (name, kind, tenant_id, prefix, pdci_id, storage_id)
	values (v_name, 'tenant', p.tenant_id, v_prefix, p_pdci, s.id) returning id into v_network;
	perform event_add(p_actor, 'network.created', 'network', v_name, p.tenant_id, 'to volumes on storage ' || s.name,
			  jsonb_build_object('network', v_network, 'pdci', p_pdci, 'storage', s.name));
	perform set_config('haas.scope', 'operator', true);
	for r in select m.node_id, m.slot, coalesce((select b.name from node_bond b where b.node_id = x.node_id and b.nic = x.name), x.name) as nic
		 from pdci_node m join lateral (select * from nic c where c.node_id = m.node_id and c.boot order by c.name limit 1) x on true
		 where m.pdci_id = p_pdci and m.released_at is null order by m.node_id loop
		perform node_networks_set(r.node_id, (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('nic', w.nic, 'network', w.network_id, 'mode', w.mode,
			'address', w.address::text))), '[]') from node_network w where w.node_id = r.node_id)
			|| jsonb_build_object('nic', r.nic, 'network', v_network, 'mode', 'tagged', 'address', network_address(v_prefix, r.slot)::text), p_actor);
	end loop;
	perform storage_port_apply(s.id, p_actor);
	perform set_config('haas.scope', v_scope, true);
	perform pg_notify('network', '');
end
$$;

-- And its end: when the last volume is detached and closed, or the PDCI goes. What its nodes' ports carry is taken off with them in the latter case.
create function storage_network_end(p_pdci bigint, p_storage bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	n network%rowtype;
	v_scope text := coalesce(current_setting('haas.scope', true), '');
	r record;
begin
	select * into n from network x where x.storage_id = p_storage and x.pdci_id = p_pdci and x.wanted = 'present' for no key update;
	if not found then
		return;
	end if;
	perform set_config('haas.scope', 'operator', true);
	update network set wanted = 'absent', version = version + 1 where id = n.id;
	for r in select distinct w.node_id from node_network w where w.network_id = n.id order by 1 loop
		perform node_networks_replace(r.node_id, (select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('nic', w.nic, 'network', w.network_id, 'address', w.address::text,
			'mode', case when w.mode = 'native' and not exists (select from node_network o where o.node_id = w.node_id and o.nic = w.nic and o.network_id not in (w.network_id, n.id))
				     then 'access' else w.mode end))), '[]') from node_network w where w.node_id = r.node_id and w.network_id <> n.id), p_actor);
		-- an install that has not told its OS yet is not to wait for a number
		update deployment d set params = jsonb_set(d.params, '{addresses}', (select coalesce(jsonb_agg(a), '[]') from jsonb_array_elements(d.params -> 'addresses') a
			where (a ->> 'network')::bigint is distinct from n.id))
		where d.node_id = r.node_id and d.due_at is not null and jsonb_typeof(d.params -> 'addresses') = 'array';
	end loop;
	begin
		perform storage_port_apply(p_storage, p_actor);
	exception when sqlstate 'HA409' or sqlstate 'HA404' or sqlstate 'HA422' then   -- the port is no longer ours to set: nothing may wait for it
		delete from attachment a where a.network_id = n.id;
		perform event_add(p_actor, 'storage.port_left', 'storage', (select s.name from storage s where s.id = p_storage), null, sqlerrm, jsonb_build_object('network', n.id));
	end;
	if not exists (select from network_vlan v where v.network_id = n.id) then   -- no switch ever knew of it
		delete from network where id = n.id and not exists (select from attachment a where a.network_id = n.id);
	end if;
	perform event_add(p_actor, 'network.deleted', 'network', n.name, n.tenant_id, 'no volume is left there', jsonb_build_object('network', n.id, 'pdci', p_pdci));
	perform set_config('haas.scope', v_scope, true);
	perform pg_notify('network', '');
end
$$;

create function volume_network_follow() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_gone bigint;
begin
	if new.pdci_id is not null and new.pdci_id is distinct from old.pdci_id then
		perform storage_network_begin(new.pdci_id, new.storage_id, new.actor);
	end if;
	for v_gone in
		select distinct x from unnest(array[old.pdci_id, old.served_pdci_id]) x where x is not null and x is distinct from new.pdci_id and x is distinct from new.served_pdci_id
		and not exists (select from volume v where v.storage_id = new.storage_id and x in (v.pdci_id, v.served_pdci_id))
		and exists (select from pdci p where p.id = x and p.wanted = 'present')
	loop
		perform storage_network_end(v_gone, new.storage_id, new.actor);
	end loop;
	return null;
end
$$;

-- Lists the addresses that the storage is to have, with their VLAN numbers. An interface without a row is removed.
create function storage_network_work(p_storage bigint)
returns table (id bigint, name text, vlan integer, address text, length integer, portal text, up boolean, problem jsonb) stable language sql security definer set search_path = haas, pg_temp as $$
	select n.id, n.name, v.vlan, storage_address(n.prefix), masklen(n.prefix), storage_portal(n.prefix, s.portal), n.storage_up_at is not null, n.storage_problem
	from network n join storage s on s.id = n.storage_id join switch_endpoint e on e.switch_id = s.switch_id
	join network_vlan v on v.fabric_id = e.fabric_id and v.network_id = n.id
	where n.storage_id = p_storage and s.login = session_user and n.wanted = 'present' order by n.id
$$;

-- What came of it: [{"network", "up", "problem"}]. Only what differs is written.
create function storage_network_tell(p_storage bigint, p_generation bigint, p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	perform from storage where id = p_storage and generation = p_generation and login = session_user for share;
	if not found then
		return;
	end if;
	for r in update network n set storage_up_at = case when x.up then coalesce(n.storage_up_at, now()) end, storage_problem = nullif(x.problem, 'null'), version = n.version + 1
		 from jsonb_to_recordset(p_rows) as x (network bigint, up boolean, problem jsonb)
		 where n.id = x.network and n.storage_id = p_storage and ((n.storage_up_at is not null) <> x.up or n.storage_problem is distinct from nullif(x.problem, 'null'))
		 returning n.id, n.name, n.tenant_id, x.up, x.problem loop
		perform event_add('bampi-stored', case when r.up then 'network.storage_up' else 'network.storage_down' end, 'network', r.name, r.tenant_id,
				  coalesce(r.problem ->> 'message', 'the storage listens there'), jsonb_build_object('network', r.id, 'problem', r.problem));
	end loop;
end
$$;

-- The key of the agent that a node has now, the first that its boot told; null: none yet, or that boot is over.
create function agent_seal_key(p_node bigint) returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select i.agent_key from boot_intent i where i.node_id = p_node and i.target = 'agent' and i.ended_at is null
$$;

create function node_volume_facts(p_node bigint) returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when count(*) > 0 and k.key is not null then jsonb_build_object('initiator', min(s.iqn) || ':node.' || m.node,
		'volumes', jsonb_agg(jsonb_build_object('volume', v.name, 'storage', s.name, 'heard', coalesce(s.seen_at > now() - interval '10 minutes', false),
			'target', s.iqn || ':volume.' || v.id, 'user', format('v%s-%s-n%s', v.id, v.secret_number, p_node),
			'portal', coalesce((select storage_portal(n.prefix, s.portal) from network n where n.pdci_id = v.pdci_id and n.storage_id = s.id and n.wanted = 'present'), s.portal),
			'sealed', (select encode(l.sealed, 'hex') from volume_login l where l.volume_id = v.id and l.node_id = p_node and l.agent_key = k.key and l.secret_number = v.secret_number))
			order by v.id)) end
	from pdci_node m join volume v on v.pdci_id = m.pdci_id and v.wanted = 'present' join storage s on s.id = v.storage_id cross join (select agent_seal_key(p_node) as key) k
	where m.node_id = p_node and m.released_at is null group by m.node, k.key
$$;

-- For whom a storage is to seal. No secret_sealed: the volume has no secret that anybody knows yet; it is to make one (volume_secret_make).
create function volume_login_work(p_storage bigint)
returns table (volume bigint, node bigint, agent_key text, secret_sealed bytea, secret_number bigint) stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, m.node_id, k.key, v.secret_sealed, v.secret_number
	from volume v join storage s on s.id = v.storage_id join pdci_node m on m.pdci_id = v.pdci_id and m.released_at is null and m.replace_asked_at is null
	join deployment d on d.node_id = m.node_id and d.due_at is not null and d.plan in ('install', 'reinstall') and d.state <> 'cancelling'
	cross join lateral (select agent_seal_key(m.node_id) as key) k
	where v.storage_id = p_storage and s.login = session_user and v.wanted = 'present' and k.key is not null
	      and not exists (select from volume_login l where l.volume_id = v.id and l.node_id = m.node_id and l.agent_key = k.key and l.secret_number = v.secret_number)
	order by v.id, m.node_id limit 256
$$;

-- The secret of a volume that has none, of whom its tenant has not asked for one: known to the nodes that are installed, and to nobody else.
create function volume_secret_make(p_storage bigint, p_generation bigint, p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	perform from storage where id = p_storage and generation = p_generation and login = session_user for share;
	if not found then
		return;
	end if;
	for r in update volume v set secret_sealed = decode(x.sealed, 'hex'), secret_number = v.secret_number + 1, version = v.version + 1
		 from jsonb_to_recordset(p_rows) as x (volume bigint, number bigint, sealed text)
		 where v.id = x.volume and v.storage_id = p_storage and v.secret_sealed is null and v.secret_number = x.number and v.pdci_id is not null
		 returning v.id, v.name, v.tenant_id loop
		perform event_add('bampi-stored', 'volume.secret', 'volume', r.name, r.tenant_id, 'made for the nodes that are installed', jsonb_build_object('volume', r.id));
	end loop;
end
$$;

create function volume_login_put(p_storage bigint, p_generation bigint, p_rows jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform from storage where id = p_storage and generation = p_generation and login = session_user for share;
	if not found then
		return;
	end if;
	perform deployment_touch(array(select d.id from deployment d where d.due_at is not null and d.node_id in (select x.node from jsonb_to_recordset(p_rows) as x (node bigint))));
	insert into volume_login (volume_id, node_id, agent_key, secret_number, sealed)
	select v.id, n.id, x.key, x.number, decode(x.sealed, 'hex') from jsonb_to_recordset(p_rows) as x (volume bigint, node bigint, key text, number bigint, sealed text)
	join volume v on v.id = x.volume and v.storage_id = p_storage and v.secret_number = x.number join node n on n.id = x.node
	order by v.id, n.id on conflict (volume_id, node_id) do update set agent_key = excluded.agent_key, secret_number = excluded.secret_number, sealed = excluded.sealed;
	perform pg_notify('deployment', '');
end
$$;

-- ==== triggers, views, rights ====

grant execute on function storage_address(cidr) to portald;
grant execute on function storage_portal(cidr,text) to portald;
grant execute on function storage_network_work(bigint) to bampi_stored;
grant execute on function storage_network_tell(bigint,bigint,jsonb) to bampi_stored;
grant execute on function node_volume_facts(bigint) to bampid;
grant execute on function volume_login_work(bigint) to bampi_stored;
grant execute on function volume_secret_make(bigint,bigint,jsonb) to bampi_stored;
grant execute on function volume_login_put(bigint,bigint,jsonb) to bampi_stored;
