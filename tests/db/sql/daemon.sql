\echo each daemon writes its heartbeat, and nobody takes one away
do $$
declare
	r record;
begin
	for r in select * from (values ('portald', 'portald'), ('bampid', 'bampid'), ('bampi_bootd', 'bampi-bootd'), ('bampi_stored', 'bampi-stored'),
			('peregrined', 'peregrined'), ('peregrine_flowd', 'peregrine-flowd'), ('peregrine_captured', 'peregrine-captured')) as v (role, name) loop
		execute format('set role %I', r.role);
		for i in 1 .. 2 loop
			insert into daemon (name, instance, version, started_at) values (r.name, 'c1', '0.1', now())
			on conflict (name, instance) do update set seen_at = now();
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
\echo silence is counted from the instance that was heard last
update daemon set seen_at = now() - interval '90 s' where name = 'bampid';
insert into daemon (name, instance, version, started_at, seen_at) values ('bampid', 'c2', '0.1', now(), now() - interval '12 s');
delete from daemon where name = 'portald';
set role portald;
select x ->> 'message', x ->> 'detail' like 'its last heartbeat came 1_ s ago', x ->> 'hint', x ->> 'since' is not null from daemon_absence('bampid') x;
select daemon_absence('portald');
select daemon_absence('peregrined') is null;
reset role;
