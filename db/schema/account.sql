-- People: accounts, one-time links, sessions, tokens. A secret is kept as its digest (SHA-256), a password as argon2id's text; neither can be read back.

-- ==== shape ====

create type account_role as enum ('operator', 'on-call', 'auditor', 'tenant-admin', 'tenant-member');

create table account (
	id bigint generated always as identity primary key,
	-- "ann" of the site, "globex/ann" of a tenant: no tenant learns which names others use.
	name text not null unique check (name ~ '^([a-z0-9-]{1,63}/)?[a-z0-9][a-z0-9._@-]{0,62}$'),
	role account_role not null,
	tenant_id bigint references tenant on delete cascade,
	os_user text unique check (os_user ~ '^[a-z_][a-z0-9_-]{0,31}$'), -- a kernel user who is this person
	password_hash text,                    -- null: invited, and no password was chosen yet
	password_at timestamptz,
	created_by text not null,
	created_at timestamptz not null default now(),
	disabled_at timestamptz,
	version_number bigint not null default 1,
	constraint account_of_tenant check ((tenant_id is not null) = (role in ('tenant-admin', 'tenant-member')) and (tenant_id is not null) = (name like '%/%'))
);
create index account_tenant on account (tenant_id);
alter table account enable row level security;

-- A link works once: whoever opens it chooses the password of its account.
create table account_link (
	digest bytea primary key check (length(digest) = 32),
	account_id bigint not null references account on delete cascade,
	created_by text not null,
	created_at timestamptz not null default now(),
	expires_at timestamptz not null,
	used_at timestamptz
);
create index account_link_account on account_link (account_id);
alter table account_link enable row level security;

-- A person whom a provider of OpenID Connect knows. An account has one way in: a password, or this.
create table account_external (
	account_id bigint primary key references account on delete cascade,
	issuer text not null check (length(issuer) between 1 and 1000),
	subject text not null check (length(subject) between 1 and 255),
	created_at timestamptz not null default now(),
	constraint account_external_once unique (issuer, subject)
);
alter table account_external enable row level security;

-- Between a provider's answer and a session: told to the browser, and good for who knows what the challenge is made of (PKCE). A state is finished once.
create table login_code (
	digest bytea primary key check (length(digest) = 32),
	state bytea not null check (length(state) = 32),
	challenge bytea not null check (length(challenge) = 32),
	issuer text not null,
	subject text not null,
	created_at timestamptz not null default now(),
	used_at timestamptz,
	constraint login_code_state unique (state)
);
create index login_code_created on login_code (created_at);
alter table login_code enable row level security;

-- It ends idle_s after the last request, and at `until` at the latest.
create table session (
	id bigint generated always as identity primary key,
	digest bytea not null unique check (length(digest) = 32),
	account_id bigint not null references account on delete cascade,
	address text not null,
	agent text not null,
	idle_s integer not null check (idle_s between 60 and 2592000),
	second_factor boolean not null,        -- more than a password was shown for it
	created_at timestamptz not null default now(),
	seen_at timestamptz not null default now(),
	until timestamptz not null,
	ended_at timestamptz,
	ended_by text
);
create index session_account on session (account_id, created_at);
alter table session enable row level security;

-- haas_ID_SECRET, for programs. It may do what its role and its scopes both allow: "pdci:write", "node:read", "*:read".
create table api_token (
	id text primary key check (id ~ '^[a-z0-9]{8}$'),
	digest bytea not null unique check (length(digest) = 32),
	account_id bigint not null references account on delete cascade,
	name text not null check (length(name) between 1 and 63),
	role account_role not null,
	scopes text[] not null check (cardinality(scopes) between 1 and 32),
	created_at timestamptz not null default now(),
	expires_at timestamptz not null,
	used_at timestamptz,
	ended_at timestamptz
);
create unique index api_token_name on api_token (account_id, name) where ended_at is null;
alter table api_token enable row level security;

-- ==== functions ====

-- How an account is named in events. A kernel user without an account is "user NAME", so that the two cannot be taken for each other.
create function account_actor(p_name text) returns text immutable language sql as $$ select 'account ' || p_name $$;

