/* Messages of NetFlow version 9 (RFC 3954) and IPFIX (RFC 7011) as a stream of sets, and sets as a
 * stream of templates or records. Both protocols share one shape: a template says which information
 * elements (IANA ipfix) stand in a record, and how long each is.
 *
 * Any bytes are accepted. Unreadable ones end the message with -EBADMSG, after what was before
 * them. Elements that we do not use, and those of enterprises, are passed over by their lengths.
 * Templates are kept in ipfix_book.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/net/wire.h"

enum {
	IPFIX_PORT = 4739,
	NETFLOW_PORT = 2055,
	NETFLOW_9 = 9,
	IPFIX_10 = 10,
	IPFIX_TEMPLATE_FIRST = 256, /* ids below name sets of templates */
	IPFIX_FIELD_LIMIT = 256,    /* of one template */
	/* Length of a field that says its own in each record. RFC 3954 has no such field, but H3C's
	 * NetStream 9 sends some in the form of RFC 7011, 7. */
	IPFIX_VARIABLE = 65535,
};

struct ipfix_message {
	uint16_t version;   /* NETFLOW_9 or IPFIX_10 */
	uint32_t sequence;  /* 9: messages before this one; 10: data records before it */
	uint32_t domain;    /* source id, observation domain */
	uint32_t uptime_ms; /* of 9 */
	uint32_t export_s;  /* seconds of 1970, as its clock says */
};

enum ipfix_set_kind { IPFIX_TEMPLATES, IPFIX_OPTIONS, IPFIX_RECORDS, IPFIX_RESERVED };

struct ipfix_set {
	enum ipfix_set_kind kind;
	uint16_t id; /* IPFIX_RECORDS: of their template */
	struct wire_reader body;
};

/* What a field is to us. Numbers of up to 8 bytes first, in any length (RFC 7011, 6.2). */
enum ipfix_use {
	IPFIX_SKIP,
	IPFIX_BYTES,    /* of IP packets, of this record alone */
	IPFIX_L2_BYTES, /* of frames */
	IPFIX_PACKETS,
	IPFIX_PROTOCOL,
	IPFIX_SOURCE_PORT,
	IPFIX_TARGET_PORT,
	IPFIX_ICMP, /* type << 8 | code */
	IPFIX_ICMP_TYPE,
	IPFIX_ICMP_CODE,
	IPFIX_INPUT, /* ifIndex */
	IPFIX_OUTPUT,
	IPFIX_DIRECTION, /* 0 it came in, 1 it went out where it was seen */
	IPFIX_TOLD_VLAN, /* the switch's word */
	IPFIX_TAG,       /* what the frame showed */
	IPFIX_ETHERTYPE,
	IPFIX_IP_VERSION,
	IPFIX_SEGMENT,     /* layer2SegmentId */
	IPFIX_INTERVAL,    /* 1 in so many */
	IPFIX_SAMPLED,     /* so many in a row are taken ... */
	IPFIX_SPACE,       /* ... and then so many are not */
	IPFIX_SAMPLER,     /* which of the switch's samplers */
	IPFIX_METHOD,      /* how it samples: enum ipfix_method */
	IPFIX_SIZE,        /* so many are taken ... */
	IPFIX_POPULATION,  /* ... out of each so many, at random */
	IPFIX_PROBABILITY, /* of a packet to be taken; kept as its reciprocal: 1 in so many */
	IPFIX_TOTAL_BYTES, /* since the flow began */
	IPFIX_TOTAL_PACKETS,
	IPFIX_BEGAN_S, /* the flow: since 1970 */
	IPFIX_BEGAN_MS,
	IPFIX_BEGAN_NTP, /* since 1900, in 2^-32 s */
	IPFIX_BEGAN_UPTIME_MS,
	IPFIX_BOOTED_MS,    /* since 1970: when the uptime began */
	IPFIX_IDENTITY,     /* what tells flows apart and is not used else: a hash of all of it */
	IPFIX_FRAME_SIZE,   /* of the frame that IPFIX_FRAME is the begin of */
	IPFIX_FRAME_KIND,   /* enum ipfix_frame_kind */
	IPFIX_FRAME_OFFSET, /* of IPFIX_FRAME in it */
	IPFIX_NUMBER_COUNT,

	IPFIX_SOURCE_MAC = IPFIX_NUMBER_COUNT,
	IPFIX_TARGET_MAC,
	IPFIX_SOURCE_IPV4,
	IPFIX_TARGET_IPV4,
	IPFIX_SOURCE_IPV6,
	IPFIX_TARGET_IPV6,
	IPFIX_PLACE_END,

	IPFIX_FRAME = IPFIX_PLACE_END, /* the begin of a frame, in any length or its own */
	IPFIX_USE_COUNT
};

enum ipfix_frame_kind { IPFIX_FRAME_ETHERNET = 1 }; /* dataLinkFrameType (RFC 7133) */

/* Values of selectorAlgorithm (RFC 5477, 8.2) that tell how densely packets are taken. */
enum ipfix_method {
	IPFIX_METHOD_UNTOLD = 0,
	IPFIX_METHOD_COUNT = 1,  /* IPFIX_SAMPLED and IPFIX_SPACE */
	IPFIX_METHOD_RANDOM = 3, /* IPFIX_SIZE and IPFIX_POPULATION */
	IPFIX_METHOD_CHANCE = 4, /* IPFIX_PROBABILITY */
};

struct ipfix_field {
	uint8_t use; /* enum ipfix_use */
	uint16_t length;
};

struct ipfix_template {
	uint16_t id;
	bool options;      /* its records tell of the switch, not of flows */
	uint16_t count;    /* 0 = it is withdrawn; `id` 2 or 3: all of that kind */
	uint32_t shortest; /* bytes of the shortest record */
	struct ipfix_field fields[IPFIX_FIELD_LIMIT];
};

/* `has` has a bit of each use that was there. */
struct ipfix_record {
	uint64_t has;
	uint64_t numbers[IPFIX_NUMBER_COUNT];
	uint8_t source_mac[6], target_mac[6];
	uint8_t source_ipv4[4], target_ipv4[4], source_ipv6[16], target_ipv6[16];
	const uint8_t *frame; /* borrowed from the message */
	uint16_t frame_size;
};

#define IPFIX_HAS(record, use) ((record)->has >> (use)&1U)

/* -EPROTONOSUPPORT: neither 9 nor 10; -EBADMSG: too short, or its length is not its size. Some
 * exporters tell a length that lacks up to three octets, less than any set has: then sets reach to
 * the end of the datagram. */
MUST_USE int ipfix_open(const void *data, size_t size, struct ipfix_message *ret,
			struct wire_reader *ret_sets);
/* 1: the next set; 0: no more, what is left are zeros; -EBADMSG. */
MUST_USE int ipfix_next_set(const struct ipfix_message *message, struct wire_reader *sets,
			    struct ipfix_set *ret);
/* 1: the next template of a set of templates; 0: no more, what is left is padding; -EBADMSG;
 * -E2BIG: more fields than IPFIX_FIELD_LIMIT: the rest of the set cannot be read. */
MUST_USE int ipfix_next_template(const struct ipfix_message *message, struct ipfix_set *set,
				 struct ipfix_template *ret);
/* 1: the next record; 0: no more, what is left is padding; -EBADMSG. `fields` are `count` of a
 * template whose `shortest` is given. */
MUST_USE int ipfix_next_record(struct wire_reader *body, const struct ipfix_field *fields,
			       size_t count, uint32_t shortest, struct ipfix_record *ret);
