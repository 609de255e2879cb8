/* Finds out whether tenants are kept apart: from the namespace of every node it sends what a node
 * that means ill could send (unicast to all, ARP, multicast, DHCP offers, tagged and double tagged
 * frames), listens in all of them, and holds what is heard against who belongs to whom: the sender
 * when it sent (the frame says so), the receiver when the kernel had it, so that neither a queue of
 * a switch nor a prober that gets no processor makes a frame what it is not.
 *
 *   prober --members FILE [--interval MS] [--report MS] [--seconds N]
 *
 * FILE is read again when it changes and holds from its mtime on (prober_members.h): "probe NAME
 * NETNS INTERFACE TENANT", "tags VID...", "grace MS". Prints "ready probes=N" each time it has read
 * FILE, a line per leak of a new kind between two nodes, with --report the sums now and then, and
 * at the end the sums. Exit status: 0 nothing leaked, 1 something did, 2 it could not look. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/sim/prober/prober_members.h"
#include "tests/sim/prober/prober_wire.h"

#define FILE_LIMIT   ((size_t)1 << 20)
#define HEARD_MS     1500 /* a pair whose last frame is older is silent */
#define LEAK_LINES   1000 /* afterwards leaks are only counted */
#define LOOK_MS      50   /* how often an interface that went away is looked for */
#define SENT_AT_ONCE 16   /* unicast frames per probe and round */

struct point {
	int fd;    /* -1: none */
	bool lost; /* its interface went away; looked for again */
	struct mac mac;
	uint32_t sequence;
	size_t next; /* whom it sends to next */
};

struct prober {
	struct prober_members members;
	struct point points[PROBER_PROBES];
	int64_t heard_ms[PROBER_PROBES][PROBER_PROBES]; /* [from][to] */
	uint8_t told[PROBER_PROBES][PROBER_PROBES];     /* kinds of leaks that have their line */
	uint64_t token, sent, not_sent, received, leaked, lines;
	const char *path;
	struct timespec file_read;
	int home; /* the namespace we started in */
	long interval_ms, report_ms, seconds;
	bool failed;
};

/* Set by a signal handler, read by the loop. */
static volatile sig_atomic_t prober_stopping;

static void prober_on_signal(int number)
{
	(void)number;
	prober_stopping = 1;
}

/* --- points: a packet socket in the namespace of a node --- */

static int prober_enter(const char *netns)
{
	char path[128];
	int fd;
	int rc;

	(void)text_format(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = setns(fd, CLONE_NEWNET) == 0 ? 0 : -errno;
	(void)close(fd);
	return rc;
}

static int prober_open_socket(const char *interface, struct mac *ret_mac, int *ret)
{
	const int one = 1;
	struct ifreq request = {0};
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct packet_mreq all = {.mr_type = PACKET_MR_PROMISC};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = 0;

	if (fd < 0)
		return -errno;
	(void)text_copy(request.ifr_name, sizeof(request.ifr_name), interface);
	if (ioctl(fd, SIOCGIFHWADDR, &request) == 0) {
		memcpy(ret_mac->bytes, request.ifr_hwaddr.sa_data, 6);
		address.sll_ifindex = (int)if_nametoindex(interface);
		all.mr_ifindex = address.sll_ifindex;
	}
	if (address.sll_ifindex == 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) != 0)
		rc = errno != 0 ? -errno : -ENODEV;
	if (rc == 0)
		*ret = fd;
	else
		(void)close(fd);
	return rc;
}

static int point_open(struct prober *prober, size_t i)
{
	const struct prober_probe *probe = &prober->members.probes[i];
	int rc = prober_enter(probe->netns);

	if (rc == 0)
		rc = prober_open_socket(probe->interface, &prober->points[i].mac,
					&prober->points[i].fd);
	if (setns(prober->home, CLONE_NEWNET) != 0)
		return -errno;
	return rc;
}

static size_t active_count(const struct prober *prober)
{
	size_t count = 0;

	for (size_t i = 0; i < prober->members.count; i++)
		count += prober->points[i].fd >= 0;
	return count;
}

