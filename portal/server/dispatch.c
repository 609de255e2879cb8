/* From an HTTP request to a checked exchange: who, in which scope, with which query, body, version
 * and key. Then the route's handler. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/http/wipe.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#include "portal/server/access.h"
#include "portal/server/exchange.h"
#include "portal/server/query_policy.h"

/* What a body may be called, per kind; the first is told to who got it wrong. */
static const char *const content_types[][3] = {
	[BODY_NONE] = {NULL},
	[BODY_JSON] = {"application/json", NULL},
	[BODY_PATCH] = {"application/merge-patch+json", "application/json", NULL},
	[BODY_CSV] = {"text/csv", NULL},
	[BODY_BYTES] = {"application/octet-stream", NULL},
};

static void dispatch_on_client_gone(void *context)
{
	struct exchange *exchange = context;

	exchange->request = NULL;
}

void exchange_watch(struct exchange *exchange)
{
	if (exchange->request)
		http_request_on_close(exchange->request, dispatch_on_client_gone, exchange);
}

static int dispatch_refuse(struct problem *problem, int rc, const char *message, const char *hint)
{
	(void)problem_set(problem, rc, "%s", message);
	problem_hint(problem, "%s", hint);
	return rc;
}

/* --- checks: each 0 or the HTTP status, with the problem --- */

static int dispatch_check_access(struct exchange *exchange, struct problem *problem)
{
	struct access access =
		access_of(exchange->portal->access, http_request_peer(exchange->request),
			  loop_now_ms(exchange->portal->loop));

	(void)text_format(exchange->actor, sizeof(exchange->actor), "user %s", access.name);
	if (access.operator|| exchange->route->role == ROLE_ANYONE)
		return 0;
	(void)problem_set(problem, E_DENIED, "user %s may not use this server", access.name);
	problem_hint(
		problem,
		"root and members of the operators' group (haas) may; ask one of them to add you");
	return 403;
}

static bool dispatch_is_name(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return length > 0 && length < NAME_SIZE && text[length] == '\0' && text[0] != '-';
}

static int check_tenant(struct exchange *exchange, struct problem *problem)
{
	const char *tenant = http_request_header(exchange->request, "X-Haas-Tenant");

	if (!tenant || exchange->route->role == ROLE_ANYONE)
		return 0;
	if (!dispatch_is_name(tenant)) {
		(void)dispatch_refuse(problem, E_MALFORMED,
				      "X-Haas-Tenant is not the name of a tenant",
				      "haasctl tenant list shows the tenants");
		return 400;
	}
	if (exchange->route->role == ROLE_OPERATOR) {
		(void)dispatch_refuse(problem, E_DENIED, "only an operator may do this",
				      "leave out X-Haas-Tenant (--as-tenant)");
		return 403;
	}
	(void)text_copy(exchange->tenant, sizeof(exchange->tenant), tenant);
	return 0;
}

/* Ids, MACs and addresses in the path are looked at before the database sees them. A wrong one
 * names nothing: 404. */
static int check_path(struct exchange *exchange, struct problem *problem)
{
	static const char *const ids[] = {"deployment", "job",     "certificate", "circuit",
					  "alert",      "silence", "case"};
	static const char *const names[] = {"node",   "tenant", "subnet", "image", "version",
					    "switch", "rule",   "fabric", "pdci",  "network"};
	const char *pattern = exchange->route->pattern;
	struct mac mac;
	uint32_t address;
	bool good = true;

	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		char member[16];

		(void)text_format(member, sizeof(member), "{%s}", ids[i]);
		good = good && (!strstr(pattern, member) ||
				query_is_id(http_request_param(exchange->request, ids[i])));
	}
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char member[16];

		(void)text_format(member, sizeof(member), "{%s}", names[i]);
		good = good &&
		       (!strstr(pattern, member) ||
			strlen(http_request_param(exchange->request, names[i])) < NAME_SIZE);
	}
	if (strstr(pattern, "{mac}"))
		good = good && mac_parse(http_request_param(exchange->request, "mac"), &mac) == 0;
	if (strstr(pattern, "{address}"))
		good = good &&
		       ipv4_parse(http_request_param(exchange->request, "address"), &address) == 0;
	if (good)
		return 0;
	(void)problem_set(problem, E_NOT_FOUND, "there is no %s",
			  http_request_path(exchange->request));
	return 404;
}

static int check_query(struct exchange *exchange, struct problem *problem)
{
	const struct query_row *row = exchange->route->query;
	const char *value;
	int rc;

	for (size_t i = 0; row && row[i].name; i++) {
		value = row[i].header ? http_request_header(exchange->request, row[i].header)
				      : NULL;
		if (!value)
			value = http_request_query(exchange->request, row[i].name);
		rc = query_check(&row[i], value, &exchange->query[i], problem);
		if (rc != 0)
			return exchange_status_of(rc);
	}
	return 0;
}

