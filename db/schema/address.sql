-- Subnets, reservations, leases, DHCP servers that are not ours. A MAC is bound to an address until the lease is reclaimed; expires_at is only a timer.
--
-- Two servers may write leases side by side: an address is one row, and a renewal changes it only where the MAC is the same.

-- ==== shape ====

create table subnet (
	id bigint generated always as identity primary key,
	name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	prefix cidr not null check (family(prefix) = 4),
	gateway inet,
	dns inet[] not null default '{}',
	boot_server inet not null,      -- our address as the clients of this subnet reach it: siaddr, URLs
	pool_low inet,
	pool_high inet,
	reserved_only boolean not null default true,  -- unknown MACs get silence
	lease_s integer not null default 3600 check (lease_s between 60 and 31536000),
	version bigint not null default 1,
	shared_network text check (shared_network ~ '^[a-z0-9][a-z0-9-]{0,62}$'),  -- subnets of one link bear the same name
	relays inet[] not null default '{}' check (cardinality(relays) <= 16),  -- addresses that may relay from here; empty = any address in a subnet of ours
	constraint pool_in_prefix check ((pool_low is null) = (pool_high is null) and
					 (pool_low is null or (pool_low <<= prefix and pool_high <<= prefix and pool_low <= pool_high))),
	constraint subnets_are_disjoint exclude using gist (prefix inet_ops with &&)
);
comment on column subnet.shared_network is 'subnets on one link (behind one relay) bear the same name; a client gets an address of any of them';

create table reservation (
	mac macaddr primary key,
	subnet_id bigint not null references subnet on delete restrict,
	address inet not null unique,
	created_at timestamptz not null default now()
);

-- An address bound twice cannot be written: one row per address, one bound row per (MAC, subnet). A declined row names who declined it.
create table lease (
	address inet primary key,
	mac macaddr not null,
	subnet_id bigint not null,  -- no foreign key: it would lock the subnet for every new lease; subnet_is_empty() looks instead
	state text not null default 'bound' check (state in ('bound', 'declined', 'released')),
	client text not null default '',      -- what it said it was: vendor class, cut to 64
	expires_at timestamptz not null,
	bound_at timestamptz not null default now()
) with (fillfactor = 85);
create unique index lease_one_per_mac on lease (mac, subnet_id) where state = 'bound';
create index lease_bound_at on lease (bound_at);

-- DHCP servers that answered on our links lately. Ours are in it when they have an address of their own (server_address of bampi-bootd).
create table dhcp_server (
	link text not null check (length(link) between 1 and 160),  -- 'c1:eth1'; 'relay 10.2.0.1'; of ours the host
	address inet not null,
	mac macaddr,            -- null: only a client named it
	ours boolean not null,
	first_at timestamptz not null default now(),
	seen_at timestamptz not null default now(),
	primary key (link, address)
);
alter table dhcp_server enable row level security;

-- ==== functions ====

-- The address of a bampi-bootd, by a subnet or by its own word.
create function dhcp_server_is_ours(p_address inet)
returns boolean stable language sql set search_path = haas, pg_temp as $$
	select exists (select from subnet s where host(s.boot_server) = host(p_address))
	    or exists (select from dhcp_server d where d.ours and host(d.address) = host(p_address))
$$;

-- Foreign servers that one bampi-bootd heard, and its own address (null: that of the subnets). A server is forgotten an hour after its last word.
-- A flood of made-up servers fills 64 rows, no more.
create function dhcp_server_put(p_host text, p_own inet, p_links text[], p_addresses inet[], p_macs macaddr[])
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform pg_advisory_xact_lock(7303);
	delete from dhcp_server where seen_at < now() - interval '1 hour';
	if p_own is not null then
		insert into dhcp_server (link, address, ours) values (p_host, p_own, true)
		on conflict (link, address) do update set ours = true, seen_at = now();
	end if;
	update dhcp_server d set mac = coalesce(x.mac, d.mac), seen_at = now() from unnest(p_links, p_addresses, p_macs) as x (link, address, mac)
	where (d.link, d.address) = (x.link, x.address) and not d.ours;
	insert into dhcp_server (link, address, mac, ours)
	select distinct on (x.link, x.address) x.link, x.address, x.mac, false from unnest(p_links, p_addresses, p_macs) as x (link, address, mac)
	where not dhcp_server_is_ours(x.address) and not exists (select from dhcp_server o where (o.link, o.address) = (x.link, x.address))
	order by x.link, x.address limit greatest(0, 64 - (select count(*) from dhcp_server));
end
$$;


-- Gives an address back by hand. bampi-bootd hears of it on the channel 'lease': it reads its leases again. A change of a subnet or of a
-- reservation needs no such reading, and has the channel 'address'.
create function lease_reclaim(p_address inet, p_actor text)
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
	perform event_add(p_actor, 'lease.reclaimed', 'lease', host(p_address), null, format('reclaimed from %s', v_mac));
	perform pg_notify('lease', '');
	return true;
end
$$;

create function subnet_is_empty() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	lock table lease in share row exclusive mode;
	if exists (select from lease where subnet_id = old.id) then
		raise foreign_key_violation using constraint = 'lease_subnet_id_fkey', message = format('subnet %s has leases', old.name);
	end if;
	return old;
end
$$;

-- ==== triggers, views, rights ====
create trigger subnet_is_empty before delete on subnet for each row execute function subnet_is_empty();

create view lease_view with (security_invoker = true) as
select host(l.address) as address, l.mac::text as mac, s.name as subnet, n.name as node, l.state, l.client, l.expires_at, l.bound_at,
       exists (select from reservation r where r.mac = l.mac and r.address = l.address) as reserved
from lease l
join subnet s on s.id = l.subnet_id
left join nic x on x.mac = l.mac
left join node n on n.id = x.node_id;

grant select on subnet to bampi_bootd, bampid;
grant insert, select, update, delete on subnet to portald;
grant select on reservation to bampi_bootd, bampid;
grant insert, select, delete on reservation to portald;
grant insert, select, update, delete on lease to bampi_bootd;
grant select on lease to bampid, portald;
grant select on lease_view to portald;
grant execute on function dhcp_server_put(text,inet,text[],inet[],macaddr[]) to bampi_bootd;
grant execute on function lease_reclaim(inet,text) to portald;