-- May an account of the first role make one, or a token, of the second?
create function role_covers(p_holder account_role, p_role account_role) returns boolean immutable language sql as $$
	select case p_holder when 'operator' then true when 'tenant-admin' then p_role in ('tenant-admin', 'tenant-member') else p_holder = p_role end
$$;


-- The role of whoever asks in this transaction, as identity_enter or the local socket said; null: a daemon, or nobody.
create function asking_role() returns account_role stable language sql as
$$ select nullif(current_setting('haas.role', true), '')::account_role $$;

-- Who asks: of the session or token with this digest. No row: it is not known, is over, or its account is disabled. Once a minute it is marked as seen, unless somebody
-- else holds the row: who asks is looked up on a connection that others wait for.
create function identity_find(p_digest bytea)
returns table (way text, proof text, account bigint, name text, role account_role, tenant text, tenant_id bigint, scopes text[], second_factor boolean)
language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s session%rowtype;
	k api_token%rowtype;
	a account%rowtype;
begin
	select * into s from session x where x.digest = p_digest and x.ended_at is null and x.until > now() and x.seen_at + make_interval(secs => x.idle_s) > now();
	if not found then
		select * into k from api_token x where x.digest = p_digest and x.ended_at is null and x.expires_at > now();
	end if;
	select * into a from account x where x.id = coalesce(s.account_id, k.account_id) and x.disabled_at is null;
	if not found or (k.id is not null and not role_covers(a.role, k.role)) then
		return;
	end if;
	if s.seen_at < now() - interval '1 minute' then
		update session x set seen_at = now() where x.id = (select y.id from session y where y.id = s.id for update skip locked);
	elsif k.id is not null and coalesce(k.used_at, '-infinity') < now() - interval '1 minute' then
		update api_token x set used_at = now() where x.id = (select y.id from api_token y where y.id = k.id for update skip locked);
	end if;
	return query select case when s.id is not null then 'session' else 'token' end, coalesce(s.id::text, k.id), a.id, a.name, coalesce(k.role, a.role),
		(select t.name from tenant t where t.id = a.tenant_id), a.tenant_id, k.scopes, coalesce(s.second_factor, second_factor_on(a.id) or exists (select from account_external e where e.account_id = a.id));
end
$$;

-- The account of a kernel user.
create function identity_of_user(p_os_user text)
returns table (account bigint, name text, role account_role, tenant text) stable language sql security definer set search_path = haas, pg_temp as $$
	select a.id, a.name, a.role, t.name from account a left join tenant t on t.id = a.tenant_id where a.os_user = p_os_user and a.disabled_at is null
$$;

-- The first statement of a transaction of someone who was not named by the kernel: the proof is looked at again, so what portald remembers may be old.
create function identity_enter(p_digest bytea)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i record;
begin
	select * into i from identity_find(p_digest);
	if not found then
		raise exception 'this login is over' using errcode = 'HA401', hint = 'log in again: haasctl login';
	end if;
	perform set_config('haas.scope', case when i.tenant_id is null then 'operator' else 'tenant' end, true), set_config('haas.role', i.role::text, true),
		set_config('haas.tenant', coalesce(i.tenant_id::text, ''), true), set_config('haas.account', i.account::text, true),
		set_config('haas.actor', account_actor(i.name), true);
	return i.name;
end
$$;

-- The same of a user whom the kernel named. What portald remembers of an account may be old here too. p_by_group: the role is an
-- operator's by the operators' group, which only portald can ask for.
create function kernel_enter(p_actor text, p_role account_role, p_account bigint, p_by_group boolean)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if p_account is not null and not exists (select from account a where a.id = p_account and a.disabled_at is null and a.os_user is not null
						 and account_actor(a.name) = p_actor and (a.role = p_role or p_by_group)) then
		raise exception 'this account is not yours any more' using errcode = 'HA401', hint = 'ask again';
	end if;
	perform set_config('haas.actor', p_actor, true), set_config('haas.role', p_role::text, true), set_config('haas.account', coalesce(p_account::text, ''), true);
end
$$;

