-- Packages do something: an install names those that its tenant may use, and the agent puts them into the OS that it installs.
-- params.packages of a deployment, and request.params.packages of a PDCI: ["NAME:VERSION", ...], at most 16, in the order that they are installed in.

alter table agent_task drop constraint agent_task_kind_check;
alter table agent_task add constraint agent_task_kind_check
	check (kind in ('inventory', 'write_image', 'configure_os', 'put_packages', 'erase', 'verify_erased', 'power_off'));

-- May this tenant (null = the operator) put this package on a node? As image_allowed.
create function package_allowed(p_name text, p_tenant bigint)
returns boolean stable language sql security definer set search_path = haas, pg_temp as $$
	select exists (select from package p where p.name = split_part(p_name, ':', 1) and p.version = substr(p_name, strpos(p_name, ':') + 1) and strpos(p_name, ':') > 0
		       and p.state = 'ready' and (p_tenant is null or p.public or p.tenant_id = p_tenant or granted('package', p.id, p_tenant)))
$$;
grant execute on function package_allowed(text, bigint) to portald, bampid;

-- What was asked for as it is now, in its order: [{"name", "version", "kind", "digest", "size_bytes", "allowed"}]; null: no packages. What is gone has a name and "allowed": false.
create function deployment_packages(p_params jsonb, p_tenant bigint)
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_agg(jsonb_build_object('name', split_part(w.name, ':', 1), 'version', substr(w.name, strpos(w.name, ':') + 1), 'kind', p.kind, 'digest', p.digest,
					    'size_bytes', p.size_bytes, 'allowed', package_allowed(w.name, p_tenant)) order by w.at)
	from jsonb_array_elements_text(case jsonb_typeof(p_params -> 'packages') when 'array' then p_params -> 'packages' end) with ordinality as w (name, at)
	left join package p on p.name = split_part(w.name, ':', 1) and p.version = substr(w.name, strpos(w.name, ':') + 1)
$$;
grant execute on function deployment_packages(jsonb, bigint) to bampid;

-- Who asks for what he may not have is told so at once; bampid's step asks again (a grant may have been taken back since).
create function packages_check(p_params jsonb, p_tenant bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_name text;
begin
	select x into v_name from jsonb_array_elements_text(p_params -> 'packages') x where not package_allowed(x, p_tenant) limit 1;
	if found then
		raise exception 'package % does not exist or may not be used here', v_name using errcode = 'HA404', hint = 'haasctl package list shows the packages that are ready';
	end if;
end
$$;
create function deployment_packages_check() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform packages_check(new.params, new.tenant_id);
	return new;
end
$$;
create trigger deployment_packages_check before insert on deployment for each row
	when (new.params ? 'packages' and new.plan in ('install', 'reinstall')) execute function deployment_packages_check();
create function pdci_packages_check() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform packages_check(new.request -> 'params', new.tenant_id);
	return new;
end
$$;
create trigger pdci_packages_check before insert on pdci for each row when (new.request -> 'params' ? 'packages') execute function pdci_packages_check();

-- What the token of a boot intent may fetch beside the image: digests, a blank between them.
alter table boot_intent add column package_digests text not null default '';
create function boot_intent_packages() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	new.package_digests := case when new.target = 'agent' then coalesce((
		select string_agg(x ->> 'digest', ' ') from deployment d, jsonb_array_elements(deployment_packages(d.params, d.tenant_id)) x
		where d.id = new.deployment_id and d.plan in ('install', 'reinstall') and (x -> 'allowed')::boolean), '') else '' end;
	return new;
end
$$;
create trigger boot_intent_packages before insert or update on boot_intent for each row execute function boot_intent_packages();

-- Gone with its grants: nobody installs it any more. The stored bytes stay: another package or image may have the same digest.
create function package_delete(p_name text, p_version text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	p package%rowtype;
begin
	select * into p from package x where x.name = p_name and x.version = p_version for update;
	if not found or not (in_scope(p.tenant_id) or p.public or granted('package', p.id, current_tenant())) then
		raise exception 'package %:% does not exist', p_name, p_version using errcode = 'HA404', hint = 'haasctl package list shows the packages';
	elsif not in_scope(p.tenant_id) then
		raise exception 'package %:% is another''s', p_name, p_version using errcode = 'HA403';
	end if;
	delete from package where id = p.id;
	perform event_add(p_actor, 'package.deleted', 'package', p_name || ':' || p_version, p.tenant_id, 'deleted', jsonb_build_object('digest', p.digest, 'kind', p.kind));
end
$$;
grant execute on function package_delete(text, text, text) to portald;
