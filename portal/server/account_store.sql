-- SQL of accounts, logins, sessions and tokens.
-- :use portal/server/store_text.sql

-- :row identity
--   way      session, token; null: a kernel user
--   proof    id of the session or token
--   account
--   name
--   role
--   tenant   null: of the site
--   scopes   of a token
--   second_factor  more than a password was shown
--   demand   who has to show one, by a setting of the site

-- :statement identity_secret
-- :columns = identity
-- $1 digest in hex
select i.way, i.proof, i.account, i.name, i.role, i.tenant, i.scopes, i.second_factor, haas.setting_word('login.second_factor') as demand from haas.identity_find(decode($1, 'hex')) i

-- :statement identity_user
-- :columns = identity
-- $1 name of a user of this machine
select null as way, null as proof, i.account, i.name, i.role, i.tenant, null::text[] as scopes, false as second_factor, haas.setting_word('login.second_factor') as demand from haas.identity_of_user($1) i

-- :statement whoami
-- No parameters: what stands before it in its transaction is all that is asked.
select 1

-- :statement login_row
-- :columns account, password_hash, known, sealed, counter
-- $1 name, $2 address
select l.account, l.password_hash, l.known, encode(l.sealed, 'hex') as sealed, l.counter from haas.login_find($1, $2) l

-- :statement login_wrong
-- $1 name, $2 address, $3 what was wrong
select haas.login_refused($1, $2, $3)

-- :statement login_session
-- :columns = answer
-- $1 account, $2 digest, $3 address, $4 agent, $5 seconds idle, $6 hours, $7 counter of the code or null, $8 digest of a recovery code or null -> answer
${store_answer_with begun as materialized (select haas.session_begin($1::bigint, decode($2, 'hex'), $3, $4, $5::integer, $6::integer, $7::bigint, decode($8, 'hex')) as id) ;;
select 201 as status, null as location, null::bigint as version, jsonb_build_object('session', begun.id) as body from begun}

-- :statement link_open
-- :columns open
-- $1 digest of the link
select haas.account_link_is_open(decode($1, 'hex')) as open

-- :statement link_use
-- :columns = answer
-- $1 digest of the link, $2 argon2id's text -> answer
${store_answer_with used as materialized (select haas.account_link_use(decode($1, 'hex'), $2) as name) ;;
select 200 as status, null as location, null::bigint as version, jsonb_build_object('account', used.name) as body from used}

-- :part account_item
jsonb_build_object('name', a.name, 'role', a.role, 'tenant', t.name, 'os_user', a.os_user, 'disabled', a.disabled_at is not null,
'invited', a.password_at is null, 'second_factor', haas.second_factor_seen(a.id), 'provider', haas.account_provider_seen(a.id), 'created_by', a.created_by, 'created_at', a.created_at, 'version', a.version_number)

-- :statement account_list
-- :columns = document
-- :list text
--   name        natural  a.name
--   role        text     a.role::text
--   tenant      natural  t.name
--   os_user     text     a.os_user
--   disabled    bool     a.disabled_at is not null
--   invited     bool     a.password_at is null
--   created_by  text     a.created_by
--   created_at  time     a.created_at
-- $1 limit, $2 cursor, $3 tenant, $4 role, $5 disabled -> (page)
${store_page a.name ;; ${account_item} ;; haas.account a left join haas.tenant t on t.id = a.tenant_id
where ($2::text is null or a.name collate haas.natural_order > $2) and ($3::text is null or t.name = $3) and ($4::text is null or a.role = $4::haas.account_role)
and ($5::boolean is null or (a.disabled_at is not null) = $5::boolean) ;; a.name collate haas.natural_order}

-- :statement account_get
-- :columns = resource
-- $1 name; in a tenant's scope also without the tenant, as its edit takes it -> (body, version, whole)
select (${account_item})::text as body, a.version_number as version, true as whole
from haas.account a left join haas.tenant t on t.id = a.tenant_id where a.name = case when haas.is_operator() or strpos($1, '/') > 0 then $1
else (select o.name from haas.tenant o where o.id = haas.current_tenant()) || '/' || $1 end

-- :statement account_make
-- :columns = answer
-- $1 name, $2 role, $3 tenant, $4 os_user, $5 digest of the link, $6 hours, $7 actor -> answer
${store_answer_with made as materialized (select haas.account_invite($1, $2::haas.account_role, $3, $4, decode($5, 'hex'), $6::integer, $7) as until) ;;
select 201 as status, null as location, null::bigint as version, jsonb_build_object('name', $1::text, 'expires_at', made.until) as body from made}

-- :statement account_link
-- :columns = answer
-- $1 name, $2 digest of the link, $3 hours, $4 actor -> answer
${store_answer_with made as materialized (select haas.account_link_renew($1, decode($2, 'hex'), $3::integer, $4) as until) ;;
select 201 as status, null as location, null::bigint as version, jsonb_build_object('name', $1::text, 'expires_at', made.until) as body from made}

-- :statement account_patch
-- $1 name, $2 version or 0, $3 disabled, $4 role, $5 os_user, $6 actor
select set_config('haas.result', haas.account_change($1, coalesce($2, '0')::bigint, $3::boolean, $4::haas.account_role, $5, $6), true)

