/* What every daemon's main() shares: --config FILE, --check-config, --print-config, --version,
 * --help; log level; signals. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

struct daemon_spec {
	const char *name;         /* "bampi-bootd" */
	const char *summary;      /* one line for --help */
	const char *default_conf; /* "/etc/haas/bampi-bootd.conf" */
	const struct conf_table *conf;
	/* Starts everything on the loop. `state` is the program's struct, all zero. Called with
	 * privileges; drops them itself when ports are bound. */
	int (*start)(void *state, struct loop *loop, const void *values, struct problem *problem);
	/* Ends what `start` began, also where it failed halfway. `state` itself is the engine's. */
	void (*stop)(void *state);
	/* The first SIGTERM: what is under way may end; calls loop_stop then, or after a while. A second
	 * signal stops at once. NULL: stop at once. */
	void (*drain)(void *state);
	/* SIGHUP; may be NULL. */
	void (*reload)(void *state);
	size_t state_size;
};

/* Makes the state and starts it: main() without arguments, signals and the loop. */
MUST_USE int daemon_begin(const struct daemon_spec *spec, struct loop *loop, const void *values,
			  void **ret_state, struct problem *problem);
void daemon_end(const struct daemon_spec *spec, void *state);

/* Returns the exit status for main(): 0 clean stop, 1 start failed, 2 usage or configuration. */
int daemon_main(const struct daemon_spec *spec, int argc, char **argv);
