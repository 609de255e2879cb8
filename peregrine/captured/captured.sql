-- Statements of peregrine/captured/captured.c.

-- :statement capture_work
-- :columns id, state, wanted, files, order, left_ms
with swept as materialized (select haas.capture_sweep() as moved) select w.id, w.state, w.wanted, w.files, w."order"::text as order,
 haas.capture_left_ms(w.id) as left_ms
 from swept left join haas.capture_work w on w.collector = $1 where swept.moved is not null and w.id is not null order by w.id

-- :statement capture_keep
-- :columns kept
select haas.capture_keep($1, $2::integer, $3::bigint, $4::bigint) as kept

-- :statement capture_told
select haas.capture_told($1::bigint, $2, $3, $4::jsonb, $5::jsonb)
