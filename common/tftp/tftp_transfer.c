#include "common/tftp/tftp_transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

/* Read ahead, so that single blocks do not cost a system call each. */
#define AHEAD_SIZE ((size_t)32 << 10)
/* Datagrams for one sendmmsg. */
#define BATCH_MAX 64
/* ACKs handled in one turn; more wait for the next, so that one client cannot hold the loop. */
#define REPLIES_PER_TURN 8
/* An ACK has 4 bytes; what is cut off an ERROR is only text. */
#define REPLY_SIZE (TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1)

struct tftp_transfer {
	struct loop *loop;
	void (*on_end)(void *context, struct tftp_transfer *transfer, enum tftp_outcome outcome);
	void *context;
	char name[SERVED_NAME_MAX + 1];
	struct sockaddr_in client;
	int socket;
	int file;
	uint64_t size;
	struct loop_watch *watch;
	struct loop_timer *timer;
	bool blocked; /* the socket is full; the watch waits for room too */
	struct tftp_flow flow;
	uint64_t blocks_resent;
	int64_t began_ms;
	struct tftp_reply farewell; /* the client's ERROR */
	/* The part of the file that is in memory. */
	uint64_t ahead_first;
	size_t ahead_size, ahead_room;
	uint8_t ahead[];
};

static void end(struct tftp_transfer *transfer, enum tftp_outcome outcome)
{
	transfer->on_end(transfer->context, transfer, outcome);
}

/* --- sending --- */

static int send_oack(struct tftp_transfer *transfer)
{
	uint8_t packet[TFTP_OACK_SIZE_MAX];
	size_t size = tftp_oack_encode(&transfer->flow.terms.granted, packet);

	/* A full socket is a lost packet: the time-out sends it again. */
	if (send(transfer->socket, packet, size, MSG_DONTWAIT) < 0 && errno == ECONNREFUSED)
		return -ECONNREFUSED;
	return 0;
}

static void send_error(const struct tftp_transfer *transfer, const char *message)
{
	uint8_t packet[TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1];
	size_t size = tftp_error_encode(TFTP_ERROR_OTHER, message, packet);

	/* The transfer ends either way. */
	(void)!send(transfer->socket, packet, size, MSG_DONTWAIT);
}

/* Makes file bytes first .. first + size available at ahead + *ret_offset. -EIO when the file has
 * become shorter. size <= ahead_room. */
static int load(struct tftp_transfer *transfer, uint64_t first, size_t size, size_t *ret_offset)
{
	if (first < transfer->ahead_first ||
	    first + size > transfer->ahead_first + transfer->ahead_size) {
		size_t wanted = transfer->ahead_room;
		ssize_t got;

		if (wanted > transfer->size - first)
			wanted = (size_t)(transfer->size - first);
		got = pread(transfer->file, transfer->ahead, wanted, (off_t)first);
		transfer->ahead_first = first;
		transfer->ahead_size = got > 0 ? (size_t)got : 0;
		if (transfer->ahead_size < size)
			return -EIO;
	}
	*ret_offset = (size_t)(first - transfer->ahead_first);
	return 0;
}

/* One block, without the arrays of a window: the way of nearly all firmware. */
static int send_block(struct tftp_transfer *transfer, size_t offset, size_t size)
{
	uint8_t head[TFTP_HEAD_SIZE];
	struct iovec pieces[2] = {{head, sizeof(head)}, {transfer->ahead + offset, size}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = COUNT_OF(pieces)};

	tftp_data_head((uint16_t)(transfer->flow.sent + 1), head);
	return sendmsg(transfer->socket, &message, MSG_DONTWAIT) < 0 ? -errno : 1;
}

/* Gives how many blocks went out, or -errno. */
static int send_window(struct tftp_transfer *transfer, size_t offset, size_t size, unsigned count)
{
	struct mmsghdr messages[BATCH_MAX] = {0};
	struct iovec pieces[BATCH_MAX][2];
	uint8_t heads[BATCH_MAX][TFTP_HEAD_SIZE];
	size_t block_size = transfer->flow.terms.block_size;
	int sent;

	for (unsigned i = 0; i < count; i++) {
		size_t piece = size < block_size ? size : block_size;

		tftp_data_head((uint16_t)(transfer->flow.sent + 1 + i), heads[i]);
		pieces[i][0] = (struct iovec){heads[i], TFTP_HEAD_SIZE};
		pieces[i][1] = (struct iovec){transfer->ahead + offset, piece};
		messages[i].msg_hdr.msg_iov = pieces[i];
		messages[i].msg_hdr.msg_iovlen = 2;
		offset += piece;
		size -= piece;
	}
	sent = sendmmsg(transfer->socket, messages, count, MSG_DONTWAIT);
	return sent < 0 ? -errno : sent;
}