static void follow_file(struct prober *prober)
{
	struct stat about = {0};
	char *text = NULL;
	unsigned line = 0;
	size_t size = 0;
	int rc;

	if (stat(prober->path, &about) != 0 || (about.st_mtim.tv_sec == prober->file_read.tv_sec &&
						about.st_mtim.tv_nsec == prober->file_read.tv_nsec))
		return;
	prober->file_read = about.st_mtim;
	rc = file_read(prober->path, FILE_LIMIT, &text, &size);
	if (rc == 0)
		rc = prober_members_follow(&prober->members, text,
					   (int64_t)about.st_mtim.tv_sec * 1000000 +
						   about.st_mtim.tv_nsec / 1000,
					   &line);
	free(text);
	if (rc != 0) {
		(void)fprintf(stderr, "prober: %s:%u: %s\n", prober->path, line, error_text(rc));
		prober->failed = true;
		return;
	}
	for (size_t i = 0; i < prober->members.count; i++) {
		const struct prober_probe *probe = &prober->members.probes[i];
		struct point *point = &prober->points[i];

		if (!probe->active && point->fd >= 0) {
			(void)close(point->fd);
			point->fd = -1;
		} else if (probe->active && point->fd < 0 && !point->lost) {
			rc = point_open(prober, i);
			if (rc != 0) {
				(void)fprintf(stderr, "prober: %s: %s\n", probe->name,
					      error_text(rc));
				prober->failed = true;
			}
		}
	}
	(void)printf("ready probes=%zu\n", active_count(prober));
}

static void find_lost(struct prober *prober)
{
	for (size_t i = 0; i < prober->members.count; i++) {
		struct point *point = &prober->points[i];

		if (point->lost && prober->members.probes[i].active && point_open(prober, i) == 0)
			point->lost = false;
	}
}

/* --- sending --- */

static void send_frame(struct prober *prober, size_t from, struct prober_frame *frame)
{
	struct point *point = &prober->points[from];
	uint8_t data[PROBER_FRAME_ROOM];
	size_t size = 0;

	frame->token = prober->token;
	frame->sender = (uint16_t)from;
	frame->sequence = point->sequence++;
	frame->source = point->mac;
	frame->sent_us = clock_wall_us();
	if (point->fd < 0 || prober_frame_write(frame, data, sizeof(data), &size) != 0)
		return;
	if (send(point->fd, data, size, 0) == (ssize_t)size) {
		prober->sent++;
		return;
	}
	prober->not_sent++;
	if (errno == ENXIO || errno == ENODEV) { /* re-plugged, perhaps */
		(void)close(point->fd);
		point->fd = -1;
		point->lost = true;
	}
}

static uint16_t tag_at(const struct prober_members *members, uint32_t at)
{
	return members->tag_count > 0 ? members->tags[at % members->tag_count] : 0;
}

static void send_round(struct prober *prober, size_t from)
{
	struct point *point = &prober->points[from];
	const struct prober_members *members = &prober->members;
	size_t count = members->count;

	for (size_t i = 0; i < count && i < SENT_AT_ONCE; i++) {
		size_t to = point->next++ % count;

		if (to != from && prober->points[to].fd >= 0)
			send_frame(prober, from,
				   &(struct prober_frame){.kind = PROBER_UNICAST,
							  .target = prober->points[to].mac});
	}
	for (enum prober_kind kind = PROBER_ARP; kind < PROBER_TAGGED; kind++)
		send_frame(prober, from, &(struct prober_frame){.kind = kind});
	for (uint32_t i = 0; i < members->tag_count; i++) {
		/* Each tag alone, and each below another: the pairs change from round to round. */
		uint32_t step = point->sequence / (uint32_t)members->tag_count;

		send_frame(
			prober, from,
			&(struct prober_frame){.kind = PROBER_TAGGED, .outer = tag_at(members, i)});
		send_frame(prober, from,
			   &(struct prober_frame){.kind = PROBER_TWO_TAGS,
						  .outer = tag_at(members, i),
						  .inner = tag_at(members, i + step)});
	}
}

/* --- hearing --- */

/* What the kernel says beside a frame. */
struct arrival {
	int64_t at_us;
	int tag; /* -1: none */
};

