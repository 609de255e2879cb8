/* What the relay counts, and its rows for metrics_write. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/http/metrics.h"

#include "bampi/relay/dhcp/relay_policy.h"

struct dhcp_relay_counters {
	uint64_t requests[RELAY_VERDICTS], replies[RELAY_VERDICTS]; /* by verdict */
	uint64_t malformed, elsewhere, throttled_client, throttled_interface, oversized,
		send_failures;
	uint64_t interfaces_ready;
};

extern const struct metric_row dhcp_relay_counter_rows[];
extern const size_t dhcp_relay_counter_row_count;
