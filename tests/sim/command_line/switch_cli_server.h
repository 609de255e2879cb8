/* The emulated command line, and NETCONF as a subsystem of the same port, over SSH: libssh's server
 * side, a thread per connection, one lock around the device. */
#pragma once

#include <signal.h>

#include "common/base/macros.h"

#include "tests/sim/command_line/switch_cli.h"
#include "tests/sim/command_line/switch_cli_log.h"
#include "tests/sim/command_line/switch_netconf.h"

struct cli_server_options {
	const char *address; /* IPv4, numeric */
	unsigned port;       /* 0: any */
	const char *user, *password;
	const char *accounts; /* file of lines "USER PASSWORD", read at each login; NULL: none */
	const char *host_key; /* file; made when it is not there. NULL: another one each time */
	struct cli_log *log;  /* NULL: none. Borrowed. */
};

/* Serves until *stopping. `netconf` NULL: no such subsystem. Prints "ready ADDRESS PORT" once it
 * listens. */
MUST_USE int cli_server_run(struct cli_device *device, struct netconf_device *netconf,
			    const struct cli_server_options *options,
			    const volatile sig_atomic_t *stopping);
