/* One server, a few connections: each call has one to itself, a clean one waits for the next call.
 * Reads go straight from the socket in large pieces (libevent's buffers take 4 KiB a turn, too
 * little for images). */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/client_private.h"
#include "common/http/wipe.h"

#define TIMEOUT_DEFAULT_MS     30000
#define RESPONSE_LIMIT_DEFAULT ((size_t)16 << 20)
#define PIECE_SIZE             65536
#define PIECES_PER_TURN        16    /* then the rest of the loop has its turn */
#define CLIENT_IDLE_MS         30000 /* our server closes after 75 s; closing first avoids the race */

static int parse_tcp(const char *authority, const char *address, struct http_client *client)
{
	size_t length = strcspn(authority, ":/");
	char *end = NULL;
	unsigned long port = client->tls ? 443 : 80;

	if (length >= sizeof(client->host))
		return E_MALFORMED;
	memcpy(client->host, authority, length);
	client->host[length] = '\0';
	authority += length;
	if (*authority == ':') {
		port = strtoul(authority + 1, &end, 10);
		if (end == authority + 1 || port == 0 || port > 65535)
			return E_MALFORMED;
		authority = end;
	}
	if (*authority == '/')
		authority++;
	client->address.internet.sin_family = AF_INET;
	client->address.internet.sin_port = htons((uint16_t)port);
	client->address_size = sizeof(client->address.internet);
	if (*authority != '\0' || inet_pton(AF_INET, address ? address : client->host,
					    &client->address.internet.sin_addr) != 1)
		return E_MALFORMED;
	return 0;
}

static int parse_url(const char *url, const char *address, struct http_client *client)
{
	if (!client->tls && strncmp(url, "http://", 7) == 0)
		return parse_tcp(url + 7, address, client);
	if (client->tls && strncmp(url, "https://", 8) == 0)
		return parse_tcp(url + 8, address, client);
	if (client->tls || strncmp(url, "unix:", 5) != 0 || url[5] == '\0')
		return E_MALFORMED;
	client->address.local.sun_family = AF_UNIX;
	client->address_size = sizeof(client->address.local);
	if (!text_copy(client->address.local.sun_path, sizeof(client->address.local.sun_path),
		       url + 5))
		return E_MALFORMED;
	return 0;
}

int http_client_new(struct loop *loop, const char *url, struct http_client **ret)
{
	return http_client_new_tls(loop, url, NULL, ret);
}

int http_client_new_tls(struct loop *loop, const char *url, const struct tls *tls,
			struct http_client **ret)
{
	return http_client_new_to(loop, &(struct http_server_way){.url = url, .tls = tls}, ret);
}

int http_client_new_to(struct loop *loop, const struct http_server_way *way,
		       struct http_client **ret)
{
	struct http_client *client = calloc(1, sizeof(*client));
	int rc;

	if (!client)
		return -ENOMEM;
	client->loop = loop;
	/* The same client may speak plain HTTP elsewhere; by "https:" alone TLS is spoken. */
	client->tls = strncmp(way->url, "https:", 6) == 0 ? way->tls : NULL;
	client->url = strdup(way->url);
	rc = client->url ? parse_url(way->url, way->address, client) : -ENOMEM;
	if (rc == 0 && way->bearer &&
	    !text_copy(client->bearer, sizeof(client->bearer), way->bearer))
		rc = E_LIMIT;
	if (rc != 0) {
		http_client_free(client);
		return rc;
	}
	*ret = client;
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	while (client->calls)
		http_call_cancel(client->calls);
	for (size_t i = 0; i < client->idle_count; i++)
		http_stream_close(client->idle[i].fd, client->idle[i].session);
	free(client->url);
	wipe_borrowed(client->bearer, sizeof(client->bearer));
	free(client);
}

bool http_client_has_connected(const struct http_client *client)
{
	return client->has_connected;
}

bool http_client_distrusts(const struct http_client *client)
{
	return client->distrusts;
}

