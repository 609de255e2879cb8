#include "peregrine/flowd/sample/receiver_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/datagram.h"

enum { IDLE_MS = 50 };

/* A classic BPF program, so that no privilege is needed. */
int receiver_socket_spread(int fd, unsigned count)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + 12),
		BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + 20),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, count),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program))
		       ? -errno
		       : 0;
}

int receiver_socket_open(const struct receiver_options *options, uint16_t port, int *ret_fd,
			 struct problem *problem)
{
	struct sockaddr_storage at = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&at;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&at;
	const int on = 1;
	const int off = 0;
	const struct timeval idle = {.tv_usec = IDLE_MS * 1000L};
	socklen_t size;
	int fd;
	int rc;

	if (inet_pton(AF_INET, options->address, &v4->sin_addr) == 1) {
		at.ss_family = AF_INET;
		v4->sin_port = htons(port);
		size = sizeof(*v4);
	} else if (inet_pton(AF_INET6, options->address, &v6->sin6_addr) == 1) {
		at.ss_family = AF_INET6;
		v6->sin6_port = htons(port);
		size = sizeof(*v6);
	} else {
		return problem_set(problem, -EINVAL, "\"%s\" is not an address", options->address);
	}
	fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		rc = -errno;
		return problem_set(problem, rc, "could not make a socket: %s", error_text(rc));
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (at.ss_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	/* The thread looks at the clock and at `stop` this often when nobody speaks. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	datagram_receive_room(fd, options->buffer_bytes);
	if (bind(fd, (const struct sockaddr *)&at, size)) {
		rc = -errno;
		(void)problem_set(problem, rc, "could not listen on %s port %u/udp: %s",
				  options->address, (unsigned)port, error_text(rc));
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

uint16_t receiver_socket_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.v6 = {0}};
	socklen_t size = sizeof(at);

	if (getsockname(fd, &at.any, &size))
		return 0;
	return ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
}

int receiver_socket_buffer(int fd)
{
	int size = 0;
	socklen_t length = sizeof(size);

	(void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, &length);
	return size;
}
