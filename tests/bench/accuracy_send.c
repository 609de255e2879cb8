/* Flows whose frames are known, out of the namespaces of nodes: each a UDP 5-tuple with a number
 * of frames, sent at random moments of its own part of the time, all flows among one another at an
 * even rate. What the kernel took is counted; that is the truth the estimates are held against.
 *
 * usage: accuracy_send SECONDS SEED <FLOWS
 * FLOWS, a line each:  NETNS INTERFACE TARGET_MAC SOURCE SOURCE_PORT TARGET TARGET_PORT SIZE FRAMES
 *   SIZE: bytes of the Ethernet frame without its checksum; 0 = 60, 590 and 1514 by chance
 * Prints for each flow, in their order: FRAMES BYTES SQUARES (the sum of their squared sizes) */
// links: common_net
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/net/frame_wire.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"
#include "common/net/wire.h"

enum {
	FRAME = 1514,
	LEAST = 60,
	HEADERS = ETHER_HDR_LEN + FRAME_HEADERS_SIZE,
	POINT_LIMIT = 64,
	FLOW_LIMIT = 65536
};

/* A NIC that is sent from. */
struct point {
	char netns[64];
	struct mac mac;
	int fd;
};

struct flow {
	const struct point *point;
	struct mac target_mac;
	struct frame_ends ends;
	uint32_t size, frames;
	uint64_t sent, bytes, squares;
};

struct moment {
	double at;
	uint32_t flow;
};

static uint64_t accuracy_send_state;

