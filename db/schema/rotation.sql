-- Secrets that are exchanged for new ones. Old and new are both kept until the new one has proven itself, so that a program which ends at any
-- moment loses neither.

-- ==== shape ====

-- One exchange. begun: the new password is made, and perhaps set. trial: it counts, and was not used yet. both: it was used; the old one is kept
-- until keep_until. The secrets themselves lie in bmc: password_sealed counts, password_next is the one to come, password_former the one before.
-- Of a switch: begun: a person gave the new secrets, and they are not proven. both: the switch took them. They lie in switch_endpoint.
create table rotation (
	id bigint generated always as identity primary key,
	node_id bigint references node on delete cascade,
	node text,
	switch_id bigint references switch on delete cascade,
	switch text,
	state text not null default 'begun' check (state in ('begun', 'trial', 'both', 'done', 'failed')),
	actor text not null,
	begun_at timestamptz not null default now(),
	proven_at timestamptz,
	keep_s integer not null check (keep_s between 0 and 31536000),
	keep_until timestamptz,
	ended_at timestamptz,
	tries integer not null default 0,       -- times that the BMC took neither; that the switch gave no answer
	problem jsonb,                          -- why it waits, or failed
	due_at timestamptz default now(),
	claim_owner text,
	claim_until timestamptz,
	generation bigint not null default 0,
	constraint rotation_ends check ((ended_at is not null) = (state in ('done', 'failed'))),
	constraint rotation_of_one check (num_nonnulls(node, switch) = 1 and num_nulls(node, switch_id) >= 1 and num_nulls(switch, node_id) >= 1)
);
create unique index rotation_one_open on rotation (node_id) where ended_at is null;
create unique index rotation_one_open_of_switch on rotation (switch_id) where ended_at is null;
create index rotation_due on rotation (due_at) where ended_at is null;

-- A daemon that exchanges a key. begun: asked for.
-- seal: sealing: the new key lies beside the old one, portald seals to it, and what was sealed before is sealed anew, row by row. both: all is sealed to
-- the new one; the old one is kept for backups until keep_until.
-- certificate: known: the new key is believed, and nothing was signed with it yet. both: it signs; what the old one signed until keep_until is accepted.
create table seal_rotation (
	id bigint generated always as identity primary key,
	daemon text not null check (daemon in ('bampid', 'bampi-stored', 'peregrined', 'portal-outward', 'portald')),
	storage_id bigint references storage,   -- each storage has a key of its own
	key text not null default 'seal' check (key in ('seal', 'certificate')),
	state text not null default 'begun' check (state in ('begun', 'sealing', 'known', 'both', 'done')),
	actor text not null,
	begun_at timestamptz not null default now(),
	keep_s integer not null check (keep_s between 0 and 31536000),
	keep_until timestamptz,
	ended_at timestamptz,
	resealed bigint not null default 0,
	lost bigint not null default 0,         -- rows that neither key opens
	problem jsonb,                          -- why it waits
	constraint seal_rotation_ends check ((ended_at is not null) = (state = 'done')),
	constraint seal_rotation_state_of_key check (state not in ('sealing', 'known') or (state = 'sealing') = (key = 'seal')),
	constraint storage_of_stored check ((daemon = 'bampi-stored') = (storage_id is not null)),
	constraint certificates_are_of_bampid check (key = 'seal' or daemon = 'bampid')
);
create unique index seal_rotation_one_open on seal_rotation (daemon, key, storage_id) nulls not distinct where ended_at is null;
create index seal_rotation_storage on seal_rotation (storage_id);

-- The public keys that certificates were signed with. The key before vouches for a new one: it signs `statement`, which says since when the new one is
-- believed. Both null: the first key, or one that a person put into the file.
create table certificate_key (
	public_key text primary key check (public_key ~ '^[0-9a-f]{64}$'),
	since timestamptz not null default now(),
	until timestamptz,                      -- nothing that it signs later is accepted; null: it is in use
	follows text references certificate_key,
	statement text,
	signature text check (signature ~ '^[0-9a-f]{128}$'),
	rotation_id bigint unique references seal_rotation,
	constraint vouched_by_one check (num_nulls(follows, statement, signature) in (0, 3))
);

