/* The health of one TCP connection, from its segments in the middle of its path (RFC 9293, 7323):
 * segments that were sent again or came out of order, closed windows, and response times on either
 * side of us. Pure: segments with their times in, counts out.
 *
 * A segment below the highest sequence number of its side is late or was sent again. It is late if
 * it fills a hole that has been open for less than a round trip. A segment that its receiver
 * acknowledged but that we did not see was lost between the switch and us. It is counted apart and
 * blamed on neither side. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tcp_flag {
	TCP_FIN = 1,
	TCP_SYN = 2,
	TCP_RESET = 4,
	TCP_PUSH = 8,
	TCP_ACK = 16,
};

struct tcp_segment {
	uint32_t sequence, acknowledged;
	uint32_t payload; /* bytes on the wire */
	uint16_t window;  /* as sent */
	uint8_t flags;
	uint8_t scale; /* of a SYN: window shift plus one; 0 = it has no such option */
};

enum { TCP_HOLES = 4 };

struct tcp_rtt {
	uint32_t count;
	int64_t least_us, most_us, sum_us;
};

/* What one side sent. */
struct tcp_side {
	uint64_t segments, bytes; /* bytes: payload, as often as it was sent */
	uint64_t retransmissions, retransmitted_bytes;
	uint64_t out_of_order;
	uint64_t duplicate_acks, keepalives, resets;
	uint64_t zero_windows; /* times that it closed */
	uint64_t unseen;       /* gaps that its peer has acknowledged all the same */
	struct tcp_rtt rtt;    /* from here to its peer and back, by acknowledgements */

	/* where it is */
	bool started, window_closed, syn, fin;
	uint8_t scale; /* as in its SYN */
	uint32_t next; /* sequence number that it sends next */
	uint32_t acknowledged;
	uint16_t window;
	struct tcp_hole {
		uint32_t from, to;
		int64_t since_us;
	} holes[TCP_HOLES];
	size_t hole_count;
	/* one segment at a time is timed; never one that was sent again (Karn) */
	bool timing;
	uint32_t timed;
	int64_t timed_us;
};

struct tcp_pair {
	struct tcp_side sides[2];
	int64_t syn_us, syn_ack_us;
	int64_t handshake_us; /* SYN to the first ACK: a whole round trip; 0 = not seen */
};

/* `side`: 0 or 1, who sent it. */
void tcp_seen(struct tcp_pair *pair, unsigned side, const struct tcp_segment *segment,
	      int64_t time_us);

/* A header at `data`, of which `length` bytes with its payload were on the wire (0: not told).
 * False: cut short before its window. */
bool tcp_decode(const void *data, size_t size, uint32_t length, struct tcp_segment *ret);
