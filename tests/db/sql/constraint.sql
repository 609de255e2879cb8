insert into node (name) values ('n1'), ('n2');
insert into subnet (name, prefix, boot_server) values ('rack1', '10.2.0.0/24', '10.2.0.1');
\echo a dirty node is never free
update node set state = 'free', dirty = true where name = 'n1';
\echo an address is bound once, a MAC has one address per subnet
insert into lease (address, mac, subnet_id, expires_at) select '10.2.0.14', '52:54:00:00:00:01', id, now() from subnet;
insert into lease (address, mac, subnet_id, expires_at) select '10.2.0.14', '52:54:00:00:00:02', id, now() from subnet;
insert into lease (address, mac, subnet_id, expires_at) select '10.2.0.15', '52:54:00:00:00:01', id, now() from subnet;
update lease set state = 'declined';
insert into lease (address, mac, subnet_id, expires_at) select '10.2.0.15', '52:54:00:00:00:01', id, now() from subnet returning address;
update lease set state = 'bound';
\echo subnets do not overlap, pools lie inside
insert into subnet (name, prefix, boot_server) values ('rack2', '10.2.0.128/25', '10.2.0.1');
insert into subnet (name, prefix, boot_server, pool_low, pool_high) values ('rack3', '10.3.0.0/24', '10.3.0.1', '10.3.0.9', '10.4.0.1');
\echo unfinished work has a due time, finished work has none
insert into deployment (plan, node_id, actor, state, due_at) select 'inspect', id, 't', 'waiting', null from node where name = 'n1';
insert into deployment (plan, node_id, actor, state, due_at) select 'inspect', id, 't', 'done', now() from node where name = 'n1';
\echo one deployment at a time
insert into deployment (plan, node_id, actor) select 'inspect', id, 't' from node where name = 'n1';
insert into deployment (plan, node_id, actor) select 'inspect', id, 't' from node where name = 'n1';
\echo an install names its image, a failure its problem
insert into deployment (plan, node_id, actor) select 'install', id, 't' from node where name = 'n2';
insert into deployment (plan, node_id, actor, state, due_at, ended_at) select 'release', id, 't', 'failed', null, now() from node where name = 'n2';
\echo a MAC is on one node, one boot NIC per node
insert into nic (mac, node_id, name, boot) select '52:54:00:00:00:01', id, 'eth0', true from node where name = 'n1';
insert into nic (mac, node_id, name, boot) select '52:54:00:00:00:01', id, 'eth0', true from node where name = 'n2';
insert into nic (mac, node_id, name, boot) select '52:54:00:00:00:02', id, 'eth1', true from node where name = 'n1';
\echo certificates are final and form one chain
insert into certificate (node, deployment_id, body, previous_hash, hash, signature, public_key) values ('n1', 1, '{}', repeat('0', 64), 'a', 's', repeat('c', 64));
insert into certificate (node, deployment_id, body, previous_hash, hash, signature, public_key) values ('n2', 1, '{}', repeat('0', 64), 'b', 's', repeat('c', 64));
update certificate set body = 'x';
delete from certificate;
truncate certificate;
