#include "portal/server/alert_store.h"

#include "portal/server/alert_text.h"
#include "portal/server/store_text.h"

#define SERVER_ALERT_STORE_ANSWER(status, location, body, from) \
	STORE_ANSWER("select " status " as status, " location   \
		     " as location, null::bigint as version, " body " as body " from)
#define SERVER_ALERT_STORE_KEPT "nullif(current_setting('haas.result', true), '')::bigint"
#define KEEP(call)              "select set_config('haas.result', " call "::text, true)"

/* clang-format off */
#define ALERT_DETAIL                                                                                                                        \
	ALERT_ITEM " || jsonb_build_object('value', a.detail -> 'value', 'peak', a.detail -> 'peak', 'unit', coalesce(a.detail ->> 'unit', ''), " \
	"'drill', coalesce(a.detail ->> 'drill', ''), 'drill_at', case when a.cleared_at is not null then to_char(least(a.cleared_at, "          \
	"a.raised_at + interval '4 minutes') at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') end, "                                   \
	"'suspects', case when haas.is_operator() then coalesce(a.detail -> 'suspects', '[]') else '[]' end)"

/* --- alerts --- */

const struct db_query store_alert_list = {
	"alert_list",
	STORE_PAGE("a.id", ALERT_ITEM,
		   "haas.alert a where ($2::bigint is null or a.id > $2::bigint) and ($3::text = 'all' or a.cleared_at is null "
		   "and ($3::text = 'silenced') = ((haas.alert_silence_of(a.kind, a.subject)).id is not null)) "
		   "and ($4::text is null or a.kind like $4) and ($5::text is null or a.subject = $5)",
		   "a.id"),
	5};
const struct db_query store_alert_get = {
	"alert_get", "select (" ALERT_DETAIL ")::text from haas.alert a where a.id = $1::bigint", 1};
const struct db_query store_alert_acknowledge = {
	"alert_acknowledge", "select haas.alert_acknowledge($1::bigint, $2)", 2};
const struct db_query store_alert_told = {
	"alert_told", SERVER_ALERT_STORE_ANSWER("200", "null", ALERT_DETAIL, "from haas.alert a where a.id = $1::bigint"), 1};

/* --- silences --- */

#define SILENCE_ITEM                                                                                                                       \
	"jsonb_build_object('id', s.id, 'kind', s.kind, 'subject', s.subject, 'reason', s.reason, 'actor', s.actor, 'created_at', "         \
	"s.created_at, 'until', s.until, 'ended_by', s.ended_by, 'silent', (select count(*) from haas.alert a where a.cleared_at is null "  \
	"and s.until > now() and starts_with(a.kind, s.kind) and starts_with(a.subject, s.subject)))"

const struct db_query store_silence_list = {
	"silence_list",
	STORE_PAGE("s.id", SILENCE_ITEM,
		   "haas.alert_silence s where ($2::bigint is null or s.id > $2::bigint) and ($3::text = 'all' or s.until > now())", "s.id"),
	3};
const struct db_query store_silence_put = {
	"silence_put", KEEP("haas.alert_silence_add($1, $2, $3, $4::bigint, $5)"), 5};
const struct db_query store_silence_made = {
	"silence_made", SERVER_ALERT_STORE_ANSWER("201", "'/api/v1/silences/' || s.id", SILENCE_ITEM, "from haas.alert_silence s where s.id = " SERVER_ALERT_STORE_KEPT), 0};
const struct db_query store_silence_end = {
	"silence_end", SERVER_ALERT_STORE_ANSWER("204", "null", "null::jsonb", "from (select haas.alert_silence_end($1::bigint, $2) offset 0) r"), 2};

/* --- cases --- */

/* A tenant sees only cases whose report is his to read, and nobody's names in them. */
#define CASE_ITEM                                                                                                                          \
	"jsonb_build_object('id', c.id, 'tenant', nullif(c.tenant, ''), 'alert', case when haas.is_operator() then c.alert_id end, 'text', "  \
	"c.text, 'state', case when c.published_at is not null then 'published' when c.closed_at is not null then 'closed' else 'open' end, "  \
	"'opened_by', case when haas.is_operator() then c.opened_by end, 'opened_at', c.opened_at, 'closed_at', c.closed_at, 'seconds', "      \
	"extract(epoch from coalesce(c.closed_at, now()) - c.opened_at)::bigint, 'answer', c.answer)"
#define CASE_ENTRIES                                                                                                                       \
	"jsonb_build_object('entries', (select coalesce(jsonb_agg(jsonb_build_object('at', e.at, 'seconds', "                                \
	"extract(epoch from e.at - c.opened_at)::bigint, 'actor', e.actor, 'kind', e.kind, 'text', e.text, 'detail', e.detail) order by e.id), "  \
	"'[]') from haas.case_entry e where e.case_id = c.id))"

const struct db_query store_case_list = {
	"case_list",
	STORE_PAGE("c.id", CASE_ITEM,
		   "haas.case_file c where ($2::bigint is null or c.id > $2::bigint) and ($3::text = 'all' or c.closed_at is null) "
		   "and ($4::text is null or c.tenant = $4)",
		   "c.id"),
	4};
const struct db_query store_case_get = {
	"case_get", "select (" CASE_ITEM " || " CASE_ENTRIES ")::text from haas.case_file c where c.id = $1::bigint", 1};
const struct db_query store_case_report = {
	"case_report", "select jsonb_build_object('id', c.id, 'report', haas.case_report(c.id))::text from haas.case_file c where c.id = $1::bigint", 1};
const struct db_query store_case_open = {
	"case_open", KEEP("haas.case_open($1, $2::bigint, $3, $4)"), 4};
const struct db_query store_case_opened = {
	"case_opened", SERVER_ALERT_STORE_ANSWER("201", "'/api/v1/cases/' || c.id", CASE_ITEM " || " CASE_ENTRIES, "from haas.case_file c where c.id = " SERVER_ALERT_STORE_KEPT), 0};
const struct db_query store_case_note = {
	"case_note", "select haas.case_note($1::bigint, $2, $3, '{}', $4)", 4};
const struct db_query store_case_close = {
	"case_close", "select haas.case_close($1::bigint, $2, $3::boolean, $4)", 4};
const struct db_query store_case_publish = {
	"case_publish", "select haas.case_publish($1::bigint, $2)", 2};
const struct db_query store_case_told = {
	"case_told", SERVER_ALERT_STORE_ANSWER("200", "null", CASE_ITEM " || " CASE_ENTRIES, "from haas.case_file c where c.id = $1::bigint"), 1};
const struct db_query store_case_query = {
	"case_query", "select haas.case_query($1::bigint, $2::jsonb, $3)", 3};
const struct db_query store_case_path = {
	"case_path", "select haas.case_path($1::bigint, $2::jsonb, $3)", 3};
const struct db_query store_case_alert = {
	"case_alert", "select haas.case_alert($1::bigint, $2::bigint, $3)", 3};
/* clang-format on */
