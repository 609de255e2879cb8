-- Statements of peregrine/control/switch_store.c.

-- :statement switch_read
-- :columns switch_id, name, fabric_id, family, address, ports, credentials, secrets, managed, poll_s, since_us
select e.switch_id, s.name, e.fabric_id, e.family, host(e.address) as address, e.ports::text, e.credentials::text, encode(e.secrets_sealed, 'hex') as secrets,
 e.managed, e.poll_s, floor(extract(epoch from e.created_at) * 1000000)::bigint as since_us from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id

-- :statement switch_host_key
select haas.switch_host_key_keep($1, $2)

-- :statement switch_publish
insert into haas.daemon_key as k (daemon, public_key) values ('peregrined', decode($1, 'hex'))
 on conflict (daemon) do update set public_key = excluded.public_key, changed_at = now() where k.public_key <> excluded.public_key
