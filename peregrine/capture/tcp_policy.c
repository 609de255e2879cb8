#include "peregrine/capture/tcp_policy.h"

#include "common/net/wire.h"

enum {
	LATE_US = 3000, /* without a round trip measured: later than that is no matter of order */
	TCP_POLICY_OPTION_END = 0,
	OPTION_NOTHING = 1,
	OPTION_SCALE = 3,
	SCALE_MOST = 14, /* RFC 7323, 2.3 */
};

/* Sequence numbers wrap. */
static bool tcp_policy_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static void rtt_add(struct tcp_rtt *rtt, int64_t us)
{
	if (us < 0)
		return;
	if (rtt->count == 0 || us < rtt->least_us)
		rtt->least_us = us;
	if (us > rtt->most_us)
		rtt->most_us = us;
	rtt->sum_us += us;
	rtt->count++;
}

/* --- holes: what its side has passed over --- */

static void hole_open(struct tcp_side *side, uint32_t from, uint32_t to, int64_t time_us)
{
	if (side->hole_count == TCP_HOLES) { /* the oldest is forgotten */
		for (size_t i = 1; i < TCP_HOLES; i++)
			side->holes[i - 1] = side->holes[i];
		side->hole_count--;
	}
	side->holes[side->hole_count++] = (struct tcp_hole){from, to, time_us};
}

static void hole_remove(struct tcp_side *side, size_t i)
{
	for (; i + 1 < side->hole_count; i++)
		side->holes[i] = side->holes[i + 1];
	side->hole_count--;
}

/* The hole that the segment lies in; it shrinks by it. False: in none. */
static bool hole_fill(struct tcp_side *side, uint32_t from, uint32_t to, int64_t *ret_since_us)
{
	for (size_t i = 0; i < side->hole_count; i++) {
		struct tcp_hole *hole = &side->holes[i];

		if (tcp_policy_before(from, hole->from) || tcp_policy_before(hole->to, to))
			continue;
		*ret_since_us = hole->since_us;
		if (from == hole->from)
			hole->from = to;
		else
			hole->to = from; /* what is behind it is told from the first part alone */
		if (hole->from == hole->to)
			hole_remove(side, i);
		return true;
	}
	return false;
}

/* Its peer has got all below: what we did not see of that was lost on the way to us. */
static void holes_acknowledged(struct tcp_side *side, uint32_t acknowledged)
{
	for (size_t i = 0; i < side->hole_count;) {
		if (tcp_policy_before(acknowledged, side->holes[i].to)) {
			i++;
			continue;
		}
		side->unseen++;
		hole_remove(side, i);
	}
}

/* --- one segment --- */

static int64_t late_us(const struct tcp_pair *pair, const struct tcp_side *side)
{
	if (side->rtt.count > 0)
		return side->rtt.least_us > LATE_US ? side->rtt.least_us : LATE_US;
	return pair->handshake_us > LATE_US ? pair->handshake_us : LATE_US;
}

static void take_old(const struct tcp_pair *pair, struct tcp_side *side,
		     const struct tcp_segment *segment, uint32_t end, int64_t time_us)
{
	int64_t since_us = 0;
	bool syn = segment->flags & TCP_SYN;

	if (!syn && segment->payload <= 1 && segment->sequence + 1 == side->next) {
		side->keepalives++;
		return;
	}
	if (hole_fill(side, segment->sequence, end, &since_us) &&
	    time_us - since_us < late_us(pair, side)) {
		side->out_of_order++;
		return;
	}
	side->retransmissions++;
	side->retransmitted_bytes += segment->payload;
	side->timing = false;
}

static void tcp_policy_take_data(const struct tcp_pair *pair, struct tcp_side *side,
				 const struct tcp_segment *segment, int64_t time_us)
{
	uint32_t length =
		segment->payload + !!(segment->flags & TCP_SYN) + !!(segment->flags & TCP_FIN);
	uint32_t end = segment->sequence + length;

	if (segment->flags & TCP_RESET || (length == 0 && side->started))
		return;
	if (!side->started) {
		side->started = true;
		side->next = end;
	} else if (tcp_policy_before(segment->sequence, side->next)) {
		take_old(pair, side, segment, end, time_us);
		if (tcp_policy_before(side->next, end))
			side->next = end;
		return;
	} else if (segment->sequence != side->next) {
		hole_open(side, side->next, segment->sequence, time_us);
	}
	side->next = end;
	if (!side->timing && length > 0) {
		side->timing = true;
		side->timed = end;
		side->timed_us = time_us;
	}
}

