#include "portal/server/exchange.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"

#include "portal/server/conflict.h"
#include "portal/server/edit_table.h"
#include "portal/server/event_stream.h"
#include "portal/server/exchange_store_sql.h"
#include "portal/server/read_pool.h"
#include "portal/server/shared_read.h"
#include "portal/server/store_text_sql.h"

#define PRINCIPAL_SIZE (ACTOR_SIZE + NAME_SIZE + 4)
/* Scope (2), sweep and claim, the version of an edit, three first statements, the steps, the stored answer. */
#define EXCHANGE_CALLS_MAX (EXCHANGE_STEPS + 10)

/* --- life --- */

static void exchange_free(struct exchange *exchange)
{
	shared_read_end(exchange);
	for (size_t i = 0; i < QUERY_ROWS; i++)
		free(exchange->query[i]);
	free(exchange->reason);
	json_decref(exchange->body);
	text_done(&exchange->answer.body);
	if (exchange->data_free)
		exchange->data_free(exchange->data);
	free(exchange);
}

void exchange_hold(struct exchange *exchange)
{
	exchange->holds++;
}

void exchange_release(struct exchange *exchange)
{
	struct problem problem;

	if (--exchange->holds > 0)
		return;
	if (exchange->request) {
		(void)problem_set(&problem, -EINVAL, "the request was left without an answer");
		problem_hint(&problem, "tell us with the request id; the log of portald has more");
		exchange_problem(exchange, 500, &problem);
	}
	exchange_free(exchange);
}

/* --- statements --- */

/* The calls of one transaction, in order. */
struct call_list {
	struct db_call calls[EXCHANGE_CALLS_MAX];
	size_t count;
};

static void call_add(struct call_list *list, struct exchange *exchange,
		     const struct db_query *query, const char *const params[], db_result_fn fn)
{
	list->calls[list->count++] =
		(struct db_call){.query = query, .params = params, .fn = fn, .context = exchange};
}

/* One statement of a transaction is to blame; the others, before and after it, say that they were
 * aborted (db.h). */
static bool is_aborted(const struct problem *problem)
{
	return problem && strcmp(problem->message, "aborted") == 0;
}

static void exchange_note_failure(struct exchange *exchange, int rc, const struct problem *problem)
{
	if (rc == 0 || (exchange->rc != 0 && !is_aborted(&exchange->problem)))
		return;
	exchange->rc = rc;
	exchange->problem = problem ? *problem : (struct problem){.code = rc};
}

static void on_step(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)result;
	exchange_note_failure(context, rc, problem);
}

/* Scopes come first in their transaction, so that the position is never ahead of what is read. */
static void exchange_on_scope(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	struct exchange *exchange = context;

	if (rc == 0 && exchange->position[0] == '\0')
		(void)text_copy(exchange->position, sizeof(exchange->position),
				db_text(result, 0, SCOPE_OPERATOR_POSITION, ""));
	exchange_note_failure(exchange, rc, problem);
}

static void exchange_on_claim(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	struct exchange *exchange = context;

	(void)result;
	if (rc == E_CONFLICT && !is_aborted(problem))
		exchange->replay = true;
	exchange_note_failure(exchange, rc, problem);
}

/* What the statements of one scope take. */
struct scope_params {
	const char *who[6], *tenant[1];
};

static void add_who(struct call_list *list, struct exchange *exchange, struct scope_params *params)
{
	const struct identity *identity = &exchange->identity;

	params->who[0] = exchange->request_id;
	params->who[1] = exchange->reason;
	if (identity->way == IDENTITY_NOBODY) {
		call_add(list, exchange, &scope_nobody_query, params->who, on_step);
		return;
	}
	if (identity->way != IDENTITY_KERNEL) {
		params->who[2] = identity->digest;
		call_add(list, exchange, &scope_proven_query, params->who, on_step);
		return;
	}
	params->who[2] = identity->actor;
	params->who[3] = account_role_words[identity->role];
	params->who[4] = identity->account[0] != '\0' ? identity->account : NULL;
	params->who[5] = identity->by_group ? "true" : "false";
	call_add(list, exchange, &scope_kernel_query, params->who, on_step);
}

/* A transaction in a tenant's scope runs under a role of its own: forgotten here, it sees nothing. */
static void add_scope(struct call_list *list, struct exchange *exchange,
		      struct scope_params *params)
{
	bool tenant = exchange->tenant[0] != '\0';

	if (!tenant)
		call_add(list, exchange, &scope_operator_query, NULL, exchange_on_scope);
	add_who(list, exchange, params);
	params->tenant[0] = exchange->tenant;
	if (tenant)
		call_add(list, exchange, &scope_tenant_query, params->tenant, exchange_on_scope);
}

