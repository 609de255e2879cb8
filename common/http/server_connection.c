/* One client: heads and bodies in, deadlines, the end. */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/http/server_private.h"
#include "common/net/forwarded_wire.h"

LEAKS_LEFT_TO_SANITIZER

#define SERVER_CONNECTION_IDLE_MS 75000  /* between requests */
#define WRITE_STALL_S             60     /* a client that takes nothing for so long is gone */
#define LINGER_MS                 2000   /* for the client to read our last answer */
#define PROGRESS                  4096   /* bytes of a body that buy another header_timeout_s */
#define TAKEN_AT_LEAST            245760 /* bytes of an answer that buy another answer_timeout_s */
#define READ_AHEAD                65536 /* of pipelined requests; beyond it the socket is not read */
#define WRITE_PIECE               1048576 /* of a file per turn of the loop */

static void arm_header_deadline(struct http_connection *connection)
{
	loop_timer_arm(connection->deadline,
		       (int64_t)connection->server->options.header_timeout_s * 1000);
}

/* Refuses what cannot be understood; the rest of the connection means nothing then. */
static void server_connection_refuse(struct http_connection *connection, int status, int code,
				     const char *message)
{
	struct http_server_counters *counters = connection->server->options.counters;
	struct http_request *request = connection->request;
	loop_fn gone = request->on_close;
	struct problem problem = {0};

	(*(code == E_LIMIT ? &counters->too_large : &counters->malformed))++;
	(void)problem_set(&problem, code, "%s", message);
	connection->close = true;
	connection->state = CONNECTION_HANDLING;
	/* Who has let its head in gets no call of its handler any more. */
	request->on_close = NULL;
	if (gone)
		gone(request->on_close_context);
	http_answer_problem(request, status, &problem);
}

static void server_connection_dispatch(struct http_connection *connection)
{
	const struct http_server_options *options = &connection->server->options;
	struct http_request *request = connection->request;

	connection->state = CONNECTION_HANDLING;
	loop_timer_disarm(connection->deadline);
	if (options->on_head || http_request_find(request))
		request->route->handler(options->context, request);
}

