#include "bampi/bmc/redfish_client.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "bampi/bmc/redfish_client_private.h"

enum { PORT_TLS = 443, PORT_PLAIN = 80, SMALL_ANSWER = 1 << 16 };

static void redfish_client_advance(struct redfish_client *client);

/* --- sessions at the BMC --- */

/* What every request of this BMC has in common. */
static struct fetch_request request_to(const struct redfish_client *client, const char *method,
				       const char *url)
{
	return (struct fetch_request){
		.peer = client->peer,
		.method = method,
		.url = url,
		.pin = client->endpoint.pin,
		.unverified = client->endpoint.tls == BMC_TLS_UNVERIFIED,
	};
}

/* Ends `session` at the BMC with the token of `by`. Nobody waits for it: a session that the BMC has
 * forgotten is as good as ended. */
static void redfish_client_session_end(struct redfish_client *client,
				       struct redfish_session *session,
				       const struct redfish_session *by)
{
	char url[sizeof(client->base) + REDFISH_PATH_SIZE] = "";
	char token[sizeof(by->token) + 16];
	const char *headers[] = {token, "OData-Version: 4.0", NULL};
	struct fetch_request request = request_to(client, "DELETE", url);

	if (session->token[0] && session->path[0]) {
		request.headers = headers;
		(void)text_format(url, sizeof(url), "%s%s", client->base, session->path);
		(void)text_format(token, sizeof(token), "X-Auth-Token: %s", by->token);
		/* No memory for it: the BMC ends idle sessions by itself, later. */
		(void)!fetch_start(client->fetcher, &request, NULL, NULL, NULL);
		sodium_memzero(token, sizeof(token));
	}
	sodium_memzero(session, sizeof(*session));
}

static void sessions_end(struct redfish_client *client)
{
	redfish_client_session_end(client, &client->stale,
				   client->session.token[0] ? &client->session : &client->stale);
	redfish_client_session_end(client, &client->session, &client->session);
}

static void on_idle(void *context)
{
	struct redfish_client *client = context;

	if (!client->call && !client->login)
		sessions_end(client);
}

/* --- the end of a call --- */

static void redfish_client_call_free(struct redfish_client *client)
{
	struct redfish_call *call = client->call;

	fetch_cancel(call->fetch);
	bmc_result_done(&call->result);
	sodium_memzero(&call->request, sizeof(call->request));
	free(call);
	client->call = NULL;
	loop_timer_disarm(client->timer);
	loop_timer_arm(client->idle, REDFISH_IDLE_MS);
}

/* The last thing that is done: fn may close the client. */
static void redfish_client_finish(struct redfish_client *client, int rc,
				  const struct problem *problem)
{
	struct redfish_call *call = client->call;
	bmc_call_fn fn = call->fn;
	void *context = call->context;
	struct bmc_result result = call->result;
	struct problem why = {0};
	bool notice = rc == 0 && loop_now_ms(client->loop) < client->basic_until_ms;

	if (rc)
		why = *problem;
	else if (notice)
		why = client->notice;
	if (rc == 0)
		call->result = (struct bmc_result){0};
	redfish_client_call_free(client);
	fn(context, rc, rc ? NULL : &result, rc || notice ? &why : NULL);
}

static void redfish_client_refuse(struct redfish_client *client,
				  const struct redfish_decision *decision, int status,
				  const struct redfish_error *error)
{
	enum redfish_stage stage = *client->call->at;
	struct problem problem = {0};

	(void)problem_set(&problem, decision->rc, "%s %s", client->peer, decision->text);
	problem_detail(&problem, "%s: HTTP %d%s%s%s%s", redfish_stage_table[stage].what, status,
		       error->id[0] ? ", " : "", error->id, error->message[0] ? ": " : "",
		       error->message);
	if (decision->hint)
		problem_hint(&problem, "%s", decision->hint);
	redfish_client_finish(client, decision->rc, &problem);
}

