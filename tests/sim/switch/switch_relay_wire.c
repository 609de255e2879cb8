#include "tests/sim/switch/switch_relay_wire.h"

#include <string.h>

#include "common/net/wire.h"

#define ETHERTYPE_IPV4 0x0800
#define PROTOCOL_UDP   17
#define FRAGMENT_BITS  0x3fffU /* more to come, or not the first */
#define SERVER_PORT    67
#define CLIENT_PORT    68
#define MAGIC_COOKIE   0x63825363U
#define FIXED_SIZE     240
#define MESSAGE_MIN    300 /* BOOTP, RFC 951 3 */
#define HOP_LIMIT      16
#define FLAG_BROADCAST 0x8000U

enum { OPTION_PAD = 0, OPTION_RELAY = 82, OPTION_END = 255, SUB_CIRCUIT = 1, SUB_REMOTE = 2 };

const char *const switch_relay_verdict_words[SWITCH_RELAY_VERDICTS] = {
	"forward", "malformed", "wrong-op", "giaddr", "option82", "hops", "too-large", "not-ours",
};

/* --- frames --- */

struct switch_relay_frame switch_relay_look(const void *frame, size_t size)
{
	static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct switch_relay_frame ret = {.kind = SWITCH_RELAY_OTHER};
	struct wire_reader reader = wire_reader(frame, size);
	struct wire_reader packet;
	uint8_t target[6];
	uint16_t from;
	uint16_t to;
	size_t head;
	size_t length;

	wire_copy(&reader, target, sizeof(target));
	wire_skip(&reader, 6);
	if (wire_u16(&reader) != ETHERTYPE_IPV4)
		return ret;
	head = wire_u8(&reader);
	wire_skip(&reader, 1);
	length = wire_u16(&reader);
	if (head >> 4 != 4 || (head & 15) < 5 || length < 4)
		return ret;
	packet = wire_cut(&reader, length - 4); /* what follows is the frame's padding */
	wire_skip(&packet, 2);
	if (wire_u16(&packet) & FRAGMENT_BITS)
		return ret;
	wire_skip(&packet, 1);
	if (wire_u8(&packet) != PROTOCOL_UDP)
		return ret;
	wire_skip(&packet, 10 + 4 * ((head & 15) - 5));
	from = wire_u16(&packet);
	to = wire_u16(&packet);
	length = wire_u16(&packet);
	wire_skip(&packet, 2);
	if (length < 8)
		return ret;
	packet = wire_cut(&packet, length - 8);
	if (packet.bad)
		return ret;
	ret.data = packet.at;
	ret.size = wire_left(&packet);
	if (from == SERVER_PORT || to == CLIENT_PORT)
		ret.kind = SWITCH_RELAY_SERVER;
	else if (to == SERVER_PORT && memcmp(target, everybody, sizeof(target)) == 0)
		ret.kind = SWITCH_RELAY_CLIENT;
	return ret;
}

/* --- option 82 of the families --- */

/* "GigabitEthernet1/0/14" or "p14" -> 14 */
static uint8_t port_number(const char *port)
{
	size_t end = strlen(port);
	size_t at = end;
	unsigned number = 0;

	while (at > 0 && port[at - 1] >= '0' && port[at - 1] <= '9')
		at--;
	for (; at < end; at++)
		number = (number * 10 + (unsigned)(port[at] - '0')) & 0xffU;
	return (uint8_t)number;
}

struct building {
	struct switch_relay_option *option;
	struct wire_writer writer;
};

static struct building switch_relay_wire_begin(struct switch_relay_option *ret)
{
	struct building building = {ret, wire_writer(ret->bytes, sizeof(ret->bytes))};

	wire_put_u16(&building.writer, OPTION_RELAY << 8);
	return building;
}

static void sub_head(struct building *building, uint8_t code, size_t size)
{
	wire_put_u8(&building->writer, code);
	wire_put_u8(&building->writer, (uint8_t)size);
}

static void switch_relay_wire_finish(struct building *building)
{
	size_t size = wire_written(&building->writer);

	building->option->size = building->writer.bad ? 0 : size;
	if (building->option->size)
		building->option->bytes[1] = (uint8_t)(size - 2);
}

static void put_remote_mac(struct building *building, const struct mac *mac)
{
	sub_head(building, SUB_REMOTE, 8);
	wire_put_u16(&building->writer, 0x0006);
	wire_put_bytes(&building->writer, mac->bytes, sizeof(mac->bytes));
}

