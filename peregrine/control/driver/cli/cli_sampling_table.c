/* After the vendors' guides: "Cisco Nexus 9000 Series NX-OS System Management Configuration Guide"
 * (Configuring sFlow), "Dell SmartFabric OS10 User Guide" (sFlow), "Dell Configuration Guide
 * ... 9.x" (sFlow). */
#include "peregrine/control/driver/cli/cli_sampling_policy.h"

/* The collector is reached by the management VRF. Without the feature there is nothing of it. */
const struct cli_sampling cli_sampling_nxos = {
	.lines = {{"feature sflow", NULL, "no feature sflow", 0},
		  {"sflow agent-ip {agent}", NULL, NULL, 0},
		  {"sflow collector-ip {collector} vrf management", NULL, NULL, SAMPLING_COLLECTOR},
		  {"sflow collector-port {udp}", "sflow collector-port 6343", NULL, 0},
		  {"sflow sampling-rate {rate}", "sflow sampling-rate 4096", NULL, 0},
		  {"sflow max-sampled-size {header}", "sflow max-sampled-size 128", NULL, 0},
		  {"sflow counter-poll-interval {poll}", "sflow counter-poll-interval 20", NULL, 0},
		  {"sflow data-source interface {port}", NULL, NULL, SAMPLING_EACH_PORT}},
	.rate_low = 4096,
	.rate_high = 1000000000,
};

const struct cli_sampling cli_sampling_os10 = {
	.lines = {{"sflow collector {collector} agent-addr {agent} {udp}", NULL, "no",
		   SAMPLING_COLLECTOR},
		  {"sflow sample-rate {rate}", "sflow sample-rate 32768", NULL, 0},
		  {"sflow max-header-size {header}", "sflow max-header-size 128", NULL, 0},
		  {"sflow polling-interval {poll}", "sflow polling-interval 20", NULL, 0},
		  {"sflow enable all-interfaces", NULL, "no sflow enable all-interfaces", 0}},
	.rate_low = 4096,
	.rate_high = 65535,
};

/* 128 bytes of each frame, whatever is wanted. */
const struct cli_sampling cli_sampling_os9 = {
	.lines = {{"sflow collector {collector} agent-addr {agent} {udp}", NULL, "no",
		   SAMPLING_COLLECTOR},
		  {"sflow sample-rate {rate}", "sflow sample-rate 32768", NULL, 0},
		  {"sflow polling-interval {poll}", "sflow polling-interval 20", NULL, 0},
		  {"sflow ingress-enable", NULL, NULL, SAMPLING_IN_PORT},
		  {"sflow enable", NULL, "no sflow enable", 0}},
	.rate_low = 256,
	.rate_high = 8388608,
	.rate_powers = true,
};
