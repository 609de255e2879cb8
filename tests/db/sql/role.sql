insert into node (name) values ('n1');
insert into bmc (node_id, driver, address, username, password_sealed) select id, 'ipmi', '127.0.1.1', 'admin', '\xab' from node;
\echo bootd: reads what to boot, never a BMC, an image grant or an idempotency key
set role bampi_bootd;
select count(*) from node;
select count(*) from bmc;
update node set dirty = false;
insert into boot_intent (node_id, target, deployment_id, token, nonce) values (1, 'disk', 1, 'x', 'y');
update agent_task set kind = 'erase';
insert into event (actor, kind, subject_kind, subject, message) values ('x', 'a.b', 'node', 'n1', 'forged');
reset role;
\echo bampid: moves nodes only through the door
set role bampid;
update node set state = 'free';
update node set dirty = false;
select node_transition(1, 'accept', 'bampid');
delete from event;
delete from certificate;
insert into lease (address, mac, subnet_id, expires_at) values ('10.0.0.1', '52:54:00:00:00:01', 1, now());
select count(*) from idempotency;
reset role;
\echo portald: cannot read a sealed password back, sees no node without saying for whom it asks, moves nothing
set role portald;
select username from bmc;
select password_sealed from bmc;
select count(*) from node;
select node_transition(1, 'hold', 'portald');
select node_request('n1', 'hold', 'portald', 'x');
update deployment set state = 'done';
select * from boot_intent;
select token from agent_task;
insert into daemon_key values ('bampid', decode(repeat('00', 32), 'hex'));
select set_config('haas.scope', 'operator', false);
select count(*) from node;
select node_request('n1', 'hold', 'portald', 'x');
reset role;
\echo S12: no daemon gets the secrets that are meant for another
insert into daemon_key values ('bampid', decode(repeat('01', 32), 'hex')), ('peregrined', decode(repeat('02', 32), 'hex'));
set role peregrined;
update daemon_key set public_key = decode(repeat('66', 32), 'hex') where daemon = 'bampid';
insert into daemon_key values ('bampid', decode(repeat('66', 32), 'hex')) on conflict (daemon) do update set public_key = excluded.public_key;
insert into daemon_key values ('other', decode(repeat('66', 32), 'hex'));
update daemon_key set public_key = decode(repeat('03', 32), 'hex') where daemon = 'peregrined';
reset role;
select daemon, left(encode(public_key, 'hex'), 2) from daemon_key order by 1;
select actor, message from event where kind = 'daemon.key_changed' order by id;
\echo S21: what a daemon does not use it cannot read
set role bampi_bootd;
select params from deployment;
select id from deployment;
reset role;
set role portald;
select token from boot_observation;
reset role;
set role peregrined;
select request from pdci;
reset role;
\echo nobody else has anything
create role stranger;
set role stranger;
select count(*) from haas.node;
select haas.node_transition(1, 'accept', 'x');
reset role;
drop role stranger;

\echo user 30: counts, sizes and the order of names, as people read them
select string_agg(count_text(n, w), ', ') from (values (1, 'rack'), (2, 'rack'), (0, 'leaf switch'), (2, 'address'), (2, 'entry'), (2, 'key')) x (n, w);
select string_agg(size_text(b), ', ') from (values (0), (512), (1023), (1024), (1536), (10240), (1048575), (107374182400), (1125899906842624), (1e18)) x (b);
select string_agg(n, ' ' order by n collate natural_order) from unnest('{x10,x2,x1,x1-a,X3,x01,Ethernet1/10,Ethernet1/9}'::text[]) n;
