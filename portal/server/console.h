/* The serial console of a node, relayed byte by byte from bampid's own Unix socket:
 * GET /nodes/{node}/console/stream (server-sent events, one at once) and POST
 * /nodes/{node}/console/input (bytes) or
 * reopen there. */
#pragma once

#include "portal/server/exchange.h"

/* Handlers of the routes with the same ends. */
void console_stream(struct exchange *exchange);
void console_log(struct exchange *exchange);
void console_input(struct exchange *exchange);
void console_reopen(struct exchange *exchange);
/* Ends all that are open; at stop. */
void console_end_all(struct portal *portal);