/* splitmix64 (Vigna), as a fraction below 1. */
static double accuracy_send_chance(void)
{
	uint64_t z = (accuracy_send_state += 0x9e3779b97f4a7c15U);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static int64_t accuracy_send_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void accuracy_send_die(const char *what)
{
	(void)fprintf(stderr, "accuracy_send: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* --- where from --- */

static void open_point(struct point *point, const char *netns, const char *interface)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET};
	struct ifreq request = {0};
	char path[128];
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int fd;

	(void)text_copy(point->netns, sizeof(point->netns), netns);
	(void)text_format(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (home < 0 || fd < 0 || setns(fd, CLONE_NEWNET))
		accuracy_send_die(path);
	(void)close(fd);
	point->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	(void)text_copy(request.ifr_name, sizeof(request.ifr_name), interface);
	address.sll_ifindex = (int)if_nametoindex(interface);
	if (point->fd < 0 || ioctl(point->fd, SIOCGIFHWADDR, &request) ||
	    bind(point->fd, (const struct sockaddr *)&address, sizeof(address)))
		accuracy_send_die(interface);
	memcpy(point->mac.bytes, request.ifr_hwaddr.sa_data, sizeof(point->mac.bytes));
	if (setns(home, CLONE_NEWNET))
		accuracy_send_die("setns");
	(void)close(home);
}

static const struct point *point_of(struct point *points, size_t *count, const char *netns,
				    const char *interface)
{
	for (size_t i = 0; i < *count; i++)
		if (strcmp(points[i].netns, netns) == 0)
			return &points[i];
	if (*count == POINT_LIMIT) {
		errno = ENOSPC;
		accuracy_send_die("too many nodes");
	}
	open_point(&points[*count], netns, interface);
	return &points[(*count)++];
}

/* --- what --- */

static size_t read_flows(struct flow *flows, struct point *points)
{
	char netns[64];
	char interface[16];
	char mac[32];
	char source[32];
	char target[32];
	unsigned source_port;
	unsigned target_port;
	unsigned size;
	unsigned frames;
	size_t point_count = 0;
	size_t count = 0;

	/* our own bench wrote it */
	/* NOLINTNEXTLINE(cert-err34-c) */
	while (scanf("%63s %15s %31s %31s %u %31s %u %u %u", netns, interface, mac, source,
		     &source_port, target, &target_port, &size, &frames) == 9) {
		struct flow *flow = &flows[count++];

		if (count == FLOW_LIMIT || mac_parse(mac, &flow->target_mac) ||
		    ipv4_parse(source, &flow->ends.source) ||
		    ipv4_parse(target, &flow->ends.target) || size > FRAME ||
		    (size && size < LEAST)) {
			errno = EINVAL;
			accuracy_send_die(netns);
		}
		flow->ends.source_port = (uint16_t)source_port;
		flow->ends.target_port = (uint16_t)target_port;
		flow->size = size;
		flow->frames = frames;
		flow->point = point_of(points, &point_count, netns, interface);
	}
	return count;
}

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a;
	const struct moment *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* When which flow sends: each at random within its own part of the time. */
static struct moment *accuracy_send_plan(const struct flow *flows, size_t count, size_t *ret_count)
{
	struct moment *moments;
	size_t total = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		total += flows[i].frames;
	moments = calloc(total + 1, sizeof(*moments));
	if (!moments)
		accuracy_send_die("memory");
	for (size_t i = 0; i < count; i++) {
		double length = 0.05 + 0.95 * accuracy_send_chance();
		double begin = accuracy_send_chance() * (1 - length);

		for (uint32_t j = 0; j < flows[i].frames; j++)
			moments[at++] = (struct moment){begin + accuracy_send_chance() * length,
							(uint32_t)i};
	}
	qsort(moments, total, sizeof(*moments), by_time);
	*ret_count = total;
	return moments;
}

static void accuracy_send_one(struct flow *flow)
{
	static const uint32_t mix[] = {LEAST, 590, FRAME};
	static const uint8_t payload[FRAME];
	uint8_t frame[FRAME];
	uint32_t size = flow->size ? flow->size : mix[(unsigned)(accuracy_send_chance() * 3)];
	struct wire_writer out = wire_writer(frame, sizeof(frame));
	size_t packet;

	wire_put_bytes(&out, flow->target_mac.bytes, 6);
	wire_put_bytes(&out, flow->point->mac.bytes, 6);
	wire_put_u16(&out, ETHERTYPE_IP);
	if (frame_encode(&flow->ends, payload, size - HEADERS, frame + ETHER_HDR_LEN,
			 sizeof(frame) - ETHER_HDR_LEN, &packet))
		accuracy_send_die("frame");
	while (send(flow->point->fd, frame, size, 0) < 0) {
		if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
			accuracy_send_die("send");
		(void)usleep(200);
	}
	flow->sent++;
	flow->bytes += size;
	flow->squares += (uint64_t)size * size;
}

int main(int argc, char **argv)
{
	static struct point points[POINT_LIMIT];
	static struct flow flows[FLOW_LIMIT];
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
	size_t count;
	size_t total;

	if (argc != 3 || seconds <= 0) {
		(void)fprintf(stderr, "usage: accuracy_send SECONDS SEED <FLOWS\n");
		return 2;
	}
	accuracy_send_state = strtoull(argv[2], NULL, 10);
	count = read_flows(flows, points);
	struct moment *moments = accuracy_send_plan(flows, count, &total);
	int64_t begin = accuracy_send_now_ns();

	for (size_t i = 0; i < total; i++) {
		int64_t due = begin + (int64_t)(seconds * 1e9 * (double)i / (double)total);
		int64_t early = due - accuracy_send_now_ns();

		/* in small bursts: a machine of two cores has timers of some 60 us */
		if (early > 500000)
			(void)usleep((useconds_t)(early / 1000));
		accuracy_send_one(&flows[moments[i].flow]);
	}
	for (size_t i = 0; i < count; i++)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", flows[i].sent, flows[i].bytes,
		       flows[i].squares);
	(void)fprintf(stderr, "accuracy_send: %zu frames in %.1f s\n", total,
		      (double)(accuracy_send_now_ns() - begin) / 1e9);
	free(moments);
	return 0;
}
