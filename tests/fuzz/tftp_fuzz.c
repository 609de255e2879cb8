// links: common_tftp
/* Invariants: a request that decodes has a name, and options in range; what its answer grants
 * decodes to the same options; a flow driven by any ACKs and time-outs never has more than a window
 * out, never goes back, and ends. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <string.h>

#include "common/tftp/tftp_policy.h"
#include "common/tftp/tftp_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tftp_limits limits = {.block_size = 1468, .window_size = 64};

static void check_options(const struct tftp_options *options)
{
	assert(!options->has_block_size || options->block_size >= TFTP_BLOCK_SIZE_MIN);
	assert(!options->has_window_size || options->window_size >= 1);
	assert(!options->has_timeout || options->timeout_s >= 1);
}

/* An OACK behind the head of a request is a request with those options. */
static void check_oack(const struct tftp_options *granted)
{
	static const char head[] = "\0\1f\0octet";
	uint8_t packet[sizeof(head) + TFTP_OACK_SIZE_MAX];
	uint8_t oack[TFTP_OACK_SIZE_MAX];
	size_t size = tftp_oack_encode(granted, oack);
	struct tftp_request again;

	assert(size >= 2 && size <= TFTP_OACK_SIZE_MAX);
	memcpy(packet, head, sizeof(head));
	memcpy(packet + sizeof(head), oack + 2, size - 2);
	assert(tftp_request_decode(packet, sizeof(head) + size - 2, &again) == 0);
	assert(again.options.has_block_size == granted->has_block_size);
	assert(again.options.has_window_size == granted->has_window_size);
	assert(again.options.has_timeout == granted->has_timeout);
	assert(again.options.has_size == granted->has_size);
	assert(!granted->has_block_size || again.options.block_size == granted->block_size);
	assert(!granted->has_window_size || again.options.window_size == granted->window_size);
	assert(!granted->has_timeout || again.options.timeout_s == granted->timeout_s);
	assert(!granted->has_size || again.options.size == granted->size);
}

static void send_window(struct tftp_flow *flow)
{
	while (flow->sent < tftp_flow_last(flow)) {
		flow->sent++;
		if (flow->sent > flow->highest)
			flow->highest = flow->sent;
	}
}

/* Two bytes an ACK, near what is expected; 0xff first means silence. */
static void drive(const struct tftp_options *asked, const uint8_t *data, size_t size)
{
	const uint64_t file_size = 600000;
	struct tftp_terms terms = tftp_terms(asked, file_size, &limits);
	enum tftp_action action;
	struct tftp_flow flow;
	int64_t now_ms = 0;

	action = tftp_flow_begin(&flow, &terms, file_size, now_ms);
	for (size_t i = 0; i + 1 < size; i += 2) {
		uint64_t acked = flow.acked;

		if (action == TFTP_SEND)
			send_window(&flow);
		if (data[i] == 0xff) {
			now_ms = flow.deadline_ms;
			action = tftp_flow_timeout(&flow, now_ms);
			assert(action == TFTP_GIVE_UP || flow.deadline_ms > now_ms);
		} else {
			action = tftp_flow_ack(&flow, (uint16_t)(acked + data[i + 1] - data[i]),
					       now_ms);
		}
		assert(flow.acked >= acked && flow.acked <= flow.sent);
		assert(flow.sent <= flow.highest && flow.highest <= flow.blocks);
		assert(flow.highest - flow.acked <= terms.window_size);
		assert((action == TFTP_FINISHED) == (flow.acked == flow.blocks));
		if (action == TFTP_FINISHED || action == TFTP_GIVE_UP)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tftp_request request;
	struct tftp_reply reply;

	if (tftp_request_decode(data, size, &request) == 0) {
		struct tftp_terms terms = tftp_terms(&request.options, 74000, &limits);

		assert(request.name[0] && memchr(request.name, 0, sizeof(request.name)));
		check_options(&request.options);
		assert(terms.block_size >= TFTP_BLOCK_SIZE_MIN && terms.window_size >= 1);
		check_oack(&request.options);
		check_oack(&terms.granted);
		drive(&request.options, data, size);
	}
	if (tftp_reply_decode(data, size, &reply) == 0)
		for (const char *c = reply.message; *c; c++)
			assert(*c >= ' ' && *c <= '~');
	return 0;
}
