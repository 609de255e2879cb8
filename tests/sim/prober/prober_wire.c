#include "tests/sim/prober/prober_wire.h"

#include "common/base/error.h"
#include "common/net/wire.h"

#define TAIL_SIZE     32
#define SIZE_LEAST    64 /* nothing pads it, so the tail stays at the end */
#define TYPE_IPV4     0x0800
#define TYPE_ARP      0x0806
#define TYPE_TAG      0x8100
#define TYPE_OUTER    0x88a8
#define TYPE_LOCAL    0x88b5 /* for local experiments, IEEE 802 */
#define DHCP_COOKIE   0x63825363U
#define UDP_DHCP_SIZE (8 + 240 + 4)

const char *const prober_kind_words[PROBER_KINDS] = {
	[PROBER_UNICAST] = "unicast", [PROBER_ARP] = "arp",       [PROBER_MULTICAST] = "multicast",
	[PROBER_DHCP] = "dhcp",       [PROBER_TAGGED] = "tagged", [PROBER_TWO_TAGS] = "two_tags",
};

static const struct mac prober_wire_everybody = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static void put_ends(struct wire_writer *w, struct mac target, struct mac source)
{
	wire_put_bytes(w, target.bytes, 6);
	wire_put_bytes(w, source.bytes, 6);
}

static void write_unicast(struct wire_writer *w, const struct prober_frame *frame)
{
	put_ends(w, frame->target, frame->source);
	wire_put_u16(w, TYPE_LOCAL);
}

static void write_arp(struct wire_writer *w, const struct prober_frame *frame)
{
	put_ends(w, prober_wire_everybody, frame->source);
	wire_put_u16(w, TYPE_ARP);
	wire_put_u16(w, 1);
	wire_put_u16(w, TYPE_IPV4);
	wire_put_u16(w, 0x0604);
	wire_put_u16(w, 1);
	wire_put_bytes(w, frame->source.bytes, 6);
	wire_put_u32(w, 0); /* a probe: takes nobody's place in a cache */
	wire_put_zeros(w, 6);
	wire_put_u32(w, 0x0a4d0000U + frame->sequence % 65536);
}

static void write_multicast(struct wire_writer *w, const struct prober_frame *frame)
{
	/* mDNS, all IPv6 nodes, SSDP, and two that no bridge may forward (IEEE 802.1Q, 8.6.3). */
	static const struct mac groups[] = {
		{{0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb}}, {{0x33, 0x33, 0x00, 0x00, 0x00, 0x01}},
		{{0x01, 0x00, 0x5e, 0x7f, 0xff, 0xfa}}, {{0x01, 0x80, 0xc2, 0x00, 0x00, 0x00}},
		{{0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}},
	};

	put_ends(w, groups[frame->sequence % COUNT_OF(groups)], frame->source);
	wire_put_u16(w, TYPE_LOCAL);
}

static void write_dhcp(struct wire_writer *w, const struct prober_frame *frame)
{
	put_ends(w, prober_wire_everybody, frame->source);
	wire_put_u16(w, TYPE_IPV4);
	wire_put_u16(w, 0x4500);
	wire_put_u16(w, 20 + UDP_DHCP_SIZE);
	wire_put_u32(w, 0);
	wire_put_u16(w, 0x4011);
	wire_put_u16(w, 0); /* checksum: a switch forwards it whatever it is */
	wire_put_u32(w, 0x0a4d0001U);
	wire_put_u32(w, 0xffffffffU);
	wire_put_u16(w, 67);
	wire_put_u16(w, 68);
	wire_put_u16(w, UDP_DHCP_SIZE);
	wire_put_u16(w, 0);
	wire_put_u32(w, 0x02010600U); /* BOOTREPLY, Ethernet */
	wire_put_u32(w, frame->sequence);
	wire_put_zeros(w, 228);
	wire_put_u32(w, DHCP_COOKIE);
	wire_put_u32(w, 0x350102ffU); /* message type: OFFER; end */
}

static void write_tagged(struct wire_writer *w, const struct prober_frame *frame)
{
	put_ends(w, prober_wire_everybody, frame->source);
	wire_put_u16(w, frame->sequence % 4 == 3 ? TYPE_OUTER : TYPE_TAG);
	wire_put_u16(w, frame->outer);
	wire_put_u16(w, TYPE_LOCAL);
}

static void write_two_tags(struct wire_writer *w, const struct prober_frame *frame)
{
	put_ends(w, prober_wire_everybody, frame->source);
	wire_put_u16(w, frame->sequence % 2 == 0 ? TYPE_TAG : TYPE_OUTER);
	wire_put_u16(w, frame->outer);
	wire_put_u16(w, TYPE_TAG);
	wire_put_u16(w, frame->inner);
	wire_put_u16(w, TYPE_LOCAL);
}

static void (*const prober_wire_writers[PROBER_KINDS])(struct wire_writer *,
						       const struct prober_frame *) = {
	[PROBER_UNICAST] = write_unicast,     [PROBER_ARP] = write_arp,
	[PROBER_MULTICAST] = write_multicast, [PROBER_DHCP] = write_dhcp,
	[PROBER_TAGGED] = write_tagged,       [PROBER_TWO_TAGS] = write_two_tags,
};

int prober_frame_write(const struct prober_frame *frame, uint8_t *ret, size_t room,
		       size_t *ret_size)
{
	struct wire_writer w = wire_writer(ret, room);

	prober_wire_writers[frame->kind](&w, frame);
	if (wire_written(&w) < SIZE_LEAST)
		wire_put_zeros(&w, SIZE_LEAST - wire_written(&w));
	wire_put_u64(&w, frame->token);
	wire_put_u16(&w, frame->sender);
	wire_put_u16(&w, (uint16_t)frame->kind);
	wire_put_u16(&w, frame->outer);
	wire_put_u16(&w, frame->inner);
	wire_put_u32(&w, frame->sequence);
	wire_put_u32(&w, ~frame->sequence);
	wire_put_u64(&w, (uint64_t)frame->sent_us);
	if (w.bad)
		return E_LIMIT;
	*ret_size = wire_written(&w);
	return 0;
}

int prober_frame_read(const uint8_t *data, size_t size, uint64_t token, struct prober_frame *ret)
{
	struct wire_reader r = wire_reader(data, size);
	struct prober_frame frame = {0};
	uint16_t kind;

	if (size < TAIL_SIZE)
		return E_NOT_FOUND;
	wire_skip(&r, size - TAIL_SIZE);
	frame.token = wire_u64(&r);
	frame.sender = wire_u16(&r);
	kind = wire_u16(&r);
	frame.outer = wire_u16(&r);
	frame.inner = wire_u16(&r);
	frame.sequence = wire_u32(&r);
	if (wire_u32(&r) != ~frame.sequence)
		return E_NOT_FOUND;
	frame.sent_us = (int64_t)wire_u64(&r);
	if (r.bad || frame.token != token || kind >= PROBER_KINDS)
		return E_NOT_FOUND;
	frame.kind = (enum prober_kind)kind;
	*ret = frame;
	return 0;
}