/* Catalyst 3560 configuration guide, "Suboption Packet Formats": 00 04 VLAN(2) module port. */
static void write_ios(const struct switch_relay_place *place, struct switch_relay_option *ret)
{
	struct building building = switch_relay_wire_begin(ret);

	sub_head(&building, SUB_CIRCUIT, 6);
	wire_put_u16(&building.writer, 0x0004);
	wire_put_u16(&building.writer, place->vlan);
	wire_put_u8(&building.writer, 1);
	wire_put_u8(&building.writer, port_number(place->port));
	put_remote_mac(&building, &place->mac);
	switch_relay_wire_finish(&building);
}

/* The same guide, "User-Configured": 01 length text, both. */
static void write_ios_text(const struct switch_relay_place *place, struct switch_relay_option *ret)
{
	const char *const texts[] = {place->port, place->switch_name};
	struct building building = switch_relay_wire_begin(ret);

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		size_t length = strlen(texts[i]);

		sub_head(&building, (uint8_t)(SUB_CIRCUIT + i), length + 2);
		wire_put_u8(&building.writer, 1);
		wire_put_u8(&building.writer, (uint8_t)length);
		wire_put_bytes(&building.writer, texts[i], length);
	}
	switch_relay_wire_finish(&building);
}

/* HP 6125XLG, "padding format normal": VLAN and interface number, behind 00 04. */
static void write_comware(const struct switch_relay_place *place, struct switch_relay_option *ret)
{
	struct building building = switch_relay_wire_begin(ret);

	sub_head(&building, SUB_CIRCUIT, 6);
	wire_put_u16(&building.writer, 0x0004);
	wire_put_u16(&building.writer, place->vlan);
	wire_put_u16(&building.writer, port_number(place->port));
	put_remote_mac(&building, &place->mac);
	switch_relay_wire_finish(&building);
}

/* SONiC (Edgecore, Dell): circuit-id "%h:%p", remote-id the MAC as it is. */
static void write_sonic(const struct switch_relay_place *place, struct switch_relay_option *ret)
{
	size_t switch_length = strlen(place->switch_name);
	size_t port_length = strlen(place->port);
	struct building building = switch_relay_wire_begin(ret);

	sub_head(&building, SUB_CIRCUIT, switch_length + 1 + port_length);
	wire_put_bytes(&building.writer, place->switch_name, switch_length);
	wire_put_u8(&building.writer, ':');
	wire_put_bytes(&building.writer, place->port, port_length);
	sub_head(&building, SUB_REMOTE, sizeof(place->mac.bytes));
	wire_put_bytes(&building.writer, place->mac.bytes, sizeof(place->mac.bytes));
	switch_relay_wire_finish(&building);
}

const struct switch_relay_format switch_relay_formats[] = {
	{"ios", "Cisco Catalyst and IOS: 00 04 VLAN module port; remote-id 00 06 MAC", write_ios},
	{"ios-text", "Cisco with circuit-id string: port; remote-id string: switch",
	 write_ios_text},
	{"comware", "HPE Comware and H3C, normal: 00 04 VLAN interface number", write_comware},
	{"sonic", "SONiC on Edgecore and Dell: SWITCH:PORT; remote-id MAC", write_sonic},
};
const size_t switch_relay_format_count = COUNT_OF(switch_relay_formats);

const struct switch_relay_format *switch_relay_format_find(const char *name)
{
	for (size_t i = 0; i < switch_relay_format_count; i++) {
		if (strcmp(switch_relay_formats[i].name, name) == 0)
			return &switch_relay_formats[i];
	}
	return NULL;
}

/* --- messages --- */

struct fixed {
	uint8_t op, hops;
	uint16_t flags;
	uint32_t ciaddr, yiaddr, giaddr;
	struct mac client;
};

/* Leaves the reader at the options. */
static bool read_fixed(struct wire_reader *reader, struct fixed *ret)
{
	uint16_t hardware;

	ret->op = wire_u8(reader);
	hardware = wire_u16(reader);
	ret->hops = wire_u8(reader);
	wire_skip(reader, 4 + 2);
	ret->flags = wire_u16(reader);
	ret->ciaddr = wire_u32(reader);
	ret->yiaddr = wire_u32(reader);
	wire_skip(reader, 4);
	ret->giaddr = wire_u32(reader);
	wire_copy(reader, ret->client.bytes, sizeof(ret->client.bytes));
	wire_skip(reader, 10 + 64 + 128);
	return wire_u32(reader) == MAGIC_COOKIE && hardware == 0x0106 && !reader->bad;
}

