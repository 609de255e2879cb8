/* An HTTP/1.1 server of routes on the loop: TCP or Unix socket, header deadline, connection and
 * body caps, streaming. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/http/tls.h"
#include "common/io/loop.h"

struct http_server;
struct http_request; /* one exchange; lives until it is answered or the client is gone */

enum http_method {
	HTTP_GET = 1,
	HTTP_HEAD = 2,
	HTTP_POST = 4,
	HTTP_PUT = 8,
	HTTP_PATCH = 16,
	HTTP_DELETE = 32
};

typedef void (*http_handler)(void *context, struct http_request *request);

/* Pattern segments: literal or {name}; "/nodes/{node}/events". HEAD is served by GET routes. */
struct http_route {
	enum http_method method;
	const char *pattern;
	http_handler handler;
};

struct http_peer {
	bool local; /* Unix socket: uid, gid, pid by SO_PEERCRED; nobody's elsewhere */
	bool edge;  /* a proxy's Unix socket: who the proxy is says nothing */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	uint32_t address; /* IPv4, host order. TCP: of the peer. Edge: of the request's client */
	uint16_t port;
	bool secure;               /* it came by TLS */
	struct tls_peer certified; /* by its certificate, which was verified */
};

/* Since the start, but for `open`. */
struct http_server_counters {
	uint64_t accepted, open;
	uint64_t refused;             /* closed at once: too many of one address */
	uint64_t evicted;             /* made room for a new one: idle, or its request unfinished */
	uint64_t late_head;           /* did not finish a head in time */
	uint64_t late_handshake;      /* did not finish the handshake of TLS in time */
	uint64_t throttled_handshake; /* too many of one address, or of all */
	uint64_t failed_handshake;    /* speaks no TLS of ours, or its certificate is refused */
	uint64_t late_body;
	uint64_t late_answer; /* took too little of an answer in time */
	uint64_t malformed;   /* requests: not understood */
	uint64_t too_large;   /* requests: head or body */
};

struct http_server_options {
	const struct http_route *routes;
	size_t route_count;
	void *context;
	size_t body_limit;         /* default 1 MiB */
	unsigned connection_limit; /* default 4096 */
	unsigned source_limit;     /* connections of one TCP address at once; 0 = no such limit */
	/* An address that speaks for many others has no limit of its own. May be NULL. */
	bool (*is_many)(void *context, uint32_t address);
	/* Handshakes of TLS a second, of one address and of all; 0: 20 and 400. Five and ten times as many at once. */
	unsigned source_handshakes, handshakes;
	const char *
		headers; /* lines with their \r\n, in each answer that does not say them itself; NULL: none */
	unsigned header_timeout_s; /* default 15: a client that does not finish its header is closed
				    */
	unsigned answer_timeout_s; /* default 30: a client takes 240 KiB of its answer in so long,
				      or is closed */
	bool slash_in_names; /* "%2F" is a letter of a name (s1%2Fnvme0n1), else malformed: of those
				who make no path of a segment */
	struct http_server_counters *counters; /* borrowed; may be NULL */
	/* The only user answered on a Unix socket, beside root and our own; others get 403. A name
	 * that does not exist is nobody's. NULL: whoever reaches the socket. */
	const char *caller;
	const char *const
		*anybody; /* patterns that are answered all the same; NULL-ended; may be NULL */
	/* Patterns that are answered without TLS too; NULL-ended. The others get 403 there. NULL: all
	 * are. */
	const char *const *without_tls;
	/* Why nothing but `anybody` is answered now (503), borrowed; NULL: all is. May be NULL. */
	const struct problem *(*refuses)(void *context);
	/* The head of a request that has a route is here, and nothing of its body was read: answer it, or
	 * call http_request_admit, now or later. NULL: all are admitted. */
	void (*on_head)(void *context, struct http_request *request);
	/* Called after the answer (access log, metrics). May be NULL. */
	void (*after)(void *context, const struct http_request *request, int status,
		      int64_t elapsed_us);
};

