#include "common/tftp/tftp_port.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/datagram.h"
#include "common/tftp/tftp_wire.h"

#define QUEUE_MAX        64  /* messages in one sendmmsg */
#define BLOCKS_MAX       256 /* in all of them */
#define SEGMENTS_MAX     64  /* datagrams cut from one message (UDP_MAX_SEGMENTS) */
#define MESSAGE_SIZE_MAX 65000
#define REPLIES_MAX      64 /* read in one recvmmsg */
/* An ACK has 4 bytes; what is cut off an ERROR is only text. */
#define REPLY_SIZE   (TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1)
#define ERRORS_MAX   64        /* read in one turn */
#define SOCKET_ROOM  (4 << 20) /* both ways: a thousand transfers at once */
#define FULL_WAIT_MS 2         /* the card's queue is full, and nobody tells when it is not */

struct tftp_port {
	struct tftp_port_events events;
	int fd;
	struct loop_watch *watch;
	struct loop_timer *retry;
	bool blocked;    /* the kernel takes no more for now */
	bool has_errors; /* a send took one off the socket: the error queue has its story */
	unsigned count;  /* messages queued */
	unsigned block_count;
	struct mmsghdr messages[QUEUE_MAX];
	struct tftp_blocks queue[QUEUE_MAX];
	struct iovec pieces[BLOCKS_MAX * 2]; /* of each block its head and its bytes */
	uint8_t heads[BLOCKS_MAX][TFTP_HEAD_SIZE];
	/* What recvmmsg fills; laid out once. */
	struct mmsghdr replies[REPLIES_MAX];
	struct iovec reply_pieces[REPLIES_MAX];
	struct sockaddr_in clients[REPLIES_MAX];
	uint8_t packets[REPLIES_MAX][REPLY_SIZE];
};

/* --- paths --- */

#define PATH_PLAIN_SIZE CMSG_SPACE(sizeof(struct in_pktinfo)) /* without UDP_SEGMENT */

void tftp_path_init(struct tftp_path *path, const struct sockaddr_in *client, uint32_t local,
		    uint16_t datagram_size)
{
	struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(local)};
	struct msghdr message;
	struct cmsghdr *head;

	*path = (struct tftp_path){.client = *client};
	message = (struct msghdr){.msg_control = path->control,
				  .msg_controllen = sizeof(path->control)};
	head = CMSG_FIRSTHDR(&message);
	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = IP_PKTINFO;
	head->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(head), &info, sizeof(info));
	head = CMSG_NXTHDR(&message, head);
	head->cmsg_level = IPPROTO_UDP;
	head->cmsg_type = UDP_SEGMENT;
	head->cmsg_len = CMSG_LEN(sizeof(datagram_size));
	memcpy(CMSG_DATA(head), &datagram_size, sizeof(datagram_size));
}

void tftp_path_send(const struct tftp_path *path, int fd, const void *packet, size_t size)
{
	struct tftp_path copy = *path;
	uint8_t bytes[TFTP_OACK_SIZE_MAX];
	struct iovec piece = {bytes, size < sizeof(bytes) ? size : sizeof(bytes)};
	struct msghdr message = {
		.msg_name = &copy.client,
		.msg_namelen = sizeof(copy.client),
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = copy.control,
		.msg_controllen = PATH_PLAIN_SIZE,
	};

	memcpy(bytes, packet, piece.iov_len);
	/* Once more: an ICMP error about somebody else may have taken the place of the first. */
	if (sendmsg(fd, &message, MSG_DONTWAIT) < 0 && errno != EAGAIN)
		(void)!sendmsg(fd, &message, MSG_DONTWAIT);
}

/* --- sending --- */

/* Lays out the pieces of one more message; there is room for it. */
static void lay_out(struct tftp_port *port, const struct tftp_blocks *blocks)
{
	unsigned count = blocks->count;
	struct iovec *pieces = port->pieces + (size_t)port->block_count * 2;
	size_t left = blocks->size;
	union {
		const uint8_t *constant;
		uint8_t *plain;
	} bytes = {blocks->bytes};

	for (unsigned i = 0; i < count; i++) {
		size_t size = left < blocks->block_size ? left : blocks->block_size;
		uint8_t *head = port->heads[port->block_count + i];

		tftp_data_head((uint16_t)(blocks->first + i), head);
		pieces[(size_t)i * 2] = (struct iovec){head, TFTP_HEAD_SIZE};
		pieces[(size_t)i * 2 + 1] = (struct iovec){bytes.plain, size};
		if (size > 0)
			bytes.plain += size;
		left -= size;
	}
	port->messages[port->count].msg_hdr = (struct msghdr){
		.msg_name = &blocks->path->client,
		.msg_namelen = sizeof(blocks->path->client),
		.msg_iov = pieces,
		.msg_iovlen = (size_t)count * 2,
		.msg_control = blocks->path->control,
		.msg_controllen = count > 1 ? sizeof(blocks->path->control) : PATH_PLAIN_SIZE,
	};
	port->queue[port->count++] = *blocks;
	port->block_count += count;
}

