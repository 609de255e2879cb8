-- Subnets, reservations, leases. The binding of a MAC to an address is permanent until reclaimed; expires_at is only a timer.
create extension if not exists btree_gist with schema public;

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
	constraint pool_in_prefix check ((pool_low is null) = (pool_high is null) and
					 (pool_low is null or (pool_low <<= prefix and pool_high <<= prefix and pool_low <= pool_high))),
	constraint subnets_are_disjoint exclude using gist (prefix inet_ops with &&)
);
grant select, insert, update, delete on subnet to portald;
grant select on subnet to bampi_bootd, bampid;

create table reservation (
	mac macaddr primary key,
	subnet_id bigint not null references subnet on delete restrict,
	address inet not null unique,
	created_at timestamptz not null default now()
);
grant select, insert, delete on reservation to portald;
grant select on reservation to bampi_bootd, bampid;

-- An address bound twice cannot be written: one row per address, one bound row per (MAC, subnet). A declined row names who declined it.
create table lease (
	address inet primary key,
	mac macaddr not null,
	subnet_id bigint not null references subnet on delete restrict,
	state text not null default 'bound' check (state in ('bound', 'declined')),
	client text not null default '',      -- what it said it was: vendor class, cut to 64
	expires_at timestamptz not null,
	bound_at timestamptz not null default now()
);
create unique index lease_one_per_mac on lease (mac, subnet_id) where state = 'bound';
create index lease_expiry on lease (expires_at);
grant select on lease to portald, bampid;
grant select, insert, update, delete on lease to bampi_bootd;

-- Gives an address back by hand. bampi-bootd hears of it by the channel 'address'.
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
	perform event_add(p_actor, 'lease.reclaimed', 'lease', host(p_address), null, format('taken back from %s', v_mac));
	perform pg_notify('address', '');
	return true;
end
$$;
grant execute on function lease_reclaim(inet, text) to portald;
