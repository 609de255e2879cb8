#include "common/base/macros.h"
#include "common/io/arp_proxy.h"

#include "bampi/bootd/bootd.h"

#define BOOTD_ARP_COUNTER_TABLE_AT(member) offsetof(struct arp_proxy_counters, member)

const struct metric_row arp_counter_rows[] = {
	{"haas_arp_answered_total", METRIC_COUNTER, NULL, BOOTD_ARP_COUNTER_TABLE_AT(answered),
	 "ARP requests answered for addresses behind another interface"},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"probe\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_PROBE]), "ARP requests left alone"},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"gratuitous\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_GRATUITOUS]), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"foreign\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_FOREIGN]), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"forged\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_FORGED]), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"local\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_LOCAL]), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"same_link\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_SAME_LINK]), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"no_route\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(verdicts[ARP_NO_ROUTE]), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"throttled\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(throttled), NULL},
	{"haas_arp_ignored_total", METRIC_COUNTER, "reason=\"malformed\"",
	 BOOTD_ARP_COUNTER_TABLE_AT(malformed), NULL},
};
const size_t arp_counter_row_count = COUNT_OF(arp_counter_rows);