/* Queues these, which were in the queue before, and nothing else: so there is room. */
static void queue_again(struct tftp_port *port, const struct tftp_blocks *messages, unsigned count)
{
	port->count = 0;
	port->block_count = 0;
	for (unsigned i = 0; i < count; i++)
		lay_out(port, &messages[i]);
}

static void block_on(struct tftp_port *port, int reason)
{
	port->blocked = true;
	if (reason == ENOBUFS)
		loop_timer_arm(port->retry, FULL_WAIT_MS);
	else
		loop_watch_set(port->watch, LOOP_READ | LOOP_WRITE);
}

/* The datagrams of a message one by one, where nobody can cut it. */
static void send_uncut(struct tftp_port *port, unsigned index)
{
	const struct tftp_blocks *blocks = &port->queue[index];
	struct msghdr message = port->messages[index].msg_hdr;
	unsigned count = (unsigned)message.msg_iovlen / 2;

	blocks->path->uncut = true;
	message.msg_controllen = PATH_PLAIN_SIZE;
	message.msg_iovlen = 2;
	for (unsigned i = 0; i < count; i++, message.msg_iov += 2)
		(void)!sendmsg(port->fd, &message, MSG_DONTWAIT); /* lost ones are asked for */
}

/* What becomes of the first message that was not sent. True: it is done with. `retried` is the
 * message that had its second chance. */
static bool tftp_port_settle(struct tftp_port *port, unsigned index, int reason, unsigned *retried)
{
	bool cut = port->messages[index].msg_hdr.msg_controllen > PATH_PLAIN_SIZE;

	if (reason == EAGAIN || reason == ENOBUFS) {
		block_on(port, reason);
		return false;
	}
	if (reason == EFAULT) {
		port->events.on_unreadable(port->events.context, port->queue[index].owner);
		return true;
	}
	if (cut && (reason == EINVAL || reason == EIO || reason == EMSGSIZE ||
		    reason == EOPNOTSUPP || reason == ENOPROTOOPT)) {
		send_uncut(port, index);
		return true;
	}
	/* Perhaps an ICMP error about another client, which says nothing about this message. */
	port->has_errors = true;
	if (*retried == index)
		return true;
	*retried = index;
	return false;
}

static void keep_rest(struct tftp_port *port, unsigned first)
{
	struct tftp_blocks rest[QUEUE_MAX];
	unsigned count = port->count - first;

	memcpy(rest, port->queue + first, count * sizeof(*rest));
	queue_again(port, rest, count);
}

void tftp_port_flush(struct tftp_port *port)
{
	unsigned at = 0;
	unsigned retried = QUEUE_MAX;

	while (at < port->count && !port->blocked) {
		int sent = sendmmsg(port->fd, port->messages + at, port->count - at, MSG_DONTWAIT);

		if (sent > 0)
			at += (unsigned)sent;
		else if (errno != EINTR && tftp_port_settle(port, at, errno, &retried))
			at++;
	}
	if (at == port->count)
		queue_again(port, NULL, 0);
	else if (at > 0)
		keep_rest(port, at);
}

unsigned tftp_port_blocks_max(size_t block_size)
{
	size_t most = MESSAGE_SIZE_MAX / (block_size + TFTP_HEAD_SIZE);

	if (most > SEGMENTS_MAX)
		most = SEGMENTS_MAX;
	return most > 0 ? (unsigned)most : 1;
}

static bool tftp_port_has_room(const struct tftp_port *port, unsigned count)
{
	return port->count < QUEUE_MAX && port->block_count + count <= BLOCKS_MAX;
}

int tftp_port_send(struct tftp_port *port, const struct tftp_blocks *blocks)
{
	unsigned count = blocks->count;

	if (!tftp_port_has_room(port, count))
		tftp_port_flush(port);
	if (!tftp_port_has_room(port, count))
		return -EAGAIN;
	lay_out(port, blocks);
	return 0;
}

