-- What an operator changes while the site runs, and what a person keeps for the page. Settings that a daemon needs before it has the database stay in its file.

-- ==== shape ====

-- What differs from the defaults (setting_rows). One row, one version: who changes it has seen all of it.
create table site_setting (
	one boolean primary key default true check (one),
	chosen jsonb not null default '{}' check (jsonb_typeof(chosen) = 'object'),
	version_number bigint not null default 1,
	changed_by text,
	changed_at timestamptz
);
alter table site_setting enable row level security;
insert into site_setting default values;

-- What the page keeps for a person: nothing of it decides anything here.
create table account_setting (
	account_id bigint primary key references account on delete cascade,
	scheme text not null default 'machine' check (scheme in ('machine', 'light', 'dark')),
	hidden jsonb not null default '{}' check (jsonb_typeof(hidden) = 'object' and pg_column_size(hidden) <= 32768),
	version_number bigint not null default 1
);
alter table account_setting enable row level security;

-- ==== functions ====

-- Each setting: a word, or a number between two. Where it takes effect stands in `about`.
create function setting_rows()
returns table (name text, kind text, fallback jsonb, low bigint, high bigint, words text[], unit text, about text) immutable language sql as $$
	values
	('login.second_factor', 'word', '"none"'::jsonb, null::bigint, null::bigint, '{none,operators,all}'::text[], '', 'Who has to show a second factor. What portald.conf asks for counts, too: the stricter of both'),
	('login.hours', 'number', '168', 1, 168, null, 'hours', 'The longest login. One in a browser ends after 12 hours in any case'),
	('login.idle_minutes', 'number', '10080', 5, 10080, null, 'minutes', 'A login that asks for nothing for so long has ended. One in a browser ends after 30 minutes in any case'),
	('alert.bmc_silent_s', 'number', '60', 10, 86400, null, 'seconds', 'A BMC that does not answer for so long is an alert'),
	('alert.pdci_waiting_s', 'number', '600', 60, 604800, null, 'seconds', 'A PDCI that waits for nodes for so long is an alert'),
	('alert.deployment_slow_percent', 'number', '200', 100, 1000, null, 'percent', 'A deployment that takes so much of the usual time, and a minute, is an alert'),
	('alert.webhook_failing_s', 'number', '900', 60, 86400, null, 'seconds', 'A webhook that takes no delivery for so long is an alert'),
	('alert.backup_hours', 'number', '48', 1, 8760, null, 'hours', 'A last backup that is older is wrong in the status'),
	('capture.snap_length', 'number', '128', 14, 65535, null, 'bytes', 'Of each frame of a capture, where nobody says otherwise'),
	('capture.seconds', 'number', '60', 1, 86400, null, 'seconds', 'The length of a capture, where nobody says otherwise'),
	('traffic.keep_minutes_hours', 'number', '24', 1, 720, null, 'hours', 'Sums of traffic by minute are kept so long'),
	('traffic.keep_five_minutes_days', 'number', '90', 1, 730, null, 'days', 'Sums of traffic by five minutes are kept so long'),
	('traffic.keep_hours_days', 'number', '730', 1, 3650, null, 'days', 'Sums of traffic by hour are kept so long')
$$;

