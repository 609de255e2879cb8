-- DHCP for many subnets: shared networks and known relays; and leases that two servers may write side by side.

alter table subnet
	add column shared_network text check (shared_network ~ '^[a-z0-9][a-z0-9-]{0,62}$'),  -- subnets of one link bear the same name
	add column relays inet[] not null default '{}' check (cardinality(relays) <= 16);  -- who may relay from here; empty = whoever has an address in a subnet of ours
comment on column subnet.shared_network is 'subnets on one link (behind one relay) bear the same name; a client gets an address of any of them';

-- released: its client moved to another address; nobody else's until expires_at, because another server may have confirmed it meanwhile.
alter table lease drop constraint lease_state_check, add constraint lease_state_check check (state in ('bound', 'declined', 'released'));

-- A foreign key would lock the subnet once for every new lease. The writer joins the subnet, and this trigger looks for leases when all
-- writers under way have ended: those that come later no longer find the subnet.
alter table lease drop constraint lease_subnet_id_fkey;
create function subnet_is_empty() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	lock table lease in share row exclusive mode;
	if exists (select from lease where subnet_id = old.id) then
		raise foreign_key_violation using constraint = 'lease_subnet_id_fkey', message = format('subnet %s has leases', old.name);
	end if;
	return old;
end
$$;
create trigger subnet_is_empty before delete on subnet for each row execute function subnet_is_empty();

-- A renewal changes no indexed column and stays on its page. Another server asks for what is new by the time of binding.
drop index lease_expiry;
create index lease_bound_at on lease (bound_at);
alter table lease set (fillfactor = 85);

-- As before, but told on a channel of its own: bampi-bootd reads its leases again, which a change of a subnet or reservation does not need.
create or replace function lease_reclaim(p_address inet, p_actor text)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_mac macaddr;
begin
	if not is_operator() then
		raise exception 'only an operator may reclaim leases' using errcode = 'HA403';
	end if;
	delete from lease where address = p_address returning mac into v_mac;
	if not found then
		return false;
	end if;
	perform event_add(p_actor, 'lease.reclaimed', 'lease', host(p_address), null, format('taken back from %s', v_mac));
	perform pg_notify('lease', '');
	return true;
end
$$;
