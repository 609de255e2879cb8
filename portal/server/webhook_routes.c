/* /webhooks: events that leave the controller by HTTP, and the log of their deliveries. portal-outward
 * calls; here is what was asked for. */
#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"

#include "portal/server/exchange.h"
#include "portal/server/fresh_secret.h"
#include "portal/server/member_check.h"
#include "portal/server/seal.h"
#include "portal/server/store_text_sql.h"
#include "portal/server/webhook_store_sql.h"
#include "portal/server/word_table.h"

#define WEBHOOK_KINDS_MAX 32

/* clang-format off */
static const struct member_row webhook_add_members[] = {
	{"name",         MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,                NULL},
	{"url",          MEMBER_TEXT, MEMBER_REQUIRED, 8, 1000,              NULL},
	{"tenant",       MEMBER_NAME, 0,               0, 0,                 NULL},
	{"kinds",        MEMBER_LIST, 0,               0, WEBHOOK_KINDS_MAX, NULL},
	{"subject_kind", MEMBER_TEXT, 0,               0, 63,                NULL},
	{"subject",      MEMBER_TEXT, 0,               0, 160,               NULL},
	{"disabled",     MEMBER_BOOL, 0,               0, 0,                 NULL},
};
static const struct member_row webhook_patch_members[] = {
	{"name",         MEMBER_TEXT, 0, 1, 63,                NULL},
	{"url",          MEMBER_TEXT, 0, 8, 1000,              NULL},
	{"kinds",        MEMBER_LIST, 0, 0, WEBHOOK_KINDS_MAX, NULL},
	{"subject_kind", MEMBER_TEXT, 0, 0, 63,                NULL},
	{"subject",      MEMBER_TEXT, 0, 0, 160,               NULL},
	{"disabled",     MEMBER_BOOL, 0, 0, 0,                 NULL},
};
static const struct member_row webhook_kind_member = {"kind", MEMBER_TEXT, 0, 1, 63, NULL};
/* clang-format on */

/* The body as text, for the caller to free; NULL: it was refused. */
static char *webhook_body_text(struct exchange *exchange, const struct member_row *rows,
			       size_t count)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	char *text;

	members_check(exchange->body, rows, count, "", &errors);
	if (errors.count == 0)
		elements_check(json_object_get(exchange->body, "kinds"), &webhook_kind_member, true,
			       "/kinds", &errors);
	if (exchange_refused(exchange, &errors))
		return NULL;
	text = json_dumps(exchange->body, JSON_COMPACT);
	if (!text) {
		(void)problem_set(&problem, -ENOMEM, "no memory for the request");
		exchange_problem(exchange, exchange_status_of(-ENOMEM), &problem);
	}
	return text;
}

/* A new secret, sealed to portal-outward's key; NULL: it was refused. */
static char *webhook_sealed_secret(struct exchange *exchange, const PGresult *key)
{
	const char *public_key = db_text(key, 0, PUBLIC_KEY_PUBLIC_KEY, NULL);
	const struct fresh_secret *fresh;
	struct problem problem = {0};
	char *sealed = NULL;
	int rc = E_UNAVAILABLE;

	if (!public_key) {
		(void)problem_set(
			&problem, rc,
			"portal-outward has not published the key that secrets are sealed to");
		problem_hint(&problem, "start portal-outward once, then repeat the request");
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return NULL;
	}
	fresh = fresh_secret_new(exchange, "secret", "w");
	rc = fresh ? seal_text(public_key, fresh->secret, &sealed) : -ENOMEM;
	if (rc) {
		(void)problem_set(&problem, rc, "the secret could not be sealed: %s",
				  error_text(rc));
		exchange_problem(exchange, exchange_status_of(rc), &problem);
	}
	return sealed;
}

static void webhook_add_with_key(struct exchange *exchange, const PGresult *key)
{
	CLEANUP(freep) char *body = NULL;
	CLEANUP(freep) char *sealed = NULL;

	if (!exchange->request)
		return;
	body = webhook_body_text(exchange, webhook_add_members, COUNT_OF(webhook_add_members));
	if (!body)
		return;
	sealed = webhook_sealed_secret(exchange, key);
	if (!sealed)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&webhook_add_query,
				{exchange_text(exchange, "tenant"), body, sealed, exchange->actor}},
			       {&webhook_added_query, {NULL}},
		       },
		       2);
}

static void webhook_add(struct exchange *exchange)
{
	exchange_query(exchange, &webhook_key_query, NULL, webhook_add_with_key);
}

static void webhook_change(struct exchange *exchange)
{
	CLEANUP(freep)
	char *body =
		webhook_body_text(exchange, webhook_patch_members, COUNT_OF(webhook_patch_members));

	if (!body)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&webhook_change_query,
				{exchange_arg(exchange, "{webhook}"),
				 exchange_arg(exchange, "@version"), body, exchange->actor}},
			       {&webhook_changed_query, {NULL}},
		       },
		       2);
}

static void webhook_secret_with_key(struct exchange *exchange, const PGresult *key)
{
	CLEANUP(freep) char *sealed = NULL;

	if (!exchange->request)
		return;
	sealed = webhook_sealed_secret(exchange, key);
	if (!sealed)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&webhook_secret_put_query,
				{exchange_arg(exchange, "{webhook}"), sealed, exchange->actor}},
			       {&webhook_changed_query, {NULL}},
		       },
		       2);
}

static void webhook_secret(struct exchange *exchange)
{
	exchange_query(exchange, &webhook_key_query, NULL, webhook_secret_with_key);
}

static void delivery_again(struct exchange *exchange)
{
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&delivery_again_query,
				{exchange_arg(exchange, "{webhook}"),
				 exchange_arg(exchange, "{delivery}"), exchange->actor}},
			       {&delivery_now_query, {NULL}},
		       },
		       2);
}

static const struct query_row webhook_query[] = {QUERY_PAGE_ID, {0}};
static const struct query_row delivery_query[] = {
	QUERY_PAGE_ID,
	{"state", QUERY_WORD, 0, delivery_state_words, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route webhook_routes[] = {
	{HTTP_GET, "/api/v1/webhooks", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, exchange_read, webhook_query, &webhook_list_query, {"?limit", "?cursor"}},
	{HTTP_POST, "/api/v1/webhooks", ROLE_TENANT, BODY_JSON, ROUTE_MANAGE, webhook_add, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/webhooks/{webhook}", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, exchange_read_version, NULL, &webhook_get_query, {"{webhook}"}},
	{HTTP_PATCH, "/api/v1/webhooks/{webhook}", ROLE_TENANT, BODY_PATCH, ROUTE_MANAGE | ROUTE_IF_MATCH, webhook_change, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/webhooks/{webhook}", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, exchange_change, NULL, &webhook_remove_query, {"{webhook}", "@actor"}},
	{HTTP_POST, "/api/v1/webhooks/{webhook}/secret", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, webhook_secret, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/webhooks/{webhook}/deliveries", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, exchange_read, delivery_query,
	 &delivery_list_query, {"?limit", "?cursor", "{webhook}", "?state"}},
	{HTTP_POST, "/api/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver", ROLE_TENANT, BODY_NONE, ROUTE_MANAGE, delivery_again, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
