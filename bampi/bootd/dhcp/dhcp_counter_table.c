#include "common/base/macros.h"

#include "bampi/bootd/dhcp/dhcp_counters.h"

#define AT(member) offsetof(struct dhcp_counters, member)
#define RECEIVED(member, word)                                               \
	METRIC_COUNTED("haas_dhcp_received_total", "type", word, AT(member), \
		       "Messages that were understood")
#define REPLY(member, word)                                                 \
	METRIC_COUNTED("haas_dhcp_replies_total", "type", word, AT(member), \
		       "Replies; ack_committed waited for PostgreSQL")
#define SILENT(member, word)                                                 \
	METRIC_COUNTED("haas_dhcp_silent_total", "reason", word, AT(member), \
		       "Messages left unanswered")
#define IDENTITY(member, word)                                             \
	METRIC_COUNTED("haas_identity_total", "outcome", word, AT(member), \
		       "Requests by the sender that was concluded")

const struct metric_row dhcp_counter_rows[] = {
	RECEIVED(received[DHCP_NO_TYPE], "none"),
	RECEIVED(received[DHCP_DISCOVER], "discover"),
	RECEIVED(received[DHCP_OFFER], "offer"),
	RECEIVED(received[DHCP_REQUEST], "request"),
	RECEIVED(received[DHCP_DECLINE], "decline"),
	RECEIVED(received[DHCP_ACK], "ack"),
	RECEIVED(received[DHCP_NAK], "nak"),
	RECEIVED(received[DHCP_RELEASE], "release"),
	RECEIVED(received[DHCP_INFORM], "inform"),
	{"haas_dhcp_malformed_total", METRIC_COUNTER, NULL, AT(malformed),
	 "Packets that are not DHCP"},
	{"haas_dhcp_pxe_requests_total", METRIC_COUNTER, NULL, AT(pxe_requests),
	 "Requests on port 4011"},
	REPLY(offers, "offer"),
	REPLY(acks, "ack"),
	REPLY(acks_committed, "ack_committed"),
	REPLY(naks, "nak"),
	REPLY(informs, "inform"),
	{"haas_dhcp_quarantined_total", METRIC_COUNTER, NULL, AT(quarantined),
	 "Addresses that clients declined"},
	{"haas_dhcp_released_total", METRIC_COUNTER, NULL, AT(released), "Releases"},
	SILENT(silent[REASON_NOT_READY], "not_ready"),
	SILENT(silent[REASON_NO_SUBNET], "no_subnet"),
	SILENT(silent[REASON_UNKNOWN_CLIENT], "unknown_client"),
	SILENT(silent[REASON_NO_ADDRESS], "no_address"),
	SILENT(silent[REASON_DATABASE_AWAY], "database_away"),
	SILENT(silent[REASON_OTHER_SERVER], "other_server"),
	SILENT(silent[REASON_NO_BINDING], "no_binding"),
	SILENT(silent[REASON_MALFORMED], "malformed"),
	SILENT(silent[REASON_CONFLICT], "conflict"),
	SILENT(silent[REASON_NOT_FOR_SERVERS], "not_for_servers"),
	SILENT(silent[REASON_RELAY_LOOP], "relay_loop"),
	SILENT(silent[REASON_UNKNOWN_RELAY], "unknown_relay"),
	SILENT(silent[REASON_FORGED_RELAY], "forged_relay"),
	SILENT(silent[REASON_CLIENT_RATE], "client_rate"),
	SILENT(silent[REASON_RELAY_RATE], "relay_rate"),
	IDENTITY(identities[IDENTITY_NEW], "new"),
	IDENTITY(identities[IDENTITY_KNOWN], "known"),
	IDENTITY(identities[IDENTITY_SWAPPED], "swapped"),
	IDENTITY(identities[IDENTITY_MOVED], "moved"),
	IDENTITY(identities[IDENTITY_CONFLICT], "conflict"),
	{"haas_unknown_circuits_dropped_total", METRIC_COUNTER, NULL, AT(unknown_circuits_dropped),
	 "Samples of option 82 that were too many to keep"},
	{"haas_sightings", METRIC_GAUGE, NULL, AT(sightings), "NICs seen at a port"},
	{"haas_dhcp_conflicts_total", METRIC_COUNTER, NULL, AT(conflicts),
	 "Bindings that the database refused"},
	{"haas_dhcp_reply_too_large_total", METRIC_COUNTER, NULL, AT(reply_too_large),
	 "Replies larger than the client accepts"},
	{"haas_dhcp_send_failures_total", METRIC_COUNTER, NULL, AT(send_failures),
	 "Replies that the kernel refused"},
	{"haas_dhcp_foreign_replies_total", METRIC_COUNTER, NULL, AT(foreign_replies),
	 "Replies of DHCP servers that are not ours, and requests that name one"},
	{"haas_dhcp_leases", METRIC_GAUGE, NULL, AT(leases), "Leases in memory"},
	{"haas_dhcp_lease_bytes", METRIC_GAUGE, NULL, AT(lease_bytes), "Memory of the lease table"},
	{"haas_dhcp_offers_held", METRIC_GAUGE, NULL, AT(offers_held),
	 "Offers that may still be taken"},
	{"haas_dhcp_commit_queue", METRIC_GAUGE, NULL, AT(commit_queue),
	 "Leases that wait for a commit"},
	{"haas_dhcp_commit_batches_total", METRIC_COUNTER, NULL, AT(commit_batches),
	 "Statements that wrote leases"},
	{"haas_dhcp_committed_leases_total", METRIC_COUNTER, NULL, AT(committed_leases),
	 "Leases in these statements"},
	{"haas_dhcp_database_up", METRIC_GAUGE, NULL, AT(database_up),
	 "1 while new bindings can be made"},
};
const size_t dhcp_counter_row_count = COUNT_OF(dhcp_counter_rows);
