-- Statements of common/db/seal_rotation.c.

-- :statement seal_rotation_now
-- :columns id, state, instances, ended
select id, state, instances, ended from haas.seal_rotation_now($1)

-- :statement seal_rotation_step
-- $1 daemon $2 id $3 state $4 rows lost $5 problem
select haas.seal_rotation_step($1, $2::bigint, $3, $4::bigint, $5::jsonb)

-- :statement sealed_rows
-- :columns id, part, sealed
select id, part, encode(sealed, 'hex') as sealed from haas.sealed_rows($1, $2::bigint, $3)

-- :statement sealed_put
-- $1 daemon $2 rotation $3 rows
select haas.sealed_put($1, $2::bigint, $3::jsonb)
