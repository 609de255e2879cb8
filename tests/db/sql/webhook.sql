select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
-- Times and transactions vary and are not shown.
create function say(p_kind text, p_tenant bigint, p_message text, p_count integer default 1) returns bigint language sql
as $$ select count(haas.event_add('ann', p_kind, 'node', 'n1', p_tenant, p_message || case when p_count > 1 then ' ' || n else '' end)) from generate_series(1, p_count) n $$;
create view log as select d.webhook_id as webhook, d.id, e.kind, e.message, d.state, d.attempts, d.status, d.problem ->> 'message' as problem
	from webhook_delivery d join event e on e.id = d.event_id order by d.webhook_id, d.id;
-- Everything that is due, from queue to log: in the order in which it was sent. p_problem null: the receiver took it.
create function deliver_due(p_webhook bigint, p_problem jsonb default null, p_most integer default 100) returns table (told text) language plpgsql as $$
declare
	t record;
begin
	update haas.webhook set next_at = now() - interval '1 s' where id = p_webhook;
	update haas.webhook set next_at = 'infinity' where id <> p_webhook;
	for i in 1 .. p_most loop
		select * into t from haas.webhook_take();
		exit when t.delivery is null;
		perform haas.webhook_done(t.delivery, t.generation, case when p_problem is null then 200 else 500 end, 5, p_problem);
		told := t.webhook || ' ' || t.kind || ': ' || (t.body::jsonb -> 'data' ->> 'message');
		return next;
	end loop;
end
$$;
\echo made: of the site, of acme, of globex; a tenant makes none of another, none of the site, none without TLS
select say('node.moved', null, 'before all of them');
select webhook_add(null, '{"name":"all","url":"http://receiver.example/site"}', '\x01', 'ann') as site \gset
select webhook_add('globex', '{"name":"theirs","url":"https://receiver.example/globex","kinds":["pdci."]}', '\x03', 'ann') as globex \gset
set session authorization portald_tenant;
\set QUIET on
begin;
select scope_as('acme') \g /dev/null
select webhook_add('acme', '{"name":"pdcis","url":"https://receiver.example/acme?key=word","kinds":["pdci.","node.moved"]}', '\x02', 'bob') as acme \gset
commit;
begin;
select scope_as('acme') \g /dev/null
select webhook_add('globex', '{"name":"not ours","url":"https://receiver.example/"}', '\x02', 'bob');
rollback;
begin;
select scope_as('acme') \g /dev/null
select webhook_add(null, '{"name":"of nobody","url":"https://receiver.example/"}', '\x02', 'bob') as nobodys \gset
select count(*) filter (where tenant_id = 1) as acme, count(*) from webhook;
rollback;
begin;
select scope_as('acme') \g /dev/null
select webhook_add('acme', '{"name":"plain","url":"http://receiver.example/"}', '\x02', 'bob');
rollback;
begin;
select scope_as('acme') \g /dev/null
select webhook_add('acme', '{"name":"pdcis","url":"https://receiver.example/"}', '\x02', 'bob');
rollback;
reset session authorization;
select webhook_add(null, '{"name":"word","url":"https://user:word@receiver.example/"}', '\x01', 'ann');
select webhook_add(null, '{"name":"subject","url":"https://receiver.example/","subject":"n1"}', '\x01', 'ann');
select webhook_add(null, '{"name":"kinds","url":"https://receiver.example/","kinds":["PDCI"]}', '\x01', 'ann');
select w.name, t.name as tenant, created_by, w.version_number, kinds from webhook w left join tenant t on t.id = w.tenant_id order by w.id;
\echo sixteen of a tenant, not more
begin;
select count(webhook_add('globex', jsonb_build_object('name', 'w' || n, 'url', 'https://receiver.example/'), '\x02', 'ann')) from generate_series(2, 16) n;
select webhook_add('globex', '{"name":"w17","url":"https://receiver.example/"}', '\x02', 'ann');
rollback;
\echo events become deliveries: the site is told of all, a tenant of its own, each of how it was made, nobody of what was before
select say('pdci.ready', 1, 'of acme'), say('pdci.ready', 2, 'of globex'), say('node.moved', null, 'of nobody'), say('other.kind', 1, 'of acme, not asked for');
select webhook_fill();
select w.name, l.kind, l.message, l.state from log l join webhook w on w.id = l.webhook;
\echo filled again: nothing is doubled
select webhook_fill();
select count(*) from webhook_delivery;
\echo what is not committed waits: an event of an open transaction has no delivery yet, and is not passed over
begin;
select say('pdci.ready', 1, 'uncommitted');
select webhook_fill();
select count(*) from log where message = 'uncommitted';
commit;
select webhook_fill();
select webhook = :acme as acme, message from log where message = 'uncommitted' order by 1;
\echo what is sent: the event as the API has it, under the names of CloudEvents
update webhook set next_at = case when id = :acme then now() - interval '1 s' else 'infinity' end;
select webhook = :acme as acme, generation, of_tenant, url, secret, kind, jsonb_set(jsonb_set(jsonb_set(jsonb_set(body::jsonb, '{id}', '""'), '{time}', '""'), '{data,id}', '""'), '{data,at}', '""') from webhook_take();
\echo taken: nobody else takes it while the lease holds, nor the next of the same webhook
select delivery from webhook_take();
\echo at least once: its holder died, the lease ends, it is sent again; the late answer of the first counts for nothing
update webhook_delivery set claim_until = now() - interval '1 s' where claim_until is not null;
select generation, kind from webhook_take();
select webhook_done((select min(id) from webhook_delivery where webhook_id = :acme), 1, 500, 5, '{"message":"too late"}');
select state, attempts, problem, claim_until is not null as taken from webhook_delivery where webhook_id = :acme order by id limit 1;
select webhook_done((select min(id) from webhook_delivery where webhook_id = :acme), 2, 200, 5, null);
select told from deliver_due(:acme);
select kind, message, state, attempts, status, problem from log where webhook = :acme;
\echo it fails: the pause grows from 2 s to 300 s, that of the webhook as that of the delivery; one that is taken ends it
select say('pdci.failed', 2, 'refused');
select webhook_fill() \g /dev/null
create function pauses(p_webhook bigint, p_times integer) returns table (n integer, of_webhook integer, of_delivery integer) language plpgsql as $$
begin
	for i in 1 .. p_times loop
		update haas.webhook set next_at = case when id = p_webhook then now() - interval '1 s' else 'infinity' end;
		update haas.webhook_delivery set next_at = now() - interval '1 s' where webhook_id = p_webhook;
		perform haas.webhook_done(t.delivery, t.generation, 500, 5, '{"message":"answered 500"}') from haas.webhook_take() t;
		return query select i, round(extract(epoch from w.next_at - clock_timestamp()))::integer, round(extract(epoch from max(d.next_at) filter (where d.attempts = i) - clock_timestamp()))::integer
			from haas.webhook w join haas.webhook_delivery d on d.webhook_id = w.id where w.id = p_webhook group by w.id;
	end loop;
