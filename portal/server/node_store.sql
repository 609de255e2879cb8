-- SQL of the node routes. Answers are columns (status, location, version, body), see store_text.h.
-- :use portal/server/store_text.sql

-- :part node_item
-- One node as the API shows it; v is node_view. The BMC is the operator's business.
jsonb_build_object('name', v.name, 'class', v.class, 'rack', v.rack, 'unit', v.unit, 'firmware', v.firmware, 'secure_boot', v.secure_boot, 'arch', v.arch,
'serial', v.serial, 'uuid', v.uuid, 'state', v.state, 'dirty', v.dirty, 'reason', case when haas.is_operator() then nullif(v.reason, '') end,
'state_actor', case when haas.is_operator() then nullif(v.state_actor, '') end, 'state_since', v.state_since, 'tenant', v.tenant,
'pdci', (select p.name from haas.pdci_node m join haas.pdci p on p.id = m.pdci_id where m.node_id = v.id and m.released_at is null),
'rented_at', (select u.from_at from haas.usage u where u.kind = 'node' and u.subject = v.name and u.to_at is null), 'nics', coalesce(v.nics, '[]'),
'bmc', case when v.bmc_driver is not null and haas.is_operator() then jsonb_build_object('driver', v.bmc_driver,
'address', v.bmc_address, 'port', v.bmc_port, 'username', v.bmc_username, 'cipher_suite', v.bmc_cipher_suite,
'insecure', v.bmc_insecure, 'workarounds', to_jsonb(v.bmc_workarounds), 'tls', v.bmc_tls, 'fingerprint', v.bmc_fingerprint, 'uri', v.bmc_uri,
'problem', v.bmc_problem) end,
'attestation', case when v.attested is not null then jsonb_build_object('attested', v.attested, 'why', nullif(v.attested_why, ''), 'at', v.attested_at) end,
'power', v.power, 'power_at', v.power_at, 'address', v.address, 'health', case when exists (select from haas.health_label l where l.node_id = v.id) then haas.node_health_word(v.id) end,
'location', haas.node_location(v.id),
'deployment', case when v.deployment_id is not null then jsonb_build_object('id', v.deployment_id, 'plan', v.plan,
'state', v.deployment_state, 'step', v.step, 'percent', v.percent, 'progress', v.progress) end,
'version', v.version, 'created_at', v.created_at, 'updated_at', v.updated_at)

