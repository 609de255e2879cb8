-- Webhooks: events that leave the controller by HTTP, for whoever asked for them. The stream of events is the queue: a webhook has a position in it, and a
-- few deliveries ahead of it. `portal-outward` calls.

-- ==== shape ====

create table webhook (
	id bigint generated always as identity primary key,
	tenant_id bigint references tenant on delete cascade,  -- whose events; null: the site's, all of them
	name text not null check (length(name) between 1 and 63),
	-- No name in it, and no blank: secrets of a receiver stand in its path or nowhere.
	url text not null check (length(url) <= 1000 and url ~ '^https?://[^][/?#@\s"<>\\]+(:[0-9]{1,5})?([/?][^#\s"<>\\]*)?$'),
	kinds text[] not null default '{}' check (cardinality(kinds) <= 32),  -- events whose kind begins so; none: of all kinds
	subject_kind text not null default '' check (length(subject_kind) <= 63),  -- and of these subjects; '': of all
	subject text not null default '' check (length(subject) <= 160),           -- and whose subject begins so
	disabled boolean not null default false,
	secret_sealed bytea not null check (length(secret_sealed) between 1 and 2048),  -- the key of the HMAC, to portal-outward's key
	created_by text not null,
	created_at timestamptz not null default now(),
	version_number bigint not null default 1,
	-- All events up to here have their delivery, or need none. It may be behind by a few that need none.
	seen_xid xid8 not null,
	seen_id bigint not null default 0,
	failures integer not null default 0,   -- since the last delivery that was taken
	failing_since timestamptz,
	next_at timestamptz not null default now(),  -- nothing is sent before: the pause after a failure
	constraint webhook_failing check ((failures = 0) = (failing_since is null))
);
create unique index webhook_name on webhook (coalesce(tenant_id, 0), name);
create index webhook_tenant on webhook (tenant_id);
alter table webhook enable row level security;

-- One event for one webhook. waiting: also while it is under way. failed: given up, an operator or the tenant may ask for it again.
create table webhook_delivery (
	id bigint generated always as identity primary key,
	webhook_id bigint not null references webhook on delete cascade,
	event_id bigint not null references event on delete cascade,
	state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
	created_at timestamptz not null default now(),
	attempts integer not null default 0,
	attempted_at timestamptz,
	status integer,                        -- of the last answer; null: there was none
	duration_ms integer,
	problem jsonb,                         -- of the last attempt; null: it was taken
	next_at timestamptz not null default now(),
	claim_until timestamptz,
	generation bigint not null default 0
);
create index webhook_delivery_log on webhook_delivery (webhook_id, id);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_at) where state = 'waiting';
create index webhook_delivery_event on webhook_delivery (event_id);
alter table webhook_delivery enable row level security;

-- ==== functions ====

-- How many a tenant, and the site, may have.
create function webhook_limit(p_tenant bigint) returns integer immutable language sql as $$ select case when p_tenant is null then 64 else 16 end $$;

-- Who may change a webhook sees its path, in which some receivers want a secret.
create function webhook_url_seen(p_url text) returns text stable language sql set search_path = haas, pg_temp as $$
	select case when asking_role() in ('operator', 'tenant-admin') then p_url else substring(p_url from '^https?://[^/?]+') || '/...' end
$$;

-- The webhook that the one who asks may change, locked.
create function webhook_lock(p_id bigint)
returns webhook language plpgsql set search_path = haas, pg_temp as $$
declare
	w webhook%rowtype;
begin
	select * into w from webhook where id = p_id for update;
	if not found or not in_scope(w.tenant_id) then
		raise exception 'webhook % does not exist', p_id using errcode = 'HA404', hint = 'haasctl webhook list shows the webhooks';
	end if;
	return w;
end
$$;

