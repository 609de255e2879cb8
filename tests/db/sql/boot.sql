-- A boot's script is given once, its agent has one key; user data is wiped. Each case is one attack, or one repeat that is none.
select set_config('haas.scope', 'operator', false);
select count(*) from (select node_put(jsonb_build_object('name', 'n' || i, 'nics', jsonb_build_array(jsonb_build_object('name', 'eth0', 'boot', true, 'mac', '52:54:00:00:00:0' || i)),
	'bmc', jsonb_build_object('driver', 'sim', 'address', '10.99.0.' || i)), false, 'ann') from generate_series(1, 2) i) x;
insert into deployment (plan, node_id, node, actor, state, step, due_at, started_at, params) select 'inspect', id, name, 'ann', 'waiting', 'agent', now() + interval '1 hour', now(),
	'{"user_data": "secret", "hostname": "h"}' from node;
create function begin_boot(p_token text) returns void language sql as $$
	insert into boot_intent (node_id, target, deployment_id, token, nonce, changed_at) select node_id, 'agent', id, p_token, p_token, to_timestamp(1000) from deployment where node = 'n1'
	on conflict (node_id) do update set token = excluded.token, fetched_at = null, fetched_by = null, fetched_connection = null, agent_key = null, agent_by = null, ended_at = null,
		ended_why = null;
	delete from boot_alarm;
$$;
create function ask(p_token text, p_connection text default 'c1', p_knows boolean default false, p_leased bigint default 1000, p_mac text default 'm1', p_address text default '10.0.0.1')
returns text language sql as $$
	select verdict from boot_script_fetch(jsonb_build_array(jsonb_build_object('n', 0, 'token', p_token, 'connection', p_connection, 'knows', p_knows, 'leased_s', p_leased,
		'nic', '52:54:00:00:00:01', 'asker', jsonb_build_object('address', p_address, 'mac', p_mac, 'place', 'sw1:e1', 'relay', ''))))
$$;
create function tell(p_token text, p_key text, p_address text default '10.0.0.1') returns text language sql as
	$$ select boot_agent_begin(p_token, repeat(p_key, 64), '52:54:00:00:00:01', jsonb_build_object('address', p_address)) $$;
create view alarms as select kind, message from boot_alarm order by kind;
\echo once: the first is given it; the same connection and who names the token are the same asker
select begin_boot(repeat('a', 32));
select ask(repeat('a', 32)), ask(repeat('a', 32)), ask(repeat('a', 32), 'c2', true), ask(repeat('f', 32));
select * from alarms;
\echo another asker ends the boot: tasks are dropped, the deployment is due, nothing is given any more
insert into agent_task (deployment_id, node_id, token, step, kind, statement, signature) select id, node_id, repeat('a', 32), 'erase', 'erase', '', repeat('0', 128) from deployment where node = 'n1';
select ask(repeat('a', 32), 'c3', false, 1000, 'm2');
select ask(repeat('a', 32)), ask(repeat('a', 32), 'c2', true);
select * from alarms;
select t.state, d.due_at <= now() as due, i.ended_why is not null as ended from agent_task t join deployment d on d.id = t.deployment_id join boot_intent i on i.deployment_id = d.id;
select kind, severity from operation_problem() where kind like 'boot.%';
\echo a relay asks for many: its connection says nothing
select begin_boot(repeat('b', 32));
select ask(repeat('b', 32), ''), ask(repeat('b', 32), '');
\echo the same asker after a new DHCP started again by itself; that is no theft
select begin_boot(repeat('c', 32));
select ask(repeat('c', 32)), ask(repeat('c', 32), 'c2', false, extract(epoch from now() + interval '1 minute')::bigint);
select kind, severity from operation_problem() where kind like 'boot.%';
\echo who names the token from another address, or after an agent used it, is another asker
select begin_boot(repeat('d', 32));
select ask(repeat('d', 32)), ask(repeat('d', 32), 'c2', true, 1000, 'm1', '10.0.0.9');
select begin_boot(repeat('1', 32));
select ask(repeat('1', 32)), tell(repeat('1', 32), '7'), ask(repeat('1', 32), 'c2', true);
\echo iPXE that still waits for its power cycle is told to wait, and does not count
select begin_boot(repeat('2', 32));
select ask(repeat('2', 32), 'c1', false, 900), ask(repeat('2', 32), 'c2', false, 995);
\echo a script that nobody took was given to nobody
select begin_boot(repeat('3', 32));
select ask(repeat('3', 32));
select boot_script_return(repeat('9', 32));
select fetched_at is not null as given from boot_intent;
select boot_script_return(repeat('3', 32));
select boot_script_return(repeat('3', 32));
select fetched_at is not null as given from boot_intent;
\echo what was given before, or since, stays given: another asker ends the boot
select ask(repeat('3', 32), 'c2'), ask(repeat('3', 32), 'c2'), ask(repeat('3', 32), 'c4', true);
select boot_script_return(repeat('3', 32));
select boot_script_return(repeat('3', 32));
select fetched_at is not null as given, fetched_connection from boot_intent;
select ask(repeat('3', 32), 'c5', false, 1000, 'm2');
\echo all of them were taken back
select begin_boot(repeat('3', 32));
select ask(repeat('3', 32), 'c1'), ask(repeat('3', 32), 'c1');
select boot_script_return(repeat('3', 32));
select boot_script_return(repeat('3', 32));
select ask(repeat('3', 32), 'c2');
\echo one agent: the first key stays
select tell(repeat('3', 32), '7'), tell(repeat('3', 32), '7'), tell(repeat('3', 32), '8', '10.0.0.2'), tell(repeat('3', 32), '7');
select agent_key = repeat('7', 64) as kept, agent_seal_key(node_id) is null as nothing_is_sealed from boot_intent;
select * from alarms;
\echo an alarm that comes again and again is one event in ten seconds
select count(boot_alarm_add(1, 'boot.task_refused', 'the same', '', '{}')) from generate_series(1, 5);
select count(*) from event where kind = 'boot.task_refused';
\echo the place: switches hear its MAC at another port, whose reading is fresh
insert into switch (name) values ('leaf1');
create function hear(p_port text, p_age interval default '0') returns integer language sql as
	$$ select nic_stray_put(jsonb_build_array(jsonb_build_object('mac', '52:54:00:00:00:01', 'switch_id', 1, 'port', p_port, 'seen_us', (extract(epoch from now() - p_age) * 1e6)::bigint))) $$;
