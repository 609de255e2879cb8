/* Pieces of SQL that every _store file uses: pages, answers of writes, scopes. JSON is built by
 * PostgreSQL and handed on unchanged. */
#pragma once

/* One page: $1 = limit, $2 = key of the last row before. `from` holds the conditions; the key is
 * opaque for clients (hex of its text). */
#define STORE_PAGE(key, item, from, order)                                                                                                 \
	"select jsonb_build_object('items', coalesce(jsonb_agg(p.item order by p.n) filter (where p.n <= $1::int), '[]'), "                \
	"'next', case when max(p.n) > $1::int then encode(convert_to(max(p.key) filter (where p.n = $1::int), 'UTF8'), 'hex') end)::text " \
	"from (select row_number() over (order by " order ") as n, (" key ")::text as key, " item                                          \
	" as item "                                                                                                                        \
	"from " from " order by " order " limit $1::int + 1) p"

/* The answer of a write, kept for its Idempotency-Key by the statement after it. `rows` selects
 * (status, location, version, body jsonb). */
#define STORE_ANSWER(rows) "with " STORE_ANSWER_ROWS(rows)
/* The same after data-modifying parts, "x as (insert ...), y as (...)": they must stand at the top.
 */
#define STORE_ANSWER_WITH(parts, rows) "with " parts ", " STORE_ANSWER_ROWS(rows)
#define STORE_ANSWER_ROWS(rows)                                                                                                        \
	"answer as (" rows ") select a.status, a.location, a.version, a.body::text, "                                                  \
	"set_config('haas.answer', jsonb_build_object('status', a.status, 'location', a.location, 'body', a.body::text)::text, true) " \
	"from answer a"

/* A problem as a write answers it (RFC 9457); `errors` may be null. */
#define STORE_PROBLEM(status, code, title, hint, errors)                       \
	"jsonb_strip_nulls(jsonb_build_object('type', 'urn:haas:problem:" code \
	"', 'status', " status ", 'code', '" code "', 'title', " title ", "    \
	"'hint', " hint ", 'errors', " errors "))"
