/* What the server's files share.
 * server.c: cap, the end. server_listen.c: listeners. server_connection.c: bytes in. server_request.c: target, routes, accessors.
 * server_answer.c: bytes out. server_file.c: files. */
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "common/base/hash_table.h"
#include "common/http/server.h"
#include "common/net/http_wire.h"
#include "common/net/source_rate.h"

#define SEGMENT_LIMIT 16
#define QUERY_LIMIT   32
#define HEADER_LIMIT  16
#define STREAM_LIMIT  ((size_t)256 << 10)

enum connection_state {
	CONNECTION_HEAD,      /* waits for a request, or is in its head */
	CONNECTION_ADMITTING, /* on_head looks at the head; nothing is read meanwhile */
	CONNECTION_BODY,      /* reads a body */
	CONNECTION_HANDLING,  /* the handler has it, or a stream is open */
	CONNECTION_DRAINING,  /* answered, bytes are on their way */
	CONNECTION_LINGER, /* our end is closed; what the client still sends is thrown away, so that
			      it can read our answer */
};

/* A part of an answer that is not in the output yet: of a file, or bytes that come after one. */
struct http_piece {
	struct http_piece *next;
	int fd;
	uint64_t first, length;
	struct evbuffer *bytes; /* NULL: of a file */
};

/* An address with connections open. */
struct http_source {
	uint32_t address;
	unsigned connection_count;
	UT_hash_handle hh;
};

struct http_connection {
	struct http_server *server;
	struct http_source *source;            /* NULL on a Unix socket, and without a limit */
	struct http_connection *next, *before; /* in order of arrival */
	struct bufferevent *bev;
	struct loop_timer *deadline;
	struct http_peer peer;
	struct ssl_st *session;    /* NULL: no TLS; of `bev` */
	struct http_piece *pieces; /* by TLS: what the output gets next */
	uint64_t piece_bytes;      /* in all of them */
	bool handshaking;
	enum connection_state state;
	struct http_request *request; /* from its head to its last byte out */
	size_t progress;              /* bytes of a body since the deadline was moved */
	uint64_t owed;                /* DRAINING: of the answer, when the deadline was moved */
	bool started;                 /* HEAD: something of the next request is here */
	bool close;                   /* after this exchange */
	bool half_closed;             /* the client will send no more */
	bool abort;                   /* at once, but from the loop */
	bool served;                  /* one answer at least */
};

struct http_request {
	struct http_connection *connection;
	int64_t started_us;
	char *bytes; /* the head as it came; `head` points into it */
	size_t bytes_size;
	struct http_head head;
	enum http_framing framing;
	uint64_t body_left;
	struct http_chunks chunks;
	struct text body;

	enum http_method method;
	const struct http_route *route;
	char *path;     /* decoded */
	char *raw_path; /* the segments, each decoded */
	const char *segments[SEGMENT_LIMIT];
	size_t segment_count;
	char *raw_query;
	struct http_field queries[QUERY_LIMIT];
	size_t query_count;

	loop_fn on_close;
	void *on_close_context;
	loop_fn on_end;
	void *on_end_context;
	void *data;
	size_t body_limit;
	bool keeps; /* the connection, once it is admitted: else the body stays on the wire */

	struct text headers; /* of the answer */
	int status;          /* 0 until answered or streaming */
	bool chunked, ended;
	bool sized;     /* a stream of known length */
	uint64_t to_go; /* of it */
	loop_fn on_drain;
	void *on_drain_context;
};

struct http_listener {
	struct http_listener *next;
	struct evconnlistener *listener;
	char *path; /* Unix socket to remove; NULL for TCP */
	const struct tls *tls;
	uint16_t port;
	bool edge; /* a proxy speaks there, for others */
};

struct http_server {
	struct loop *loop;
	struct http_server_options options;
	struct http_listener *listeners;
	struct loop_timer *resume; /* after accept() failed */
	struct http_connection *first, *last;
	struct http_source *sources;
	struct http_server_counters own_counters; /* when nobody else wants them */
	uid_t caller_uid;                         /* of `options.caller` */
	unsigned connection_count;
	struct source_rate *handshakes; /* NULL: no TLS here */
	bool paused;                    /* the cap is reached: nobody is accepted */
	bool held;                      /* the same, by http_server_hold */
	bool draining;                  /* the same, for good; by http_server_drain */
	struct loop_timer *drain_look;
	loop_fn drained;
	void *drained_context;
};

/* server.c */
void http_server_forget(struct http_connection *connection);
/* Of libevent. */
void http_server_on_accept(struct evconnlistener *listener, evutil_socket_t fd,
			   struct sockaddr *address, int length, void *context);
void http_server_on_accept_error(struct evconnlistener *listener, void *context);

/* server_connection.c */
/* Takes `fd` on success. `source` may be NULL. */
/* `tls` may be NULL. */
MUST_USE int http_connection_new(struct http_server *server, int fd, const struct http_peer *peer,
				 struct http_source *source, const struct tls *tls);
void http_connection_free(struct http_connection *connection);
/* How well it can be missed when there is no room: 0 not at all (a request is being handled, or
 * answered), most of all one that only keeps its connection warm. */
unsigned http_connection_dispensable(const struct http_connection *connection);
/* Does it wait for an answer that will end, or is its first request still on its way? */
bool http_connection_is_owed(const struct http_connection *connection);
/* The answer is complete in the output. */
/* Bytes of answers that the socket has not taken yet. */
uint64_t http_connection_left(const struct http_connection *connection);
void http_connection_drain(struct http_connection *connection);
void http_connection_abort(struct http_connection *connection);

/* server_file.c */
/* Puts a part of a file behind what is there already. Takes `fd`, also on failure: the connection is
 * given up then. */
void http_file_add(struct http_connection *connection, int fd, uint64_t first, uint64_t length);
/* Bytes behind all files. -1: no memory. */
MUST_USE int http_bytes_add(struct http_connection *connection, const void *data, size_t size);
/* Moves more into the empty output. False: nothing waits. */
bool http_file_feed(struct http_connection *connection);
void http_file_forget(struct http_connection *connection);

/* server_request.c */
MUST_USE int http_request_new(struct http_connection *connection, struct http_request **ret);
void http_request_free(struct http_request *request);
/* Method, path and query from the parsed head. E_MALFORMED. */
MUST_USE int http_request_target(struct http_request *request);
/* Finds the route. False: it was answered, 404, 405, 403 or 503. */
MUST_USE bool http_request_find(struct http_request *request);
