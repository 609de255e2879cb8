#include "common/base/macros.h"
#include "common/io/arp_proxy.h"

#include "bampi/relay/relay.h"

#define RELAY_ARP_COUNTER_TABLE_AT(member) offsetof(struct arp_proxy_counters, member)
#define IGNORED(word, member)                                                          \
	{                                                                              \
		"haas_relay_arp_ignored_total", METRIC_COUNTER, "reason=\"" word "\"", \
			RELAY_ARP_COUNTER_TABLE_AT(member), "ARP requests left alone"  \
	}

const struct metric_row relay_arp_rows[] = {
	{"haas_relay_arp_answered_total", METRIC_COUNTER, NULL,
	 RELAY_ARP_COUNTER_TABLE_AT(answered),
	 "ARP requests answered for addresses behind another interface"},
	IGNORED("probe", verdicts[ARP_PROBE]),
	IGNORED("gratuitous", verdicts[ARP_GRATUITOUS]),
	IGNORED("foreign", verdicts[ARP_FOREIGN]),
	IGNORED("forged", verdicts[ARP_FORGED]),
	IGNORED("local", verdicts[ARP_LOCAL]),
	IGNORED("same_link", verdicts[ARP_SAME_LINK]),
	IGNORED("no_route", verdicts[ARP_NO_ROUTE]),
	IGNORED("throttled", throttled),
	IGNORED("malformed", malformed),
};
const size_t relay_arp_row_count = COUNT_OF(relay_arp_rows);
