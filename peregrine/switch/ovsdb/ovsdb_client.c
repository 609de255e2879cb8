#include "peregrine/switch/ovsdb/ovsdb_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/ovsdb/ovsdb_tls.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	USUAL_PORT = 6640, /* RFC 7047, 8 */
	CONNECT_MS = 5000,
	OVSDB_CLIENT_DEAD_AFTER_MS = 30000, /* what was sent and not acknowledged */
	UNREAD_MAX = 1 << 20,               /* of ours: it asks and does not read */
};

struct ovsdb_client {
	struct loop *loop;
	const struct switch_endpoint *endpoint;
	uint16_t port;
	struct ovsdb_tls tls;
	struct bufferevent *link; /* NULL: no connection */
	bool open, sent;
	struct ovsdb_stream in;
	struct loop_timer *limit, *deliver;
	uint32_t requests;

	/* The request under way; `fn` NULL: none. */
	json_int_t id;
	char *text; /* not sent yet */
	uint32_t answer_ms;
	int64_t deadline_ms;
	ovsdb_answer_fn fn;
	void *context;

	/* What is to be delivered. */
	json_t *answer;
	int rc;
	struct problem problem;
	struct fence *fence; /* of what is asked */
};

/* --- ends --- */

static void ovsdb_client_disconnect(struct ovsdb_client *client)
{
	if (client->link)
		bufferevent_free(client->link);
	client->link = NULL;
	client->open = false;
	ovsdb_stream_done(&client->in);
}

/* The request is over; its caller hears of it in the next turn of the loop. */
static void ovsdb_client_settle(struct ovsdb_client *client, int rc)
{
	free(client->text);
	client->text = NULL;
	loop_timer_disarm(client->limit);
	if (!client->fn)
		return;
	client->rc = rc;
	loop_timer_arm(client->deliver, 0);
}

static void on_deliver(void *context)
{
	struct ovsdb_client *client = context;
	CLEANUP(json_decrefp) json_t *answer = TAKE(client->answer);
	struct problem problem = client->problem;
	ovsdb_answer_fn fn = client->fn;
	void *fn_context = client->context;
	int rc = client->rc;

	client->fn = NULL;
	/* The client may be gone after this. */
	if (fn)
		fn(fn_context, rc, rc ? NULL : json_object_get(answer, "result"),
		   rc ? &problem : NULL);
}

static void ovsdb_client_fail(struct ovsdb_client *client, int rc, const char *detail,
			      const char *hint)
{
	bool told = client->answer || problem_is_set(&client->problem);

	ovsdb_client_disconnect(client);
	if (!told) {
		problem_set(&client->problem, rc, "no OVSDB of switch %s", client->endpoint->name);
		problem_detail(&client->problem, "%s port %u: %s", client->endpoint->address,
			       client->port, detail);
		problem_hint(&client->problem, "%s", hint);
		ovsdb_client_settle(client, rc);
	}
}

#define REACH_HINT "is ovsdb-server up there, and does it listen (ovs-vsctl set-manager pssl:)?"

static void fail_protocol(struct ovsdb_client *client, int rc, const char *detail)
{
	ovsdb_client_fail(client, rc == E_LIMIT ? E_LIMIT : E_PROTOCOL, detail,
			  "is that port an ovsdb-server's?");
}

/* --- what comes --- */

static void ovsdb_client_send_reply(struct ovsdb_client *client,
				    const struct ovsdb_message *message)
{
	bool echo = strcmp(message->method, "echo") == 0;
	CLEANUP(json_decrefp)
	json_t *reply =
		json_pack("{s:O,s:O?,s:s?}", "id", message->id, "result",
			  echo ? message->params : NULL, "error", echo ? NULL : "unknown method");
	char *text = reply ? json_dumps(reply, JSON_COMPACT) : NULL;

	if (text)
		(void)bufferevent_write(client->link, text, strlen(text));
	free(text);
}

static const char *error_of(const json_t *error)
{
	const char *text = json_string_value(error);

	if (!text)
		text = json_string_value(json_object_get(error, "error"));
	return text ? text : "an error without a name";
}

/* False: the connection is of no more use. */
static bool ovsdb_client_take(struct ovsdb_client *client, json_t *json)
{
	struct ovsdb_message message = ovsdb_message_read(json);

	switch (message.kind) {
	case OVSDB_REQUEST: ovsdb_client_send_reply(client, &message); return true;
	case OVSDB_NOTICE: return true;
	case OVSDB_NONSENSE:
		fail_protocol(client, E_PROTOCOL, "a message that is not JSON-RPC");
		return false;
	case OVSDB_ANSWER: break;
	}
	/* Of a request that was forgotten. */
	if (!client->fn || client->text || json_integer_value(message.id) != client->id)
		return true;
	if (message.error || !json_is_array(message.result)) {
		fail_protocol(client, E_PROTOCOL,
			      message.error ? error_of(message.error)
					    : "a result that is not a list");
		return false;
	}
	client->answer = json_incref(json);
	ovsdb_client_settle(client, 0);
	return true;
}

