-- SQL of OS sheets (db/schema/pdci_sheet.sql).
-- :use portal/server/store_text.sql

-- :part places
-- The places of p, a row each: with the words of its own and the node that is there now.
(select coalesce(jsonb_agg(jsonb_build_object('place', y.place, 'group', y.at, 'class', y.class, 'node', m.node, 'hostname', s.hostname, 'addresses', s.addresses,
'ssh_keys', s.ssh_keys, 'user_data', s.user_data, 'packages', s.packages, 'disk', s.disk) order by y.place), '[]')
from (select row_number() over (order by g.at, i)::integer as place, (g.at - 1)::integer as at, coalesce(g.e ->> 'class', '') as class
      from jsonb_array_elements(p.request -> 'groups') with ordinality as g (e, at), generate_series(1, (g.e ->> 'count')::integer) i) y
left join haas.pdci_sheet s on s.pdci_id = p.id and s.place = y.place
left join haas.pdci_node m on m.pdci_id = p.id and m.slot = y.place - 1 and m.released_at is null)

-- :statement pdci_sheet_get
-- :columns = resource
-- $1 id or name $2 tenant -> (body)
select jsonb_build_object('pdci', p.name, 'version', p.sheet_version, 'rows', ${places})::text as body, p.sheet_version as version, false as whole from haas.pdci p where p.id = haas.pdci_find($1, $2)

-- :statement pdci_sheet_facts
-- :columns id, request, refused
-- What rows are checked against: $1 id or name $2 tenant $3 packages that they name -> (id, request, packages that may not be used)
select p.id, p.request::text as request, haas.pdci_sheet_refused(p.id, $3::text[])::text as refused
from haas.pdci p where p.id = haas.pdci_find($1, $2)

-- :statement pdci_sheet_try
-- :columns = document
-- $1 id $2 rows -> (body)
select jsonb_build_object('changes', haas.pdci_sheet_changes($1::bigint, $2::jsonb), 'written', false)::text as body

-- :statement pdci_sheet_put
-- $1 id $2 version $3 rows $4 actor
select set_config('haas.result', haas.pdci_sheet_put($1::bigint, $2::bigint, $3::jsonb, $4)::text, true)

-- :statement pdci_sheet_written
-- :columns = answer
-- $1 id
${store_answer select 200 as status, null as location, p.sheet_version as version, jsonb_build_object('changes', ${kept}::jsonb, 'written', true) as body from haas.pdci p where p.id = $1::bigint}
