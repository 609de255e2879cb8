/* How answers look: JSON as PostgreSQL built it, problems as RFC 9457 has them. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"

#include "portal/server/demand_book.h"
#include "portal/server/edit_table.h"
#include "portal/server/exchange.h"
#include "portal/server/kind_table.h"
#include "portal/server/member_check.h"
#include "portal/server/shared_read.h"
#include "portal/server/store_text_sql.h"

/* Words of "code", for programs. */
static const struct {
	int status;
	const char *word;
	const char *title;
} status_rows[] = {
	{400, "malformed", "the request cannot be read"},
	{401, "authentication", "log in first"},
	{403, "denied", "not allowed"},
	{404, "not_found", "not found"},
	{409, "conflict", "refused by the present state"},
	{412, "stale", "changed meanwhile"},
	{413, "limit", "too large"},
	{415, "content_type", "the content type is not accepted"},
	{422, "invalid", "the request has wrong values"},
	{428, "precondition", "If-Match is needed"},
	{429, "rate", "too many requests"},
	{500, "internal", "an internal error"},
	{502, "gateway", "a daemon behind us answered wrongly"},
	{503, "unavailable", "a needed daemon or database is away"},
	{504, "timeout", "a daemon or database did not answer in time"},
	{507, "disk_full", "no room on the disk"},
};

static const char *code_of(int status)
{
	for (size_t i = 0; i < COUNT_OF(status_rows); i++) {
		if (status_rows[i].status == status)
			return status_rows[i].word;
	}
	return "other";
}

static const char *title_of(int status)
{
	for (size_t i = 0; i < COUNT_OF(status_rows); i++) {
		if (status_rows[i].status == status)
			return status_rows[i].title;
	}
	return "refused";
}

/* The request is over for the client; the exchange may live on. */
static struct http_request *exchange_answer_take_request(struct exchange *exchange)
{
	struct http_request *request = exchange->request;

	exchange->request = NULL;
	if (request)
		http_request_on_close(request, NULL, NULL);
	return request;
}

/* Until the client has taken it, it is in memory. */
static void exchange_answer_count(struct exchange *exchange, size_t size)
{
	struct demand_ticket *demand = exchange->demand;

	exchange->demand = NULL; /* it ends with the request, and that is over for us */
	demand_add(demand, size);
}

/* A reader that begins the stream there misses nothing that happens after what it has read. */
static void exchange_answer_say_position(const struct exchange *exchange,
					 struct http_request *request)
{
	char value[32];

	if (exchange->route && exchange->route->method == HTTP_GET &&
	    exchange->position[0] != '\0' &&
	    text_format(value, sizeof(value), "%s-0", exchange->position))
		http_answer_header(request, "Haas-Stream-Position", value);
}

/* Who is told that it was done does not read what was there before. Bytes change no list that is shared. */
static void exchange_answer_forget(const struct exchange *exchange, int status)
{
	if (exchange->route && exchange->route->method != HTTP_GET && status < 400 &&
	    exchange->route->body != BODY_BYTES)
		shared_reads_forget(exchange->portal->shared);
}

void exchange_answer(struct exchange *exchange, int status, const char *json)
{
	struct http_request *request = exchange_answer_take_request(exchange);

	exchange_answer_forget(exchange, status);
	if (!request)
		return;
	if (status == 200)
		exchange_answer_say_position(exchange, request);
	exchange_answer_count(exchange, json ? strlen(json) : 0);
	http_answer(request, status,
		    !json           ? NULL
		    : status >= 400 ? "application/problem+json"
				    : "application/json",
		    json, json ? strlen(json) : 0);
}

void exchange_answer_as(struct exchange *exchange, const char *content_type, const void *data,
			size_t size)
{
	struct http_request *request = exchange_answer_take_request(exchange);

	exchange_answer_forget(exchange, 200);
	if (!request)
		return;
	exchange_answer_say_position(exchange, request);
	exchange_answer_count(exchange, size);
	http_answer(request, 200, content_type, data, size);
}

void exchange_answer_kept(struct exchange *exchange, struct answer_kept *kept)
{
	struct http_request *request = exchange_answer_take_request(exchange);
	const char *known = request ? http_request_header(request, "If-None-Match") : NULL;

	if (!request) {
		answer_kept_unref(kept);
		return;
	}
	(void)text_copy(exchange->position, sizeof(exchange->position), kept->position);
	exchange_answer_say_position(exchange, request);
	http_answer_header(request, "ETag", kept->tag);
	if (known && strstr(known, kept->tag)) {
		exchange_answer_count(exchange, 0);
		http_answer(request, 304, NULL, NULL, 0);
		answer_kept_unref(kept);
		return;
	}
	exchange_answer_count(exchange, kept->size);
	http_answer_shared(request, "application/json", kept->data, kept->size, answer_kept_unref,
			   kept);
}

static void problem_text(const struct exchange *exchange, int status, const struct problem *problem,
			 const struct error_list *errors, struct text *ret)
{
	struct text body = {0};
	char type[64];

	(void)text_format(type, sizeof(type), "urn:haas:problem:%s", code_of(status));
	json_begin_object(&body, NULL);
	json_put_string(&body, "type", type);
	json_put_string(&body, "title",
			problem->message[0] != '\0' ? problem->message : title_of(status));
	json_put_int(&body, "status", status);
	json_put_string(&body, "code", code_of(status));
	if (problem->detail[0] != '\0')
		json_put_string(&body, "detail", problem->detail);
	if (problem->hint[0] != '\0')
		json_put_string(&body, "hint", problem->hint);
	json_put_string(&body, "request_id", exchange->request_id);
	if (errors) {
		text_add(&body, ",\"errors\":");
		error_list_write(errors, exchange->body, &body);
	}
	json_end_object(&body);
	*ret = body;
}

