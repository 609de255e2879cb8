-- What a tenant's statements may touch. portald does them under the role portald_tenant, which has the rights of this file and no others. A relation
-- is here with the rows that a tenant sees of it, a function with the reason why it need not ask. tests/db/scope holds the catalogue against that.

-- ==== shape ====

-- ==== functions ====

-- Begins a transaction in the scope of a tenant, once for all its statements. Whoever has proved to be of a tenant (identity_enter) is of no other.
create function scope_as(p_tenant text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_id bigint := (select id from tenant where name = p_tenant);
begin
	if v_id is null or (current_setting('haas.role', true) in ('tenant-admin', 'tenant-member') and nullif(current_setting('haas.tenant', true), '') <> v_id::text) then
		raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	end if;
	perform set_config('haas.scope', 'tenant', true), set_config('haas.tenant', v_id::text, true);
end
$$;

-- Doors that ask the scope, to functions that programs call about everybody's. Those do not ask: a port is kept from a tenant because it is
-- another's, also while that tenant asks.
create function port_node_seen(p_switch bigint, p_port text) returns bigint stable language sql security definer set search_path = haas, pg_temp as
$$ select n.id from node n where n.id = port_node(p_switch, p_port) and in_scope(n.tenant_id) $$;

create function node_network_vlan_seen(p_node bigint, p_nic text, p_network bigint)
returns integer stable language sql security definer set search_path = haas, pg_temp as $$
	select node_network_vlan(n.id, p_nic, p_network) from node n where n.id = p_node and in_scope(n.tenant_id)
$$;

create function node_network_seen(p_node bigint, out place text, out ports integer, out open integer, out problem jsonb, out fault jsonb)
language sql stable security definer set search_path = haas, pg_temp as $$
	select s.place, s.ports, s.open, s.problem, node_network_fault(n.id) from node n cross join lateral node_network_state(n.id) s
	where n.id = p_node and in_scope(n.tenant_id)
$$;

create function granted_here(p_kind text, p_object bigint) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select granted(p_kind, p_object, current_tenant()) $$;

create function object_owned(p_image bigint, p_package bigint, p_archive bigint) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select coalesce(in_scope(object_owner(p_image, p_package, p_archive)), false) $$;

-- Where a node was last seen: for operators. Of its boot NIC, else of another, else by bampi-bootd.
create function node_location(p_node bigint) returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('switch', g.switch, 'port', g.port, 'mac', g.mac::text, 'since', g.since, 'seen_at', g.seen_at)
	from (select s.name as switch, l.port, l.mac, l.since, l.seen_at, x.boot from nic x join nic_location l on l.mac = x.mac and l.certainty >= 50
	      join switch s on s.id = l.switch_id where x.node_id = p_node
	      union all select y.switch, y.port, y.mac, y.since, y.seen_at, null from sighting y where y.node_id = p_node and y.port <> '') g
	where is_operator() order by g.boot desc nulls last, g.seen_at desc, g.mac limit 1
$$;

-- The console of a node, as whom and from when on it may be heard: an operator's always, a tenant's from the hand-over on, while the node is its own.
create function node_console(p_node text)
returns table (tenant bigint, since_ms bigint, why text) stable language sql security definer set search_path = haas, pg_temp as $$
	select case when not is_operator() then n.tenant_id end, case when not is_operator() then floor(extract(epoch from n.state_since) * 1000)::bigint end,
	       case when not is_operator() then node_not_handed_over(n) end
	from node n where n.name = p_node and in_scope(n.tenant_id)
$$;

-- ==== triggers, views, rights ====

-- Each relation: the rights, the rows that a tenant sees, and where these are not its own alone, why. A right to write is one to its own rows.
do $$
declare
	v_own constant text := 'tenant_id = (select current_tenant())';
	v_account constant text := 'exists (select from account a where a.id = account_id)';
	v_node constant text := 'exists (select from node n where n.id = node_id)';
	v_network constant text := 'exists (select from network n where n.id = network_id)';
	v_deployment constant text := 'exists (select from deployment d where d.id = deployment_id)';
	v_shared constant text := 'tenant_id = (select current_tenant()) or public or granted_here(%L, id)';
	v_operators constant text := 'false'; -- a statement that tenants ask too has a part for operators
	r record;
	v_right text;
begin
	for r in select * from (values
		('account', 'select (created_at, created_by, disabled_at, id, name, os_user, password_at, role, tenant_id, version_number)', v_own, null),
		('alert', 'select', v_own, null),
		('alert_silence', 'select', v_operators, null),
		('api_token', 'select (account_id, created_at, ended_at, expires_at, id, name, role, scopes, used_at)', v_account, null),
		('archive', 'select', 'tenant_id = (select current_tenant()) or granted_here(''archive'', id)', null),
		('attachment', 'select', v_network, null),
		('bmc', 'select (address, cipher_suite, driver, fingerprint, insecure, node_id, observed_at, observed_power, port, problem, tls, uri, username, workarounds)', v_node, null),
		('capture', 'select', v_own, null),
		('capture_grant', 'select', v_own, null),
		('case_entry', 'select', v_operators, null),
		('case_file', 'select', '(complaint or published_at is not null) and tenant_id = (select current_tenant())', null),
		('certificate', 'select', v_deployment, null),
		('certificate_key', 'select', 'true', 'public keys, by which anybody verifies a certificate'),
		('deployment', 'select', v_own, null),
		('deployment_step', 'select', v_deployment, null),
		('drive', 'select', v_node, null),
		('event', 'select', v_own, null),
		('fabric', 'select (id, name)', 'exists (select from network_vlan v where v.fabric_id = id)', null),
		('health_label', 'select', v_node, null),
		('idempotency', 'select, insert, update, delete', v_own, null),
		('image', 'select, insert, update (received_bytes, state, version_number)', format(v_shared, 'image'), null),
		('job', 'select', v_own, null),
		('lease', 'select (address, expires_at, mac, state)', 'exists (select from nic x where x.mac = lease.mac)', null),
		('network', 'select', v_own, null),
		('network_vlan', 'select (fabric_id, network_id, vlan)', v_network, null),
		('nic', 'select', v_node, null),
		('node', 'select', v_own, null),
		('node_action', 'select', v_own, null),
		('node_attestation', 'select (at, attested, node_id, why)', v_node, null),
		('node_bond', 'select', v_node, null),
		('node_health', 'select', v_node, null),
		('node_inventory', 'select', v_node, null),
		('node_network', 'select', v_node, null),
		('object_grant', 'select', 'tenant_id = (select current_tenant()) or object_owned(image_id, package_id, archive_id)', null),
		('package', 'select, insert, update (received_bytes, state, version_number)', format(v_shared, 'package'), null),
		('pdci', 'select', v_own, null),
		('pdci_node', 'select', 'exists (select from pdci p where p.id = pdci_id)', null),
		('pdci_sheet', 'select', 'exists (select from pdci p where p.id = pdci_id)', null),
		('port_intent', 'select (applied_at, applied_version, port, problem, switch_id, wanted_version)',
		 'exists (select from attachment a where a.switch_id = port_intent.switch_id and a.port = port_intent.port)', null),
		('progress', 'select', v_deployment, null),
		('sel_entry', 'select', v_node || ' and seen_at >= node_seen_from(node_id)', null),
		('sensor_reading', 'select', v_node || ' and at >= node_seen_from(node_id)', null),
		('sensor_set', 'select', v_node, null),
		('session', 'select (account_id, address, agent, created_at, ended_at, id, idle_s, seen_at, until)', v_account, null),
		('storage', 'select (id, iqn, name, portal, public_key)',
		 'exists (select from volume v where v.storage_id = storage.id) or exists (select from archive a where a.storage_id = storage.id)', null),
		('switch', 'select (id, name)', 'true', 'the operator''s names of switches: paths, captures and drills name the ports that a tenant''s traffic passes'),
		('tenant', 'select', 'id = (select current_tenant())', null),
		('tenant_name', 'select', v_own, null),
		('traffic_bucket', 'select', 'true', 'which minutes were sampled, of the whole site: sums of bytes in it are shown to operators only'),
		('traffic_flow', 'select', v_own, null),
		('traffic_link', 'select', v_operators, null),
		('traffic_pair', 'select', v_own, null),
		('traffic_port', 'select', v_operators, null),
		('traffic_retention', 'select', 'true', 'how long samples are kept: a setting of the site'),
		('traffic_share', 'select', v_own, null),
		('usage', 'select', v_own, null),
		('volume', 'select (actor, archive_id, created_at, done_bytes, ended_at, id, keep, kept_bytes, name, pdci_id, problem, ready_at, secret_number, served, served_pdci_id, size_bytes, state, storage_id, tenant_id, version, wanted)',
		 v_own, null),
		('webhook', 'select (created_at, created_by, disabled, failing_since, failures, id, kinds, name, next_at, subject, subject_kind, tenant_id, url, version_number)', v_own, null),
		('webhook_delivery', 'select (attempted_at, attempts, created_at, duration_ms, event_id, id, next_at, problem, state, status, webhook_id)',
		 'exists (select from webhook w where w.id = webhook_id)', null),
		-- views have the rows of their tables (security_invoker), or ask for the operator themselves
		('deployment_view', 'select', null, null),
		('health_label_view', 'select', null, null),
		('job_view', 'select', null, null),
		('local_disk', 'select', null, null),
		('node_view', 'select', null, null),
		('port_counter', 'select', null, null),
		('session_view', 'select', null, null),
		('volume_view', 'select', null, null)) t (relation, rights, seen, why)
	loop
		execute format('grant %s on %I to portald_tenant', r.rights, r.relation);
		continue when r.seen is null;
		execute format('alter table %I enable row level security', r.relation);
		-- The programs' rights say enough where no file has policies for them.
		if not exists (select from pg_policy where polrelid = r.relation::regclass) then
			execute format('create policy programs on %I to bampi_bootd, bampid, portald, peregrined, bampi_stored, peregrine_flowd, peregrine_captured, portal_outward '
				       'using (true) with check (true)', r.relation);
		end if;
		execute format('create policy tenant_select on %I for select to portald_tenant using (%s)', r.relation, r.seen);
		execute format('comment on policy tenant_select on %I is %L', r.relation, r.why);
		foreach v_right in array array['insert', 'update', 'delete'] loop
			continue when r.rights !~ v_right;
			execute format('create policy tenant_%1$s on %2$I for %1$s to portald_tenant %3$s %4$s', v_right, r.relation,
				       case when v_right <> 'insert' then format('using (%s)', v_own) end, case when v_right <> 'delete' then format('with check (%s)', v_own) end);
		end loop;
	end loop;
end
$$;

-- Each function: by whose word it is a tenant's. Null: it asks itself, or has no more rights than its caller.
do $$
declare
	r record;
begin
	for r in select * from (values
		('account_change(text,bigint,boolean,account_role,text,text)', 'account_locked asks'),
		('account_invite(text,account_role,text,text,bytea,integer,text)', null),
		('account_link_renew(text,bytea,integer,text)', 'account_locked asks'),
		('account_provider_seen(bigint)', null),
		('alert_silence_of(text,text)', null),
		('api_token_end(text,text)', 'account_of_ended asks'),
		('api_token_make(text,bytea,text,account_role,text[],timestamptz,text)', 'it is for the account that asks'),
		('archive_create(bigint,text,text)', 'volume_lock asks'),
		('archive_delete(bigint,text)', null),
		('archive_find(text,text)', null),
		('asking_role()', null),
		('capture_approve(bigint,text)', null),
		('capture_ask(jsonb,bigint,text)', 'capture_start asks for the node and its tenant, case_for_entry for the operator'),
		('capture_grant_put(text,timestamptz,text)', null),
		('capture_grant_withdraw(bigint,text)', null),
		('capture_read(bigint,boolean,text)', 'capture_reader asks'),
		('capture_remove(bigint,text)', 'capture_lock asks'),
		('capture_stop(bigint,text)', 'capture_lock asks'),
		('capture_vlan(text,integer)', null),
		('capture_watch(bigint,boolean,text)', 'capture_reader asks'),
		('case_alert(bigint,bigint,text)', null),
		('case_clock(timestamptz,timestamptz)', null),
		('case_line(timestamptz,case_entry,boolean,text)', null),
		('case_look(bigint,text,text,text,text)', null),
		('case_note(bigint,text,text,jsonb,text)', 'case_for_entry refuses tenants, and says so'),
		('case_open(text,bigint,text,text)', 'for itself alone: it asks for the tenant and for whose alert it is'),
		('case_path(bigint,jsonb,text)', null),
		('case_query(bigint,jsonb,text)', null),
		('case_rate(numeric)', null),
		('case_report(bigint)', null),
		('case_text(bigint,boolean)', null),
		('classes_offered_to(text)', 'how many nodes are free, of the whole site: no names of nodes, nothing of other tenants'),
		('count_text(numeric,text)', null),
		('counter_names(bigint,text)', 'names that a switch itself gives its port'),
		('csv_cell(text)', null),
		('current_tenant()', null),
		('daemon_absence(text)', 'whether a daemon is heard is no tenant''s'),
		('deployment_ahead(text,text,integer)', 'how long steps take on nodes of a class is no tenant''s'),
		('deployment_ask(text,text[],text,text,jsonb,text,boolean)', null),
		('deployment_eta(double precision[],double precision[],double precision,integer)', null),
		('deployment_lock_seen(bigint[])', null),
		('deployment_pace_of(text,text,text)', 'how long steps take on nodes of a class is no tenant''s'),
		('deployment_request(bigint,text,text)', null),
		('deployment_waiting(deployment)', null),
		('drill_unknown(bigint,text,bigint[],integer,text,text)', null),
		('edit_expect(text,text,bigint)', 'edit_state asks'),
		('edit_version(text,text)', 'edit_state asks'),
		('event_told(text,text,text,bigint,text,jsonb)', null),
		('granted_here(text,bigint)', null),
		('identity_enter(bytea)', 'the digest is the proof of who asks'),
		('image_delete(text,text,text)', null),
		('image_resign(text,text,text,text,text)', 'image_lock asks'),
		('image_state_set(text,text,text,boolean,text)', 'image_lock and image_floor_lift ask'),
		('in_scope(bigint)', null),
		('is_operator()', null),
		('kernel_enter(text,account_role,bigint,boolean)', 'portald says whom the kernel named'),
		('link_spread(integer,timestamptz,timestamptz,bigint,text,jsonb)', null),
		('live_minutes(jsonb)', null),
		('network_create(text,text,text,cidr,bigint,text)', null),
		('network_delete(bigint,text)', null),
		('network_find(text,text)', null),
		('network_path(text,text,text,text)', null),
		('network_remove(text,text,bigint,text)', null),
		('node_action_create(text[],text,jsonb,boolean,text)', null),
		('node_console(text)', null),
		('node_console_told(text,text)', null),
		('node_health_word(bigint)', null),
		('node_location(bigint)', null),
		('node_network_seen(bigint)', null),
		('node_network_vlan_seen(bigint,text,bigint)', null),
		('node_networks_put(text,jsonb,text)', null),
		('object_owned(bigint,bigint,bigint)', null),
		('own_setting_change(bigint,text,jsonb)', 'it is for the account that asks'),
		('own_settings()', 'it is for the account that asks'),
		('package_delete(text,text,text)', null),
		('pdci_create(text,text,jsonb,text,bigint)', null),
		('pdci_find(text,text)', null),
		('pdci_lock(bigint,boolean,text)', null),
		('pdci_node_fault(bigint,bigint)', null),
		('pdci_release(bigint,text)', null),
		('pdci_replace(bigint,text,text)', null),
		('pdci_sheet_changes(bigint,jsonb)', null),
		('pdci_sheet_put(bigint,bigint,jsonb,text)', null),
		('pdci_sheet_refused(bigint,text[])', null),
		('pdci_try(text,text,jsonb,text)', 'pdci_create asks'),
		('port_node_seen(bigint,text)', null),
		('port_scale(integer,timestamptz,timestamptz,bigint,text,jsonb)', null),
		('scope_as(text)', 'it says whose scope it is: portald has looked who asks'),
		('second_factor_begin(bytea)', 'it is for the account that asks'),
		('second_factor_confirm(bigint,bytea[],text,text)', 'it is for the account that asks'),
		('second_factor_end(bigint,bytea,text,text)', 'it is for the account that asks'),
		('second_factor_find()', 'it is for the account that asks'),
		('second_factor_reset(text,text)', 'account_locked asks'),
		('second_factor_seen(bigint)', null),
		('selection_expect(text[],bigint)', null),
		('selection_lock(text)', null),
		('node_seen_from(bigint)', null),
		('sensor_series(bigint,timestamptz,integer,text[])', null),
		('session_end(bigint,text)', 'account_of_ended asks'),
		('size_text(numeric)', null),
		('storage_address(cidr)', null),
		('storage_portal(cidr,text)', null),
		('setting_word(text)', 'settings of the site are no secrets: who has to show a second factor'),
		('stored_pick(text,text,bigint,bigint)', null),
		('tenant_left(bigint)', null),
		('tenant_limits(text)', null),
		('topology(text,text)', null),
		('unclaimed_reason(timestamptz,timestamptz,timestamptz)', 'whether bampid is heard is no tenant''s'),
		('volume_attach(bigint,bigint,text)', null),
		('volume_create(text,jsonb,text)', null),
		('volume_delete(bigint,text)', 'volume_lock asks'),
		('volume_detach(bigint,text)', 'volume_lock asks'),
		('volume_find(text,text)', null),
		('volume_resize(bigint,bigint,text)', 'volume_lock asks'),
		('volume_secret_set(bigint,text,text)', 'volume_lock asks'),
		('webhook_add(text,jsonb,bytea,text)', null),
		('webhook_change(bigint,bigint,jsonb,text)', 'webhook_lock asks'),
		('webhook_key()', 'a public key, that secrets are sealed to'),
		('webhook_redeliver(bigint,bigint,text)', 'webhook_lock asks'),
		('webhook_remove(bigint,text)', 'webhook_lock asks'),
		('webhook_secret_put(bigint,bytea,text)', 'webhook_lock asks'),
		('webhook_url_seen(text)', null)) t (signature, why)
	loop
		execute format('grant execute on function %s to portald_tenant', r.signature);
		execute format('comment on function %s is %L', r.signature, r.why);
	end loop;
end
$$;

grant execute on function port_node_seen(bigint,text) to portald;
grant execute on function node_network_vlan_seen(bigint,text,bigint) to portald;
grant execute on function node_network_seen(bigint) to portald;
grant execute on function node_console(text) to portald;
grant execute on function node_location(bigint) to portald;
