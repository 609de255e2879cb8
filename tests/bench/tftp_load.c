// links: common_base
/* Load for tests/bench/tftp: many TFTP read clients (RFC 1350, 2347-2349, 7440) in one process,
 * each with an address of its own, on one socket, so that the clients cost little of the machine
 * that they share with the server. Every byte is compared with the file.
 *
 *   tftp_load SERVER FIRST_ADDRESS FILE NAME CLIENTS FILES WINDOW SECONDS
 *
 * CLIENTS run at once until FILES were fetched or SECONDS are over; file number i is fetched from
 * FIRST_ADDRESS + i, which must be a local address (ip route add local PREFIX dev lo). Prints
 * key=value fields; exit 1 when nothing came or a byte was wrong. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/macros.h"

#define TFTP_LOAD_BLOCK_SIZE 1456 /* what is asked: a full frame even behind a tag or a tunnel */
#define PACKET_SIZE          2048
#define BATCH                64
#define PATIENCE_MS          1000
#define TRIES_MAX            8

enum state { IDLE, ASKED, RUNNING };

struct client {
	enum state state;
	uint32_t file; /* number: which address it has */
	unsigned tries, in_window, window, block_size;
	uint64_t next; /* block wanted */
	bool gap;      /* said already what is held */
	uint16_t server_port;
	int64_t heard_ms;
};

struct control {
	_Alignas(struct cmsghdr) uint8_t room[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

struct outgoing {
	unsigned count;
	struct mmsghdr messages[BATCH];
	struct iovec pieces[BATCH];
	struct sockaddr_in to[BATCH];
	struct control controls[BATCH];
	uint8_t data[BATCH][256];
};

struct load {
	int fd;
	struct sockaddr_in server;
	uint32_t first_address;
	const uint8_t *content;
	uint64_t size;
	const char *name;
	unsigned client_count, file_count, window;
	uint32_t begun, done, failed;
	uint64_t bytes, wrong, resent;
	unsigned granted_window;
	struct client *clients;
	uint32_t *client_of_file;
	struct outgoing out;
};

static void tftp_load_flush(struct load *load)
{
	unsigned at = 0;

	while (at < load->out.count) {
		int sent = sendmmsg(load->fd, load->out.messages + at, load->out.count - at, 0);

		if (sent <= 0 && errno != EINTR)
			at++; /* as lost on the wire */
		else if (sent > 0)
			at += (unsigned)sent;
	}
	load->out.count = 0;
}

/* Queues a packet of `size` bytes from the client's address; the caller fills it. */
static uint8_t *packet_to(struct load *load, const struct client *client, uint16_t port,
			  size_t size)
{
	struct outgoing *out = &load->out;
	unsigned i;
	struct cmsghdr *head;
	struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(load->first_address + client->file)};

	if (out->count == BATCH)
		tftp_load_flush(load);
	i = out->count++;
	out->to[i] = load->server;
	out->to[i].sin_port = port;
	out->pieces[i] = (struct iovec){out->data[i], size};
	out->messages[i].msg_hdr = (struct msghdr){
		.msg_name = &out->to[i],
		.msg_namelen = sizeof(out->to[i]),
		.msg_iov = &out->pieces[i],
		.msg_iovlen = 1,
		.msg_control = out->controls[i].room,
		.msg_controllen = sizeof(out->controls[i].room),
	};
	head = CMSG_FIRSTHDR(&out->messages[i].msg_hdr);
	head->cmsg_level = IPPROTO_IP;
	head->cmsg_type = IP_PKTINFO;
	head->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(head), &info, sizeof(info));
	return out->data[i];
}

static void tftp_load_ask(struct load *load, const struct client *client)
{
	char text[256];
	int size = snprintf(text, sizeof(text), "%c%c%s%coctet%cblksize%c%d%c", 0, 1, load->name, 0,
			    0, 0, TFTP_LOAD_BLOCK_SIZE, 0);

	if (load->window > 1)
		size += snprintf(text + size, sizeof(text) - (size_t)size, "windowsize%c%u%c", 0,
				 load->window, 0);
	memcpy(packet_to(load, client, load->server.sin_port, (size_t)size), text, (size_t)size);
}