-- :statement account_patched
-- :columns = answer
-- What account_patch changed -> answer
${store_answer select 200 as status, null as location, a.version_number as version, ${account_item} as body
from haas.account a left join haas.tenant t on t.id = a.tenant_id where a.name = ${kept}}

-- :statement session_list
-- :columns = document
-- $1 limit, $2 cursor, $3 account, $4 id of the account that asks, $5 id of the session that asks, $6 all -> (page)
${store_page s.id ;; jsonb_build_object('id', s.id, 'account', s.account, 'address', s.address, 'agent', s.agent, 'created_at', s.created_at,
'seen_at', s.seen_at, 'ends_at', s.ends_at, 'current', coalesce(s.id::text = $5, false)) ;; haas.session_view s
where ($2::bigint is null or s.id < $2::bigint) and ($3::text is null or s.account = $3) and (s.account_id::text = $4 or $6::boolean) ;; s.id desc}

-- :statement session_stop
-- :columns = answer
-- $1 id, $2 actor -> answer
${store_answer_with gone as materialized (select haas.session_end($1::bigint, $2) as done) ;;
select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :statement token_list
-- :columns = document
-- $1 limit, $2 cursor, $3 account, $4 id of the account that asks, $5 all -> (page)
${store_page k.id ;; jsonb_build_object('id', k.id, 'account', a.name, 'name', k.name, 'role', k.role, 'scopes', to_jsonb(k.scopes), 'created_at', k.created_at,
'expires_at', k.expires_at, 'used_at', k.used_at) ;; haas.api_token k join haas.account a on a.id = k.account_id
where k.ended_at is null and k.expires_at > now() and ($2::text is null or k.id > $2) and ($3::text is null or a.name = $3)
and (k.account_id::text = $4 or $5::boolean) ;; k.id}

-- :statement token_make
-- :columns = answer
-- $1 id, $2 digest, $3 name, $4 role, $5 scopes, $6 seconds, $7 actor -> answer
${store_answer_with made as materialized (select haas.api_token_make($1, decode($2, 'hex'), $3, $4::haas.account_role, $5::text[], now() + make_interval(secs => $6::integer), $7) as role) ;;
select 201 as status, null as location, null::bigint as version, jsonb_build_object('id', $1::text, 'name', $3::text, 'role', made.role, 'scopes', to_jsonb($5::text[]),
'expires_at', now() + make_interval(secs => $6::integer)) as body from made}

-- :statement token_stop
-- :columns = answer
-- $1 id, $2 actor -> answer
${store_answer_with gone as materialized (select haas.api_token_end($1, $2) as done) ;;
select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :statement factor_row
-- :columns name, password_hash, sealed, counter, confirmed
-- No parameters: of the account that asks.
select f.name, f.password_hash, encode(f.sealed, 'hex') as sealed, f.counter, f.confirmed from haas.second_factor_find() f

-- :statement factor_begin
-- :columns = answer
-- $1 what is sealed, in hex -> answer
${store_answer_with begun as materialized (select haas.second_factor_begin(decode($1, 'hex')) as name) ;;
select 201 as status, null as location, null::bigint as version, jsonb_build_object('account', begun.name) as body from begun}

-- :statement factor_confirm
-- :columns = answer
-- $1 counter of the code, $2 digests of recovery codes as an array of hex, $3 id of the session that asks or null, $4 actor -> answer
${store_answer_with made as materialized (select haas.second_factor_confirm($1::bigint, (select array_agg(decode(x, 'hex')) from unnest($2::text[]) x), $3, $4) as name) ;;
select 200 as status, null as location, null::bigint as version, jsonb_build_object('account', made.name) as body from made}

-- :statement factor_end
-- :columns = answer
-- $1 counter of the code or null, $2 digest of a recovery code or null, $3 id of the session that asks or null, $4 actor -> answer
${store_answer_with gone as materialized (select haas.second_factor_end($1::bigint, decode($2, 'hex'), $3, $4) as name) ;;
select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.name is not null}

-- :statement factor_reset
-- :columns = answer
-- $1 account, $2 actor -> answer
${store_answer_with gone as materialized (select haas.second_factor_reset($1, $2) as name) ;;
select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.name is not null}

-- :statement login_code_made
-- :columns = answer
-- $1 digest of the code, $2 digest of the state, $3 challenge in hex, $4 issuer, $5 subject -> answer
${store_answer_with made as materialized (select haas.login_code_add(decode($1, 'hex'), decode($2, 'hex'), decode($3, 'hex'), $4, $5) as done) ;;
select 200 as status, null as location, null::bigint as version, null::jsonb as body from made where made.done is not null}

-- :statement login_code_session
-- :columns = answer
-- $1 digest of the code, $2 challenge in hex, $3 digest of a link or null, $4 digest of the session, $5 address, $6 agent, $7 seconds idle, $8 hours -> answer
${store_answer_with begun as materialized (select haas.login_code_use(decode($1, 'hex'), decode($2, 'hex'), decode($3, 'hex'), decode($4, 'hex'), $5, $6, $7::integer, $8::integer) as name) ;;
select 201 as status, null as location, null::bigint as version, jsonb_build_object('account', begun.name) as body from begun}
