#include "common/net/frame_key_wire.h"

#include <stdbool.h>
#include <string.h>

#include "common/net/wire.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	FRAME_KEY_WIRE_ETHERTYPE_IPV6 = 0x86dd,
	FRAME_KEY_WIRE_ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	ETHERTYPE_QINQ_OLD = 0x9100,

	PROTOCOL_ICMP = 1,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_ICMPV6 = 58,
	PROTOCOL_SCTP = 132,

	VXLAN_PORT = 4789,
	VXLAN_HAS_VNI = 0x08,
	EXTENSION_LIMIT = 8, /* RFC 8200 names seven kinds; more is a chain made to keep us busy */
};

static bool is_tag(uint16_t ethertype)
{
	return ethertype == FRAME_KEY_WIRE_ETHERTYPE_VLAN || ethertype == ETHERTYPE_QINQ ||
	       ethertype == ETHERTYPE_QINQ_OLD;
}

/* Only the outer tag says which VLAN of ours it is, and only a customer tag: to our switches any
 * other is a payload. What a tenant tags inside is his. */
static void decode_ethernet(struct wire_reader *frame, struct flow_key *key, bool inner)
{
	const uint8_t *head = wire_bytes(frame, 14);

	if (!head)
		return;
	memcpy(key->target_mac, head, 6);
	memcpy(key->source_mac, head + 6, 6);
	key->ethertype = wire_at16(head + 12);
	for (int tags = 0; tags < 2 && is_tag(key->ethertype); tags++) {
		uint16_t tag = wire_u16(frame) & 0xfff;

		if (tags == 0 && !inner && key->ethertype == FRAME_KEY_WIRE_ETHERTYPE_VLAN)
			key->tag = tag;
		key->ethertype = wire_u16(frame);
	}
}

static void decode_ports(struct wire_reader *packet, struct flow_key *key)
{
	const uint8_t *ports;

	switch (key->protocol) {
	case PROTOCOL_TCP:
	case PROTOCOL_UDP:
	case PROTOCOL_SCTP:
		ports = wire_bytes(packet, 4);
		if (ports) {
			key->source_port = wire_at16(ports);
			key->target_port = wire_at16(ports + 2);
		}
		break;
	case PROTOCOL_ICMP:
	case PROTOCOL_ICMPV6: key->target_port = wire_u16(packet); break;
	default: return;
	}
	if (packet->bad)
		key->flags |= FLOW_CUT;
}

/* True: the transport header is next. */
static bool decode_ipv4(struct wire_reader *packet, struct flow_key *key,
			struct frame_layout *layout)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *head = wire_bytes(packet, 20);
	size_t length = head ? (size_t)(head[0] & 0xf) * 4 : 0;
	uint16_t total;

	if (length < 20 || head[0] >> 4 != 4)
		return false;
	key->flags |= FLOW_IPV4;
	key->protocol = head[9];
	memcpy(key->source, mapped, sizeof(mapped));
	memcpy(key->source + 12, head + 12, 4);
	memcpy(key->target, mapped, sizeof(mapped));
	memcpy(key->target + 12, head + 16, 4);
	wire_skip(packet, length - 20); /* options */
	if (wire_at16(head + 6) & 0x1fff) {
		key->flags |= FLOW_FRAGMENT;
		return false;
	}
	total = wire_at16(head + 2);
	layout->transport_length = total > length ? (uint32_t)(total - length) : 0;
	return true;
}

static bool decode_ipv6(struct wire_reader *packet, struct flow_key *key,
			struct frame_layout *layout)
{
	const uint8_t *head = wire_bytes(packet, 40);
	const uint8_t *extensions = packet->at;
	uint16_t total;
	uint8_t next;

	if (!head || head[0] >> 4 != 6)
		return false;
	key->flags |= FLOW_IPV6;
	total = wire_at16(head + 4);
	next = head[6];
	memcpy(key->source, head + 8, 16);
	memcpy(key->target, head + 24, 16);
	for (int i = 0; i < EXTENSION_LIMIT; i++) {
		uint8_t kind = next;
		uint8_t length;

		if (kind == 44) { /* fragment */
			next = wire_u8(packet);
			wire_skip(packet, 1);
			if (wire_u16(packet) & 0xfff8)
				key->flags |= FLOW_FRAGMENT;
			wire_skip(packet, 4);
			continue;
		}
		if (kind != 0 && kind != 43 && kind != 51 && kind != 60 && kind != 135)
			break;
		next = wire_u8(packet);
		length = wire_u8(packet);
		/* The authentication header counts four octets and begins at minus two. */
		wire_skip(packet, kind == 51 ? (size_t)length * 4 : (size_t)length * 8 + 6);
	}
	key->protocol = next;
	if (packet->bad)
		key->flags |= FLOW_CUT;
	if (total > packet->at - extensions)
		layout->transport_length = (uint32_t)(total - (packet->at - extensions));
	return !packet->bad && !(key->flags & FLOW_FRAGMENT);
}

/* Reads one frame; true when a VXLAN packet's own frame is next in `frame`. */
static bool decode_frame(struct wire_reader *frame, struct flow_key *key, bool inner,
			 struct frame_layout *layout)
{
	bool transport = false;
	uint32_t word;

	layout->frame = frame->at;
	decode_ethernet(frame, key, inner);
	layout->network = frame->at;
	if (key->ethertype == ETHERTYPE_IPV4)
		transport = decode_ipv4(frame, key, layout);
	else if (key->ethertype == FRAME_KEY_WIRE_ETHERTYPE_IPV6)
		transport = decode_ipv6(frame, key, layout);
	if (!transport)
		return false;
	layout->transport = frame->at;
	decode_ports(frame, key);
	if (inner || key->protocol != PROTOCOL_UDP || key->target_port != VXLAN_PORT)
		return false;
	wire_skip(frame, 4); /* length, checksum */
	word = wire_u32(frame);
	if (!(word >> 24 & VXLAN_HAS_VNI))
		return false;
	word = wire_u32(frame) >> 8;
	if (frame->bad || wire_left(frame) < 14)
		return false;
	key->vni = word + 1;
	return true;
}

void frame_key_decode_layout(const void *data, size_t size, struct flow_key *ret,
			     struct frame_layout *ret_layout)
{
	struct wire_reader frame = wire_reader(data, size);

	*ret_layout = (struct frame_layout){0};
	*ret = (struct flow_key){.agent = ret->agent,
				 .input = ret->input,
				 .output = ret->output,
				 .told_vlan = ret->told_vlan};
	if (!decode_frame(&frame, ret, false, ret_layout))
		return;
	*ret_layout = (struct frame_layout){0};
	*ret = (struct flow_key){.agent = ret->agent,
				 .input = ret->input,
				 .output = ret->output,
				 .told_vlan = ret->told_vlan,
				 .tag = ret->tag,
				 .vni = ret->vni,
				 .flags = FLOW_INNER};
	(void)decode_frame(&frame, ret, true, ret_layout);
}

void frame_key_decode(const void *data, size_t size, struct flow_key *ret)
{
	struct frame_layout layout;

	frame_key_decode_layout(data, size, ret, &layout);
}
