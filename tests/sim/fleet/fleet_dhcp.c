/* DHCP as firmware, iPXE, the agent's ramdisk and the installed OS speak it, and the relay of each
 * rack in between: giaddr, option 82 (RFC 3046) in and out. */
#include <string.h>

#include "common/base/text.h"
#include "common/net/dhcp_wire.h"

#include "tests/sim/fleet/fleet.h"

#define FLEET_DHCP_SERVER_PORT 67
#define FLEET_DHCP_TRIES_MAX   8
#define CIRCUIT_ROOM           32

/* Who asks, by what it says of itself. Client ids differ between the stages of one boot, as they do
 * on real machines. */
static const struct {
	const char *vendor_class; /* NULL: the model's */
	const char *user_class;
	bool pxe;
	uint8_t client_id; /* first byte of option 61; 0 = none */
} fleet_dhcp_kinds[FLEET_DHCP_KINDS] = {
	[FLEET_DHCP_FIRMWARE] = {NULL, NULL, true, 0},
	[FLEET_DHCP_IPXE] = {NULL, "iPXE", true, 1},
	[FLEET_DHCP_AGENT] = {"udhcp 1.35.0", NULL, false, 1},
	[FLEET_DHCP_OS] = {"systemd-networkd", NULL, false, 255},
};

static int relay_index(struct fleet_node *node)
{
	int rack = node->index / FLEET_RACK_SIZE;

	return fleet_fault_always(node, FLEET_MOVED_CABLE) ? rack ^ 1 : rack;
}

/* As SONiC writes it: switch ":" port; remote-id is the switch's MAC. */
static void put_relay(struct fleet_node *node, struct dhcp_message *message)
{
	char circuit[CIRCUIT_ROOM];
	uint8_t option[CIRCUIT_ROOM + 16];
	int rack = relay_index(node);
	uint8_t length;
	const struct mac leaf = {{0x02, 0xf1, 0xaf, 0, (uint8_t)(rack >> 8), (uint8_t)rack}};

	(void)text_format(circuit, sizeof(circuit), "leaf%d:Ethernet%d", rack + 1,
			  node->index % FLEET_RACK_SIZE + 1);
	length = (uint8_t)strlen(circuit);
	option[0] = DHCP_RELAY_CIRCUIT_ID;
	option[1] = length;
	memcpy(option + 2, circuit, length);
	option[2 + length] = DHCP_RELAY_REMOTE_ID;
	option[3 + length] = sizeof(leaf.bytes);
	memcpy(option + 4 + length, leaf.bytes, sizeof(leaf.bytes));
	dhcp_put(message, DHCP_OPTION_RELAY, option, (size_t)length + 4 + sizeof(leaf.bytes));
	message->giaddr = FLEET_NODE_BASE + (uint32_t)rack * 256 + 1;
	message->hops = 1;
}

