-- BMCs that speak Redfish (how TLS is trusted) and virtual nodes of libvirt (a connection URI in place of an address).
alter table bmc drop constraint bmc_driver_check;
alter table bmc add constraint bmc_driver_check check (driver in ('ipmi', 'redfish', 'libvirt', 'sim'));
alter table bmc add column tls text not null default 'verify' check (tls in ('verify', 'unverified', 'off'));
-- of the BMC's public key: "sha256//" and the base64 of its SHA-256, as libcurl has it; '' = the CA file decides
alter table bmc add column fingerprint text not null default '' check (fingerprint ~ '^(sha256//[A-Za-z0-9+/]{43}=)?$');
alter table bmc add column uri text check (length(uri) between 1 and 127);
alter table bmc alter column address drop not null;
alter table bmc add constraint bmc_way_in check (case when driver = 'libvirt' then uri is not null and address is null
						      else address is not null and uri is null end);
grant select (tls, fingerprint, uri) on bmc to portald;

-- As before, with tls, fingerprint and uri; the port's default is the driver's.
create or replace function node_put(p_spec jsonb, p_dry_run boolean, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text := p_spec ->> 'name';
	v_bmc jsonb := p_spec -> 'bmc';
	v_id bigint;
	v_port integer;
	v_errors jsonb := '[]';
	v_result text := 'created';
	v_other text;
	v_nic jsonb;
	v_before jsonb;
	v_after jsonb;
begin
	if not is_operator() then
		raise exception 'only an operator may change nodes' using errcode = 'HA403';
	end if;
	select id into v_id from node where name = v_name for update;
	if found then
		v_result := 'updated';
	end if;
	for v_nic in select * from jsonb_array_elements(coalesce(p_spec -> 'nics', '[]')) loop
		select n.name into v_other from nic join node n on n.id = nic.node_id
		where nic.mac = (v_nic ->> 'mac')::macaddr and n.id is distinct from v_id;
		if found then
			v_errors := v_errors || jsonb_build_object('column', 'mac', 'message', format('%s belongs to node %s', v_nic ->> 'mac', v_other));
		end if;
	end loop;
	if v_bmc is not null then
		v_port := case when v_bmc ->> 'driver' is distinct from 'redfish' then 623
			       when v_bmc ->> 'tls' = 'off' then 80 else 443 end;
		-- What belongs to another driver goes with it.
		v_bmc := v_bmc - case when v_bmc ->> 'driver' = 'libvirt' then 'address' else 'uri' end;
		if v_bmc ->> 'driver' = 'libvirt' and v_bmc ->> 'uri' is null then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_uri', 'message', 'needed by driver libvirt');
		elsif v_bmc ->> 'driver' is distinct from 'libvirt' and v_bmc ->> 'address' is null then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_address', 'message', 'needed by every driver but libvirt');
		end if;
		select n.name into v_other from bmc b join node n on n.id = b.node_id
		where b.address = (v_bmc ->> 'address')::inet and b.port = coalesce((v_bmc ->> 'port')::integer, v_port) and n.id is distinct from v_id;
		if found then
			v_errors := v_errors || jsonb_build_object('column', 'bmc_address',
								   'message', format('%s is the BMC of node %s', v_bmc ->> 'address', v_other));
		end if;
	end if;
	if jsonb_array_length(v_errors) > 0 or p_dry_run then
		return jsonb_build_object('result', v_result, 'errors', v_errors);
	end if;
	v_before := (select to_jsonb(x) - 'version' - 'updated_at' from node x where id = v_id);
	insert into node (name, class, rack, unit, firmware, arch, serial, uuid)
	values (v_name, coalesce(p_spec ->> 'class', ''), coalesce(p_spec ->> 'rack', ''), (p_spec ->> 'unit')::integer,
		coalesce(p_spec ->> 'firmware', 'bios'), coalesce(p_spec ->> 'arch', 'x86_64'), coalesce(p_spec ->> 'serial', ''),
		(p_spec ->> 'uuid')::uuid)
	on conflict (name) do update set
		class = case when p_spec ? 'class' then excluded.class else node.class end,
		rack = case when p_spec ? 'rack' then excluded.rack else node.rack end,
		unit = case when p_spec ? 'unit' then excluded.unit else node.unit end,
		firmware = case when p_spec ? 'firmware' then excluded.firmware else node.firmware end,
		arch = case when p_spec ? 'arch' then excluded.arch else node.arch end,
		serial = case when p_spec ? 'serial' then excluded.serial else node.serial end,
		uuid = case when p_spec ? 'uuid' then excluded.uuid else node.uuid end,
		version = node.version + 1, updated_at = now()
	returning id into v_id;
	if p_spec ? 'nics' then
		delete from nic where node_id = v_id;
		insert into nic (mac, node_id, name, boot)
		select (j ->> 'mac')::macaddr, v_id, j ->> 'name', coalesce((j ->> 'boot')::boolean, false) from jsonb_array_elements(p_spec -> 'nics') j;
	end if;
	if v_bmc is not null then
		insert into bmc (node_id, driver, address, uri, port, username, password_sealed, cipher_suite, workarounds, tls, fingerprint)
		values (v_id, coalesce(v_bmc ->> 'driver', 'ipmi'), (v_bmc ->> 'address')::inet, v_bmc ->> 'uri',
			coalesce((v_bmc ->> 'port')::integer, v_port),
			coalesce(v_bmc ->> 'username', ''), decode(v_bmc ->> 'password_sealed', 'hex'),
			coalesce((v_bmc ->> 'cipher_suite')::integer, 17),
			array(select jsonb_array_elements_text(coalesce(v_bmc -> 'workarounds', '[]'))),
			coalesce(v_bmc ->> 'tls', 'verify'), coalesce(v_bmc ->> 'fingerprint', ''))
		on conflict (node_id) do update set driver = excluded.driver, address = excluded.address, uri = excluded.uri, port = excluded.port,
			username = excluded.username, password_sealed = coalesce(excluded.password_sealed, bmc.password_sealed),
			cipher_suite = excluded.cipher_suite, workarounds = excluded.workarounds, tls = excluded.tls, fingerprint = excluded.fingerprint;
	end if;
	v_after := (select to_jsonb(x) - 'version' - 'updated_at' from node x where id = v_id);
	perform event_add(p_actor, 'node.' || v_result, 'node', v_name, null, 'node ' || v_result,
			  jsonb_build_object('before', v_before, 'after', v_after));
	perform pg_notify('inventory', '');
	return jsonb_build_object('result', v_result, 'errors', v_errors);
end
$$;

-- As before, with the three new columns at the end.
create or replace view node_view with (security_invoker = true) as
select n.id, n.name, n.class, n.rack, n.unit, n.firmware, n.arch, n.serial, n.uuid, n.state, n.dirty, t.name as tenant, n.tenant_id,
       n.version, n.created_at, n.updated_at,
       b.driver as bmc_driver, host(b.address) as bmc_address, b.port as bmc_port, b.username as bmc_username,
       b.cipher_suite as bmc_cipher_suite, b.workarounds as bmc_workarounds, coalesce(b.observed_power, 'unknown') as power,
       b.observed_at as power_at, b.problem as bmc_problem,
       (select jsonb_agg(jsonb_build_object('name', x.name, 'mac', x.mac::text, 'boot', x.boot) order by x.name) from nic x where x.node_id = n.id) as nics,
       (select host(l.address) from lease l join nic x on x.mac = l.mac where x.node_id = n.id and l.state = 'bound' order by x.boot desc, l.expires_at desc limit 1) as address,
       d.id as deployment_id, d.plan, case when d.state in ('done', 'cancelled', 'cleared') then '' else d.step end as step,
       d.state as deployment_state, p.percent, p.text as progress, b.tls as bmc_tls, b.fingerprint as bmc_fingerprint, b.uri as bmc_uri
from node n
left join tenant t on t.id = n.tenant_id
left join bmc b on b.node_id = n.id
left join lateral (select * from deployment x where x.node_id = n.id order by x.id desc limit 1) d on true
left join progress p on p.deployment_id = d.id and d.due_at is not null and p.updated_at >= d.step_started_at;
