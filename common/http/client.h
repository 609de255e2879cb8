/* An HTTP/1.1 client on the loop: TCP by literal IPv4 address, with or without TLS, or Unix socket. For the agent,
 * haasctl and portald's relays. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/tls.h"
#include "common/io/loop.h"

struct http_client; /* one server; reuses its connection */
struct http_call;   /* one exchange */

struct http_header {
	const char *name, *value;
};

struct http_response {
	int status;
	const char *body; /* NUL-terminated; NULL when on_data took it */
	size_t size;
	const char *(*header)(const struct http_response *response,
			      const char *name); /* NULL when absent */
	const void *opaque;
};

struct http_call_options {
	const char *method; /* "GET" */
	const char *target; /* "/agent/v1/task?wait=20" */
	const struct http_header *headers;
	size_t header_count;
	const void *body;
	size_t body_size;
	const char *content_type; /* default application/json when there is a body */
	int64_t timeout_ms;       /* no byte for so long = E_TIMEOUT; default 30000 */
	size_t response_limit;    /* default 16 MiB; not for on_data */
	bool secret;              /* a body holds one: our copies are wiped */
	/* Pieces as they come (image, SSE). Non-zero ends the call with that code. NULL = collect.
	 * Called only for 2xx. */
	int (*on_data)(void *context, const void *data, size_t size);
	/* Exactly once. rc 0 = an answer came (any status). */
	void (*on_done)(void *context, int rc, const struct http_response *response,
			const struct problem *problem);
	void *context;
};

/* url: "http://10.0.0.1:8080" (literal IPv4) or "unix:/run/haas/portald/socket"; with `tls`, which is
 * borrowed, also "https://10.0.0.1:8443". */
MUST_USE int http_client_new(struct loop *loop, const char *url, struct http_client **ret);
MUST_USE int http_client_new_tls(struct loop *loop, const char *url, const struct tls *tls,
				 struct http_client **ret);
/* A server that has a name, and asks who we are. Copied. */
struct http_server_way {
	const char *url;       /* "https://haas.example:8443" too */
	const struct tls *tls; /* borrowed */
	const char *address;   /* of the URL's host, a literal IPv4 address; NULL: the URL has it */
	const char *bearer; /* "Authorization: Bearer" of each call (RFC 6750); NULL or "": none */
};
MUST_USE int http_client_new_to(struct loop *loop, const struct http_server_way *way,
				struct http_client **ret);
void http_client_free(struct http_client *client);
/* Did this client ever have a connection to its server, TLS included? */
bool http_client_has_connected(const struct http_client *client);
/* Did the last call fail because TLS did not come about? */
bool http_client_distrusts(const struct http_client *client);
MUST_USE int http_client_call(struct http_client *client, const struct http_call_options *options,
			      struct http_call **ret);
/* Ends the call without on_done. */
void http_call_cancel(struct http_call *call);
