/* One capture, from its order to its end. It reads the frames of one interface, unwraps them, and
 * writes those of its scope that pass its filter into the ring. It reports their findings as JSON
 * lines, one a second. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/capture/capture_order.h"

struct capture;

/* Opens the interface and the files; nothing is parsed yet. */
MUST_USE int capture_open(const struct capture_order *order, struct capture **ret,
			  struct problem *problem);
void capture_free(struct capture *capture);
/* Without privileges: parses the filter, then captures until the end. Writes to `out`:
 *
 *   {"state":"listening"}
 *   {"state":"running", "packets":N, ..., "lines":[...]}      once a second
 *   {"state":"ended", "because":"deadline", ..., "problem":{...}}
 *
 * The member "because" names the end:
 *
 *   stopped   `in` is closed, or *stop is set
 *   deadline  its time has expired
 *   full      its files are full
 *   failed    with a problem */
MUST_USE int capture_run(struct capture *capture, int in, int out, const volatile int *stop,
			 struct problem *problem);
/* Writes the last line for a capture that failed before capture_run could. */
void capture_tell_failed(int out, const struct problem *problem);