static void ovsdb_client_on_data(struct bufferevent *link, void *context)
{
	struct ovsdb_client *client = context;
	struct problem problem = {0};
	char bytes[16384];
	size_t got;
	int rc = 0;

	while (rc == 0 && (got = bufferevent_read(link, bytes, sizeof(bytes))) > 0) {
		rc = ovsdb_stream_add(&client->in, bytes, got);
		if (rc)
			(void)problem_set(&problem, rc,
					  rc == E_LIMIT ? "a message is too large or too deep"
							: "its message is not JSON-RPC");
		for (json_t *json = NULL; rc == 0;) {
			bool good;

			rc = ovsdb_json_next(&client->in, &json, &problem);
			if (rc || !json)
				break;
			good = ovsdb_client_take(client, json);
			json_decref(json);
			if (!good)
				return; /* the link is gone */
		}
	}
	if (rc)
		fail_protocol(client, rc, problem.message);
	else if (evbuffer_get_length(bufferevent_get_output(link)) > UNREAD_MAX)
		fail_protocol(client, E_PROTOCOL,
			      "it sends requests but does not read our answers");
}

/* --- connecting --- */

static void arm_limit(struct ovsdb_client *client, uint32_t most_ms)
{
	int64_t left_ms = client->deadline_ms - clock_monotonic_ms();

	if (left_ms > most_ms)
		left_ms = most_ms;
	loop_timer_arm(client->limit, left_ms > 0 ? left_ms : 0);
}

static void send_request(struct ovsdb_client *client)
{
	if (!client->text)
		return;
	if (!fence_holds(client->fence)) {
		ovsdb_client_fail(client, E_LAPSED, "the claim ran out", "");
		return;
	}
	if (bufferevent_write(client->link, client->text, strlen(client->text)) != 0) {
		ovsdb_client_fail(client, E_UNAVAILABLE, "no memory to send", "");
		return;
	}
	free(client->text);
	client->text = NULL;
	client->sent = true;
	client->requests++;
	arm_limit(client, client->answer_ms);
}

static void on_connected(struct ovsdb_client *client)
{
	static const int one = 1;
	static const unsigned dead_ms = OVSDB_CLIENT_DEAD_AFTER_MS;
	int fd = bufferevent_getfd(client->link);

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
	client->open = true;
	send_request(client);
}

/* Of either certificate, or of none: TLS says why in one word. */
static void fail_tls(struct ovsdb_client *client, unsigned long error)
{
	const char *reason = ERR_reason_error_string(error);
	char detail[256];

	if (client->tls.why[0]) {
		text_format(detail, sizeof(detail), "its certificate %s: %s", client->tls.shown,
			    client->tls.why);
		ovsdb_client_fail(
			client, E_AUTHENTICATION, detail,
			"if the certificate was renewed, compare it on the switch (openssl x509 -fingerprint -sha256); else the connection may be intercepted");
		return;
	}
	text_format(detail, sizeof(detail), "TLS: %s", reason ? reason : "unknown");
	if (reason && strstr(reason, "alert"))
		ovsdb_client_fail(
			client, E_AUTHENTICATION, detail,
			"does the switch trust the CA of our certificate (ovs-vsctl get-ssl)?");
	else
		ovsdb_client_fail(client, E_UNAVAILABLE, detail, "is that port one of pssl:?");
}

/* A server that does not accept our certificate says so and closes at once: when writing finds that
 * out first, the alert still waits to be read. */
static unsigned long tls_error(struct bufferevent *link)
{
	unsigned long error = bufferevent_get_openssl_error(link);
	char byte;

	if (!error || !ERR_reason_error_string(error)) {
		ERR_clear_error();
		(void)SSL_read(bufferevent_openssl_get_ssl(link), &byte, 1);
		error = ERR_peek_last_error();
		ERR_clear_error();
	}
	return error && ERR_reason_error_string(error) ? error : 0;
}

static void ovsdb_client_on_event(struct bufferevent *link, short what, void *context)
{
	struct ovsdb_client *client = context;
	unsigned long error;

	if (what & BEV_EVENT_CONNECTED) {
		on_connected(client);
		return;
	}
	error = client->tls.trust == OVSDB_TRUST_PLAIN ? 0 : tls_error(link);
	if (error)
		fail_tls(client, error);
	else if (what & BEV_EVENT_EOF)
		ovsdb_client_fail(client, E_UNAVAILABLE,
				  client->open ? "it ended the connection"
					       : "it ended the connection at once",
				  REACH_HINT);
	else
		ovsdb_client_fail(client, E_UNAVAILABLE, error_text(-EVUTIL_SOCKET_ERROR()),
				  REACH_HINT);
}

static void on_limit(void *context)
{
	struct ovsdb_client *client = context;

	ovsdb_client_fail(client, E_TIMEOUT,
			  client->open ? "no answer in time" : "no connection in time",
			  client->open ? "the server is busy or stuck" : REACH_HINT);
}