end
$$;
update webhook_delivery set state = 'delivered' where webhook_id = :globex and id <> (select max(id) from webhook_delivery where webhook_id = :globex);
select * from pauses(:globex, 10);
select failures, failing_since is not null as failing from webhook where id = :globex;
select webhook_take();
update webhook_delivery set next_at = now() - interval '1 s' where webhook_id = :globex;
select told from deliver_due(:globex);
select failures, failing_since is not null as failing from webhook where id = :globex;
\echo an alert while it fails for long; over when it is taken
update webhook set failures = 3, failing_since = now() - interval '1 day' where id = :globex;
select webhook_fill() \g /dev/null
select kind, subject = :'globex' as globex, tenant_id, message, cleared_at is null as open from alert;
update webhook set failures = 0, failing_since = null where id = :globex;
select webhook_fill() \g /dev/null
select kind, cleared_at is null as open from alert;
\echo given up after three days; asked for again it is sent, and not by another tenant
update webhook_delivery set state = 'delivered' where webhook_id = :globex;
select say('pdci.failed', 2, 'old');
select webhook_fill() \g /dev/null
update webhook_delivery set state = 'delivered' where webhook_id = :globex and id not in (select id from log where message = 'old');
select id as old from log where webhook = :globex and message = 'old' \gset
update webhook_delivery set created_at = now() - interval '3 days 1 s' where id = :old;
select told from deliver_due(:globex, '{"message":"answered 500"}');
select message, state, attempts from log where id = :old;
set session authorization portald_tenant;
\set QUIET on
begin;
select scope_as('acme') \g /dev/null
select webhook_redeliver(:globex, :old, 'bob');
rollback;
begin;
select scope_as('globex') \g /dev/null
select webhook_redeliver(:globex, 0, 'eve');
rollback;
begin;
select scope_as('globex') \g /dev/null
select webhook_redeliver(:globex, :old, 'eve') = :old as again;
commit;
reset session authorization;
select told from deliver_due(:globex);
select message, state, attempts, problem from log where id = :old;
\echo one that takes none: a hundred wait, the stream keeps the rest
select say('pdci.burst', 2, 'burst', 250);
select webhook_fill() \g /dev/null
select webhook_fill() \g /dev/null
select state, count(*) from webhook_delivery where webhook_id = :globex group by state order by 1;
select count(*), min(told), max(told) from deliver_due(:globex, null, 60);
select webhook_fill() \g /dev/null
select count(*) from webhook_delivery where webhook_id = :globex and state = 'waiting';
select count(*) from deliver_due(:globex, null, 300);
select webhook_fill() \g /dev/null
select count(*) from deliver_due(:globex, null, 300);
select webhook_fill() \g /dev/null
select count(*) from deliver_due(:globex, null, 300);
select count(distinct message), count(*) from log where webhook = :globex and kind = 'pdci.burst' and state = 'delivered';
\echo the log keeps the newest thousand; what waits is never thrown away
insert into webhook_delivery (webhook_id, event_id, state) select :globex, (select max(id) from event where kind = 'pdci.burst'), 'delivered' from generate_series(1, 1100);
update webhook_delivery set state = 'waiting' where id = :old;
select say('pdci.burst', 2, 'one more');
select webhook_fill() \g /dev/null
select state, count(*), min(id) = :old as old from webhook_delivery where webhook_id = :globex group by state order by 1;
\echo each sees its own; the path of a URL is for who may change it, the secret for nobody
set session authorization portald_tenant;
\set QUIET on
begin;
select scope_as('acme') \g /dev/null
select set_config('haas.role', 'tenant-admin', true) \g /dev/null
select name, webhook_url_seen(url) from webhook order by id;
select set_config('haas.role', 'tenant-member', true) \g /dev/null
select name, webhook_url_seen(url) from webhook order by id;
select count(*), count(*) filter (where webhook_id <> :acme) as of_others from webhook_delivery;
select secret_sealed from webhook;
rollback;
begin;
select scope_as('acme') \g /dev/null
select webhook_change(:globex, 1, '{"disabled":true}', 'bob');
rollback;
begin;
select scope_as('acme') \g /dev/null
select webhook_remove(:site, 'bob');
rollback;
begin;
select scope_as('acme') \g /dev/null
select * from webhook_take();
rollback;
reset session authorization;
\echo changed by who read it last; what happened while it was disabled is not told later
select webhook_change(:acme, 1, '{"disabled":true,"kinds":["pdci."]}', 'ann') = :acme as changed;
select webhook_change(:acme, 1, '{"name":"second"}', 'ann');
select webhook_change(:acme, 2, '{"kinds":["pdci"," "]}', 'ann');
select say('pdci.ready', 1, 'while it is disabled');
select webhook_fill() \g /dev/null
select count(*) from log where webhook = :acme and state = 'waiting';
select webhook_redeliver(:acme, (select min(id) from webhook_delivery where webhook_id = :acme), 'ann');
select webhook_change(:acme, 2, '{"disabled":false}', 'ann') = :acme as changed;
select say('pdci.ready', 1, 'enabled again'), say('node.moved', 1, 'not asked for any more');
select webhook_fill() \g /dev/null
select told from deliver_due(:acme);
select detail -> 'before' ->> 'disabled' as before, detail -> 'after' ->> 'disabled' as after, detail -> 'after' -> 'kinds' as kinds, detail::text like '%word%' as path
	from event where kind = 'webhook.changed' order by id;
\echo removed: its log goes with it, what is under way finds no row, the others stay
update webhook_delivery set state = 'waiting', next_at = now() - interval '1 s', claim_until = null where webhook_id = :acme;
update webhook set next_at = case when id = :acme then now() - interval '1 s' else 'infinity' end;
select delivery as gone from webhook_take() \gset
select webhook_remove(:acme, 'ann');
select count(*) from webhook_delivery where webhook_id = :acme;
select webhook_done(:gone, 1, 200, 5, null);
select webhook_remove(:acme, 'ann');
select name from webhook order by id;
\echo only portal-outward takes and fills
set role portald;
select webhook_fill();
select delivery from webhook_take();