/* The body, or at once the handler when there is none. */
static void server_connection_take(struct http_connection *connection)
{
	const struct http_request *request = connection->request;
	const char *expect = http_head_field(&request->head, "Expect");

	if (!http_request_has_body(request)) {
		server_connection_dispatch(connection);
		return;
	}
	if (expect && request->head.minor == 1)
		(void)bufferevent_write(connection->bev, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	connection->state = CONNECTION_BODY;
	connection->progress = 0;
	arm_header_deadline(connection);
}

/* An answer before the body was read is the last of its connection. */
static void server_connection_admit(struct http_connection *connection)
{
	const struct http_server_options *options = &connection->server->options;
	struct http_request *request = connection->request;

	connection->state = CONNECTION_ADMITTING;
	loop_timer_disarm(connection->deadline);
	request->keeps = !connection->close;
	connection->close = connection->close || http_request_has_body(request);
	if (http_request_find(request))
		options->on_head(options->context, request);
}

static void server_connection_on_read(struct bufferevent *bev, void *context);

void http_request_admit(struct http_request *request)
{
	struct http_connection *connection = request->connection;

	connection->close = !request->keeps || connection->server->draining;
	if (request->body_left > request->body_limit) {
		server_connection_refuse(connection, 413, E_LIMIT, "the body is too large");
		return;
	}
	server_connection_take(connection);
	if (connection->request == request && connection->state == CONNECTION_BODY)
		server_connection_on_read(connection->bev, connection);
}

/* For whom a proxy asks: it puts one Forwarded in the place of all that came with the request. */
static int read_client(struct http_connection *connection)
{
	const struct http_head *head = &connection->request->head;

	if (!connection->peer.edge)
		return 0;
	if (http_head_count(head, FORWARDED_FIELD) != 1)
		return E_MALFORMED;
	return forwarded_decode(http_head_field(head, FORWARDED_FIELD), &connection->peer.address);
}

/* What the head says about the connection and the body. */
static void begin_request(struct http_connection *connection)
{
	struct http_request *request = connection->request;
	const char *expect = http_head_field(&request->head, "Expect");
	size_t hosts;
	int rc;

	connection->close =
		request->head.minor == 0
			? !http_head_has_token(&request->head, "Connection", "keep-alive")
			: http_head_has_token(&request->head, "Connection", "close");
	connection->close = connection->close || connection->server->draining;
	rc = http_framing_request(&request->head, &request->framing, &request->body_left);
	hosts = http_head_count(&request->head, "Host");
	if (rc == 0 && (hosts > 1 || (request->head.minor == 1 && hosts == 0)))
		rc = E_MALFORMED; /* RFC 9112 3.2 */
	if (rc == 0)
		rc = http_request_target(request);
	if (rc == E_UNSUPPORTED) {
		server_connection_refuse(connection, 501, rc, "transfer coding not supported");
	} else if (rc != 0) {
		server_connection_refuse(connection, 400, rc, "malformed request");
	} else if (read_client(connection) != 0) {
		server_connection_refuse(connection, 400, E_MALFORMED,
					 "the proxy does not say for whom it asks");
	} else if (request->body_left > request->body_limit) {
		server_connection_refuse(connection, 413, E_LIMIT, "the body is too large");
	} else if (expect && strcasecmp(expect, "100-continue") != 0) {
		server_connection_refuse(connection, 417, E_UNSUPPORTED, "unknown expectation");
	} else if (connection->server->options.on_head) {
		server_connection_admit(connection);
	} else {
		server_connection_take(connection);
	}
}

/* An empty line before a request is forgiven (RFC 9112 2.2). */
static void skip_empty_lines(struct evbuffer *input)
{
	char start[2];

	while (evbuffer_copyout(input, start, 2) == 2 && start[0] == '\r' && start[1] == '\n')
		(void)evbuffer_drain(input, 2);
}

/* True when something was taken and it is worth looking again. */
static bool read_head(struct http_connection *connection)
{
	struct evbuffer *input = bufferevent_get_input(connection->bev);
	struct evbuffer_ptr end;
	size_t size;
	int rc;

	skip_empty_lines(input);
	if (evbuffer_get_length(input) == 0)
		return false;
	if (!connection->started) {
		connection->started = true;
		arm_header_deadline(connection);
	}
	end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
	size = end.pos < 0 ? evbuffer_get_length(input) : (size_t)end.pos + 4;
	if (end.pos < 0 && size < HTTP_HEAD_LIMIT)
		return false;
	if (http_request_new(connection, &connection->request) != 0) {
		http_connection_abort(connection);
		return false;
	}
	if (size > HTTP_HEAD_LIMIT || end.pos < 0) {
		server_connection_refuse(connection, 431, E_LIMIT, "the request head is too large");
		return false;
	}
	connection->request->bytes = malloc(size + 1);
	if (!connection->request->bytes) {
		http_connection_abort(connection);
		return false;
	}
	(void)evbuffer_remove(input, connection->request->bytes, size);
	connection->request->bytes[size] = '\0';
	connection->request->bytes_size = size;
	connection->started = false;
	rc = http_head_request(connection->request->bytes, size, &connection->request->head);
	if (rc == 0)
		begin_request(connection);
	else if (rc == E_UNSUPPORTED)
		server_connection_refuse(connection, 505, rc,
					 "only HTTP/1.0 and HTTP/1.1 are spoken here");
	else if (rc == E_LIMIT)
		server_connection_refuse(connection, 431, rc, "too many header fields");
	else
		server_connection_refuse(connection, 400, rc, "malformed request head");
	return true;
}

static int take_body_piece(struct http_connection *connection, const char *data, size_t size,
			   size_t *ret_used)
{
	struct http_request *request = connection->request;
	const char *piece = data;
	size_t piece_size = size;
	int rc = 0;

	if (request->framing == HTTP_FRAMING_CHUNKED) {
		rc = http_chunks_take(&request->chunks, data, size, ret_used, &piece, &piece_size);
	} else {
		if (piece_size > request->body_left)
			piece_size = (size_t)request->body_left;
		request->body_left -= piece_size;
		*ret_used = piece_size;
	}
	if (rc == 0 && piece_size > request->body_limit - request->body.size)
		rc = E_LIMIT;
	if (rc == 0)
		text_add_bytes(&request->body, piece, piece_size);
	return rc == 0 && request->body.failed ? -ENOMEM : rc;
}

static bool body_is_whole(const struct http_request *request)
{
	return request->framing == HTTP_FRAMING_CHUNKED ? request->chunks.state == HTTP_CHUNKS_DONE
							: request->body_left == 0;
}

static bool read_body(struct http_connection *connection)
{
	struct evbuffer *input = bufferevent_get_input(connection->bev);
	struct evbuffer_iovec piece;
	size_t used = 0;
	int rc;

	if (evbuffer_peek(input, -1, NULL, &piece, 1) < 1 || piece.iov_len == 0)
		return false;
	rc = take_body_piece(connection, piece.iov_base, piece.iov_len, &used);
	(void)evbuffer_drain(input, used);
	connection->progress += used;
	if (rc == E_LIMIT) {
		server_connection_refuse(connection, 413, rc, "the body is too large");
	} else if (rc != 0) {
		server_connection_refuse(connection, rc == -ENOMEM ? 503 : 400, rc,
					 "malformed body");
	} else if (body_is_whole(connection->request)) {
		server_connection_dispatch(connection);
	} else if (connection->progress >= PROGRESS) {
		connection->progress = 0;
		arm_header_deadline(connection);
	}
	return true;
}

static void server_connection_on_read(struct bufferevent *bev, void *context)
{
	struct http_connection *connection = context;
	bool more = true;

	while (more) {
		switch (connection->state) {
		case CONNECTION_HEAD: more = read_head(connection); break;
		case CONNECTION_BODY: more = read_body(connection); break;
		case CONNECTION_LINGER:
			(void)evbuffer_drain(bufferevent_get_input(bev), SIZE_MAX);
			more = false;
			break;
		case CONNECTION_ADMITTING:
		case CONNECTION_HANDLING:
		case CONNECTION_DRAINING: more = false; break; /* a pipelined request waits */
		}
	}
}

static void end_request(struct http_connection *connection)
{
	struct http_request *request = TAKE(connection->request);
	const struct http_server_options *options = &connection->server->options;

	if (!request)
		return;
	if (request->status && options->after)
		options->after(options->context, request, request->status,
			       clock_wall_us() - request->started_us);
	if (request->on_end)
		request->on_end(request->on_end_context);
	http_request_free(request);
}

static void server_connection_linger(struct http_connection *connection)
{
	connection->state = CONNECTION_LINGER;
	if (connection->session)
		(void)SSL_shutdown(connection->session);
	(void)shutdown(bufferevent_getfd(connection->bev), SHUT_WR);
	(void)evbuffer_drain(bufferevent_get_input(connection->bev), SIZE_MAX);
	loop_timer_arm(connection->deadline, LINGER_MS);
}

/* Everything of an answer is out. */
static void server_connection_on_written(struct bufferevent *bev, void *context)
{
	struct http_connection *connection = context;
	const struct http_request *request = connection->request;

	/* By TLS libevent calls later, when more may have been put behind what it has written. */
	if (evbuffer_get_length(bufferevent_get_output(bev)) > 0 || http_file_feed(connection))
		return;
	if (connection->state == CONNECTION_HANDLING && request && request->on_drain &&
	    !request->ended)
		request->on_drain(request->on_drain_context);
	if (connection->state != CONNECTION_DRAINING)
		return;
	end_request(connection);
	connection->served = true;
	if (connection->half_closed) {
		http_connection_free(connection);
		return;
	}
	if (connection->close || connection->server->paused) {
		server_connection_linger(connection);
		return;
	}
	connection->state = CONNECTION_HEAD;
	connection->started = false;
	loop_timer_arm(connection->deadline, SERVER_CONNECTION_IDLE_MS);
	server_connection_on_read(bev, connection);
}

/* A browser that was given http:// for https://. It can read this, and nothing else of ours. */
static void server_connection_refuse_plain(struct http_connection *connection)
{
	static const char answer[] =
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
		"Content-Length: 41\r\n\r\nthis port speaks HTTPS: ask by https://\r\n";
	int fd = bufferevent_getfd(connection->bev);
	char rest[4096];

	(void)send(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	/* Closed with bytes unread, the connection would be reset, and the answer lost. */
	for (unsigned i = 0; i < 16 && recv(fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; i++)
		continue;
}

static void server_connection_on_event(struct bufferevent *bev, short what, void *context)
{
	struct http_connection *connection = context;

	if (what & BEV_EVENT_CONNECTED) {
		connection->handshaking = false;
		tls_peer_read(connection->session, &connection->peer.certified);
		arm_header_deadline(connection);
		return;
	}
	if (connection->handshaking) {
		connection->server->options.counters->failed_handshake++;
		if (ERR_GET_REASON(bufferevent_get_openssl_error(bev)) == SSL_R_HTTP_REQUEST)
			server_connection_refuse_plain(connection);
	}
	if (what & BEV_EVENT_EOF && what & BEV_EVENT_READING &&
	    connection->state == CONNECTION_DRAINING) {
		connection->close = true; /* it has said all and still listens */
		connection->half_closed = true;
		return;
	}
	http_connection_free(connection); /* a client that left is no error */
}

uint64_t http_connection_left(const struct http_connection *connection)
{
	return evbuffer_get_length(bufferevent_get_output(connection->bev)) +
	       connection->piece_bytes;
}

static void arm_answer_deadline(struct http_connection *connection)
{
	connection->owed = http_connection_left(connection);
	loop_timer_arm(connection->deadline,
		       (int64_t)connection->server->options.answer_timeout_s * 1000);
}

/* S11: a byte a minute would hold a connection for as long as it pleases the client. */
static bool takes_its_answer(struct http_connection *connection)
{
	uint64_t left = http_connection_left(connection);

	if (connection->abort || connection->state != CONNECTION_DRAINING ||
	    left + TAKEN_AT_LEAST > connection->owed)
		return false;
	arm_answer_deadline(connection);
	return true;
}

static void on_deadline(void *context)
{
	struct http_connection *connection = context;
	struct http_server_counters *counters = connection->server->options.counters;

	if (takes_its_answer(connection))
		return;
	if (connection->state == CONNECTION_DRAINING && !connection->abort)
		counters->late_answer++;
	else if (connection->state == CONNECTION_BODY)
		counters->late_body++;
	else if (connection->handshaking)
		counters->late_handshake++;
	else if (connection->state == CONNECTION_HEAD && connection->started)
		counters->late_head++;
	http_connection_free(connection);
}

/* NULL: no memory. */
static struct bufferevent *server_connection_stream(struct http_connection *connection, int fd,
						    const struct tls *tls)
{
	struct event_base *base = loop_base(connection->server->loop);
	struct bufferevent *bev;

	if (!tls)
		return bufferevent_socket_new(base, fd, 0);
	if (tls_session(tls, NULL, &connection->session) != 0)
		return NULL;
	/* Its callbacks are deferred, so it may outlive http_connection_free: session and `fd` are its. */
	bev = bufferevent_openssl_socket_new(base, fd, connection->session,
					     BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (bev) /* the length of an answer says where it ends */
		bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
	connection->handshaking = true;
	connection->peer.secure = true;
	return bev;
}

int http_connection_new(struct http_server *server, int fd, const struct http_peer *peer,
			struct http_source *source, const struct tls *tls)
{
	struct http_connection *connection = calloc(1, sizeof(*connection));
	const struct timeval stall = {.tv_sec = WRITE_STALL_S};
	int rc;

	if (!connection)
		return -ENOMEM;
	connection->server = server;
	connection->peer = *peer;
	rc = loop_timer_new(server->loop, on_deadline, connection, &connection->deadline);
	connection->bev = rc == 0 ? server_connection_stream(connection, fd, tls) : NULL;
	if (!connection->bev) {
		loop_timer_free(connection->deadline);
		free(connection);
		return -ENOMEM;
	}
	connection->source = source;
	if (source)
		source->connection_count++;
	connection->before = server->last;
	*(server->last ? &server->last->next : &server->first) = connection;
	server->last = connection;
	server->connection_count++;
	server->options.counters->open++;
	bufferevent_setcb(connection->bev, server_connection_on_read, server_connection_on_written,
			  server_connection_on_event, connection);
	bufferevent_setwatermark(connection->bev, EV_READ, 0, READ_AHEAD);
	(void)bufferevent_set_max_single_write(connection->bev, WRITE_PIECE);
	(void)bufferevent_set_timeouts(connection->bev, NULL, &stall);
	arm_header_deadline(connection);
	(void)bufferevent_enable(connection->bev, EV_READ | EV_WRITE);
	return 0;
}

void http_connection_free(struct http_connection *connection)
{
	struct http_request *request = connection->request;
	int fd = bufferevent_getfd(connection->bev);

	http_server_forget(connection);
	if (request && !request->ended && request->on_close)
		request->on_close(request->on_close_context);
	end_request(connection);
	loop_timer_free(connection->deadline);
	http_file_forget(connection);
	(void)bufferevent_disable(connection->bev, EV_READ | EV_WRITE);
	bufferevent_free(connection->bev);
	if (!connection->session)
		close(fd);
	free(connection);
}

unsigned http_connection_dispensable(const struct http_connection *connection)
{
	switch (connection->state) {
	case CONNECTION_LINGER: return 3;
	case CONNECTION_HEAD: return connection->started ? 2 : 3;
	case CONNECTION_BODY: return 1;
	case CONNECTION_ADMITTING:
	case CONNECTION_HANDLING:
	case CONNECTION_DRAINING: return 0;
	}
	return 0;
}

bool http_connection_is_owed(const struct http_connection *connection)
{
	const struct http_request *request = connection->request;

	switch (connection->state) {
	case CONNECTION_LINGER: return false;
	case CONNECTION_HEAD: return connection->started || !connection->served;
	case CONNECTION_HANDLING:
		return !request || request->status == 0 || request->ended || request->sized;
	case CONNECTION_BODY:
	case CONNECTION_ADMITTING:
	case CONNECTION_DRAINING: return true;
	}
	return false;
}

void http_connection_drain(struct http_connection *connection)
{
	connection->state = CONNECTION_DRAINING;
	if (!connection->abort)
		arm_answer_deadline(connection);
}

void http_connection_abort(struct http_connection *connection)
{
	connection->abort = true;
	loop_timer_arm(connection->deadline, 0);
}