-- What a body may not say together. A tenant's webhook calls by TLS: what it tells is nobody's else.
create function webhook_check(w webhook)
returns void language plpgsql set search_path = haas, pg_temp as $$
begin
	if w.tenant_id is not null and w.url !~ '^https://' then
		raise exception 'a tenant''s webhook is called by https' using errcode = 'HA422', hint = 'write the URL as https://HOST/PATH';
	elsif w.subject <> '' and w.subject_kind = '' then
		raise exception 'a subject without its kind' using errcode = 'HA422', hint = 'say which kind: node, pdci, deployment';
	elsif exists (select from unnest(w.kinds) k where k !~ '^[a-z_]+(\.[a-z_]*)?$') then
		raise exception 'a kind is the begin of a kind of events' using errcode = 'HA422', hint = 'as pdci. or deployment.done; haasctl event list shows kinds';
	end if;
end
$$;

create function webhook_add(p_tenant text, p_body jsonb, p_sealed bytea, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_tenant bigint := case when is_operator() then (select id from tenant where name = p_tenant) else current_tenant() end;
	w webhook%rowtype;
begin
	if p_tenant is not null and (v_tenant is null or v_tenant is distinct from (select id from tenant where name = p_tenant)) then
		raise exception 'tenant % does not exist', p_tenant using errcode = 'HA404', hint = 'haasctl tenant list shows the tenants';
	elsif not in_scope(v_tenant) then
		raise exception 'a webhook is of a tenant or of the site' using errcode = 'HA403';
	end if;
	perform pg_advisory_xact_lock(7305, coalesce(v_tenant, 0)::integer);
	if (select count(*) from webhook x where x.tenant_id is not distinct from v_tenant) >= webhook_limit(v_tenant) then
		raise exception 'there are % webhooks', webhook_limit(v_tenant) using errcode = 'HA409', hint = 'remove one: haasctl webhook remove WEBHOOK';
	end if;
	insert into webhook (tenant_id, name, url, kinds, subject_kind, subject, disabled, secret_sealed, created_by, seen_xid)
	values (v_tenant, p_body ->> 'name', p_body ->> 'url', array(select jsonb_array_elements_text(coalesce(p_body -> 'kinds', '[]'))), coalesce(p_body ->> 'subject_kind', ''),
		coalesce(p_body ->> 'subject', ''), coalesce((p_body ->> 'disabled')::boolean, false), p_sealed, event_actor(p_actor), pg_current_xact_id())
	returning * into w;
	perform webhook_check(w);
	-- The first delivery: whoever made it sees that it arrives.
	perform event_add(p_actor, 'webhook.added', 'webhook', w.id::text, w.tenant_id, format('events are told to %s', substring(w.url from '^https?://[^/?]+')),
			  jsonb_build_object('name', w.name, 'kinds', to_jsonb(w.kinds)));
	return w.id;
end
$$;

create function webhook_change(p_id bigint, p_version bigint, p_body jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	w webhook%rowtype := webhook_lock(p_id);
	v_before constant jsonb := jsonb_build_object('name', w.name, 'host', substring(w.url from '^https?://[^/?]+'), 'kinds', to_jsonb(w.kinds), 'subject_kind', w.subject_kind,
		'subject', w.subject, 'disabled', w.disabled);
	v_disabled constant boolean := w.disabled;
begin
	if p_version <> w.version_number then
		raise exception 'webhook % changed meanwhile', p_id using errcode = 'HA412', hint = 'read it again and repeat';
	end if;
	w.name := coalesce(p_body ->> 'name', w.name);
	w.url := coalesce(p_body ->> 'url', w.url);
	w.kinds := case when p_body ? 'kinds' then array(select jsonb_array_elements_text(p_body -> 'kinds')) else w.kinds end;
	w.subject_kind := coalesce(p_body ->> 'subject_kind', w.subject_kind);
	w.subject := coalesce(p_body ->> 'subject', w.subject);
	w.disabled := coalesce((p_body ->> 'disabled')::boolean, w.disabled);
	perform webhook_check(w);
	-- What happened while it was disabled is not told later.
	update webhook set name = w.name, url = w.url, kinds = w.kinds, subject_kind = w.subject_kind, subject = w.subject, disabled = w.disabled, version_number = version_number + 1,
		failures = 0, failing_since = null, next_at = now(), seen_xid = case when v_disabled and not w.disabled then pg_current_xact_id() else seen_xid end,
		seen_id = case when v_disabled and not w.disabled then 0 else seen_id end
	where id = p_id;
	update webhook_delivery set next_at = now() where webhook_id = p_id and state = 'waiting' and not w.disabled;
	perform event_add(p_actor, 'webhook.changed', 'webhook', p_id::text, w.tenant_id, format('webhook %s was changed', w.name), jsonb_build_object('before', v_before, 'after',
		jsonb_build_object('name', w.name, 'host', substring(w.url from '^https?://[^/?]+'), 'kinds', to_jsonb(w.kinds), 'subject_kind', w.subject_kind, 'subject', w.subject, 'disabled', w.disabled)));
	return p_id;
end
$$;

create function webhook_secret_put(p_id bigint, p_sealed bytea, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	w webhook%rowtype := webhook_lock(p_id);
begin
	update webhook set secret_sealed = p_sealed, version_number = version_number + 1, next_at = now() where id = p_id;
	perform event_add(p_actor, 'webhook.secret_made', 'webhook', p_id::text, w.tenant_id, format('webhook %s signs with a new secret', w.name));
	return p_id;
end
$$;

create function webhook_remove(p_id bigint, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	w webhook%rowtype := webhook_lock(p_id);
begin
	delete from webhook where id = p_id;
	perform event_add(p_actor, 'webhook.removed', 'webhook', p_id::text, w.tenant_id, format('webhook %s is no more', w.name));
end
$$;

-- Once more, at once: also of one that was taken.
create function webhook_redeliver(p_id bigint, p_delivery bigint, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	w webhook%rowtype := webhook_lock(p_id);
begin
	if w.disabled then
		raise exception 'webhook % is disabled', p_id using errcode = 'HA409', hint = format('first: haasctl webhook set %s --enable', p_id);
	end if;
	-- Its age counts anew: it is given up later than others of its time.
	update webhook_delivery set state = 'waiting', created_at = now(), next_at = now() where id = p_delivery and webhook_id = p_id;
	if not found then
		raise exception 'delivery % does not exist', p_delivery using errcode = 'HA404', hint = format('haasctl webhook deliveries %s shows the last thousand', p_id);
	end if;
	update webhook set next_at = now() where id = p_id;
	perform event_add(p_actor, 'webhook.redelivered', 'webhook', p_id::text, w.tenant_id, format('delivery %s of webhook %s is sent again', p_delivery, w.name));
	return p_delivery;
end
$$;

create function webhook_key_put(p_key bytea)
returns void language sql security definer set search_path = haas, pg_temp as $$
	insert into daemon_key as k (daemon, public_key) values ('portal-outward', p_key)
	on conflict (daemon) do update set public_key = excluded.public_key, changed_at = now() where k.public_key <> excluded.public_key
$$;

-- What portald seals secrets to; null: portal-outward has not made it yet.
create function webhook_key() returns text stable language sql security definer set search_path = haas, pg_temp as
$$ select encode(public_key, 'hex') from daemon_key where daemon = 'portal-outward' $$;

-- Does it ask for this event? Of itself always, so that who changed it sees a delivery.
create function webhook_wants(w webhook, e event) returns boolean immutable language sql as $$
	select (w.tenant_id is null or w.tenant_id = e.tenant_id) and (e.subject_kind = 'webhook' and e.subject = w.id::text and e.kind <> 'webhook.redelivered'
		or (w.kinds = '{}' or exists (select from unnest(w.kinds) k where starts_with(e.kind, k)))
		and (w.subject_kind = '' or (w.subject_kind = e.subject_kind and starts_with(e.subject, w.subject))))
$$;

-- What is sent: the names of CloudEvents 1.0, and the event as the API has it.
create function webhook_body(e event) returns text stable language sql set search_path = haas, pg_temp as $$
	select jsonb_build_object('specversion', '1.0', 'id', e.id::text, 'source', '/api/v1/events', 'type', e.kind, 'subject', e.subject_kind || '/' || e.subject,
		'time', to_char(e.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'datacontenttype', 'application/json',
		'data', jsonb_build_object('id', e.id, 'at', e.at, 'actor', e.actor, 'kind', e.kind, 'subject_kind', e.subject_kind, 'subject', e.subject, 'tenant', e.tenant,
			'request', e.request, 'message', e.message, 'detail', e.detail))::text
$$;

-- Makes deliveries of events that came, up to a hundred that wait for a webhook: one that takes none grows no queue, and misses nothing. Alerts of those that fail
-- for long. Returns whether a delivery is due.
create function webhook_fill()
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_end constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
	w webhook%rowtype;
	v_room bigint;
	v_seen record;
begin
	for w in select x.* from webhook x where not x.disabled and exists (select from event e where (e.xid, e.id) > (x.seen_xid, x.seen_id) and e.xid < v_end)
		order by x.id for update skip locked
	loop
		v_room := 100 - (select count(*) from webhook_delivery d where d.webhook_id = w.id and d.state = 'waiting');
		continue when v_room <= 0;
		with looked as materialized (
			select e.xid, e.id, webhook_wants(w, e) as wanted from event e where (e.xid, e.id) > (w.seen_xid, w.seen_id) and e.xid < v_end order by e.xid, e.id limit 1000),
		seen as (select l.*, count(*) filter (where l.wanted) over (order by l.xid, l.id) as place from looked l),
		taken as (select * from seen s where s.place < v_room or (s.place = v_room and s.wanted)),
		made as (insert into webhook_delivery (webhook_id, event_id) select w.id, t.id from taken t where t.wanted order by t.xid, t.id returning 1)
		select (select count(*) from made) as made, count(*) as looked, (array_agg(t.xid order by t.xid desc, t.id desc))[1] as xid, (array_agg(t.id order by t.xid desc, t.id desc))[1] as id
		into v_seen from taken t;
		-- Few that nobody wants are read again next time: cheaper than a write for each.
		if v_seen.made > 0 or v_seen.looked > 200 then
			update webhook set seen_xid = v_seen.xid, seen_id = v_seen.id where id = w.id;
			delete from webhook_delivery d where d.webhook_id = w.id and d.state <> 'waiting'
			and d.id < (select x.id from webhook_delivery x where x.webhook_id = w.id order by x.id desc offset 999 limit 1);
		end if;
	end loop;
	if exists (select from webhook where failing_since < now() - make_interval(secs => setting_number('alert.webhook_failing_s')) and not disabled) or exists (select from alert where kind = 'webhook.failing' and cleared_at is null) then
		perform alert_set('portal-outward', array['webhook.failing'], '{}', (select coalesce(jsonb_agg(jsonb_build_object('key', 'webhook.failing:' || x.id, 'kind', 'webhook.failing',
			'severity', 'warning', 'subject_kind', 'webhook', 'subject', x.id::text, 'tenant_id', x.tenant_id, 'message', format('webhook %s takes no deliveries', x.name),
			'hint', format('haasctl webhook deliveries %s says why', x.id))), '[]') from webhook x where x.failing_since < now() - make_interval(secs => setting_number('alert.webhook_failing_s')) and not x.disabled), 600);
	end if;
	return exists (select from webhook_delivery d join webhook x on x.id = d.webhook_id where d.state = 'waiting' and not x.disabled and x.next_at <= now() and d.next_at <= now()
		and coalesce(d.claim_until, '-infinity') < now());
end
$$;

-- Takes one delivery for half a minute. One at a time of a webhook, so that they come in order while all goes well; two at a time of a tenant, so that slow
-- receivers of one hold up no other. closed: addresses that are not called.
create function webhook_take(out delivery bigint, out generation bigint, out webhook bigint, out of_tenant boolean, out url text, out secret text, out kind text, out body text, out closed text)
language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	select d.id, w.id, w.tenant_id is not null, w.url, encode(w.secret_sealed, 'hex'), e.kind, webhook_body(e) into delivery, webhook, of_tenant, url, secret, kind, body
	from webhook w cross join lateral (select x.* from webhook_delivery x where x.webhook_id = w.id and x.state = 'waiting' and x.next_at <= clock_timestamp()
		order by x.next_at, x.id limit 1) d
	join event e on e.id = d.event_id
	where not w.disabled and w.next_at <= clock_timestamp()
	and not exists (select from webhook_delivery u where u.webhook_id = w.id and u.state = 'waiting' and u.claim_until > clock_timestamp())
	and (w.tenant_id is null or 2 > (select count(*) from webhook_delivery u join webhook v on v.id = u.webhook_id where v.tenant_id = w.tenant_id and u.state = 'waiting' and u.claim_until > clock_timestamp()))
	order by d.next_at, d.id limit 1 for update of w skip locked;
	if delivery is not null then
		update webhook_delivery d set claim_until = clock_timestamp() + interval '30 s', generation = d.generation + 1 where d.id = delivery returning d.generation into generation;
		closed := outward_closed();
	end if;
end
$$;

-- What became of it. p_problem null: it was taken. Else it is tried again after 2, 4, 8 ... 300 s, for three days.
create function webhook_done(p_delivery bigint, p_generation bigint, p_status integer, p_ms integer, p_problem jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	d webhook_delivery%rowtype;
begin
	update webhook_delivery x set state = case when p_problem is null then 'delivered' when x.created_at < now() - interval '3 days' then 'failed' else 'waiting' end,
		attempts = x.attempts + 1, attempted_at = clock_timestamp(), status = p_status, duration_ms = p_ms, problem = p_problem, claim_until = null,
		next_at = clock_timestamp() + least(interval '300 s', make_interval(secs => 2 ^ least(x.attempts + 1, 9)))
	where x.id = p_delivery and x.generation = p_generation and x.state = 'waiting' returning * into d;
	if found then
		update webhook w set failures = case when p_problem is null then 0 else w.failures + 1 end,
			failing_since = case when p_problem is null then null else coalesce(w.failing_since, clock_timestamp()) end,
			next_at = clock_timestamp() + case when p_problem is null then interval '0' else least(interval '300 s', make_interval(secs => 2 ^ least(w.failures + 1, 9))) end
		where w.id = d.webhook_id and (p_problem is not null or w.failures > 0);
	end if;
end
$$;

-- Events of a restored database have other transactions: a webhook goes on behind the event that it had.
create function webhook_restored()
returns void language sql security definer set search_path = haas, pg_temp as $$
	update webhook w set seen_xid = coalesce((select e.xid from event e where e.id = w.seen_id), pg_current_xact_id());
	update webhook_delivery set claim_until = null;
$$;

-- ==== triggers, views, rights ====

create policy webhook_portald on webhook for select to portald using (in_scope(tenant_id));
create policy webhook_delivery_portald on webhook_delivery for select to portald using (webhook_id in (select id from webhook));

grant select (id, tenant_id, name, url, kinds, subject_kind, subject, disabled, created_by, created_at, version_number, failures, failing_since, next_at) on webhook to portald;
grant select (id, webhook_id, event_id, state, created_at, attempts, attempted_at, status, duration_ms, problem, next_at) on webhook_delivery to portald;
grant execute on function webhook_url_seen(text) to portald;
grant execute on function webhook_key() to portald;
grant execute on function webhook_add(text,jsonb,bytea,text) to portald;
grant execute on function webhook_change(bigint,bigint,jsonb,text) to portald;
grant execute on function webhook_secret_put(bigint,bytea,text) to portald;
grant execute on function webhook_remove(bigint,text) to portald;
grant execute on function webhook_redeliver(bigint,bigint,text) to portald;
grant execute on function webhook_key_put(bytea) to portal_outward;
grant execute on function webhook_fill() to portal_outward;
grant execute on function webhook_take() to portal_outward;
grant execute on function webhook_done(bigint,bigint,integer,integer,jsonb) to portal_outward;
