/* DHCP as a whole: packets in, policies, leases, replies, events. dhcp_new opens every socket, so
 * it is called with privileges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/http/metrics.h"
#include "common/io/loop.h"

#include "bampi/bootd/dhcp/architecture_policy.h"
#include "bampi/bootd/identify/identity.h"
#include "bampi/bootd/identify/inventory.h"
#include "bampi/bootd/identify/observation.h"

struct dhcp;

#define DHCP_CHANNEL "lease" /* to LISTEN on: leases were taken back */

struct dhcp_options {
	const char *const *interfaces; /* NULL-ended; empty = all; borrowed */
	const char *conninfo;          /* for the two connections of leases; borrowed */
	uint16_t http_port;            /* in the URLs we hand out */
	uint16_t https_port;           /* the same by HTTPS; 0 = none */
	bool https_only;               /* iPXE without the site's CA gets a loader, no script */
	uint32_t quarantine_s;         /* of a declined address */
	size_t lease_limit;
	uint32_t
		server_address; /* of this bootd in option 54, when several share the subnets; 0 = boot_server */
	uint32_t relay_rate; /* messages of unknown clients per relay and second; 0 = any */
	/* Of architectures that we have no loader for; borrowed. */
	const struct boot_file *boot_files;
	size_t boot_file_count;
	/* Borrowed, must outlive it. */
	struct inventory *inventory; /* dhcp names itself as its lease source */
	struct observations *observations;
	struct identities *identities;
	struct db *db; /* for events */
};

MUST_USE int dhcp_new(struct loop *loop, const struct dhcp_options *options, struct dhcp **ret,
		      struct problem *problem);
/* After db_free of options.db. */
void dhcp_free(struct dhcp *dhcp);

/* From db_options.on_notify. */
void dhcp_notified(struct dhcp *dhcp, const char *channel);
/* Submits what waits; false while something is still queued or under way (a clean stop asks until
 * true). */
bool dhcp_flush(struct dhcp *dhcp);

const struct metric_row *dhcp_metric_rows(size_t *ret_count);
/* Current after this call. */
const void *dhcp_metric_values(struct dhcp *dhcp);