insert into nic_location (mac, switch_id, port, certainty, sources, since, seen_at) values ('52:54:00:00:00:01', 1, 'p3', 80, '{fdb}', now(), now());
insert into port_intent (switch_id, port, node_id) select 1, 'p9', id from node where name = 'n2';
select begin_boot(repeat('4', 32));
select hear('p9');
select ask(repeat('4', 32)), tell(repeat('4', 32), '7');
select * from alarms;
select kind, severity from operation_problem() where kind = 'boot.foreign_port';
select fetched_at is null as not_fetched, agent_key is null as no_agent, ended_at is null as goes_on from boot_intent;
\echo an old reading refuses nobody, and neither does one that is gone
select hear('p9', '6 minutes');
select ask(repeat('4', 32));
select nic_stray_put('[]'), count(*) from nic_stray;
\echo at another port than planned: refused until the plan says where it is now, or the finding is old
insert into wiring (switch_id, port, node_id, nic) select 1, 'p4', id, 'eth0' from node where name = 'n1';
select begin_boot(repeat('5', 32));
select ask(repeat('5', 32));
select * from alarms;
update nic_location set sources = '{earlier}';
select nic_elsewhere('52:54:00:00:00:01');
update nic_location set sources = '{fdb}', seen_at = now() - interval '6 minutes';
select nic_elsewhere('52:54:00:00:00:01');
update nic_location set seen_at = now();
update wiring set port = 'p3';
select ask(repeat('5', 32)), tell(repeat('5', 32), '7');
select begin_boot(repeat('3', 32));
\echo what bootd may do: nothing of this by hand
set role bampi_bootd;
update boot_intent set ended_at = null;
select nic_stray_put('[]');
select boot_foreign_port(1, '52:54:00:00:00:01', '{}');
insert into boot_alarm (node_id, kind, message) values (1, 'boot.second_fetch', 'x');
select boot_end(repeat('3', 32), 'boot.second_fetch', 'x', '', '{}');
select fetched_by from boot_intent;
insert into agent_task (deployment_id, node_id, token, step, kind, statement, signature) values (1, 1, 'x', 'erase', 'erase', '', repeat('0', 128));
update agent_task set statement = 'x';
reset role;
\echo user data is wiped from an ended task, and from a deployment that needs it no more; a failed one may be retried
insert into agent_task (deployment_id, node_id, token, step, kind, params, statement, signature)
	select id, node_id, repeat('3', 32), 'configure_os', 'configure_os', '{"user_data": "secret", "hostname": "h"}', '', repeat('0', 128) from deployment where node = 'n2';
update agent_task set state = 'taken' where kind = 'configure_os' returning params;
update agent_task set state = 'done' where kind = 'configure_os' returning params;
update deployment set state = 'failed', problem = '{}', due_at = null, ended_at = now() where node = 'n2' returning params;
update deployment set state = 'cleared' where node = 'n2' returning params;
update deployment set state = 'done', due_at = null, ended_at = now() where node = 'n1' returning params;
