#include "portal/server/daemon_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#define PREFIX                "/api/v1"
#define DAEMON_CALL_CALLS_MAX 256

struct daemon_call {
	struct daemon_call *next;
	struct exchange *exchange; /* holds the request */
	const char *daemon;
	void (*answered)(struct exchange *exchange, const struct http_response *response);
	void (*failed)(struct exchange *exchange, const char *reason);
	struct http_client *client;
	struct http_call *call; /* NULL when over */
	struct loop_timer *end; /* frees us outside of the client's own calls */
};

void daemon_unreachable(struct exchange *exchange, const char *daemon, int rc,
			const struct problem *cause)
{
	struct problem problem = {0};
	bool late = rc == E_TIMEOUT;

	(void)problem_set(&problem, rc, late ? "%s did not answer in time" : "%s cannot be reached",
			  daemon);
	problem_detail(&problem, "%s", cause ? cause->message : error_text(rc));
	problem_hint(&problem, "is it running? systemctl status %s", daemon);
	exchange_problem(exchange, late ? 504 : 503, &problem);
}

void daemon_refused(struct exchange *exchange, const char *daemon,
		    const struct http_response *response)
{
	const char *type = response->header(response, "Content-Type");
	struct problem problem = {0};

	if (response->status >= 400 && response->status < 600 && type &&
	    strcmp(type, "application/problem+json") == 0 && response->body) {
		exchange_answer(exchange, response->status, response->body);
		return;
	}
	(void)problem_set(&problem, E_PROTOCOL, "%s answered %d", daemon, response->status);
	problem_hint(&problem, "the log of %s has more", daemon);
	exchange_problem(exchange, 502, &problem);
}

/* No answer came. */
static void tell_away(struct exchange *exchange, const char *daemon,
		      void (*failed)(struct exchange *exchange, const char *reason), int rc,
		      const struct problem *cause)
{
	char reason[120];

	if (!failed) {
		daemon_unreachable(exchange, daemon, rc, cause);
		return;
	}
	(void)text_format(reason, sizeof(reason), "%s %s", daemon,
			  rc == E_TIMEOUT ? "did not answer in time" : "cannot be reached");
	failed(exchange, reason);
}

static void daemon_call_tell_refusal(const struct daemon_call *call,
				     const struct http_response *response)
{
	char reason[120];

	if (!call->failed) {
		daemon_refused(call->exchange, call->daemon, response);
		return;
	}
	(void)text_format(reason, sizeof(reason), "%s answered %d", call->daemon, response->status);
	call->failed(call->exchange, reason);
}

static void daemon_call_free(struct daemon_call *call)
{
	for (struct daemon_call **link = &call->exchange->portal->calls; *link;
	     link = &(*link)->next) {
		if (*link == call) {
			*link = call->next;
			break;
		}
	}
	if (call->call)
		http_call_cancel(call->call);
	exchange_watch(call->exchange); /* it may go on without us */
	http_client_free(call->client);
	loop_timer_free(call->end);
	exchange_release(call->exchange);
	free(call);
}

static void daemon_call_on_end(void *context)
{
	daemon_call_free(context);
}

static void daemon_call_on_client_gone(void *context)
{
	struct daemon_call *call = context;

	call->exchange->request = NULL;
	/* Its answer may be here already: nobody is left to take it. */
	if (call->call)
		http_call_cancel(call->call);
	call->call = NULL;
	loop_timer_arm(call->end, 0);
}

static void daemon_call_on_done(void *context, int rc, const struct http_response *response,
				const struct problem *problem)
{
	struct daemon_call *call = context;

	call->call = NULL;
	if (rc != 0)
		tell_away(call->exchange, call->daemon, call->failed, rc, problem);
	else if (response->status >= 200 && response->status < 300 && call->answered)
		call->answered(call->exchange, response);
	else if (response->status >= 200 && response->status < 300)
		exchange_answer(call->exchange, response->status,
				response->size > 0 ? response->body : NULL);
	else
		daemon_call_tell_refusal(call, response);
	loop_timer_arm(call->end, 0);
}

static size_t calls_under_way(const struct portal *portal)
{
	size_t count = 0;

	for (const struct daemon_call *call = portal->calls; call; call = call->next)
		count++;
	return count;
}

static int daemon_call_new(struct exchange *exchange, const struct daemon_ask *ask,
			   struct daemon_call **ret)
{
	struct portal *portal = exchange->portal;
	struct daemon_call *call =
		calls_under_way(portal) < DAEMON_CALL_CALLS_MAX ? calloc(1, sizeof(*call)) : NULL;
	char url[256];
	int rc = call ? loop_timer_new(portal->loop, daemon_call_on_end, call, &call->end)
		      : E_UNAVAILABLE;

	if (rc == 0)
		rc = text_format(url, sizeof(url), "unix:%s", ask->socket) ? 0 : -ENAMETOOLONG;
	if (rc == 0)
		rc = http_client_new(portal->loop, url, &call->client);
	if (rc != 0) {
		if (call)
			loop_timer_free(call->end);
		free(call);
		return rc;
	}
	exchange_hold(exchange);
	call->exchange = exchange;
	call->daemon = ask->daemon;
	call->answered = ask->answered;
	call->failed = ask->failed;
	call->next = portal->calls;
	portal->calls = call;
	http_request_on_close(exchange->request, daemon_call_on_client_gone, call);
	*ret = call;
	return 0;
}

/* What the client asked, as the daemon knows it. */
static const char *own_target(const struct exchange *exchange)
{
	const char *target = http_request_raw_target(exchange->request);

	return target + (strncmp(target, PREFIX, strlen(PREFIX)) == 0 ? strlen(PREFIX) : 0);
}

void daemon_pass_on(struct exchange *exchange, const struct daemon_ask *ask)
{
	CLEANUP(freep) char *dump = NULL;
	struct http_call_options options = {.method = ask->method,
					    .target = ask->target,
					    .body = ask->body,
					    .timeout_ms = ask->timeout_ms,
					    .response_limit = ask->response_limit,
					    .on_done = daemon_call_on_done};
	struct daemon_call *call;
	int rc;

	if (!exchange->request)
		return;
	if (!ask->method) {
		dump = exchange->body ? json_dumps(exchange->body, JSON_COMPACT) : NULL;
		options.method = route_method_text(http_request_method(exchange->request));
		options.target = own_target(exchange);
		options.body = dump;
	}
	options.body_size = options.body ? strlen(options.body) : 0;
	rc = daemon_call_new(exchange, ask, &call);
	if (rc != 0) {
		tell_away(exchange, ask->daemon, ask->failed, rc, NULL);
		return;
	}
	options.context = call;
	rc = http_client_call(call->client, &options, &call->call);
	if (rc != 0) {
		tell_away(exchange, ask->daemon, ask->failed, rc, NULL);
		loop_timer_arm(call->end, 0);
	}
}

void daemon_call_end_all(struct portal *portal)
{
	while (portal->calls)
		daemon_call_free(portal->calls);
}
