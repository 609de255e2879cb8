#include "peregrine/capture/decap_wire.h"

#include "common/base/error.h"
#include "common/net/frame_key_wire.h"
#include "common/net/wire.h"

enum {
	PROTOCOL_GRE = 47,

	GRE_CHECKSUM = 0x8000,
	GRE_ROUTING = 0x4000,
	GRE_KEY = 0x2000,
	GRE_SEQUENCE = 0x1000,
	GRE_VERSION = 0x0007,

	TYPE_ETHERNET = 0x6558, /* transparent Ethernet bridging */
	TYPE_ERSPAN = 0x88be,
	TYPE_ERSPAN_3 = 0x22eb,

	ERSPAN_SESSION = 0x3ff,
	ERSPAN_FRAME_TYPE = 0x7c00, /* III: 0 = Ethernet */
	ERSPAN_SUBHEADER = 0x1,

	ETHERNET_SIZE = 14,
	ADDRESSES_SIZE = 12,
};

/* Types II and III begin alike: version, VLAN, then class, truncation and session. */
static int read_erspan_head(struct wire_reader *gre, unsigned version, struct decap *decap)
{
	uint16_t first = wire_u16(gre);
	uint16_t second = wire_u16(gre);

	decap->vlan = first & 0xfff;
	decap->session = second & ERSPAN_SESSION;
	return first >> 12 == version ? 0 : E_PROTOCOL;
}

static int read_erspan(struct wire_reader *gre, uint16_t type, struct decap *decap)
{
	uint16_t last;
	int rc;

	if (type == TYPE_ERSPAN && !decap->has_sequence) {
		decap->type = 1; /* no header of its own */
		return 0;
	}
	if (type == TYPE_ERSPAN) {
		decap->type = 2;
		rc = read_erspan_head(gre, 1, decap);
		wire_skip(gre, 4); /* reserved, index */
		return rc;
	}
	decap->type = 3;
	rc = read_erspan_head(gre, 2, decap);
	wire_skip(gre, 6); /* timestamp, security group */
	last = wire_u16(gre);
	if (last & ERSPAN_SUBHEADER)
		wire_skip(gre, 8);
	return rc || last & ERSPAN_FRAME_TYPE ? E_PROTOCOL : 0;
}

static int read_gre(enum decap_kind kind, struct wire_reader *gre, struct decap *decap)
{
	uint16_t flags = wire_u16(gre);
	uint16_t type = wire_u16(gre);
	bool erspan = type == TYPE_ERSPAN || type == TYPE_ERSPAN_3;

	if (flags & (GRE_ROUTING | GRE_VERSION))
		return E_PROTOCOL;
	if (flags & GRE_CHECKSUM)
		wire_skip(gre, 4);
	if (flags & GRE_KEY)
		decap->session = wire_u32(gre);
	if (flags & GRE_SEQUENCE)
		decap->sequence = wire_u32(gre);
	decap->has_sequence = flags & GRE_SEQUENCE;
	if (kind == DECAP_ERSPAN)
		return erspan ? read_erspan(gre, type, decap) : E_PROTOCOL;
	return type == TYPE_ETHERNET ? 0 : E_PROTOCOL;
}

int decap_frame(enum decap_kind kind, const void *data, size_t size, struct decap *ret)
{
	struct decap decap = {.frame = data, .size = size};
	struct frame_layout layout;
	struct flow_key key = {0};
	struct wire_reader inside;
	int rc = 0;

	if (kind == DECAP_NONE) {
		if (size < ETHERNET_SIZE)
			return E_PROTOCOL;
		*ret = decap;
		return 0;
	}
	frame_key_decode_layout(data, size, &key, &layout);
	inside = wire_reader(data, size);
	if (kind == DECAP_VXLAN) {
		if (!(key.flags & FLOW_INNER))
			return E_PROTOCOL;
		decap.session = key.vni - 1;
		wire_skip(&inside, (size_t)(layout.frame - inside.at));
	} else {
		if (!layout.transport || key.protocol != PROTOCOL_GRE || key.flags & FLOW_INNER)
			return E_PROTOCOL;
		wire_skip(&inside, (size_t)(layout.transport - inside.at));
		rc = read_gre(kind, &inside, &decap);
	}
	if (rc || inside.bad || wire_left(&inside) < ETHERNET_SIZE)
		return E_PROTOCOL;
	decap.frame = inside.at;
	decap.size = wire_left(&inside);
	decap.offset = size - decap.size;
	*ret = decap;
	return 0;
}

size_t decap_tags(const void *data, size_t size)
{
	struct wire_reader frame = wire_reader(data, size);
	size_t tags = 0;

	wire_skip(&frame, ADDRESSES_SIZE);
	for (; tags < 2; tags++) {
		uint16_t type = wire_u16(&frame);

		if (type != 0x8100 && type != 0x88a8 && type != 0x9100)
			break;
		wire_skip(&frame, 2);
		if (frame.bad || wire_left(&frame) < 2)
			break;
	}
	return tags ? ADDRESSES_SIZE + 4 * tags : 0;
}