static bool make_address(const struct ovsdb_client *client, struct sockaddr_storage *ret,
			 int *ret_size)
{
	struct sockaddr_in *four = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, client->endpoint->address, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(client->port);
		*ret_size = sizeof(*four);
		return true;
	}
	if (inet_pton(AF_INET6, client->endpoint->address, &six->sin6_addr) != 1)
		return false;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(client->port);
	*ret_size = sizeof(*six);
	return true;
}

static int link_new(struct ovsdb_client *client)
{
	static const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
	struct event_base *base = loop_base(client->loop);
	SSL *session = NULL;
	int rc;

	if (client->tls.trust == OVSDB_TRUST_PLAIN) {
		client->link = bufferevent_socket_new(base, -1, options);
		return client->link ? 0 : -ENOMEM;
	}
	rc = ovsdb_tls_session(&client->tls, &session, &client->problem);
	if (rc)
		return rc;
	client->link = bufferevent_openssl_socket_new(base, -1, session, BUFFEREVENT_SSL_CONNECTING,
						      options);
	if (!client->link) {
		SSL_free(session);
		return -ENOMEM;
	}
	bufferevent_openssl_set_allow_dirty_shutdown(client->link, 1);
	return 0;
}

static void ovsdb_client_connect_to(struct ovsdb_client *client)
{
	struct sockaddr_storage address;
	int size = 0;
	int rc;

	if (!make_address(client, &address, &size)) {
		ovsdb_client_fail(client, E_UNAVAILABLE, "that is not an address", "");
		return;
	}
	rc = link_new(client);
	if (rc) {
		ovsdb_client_settle(client, problem_is_set(&client->problem)
						    ? rc
						    : problem_set(&client->problem, rc,
								  "no memory to connect"));
		return;
	}
	arm_limit(client, CONNECT_MS);
	bufferevent_setcb(client->link, ovsdb_client_on_data, NULL, ovsdb_client_on_event, client);
	if (bufferevent_enable(client->link, EV_READ | EV_WRITE) != 0 ||
	    bufferevent_socket_connect(client->link, (struct sockaddr *)&address, size) != 0)
		ovsdb_client_fail(client, E_UNAVAILABLE, error_text(-EVUTIL_SOCKET_ERROR()),
				  REACH_HINT);
}

/* --- asking --- */

int ovsdb_client_transact(struct ovsdb_client *client, json_t *params, uint32_t answer_ms,
			  int64_t deadline_ms, ovsdb_answer_fn fn, void *context)
{
	CLEANUP(json_decrefp)
	json_t *request = json_pack("{s:s,s:o,s:I}", "method", "transact", "params", params, "id",
				    ++client->id);
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;

	if (!text)
		return -ENOMEM;
	free(client->text);
	client->text = text;
	client->problem = (struct problem){0};
	client->sent = false;
	client->answer_ms = answer_ms;
	client->deadline_ms = deadline_ms;
	client->fn = fn;
	client->context = context;
	if (!client->link)
		ovsdb_client_connect_to(client);
	else if (client->open)
		send_request(client);
	else
		arm_limit(client, CONNECT_MS); /* the connecting goes on for this one */
	return 0;
}

void ovsdb_client_forget(struct ovsdb_client *client)
{
	json_decref(client->answer);
	client->answer = NULL;
	client->fn = NULL;
	free(client->text);
	client->text = NULL;
	loop_timer_disarm(client->deliver);
}

void ovsdb_client_guard(struct ovsdb_client *client, struct fence *fence)
{
	client->fence = fence;
}

bool ovsdb_client_is_open(const struct ovsdb_client *client)
{
	return client->open;
}

bool ovsdb_client_was_sent(const struct ovsdb_client *client)
{
	return client->sent;
}

uint32_t ovsdb_client_requests(const struct ovsdb_client *client)
{
	return client->requests;
}

/* --- life --- */

int ovsdb_client_new(struct loop *loop, const struct switch_endpoint *endpoint,
		     const struct ovsdb_files *files, struct ovsdb_client **ret,
		     struct problem *problem)
{
	struct ovsdb_client *client = calloc(1, sizeof(*client));
	int rc;

	if (!client)
		return problem_set(problem, -ENOMEM, "no memory for a switch");
	client->loop = loop;
	client->endpoint = endpoint;
	client->port = endpoint->ovsdb_port ? endpoint->ovsdb_port : USUAL_PORT;
	rc = ovsdb_tls_init(&client->tls, endpoint, files, problem);
	if (rc == 0) {
		rc = loop_timer_new(loop, on_limit, client, &client->limit);
		if (rc == 0)
			rc = loop_timer_new(loop, on_deliver, client, &client->deliver);
		if (rc)
			problem_set(problem, rc, "no timer for a switch");
	}
	if (rc) {
		ovsdb_client_free(client);
		return rc;
	}
	*ret = client;
	return 0;
}

void ovsdb_client_free(struct ovsdb_client *client)
{
	if (!client)
		return;
	ovsdb_client_disconnect(client);
	json_decref(client->answer);
	free(client->text);
	loop_timer_free(client->limit);
	loop_timer_free(client->deliver);
	free(client);
}
