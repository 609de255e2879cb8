/* /grants: who may use what is not their own; /packages: software for nodes, kept by its digest. */
#include <stdlib.h>
#include <string.h>

#include "portal/server/content.h"
#include "portal/server/exchange.h"
#include "portal/server/grant_store_sql.h"
#include "portal/server/image_sweep.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/query_policy.h"
#include "portal/server/word_table.h"

#define PACKAGE_BYTES_MAX ((int64_t)1 << 40)

/* clang-format off */
static const struct member_row grant_routes_grant_members[] = {
	{"kind",       MEMBER_WORD, MEMBER_REQUIRED, 0, 0,   grant_kind_words},
	{"object",     MEMBER_TEXT, MEMBER_REQUIRED, 1, 127, NULL},
	{"owner",      MEMBER_NAME, 0,               0, 0,   NULL},
	{"tenant",     MEMBER_NAME, MEMBER_REQUIRED, 0, 0,   NULL},
	{"expires_at", MEMBER_TEXT, MEMBER_NULLABLE, 1, 40,  NULL},
};
static const struct member_row package_members[] = {
	{"name",       MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,                NULL},
	{"version",    MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,                NULL},
	{"kind",       MEMBER_WORD, MEMBER_REQUIRED, 0, 0,                 package_kind_words},
	{"digest",     MEMBER_HEX,  MEMBER_REQUIRED, 0, 64,                NULL},
	{"size_bytes", MEMBER_INT,  MEMBER_REQUIRED, 1, PACKAGE_BYTES_MAX, NULL},
	{"tenant",     MEMBER_NAME, 0,               0, 0,                 NULL},
	{"public",     MEMBER_BOOL, 0,               0, 0,                 NULL},
};
/* clang-format on */

/* A time as queries have it; *ret is the caller's. */
static void grant_routes_check_time(const char *time, struct error_list *errors, char **ret)
{
	static const struct query_row row = {"expires_at", QUERY_TIME, 0, NULL, NULL, false, NULL};
	char allowed[QUERY_ALLOWED_SIZE];

	if (time && query_check(&row, time, ret, allowed) != 0)
		error_list_value(errors, "/expires_at", allowed);
}

static void grant_routes_grant_create(struct exchange *exchange)
{
	CLEANUP(freep) char *expires = NULL;
	struct error_list errors = {0};

	members_check(exchange->body, grant_routes_grant_members,
		      COUNT_OF(grant_routes_grant_members), "", &errors);
	grant_routes_check_time(exchange_text(exchange, "expires_at"), &errors, &expires);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&grants_put_query,
				{exchange_text(exchange, "kind"), exchange_text(exchange, "object"),
				 exchange_text(exchange, "owner"),
				 exchange_text(exchange, "tenant"), expires, exchange->actor}},
			       {&grants_made_query, {NULL}},
		       },
		       2);
}

static bool grant_routes_word_of(const char *text, const char *more)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	char allowed[80];

	(void)text_format(allowed, sizeof(allowed), "%s%s", plain, more);
	return text && strchr(plain, *text) && text[strspn(text, allowed)] == '\0';
}

static void package_create(struct exchange *exchange)
{
	bool public = json_is_true(json_object_get(exchange->body, "public"));
	struct error_list errors = {0};
	char size[24];

	members_check(exchange->body, package_members, COUNT_OF(package_members), "", &errors);
	if (errors.count == 0 && !grant_routes_word_of(exchange_text(exchange, "name"), ".-"))
		error_list_value(&errors, "/name",
				 "the name of a package: letters, digits, dots and dashes");
	if (errors.count == 0 && !grant_routes_word_of(exchange_text(exchange, "version"), "._+-"))
		error_list_value(&errors, "/version", "a version: letters, digits, and ._+-");
	if (errors.count == 0 && public &&
	    (exchange_text(exchange, "tenant") || exchange->tenant[0] != '\0'))
		error_list_pointer(&errors, "/public",
				   "only a package of the operator can be public", "false");
	if (exchange_refused(exchange, &errors))
		return;
	(void)text_format(
		size, sizeof(size), "%lld",
		(long long)json_integer_value(json_object_get(exchange->body, "size_bytes")));
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&package_create_query,
			 {exchange_text(exchange, "name"), exchange_text(exchange, "version"),
			  exchange_text(exchange, "kind"), exchange_text(exchange, "digest"), size,
			  exchange_text(exchange, "tenant"), public ? "true" : "false"}}},
		1);
}

static void package_content(struct exchange *exchange)
{
	static const struct content_kind kind = {"package", &package_upload_query,
						 &package_received_query, -1};

	content_put(exchange, &kind, exchange_arg(exchange, "{package}"),
		    exchange_arg(exchange, "{version}"));
}

static void grant_routes_package_delete(struct exchange *exchange)
{
	image_sweep_soon(exchange->portal->sweep);
	exchange_change(exchange);
}

static const struct query_row grant_routes_grant_query[] = {
	QUERY_LIST,   {"kind", QUERY_WORD, 0, grant_kind_words, NULL, false, NULL},
	QUERY_TENANT, {"object", QUERY_TEXT, 127, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row package_query[] = {
	QUERY_LIST,
	{"state", QUERY_WORD, 0, image_state_words, NULL, false, NULL},
	{"name", QUERY_GLOB, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row grant_routes_content_query[] = {
	{"offset", QUERY_OFFSET, 0, NULL, NULL, true, NULL}, {0}};

/* clang-format off */
const struct route grant_routes[] = {
	{HTTP_GET, "/api/v1/grants", ROLE_TENANT, BODY_NONE, 0, exchange_list, grant_routes_grant_query,
	 &grants_query, {"?limit", "?cursor", "?kind", "?tenant", "?object"}},
	{HTTP_POST, "/api/v1/grants", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT, grant_routes_grant_create, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/grants/{grant}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL, &grants_remove_query, {"{grant}", "@actor"}},
	{HTTP_GET, "/api/v1/packages", ROLE_TENANT, BODY_NONE, 0, exchange_list, package_query,
	 &package_list_query, {"?limit", "?cursor", "?state", "?name"}},
	{HTTP_POST, "/api/v1/packages", ROLE_TENANT, BODY_JSON, ROUTE_IDEMPOTENT, package_create, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/packages/{package}/{version}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL,
	 &package_get_query, {"{package}", "{version}"}},
	{HTTP_DELETE, "/api/v1/packages/{package}/{version}", ROLE_TENANT, BODY_NONE, 0, grant_routes_package_delete, NULL,
	 &package_delete_query, {"{package}", "{version}", "@actor"}},
	{HTTP_PUT, "/api/v1/packages/{package}/{version}/content", ROLE_TENANT, BODY_BYTES, 0, package_content, grant_routes_content_query, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