create function setting_word(p_name text) returns text stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce((select chosen ->> p_name from site_setting), (select r.fallback #>> '{}' from setting_rows() r where r.name = p_name))
$$;

create function setting_number(p_name text) returns bigint stable language sql security definer set search_path = haas, pg_temp as
$$ select setting_word(p_name)::bigint $$;

create function site_settings() returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select jsonb_build_object('version', s.version_number, 'changed_by', s.changed_by, 'changed_at', s.changed_at, 'items', (select jsonb_agg(jsonb_build_object('name', r.name, 'kind', r.kind,
		'value', coalesce(s.chosen -> r.name, r.fallback), 'default', r.fallback, 'low', r.low, 'high', r.high, 'words', to_jsonb(r.words), 'unit', r.unit, 'about', r.about)) from setting_rows() r))
	from site_setting s where is_operator()
$$;

create function setting_fits(p_kind text, p_value jsonb, p_low bigint, p_high bigint, p_words text[]) returns boolean immutable language sql as $$
	select case when p_kind = 'word' then jsonb_typeof(p_value) = 'string' and p_value #>> '{}' = any (p_words)
		-- as setting_number reads it: 12.0 is none
		when jsonb_typeof(p_value) <> 'number' or p_value #>> '{}' !~ '^[0-9]+$' then false else (p_value #>> '{}')::numeric between p_low and p_high end
$$;

-- p_values: {name: value}; null: as it was made. All of them, or none.
create function site_setting_change(p_version bigint, p_values jsonb, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s site_setting%rowtype;
	v_chosen jsonb;
	r record;
begin
	if not is_operator() then
		raise exception 'only an operator may change settings of the site' using errcode = 'HA403';
	end if;
	select * into s from site_setting for update;
	if p_version <> s.version_number then
		raise exception 'the settings changed meanwhile' using errcode = 'HA412', hint = 'read them again and repeat';
	end if;
	for r in select v.key, v.value, x.* from jsonb_each(p_values) v left join setting_rows() x on x.name = v.key loop
		if r.name is null then
			raise exception 'there is no setting %', r.key using errcode = 'HA422', hint = 'haasctl setting list shows the settings';
		elsif r.value <> 'null' and not setting_fits(r.kind, r.value, r.low, r.high, r.words) then
			raise exception '% cannot be %', r.name, r.value #>> '{}' using errcode = 'HA422',
				hint = coalesce('one of ' || array_to_string(r.words, ', '), format('a whole number from %s to %s %s', r.low, r.high, r.unit));
		end if;
	end loop;
	v_chosen := jsonb_strip_nulls(s.chosen || p_values);
	update site_setting set chosen = v_chosen, version_number = version_number + 1, changed_by = event_actor(p_actor), changed_at = now();
	update traffic_retention t set keep = case t.step when 60 then make_interval(hours => setting_number('traffic.keep_minutes_hours')::integer)
		when 300 then make_interval(days => setting_number('traffic.keep_five_minutes_days')::integer) else make_interval(days => setting_number('traffic.keep_hours_days')::integer) end;
	perform event_add(p_actor, 'site.setting_changed', 'setting', v.key, null, format('%s: %s becomes %s', v.key, coalesce(s.chosen ->> v.key, x.fallback #>> '{}'), coalesce(v_chosen ->> v.key, x.fallback #>> '{}')),
			  jsonb_build_object('before', coalesce(s.chosen -> v.key, x.fallback), 'after', coalesce(v_chosen -> v.key, x.fallback)))
	from jsonb_each(p_values) v join setting_rows() x on x.name = v.key where coalesce(s.chosen -> v.key, x.fallback) <> coalesce(v_chosen -> v.key, x.fallback);
	perform pg_notify('account', '');  -- who asks is read anew
end
$$;

-- Of the account that asks. One that has none keeps nothing.
create function own_settings() returns table (scheme text, hidden jsonb, version bigint) stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(s.scheme, 'machine'), coalesce(s.hidden, '{}'), coalesce(s.version_number, 1)
	from (select nullif(current_setting('haas.account', true), '')::bigint as id) a left join account_setting s on s.account_id = a.id
$$;

-- p_hidden: {screen: [column that is not shown]}; null forgets a screen.
create function own_setting_change(p_version bigint, p_scheme text, p_hidden jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_account constant bigint := nullif(current_setting('haas.account', true), '')::bigint;
	s account_setting%rowtype;
begin
	perform from account where id = v_account for update;
	if not found and p_version <> 1 then
		raise exception 'your settings changed meanwhile' using errcode = 'HA412', hint = 'read them again and repeat';
	elsif not exists (select from account where id = v_account) then
		raise exception 'settings belong to an account, and you have none' using errcode = 'HA409', hint = 'log in first: haasctl login';
	end if;
	insert into account_setting (account_id) values (v_account) on conflict do nothing;
	select * into s from account_setting where account_id = v_account;
	if p_version <> s.version_number then
		raise exception 'your settings changed meanwhile' using errcode = 'HA412', hint = 'read them again and repeat';
	end if;
	s.hidden := jsonb_strip_nulls(s.hidden || coalesce(p_hidden, '{}'));
	if (select count(*) from jsonb_object_keys(s.hidden)) > 64 or pg_column_size(s.hidden) > 32768 then
		raise exception 'columns of too many screens' using errcode = 'HA422', hint = 'at most 64 screens, and 32 KiB in all: send null for one that is not needed';
	end if;
	update account_setting set scheme = coalesce(p_scheme, s.scheme), hidden = s.hidden, version_number = version_number + 1 where account_id = v_account;
end
$$;

-- ==== triggers, views, rights ====
grant execute on function setting_word(text) to portald;
grant execute on function site_settings() to portald;
grant execute on function site_setting_change(bigint,jsonb,text) to portald;
grant execute on function own_settings() to portald;
grant execute on function own_setting_change(bigint,text,jsonb) to portald;
