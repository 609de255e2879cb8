/* DHCPv4 messages: RFC 2131 2 (layout), RFC 2132 (options), RFC 3396 (options in several pieces),
 * RFC 2132 9.3 (option overload). Addresses are in host byte order. Options keep their bytes; the
 * typed look-ups know their formats. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

#define DHCP_PACKET_MAX 1500 /* larger requests are refused */
#define DHCP_REPLY_MIN  300  /* BOOTP, RFC 951 3: some firmware and relays drop shorter ones */
#define DHCP_REPLY_LIMIT \
	576 /* RFC 2131 2: what every client must take, IP and UDP headers included */
#define DHCP_HEADERS_SIZE 28 /* IP and UDP */
#define DHCP_SNAME_SIZE   64
#define DHCP_FILE_SIZE    128
#define DHCP_OPTIONS_ROOM 2048

enum dhcp_op { DHCP_OP_REQUEST = 1, DHCP_OP_REPLY = 2 };
#define DHCP_FLAG_BROADCAST 0x8000U

/* Option 53. */
enum dhcp_type {
	DHCP_NO_TYPE = 0,
	DHCP_DISCOVER = 1,
	DHCP_OFFER = 2,
	DHCP_REQUEST = 3,
	DHCP_DECLINE = 4,
	DHCP_ACK = 5,
	DHCP_NAK = 6,
	DHCP_RELEASE = 7,
	DHCP_INFORM = 8,
};
#define DHCP_TYPES 9

enum dhcp_option {
	DHCP_OPTION_PAD = 0,
	DHCP_OPTION_MASK = 1,
	DHCP_OPTION_ROUTERS = 3,
	DHCP_OPTION_DNS = 6,
	DHCP_OPTION_HOSTNAME = 12,
	DHCP_OPTION_VENDOR = 43,
	DHCP_OPTION_REQUESTED_ADDRESS = 50,
	DHCP_OPTION_LEASE_TIME = 51,
	DHCP_OPTION_OVERLOAD = 52,
	DHCP_OPTION_TYPE = 53,
	DHCP_OPTION_SERVER_ID = 54,
	DHCP_OPTION_PARAMETERS = 55,
	DHCP_OPTION_MESSAGE = 56,
	DHCP_OPTION_MAX_SIZE = 57,
	DHCP_OPTION_T1 = 58,
	DHCP_OPTION_T2 = 59,
	DHCP_OPTION_VENDOR_CLASS = 60,
	DHCP_OPTION_CLIENT_ID =
		61, /* read by nobody: it changes between firmware, iPXE and OS of one NIC */
	DHCP_OPTION_TFTP_SERVER = 66,
	DHCP_OPTION_BOOT_FILE = 67,
	DHCP_OPTION_USER_CLASS = 77,
	DHCP_OPTION_RELAY = 82,
	DHCP_OPTION_ARCH = 93, /* RFC 4578 */
	DHCP_OPTION_UUID = 97,
	DHCP_OPTION_IPXE = 175,
	DHCP_OPTION_END = 255,
};

/* Inside option 82 (RFC 3046). */
enum dhcp_relay_option {
	DHCP_RELAY_CIRCUIT_ID = 1,
	DHCP_RELAY_REMOTE_ID = 2,
	DHCP_RELAY_LINK_SELECTION = 5, /* RFC 3527 */
	DHCP_RELAY_SERVER_ID = 11,     /* RFC 5107 */
};

/* A value: it holds its option bytes itself. Zero bytes are an empty message. */
struct dhcp_message {
	uint8_t op;
	uint8_t htype;
	uint8_t hlen; /* 0..16 */
	uint8_t hops;
	uint32_t xid;
	uint16_t secs;
	uint16_t flags;
	uint32_t ciaddr, yiaddr, siaddr, giaddr;
	uint8_t chaddr[16];
	char sname[DHCP_SNAME_SIZE + 1]; /* always terminated; empty when it carried options */
	char file[DHCP_FILE_SIZE + 1];
	struct {
		uint16_t at;   /* into option_bytes, plus one; 0 = absent */
		uint16_t size; /* all pieces joined */
	} options[256];
	uint16_t option_size;
	bool overfull; /* an option did not fit; dhcp_encode says so */
	uint8_t option_bytes[DHCP_OPTIONS_ROOM];
};

/* E_MALFORMED: too short, no magic cookie, an option longer than what is left. E_LIMIT: larger than
 * DHCP_PACKET_MAX. */
MUST_USE int dhcp_decode(const void *data, size_t size, struct dhcp_message *ret);

/* Writes fields and options (type first, boot file late, option 82 last, END, padding to
 * DHCP_REPLY_MIN) into at most `room` bytes. Options without room go on in `sname` and `file`
 * (dhcp_overload.h); a name of `file` then stands in option 67 alone. -ENOBUFS when they do not
 * fit there either: nothing may be left out silently. */
MUST_USE int dhcp_encode(const struct dhcp_message *message, void *data, size_t room,
			 size_t *ret_size);

/* Borrowed bytes of an option; NULL when absent (an empty one is not NULL). */
const uint8_t *dhcp_option(const struct dhcp_message *message, uint8_t code, size_t *ret_size);
/* Values of options with one format; 0 or DHCP_NO_TYPE when absent or of another size. */
enum dhcp_type dhcp_type(const struct dhcp_message *message);
uint32_t dhcp_option_address(const struct dhcp_message *message, uint8_t code);
uint16_t dhcp_option_u16(const struct dhcp_message *message, uint8_t code);
/* True when the option begins with `prefix`. */
bool dhcp_option_begins(const struct dhcp_message *message, uint8_t code, const char *prefix);
/* Printable ASCII of an option, other bytes as '.', cut to room - 1; "" when absent. Returns ret.
 */
const char *dhcp_option_text(const struct dhcp_message *message, uint8_t code, char *ret,
			     size_t room);
/* A sub-option of option 82; NULL when absent or malformed. */
const uint8_t *dhcp_relay_option(const struct dhcp_message *message, uint8_t code,
				 size_t *ret_size);
/* The same as an address; 0 when absent or not 4 bytes. */
uint32_t dhcp_relay_address(const struct dhcp_message *message, uint8_t code);
/* Ethernet address of the client; only when htype and hlen say so. */
bool dhcp_client_mac(const struct dhcp_message *message, struct mac *ret);

/* Building: an option set twice keeps the last value. What does not fit sets `overfull`. */
void dhcp_put(struct dhcp_message *message, uint8_t code, const void *bytes, size_t size);
void dhcp_put_u8(struct dhcp_message *message, uint8_t code, uint8_t value);
void dhcp_put_u32(struct dhcp_message *message, uint8_t code, uint32_t value);
void dhcp_put_text(struct dhcp_message *message, uint8_t code, const char *text);
void dhcp_remove(struct dhcp_message *message, uint8_t code);

const char *dhcp_type_text(enum dhcp_type type);