/* What the segment says of its peer's. */
static void tcp_policy_take_ack(struct tcp_side *side, struct tcp_side *peer,
				const struct tcp_segment *segment, int64_t time_us)
{
	bool empty = segment->payload == 0 && !(segment->flags & (TCP_SYN | TCP_FIN | TCP_RESET));

	if (!(segment->flags & TCP_ACK))
		return;
	if (empty && segment->acknowledged == side->acknowledged &&
	    segment->window == side->window && segment->window > 0 && peer->started &&
	    tcp_policy_before(side->acknowledged, peer->next))
		side->duplicate_acks++;
	if (peer->timing && !tcp_policy_before(segment->acknowledged, peer->timed)) {
		rtt_add(&peer->rtt, time_us - peer->timed_us);
		peer->timing = false;
	}
	if (peer->started)
		holes_acknowledged(peer, segment->acknowledged);
	side->acknowledged = segment->acknowledged;
}

static void take_window(struct tcp_side *side, const struct tcp_segment *segment)
{
	bool closed = segment->window == 0 && !(segment->flags & (TCP_SYN | TCP_RESET | TCP_FIN));

	if (closed && !side->window_closed)
		side->zero_windows++;
	side->window_closed = closed;
	side->window = segment->window;
}

static void take_handshake(struct tcp_pair *pair, unsigned side, const struct tcp_segment *segment,
			   int64_t time_us)
{
	bool syn = segment->flags & TCP_SYN;
	bool ack = segment->flags & TCP_ACK;

	if (syn) {
		pair->sides[side].syn = true;
		pair->sides[side].scale = segment->scale;
		*(ack ? &pair->syn_ack_us : &pair->syn_us) = time_us;
	} else if (ack && pair->syn_us && pair->syn_ack_us >= pair->syn_us && !pair->handshake_us) {
		pair->handshake_us = time_us - pair->syn_us;
	}
}

void tcp_seen(struct tcp_pair *pair, unsigned side, const struct tcp_segment *segment,
	      int64_t time_us)
{
	struct tcp_side *own = &pair->sides[side & 1];
	struct tcp_side *peer = &pair->sides[!(side & 1)];

	own->segments++;
	own->bytes += segment->payload;
	own->resets += !!(segment->flags & TCP_RESET);
	own->fin |= !!(segment->flags & TCP_FIN);
	take_handshake(pair, side & 1, segment, time_us);
	tcp_policy_take_ack(own, peer, segment, time_us);
	take_window(own, segment);
	tcp_policy_take_data(pair, own, segment, time_us);
}

/* --- bytes --- */

static uint8_t read_scale(struct wire_reader options)
{
	while (wire_left(&options) > 0) {
		uint8_t kind = wire_u8(&options);
		uint8_t length;

		if (kind == TCP_POLICY_OPTION_END)
			break;
		if (kind == OPTION_NOTHING)
			continue;
		length = wire_u8(&options);
		if (length < 2)
			break;
		if (kind == OPTION_SCALE && length == 3) {
			uint8_t shift = wire_u8(&options);

			return options.bad
				       ? 0
				       : (uint8_t)((shift < SCALE_MOST ? shift : SCALE_MOST) + 1);
		}
		wire_skip(&options, length - 2U);
	}
	return 0;
}

bool tcp_decode(const void *data, size_t size, uint32_t length, struct tcp_segment *ret)
{
	struct wire_reader header = wire_reader(data, size);
	struct tcp_segment segment = {0};
	uint32_t header_size;
	size_t options;

	wire_skip(&header, 4); /* ports */
	segment.sequence = wire_u32(&header);
	segment.acknowledged = wire_u32(&header);
	header_size = (wire_u8(&header) >> 4) * 4U;
	segment.flags = wire_u8(&header);
	segment.window = wire_u16(&header);
	if (header.bad || header_size < 20)
		return false;
	wire_skip(&header, 4); /* checksum, urgent pointer */
	options = header_size - 20;
	if (options > wire_left(&header))
		options = wire_left(&header);
	if (segment.flags & TCP_SYN && !header.bad)
		segment.scale = read_scale(wire_cut(&header, options));
	segment.payload = length > header_size ? length - header_size : 0;
	*ret = segment;
	return true;
}
