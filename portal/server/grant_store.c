#include "portal/server/grant_store.h"

#include "portal/server/store_text.h"

/* clang-format off */
#define GRANT_STORE_KEPT "nullif(current_setting('haas.result', true), '')::bigint"

/* g is object_grant. A row whose object the reader may not see has no name for it. */
#define GRANT_OBJECT                                                                                                                               \
	"coalesce((select i.name || ':' || i.version from haas.image i where i.id = g.image_id), "                                                 \
	"(select p.name || ':' || p.version from haas.package p where p.id = g.package_id), "                                                      \
	"(select a.name from haas.archive a where a.id = g.archive_id), '')"
#define GRANT_STORE_GRANT_ITEM                                                                                                                                 \
	"jsonb_build_object('id', g.id, 'kind', g.kind, 'object', " GRANT_OBJECT ", 'tenant', (select t.name from haas.tenant t "                  \
	"where t.id = g.tenant_id), 'granted_by', g.granted_by, 'created_at', g.created_at, 'expires_at', g.expires_at, "                          \
	"'valid', g.expires_at is null or g.expires_at > now())"

const struct db_query store_grants = {
	"grants",
	STORE_PAGE("g.id", GRANT_STORE_GRANT_ITEM,
		   "haas.object_grant g where ($2::bigint is null or g.id > $2::bigint) and ($3::text is null or g.kind = $3) "
		   "and ($4::text is null or g.tenant_id = (select t.id from haas.tenant t where t.name = $4)) "
		   "and ($5::text is null or " GRANT_OBJECT " = $5)",
		   "g.id"),
	5};

const struct db_query store_grants_put = {
	"grants_put", "select set_config('haas.result', haas.grant_put($1, $2, $3, $4, $5::timestamptz, $6)::text, true)", 6};

const struct db_query store_grants_made = {
	"grants_made",
	STORE_ANSWER("select 201 as status, '/api/v1/grants/' || g.id as location, null::bigint as version, " GRANT_STORE_GRANT_ITEM
		     " as body from haas.object_grant g where g.id = " GRANT_STORE_KEPT),
	0};

const struct db_query store_grants_remove = {
	"grants_remove",
	STORE_ANSWER_WITH("gone as materialized (select haas.grant_remove($1::bigint, $2) as done) ",
			  "select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null"),
	2};

/* p is package. */
#define PACKAGE_ITEM                                                                                                                               \
	"jsonb_build_object('name', p.name, 'version', p.version, 'kind', p.kind, 'tenant', (select t.name from haas.tenant t "                    \
	"where t.id = p.tenant_id), 'public', p.public, 'digest', p.digest, 'size_bytes', p.size_bytes, 'state', p.state, "                        \
	"'received_bytes', p.received_bytes, 'grants', (select coalesce(jsonb_agg(t.name order by t.name), '[]') from haas.object_grant g "        \
	"join haas.tenant t on t.id = g.tenant_id where g.package_id = p.id), 'version_number', p.version_number, 'created_at', p.created_at)"

const struct db_query store_package_list = {
	"package_list",
	STORE_PAGE("p.id", PACKAGE_ITEM,
		   "haas.package p where ($2::bigint is null or p.id > $2::bigint) and ($3::text is null or p.state = $3) and ($4::text is null or p.name like $4)",
		   "p.id"),
	4};

const struct db_query store_package_get = {
	"package_get", "select (" PACKAGE_ITEM ")::text, p.version_number, false from haas.package p where p.name = $1 and p.version = $2", 2};

const struct db_query store_package_create = {
	"package_create",
	STORE_ANSWER_WITH(
		"owner as (select (select t.id from haas.tenant t where t.name = $6) as named, haas.current_tenant() as own), "
		"p as (insert into haas.package (name, version, kind, digest, size_bytes, tenant_id, public) select $1, $2, $3, $4, $5::bigint, "
		"case when $6::text is not null then owner.named when not haas.is_operator() then owner.own end, $7::boolean from owner "
		"where $6::text is null or owner.named is not null returning *), "
		"told as (select haas.event_add($8, 'package.created', 'package', p.name || ':' || p.version, p.tenant_id, 'package announced', "
		"jsonb_build_object('digest', p.digest, 'kind', p.kind)) from p) ",
		"select 201 as status, '/api/v1/packages/' || p.name || '/' || p.version as location, p.version_number as version, " PACKAGE_ITEM
		" as body from p, told union all select 404, null, null, " STORE_PROBLEM(
			"404", "not_found", "format('tenant %s does not exist', $6::text)", "'haasctl tenant list shows the tenants'",
			"null") " from owner where $6::text is not null and owner.named is null"),
	8};

const struct db_query store_package_upload = {
	"package_upload",
	"select p.id, p.state, p.received_bytes, p.size_bytes, p.digest, haas.in_scope(p.tenant_id) from haas.package p where p.name = $1 and p.version = $2",
	2};

const struct db_query store_package_received = {
	"package_received",
	STORE_ANSWER_WITH(
		"p as (update haas.package set received_bytes = $3::bigint, state = $4, version_number = version_number + 1 "
		"where id = $1::bigint and received_bytes = $2::bigint and state = 'uploading' returning *), "
		"told as (select case when p.state = 'ready' then haas.event_add($5, 'package.ready', 'package', p.name || ':' || p.version, p.tenant_id, "
		"'package is whole and its digest fits') end from p) ",
		"select 200 as status, null as location, p.version_number as version, " PACKAGE_ITEM " as body from p, told "
		"union all select 409, null, null, " STORE_PROBLEM("409", "conflict", "'the package was changed meanwhile'",
								   "'read it again and go on at its received_bytes'", "null") " where not exists (select from p)"),
	5};

const struct db_query store_package_delete = {
	"package_delete",
	STORE_ANSWER_WITH("gone as materialized (select haas.package_delete($1, $2, $3) as done) ",
			  "select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null"),
	3};
/* clang-format on */
