-- Pieces of SQL that every _store file uses: pages, answers of writes, scopes. JSON is built by PostgreSQL and handed on unchanged.

-- :row document
--   body     JSON, handed on unchanged

-- :row resource
--   body     JSON, handed on unchanged
--   version  for the ETag
--   whole    t: everything in the body changes the version, so that a 304 may be answered

-- :row answer
--   status
--   location
--   version
--   body
--   kept     the answer as haas.answer has it, for its Idempotency-Key

-- :row listed
--   body   the page as JSON, or its rows as lines of CSV
--   next   the cursor behind it; null: there is no more
--   count  of all rows that the filter lets through; null: nobody asked

-- :row upload
--   id
--   state
--   received_bytes
--   size_bytes
--   digest
--   in_scope  t: the asking side may write it

-- :row public_key
--   public_key  in hex; no row, or null: its daemon has not made one yet

-- :part store_page key, item, from, order
-- One page: $1 = limit, $2 = key of the last row before. As json: as jsonb the whole page would be built twice, for half of the time. `from` holds the conditions; the key is opaque for clients (hex of its text).
select json_build_object('items', coalesce(json_agg(p.item order by p.n) filter (where p.n <= $1::int), '[]'),
'next', case when max(p.n) > $1::int then encode(convert_to(max(p.key) filter (where p.n = $1::int), 'UTF8'), 'hex') end)::text as body
from (select row_number() over (order by ${order}) as n, (${key})::text as key, ${item}
 as item
from ${from} order by ${order} limit $1::int + 1) p

-- :part store_answer rows
-- The answer of a write, kept for its Idempotency-Key by the statement after it. `rows` selects (status, location, version, body jsonb).
with ${store_answer_rows ${rows}}

-- :part store_answer_with parts, rows
-- The same after data-modifying parts, "x as (insert ...), y as (...)": they must stand at the top.
with ${parts}, ${store_answer_rows ${rows}}

-- :part store_answer_rows rows
answer as (${rows}) select a.status, a.location, a.version, a.body::text,
set_config('haas.answer', jsonb_build_object('status', a.status, 'location', a.location, 'body', a.body::text)::text, true) as kept
from answer a

-- :part kept
-- Text that an earlier statement of the transaction found or made.
nullif(current_setting('haas.result', true), '')

-- :part chosen names
-- What an action is meant for: names of the request, or what its filter let through (selection.c).
coalesce(${names}::text[], nullif(current_setting('haas.selected', true), '')::text[])

-- :part before
-- What an earlier statement of the transaction found, as JSON, before it changed it.
nullif(current_setting('haas.before', true), '')::jsonb

-- :part store_known node, refused
-- Does a node refuse that exists? The functions say so themselves: a row policy may hide a node that may be asked for.
${refused} <> format('node %s does not exist', ${node})

-- :part store_refused known, title, hint, errors
-- The problem of a write that named nodes: 409 when one of those that refuse is `known`, 404 when there is no such node.
case when ${known} then ${store_problem 409 ;; conflict ;; ${title} ;; ${hint} ;; ${errors}}
else ${store_problem 404 ;; not_found ;; ${title} ;; ${hint} ;; ${errors}} end

-- :part store_problem status, code, title, hint, errors
-- A problem as a write answers it (RFC 9457); `errors` may be null.
jsonb_strip_nulls(jsonb_build_object('type', 'urn:haas:problem:${code}', 'status', ${status}, 'code', '${code}', 'title', ${title},
'hint', ${hint}, 'errors', ${errors}))