/* Sends `count` blocks after flow.sent. */
static int send_blocks(struct tftp_transfer *transfer, unsigned count)
{
	uint64_t first = transfer->flow.sent * transfer->flow.terms.block_size;
	uint64_t left = transfer->size - first;
	uint64_t wanted = (uint64_t)count * transfer->flow.terms.block_size;
	size_t size = (size_t)(left < wanted ? left : wanted);
	size_t offset;
	int rc = load(transfer, first, size, &offset);

	if (rc)
		return rc;
	return count == 1 ? send_block(transfer, offset, size)
			  : send_window(transfer, offset, size, count);
}

static void watch_room(struct tftp_transfer *transfer, bool blocked)
{
	if (blocked == transfer->blocked)
		return;
	transfer->blocked = blocked;
	loop_watch_set(transfer->watch, blocked ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* Sends what the window allows. */
static int pump(struct tftp_transfer *transfer)
{
	struct tftp_flow *flow = &transfer->flow;
	uint64_t room_blocks = transfer->ahead_room / flow->terms.block_size;

	while (flow->sent < tftp_flow_last(flow)) {
		uint64_t count = tftp_flow_last(flow) - flow->sent;
		int sent;

		if (count > BATCH_MAX)
			count = BATCH_MAX;
		if (count > room_blocks)
			count = room_blocks;
		sent = send_blocks(transfer, (unsigned)count);
		if (sent == -EAGAIN || sent == -ENOBUFS || sent == -EINTR) {
			watch_room(transfer, true);
			return 0;
		}
		if (sent < 0)
			return sent;
		for (int i = 0; i < sent; i++) {
			flow->sent++;
			if (flow->sent > flow->highest)
				flow->highest = flow->sent;
			else
				transfer->blocks_resent++;
		}
	}
	watch_room(transfer, false);
	return 0;
}

/* False when the transfer has ended, and is gone. */
static bool act(struct tftp_transfer *transfer, enum tftp_action action)
{
	int rc = 0;

	switch (action) {
	case TFTP_WAIT: return true;
	case TFTP_SEND_OACK: rc = send_oack(transfer); break;
	case TFTP_SEND: rc = pump(transfer); break;
	case TFTP_FINISHED: end(transfer, TFTP_OUTCOME_DONE); return false;
	case TFTP_GIVE_UP: end(transfer, TFTP_OUTCOME_LOST); return false;
	}
	if (rc == 0)
		return true;
	if (rc == -EIO)
		send_error(transfer, "the file became shorter");
	end(transfer, TFTP_OUTCOME_LOST);
	return false;
}

/* --- receiving --- */

/* False when the transfer has ended, and is gone. */
static bool take_reply(struct tftp_transfer *transfer, const uint8_t *packet, size_t size)
{
	struct tftp_reply reply;

	if (tftp_reply_decode(packet, size, &reply))
		return true;
	if (reply.opcode == TFTP_ERROR) {
		transfer->farewell = reply;
		end(transfer, TFTP_OUTCOME_ABORTED);
		return false;
	}
	return act(transfer,
		   tftp_flow_ack(&transfer->flow, reply.block, loop_now_ms(transfer->loop)));
}

static void on_ready(void *context, int events)
{
	struct tftp_transfer *transfer = context;
	/* With single blocks one ACK is all that can wait. */
	unsigned turns = transfer->flow.terms.window_size > 1 ? REPLIES_PER_TURN : 1;
	uint8_t packet[REPLY_SIZE];

	for (unsigned i = 0; (events & LOOP_READ) && i < turns; i++) {
		ssize_t size = recv(transfer->socket, packet, sizeof(packet), MSG_DONTWAIT);

		/* ICMP port unreachable: the client's socket is closed. */
		if (size < 0 && (errno == ECONNREFUSED || errno == EHOSTUNREACH)) {
			end(transfer, TFTP_OUTCOME_LOST);
			return;
		}
		if (size < 0)
			break;
		if (!take_reply(transfer, packet, (size_t)size))
			return;
	}
	if (transfer->blocked)
		(void)act(transfer, TFTP_SEND);
}

/* The timer is not moved with each packet: it looks at the deadline when it fires. */
static void on_timer(void *context)
{
	struct tftp_transfer *transfer = context;
	int64_t now_ms = loop_now_ms(transfer->loop);

	if (act(transfer, tftp_flow_timeout(&transfer->flow, now_ms)))
		loop_timer_arm(transfer->timer, transfer->flow.deadline_ms - now_ms);
}

static bool same_options(const struct tftp_options *a, const struct tftp_options *b)
{
	return a->has_block_size == b->has_block_size && a->has_window_size == b->has_window_size &&
	       a->has_timeout == b->has_timeout && a->has_size == b->has_size;
}

bool tftp_transfer_again(struct tftp_transfer *transfer, const struct tftp_options *asked,
			 const char *name)
{
	if (transfer->flow.acked > 0 || strcmp(transfer->name, name) != 0 ||
	    !same_options(&transfer->flow.terms.granted, asked))
		return false;
	if (transfer->flow.opening)
		(void)send_oack(transfer);
	/* Without options the first block is out; the time-out sends it again, not the client's
	 * impatience. */
	return true;
}

/* --- life --- */

static int open_socket(const struct tftp_transfer_options *options)
{
	struct sockaddr_in local = {.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(options->local)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	/* Connected: packets of other ports are not ours, and a closed port is heard of. */
	if (bind(fd, (const struct sockaddr *)&local, sizeof(local)) < 0 ||
	    connect(fd, (const struct sockaddr *)&options->client, sizeof(options->client)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

static int start(struct tftp_transfer *transfer)
{
	int rc = loop_watch_new(transfer->loop, transfer->socket, LOOP_READ, on_ready, transfer,
				&transfer->watch);

	if (!rc)
		rc = loop_timer_new(transfer->loop, on_timer, transfer, &transfer->timer);
	if (rc)
		return rc;
	rc = transfer->flow.opening ? send_oack(transfer) : pump(transfer);
	loop_timer_arm(transfer->timer, transfer->flow.deadline_ms - loop_now_ms(transfer->loop));
	return rc;
}

int tftp_transfer_new(struct loop *loop, const struct tftp_transfer_options *options,
		      struct tftp_transfer **ret)
{
	size_t window_size = (size_t)options->terms.block_size * options->terms.window_size;
	size_t room = window_size > AHEAD_SIZE ? window_size : AHEAD_SIZE;
	struct tftp_transfer *transfer;
	int rc;

	if (options->size < room)
		room = (size_t)options->size + options->terms.block_size;
	transfer = calloc(1, sizeof(*transfer) + room);
	if (!transfer)
		return -ENOMEM;
	transfer->loop = loop;
	transfer->on_end = options->on_end;
	transfer->context = options->context;
	transfer->client = options->client;
	transfer->size = options->size;
	transfer->file = -1;
	transfer->ahead_room = room;
	transfer->began_ms = loop_now_ms(loop);
	(void)text_copy(transfer->name, sizeof(transfer->name), options->name);
	transfer->socket = open_socket(options);
	if (transfer->socket < 0) {
		rc = transfer->socket;
		tftp_transfer_free(transfer);
		return rc;
	}
	(void)tftp_flow_begin(&transfer->flow, &options->terms, options->size, transfer->began_ms);
	transfer->file = options->fd;
	rc = start(transfer);
	if (rc) {
		transfer->file = -1;
		tftp_transfer_free(transfer);
		return rc;
	}

	*ret = transfer;
	return 0;
}

void tftp_transfer_free(struct tftp_transfer *transfer)
{
	if (!transfer)
		return;
	if (transfer->watch)
		loop_watch_free(transfer->watch);
	if (transfer->timer)
		loop_timer_free(transfer->timer);
	closep(&transfer->socket);
	closep(&transfer->file);
	free(transfer);
}

struct tftp_summary tftp_transfer_summary(const struct tftp_transfer *transfer)
{
	uint64_t bytes = transfer->flow.acked * transfer->flow.terms.block_size;

	return (struct tftp_summary){
		.name = transfer->name,
		.client = transfer->client,
		.bytes = bytes < transfer->size ? bytes : transfer->size,
		.blocks_resent = transfer->blocks_resent,
		.elapsed_ms = loop_now_ms(transfer->loop) - transfer->began_ms,
		.terms = &transfer->flow.terms,
		.error_code = transfer->farewell.code,
		.error_message = transfer->farewell.message,
	};
}