-- :part node_put actor, dry_run
-- node_put of one spec `s.spec` beside what is known of the node (v, left joined): members of the BMC that are left out stay as they are (its
-- port, while the driver does).
case when s.spec ? 'bmc' and v.bmc_driver is null and s.spec #> '{bmc,address}' is null and s.spec #> '{bmc,uri}' is null then
'{"result": "refused", "errors": [{"column": "bmc_address", "message": "needed: the node has no BMC yet"}]}'::jsonb
else haas.node_put((s.spec - 'bmc') || case when s.spec ? 'bmc' then jsonb_build_object('bmc', jsonb_strip_nulls(
jsonb_build_object('driver', v.bmc_driver, 'address', v.bmc_address, 'username', v.bmc_username,
'port', case when coalesce(s.spec #>> '{bmc,driver}', v.bmc_driver) = v.bmc_driver then v.bmc_port end,
'cipher_suite', v.bmc_cipher_suite, 'insecure', v.bmc_insecure, 'workarounds', to_jsonb(v.bmc_workarounds), 'tls', v.bmc_tls,
'fingerprint', v.bmc_fingerprint, 'uri', v.bmc_uri) || (s.spec -> 'bmc'))) else '{}' end, ${dry_run}
, ${actor}) end

-- :statement node_list
-- :columns = document
-- :list text
--   name         natural             v.name
--   state        text                v.state::text
--   tenant       natural             v.tenant
--   pdci         natural             (select p.name from haas.pdci_node m join haas.pdci p on p.id = m.pdci_id where m.node_id = v.id and m.released_at is null)
--   step         text                nullif(v.step, '')
--   percent      number              v.percent
--   deployment   text                v.deployment_state::text
--   label        text                (select string_agg(x.l, ', ') from jsonb_array_elements_text(haas.node_health_word(v.id) -> 'labels') x (l))
--   class        natural             nullif(v.class, '')
--   rack         natural             nullif(v.rack, '')
--   unit         number              v.unit
--   port         natural             (select x.l ->> 'switch' || ':' || (x.l ->> 'port') from (select haas.node_location(v.id) as l) x)
--   power        text                v.power::text
--   address      natural             v.address
--   serial       text                nullif(v.serial, '')
--   uuid         text                v.uuid::text
--   firmware     text                v.firmware::text
--   arch         text                v.arch::text
--   secure_boot  text                v.secure_boot::text
--   attested     bool                v.attested
--   dirty        bool                v.dirty
--   reason       text site           nullif(v.reason, '')
--   problem      text site unsorted  v.bmc_problem ->> 'message'
--   bmc_driver   text site           v.bmc_driver::text
--   bmc_address  natural site        v.bmc_address
--   since        time                v.state_since
--   created_at   time                v.created_at
--   updated_at   time                v.updated_at
-- $1 limit $2 cursor $3 state $4 class $5 rack $6 name LIKE $7 tenant -> (page)
${store_page v.name ;; ${node_item} ;; haas.node_view v where ($2::text is null or v.name collate haas.natural_order > $2) and ($3::text is null or v.state = $3::haas.node_state)
and ($4::text is null or v.class = $4) and ($5::text is null or v.rack = $5) and ($6::text is null or v.name like $6)
and ($7::text is null or v.tenant = $7) ;; v.name collate haas.natural_order}

-- :statement node_get
-- :columns = resource
-- Power, lease and deployment change without the version: never 304.
-- $1 name -> (body, version, whole)
select (${node_item})::text as body, v.version, false as whole from haas.node_view v where v.name = $1

-- :statement node_inventory
-- :columns = document
-- $1 name -> (body)
select jsonb_build_object('node', n.name, 'at', i.at, 'deployment', i.deployment_id, 'data', i.data)::text as body
from haas.node n join haas.node_inventory i on i.node_id = n.id where n.name = $1

-- :statement node_drives
-- :columns = document
-- $1 name -> (body)
select jsonb_build_object('items', coalesce(jsonb_agg(jsonb_build_object('serial', d.serial, 'name', d.name, 'model', d.model,
'kind', d.kind, 'size_bytes', d.size_bytes, 'verdict', d.verdict, 'method', d.method, 'reason', d.reason,
'verdict_at', d.verdict_at) order by d.name collate haas.natural_order, d.serial) filter (where d.serial is not null), '[]'))::text as body
from haas.node n left join haas.drive d on d.node_id = n.id where n.name = $1 group by n.id

-- :statement node_console
-- :columns tenant, since_ms, why
-- $1 name -> no row: it may not be seen. In whose name its console is opened (null: an operator's), from when on it may be heard, why not now.
select tenant, since_ms, why from haas.node_console($1)

-- :statement node_console_told
-- :columns tenant, since_ms, why, told
-- $1 node $2 opened, read or typed -> node_console, and the id of the event that tells of it
select tenant, since_ms, why, told from haas.node_console_told($1, $2)

-- :statement node_console_closed
-- $1 id of the event that told of its opening
select haas.node_console_closed($1::bigint)

-- :statement seal_key
-- :columns = public_key
-- -> (hex) of bampid's public key
select encode(public_key, 'hex') as public_key from haas.daemon_key where daemon = 'bampid'

-- :statement node_create
-- What one statement found is kept for the next of the same transaction in the setting haas.result.
-- $1 spec $2 actor
select set_config('haas.result', coalesce((select ${node_put $2 ;; false} from (select $1::jsonb as spec) s
left join haas.node_view v on v.name = s.spec ->> 'name' where v.name is null), '{"result": "exists"}')::text, true)

-- :statement node_created
-- :columns = answer
-- $1 name -> answer
${store_answer select 201 as status, '/api/v1/nodes/' || v.name as location, v.version, ${node_item}
 as body
from haas.node_view v, (select ${kept}::jsonb
 as r) x where v.name = $1 and x.r ->> 'result' = 'created' and x.r -> 'errors' = '[]'
union all select 409, null, null, ${store_problem 409 ;; conflict ;; format('node %s exists', $1::text) ;; 'import its row again to change it: haasctl node import' ;; null} from (select ${kept}::jsonb
 as r) x where x.r ->> 'result' = 'exists'
union all select 409, null, null, ${store_problem 409 ;; conflict ;; 'the node is at odds with what is known' ;; 'correct the values that are named, then repeat' ;; x.r -> 'errors'} from (select ${kept}::jsonb
 as r) x where x.r -> 'errors' <> '[]'}

-- :statement node_lock
-- $1 name $2 actor: locks the row, if any
select haas.node_put(jsonb_build_object('name', n.name), true, $2) from haas.node n where n.name = $1

-- :statement node_patch
-- $1 name $2 version $3 patch $4 actor
select set_config('haas.result', (${node_put $4 ;; false})::text, true)
from (select $3::jsonb || jsonb_build_object('name', $1::text) as spec) s join haas.node_view v on v.name = s.spec ->> 'name'
where v.version = $2::bigint

-- :statement node_patched
-- :columns = answer
-- $1 name -> answer
${store_answer select 200 as status, null as location, v.version, ${node_item}
 as body from haas.node_view v, (select ${kept}::jsonb as r) x
where v.name = $1 and x.r -> 'errors' = '[]'
union all select 409, null, null, ${store_problem 409 ;; conflict ;; 'the node is at odds with what is known' ;; 'correct the values that are named, then repeat' ;; x.r -> 'errors'} from (select ${kept}::jsonb
 as r) x where x.r -> 'errors' <> '[]'
union all select 412, null, null, ${store_problem 412 ;; stale ;; format('node %s was changed meanwhile', $1::text) ;; 'read it again and repeat' ;; null} from haas.node n where n.name = $1 and ${kept}::jsonb
 is null
union all select 404, null, null, ${store_problem 404 ;; not_found ;; format('node %s does not exist', $1::text) ;; 'haasctl node list shows the nodes' ;; null} where not exists (select from haas.node n where n.name = $1)}

-- :statement node_delete
-- :columns = answer
-- $1 name $2 version $3 actor -> answer
${store_answer select case when r.why is null then 204 else 409 end as status, null as location, null as version, case when r.why is not null then ${store_problem 409 ;; conflict ;; r.why ;; 'haasctl deployment create release NODE erases its disks' ;; null} end as body from (select haas.node_delete($1, $2::bigint, $3) as why offset 0) r}

-- :statement node_check
-- Locks the rows of all nodes and their BMCs, in the order of their ids, and keeps what is wrong with each.
-- $1 specs $2 actor: dry run of a sheet
select set_config('haas.result', (with locked as materialized (select haas.node_put_lock(array(select e ->> 'name'
from jsonb_array_elements($1::jsonb) e))) select jsonb_agg(${node_put $2 ;; true} || jsonb_build_object('row', s.spec -> 'row',
'name', s.spec -> 'name') order by s.n)::text
from locked, jsonb_array_elements($1::jsonb) with ordinality s(spec, n) left join haas.node_view v on v.name = s.spec ->> 'name'), true)

-- :statement node_import
-- New ones by name: two sheets that make the same nodes make them in the same order.
-- $1 specs $2 actor $3 dry_run: writes when the dry run found nothing wrong
select ${node_put $2 ;; false} from jsonb_array_elements($1::jsonb) s(spec)
left join haas.node_view v on v.name = s.spec ->> 'name' where not $3::boolean
and not exists (select from jsonb_array_elements(${kept}::jsonb
) e where e -> 'errors' <> '[]') order by s.spec ->> 'name'

-- :statement node_imported
-- :columns = answer
-- $1 dry_run -> answer
${store_answer select case when w.wrong is null then 200 else 409 end as status, null as location, null as version,
case when w.wrong is null then jsonb_build_object('dry_run', $1::boolean,
'created', (select count(*) from jsonb_array_elements(x.r) e where e ->> 'result' = 'created'),
'updated', (select count(*) from jsonb_array_elements(x.r) e where e ->> 'result' = 'updated'),
'rows', (select jsonb_agg(e - 'errors') from jsonb_array_elements(x.r) e))
else ${store_problem 409 ;; conflict ;; 'the sheet is at odds with what is known; nothing was written' ;; 'correct the cells that it names, then import the sheet again' ;; w.wrong} end as body from (select ${kept}::jsonb
 as r) x, lateral (select jsonb_agg(jsonb_build_object('row', e -> 'row') || c) as wrong
from jsonb_array_elements(x.r) e, jsonb_array_elements(e -> 'errors') c) w}

-- :statement node_fire
-- $1 names[] or null: the chosen $2 event $3 actor $4 reason
select set_config('haas.result', (with locked as materialized (select haas.node_lock(${chosen $1}))
select jsonb_agg(jsonb_build_object('node', x.name, 'state', case when n.id is not null then
haas.node_request(n.name, $2::haas.node_event, $3, $4) end) order by x.n)::text
from locked, unnest(${chosen $1}) with ordinality x(name, n) left join haas.node n on n.name = x.name), true)

-- :statement node_fired
-- :columns = answer
-- $1 event -> answer
${store_answer select case when bool_or(i.fired) then 200 when bool_or(i.known) then 409 else 404 end as status, null as location, null as version,
case when bool_or(i.fired) then jsonb_build_object('nodes', jsonb_agg(jsonb_build_object('node', i.node, 'state', i.state,
'refused', i.refused)))  when bool_or(i.known) then ${store_problem 409 ;; conflict ;; case when count(*) = 1 then max(i.refused) else 'all nodes refuse' end ;; 'haasctl node show tells the state' ;; jsonb_agg(jsonb_build_object('node', i.node, 'message', i.refused))} else ${store_problem 404 ;; not_found ;; case when count(*) = 1 then max(i.refused) else 'none of the nodes exists' end ;; 'haasctl node list shows the nodes' ;; null} end as body from (select e ->> 'node' as node, e ->> 'state' is not null as fired, n.id is not null as known, n.state,
case when n.id is null then format('node %s does not exist', e ->> 'node') when e ->> 'state' is null then
format('node %s is %s%s; %s is not possible from there', n.name, n.state, case when n.dirty then ' and dirty' else '' end, $1::text)
end as refused from jsonb_array_elements(${kept}::jsonb
) e left join haas.node n on n.name = e ->> 'node') i}

-- :statement node_action
-- :columns = answer
-- $1 names[] or null: the chosen $2 action $3 params $4 force $5 actor -> answer
-- Each node for itself: what some refuse, the others do.
${store_answer select case when r.job is not null then 202 when r.known then 409 else 404 end as status, '/api/v1/jobs/' || r.job as location,
null as version, case when r.job is not null then jsonb_build_object('job', r.job, 'actions', r.made, 'refused', r.wrong)
else ${store_refused r.known ;; case when r.refused = 1 then r.why else r.refused || ' nodes refuse' end ;; r.hint ;; r.wrong} end as body
from (select count(a.refused) as refused, max(a.job_id) as job, max(a.refused) as why, max(a.hint) as hint,
coalesce(bool_or(${store_known a.node ;; a.refused}), false) as known,
coalesce(jsonb_agg(jsonb_build_object('id', a.action_id, 'node', a.node)) filter (where a.refused is null), '[]') as made,
coalesce(jsonb_agg(jsonb_build_object('node', a.node, 'message', a.refused, 'hint', a.hint)) filter (where a.refused is not null), '[]') as wrong
from haas.node_action_create(${chosen $1}, $2, $3::jsonb, $4::boolean, $5) a) r}
