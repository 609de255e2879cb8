-- Statements of peregrine/flowd/sampling_watch.c.

-- :statement sampling_set_rates
-- :columns switch_id, rate_low, rate_high, managed, origin
select x.switch_id, x.rate_low, x.rate_high, x.state in ('applied', 'silent') as managed,
 case when x.state = 'off' then 'never' when x.state in ('applied', 'silent') and coalesce(o.family, '') not like 'cisco-ios%' then 'due' else 'other' end as origin
 from haas.sampling_state x left join haas.switch_observed o using (switch_id)
 where x.state in ('applied', 'silent') and x.rate_high > 0 or x.state in ('off', 'refused', 'foreign')

-- :statement sampling_told
select haas.sampling_told($1::jsonb)
