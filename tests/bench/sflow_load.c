/* A stream of sFlow v5 datagrams as many switches send it: `flows` conversations over `agents`
 * switches, Ethernet headers of 128 bytes, up to 7 samples a datagram, every sequence number and
 * pool right, so that a collector can say what it lost. Datagrams are made before the clock starts
 * and only their counters are rewritten, so that the sender costs little beside the kernel.
 *
 * usage: sflow_load ADDRESS PORT [key=value...]
 *   agents=N    switches (500); agent N calls itself 10.224.0.0 + N
 *   flows=N     different conversations (100000)     per=N      samples a datagram (7)
 *   rate=N      samples a second; 0 = as fast as it goes (0)    seconds=N   (5)
 *   sampling=N  1 in N (1000)     ports=N  ports of a switch (48)     seed=N  (1)
 *   burst=N     datagrams a system call (32)
 *   vlan=1      with the extended switch record (1001); then 6 samples fit a datagram
 *   own=1       each switch sends from an address of its own, 127.224.0.0 + N, as switches do;
 *               else all from one
 * Prints key=value words; exit status 0 when all was sent. */
// links: common_net
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/net/wire.h"

enum { HEADER = 128, PACKET = 1500, PER_LIMIT = 7, BURST_LIMIT = 64 };

struct load {
	long agents, flows, per, rate, seconds, sampling, ports, seed, burst, vlan, own;
};