static bool exchange_is_tenants(const struct exchange *exchange)
{
	return exchange->tenant[0] != '\0';
}

static struct db *exchange_live(const struct exchange *exchange)
{
	return exchange_is_tenants(exchange) ? exchange->portal->tenant_live
					     : exchange->portal->live;
}

#define EXCHANGE_RETRY "2" /* seconds */

static void explain_limit(const struct exchange *exchange, struct problem *problem)
{
	const struct portal_conf *conf = exchange->portal->conf;
	bool reads = exchange->route->method == HTTP_GET;

	(void)problem_set(problem, E_TIMEOUT, "it takes the database longer than %" PRId64 " s",
			  reads ? conf->read_limit_s : conf->write_limit_s);
	problem_hint(problem,
		     reads ? "ask for less of it: a shorter window, one network"
			   : "nothing was changed: repeat it later, or ask for less at once");
}

static void answer_failure(struct exchange *exchange)
{
	struct problem *problem = &exchange->problem;
	int status;

	if (exchange->rc == E_TIMEOUT)
		explain_limit(exchange, problem);
	status = conflict_explain(problem);
	if (status == 0 && conflict_is_strange(problem)) {
		log_problem(LOG_LEVEL_WARN, exchange->route->pattern, problem);
		status = conflict_generic(problem);
	}
	if (status == 0)
		status = exchange_status_of(exchange->rc);
	/* Else it answers, and the problem says for itself what to do. */
	if (exchange->rc == E_UNAVAILABLE && portal_database_away(exchange->portal))
		problem_hint(
			problem,
			"PostgreSQL is away; portald connects again by itself - repeat the request (an idempotency key makes that safe)");
	if (status == 500)
		log_problem(LOG_LEVEL_WARN, exchange->route->pattern, problem);
	if (exchange->request && (status == 503 || status == 504))
		http_answer_header(exchange->request, "Retry-After", EXCHANGE_RETRY);
	if (status == 412 && exchange->route->method != HTTP_GET)
		exchange_answer_stale(exchange, problem);
	else
		exchange_problem(exchange, status, problem);
}

static void exchange_refuse_read(struct exchange *exchange)
{
	struct problem problem = {0};

	if (!exchange->request)
		return;
	(void)problem_set(&problem, E_LIMIT, "too many reads of yours wait already");
	problem_hint(&problem, "wait for their answers, then repeat");
	http_answer_header(exchange->request, "Retry-After", EXCHANGE_RETRY);
	exchange_problem(exchange, 429, &problem);
}

/* What came of handing it to the database, which calls back only when that went well. */
static void exchange_submitted(struct exchange *exchange, int rc)
{
	if (rc == 0)
		return;
	exchange->rc = rc;
	(void)problem_set(&exchange->problem, rc,
			  "the request could not be handed to the database: %s", error_text(rc));
	if (rc == E_LIMIT)
		exchange_refuse_read(exchange);
	else
		answer_failure(exchange);
	exchange_release(exchange);
}

static void exchange_submit_write(struct exchange *exchange, const struct call_list *list)
{
	struct portal *portal = exchange->portal;

	exchange->rc = 0;
	exchange_hold(exchange);
	exchange_submitted(exchange, db_submit_all(exchange_is_tenants(exchange) ? portal->tenant_db
										 : portal->db,
						   list->calls, list->count));
}

/* Nobody reads for a client that left, but for others. */
static bool exchange_is_wanted(void *context)
{
	struct exchange *exchange = context;

	exchange->began_ms = loop_now_ms(exchange->portal->loop);
	return exchange->request != NULL || exchange->reading.number != 0;
}

/* Reads of one tenant take turns with those of others, whoever of it asks; in the site's scope those of one person do. */
static void exchange_submit_read(struct exchange *exchange, const struct call_list *list)
{
	bool tenant = exchange_is_tenants(exchange);
	struct portal *portal = exchange->portal;
	struct read_pool *pool = tenant ? portal->tenant_reads : portal->reads;
	const struct read_ask ask = {
		.asker = tenant ? exchange->tenant : exchange->actor,
		.calls = list->calls,
		.count = list->count,
		.wanted = exchange_is_wanted,
	};

	exchange->rc = 0;
	exchange_hold(exchange);
	/* Who is called back while all ends may ask again. */
	exchange_submitted(exchange, pool ? read_pool_submit(pool, &ask) : E_UNAVAILABLE);
}

static void exchange_on_rows(void *context, int rc, const PGresult *result,
			     const struct problem *problem)
{
	struct exchange *exchange = context;

	exchange_note_failure(exchange, rc, problem);
	if (exchange->rc != 0)
		answer_failure(exchange);
	else
		exchange->on_result(exchange, result);
	exchange_release(exchange);
}

