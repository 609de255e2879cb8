#include "common/tftp/tftp_transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define LATE_COPY_MS 5000

struct tftp_transfer {
	struct loop *loop;
	void (*on_end)(void *context, struct tftp_transfer *transfer, enum tftp_outcome outcome);
	void *context;
	char name[SERVED_NAME_MAX + 1];
	struct tftp_port *port;
	struct tftp_path path;
	const struct tftp_file *file;
	struct loop_timer *timer;
	bool waiting; /* for room at the port */
	bool broken;  /* the file became shorter */
	struct tftp_flow flow;
	uint64_t blocks_resent;
	int64_t began_ms;
	struct tftp_reply farewell; /* the client's ERROR */
};

static void tftp_transfer_end(struct tftp_transfer *transfer, enum tftp_outcome outcome)
{
	transfer->on_end(transfer->context, transfer, outcome);
}

/* --- sending --- */

static void send_oack(const struct tftp_transfer *transfer)
{
	uint8_t packet[TFTP_OACK_SIZE_MAX];
	size_t size = tftp_oack_encode(&transfer->flow.terms.granted, packet);

	tftp_path_send(&transfer->path, tftp_port_fd(transfer->port), packet, size);
}

static void tftp_transfer_send_error(const struct tftp_transfer *transfer, const char *message)
{
	uint8_t packet[TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1];
	size_t size = tftp_error_encode(TFTP_ERROR_OTHER, message, packet);

	tftp_path_send(&transfer->path, tftp_port_fd(transfer->port), packet, size);
}

/* Queues `count` blocks after flow.sent. -EAGAIN; -EIO when the file has become shorter. */
static int send_blocks(struct tftp_transfer *transfer, unsigned count)
{
	const struct tftp_flow *flow = &transfer->flow;
	size_t block_size = flow->terms.block_size;
	uint64_t first = flow->sent * block_size;
	uint64_t left = transfer->file->size - first;
	uint64_t wanted = (uint64_t)count * block_size;
	const struct tftp_blocks blocks = {
		.owner = transfer,
		.path = &transfer->path,
		.first = flow->sent + 1,
		.bytes = left > 0 ? transfer->file->bytes + first : NULL,
		.size = (size_t)(left < wanted ? left : wanted),
		.block_size = block_size,
		.count = count,
	};

	if (flow->sent + count == flow->blocks && !tftp_file_is_whole(transfer->file))
		return -EIO;
	return tftp_port_send(transfer->port, &blocks);
}

/* Queues what the window allows. */
static int tftp_transfer_pump(struct tftp_transfer *transfer)
{
	struct tftp_flow *flow = &transfer->flow;
	uint64_t most = transfer->path.uncut ? 1 : tftp_port_blocks_max(flow->terms.block_size);

	transfer->waiting = false;
	while (flow->sent < tftp_flow_last(flow)) {
		uint64_t count = tftp_flow_last(flow) - flow->sent;
		int rc;

		if (count > most)
			count = most;
		rc = send_blocks(transfer, (unsigned)count);
		transfer->waiting = rc == -EAGAIN;
		if (rc)
			return rc == -EAGAIN ? 0 : rc;
		flow->sent += count;
		if (flow->sent <= flow->highest) {
			transfer->blocks_resent += count;
			continue;
		}
		if (flow->sent - count < flow->highest)
			transfer->blocks_resent += flow->highest - (flow->sent - count);
		flow->highest = flow->sent;
	}
	return 0;
}

/* False when the transfer has ended, and is gone. */
static bool tftp_transfer_act(struct tftp_transfer *transfer, enum tftp_action action)
{
	int rc = transfer->broken ? -EIO : 0;

	switch (action) {
	case TFTP_WAIT: break;
	case TFTP_SEND_OACK: send_oack(transfer); break;
	case TFTP_SEND: rc = rc ? rc : tftp_transfer_pump(transfer); break;
	case TFTP_FINISHED: tftp_transfer_end(transfer, TFTP_OUTCOME_DONE); return false;
	case TFTP_GIVE_UP: tftp_transfer_end(transfer, TFTP_OUTCOME_LOST); return false;
	}
	if (rc == 0)
		return true;
	tftp_transfer_send_error(transfer, "the file became shorter");
	tftp_transfer_end(transfer, TFTP_OUTCOME_LOST);
	return false;
}

/* --- receiving --- */

void tftp_transfer_take(struct tftp_transfer *transfer, const uint8_t *packet, size_t size,
			int64_t now_ms)
{
	struct tftp_reply reply;

	if (tftp_reply_decode(packet, size, &reply))
		return;
	if (reply.opcode == TFTP_ERROR) {
		transfer->farewell = reply;
		tftp_transfer_end(transfer, TFTP_OUTCOME_ABORTED);
		return;
	}
	(void)tftp_transfer_act(transfer, tftp_flow_ack(&transfer->flow, reply.block, now_ms));
}