MUST_USE int http_server_new(struct loop *loop, const struct http_server_options *options,
			     struct http_server **ret);
void http_server_free(struct http_server *server);
/* Backlog 4096. Port 0 = any; http_server_port tells. */
MUST_USE int http_server_listen_tcp(struct http_server *server, uint32_t address, uint16_t port,
				    struct problem *problem);
uint16_t http_server_port(const struct http_server *server);
/* The same by TLS. `tls` is borrowed. The header deadline is that of the handshake too.
 * Handshakes of one address, and of all together, are limited: each costs us a signature. */
MUST_USE int http_server_listen_tls(struct http_server *server, uint32_t address, uint16_t port,
				    const struct tls *tls, struct problem *problem);
uint16_t http_server_tls_port(const struct http_server *server);
/* Replaces a stale socket file; mode e.g. 0660. Its group is that of the folder when the folder is
 * setgid (mode 2750), else ours: no right to change owners is needed. */
MUST_USE int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
				     struct problem *problem);

/* The same for a proxy on this machine: nobody is `peer.local` there. Each request has one Forwarded,
 * whose last element is the proxy's own: `peer.address`. Else 400. */
MUST_USE int http_server_listen_edge(struct http_server *server, const char *path, mode_t mode,
				     struct problem *problem);
/* A socket that listens already, IPv4 or Unix. Takes `fd`. `tls` is borrowed; NULL: none. */
MUST_USE int http_server_listen_fd(struct http_server *server, int fd, bool edge,
				   const struct tls *tls, struct problem *problem);
/* While it is held nobody is accepted: those who come wait in the backlog. */
void http_server_hold(struct http_server *server, bool held);
/* Accepts nobody more; each answer is the last of its connection. Calls `fn` once, from the loop, when
 * nothing is owed: requests under way are answered, also those of connections that have said nothing
 * yet. Streams without end are not waited for. */
MUST_USE int http_server_drain(struct http_server *server, loop_fn fn, void *context);

enum http_method http_request_method(const struct http_request *request);
/* The request target as it came, for passing it on: "/a%20b?c=d". */
const char *http_request_raw_target(const struct http_request *request);
const char *http_request_path(const struct http_request *request);  /* decoded, without query */
const char *http_request_route(const struct http_request *request); /* the pattern that matched */
/* Value of {name} in the pattern, decoded; never empty, never with '/' inside, never "." or "..".
 * NULL for a name that the pattern lacks. */
const char *http_request_param(const struct http_request *request, const char *name);
/* Query parameter, decoded; NULL when absent. */
const char *http_request_query(const struct http_request *request, const char *name);
const char *http_request_header(const struct http_request *request, const char *name);
/* The whole body; NUL-terminated. */
const char *http_request_body(const struct http_request *request, size_t *ret_size);
const struct http_peer *http_request_peer(const struct http_request *request);
/* The bearer token of Authorization, or NULL. */
const char *http_request_bearer(const struct http_request *request);
/* A handler may answer later and keeps the pointer. `fn` tells when the client is gone before the
 * answer or the end of a stream; the pointer is dead after that. It is not called after
 * http_answer*, http_stream_end or a failed http_stream_send. NULL removes it. */
void http_request_on_close(struct http_request *request, loop_fn fn, void *context);

/* For on_head: no more of a body than so much, else 413; at first body_limit of the options. */
void http_request_limit_body(struct http_request *request, size_t limit);
/* For on_head: the body is read next, then the route's handler is called. From inside of on_head the
 * handler may be called before this returns. */
