-- Statements of peregrine/control/beacons.c.

-- :statement beacon_put
insert into haas.beacon as b (switch_id, port, ends_at) values ($1::bigint, $2, now() + make_interval(secs => $3::int))
 on conflict (switch_id, port) do update set ends_at = excluded.ends_at, tries = 0

-- :statement beacon_read
-- :columns switch_id, port, left_ms
select switch_id, port, greatest(0, extract(epoch from ends_at - now()) * 1000)::bigint as left_ms from haas.beacon order by ends_at limit 64

-- :statement beacon_gone
delete from haas.beacon where switch_id = $1::bigint and port = $2 and ends_at <= now()

-- :statement beacon_again
-- A switch that is away for a day has been switched off since.
with gone as (delete from haas.beacon where switch_id = $1::bigint and port = $2 and ends_at <= now() and tries >= 1440)
 update haas.beacon set ends_at = now() + interval '60 s', tries = tries + 1 where switch_id = $1::bigint and port = $2 and ends_at <= now() and tries < 1440
