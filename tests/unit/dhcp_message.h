/* Messages of DHCP for unit tests. */
#pragma once

#include "common/net/dhcp_wire.h"

#include "tests/support/cmocka.h"

#define SERVER 0x0a000001U
#define MINE   0x0a000064U

static inline struct dhcp_message message_of(enum dhcp_type type)
{
	struct dhcp_message message = {.op = DHCP_OP_REQUEST,
				       .htype = 1,
				       .hlen = 6,
				       .xid = 0x12345678,
				       .chaddr = {2, 0, 0, 0, 0, 1}};

	dhcp_put_u8(&message, DHCP_OPTION_TYPE, (uint8_t)type);
	return message;
}

static inline size_t encoded(const struct dhcp_message *message, uint8_t bytes[4096])
{
	size_t size = 0;

	assert_int_equal(dhcp_encode(message, bytes, 4096, &size), 0);
	return size;
}
