#include "common/net/arp_wire.h"

#include "common/base/error.h"
#include "common/net/wire.h"

#define HARDWARE_ETHERNET 1
#define PROTOCOL_IPV4     0x0800
#define MAC_LENGTH        6
#define IPV4_LENGTH       4

int arp_decode(const void *data, size_t size, struct arp_packet *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	uint16_t hardware = wire_u16(&reader);
	uint16_t protocol = wire_u16(&reader);
	uint8_t hardware_length = wire_u8(&reader);
	uint8_t protocol_length = wire_u8(&reader);
	struct arp_packet packet = {.operation = wire_u16(&reader)};

	wire_copy(&reader, packet.sender_mac.bytes, MAC_LENGTH);
	packet.sender = wire_u32(&reader);
	wire_copy(&reader, packet.target_mac.bytes, MAC_LENGTH);
	packet.target = wire_u32(&reader);
	if (reader.bad)
		return E_MALFORMED;
	if (hardware != HARDWARE_ETHERNET || protocol != PROTOCOL_IPV4 ||
	    hardware_length != MAC_LENGTH || protocol_length != IPV4_LENGTH)
		return E_UNSUPPORTED;

	*ret = packet;
	return 0;
}

void arp_encode(const struct arp_packet *packet, uint8_t ret[ARP_SIZE])
{
	struct wire_writer writer = wire_writer(ret, ARP_SIZE);

	wire_put_u16(&writer, HARDWARE_ETHERNET);
	wire_put_u16(&writer, PROTOCOL_IPV4);
	wire_put_u8(&writer, MAC_LENGTH);
	wire_put_u8(&writer, IPV4_LENGTH);
	wire_put_u16(&writer, packet->operation);
	wire_put_bytes(&writer, packet->sender_mac.bytes, MAC_LENGTH);
	wire_put_u32(&writer, packet->sender);
	wire_put_bytes(&writer, packet->target_mac.bytes, MAC_LENGTH);
	wire_put_u32(&writer, packet->target);
}
