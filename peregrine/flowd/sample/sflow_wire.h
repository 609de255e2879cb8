/* sFlow version 5 datagrams (sflow_version_5.txt, XDR) as a stream of samples: flow samples, also
 * expanded; counter samples; discarded packets (sflow_drops.txt). Any bytes are accepted.
 * Unreadable ones end the datagram with -EBADMSG, after the samples before them. Unknown kinds of
 * samples and records are passed over by their lengths.
 *
 * Read of sflow_tunnels.txt: VNIs (1029, 1030) and the tags that were stripped (1012), which say
 * whose a frame is. Passed over: the outer addresses of a tunnel (1021 to 1026), which are no
 * tenant's. And the begin of an inner header (1027, 1028), without a word on its protocol; VXLAN is
 * looked into anyway. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

#define SFLOW_PORT 6343

struct sflow_datagram {
	uint8_t agent[16]; /* IPv4 mapped */
	uint32_t sub_agent, sequence, uptime_ms;
	uint32_t samples; /* as it says; at most what its bytes can hold is read */
};

enum sflow_kind { SFLOW_FLOW, SFLOW_COUNTERS, SFLOW_DISCARD, SFLOW_OTHER };

/* Octets and frames since the switch started, as in IF-MIB; `status` bit 0 admin up, bit 1 up. */
struct sflow_counters {
	uint32_t if_index, type, direction, status;
	uint64_t speed_bps;
	uint64_t in_octets, out_octets;
	uint32_t in_unicast, in_multicast, in_broadcast, in_discards, in_errors, in_unknown;
	uint32_t out_unicast, out_multicast, out_broadcast, out_discards, out_errors;
	uint32_t alignment_errors, fcs_errors, symbol_errors; /* of record 2, when has_ethernet */
	bool has_generic, has_ethernet;
};

/* Of record 5, per VLAN of the whole switch (flow/vlan_book). */
struct sflow_vlan_counters {
	uint32_t vlan;
	uint64_t octets;
	uint32_t unicast, multicast, broadcast, discards;
};

struct sflow_sample {
	enum sflow_kind kind;
	uint32_t sequence;
	uint64_t source; /* class << 32 | index; class 0: a port, by its ifIndex */

	/* SFLOW_FLOW and SFLOW_DISCARD */
	uint32_t rate; /* 1 in so many frames; a discarded packet: 1 */
	uint32_t pool; /* frames that could have been sampled, wraps */
	uint32_t drops;
	uint32_t input, output; /* as in flow_key: values other than an ifIndex are PORT_* */
	uint32_t reason;        /* of a discard, sflow_reason_text; one without a reason says 256 */
	const uint8_t *header;  /* borrowed from the datagram; NULL = none was sent */
	uint32_t header_size;
	uint32_t frame_bytes; /* on the wire, without FCS */
	bool is_ethernet;
	uint16_t in_vlan, out_vlan; /* of record 1001, else in_vlan of 1012; VLAN_UNTOLD */
	uint32_t in_vni, out_vni;   /* of records 1030, 1029: plus one; 0 = none */

	/* SFLOW_COUNTERS alone; of the others nothing is written here */
	struct sflow_counters counters;
	struct sflow_vlan_counters vlan; /* vlan 0 = none */
};

/* -EPROTONOSUPPORT: another version; -EBADMSG: too short. `ret_samples` then reads the samples. */
MUST_USE int sflow_open(const void *data, size_t size, struct sflow_datagram *ret,
			struct wire_reader *ret_samples);
/* 1: `ret` is the next sample; 0: no more bytes; -EBADMSG: the rest cannot be read. Called at most
 * datagram.samples times. */
MUST_USE int sflow_next(struct wire_reader *samples, struct sflow_sample *ret);
/* What sflow_drops.txt calls a reason; NULL: a number that we have no name for. */
const char *sflow_reason_text(uint32_t reason);
