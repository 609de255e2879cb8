/* What a TFTP transfer does next: which options it grants, what an ACK or a time-out makes it send.
 * Pure; blocks are counted from 1 without wrapping, the wire's 16 bits are taken from that number
 * (65535 is followed by 0). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/tftp/tftp_wire.h"

struct tftp_limits {
	uint16_t block_size; /* larger blocks would be fragments on a tagged or tunnelled path */
	uint16_t window_size;
};

struct tftp_terms {
	uint16_t block_size;
	uint16_t window_size;
	int64_t timeout_ms; /* before the first resend */
	bool fixed_timeout; /* the client asked for it: no back-off */
	bool has_oack;      /* the transfer opens with an OACK of `granted` */
	struct tftp_options granted;
};
struct tftp_terms tftp_terms(const struct tftp_options *asked, uint64_t file_size,
			     const struct tftp_limits *limits);

enum tftp_action {
	TFTP_WAIT, /* nothing to send */
	TFTP_SEND_OACK,
	TFTP_SEND,     /* blocks sent + 1 .. tftp_flow_last() */
	TFTP_FINISHED, /* the last block is acknowledged */
	TFTP_GIVE_UP,  /* the client is silent */
};

struct tftp_flow {
	struct tftp_terms terms;
	uint64_t blocks; /* of the file; the last is shorter than the others, perhaps empty */
	uint64_t acked;  /* all blocks up to this one have arrived */
	uint64_t sent; /* the highest block sent since the last resend, >= acked; the sender raises
			  it */
	uint64_t highest; /* ever sent; what is not above it goes out again; the sender raises it */
	bool opening;     /* the OACK is not acknowledged yet */
	bool heard;       /* something was acknowledged: the client is where it says */
	bool may_repeat;  /* a duplicate ACK may cause one resend */
	bool doubtful;    /* a duplicate or partial ACK came since the last whole window */
	unsigned silent;  /* time-outs in a row */
	int64_t deadline_ms;
};

enum tftp_action tftp_flow_begin(struct tftp_flow *flow, const struct tftp_terms *terms,
				 uint64_t file_size, int64_t now_ms);
enum tftp_action tftp_flow_ack(struct tftp_flow *flow, uint16_t block, int64_t now_ms);
/* When deadline_ms has passed. */
enum tftp_action tftp_flow_timeout(struct tftp_flow *flow, int64_t now_ms);
/* The last block that may be out now. */
uint64_t tftp_flow_last(const struct tftp_flow *flow);
