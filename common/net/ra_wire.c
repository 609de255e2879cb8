#include "common/net/ra_wire.h"

#include <errno.h>

#include "common/base/error.h"
#include "common/net/wire.h"

#define TYPE_SOLICITATION  133
#define TYPE_ADVERTISEMENT 134
#define OPTION_SOURCE      1
#define OPTION_UNIT        8 /* option lengths count in these */
#define HOP_LIMIT          255
#define FLAG_MANAGED       0x80U
#define FLAG_OTHER         0x40U

/* 4.6: an option of length 0 makes the whole packet invalid. */
static int ra_wire_read_options(struct wire_reader *packet, struct mac *ret_source)
{
	while (wire_left(packet) > 0) {
		uint8_t type = wire_u8(packet);
		uint8_t units = wire_u8(packet);
		struct wire_reader body;

		if (units == 0)
			return E_MALFORMED;
		body = wire_cut(packet, (size_t)units * OPTION_UNIT - 2);
		if (packet->bad)
			return E_MALFORMED;
		if (type == OPTION_SOURCE && units == 1)
			wire_copy(&body, ret_source->bytes, sizeof(ret_source->bytes));
	}
	return 0;
}

int ra_solicitation_decode(const void *data, size_t size, int hop_limit,
			   struct ra_solicitation *ret)
{
	struct wire_reader packet = wire_reader(data, size);
	struct ra_solicitation solicitation = {0};
	uint8_t type = wire_u8(&packet);
	uint8_t code = wire_u8(&packet);
	int rc;

	wire_skip(&packet, 2 + 4); /* checksum, reserved */
	if (packet.bad || type != TYPE_SOLICITATION || code != 0 || hop_limit != HOP_LIMIT)
		return E_MALFORMED;
	rc = ra_wire_read_options(&packet, &solicitation.source);
	if (rc)
		return rc;
	*ret = solicitation;
	return 0;
}

int ra_advertisement_encode(const struct ra_advertisement *advertisement, void *data, size_t room,
			    size_t *ret_size)
{
	struct wire_writer writer = wire_writer(data, room);

	wire_put_u8(&writer, TYPE_ADVERTISEMENT);
	wire_put_u8(&writer, 0);
	wire_put_u16(&writer, 0);
	wire_put_u8(&writer, advertisement->hop_limit);
	wire_put_u8(&writer, (uint8_t)((advertisement->managed ? FLAG_MANAGED : 0) |
				       (advertisement->other ? FLAG_OTHER : 0)));
	wire_put_u16(&writer, advertisement->router_lifetime_s);
	wire_put_u32(&writer, advertisement->reachable_ms);
	wire_put_u32(&writer, advertisement->retransmit_ms);
	if (!mac_is_zero(advertisement->source)) {
		wire_put_u8(&writer, OPTION_SOURCE);
		wire_put_u8(&writer, 1);
		wire_put_bytes(&writer, advertisement->source.bytes,
			       sizeof(advertisement->source.bytes));
	}
	if (writer.bad)
		return -ENOBUFS;
	*ret_size = wire_written(&writer);
	return 0;
}

int ra_advertisement_decode(const void *data, size_t size, struct ra_advertisement *ret)
{
	struct wire_reader packet = wire_reader(data, size);
	struct ra_advertisement advertisement = {0};
	uint8_t type = wire_u8(&packet);
	uint8_t code = wire_u8(&packet);
	uint8_t flags;
	int rc;

	wire_skip(&packet, 2);
	advertisement.hop_limit = wire_u8(&packet);
	flags = wire_u8(&packet);
	advertisement.managed = flags & FLAG_MANAGED;
	advertisement.other = flags & FLAG_OTHER;
	advertisement.router_lifetime_s = wire_u16(&packet);
	advertisement.reachable_ms = wire_u32(&packet);
	advertisement.retransmit_ms = wire_u32(&packet);
	if (packet.bad || type != TYPE_ADVERTISEMENT || code != 0)
		return E_MALFORMED;
	rc = ra_wire_read_options(&packet, &advertisement.source);
	if (rc)
		return rc;
	*ret = advertisement;
	return 0;
}
