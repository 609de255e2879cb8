#include "tests/sim/redfish/redfish_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#define BACKLOG   4096
#define BODY_MAX  (1 << 20)
#define SILENT_MS 60000 /* a request that is never answered: longer than anybody waits */

struct redfish_http {
	struct event_base *base;
	struct evhttp *evhttp;
	SSL_CTX *tls; /* NULL: plain HTTP */
	struct redfish_http_options options;
};

/* An answer that waits for its time. */
struct late {
	struct evhttp_request *request;
	struct redfish_bmc_answer answer;
	struct event *timer;
};

/* --- answers --- */

static const char *redfish_http_method_of(const struct evhttp_request *request)
{
	switch (evhttp_request_get_command(request)) {
	case EVHTTP_REQ_GET: return "GET";
	case EVHTTP_REQ_POST: return "POST";
	case EVHTTP_REQ_PUT: return "PUT";
	case EVHTTP_REQ_PATCH: return "PATCH";
	case EVHTTP_REQ_DELETE: return "DELETE";
	case EVHTTP_REQ_HEAD: return "HEAD";
	case EVHTTP_REQ_OPTIONS:
	case EVHTTP_REQ_TRACE:
	case EVHTTP_REQ_CONNECT: break;
	}
	return "OTHER";
}

static void redfish_http_header(struct evkeyvalq *headers, const char *name, const char *value)
{
	if (value[0])
		(void)evhttp_add_header(headers, name, value);
}

static void cut_sent(struct bufferevent *stream, void *context)
{
	(void)stream;
	evhttp_connection_free(context);
}

static void cut_failed(struct bufferevent *stream, short what, void *context)
{
	(void)stream;
	(void)what;
	evhttp_connection_free(context);
}

/* Half of the body, then the end of the connection. */
static void send_cut(struct evhttp_request *request, const struct redfish_bmc_answer *answer)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);
	struct evbuffer *out = bufferevent_get_output(stream);

	bufferevent_setcb(stream, NULL, cut_sent, cut_failed, connection);
	(void)evbuffer_add_printf(out, "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n",
				  answer->status);
	(void)evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n%.*s", answer->body.size,
				  (int)(answer->body.size / 2), text_get(&answer->body));
	(void)bufferevent_enable(stream, EV_WRITE);
}

static void send_answer(struct evhttp_request *request, struct redfish_bmc_answer *answer)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body;
	char seconds[16];

	if (answer->cut) {
		send_cut(request, answer);
		redfish_bmc_answer_done(answer);
		return;
	}
	body = evbuffer_new();
	if (!body)
		abort();
	(void)evbuffer_add(body, text_get(&answer->body), answer->body.size);
	redfish_http_header(headers, "OData-Version", "4.0");
	redfish_http_header(headers, "Cache-Control", "no-store");
	redfish_http_header(headers, "X-Auth-Token", answer->token);
	redfish_http_header(headers, "Location", answer->location);
	redfish_http_header(headers, "ETag", answer->etag);
	if (answer->body.size > 0)
		redfish_http_header(headers, "Content-Type", "application/json; charset=utf-8");
	if (answer->authenticate)
		redfish_http_header(headers, "WWW-Authenticate", "Basic realm=\"redfish\"");
	if (answer->retry_s > 0) {
		(void)text_format(seconds, sizeof(seconds), "%u", answer->retry_s);
		redfish_http_header(headers, "Retry-After", seconds);
	}
	evhttp_send_reply(request, answer->status, NULL, body);
	evbuffer_free(body);
	redfish_bmc_answer_done(answer);
}

static void late_free(struct late *late)
{
	redfish_bmc_answer_done(&late->answer);
	event_free(late->timer);
	free(late);
}

static void redfish_http_late_due(evutil_socket_t fd, short what, void *context)
{
	struct late *late = context;
	struct evhttp_connection *connection = evhttp_request_get_connection(late->request);

	(void)fd;
	(void)what;
	evhttp_request_set_on_complete_cb(late->request, NULL, NULL);
	evhttp_connection_set_closecb(connection, NULL, NULL);
	if (late->answer.delay_ms >= 0)
		send_answer(late->request, &late->answer);
	else
		evhttp_connection_free(connection);
	late_free(late);
}

static void late_gone(struct evhttp_connection *connection, void *context)
{
	(void)connection;
	late_free(context);
}

/* libevent does not notice that a client has given up while its request is being answered. */
static void send_later(struct redfish_http *http, struct evhttp_request *request,
		       const struct redfish_bmc_answer *answer)
{
	struct late *late = calloc(1, sizeof(*late));
	int64_t delay_ms = answer->delay_ms >= 0 ? answer->delay_ms : SILENT_MS;
	struct timeval delay = {.tv_sec = delay_ms / 1000, .tv_usec = delay_ms % 1000 * 1000};

	if (!late)
		abort();
	*late = (struct late){.request = request, .answer = *answer};
	late->timer = event_new(http->base, -1, 0, redfish_http_late_due, late);
	if (!late->timer)
		abort();
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), late_gone, late);
	(void)event_add(late->timer, &delay);
}

/* --- requests --- */

