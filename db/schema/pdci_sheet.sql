-- OS sheets: what the OS at each place of a PDCI is told, apart from what the PDCI says for all of them.
--
-- Places are counted from 1 through the groups of the request. The node of a place changes when it is replaced; the row stays. An install, a reinstall
-- and a replacement take their words from the row as it is then: a change of the sheet touches no OS that runs.

-- ==== shape ====

create table pdci_sheet (
	pdci_id bigint not null references pdci on delete cascade,
	place integer not null check (place >= 1),  -- pdci_node.slot + 1
	-- null: as request.params of the PDCI say it, or as it follows from the place
	hostname text check (length(hostname) between 1 and 63),
	addresses jsonb,   -- ["10.50.0.40", ...], one in each of the PDCI's networks at most
	ssh_keys jsonb,
	user_data text,
	packages jsonb,    -- ["NAME:VERSION", ...]
	disk text check (length(disk) between 1 and 127),  -- that the image is written to: its name or serial number
	primary key (pdci_id, place)
);
alter table pdci_sheet enable row level security;

-- ==== functions ====

-- The words of a place for the deployment of its node: members of deployment.params.
create function pdci_sheet_params(p_pdci bigint, p_slot integer)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select jsonb_strip_nulls(jsonb_build_object('hostname', s.hostname, 'ssh_keys', s.ssh_keys, 'user_data', s.user_data, 'packages', s.packages, 'disk', s.disk))
			 from pdci_sheet s where s.pdci_id = p_pdci and s.place = p_slot + 1), '{}')
$$;

-- The address of a place in a network of its PDCI: of its row, else by the order of places.
create function pdci_sheet_address(p_pdci bigint, p_slot integer, p_network bigint)
returns inet stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select set_masklen(a::inet, masklen(n.prefix)) from pdci_sheet s, jsonb_array_elements_text(s.addresses) a
			 where s.pdci_id = p_pdci and s.place = p_slot + 1 and n.storage_id is null and a::inet << n.prefix limit 1), network_address(n.prefix, p_slot))
	from network n where n.id = p_network
$$;

-- [{"place", "member", "from", "to"}]: how these rows differ from what is set.
create function pdci_sheet_changes(p_pdci bigint, p_rows jsonb)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	with set_now as (
		select s.place, e.key as member, e.value from pdci_sheet s join pdci p on p.id = s.pdci_id and in_scope(p.tenant_id), jsonb_each(to_jsonb(s) - '{pdci_id,place}'::text[]) e where s.pdci_id = p_pdci and e.value <> 'null'
	), wanted as (
		select (r ->> 'place')::integer as place, e.key as member, e.value from jsonb_array_elements(p_rows) r, jsonb_each(r - 'place') e where e.value <> 'null'
	)
	select coalesce(jsonb_agg(jsonb_build_object('place', place, 'member', member, 'from', a.value, 'to', b.value) order by place, member), '[]')
	from set_now a full join wanted b using (place, member) where a.value is distinct from b.value
$$;

-- Which of these packages the tenant of a PDCI may not install.
create function pdci_sheet_refused(p_pdci bigint, p_packages text[])
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(jsonb_agg(distinct x), '[]') from pdci p, unnest(p_packages) x where p.id = p_pdci and in_scope(p.tenant_id) and not package_allowed(x, p.tenant_id)
$$;