static int check_version(struct exchange *exchange, struct problem *problem)
{
	const char *match = http_request_header(exchange->request, "If-Match");
	size_t digits = match && match[0] == '"' ? strspn(match + 1, "0123456789") : 0;

	if (!match && (exchange->route->flags & ROUTE_IF_MATCH)) {
		(void)dispatch_refuse(problem, E_CONFLICT, "If-Match is needed",
				      "read it first and send the ETag of the answer");
		return 428;
	}
	if (!match)
		return 0;
	/* Any other entity tag is not one of ours, so it can't be the present one. */
	if (digits == 0 || digits >= sizeof(exchange->version) - 5 ||
	    strcmp(match + 1 + digits, "\"") != 0) {
		(void)dispatch_refuse(problem, E_CONFLICT,
				      "If-Match is not the ETag of the present version",
				      "read it again and repeat");
		return 412;
	}
	memcpy(exchange->version, match + 1, digits);
	return 0;
}

static bool is_key(const char *key)
{
	const char *at = key;

	while (isprint((unsigned char)*at))
		at++;
	return at > key && *at == '\0';
}

static int dispatch_check_key(struct exchange *exchange, struct problem *problem)
{
	const char *key = http_request_header(exchange->request, "Idempotency-Key");
	const char *body;
	size_t size;

	if (!key || !(exchange->route->flags & ROUTE_IDEMPOTENT))
		return 0;
	if (!is_key(key) || !text_copy(exchange->key, sizeof(exchange->key), key)) {
		(void)dispatch_refuse(problem, E_MALFORMED, "Idempotency-Key is malformed",
				      "1 to 128 printable characters");
		return 400;
	}
	if (!(exchange->route->flags & ROUTE_SECRET)) {
		body = http_request_body(exchange->request, &size);
		exchange_digest(exchange, body, size);
	}
	return 0;
}

static bool type_is(const char *given, const char *wanted)
{
	size_t length = strlen(wanted);

	return given && strncasecmp(given, wanted, length) == 0 &&
	       (given[length] == '\0' || strchr("; \t", given[length]));
}

static int check_content_type(const struct exchange *exchange, struct problem *problem)
{
	const char *const *wanted = content_types[exchange->route->body];
	const char *given = http_request_header(exchange->request, "Content-Type");

	if (exchange->route->body == BODY_NONE)
		return 0;
	for (size_t i = 0; wanted[i]; i++) {
		if (type_is(given, wanted[i]))
			return 0;
	}
	(void)dispatch_refuse(problem, E_MALFORMED, "the content type is not accepted", wanted[0]);
	return 415;
}

static int check_body(struct exchange *exchange, struct problem *problem)
{
	int status = check_content_type(exchange, problem);
	int rc;

	if (status != 0)
		return status;
	if ((exchange->route->body == BODY_JSON || exchange->route->body == BODY_PATCH) &&
	    !(exchange->route->flags & ROUTE_SECRET)) {
		rc = exchange_read_body(exchange, problem);
		if (rc != 0)
			return exchange_status_of(rc);
	}
	return 0;
}

int exchange_read_body(struct exchange *exchange, struct problem *problem)
{
	size_t size;
	const char *body = http_request_body(exchange->request, &size);
	int rc = json_read(body, size, JSON_LIMIT_DEFAULT, &exchange->body, problem);

	if (exchange->route->flags & ROUTE_SECRET)
		wipe_borrowed(body, size);
	if (rc != 0) {
		if (problem->hint[0] == '\0')
			problem_hint(problem, "send one JSON object");
		return rc;
	}
	if (!json_is_object(exchange->body))
		return dispatch_refuse(problem, E_MALFORMED, "the body is not a JSON object",
				       "send one JSON object");
	return 0;
}

typedef int (*check_fn)(struct exchange *exchange, struct problem *problem);

static const check_fn dispatch_checks[] = {dispatch_check_access, check_tenant,  check_path,
					   check_query,           check_version, check_body,
					   dispatch_check_key};

/* --- the way through --- */

void exchange_dispatch(void *context, struct http_request *request)
{
	struct portal *portal = context;
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	struct problem problem = {0};
	int status = 0;

	if (!exchange) {
		http_answer(request, 503, NULL, NULL, 0);
		return;
	}
	exchange->portal = portal;
	exchange->request = request;
	exchange->route = route_find(http_request_method(request), http_request_route(request));
	exchange_hold(exchange);
	exchange_watch(exchange);
	token_new(exchange->request_id);
	http_answer_header(request, "X-Request-Id", exchange->request_id);
	http_answer_header(request, "Cache-Control", "no-store");
	for (size_t i = 0; i < COUNT_OF(dispatch_checks) && status == 0; i++)
		status = dispatch_checks[i](exchange, &problem);
	if (status == 0)
		exchange->route->handler(exchange);
	else
		exchange_problem(exchange, status, &problem);
	exchange_release(exchange);
}

void exchange_digest(struct exchange *exchange, const char *data, size_t size)
{
	digest_text(data, size, exchange->key_digest);
}

const char *exchange_arg(const struct exchange *exchange, const char *arg)
{
	const struct query_row *row = exchange->route->query;
	char name[NAME_SIZE];

	if (strcmp(arg, "@actor") == 0)
		return exchange->actor;
	if (strcmp(arg, "@version") == 0)
		return exchange->version[0] != '\0' ? exchange->version : NULL;
	if (arg[0] == '{') {
		(void)text_format(name, sizeof(name), "%.*s", (int)strlen(arg) - 2, arg + 1);
		return exchange->request ? http_request_param(exchange->request, name) : NULL;
	}
	for (size_t i = 0; row && row[i].name; i++) {
		if (strcmp(row[i].name, arg + 1) == 0)
			return exchange->query[i];
	}
	return NULL;
}
