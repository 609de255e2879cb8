/* Load for DHCPv4 servers, as a relay: every client does one whole exchange (DISCOVER, OFFER,
 * REQUEST, ACK) and never comes again, so N exchanges are N fresh leases. Closed loop (a window of
 * open exchanges) or a rate. No retransmission; an answer later than the limit is lost.
 *
 * usage: dhcp_load SERVER RELAY [key=value...]
 *   clients=N     how many exchanges (1000)        first=N       number of the first client (0)
 *   window=N      exchanges open at once (64)      rate=N        exchanges a second, instead
 *   late_ms=N     what counts as lost (1000)       seconds=N     end after (60)
 *   bound=FILE    writes "mac address" per ACK, flushed before the program ends or is killed
 *   offers=1      ends an exchange with its OFFER
 * Prints key=value words; exit status 0 when an exchange was completed. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BURST       64
#define PACKET      576
#define CLIENTS_MAX 4000000

enum state { IDLE, DISCOVERING, REQUESTING, DONE, LOST };

struct client {
	int64_t began_ns, sent_ns;
	uint32_t address; /* network order, as are all addresses here */
	uint8_t state;
};

struct load {
	int fd;
	struct sockaddr_in server;
	uint32_t relay;
	struct client *clients;
	long count, first, window, rate, late_ms, seconds;
	bool offers_only;
	FILE *bound;
	uint32_t salt; /* of this run, in the transaction numbers */
	long next, open, done, lost, naks, strays, oldest;
	float *took_ms;
	struct mmsghdr out[BURST];
	struct iovec out_parts[BURST];
	uint8_t out_data[BURST][PACKET];
	unsigned out_count;
};

static volatile sig_atomic_t dhcp_load_ended;

static void dhcp_load_on_signal(int number)
{
	(void)number;
	dhcp_load_ended = 1;
}

static int64_t dhcp_load_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void dhcp_load_flush(struct load *load)
{
	unsigned at = 0;

	while (at < load->out_count) {
		int sent = sendmmsg(load->fd, &load->out[at], load->out_count - at, 0);

		at += sent > 0 ? (unsigned)sent : 1;
	}
	load->out_count = 0;
}

static uint8_t *dhcp_load_put(uint8_t *at, uint8_t code, const void *bytes, uint8_t size)
{
	*at++ = code;
	*at++ = size;
	memcpy(at, bytes, size);
	return at + size;
}

static void dhcp_load_mac_of(long number, uint8_t mac[6])
{
	const uint8_t bytes[6] = {2,
				  0xbe,
				  (uint8_t)(number >> 24),
				  (uint8_t)(number >> 16),
				  (uint8_t)(number >> 8),
				  (uint8_t)number};

	memcpy(mac, bytes, sizeof(bytes));
}

static void dhcp_load_send_one(struct load *load, long number, uint8_t type,
			       const uint8_t *server_id)
{
	static const uint8_t cookie[4] = {99, 130, 83, 99};
	static const uint8_t wanted[] = {1, 3, 6, 15, 51, 54, 66, 67};
	struct client *client = &load->clients[number];
	uint8_t *data = load->out_data[load->out_count];
	uint8_t *at = data + 236;
	uint32_t xid = htonl(load->salt | (uint32_t)number);

	memset(data, 0, 300);
	data[0] = 1;
	data[1] = 1;
	data[2] = 6;
	data[3] = 1;
	memcpy(data + 4, &xid, 4);
	memcpy(data + 24, &load->relay, 4);
	dhcp_load_mac_of(load->first + number, data + 28);
	memcpy(at, cookie, 4);
	at = dhcp_load_put(at + 4, 53, &type, 1);
	if (type == 3) {
		at = dhcp_load_put(at, 50, &client->address, 4);
		at = dhcp_load_put(at, 54, server_id, 4);
	}
	at = dhcp_load_put(at, 55, wanted, sizeof(wanted));
	*at++ = 255;
	load->out_parts[load->out_count].iov_len = at - data < 300 ? 300 : (size_t)(at - data);
	client->sent_ns = dhcp_load_now_ns();
	if (type == 1)
		client->began_ns = client->sent_ns;
	client->state = type == 1 ? DISCOVERING : REQUESTING;
	if (++load->out_count == BURST)
		dhcp_load_flush(load);
}

