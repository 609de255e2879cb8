#include "peregrine/flowd/sample/sflow_wire.h"

#include <errno.h>
#include <string.h>

#include "common/net/flow_key.h"

enum {
	VERSION_5 = 5,
	ADDRESS_IPV4 = 1,
	ADDRESS_IPV6 = 2,

	/* enterprise << 12 | format; all of enterprise 0 (sFlow itself) */
	SAMPLE_FLOW = 1,
	SAMPLE_COUNTERS = 2,
	SAMPLE_FLOW_EXPANDED = 3,
	SAMPLE_COUNTERS_EXPANDED = 4,
	SAMPLE_DISCARD = 5,

	RECORD_HEADER = 1,
	RECORD_SWITCH = 1001,
	RECORD_STRIPPED_TAGS = 1012,
	RECORD_VNI_EGRESS = 1029,
	RECORD_VNI_INGRESS = 1030,
	COUNTERS_GENERIC = 1,
	COUNTERS_ETHERNET = 2,
	COUNTERS_VLAN = 5,

	INTERFACE_VALUE = 0x3fffffff, /* of the compact form, below its 2 bits of format */
	HEADER_ETHERNET = 1,
	SFLOW_WIRE_HEADER_LIMIT = 1024,
	FCS_SIZE = 4,
	RECORD_LIMIT = 64, /* of one sample: more are a loop made by hand */
};

int sflow_open(const void *data, size_t size, struct sflow_datagram *ret,
	       struct wire_reader *ret_samples)
{
	struct wire_reader reader = wire_reader(data, size);
	struct sflow_datagram datagram = {0};
	uint32_t version = wire_u32(&reader);
	uint32_t kind = wire_u32(&reader);

	if (reader.bad)
		return -EBADMSG;
	if (version != VERSION_5)
		return -EPROTONOSUPPORT;
	if (kind == ADDRESS_IPV4) {
		datagram.agent[10] = datagram.agent[11] = 0xff;
		wire_copy(&reader, datagram.agent + 12, 4);
	} else if (kind == ADDRESS_IPV6) {
		wire_copy(&reader, datagram.agent, 16);
	} else {
		return -EBADMSG;
	}
	datagram.sub_agent = wire_u32(&reader);
	datagram.sequence = wire_u32(&reader);
	datagram.uptime_ms = wire_u32(&reader);
	datagram.samples = wire_u32(&reader);
	if (reader.bad)
		return -EBADMSG;
	*ret = datagram;
	*ret_samples = reader;
	return 0;
}

static uint32_t port_of_many(uint32_t count)
{
	return (uint32_t)(count == 2 ? PORT_TWO : PORT_MULTIPLE);
}

/* The largest value says that there is no port: of the compact form, which agents write in the
 * other one as well (hsflowd), and of the expanded form. */
static uint32_t port_of_one(uint32_t value)
{
	if (value == INTERFACE_VALUE || value == UINT32_MAX)
		return (uint32_t)PORT_INTERNAL;
	return port_is_index(value) ? value : (uint32_t)PORT_UNKNOWN;
}

/* 5.3, "interface value". */
static uint32_t port_of_expanded(uint32_t format, uint32_t value, uint32_t *reason)
{
	switch (format) {
	case 0: return port_of_one(value);
	case 1: *reason = value; return (uint32_t)PORT_DISCARDED;
	case 2: return port_of_many(value);
	default: return PORT_UNKNOWN;
	}
}

/* The compact form: 2 bits of format over 30 bits of value. */
static uint32_t port_of_compact(uint32_t value, uint32_t *reason)
{
	return port_of_expanded(value >> 30, value & INTERFACE_VALUE, reason);
}

/* The compact form of a source: 8 bits of class over 24 bits of index. */
static uint64_t source_of_compact(uint32_t value)
{
	return (uint64_t)(value >> 24) << 32 | (value & 0xffffff);
}

static void sflow_wire_read_header(struct wire_reader *record, struct sflow_sample *sample)
{
	const uint8_t *head = wire_bytes(record, 16);
	uint32_t size = head ? wire_at32(head + 12) : 0;
	const uint8_t *bytes = wire_bytes(record, size);
	uint32_t frame_bytes;

	if (!bytes || size > SFLOW_WIRE_HEADER_LIMIT)
		return;
	sample->header = bytes;
	sample->header_size = size;
	sample->is_ethernet = wire_at32(head) == HEADER_ETHERNET;
	/* frame_length counts the FCS, which is also what is stripped (5.4, sampled_header): what
	 * the word behind it says. Some agents strip nothing and do not count it either: a frame is
	 * never shorter than its header. */
	frame_bytes = wire_at32(head + 4);
	sample->frame_bytes = frame_bytes > size + FCS_SIZE ? frame_bytes - FCS_SIZE : size;
}