/* Whom the connection was made to. */
static uint32_t redfish_http_local_of(struct evhttp_request *request)
{
	struct bufferevent *stream =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
	struct sockaddr_in local = {0};
	socklen_t size = sizeof(local);

	if (getsockname(bufferevent_getfd(stream), (struct sockaddr *)&local, &size) ||
	    local.sin_family != AF_INET)
		return 0;
	return ntohl(local.sin_addr.s_addr);
}

static void redfish_http_on_request(struct evhttp_request *request, void *context)
{
	struct redfish_http *http = context;
	struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	struct evbuffer *input = evhttp_request_get_input_buffer(request);
	size_t size = evbuffer_get_length(input);
	char *body = calloc(1, size + 1);
	struct redfish_bmc_answer answer = {0};
	struct redfish_bmc_request asked = {
		.method = redfish_http_method_of(request),
		.path = evhttp_request_get_uri(request),
		.token = evhttp_find_header(headers, "X-Auth-Token"),
		.authorization = evhttp_find_header(headers, "Authorization"),
		.if_match = evhttp_find_header(headers, "If-Match"),
		.body = body,
		.size = size,
		.now_ms = clock_monotonic_ms(),
	};

	if (!body)
		abort();
	(void)evbuffer_remove(input, body, size);
	http->options.serve(http->options.context, redfish_http_local_of(request), &asked, &answer);
	if (answer.delay_ms != 0)
		send_later(http, request, &answer);
	else
		send_answer(request, &answer);
	free(body);
}

static struct bufferevent *stream_new(struct event_base *base, void *context)
{
	struct redfish_http *http = context;
	struct bufferevent *stream;

	if (!http->tls)
		return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	stream = bufferevent_openssl_socket_new(base, -1, SSL_new(http->tls),
						BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (stream)
		bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
	return stream;
}

/* --- start and end --- */

static int tls_start(struct redfish_http *http, const char *certificate, struct problem *problem)
{
	http->tls = SSL_CTX_new(TLS_server_method());
	if (!http->tls)
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	if (SSL_CTX_use_certificate_chain_file(http->tls, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(http->tls, certificate, SSL_FILETYPE_PEM) != 1)
		return problem_set(problem, E_INVALID, "%s is not a certificate with its key",
				   certificate);
	return 0;
}

int redfish_http_new(struct event_base *base, const struct redfish_http_options *options,
		     struct redfish_http **ret, struct problem *problem)
{
	struct redfish_http *http = calloc(1, sizeof(*http));
	int rc = 0;

	if (!http)
		return -ENOMEM;
	http->base = base;
	http->options = *options;
	http->evhttp = evhttp_new(base);
	if (!http->evhttp)
		rc = -ENOMEM;
	else if (options->certificate)
		rc = tls_start(http, options->certificate, problem);
	if (rc) {
		redfish_http_free(http);
		return rc;
	}
	evhttp_set_allowed_methods(http->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
							 EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE |
							 EVHTTP_REQ_HEAD);
	evhttp_set_max_body_size(http->evhttp, BODY_MAX);
	evhttp_set_bevcb(http->evhttp, stream_new, http);
	evhttp_set_gencb(http->evhttp, redfish_http_on_request, http);
	*ret = http;
	return 0;
}

int redfish_http_listen(struct redfish_http *http, uint32_t address, uint16_t port,
			struct problem *problem)
{
	const int on = 1;
	const struct sockaddr_in local = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (const struct sockaddr *)&local, sizeof(local)) || listen(fd, BACKLOG) ||
	    evhttp_accept_socket(http->evhttp, fd)) {
		int rc = -errno;

		if (fd >= 0)
			(void)close(fd);
		(void)problem_set(problem, rc, "cannot listen on TCP port %u", (unsigned)port);
		problem_detail(problem, "%s", error_text(rc));
		return rc;
	}
	return 0;
}

void redfish_http_free(struct redfish_http *http)
{
	if (!http)
		return;
	if (http->evhttp)
		evhttp_free(http->evhttp);
	SSL_CTX_free(http->tls);
	free(http);
}

int redfish_http_pin(const char *certificate, char ret[REDFISH_HTTP_PIN_SIZE],
		     struct problem *problem)
{
	FILE *file = fopen(certificate, "re");
	X509 *x509 = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
	unsigned char *der = NULL;
	int size = x509 ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509), &der) : -1;
	unsigned char digest[crypto_hash_sha256_BYTES];
	char text[sodium_base64_ENCODED_LEN(sizeof(digest), sodium_base64_VARIANT_ORIGINAL)];

	if (file)
		(void)fclose(file);
	if (size > 0) {
		(void)crypto_hash_sha256(digest, der, (unsigned long long)size);
		(void)sodium_bin2base64(text, sizeof(text), digest, sizeof(digest),
					sodium_base64_VARIANT_ORIGINAL);
		(void)text_format(ret, REDFISH_HTTP_PIN_SIZE, "sha256//%s", text);
	}
	OPENSSL_free(der);
	X509_free(x509);
	return size > 0 ? 0
			: problem_set(problem, E_INVALID, "%s is not a certificate", certificate);
}
