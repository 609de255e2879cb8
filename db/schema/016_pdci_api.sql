-- PDCIs and networks by the names that people use, for portald. The functions run with the rights of whoever calls them: row policies decide what is there to be found.

-- Which PDCI is meant: its id, or the name that it has in its tenant. A released one keeps its name until there is a new one of that name. p_tenant null: of any
-- tenant that may be seen; HA409 when that is not one.
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
		raise exception '% tenants have a PDCI %', v_tenants, p_key using errcode = 'HA409', hint = 'say whose: tenant=NAME (haasctl: --tenant), or its id';
	end if;
	return v_id;
end
$$;
grant execute on function pdci_find(text, text) to portald;

-- The same for networks.
create function network_find(p_key text, p_tenant text)
returns bigint stable language plpgsql set search_path = haas as $$
declare
	v_id bigint;
	v_count bigint;
begin
	select count(*), min(n.id) into v_count, v_id
	from network n left join tenant t on t.id = n.tenant_id
	where case when p_key ~ '^[1-9][0-9]{0,17}$' then n.id = p_key::bigint else n.name = p_key end and (p_tenant is null or t.name = p_tenant);
	if v_id is null then
		raise exception 'network % does not exist', p_key using errcode = 'HA404', hint = 'haasctl network list shows the networks';
	elsif v_count > 1 then
		raise exception '% networks are called %', v_count, p_key using errcode = 'HA409', hint = 'say whose: tenant=NAME (haasctl: --tenant), or its id';
	end if;
	return v_id;
end
$$;
grant execute on function network_find(text, text) to portald;

-- network_delete of what was read (If-Match).
create function network_remove(p_key text, p_tenant text, p_version bigint, p_actor text)
returns bigint language plpgsql set search_path = haas as $$
declare
	v_id bigint := network_find(p_key, p_tenant);
begin
	if not exists (select from network where id = v_id and version = p_version) then
		raise exception 'network % was changed meanwhile', p_key using errcode = 'HA412', hint = 'read it again and repeat';
	end if;
	perform network_delete(v_id, p_actor);
	return v_id;
end
$$;
grant execute on function network_remove(text, text, bigint, text) to portald;

-- node_networks_set with names: of the node, and of networks of the tenant that has it. [{"nic", "network", "mode"}]
create function node_networks_put(p_node text, p_networks jsonb, p_actor text)
returns jsonb language plpgsql set search_path = haas as $$
declare
	v_node node%rowtype;
	v_missing text;
	v_networks jsonb;
begin
	select * into v_node from node where name = p_node;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404', hint = 'haasctl node list shows the nodes';
	end if;
	if v_node.tenant_id is null then
		raise exception 'node % belongs to no tenant', p_node using errcode = 'HA409', hint = 'networks are for the nodes of a tenant';
	end if;
	select x.network into v_missing from jsonb_to_recordset(p_networks) as x (network text)
	where not exists (select from network n where n.tenant_id = v_node.tenant_id and n.name = x.network and n.wanted = 'present') limit 1;
	if found then
		raise exception 'network % does not exist for the tenant of node %', v_missing, p_node using errcode = 'HA404', hint = 'haasctl network list shows the networks';
	end if;
	select coalesce(jsonb_agg(jsonb_build_object('nic', x.nic, 'network', n.id, 'mode', coalesce(x.mode, 'access'))), '[]') into v_networks
	from jsonb_to_recordset(p_networks) as x (nic text, network text, mode text) join network n on n.tenant_id = v_node.tenant_id and n.name = x.network;
	return node_networks_set(v_node.id, v_networks, p_actor);
end
$$;
grant execute on function node_networks_put(text, jsonb, text) to portald;

-- Who is behind a port: an id; what may be known of it, the row policy of node says.
grant execute on function port_node(bigint, text) to portald;

create index pdci_tenant on pdci (tenant_id, id);