static void answer_problem(struct exchange *exchange, int status, const struct problem *problem,
			   const struct error_list *errors)
{
	struct text body = {0};

	if (!exchange->request)
		return;
	problem_text(exchange, status, problem, errors, &body);
	exchange_answer(exchange, status, text_get(&body));
	text_done(&body);
}

void exchange_answer_stale(struct exchange *exchange, const struct problem *problem)
{
	text_done(&exchange->answer.body);
	problem_text(exchange, 412, problem, NULL, &exchange->answer.body);
	exchange->answer.status = 412;
	exchange->answer.version = 0;
	exchange->answer.location[0] = '\0';
	exchange_answer_written(exchange);
}

void exchange_problem(struct exchange *exchange, int status, const struct problem *problem)
{
	void (*problem_with)(struct exchange *, const struct problem *) = exchange->problem_with;

	exchange->problem_with = NULL;
	if (problem_with) {
		problem_with(exchange, problem);
		return;
	}
	answer_problem(exchange, status, problem, NULL);
}

void exchange_refuse_as(struct exchange *exchange, int status, struct error_list *errors)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_MALFORMED, "%zu value%s of the request %s wrong",
			  errors->count, errors->count == 1 ? "" : "s",
			  errors->count == 1 ? "is" : "are");
	problem_hint(&problem, "correct what errors name, then send it again");
	answer_problem(exchange, status, &problem, errors);
	error_list_done(errors);
}

void exchange_refuse(struct exchange *exchange, struct error_list *errors)
{
	exchange_refuse_as(exchange, 422, errors);
}

bool exchange_refused(struct exchange *exchange, struct error_list *errors)
{
	if (errors->count == 0)
		return false;
	exchange_refuse(exchange, errors);
	return true;
}

const char *exchange_text(const struct exchange *exchange, const char *member)
{
	return json_string_value(json_object_get(exchange->body, member));
}

const char *exchange_text_or(const struct exchange *exchange, const char *member,
			     const char *fallback)
{
	const char *text = exchange_text(exchange, member);

	return text ? text : fallback;
}

char *exchange_checked_body(struct exchange *exchange, const struct member_row *rows, size_t count)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	char *text;

	members_check(exchange->body, rows, count, "", &errors);
	if (exchange_refused(exchange, &errors))
		return NULL;
	text = json_dumps(exchange->body, JSON_COMPACT);
	if (!text) {
		(void)problem_set(&problem, -ENOMEM, "no memory for the request");
		exchange_problem(exchange, 500, &problem);
	}
	return text;
}

void exchange_not_found(struct exchange *exchange)
{
	struct problem problem = {0};

	if (!exchange->request)
		return;
	kind_not_found(exchange->request, http_request_route(exchange->request), &problem);
	exchange_problem(exchange, 404, &problem);
}

/* The row of the GET behind a 412: what the object is now goes into the problem, with its ETag. */
static void exchange_answer_on_current(struct exchange *exchange, const PGresult *result)
{
	struct text *body = &exchange->answer.body;
	char etag[32];

	if (!exchange->request)
		return;
	if (PQntuples(result) > 0 && body->size > 1) {
		body->data[--body->size] = '\0'; /* its brace */
		text_addf(body, ",\"current\":%s}", db_text(result, 0, RESOURCE_BODY, "null"));
		if (text_format(etag, sizeof(etag), "\"%s\"",
				db_text(result, 0, RESOURCE_VERSION, "0")))
			http_answer_header(exchange->request, "ETag", etag);
	}
	exchange_answer(exchange, exchange->answer.status, text_get(body));
}

/* Whoever edited what has changed meanwhile gets what it is now: a person can compare and merge. */
static bool exchange_answer_with_current(struct exchange *exchange)
{
	const struct edit_row *edit = edit_find(exchange->route);
	const struct route *get =
		route_find(HTTP_GET, edit && edit->read ? edit->read : exchange->route->pattern);
	const char *params[ROUTE_ARGS];

	if (exchange->answer.status != 412 || !get || get->handler != exchange_read_version)
		return false;
	for (size_t i = 0; i < ROUTE_ARGS; i++)
		params[i] = get->args[i] ? exchange_arg(exchange, get->args[i]) : NULL;
	exchange_query(exchange, get->store, params, exchange_answer_on_current);
	return true;
}

void exchange_answer_written(struct exchange *exchange)
{
	char etag[32];

	if (!exchange->request || exchange_answer_with_current(exchange))
		return;
	if (exchange->answer.location[0] != '\0')
		http_answer_header(exchange->request, "Location", exchange->answer.location);
	if (exchange->answer.version > 0) {
		(void)text_format(etag, sizeof(etag), "\"%lld\"",
				  (long long)exchange->answer.version);
		http_answer_header(exchange->request, "ETag", etag);
	}
	exchange_answer(exchange, exchange->answer.status,
			exchange->answer.body.size > 0 ? text_get(&exchange->answer.body) : NULL);
}

int exchange_status_of(int rc)
{
	return rc == -ENOSPC ? 507 : http_status_of(rc);
}