void http_request_admit(struct http_request *request);
/* The caller's own, from on_head to the handler. NULL at first. */
void http_request_set_data(struct http_request *request, void *data);
void *http_request_data(const struct http_request *request);
/* Whether a body follows, or may follow. */
bool http_request_has_body(const struct http_request *request);
/* For on_head: how many bytes of it at most. */
uint64_t http_request_body_room(const struct http_request *request);
/* `fn` is called once, when the request is over: its answer is taken, or the connection is gone. */
void http_request_on_end(struct http_request *request, loop_fn fn, void *context);

/* Adds a header to the answer; before the answer. */
void http_answer_header(struct http_request *request, const char *name, const char *value);
/* Answers and ends the exchange; the pointer is dead after the handler or callback returns. body
 * may be NULL. A second answer is ignored. */
void http_answer(struct http_request *request, int status, const char *content_type,
		 const void *body, size_t size);
/* The same with a body that is not copied: `done` is called with `context` when nobody reads it any more, maybe at once. */
void http_answer_shared(struct http_request *request, const char *content_type, const void *body,
			size_t size, loop_fn done, void *context);
void http_answer_json(struct http_request *request, int status, const struct text *body);
/* application/problem+json (RFC 9457) {type,title,status,detail,hint,code}. title from message. */
void http_answer_problem(struct http_request *request, int status, const struct problem *problem);
/* The status of the answer so far; 0: it has not begun. */
int http_answer_status(const struct http_request *request);
/* The status that fits an error number:
 *
 *   404 E_NOT_FOUND       409 E_CONFLICT    422 E_INVALID, E_DIGEST
 *   403 E_DENIED          412 E_STALE       503 E_UNAVAILABLE, -ENOMEM
 *   401 E_AUTHENTICATION  413 E_LIMIT       504 E_TIMEOUT
 *   400 E_MALFORMED       502 E_PROTOCOL    501 E_UNSUPPORTED
 *   507 -ENOSPC           500 else */
int http_status_of(int rc);
/* Which part of `size` bytes the request asks for: 206, or 200 for all of them, or 416. Asked for with
 * If-Range a part is one of the bytes that `tag` names, else all count (RFC 9110 13.1.5). `tag`
 * NULL: they have none. */
int http_request_part(const struct http_request *request, uint64_t size, const char *tag,
		      uint64_t *ret_first, uint64_t *ret_length);
/* Sends a file with Range, If-Range, HEAD, sendfile (not by TLS), and an ETag that changes with the file. 404
 * when it is not a regular file. */
void http_answer_file(struct http_request *request, const char *path, const char *content_type);

/* A stream without end (SSE, console): headers now, chunks later. Its client is gone when it acknowledges
 * nothing for 20 s. */
void http_stream_begin(struct http_request *request, int status, const char *content_type);
/* -EPIPE and ended when more than 256 KiB wait for a slow client, and for HEAD. The pointer is dead
 * then. */
MUST_USE int http_stream_send(struct http_request *request, const void *data, size_t size);
/* The same, but what the socket takes is written before it returns: cheaper, for many small pieces to many clients. When
 * nothing waits afterwards, no drain is told. By TLS as http_stream_send. */
MUST_USE int http_stream_send_now(struct http_request *request, const void *data, size_t size);
/* Bytes that the client has not taken yet: a sender with more to say waits until they are few. */
size_t http_stream_waiting(const struct http_request *request);
void http_stream_end(struct http_request *request);
/* A body of `length` bytes that come later. Ended short of that, the connection is cut, so that no
 * client takes a part for the whole. Not for HEAD. */
void http_stream_begin_sized(struct http_request *request, int status, const char *content_type,
			     uint64_t length);
/* Bytes of a file, by sendfile where there is no TLS. `fd` is borrowed. -EPIPE as http_stream_send. */
MUST_USE int http_stream_send_file(struct http_request *request, int fd, uint64_t first,
				   uint64_t length);
/* fn is called whenever the client has taken all that was sent. NULL removes. */
void http_stream_on_drain(struct http_request *request, loop_fn fn, void *context);
/* Cuts the connection; the pointer is dead then. */
void http_stream_abort(struct http_request *request);
