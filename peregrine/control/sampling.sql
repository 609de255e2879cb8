-- Statements of peregrine/control/sampling.c.

-- :statement sampling_wanted
-- :columns switch_id, switch, enabled, collector, port, rate, header, poll_s, version, change
-- Those with a setting, and those that we once set up and that have none any more.
select v.switch_id, v.switch, v.setting_id is not null and v.enabled as enabled, coalesce(v.collector, '') as collector, coalesce(v.port, 0) as port, coalesce(v.rate, 0) as rate, coalesce(v.header, 0) as header,
 coalesce(v.poll_s, 0) as poll_s, coalesce(v.version, 0) as version, v.managed and (select not haas.restoration_waits()) and (v.repair = 'repair' or v.version is distinct from v.state_version) as change
 from haas.sampling_view v where v.setting_id is not null or v.state not in ('none', 'off', 'new') order by v.switch_id

-- :statement sampling_found
select haas.sampling_found($1::bigint, $2, $3::bigint, $4::int, $5::bigint, $6::bigint, $7::jsonb)