static void print_leak(struct prober *prober, const struct prober_frame *frame, size_t to,
		       const struct arrival *arrival)
{
	char at[CLOCK_TEXT_SIZE];
	char sent[CLOCK_TEXT_SIZE];
	char since[CLOCK_TEXT_SIZE];
	char one[64];
	char other[64];
	char seen[16] = "-";

	if (prober->lines++ >= LEAK_LINES)
		return;
	if (arrival->tag >= 0)
		(void)text_format(seen, sizeof(seen), "%d", arrival->tag);
	(void)printf(
		"leak at=%s from=%s tenant=%s to=%s tenant=%s kind=%s sent_tags=%u/%u seen_tag=%s "
		"sequence=%u sent=%s receiver_since=%s\n",
		clock_text(arrival->at_us, at), prober->members.probes[frame->sender].name,
		prober_tenants_text(&prober->members, frame->sender, one, sizeof(one)),
		prober->members.probes[to].name,
		prober_tenants_text(&prober->members, to, other, sizeof(other)),
		prober_kind_words[frame->kind], frame->outer, frame->inner, seen, frame->sequence,
		clock_text(frame->sent_us, sent),
		clock_text(prober->members.probes[to].spans[0].from_us, since));
	(void)fflush(stdout);
}

static struct arrival arrival_of(struct msghdr *message)
{
	struct arrival arrival = {.at_us = clock_wall_us(), .tag = -1};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level == SOL_PACKET && c->cmsg_type == PACKET_AUXDATA) {
			struct tpacket_auxdata about;

			memcpy(&about, CMSG_DATA(c), sizeof(about));
			if (about.tp_status & TP_STATUS_VLAN_VALID)
				arrival.tag = about.tp_vlan_tci & 0xfff;
		} else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
			struct timespec at;

			memcpy(&at, CMSG_DATA(c), sizeof(at));
			arrival.at_us = (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
		}
	}
	return arrival;
}

static void prober_judge(struct prober *prober, const struct prober_frame *frame, size_t to,
			 const struct arrival *arrival)
{
	size_t from = frame->sender;

	if (from >= prober->members.count || from == to)
		return;
	prober->received++;
	prober->heard_ms[from][to] = clock_monotonic_ms();
	if (prober_may_hear(&prober->members, from, frame->sent_us, to, arrival->at_us))
		return;
	prober->leaked++;
	if ((prober->told[from][to] & (1U << frame->kind)) == 0)
		print_leak(prober, frame, to, arrival);
	prober->told[from][to] = (uint8_t)(prober->told[from][to] | (1U << frame->kind));
}

static void prober_hear(struct prober *prober, size_t at)
{
	for (unsigned i = 0; i < 256; i++) {
		uint8_t data[2048];
		uint8_t control[256];
		struct iovec part = {data, sizeof(data)};
		struct msghdr message = {.msg_iov = &part,
					 .msg_iovlen = 1,
					 .msg_control = control,
					 .msg_controllen = sizeof(control)};
		struct prober_frame frame;
		struct arrival arrival;
		ssize_t size = recvmsg(prober->points[at].fd, &message, 0);

		if (size < 0)
			return;
		if (prober_frame_read(data, (size_t)size, prober->token, &frame) != 0)
			continue;
		arrival = arrival_of(&message);
		prober_judge(prober, &frame, at, &arrival);
	}
}

static void hear_all(struct prober *prober, int64_t until_ms)
{
	struct pollfd fds[PROBER_PROBES];
	size_t of[PROBER_PROBES];
	size_t count = 0;
	int64_t left = until_ms - clock_monotonic_ms();
	int ready;

	for (size_t i = 0; i < prober->members.count; i++) {
		if (prober->points[i].fd < 0)
			continue;
		fds[count] = (struct pollfd){.fd = prober->points[i].fd, .events = POLLIN};
		of[count++] = i;
	}
	ready = poll(fds, count, left > 0 ? (int)left : 0);
	follow_file(prober); /* who writes it does so before he asks for the change */
	for (size_t i = 0; ready > 0 && i < count; i++) {
		if (fds[i].revents & (POLLIN | POLLERR)) /* reading takes the error, too */
			prober_hear(prober, of[i]);
	}
}

/* --- sums --- */

