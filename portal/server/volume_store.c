#include "portal/server/volume_store.h"

#include "portal/server/store_text.h"

/* clang-format off */
#define SERVER_VOLUME_STORE_KEPT "nullif(current_setting('haas.result', true), '')::bigint"
/* Where a file lies on the storage is for operators. */
#define TOLD(problem) "case when haas.is_operator() then " problem " else " problem " - 'detail' end"

/* v is volume_view. */
#define VOLUME_ITEM                                                                                                                                \
	"jsonb_build_object('id', v.id, 'name', v.name, 'kind', v.kind, 'tenant', v.tenant, 'pdci', v.pdci, 'size_bytes', v.size_bytes, "          \
	"'node', v.node, 'disk', v.disk, 'storage', v.storage, 'state', v.state, 'keep', v.keep, 'done_bytes', v.done_bytes, "                     \
	"'archive', v.archive, 'problem', " TOLD("v.problem") ", 'version', v.version, 'actor', v.actor, 'created_at', v.created_at, "             \
	"'ready_at', v.ready_at, 'ended_at', v.ended_at)"
/* How nodes reach it; the secret is told by the action of that name only. */
#define VOLUME_WHOLE                                                                                                                               \
	VOLUME_ITEM " || jsonb_build_object('target', v.target, 'portal', v.portal, 'unit', 1, 'user', 'v' || v.id || '-' || v.secret_number, "    \
	"'initiators', coalesce(v.served, '[]'))"

#define VOLUME_KEY "v.tenant || ' ' || coalesce(v.pdci, '') || ' ' || v.kind || ' ' || v.name || ' ' || coalesce(v.id::text, '')"

const struct db_query store_volume_list = {
	"volume_list",
	STORE_PAGE(VOLUME_KEY, VOLUME_ITEM,
		   "haas.volume_view v where ($2::text is null or (" VOLUME_KEY ") collate \"C\" > $2) and ($3::text is null or v.tenant = $3) "
		   "and ($4::text is null or v.pdci = $4) and ($5::text is null or v.kind = $5) and ($6::text is null or v.state = $6) "
		   "and ($7::text is null or v.name = $7) and ($8::boolean is null or (v.state <> 'deleted') = $8::boolean)",
		   "(" VOLUME_KEY ") collate \"C\""),
	8};

const struct db_query store_pdci_volumes = {
	"pdci_volumes",
	STORE_PAGE(VOLUME_KEY, VOLUME_ITEM,
		   "haas.volume_view v where ($2::text is null or (" VOLUME_KEY ") collate \"C\" > $2) and v.pdci_id = haas.pdci_find($3, $4)",
		   "(" VOLUME_KEY ") collate \"C\""),
	4};

const struct db_query store_volume_get = {
	"volume_get", "select (" VOLUME_WHOLE ")::text from haas.volume_view v where v.id = haas.volume_find($1, $2)", 2};

const struct db_query store_volume_create = {
	"volume_create",
	"select set_config('haas.result', haas.volume_create($1, jsonb_strip_nulls(jsonb_build_object('name', $2::text, 'size_bytes', $3::bigint, "
	"'archive', case when $4::text is not null then haas.archive_find($4, null) end, 'storage', $5::text, "
	"'pdci', case when $6::text is not null then haas.pdci_find($6, $1) end, 'keep', $7::boolean)), $8)::text, true)",
	8};

#define SERVER_VOLUME_STORE_CHANGED(status)                                                                                                                            \
	STORE_ANSWER("select " status " as status, '/api/v1/volumes/' || v.id as location, null::bigint as version, " VOLUME_WHOLE                 \
		     " as body from haas.volume_view v where v.id = " SERVER_VOLUME_STORE_KEPT)
const struct db_query store_volume_created = {"volume_created", SERVER_VOLUME_STORE_CHANGED("201"), 0};
const struct db_query store_volume_changed = {"volume_changed", SERVER_VOLUME_STORE_CHANGED("202"), 0};

#define ON_VOLUME(call)                                                                                                                            \
	"select set_config('haas.result', f.id::text, true), haas." call " from (select haas.volume_find($1, $2) as id offset 0) f"