static void tftp_load_acknowledge(struct load *load, struct client *client, uint64_t block)
{
	uint8_t *packet = packet_to(load, client, client->server_port, 4);

	packet[0] = 0;
	packet[1] = 4;
	packet[2] = (uint8_t)(block >> 8);
	packet[3] = (uint8_t)block;
	client->in_window = 0;
}

static void tftp_load_begin(struct load *load, struct client *client)
{
	*client = (struct client){
		.window = 1, .block_size = 512, .next = 1, .heard_ms = clock_monotonic_ms()};
	if (load->begun == load->file_count)
		return;
	client->state = ASKED;
	client->file = load->begun++;
	load->client_of_file[client->file] = (uint32_t)(client - load->clients);
	tftp_load_ask(load, client);
}

static void tftp_load_take_oack(struct load *load, struct client *client, const uint8_t *packet,
				size_t size)
{
	const char *at = (const char *)packet + 2;
	const char *end = (const char *)packet + size;

	while (at < end) {
		const char *value = at + strnlen(at, (size_t)(end - at)) + 1;

		if (value >= end)
			break;
		if (strcasecmp(at, "blksize") == 0)
			client->block_size = (unsigned)strtoul(value, NULL, 10);
		if (strcasecmp(at, "windowsize") == 0)
			client->window = (unsigned)strtoul(value, NULL, 10);
		at = value + strnlen(value, (size_t)(end - value)) + 1;
	}
	load->granted_window = client->window;
	tftp_load_acknowledge(load, client, 0);
}

static void tftp_load_take_data(struct load *load, struct client *client, const uint8_t *packet,
				size_t size)
{
	uint16_t block = (uint16_t)(packet[2] << 8 | packet[3]);
	uint64_t offset = (client->next - 1) * client->block_size;
	bool last = size - 4 < client->block_size;

	if (block != (uint16_t)client->next) {
		if ((int16_t)(block - (uint16_t)client->next) > 0 && !client->gap) {
			client->gap = true;
			load->resent++;
			tftp_load_acknowledge(load, client, client->next - 1);
		}
		return;
	}
	if (offset + size - 4 > load->size ||
	    memcmp(load->content + offset, packet + 4, size - 4) != 0 ||
	    (last && offset + size - 4 != load->size))
		load->wrong++;
	client->gap = false;
	client->tries = 0;
	load->bytes += size - 4;
	if (++client->in_window >= client->window || last)
		tftp_load_acknowledge(load, client, client->next);
	client->next++;
	if (last) {
		load->done++;
		tftp_load_begin(load, client);
	}
}

static void tftp_load_take(struct load *load, uint32_t address, uint16_t port,
			   const uint8_t *packet, size_t size, int64_t now_ms)
{
	uint32_t file = address - load->first_address;
	struct client *client;

	if (size < 4 || file >= load->begun)
		return;
	client = &load->clients[load->client_of_file[file]];
	if (client->state == IDLE || client->file != file ||
	    (client->state == RUNNING && client->server_port != port))
		return;
	client->heard_ms = now_ms;
	if (packet[1] == 5) {
		load->failed++;
		tftp_load_begin(load, client);
		return;
	}
	if (client->state == ASKED) {
		client->server_port = port;
		client->state = RUNNING;
		if (packet[1] == 6) {
			tftp_load_take_oack(load, client, packet, size);
			return;
		}
	}
	if (packet[1] == 3)
		tftp_load_take_data(load, client, packet, size);
}

static uint32_t receiver_of(struct msghdr *message)
{
	struct in_pktinfo info = {0};

	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head))
		if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO)
			memcpy(&info, CMSG_DATA(head), sizeof(info));
	return ntohl(info.ipi_addr.s_addr);
}

static void tftp_load_receive(struct load *load)
{
	static uint8_t data[BATCH][PACKET_SIZE];
	struct mmsghdr messages[BATCH] = {0};
	struct iovec pieces[BATCH];
	struct sockaddr_in from[BATCH] = {0};
	struct control controls[BATCH];
	int64_t now_ms;
	int count;

	for (unsigned i = 0; i < BATCH; i++) {
		pieces[i] = (struct iovec){data[i], PACKET_SIZE};
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = &from[i],
			.msg_namelen = sizeof(from[i]),
			.msg_iov = &pieces[i],
			.msg_iovlen = 1,
			.msg_control = controls[i].room,
			.msg_controllen = sizeof(controls[i].room),
		};
	}
	count = recvmmsg(load->fd, messages, BATCH, MSG_DONTWAIT, NULL);
	now_ms = clock_monotonic_ms();
	for (int i = 0; i < count; i++)
		tftp_load_take(load, receiver_of(&messages[i].msg_hdr), from[i].sin_port, data[i],
			       messages[i].msg_len, now_ms);
	tftp_load_flush(load);
}