/* Copies all options but 82, which goes to *ret_option if there is one; false when they break
 * off. */
static bool switch_relay_wire_copy_options(struct wire_reader *reader, struct wire_writer *writer,
					   struct switch_relay_option *ret_option)
{
	while (wire_left(reader) > 0) {
		const uint8_t *start = reader->at;
		uint8_t code = wire_u8(reader);
		size_t size;

		if (code == OPTION_END)
			break;
		if (code != OPTION_PAD)
			wire_skip(reader, wire_u8(reader));
		if (reader->bad)
			return false;
		size = (size_t)(reader->at - start);
		if (code != OPTION_RELAY) {
			wire_put_bytes(writer, start, size);
			continue;
		}
		if (ret_option->size || size > sizeof(ret_option->bytes))
			return false; /* one, and none as large is ours */
		memcpy(ret_option->bytes, start, size);
		ret_option->size = size;
	}
	return true;
}

static bool end_message(struct wire_writer *writer, size_t *ret_size)
{
	wire_put_u8(writer, OPTION_END);
	if (!writer->bad && wire_written(writer) < MESSAGE_MIN)
		wire_put_zeros(writer, MESSAGE_MIN - wire_written(writer));
	*ret_size = writer->bad ? 0 : wire_written(writer);
	return !writer->bad;
}

enum switch_relay_verdict switch_relay_request(const void *data, size_t size, uint32_t giaddr,
					       const struct switch_relay_option *option,
					       uint8_t *ret, size_t *ret_size)
{
	struct wire_reader reader = wire_reader(data, size);
	struct wire_writer writer = wire_writer(ret, SWITCH_RELAY_ROOM);
	struct switch_relay_option theirs = {.size = 0};
	struct fixed fixed;

	if (!read_fixed(&reader, &fixed))
		return SWITCH_RELAY_MALFORMED;
	if (fixed.op != 1)
		return SWITCH_RELAY_WRONG_OP;
	if (fixed.giaddr)
		return SWITCH_RELAY_HAS_GIADDR;
	if (fixed.hops >= HOP_LIMIT)
		return SWITCH_RELAY_HOPS;
	wire_put_bytes(&writer, data, FIXED_SIZE);
	if (!switch_relay_wire_copy_options(&reader, &writer, &theirs))
		return SWITCH_RELAY_MALFORMED;
	if (theirs.size)
		return SWITCH_RELAY_HAS_OPTION;
	wire_put_bytes(&writer, option->bytes, option->size);
	if (!end_message(&writer, ret_size))
		return SWITCH_RELAY_TOO_LARGE;
	ret[3] = (uint8_t)(fixed.hops + 1);
	for (size_t i = 0; i < 4; i++)
		ret[24 + i] = (uint8_t)(giaddr >> (24 - 8 * i));
	return SWITCH_RELAY_FORWARD;
}

enum switch_relay_verdict switch_relay_reply(const void *data, size_t size,
					     struct switch_relay_reply *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	struct wire_writer writer = wire_writer(ret->message, sizeof(ret->message));
	struct fixed fixed;

	ret->option.size = 0;
	if (!read_fixed(&reader, &fixed))
		return SWITCH_RELAY_MALFORMED;
	if (fixed.op != 2)
		return SWITCH_RELAY_WRONG_OP;
	wire_put_bytes(&writer, data, FIXED_SIZE);
	if (!switch_relay_wire_copy_options(&reader, &writer, &ret->option))
		return SWITCH_RELAY_MALFORMED;
	if (ret->option.size == 0)
		return SWITCH_RELAY_NOT_OURS;
	if (!end_message(&writer, &ret->size))
		return SWITCH_RELAY_TOO_LARGE;
	memset(&ret->message[24], 0, 4); /* clients know no relay */
	ret->client = fixed.client;
	ret->giaddr = fixed.giaddr;
	ret->address = fixed.yiaddr ? fixed.yiaddr : fixed.ciaddr;
	ret->broadcast = fixed.flags & FLAG_BROADCAST || ret->address == 0;
	return SWITCH_RELAY_FORWARD;
}
