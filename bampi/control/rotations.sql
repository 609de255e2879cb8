-- Statements of bampi/control/rotations.c.

-- :statement rotation_claim
-- :columns id, generation, node_id, node, state, next
-- Not beside a deployment or an action: their sessions at the BMC would end. What is kept long enough needs no BMC.
with due as (
 select r.id from haas.rotation r
 where r.node is not null and r.ended_at is null and r.due_at <= now() and (r.claim_until is null or r.claim_until <= now())
  and (r.state = 'both' or not exists (select from haas.deployment d where d.node_id = r.node_id and d.due_at is not null)
   and not exists (select from haas.node_action a where a.node_id = r.node_id and a.due_at is not null))
 order by r.due_at limit 16 for no key update of r skip locked)
update haas.rotation r set claim_owner = $1, claim_until = now() + $2::bigint * interval '1 ms', generation = r.generation + 1
from due where r.id = due.id
returning r.id, r.generation, r.node_id, r.node, r.state, (select encode(b.password_next, 'hex') from haas.bmc b where b.node_id = r.node_id) as next

-- :statement rotation_step
-- :columns held
select haas.rotation_step($1::bigint, $2::bigint, $3, $4, $5::jsonb) as held

-- :statement rotation_extend
-- :columns id, generation
with k as (select * from unnest($1::bigint[], $2::bigint[]) as k (id, generation))
update haas.rotation r set claim_until = now() + $3::bigint * interval '1 ms' from k
where r.id = k.id and r.generation = k.generation and r.claim_owner = $4 returning r.id, r.generation
