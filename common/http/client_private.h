/* What the client's files share.
 * client.c: connections, requests, the end of a call. client_stream.c: bytes, through TLS where there
 * is one. client_answer.c: the bytes of an answer. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "common/base/text.h"
#include "common/http/client.h"
#include "common/net/http_wire.h"

#define IDLE_COUNT 4

struct idle_connection {
	int fd;
	struct ssl_st *session; /* NULL: no TLS */
	int64_t since_ms;
};

struct http_client {
	struct loop *loop;
	char *url;
	const struct tls *tls; /* NULL: no TLS */
	char host[256];        /* of the URL */
	char bearer[128];      /* "" = none */
	bool has_connected;    /* once at least */
	bool distrusts;        /* the last call */
	union {
		struct sockaddr any;
		struct sockaddr_in internet;
		struct sockaddr_un local;
	} address;
	socklen_t address_size;
	struct idle_connection idle[IDLE_COUNT];
	size_t idle_count;
	struct http_call *calls; /* under way */
};

enum call_state { CALL_CONNECT, CALL_HANDSHAKE, CALL_HEAD, CALL_BODY };

struct http_call {
	struct http_client *client;
	struct http_call *next;
	struct http_call_options options; /* its strings are not used after http_client_call */
	enum call_state state;
	int fd;
	struct ssl_st *session; /* NULL: no TLS */
	char why[96];           /* the session failed */
	struct loop_watch *watch;
	struct loop_timer *silence;
	struct text output;
	size_t sent;
	bool head_only; /* HEAD */
	bool repeatable;
	bool reused; /* the connection had served before */
	bool on_data_wanted;
	bool heard;    /* some byte of an answer came */
	bool deciding; /* inside on_data: the end must wait */
	bool cancelled;
	int early_rc; /* told from the loop, not from inside http_client_call */
	int early_errno_rc;

	struct text head_bytes;
	struct http_head head;
	enum http_framing framing;
	uint64_t body_left;
	struct http_chunks chunks;
	struct text body;
};

/* 0, -EAGAIN, or why there is no session (call->why has more). */
MUST_USE int http_call_handshake(struct http_call *call);
/* Bytes read or written, 0 at the end of what is read, -EAGAIN, another -errno. */
ssize_t http_call_recv(struct http_call *call, void *room, size_t size);
ssize_t http_call_send(struct http_call *call, const void *data, size_t size);
/* What the call waits for. */
int http_call_events(const struct http_call *call);
/* Closes a connection; -1 and NULL are fine. */
void http_stream_close(int fd, struct ssl_st *session);

/* Reads what came into the call: head, body, on_data. *ret_used < size: bytes after the body, so
 * the connection is not clean. *ret_done: the answer is whole. 0, or why the call ends. on_data may
 * have cancelled the call: look at call->cancelled first. */
MUST_USE int http_call_take_answer(struct http_call *call, const char *data, size_t size,
				   size_t *ret_used, bool *ret_done);
