/* What only a daemon can answer: asked on its socket, its answer or refusal handed on. The exchange
 * stays until the daemon has answered, although the client may go. */
#pragma once

#include <stdint.h>

#include "common/http/client.h"

#include "portal/server/exchange.h"

struct daemon_ask {
	const char *daemon; /* "peregrined" */
	const char *socket; /* its path */
	int64_t timeout_ms;
	/* A question of our own: its JSON is copied, and what comes with 2xx goes to `answered`,
	 * borrowed, while the client is there. Without a method it is what the client asked, below
	 * /api/v1, with its JSON body, and what comes is handed on. */
	const char *method, *target, *body;
	size_t response_limit; /* 0 = http_client's default */
	void (*answered)(struct exchange *exchange, const struct http_response *response);
	/* It is away, or refused: `reason` says so. NULL = the client is told. */
	void (*failed)(struct exchange *exchange, const char *reason);
};

/* Answers in any case: with what comes, with what the daemon refused, 502 to 504; but for what
 * `answered` and `failed` do instead. */
void daemon_pass_on(struct exchange *exchange, const struct daemon_ask *ask);
void daemon_call_end_all(struct portal *portal);

/* 503 or 504: it cannot be reached, or did not answer in time. `cause` may be NULL. */
void daemon_unreachable(struct exchange *exchange, const char *daemon, int rc,
			const struct problem *cause);
/* What the daemon refused is for the client to read: the same status and problem. */
void daemon_refused(struct exchange *exchange, const char *daemon,
		    const struct http_response *response);
