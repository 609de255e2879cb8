-- :statement daemon_beat
insert into haas.daemon (name, instance, version, started_at)
values ($1, $2, $3, now() - make_interval(secs => $4::double precision / 1000))
on conflict (name, instance) do update set version = excluded.version, started_at = excluded.started_at, seen_at = now()