-- Raises unless the one who asks may manage accounts of this tenant (null: of the site).
create function account_manager_check(p_tenant bigint)
returns void stable language plpgsql set search_path = haas, pg_temp as $$
begin
	if not coalesce(asking_role() = 'operator' or (asking_role() = 'tenant-admin' and p_tenant is not null and p_tenant = current_tenant()), false) then
		raise exception 'only an operator, or an admin of the tenant, may manage its accounts' using errcode = 'HA403', hint = 'haasctl whoami says who you are';
	end if;
end
$$;

-- Of a tenant's account "ann" and "globex/ann" are the same name.
create function account_full_name(p_name text, p_tenant bigint)
returns text stable language sql set search_path = haas, pg_temp as $$
	select case when p_tenant is null or p_name like '%/%' then p_name else (select name from tenant where id = p_tenant) || '/' || p_name end
$$;

-- The account that the one who asks may manage, locked. What it may not see does not exist for it.
create function account_locked(p_name text)
returns account language plpgsql set search_path = haas, pg_temp as $$
declare
	a account%rowtype;
begin
	select * into a from account where name = account_full_name(p_name, case when not is_operator() then current_tenant() end) for update;
	if not found or not in_scope(a.tenant_id) then
		raise exception 'account % does not exist', p_name using errcode = 'HA404', hint = 'haasctl account list shows the accounts';
	end if;
	perform account_manager_check(a.tenant_id);
	return a;
end
$$;

create function account_link_add(p_account bigint, p_digest bytea, p_hours integer, p_actor text)
returns timestamptz language sql set search_path = haas, pg_temp as $$
	delete from account_link where account_id = p_account;
	insert into account_link (digest, account_id, created_by, expires_at) values (p_digest, p_account, p_actor, now() + make_interval(hours => p_hours))
	returning expires_at;
$$;

-- A new account and its first link. p_tenant: for the roles of a tenant; whoever asks in the scope of a tenant invites into that one.
create function account_invite(p_name text, p_role account_role, p_tenant text, p_os_user text, p_digest bytea, p_hours integer, p_actor text)
returns timestamptz language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint := case when is_operator() then (select id from tenant where name = p_tenant) else current_tenant() end;
	v_name text := account_full_name(p_name, v_tenant);
	v_account bigint;
begin
	if p_tenant is not null and not exists (select from tenant where name = p_tenant and in_scope(id)) then
		raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	elsif p_tenant is null and is_operator() and p_role in ('tenant-admin', 'tenant-member') then
		raise exception 'a % belongs to a tenant', p_role using errcode = 'HA422', hint = 'say which: --tenant NAME';
	elsif v_tenant is not null and p_role not in ('tenant-admin', 'tenant-member') then
		raise exception 'a % belongs to no tenant', p_role using errcode = 'HA422', hint = 'leave out the tenant, or choose tenant-admin or tenant-member';
	elsif p_os_user is not null and not is_operator() then
		raise exception 'only an operator may name a user of the controller machine' using errcode = 'HA403', hint = 'leave out os_user';
	end if;
	perform account_manager_check(v_tenant);
	if v_name like '%/%' and not coalesce(v_name like (select t.name || '/%' from tenant t where t.id = v_tenant), false) then
		raise exception '% is no name in this tenant', p_name using errcode = 'HA422', hint = 'leave out what stands before the slash';
	end if;
	insert into account (name, role, tenant_id, os_user, created_by) values (v_name, p_role, v_tenant, p_os_user, p_actor) returning id into v_account;
	perform event_add(p_actor, 'account.invited', 'account', v_name, v_tenant, format('%s is invited as %s', v_name, p_role), jsonb_build_object('role', p_role));
	return account_link_add(v_account, p_digest, p_hours, p_actor);
end
$$;

-- A new link for a person who lost the password. What the account has open goes on until the link is used.
create function account_link_renew(p_name text, p_digest bytea, p_hours integer, p_actor text)
returns timestamptz language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_locked(p_name);
begin
	if a.disabled_at is not null then
		raise exception 'account % is disabled', p_name using errcode = 'HA409', hint = format('first: haasctl account enable %s', p_name);
	end if;
	perform event_add(p_actor, 'account.link_made', 'account', a.name, a.tenant_id, format('%s got a link to choose a new password', a.name));
	return account_link_add(a.id, p_digest, p_hours, p_actor);