/* --- answers --- */

static void notice_full(struct redfish_client *client, const struct redfish_decision *decision)
{
	struct problem *notice = &client->notice;

	(void)problem_set(notice, E_LIMIT, "%s %s", client->peer, decision->text);
	problem_detail(notice, "asked with the password in each request instead");
	problem_hint(notice, "%s", decision->hint);
}

static void pause_for(struct redfish_client *client, int64_t pause_ms)
{
	client->call->tries++;
	loop_timer_arm(client->timer, pause_ms);
}

/* From the start again: what is known by now is skipped. */
static void start_over(struct redfish_client *client)
{
	client->call->at = client->call->plan;
}

static void stage_over(struct redfish_client *client)
{
	struct redfish_call *call = client->call;

	call->done |= 1U << *call->at;
	call->tries = 0;
	call->at++;
	redfish_client_advance(client);
}

static struct redfish_decision redfish_client_judge(const struct redfish_client *client, int status,
						    const struct redfish_error *error,
						    int64_t retry_s)
{
	const struct redfish_call *call = client->call;
	struct redfish_refusal refusal = {
		.op = call->request.op,
		.stage = *call->at,
		.status = status,
		.error = error,
		.retry_s = retry_s,
		.tries = *call->at == REDFISH_SYSTEM && status == 404 ? call->parents : call->tries,
		.fresh = call->fresh || !client->session.token[0],
		.reread = call->reread,
		.quirk = client->quirk,
	};
	struct redfish_decision decision = redfish_decide(&refusal);

	if (client->endpoint.retransmit_ms && decision.pause_ms > client->endpoint.retransmit_ms)
		decision.pause_ms = client->endpoint.retransmit_ms;
	/* No time for another try: what would be said after the last one. */
	if (decision.pause_ms > 0 &&
	    clock_monotonic_ms() + decision.pause_ms >= call->deadline_ms) {
		refusal.tries = UINT_MAX;
		decision = redfish_decide(&refusal);
	}
	return decision;
}

static void redfish_client_follow(struct redfish_client *client,
				  const struct redfish_decision *decision, int status,
				  const struct redfish_error *error)
{
	struct redfish_call *call = client->call;

	switch (decision->verdict) {
	case REDFISH_PASS:
	case REDFISH_SKIP: stage_over(client); return;
	case REDFISH_AGAIN: pause_for(client, decision->pause_ms); return;
	case REDFISH_PARENT:
		client->system[0] = '\0';
		call->done &= ~(1U << REDFISH_SYSTEMS);
		call->parents++;
		start_over(client);
		pause_for(client, decision->pause_ms);
		return;
	case REDFISH_REREAD:
		call->reread = true;
		call->done &=
			~(1U << REDFISH_SYSTEM | 1U << REDFISH_ACCOUNTS | 1U << REDFISH_ACCOUNT);
		start_over(client);
		break;
	case REDFISH_ANEW:
		client->stale = client->session;
		client->session = (struct redfish_session){0};
		call->done &= ~(1U << REDFISH_LOGIN);
		start_over(client);
		break;
	case REDFISH_BASIC:
		if (decision->full) {
			client->basic_until_ms = loop_now_ms(client->loop) + REDFISH_BASIC_MS;
			notice_full(client, decision);
		} else {
			client->basic_always = true;
		}
		call->fresh = true;
		break;
	case REDFISH_FAIL: redfish_client_refuse(client, decision, status, error); return;
	}
	redfish_client_advance(client);
}

static void redfish_client_refused(struct redfish_client *client, const struct fetch_answer *answer)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct redfish_error error = {0};
	struct problem ignored = {0};
	const char *retry = fetch_header(answer, "Retry-After");
	struct redfish_decision decision;

	/* What is no JSON explains nothing; the status does. */
	if (redfish_read(answer->body, answer->size, SMALL_ANSWER, &json, &ignored) == 0)
		redfish_error_read(json, &error);
	decision = redfish_client_judge(client, answer->status, &error,
					retry ? strtol(retry, NULL, 10) : 0);
	redfish_client_follow(client, &decision, answer->status, &error);
}

