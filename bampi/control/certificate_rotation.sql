-- Statements of bampi/control/certificate_rotation.c.

-- :statement certificate_rotation_now
-- :columns id, state, instances, ended, next, since
select id, state, instances, ended, next, since from haas.certificate_rotation_now()

-- :statement certificate_rotation_known
-- $1 rotation $2 the key before $3 the new one $4 statement $5 signature
select haas.certificate_key_add($1::bigint, $2, $3, $4, $5)

-- :statement certificate_rotation_use
-- $1 rotation
select haas.certificate_key_use($1::bigint)

-- :statement certificate_rotation_step
-- $1 rotation $2 state $3 problem
select haas.seal_rotation_step('bampid', $1::bigint, $2, null, $3::jsonb)
