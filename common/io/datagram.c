#include "common/io/datagram.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include "common/base/error.h"

static void datagram_room(int fd, int forced, int asked, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) < 0)
		(void)setsockopt(fd, SOL_SOCKET, asked, &bytes, sizeof(bytes));
}

void datagram_receive_room(int fd, int bytes)
{
	datagram_room(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

void datagram_send_room(int fd, int bytes)
{
	datagram_room(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

int datagram_open_frames(int *ret_fd, struct problem *problem)
{
	/* Protocol 0: it hears nothing. */
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = -errno;

	if (fd >= 0) {
		*ret_fd = fd;
		return 0;
	}
	(void)problem_set(problem, rc, "cannot open a packet socket");
	problem_detail(problem, "%s", error_text(rc));
	problem_hint(problem, "start as root, or with CAP_NET_RAW");
	return rc;
}
