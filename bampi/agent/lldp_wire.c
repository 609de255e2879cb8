#include "bampi/agent/lldp_wire.h"

#include <stdbool.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"
#include "common/net/wire.h"

enum lldp_tlv {
	LLDP_TLV_END = 0,
	LLDP_TLV_CHASSIS_ID = 1,
	LLDP_TLV_PORT_ID = 2,
	LLDP_TLV_TTL = 3,
	LLDP_TLV_SYSTEM_NAME = 5,
};

enum id_form { FORM_TEXT, FORM_MAC, FORM_ADDRESS };

/* Table 8-2 (chassis) and 8-3 (port): what the octets after the subtype are. Others are locally
 * assigned: text if they look like it. */
static const struct {
	enum lldp_tlv tlv;
	uint8_t subtype;
	enum id_form form;
} lldp_wire_forms[] = {
	{LLDP_TLV_CHASSIS_ID, 4, FORM_MAC},
	{LLDP_TLV_CHASSIS_ID, 5, FORM_ADDRESS},
	{LLDP_TLV_PORT_ID, 3, FORM_MAC},
	{LLDP_TLV_PORT_ID, 4, FORM_ADDRESS},
};

/* Names reach terminals and JSON: printable ASCII stays, other octets become '?'. */
static void lldp_wire_read_text(struct wire_reader *value, char ret[LLDP_TEXT_SIZE])
{
	size_t size = wire_left(value);
	const uint8_t *bytes = wire_bytes(value, size);

	ret[0] = '\0';
	if (!bytes || size >= LLDP_TEXT_SIZE)
		return;
	while (size > 0 && (bytes[size - 1] == '\0' || bytes[size - 1] == ' '))
		size--;
	for (size_t i = 0; i < size; i++)
		ret[i] = (char)(bytes[i] >= ' ' && bytes[i] < 0x7f ? bytes[i] : '?');
	ret[size] = '\0';
}

static bool is_text(const struct wire_reader *value)
{
	struct wire_reader copy = *value;

	while (wire_left(&copy) > 0) {
		uint8_t byte = wire_u8(&copy);

		if (byte < ' ' || byte >= 0x7f)
			return false;
	}
	return true;
}

static void read_hex(struct wire_reader *value, char ret[LLDP_TEXT_SIZE])
{
	size_t size = wire_left(value);
	const uint8_t *bytes = wire_bytes(
		value, size < (LLDP_TEXT_SIZE - 1) / 2 ? size : (LLDP_TEXT_SIZE - 1) / 2);

	ret[0] = '\0';
	if (bytes)
		hex_encode(bytes, size < (LLDP_TEXT_SIZE - 1) / 2 ? size : (LLDP_TEXT_SIZE - 1) / 2,
			   ret);
}

static void lldp_wire_read_id(enum lldp_tlv tlv, struct wire_reader *value,
			      char ret[LLDP_TEXT_SIZE])
{
	uint8_t subtype = wire_u8(value);
	enum id_form form = FORM_TEXT;
	struct mac mac;

	for (size_t i = 0; i < COUNT_OF(lldp_wire_forms); i++)
		if (lldp_wire_forms[i].tlv == tlv && lldp_wire_forms[i].subtype == subtype)
			form = lldp_wire_forms[i].form;
	if (form == FORM_MAC && wire_left(value) == sizeof(mac.bytes)) {
		wire_copy(value, mac.bytes, sizeof(mac.bytes));
		(void)mac_text(mac, ret);
		return;
	}
	/* IANA address family 1 is IPv4 (RFC 1700). */
	if (form == FORM_ADDRESS && wire_left(value) == 5 && value->at[0] == 1) {
		wire_skip(value, 1);
		(void)ipv4_text(wire_u32(value), ret);
		return;
	}
	if (form == FORM_TEXT && is_text(value))
		lldp_wire_read_text(value, ret);
	else
		read_hex(value, ret);
}

static void read_chassis(struct wire_reader *value, struct lldp_neighbor *neighbor)
{
	lldp_wire_read_id(LLDP_TLV_CHASSIS_ID, value, neighbor->chassis);
}

static void lldp_wire_read_port(struct wire_reader *value, struct lldp_neighbor *neighbor)
{
	lldp_wire_read_id(LLDP_TLV_PORT_ID, value, neighbor->port);
}

static void read_ttl(struct wire_reader *value, struct lldp_neighbor *neighbor)
{
	neighbor->ttl_s = wire_u16(value);
}

/* The three TLVs that open every LLDPDU, in this order (8.2). */
static const struct {
	enum lldp_tlv type;
	void (*read)(struct wire_reader *value, struct lldp_neighbor *neighbor);
} lldp_wire_mandatory[] = {
	{LLDP_TLV_CHASSIS_ID, read_chassis},
	{LLDP_TLV_PORT_ID, lldp_wire_read_port},
	{LLDP_TLV_TTL, read_ttl},
};

static struct wire_reader next_tlv(struct wire_reader *pdu, unsigned *ret_type)
{
	uint16_t head = wire_u16(pdu);

	*ret_type = head >> 9;
	return wire_cut(pdu, head & 0x1ffU);
}

int lldp_decode(const void *data, size_t size, struct lldp_neighbor *ret)
{
	struct wire_reader pdu = wire_reader(data, size);
	struct lldp_neighbor neighbor = {0};
	struct wire_reader value;
	unsigned type;

	for (size_t i = 0; i < COUNT_OF(lldp_wire_mandatory); i++) {
		value = next_tlv(&pdu, &type);
		if (type != (unsigned)lldp_wire_mandatory[i].type || value.bad)
			return E_MALFORMED;
		lldp_wire_mandatory[i].read(&value, &neighbor);
		if (value.bad)
			return E_MALFORMED;
	}
	if (!neighbor.chassis[0] || !neighbor.port[0])
		return E_MALFORMED;
	/* The rest is optional, ends with END or with the frame, and is padded by short Ethernet
	 * frames. */
	while (wire_left(&pdu) >= 2) {
		value = next_tlv(&pdu, &type);
		if (value.bad || type == LLDP_TLV_END)
			break;
		if (type == LLDP_TLV_SYSTEM_NAME)
			lldp_wire_read_text(&value, neighbor.system);
	}

	*ret = neighbor;
	return 0;
}