static void redfish_client_taken(struct redfish_client *client, const struct fetch_answer *answer)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	enum redfish_stage stage = *client->call->at;
	const struct redfish_stage_row *row = &redfish_stage_table[stage];
	struct problem problem = {0};
	struct problem why = {0};
	bool more = false;
	int rc = 0;

	if (strcmp(row->method, "GET") == 0)
		rc = redfish_read(answer->body, answer->size, row->answer_limit, &json, &why);
	if (rc) {
		(void)problem_set(&problem, rc == E_LIMIT ? E_LIMIT : E_PROTOCOL,
				  "%s answers %s with malformed JSON", client->peer, row->what);
		problem_detail(&problem, "%s", why.message);
		problem_hint(&problem, "restart the BMC, or update its firmware");
		rc = problem.code;
	} else {
		rc = redfish_answer(client, json, fetch_header(answer, "ETag"), &more, &problem);
	}
	if (rc)
		redfish_client_finish(client, rc, &problem);
	else if (more)
		redfish_client_advance(client);
	else
		stage_over(client);
}

static void redfish_client_on_answer(void *context, int rc, const struct fetch_answer *answer,
				     const struct problem *problem)
{
	struct redfish_client *client = context;
	struct problem why = {0};

	client->call->fetch = NULL;
	if (rc) {
		why = *problem;
		redfish_client_finish(client, rc, &why);
	} else if (answer->status >= 200 && answer->status <= 299) {
		redfish_client_taken(client, answer);
	} else {
		redfish_client_refused(client, answer);
	}
}

/* --- logging in --- */

/* The session's own path; absolute URLs are cut to it. */
static void session_path(const struct fetch_answer *answer, char ret[REDFISH_PATH_SIZE])
{
	const char *location = fetch_header(answer, "Location");
	const char *path = location ? strstr(location, "://") : NULL;

	path = path ? strchr(path + 3, '/') : location;
	if (!path || path[0] != '/' || !text_copy(ret, REDFISH_PATH_SIZE, path))
		ret[0] = '\0';
}

static void login_taken(struct redfish_client *client, const struct fetch_answer *answer)
{
	const char *token = fetch_header(answer, "X-Auth-Token");
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct problem ignored = {0};

	session_path(answer, client->session.path);
	if (!client->session.path[0] &&
	    redfish_read(answer->body, answer->size, SMALL_ANSWER, &json, &ignored) == 0)
		(void)text_copy(client->session.path, sizeof(client->session.path),
				json_string_value(json_object_get(json, "@odata.id"))
					? json_string_value(json_object_get(json, "@odata.id"))
					: "");
	if (!token || !text_copy(client->session.token, sizeof(client->session.token), token)) {
		client->session.token[0] = '\0';
		client->basic_always = true; /* a session without a token is of no use */
	} else {
		redfish_client_session_end(client, &client->stale, &client->session);
	}
	if (client->call) {
		client->call->fresh = true;
		client->call->tries = 0;
	}
}

static void client_destroy(struct redfish_client *client);

static void on_login(void *context, int rc, const struct fetch_answer *answer,
		     const struct problem *problem)
{
	struct redfish_client *client = context;
	struct problem why = {0};

	client->login = NULL;
	if (rc == 0 && answer->status >= 200 && answer->status <= 299)
		login_taken(client, answer);
	if (client->closing) {
		client_destroy(client);
		return;
	}
	if (!client->call) {
		loop_timer_arm(client->idle, REDFISH_IDLE_MS);
		return;
	}
	if (*client->call->at != REDFISH_LOGIN)
		return; /* the call has not come to it yet */
	if (rc) {
		why = *problem;
		redfish_client_finish(client, rc, &why);
	} else if (answer->status >= 200 && answer->status <= 299) {
		redfish_client_advance(client);
	} else {
		redfish_client_refused(client, answer);
	}
}

