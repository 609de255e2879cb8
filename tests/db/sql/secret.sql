select set_config('haas.scope', 'operator', false) \g /dev/null
\echo S5: a password is for one way to one BMC
select node_put('{"name":"n1","bmc":{"driver":"ipmi","address":"10.9.0.1","username":"admin","password_sealed":"c0ffee"}}', false, 'ann');
\echo the same BMC: other members may change, the password stays
select node_put('{"name":"n1","bmc":{"driver":"ipmi","address":"10.9.0.1","username":"root","cipher_suite":3}}', false, 'ann');
\echo another address, port, driver, tls or certificate: it has to be given again, and nothing is written
select node_put('{"name":"n1","bmc":{"driver":"ipmi","address":"192.0.2.66"}}', false, 'ann');
select node_put('{"name":"n1","bmc":{"driver":"ipmi","address":"10.9.0.1","port":6623}}', true, 'ann');
select node_put('{"name":"n1","bmc":{"driver":"redfish","address":"10.9.0.1"}}', false, 'ann');
select node_put('{"name":"n1","bmc":{"driver":"redfish","address":"192.0.2.66","tls":"off"}}', false, 'ann');
select node_put('{"name":"n1","bmc":{"driver":"ipmi","address":"10.9.0.1","tls":"unverified"}}', false, 'ann');
select node_put('{"name":"n1","bmc":{"driver":"libvirt","uri":"qemu:///system"}}', false, 'ann');
select driver, host(address), port, username, encode(password_sealed, 'hex') from bmc;
\echo given again it is kept, and the event tells both ways, but no password
select node_put('{"name":"n1","bmc":{"driver":"redfish","address":"10.9.0.2","password_sealed":"beef"}}', false, 'ann');
select driver, host(address), port, encode(password_sealed, 'hex') from bmc;
select detail #>> '{before,bmc}', detail #>> '{after,bmc}' from event where kind = 'node.updated' order by id desc limit 1;
select count(*) from event where detail::text ~ 'c0ffee|beef';
\echo S24: a session that may be read or forged on the way needs the word for it
select s, node_put(('{"name":"n4","bmc":{"driver":"ipmi","address":"10.9.0.9","cipher_suite":' || s || '}}')::jsonb, true, 'ann') -> 'errors' as errors from generate_series(0, 19) s;
select node_put('{"name":"n4","bmc":{"driver":"ipmi","address":"10.9.0.9","password_sealed":"c0de"}}', false, 'ann');
insert into bmc (node_id, driver, address, cipher_suite) select id, 'ipmi', '10.9.0.8', 1 from node where name = 'n2';
select node_put('{"name":"n4","bmc":{"driver":"ipmi","address":"10.9.0.9","cipher_suite":1,"insecure":true}}', false, 'ann');
select node_put('{"name":"n4","bmc":{"driver":"ipmi","address":"10.9.0.9","cipher_suite":1,"insecure":true,"password_sealed":"c0de"}}', false, 'ann');
select cipher_suite, insecure from bmc where host(address) = '10.9.0.9';
select node_put('{"name":"n4","bmc":{"driver":"redfish","address":"10.9.0.9","cipher_suite":0,"password_sealed":"c0de"}}', false, 'ann');
\echo a BMC without a password goes where it likes
select node_put('{"name":"n2","bmc":{"driver":"ipmi","address":"10.9.0.5"}}', false, 'ann');
select node_put('{"name":"n2","bmc":{"driver":"ipmi","address":"10.9.0.6"}}', false, 'ann');
\echo so are those of a switch
insert into fabric (name, parking_vlan, parking_count, vlan_low, vlan_high) values ('f1', 60, 20, 100, 200);
select switch_manage('leaf1', '{"address":"10.0.0.1","credentials":{"snmp_user":"u","host_key":"SHA256:a"},"secrets_sealed":"00ff"}', 'ann');
select switch_manage('leaf1', '{"poll_s":7,"role":"spine"}', 'ann');
select switch_manage('leaf1', '{"address":"192.0.2.66"}', 'ann');
select switch_manage('leaf1', '{"credentials":{"snmp_user":"u","host_key_any":true}}', 'ann');
select switch_manage('leaf1', '{"ports":{"ssh":2222}}', 'ann');
select host(address), credentials, encode(secrets_sealed, 'hex') from switch_endpoint;
select switch_manage('leaf1', '{"address":"10.0.0.2","secrets_sealed":"11ff"}', 'ann');
select host(address), encode(secrets_sealed, 'hex') from switch_endpoint;
\echo S24: the first host key is the only one from then on, where any is taken
select switch_manage('leaf2', '{"address":"10.0.0.3","credentials":{"ssh_user":"u","host_key_any":true},"secrets_sealed":"22ff"}', 'ann');
set role peregrined;
select switch_host_key_keep((select id from switch where name = 'leaf2'), 'SHA256:' || repeat('a', 43));
select switch_host_key_keep((select id from switch where name = 'leaf2'), 'SHA256:' || repeat('b', 43));
select switch_host_key_keep((select id from switch where name = 'leaf1'), 'SHA256:' || repeat('b', 43));
select switch_host_key_keep(1, 'anything');
reset role;
select credentials, encode(secrets_sealed, 'hex') from switch_endpoint e join switch s on s.id = e.switch_id order by s.name;
select subject, message from event where kind = 'switch.host_key';
\echo S7: a libvirt URI starts no program
select node_put('{"name":"n3","bmc":{"driver":"libvirt","uri":"qemu+ext:///system?command=/bin/x"}}', false, 'ann');
select node_put('{"name":"n3","bmc":{"driver":"libvirt","uri":"qemu+ssh://h/system?command=/bin/x"}}', false, 'ann');
select node_put('{"name":"n3","bmc":{"driver":"libvirt","uri":"qemu:///system?socket=/x"}}', false, 'ann');
select node_put('{"name":"n3","bmc":{"driver":"libvirt","uri":"qemu+tls://h1/system#n3"}}', false, 'ann');
insert into bmc (node_id, driver, uri) select id, 'libvirt', 'xen+ext:///?command=x' from node where name = 'n2' on conflict (node_id) do update set driver = excluded.driver, uri = excluded.uri, address = null;