static void dhcp_load_done(struct load *load, long number, const uint8_t *data)
{
	struct client *client = &load->clients[number];
	char address[INET_ADDRSTRLEN];
	uint8_t mac[6];

	client->state = DONE;
	load->open--;
	load->took_ms[load->done++] = (float)(dhcp_load_now_ns() - client->began_ns) / 1e6F;
	if (!load->bound)
		return;
	dhcp_load_mac_of(load->first + number, mac);
	fprintf(load->bound, "%02x:%02x:%02x:%02x:%02x:%02x %s\n", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5], inet_ntop(AF_INET, data + 16, address, sizeof(address)));
}

static void dhcp_load_take(struct load *load, const uint8_t *data, size_t size)
{
	uint8_t type = 0;
	const uint8_t *server_id = NULL;
	struct client *client;
	uint32_t xid;

	if (size < 244 || data[0] != 2)
		return;
	memcpy(&xid, data + 4, 4);
	xid = ntohl(xid);
	if ((xid & 0xff000000U) != load->salt || (long)(xid & 0xffffffU) >= load->count) {
		load->strays++;
		return;
	}
	for (size_t at = 240; at + 2 <= size && data[at] != 255;) {
		if (data[at] == 0) {
			at++;
			continue;
		}
		if (data[at] == 53)
			type = data[at + 2];
		if (data[at] == 54 && at + 6 <= size)
			server_id = &data[at + 2];
		at += 2U + data[at + 1];
	}
	client = &load->clients[xid & 0xffffffU];
	if (type == 2 && client->state == DISCOVERING && server_id) {
		memcpy(&client->address, data + 16, 4);
		if (load->offers_only)
			dhcp_load_done(load, (long)(xid & 0xffffffU), data);
		else
			dhcp_load_send_one(load, (long)(xid & 0xffffffU), 3, server_id);
	} else if (type == 5 && client->state == REQUESTING) {
		dhcp_load_done(load, (long)(xid & 0xffffffU), data);
	} else if (type == 6 && client->state == REQUESTING) {
		client->state = LOST;
		load->naks++;
		load->open--;
	} else {
		load->strays++;
	}
}

