/* /tenants, /jobs, /events, /certificates: what is mostly read. */
#include "portal/server/audit_store_sql.h"
#include "portal/server/event_store_sql.h"
#include "portal/server/event_stream.h"
#include "portal/server/exchange.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/record_store_sql.h"
#include "portal/server/word_table.h"

static const struct member_row tenant_members[] = {
	{"name", MEMBER_NAME, MEMBER_REQUIRED, 0, 0, NULL}};

static void record_routes_tenant_create(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, tenant_members, COUNT_OF(tenant_members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){{
			       &tenant_create_query,
			       {json_string_value(json_object_get(exchange->body, "name"))},
		       }},
		       1);
}

/* The order decides on the list: each needs its own comparison with the cursor. */
static void record_routes_event_list(struct exchange *exchange)
{
	bool oldest = exchange_arg(exchange, "?order")[0] == 'o';

	exchange_list_of(exchange, oldest ? &event_oldest_table : &event_newest_table);
}

static const struct query_row record_routes_page_query[] = {QUERY_LIST, {0}};
static const struct query_row job_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, job_state_words, NULL, false, NULL},
	{0},
};
static const struct query_row event_query[] = {
	QUERY_LIST,
	{"subject_kind", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"subject", QUERY_TEXT, 255, NULL, NULL, false, NULL},
	{"kind", QUERY_GLOB, 63, NULL, NULL, false, NULL},
	{"after", QUERY_ID, 0, NULL, NULL, false, NULL},
	{"order", QUERY_WORD, 0, order_words, "newest", false, NULL},
	{0},
};
static const struct query_row stream_query[] = {
	{"last_event_id", QUERY_POSITION, 0, NULL, NULL, false, "Last-Event-ID"},
	{"subject_kind", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"subject", QUERY_TEXT, 255, NULL, NULL, false, NULL},
	{"kind", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"again", QUERY_BOOL, 0, NULL, "false", false, NULL},
	{"values", QUERY_BOOL, 0, NULL, "false", false, NULL},
	{0},
};
static const struct query_row audit_event_query[] = {
	QUERY_PAGE_TEXT,
	{"after", QUERY_POSITION, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row audit_block_query[] = {
	QUERY_PAGE_ID,
	{"after", QUERY_POSITION, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row certificate_query[] = {
	QUERY_LIST,
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route record_routes[] = {
	{HTTP_GET, "/api/v1/tenants", ROLE_TENANT, BODY_NONE, 0, exchange_list, record_routes_page_query, &tenant_list_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/tenants/{tenant}", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &tenant_get_query, {"{tenant}"}},
	{HTTP_DELETE, "/api/v1/tenants/{tenant}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL, &tenant_delete_query, {"{tenant}", "@actor"}},
	{HTTP_POST, "/api/v1/tenants", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, record_routes_tenant_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/jobs", ROLE_TENANT, BODY_NONE, 0, exchange_list, job_query, &job_list_query, {"?limit", "?cursor", "?state"}},
	{HTTP_GET, "/api/v1/jobs/{job}", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &job_get_query, {"{job}"}},
	{HTTP_GET, "/api/v1/events", ROLE_TENANT, BODY_NONE, 0, record_routes_event_list, event_query,
	 NULL, {"?limit", "?cursor", "?subject_kind", "?subject", "?kind", "?after"}},
	{HTTP_GET, "/api/v1/events/stream", ROLE_TENANT, BODY_NONE, ROUTE_STREAM, event_stream_join, stream_query, NULL, {NULL}},
	{HTTP_GET, "/api/v1/certificates", ROLE_TENANT, BODY_NONE, 0, exchange_list, certificate_query,
	 &certificate_list_query, {"?limit", "?cursor", "?node"}},
	{HTTP_GET, "/api/v1/certificates/{certificate}", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL,
	 &certificate_get_query, {"{certificate}"}},
	{HTTP_GET, "/api/v1/keys/certificate", ROLE_TENANT, BODY_NONE, 0, exchange_read, NULL, &certificate_keys_query, {NULL}},
	{HTTP_GET, "/api/v1/audit/events", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, audit_event_query, &audit_events_query, {"?limit", "?cursor", "?after"}},
	{HTTP_GET, "/api/v1/audit/blocks", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, audit_block_query, &audit_blocks_query, {"?limit", "?cursor", "?after"}},
	{HTTP_GET, "/api/v1/audit/head", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, NULL, &audit_head_query, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
