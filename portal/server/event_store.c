#include "portal/server/event_store.h"

#include "portal/server/store_text.h"

#define EVENT_ITEM                                                                                                      \
	"jsonb_build_object('id', e.id, 'at', e.at, 'actor', e.actor, 'kind', e.kind, 'subject_kind', e.subject_kind, " \
	"'subject', e.subject, 'tenant', (select t.name from haas.tenant t where t.id = e.tenant_id), 'message', e.message, 'detail', e.detail)"

#define EVENT_FILTER                                                                                                                   \
	"($3::text is null or e.subject_kind = $3) and ($4::text is null or e.subject = $4) and ($5::text is null or e.kind like $5) " \
	"and ($6::bigint is null or e.id > $6::bigint)"

const struct db_query store_node_events = {
	"node_events",
	STORE_PAGE(
		"e.id", EVENT_ITEM,
		"haas.event e where e.subject_kind = 'node' and e.subject = $3 and ($2::bigint is null or e.id > $2::bigint) "
		"and ($4::bigint is null or e.id > $4::bigint)",
		"e.id"),
	4};

const struct db_query store_event_newest = {
	"event_newest",
	STORE_PAGE("e.id", EVENT_ITEM,
		   "haas.event e where ($2::bigint is null or e.id < $2::bigint) and " EVENT_FILTER,
		   "e.id desc"),
	6};

const struct db_query store_event_oldest = {
	"event_oldest",
	STORE_PAGE("e.id", EVENT_ITEM,
		   "haas.event e where ($2::bigint is null or e.id > $2::bigint) and " EVENT_FILTER,
		   "e.id"),
	6};

const struct db_query store_stream_start = {
	"stream_start", "select pg_snapshot_xmin(pg_current_snapshot())::text", 0};

const struct db_query store_stream_after = {
	"stream_after",
	"select e.xid::text, e.id, coalesce(t.name, ''), e.subject_kind, e.subject, e.kind, (" EVENT_ITEM
	")::text "
	"from haas.event e left join haas.tenant t on t.id = e.tenant_id "
	"where (e.xid, e.id) > ($1::xid8, $2::bigint) and e.xid < pg_snapshot_xmin(pg_current_snapshot()) "
	"order by e.xid, e.id limit $3::int",
	3};
