/* One capture, from its order to its end: frames of one interface, unwrapped, those of its scope
 * that pass its filter, into the ring; what they say is told as JSON lines, one a second. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/capture/capture_order.h"

struct capture;

/* Opens the interface and the files; nothing is parsed yet. */
MUST_USE int capture_open(const struct capture_order *order, struct capture **ret,
			  struct problem *problem);
void capture_free(struct capture *capture);
/* Without privileges: understands the filter, then captures until the end. Tells `out`:
 *   {"state":"listening"}
 *   {"state":"running", "packets":N, ..., "lines":[...]}      once a second
 *   {"state":"ended", "because":"deadline", ..., "problem":{...}}
 * Ends when `in` is closed or *stop is set ("stopped"), after its time ("deadline"), when its files
 * are full ("full"), or with a problem ("failed"). */
MUST_USE int capture_run(struct capture *capture, int in, int out, const volatile int *stop,
			 struct problem *problem);
/* The last line, when a capture did not come so far. */
void capture_tell_failed(int out, const struct problem *problem);