void exchange_query(struct exchange *exchange, const struct db_query *query,
		    const char *const params[], exchange_result_fn on_result)
{
	struct call_list list = {0};
	struct scope_params scope;

	exchange->on_result = on_result;
	add_scope(&list, exchange, &scope);
	call_add(&list, exchange, query, params, exchange_on_rows);
	exchange_submit_read(exchange, &list);
}

void exchange_query_live(struct exchange *exchange, const struct db_query *query,
			 const char *const params[], exchange_result_fn on_result)
{
	struct call_list list = {0};
	struct scope_params scope;

	exchange->on_result = on_result;
	add_scope(&list, exchange, &scope);
	call_add(&list, exchange, query, params, exchange_on_rows);
	exchange->rc = 0;
	exchange_hold(exchange);
	exchange_submitted(exchange,
			   db_submit_all(exchange_live(exchange), list.calls, list.count));
}

int exchange_ask_again(struct exchange *exchange, const struct db_query *query,
		       const char *const params[], db_result_fn fn, void *context)
{
	struct call_list list = {0};
	struct scope_params scope;

	exchange->rc = 0;
	add_scope(&list, exchange, &scope);
	list.calls[list.count++] =
		(struct db_call){.query = query, .params = params, .fn = fn, .context = context};
	return db_submit_all(exchange_live(exchange), list.calls, list.count);
}

/* --- writes --- */

/* Keys belong to whoever asked, in the scope that was asked for. */
static void principal_of(const struct exchange *exchange, char ret[PRINCIPAL_SIZE])
{
	(void)text_format(ret, PRINCIPAL_SIZE, "%s%s%s", exchange->actor,
			  exchange->tenant[0] != '\0' ? " as " : "", exchange->tenant);
}

static void answer_stored(struct exchange *exchange, const PGresult *result)
{
	struct problem problem;

	if (PQntuples(result) == 0 || db_is_null(result, 0, KEY_STORED_STATUS)) {
		(void)problem_set(&problem, E_CONFLICT,
				  "a request with this idempotency key is under way");
		problem_hint(&problem, "repeat it in a moment");
		exchange_problem(exchange, 409, &problem);
		return;
	}
	if (strcmp(db_text(result, 0, KEY_STORED_ROUTE, ""),
		   http_request_path(exchange->request)) != 0 ||
	    strcmp(db_text(result, 0, KEY_STORED_BODY_DIGEST, ""), exchange->key_digest) != 0) {
		(void)problem_set(&problem, E_CONFLICT,
				  "this idempotency key was used for another request");
		problem_hint(&problem, "use a new key for each request: --idempotency-key");
		exchange_problem(exchange, 422, &problem);
		return;
	}
	http_answer_header(exchange->request, "Idempotency-Replayed", "true");
	if (!db_is_null(result, 0, KEY_STORED_LOCATION))
		http_answer_header(exchange->request, "Location",
				   db_text(result, 0, KEY_STORED_LOCATION, ""));
	exchange_answer(exchange, (int)db_int(result, 0, KEY_STORED_STATUS, 500),
			db_text(result, 0, KEY_STORED_BODY, NULL));
}

static void on_stored(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct exchange *exchange = context;

	exchange_note_failure(exchange, rc, problem);
	if (exchange->request) {
		if (exchange->rc != 0)
			answer_failure(exchange);
		else
			answer_stored(exchange, result);
	}
	exchange_release(exchange);
}

static void ask_stored(struct exchange *exchange)
{
	struct call_list list = {0};
	struct scope_params scope;
	char principal[PRINCIPAL_SIZE];
	const char *params[] = {principal, exchange->key};

	principal_of(exchange, principal);
	add_scope(&list, exchange, &scope);
	call_add(&list, exchange, &key_stored_query, params, on_stored);
	exchange_submit_write(exchange, &list);
}

/* The row of the last step; answered when the whole transaction has gone through. */
static void exchange_on_answer(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct exchange *exchange = context;

	exchange_note_failure(exchange, rc, problem);
	if (exchange->rc != 0)
		return;
	exchange->answer.status =
		PQntuples(result) > 0 ? (int)db_int(result, 0, ANSWER_STATUS, 500) : 404;
	(void)text_copy(exchange->answer.location, sizeof(exchange->answer.location),
			PQntuples(result) > 0 ? db_text(result, 0, ANSWER_LOCATION, "") : "");
	exchange->answer.version = PQntuples(result) > 0 ? db_int(result, 0, ANSWER_VERSION, 0) : 0;
	text_clear(&exchange->answer.body);
	if (PQntuples(result) > 0)
		text_add(&exchange->answer.body, db_text(result, 0, ANSWER_BODY, ""));
}

