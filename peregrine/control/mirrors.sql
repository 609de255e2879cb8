-- Statements of peregrine/control/mirrors.c.

-- :statement capture_sessions
-- :columns switch_id, id, port, target, to, from, tunnel_id, left_ms, written
with swept as materialized (select haas.capture_sweep() as moved) select s.switch_id, s.id, s.port, s.target,
 coalesce(s.tunnel_to, '') as to, coalesce(s.tunnel_from, '') as from, coalesce(s.session, 0) as tunnel_id, coalesce(haas.capture_left_ms(s.id), 0) as left_ms,
 exists (select from haas.capture c where c.id = s.id and c.mirrored) as written
 from swept, haas.capture_session s where swept.moved is not null order by s.switch_id, s.id

-- :statement capture_may_have
-- Before the switch is told: whoever is peregrined afterwards knows that it may have it.
update haas.capture set mirrored = true where id = any($1::bigint[]) and state in ('listening', 'running') and not mirrored

-- :statement capture_mirrored
select haas.capture_mirrored($1::bigint, $2::boolean, $3::jsonb)

-- :statement capture_unmirrored
select haas.capture_unmirrored($1::bigint, $2::bigint[])