/* Room for the source address of one datagram (ip(7), IP_PKTINFO). */
struct source {
	_Alignas(struct cmsghdr) uint8_t room[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

/* One prepared datagram, and where its counters stand. */
struct prepared {
	uint32_t agent;
	uint16_t size, samples;
	uint16_t sample_at[PER_LIMIT]; /* of each sample's sequence; its pool is 12 further */
	uint8_t bytes[PACKET];
};

struct sflow_load_agent_state {
	uint32_t sequence, sample_sequence, pool;
};

static uint64_t sflow_load_state = 1;

static uint32_t random_below(uint32_t limit)
{
	sflow_load_state ^= sflow_load_state << 13;
	sflow_load_state ^= sflow_load_state >> 7;
	sflow_load_state ^= sflow_load_state << 17;
	return (uint32_t)((sflow_load_state >> 20) % limit);
}

static int64_t sflow_load_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The frame of conversation `flow`: two nodes of 40,000, a TCP or UDP port of its own. */
static void put_frame(struct wire_writer *out, uint32_t flow, uint32_t frame_bytes)
{
	uint32_t from = flow % 40000;
	uint32_t to = (flow * 7 + 13) % 40000;
	struct wire_writer begin = *out;

	for (int i = 0; i < 2; i++) {
		wire_put_u16(out, 0x0200);
		wire_put_u32(out, i ? from : to);
	}
	wire_put_u16(out, 0x0800);
	wire_put_u16(out, 0x4500);
	wire_put_u16(out, (uint16_t)(frame_bytes - 14));
	wire_put_u32(out, 0);
	wire_put_u16(out, (uint16_t)(0x4000 | (flow % 5 ? 6 : 17)));
	wire_put_u16(out, 0);
	wire_put_u32(out, 0x0a000000 + from);
	wire_put_u32(out, 0x0a000000 + to);
	wire_put_u16(out, (uint16_t)(1024 + flow % 60000));
	wire_put_u16(out, (uint16_t)(5000 + flow / 60000));
	wire_put_zeros(out, HEADER - (wire_written(out) - wire_written(&begin)));
}

static void put_sample(struct wire_writer *out, struct prepared *to, const struct load *load,
		       uint32_t flow)
{
	uint32_t input = 1 + flow % (uint32_t)load->ports;
	uint32_t output = 1 + (flow / 7 + 1) % (uint32_t)load->ports;
	uint32_t frame_bytes = flow % 3 ? 1514 : 64 + flow % 1000;

	wire_put_u32(out, 1); /* flow sample */
	wire_put_u32(out, 32 + 8 + 16 + HEADER + (load->vlan ? 8 + 16 : 0));
	to->sample_at[to->samples++] = (uint16_t)wire_written(out);
	wire_put_u32(out, 0);            /* sequence */
	wire_put_u32(out, 2U << 24 | 1); /* one source: the whole switch, as Open vSwitch has it */
	wire_put_u32(out, (uint32_t)load->sampling);
	wire_put_u32(out, 0); /* pool */
	wire_put_u32(out, 0); /* drops */
	wire_put_u32(out, input);
	wire_put_u32(out, output);
	wire_put_u32(out, load->vlan ? 2 : 1);
	wire_put_u32(out, 1); /* sampled header */
	wire_put_u32(out, 16 + HEADER);
	wire_put_u32(out, 1);
	wire_put_u32(out, frame_bytes + 4);
	wire_put_u32(out, 4);
	wire_put_u32(out, HEADER);
	put_frame(out, flow, frame_bytes);
	if (!load->vlan)
		return;
	wire_put_u32(out, 1001); /* extended switch */
	wire_put_u32(out, 16);
	wire_put_u32(out, 100 + flow % 2000);
	wire_put_u32(out, 0);
	wire_put_u32(out, 100 + flow % 2000);
	wire_put_u32(out, 0);
}

static void sflow_load_prepare(struct prepared *to, const struct load *load, uint32_t agent,
			       uint32_t *flow)
{
	struct wire_writer out = wire_writer(to->bytes, sizeof(to->bytes));

	*to = (struct prepared){.agent = agent};
	wire_put_u32(&out, 5);
	wire_put_u32(&out, 1);
	wire_put_u32(&out, 0x0ae00000 + agent);
	wire_put_zeros(&out, 4 + 4 + 4);
	wire_put_u32(&out, (uint32_t)load->per);
	for (long i = 0; i < load->per; i++) {
		put_sample(&out, to, load, *flow);
		*flow = (*flow + 1) % (uint32_t)load->flows;
	}
	to->size = (uint16_t)wire_written(&out);
}

static void put_at(struct prepared *to, size_t at, uint32_t value)
{
	uint32_t big = htonl(value);

	memcpy(to->bytes + at, &big, sizeof(big));
}

static void count_on(struct prepared *to, struct sflow_load_agent_state *agents,
		     const struct load *load, uint32_t uptime_ms)
{
	struct sflow_load_agent_state *agent = &agents[to->agent];

	put_at(to, 16, ++agent->sequence);
	put_at(to, 20, uptime_ms);
	for (unsigned i = 0; i < to->samples; i++) {
		agent->pool += (uint32_t)load->sampling;
		put_at(to, to->sample_at[i], ++agent->sample_sequence);
		put_at(to, (size_t)to->sample_at[i] + 12, agent->pool);
	}
}

static int sflow_load_option(struct load *load, const char *text)
{
	static const char *const names[] = {
		"agents=", "flows=", "per=",   "rate=", "seconds=", "sampling=",
		"ports=",  "seed=",  "burst=", "vlan=", "own="};
	long *const values[] = {&load->agents,  &load->flows,    &load->per,   &load->rate,
				&load->seconds, &load->sampling, &load->ports, &load->seed,
				&load->burst,   &load->vlan,     &load->own};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(text, names[i], strlen(names[i]))) {
			*values[i] = strtol(text + strlen(names[i]), NULL, 10);
			return 0;
		}
	return -EINVAL;
}

static void send_from(struct msghdr *message, struct source *source, uint32_t agent)
{
	const struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(0x7fe00000 + agent)};
	struct cmsghdr *head;

	message->msg_control = source->room;
	message->msg_controllen = sizeof(source->room);
	head = CMSG_FIRSTHDR(message);
	head->cmsg_len = CMSG_LEN(sizeof(info));
	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = IP_PKTINFO;
	memcpy(CMSG_DATA(head), &info, sizeof(info));
}

