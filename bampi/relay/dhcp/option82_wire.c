#include "bampi/relay/dhcp/option82_wire.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/dhcp_wire.h"
#include "common/net/wire.h"

#define FIXED_SIZE    240 /* with the magic cookie */
#define COOKIE_OFFSET 236
#define MAGIC_COOKIE  0x63825363U
#define HOPS_OFFSET   3
#define GIADDR_OFFSET 24

static void option82_wire_put_piece(struct wire_writer *writer, uint8_t code, const void *bytes,
				    size_t size)
{
	if (size > OPTION82_MAX) {
		writer->bad = true;
		return;
	}
	wire_put_u8(writer, code);
	wire_put_u8(writer, (uint8_t)size);
	wire_put_bytes(writer, bytes, size);
}

static void put_address(struct wire_writer *writer, uint8_t code, uint32_t address)
{
	wire_put_u8(writer, code);
	wire_put_u8(writer, 4);
	wire_put_u32(writer, address);
}

int option82_encode(const struct option82 *option, struct option82_value *ret)
{
	struct wire_writer writer = wire_writer(ret->bytes, sizeof(ret->bytes));

	option82_wire_put_piece(&writer, DHCP_RELAY_CIRCUIT_ID, option->circuit,
				option->circuit_size);
	if (option->remote_size > 0)
		option82_wire_put_piece(&writer, DHCP_RELAY_REMOTE_ID, option->remote,
					option->remote_size);
	if (option->link_selection)
		put_address(&writer, DHCP_RELAY_LINK_SELECTION, option->link_selection);
	if (option->server_id)
		put_address(&writer, DHCP_RELAY_SERVER_ID, option->server_id);
	if (writer.bad)
		return E_LIMIT;
	ret->size = wire_written(&writer);
	return 0;
}

/* The next option of the options field; false at its end. Its bytes, head included, lie between
 * *ret_start and the reader's place. */
static bool option82_wire_next_option(struct wire_reader *options, uint8_t *ret_code,
				      const uint8_t **ret_start)
{
	*ret_start = options->at;
	if (wire_left(options) == 0)
		return false; /* END is missing in some requests */
	*ret_code = wire_u8(options);
	if (*ret_code == DHCP_OPTION_END)
		return false;
	if (*ret_code != DHCP_OPTION_PAD)
		wire_skip(options, wire_u8(options));
	return !options->bad;
}

/* A reader at the options of a message; bad when it is none. */
static struct wire_reader open_message(const void *data, size_t size)
{
	struct wire_reader packet = wire_reader(data, size);

	wire_skip(&packet, COOKIE_OFFSET);
	if (wire_u32(&packet) != MAGIC_COOKIE)
		packet.bad = true;
	return packet;
}

/* END and the padding of BOOTP; E_LIMIT when something did not fit. */
static int option82_wire_finish(struct wire_writer *writer, size_t *ret_size)
{
	wire_put_u8(writer, DHCP_OPTION_END);
	if (!writer->bad && wire_written(writer) < DHCP_REPLY_MIN)
		wire_put_zeros(writer, DHCP_REPLY_MIN - wire_written(writer));
	if (writer->bad)
		return E_LIMIT;
	*ret_size = wire_written(writer);
	return 0;
}

int option82_insert(const void *data, size_t size, const struct option82_value *value, size_t limit,
		    uint8_t *ret, size_t *ret_size)
{
	struct wire_reader options = open_message(data, size);
	struct wire_writer writer = wire_writer(ret, limit);
	const uint8_t *at;
	uint8_t code;

	if (options.bad)
		return E_MALFORMED;
	while (option82_wire_next_option(&options, &code, &at))
		continue;
	if (options.bad)
		return E_MALFORMED;
	wire_put_bytes(&writer, data, (size_t)(at - (const uint8_t *)data));
	option82_wire_put_piece(&writer, DHCP_OPTION_RELAY, value->bytes, value->size);
	return option82_wire_finish(&writer, ret_size);
}

int option82_strip(const void *data, size_t size, size_t limit, uint8_t *ret, size_t *ret_size)
{
	struct wire_reader options = open_message(data, size);
	struct wire_writer writer = wire_writer(ret, limit);
	const uint8_t *at;
	uint8_t code;

	if (options.bad)
		return E_MALFORMED;
	wire_put_bytes(&writer, data, FIXED_SIZE);
	while (option82_wire_next_option(&options, &code, &at)) {
		if (code != DHCP_OPTION_RELAY)
			wire_put_bytes(&writer, at, (size_t)(options.at - at));
	}
	if (options.bad)
		return E_MALFORMED;
	return option82_wire_finish(&writer, ret_size);
}

void option82_set_relay(uint8_t *data, uint8_t hops, uint32_t giaddr)
{
	data[HOPS_OFFSET] = hops;
	for (size_t i = 0; i < 4; i++)
		data[GIADDR_OFFSET + i] = (uint8_t)(giaddr >> (24 - 8 * i));
}
