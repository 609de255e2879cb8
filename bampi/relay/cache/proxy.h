/* Requests that only the controller can answer, passed to it unchanged: scripts, the agent's
 * mailbox, callbacks. */
#pragma once

#include <stdint.h>

#include "common/http/server.h"

#include "bampi/relay/cache/cache_counters.h"
#include "bampi/relay/cache/upstream.h"

/* Answers as the controller does; when it does not, with what makes the client ask again. */
void proxy_pass(struct upstream *upstream, struct cache_counters *counters,
		struct http_request *request);
/* For whom a request is, as the controller is told. */
struct upstream_asker proxy_asker(const struct http_request *request);
/* The controller is away: 503, or for iPXE a script that asks again. */
void proxy_answer_away(struct http_request *request);