static void read_generic(struct wire_reader *record, struct sflow_counters *c)
{
	c->if_index = wire_u32(record);
	c->type = wire_u32(record);
	c->speed_bps = wire_u64(record);
	c->direction = wire_u32(record);
	c->status = wire_u32(record);
	c->in_octets = wire_u64(record);
	c->in_unicast = wire_u32(record);
	c->in_multicast = wire_u32(record);
	c->in_broadcast = wire_u32(record);
	c->in_discards = wire_u32(record);
	c->in_errors = wire_u32(record);
	c->in_unknown = wire_u32(record);
	c->out_octets = wire_u64(record);
	c->out_unicast = wire_u32(record);
	c->out_multicast = wire_u32(record);
	c->out_broadcast = wire_u32(record);
	c->out_discards = wire_u32(record);
	c->out_errors = wire_u32(record);
	c->has_generic = !record->bad;
}

static void read_ethernet(struct wire_reader *record, struct sflow_counters *c)
{
	c->alignment_errors = wire_u32(record);
	c->fcs_errors = wire_u32(record);
	wire_skip(record, 40); /* collisions, deferrals, internal errors ... */
	c->symbol_errors = wire_u32(record);
	c->has_ethernet = !record->bad;
}

static void read_flow_record(uint32_t tag, struct wire_reader *record, struct sflow_sample *sample)
{
	switch (tag) {
	case RECORD_HEADER:
		if (!sample->header)
			sflow_wire_read_header(record, sample);
		break;
	case RECORD_SWITCH:
		sample->in_vlan = (uint16_t)(wire_u32(record) & 0xfff);
		wire_skip(record, 4);
		sample->out_vlan = (uint16_t)(wire_u32(record) & 0xfff);
		break;
	case RECORD_STRIPPED_TAGS:
		/* TPID and TCI of each tag in a word, the outermost first. What record 1001 tells
		 * goes first, wherever it stands. */
		if (wire_u32(record) > 0 && sample->in_vlan == VLAN_UNTOLD)
			sample->in_vlan = (uint16_t)(wire_u32(record) & 0xfff);
		break;
	case RECORD_VNI_EGRESS: sample->out_vni = (wire_u32(record) & 0xffffff) + 1; break;
	case RECORD_VNI_INGRESS: sample->in_vni = (wire_u32(record) & 0xffffff) + 1; break;
	default: break;
	}
}

static void read_counter_record(uint32_t tag, struct wire_reader *record,
				struct sflow_sample *sample)
{
	switch (tag) {
	case COUNTERS_GENERIC: read_generic(record, &sample->counters); break;
	case COUNTERS_ETHERNET: read_ethernet(record, &sample->counters); break;
	case COUNTERS_VLAN:
		sample->vlan.vlan = wire_u32(record) & 0xfff;
		sample->vlan.octets = wire_u64(record);
		sample->vlan.unicast = wire_u32(record);
		sample->vlan.multicast = wire_u32(record);
		sample->vlan.broadcast = wire_u32(record);
		sample->vlan.discards = wire_u32(record);
		break;
	default: break;
	}
}

/* What stands before the records; returns their number. */
static uint32_t read_flow_head(struct wire_reader *body, bool expanded, struct sflow_sample *sample)
{
	const uint8_t *head = wire_bytes(body, expanded ? 44 : 32);

	if (!head)
		return 0;
	sample->sequence = wire_at32(head);
	if (!expanded) {
		sample->source = source_of_compact(wire_at32(head + 4));
		sample->rate = wire_at32(head + 8);
		sample->pool = wire_at32(head + 12);
		sample->drops = wire_at32(head + 16);
		sample->input = port_of_compact(wire_at32(head + 20), &sample->reason);
		sample->output = port_of_compact(wire_at32(head + 24), &sample->reason);
		return wire_at32(head + 28);
	}
	/* Classes and indexes are words of their own. */
	sample->source = (uint64_t)wire_at32(head + 4) << 32 | wire_at32(head + 8);
	sample->rate = wire_at32(head + 12);
	sample->pool = wire_at32(head + 16);
	sample->drops = wire_at32(head + 20);
	sample->input =
		port_of_expanded(wire_at32(head + 24), wire_at32(head + 28), &sample->reason);
	sample->output =
		port_of_expanded(wire_at32(head + 32), wire_at32(head + 36), &sample->reason);
	return wire_at32(head + 40);
}