end
$$;

-- Sessions and tokens: who stole one could have made the other.
create function account_end_all(p_account bigint, p_actor text)
returns void language sql set search_path = haas, pg_temp as $$
	update session set ended_at = now(), ended_by = p_actor where account_id = p_account and ended_at is null;
	update api_token set ended_at = now() where account_id = p_account and ended_at is null;
$$;

-- The account of a link, which is used up. Nobody is logged in here: the link is the proof.
create function account_link_take(p_digest bytea)
returns account language plpgsql set search_path = haas, pg_temp as $$
declare
	l account_link%rowtype;
	a account%rowtype;
begin
	update account_link set used_at = now() where digest = p_digest and used_at is null and expires_at > now() returning * into l;
	select * into a from account where id = l.account_id and disabled_at is null for update;
	if not found then
		raise exception 'this link was used before, is too old, or never was one' using errcode = 'HA404', hint = 'ask for a new one: haasctl account link NAME makes it';
	end if;
	perform set_config('haas.actor', account_actor(a.name), true);
	perform account_end_all(a.id, account_actor(a.name));
	perform pg_notify('account', '');
	return a;
end
$$;

create function account_link_use(p_digest bytea, p_password_hash text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_link_take(p_digest);
begin
	delete from account_external where account_id = a.id;
	update account set password_hash = p_password_hash, password_at = now(), version_number = version_number + 1 where id = a.id;
	perform event_add(account_actor(a.name), 'account.password_set', 'account', a.name, a.tenant_id, format('%s chose a password', a.name));
	return a.name;
end
$$;

-- Whether a link may be used now: asked before anything is computed for it.
create function account_link_is_open(p_digest bytea) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select exists (select from account_link l join account a on a.id = l.account_id where l.digest = p_digest and l.used_at is null and l.expires_at > now() and a.disabled_at is null) $$;

-- What a login needs, of an account that may log in; portald compares the password, and the code with what is sealed (null: none is asked for).
-- known: it logged in from this address within 30 days.
create function login_find(p_name text, p_address text)
returns table (account bigint, password_hash text, known boolean, sealed bytea, counter bigint) stable language sql security definer set search_path = haas, pg_temp as $$
	select a.id, a.password_hash, exists (select from session s where s.account_id = a.id and s.address = p_address and s.created_at > now() - interval '30 days'),
		f.sealed, f.counter
	from account a left join second_factor f on f.account_id = a.id and f.confirmed_at is not null where a.name = p_name and a.disabled_at is null
$$;

-- The 50th session of an account ends its oldest one; what was over 90 days ago is forgotten.
create function session_open(a account, p_digest bytea, p_address text, p_agent text, p_idle_s integer, p_hours integer, p_second_factor boolean)
returns bigint language plpgsql set search_path = haas, pg_temp as $$
declare
	v_id bigint;
begin
	delete from session where account_id = a.id and created_at < now() - interval '90 days' and (ended_at is not null or until < now());
	delete from api_token where account_id = a.id and coalesce(ended_at, expires_at) < now() - interval '90 days';
	update session set ended_at = now(), ended_by = 'too many sessions' where id in
		(select id from session where account_id = a.id and ended_at is null order by seen_at desc offset 49);
	insert into session (digest, account_id, address, agent, idle_s, second_factor, until)
	values (p_digest, a.id, p_address, p_agent, least(p_idle_s, 60 * setting_number('login.idle_minutes')), p_second_factor, now() + make_interval(hours => least(p_hours, setting_number('login.hours'))::integer))
	returning id into v_id;
	perform event_add(account_actor(a.name), 'account.login', 'account', a.name, a.tenant_id, format('%s logged in from %s', a.name, p_address),
			  jsonb_build_object('session', v_id, 'address', p_address));
	return v_id;
end
$$;

-- A login that went well. p_counter, p_code: the code of its second factor, where it has one.
create function session_begin(p_account bigint, p_digest bytea, p_address text, p_agent text, p_idle_s integer, p_hours integer, p_counter bigint, p_code bytea)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype;
begin
	select * into a from account where id = p_account and disabled_at is null for update;
	if not found then
		raise exception 'the account was disabled' using errcode = 'HA403', hint = 'ask an operator';
	end if;
	perform set_config('haas.actor', account_actor(a.name), true); -- the password has proven it
	return session_open(a, p_digest, p_address, p_agent, p_idle_s, p_hours, second_factor_use(p_account, p_counter, p_code));
end
$$;

-- A provider has said who it is. Nobody is logged in yet: the code goes through a browser.
create function login_code_add(p_digest bytea, p_state bytea, p_challenge bytea, p_issuer text, p_subject text)
returns void language sql security definer set search_path = haas, pg_temp as $$
	delete from login_code where created_at < now() - interval '1 hour';
	insert into login_code (digest, state, challenge, issuer, subject) values (p_digest, p_state, p_challenge, p_issuer, p_subject);
$$;

-- The session of a code. p_link: a one-time link, which gives its account to this person, and takes its password away.
create function login_code_use(p_code bytea, p_challenge bytea, p_link bytea, p_digest bytea, p_address text, p_agent text, p_idle_s integer, p_hours integer)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c login_code%rowtype;
	a account%rowtype;
begin
	update login_code set used_at = now() where digest = p_code and challenge = p_challenge and used_at is null and created_at > now() - interval '2 minutes' returning * into c;
	if not found then
		raise exception 'this login was finished before, took too long, or never was one' using errcode = 'HA401', hint = 'begin it again, and finish it within two minutes';
	end if;
	if p_link is not null then
		a := account_link_take(p_link);
		if exists (select from account_external where issuer = c.issuer and subject = c.subject and account_id <> a.id) then
			raise exception 'this person has another account' using errcode = 'HA409', hint = 'log in without the link';
		end if;
		delete from second_factor where account_id = a.id;
		insert into account_external (account_id, issuer, subject) values (a.id, c.issuer, c.subject)
		on conflict (account_id) do update set issuer = excluded.issuer, subject = excluded.subject, created_at = now();
		update account set password_hash = null, password_at = now(), version_number = version_number + 1 where id = a.id;
		perform event_add(account_actor(a.name), 'account.provider_set', 'account', a.name, a.tenant_id, format('%s logs in by %s', a.name, c.issuer),
				  jsonb_build_object('issuer', c.issuer, 'subject', c.subject));
	else
		select x.* into a from account x join account_external e on e.account_id = x.id where e.issuer = c.issuer and e.subject = c.subject and x.disabled_at is null for update of x;
		if not found then
			raise exception 'nobody was invited by this name' using errcode = 'HA403', hint = 'take a one-time link by this provider: on its page, or haasctl login --browser --link';
		end if;
		perform set_config('haas.actor', account_actor(a.name), true); -- the provider has proven it
	end if;
	perform session_open(a, p_digest, p_address, p_agent, p_idle_s, p_hours, true);
	return a.name;
end
$$;

-- By which provider a person logs in, for who may see the account.
create function account_provider_seen(p_account bigint) returns text stable language sql security definer set search_path = haas, pg_temp as
$$ select e.issuer from account_external e join account a on a.id = e.account_id where a.id = p_account and in_scope(a.tenant_id) $$;

-- A wrong password, or code, of an account that exists: at most one event a minute, so that who guesses fills no table.
create function login_refused(p_name text, p_address text, p_what text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint;
begin
	select tenant_id into v_tenant from account where name = p_name;
	if found and not exists (select from event where subject_kind = 'account' and subject = p_name and kind = 'account.login_refused' and at > now() - interval '1 minute') then
		perform event_add('portald', 'account.login_refused', 'account', p_name, v_tenant, format('a wrong %s for %s, from %s', p_what, p_name, p_address),
				  jsonb_build_object('address', p_address));
	end if;
end
$$;

-- Null: stays as it is. p_version 0: whatever it is. Returns its whole name.
create function account_change(p_name text, p_version bigint, p_disabled boolean, p_role account_role, p_os_user text, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_locked(p_name);
	v_disabled boolean := coalesce(p_disabled, a.disabled_at is not null);
	v_role account_role := coalesce(p_role, a.role);
begin
	if p_version <> 0 and p_version <> a.version_number then
		raise exception 'account % changed meanwhile', p_name using errcode = 'HA412', hint = 'read it again and repeat';
	elsif (v_role in ('tenant-admin', 'tenant-member')) <> (a.tenant_id is not null) then
		raise exception 'a % cannot become a %', a.role, v_role using errcode = 'HA422', hint = 'invite the person again under another name';
	elsif p_os_user is not null and not is_operator() then
		raise exception 'only an operator may name a user of the controller machine' using errcode = 'HA403', hint = 'leave out os_user';
	elsif a.role = 'operator' and (v_disabled or v_role <> 'operator') and not exists
		(select from account x where x.role = 'operator' and x.disabled_at is null and x.id <> a.id
		 and (x.password_hash is not null or exists (select from account_external e where e.account_id = x.id))) then
		raise exception '% is the last operator', p_name using errcode = 'HA409', hint = 'invite another operator first: haasctl account invite';
	end if;
	update account set disabled_at = case when v_disabled then coalesce(disabled_at, now()) end, role = v_role,
		os_user = case when p_os_user is null then os_user else nullif(p_os_user, '') end, version_number = version_number + 1 where id = a.id;
	if v_disabled or v_role <> a.role then
		perform account_end_all(a.id, p_actor);
	end if;
	perform event_add(p_actor, 'account.changed', 'account', a.name, a.tenant_id,
			  format('%s: %s', a.name, case when v_disabled and a.disabled_at is null then 'disabled' when not v_disabled and a.disabled_at is not null then 'enabled'
				 when v_role <> a.role then a.role || ' becomes ' || v_role else 'changed' end),
			  jsonb_build_object('before', jsonb_build_object('role', a.role, 'disabled', a.disabled_at is not null, 'os_user', a.os_user),
					     'after', jsonb_build_object('role', v_role, 'disabled', v_disabled, 'os_user', coalesce(nullif(p_os_user, ''), case when p_os_user is null then a.os_user end))));
	perform pg_notify('account', '');
	return a.name;
end
$$;

-- The account that a session or a token to be ended is of: the asker's own, or one that they may manage. Null: for them there is no such.
create function account_of_ended(p_account bigint)
returns account stable language plpgsql set search_path = haas, pg_temp as $$
declare
	a account%rowtype;
begin
	select * into a from account where id = p_account;
	if not found or not coalesce(in_scope(a.tenant_id) or a.id::text = current_setting('haas.account', true), false) then
		return null;
	elsif a.id::text is distinct from nullif(current_setting('haas.account', true), '') then
		perform account_manager_check(a.tenant_id);
	end if;
	return a;
end
$$;

-- Own ones, and those of accounts that one may manage.
create function session_end(p_session bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_of_ended((select s.account_id from session s where s.id = p_session and s.ended_at is null));
begin
	if a.id is null then
		raise exception 'session % does not exist', p_session using errcode = 'HA404', hint = 'haasctl session list shows the sessions';
	end if;
	update session set ended_at = now(), ended_by = p_actor where id = p_session;
	perform pg_notify('account', '');
	perform event_add(p_actor, 'account.session_ended', 'account', a.name, a.tenant_id, format('a session of %s was ended', a.name), jsonb_build_object('session', p_session));
end
$$;

-- For the account that asks. Returns the token's role.
create function api_token_make(p_id text, p_digest bytea, p_name text, p_role account_role, p_scopes text[], p_expires timestamptz, p_actor text)
returns account_role language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype;
begin
	select * into a from account where id::text = current_setting('haas.account', true) and disabled_at is null for update;
	if not found then
		raise exception 'a token belongs to an account, and % has none', p_actor using errcode = 'HA409', hint = 'log in first: haasctl login; haasctl account invite makes an account';
	elsif not role_covers(asking_role(), coalesce(p_role, a.role)) or not role_covers(a.role, coalesce(p_role, a.role)) then
		raise exception 'a % cannot make a token of role %', a.role, p_role using errcode = 'HA403', hint = 'leave out the role, or choose a smaller one';
	elsif (a.tenant_id is not null) <> (coalesce(p_role, a.role) in ('tenant-admin', 'tenant-member')) then
		raise exception 'a % is of %', p_role, case when a.tenant_id is null then 'a tenant, and this account is not' else 'the site, and this account is a tenant''s' end using errcode = 'HA422';
	elsif p_expires <= now() or p_expires > now() + interval '366 days' then
		raise exception 'a token ends within 366 days from now' using errcode = 'HA422', hint = 'say --expires 30d';
	elsif (select count(*) from api_token where account_id = a.id and ended_at is null and expires_at > now()) >= 50 then
		raise exception '% has 50 tokens', a.name using errcode = 'HA409', hint = 'end one: haasctl token end ID';
	end if;
	update api_token set ended_at = expires_at where account_id = a.id and name = p_name and ended_at is null and expires_at <= now();
	insert into api_token (id, digest, account_id, name, role, scopes, expires_at) values (p_id, p_digest, a.id, p_name, coalesce(p_role, a.role), p_scopes, p_expires);
	perform event_add(p_actor, 'account.token_made', 'account', a.name, a.tenant_id, format('token %s of %s, until %s', p_name, a.name, p_expires),
			  jsonb_build_object('token', p_id, 'scopes', p_scopes, 'role', coalesce(p_role, a.role)));
	return coalesce(p_role, a.role);
end
$$;

create function api_token_end(p_id text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_of_ended((select k.account_id from api_token k where k.id = p_id and k.ended_at is null));
begin
	if a.id is null then
		raise exception 'token % does not exist', p_id using errcode = 'HA404', hint = 'haasctl token list shows the tokens';
	end if;
	update api_token set ended_at = now() where id = p_id;
	perform pg_notify('account', '');
	perform event_add(p_actor, 'account.token_ended', 'account', a.name, a.tenant_id, format('a token of %s was ended', a.name), jsonb_build_object('token', p_id));
end
$$;

-- ==== triggers, views, rights ====

create view session_view with (security_invoker = true) as
select s.id, a.name as account, a.tenant_id, s.address, s.agent, s.created_at, s.seen_at,
       least(s.until, s.seen_at + make_interval(secs => s.idle_s)) as ends_at, s.account_id
from session s join account a on a.id = s.account_id
where s.ended_at is null and s.until > now() and s.seen_at + make_interval(secs => s.idle_s) > now() and a.disabled_at is null;

create policy account_portald on account for select to portald using (in_scope(tenant_id));
create policy session_portald on session for select to portald using (account_id in (select id from account));
create policy api_token_portald on api_token for select to portald using (account_id in (select id from account));

grant select (id, name, role, tenant_id, os_user, password_at, created_by, created_at, disabled_at, version_number) on account to portald;
grant select (id, account_id, address, agent, idle_s, created_at, seen_at, until, ended_at) on session to portald;
grant select (id, account_id, name, role, scopes, created_at, expires_at, used_at, ended_at) on api_token to portald;
grant select on session_view to portald;
grant execute on function account_actor(text) to portald;
grant execute on function asking_role() to portald;
grant execute on function identity_find(bytea) to portald;
grant execute on function identity_of_user(text) to portald;
grant execute on function identity_enter(bytea) to portald;
grant execute on function kernel_enter(text,account_role,bigint,boolean) to portald;
grant execute on function account_link_is_open(bytea) to portald;
grant execute on function account_invite(text,account_role,text,text,bytea,integer,text) to portald;
grant execute on function account_link_renew(text,bytea,integer,text) to portald;
grant execute on function account_link_use(bytea,text) to portald;
grant execute on function login_find(text,text) to portald;
grant execute on function session_begin(bigint,bytea,text,text,integer,integer,bigint,bytea) to portald;
grant execute on function login_code_add(bytea,bytea,bytea,text,text) to portald;
grant execute on function login_code_use(bytea,bytea,bytea,bytea,text,text,integer,integer) to portald;
grant execute on function account_provider_seen(bigint) to portald;
grant execute on function login_refused(text,text,text) to portald;
grant execute on function account_change(text,bigint,boolean,account_role,text,text) to portald;
grant execute on function session_end(bigint,text) to portald;
grant execute on function api_token_make(text,bytea,text,account_role,text[],timestamptz,text) to portald;
grant execute on function api_token_end(text,text) to portald;
