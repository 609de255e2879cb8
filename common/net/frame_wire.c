#include "common/net/frame_wire.h"

#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/checksum.h"
#include "common/net/wire.h"

#define IP_SIZE                20
#define UDP_SIZE               8
#define IP_VERSION             0x45 /* 4, five words */
#define FRAME_WIRE_IP_TTL      64
#define IP_UDP                 17
#define FRAME_WIRE_IP_CHECKSUM 10 /* offsets */
#define UDP_CHECKSUM           (IP_SIZE + 6)
#define FRAME_WIRE_FRAGMENT    0x3fff /* more fragments, and the offset */

static void store_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* RFC 768: over source, target, zero, protocol, length, then the datagram. Zero is sent as all
 * ones. */
static uint16_t udp_checksum(const struct frame_ends *ends, const uint8_t *udp, uint16_t size)
{
	uint8_t pseudo[12];
	struct wire_writer writer = wire_writer(pseudo, sizeof(pseudo));
	uint16_t sum;

	wire_put_u32(&writer, ends->source);
	wire_put_u32(&writer, ends->target);
	wire_put_u16(&writer, IP_UDP);
	wire_put_u16(&writer, size);
	sum = checksum_finish(checksum_add(checksum_add(0, pseudo, sizeof(pseudo)), udp, size));
	return sum ? sum : 0xffff;
}

int frame_encode(const struct frame_ends *ends, const void *payload, size_t size, void *data,
		 size_t room, size_t *ret_size)
{
	struct wire_writer writer = wire_writer(data, room);
	uint8_t *bytes = data;
	uint16_t udp_size;

	if (size > UINT16_MAX - FRAME_HEADERS_SIZE)
		return -ENOBUFS;
	udp_size = (uint16_t)(UDP_SIZE + size);
	wire_put_u8(&writer, IP_VERSION);
	wire_put_u8(&writer, 0);
	wire_put_u16(&writer, (uint16_t)(IP_SIZE + udp_size));
	wire_put_u16(&writer, 0);      /* identification: never fragmented */
	wire_put_u16(&writer, 0x4000); /* DF */
	wire_put_u8(&writer, FRAME_WIRE_IP_TTL);
	wire_put_u8(&writer, IP_UDP);
	wire_put_u16(&writer, 0);
	wire_put_u32(&writer, ends->source);
	wire_put_u32(&writer, ends->target);
	wire_put_u16(&writer, ends->source_port);
	wire_put_u16(&writer, ends->target_port);
	wire_put_u16(&writer, udp_size);
	wire_put_u16(&writer, 0);
	wire_put_bytes(&writer, payload, size);
	if (writer.bad)
		return -ENOBUFS;

	store_u16(bytes + FRAME_WIRE_IP_CHECKSUM, checksum_finish(checksum_add(0, bytes, IP_SIZE)));
	store_u16(bytes + UDP_CHECKSUM, udp_checksum(ends, bytes + IP_SIZE, udp_size));
	*ret_size = wire_written(&writer);
	return 0;
}

int frame_decode(const void *data, size_t size, struct frame_ends *ret_ends,
		 const uint8_t **ret_payload, size_t *ret_size)
{
	struct wire_reader reader = wire_reader(data, size);
	uint8_t version = wire_u8(&reader);
	size_t header = (size_t)(version & 0xfU) * 4;
	struct frame_ends ends;
	uint16_t total;
	uint16_t fragment;
	uint8_t protocol;
	uint16_t udp;

	wire_skip(&reader, 1);
	total = wire_u16(&reader);
	wire_skip(&reader, 2);
	fragment = wire_u16(&reader);
	wire_skip(&reader, 1);
	protocol = wire_u8(&reader);
	wire_skip(&reader, 2);
	ends.source = wire_u32(&reader);
	ends.target = wire_u32(&reader);
	if (reader.bad || version >> 4 != 4 || header < IP_SIZE || total < header + UDP_SIZE ||
	    total > size || (fragment & FRAME_WIRE_FRAGMENT) || protocol != IP_UDP)
		return E_MALFORMED;
	wire_skip(&reader, header - IP_SIZE);
	ends.source_port = wire_u16(&reader);
	ends.target_port = wire_u16(&reader);
	udp = wire_u16(&reader);
	wire_skip(&reader, 2);
	if (udp < UDP_SIZE || udp > total - header)
		return E_MALFORMED;
	*ret_payload = wire_bytes(&reader, (size_t)udp - UDP_SIZE);
	if (reader.bad)
		return E_MALFORMED;
	*ret_ends = ends;
	*ret_size = (size_t)udp - UDP_SIZE;
	return 0;
}
