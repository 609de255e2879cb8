/* Nodes whose boot script would say "stop" wait here for a picture of the inventory that was read
 * after they asked: a boot intent may have been written just before, and "stop" costs a node half a
 * minute until it asks again. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/http/server.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

struct script_hold;

/* Answers the request, which is not in the hold any more. */
typedef void (*script_hold_fn)(void *context, struct http_request *request, struct mac mac);

MUST_USE int script_hold_new(struct loop *loop, script_hold_fn fn, void *context,
			     struct script_hold **ret);
/* What still waits is answered 503. NULL is fine. */
void script_hold_free(struct script_hold *hold);
/* Keeps the request until script_hold_release, at most some seconds. -ENOMEM: answer it now. */
MUST_USE int script_hold_put(struct script_hold *hold, struct http_request *request,
			     struct mac mac);
/* The current picture was asked of the database at `read_ms` (loop_now_ms): whoever came before has
 * waited long enough. */
void script_hold_release(struct script_hold *hold, int64_t read_ms);
