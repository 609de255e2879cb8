-- What a person shows beside a password: a code of TOTP (RFC 6238), or one of a few recovery codes. portald compares; here each is used once.

-- ==== shape ====

create table second_factor (
	account_id bigint primary key references account on delete cascade,
	sealed bytea not null check (length(sealed) between 1 and 2048), -- to portald's own key
	counter bigint not null default 0,     -- of the last code that was used: it and older ones are void
	made_at timestamptz not null default now(),
	confirmed_at timestamptz               -- null: no code was shown yet, and none is asked for
);
alter table second_factor enable row level security;

-- A code is gone when it was used.
create table recovery_code (
	account_id bigint not null references second_factor on delete cascade,
	digest bytea not null check (length(digest) = 32),
	primary key (account_id, digest)
);
alter table recovery_code enable row level security;

-- ==== functions ====

-- Is a code asked for?
create function second_factor_on(p_account bigint) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select exists (select from second_factor f where f.account_id = p_account and f.confirmed_at is not null) $$;

-- The same, for who may see the account.
create function second_factor_seen(p_account bigint) returns boolean stable language sql security definer set search_path = haas, pg_temp as
$$ select exists (select from second_factor f join account a on a.id = f.account_id where a.id = p_account and f.confirmed_at is not null and in_scope(a.tenant_id)) $$;

-- Uses a code: the counter that portald found it at, or the digest of a recovery code. False: this account shows none.
create function second_factor_use(p_account bigint, p_counter bigint, p_code bytea)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	f second_factor%rowtype;
	a account%rowtype;
begin
	select * into f from second_factor where account_id = p_account and confirmed_at is not null for update;
	if not found then
		return false;
	end if;
	update second_factor set counter = p_counter where account_id = p_account and counter < p_counter;
	if found then
		return true;
	end if;
	delete from recovery_code where account_id = p_account and digest = p_code;
	if not found then
		raise exception 'the code is wrong, or was used before' using errcode = 'HA401', hint = 'wait for the next code; a recovery code works once';
	end if;
	select * into a from account where id = p_account;
	perform event_add(account_actor(a.name), 'account.recovery_code_used', 'account', a.name, a.tenant_id,
			  format('a recovery code of %s was used; %s left', a.name, count_text((select count(*) from recovery_code where account_id = p_account), 'code')));
	return true;
end
$$;

-- Of the account that asks: what portald compares a password and a code with. No row: it has no account.
create function second_factor_find()
returns table (name text, password_hash text, sealed bytea, counter bigint, confirmed boolean) stable language sql security definer set search_path = haas, pg_temp as $$
	select a.name, a.password_hash, f.sealed, f.counter, f.confirmed_at is not null
	from account a left join second_factor f on f.account_id = a.id where a.id::text = current_setting('haas.account', true) and a.disabled_at is null
$$;

-- The account that asks, locked.
create function account_asking()
returns account language plpgsql set search_path = haas, pg_temp as $$
declare
	a account%rowtype;
begin
	select * into a from account where id::text = current_setting('haas.account', true) and disabled_at is null for update;
	if not found then
		raise exception 'a second factor belongs to an account, and you have none' using errcode = 'HA409', hint = 'log in first: haasctl login';
	end if;
	return a;
end
$$;

-- A new secret. It counts from its first code on.
create function second_factor_begin(p_sealed bytea)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_asking();
begin
	if second_factor_on(a.id) then
		raise exception '% has a second factor', a.name using errcode = 'HA409', hint = 'first: haasctl totp disable';
	end if;
	insert into second_factor (account_id, sealed) values (a.id, p_sealed)
	on conflict (account_id) do update set sealed = excluded.sealed, counter = 0, made_at = now();
	return a.name;
end
$$;

-- The first code was right. Sessions that were opened without one end; the one that asks goes on, as one that has shown it.
create function second_factor_confirm(p_counter bigint, p_codes bytea[], p_session text, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_asking();
begin
	update second_factor set confirmed_at = now(), counter = p_counter where account_id = a.id and confirmed_at is null;
	if not found then
		raise exception 'nothing waits for a code' using errcode = 'HA409', hint = 'begin anew: haasctl totp enable';
	end if;
	insert into recovery_code (account_id, digest) select a.id, unnest(p_codes);
	update session set ended_at = now(), ended_by = p_actor where account_id = a.id and ended_at is null and id::text is distinct from p_session;
	update session set second_factor = true where account_id = a.id and id::text = p_session;
	perform pg_notify('account', '');
	perform event_add(p_actor, 'account.second_factor_enabled', 'account', a.name, a.tenant_id, format('%s shows a second factor from now on', a.name));
	return a.name;
end
$$;

-- One's own ends with a code of it. What is open of the account ends too, but for the session that asks.
create function second_factor_end(p_counter bigint, p_code bytea, p_session text, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_asking();
begin
	if not second_factor_use(a.id, p_counter, p_code) then
		raise exception '% has no second factor', a.name using errcode = 'HA409', hint = 'haasctl totp enable makes one';
	end if;
	delete from second_factor where account_id = a.id;
	update session set ended_at = now(), ended_by = p_actor where account_id = a.id and ended_at is null and id::text is distinct from p_session;
	update session set second_factor = false where account_id = a.id;
	perform pg_notify('account', '');
	perform event_add(p_actor, 'account.second_factor_disabled', 'account', a.name, a.tenant_id, format('%s shows a password alone from now on', a.name));
	return a.name;
end
$$;

-- Of a person who has lost it. Who manages the account vouches for the person; nobody does it for oneself.
create function second_factor_reset(p_name text, p_actor text)
returns text language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	a account%rowtype := account_locked(p_name);
begin
	if a.id::text = current_setting('haas.account', true) then
		raise exception 'your own second factor ends with a code of it' using errcode = 'HA403', hint = 'haasctl totp disable; who has lost it asks another operator';
	end if;
	delete from second_factor where account_id = a.id and confirmed_at is not null;
	if not found then
		raise exception '% has no second factor', a.name using errcode = 'HA409', hint = 'haasctl account show says who has one';
	end if;
	perform account_end_all(a.id, p_actor);
	perform pg_notify('account', '');
	perform event_add(p_actor, 'account.second_factor_reset', 'account', a.name, a.tenant_id, format('the second factor of %s was taken away', a.name));
	return a.name;
end
$$;

-- ==== triggers, views, rights ====

grant execute on function second_factor_seen(bigint) to portald;
grant execute on function second_factor_find() to portald;
grant execute on function second_factor_begin(bytea) to portald;
grant execute on function second_factor_confirm(bigint,bytea[],text,text) to portald;
grant execute on function second_factor_end(bigint,bytea,text,text) to portald;
grant execute on function second_factor_reset(text,text) to portald;
