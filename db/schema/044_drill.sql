-- What a drill path names is found by its name, not by looking through the traffic of the window; and the links of a window by an index that leads to nothing else.

-- Every name that a tenant has had: stored traffic is of an id, paths name it.
create table tenant_name (
	name text not null,
	tenant_id bigint not null,             -- may be gone: its traffic is kept
	primary key (name, tenant_id)
);
alter table tenant_name enable row level security;
create policy tenant_name_portald on tenant_name for select to portald using ((select is_operator()) or tenant_id = (select current_tenant()));
grant select on tenant_name to portald;

create function tenant_name_keep() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	insert into tenant_name (name, tenant_id) values (new.name, new.id) on conflict do nothing;
	return null;
end
$$;
create trigger tenant_name_keep after insert or update of name on tenant for each row execute function tenant_name_keep();
insert into tenant_name (name, tenant_id)
select name, id from tenant union select tenant, tenant_id from traffic_share where tenant_id is not null and tenant <> '';

-- Blocks of a minute hold what came in as well, and lie beside those of other minutes: half of what a BRIN index led to was not asked for.
drop index traffic_share_at;
create index traffic_share_at on traffic_share (at) where direction = 'out';