static void print_sums(const struct prober *prober, const char *word)
{
	int64_t now = clock_monotonic_ms();
	int64_t wall_us = clock_wall_us();
	size_t pairs = 0;
	size_t heard = 0;

	for (size_t from = 0; from < prober->members.count; from++) {
		for (size_t to = 0; to < prober->members.count; to++) {
			if (from == to || prober->points[from].fd < 0 ||
			    prober->points[to].fd < 0 ||
			    !prober_may_hear(&prober->members, from, wall_us, to, wall_us))
				continue;
			pairs++;
			heard += prober->heard_ms[from][to] > 0 &&
				 now - prober->heard_ms[from][to] < HEARD_MS;
		}
	}
	(void)printf("%s probes=%zu sent=%" PRIu64 " received=%" PRIu64 " pairs=%zu heard=%zu "
		     "not_sent=%" PRIu64 " leaked=%" PRIu64 "\n",
		     word, active_count(prober), prober->sent, prober->received, pairs, heard,
		     prober->not_sent, prober->leaked);
	(void)fflush(stdout);
}

static void prober_run(struct prober *prober)
{
	int64_t start = clock_monotonic_ms();
	int64_t round = start;
	int64_t look = start;
	int64_t report = start + prober->report_ms;

	while (!prober_stopping && !prober->failed) {
		int64_t now = clock_monotonic_ms();

		if (prober->seconds > 0 && now - start >= prober->seconds * 1000)
			break;
		if (now >= look) {
			find_lost(prober);
			look = now + LOOK_MS;
		}
		if (now >= round) {
			for (size_t i = 0; i < prober->members.count; i++) {
				if (prober->points[i].fd >= 0)
					send_round(prober, i);
			}
			round = now + prober->interval_ms;
		}
		if (prober->report_ms > 0 && now >= report) {
			print_sums(prober, "report");
			report = now + prober->report_ms;
		}
		hear_all(prober, look < round ? look : round);
	}
}

static int prober_usage(FILE *out, int status)
{
	(void)fprintf(out,
		      "prober --members FILE [--interval MS] [--report MS] [--seconds N]\n"
		      "FILE, read again when it changes:\n"
		      "  probe NAME NETNS INTERFACE TENANT[,TENANT]...   TENANT -: nobody's\n"
		      "  tags VID...     what nodes try to get out with\n"
		      "  grace MS        how long a node that changes belongs to both\n"
		      "Exit status: 0 nothing leaked, 1 something did, 2 it could not look.\n");
	return status;
}

static int prober_read_options(struct prober *prober, int argc, char **argv)
{
	static const struct option options[] = {
		{"members", required_argument, NULL, 'm'},
		{"interval", required_argument, NULL, 'i'},
		{"report", required_argument, NULL, 'r'},
		{"seconds", required_argument, NULL, 's'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	prober->interval_ms = 100;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'm': prober->path = optarg; break;
		case 'i': prober->interval_ms = strtol(optarg, NULL, 10); break;
		case 'r': prober->report_ms = strtol(optarg, NULL, 10); break;
		case 's': prober->seconds = strtol(optarg, NULL, 10); break;
		case 'h': exit(prober_usage(stdout, 0));
		default: return prober_usage(stderr, 2);
		}
	}
	return prober->path && prober->interval_ms > 0 ? 0 : prober_usage(stderr, 2);
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = prober_on_signal};
	struct prober *prober = calloc(1, sizeof(*prober));
	int status = prober ? prober_read_options(prober, argc, argv) : 2;

	if (status != 0) {
		free(prober);
		return status;
	}
	for (size_t i = 0; i < PROBER_PROBES; i++)
		prober->points[i].fd = -1;
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	prober->home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (prober->home < 0 ||
	    getrandom(&prober->token, sizeof(prober->token), 0) != sizeof(prober->token))
		prober->failed = true;
	prober_run(prober);
	print_sums(prober, "prober");
	status = prober->failed ? 2 : prober->leaked > 0 ? 1 : 0;
	for (size_t i = 0; i < PROBER_PROBES; i++) {
		if (prober->points[i].fd >= 0)
			(void)close(prober->points[i].fd);
	}
	if (prober->home >= 0)
		(void)close(prober->home);
	free(prober);
	return status;
}
