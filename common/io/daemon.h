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
	const struct conf_row *rows;
	size_t row_count;
	/* Cross-field checks after loading; may be NULL. 0 or a code with the problem set. */
	int (*check)(const void *values, struct problem *problem);
	/* Starts everything on the loop; *ret_state is handed to `stop`. Called with privileges;
	 * drops them itself when ports are bound. */
	int (*start)(struct loop *loop, const void *values, void **ret_state,
		     struct problem *problem);
	void (*stop)(void *state);
	/* SIGHUP; may be NULL. */
	void (*reload)(void *state);
	size_t values_size;
};

/* Returns the exit status for main(): 0 clean stop, 1 start failed, 2 usage or configuration. */
int daemon_main(const struct daemon_spec *spec, int argc, char **argv);
