/* A two-way stream of bytes to a switch: what the dialogue of a command line and the framing of
 * NETCONF run on. The real one is SSH (ssh_stream.c); unit tests have ones that follow a script. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/switch_driver.h"

struct loop;

struct switch_stream_events {
	void (*opened)(void *context);
	void (*data)(void *context, const char *bytes, size_t size);
	/* It is over, also while opening; close it then. With a problem when rc is not 0. */
	void (*ended)(void *context, int rc, const struct problem *problem);
	void *context;
};

struct switch_stream_row {
	/* Begins to open; events come from the loop, never from inside this call. The endpoint is
	 * borrowed for the life of the stream. `subsystem` NULL: a shell on a terminal. -ENOMEM,
	 * or another error with a problem. */
	int (*open)(struct loop *loop, const struct switch_endpoint *endpoint,
		    const char *subsystem, const struct switch_stream_events *events,
		    void **ret_stream, struct problem *problem);
	/* Queued, sent as it goes. -ENOMEM. */
	int (*write)(void *stream, const char *bytes, size_t size);
	/* No event comes after. NULL is fine. */
	void (*close)(void *stream);
};

extern const struct switch_stream_row ssh_switch_stream;
