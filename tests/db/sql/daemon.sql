\echo each daemon writes its heartbeat, and nobody takes one away
do $$
declare
	r record;
begin
	for r in select * from (values ('portald', 'portald'), ('bampid', 'bampid'), ('bampi_bootd', 'bampi-bootd'), ('bampi_stored', 'bampi-stored'),
			('peregrined', 'peregrined'), ('peregrine_flowd', 'peregrine-flowd'), ('peregrine_captured', 'peregrine-captured'),
			('portal_outward', 'portal-outward')) as v (role, name) loop
		execute format('set role %I', r.role);
		for i in 1 .. 2 loop
			perform daemon_beat(r.name, 'c1', '0.1', 1);
		end loop;
		reset role;
	end loop;
end
$$;
select name, instance from daemon order by name;
set role bampid;
delete from daemon;
insert into daemon (name, instance, version, started_at) values ('sshd', 'c1', '1', now());
reset role;
set session authorization bampi_bootd;
select haas.daemon_beat('bampid', 'c1', '0.1', 1);
reset session authorization;
\echo a beat makes the check of operation where it is due; one of bampi-bootd never does
update operation_check set at = now() - interval '1 h';
select daemon_beat('bampi-bootd', 'c1', '0.1', 1);
select at < now() from operation_check;
select daemon_beat('peregrined', 'c1', '0.1', 1);
select at > now() - interval '1 min' from operation_check;
\echo silence is counted from the instance that was heard last
update daemon set seen_at = now() - interval '90 s' where name = 'bampid';
insert into daemon (name, instance, version, started_at, seen_at) values ('bampid', 'c2', '0.1', now(), now() - interval '12 s');
delete from daemon where name = 'portald';
set role portald;
select x ->> 'message', x ->> 'detail' like 'its last heartbeat came 1_ s ago', x ->> 'hint', x ->> 'since' is not null from daemon_absence('bampid') x;
select daemon_absence('portald');
select daemon_absence('peregrined') is null;
reset role;
\echo one instance leads; another one takes the lead of one that was silent, and a silent one is refused
set session authorization bampid;
select * from haas.lead_take('bampid', 'c1', 'life1', null);
select * from haas.lead_take('bampid/watch', 'c1', 'life1', 'bampid');
select * from haas.lead_take('bampid', 'c2', 'life2', null);
select * from haas.lead_take('bampid/watch', 'c2', 'life2', 'bampid');
select haas.lead_beat('bampid', 'life1');
select haas.lead_beat('bampid', 'life2');
select haas.lead_take('peregrined', 'c1', 'life1', null);
update haas.daemon_lead set life = 'mine';
reset session authorization;
update daemon_lead set seen_at = now() - interval '11 s' where name = 'bampid';
select * from lead_take('bampid', 'c2', 'life2', null);
select lead_beat('bampid', 'life1');
select lead_hold('bampid', 'life2');
select lead_hold('bampid', 'life1');
\echo a time in the future is of another clock: nobody waits for it
update daemon_lead set seen_at = now() + interval '1 h' where name = 'bampid';
select epoch, leader from lead_take('bampid', 'c3', 'life3', null);
select instance, life, epoch from daemon_lead order by name;
\echo where they work is told while two are heard
insert into daemon (name, instance, version, started_at) values ('peregrined', 'c2', '0.1', now());
select leader_text();
