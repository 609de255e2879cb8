/* What one receiver gathered in about a second, handed to the main loop as a whole: flows, what
 * their sources said, counters, discards, and what went wrong. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "peregrine/flowd/sample/flow_table.h"
#include "peregrine/flowd/sample/sflow_wire.h"
#include "peregrine/flowd/sample/source_book.h"

enum { HARVEST_COUNTERS = 16384, HARVEST_DISCARDS = 4096, HARVEST_VLANS = 4096, HARVEST_LOUD = 64 };

struct counter_record {
	uint16_t agent;
	uint32_t uptime_ms;             /* of the agent, when it sent them */
	uint32_t datagrams;             /* of the agent in this harvest, until then */
	struct sflow_counters counters; /* has_generic */
};

struct vlan_record {
	uint16_t agent;
	struct sflow_vlan_counters counters; /* vlan is not 0 */
};

/* Packets that a switch says it threw away (sFlow drop notifications), one by one. */
struct discard_record {
	uint16_t agent;
	uint32_t port; /* ifIndex where it came in; 0 = not told */
	uint32_t reason;
};

/* Since the receiver started; the difference of two harvests is what a second brought. */
struct receive_counts {
	uint64_t datagrams, bytes, samples;
	uint64_t kernel_drops; /* the socket's queue was full: sequence gaps tell whose they were */
	uint64_t unknown_agent; /* nobody has the agent address that a datagram names */
	uint64_t spoofed;       /* the agent is known, its datagrams come from elsewhere */
	uint64_t limited;       /* of an agent that sends more than one may */
	uint64_t malformed;     /* datagrams that could not be read to their end */
	uint64_t oversized;     /* longer than RECEIVE_SIZE */
	uint64_t other_version; /* sFlow 4 and older, or no sFlow at all */
	uint64_t zero_rate;     /* flow samples that stand for no frames */
	uint64_t no_header;     /* flow samples without an Ethernet header: not attributed */
	uint64_t other_kind;    /* samples of kinds that we do not read */
	uint64_t thinned;       /* samples that were not used: there were too many */
	uint64_t late_harvests; /* seconds that went on because the last one was not returned */
	uint64_t records_lost;  /* counters and discards that did not fit */

	/* Of NetFlow and IPFIX. */
	uint64_t records;         /* summed up */
	uint64_t records_odd;     /* that do not say how much, or what cannot be */
	uint64_t records_missing; /* messages (9) or records (IPFIX) that never came */
	uint64_t no_template;     /* sets that came before their template */
	uint64_t totals;          /* records that tell totals alone: how much they grew counts */
	uint64_t totals_first; /* of these the first of flows that began before: nothing counts */
	uint64_t totals_forgotten; /* flows whose totals lost their place */
	uint64_t sets_unread;      /* sets with octets other than zero that gave nothing */
};

struct harvest {
	bool of_samples;           /* of sFlow: the time it covers is that of its samples */
	int64_t from_us, until_us; /* wall clock: samples carry no time of their own */
	unsigned thin;             /* one of so many samples was used, for so many; 0 = each */
	struct flow_table flows;
	const struct source_sums
		*sources; /* borrowed from the receiver until the harvest is returned */
	size_t source_count;
	struct counter_record *counters; /* room for HARVEST_COUNTERS */
	size_t counter_count;
	struct discard_record *discards; /* room for HARVEST_DISCARDS */
	size_t discard_count;
	struct vlan_record *vlans; /* room for HARVEST_VLANS; NULL = they are not wanted */
	size_t vlan_count;
	uint16_t loud[HARVEST_LOUD]; /* agents of which datagrams were limited; the first of them */
	size_t loud_count;
	struct receive_counts counts;
};