/* Who heard nothing says its last word again. */
static void tftp_load_repeat(struct load *load)
{
	int64_t now_ms = clock_monotonic_ms();

	for (unsigned i = 0; i < load->client_count; i++) {
		struct client *client = &load->clients[i];

		if (client->state == IDLE || now_ms - client->heard_ms < PATIENCE_MS)
			continue;
		client->heard_ms = now_ms;
		client->gap = false;
		load->resent++;
		if (++client->tries > TRIES_MAX) {
			load->failed++;
			tftp_load_begin(load, client);
		} else if (client->state == ASKED) {
			tftp_load_ask(load, client);
		} else {
			tftp_load_acknowledge(load, client, client->next - 1);
		}
	}
	tftp_load_flush(load);
}

static int tftp_load_open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in any = {.sin_family = AF_INET};
	int one = 1;
	int room = 32 << 20;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0) {
		perror("tftp_load: socket");
		exit(1);
	}
	return fd;
}

static void map_file(struct load *load, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	void *at;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0) {
		perror(path);
		exit(1);
	}
	load->size = (uint64_t)status.st_size;
	at = mmap(NULL, load->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (at == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	load->content = at;
	close(fd);
}

int main(int argc, char **argv)
{
	static struct load load = {.server = {.sin_family = AF_INET}, .granted_window = 1};
	struct in_addr first;
	int64_t begin_ms = 0;
	int64_t limit_ms;
	int64_t elapsed_ms;
	int64_t scanned_ms;

	if (argc != 9 || inet_pton(AF_INET, argv[1], &load.server.sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[2], &first) != 1 || strlen(argv[4]) > 100) {
		fprintf(stderr, "usage: tftp_load SERVER FIRST_ADDRESS FILE NAME CLIENTS FILES "
				"WINDOW SECONDS\n");
		return 2;
	}
	load.server.sin_port = htons(69);
	load.first_address = ntohl(first.s_addr);
	map_file(&load, argv[3]);
	load.name = argv[4];
	load.client_count = (unsigned)strtoul(argv[5], NULL, 10);
	load.file_count = (unsigned)strtoul(argv[6], NULL, 10);
	load.window = (unsigned)strtoul(argv[7], NULL, 10);
	limit_ms = (int64_t)strtoul(argv[8], NULL, 10) * 1000;
	load.clients = calloc(load.client_count + 1, sizeof(*load.clients));
	load.client_of_file = calloc(load.file_count + 1, sizeof(*load.client_of_file));
	if (!load.clients || !load.client_of_file)
		return 1;
	load.fd = tftp_load_open_socket();

	scanned_ms = begin_ms = clock_monotonic_ms();
	for (unsigned i = 0; i < load.client_count; i++)
		tftp_load_begin(&load, &load.clients[i]);
	tftp_load_flush(&load);
	while (load.done + load.failed < load.file_count &&
	       clock_monotonic_ms() - begin_ms < limit_ms) {
		struct pollfd ready = {.fd = load.fd, .events = POLLIN};

		if (poll(&ready, 1, 50) > 0)
			tftp_load_receive(&load);
		if (clock_monotonic_ms() - scanned_ms > 50) {
			tftp_load_repeat(&load);
			scanned_ms = clock_monotonic_ms();
		}
	}
	elapsed_ms = clock_monotonic_ms() - begin_ms;
	printf("clients=%u window=%u files=%u failed=%u wrong=%llu resent=%llu bytes=%llu "
	       "seconds=%.3f MB_s=%.2f\n",
	       load.client_count, load.granted_window, load.done, load.failed,
	       (unsigned long long)load.wrong, (unsigned long long)load.resent,
	       (unsigned long long)load.bytes, (double)elapsed_ms / 1e3,
	       (double)load.bytes / 1e3 / (double)(elapsed_ms > 0 ? elapsed_ms : 1));
	return load.bytes == 0 || load.wrong > 0;
}
