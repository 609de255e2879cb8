/* TFTP as firmware speaks it (RFC 1350, 2347-2349): BIOS asks size and block size at once, EDK2
 * asks for the size first and ends that transfer with ERROR 8. Written against the RFCs, apart from
 * the product's own codec. */
#include <string.h>

#include "common/base/text.h"
#include "common/net/wire.h"

#include "tests/sim/fleet/fleet.h"

#define FLEET_TFTP_PORT      69
#define FLEET_TFTP_AGAIN_MS  1000
#define FLEET_TFTP_TRIES_MAX 6
#define DEFAULT_SIZE         512
#define PACKET_MAX           1500
#define ABORTED              8

enum opcode { RRQ = 1, DATA = 3, ACK = 4, ERROR = 5, OACK = 6 };

static void fleet_tftp_transmit(struct fleet_node *node, const struct wire_writer *writer,
				uint16_t port)
{
	struct fleet *fleet = node->fleet;
	const struct fleet_packet packet = {
		.data = writer->start,
		.size = wire_written(writer),
		.local = node->address,
		.remote = node->tftp.server,
		.remote_port = port,
	};

	if (!writer->bad && !fleet_fault(node, FLEET_TFTP_LOST))
		fleet_udp_send(node->tftp.sizing ? fleet->size_fd : fleet->tftp_fd, &packet);
}

static void fleet_tftp_put_text(struct wire_writer *writer, const char *text)
{
	wire_put_bytes(writer, text, strlen(text) + 1);
}

static void fleet_tftp_again(struct fleet_node *node);

static void fleet_tftp_ask(struct fleet_node *node)
{
	uint8_t data[PACKET_MAX];
	struct wire_writer writer = wire_writer(data, sizeof(data));
	const struct fleet_model *model = fleet_model(node);
	char number[16];

	wire_put_u16(&writer, RRQ);
	fleet_tftp_put_text(&writer, node->tftp.name);
	fleet_tftp_put_text(&writer, "octet");
	if (node->tftp.sizing || !model->asks_size) {
		fleet_tftp_put_text(&writer, "tsize");
		fleet_tftp_put_text(&writer, "0");
	}
	fleet_tftp_put_text(&writer, "blksize");
	(void)text_format(number, sizeof(number), "%u", (unsigned)model->block_size);
	fleet_tftp_put_text(&writer, number);
	fleet_arm(node, FLEET_TFTP_AGAIN_MS, fleet_tftp_again);
	fleet_tftp_transmit(node, &writer, FLEET_TFTP_PORT);
}

static void fleet_tftp_acknowledge(struct fleet_node *node)
{
	uint8_t data[4];
	struct wire_writer writer = wire_writer(data, sizeof(data));

	wire_put_u16(&writer, ACK);
	wire_put_u16(&writer, node->tftp.block);
	fleet_arm(node, FLEET_TFTP_AGAIN_MS, fleet_tftp_again);
	fleet_tftp_transmit(node, &writer, node->tftp.port);
}

static void fleet_tftp_again(struct fleet_node *node)
{
	if (++node->tftp.tries >= FLEET_TFTP_TRIES_MAX)
		fleet_loaded(node, false);
	else if (node->tftp.port == 0)
		fleet_tftp_ask(node);
	else
		fleet_tftp_acknowledge(node);
}

static void fleet_tftp_begin(struct fleet_node *node, bool sizing)
{
	node->tftp.sizing = sizing;
	node->tftp.port = 0;
	node->tftp.block = 0;
	node->tftp.bytes = 0;
	node->tftp.tries = 0;
	node->tftp.block_size = DEFAULT_SIZE;
	fleet_tftp_ask(node);
}

void fleet_tftp_start(struct fleet_node *node, uint32_t server, const char *name)
{
	node->tftp = (struct fleet_tftp){.server = server};
	(void)text_copy(node->tftp.name, sizeof(node->tftp.name), name);
	fleet_tftp_begin(node, fleet_model(node)->asks_size);
}