void tftp_port_forget(struct tftp_port *port, const struct tftp_transfer *owner)
{
	struct tftp_blocks kept[QUEUE_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < port->count; i++)
		if (port->queue[i].owner != owner)
			kept[count++] = port->queue[i];
	if (count < port->count)
		queue_again(port, kept, count);
}

/* --- receiving --- */

/* ICMP: each entry of the error queue names the client that our datagram was for. */
static void read_errors(struct tftp_port *port)
{
	port->has_errors = false;
	for (unsigned i = 0; i < ERRORS_MAX; i++) {
		uint8_t control[512];
		uint8_t packet[REPLY_SIZE];
		struct sockaddr_in client = {0};
		struct iovec piece = {packet, sizeof(packet)};
		struct msghdr message = {
			.msg_name = &client,
			.msg_namelen = sizeof(client),
			.msg_iov = &piece,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};

		if (recvmsg(port->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return;
		for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head;
		     head = CMSG_NXTHDR(&message, head)) {
			struct sock_extended_err error;

			if (head->cmsg_level != IPPROTO_IP || head->cmsg_type != IP_RECVERR)
				continue;
			memcpy(&error, CMSG_DATA(head), sizeof(error));
			if (error.ee_errno == ECONNREFUSED || error.ee_errno == EHOSTUNREACH)
				port->events.on_gone(port->events.context, port, &client);
		}
	}
}

static void lay_out_replies(struct tftp_port *port)
{
	for (unsigned i = 0; i < REPLIES_MAX; i++) {
		port->reply_pieces[i] = (struct iovec){port->packets[i], REPLY_SIZE};
		port->replies[i].msg_hdr = (struct msghdr){
			.msg_name = &port->clients[i],
			.msg_namelen = sizeof(port->clients[i]),
			.msg_iov = &port->reply_pieces[i],
			.msg_iovlen = 1,
		};
	}
}

static void read_replies(struct tftp_port *port)
{
	int count = recvmmsg(port->fd, port->replies, REPLIES_MAX, MSG_DONTWAIT, NULL);

	if (count < 0)
		port->has_errors = true; /* or a wake-up for nothing */
	for (int i = 0; i < count; i++) {
		port->events.on_packet(port->events.context, port, &port->clients[i],
				       port->packets[i], port->replies[i].msg_len);
		port->replies[i].msg_hdr.msg_namelen = sizeof(port->clients[i]);
	}
}

static void tftp_port_make_room(struct tftp_port *port)
{
	port->blocked = false;
	loop_watch_set(port->watch, LOOP_READ);
	tftp_port_flush(port);
	if (!port->blocked)
		port->events.on_room(port->events.context, port);
}

static void tftp_port_on_ready(void *context, int events)
{
	struct tftp_port *port = context;

	if (events & LOOP_WRITE && port->blocked)
		tftp_port_make_room(port);
	if (events & LOOP_READ)
		read_replies(port);
	tftp_port_flush(port);
	if (port->has_errors)
		read_errors(port);
}

static void tftp_port_on_retry(void *context)
{
	struct tftp_port *port = context;

	tftp_port_make_room(port);
	tftp_port_flush(port);
}

/* --- life --- */

static int tftp_port_open_socket(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1;
	int rc;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	datagram_receive_room(fd, SOCKET_ROOM);
	datagram_send_room(fd, SOCKET_ROOM);
	return fd;
}

int tftp_port_new(struct loop *loop, const struct tftp_port_events *events, struct tftp_port **ret)
{
	struct tftp_port *port = calloc(1, sizeof(*port));
	int rc;

	if (!port)
		return -ENOMEM;
	port->events = *events;
	lay_out_replies(port);
	port->fd = tftp_port_open_socket();
	rc = port->fd < 0 ? port->fd : 0;
	if (rc == 0)
		rc = loop_timer_new(loop, tftp_port_on_retry, port, &port->retry);
	if (rc == 0)
		rc = loop_watch_new(loop, port->fd, LOOP_READ, tftp_port_on_ready, port,
				    &port->watch);
	if (rc) {
		tftp_port_free(port);
		return rc;
	}

	*ret = port;
	return 0;
}

void tftp_port_free(struct tftp_port *port)
{
	if (!port)
		return;
	loop_watch_free(port->watch);
	loop_timer_free(port->retry);
	if (port->fd >= 0)
		close(port->fd);
	free(port);
}

int tftp_port_fd(const struct tftp_port *port)
{
	return port->fd;
}