static bool dhcp_load_receive(struct load *load)
{
	static uint8_t data[BURST][PACKET];
	static struct iovec parts[BURST];
	static struct mmsghdr in[BURST];
	int count;

	for (unsigned i = 0; i < BURST; i++) {
		parts[i] = (struct iovec){data[i], PACKET};
		in[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	count = recvmmsg(load->fd, in, BURST, MSG_DONTWAIT, NULL);
	for (int i = 0; i < count; i++)
		dhcp_load_take(load, data[i], in[i].msg_len);
	return count == BURST;
}

/* Clients are begun in order, so the oldest open exchange is near `oldest`. */
static void dhcp_load_give_up(struct load *load)
{
	int64_t limit_ns = dhcp_load_now_ns() - load->late_ms * 1000000;

	for (; load->oldest < load->next; load->oldest++) {
		struct client *client = &load->clients[load->oldest];

		if (client->state != DISCOVERING && client->state != REQUESTING)
			continue;
		if (client->sent_ns > limit_ns)
			return;
		client->state = LOST;
		load->lost++;
		load->open--;
	}
}

static void begin_more(struct load *load, int64_t start_ns)
{
	long due = load->rate
			   ? (long)((dhcp_load_now_ns() - start_ns) * load->rate / 1000000000) + 1
			   : load->next + load->window - load->open;

	for (; load->next < load->count && load->next < due; load->next++) {
		load->open++;
		dhcp_load_send_one(load, load->next, 1, NULL);
	}
}

static void pause_until_more(struct load *load, int64_t start_ns)
{
	struct pollfd heard = {.fd = load->fd, .events = POLLIN};
	struct timespec pause = {.tv_nsec = 1000000};

	if (load->rate && load->next < load->count) {
		int64_t wait_ns =
			start_ns + load->next * 1000000000 / load->rate - dhcp_load_now_ns();

		if (wait_ns < pause.tv_nsec)
			pause.tv_nsec = wait_ns > 0 ? wait_ns : 0;
	}
	(void)ppoll(&heard, 1, &pause, NULL);
}

static int dhcp_load_by_value(const void *a, const void *b)
{
	float x = *(const float *)a;
	float y = *(const float *)b;

	return (x > y) - (x < y);
}

static double dhcp_load_percentile(const struct load *load, double part)
{
	return load->done ? (double)load->took_ms[(long)((double)(load->done - 1) * part)] : 0;
}

static int dhcp_load_settings(struct load *load, int count, char **words)
{
	const struct {
		const char *key;
		long *value;
	} rows[] = {{"clients", &load->count},   {"first", &load->first},
		    {"window", &load->window},   {"rate", &load->rate},
		    {"late_ms", &load->late_ms}, {"seconds", &load->seconds}};

	for (int i = 0; i < count; i++) {
		const char *value = strchr(words[i], '=');
		bool known = false;

		if (!value)
			return -EINVAL;
		value++;
		for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
			size_t length = strlen(rows[row].key);

			if (strncmp(words[i], rows[row].key, length) == 0 &&
			    words[i][length] == '=') {
				*rows[row].value = strtol(value, NULL, 10);
				known = true;
			}
		}
		if (strncmp(words[i], "offers=", 7) == 0)
			load->offers_only = known = true;
		if (strncmp(words[i], "bound=", 6) == 0) {
			load->bound = fopen(value, "w");
			known = load->bound != NULL;
		}
		if (!known)
			return -EINVAL;
	}
	return load->count > 0 && load->count <= CLIENTS_MAX && load->window > 0 ? 0 : -EINVAL;
}

static int open_relay(struct load *load)
{
	const int queue = 8 << 20;
	struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(67)};

	local.sin_addr.s_addr = load->relay;
	load->fd = socket(AF_INET, SOCK_DGRAM, 0);
	(void)setsockopt(load->fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof(queue));
	(void)setsockopt(load->fd, SOL_SOCKET, SO_SNDBUFFORCE, &queue, sizeof(queue));
	for (unsigned i = 0; i < BURST; i++) {
		load->out_parts[i].iov_base = load->out_data[i];
		load->out[i].msg_hdr = (struct msghdr){.msg_name = &load->server,
						       .msg_namelen = sizeof(load->server),
						       .msg_iov = &load->out_parts[i],
						       .msg_iovlen = 1};
	}
	return bind(load->fd, (const struct sockaddr *)&local, sizeof(local));
}

int main(int argc, char **argv)
{
	static struct load load = {.count = 1000, .window = 64, .late_ms = 1000, .seconds = 60};
	int64_t start_ns;
	double took_s;

	load.server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(67)};
	if (argc < 3 || inet_pton(AF_INET, argv[1], &load.server.sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[2], &load.relay) != 1 ||
	    dhcp_load_settings(&load, argc - 3, argv + 3)) {
		fputs("usage: see the head of dhcp_load.c\n", stderr);
		return 2;
	}
	load.clients = calloc((size_t)load.count, sizeof(*load.clients));
	load.took_ms = calloc((size_t)load.count, sizeof(*load.took_ms));
	load.salt = ((uint32_t)getpid() & 0x7fU) << 24;
	if (!load.clients || !load.took_ms || open_relay(&load)) {
		perror("dhcp_load");
		return 2;
	}
	(void)signal(SIGTERM, dhcp_load_on_signal);
	start_ns = dhcp_load_now_ns();
	while (!dhcp_load_ended && (load.next < load.count || load.open > 0) &&
	       dhcp_load_now_ns() - start_ns < load.seconds * 1000000000) {
		begin_more(&load, start_ns);
		dhcp_load_flush(&load);
		pause_until_more(&load, start_ns);
		while (dhcp_load_receive(&load))
			;
		dhcp_load_flush(&load);
		dhcp_load_give_up(&load);
	}
	took_s = (double)(dhcp_load_now_ns() - start_ns) / 1e9;
	if (load.bound)
		(void)fclose(load.bound);
	qsort(load.took_ms, (size_t)load.done, sizeof(float), dhcp_load_by_value);
	printf("done=%ld lost=%ld naks=%ld strays=%ld seconds=%.3f per_s=%.0f p50_ms=%.3f p99_ms=%.3f\n",
	       load.done, load.lost + load.open, load.naks, load.strays, took_s,
	       (double)load.done / took_s, dhcp_load_percentile(&load, 0.5),
	       dhcp_load_percentile(&load, 0.99));
	return load.done > 0 ? 0 : 1;
}