/* --- requests --- */

static void redfish_client_fail(struct redfish_client *client, int rc, const char *text)
{
	struct problem problem = {0};

	(void)problem_set(&problem, rc, "%s %s", client->peer, text);
	problem_detail(&problem, "while %s", redfish_stage_table[*client->call->at].what);
	redfish_client_finish(client, rc, &problem);
}

/* Weak validators do not match in If-Match (RFC 9110 13.1.1), but some BMCs give only such and mean
 * the strong one. */
static const char *etag_to_send(const struct redfish_call *call)
{
	return call->reread && strncmp(call->etag, "W/", 2) == 0 ? call->etag + 2 : call->etag;
}

static int redfish_client_send(struct redfish_client *client, enum redfish_stage stage,
			       uint32_t within_ms, const struct text *body)
{
	struct redfish_call *call = client->call;
	const struct redfish_stage_row *row = &redfish_stage_table[stage];
	char url[sizeof(client->base) + REDFISH_PATH_SIZE] = "";
	char token[sizeof(client->session.token) + 16] = "";
	char etag[sizeof(call->etag) + 16] = "";
	const char *headers[6] = {"OData-Version: 4.0", "Accept: application/json"};
	struct fetch_request request = request_to(client, row->method, url);
	size_t count = 2;
	int rc;

	(void)text_format(url, sizeof(url), "%s%s", client->base, redfish_path(client, stage));
	request.headers = headers;
	request.deadline_ms = within_ms;
	request.answer_limit = row->answer_limit;
	if (body->size > 0) {
		headers[count++] = "Content-Type: application/json";
		request.body = body->data;
		request.size = body->size;
	}
	if (strcmp(row->method, "PATCH") == 0 && call->etag[0]) {
		(void)text_format(etag, sizeof(etag), "If-Match: %s", etag_to_send(call));
		headers[count++] = etag;
	}
	if (stage == REDFISH_LOGIN) {
		request.keep = true;
		return fetch_start(client->fetcher, &request, on_login, client, &client->login);
	}
	if (stage != REDFISH_ROOT && client->session.token[0]) {
		(void)text_format(token, sizeof(token), "X-Auth-Token: %s", client->session.token);
		headers[count] = token;
	} else if (stage != REDFISH_ROOT) {
		request.username = client->endpoint.username;
		request.password = client->endpoint.password;
	}
	if (strcmp(row->method, "GET") != 0)
		request.fence = call->request.fence;
	rc = fetch_start(client->fetcher, &request, redfish_client_on_answer, client, &call->fetch);
	sodium_memzero(token, sizeof(token));
	return rc;
}

/* The next exchange of the call, or its end. */
static void redfish_client_advance(struct redfish_client *client)
{
	struct redfish_call *call = client->call;
	int64_t left_ms = call->deadline_ms - clock_monotonic_ms();
	struct problem problem = {0};
	struct text body = {0};
	enum redfish_stage stage;
	uint32_t within_ms;
	int rc;

	while (*call->at != REDFISH_END && redfish_is_known(client, *call->at))
		call->at++;
	stage = *call->at;
	if (stage == REDFISH_END) {
		rc = redfish_result(client, &problem);
		redfish_client_finish(client, rc, &problem);
		return;
	}
	if (left_ms <= 0) {
		redfish_client_fail(client, E_TIMEOUT, "did not answer in time");
		return;
	}
	if (stage == REDFISH_LOGIN && client->login)
		return; /* of a call that was cancelled: its session is ours */
	within_ms = redfish_stage_table[stage].timeout_ms;
	if (client->endpoint.timeout_ms && client->endpoint.timeout_ms < within_ms)
		within_ms = client->endpoint.timeout_ms;
	if (left_ms < within_ms)
		within_ms = (uint32_t)left_ms;
	rc = redfish_body(client, stage, &body, &problem);
	if (rc)
		redfish_client_finish(client, rc, &problem);
	else if (body.failed || redfish_client_send(client, stage, within_ms, &body) != 0)
		redfish_client_fail(client, -ENOMEM, "cannot be asked: no memory");
	if (body.data)
		sodium_memzero(body.data, body.size); /* the login's password */
	text_done(&body);
}

