/* /limits, /tenants/{tenant}/limits: how much a tenant may have at most. */
#include <errno.h>
#include <stdlib.h>

#include "portal/server/exchange.h"
#include "portal/server/limit_store_sql.h"
#include "portal/server/member_check.h"
#include "portal/server/word_table.h"

#define LIMITS_MAX       256
#define LIMIT_AMOUNT_MAX ((int64_t)1 << 60)

/* clang-format off */
static const struct member_row limit_members[] = {
	{"limits", MEMBER_LIST, MEMBER_REQUIRED, 1, LIMITS_MAX, NULL},
};
static const struct member_row limit_item_members[] = {
	{"kind",    MEMBER_WORD, MEMBER_REQUIRED, 0, 0,                limit_kind_words},
	{"class",   MEMBER_TEXT, MEMBER_NULLABLE, 1, 63,               NULL},
	{"amount",  MEMBER_INT,  MEMBER_NULLABLE, 0, LIMIT_AMOUNT_MAX, NULL},
	{"default", MEMBER_BOOL, 0,               0, 0,                NULL},
};
/* clang-format on */

/* An item says an amount, or that the site's holds: never both, never neither. */
static void limit_check_amounts(const json_t *limits, struct error_list *errors)
{
	const json_t *item;
	size_t i;

	json_array_foreach(limits, i, item)
	{
		bool by_default = json_is_true(json_object_get(item, "default"));
		char pointer[48];

		if (by_default != (json_object_get(item, "amount") != NULL))
			continue;
		(void)text_format(pointer, sizeof(pointer), "/limits/%zu/amount", i);
		error_list_pointer(errors, pointer,
				   by_default ? "is given beside default" : "is needed",
				   "a number, null for no limit, or default: true without it");
	}
}

/* `tenant` NULL: what holds for those without a limit of their own. */
static void limit_routes_change(struct exchange *exchange, const char *tenant)
{
	CLEANUP(freep) char *limits = NULL;
	struct error_list errors = {0};
	struct problem problem = {0};
	json_t *list;

	members_check(exchange->body, limit_members, COUNT_OF(limit_members), "", &errors);
	list = json_object_get(exchange->body, "limits");
	if (errors.count == 0)
		objects_check(list, limit_item_members, COUNT_OF(limit_item_members), "/limits",
			      &errors);
	if (errors.count == 0)
		limit_check_amounts(list, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	limits = json_dumps(list, JSON_COMPACT);
	if (!limits) {
		(void)problem_set(&problem, -ENOMEM, "no memory for the request");
		exchange_problem(exchange, exchange_status_of(-ENOMEM), &problem);
		return;
	}
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&limit_put_query, {tenant, limits, exchange->actor}},
			       {&limit_now_query, {tenant}},
		       },
		       2);
}

static void limit_routes_tenant(struct exchange *exchange)
{
	limit_routes_change(exchange, exchange_arg(exchange, "{tenant}"));
}

static void limit_routes_site(struct exchange *exchange)
{
	limit_routes_change(exchange, NULL);
}

/* clang-format off */
const struct route limit_routes[] = {
	{HTTP_GET, "/api/v1/tenants/{tenant}/limits", ROLE_TENANT, BODY_NONE, 0, exchange_read_version, NULL, &limit_list_query, {"{tenant}"}},
	{HTTP_PATCH, "/api/v1/tenants/{tenant}/limits", ROLE_OPERATOR, BODY_PATCH, ROUTE_IF_MATCH, limit_routes_tenant, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/limits", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &limit_site_query, {NULL}},
	{HTTP_PATCH, "/api/v1/limits", ROLE_OPERATOR, BODY_PATCH, ROUTE_IF_MATCH, limit_routes_site, NULL, NULL, {NULL}},
	{.pattern = NULL},
};
/* clang-format on */
