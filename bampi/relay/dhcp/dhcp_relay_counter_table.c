#include "common/base/macros.h"

#include "bampi/relay/dhcp/dhcp_relay_counters.h"

#define AT(member) offsetof(struct dhcp_relay_counters, member)
#define REQUEST(verdict, word)                                                                   \
	METRIC_COUNTED("haas_relay_dhcp_requests_total", "verdict", word, AT(requests[verdict]), \
		       "Requests from the interfaces, by outcome")
#define REPLY(verdict, word)                                                                   \
	METRIC_COUNTED("haas_relay_dhcp_replies_total", "verdict", word, AT(replies[verdict]), \
		       "Messages to port 67 from servers, by outcome")
#define DROPPED(member, word)                                                       \
	METRIC_COUNTED("haas_relay_dhcp_dropped_total", "reason", word, AT(member), \
		       "Messages that were dropped unread")

const struct metric_row dhcp_relay_counter_rows[] = {
	REQUEST(RELAY_ADD, "added"),
	REQUEST(RELAY_PASS, "passed"),
	REQUEST(RELAY_NO_CLIENT, "no_client"),
	REQUEST(RELAY_NO_ADDRESS, "no_address"),
	REQUEST(RELAY_HOPS, "hops"),
	REQUEST(RELAY_LOOP, "loop"),
	REQUEST(RELAY_FORGED_GIADDR, "forged_giaddr"),
	REQUEST(RELAY_FORGED_OPTION, "forged_option"),
	REPLY(RELAY_ADD, "stripped"),
	REPLY(RELAY_PASS, "passed"),
	REPLY(RELAY_STRANGER, "stranger"),
	REPLY(RELAY_UNASKED, "unasked"),
	REPLY(RELAY_OTHER_GIADDR, "other_giaddr"),
	REPLY(RELAY_OTHER_OPTION, "other_option"),
	DROPPED(malformed, "malformed"),
	DROPPED(elsewhere, "other_interface"),
	DROPPED(throttled_client, "client_rate"),
	DROPPED(throttled_interface, "interface_rate"),
	{"haas_relay_dhcp_oversized_total", METRIC_COUNTER, NULL, AT(oversized),
	 "Requests forwarded without option 82, which would have made them too large"},
	{"haas_relay_dhcp_send_failures_total", METRIC_COUNTER, NULL, AT(send_failures),
	 "Messages that the kernel refused to send"},
	{"haas_relay_dhcp_interfaces", METRIC_GAUGE, NULL, AT(interfaces_ready),
	 "Links that are there and have an address"},
};
const size_t dhcp_relay_counter_row_count = COUNT_OF(dhcp_relay_counter_rows);