static uint32_t read_counters_head(struct wire_reader *body, bool expanded,
				   struct sflow_sample *sample)
{
	sample->sequence = wire_u32(body);
	sample->source = expanded ? wire_u64(body) : source_of_compact(wire_u32(body));
	return wire_u32(body);
}

/* sFlow drop notifications: one discarded packet, with ports and reason. */
static uint32_t read_discard_head(struct wire_reader *body, struct sflow_sample *sample)
{
	sample->sequence = wire_u32(body);
	sample->source = wire_u64(body);
	sample->drops = wire_u32(body);
	sample->input = wire_u32(body);
	wire_skip(body, 4);
	sample->output = (uint32_t)PORT_DISCARDED;
	sample->reason = wire_u32(body);
	sample->rate = 1;
	return wire_u32(body);
}

/* A tag, a size, and so many bytes of a sample or record: true when they are all there. */
static inline __attribute__((always_inline)) bool
sflow_wire_next_part(struct wire_reader *from, uint32_t *ret_tag, struct wire_reader *ret)
{
	const uint8_t *head = wire_bytes(from, 8);
	const uint8_t *bytes;
	uint32_t size;

	if (!head)
		return false;
	*ret_tag = wire_at32(head);
	size = wire_at32(head + 4);
	bytes = wire_bytes(from, size);
	if (!bytes)
		return false;
	ret->at = bytes;
	ret->end = bytes + size;
	ret->bad = false;
	return true;
}

int sflow_next(struct wire_reader *samples, struct sflow_sample *ret)
{
	struct wire_reader body;
	uint32_t tag;
	uint32_t records;

	if (wire_left(samples) == 0)
		return samples->bad ? -EBADMSG : 0;
	if (!sflow_wire_next_part(samples, &tag, &body))
		return -EBADMSG;
	/* A million times a second: what only counters have is left as it is in the others. */
	memset(ret, 0, offsetof(struct sflow_sample, counters));
	ret->in_vlan = ret->out_vlan = VLAN_UNTOLD;
	switch (tag) {
	case SAMPLE_FLOW:
	case SAMPLE_FLOW_EXPANDED:
		ret->kind = SFLOW_FLOW;
		records = read_flow_head(&body, tag == SAMPLE_FLOW_EXPANDED, ret);
		break;
	case SAMPLE_COUNTERS:
	case SAMPLE_COUNTERS_EXPANDED:
		ret->kind = SFLOW_COUNTERS;
		ret->counters = (struct sflow_counters){0};
		ret->vlan = (struct sflow_vlan_counters){0};
		records = read_counters_head(&body, tag == SAMPLE_COUNTERS_EXPANDED, ret);
		break;
	case SAMPLE_DISCARD:
		ret->kind = SFLOW_DISCARD;
		records = read_discard_head(&body, ret);
		break;
	default: ret->kind = SFLOW_OTHER; return 1;
	}
	if (body.bad || records > RECORD_LIMIT)
		return -EBADMSG;
	for (uint32_t i = 0; i < records; i++) {
		struct wire_reader record;

		if (!sflow_wire_next_part(&body, &tag, &record))
			return -EBADMSG;
		if (ret->kind == SFLOW_COUNTERS)
			read_counter_record(tag, &record, ret);
		else
			read_flow_record(tag, &record, ret);
		if (record.bad)
			return -EBADMSG;
	}
	return 1;
}

const char *sflow_reason_text(uint32_t reason)
{
	enum { FIRST_OWN = 256 }; /* below it: codes of ICMP's "destination unreachable" */
	static const char *const unreachable[] = {
		"net_unreachable",          "host_unreachable",      "protocol_unreachable",
		"port_unreachable",         "frag_needed",           "src_route_failed",
		"dst_net_unknown",          "dst_host_unknown",      "src_host_isolated",
		"dst_net_prohibited",       "dst_host_prohibited",   "dst_net_tos_unreachable",
		"dst_host_tos_unreachable", "comm_admin_prohibited", "host_precedence_violation",
		"precedence_cutoff",
	};
	static const char *const own[] = {
		"unknown",
		"ttl_exceeded",
		"acl",
		"no_buffer_space",
		"red",
		"traffic_shaping",
		"pkt_too_big",
		"src_mac_is_multicast",
		"vlan_tag_mismatch",
		"ingress_vlan_filter",
		"ingress_spanning_tree_filter",
		"port_list_is_empty",
		"port_loopback_filter",
		"blackhole_route",
	};

	if (reason < COUNT_OF(unreachable))
		return unreachable[reason];
	if (reason >= FIRST_OWN && reason - FIRST_OWN < COUNT_OF(own))
		return own[reason - FIRST_OWN];
	return NULL;
}
