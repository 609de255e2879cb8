select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f1', 100, 199, 99);
insert into switch (name) values ('leaf1');
insert into switch_endpoint (switch_id, fabric_id, role, address) values (1, 1, 'leaf', '10.0.0.1');
select node_put(format('{"name":"n%s","class":"gpu","nics":[{"name":"eth0","mac":"52:54:00:00:00:0%1$s","boot":true}], "bmc": {"address": "10.9.9.%1$s"}}', i)::jsonb, false, 'ann') ->> 'result' from generate_series(1, 6) i;
update node set state = 'free';
insert into wiring (switch_id, port, node_id, nic) select 1, 'e' || id, id, 'eth0' from node;
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public)
values ('demo', '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('a', 64), repeat('b', 64), 2, 1, 1, '{bios}', 'ready', 1, true);
select network_create('pxe', 'provisioning', null, null, null, 'ann');
\set request '{"groups": [{"class": "gpu", "count": 3, "image": "demo"}], "networks": [{"name": "front", "prefix": "10.1.0.0/24"}]}'
set role portald;
select set_config('haas.tenant', '1', false), set_config('haas.scope', 'tenant', false) \g /dev/null
select pdci_create(null, 'one', :'request', 'acme') as one \gset
reset role;
set role bampid;
select pdci_allocate(:one, 0, '[{"group": 0, "node": 1}, {"group": 0, "node": 2}, {"group": 0, "node": 3}]', 'bampid');
reset role;
select set_config('haas.scope', 'operator', false) \g /dev/null
update deployment set state = 'done', due_at = null, ended_at = now();
select node_place_ask(id, 'tenant') from node where id < 4 order by id;
\echo what is said of a member: a network that has no number, a port that is not as it should be; a tenant is told less
select pdci_node_fault(:one, 1) ->> 'message';
insert into alert (key, kind, severity, subject_kind, subject, message) values ('network.vlan_short:f1', 'network.vlan_short', 'critical', 'fabric', 'f1', 'no VLAN is free');
select pdci_node_fault(:one, 1) ->> 'message', (select problem ->> 'message' from node_network_state(1));
insert into network_vlan (fabric_id, vlan, network_id, state) values (1, 101, (select id from network where name = 'front'), 'used');
select node_transition(id, 'activate', 'x') from node where id < 4 order by id;
update port_intent set problem = '{"message": "leaf1 is silent"}' where port = 'e1';
select pdci_node_fault(:one, 1) ->> 'message', pdci_node_fault(:one, 2) ->> 'message';
set role portald;
select set_config('haas.scope', 'tenant', false) \g /dev/null
select pdci_node_fault(:one, 1);
select set_config('haas.tenant', '2', false) \g /dev/null
select pdci_node_fault(:one, 1) is null;
reset role;
select set_config('haas.scope', 'operator', false) \g /dev/null
update port_intent set applied_version = wanted_version, problem = null;
select count(pdci_node_fault(:one, id)) from node where id < 4;
update pdci set state = 'ready', due_at = null, claim_until = null;
\echo taken off a network of its PDCI by hand: the PDCI says so
set role portald;
select node_networks_put('n1', '[]', 'acme') ->> 'changed';
select pdci_node_fault(:one, 1);
select node_networks_put('n1', '[{"nic": "eth0", "network": "front"}]', 'acme') ->> 'changed';
reset role;
update port_intent set applied_version = wanted_version;
select pdci_node_fault(:one, 1) is null;
\echo a release of a member is for its PDCI to do; an operator may insist
set role portald;
select refused, hint from deployment_ask('release', '{n1}', null, null, '{}', 'ann');
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '1', false) \g /dev/null
select refused, hint from deployment_ask('release', '{n1}', null, null, '{}', 'acme', true);
select set_config('haas.scope', 'operator', false) \g /dev/null
select refused is null from deployment_ask('release', '{n1}', null, null, '{}', 'ann', true);
reset role;
select pdci_node_fault(:one, 1) ->> 'message', due_at is not null from pdci;
update deployment set state = 'done', due_at = null, ended_at = now() where plan = 'release';
update pdci set due_at = null;
select node_place_ask(1, 'parking'), node_transition(1, 'scrubbed', 'x');
select pdci_node_fault(:one, 1) ->> 'message', due_at is not null from pdci;
select name from allocatable_node order by name;
select refused from deployment_ask('install', '{n1}', 'demo', 'globex', '{}', 'ann');
set role portald;
select set_config('haas.scope', 'tenant', false), set_config('haas.tenant', '2', false) \g /dev/null
select refused, hint from deployment_ask('install', '{n1}', 'demo', null, '{}', 'tom');
select set_config('haas.scope', 'operator', false) \g /dev/null
reset role;
\echo broken and mended: off the network of its tenant at once, and replaced only when that was read
update port_intent set applied_version = wanted_version;
select node_transition(2, 'break', 'x');
select place from node_place where node_id = 2;
select pdci_node_fault(:one, 2) ->> 'message';
select node_transition(2, 'repair', 'x');
select place, (select count(*) from node_network where node_id = 2), (select count(*) from attachment where port = 'e2') from node_place where node_id = 2;
select pdci_replace(:one, 'n2', 'ann');
set role bampid;
select node, waits_for from pdci_replace_step(:one, (select generation from pdci where id = :one), 'bampid');
reset role;
select plan, state from deployment where node_id = 2 order by id desc limit 1;
update port_intent set applied_version = wanted_version;
set role bampid;
select node, waits_for from pdci_replace_step(:one, (select generation from pdci where id = :one), 'bampid');
select pdci_replace_take(:one, (select generation from pdci where id = :one), '[{"group": 0, "node": 4}]', 'bampid');
reset role;
select node, slot, address, released_at is null as held from pdci_node order by node;
\echo a release of it all that failed before its BMC answered goes on without the node, when a person says that it is broken
set role portald;
select pdci_release(:one, 'ann');
reset role;
set role bampid;
select node, waits_for from pdci_release_step(:one, (select generation from pdci where id = :one), 'bampid');
reset role;
update port_intent set applied_version = wanted_version;
update deployment set state = 'failed', due_at = null, ended_at = now(), problem = '{"message": "no answer"}' where plan = 'release' and node_id = 3;
update deployment set state = 'cancelled', due_at = null, ended_at = now() where node_id = 4;
update node set state = 'free', dirty = false, tenant_id = null where id = 4;
set role bampid;
select node, waits_for from pdci_release_step(:one, (select generation from pdci where id = :one), 'bampid');
reset role;
select node_transition(3, 'break', 'x');
set role bampid;
select node, waits_for from pdci_release_step(:one, (select generation from pdci where id = :one), 'bampid');
reset role;
update port_intent set applied_version = wanted_version;
set role bampid;
select node, waits_for from pdci_release_step(:one, (select generation from pdci where id = :one), 'bampid');
reset role;
select state from pdci;
select name, state, dirty, tenant_id from node order by name;
select count(*) from attachment a join network n on n.id = a.network_id where n.kind = 'tenant';
select subject, to_at is null from usage order by subject;
select kind, subject, message from event where kind ~ '^pdci|refused' order by id;
\echo one that was forced out and serves the operator is not touched by the release of the PDCI that had it; one that is found on a bench, too, is parked where it was
set role portald;
select set_config('haas.tenant', '1', false), set_config('haas.scope', 'tenant', false) \g /dev/null
select pdci_create(null, 'two', '{"groups": [{"class": "gpu", "count": 2, "image": "demo"}], "networks": [{"name": "back", "prefix": "10.1.0.0/24"}]}', 'acme') as two \gset
reset role;
select set_config('haas.scope', 'operator', false) \g /dev/null
update port_intent set node_id = null;
set role bampid;
select pdci_allocate(:two, 0, '[{"group": 0, "node": 5}, {"group": 0, "node": 6}]', 'bampid');
reset role;
update deployment set state = 'done', due_at = null, ended_at = now() where due_at is not null;
select node_place_ask(id, 'tenant') from node where id > 4 order by id;
select port, node_id, (select string_agg(n.name, ' ') from attachment a join network n on n.id = a.network_id where a.switch_id = i.switch_id and a.port = i.port) as networks
from port_intent i where node_id > 4 order by 1;
update port_intent set applied_version = wanted_version;
insert into nic (mac, node_id, name) values ('52:54:00:00:01:06', 6, 'eth1');
insert into switch (name) values ('bench');
insert into switch_endpoint (switch_id, fabric_id, role, address, managed) values (2, 1, 'leaf', '10.0.0.2', false);
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:01:06', 2, 'b1', 80, '{fdb}', now(), now());
update node set state = 'active', tenant_id = null where id = 5;
update node set state = 'broken' where id = 6;
set role portald;
select pdci_release(:two, 'ann');
reset role;
set role bampid;
select node, waits_for from pdci_release_step(:two, (select generation from pdci where id = :two), 'bampid');
reset role;
update port_intent set applied_version = wanted_version;
set role bampid;
select node, waits_for from pdci_release_step(:two, (select generation from pdci where id = :two), 'bampid');
reset role;
select name, state, tenant_id, (select place from node_place where node_id = n.id) as place, (select count(*) from deployment d where d.node_id = n.id and d.plan = 'release') as releases from node n where id > 4 order by id;
select count(*) from attachment where port = 'e6';
