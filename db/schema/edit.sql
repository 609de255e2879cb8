-- Edits against what was read: the version of what a person edits, and the refusal of an edit that another one came before. And the lock of what an action
-- by a filter is meant for.
--
-- A version is a number made of the members that an edit can change, and of nothing that a daemon finds out. So a poll makes no edit stale, and
-- what was changed and changed back is what was read. Nodes, networks, subnets, PDCI sheets, settings, webhooks and accounts compare a version of
-- their own in the function that writes them.

-- ==== shape ====

-- ==== functions ====

-- What an edit of p_kind can change, as JSON. Null: there is none of that name.
create function edit_state(p_kind text, p_name text)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case p_kind
		when 'image' then (select to_jsonb(i.version_number) from image i where i.name = split_part(p_name, ':', 1) and i.version = split_part(p_name, ':', 2) and in_scope(i.tenant_id))
		when 'networks of node' then (select coalesce((select jsonb_agg(jsonb_build_array(w.nic, w.network_id, w.mode) order by w.nic, w.network_id) from node_network w where w.node_id = n.id), '[]')
			from node n where n.name = p_name and in_scope(n.tenant_id))
		when 'limits of tenant' then (select coalesce((select jsonb_agg(jsonb_build_array(l.kind, l.class, l.amount) order by l.kind, l.class) from tenant_limit l where l.tenant_id = t.id), '[]')
			from tenant t where t.name = p_name and in_scope(t.id))
		when 'limits of' then (select coalesce(jsonb_agg(jsonb_build_array(l.kind, l.class, l.amount) order by l.kind, l.class), '[]') from tenant_limit l where l.tenant_id is null and is_operator())
		when 'plan of' then (select coalesce(jsonb_agg(jsonb_build_array(w.switch_id, w.port, w.node_id, w.nic, w.peer_switch_id, w.peer_port) order by w.switch_id, w.port), '[]')
			from wiring w where is_operator())
		when 'storage' then (select jsonb_build_array(s.portal, s.accepts, s.capacity_bytes, s.login, s.iqn, s.prefix, s.switch_id, s.port) from storage s where s.name = p_name and is_operator())
		when 'switch' then (select jsonb_build_array(to_jsonb(s) - 'created_at', e.fabric_id, e.role, e.family, e.address, e.ports, e.credentials, e.managed, e.poll_s)
			from switch s left join switch_endpoint e on e.switch_id = s.id where s.name = p_name and is_operator())
		when 'fabric' then (select to_jsonb(f) - 'created_at' from fabric f where f.name = p_name and is_operator())
		when 'rule' then (select to_jsonb(r) - 'created_at' from circuit_rule r where r.name = p_name and is_operator())
		when 'mirror port of switch' then (select to_jsonb(p) from capture_point p join switch s on s.id = p.switch_id where s.name = p_name and is_operator())
		when 'sampling of fabric' then (select to_jsonb(x) - 'changed_at' from sampling x join fabric f on f.id = x.fabric_id where f.name = p_name and is_operator())
		when 'sampling of switch' then (select to_jsonb(x) - 'changed_at' from sampling x join switch s on s.id = x.switch_id where s.name = p_name and is_operator()) end
$$;

-- Null: there is none of that name. Fits a number of JavaScript.
create function edit_version(p_kind text, p_name text)
returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select case jsonb_typeof(x.state) when 'number' then (x.state)::bigint else greatest(hashtextextended(x.state::text, 0) & 9007199254740991, 1) end
	from (select edit_state(p_kind, p_name) as state offset 0) x where x.state is not null
$$;

-- First in the transaction of an edit: no other edit of the same begins before it has ended. p_version is of If-Match: null, none was sent; 0, there
-- was none of that name when it was read. What cannot be made by an edit is refused by the function that writes it.
create function edit_expect(p_kind text, p_name text, p_version bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_now bigint;
begin
	perform pg_advisory_xact_lock(hashtextextended('edit ' || p_kind || ' ' || p_name, 0));
	v_now := edit_version(p_kind, p_name);
	if v_now is null and (coalesce(p_version, 0) = 0 or p_kind in ('image', 'networks of node', 'limits of tenant', 'limits of')) then
		return;
	elsif v_now is null then
		raise exception '% % does not exist any more', p_kind, p_name using errcode = 'HA412', hint = 'read it again and repeat';
	elsif p_version is null then
		raise exception '% % exists: its edit needs If-Match', p_kind, p_name using errcode = 'HA428', hint = 'read it first and send the ETag of the answer';
	elsif p_version <> v_now then
		raise exception '% % was changed meanwhile', p_kind, p_name using errcode = 'HA412', hint = 'read it again and repeat';
	end if;
end
$$;

-- Locks what a filter let through (haas.selected), by its kind, and keeps it in haas.locked. The filter is asked again after that: what changed meanwhile, or
-- came to it, is seen by then, and what is locked changes no more.
create function selection_lock(p_kind text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_chosen constant text[] := nullif(current_setting('haas.selected', true), '')::text[];
begin
	perform set_config('haas.locked', v_chosen::text, true);
	if cardinality(v_chosen) > 500 then
		return;  -- selection_expect refuses
	elsif p_kind = 'node' then
		perform node_lock(array(select n.name from node n where n.name = any (v_chosen) and in_scope(n.tenant_id)));
	elsif p_kind = 'deployment' then
		perform deployment_lock_seen(v_chosen::bigint[]);
	else
		raise exception 'nothing is chosen by a filter of %', p_kind;
	end if;
end
$$;

-- ==== triggers, views, rights ====
grant execute on function edit_version(text,text) to portald;
grant execute on function edit_expect(text,text,bigint) to portald;
grant execute on function selection_lock(text) to portald;
