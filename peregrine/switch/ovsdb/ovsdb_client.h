/* One connection to a switch's ovsdb-server (RFC 7047): TCP or TLS on the loop, one request at a
 * time, kept between calls, the server's "echo" answered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/fence.h"
#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/ovsdb/ovsdb_json.h"
#include "peregrine/switch/switch_driver.h"

struct loop;
struct ovsdb_client;

/* From the loop. rc 0: `result` is the array of results of "transact", borrowed for the call.
 * Else, with a problem: E_UNAVAILABLE    no connection, or it ended
 * E_TIMEOUT        no answer in time
 * E_AUTHENTICATION one of the two certificates is not accepted
 * E_PROTOCOL       what came is not OVSDB, or the server knows no such database or method
 * E_LIMIT          a message larger than we read
 * After a failure the connection is closed; the next request makes a new one. */
typedef void (*ovsdb_answer_fn)(void *context, int rc, json_t *result,
				const struct problem *problem);

/* No I/O. The endpoint is borrowed for the client's life, the files (NULL: none) as well. -ENOMEM,
 * or -EINVAL with a problem: its ovsdb_peer says nothing that can be done. */
MUST_USE int ovsdb_client_new(struct loop *loop, const struct switch_endpoint *endpoint,
			      const struct ovsdb_files *files, struct ovsdb_client **ret,
			      struct problem *problem);
void ovsdb_client_free(struct ovsdb_client *client);

/* Sends {"method": "transact", "params": `params`}, which is consumed, also on failure. The answer
 * may take `answer_ms`, but not past `deadline_ms` (clock_monotonic_ms). -ENOMEM. */
MUST_USE int ovsdb_client_transact(struct ovsdb_client *client, json_t *params, uint32_t answer_ms,
				   int64_t deadline_ms, ovsdb_answer_fn fn, void *context);
/* The answer is of no interest any more; if it never comes, the connection is closed. */
void ovsdb_client_forget(struct ovsdb_client *client);
/* A transaction after the end of `fence` is not sent: it fails with E_LAPSED. NULL: all are sent.
 * Borrowed until the next call of this function. */
void ovsdb_client_guard(struct ovsdb_client *client, struct fence *fence);
/* Is there a connection? Before the first request it is an earlier call's. */
bool ovsdb_client_is_open(const struct ovsdb_client *client);
/* The request that failed last may have reached the switch. */
bool ovsdb_client_was_sent(const struct ovsdb_client *client);
/* Requests since the client was made. */
uint32_t ovsdb_client_requests(const struct ovsdb_client *client);
