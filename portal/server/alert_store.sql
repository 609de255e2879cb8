-- SQL of alerts, silences and cases. What writes calls the functions of fabric.sql and alert.sql, in two steps: the change, then the answer.
-- :use portal/server/alert_text.sql
-- :use portal/server/store_text.sql

-- :part answer status, location, body, from
${store_answer select ${status} as status, ${location}
 as location, null::bigint as version, ${body} as body ${from}}

-- :part keep call
select set_config('haas.result', ${call}::text, true)

-- :part alert_detail
${alert_item} || jsonb_build_object('value', a.detail -> 'value', 'peak', a.detail -> 'peak', 'unit', coalesce(a.detail ->> 'unit', ''), 'window_s', a.detail -> 'window_s',
'drill', coalesce(a.detail ->> 'drill', ''), 'drill_at', case when a.cleared_at is not null then to_char(least(a.cleared_at,
a.raised_at + interval '4 minutes') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') end,
'suspects', case when haas.is_operator() then coalesce(a.detail -> 'suspects', '[]') else '[]' end)

-- :statement alert_list
-- :columns = document
-- :list bigint
--   id               number         a.id
--   kind             text           a.kind
--   severity         text           a.severity
--   subject_kind     text           a.subject_kind
--   subject          natural        a.subject
--   tenant           natural        (select t.name from haas.tenant t where t.id = a.tenant_id)
--   message          text unsorted  a.message
--   hint             text unsorted  a.detail ->> 'hint'
--   acknowledged_by  text           a.acknowledged_by
--   raised_at        time           a.raised_at
--   seen_at          time           a.seen_at
--   cleared_at       time           a.cleared_at
-- $1 limit $2 cursor $3 state $4 kind (LIKE) $5 subject -> (page). Of those that only inform (a cable of a node that is off) nobody is told who did not
-- ask for a kind or a subject: as in haasctl status, and as in notices.
${store_page a.id ;; ${alert_item} ;; haas.alert a where ($2::bigint is null or a.id > $2::bigint) and ($3::text = 'all' or a.cleared_at is null
and ($3::text = 'silenced') = ((haas.alert_silence_of(a.kind, a.subject)).id is not null)
and (a.severity <> 'info' or $3::text = 'silenced' or $4::text is not null or $5::text is not null))
and ($4::text is null or a.kind like $4) and ($5::text is null or a.subject = $5) ;; a.id}

-- :statement alert_get
-- :columns = document
-- $1 id -> (body)
select (${alert_detail})::text as body from haas.alert a where a.id = $1::bigint

-- :statement alert_acknowledge
-- $1 id $2 actor
select haas.alert_acknowledge($1::bigint, $2)

-- :statement alert_told
-- :columns = answer
-- $1 id -> answer
${answer 200 ;; null ;; ${alert_detail} ;; from haas.alert a where a.id = $1::bigint}

-- :part silence_item
jsonb_build_object('id', s.id, 'kind', s.kind, 'subject', s.subject, 'reason', s.reason, 'actor', s.actor, 'created_at',
s.created_at, 'until', s.until, 'ended_by', s.ended_by, 'silent', (select count(*) from haas.alert a where a.cleared_at is null
and s.until > now() and starts_with(a.kind, s.kind) and starts_with(a.subject, s.subject)))

-- :statement silence_list
-- :columns = document
-- :list bigint
--   id          number         s.id
--   kind        text           s.kind
--   subject     natural        s.subject
--   reason      text unsorted  s.reason
--   actor       text           s.actor
--   created_at  time           s.created_at
--   until       time           s.until
--   ended_by    text           s.ended_by
-- $1 limit $2 cursor $3 state -> (page)
${store_page s.id ;; ${silence_item} ;; haas.alert_silence s where ($2::bigint is null or s.id > $2::bigint) and ($3::text = 'all' or s.until > now()) ;; s.id}

-- :statement silence_put
-- $1 kind $2 subject $3 reason $4 for_s $5 actor
${keep haas.alert_silence_add($1, $2, $3, $4::bigint, $5)}

-- :statement silence_made
-- :columns = answer
-- -> answer 201
${answer 201 ;; '/api/v1/silences/' || s.id ;; ${silence_item} ;; from haas.alert_silence s where s.id = ${kept}::bigint}

-- :statement silence_end
-- :columns = answer
-- $1 id $2 actor -> answer
${answer 204 ;; null ;; null::jsonb ;; from (select haas.alert_silence_end($1::bigint, $2) offset 0) r}

-- :part case_told
-- Whether the one who asks may know how far it is: an operator, or its tenant once the report is published.
(haas.is_operator() or c.published_at is not null)

-- :part case_item
-- A tenant sees its own complaints, and cases whose report is its to read; no names of operators in them. Its complaint is open until it is told the answer.
jsonb_build_object('id', c.id, 'tenant', nullif(c.tenant, ''), 'alert', case when haas.is_operator() or c.complaint then c.alert_id end, 'text',
c.text, 'state', case when c.published_at is not null then 'published' when c.closed_at is not null and haas.is_operator() then 'closed' else 'open' end, 'complaint', c.complaint,
'opened_by', case when haas.is_operator() or c.complaint then c.opened_by end, 'opened_at', c.opened_at, 'closed_at', case when ${case_told} then c.closed_at end, 'seconds',
extract(epoch from coalesce(case when ${case_told} then c.closed_at end, now()) - c.opened_at)::bigint, 'answer', case when ${case_told} then c.answer else '' end)

-- :part case_entries
jsonb_build_object('entries', (select coalesce(jsonb_agg(jsonb_build_object('at', e.at, 'seconds',
extract(epoch from e.at - c.opened_at)::bigint, 'actor', e.actor, 'kind', e.kind, 'text', e.text, 'detail', e.detail) order by e.id),
'[]') from haas.case_entry e where e.case_id = c.id))

-- :statement case_list
-- :columns = document
-- :list bigint
--   id         number         c.id
--   tenant     natural        nullif(c.tenant, '')
--   alert      number site    c.alert_id
--   state      text           case when c.published_at is not null then 'published' when c.closed_at is not null and haas.is_operator() then 'closed' else 'open' end
--   text       text unsorted  c.text
--   opened_by  text site      c.opened_by
--   opened_at  time           c.opened_at
--   closed_at  time           case when haas.is_operator() or c.published_at is not null then c.closed_at end
--   answer     text unsorted  case when haas.is_operator() or c.published_at is not null then c.answer else '' end
-- $1 limit $2 cursor $3 state $4 tenant -> (page)
${store_page c.id ;; ${case_item} ;; haas.case_file c where ($2::bigint is null or c.id > $2::bigint) and ($3::text = 'all' or c.closed_at is null or not ${case_told})
and ($4::text is null or c.tenant = $4) ;; c.id}

-- :statement case_get
-- :columns = document
-- $1 id -> (body)
select (${case_item} || ${case_entries})::text as body from haas.case_file c where c.id = $1::bigint

-- :statement case_report
-- :columns = document
-- $1 id -> (body)
select jsonb_build_object('id', c.id, 'report', haas.case_report(c.id))::text as body from haas.case_file c where c.id = $1::bigint

-- :statement case_open
-- $1 tenant $2 alert $3 text $4 actor; for a tenant its own
${keep haas.case_open($1, $2::bigint, $3, $4)}

-- :statement case_opened
-- :columns = answer
-- -> answer 201
${answer 201 ;; '/api/v1/cases/' || c.id ;; ${case_item} || ${case_entries} ;; from haas.case_file c where c.id = ${kept}::bigint}

-- :statement case_note
-- $1 id $2 kind $3 text $4 actor
select haas.case_note($1::bigint, $2, $3, '{}', $4)

-- :statement case_close
-- $1 id $2 answer $3 publish $4 actor
select haas.case_close($1::bigint, $2, $3::boolean, $4)

-- :statement case_publish
-- $1 id $2 actor
select haas.case_publish($1::bigint, $2)

-- :statement case_told
-- :columns = answer
-- $1 id -> answer
${answer 200 ;; null ;; ${case_item} || ${case_entries} ;; from haas.case_file c where c.id = $1::bigint}

-- :statement case_query
-- $1 id $2 an answer of drill $3 actor: into the case, before it is given
select haas.case_query($1::bigint, $2::jsonb, $3)

-- :statement case_path
select haas.case_path($1::bigint, $2::jsonb, $3)

-- :statement case_alert
select haas.case_alert($1::bigint, $2::bigint, $3)
