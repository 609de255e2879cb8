-- user 12 (lock), 19 (images and tenants end), 22 (capture point), 27 (reasons)
insert into tenant (name) values ('acme'), ('globex');
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, public, tenant_id)
select n, '1', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('1', 64), repeat(d, 64), 2, 1, 1, '{bios}', s, case s when 'ready' then 1 else 0 end, p, t
from (values ('demo', '2', 'ready', true, null::bigint), ('own', '3', 'ready', false, 1), ('half', '4', 'uploading', true, null), ('idle', '5', 'ready', true, null)) x (n, d, s, p, t);
select set_config('haas.scope', 'operator', false);
select count(*) from (select node_put(jsonb_build_object('name', 'n' || i, 'nics', jsonb_build_array(jsonb_build_object('name', 'eth0', 'boot', true, 'mac', '52:54:00:00:00:0' || i)),
	'bmc', jsonb_build_object('driver', 'sim', 'address', '10.99.0.' || i)), false, 'ann'), node_request('n' || i, 'accept', 'ann', '') from generate_series(1, 3) i) x;
\echo an image that a PDCI asks for, or a deployment is at work with, is not deleted
select pdci_create('acme', 'web', '{"groups": [{"count": 1, "image": "demo"}]}', 'ann');
select image_delete('demo', '1', 'ann');
select node, refused from deployment_create('install', '{n1}', 'own', 'acme', '{}', 'ann');
select image_delete('own', '1', 'ann');
\echo retired: no new installs, and back; what is half uploaded is only deleted
select image_state_set('own', '1', 'retired', false, 'ann');
select image_allowed((select id from image where name = 'own'), 1);
select image_state_set('own', '1', 'ready', false, 'ann');
\echo withdrawn: the same, and an install under way does not write it (unit_step)
select image_state_set('own', '1', 'withdrawn', false, 'ann');
select image_allowed((select id from image where name = 'own'), 1);
select message from event where kind = 'image.withdrawn';
select image_state_set('own', '1', 'ready', false, 'ann');
select image_state_set('half', '1', 'retired', false, 'ann');
\echo withdrawn with all older ones: also those that come later; the last word counts
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware, state, received_bytes, tenant_id)
select 'line', v, '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('1', 64), repeat('6', 64), 2, 1, 1, '{bios}', s, case s when 'ready' then 1 else 0 end, t
from (values ('12.9', 'ready', null::bigint), ('12.10', 'ready', null), ('12.11', 'ready', null), ('12.8', 'uploading', null), ('12.7', 'ready', 1)) x (v, s, t);
create view line as select version, state from image where name = 'line' order by version_key(version);
select image_state_set('line', '12.10', 'withdrawn', true, 'ann');
select * from line;
select count(*) from event where kind = 'image.withdrawn' and subject like 'line:%';
select image_state_set('line', '12.9', 'ready', false, 'ann');
select image_state_set('line', '12.9', 'retired', false, 'ann');
update image set state = 'ready', received_bytes = 1 where name = 'line' and version = '12.8';
insert into image (name, version, manifest, signature, key_id, digest, stored_digest, size_bytes, stored_bytes, root_partition, firmware)
values ('line', '2', '{}', decode(repeat('00', 64), 'hex'), 'k', repeat('1', 64), repeat('6', 64), 2, 1, 1, '{bios}');
select image_state_set('line', '12.11', 'retired', false, 'ann');
\echo a word about an older version lowers nothing; an error is taken back alone, by its own name, also when that image is gone
select image_state_set('line', '12.9', 'withdrawn', true, 'ann');
select image_state_set('line', '12.9', 'ready', false, 'ann');
select image_state_set('line', '12.11', 'ready', true, 'ann');
select image_state_set('line', '12.9', 'ready', true, 'ann');
select image_state_set('line', '12.11', 'withdrawn', true, 'ann');
select image_delete('line', '12.11', 'ann');
select image_state_set('line', '12.9', 'ready', false, 'ann');
set role portald;
select set_config('haas.scope', '', false), set_config('haas.tenant', '2', false);
select image_state_set('line', '12.11', 'ready', true, 'bob');
reset role;
select set_config('haas.scope', 'operator', false);
select image_state_set('line', '12.11', 'ready', true, 'ann');
select image_state_set('line', '12.11', 'ready', true, 'ann');
select image_state_set('line', '12.9', 'ready', false, 'ann');
select image_state_set('line', '12.10', 'ready', true, 'ann');
select image_state_set('line', '12.10', 'ready', true, 'ann');
select version from image_floor;
select image_state_set('line', '12.9', 'ready', false, 'ann');
select image_state_set('line', '12.9', 'ready', true, 'ann');
select * from line;
select count(*) from image_floor;
select actor, kind, subject, message, detail from event where kind like 'image.floor%' order by id;
delete from image where name = 'line';
\echo whose it is
set role portald;
select set_config('haas.scope', '', false), set_config('haas.tenant', '2', false);
select image_delete('own', '1', 'bob');
select image_delete('demo', '1', 'bob');
select image_state_set('idle', '1', 'retired', false, 'bob');
select set_config('haas.scope', 'operator', false);
select image_delete('idle', '1', 'ann');
select image_delete('half', '1', 'ann');
select image_delete('idle', '1', 'ann');
reset role;
\echo history keeps the name of an image that is gone; a retry of it is refused
update deployment set state = 'failed', due_at = null, ended_at = now(), problem = '{"message": "m"}';
select image_delete('own', '1', 'ann');
select plan, image, image_version from deployment_view;
select deployment_request(id, 'retry', 'ann') from deployment;
select kind, subject, message, detail ->> 'digest' from event where kind like 'image.%' order by id;
\echo a locked PDCI: no release, no replacement by people, no power, no reinstall of its nodes, also with force
insert into pdci_node (pdci_id, node, node_id, group_index, class) values (1, 'n2', 2, 0, '');
update node set state = 'active', tenant_id = 1, dirty = true where name = 'n2';
select pdci_lock(1, true, 'ann');
select pdci_lock(1, true, 'ann');
select name, locked, version from pdci;
select pdci_release(1, 'ann');
select pdci_replace(1, 'n2', 'ann');
select node, refused, hint from node_action_create('{n2}', 'power_off', '{}', true, 'ann');
select node, refused from node_action_create('{n2}', 'power_cycle', '{}', true, 'ann');
select node, refused from node_action_create('{n2}', 'power_status', '{}', false, 'ann');
select node, refused, hint from deployment_ask('reinstall', '{n2}', 'demo', null, '{}', 'ann', true);
select node, refused from deployment_ask('release', '{n2}', null, null, '{}', 'ann', true);
\echo what bampid does by itself goes on; unlocked, people may again
select pdci_replace(1, 'n2', 'bampid');
update pdci_node set replace_asked_at = null;
select pdci_lock(1, false, 'ann');
select node, refused from node_action_create('{n2}', 'power_off', '{}', false, 'ann');
set role portald;
select set_config('haas.scope', '', false), set_config('haas.tenant', '2', false);
select pdci_lock(1, true, 'bob');
reset role;
select set_config('haas.scope', 'operator', false);
\echo the reason of a state stands with the node as long as the state does, and with the PDCI for operators
select node_request('n2', 'break', 'ann', 'PSU smokes');
select state, reason, state_actor, state_since = updated_at as since_then from node where name = 'n2';
select pdci_node_fault(1, 2) - 'since', (pdci_node_fault(1, 2) ->> 'since')::timestamptz = n.state_since as since_then from node n where n.name = 'n2';
update pdci_node set replace_asked_at = now();
select pdci_node_fault(1, 2) - 'since';
update pdci_node set replace_asked_at = null;
select set_config('haas.scope', '', false), set_config('haas.tenant', '1', false);
select pdci_node_fault(1, 2) ->> 'message';
select set_config('haas.scope', 'operator', false);
select node_request('n2', 'repair', 'bob', null);
select state, reason, state_actor from node where name = 'n2';
\echo a tenant goes when nothing is left, and what is left is named
select tenant_delete('acme', 'ann');
select * from tenant_left(1);
select tenant_delete('nobody', 'ann');
update node set tenant_id = null, dirty = false, state = 'free' where tenant_id = 1;
update pdci_node set released_at = now();
update pdci set state = 'released', ended_at = now(), wanted = 'absent', problem = null;
select tenant_delete('acme', 'ann');
select name from tenant;
select count(*), count(tenant_id) from deployment;
select count(*) from event where kind = 'pdci.locked' and tenant_id is null;
select tenant, subject from usage;
select set_config('haas.scope', '', false);
select tenant_delete('globex', 'bob');
\echo a mirror port that the switch does not have
select set_config('haas.scope', 'operator', false);
insert into switch (name) values ('leaf1');
insert into fabric (name, vlan_low, vlan_high, parking_vlan) values ('f', 100, 200, 99);
insert into switch_endpoint (switch_id, fabric_id, role, family, address, managed) select s.id, f.id, 'leaf', 'generic', '10.0.0.1', true from switch s, fabric f;
select capture_point_put('leaf1', '{"port": "any", "interface": "cap0"}', 'ann');
insert into port_observed (switch_id, name, if_index, admin_up, up, seen_at) select id, 'swp9', 9, true, true, now() from switch;
select capture_point_put('leaf1', '{"port": "nosuch", "interface": "cap0"}', 'ann');
select capture_point_put('leaf1', '{"port": "swp9", "interface": "cap0"}', 'ann');
select port from capture_point;