static long sflow_load_send_all(int fd, struct prepared *all, long count,
				struct sflow_load_agent_state *agents, const struct load *load)
{
	struct mmsghdr messages[BURST_LIMIT] = {0};
	struct iovec parts[BURST_LIMIT];
	struct source sources[BURST_LIMIT];
	int64_t begin = sflow_load_now_ns();
	int64_t end = begin + load->seconds * 1000000000LL;
	long sent = 0;
	long at = 0;

	for (int64_t now = begin; now < end; now = sflow_load_now_ns()) {
		long due = load->rate ? (long)((double)(now - begin) / 1e9 * (double)load->rate /
					       (double)load->per)
				      : sent + load->burst;
		unsigned n = 0;
		int rc;

		if (due <= sent) {
			const struct timespec pause = {.tv_nsec = 100000};

			(void)nanosleep(&pause, NULL);
			continue;
		}
		for (; n < (unsigned)load->burst && sent + (long)n < due; n++) {
			struct prepared *next = &all[at];

			at = (at + 1) % count;
			count_on(next, agents, load, (uint32_t)((now - begin) / 1000000));
			parts[n] = (struct iovec){next->bytes, next->size};
			messages[n].msg_hdr =
				(struct msghdr){.msg_iov = &parts[n], .msg_iovlen = 1};
			if (load->own)
				send_from(&messages[n].msg_hdr, &sources[n], next->agent);
		}
		for (unsigned done = 0; done < n; done += (unsigned)rc) {
			rc = sendmmsg(fd, messages + done, n - done, 0);
			if (rc <= 0 && errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
				return -errno;
			if (rc <= 0)
				rc = 0;
		}
		sent += n;
	}
	return sent;
}

int main(int argc, char **argv)
{
	struct load load = {.agents = 500,
			    .flows = 100000,
			    .per = 7,
			    .seconds = 5,
			    .sampling = 1000,
			    .ports = 48,
			    .seed = 1,
			    .burst = 32};
	struct sockaddr_in to = {.sin_family = AF_INET};
	struct sflow_load_agent_state *agents;
	struct prepared *all;
	uint32_t flow = 0;
	long count;
	long sent;
	int64_t begin;
	int fd;

	if (argc < 3 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1) {
		fprintf(stderr, "usage: sflow_load ADDRESS PORT [key=value...]\n");
		return 2;
	}
	to.sin_port = htons((uint16_t)strtol(argv[2], NULL, 10));
	for (int i = 3; i < argc; i++)
		if (sflow_load_option(&load, argv[i])) {
			fprintf(stderr, "sflow_load: \"%s\" is no option\n", argv[i]);
			return 2;
		}
	if (load.agents < 1 || load.agents > 60000 || load.flows < 1 || load.per < 1 ||
	    load.per > PER_LIMIT - !!load.vlan || load.burst < 1 || load.burst > BURST_LIMIT ||
	    load.ports < 2) {
		fprintf(stderr, "sflow_load: a number is out of its range\n");
		return 2;
	}
	sflow_load_state = (uint64_t)load.seed * 0x9e3779b97f4a7c15U | 1;
	count = (load.flows + load.per - 1) / load.per;
	if (count < load.agents)
		count = load.agents;
	all = calloc((size_t)count, sizeof(*all));
	agents = calloc((size_t)load.agents, sizeof(*agents));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (!all || !agents || fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to))) {
		perror("sflow_load");
		return 1;
	}
	for (long i = 0; i < count; i++)
		sflow_load_prepare(&all[i], &load, (uint32_t)(i % load.agents), &flow);
	for (long i = count - 1; i > 0; i--) { /* agents do not take turns */
		long j = random_below((uint32_t)i + 1);
		struct prepared other = all[i];

		all[i] = all[j];
		all[j] = other;
	}
	begin = sflow_load_now_ns();
	sent = sflow_load_send_all(fd, all, count, agents, &load);
	if (sent < 0) {
		fprintf(stderr, "sflow_load: could not send: %s\n", strerror((int)-sent));
		return 1;
	}
	printf("datagrams=%ld samples=%ld seconds=%.3f\n", sent, sent * load.per,
	       (double)(sflow_load_now_ns() - begin) / 1e9);
	free(all);
	free(agents);
	close(fd);
	return 0;
}
