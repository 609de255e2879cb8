/* From an HTTP request to a checked exchange: with which path, query, body, version and key. Then the
 * route's handler. Who asks was found before (admit.c). */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/http/wipe.h"

#include "portal/server/exchange.h"
#include "portal/server/kind_table.h"
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
	if (!exchange->dispatched) /* no handler will: it was given up before its body was whole */
		exchange_release(exchange);
}

void exchange_watch(struct exchange *exchange)
{
	if (exchange->request)
		http_request_on_close(exchange->request, dispatch_on_client_gone, exchange);
}

/* Why a request goes no further: one problem, or errors that each name a value. */
struct refusal {
	struct problem problem;
	struct error_list errors;
};

static int dispatch_refuse(struct problem *problem, int rc, const char *message, const char *hint)
{
	(void)problem_set(problem, rc, "%s", message);
	problem_hint(problem, "%s", hint);
	return rc;
}

/* --- checks: each 0 or the HTTP status, with the problem --- */

/* Ids, MACs and addresses in the path are looked at before the database sees them. A wrong one
 * names nothing: 404. */
static int check_path(struct exchange *exchange, struct refusal *refusal)
{
	return kind_path_check(exchange->request, exchange->route->pattern, &refusal->problem)
		       ? 0
		       : 404;
}

static int check_query(struct exchange *exchange, struct refusal *refusal)
{
	const struct query_row *row = exchange->route->query;
	char allowed[QUERY_ALLOWED_SIZE];
	int rc;

	for (size_t i = 0; row && row[i].name; i++) {
		const char *header = row[i].header
					     ? http_request_header(exchange->request, row[i].header)
					     : NULL;
		const char *value =
			header ? header : http_request_query(exchange->request, row[i].name);

		rc = query_check(&row[i], value, &exchange->query[i], allowed);
		if (rc == E_MALFORMED && header)
			error_list_header(&refusal->errors, row[i].header, header, allowed);
		else if (rc == E_MALFORMED)
			error_list_parameter(&refusal->errors, row[i].name, value, allowed);
		else if (rc != 0)
			(void)problem_set(&refusal->problem, rc, "no memory for the request");
		if (rc != 0)
			return exchange_status_of(rc);
	}
	return 0;
}

static int check_version(struct exchange *exchange, struct refusal *refusal)
{
	const char *match = http_request_header(exchange->request, "If-Match");
	size_t digits = match && match[0] == '"' ? strspn(match + 1, "0123456789") : 0;

	if (!match && (exchange->route->flags & ROUTE_IF_MATCH)) {
		(void)dispatch_refuse(&refusal->problem, E_CONFLICT, "If-Match is needed",
				      "read it first and send the ETag of the answer");
		return 428;
	}
	if (!match)
		return 0;
	/* Any other entity tag is not one of ours, so it can't be the present one. */
	if (digits == 0 || digits >= sizeof(exchange->version) - 5 ||
	    strcmp(match + 1 + digits, "\"") != 0) {
		(void)dispatch_refuse(&refusal->problem, E_CONFLICT,
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

static int dispatch_check_key(struct exchange *exchange, struct refusal *refusal)
{
	const char *key = http_request_header(exchange->request, "Idempotency-Key");
	const char *body;
	size_t size;

	if (!key || !(exchange->route->flags & ROUTE_IDEMPOTENT))
		return 0;
	if (!is_key(key) || !text_copy(exchange->key, sizeof(exchange->key), key)) {
		error_list_header(&refusal->errors, "Idempotency-Key", key,
				  "1 to 128 printable characters");
		return 400;
	}
	if (!(exchange->route->flags & ROUTE_SECRET)) {
		body = http_request_body(exchange->request, &size);
		exchange_digest(exchange, body, size);
	}
	return 0;
}

static bool is_reason(const char *text)
{
	json_t *utf8 = json_string(text);
	bool good = utf8 != NULL;
	size_t count = 0;

	json_decref(utf8);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		good = good && byte >= ' ' && byte != 127;
		count += (byte & 0xc0) != 0x80;
	}
	return good && count > 0 && count <= 255;
}

/* Why a person asks for it: kept with the events of the request. */
static int dispatch_check_reason(struct exchange *exchange, struct refusal *refusal)
{
	const char *reason = http_request_header(exchange->request, "Haas-Reason");

	if (!reason)
		return 0;
	if (!is_reason(reason)) {
		error_list_header(&refusal->errors, "Haas-Reason", reason,
				  "1 to 255 characters of UTF-8, none of control");
		return 400;
	}
	exchange->reason = strdup(reason);
	if (exchange->reason)
		return 0;
	(void)problem_set(&refusal->problem, -ENOMEM, "no memory for the request");
	return exchange_status_of(-ENOMEM);
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

static int check_body(struct exchange *exchange, struct refusal *refusal)
{
	int status = check_content_type(exchange, &refusal->problem);
	int rc;

	if (status != 0)
		return status;
	if ((exchange->route->body == BODY_JSON || exchange->route->body == BODY_PATCH) &&
	    !(exchange->route->flags & ROUTE_SECRET)) {
		rc = exchange_read_body(exchange, &refusal->problem);
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

typedef int (*check_fn)(struct exchange *exchange, struct refusal *refusal);

static const check_fn dispatch_checks[] = {check_path, check_query,        check_version,
					   check_body, dispatch_check_key, dispatch_check_reason};

/* --- the way through --- */

/* A body with passwords that nobody will read. */
static void dispatch_wipe(const struct exchange *exchange)
{
	size_t size;
	const char *body = http_request_body(exchange->request, &size);

	wipe_borrowed(body, size);
}

void exchange_dispatch(void *context, struct http_request *request)
{
	struct exchange *exchange = http_request_data(request);
	struct refusal refusal = {0};
	int status = 0;

	(void)context;
	exchange->dispatched = true;
	for (size_t i = 0; i < COUNT_OF(dispatch_checks) && status == 0; i++)
		status = dispatch_checks[i](exchange, &refusal);
	if (status != 0 && exchange->route->flags & ROUTE_SECRET)
		dispatch_wipe(exchange);
	if (status == 0)
		exchange->route->handler(exchange);
	else if (refusal.errors.count > 0)
		exchange_refuse_as(exchange, status, &refusal.errors);
	else
		exchange_problem(exchange, status, &refusal.problem);
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
