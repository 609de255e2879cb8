#include "common/tftp/tftp_policy.h"

#define TIMEOUT_MS     500
#define TIMEOUT_MAX_MS 8000
#define SILENT_MAX     6 /* 0.5 + 1 + 2 + 4 + 8 + 8 + 8 s: longer than a firmware's own patience */
/* For one that never said more than its request, whose address may be forged: the first packet and
 * three more. A real client asks again by itself. */
#define UNHEARD_MAX 3

struct tftp_terms tftp_terms(const struct tftp_options *asked, uint64_t file_size,
			     const struct tftp_limits *limits)
{
	struct tftp_terms terms = {
		.block_size = TFTP_BLOCK_SIZE,
		.window_size = 1,
		.timeout_ms = TIMEOUT_MS,
		.granted = *asked,
	};

	if (asked->has_block_size) {
		terms.block_size = asked->block_size < limits->block_size ? asked->block_size
									  : limits->block_size;
		terms.granted.block_size = terms.block_size;
	}
	if (asked->has_window_size) {
		terms.window_size = asked->window_size < limits->window_size ? asked->window_size
									     : limits->window_size;
		terms.granted.window_size = terms.window_size;
	}
	if (asked->has_timeout) {
		terms.timeout_ms = (int64_t)asked->timeout_s * 1000;
		terms.fixed_timeout = true;
	}
	/* A read request says 0, or anything: the answer is the size (RFC 2349). */
	terms.granted.size = file_size;
	terms.has_oack = asked->has_block_size || asked->has_window_size || asked->has_timeout ||
			 asked->has_size;
	return terms;
}

uint64_t tftp_flow_last(const struct tftp_flow *flow)
{
	uint64_t last = flow->acked + flow->terms.window_size;

	return last < flow->blocks ? last : flow->blocks;
}

static int64_t patience_ms(const struct tftp_flow *flow)
{
	int64_t timeout_ms = flow->terms.timeout_ms;

	for (unsigned i = 0; i < flow->silent && !flow->terms.fixed_timeout; i++)
		timeout_ms *= 2;
	return timeout_ms < TIMEOUT_MAX_MS || flow->terms.fixed_timeout ? timeout_ms
									: TIMEOUT_MAX_MS;
}

enum tftp_action tftp_flow_begin(struct tftp_flow *flow, const struct tftp_terms *terms,
				 uint64_t file_size, int64_t now_ms)
{
	*flow = (struct tftp_flow){
		.terms = *terms,
		.blocks = file_size / terms->block_size + 1,
		.opening = terms->has_oack,
		.may_repeat = true,
	};
	flow->deadline_ms = now_ms + patience_ms(flow);
	return flow->opening ? TFTP_SEND_OACK : TFTP_SEND;
}

/* An ACK of what was acknowledged before. With single blocks it never causes a resend: each
 * duplicate would double all that follows, the Sorcerer's Apprentice (RFC 1123 4.2.3.1). With
 * windows it is how a client says that the first block of one is missing (RFC 7440 4), so it counts
 * once; the next is believed only after a whole window without any. */
static enum tftp_action tftp_policy_duplicate(struct tftp_flow *flow, int64_t now_ms)
{
	bool repeats = flow->terms.window_size > 1 && flow->may_repeat;

	flow->doubtful = true;
	if (!repeats)
		return TFTP_WAIT;
	flow->may_repeat = false;
	flow->sent = flow->acked;
	flow->deadline_ms = now_ms + patience_ms(flow);
	return TFTP_SEND;
}

enum tftp_action tftp_flow_ack(struct tftp_flow *flow, uint16_t block, int64_t now_ms)
{
	/* How far the ACK moves on, modulo 65536: windows are far smaller than that. */
	uint64_t moved = (uint16_t)(block - (uint16_t)flow->acked);
	bool whole;

	if (flow->opening) {
		if (block != 0)
			return TFTP_WAIT;
		flow->opening = false;
		flow->heard = true;
	} else if (moved == 0) {
		return tftp_policy_duplicate(flow, now_ms);
	} else if (moved > flow->highest - flow->acked) {
		return TFTP_WAIT; /* an old one, or of a block that was never sent */
	} else {
		flow->acked += moved;
		flow->heard = true;
		if (flow->acked == flow->blocks)
			return TFTP_FINISHED;
		/* Inside the window: what follows was lost and goes again, and duplicates of this
		 * ACK are echoes of that loss. */
		whole = flow->acked == flow->highest;
		flow->may_repeat = whole && !flow->doubtful;
		flow->doubtful = !whole;
		flow->sent = flow->acked;
	}
	flow->silent = 0;
	flow->deadline_ms = now_ms + patience_ms(flow);
	return TFTP_SEND;
}

enum tftp_action tftp_flow_timeout(struct tftp_flow *flow, int64_t now_ms)
{
	if (now_ms < flow->deadline_ms)
		return TFTP_WAIT;
	if (++flow->silent > (flow->heard ? SILENT_MAX : UNHEARD_MAX))
		return TFTP_GIVE_UP;
	flow->deadline_ms = now_ms + patience_ms(flow);
	if (flow->opening)
		return TFTP_SEND_OACK;
	flow->sent = flow->acked;
	return TFTP_SEND;
}
