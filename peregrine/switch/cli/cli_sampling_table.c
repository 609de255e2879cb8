/* After the vendors' guides: "Cisco Nexus 9000 Series NX-OS System Management Configuration Guide"
 * (Configuring sFlow), "Dell SmartFabric OS10 User Guide" (sFlow), "Dell Configuration Guide
 * ... 9.x" (sFlow), "AOS-CX 10.06 IP Services Guide" (sFlow), "Flexible NetFlow Configuration
 * Guide, Cisco IOS XE" with "Catalyst 9300: Configuring Flexible NetFlow", "SONiC Command
 * Reference" (sFlow). */
#include "peregrine/switch/cli/cli_sampling_policy.h"
#include "peregrine/switch/cli/cli_sampling_wire.h"

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

/* It has no sFlow: flows of the packets that a sampler chose, by IPFIX, which says the rate by its
 * table of samplers. Nothing of it may be changed while a port uses it. IPv4 alone. */
#define INSIDE NULL, NULL, SAMPLING_INSIDE
const struct cli_sampling cli_sampling_ios = {
	.lines = {{"flow record haas", NULL, "no flow record haas", 0},
		  {"match datalink mac source address input", INSIDE},
		  {"match datalink mac destination address input", INSIDE},
		  {"match datalink vlan input", INSIDE},
		  {"match ipv4 protocol", INSIDE},
		  {"match ipv4 source address", INSIDE},
		  {"match ipv4 destination address", INSIDE},
		  {"match transport source-port", INSIDE},
		  {"match transport destination-port", INSIDE},
		  {"match interface input", INSIDE},
		  {"collect interface output", INSIDE},
		  {"collect counter bytes long", INSIDE},
		  {"collect counter packets long", INSIDE},
		  {"flow exporter haas", NULL, "no flow exporter haas", 0},
		  {"destination {collector}", INSIDE},
		  {"transport udp {udp}", INSIDE},
		  {"export-protocol ipfix", INSIDE},
		  {"template data timeout 60", INSIDE},
		  {"option sampler-table timeout 60", INSIDE},
		  {"flow monitor haas", NULL, "no flow monitor haas", 0},
		  {"exporter haas", INSIDE},
		  {"cache timeout active 15", INSIDE},
		  {"record haas", INSIDE},
		  {"sampler haas", NULL, "no sampler haas", 0},
		  {"mode random 1 out-of {rate}", INSIDE},
		  {"ip flow monitor haas sampler haas input", NULL,
		   "no ip flow monitor haas sampler haas input", SAMPLING_IN_PORT}},
	.rate_low = 2,
	.rate_high = 1024,
	.udp = 4739,
	.named = "flow exporter haas",
};

/* Off until it is told where it is; below 4096 it asks whether one is sure. */
const struct cli_sampling cli_sampling_aoscx = {
	.lines = {{"sflow", NULL, "no sflow", SAMPLING_WHOLE},
		  {"sflow collector {collector} port {udp}", NULL, NULL,
		   SAMPLING_COLLECTOR | SAMPLING_PORT_6343},
		  {"sflow agent-ip {agent}", NULL, NULL, 0},
		  {"sflow sampling {rate}", "sflow sampling 4096", NULL, 0},
		  {"sflow header-size {header}", "sflow header-size 128", NULL, 0},
		  {"sflow polling {poll}", "sflow polling 30", NULL, 0}},
	.rate_low = 4096,
	.rate_high = 1000000000,
	.poll_low = 10,
	.poll_high = 3600,
};

/* 128 bytes of each frame, whatever is wanted. What ports are told stays when it is off. */
const struct cli_sampling cli_sampling_sonic = {
	.lines = {{"sudo config sflow collector add haas {collector} --port {udp}", NULL,
		   "sudo config sflow collector del haas", SAMPLING_COLLECTOR | SAMPLING_FIXED},
		  {"sudo config sflow polling-interval {poll}", NULL, NULL, 0},
		  {"sudo config sflow enable", NULL, "sudo config sflow disable", 0},
		  {"sudo config sflow interface enable {port}", NULL, NULL, SAMPLING_EACH_PORT},
		  {"sudo config sflow interface sample-rate {port} {rate}", NULL, NULL,
		   SAMPLING_EACH_PORT}},
	.rate_low = 256,
	.rate_high = 8388608,
	.poll_low = 5,
	.poll_high = 300,
	.named = "sudo config sflow collector add haas",
	.others = "sudo config sflow collector add",
	.shows = {"show sflow", "show sflow interface", "show interfaces status"},
	.typed = cli_sflow_typed,
};
