-- Statements of bampi/storage/volume_store.c.

-- :statement storage_claim
-- :columns id, generation, iqn
select id, generation, iqn from haas.storage_claim($1, $2, $3::bigint, decode($4, 'hex'), $5::bigint, $6::bigint, $7::jsonb)

-- :statement storage_publish
-- $1 the public key in hex
update haas.storage set public_key = decode($1, 'hex') where login = session_user

-- :statement volume_work
-- :columns
--   id
--   name
--   tenant
--   state
--   absent
--   size_bytes
--   kept_bytes
--   archive
--   archive_bytes
--   archive_digest
--   pdci
--   served_pdci
--   open_wanted
--   initiators
--   secret
--   secret_number
--   told
--   users
select id, name, tenant, state, absent, size_bytes, kept_bytes, coalesce(archive_id, 0) as archive, coalesce(archive_bytes, 0) as archive_bytes, coalesce(archive_digest, '') as archive_digest,
 coalesce(pdci_id, 0) as pdci, coalesce(served_pdci_id, 0) as served_pdci, initiators is not null as open_wanted, initiators, encode(secret_sealed, 'hex') as secret, secret_number,
 pdci_id is not distinct from served_pdci_id and served is not distinct from initiators as told, coalesce(node_ids, '[]') as users from haas.volume_work($1::bigint)

-- :statement archive_work
-- :columns id, name, tenant, state, absent, size_bytes, volume
select id, name, tenant, state, absent, size_bytes, coalesce(volume_id, 0) as volume from haas.archive_work($1::bigint)

-- :statement storage_network_work
-- :columns id, name, vlan, address, length, portal, told_up, told
select id, name, vlan, address, length, portal, up as told_up, coalesce(problem ->> 'message', '') as told from haas.storage_network_work($1::bigint)

-- :statement storage_network_tell
select haas.storage_network_tell($1::bigint, $2::bigint, $3::jsonb)

-- :statement volume_login_work
-- :columns volume, node, agent_key, secret, number
select volume, node, agent_key, encode(secret_sealed, 'hex') as secret, secret_number as number from haas.volume_login_work($1::bigint)

-- :statement volume_secret_make
select haas.volume_secret_make($1::bigint, $2::bigint, $3::jsonb)

-- :statement volume_login_put
select haas.volume_login_put($1::bigint, $2::bigint, $3::jsonb)

-- :statement volume_made
-- $1 volume $2 storage $3 generation $4 state $5 kept_bytes $6 problem $7 kind of the event, or null $8 its message. Of the same problem again
-- nothing is written.
with was as (select v.* from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint),
saved as (update haas.volume v set state = $4, kept_bytes = $5::bigint, problem = $6::jsonb, version = v.version + 1, done_bytes = case when $4 = 'ready' then v.size_bytes else v.done_bytes end,
  ready_at = case when $4 = 'ready' then coalesce(v.ready_at, now()) else v.ready_at end, ended_at = case when $4 = 'deleted' then now() end
  from was where v.id = was.id and (was.state, was.kept_bytes, was.problem) is distinct from ($4, $5::bigint, $6::jsonb) returning v.id)
select haas.event_told($7, 'volume', was.name, was.tenant_id, $8, jsonb_build_object('volume', was.id, 'problem', $6::jsonb))
from was join saved on true where $7 is not null

-- :statement volume_served
-- $4 PDCI, 0 = nobody $5 initiators $6 problem
with was as (select v.* from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint),
saved as (update haas.volume v set served_pdci_id = nullif($4::bigint, 0), served = $5::jsonb, problem = $6::jsonb, version = v.version + 1
  from was where v.id = was.id and (was.served_pdci_id, was.served, was.problem) is distinct from (nullif($4::bigint, 0), $5::jsonb, $6::jsonb) returning v.id)
select haas.event_told(case when $4::bigint = 0 then 'volume.detached' else 'volume.attached' end, 'volume', was.name, was.tenant_id,
  case when $4::bigint = 0 then 'no node can reach it' else 'its PDCI can reach it' end,
  jsonb_build_object('volume', was.id, 'pdci', coalesce(nullif($4::bigint, 0), was.served_pdci_id), 'initiators', $5::jsonb, 'problem', $6::jsonb))
from was join saved on true where (was.served_pdci_id, was.served) is distinct from (nullif($4::bigint, 0), $5::jsonb)

-- :statement volume_refused
update haas.volume v set problem = $4::jsonb, version = v.version + 1 from haas.storage s
 where v.id = $1::bigint and s.id = v.storage_id and s.id = $2::bigint and s.generation = $3::bigint and v.problem is distinct from $4::jsonb

-- :statement volume_login_cut
-- $4 logins
select haas.event_told('volume.login_cut', 'volume', v.name, v.tenant_id,
  'an initiator of its PDCI gave a name or alias that is not allowed (RFC 7143, 4.2.7.1). Its session was ended.', jsonb_build_object('volume', v.id, 'logins', $4::bigint))
from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint

-- :statement archive_done
-- $4 state $5 digest $6 stored_digest $7 stored_bytes $8 problem $9 kind of the event $10 its message
with was as (select a.* from haas.archive a join haas.storage s on s.id = a.storage_id where a.id = $1::bigint and s.id = $2::bigint and s.generation = $3::bigint),
saved as (update haas.archive a set state = $4, digest = coalesce($5, a.digest), stored_digest = coalesce($6, a.stored_digest), stored_bytes = coalesce($7::bigint, a.stored_bytes),
  problem = $8::jsonb, version = a.version + 1, done_bytes = case when $4 = 'ready' then a.size_bytes else a.done_bytes end,
  ready_at = case when $4 = 'ready' then coalesce(a.ready_at, now()) else a.ready_at end, ended_at = case when $4 = 'deleted' then now() end
  from was where a.id = was.id and (was.state, was.problem) is distinct from ($4, $8::jsonb) returning a.id)
select haas.event_told($9, 'archive', was.name, was.tenant_id, $10, jsonb_build_object('archive', was.id, 'digest', $5::text, 'problem', $8::jsonb))
from was join saved on true where $9 is not null

-- :statement volume_progress
update haas.volume v set done_bytes = x.done from unnest($1::bigint[], $2::bigint[]) as x (id, done) where v.id = x.id

-- :statement archive_progress
update haas.archive a set done_bytes = x.done from unnest($1::bigint[], $2::bigint[]) as x (id, done) where a.id = x.id
