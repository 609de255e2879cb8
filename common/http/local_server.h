/* The server on a daemon's Unix socket, and the two answers of every daemon: metrics, health. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/http/server.h"

struct text;

/* Who may connect beside us: the socket's group, see http_server_listen_unix. Who is answered:
 * `options->caller`; /metrics and /healthz are anybody's. */
MUST_USE int local_server_new(struct loop *loop, const struct http_server_options *options,
			      const char *path, struct http_server **ret, struct problem *problem);
/* An exposition: see common/http/metrics.h. */
void local_server_answer_metrics(struct http_request *request, const struct text *exposition);
/* GET /healthz: 200, also of one that stands by for another controller, or 503 while PostgreSQL is
 * away. */
void local_server_answer_health(struct http_request *request, bool database_up);
