/* The limit of any sFlow collector: receives datagrams in batches of 64 and reads nothing of them.
 *
 * usage: sflow_sink PORT     (127.0.0.1; ends with SIGTERM, then prints datagrams=N) */
#include <arpa/inet.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { BATCH = 64, SIZE = 9216 };

static volatile sig_atomic_t sflow_sink_ended;

static void sflow_sink_on_signal(int number)
{
	(void)number;
	sflow_sink_ended = 1;
}

int main(int argc, char **argv)
{
	static uint8_t buffers[BATCH][SIZE];
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
	const struct timeval idle = {.tv_usec = 100000};
	struct mmsghdr messages[BATCH] = {0};
	struct iovec parts[BATCH];
	int fd = socket(AF_INET, SOCK_DGRAM, 0), room = 8 << 20;
	unsigned long count = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: sflow_sink PORT\n");
		return 2;
	}
	at.sin_port = htons((uint16_t)strtol(argv[1], NULL, 10));
	(void)signal(SIGTERM, sflow_sink_on_signal);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at))) {
		perror("sflow_sink");
		return 1;
	}
	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){buffers[i], SIZE};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	while (!sflow_sink_ended) {
		int got = recvmmsg(fd, messages, BATCH, MSG_WAITFORONE, NULL);

		if (got > 0)
			count += (unsigned long)got;
	}
	printf("datagrams=%lu\n", count);
	return 0;
}
