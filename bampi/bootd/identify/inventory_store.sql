-- Statements of bampi/bootd/identify/inventory_store.c.

-- :statement inventory_nodes
-- :columns id, name, firmware, secure_boot, arch, state, dirty, target, deployment_id, token, nonce, stored_digest, uuid, package_digests, agent_key, ended
select n.id, n.name, n.firmware, n.secure_boot, n.arch, n.state, n.dirty, i.target, i.deployment_id, i.token,
i.nonce, i.stored_digest, n.uuid, i.package_digests, i.agent_key, i.ended_at is not null as ended from haas.node n left join haas.boot_intent i on i.node_id = n.id

-- :statement inventory_nics
-- :columns mac, node_id
select mac, node_id from haas.nic

-- :statement inventory_subnets
-- :columns id, name, prefix, gateway, dns, boot_server, pool_low, pool_high, reserved_only, lease_s, shared_network, relays, restored
select id, name, prefix, host(gateway) as gateway, array_to_string(array(select host(d) from unnest(dns) d), ' ') as dns,
host(boot_server) as boot_server, host(pool_low) as pool_low, host(pool_high) as pool_high, reserved_only, lease_s, shared_network,
array_to_string(array(select host(r) from unnest(relays) r), ' ') as relays, (select haas.restoration_waits()) as restored from haas.subnet

-- :statement inventory_reservations
-- :columns mac, subnet_id, address
select mac, subnet_id, host(address) as address from haas.reservation

-- :statement inventory_circuit_rules
-- :columns name, relay, family, circuit, remote, switch, port, port_offset
-- The narrowest rule first: by relay, then by remote-id.
select name, relay, family, circuit, remote, switch, port, port_offset from
haas.circuit_rule order by masklen(relay) desc nulls last, remote = '', name

-- :statement inventory_switches
-- :columns name, ports, base, port_low, port_high, moved_silent, swapped_silent
select name, ports, host(base) as base, port_low, port_high, moved = 'silence' as moved_silent,
swapped = 'silence' as swapped_silent from haas.switch

-- :statement inventory_ports
-- :columns switch, port, node_id, address
select s.name as switch, p.name as port, p.node_id, host(p.address) as address from haas.port p
join haas.switch s on s.id = p.switch_id
