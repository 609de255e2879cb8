#include "portal/server/console.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/client.h"

#include "portal/server/daemon_call.h"
#include "portal/server/node_store_sql.h"
#include "portal/server/standing.h"

#define SILENCE_MS  45000 /* bampid says something each 15 s */
#define INPUT_LIMIT 4096
#define RELAYS_MAX  256
#define TARGET_SIZE (NAME_SIZE + 100)

struct console_relay {
	struct console_relay *next;
	struct exchange *exchange; /* holds the request */
	struct http_client *client;
	struct http_call *call;    /* NULL when over */
	struct loop_timer *end;    /* frees us outside of the client's own calls */
	bool streaming;            /* the answer has begun */
	struct standing *standing; /* of a stream: ends it when it could not be opened any more */
	char opened[24];           /* the event that tells of a stream; "" = none does */
};

/* Who opened it may be logged out by now, so the event that told of it says who that was. */
static void server_console_tell_closed(struct console_relay *relay)
{
	const char *const params[] = {relay->opened};

	if (relay->opened[0] != '\0')
		(void)!db_submit(relay->exchange->portal->db, &node_console_closed_query, params,
				 NULL, NULL);
}

static void server_console_relay_free(struct console_relay *relay)
{
	struct portal *portal = relay->exchange->portal;

	server_console_tell_closed(relay);
	for (struct console_relay **link = &portal->consoles; *link; link = &(*link)->next) {
		if (*link == relay) {
			*link = relay->next;
			portal->counters.consoles--;
			break;
		}
	}
	if (relay->call)
		http_call_cancel(relay->call);
	standing_free(relay->standing);
	http_client_free(relay->client);
	loop_timer_free(relay->end);
	exchange_release(relay->exchange);
	free(relay);
}

static void server_console_on_end(void *context)
{
	server_console_relay_free(context);
}

static void server_console_on_client_gone(void *context)
{
	struct console_relay *relay = context;

	relay->exchange->request = NULL;
	loop_timer_arm(relay->end, 0);
}

static int server_console_on_data(void *context, const void *data, size_t size)
{
	struct console_relay *relay = context;
	struct http_request *request = relay->exchange->request;
	int rc;

	if (!request)
		return -EPIPE;
	if (!relay->streaming) {
		relay->streaming = true;
		http_answer_header(request, "X-Accel-Buffering", "no");
		http_stream_begin(request, 200, "text/event-stream");
	}
	rc = http_stream_send(request, data, size);
	if (rc != 0)
		relay->exchange->request = NULL;
	return rc;
}

/* Bampid ended it, and its last event has said why. */
static void server_console_stream_over(struct console_relay *relay)
{
	struct http_request *request = relay->exchange->request;

	relay->exchange->request = NULL;
	if (!request)
		return;
	http_request_on_close(request, NULL, NULL);
	http_stream_end(request);
}

/* `again`: nobody ended it, so who reads it may ask for it again. */
static void end_stream(struct console_relay *relay, const struct problem *problem, bool again)
{
	struct http_request *request = relay->exchange->request;
	struct text text = {0};

	relay->exchange->request = NULL;
	if (!request)
		return;
	http_request_on_close(request, NULL, NULL);
	text_add(&text, "event: closed\ndata: ");
	json_begin_object(&text, NULL);
	json_put_string(&text, "message",
			problem->message[0] != '\0' ? problem->message : "the console was closed");
	json_put_string(&text, "detail", problem->detail);
	json_put_string(&text, "hint", problem->hint);
	json_put_bool(&text, "again", again);
	json_end_object(&text);
	text_add(&text, "\n\n");
	if (http_stream_send(request, text_get(&text), text.size) == 0)
		http_stream_end(request);
	text_done(&text);
}

static void server_console_broke(struct console_relay *relay)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_UNAVAILABLE, "the connection to bampid broke");
	problem_hint(&problem,
		     "it can be opened again when bampid answers: systemctl status bampid");
	end_stream(relay, &problem, true);
}

