/* The event stream. One query follows the audit rows for all clients, in the order (xid, id), into memory
 * (event_ring.h). It stops before the oldest running transaction, so a row that commits late is not
 * missed. Each client has its own position and is sent from memory what it can take. A client that
 * returns with a position from before that is served by its own queries until memory has the rest. */
#pragma once

#include "common/base/macros.h"

#include "portal/server/exchange.h"

struct event_stream;

MUST_USE int event_stream_new(struct portal *portal, struct event_stream **ret);
/* Ends all clients. */
void event_stream_free(struct event_stream *stream);
/* Something may have been written: look now instead of within a second. NULL is fine. */
void event_stream_wake(struct event_stream *stream);
/* The handler of GET /events/stream. */
void event_stream_join(struct exchange *exchange);
