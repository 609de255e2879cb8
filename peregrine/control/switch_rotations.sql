-- Statements of peregrine/control/switch_rotations.c.

-- :statement switch_rotation_due
-- :columns switch_id, name, fabric_id, family, address, ports, credentials, secrets, managed, poll_s, since_us, id, begun, ended, other_credentials, other_secrets
-- $1: switches that seem to refuse secrets. $2: switches that have to wait. $3: the largest number of rows. Former secrets that are only kept are no
-- row: they may be many.
-- The first columns are those of switch_read, with the family that was found. The others: what is to be proven, the new or the former ones.
select e.switch_id, s.name, e.fabric_id, coalesce(nullif(e.family, ''), o.family, '') as family, host(e.address) as address, e.ports::text, e.credentials::text,
 encode(e.secrets_sealed, 'hex') as secrets, e.managed, e.poll_s, floor(extract(epoch from e.created_at) * 1000000)::bigint as since_us,
 r.id, r.state = 'begun' as begun, coalesce(r.keep_until <= now(), false) as ended,
 coalesce(e.credentials_next, e.credentials_former)::text as other_credentials, encode(coalesce(e.secrets_next, e.secrets_former), 'hex') as other_secrets
from haas.rotation r join haas.switch_endpoint e on e.switch_id = r.switch_id join haas.switch s on s.id = r.switch_id
left join haas.switch_observed o on o.switch_id = r.switch_id
where r.ended_at is null and r.switch_id <> all ($2::bigint[])
 and (r.keep_until <= now() or (r.due_at <= now() and (r.state = 'begun' or r.switch_id = any ($1::bigint[])))) order by r.due_at, r.id limit $3::int

-- :statement switch_rotation_step
-- :columns stepped
select haas.switch_rotation_step($1::bigint, $2, $3::jsonb) as stepped