static void put_client(const struct fleet_node *node, struct dhcp_message *message)
{
	const struct fleet_model *model = fleet_model(node);
	uint8_t id[7] = {fleet_dhcp_kinds[node->dhcp_kind].client_id};
	const uint8_t arch[2] = {(uint8_t)(model->arch >> 8), (uint8_t)model->arch};
	uint8_t uuid[17] = {0};
	static const uint8_t features[] = {0xeb, 3, 1, 0, 0, 0x17, 1, 1};

	dhcp_put_text(message, DHCP_OPTION_VENDOR_CLASS,
		      fleet_dhcp_kinds[node->dhcp_kind].vendor_class
			      ? fleet_dhcp_kinds[node->dhcp_kind].vendor_class
			      : model->vendor_class);
	if (id[0]) {
		memcpy(id + 1, node->mac.bytes, sizeof(node->mac.bytes));
		dhcp_put(message, DHCP_OPTION_CLIENT_ID, id, sizeof(id));
	}
	if (fleet_dhcp_kinds[node->dhcp_kind].pxe) {
		memcpy(uuid + 11, node->mac.bytes, sizeof(node->mac.bytes));
		dhcp_put(message, DHCP_OPTION_ARCH, arch, sizeof(arch));
		dhcp_put(message, DHCP_OPTION_UUID, uuid, sizeof(uuid));
	}
	if (fleet_dhcp_kinds[node->dhcp_kind].user_class) {
		dhcp_put_text(message, DHCP_OPTION_USER_CLASS,
			      fleet_dhcp_kinds[node->dhcp_kind].user_class);
		dhcp_put(message, DHCP_OPTION_IPXE, features, sizeof(features));
	}
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a packet is for both directions */
static void fleet_dhcp_transmit(struct fleet_node *node, uint8_t *data, size_t size)
{
	struct fleet *fleet = node->fleet;
	const struct fleet_packet packet = {
		.data = data,
		.size = size,
		.local = FLEET_NODE_BASE + (uint32_t)relay_index(node) * 256 + 1,
		.remote = fleet->options.server,
		.remote_port = FLEET_DHCP_SERVER_PORT,
	};

	if (!fleet_fault(node, FLEET_DHCP_LOST)) {
		fleet->stats.dhcp_sent++;
		fleet_udp_send(fleet->relay_fd, &packet);
	}
	if (fleet_fault(node, FLEET_DHCP_TWICE))
		fleet_udp_send(fleet->relay_fd, &packet);
}

static void request_from(const struct fleet_node *node, struct dhcp_message *ret)
{
	*ret = (struct dhcp_message){
		.op = DHCP_OP_REQUEST,
		.htype = 1,
		.hlen = sizeof(node->mac.bytes),
		.xid = (uint32_t)node->index << 16 | node->xid,
	};
	memcpy(ret->chaddr, node->mac.bytes, sizeof(node->mac.bytes));
}

void fleet_dhcp_renew(struct fleet_node *node, uint32_t server, bool rebinding)
{
	struct fleet *fleet = node->fleet;
	struct dhcp_message message;
	uint8_t data[DHCP_PACKET_MAX];
	struct fleet_packet packet = {
		.data = data,
		.local = node->address,
		.remote = server,
		.remote_port = FLEET_DHCP_SERVER_PORT,
	};

	request_from(node, &message);
	message.ciaddr = node->address;
	dhcp_put_u8(&message, DHCP_OPTION_TYPE, DHCP_REQUEST);
	put_client(node, &message);
	if (rebinding)
		put_relay(node, &message);
	if (dhcp_encode(&message, data, sizeof(data), &packet.size))
		return;
	if (rebinding) {
		fleet_dhcp_transmit(node, data, packet.size);
	} else if (!fleet_fault(node, FLEET_DHCP_LOST)) {
		fleet->stats.dhcp_sent++;
		fleet_udp_send(fleet->client_fd, &packet);
	}
}

static void fleet_dhcp_again(struct fleet_node *node);

static void fleet_dhcp_ask(struct fleet_node *node)
{
	static const int64_t wait_ms[] = {1000, 2000, 4000, 8000};
	struct dhcp_message message;
	uint8_t data[DHCP_PACKET_MAX];
	size_t size;
	size_t step =
		node->dhcp_tries < COUNT_OF(wait_ms) ? node->dhcp_tries : COUNT_OF(wait_ms) - 1;

	request_from(node, &message);
	dhcp_put_u8(&message, DHCP_OPTION_TYPE,
		    node->dhcp_requesting ? DHCP_REQUEST : DHCP_DISCOVER);
	if (node->dhcp_requesting) {
		dhcp_put_u32(&message, DHCP_OPTION_REQUESTED_ADDRESS, node->offered);
		dhcp_put_u32(&message, DHCP_OPTION_SERVER_ID, node->server_id);
	}
	put_client(node, &message);
	put_relay(node, &message);
	node->dhcp_tries++;
	fleet_arm(node, wait_ms[step], fleet_dhcp_again);
	if (dhcp_encode(&message, data, sizeof(data), &size) == 0)
		fleet_dhcp_transmit(node, data, size);
}

static void fleet_dhcp_again(struct fleet_node *node)
{
	if (node->dhcp_tries < FLEET_DHCP_TRIES_MAX) {
		/* Whoever offered may be gone: from the start. */
		node->dhcp_requesting = node->dhcp_requesting && node->dhcp_tries < 4;
		fleet_dhcp_ask(node);
		return;
	}
	fleet_unaddressed(node);
}

void fleet_dhcp_start(struct fleet_node *node, enum fleet_dhcp_kind kind)
{
	node->dhcp_kind = (uint8_t)kind;
	node->dhcp_tries = 0;
	node->dhcp_requesting = false;
	fleet_renew_stop(node);
	node->xid++;
	fleet_dhcp_ask(node);
}

static bool fleet_dhcp_asks(const struct fleet_node *node)
{
	return node->phase == FLEET_FIRMWARE_DHCP || node->phase == FLEET_IPXE_DHCP ||
	       node->phase == FLEET_AGENT_DHCP || node->phase == FLEET_OS_DHCP;
}

/* RFC 3046 2.2: what the relay wrote comes back unchanged. */
static void check_echo(struct fleet_node *node, const struct dhcp_message *reply)
{
	struct dhcp_message sent = {0};
	size_t size;
	size_t reply_size;
	const uint8_t *wrote;
	const uint8_t *came;
	char name[16];

	put_relay(node, &sent);
	wrote = dhcp_option(&sent, DHCP_OPTION_RELAY, &size);
	came = dhcp_option(reply, DHCP_OPTION_RELAY, &reply_size);
	if (!came || size != reply_size || memcmp(wrote, came, size) != 0)
		fleet_violation(node->fleet, "relay_echo",
				"option 82 did not come back to node %s as it was sent",
				fleet_name(node, name));
}

static void take_offer(struct fleet_node *node, const struct dhcp_message *reply)
{
	node->offered = reply->yiaddr;
	node->server_id = dhcp_option_address(reply, DHCP_OPTION_SERVER_ID);
	node->dhcp_requesting = true;
	node->dhcp_tries = 0;
	fleet_dhcp_ask(node);
}

static void fleet_dhcp_take_ack(struct fleet_node *node, const struct dhcp_message *reply)
{
	size_t size = 0;
	const uint8_t *file;

	fleet_take_address(node, reply->yiaddr);
	if (node->dhcp_kind == FLEET_DHCP_AGENT || node->dhcp_kind == FLEET_DHCP_OS)
		fleet_renew_start(node, dhcp_option_address(reply, DHCP_OPTION_SERVER_ID),
				  dhcp_option_address(reply, DHCP_OPTION_LEASE_TIME));
	node->next_server = reply->siaddr;
	file = dhcp_option(reply, DHCP_OPTION_BOOT_FILE, &size);
	if (size >= sizeof(node->boot_file))
		size = sizeof(node->boot_file) - 1;
	/* With or without its terminator. */
	memcpy(node->boot_file, file ? (const char *)file : "", file ? size : 0);
	node->boot_file[file ? size : 0] = '\0';
	fleet_addressed(node);
}

static void fleet_dhcp_receive(struct fleet *fleet, const struct fleet_packet *packet)
{
	struct dhcp_message reply;
	struct fleet_node *node;
	uint32_t index;

	fleet->stats.dhcp_received++;
	if (dhcp_decode(packet->data, packet->size, &reply) || reply.op != DHCP_OP_REPLY)
		return;
	index = reply.xid >> 16;
	if (index >= (uint32_t)fleet->options.count)
		return;
	node = &fleet->nodes[index];
	if ((uint16_t)reply.xid != node->xid || (!fleet_dhcp_asks(node) && !node->lease.asked) ||
	    memcmp(reply.chaddr, node->mac.bytes, sizeof(node->mac.bytes)) != 0 ||
	    fleet_fault(node, FLEET_DHCP_LOST))
		return;
	if (fleet_dhcp_asks(node) || reply.giaddr)
		check_echo(node, &reply);
	if (!fleet_dhcp_asks(node)) {
		fleet_renew_answer(node, &reply);
		return;
	}
	switch (dhcp_type(&reply)) {
	case DHCP_OFFER:
		if (!node->dhcp_requesting)
			take_offer(node, &reply);
		break;
	case DHCP_ACK:
		if (node->dhcp_requesting)
			fleet_dhcp_take_ack(node, &reply);
		break;
	case DHCP_NAK: node->dhcp_requesting = false; break;
	case DHCP_NO_TYPE:
	case DHCP_DISCOVER:
	case DHCP_REQUEST:
	case DHCP_DECLINE:
	case DHCP_RELEASE:
	case DHCP_INFORM: break;
	}
}

static void fleet_dhcp_receive_all(struct fleet *fleet, int fd)
{
	uint8_t data[DHCP_PACKET_MAX];
	struct fleet_packet packet;

	for (int i = 0; i < 256 && fleet_udp_receive(fd, data, sizeof(data), &packet); i++)
		fleet_dhcp_receive(fleet, &packet);
}

void fleet_dhcp_readable(void *context, int events)
{
	struct fleet *fleet = context;

	(void)events;
	fleet_dhcp_receive_all(fleet, fleet->relay_fd);
}

void fleet_client_readable(void *context, int events)
{
	struct fleet *fleet = context;

	(void)events;
	fleet_dhcp_receive_all(fleet, fleet->client_fd);
}