static void redfish_client_on_timer(void *context)
{
	struct redfish_client *client = context;

	if (client->call->plan) {
		redfish_client_advance(client);
	} else {
		struct problem problem = {0};

		(void)problem_set(&problem, E_UNSUPPORTED, "%s is not asked %s by Redfish",
				  client->peer, bmc_op_text(client->call->request.op));
		redfish_client_finish(client, E_UNSUPPORTED, &problem);
	}
}

/* --- the face --- */

int redfish_client_start(struct redfish_client *client, const struct bmc_request *request,
			 int64_t deadline_ms, bmc_call_fn fn, void *context)
{
	struct redfish_call *call = calloc(1, sizeof(*call));

	if (!call)
		return -ENOMEM;
	call->plan = redfish_plan(request->op);
	call->at = call->plan;
	call->request = *request;
	call->deadline_ms = deadline_ms;
	call->fn = fn;
	call->context = context;
	call->result.op = request->op;
	client->call = call;
	loop_timer_disarm(client->idle);
	loop_timer_arm(client->timer, 0); /* fn is never called from in here */
	return 0;
}

void redfish_client_cancel(struct redfish_client *client)
{
	if (client->call)
		redfish_client_call_free(client);
}

int redfish_client_new(struct loop *loop, struct fetcher *fetcher,
		       const struct bmc_endpoint *endpoint, struct redfish_client **ret,
		       struct problem *problem)
{
	bool plain = endpoint->tls == BMC_TLS_OFF;
	unsigned port = endpoint->port ? endpoint->port : plain ? PORT_PLAIN : PORT_TLS;
	bool ipv6 = strchr(endpoint->address, ':') != NULL;
	struct redfish_client *client;

	if (endpoint->pin[0] && !fetch_pin_is_valid(endpoint->pin)) {
		(void)problem_set(problem, -EINVAL, "node %s: the BMC's fingerprint is malformed",
				  endpoint->node);
		problem_hint(problem, "sha256//, then the base64 of the SHA-256 of its public key");
		return -EINVAL;
	}
	client = calloc(1, sizeof(*client));
	if (!client)
		return problem_set(problem, -ENOMEM, "node %s: no memory for its BMC",
				   endpoint->node);
	client->loop = loop;
	client->fetcher = fetcher;
	client->endpoint = *endpoint;
	client->quirk = redfish_quirk_find("");
	(void)text_format(client->base, sizeof(client->base), "%s://%s%s%s:%u",
			  plain ? "http" : "https", ipv6 ? "[" : "", endpoint->address,
			  ipv6 ? "]" : "", port);
	(void)text_format(client->peer, sizeof(client->peer), "node %s: the BMC", endpoint->node);
	if (loop_timer_new(loop, redfish_client_on_timer, client, &client->timer) != 0 ||
	    loop_timer_new(loop, on_idle, client, &client->idle) != 0) {
		client_destroy(client);
		return problem_set(problem, -ENOMEM, "node %s: no memory for its BMC",
				   endpoint->node);
	}
	*ret = client;
	return 0;
}

static void client_destroy(struct redfish_client *client)
{
	sessions_end(client);
	loop_timer_free(client->timer);
	loop_timer_free(client->idle);
	bmc_endpoint_wipe(&client->endpoint);
	free(client);
}

void redfish_client_free(struct redfish_client *client)
{
	if (!client)
		return;
	redfish_client_cancel(client);
	client->closing = client->login != NULL;
	if (!client->closing)
		client_destroy(client);
}
