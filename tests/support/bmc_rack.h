/* Many light BMCs (rmcp_bmc.h) in one child process on 127.200.0.0/16, one port: user test,
 * password test, power on. Every `dead_every`th is silent (0 = none). */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/rmcp_bmc.h"

enum { RACK_BASE = 0x7fc80001 }; /* 127.200.0.1 */

struct bmc_rack {
	pid_t pid;
	uint16_t port;
	unsigned count, dead_every;
};

static inline bool rack_is_dead(const struct bmc_rack *rack, unsigned index)
{
	return rack->dead_every && index % rack->dead_every == rack->dead_every / 2;
}

static inline void rack_address(unsigned index, char ret[64])
{
	struct in_addr address = {htonl(RACK_BASE + index)};

	(void)inet_ntop(AF_INET, &address, ret, 64);
}

static inline void rack_serve(const struct bmc_rack *rack, int fd, struct rmcp_bmc *bmcs)
{
	uint8_t in[BMC_PACKET];
	uint8_t out[BMC_PACKET];
	union {
		char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
		struct cmsghdr align;
	} control;

	for (;;) {
		struct sockaddr_in from;
		struct iovec part = {in, sizeof(in)};
		struct msghdr message = {.msg_name = &from,
					 .msg_namelen = sizeof(from),
					 .msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control.bytes,
					 .msg_controllen = sizeof(control.bytes)};
		ssize_t size = recvmsg(fd, &message, 0);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		struct in_pktinfo info;
		unsigned index;
		size_t answer;

		if (size < 0 || !header)
			continue;
		memcpy(&info, CMSG_DATA(header), sizeof(info));
		index = ntohl(info.ipi_addr.s_addr) - RACK_BASE;
		if (index >= rack->count || rack_is_dead(rack, index))
			continue;
		answer = rmcp_bmc_answer(&bmcs[index], in, (size_t)size, out);
		if (answer == 0)
			continue;
		part = (struct iovec){out, answer};
		info.ipi_ifindex = 0;
		info.ipi_spec_dst = info.ipi_addr; /* from where it was asked */
		memcpy(CMSG_DATA(header), &info, sizeof(info));
		(void)!sendmsg(fd, &message, 0);
	}
}

/* False when it could not be started. */
static inline bool rack_start(struct bmc_rack *rack)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(RACK_BASE)}};
	struct rmcp_bmc *bmcs = calloc(rack->count, sizeof(*bmcs));
	socklen_t length = sizeof(here);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int size = 8 << 20;
	int one = 1;

	here.sin_addr.s_addr = htonl(INADDR_ANY);
	if (!bmcs || fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&here, sizeof(here)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&here, &length) < 0) {
		free(bmcs);
		return false;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	rack->port = ntohs(here.sin_port);
	for (unsigned i = 0; i < rack->count; i++)
		bmcs[i] =
			(struct rmcp_bmc){.username = "test", .password = "test", .power_on = true};
	rack->pid = fork();
	if (rack->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		rack_serve(rack, fd, bmcs);
	}
	free(bmcs);
	(void)close(fd);
	return rack->pid > 0;
}

static inline void rack_stop(const struct bmc_rack *rack)
{
	(void)kill(rack->pid, SIGKILL);
	(void)waitpid(rack->pid, NULL, 0);
}
