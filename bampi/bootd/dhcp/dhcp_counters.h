/* What the DHCP half counts since it started. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/http/metrics.h"

#include "bampi/bootd/dhcp/dhcp_policy.h"
#include "bampi/bootd/identify/identity_policy.h"

struct dhcp_counters {
	uint64_t received[DHCP_TYPES]; /* by enum dhcp_type */
	uint64_t malformed, pxe_requests;
	uint64_t offers, acks, acks_committed, naks, informs, quarantined, released;
	uint64_t silent[DHCP_REASONS]; /* by enum dhcp_reason */
	uint64_t identities[IDENTITY_OUTCOMES];
	uint64_t unknown_circuits_dropped;
	uint64_t sightings;
	uint64_t conflicts, reply_too_large, send_failures, foreign_replies;
	uint64_t leases, lease_bytes, offers_held, commit_queue, commit_batches, committed_leases,
		database_up;
};

extern const struct metric_row dhcp_counter_rows[];
extern const size_t dhcp_counter_row_count;
