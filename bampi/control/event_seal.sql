-- Statements of bampi/control/event_seal.c.

-- :statement event_seal_next
-- :columns block, previous_hash, events, digest, sealed_at
select block, previous_hash, events, digest, sealed_at from haas.event_block_next()

-- :statement event_seal_add
-- :columns block
-- $1 body $2 hash $3 signature $4 public key -> null: another bampid was first
select haas.event_block_add($1, $2, $3, $4) as block