-- The public keys of image signers that were made known. Files beside portald, bampid and in the ramdisk say who is believed: a row only
-- takes that away, everywhere at once.
create table image_key (
	id text primary key check (id ~ '^[0-9a-f]{16}$'),  -- image.key_id
	public_key text not null unique check (public_key ~ '^[0-9a-f]{64}$'),
	actor text not null,
	since timestamptz not null default now(),
	until timestamptz                                    -- retired: it signs nothing any more
);

-- ==== functions ====

create function image_key_add(p_id text, p_public_key text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if not is_operator() then
		raise exception 'only an operator may say who signs images' using errcode = 'HA403';
	elsif exists (select from image_key where id = p_id and until is not null) then
		raise exception 'the image key % was retired', p_id using errcode = 'HA409', hint = 'haasctl image keygen FILE makes another';
	end if;
	insert into image_key (id, public_key, actor) values (p_id, p_public_key, p_actor) on conflict do nothing;
	if found then
		perform event_add(p_actor, 'image_key.added', 'image_key', p_id, null, 'images that it signs are accepted',
				  jsonb_build_object('public_key', p_public_key));
	end if;
end
$$;

-- Refused while an image that may still be written was signed with it alone, and while no other key is known.
create function image_key_retire(p_id text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_image text;
begin
	if not is_operator() then
		raise exception 'only an operator may say who signs images' using errcode = 'HA403';
	end if;
	perform from image_key where id = p_id and until is null for update;
	if not found then
		raise exception 'no image key % is in use', p_id using errcode = 'HA404', hint = 'haasctl image keys lists them';
	elsif not exists (select from image_key where id <> p_id and until is null) then
		raise exception 'the image key % is the only one that is known', p_id using errcode = 'HA409', hint = 'haasctl rotation image FILE makes another';
	end if;
	select i.name || ':' || i.version into v_image from image i
	where i.key_id = p_id and (i.state in ('uploading', 'ready') or exists (select from image_needed(i.id))) order by i.id limit 1;
	if found then
		raise exception 'image % is in use, and only key % has signed it', v_image, p_id using errcode = 'HA409',
			hint = format('haasctl image resign %s --key NEW.key signs it anew; or haasctl image retire %s', v_image, v_image);
	end if;
	update image_key set until = now() where id = p_id;
	perform event_add(p_actor, 'image_key.retired', 'image_key', p_id, null, 'images that it signs are refused');
end
$$;

-- Another signature of the same manifest. Not while a node is written: its agent may not know the new key.
create function image_resign(p_name text, p_version text, p_signature text, p_key text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	i image%rowtype := image_lock(p_name, p_version);
	v_deployment bigint;
begin
	select d.id into v_deployment from deployment d where d.image_id = i.id and d.due_at is not null limit 1;
	if found then
		raise exception 'deployment % is installing image %:%', v_deployment, p_name, p_version using errcode = 'HA409', hint = 'again when it has ended';
	end if;
	update image set signature = decode(p_signature, 'hex'), key_id = p_key, version_number = version_number + 1 where id = i.id;
	perform event_add(p_actor, 'image.signed', 'image', p_name || ':' || p_version, i.tenant_id, 'signed anew',
			  jsonb_build_object('key_id', p_key, 'before', i.key_id));
end
$$;

create function image_key_check() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	if exists (select from image_key where id = new.key_id and until is not null) then
		raise exception 'the image key % was retired', new.key_id using errcode = 'HA403', hint = 'haasctl image keys lists those that sign';
	end if;
	return new;
end
$$;

-- p_storage: of bampi-stored alone, and only where there are several.
create function seal_rotation_begin(p_daemon text, p_key text, p_keep_s integer, p_actor text, p_storage text default null)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	s storage%rowtype;
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may exchange keys' using errcode = 'HA403';
	end if;
	if p_daemon = 'bampi-stored' then
		select * into s from storage where name = p_storage or (p_storage is null and (select count(*) from storage) = 1);
		if not found and p_storage is null then
			raise exception 'each storage has a key of its own' using errcode = 'HA422', hint = 'say which: haasctl rotation seal bampi-stored --storage NAME';
		elsif not found then
			raise exception 'storage % does not exist', p_storage using errcode = 'HA404', hint = 'haasctl storage list';
		elsif s.public_key is null then
			raise exception 'storage % has no key that anything is sealed to', s.name using errcode = 'HA404', hint = 'its bampi-stored makes one when it is started';
		end if;
	-- portald seals to its own key itself, and publishes none.
	elsif p_daemon <> 'portald' and not exists (select from daemon_key where daemon = p_daemon) then
		raise exception '% has no key that anything is sealed to', p_daemon using errcode = 'HA404', hint = 'bampid, peregrined and portal-outward have one, once they were started';
	end if;
	if exists (select from seal_rotation where daemon = p_daemon and key = p_key and storage_id is not distinct from s.id and ended_at is null) then
		raise exception 'the % key of % is being exchanged, or its old one is kept', p_key, p_daemon
		using errcode = 'HA409', hint = 'haasctl rotation keys shows until when';
	end if;
	insert into seal_rotation (daemon, key, storage_id, keep_s, actor) values (p_daemon, p_key, s.id, p_keep_s, p_actor) returning id into v_id;
	perform event_add(p_actor, 'daemon.key_rotation', 'daemon', p_daemon, null, format('its %s key is to be exchanged', p_key), jsonb_build_object('storage', s.name));
	perform pg_notify('inventory', ''), pg_notify('fabric', ''), pg_notify('deployment', ''), pg_notify('volume', '');
	return v_id;
end
$$;

create function seal_rotation_check(p_daemon text) returns void language plpgsql as $$
begin
	if not pg_has_role(session_user, replace(p_daemon, '-', '_'), 'member') then
		raise exception 'role % is not %', session_user, p_daemon using errcode = 'HA403';
	end if;
end
$$;

-- The storage of who asks; null: another daemon.
create function seal_rotation_storage(p_daemon text) returns bigint stable language sql security definer set search_path = haas, pg_temp as $$
	select id from storage where p_daemon = 'bampi-stored' and login = session_user
$$;

-- What the daemon has to do. instances: those of it that were heard lately, the one that asks among them.
create function seal_rotation_now(p_daemon text)
returns table (id bigint, state text, instances bigint, ended boolean) language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check(p_daemon);
	-- bampi-stored calls itself HOST:STORAGE.
	return query select r.id, r.state, (select count(*) from daemon d where d.name = p_daemon and d.seen_at > now() - interval '15 s'
			and (s.id is null or d.instance like '%:' || s.name)), coalesce(r.keep_until <= now(), false)
	from seal_rotation r left join storage s on s.id = r.storage_id
	where r.daemon = p_daemon and r.storage_id is not distinct from seal_rotation_storage(p_daemon) and r.key = 'seal' and r.ended_at is null;
end
$$;

create function seal_rotation_step(p_daemon text, p_id bigint, p_state text, p_lost bigint, p_problem jsonb)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check(p_daemon);
	update seal_rotation r set state = p_state, lost = coalesce(p_lost, r.lost), problem = nullif(p_problem, 'null'),
		keep_until = case when p_state = 'both' and r.state <> 'both' then now() + make_interval(secs => r.keep_s) else r.keep_until end,
		ended_at = case when p_state = 'done' then now() end
	where r.id = p_id and r.daemon = p_daemon and r.storage_id is not distinct from seal_rotation_storage(p_daemon) and r.ended_at is null;
	if found and nullif(p_problem, 'null') is null and p_state in ('both', 'done') then
		perform event_add(p_daemon, 'daemon.key_rotated', 'daemon', p_daemon, null, (
			select case r.key || ' ' || p_state when 'seal both' then 'all its secrets are sealed to its new key'
				when 'seal done' then 'its old seal key is destroyed' when 'certificate both' then 'certificates are signed with its new key'
				else 'certificates that the old key signs are refused from now on' end
			from seal_rotation r where r.id = p_id));
	end if;
end
$$;

-- What bampid has to do with its certificate key. next: the public key that was made known. since: when one that is made known now is believed.
create function certificate_rotation_now()
returns table (id bigint, state text, instances bigint, ended boolean, next text, since text) language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check('bampid');
	return query select r.id, r.state, (select count(*) from daemon d where d.name = 'bampid' and d.seen_at > now() - interval '15 s'),
		coalesce(r.keep_until <= now(), false), k.public_key, to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
	from seal_rotation r left join certificate_key k on k.rotation_id = r.id where r.key = 'certificate' and r.ended_at is null;
end
$$;

-- begun -> known: the new key is believed from now on.
create function certificate_key_add(p_rotation bigint, p_follows text, p_key text, p_statement text, p_signature text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check('bampid');
	update seal_rotation set state = 'known', problem = null where id = p_rotation and key = 'certificate' and state = 'begun';
	if not found then
		return;
	end if;
	insert into certificate_key (public_key) values (p_follows) on conflict do nothing;  -- it may have signed nothing yet
	insert into certificate_key (public_key, since, follows, statement, signature, rotation_id)
	values (p_key, (p_statement::jsonb ->> 'since')::timestamptz, p_follows, p_statement, p_signature, p_rotation);
end
$$;

-- known -> both: the new key signs; the one before may have signed until keep_until.
create function certificate_key_use(p_rotation bigint)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_step('bampid', p_rotation, 'both', null, null);
	update certificate_key k set until = r.keep_until from certificate_key n, seal_rotation r
	where n.rotation_id = p_rotation and r.id = p_rotation and k.public_key = n.follows;
end
$$;

-- A key that nobody made known may be a person's, who put back a backup: it is an event. One that has ended signs nothing.
create function certificate_key_seen() returns trigger language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_until timestamptz;
begin
	select until into v_until from certificate_key where public_key = new.public_key;
	if v_until < now() then
		raise exception 'the certificate key % was exchanged, and has ended', left(new.public_key, 16)
		using errcode = 'HA409', hint = 'this bampid has an old copy of its keys: copy key_dir from the other controller';
	elsif not found then
		insert into certificate_key (public_key) values (new.public_key);
		if exists (select from certificate_key where public_key <> new.public_key) then
			perform event_add('bampid', 'daemon.key_changed', 'daemon', 'bampid', null,
					  format('certificates are signed with key %s, which no other key vouches for', left(new.public_key, 16)),
					  jsonb_build_object('key', new.public_key));
		end if;
	end if;
	return new;
end
$$;

-- Everything that is sealed to a daemon, in the order of (id, part).
create function sealed_rows(p_daemon text, p_id bigint, p_part text)
returns table (id bigint, part text, sealed bytea) language plpgsql security definer set search_path = haas, pg_temp as $$
begin
	perform seal_rotation_check(p_daemon);
	return query select x.id, x.part, x.sealed from (
		select b.node_id as id, v.part, v.sealed from bmc b
		cross join lateral (values ('password'::text, b.password_sealed), ('password_former', b.password_former), ('password_next', b.password_next)) v(part, sealed)
		where p_daemon = 'bampid'
		union all
		select e.switch_id, v.part, v.sealed from switch_endpoint e
		cross join lateral (values ('secrets'::text, e.secrets_sealed), ('secrets_former', e.secrets_former), ('secrets_next', e.secrets_next)) v(part, sealed)
		where p_daemon = 'peregrined'
		union all
		select w.id, 'secret', w.secret_sealed from webhook w where p_daemon = 'portal-outward'
		union all
		select f.account_id, 'secret', f.sealed from second_factor f where p_daemon = 'portald'
		union all
		select v.id, 'secret', v.secret_sealed from volume v where v.storage_id = seal_rotation_storage(p_daemon)) x
	where x.sealed is not null and (x.id, x.part) > (p_id, p_part) order by x.id, x.part limit 256;
end
$$;

-- Only if it is still what was opened: somebody may have given another one meanwhile.
create function sealed_put(p_daemon text, p_rotation bigint, p_rows jsonb)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_count bigint := 0;
	r record;
begin
	perform seal_rotation_check(p_daemon);
	for r in select * from jsonb_to_recordset(p_rows) as x (id bigint, part text, old text, new text) order by id, part loop
		if p_daemon = 'bampid' then
			update bmc set password_sealed = case when r.part = 'password' then decode(r.new, 'hex') else password_sealed end,
				password_former = case when r.part = 'password_former' then decode(r.new, 'hex') else password_former end,
				password_next = case when r.part = 'password_next' then decode(r.new, 'hex') else password_next end
			where node_id = r.id and decode(r.old, 'hex') = case r.part when 'password' then password_sealed when 'password_former' then password_former else password_next end;
		elsif p_daemon = 'portal-outward' then
			update webhook set secret_sealed = decode(r.new, 'hex') where id = r.id and secret_sealed = decode(r.old, 'hex');
		elsif p_daemon = 'bampi-stored' then
			update volume set secret_sealed = decode(r.new, 'hex') where id = r.id and storage_id = seal_rotation_storage(p_daemon) and secret_sealed = decode(r.old, 'hex');
		elsif p_daemon = 'portald' then
			update second_factor set sealed = decode(r.new, 'hex') where account_id = r.id and sealed = decode(r.old, 'hex');
		else
			update switch_endpoint set secrets_sealed = case when r.part = 'secrets' then decode(r.new, 'hex') else secrets_sealed end,
				secrets_former = case when r.part = 'secrets_former' then decode(r.new, 'hex') else secrets_former end,
				secrets_next = case when r.part = 'secrets_next' then decode(r.new, 'hex') else secrets_next end
			where switch_id = r.id and decode(r.old, 'hex') = case r.part when 'secrets' then secrets_sealed when 'secrets_former' then secrets_former else secrets_next end;
		end if;
		v_count := v_count + case when found then 1 else 0 end;
	end loop;
	update seal_rotation set resealed = resealed + v_count where id = p_rotation and daemon = p_daemon and storage_id is not distinct from seal_rotation_storage(p_daemon);
	return v_count;
end
$$;

-- An exchange is over. p_problem null: what it waited for stays.
create function rotation_close(p_id bigint, p_state text, p_problem jsonb)
returns void language sql set search_path = haas, pg_temp as $$
	update rotation set state = p_state, ended_at = now(), due_at = null, problem = coalesce(p_problem, problem) where id = p_id
$$;

-- Asks for new BMC passwords. One row per node: null, or why it is refused.
create function rotation_begin(p_nodes text[], p_keep_s integer, p_actor text)
returns table (node text, refused text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
declare
	v_name text;
	v_id bigint;
	b bmc%rowtype;
begin
	if not is_operator() then
		raise exception 'only an operator may change passwords of BMCs' using errcode = 'HA403';
	end if;
	foreach v_name in array array(select distinct x from unnest(p_nodes) x order by x) loop
		select n.id into v_id from node n where n.name = v_name;
		node := v_name;
		refused := null;
		if not found then
			refused := format('node %s does not exist', v_name);
		else
			select * into b from bmc x where x.node_id = v_id for update;
			if not found or b.password_sealed is null then
				refused := format('node %s has no BMC with a password', v_name);
			elsif b.driver not in ('ipmi', 'redfish') then
				refused := format('the BMC of node %s is reached by %s, which sets no password', v_name, b.driver);
			elsif exists (select from rotation r where r.node_id = v_id and r.ended_at is null and r.state <> 'both') then
				refused := format('the password of node %s is being changed', v_name);
			end if;
		end if;
		if refused is null then
			-- The one before the present one is forgotten now. Not one that a failed exchange left in password_next: the BMC may have it.
			perform rotation_close(r.id, 'done', null) from rotation r where r.node_id = v_id and r.ended_at is null;
			update bmc x set password_former = null where x.node_id = v_id;
			insert into rotation (node_id, node, actor, keep_s) values (v_id, v_name, p_actor, p_keep_s);
			perform event_add(p_actor, 'bmc.rotation_begun', 'node', v_name, null, 'the password of its BMC is to be changed');
		end if;
		return next;
	end loop;
	perform pg_notify('deployment', '');
end
$$;

-- One step of an exchange, by the bampid whose claim holds: false = it does not hold any more. next: the new password, sealed, before it is set.
-- swap: it may be set: it counts from now on. back: the BMC refuses it. proven, later, fail, end.
create function rotation_step(p_id bigint, p_generation bigint, p_step text, p_sealed text, p_problem jsonb)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r rotation%rowtype;
	b bmc%rowtype;
	v_node bigint;
begin
	select node_id into v_node from rotation where id = p_id;
	select * into b from bmc where node_id = v_node for update;   -- before the rotation: lock order
	select * into r from rotation where id = p_id and generation = p_generation and ended_at is null for update;
	if r.id is null or b.node_id is null then
		return false;
	end if;
	if p_step = 'next' then
		update bmc set password_next = decode(p_sealed, 'hex') where node_id = b.node_id;
		return true;
	elsif p_step = 'swap' and r.state = 'begun' and b.password_next is not null then
		update bmc set password_sealed = b.password_next, password_former = b.password_sealed, password_next = null where node_id = b.node_id;
		update rotation set state = 'trial', problem = null, due_at = now(), claim_until = null where id = r.id;
	elsif p_step = 'back' and r.state = 'trial' and b.password_former is not null then
		update bmc set password_sealed = b.password_former, password_next = b.password_sealed, password_former = null where node_id = b.node_id;
		update rotation set state = case when r.tries > 0 then 'failed' else 'begun' end, tries = r.tries + 1, problem = p_problem,
			ended_at = case when r.tries > 0 then now() end, due_at = case when r.tries > 0 then null else now() end, claim_until = null
		where id = r.id;
		if r.tries > 0 then -- password_next stays: it may be the one that the BMC has
			perform event_add('bampid', 'bmc.rotation_failed', 'node', r.node, null, 'the BMC takes neither its old nor its new password', p_problem);
		end if;
	elsif p_step = 'proven' and r.state = 'trial' then
		update bmc set password_at = now() where node_id = b.node_id;
		update rotation set state = 'both', proven_at = now(), problem = null, keep_until = now() + make_interval(secs => r.keep_s),
			due_at = now() + make_interval(secs => r.keep_s), claim_until = null
		where id = r.id;
		perform event_add('bampid', 'bmc.password_changed', 'node', r.node, null, 'its BMC has a new password, and took it');
	elsif p_step = 'later' then
		update rotation set problem = p_problem, due_at = now() + interval '30 s', claim_until = null where id = r.id;
	elsif p_step = 'fail' and r.state = 'begun' then
		update bmc set password_next = null where node_id = b.node_id;
		perform rotation_close(r.id, 'failed', p_problem);
		perform event_add('bampid', 'bmc.rotation_failed', 'node', r.node, null, 'the password of its BMC stays: ' || (p_problem ->> 'message'), p_problem);
	elsif p_step = 'end' and r.state = 'both' then
		update bmc set password_former = null where node_id = b.node_id;
		perform rotation_close(r.id, 'done', null);
	else
		return false;
	end if;
	perform pg_notify('inventory', '');
	perform pg_notify('deployment', '');
	return true;
end
$$;

-- Takes new secrets of a switch, which count when peregrined has proven them. Members of p_spec: secrets_sealed (hex), credentials {ssh_user, snmp_user},
-- keep_s. The address, the ports and the host key stay as they are: the secrets are for them.
create function switch_rotation_begin(p_name text, p_spec jsonb, p_actor text)
returns bigint language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	e switch_endpoint%rowtype;
	v_id bigint;
begin
	if not is_operator() then
		raise exception 'only an operator may change secrets of switches' using errcode = 'HA403';
	end if;
	select x.* into e from switch_endpoint x join switch s on s.id = x.switch_id where s.name = p_name for update of x;
	if not found then
		raise exception 'switch % is not managed', p_name using errcode = 'HA404', hint = 'haasctl switch list shows the switches';
	elsif e.secrets_sealed is null then
		raise exception 'switch % has no secrets', p_name using errcode = 'HA409', hint = format('haasctl switch add %s --secrets FILE gives it some', p_name);
	elsif coalesce(p_spec ->> 'secrets_sealed', '') = '' then
		raise exception 'the new secrets of switch % are missing', p_name using errcode = 'HA422';
	elsif coalesce(p_spec -> 'credentials', '{}') - array['ssh_user', 'snmp_user'] <> '{}' then
		raise exception 'a rotation changes users and secrets only' using errcode = 'HA422', hint = format('haasctl switch add %s changes the rest', p_name);
	elsif exists (select from rotation r where r.switch_id = e.switch_id and r.state = 'begun') then
		raise exception 'the secrets of switch % are being changed', p_name using errcode = 'HA409', hint = 'haasctl rotation list shows how it goes';
	end if;
	perform rotation_close(r.id, 'done', null) from rotation r where r.switch_id = e.switch_id and r.ended_at is null;
	update switch_endpoint x set secrets_next = decode(p_spec ->> 'secrets_sealed', 'hex'), credentials_next = e.credentials || coalesce(p_spec -> 'credentials', '{}'),
		secrets_former = null, credentials_former = null
	where x.switch_id = e.switch_id;
	insert into rotation (switch_id, switch, actor, keep_s) values (e.switch_id, p_name, p_actor, coalesce((p_spec ->> 'keep_s')::integer, 86400)) returning id into v_id;
	perform event_add(p_actor, 'switch.rotation_begun', 'switch', p_name, null, 'its secrets are to be changed', coalesce(p_spec -> 'credentials', '{}'));
	perform pg_notify('fabric', '');
	return v_id;
end
$$;

-- One step of the exchange at a switch, by peregrined. False: it is not in that state any more. proven: the switch took the new secrets, they count.
-- later, again: nothing is to be done, for now; again: soon. fail: it refused them. back: it refuses those that were proven, and takes the former.
-- end: the former are forgotten.
create function switch_rotation_step(p_id bigint, p_step text, p_problem jsonb)
returns boolean language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r rotation%rowtype;
	e switch_endpoint%rowtype;
	v_step text := p_step;
begin
	select x.* into e from switch_endpoint x where x.switch_id = (select switch_id from rotation where id = p_id) for update;  -- before the rotation: lock order
	select * into r from rotation where id = p_id and ended_at is null for update;
	if r.id is null or e.switch_id is null then
		return false;
	end if;
	if v_step = 'later' and r.state = 'begun' and r.tries >= 9 then
		v_step := 'fail';
	end if;
	if v_step = 'proven' and r.state = 'begun' and e.secrets_next is not null then
		update switch_endpoint set secrets_sealed = e.secrets_next, credentials = e.credentials_next, secrets_former = e.secrets_sealed,
			credentials_former = e.credentials, secrets_next = null, credentials_next = null, returned_at = null, version = e.version + 1
		where switch_id = e.switch_id;
		update rotation set state = 'both', proven_at = now(), problem = null, keep_until = now() + make_interval(secs => r.keep_s), due_at = now() where id = r.id;
		perform event_add('peregrined', 'switch.password_changed', 'switch', r.switch, null, 'it has new secrets, and took them');
		-- What it refused before is over now, not at the next look at the fabric.
		perform alert_clear('peregrined', 'switch.former_secrets:' || r.switch, null);
	elsif v_step in ('later', 'again') then
		update rotation set problem = p_problem, tries = r.tries + 1,
			due_at = now() + case when r.state = 'begun' then interval '30 s' when v_step = 'again' then interval '1 min' else interval '10 min' end
		where id = r.id;
	elsif v_step = 'fail' and r.state = 'begun' then
		update switch_endpoint set secrets_next = null, credentials_next = null where switch_id = e.switch_id;
		perform rotation_close(r.id, 'failed', p_problem);
		perform event_add('peregrined', 'switch.rotation_failed', 'switch', r.switch, null, 'its secrets stay: ' || (p_problem ->> 'message'), p_problem);
	elsif v_step = 'back' and r.state = 'both' and e.secrets_former is not null then
		update switch_endpoint set secrets_sealed = e.secrets_former, credentials = e.credentials_former, secrets_former = null, credentials_former = null,
			returned_at = now(), version = e.version + 1
		where switch_id = e.switch_id;
		perform rotation_close(r.id, 'failed', p_problem);
		perform event_add('peregrined', 'switch.rotation_failed', 'switch', r.switch, null, 'it refuses its new secrets: the former ones are in use again', p_problem);
	elsif v_step = 'end' and r.state = 'both' then
		update switch_endpoint set secrets_former = null, credentials_former = null where switch_id = e.switch_id;
		perform rotation_close(r.id, 'done', null);
	else
		return false;
	end if;
	perform pg_notify('fabric', '');
	return true;
end
$$;

-- What a rotation had was for the endpoint before.
create function switch_rotation_void(p_switch bigint, p_why text, p_actor text)
returns void language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	r rotation%rowtype;
begin
	update switch_endpoint set secrets_next = null, credentials_next = null, secrets_former = null, credentials_former = null, returned_at = null
	where switch_id = p_switch;
	select * into r from rotation where switch_id = p_switch and ended_at is null for update;
	if r.state = 'begun' then
		perform event_add(p_actor, 'switch.rotation_failed', 'switch', r.switch, null, 'the new secrets are forgotten: ' || p_why);
	end if;
	update rotation set state = case when r.state = 'begun' then 'failed' else 'done' end, ended_at = now(), due_at = null,
		problem = case when r.state = 'begun' then jsonb_build_object('message', p_why, 'hint', '') else problem end
	where id = r.id;
end
$$;

-- Alerts of switches that refused secrets which they had taken.
create function switch_former_secrets()
returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select coalesce(jsonb_agg(jsonb_build_object('key', 'switch.former_secrets:' || s.name, 'kind', 'switch.former_secrets', 'severity', 'warning',
		'subject_kind', 'switch', 'subject', s.name, 'message', format('switch %s refuses its new secrets: the former ones are in use again', s.name),
		'hint', format('look at its accounts, then haasctl rotation switch %s', s.name)) order by s.name), '[]')
	from switch_endpoint e join switch s on s.id = e.switch_id where e.returned_at is not null
$$;

-- ==== triggers, views, rights ====

create trigger certificate_key_seen before insert on certificate for each row execute function certificate_key_seen();

grant select on rotation to portald, bampid, peregrined;
grant execute on function switch_rotation_begin(text,jsonb,text) to portald;
grant execute on function switch_rotation_step(bigint,text,jsonb) to peregrined;
grant execute on function switch_former_secrets() to peregrined;
create trigger image_key_check before insert or update of key_id on image for each row execute function image_key_check();
grant select on certificate_key to portald;
grant select on image_key to portald;
grant execute on function image_key_add(text,text,text) to portald;
grant execute on function image_key_retire(text,text) to portald;
grant execute on function image_resign(text,text,text,text,text) to portald;
grant execute on function certificate_rotation_now() to bampid;
grant execute on function certificate_key_add(bigint,text,text,text,text) to bampid;
grant execute on function certificate_key_use(bigint) to bampid;
grant update (claim_owner, claim_until, generation) on rotation to bampid;
grant select on seal_rotation to portald;
grant execute on function seal_rotation_begin(text,text,integer,text,text) to portald;
grant execute on function seal_rotation_now(text) to bampid, bampi_stored, peregrined, portal_outward, portald;
grant execute on function seal_rotation_step(text,bigint,text,bigint,jsonb) to bampid, bampi_stored, peregrined, portal_outward, portald;
grant execute on function sealed_rows(text,bigint,text) to bampid, bampi_stored, peregrined, portal_outward, portald;
grant execute on function sealed_put(text,bigint,jsonb) to bampid, bampi_stored, peregrined, portal_outward, portald;
grant execute on function rotation_begin(text[],integer,text) to portald;
grant execute on function rotation_step(bigint,bigint,text,text,jsonb) to bampid;
