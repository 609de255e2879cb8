/* The machine's side of it: which interfaces there are, and the program that makes ours. */
#pragma once

#include "common/base/problem.h"

#include "bampi/storage/network_policy.h"

/* All interfaces and their IPv4 addresses, by name; those of one interface side by side. Caller
 * frees *ret. -errno. */
MUST_USE int network_host_look(struct network_interface **ret, size_t *ret_count);

struct network_host {
	const char *
		program; /* PROGRAM up INTERFACE VLAN ADDRESS/LENGTH, PROGRAM down INTERFACE VLAN */
	const char *uplink; /* in its environment, as STORAGE_UPLINK */
};

/* Runs it for one interface and waits for its end, for half a minute at most. `network` NULL: down.
 * A problem says what it wrote last. */
MUST_USE int network_host_run(const struct network_host *host, int vlan,
			      const struct storage_network *network, struct problem *problem);