static void exchange_on_written(void *context, int rc, const PGresult *result,
				const struct problem *problem)
{
	struct exchange *exchange = context;

	(void)result;
	exchange_note_failure(exchange, rc, problem);
	if (exchange->replay)
		ask_stored(exchange);
	else if (exchange->rc != 0)
		answer_failure(exchange);
	else if (exchange->answer_with)
		exchange->answer_with(exchange);
	else
		exchange_answer_written(exchange);
	event_stream_wake(exchange->portal->stream);
	exchange_release(exchange);
}

static void on_last_answer(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	exchange_on_answer(context, rc, result, problem);
	exchange_on_written(context, rc, result, problem);
}

void exchange_write(struct exchange *exchange, const struct exchange_step steps[], size_t count)
{
	struct call_list list = {0};
	struct scope_params scope;
	char principal[PRINCIPAL_SIZE];
	const char *claim[] = {principal, exchange->key, NULL, exchange->key_digest};
	const struct edit_row *edit = edit_find(exchange->route);
	char edited[EDIT_NAME_SIZE];
	const char *expect[3];
	bool keyed = exchange->key[0] != '\0';

	if (!exchange->request)
		return; /* the client left before anything was done */
	principal_of(exchange, principal);
	claim[2] = http_request_path(exchange->request);
	add_scope(&list, exchange, &scope);
	if (keyed) {
		call_add(&list, exchange, &key_sweep_query, NULL, on_step);
		call_add(&list, exchange, &key_claim_query, claim, exchange_on_claim);
	}
	if (edit) {
		edit_name(edit, exchange, edited);
		expect[0] = edit->kind;
		expect[1] = edited;
		expect[2] = exchange_arg(exchange, "@version");
		call_add(&list, exchange, &edit_expect_query, expect, on_step);
	}
	if (exchange->first.query)
		call_add(&list, exchange, exchange->first.query, exchange->first.params, on_step);
	if (exchange->lock.query) {
		call_add(&list, exchange, exchange->lock.query, exchange->lock.params, on_step);
		call_add(&list, exchange, exchange->first.query, exchange->first.params, on_step);
	}
	for (size_t i = 0; i + 1 < count; i++)
		call_add(&list, exchange, steps[i].query, steps[i].params, on_step);
	call_add(&list, exchange, steps[count - 1].query, steps[count - 1].params,
		 keyed ? exchange_on_answer : on_last_answer);
	if (keyed)
		call_add(&list, exchange, &key_answer_query, claim, exchange_on_written);
	exchange_submit_write(exchange, &list);
}

/* --- handlers for route rows --- */

void exchange_answer_body(struct exchange *exchange, const PGresult *result)
{
	if (PQntuples(result) == 0)
		exchange_not_found(exchange);
	else
		exchange_answer(exchange, 200, db_text(result, 0, DOCUMENT_BODY, "null"));
}

static void answer_version(struct exchange *exchange, const PGresult *result)
{
	char etag[32];
	const char *known;

	if (PQntuples(result) == 0) {
		exchange_not_found(exchange);
		return;
	}
	if (!exchange->request)
		return;
	(void)text_format(etag, sizeof(etag), "\"%s\"", db_text(result, 0, RESOURCE_VERSION, "0"));
	http_answer_header(exchange->request, "ETag", etag);
	known = http_request_header(exchange->request, "If-None-Match");
	if (known && db_bool(result, 0, RESOURCE_WHOLE) && strcmp(known, etag) == 0)
		exchange_answer(exchange, 304, NULL);
	else
		exchange_answer(exchange, 200, db_text(result, 0, RESOURCE_BODY, "null"));
}

void exchange_args(const struct exchange *exchange, const char *ret[ROUTE_ARGS])
{
	for (size_t i = 0; i < ROUTE_ARGS; i++)
		ret[i] = exchange->route->args[i] ? exchange_arg(exchange, exchange->route->args[i])
						  : NULL;
}

void exchange_read(struct exchange *exchange)
{
	const char *params[ROUTE_ARGS];

	exchange_args(exchange, params);
	exchange_query(exchange, exchange->route->store, params, exchange_answer_body);
}

void exchange_read_version(struct exchange *exchange)
{
	const char *params[ROUTE_ARGS];

	exchange_args(exchange, params);
	exchange_query(exchange, exchange->route->store, params, answer_version);
}

void exchange_change(struct exchange *exchange)
{
	struct exchange_step step = {.query = exchange->route->store};

	exchange_args(exchange, step.params);
	exchange_write(exchange, &step, 1);
}