/* The option's value in an OACK; 0 when it is not there. */
static uint16_t fleet_tftp_option_number(struct wire_reader reader, const char *name)
{
	while (wire_left(&reader) > 0) {
		const char *key = (const char *)reader.at;
		size_t key_size = strnlen(key, wire_left(&reader));
		const char *value;
		size_t value_size;
		unsigned number = 0;

		wire_skip(&reader, key_size + 1);
		value = (const char *)reader.at;
		value_size = strnlen(value, wire_left(&reader));
		wire_skip(&reader, value_size + 1);
		if (reader.bad)
			return 0;
		for (size_t i = 0; i < value_size && i < 5; i++)
			number = number * 10 + (unsigned)(value[i] - '0') % 10;
		if (strcmp(key, name) == 0)
			return (uint16_t)number;
	}
	return 0;
}

static void fleet_tftp_take_oack(struct fleet_node *node, const struct wire_reader *reader)
{
	uint16_t size = fleet_tftp_option_number(*reader, "blksize");

	if (node->tftp.block != 0)
		return;
	if (size >= 8 && size <= fleet_model(node)->block_size)
		node->tftp.block_size = size;
	if (node->tftp.sizing) {
		uint8_t data[32];
		struct wire_writer writer = wire_writer(data, sizeof(data));

		wire_put_u16(&writer, ERROR);
		wire_put_u16(&writer, ABORTED);
		fleet_tftp_put_text(&writer, "User aborted");
		fleet_tftp_transmit(node, &writer, node->tftp.port);
		fleet_tftp_begin(node, false);
		return;
	}
	fleet_tftp_acknowledge(node);
}

static void fleet_tftp_take_data(struct fleet_node *node, struct wire_reader *reader)
{
	uint16_t block = wire_u16(reader);
	size_t size = wire_left(reader);

	if (reader->bad || size > node->tftp.block_size)
		return;
	if (block != (uint16_t)(node->tftp.block + 1)) {
		if (block == node->tftp.block)
			fleet_tftp_acknowledge(node); /* our ACK was lost */
		return;
	}
	node->tftp.block = block;
	node->tftp.bytes += (uint32_t)size;
	node->tftp.tries = 0;
	node->fleet->stats.tftp_blocks++;
	fleet_tftp_acknowledge(node);
	if (size < node->tftp.block_size)
		fleet_loaded(node, node->tftp.bytes > 0);
}

static void fleet_tftp_receive(struct fleet *fleet, const struct fleet_packet *packet, bool sizing)
{
	struct wire_reader reader = wire_reader(packet->data, packet->size);
	struct fleet_node *node = fleet_by_address(fleet, packet->local);
	uint16_t opcode = wire_u16(&reader);

	if (!node || node->phase != FLEET_LOADER || packet->remote != node->tftp.server ||
	    node->tftp.sizing != sizing || fleet_fault(node, FLEET_TFTP_LOST))
		return;
	if (node->tftp.port == 0)
		node->tftp.port = packet->remote_port;
	if (node->tftp.port != packet->remote_port)
		return; /* RFC 1350 4: another transfer's */
	switch (opcode) {
	case OACK: fleet_tftp_take_oack(node, &reader); break;
	case DATA: fleet_tftp_take_data(node, &reader); break;
	case ERROR: fleet_loaded(node, false); break;
	default: break;
	}
}

static void fleet_tftp_drain(struct fleet *fleet, int fd, bool sizing)
{
	uint8_t data[PACKET_MAX];
	struct fleet_packet packet;

	for (int i = 0; i < 256 && fleet_udp_receive(fd, data, sizeof(data), &packet); i++)
		fleet_tftp_receive(fleet, &packet, sizing);
}

void fleet_tftp_readable(void *context, int events)
{
	struct fleet *fleet = context;

	(void)events;
	fleet_tftp_drain(fleet, fleet->tftp_fd, false);
}

void fleet_size_readable(void *context, int events)
{
	struct fleet *fleet = context;

	(void)events;
	fleet_tftp_drain(fleet, fleet->size_fd, true);
}