/* Gives the call a waiting connection that is still good: young, open, silent. */
static bool take_idle(struct http_client *client, struct http_call *call)
{
	while (client->idle_count > 0) {
		struct idle_connection *idle = &client->idle[--client->idle_count];
		char byte;

		if (loop_now_ms(client->loop) - idle->since_ms < CLIENT_IDLE_MS &&
		    recv(idle->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN) {
			call->fd = idle->fd;
			call->session = idle->session;
			return true;
		}
		http_stream_close(idle->fd, idle->session);
	}
	return false;
}

static void client_drop(struct http_call *call)
{
	http_stream_close(call->fd, TAKE(call->session));
	call->fd = -1;
}

static void keep_idle(struct http_client *client, struct http_call *call)
{
	if (client->idle_count == IDLE_COUNT) {
		client_drop(call);
		return;
	}
	client->idle[client->idle_count++] =
		(struct idle_connection){.fd = call->fd,
					 .session = TAKE(call->session),
					 .since_ms = loop_now_ms(client->loop)};
	call->fd = -1;
}

/* Out of the list, connection kept or closed. What the answer holds stays for on_done. */
static void client_detach(struct http_call *call, bool keep)
{
	struct http_call **at = &call->client->calls;

	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
	loop_watch_free(call->watch);
	call->watch = NULL;
	loop_timer_free(call->silence);
	call->silence = NULL;
	if (call->fd >= 0 && keep)
		keep_idle(call->client, call);
	else
		client_drop(call);
}

static void client_call_free(struct http_call *call)
{
	if (call->options.secret) {
		wipe_borrowed(call->output.data, call->output.size);
		wipe_borrowed(call->body.data, call->body.size);
	}
	text_done(&call->output);
	text_done(&call->head_bytes);
	text_done(&call->body);
	free(call);
}

void http_call_cancel(struct http_call *call)
{
	if (!call || !call->silence) /* already over: on_done is running */
		return;
	call->cancelled = true;
	client_detach(call, false);
	if (!call->deciding) /* else on_data is on the stack, and frees when it is back */
		client_call_free(call);
}

static const char *response_header(const struct http_response *response, const char *name)
{
	return http_head_field(response->opaque, name);
}

static void finish_failed(struct http_call *call, int rc, int reason_rc)
{
	struct problem problem = {0};

	call->client->distrusts = call->why[0] != '\0';
	if (call->why[0]) {
		(void)problem_set(&problem, rc, "no trusted connection to %s", call->client->url);
		problem_hint(&problem, "haasctl ca show, with the certificate of that server");
	} else if (rc == E_TIMEOUT)
		(void)problem_set(&problem, rc, "%s does not answer", call->client->url);
	else if (rc == E_UNAVAILABLE)
		(void)problem_set(&problem, rc, "%s cannot be reached", call->client->url);
	else
		(void)problem_set(&problem, rc, "the answer of %s is not usable",
				  call->client->url);
	problem_detail(&problem, "%s", call->why[0] ? call->why : error_text(reason_rc));
	client_detach(call, false);
	if (call->options.on_done) /* may free the client */
		call->options.on_done(call->options.context, rc, NULL, &problem);
	client_call_free(call);
}

static void finish_done(struct http_call *call, bool keep)
{
	struct http_response response = {
		.status = call->head.status, .header = response_header, .opaque = &call->head};

	if (!call->on_data_wanted) {
		response.body = text_get(&call->body);
		response.size = call->body.size;
	}
	call->client->distrusts = false;
	client_detach(call,
		      keep && http_head_has_token(&call->head, "Connection", "close") == false &&
			      call->head.minor == 1);
	if (call->options.on_done)
		call->options.on_done(call->options.context, 0, &response, NULL);
	client_call_free(call);
}

static void call_ready(void *context, int events);
static int call_connect(struct http_call *call);

/* A server may close an idle connection just as we use it; what may be said twice is said again on
 * a new one. */
static bool client_try_again(struct http_call *call)
{
	if (!call->reused || call->heard || !call->repeatable)
		return false;
	loop_watch_free(call->watch);
	call->watch = NULL;
	client_drop(call);
	call->why[0] = '\0';
	call->reused = false;
	call->sent = 0;
	return call_connect(call) == 0;
}

static void client_fail(struct http_call *call, int rc, int reason_rc)
{
	if (rc == E_UNAVAILABLE && client_try_again(call))
		return;
	finish_failed(call, rc, reason_rc);
}

static void heard_something(struct http_call *call)
{
	loop_timer_arm(call->silence, call->options.timeout_ms);
}

/* False when the call is over (and freed). */
static bool take_input(struct http_call *call, const char *data, size_t size)
{
	size_t used = 0;
	bool done = false;
	int rc = http_call_take_answer(call, data, size, &used, &done);

	if (call->cancelled) {
		client_call_free(call);
		return false;
	}
	if (rc != 0) {
		finish_failed(call, rc, rc);
		return false;
	}
	if (done) {
		finish_done(call, used == size && call->sent == call->output.size);
		return false;
	}
	return true;
}

static void take_end(struct http_call *call)
{
	if (call->state == CALL_BODY && call->framing == HTTP_FRAMING_CLOSE)
		finish_done(call, false);
	else
		client_fail(call, E_UNAVAILABLE, -ECONNRESET);
}

static void read_answer(struct http_call *call)
{
	char piece[PIECE_SIZE];

	for (unsigned i = 0; i < PIECES_PER_TURN; i++) {
		ssize_t got = http_call_recv(call, piece, sizeof(piece));

		if (got == -EAGAIN) {
			if (call->session)
				loop_watch_set(call->watch, http_call_events(call));
			return;
		}
		if (got < 0) {
			client_fail(call, E_UNAVAILABLE, (int)got);
			return;
		}
		if (got == 0) {
			take_end(call);
			return;
		}
		call->heard = true;
		heard_something(call);
		if (!take_input(call, piece, (size_t)got))
			return;
	}
}

/* Writes what the socket takes. The answer may come before the request is out (413). */
static int write_request(struct http_call *call)
{
	while (call->sent < call->output.size) {
		ssize_t written = http_call_send(call, call->output.data + call->sent,
						 call->output.size - call->sent);

		if (written == -EAGAIN)
			return 0;
		if (written < 0)
			return (int)written;
		call->sent += (size_t)written;
		heard_something(call);
	}
	loop_watch_set(call->watch, LOOP_READ);
	return 0;
}

/* False: no session, or not yet. */
static bool client_handshake(struct http_call *call)
{
	int rc = http_call_handshake(call);

	if (rc == 0) {
		call->state = CALL_HEAD;
		call->client->has_connected = true;
		heard_something(call);
	} else if (rc != -EAGAIN) {
		finish_failed(call, E_UNAVAILABLE, rc);
		return false;
	}
	loop_watch_set(call->watch, http_call_events(call));
	return rc == 0;
}

static void call_ready(void *context, int events)
{
	struct http_call *call = context;
	int error = 0;
	socklen_t size = sizeof(error);
	int rc = 0;

	if (call->state == CALL_CONNECT) {
		if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
			error = errno;
		if (error != 0) {
			finish_failed(call, E_UNAVAILABLE, -error);
			return;
		}
		call->state = call->session ? CALL_HANDSHAKE : CALL_HEAD;
		call->client->has_connected = call->client->has_connected || !call->session;
		loop_watch_set(call->watch, LOOP_READ | LOOP_WRITE);
		heard_something(call);
	}
	if (call->state == CALL_HANDSHAKE) {
		if (!client_handshake(call))
			return;
		events = LOOP_READ | LOOP_WRITE;
	}
	if (events & LOOP_WRITE)
		rc = write_request(call);
	/* A server that refused may have said why before it closed. */
	if (events & LOOP_READ)
		read_answer(call);
	else if (rc != 0)
		client_fail(call, E_UNAVAILABLE, rc);
}

static void on_silence(void *context)
{
	struct http_call *call = context;

	if (call->early_rc != 0)
		finish_failed(call, call->early_rc, call->early_errno_rc);
	else
		finish_failed(call, E_TIMEOUT, E_TIMEOUT);
}

static int watch_call(struct http_call *call)
{
	return loop_watch_new(call->client->loop, call->fd, LOOP_READ | LOOP_WRITE, call_ready,
			      call, &call->watch);
}

static int call_connect(struct http_call *call)
{
	const struct http_client *client = call->client;
	const int on = 1;

	call->state = CALL_CONNECT;
	call->fd = socket(client->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			  0);
	if (call->fd < 0)
		return -errno;
	if (client->address.any.sa_family == AF_INET)
		(void)setsockopt(call->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(call->fd, &client->address.any, client->address_size) != 0 &&
	    errno != EINPROGRESS)
		return -errno;
	if (client->tls) {
		int rc = tls_session(client->tls, client->host, &call->session);

		if (rc == 0 && SSL_set_fd(call->session, call->fd) != 1)
			rc = -ENOMEM;
		if (rc)
			return rc;
	}
	return watch_call(call);
}

static bool is_repeatable(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
	       strcmp(method, "PUT") == 0 || strcmp(method, "DELETE") == 0;
}

/* What a caller passes on must not be able to end our lines. */
static bool is_one_line(const char *text)
{
	return text[strcspn(text, "\r\n")] == '\0';
}

static int build_request(struct http_call *call)
{
	const struct http_call_options *options = &call->options;
	const char *authority = strstr(call->client->url, "://");
	const char *host = authority ? authority + 3 : "localhost";

	if (!is_one_line(options->target) || strchr(options->target, ' '))
		return -EINVAL;
	text_addf(&call->output, "%s %s HTTP/1.1\r\nHost: %.*s\r\n", options->method,
		  options->target, (int)strcspn(host, "/"), host);
	if (options->body_size > 0 || strcmp(options->method, "POST") == 0 ||
	    strcmp(options->method, "PUT") == 0 || strcmp(options->method, "PATCH") == 0)
		text_addf(&call->output, "Content-Length: %zu\r\n", options->body_size);
	if (options->body_size > 0)
		text_addf(&call->output, "Content-Type: %s\r\n",
			  options->content_type ? options->content_type : "application/json");
	if (!is_one_line(call->client->bearer))
		return -EINVAL;
	call->options.secret = options->secret || call->client->bearer[0] != '\0';
	if (call->client->bearer[0])
		text_addf(&call->output, "Authorization: Bearer %s\r\n", call->client->bearer);
	for (size_t i = 0; i < options->header_count; i++) {
		if (!is_one_line(options->headers[i].name) ||
		    !is_one_line(options->headers[i].value))
			return -EINVAL;
		text_addf(&call->output, "%s: %s\r\n", options->headers[i].name,
			  options->headers[i].value);
	}
	text_add(&call->output, "\r\n");
	if (options->body_size > 0)
		text_add_bytes(&call->output, options->body, options->body_size);
	return call->output.failed ? -ENOMEM : 0;
}

static void start_call(struct http_call *call)
{
	int rc;

	call->reused = take_idle(call->client, call);
	call->state = CALL_HEAD;
	rc = call->reused ? watch_call(call) : call_connect(call);
	if (rc != 0) {
		call->early_rc = E_UNAVAILABLE;
		call->early_errno_rc = rc;
	}
	loop_timer_arm(call->silence, rc == 0 ? call->options.timeout_ms : 0);
}

int http_client_call(struct http_client *client, const struct http_call_options *options,
		     struct http_call **ret)
{
	struct http_call *call = calloc(1, sizeof(*call));
	int rc;

	if (!call)
		return -ENOMEM;
	call->client = client;
	call->options = *options;
	call->fd = -1;
	if (call->options.timeout_ms <= 0)
		call->options.timeout_ms = TIMEOUT_DEFAULT_MS;
	if (call->options.response_limit == 0)
		call->options.response_limit = RESPONSE_LIMIT_DEFAULT;
	call->head_only = strcmp(options->method, "HEAD") == 0;
	call->repeatable = is_repeatable(options->method);
	rc = build_request(call);
	if (rc == 0)
		rc = loop_timer_new(client->loop, on_silence, call, &call->silence);
	if (rc != 0) {
		client_call_free(call);
		return rc;
	}
	call->next = client->calls;
	client->calls = call;
	start_call(call);
	if (ret)
		*ret = call;
	return 0;
}