void tftp_transfer_resume(struct tftp_transfer *transfer)
{
	(void)tftp_transfer_act(transfer, TFTP_SEND);
}

bool tftp_transfer_is_waiting(const struct tftp_transfer *transfer)
{
	return transfer->waiting;
}

void tftp_transfer_lose(struct tftp_transfer *transfer)
{
	tftp_transfer_end(transfer, TFTP_OUTCOME_LOST);
}

void tftp_transfer_break(struct tftp_transfer *transfer)
{
	transfer->broken = true;
	loop_timer_arm(transfer->timer, 0);
}

bool tftp_transfer_is_heard(const struct tftp_transfer *transfer)
{
	return transfer->flow.heard;
}

/* The timer is not moved with each packet: it looks at the deadline when it fires. */
static void tftp_transfer_on_timer(void *context)
{
	struct tftp_transfer *transfer = context;
	struct tftp_port *port = transfer->port;
	int64_t now_ms = loop_now_ms(transfer->loop);

	if (tftp_transfer_act(transfer, tftp_flow_timeout(&transfer->flow, now_ms)))
		loop_timer_arm(transfer->timer, transfer->flow.deadline_ms - now_ms);
	tftp_port_flush(port);
}

static bool same_options(const struct tftp_options *a, const struct tftp_options *b)
{
	return a->has_block_size == b->has_block_size && a->has_window_size == b->has_window_size &&
	       a->has_timeout == b->has_timeout && a->has_size == b->has_size;
}

bool tftp_transfer_again(struct tftp_transfer *transfer, const struct tftp_options *asked,
			 const char *name)
{
	if (strcmp(transfer->name, name) != 0 ||
	    !same_options(&transfer->flow.terms.granted, asked))
		return false;
	/* Blocks flow already: one more request of the same kind so soon is a copy that was late (a
	 * client asks again when a busy server takes a second), not a client that started over. */
	if (transfer->flow.acked > 0)
		return loop_now_ms(transfer->loop) - transfer->began_ms < LATE_COPY_MS;
	if (transfer->flow.opening)
		send_oack(transfer);
	/* Without options the first block is out; the time-out sends it again, not the client's
	 * impatience. */
	return true;
}

/* --- life --- */

int tftp_transfer_new(struct loop *loop, const struct tftp_transfer_options *options,
		      struct tftp_transfer **ret)
{
	struct tftp_transfer *transfer = calloc(1, sizeof(*transfer));
	int rc;

	if (!transfer)
		return -ENOMEM;
	transfer->loop = loop;
	transfer->on_end = options->on_end;
	transfer->context = options->context;
	transfer->port = options->port;
	transfer->file = options->file;
	transfer->began_ms = loop_now_ms(loop);
	(void)text_copy(transfer->name, sizeof(transfer->name), options->name);
	tftp_path_init(&transfer->path, &options->client, options->local,
		       (uint16_t)(options->terms.block_size + TFTP_HEAD_SIZE));
	rc = loop_timer_new(loop, tftp_transfer_on_timer, transfer, &transfer->timer);
	if (rc) {
		free(transfer);
		return rc;
	}
	/* A file that cannot be sent ends the transfer in its first turn. */
	if (tftp_flow_begin(&transfer->flow, &options->terms, options->file->size,
			    transfer->began_ms) == TFTP_SEND_OACK)
		send_oack(transfer);
	else
		transfer->broken = tftp_transfer_pump(transfer) != 0;
	loop_timer_arm(transfer->timer,
		       transfer->broken ? 0 : transfer->flow.deadline_ms - transfer->began_ms);

	*ret = transfer;
	return 0;
}

void tftp_transfer_free(struct tftp_transfer *transfer)
{
	if (!transfer)
		return;
	tftp_port_forget(transfer->port, transfer);
	loop_timer_free(transfer->timer);
	free(transfer);
}

struct tftp_summary tftp_transfer_summary(const struct tftp_transfer *transfer)
{
	uint64_t bytes = transfer->flow.acked * transfer->flow.terms.block_size;

	return (struct tftp_summary){
		.name = transfer->name,
		.client = transfer->path.client,
		.bytes = bytes < transfer->file->size ? bytes : transfer->file->size,
		.blocks_resent = transfer->blocks_resent,
		.elapsed_ms = loop_now_ms(transfer->loop) - transfer->began_ms,
		.terms = &transfer->flow.terms,
		.error_code = transfer->farewell.code,
		.error_message = transfer->farewell.message,
	};
}
