select set_config('haas.scope', 'operator', false) \g /dev/null
insert into tenant (name) values ('acme'), ('globex');
insert into node (name, class) values ('n1', 'gpu'), ('n2', 'gpu');
create function told(p_node bigint, p_minutes integer, p_name text, p_reading jsonb) returns jsonb language sql as $$
	select jsonb_build_object('node_id', p_node, 'at_us', (extract(epoch from date_bin('5 min', now(), 'epoch') - p_minutes * interval '1 min') * 1e6)::bigint, 'alarms', '[]'::jsonb,
		'sensors', jsonb_build_array(jsonb_build_object('number', 1, 'name', 'Inlet', 'unit', 'C', 'reading', 20), jsonb_build_object('number', 2, 'name', p_name, 'unit', 'RPM', 'reading', p_reading)))
$$;
\echo two in the same five minutes: the later one stays; no reading is null; a number that is none is none
select health_sensors_put(jsonb_build_array(told(1, 24, 'Fan 1', '4000'), told(1, 23, 'Fan 1', '4200'), told(1, 15, 'Fan 1', 'null'), told(1, 10, 'Fan 1', '1e300'), told(1, 5, 'Fan 1', '0'),
	told(2, 5, 'Fan 1', '9000'))) \g /dev/null
select node_id, floor(extract(epoch from now() - at) / 300), readings from sensor_reading order by node_id, at;
\echo a part that is exchanged; a day later all that is older has gone, and so have the names that nothing has any more
select health_sensors_put(jsonb_build_array(told(1, 0, 'Fan 1b', '5000'))) \g /dev/null
select names from sensor_set where node_id = 1 order by names;
update sensor_reading set at = at - interval '25 h' where node_id = 1 and at < now() - interval '4 min';
select health_sensors_put(jsonb_build_array(told(1, 0, 'Fan 1b', '5100'))) \g /dev/null
select count(*), max(readings[2]) from sensor_reading where node_id = 1;
select names from sensor_set where node_id = 1;
\echo bounded: 300 rows of a node, however often it is read
select health_sensors_put((select jsonb_agg(told(1, m, 'Fan 1b', to_jsonb(m))) from generate_series(0, 2000) m)) \g /dev/null
select count(*) from sensor_reading where node_id = 1;
\echo an hour in four parts; one sensor
select (s - 'from_at' - 'sensors'), jsonb_array_length(s -> 'sensors') from sensor_series(1, now() - interval '1 h', 4, null) s;
select jsonb_array_length(x -> 'mean'), x ->> 'name', (x -> 'most' ->> 1)::real > (x -> 'least' ->> 1)::real from sensor_series(1, now() - interval '1 h', 4, array['Fan 1b']) s, jsonb_array_elements(s -> 'sensors') x;
select s -> 'sensors' from sensor_series(1, now() - interval '1 h', 4, array['none']) s;
\echo a tenant sees what came since the hand-over, while the node is its own
update node set state = 'reserved', tenant_id = 1 where name = 'n1';
update node set state = 'active' where name = 'n1';
select count(*) from usage;
set session authorization portald_tenant;
begin;
select scope_as('acme') \g /dev/null
select count(*) from sensor_reading;
commit;
reset session authorization;
select set_config('haas.scope', 'operator', false) \g /dev/null
alter table usage disable trigger usage_kept;
update usage set from_at = date_bin('5 min', now(), 'epoch') - interval '10 min';
set session authorization portald_tenant;
begin;
select scope_as('acme') \g /dev/null
select count(*) from sensor_reading;
commit;
begin;
select scope_as('globex') \g /dev/null
select count(*) from sensor_reading;
select count(*) from sensor_set;
commit;
reset session authorization;
select set_config('haas.scope', 'operator', false) \g /dev/null
update node set state = 'scrubbing', dirty = true where name = 'n1';
set session authorization portald_tenant;
begin;
select scope_as('acme') \g /dev/null
select count(*) from sensor_reading;
commit;
