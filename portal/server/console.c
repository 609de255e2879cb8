#include "portal/server/console.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/http/client.h"

#include "portal/server/daemon_call.h"
#include "portal/server/node_store_sql.h"

#define SILENCE_MS  45000 /* bampid says something each 15 s */
#define INPUT_LIMIT 4096
#define RELAYS_MAX  256
#define TARGET_SIZE (NAME_SIZE + 40)

struct console_relay {
	struct console_relay *next;
	struct exchange *exchange; /* holds the request */
	struct http_client *client;
	struct http_call *call; /* NULL when over */
	struct loop_timer *end; /* frees us outside of the client's own calls */
	bool streaming;         /* the answer has begun */
};

static void server_console_relay_free(struct console_relay *relay)
{
	struct portal *portal = relay->exchange->portal;

	for (struct console_relay **link = &portal->consoles; *link; link = &(*link)->next) {
		if (*link == relay) {
			*link = relay->next;
			portal->counters.consoles--;
			break;
		}
	}
	if (relay->call)
		http_call_cancel(relay->call);
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

static void end_stream(struct console_relay *relay, const struct problem *problem)
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
	json_end_object(&text);
	text_add(&text, "\n\n");
	if (http_stream_send(request, text_get(&text), text.size) == 0)
		http_stream_end(request);
	text_done(&text);
}

static void server_console_on_done(void *context, int rc, const struct http_response *response,
				   const struct problem *problem)
{
	struct console_relay *relay = context;
	const struct problem none = {0};
	bool good = rc == 0 && response->status >= 200 && response->status < 300;

	relay->call = NULL;
	if (relay->streaming)
		end_stream(relay, problem ? problem : &none);
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
	struct console_relay *relay;
	char target[TARGET_SIZE];
	int rc;

	if (!exchange->request)
		return;
	if (PQntuples(result) == 0) {
		exchange_not_found(exchange);
		return;
	}
	rc = exchange->portal->counters.consoles < RELAYS_MAX ? relay_new(exchange, &relay)
							      : E_UNAVAILABLE;
	if (rc != 0) {
		daemon_unreachable(exchange, "bampid", rc, NULL);
		return;
	}
	(void)text_format(target, sizeof(target), "/nodes/%s/console/%s",
			  exchange_arg(exchange, "{node}"), options->target);
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

/* Only a node that may be seen: the row policies decide. Its name is one that the database knows,
 * so it is safe in a path. */
static void ask_node(struct exchange *exchange, exchange_result_fn fn)
{
	const char *params[] = {exchange_arg(exchange, "{node}")};

	exchange_query(exchange, &node_visible_query, params, fn);
}

void console_stream(struct exchange *exchange)
{
	ask_node(exchange, start_stream);
}

void console_reopen(struct exchange *exchange)
{
	ask_node(exchange, start_reopen);
}

/* The log is older than a tenancy: it may hold what another tenant's OS said. */
void console_log(struct exchange *exchange)
{
	ask_node(exchange, start_log);
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
	ask_node(exchange, start_input);
}

void console_end_all(struct portal *portal)
{
	const struct problem stopping = {.message = "portald stops"};

	while (portal->consoles) {
		struct console_relay *relay = portal->consoles;

		if (relay->streaming)
			end_stream(relay, &stopping);
		server_console_relay_free(relay);
	}
}