static void server_console_on_done(void *context, int rc, const struct http_response *response,
				   const struct problem *problem)
{
	struct console_relay *relay = context;
	bool good = rc == 0 && response->status >= 200 && response->status < 300;

	relay->call = NULL;
	if (relay->streaming && rc == 0)
		server_console_stream_over(relay);
	else if (relay->streaming)
		server_console_broke(relay);
	else if (rc != 0)
		daemon_unreachable(relay->exchange, "bampid", rc, problem);
	else if (good && response->status == 200 && response->body)
		exchange_answer(relay->exchange, 200, response->body);
	else if (good)
		exchange_answer(relay->exchange, 204, NULL);
	else
		daemon_refused(relay->exchange, "bampid", response);
	loop_timer_arm(relay->end, 0);
}

/* --- who may --- */

/* A row of node_console: false where its tenant has to wait. */
static bool console_is_open(const PGresult *result, struct problem *problem)
{
	const char *why = PQntuples(result) > 0 ? db_text(result, 0, NODE_CONSOLE_WHY, NULL)
						: "the node is not there any more";

	if (!why)
		return true;
	(void)problem_set(problem, E_CONFLICT, "%s", why);
	problem_hint(problem, "its console is its tenant's while the node is active");
	return false;
}

static void server_console_on_over(void *context, const struct problem *problem)
{
	struct console_relay *relay = context;

	if (relay->streaming)
		end_stream(relay, problem, false);
	else
		exchange_problem(relay->exchange, exchange_status_of(problem->code), problem);
	loop_timer_arm(relay->end, 0);
}

static int relay_stands(struct console_relay *relay)
{
	const struct standing_options options = {.query = &node_console_query,
						 .param = exchange_arg(relay->exchange, "{node}"),
						 .still = console_is_open,
						 .over = server_console_on_over,
						 .context = relay};

	return standing_new(relay->exchange, &options, &relay->standing);
}

/* Bampid hears in whose name, and from when on that one may hear. */
static void console_target(const struct exchange *exchange, const PGresult *result,
			   const char *what, char ret[TARGET_SIZE])
{
	const char *tenant = db_text(result, 0, NODE_CONSOLE_TENANT, NULL);

	(void)text_format(ret, TARGET_SIZE, "/nodes/%s/console/%s%s%s%s%s",
			  exchange_arg(exchange, "{node}"), what, tenant ? "?tenant=" : "",
			  tenant ? tenant : "", tenant ? "&since=" : "",
			  tenant ? db_text(result, 0, NODE_CONSOLE_SINCE_MS, "") : "");
}

static int relay_new(struct exchange *exchange, struct console_relay **ret)
{
	struct portal *portal = exchange->portal;
	struct console_relay *relay = calloc(1, sizeof(*relay));
	char url[256];
	int rc = relay ? loop_timer_new(portal->loop, server_console_on_end, relay, &relay->end)
		       : -ENOMEM;

	if (rc == 0)
		rc = text_format(url, sizeof(url), "unix:%s", portal->conf->bampid_socket)
			     ? 0
			     : -ENAMETOOLONG;
	if (rc == 0)
		rc = http_client_new(portal->loop, url, &relay->client);
	if (rc != 0) {
		if (relay && relay->end)
			loop_timer_free(relay->end);
		free(relay);
		return rc;
	}
	exchange_hold(exchange);
	relay->exchange = exchange;
	relay->next = portal->consoles;
	portal->consoles = relay;
	portal->counters.consoles++;
	http_request_on_close(exchange->request, server_console_on_client_gone, relay);
	*ret = relay;
	return 0;
}