-- All rows of a PDCI anew: a place without a row has none of its own words. The rows were checked by portald. Returns how they differ.
create function pdci_sheet_put(p_pdci bigint, p_version bigint, p_rows jsonb, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p pdci%rowtype;
	v_changes jsonb;
begin
	select * into p from pdci where id = p_pdci for update;
	if not found or not in_scope(p.tenant_id) then
		raise exception 'PDCI % does not exist', p_pdci using errcode = 'HA404', hint = 'haasctl pdci list';
	elsif p.sheet_version <> p_version then
		raise exception 'the sheet of PDCI % was changed meanwhile', p.name using errcode = 'HA412', hint = 'read it again and repeat';
	elsif p.wanted <> 'present' then
		raise exception 'PDCI % is being released', p.name using errcode = 'HA409';
	end if;
	perform packages_check(r, p.tenant_id) from jsonb_array_elements(p_rows) r where jsonb_typeof(r -> 'packages') = 'array';
	v_changes := pdci_sheet_changes(p.id, p_rows);
	if v_changes <> '[]' then
		perform pdci_sheet_fill(p.id, p_rows);
		update pdci set sheet_version = sheet_version + 1 where id = p.id;
		perform event_add(p_actor, 'pdci.sheet', 'pdci', p.name, p.tenant_id,
			(select format('OS sheet changed: %s', string_agg(format('place %s (%s)', c.place, c.members), ', ' order by c.place))
			 from (select (x ->> 'place')::integer as place, string_agg(x ->> 'member', ', ' order by x ->> 'member') as members from jsonb_array_elements(v_changes) x group by 1 order by 1 limit 20) c),
			jsonb_build_object('pdci', p.id));
	end if;
	return v_changes;
end
$$;

create function pdci_sheet_fill(p_pdci bigint, p_rows jsonb)
returns void language sql security definer set search_path = haas, pg_temp as $$
	delete from pdci_sheet where pdci_id = p_pdci;
	insert into pdci_sheet (pdci_id, place, hostname, addresses, ssh_keys, user_data, packages, disk)
	select p_pdci, x.place, x.hostname, nullif(x.addresses, 'null'), nullif(x.ssh_keys, 'null'), x.user_data, nullif(x.packages, 'null'), x.disk
	from jsonb_to_recordset(p_rows) as x (place integer, hostname text, addresses jsonb, ssh_keys jsonb, user_data text, packages jsonb, disk text)
$$;

-- Refuses when the OS of another node of the PDCI has an address that this node was just given: of its networks as they are, or of what its OS was told since
-- it was last written. So of two places that swap their addresses the first one waits until the other has been reinstalled.
create function pdci_address_hold(p_pdci bigint, p_node bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
begin
	select p.name, host(w.address) as address, m.node, m.slot + 1 as place into r
	from node_network w join network n on n.id = w.network_id and n.pdci_id = p_pdci join pdci p on p.id = p_pdci
	join pdci_node m on m.pdci_id = p_pdci and m.node_id <> p_node and m.released_at is null
	where w.node_id = p_node and w.address is not null and (
		exists (select from node_network o where o.node_id = m.node_id and o.network_id = w.network_id and o.address = w.address)
		or exists (select from deployment d where d.node_id = m.node_id and d.plan in ('install', 'reinstall') and d.id >= greatest(m.deployment_id,
				(select max(x.id) from deployment x where x.node_id = m.node_id and x.plan in ('install', 'reinstall') and x.state = 'done'))
			   and d.params -> 'addresses' @> jsonb_build_array(jsonb_build_object('address', w.address::text))))
	order by w.address limit 1;
	if found then
		raise exception 'place % (node %) of PDCI % has address % until it has been reinstalled', r.place, r.node, r.name, r.address using errcode = 'HA409',
			hint = format('reinstall %s first and wait for its end; of two places that swap, give one a free address in between', r.node);
	end if;
end
$$;

-- What the deployment of a place tells the OS: the PDCI's words, those of the row over them, and p_said, those of the person who asks, over both. The
-- addresses of the place's networks follow its row as it is now.
create function pdci_place_tell(p_pdci bigint, p_node bigint, p_deployment bigint, p_slot integer, p_said jsonb)
returns inet language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_addresses jsonb;
	v_bonds jsonb;
	v_own inet;
begin
	update node_network w set address = pdci_sheet_address(p_pdci, p_slot, w.network_id) from network n
	where w.node_id = p_node and n.id = w.network_id and n.pdci_id = p_pdci and w.address is distinct from pdci_sheet_address(p_pdci, p_slot, w.network_id);
	perform pdci_address_hold(p_pdci, p_node);
	-- untagged networks with a prefix give an address; tagged ones an interface of their own, with its number as soon as there is one
	select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('mac', b.mac::text, 'bond', case when b.mac is null then w.nic end, 'network', case when w.mode = 'tagged' then w.network_id end,
							       'address', coalesce(w.address::text, 'none'))) order by w.nic, w.mode = 'tagged', w.network_id),
	       min(host(w.address)::inet) filter (where w.mode <> 'tagged')
	into v_addresses, v_own
	from node_network w left join nic b on b.node_id = p_node and b.name = w.nic
	where w.node_id = p_node and (w.address is not null or w.mode = 'tagged');
	select jsonb_agg(jsonb_build_object('name', x.name, 'macs', x.macs) order by x.name) into v_bonds
	from (select b.name, jsonb_agg(n.mac::text order by n.name) as macs from node_bond b join nic n on n.node_id = b.node_id and n.name = b.nic where b.node_id = p_node group by b.name) x;
	update deployment d set params = jsonb_strip_nulls(jsonb_build_object('hostname', n.name, 'addresses', v_addresses, 'bonds', v_bonds))
		|| coalesce(p.request -> 'params', '{}') || pdci_sheet_params(p.id, p_slot) || p_said
	from pdci p, node n where d.id = p_deployment and p.id = p_pdci and n.id = p_node;
	return v_own;
end
$$;

-- A reinstall that a person asked for, of a node that a PDCI has.
create function pdci_place_reinstall(p_deployment bigint, p_said jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r record;
	v_own inet;
begin
	select m.pdci_id, m.node_id, m.slot, d.tenant_id into r
	from deployment d join pdci_node m on m.node_id = d.node_id and m.released_at is null join pdci p on p.id = m.pdci_id and p.wanted = 'present' and p.tenant_id = d.tenant_id
	where d.id = p_deployment and d.plan = 'reinstall';
	if found then
		v_own := pdci_place_tell(r.pdci_id, r.node_id, p_deployment, r.slot, coalesce(p_said, '{}'));
		update pdci_node m set address = v_own where m.pdci_id = r.pdci_id and m.node_id = r.node_id and m.address is distinct from v_own;
		perform packages_check(d.params, d.tenant_id) from deployment d where d.id = p_deployment;
	end if;
end
$$;

-- What a tenant gave for its OSes is needed as long as a node may be replaced.
create function pdci_sheet_forget() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	update pdci_sheet set user_data = null where pdci_id = new.id and user_data is not null;
	return null;
end
$$;

-- ==== triggers, views, rights ====

create trigger pdci_sheet_forget after update of state on pdci for each row when (new.state = 'released' and old.state <> 'released') execute function pdci_sheet_forget();

create policy pdci_sheet_portald on pdci_sheet for select to portald using (exists (select from pdci p where p.id = pdci_id and in_scope(p.tenant_id)));

grant select on pdci_sheet to portald;
grant execute on function pdci_sheet_changes(bigint,jsonb) to portald;
grant execute on function pdci_sheet_refused(bigint,text[]) to portald;
grant execute on function pdci_sheet_put(bigint,bigint,jsonb,text) to portald;