const struct db_query store_volume_attach = {"volume_attach", ON_VOLUME("volume_attach(f.id, haas.pdci_find($4, $2), $3)"), 4};
const struct db_query store_volume_detach = {"volume_detach", ON_VOLUME("volume_detach(f.id, $3)"), 3};
const struct db_query store_volume_resize = {"volume_resize", ON_VOLUME("volume_resize(f.id, $4::bigint, $3)"), 4};
const struct db_query store_volume_delete = {"volume_delete", ON_VOLUME("volume_delete(f.id, $3)"), 3};
const struct db_query store_volume_secret = {"volume_secret", ON_VOLUME("volume_secret_set(f.id, $4, $3)"), 4};
const struct db_query store_volume_archive = {
	"volume_archive", "select set_config('haas.result', haas.archive_create(haas.volume_find($1, $2), $4, $3)::text, true)", 4};

const struct db_query store_volume_key = {
	"volume_key",
	"select encode(s.public_key, 'hex') from haas.volume v join haas.storage s on s.id = v.storage_id where v.id = haas.volume_find($1, $2)", 2};

/* a is archive. The tenant of one that was granted is not told. */
#define ARCHIVE_ITEM                                                                                                                               \
	"jsonb_build_object('id', a.id, 'name', a.name, 'tenant', (select t.name from haas.tenant t where t.id = a.tenant_id), "                   \
	"'volume', a.volume, 'storage', (select s.name from haas.storage s where s.id = a.storage_id), 'size_bytes', a.size_bytes, "               \
	"'stored_bytes', a.stored_bytes, 'digest', a.digest, 'stored_digest', a.stored_digest, 'state', case when a.wanted = 'absent' "            \
	"and a.state <> 'deleted' then 'deleting' else a.state end, 'done_bytes', a.done_bytes, 'problem', " TOLD("a.problem") ", "                \
	"'granted', not haas.in_scope(a.tenant_id), 'actor', a.actor, 'version', a.version, 'created_at', a.created_at, "                          \
	"'ready_at', a.ready_at, 'ended_at', a.ended_at)"

const struct db_query store_archive_list = {
	"archive_list",
	STORE_PAGE("a.id", ARCHIVE_ITEM,
		   "haas.archive a where ($2::bigint is null or a.id < $2::bigint) "
		   "and ($3::text is null or a.tenant_id = (select t.id from haas.tenant t where t.name = $3)) and ($4::text is null or a.state = $4) "
		   "and ($5::text is null or a.name = $5) and ($6::boolean is null or (a.state <> 'deleted') = $6::boolean)",
		   "a.id desc"),
	6};

const struct db_query store_archive_get = {
	"archive_get", "select (" ARCHIVE_ITEM ")::text from haas.archive a where a.id = haas.archive_find($1, $2)", 2};

const struct db_query store_archive_delete = {
	"archive_delete",
	"select set_config('haas.result', f.id::text, true), haas.archive_delete(f.id, $3) from (select haas.archive_find($1, $2) as id offset 0) f", 3};

const struct db_query store_archive_changed = {
	"archive_changed",
	STORE_ANSWER("select 202 as status, '/api/v1/archives/' || a.id as location, null::bigint as version, " ARCHIVE_ITEM
		     " as body from haas.archive a where a.id = " SERVER_VOLUME_STORE_KEPT),
	0};

/* s is storage. */
#define STORAGE_ITEM                                                                                                                               \
	"jsonb_build_object('name', s.name, 'driver', s.driver, 'portal', s.portal, 'iqn', s.iqn, 'login', s.login, "                              \
	"'port', (select w.name || ':' || s.port from haas.switch w where w.id = s.switch_id), 'prefix', s.prefix::text, "                         \
	"'capacity_bytes', s.capacity_bytes, 'used_bytes', haas.storage_used(s.id), 'total_bytes', s.total_bytes, 'free_bytes', s.free_bytes, "    \
	"'accepts', s.accepts, 'state', case when s.seen_at is null then 'never_seen' when s.seen_at < now() - interval '1 minute' then 'silent' " \
	"when s.problem is not null then 'degraded' else 'ready' end, 'problem', s.problem, 'seen_at', s.seen_at, 'created_at', s.created_at)"

const struct db_query store_storage_list = {
	"storage_list",
	STORE_PAGE("s.name", STORAGE_ITEM, "haas.storage s where ($2::text is null or s.name collate \"C\" > $2)", "s.name collate \"C\""), 2};
const struct db_query store_storage_get = {"storage_get", "select (" STORAGE_ITEM ")::text from haas.storage s where s.name = $1", 1};
const struct db_query store_storage_put = {"storage_put", "select haas.storage_put($1, $2::jsonb, $3)", 3};
const struct db_query store_storage_done = {
	"storage_done",
	STORE_ANSWER("select 200 as status, null as location, null::bigint as version, " STORAGE_ITEM " as body from haas.storage s where s.name = $1"), 1};
/* clang-format on */
