#include "portal/server/capture_store.h"

#include "portal/server/store_text.h"

/* clang-format off */
#define CAPTURE_STORE_KEPT "nullif(current_setting('haas.result', true), '')::bigint"

/* c is capture. Where its collector keeps files is for operators. */
#define CAPTURE_ITEM                                                                                                                               \
	"jsonb_build_object('id', c.id, 'tenant', (select t.name from haas.tenant t where t.id = c.tenant_id), 'node', c.node, 'peer', nullif(c.peer, ''), "   \
	"'switch', (select s.name from haas.switch s where s.id = c.switch_id), 'port', c.port, 'filter', c.filter, 'snap_length', c.snap_length, " \
	"'seconds', c.seconds, 'max_bytes', c.max_bytes, 'wrap', c.wrap, 'reason', c.reason, 'requester', c.requester, 'consent', c.consent, "      \
	"'consent_by', c.consent_by, 'state', c.state, 'because', c.because, 'problem', case when haas.is_operator() then c.problem else c.problem - 'detail' end, " \
	"'files', c.files, 'packets', coalesce((c.result ->> 'packets')::bigint, 0), 'bytes', coalesce((c.result ->> 'bytes')::bigint, 0), "         \
	"'stored_bytes', coalesce((c.result ->> 'stored_bytes')::bigint, 0), 'dropped', coalesce((c.result ->> 'dropped')::bigint, 0), "             \
	"'case', case when haas.is_operator() then c.case_id end, 'created_at', c.created_at, 'approved_at', c.approved_at, 'started_at', c.started_at, 'deadline', c.deadline, 'ended_at', c.ended_at)"
#define CAPTURE_WHOLE CAPTURE_ITEM " || jsonb_build_object('result', c.result)"

const struct db_query store_capture_list = {
	"capture_list",
	STORE_PAGE("c.id", CAPTURE_ITEM,
		   "haas.capture c where ($2::bigint is null or c.id < $2::bigint) and ($3::text is null or c.tenant_id = (select t.id from haas.tenant t where t.name = $3)) "
		   "and ($4::text is null or c.state = $4) and ($5::boolean is null or (c.state <> 'ended') = $5::boolean)",
		   "c.id desc"),
	5};
const struct db_query store_capture_get = {"capture_get", "select (" CAPTURE_WHOLE ")::text from haas.capture c where c.id = $1::bigint", 1};
const struct db_query store_capture_start = {
	"capture_start", "select set_config('haas.result', haas.capture_ask($1::jsonb, $2::bigint, $3)::text, true)", 3};
const struct db_query store_capture_vlan = {"capture_vlan", "select haas.capture_vlan($1, $2::integer)", 2};
#define CAPTURE_STORE_CHANGED(status, id)                                                                                                                        \
	STORE_ANSWER("select " status " as status, '/api/v1/captures/' || c.id as location, null::bigint as version, " CAPTURE_WHOLE               \
		     " as body from haas.capture c where c.id = " id)
const struct db_query store_capture_started = {"capture_started", CAPTURE_STORE_CHANGED("201", CAPTURE_STORE_KEPT), 0};
const struct db_query store_capture_changed = {"capture_changed", CAPTURE_STORE_CHANGED("202", "$1::bigint"), 1};
const struct db_query store_capture_approve = {"capture_approve", "select haas.capture_approve($1::bigint, $2)", 2};
const struct db_query store_capture_stop = {"capture_stop", "select haas.capture_stop($1::bigint, $2)", 2};
const struct db_query store_capture_remove = {"capture_remove", "select haas.capture_remove($1::bigint, $2)", 2};
const struct db_query store_capture_read = {
	"capture_read",
	"with may as materialized (select haas.capture_read($1::bigint, $2::bigint = 0, $3) as done) "
	"select coalesce((c.result ->> 'oldest_file')::integer, 0), c.id from may, haas.capture c where may.done is not null and c.id = $1::bigint", 3};
const struct db_query store_capture_watch = {
	"capture_watch",
	"with may as materialized (select haas.capture_watch($1::bigint, $2::bigint = 0, $3) as done) "
	"select c.id from may, haas.capture c where may.done is not null and c.id = $1::bigint", 3};

/* g is capture_grant. */
#define CAPTURE_STORE_GRANT_ITEM                                                                                                                                 \
	"jsonb_build_object('id', g.id, 'tenant', (select t.name from haas.tenant t where t.id = g.tenant_id), 'node', nullif(g.node, ''), "       \
	"'granted_by', g.granted_by, 'created_at', g.created_at, 'expires_at', g.expires_at, 'withdrawn_at', g.withdrawn_at, "                     \
	"'valid', g.withdrawn_at is null and g.expires_at > now())"
const struct db_query store_capture_grants = {
	"capture_grants", STORE_PAGE("g.id", CAPTURE_STORE_GRANT_ITEM, "haas.capture_grant g where ($2::bigint is null or g.id < $2::bigint)", "g.id desc"), 2};
const struct db_query store_capture_grant_put = {
	"capture_grant_put", "select set_config('haas.result', haas.capture_grant_put($1, $2::timestamptz, $3)::text, true)", 3};
const struct db_query store_capture_grant_made = {
	"capture_grant_made",
	STORE_ANSWER("select 201 as status, '/api/v1/capture-grants/' || g.id as location, null::bigint as version, " CAPTURE_STORE_GRANT_ITEM
		     " as body from haas.capture_grant g where g.id = " CAPTURE_STORE_KEPT),
	0};
const struct db_query store_capture_grant_withdraw = {
	"capture_grant_withdraw",
	STORE_ANSWER_WITH("gone as materialized (select haas.capture_grant_withdraw($1::bigint, $2) as done) ",
			  "select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null"),
	2};

/* p is capture_point, s its switch. */
#define POINT_ITEM                                                                                                                                 \
	"jsonb_build_object('switch', s.name, 'collector', p.collector, 'port', p.port, 'interface', p.interface, 'kind', p.kind, 'session', p.session, " \
	"'address', host(p.address), 'origin', host(p.origin), "                                                                                           \
	"'there', p.address is not null or exists (select from haas.port_observed o where o.switch_id = p.switch_id and o.name = p.port))"
const struct db_query store_capture_points = {
	"capture_points",
	STORE_PAGE("s.name", POINT_ITEM, "haas.capture_point p join haas.switch s on s.id = p.switch_id where ($2::text is null or s.name collate \"C\" > $2)",
		   "s.name collate \"C\""),
	2};
const struct db_query store_capture_point_put = {"capture_point_put", "select haas.capture_point_put($1, $2::jsonb, $3)", 3};
const struct db_query store_capture_point_done = {
	"capture_point_done",
	STORE_ANSWER("select 200 as status, null as location, null::bigint as version, " POINT_ITEM
		     " as body from haas.capture_point p join haas.switch s on s.id = p.switch_id where s.name = $1"),
	1};
const struct db_query store_capture_point_remove = {
	"capture_point_remove",
	STORE_ANSWER_WITH("gone as materialized (select haas.capture_point_remove($1, $2) as done) ",
			  "select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null"),
	2};
/* clang-format on */
