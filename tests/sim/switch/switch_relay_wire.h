/* The bytes of a switch's DHCP snooping. It parses frames of its ports, writes option 82 into a
 * request and removes it from a reply (RFC 3046 2.1, RFC 1542 4.1). Several families are imitated.
 * Written from manuals, and on purpose without bampi's code, because the product reads these bytes.
 * No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/mac.h"

#define SWITCH_RELAY_ROOM   2048 /* of a message */
#define SWITCH_RELAY_OPTION 160  /* of an option 82, head included */
#define SWITCH_RELAY_NAME   63   /* of a switch, of a port */

enum switch_relay_kind {
	SWITCH_RELAY_OTHER,  /* the CPU has nothing to do with it */
	SWITCH_RELAY_CLIENT, /* broadcast to servers */
	SWITCH_RELAY_SERVER, /* what only a server may say */
};

struct switch_relay_frame {
	enum switch_relay_kind kind;
	const uint8_t *data; /* the BOOTP message, borrowed from the frame */
	size_t size;
};
/* An Ethernet frame as it came in at an access port. Tagged frames, fragments and what is cut off
 * are SWITCH_RELAY_OTHER. */
struct switch_relay_frame switch_relay_look(const void *frame, size_t size);

/* The port that a request came in by. */
struct switch_relay_place {
	const char *switch_name; /* at most SWITCH_RELAY_NAME characters, as `port` */
	const char *port;
	struct mac mac; /* of the switch */
	uint16_t vlan;
};

struct switch_relay_option {
	uint8_t bytes[SWITCH_RELAY_OPTION]; /* code and length included */
	size_t size;
};

struct switch_relay_format {
	const char *name, *help;
	void (*write)(const struct switch_relay_place *place, struct switch_relay_option *ret);
};
extern const struct switch_relay_format switch_relay_formats[];
extern const size_t switch_relay_format_count;
/* NULL when there is none of this name. */
const struct switch_relay_format *switch_relay_format_find(const char *name);

enum switch_relay_verdict {
	SWITCH_RELAY_FORWARD,
	/* the rest is dropped */
	SWITCH_RELAY_MALFORMED,
	SWITCH_RELAY_WRONG_OP,
	SWITCH_RELAY_HAS_GIADDR, /* a relay behind an edge port: there is none */
	SWITCH_RELAY_HAS_OPTION, /* option 82 from an untrusted port */
	SWITCH_RELAY_HOPS,
	SWITCH_RELAY_TOO_LARGE,
	SWITCH_RELAY_NOT_OURS, /* a reply with another option 82, or none */
};
#define SWITCH_RELAY_VERDICTS 8
extern const char *const switch_relay_verdict_words[SWITCH_RELAY_VERDICTS];

/* A client's message with hops, giaddr and option 82; `ret` has room for SWITCH_RELAY_ROOM. */
enum switch_relay_verdict switch_relay_request(const void *data, size_t size, uint32_t giaddr,
					       const struct switch_relay_option *option,
					       uint8_t *ret, size_t *ret_size);

struct switch_relay_reply {
	struct mac client;
	uint32_t address; /* yiaddr, else ciaddr */
	uint32_t giaddr;
	bool broadcast;                     /* asked for, or no address to use */
	struct switch_relay_option option;  /* as it came back */
	uint8_t message[SWITCH_RELAY_ROOM]; /* without it */
	size_t size;
};
/* SWITCH_RELAY_FORWARD or why not; whose option it is, is the caller's to see. */
enum switch_relay_verdict switch_relay_reply(const void *data, size_t size,
					     struct switch_relay_reply *ret);