static void server_console_relay_start(struct exchange *exchange, const PGresult *result,
				       const struct http_call_options *options)
{
	struct http_call_options own = *options;
	struct console_relay *relay = NULL;
	struct problem problem = {0};
	char target[TARGET_SIZE];
	int rc;

	if (!exchange->request)
		return;
	if (PQntuples(result) == 0) {
		exchange_not_found(exchange);
		return;
	}
	if (!console_is_open(result, &problem)) {
		exchange_problem(exchange, 409, &problem);
		return;
	}
	rc = exchange->portal->counters.consoles < RELAYS_MAX ? relay_new(exchange, &relay)
							      : E_UNAVAILABLE;
	if (rc == 0 && options->on_data && (rc = relay_stands(relay)) != 0)
		loop_timer_arm(relay->end, 0);
	if (rc != 0) {
		daemon_unreachable(exchange, "bampid", rc, NULL);
		return;
	}
	if (options->on_data)
		(void)text_copy(relay->opened, sizeof(relay->opened),
				db_text(result, 0, NODE_CONSOLE_TOLD_TOLD, ""));
	console_target(exchange, result, options->target, target);
	own.target = target;
	own.timeout_ms = SILENCE_MS;
	own.on_done = server_console_on_done;
	own.context = relay;
	rc = http_client_call(relay->client, &own, &relay->call);
	if (rc != 0) {
		daemon_unreachable(exchange, "bampid", rc, NULL);
		loop_timer_arm(relay->end, 0);
	}
}

static void start_stream(struct exchange *exchange, const PGresult *result)
{
	server_console_relay_start(exchange, result,
				   &(struct http_call_options){.method = "GET",
							       .target = "stream",
							       .on_data = server_console_on_data});
}

static void start_input(struct exchange *exchange, const PGresult *result)
{
	struct http_call_options options = {
		.method = "POST", .target = "input", .content_type = "application/octet-stream"};

	if (exchange->request)
		options.body = http_request_body(exchange->request, &options.body_size);
	server_console_relay_start(exchange, result, &options);
}

static void start_reopen(struct exchange *exchange, const PGresult *result)
{
	server_console_relay_start(
		exchange, result,
		&(struct http_call_options){.method = "POST", .target = "reopen"});
}

static void start_log(struct exchange *exchange, const PGresult *result)
{
	server_console_relay_start(exchange, result,
				   &(struct http_call_options){.method = "GET", .target = "log"});
}

/* Only a node that may be seen, and of a tenant one that is its own now. Its name is one that the database knows,
 * so it is safe in a path. */
static void ask_node(struct exchange *exchange, const char *use, exchange_result_fn fn)
{
	const char *params[] = {exchange_arg(exchange, "{node}"), use};

	exchange_query(exchange, &node_console_told_query, params, fn);
}

void console_stream(struct exchange *exchange)
{
	ask_node(exchange, "opened", start_stream);
}

/* Nobody reads or types by it. */
void console_reopen(struct exchange *exchange)
{
	const char *params[] = {exchange_arg(exchange, "{node}")};

	exchange_query(exchange, &node_console_query, params, start_reopen);
}

/* The log is older than a tenancy: a tenant has it from the hand-over on. */
void console_log(struct exchange *exchange)
{
	ask_node(exchange, "read", start_log);
}

void console_input(struct exchange *exchange)
{
	struct problem problem = {0};
	size_t size;

	(void)http_request_body(exchange->request, &size);
	if (size > INPUT_LIMIT) {
		(void)problem_set(&problem, E_LIMIT, "more than %d bytes at once", INPUT_LIMIT);
		problem_hint(&problem, "send it in pieces");
		exchange_problem(exchange, 413, &problem);
		return;
	}
	ask_node(exchange, "typed", start_input);
}

void console_end_all(struct portal *portal)
{
	const struct problem stopping = {.message = "portald stops"};

	while (portal->consoles) {
		struct console_relay *relay = portal->consoles;

		if (relay->streaming)
			end_stream(relay, &stopping, true);
		server_console_relay_free(relay);
	}
}
