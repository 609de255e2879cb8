/* /accounts, /sessions, /tokens: people, what they have open, and what programs use in their name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

#include "portal/server/account_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/fresh_secret.h"
#include "portal/server/identity.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/secret.h"

#define LINK_HOURS  72
#define TOKEN_S     (INT64_C(30) * 86400)
#define TOKEN_S_MAX (INT64_C(366) * 86400)
#define TOKEN_S_MIN 60
#define SCOPES_MAX  32
#define NUMBER_SIZE 24

/* clang-format off */
static const struct member_row invite_members[] = {
	{"name",    MEMBER_TEXT, MEMBER_REQUIRED,  1, IDENTITY_NAME_SIZE - 1, NULL},
	{"role",    MEMBER_WORD, MEMBER_REQUIRED,  0, 0,                      account_role_words},
	{"tenant",  MEMBER_NAME, 0,                0, 0,                      NULL},
	{"os_user", MEMBER_TEXT, 0,                1, 32,                     NULL},
	{"hours",   MEMBER_INT,  0,                1, 720,                    NULL},
};
static const struct member_row account_link_members[] = {
	{"hours", MEMBER_INT, 0, 1, 720, NULL},
};
static const struct member_row patch_members[] = {
	{"disabled", MEMBER_BOOL, 0,               0, 0,  NULL},
	{"role",     MEMBER_WORD, 0,               0, 0,  account_role_words},
	{"os_user",  MEMBER_TEXT, MEMBER_NULLABLE, 1, 32, NULL},
};
static const struct member_row token_members[] = {
	{"name",      MEMBER_TEXT, MEMBER_REQUIRED, 1,           63,          NULL},
	{"role",      MEMBER_WORD, 0,               0,           0,           account_role_words},
	{"scopes",    MEMBER_LIST, MEMBER_REQUIRED, 1,           SCOPES_MAX,  NULL},
	{"expires_s", MEMBER_INT,  0,               TOKEN_S_MIN, TOKEN_S_MAX, NULL},
};
/* clang-format on */

static const char *account_number(const struct exchange *exchange, const char *name,
				  int64_t fallback, char room[NUMBER_SIZE])
{
	const json_t *value = json_object_get(exchange->body, name);

	(void)text_format(room, NUMBER_SIZE, "%" PRId64,
			  value ? (int64_t)json_integer_value(value) : fallback);
	return room;
}

/* A link for a body that has these members; NULL: the request was refused. */
static const struct fresh_secret *account_link_fresh(struct exchange *exchange,
						     const struct member_row *rows, size_t count)
{
	struct error_list errors = {0};

	members_check(exchange->body, rows, count, "", &errors);
	return exchange_refused(exchange, &errors) ? NULL : fresh_secret_new(exchange, "link", "l");
}

static void account_invite(struct exchange *exchange)
{
	const struct fresh_secret *fresh =
		account_link_fresh(exchange, invite_members, COUNT_OF(invite_members));
	char hours[NUMBER_SIZE];

	if (!fresh)
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&account_make_query,
			 {exchange_text(exchange, "name"), exchange_text(exchange, "role"),
			  exchange_text(exchange, "tenant"), exchange_text(exchange, "os_user"),
			  fresh->digest, account_number(exchange, "hours", LINK_HOURS, hours),
			  exchange->actor}},
		},
		1);
}

static void account_link_make(struct exchange *exchange)
{
	const struct fresh_secret *fresh =
		account_link_fresh(exchange, account_link_members, COUNT_OF(account_link_members));
	char hours[NUMBER_SIZE];

	if (!fresh)
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&account_link_query,
			 {exchange_arg(exchange, "{account}"), fresh->digest,
			  account_number(exchange, "hours", LINK_HOURS, hours), exchange->actor}},
		},
		1);
}

static void account_change(struct exchange *exchange)
{
	const json_t *disabled = json_object_get(exchange->body, "disabled");
	const json_t *os_user = json_object_get(exchange->body, "os_user");
	const char *name = exchange_arg(exchange, "{account}");
	struct error_list errors = {0};

	members_check(exchange->body, patch_members, COUNT_OF(patch_members), "", &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&account_patch_query,
			 {name, exchange_arg(exchange, "@version"),
			  disabled ? json_is_true(disabled) ? "true" : "false" : NULL,
			  exchange_text(exchange, "role"),
			  os_user ? json_is_null(os_user) ? "" : json_string_value(os_user) : NULL,
			  exchange->actor}},
			{&account_patched_query, {NULL}},
		},
		2);
}

