/* The conversations of a capture: a table of fixed size. Each row has its counts, the state of its
 * TCP and its application. When the table is full, a new conversation replaces the one that was
 * silent longest, if it was silent for a minute. Else the new one is counted only in the total. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "peregrine/capture/dpi.h"
#include "peregrine/capture/tcp_policy.h"

enum { CONVERSATION_LIMIT = 1024, PACKET_LINE_SIZE = 200 };

struct conversation {
	uint8_t addresses[2][16]; /* IPv4 mapped; side 0 sent the first frame that was seen */
	uint8_t macs[2][6];
	uint16_t ports[2];
	uint16_t ethertype;
	uint8_t protocol, flags; /* of flow_key */
	uint32_t vni;
	uint64_t packets[2], bytes[2]; /* whole frames */
	int64_t first_us, last_us;
	struct tcp_pair tcp;
	struct dpi_flow *dpi;
	char application[DPI_NAME_SIZE];
	bool guessed; /* by a port or an address: not seen in what it says */
};

struct conversations;

MUST_USE int conversations_new(struct conversations **ret);
void conversations_free(struct conversations *conversations);
/* A frame (as decapsulated) of `length` bytes on the wire; `line` is what a person
 * reads of it, as tcpdump would say it. */
void conversations_take(struct conversations *conversations, const void *frame, size_t size,
			uint32_t length, int64_t time_us, char line[PACKET_LINE_SIZE]);
/* JSON: "conversations" (the `most` with most bytes), "applications", "untracked" of the object
 * under way. */
void conversations_write(const struct conversations *conversations, size_t most, struct text *out);
