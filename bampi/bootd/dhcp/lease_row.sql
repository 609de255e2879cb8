-- What lease_store.c (queue, connections), lease_write.c (batches) and lease_read.c (rows into memory) share.

-- :row lease
--   address     as a number
--   mac
--   subnet_id
--   state
--   client
--   expires_at  seconds since 1970, rounded up

-- :row kept_lease
--   address     as a number
--   expires_at  seconds since 1970, rounded down

-- :part lease_row
-- The columns that lease_take_row reads.
l.address - '0.0.0.0'::inet as address, l.mac, l.subnet_id, l.state, l.client,
ceil(extract(epoch from l.expires_at))::bigint as expires_at