/* Operators and tenants' admins see the sessions of others; others see their own. */
static const char *account_sees_all(const struct exchange *exchange)
{
	bool all = exchange->identity.role != ACCOUNT_TENANT_MEMBER &&
		   exchange->identity.role != ACCOUNT_ON_CALL;

	return all ? "true" : "false";
}

static void session_read(struct exchange *exchange)
{
	const struct identity *identity = &exchange->identity;
	const char *const params[] = {
		exchange_arg(exchange, "?limit"),
		exchange_arg(exchange, "?cursor"),
		exchange_arg(exchange, "?account"),
		text_or_null(identity->account),
		identity->way == IDENTITY_SESSION ? identity->proof : NULL,
		account_sees_all(exchange),
	};

	exchange_query(exchange, &session_list_query, params, exchange_answer_body);
}

static void token_read(struct exchange *exchange)
{
	const char *const params[] = {
		exchange_arg(exchange, "?limit"),   exchange_arg(exchange, "?cursor"),
		exchange_arg(exchange, "?account"), text_or_null(exchange->identity.account),
		account_sees_all(exchange),
	};

	exchange_query(exchange, &token_list_query, params, exchange_answer_body);
}

/* "{node:read,pdci:write}": scopes that are known hold nothing that needs quotes. */
static void scopes_read(const struct exchange *exchange, struct text *ret,
			struct error_list *errors)
{
	const json_t *scopes = json_object_get(exchange->body, "scopes");
	const char *before = "";
	const json_t *scope;
	size_t i;

	text_add(ret, "{");
	json_array_foreach(scopes, i, scope)
	{
		const char *text = json_string_value(scope);
		char pointer[32];

		if (text && identity_scope_is_known(text)) {
			text_addf(ret, "%s%s", before, text);
			before = ",";
			continue;
		}
		(void)text_format(pointer, sizeof(pointer), "/scopes/%zu", i);
		error_list_value(
			errors, pointer,
			"a noun of the command line and what it may do: node:read, pdci:write, *:read");
	}
	text_add(ret, "}");
}

static void account_routes_token_make(struct exchange *exchange)
{
	CLEANUP(text_done) struct text scopes = {0};
	struct error_list errors = {0};
	const struct fresh_secret *fresh;
	char seconds[NUMBER_SIZE];
	char id[9];

	members_check(exchange->body, token_members, COUNT_OF(token_members), "", &errors);
	if (errors.count == 0)
		scopes_read(exchange, &scopes, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	secret_id_new(id);
	fresh = fresh_secret_new(exchange, "token", id);
	if (!fresh)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&token_make_query,
				{id, fresh->digest, exchange_text(exchange, "name"),
				 exchange_text(exchange, "role"), text_get(&scopes),
				 account_number(exchange, "expires_s", TOKEN_S, seconds),
				 exchange->actor}},
		       },
		       1);
}

static const struct query_row account_query[] = {
	QUERY_LIST,
	QUERY_TENANT,
	{"role", QUERY_WORD, 0, account_role_words, NULL, false, NULL},
	{"disabled", QUERY_BOOL, 0, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row session_query[] = {
	QUERY_PAGE_ID,
	{"account", QUERY_TEXT, IDENTITY_NAME_SIZE - 1, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row token_query[] = {
	QUERY_PAGE_TEXT,
	{"account", QUERY_TEXT, IDENTITY_NAME_SIZE - 1, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route account_routes[] = {
	{HTTP_GET, "/api/v1/accounts", ROLE_TENANT, BODY_NONE, 0, exchange_list, account_query,
	 &account_list_query, {"?limit", "?cursor", "?tenant", "?role", "?disabled"}},
	{HTTP_POST, "/api/v1/accounts", ROLE_TENANT, BODY_JSON, ROUTE_MANAGE, account_invite, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/accounts/{account}", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL, &account_get_query, {"{account}"}},
	{HTTP_PATCH, "/api/v1/accounts/{account}", ROLE_TENANT, BODY_PATCH, ROUTE_MANAGE | ROUTE_IF_MATCH, account_change, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/accounts/{account}/link", ROLE_TENANT, BODY_JSON, ROUTE_MANAGE, account_link_make, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/sessions", ROLE_SELF, BODY_NONE, 0, session_read, session_query, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/sessions/{session}", ROLE_SELF, BODY_NONE, 0, exchange_change, NULL, &session_stop_query, {"{session}", "@actor"}},
	{HTTP_GET, "/api/v1/tokens", ROLE_SELF, BODY_NONE, 0, token_read, token_query, NULL, {NULL}},
	{HTTP_POST, "/api/v1/tokens", ROLE_SELF, BODY_JSON, 0, account_routes_token_make, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/tokens/{token}", ROLE_SELF, BODY_NONE, 0, exchange_change, NULL, &token_stop_query, {"{token}", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
