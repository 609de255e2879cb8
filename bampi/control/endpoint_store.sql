-- Statements of bampi/control/endpoint_store.c.

-- :statement endpoint_read
-- :columns node_id, node, driver, address, port, username, password, cipher_suite, workarounds, tls, pin, uri
select b.node_id, n.name as node, b.driver, host(b.address) as address, b.port, b.username, encode(b.password_sealed, 'hex') as password, b.cipher_suite,
 array_to_string(b.workarounds, ',') as workarounds, b.tls, b.fingerprint as pin, b.uri from haas.bmc b join haas.node n on n.id = b.node_id

-- :statement endpoint_read_one
-- :columns node_id, node, driver, address, port, username, password, cipher_suite, workarounds, tls, pin, uri
select b.node_id, n.name as node, b.driver, host(b.address) as address, b.port, b.username, encode(b.password_sealed, 'hex') as password, b.cipher_suite,
 array_to_string(b.workarounds, ',') as workarounds, b.tls, b.fingerprint as pin, b.uri from haas.bmc b join haas.node n on n.id = b.node_id where b.node_id = $1::bigint

-- :statement endpoint_publish
insert into haas.daemon_key as k (daemon, public_key) values ('bampid', decode($1, 'hex'))
 on conflict (daemon) do update set public_key = excluded.public_key, changed_at = now() where k.public_key <> excluded.public_key

-- :statement endpoint_observe
update haas.bmc b set observed_power = x.power, observed_at = to_timestamp(x.at_us / 1e6), problem = x.problem, failing = x.failing,
 power_since = case when b.observed_power = x.power and b.power_since is not null then b.power_since else to_timestamp(x.at_us / 1e6) end
 from jsonb_to_recordset($1::jsonb) as x (node_id bigint, power text, at_us bigint, problem jsonb, failing boolean) where b.node_id = x.node_id
 and b.node_id = any (array(select node_id from haas.bmc where node_id in (select node_id from jsonb_to_recordset($1::jsonb) as k (node_id bigint))
  order by node_id for no key update))
