#include "common/tftp/tftp_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/datagram.h"
#include "common/io/served_file.h"
#include "common/net/ipv4.h"
#include "common/net/source_rate.h"
#include "common/tftp/tftp_file.h"
#include "common/tftp/tftp_policy.h"
#include "common/tftp/tftp_port.h"
#include "common/tftp/tftp_wire.h"

LEAKS_LEFT_TO_SANITIZER

#define REQUEST_SIZE  1024 /* of a packet; RFC 2347 allows 512 */
#define LISTENERS_MAX 16
/* The ports that transfers are answered from. Few, so that much goes with each system call; more
 * than one, because a client that begins anew must see another port (RFC 1350 4). */
#define PORTS            4
#define BUCKETS          1024
#define DROPPED_PER_TURN 64
/* Requests that wait: a rack that comes up at once, and a flood. */
#define LISTENER_ROOM (1 << 20)
/* Requests: one boot is half a dozen (EDK2 asks for each file twice), a rack is some hundred. */
#define SOURCE_PER_SECOND 8
#define SOURCE_BURST      64
#define ALL_PER_SECOND    2000
#define ALL_BURST         4000

struct listener {
	struct tftp_server *server;
	int fd;
	struct loop_watch *watch;
};

struct slot { /* a transfer under way */
	struct tftp_server *server;
	struct tftp_transfer *transfer;
	struct tftp_port *port;
	struct tftp_file *file;
	struct sockaddr_in client;
	struct slot *prev, *next;     /* of the same bucket, oldest first */
	struct slot *older, *younger; /* of all */
};

struct tftp_server_bucket { /* of the addresses that share a hash */
	struct slot *slots;
	uint8_t turn; /* the port that the next transfer gets */
};

struct tftp_server {
	struct loop *loop;
	struct tftp_server_options options; /* without addresses */
	struct tftp_counters *counters;
	struct tftp_limits limits;
	struct listener listeners[LISTENERS_MAX];
	size_t listener_count;
	struct tftp_port *ports[PORTS];
	struct tftp_file *files;
	struct source_rate rate;
	struct tftp_server_bucket buckets[BUCKETS];
	struct slot *all;
	unsigned slot_count;
};

/* A packet that came in. */
struct arrival {
	struct sockaddr_in client;
	uint32_t local; /* the address that it was sent to */
	uint8_t data[REQUEST_SIZE];
	size_t size;
};

/* --- refusing --- */

/* Answers from the address that was asked. Lost like any datagram: the client asks again. */
static void tftp_server_send_error(const struct listener *listener, const struct arrival *arrival,
				   enum tftp_error code, const char *text)
{
	uint8_t packet[TFTP_HEAD_SIZE + TFTP_MESSAGE_MAX + 1];
	size_t size = tftp_error_encode(code, text, packet);
	struct tftp_path path;

	tftp_path_init(&path, &arrival->client, arrival->local, 0);
	tftp_path_send(&path, listener->fd, packet, size);
}

static void tftp_server_refuse(const struct listener *listener, const struct arrival *arrival,
			       enum tftp_error code, const char *why, const char *name)
{
	const struct tftp_server *server = listener->server;

	server->counters->refused++;
	if (server->options.on_refusal)
		server->options.on_refusal(server->options.context, &arrival->client, name, why);
	tftp_server_send_error(listener, arrival, code, why);
}

/* --- transfers --- */

static struct tftp_server_bucket *tftp_server_bucket_of(struct tftp_server *server,
							const struct sockaddr_in *client)
{
	uint64_t mixed = (uint64_t)client->sin_addr.s_addr * server->rate.salt;

	return &server->buckets[(mixed ^ mixed >> 32) % BUCKETS];
}

static bool same_client(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

/* NULL when this client has no transfer. */
static struct slot *tftp_server_slot_of(struct tftp_server *server,
					const struct sockaddr_in *client)
{
	struct slot *slot = tftp_server_bucket_of(server, client)->slots;

	while (slot && !same_client(&slot->client, client))
		slot = slot->next;
	return slot;
}

static void slot_free(struct slot *slot)
{
	struct tftp_server *server = slot->server;

	DL_DELETE(tftp_server_bucket_of(server, &slot->client)->slots, slot);
	DL_DELETE2(server->all, slot, older, younger);
	server->slot_count--;
	server->counters->open--;
	tftp_transfer_free(slot->transfer);
	tftp_file_leave(&server->files, slot->file);
	free(slot);
}

static void tftp_server_ended(void *context, struct tftp_transfer *transfer,
			      enum tftp_outcome outcome)
{
	struct slot *slot = context;
	struct tftp_server *server = slot->server;
	struct tftp_counters *counters = server->counters;
	struct tftp_summary summary = tftp_transfer_summary(transfer);

	switch (outcome) {
	case TFTP_OUTCOME_DONE: counters->done++; break;
	case TFTP_OUTCOME_ABORTED: counters->aborted++; break;
	case TFTP_OUTCOME_LOST: counters->lost++; break;
	}
	counters->bytes += summary.bytes;
	counters->blocks_resent += summary.blocks_resent;
	if (server->options.on_end)
		server->options.on_end(server->options.context, &summary, outcome);
	slot_free(slot);
}

/* The same port again is a request that was repeated, or a client that started over. True when
 * there is nothing left to do. */
static bool tftp_server_repeated(struct tftp_server *server, const struct arrival *arrival,
				 const struct tftp_request *request, const char *name)
{
	struct slot *slot = tftp_server_slot_of(server, &arrival->client);

	if (!slot)
		return false;
	if (tftp_transfer_again(slot->transfer, &request->options, name))
		return true;
	tftp_server_ended(slot, slot->transfer, TFTP_OUTCOME_LOST);
	return false;
}

static void tftp_server_evict(struct slot *slot)
{
	slot->server->counters->evicted++;
	tftp_server_ended(slot, slot->transfer, TFTP_OUTCOME_LOST);
}

/* Room for one more: at the limits, a transfer whose client never said more than its request, which
 * may be forged, gives way, the oldest first. False when all of them are real. */
static bool tftp_server_make_room(struct tftp_server *server, const struct arrival *arrival)
{
	struct slot *unheard = NULL;
	unsigned of_client = 0;
	struct slot *slot;

	DL_FOREACH(tftp_server_bucket_of(server, &arrival->client)->slots, slot)
	{
		if (slot->client.sin_addr.s_addr != arrival->client.sin_addr.s_addr)
			continue;
		of_client++;
		if (!unheard && !tftp_transfer_is_heard(slot->transfer))
			unheard = slot;
	}
	if (of_client >= server->options.client_max) {
		if (unheard)
			tftp_server_evict(unheard);
		return unheard;
	}
	if (server->slot_count < server->options.transfers_max)
		return true;
	DL_FOREACH2(server->all, slot, younger)
	{
		if (tftp_transfer_is_heard(slot->transfer))
			continue;
		tftp_server_evict(slot);
		return true;
	}
	return false;
}

/* Takes `fd`. */
static int tftp_server_begin(struct tftp_server *server, const struct arrival *arrival,
			     const struct tftp_request *request, const char *name, int fd,
			     uint64_t size)
{
	struct tftp_server_bucket *bucket = tftp_server_bucket_of(server, &arrival->client);
	struct slot *slot = calloc(1, sizeof(*slot));
	struct tftp_transfer_options options = {
		.local = arrival->local,
		.client = arrival->client,
		.name = name,
		.terms = tftp_terms(&request->options, size, &server->limits),
		.on_end = tftp_server_ended,
		.context = slot,
	};
	int rc;

	if (!slot) {
		close(fd);
		return -ENOMEM;
	}
	*slot = (struct slot){
		.server = server,
		.client = arrival->client,
		.port = server->ports[bucket->turn++ % PORTS],
	};
	rc = tftp_file_use(&server->files, fd, size, &slot->file);
	if (rc) {
		close(fd);
		free(slot);
		return rc;
	}
	options.port = slot->port;
	options.file = slot->file;
	rc = tftp_transfer_new(server->loop, &options, &slot->transfer);
	if (rc) {
		tftp_file_leave(&server->files, slot->file); /* closes `fd` */
		free(slot);
		return rc;
	}
	DL_APPEND(bucket->slots, slot);
	DL_APPEND2(server->all, slot, older, younger);
	server->slot_count++;
	server->counters->open++;
	server->counters->started++;
	tftp_port_flush(slot->port);
	return 0;
}

/* What comes in at the ports of transfers: from a client that has none there, nothing is due. */

static void tftp_server_on_packet(void *context, struct tftp_port *port,
				  const struct sockaddr_in *from, const uint8_t *packet,
				  size_t size)
{
	struct tftp_server *server = context;
	struct slot *slot = tftp_server_slot_of(server, from);

	if (slot && slot->port == port)
		tftp_transfer_take(slot->transfer, packet, size, loop_now_ms(server->loop));
}

static void tftp_server_on_gone(void *context, struct tftp_port *port,
				const struct sockaddr_in *client)
{
	struct slot *slot = tftp_server_slot_of(context, client);

	if (slot && slot->port == port)
		tftp_transfer_lose(slot->transfer);
}

static void on_unreadable(void *context, struct tftp_transfer *owner)
{
	(void)context;
	tftp_transfer_break(owner);
}

static void on_room(void *context, struct tftp_port *port)
{
	const struct tftp_server *server = context;
	struct slot *slot;
	struct slot *next;

	for (slot = server->all; slot; slot = next) {
		next = slot->younger;
		if (slot->port == port && tftp_transfer_is_waiting(slot->transfer))
			tftp_transfer_resume(slot->transfer);
	}
}

/* --- requests --- */

static bool tftp_server_allowed(struct tftp_server *server, const struct arrival *arrival)
{
	bool known = server->options.is_known &&
		     server->options.is_known(server->options.context, &arrival->client);

	return source_rate_allows(&server->rate, ntohl(arrival->client.sin_addr.s_addr), known,
				  loop_now_ms(server->loop));
}

static void tftp_server_serve(const struct listener *listener, const struct arrival *arrival,
			      const struct tftp_request *request)
{
	struct tftp_server *server = listener->server;
	CLEANUP(closep) int fd = -1;
	char name[SERVED_NAME_MAX + 1];
	uint64_t size;
	int rc;

	if (served_file_name(request->name, name)) {
		tftp_server_refuse(listener, arrival, TFTP_ERROR_NOT_FOUND, "no such file", "");
		return;
	}
	if (request->opcode == TFTP_WRQ) {
		tftp_server_refuse(listener, arrival, TFTP_ERROR_ACCESS, "this server only sends",
				   name);
		return;
	}
	if (!request->octet) {
		/* Line ends of a binary would be changed on the way: better no file than a broken
		 * one. */
		tftp_server_refuse(listener, arrival, TFTP_ERROR_OTHER, "only mode octet", name);
		return;
	}
	if (tftp_server_repeated(server, arrival, request, name))
		return;
	rc = server->options.open(server->options.context, &arrival->client, name, &fd, &size);
	if (rc == -EAGAIN) {
		server->counters->postponed++;
		return;
	}
	if (rc) {
		tftp_server_refuse(
			listener, arrival, rc == -EACCES ? TFTP_ERROR_ACCESS : TFTP_ERROR_NOT_FOUND,
			rc == E_NOT_FOUND ? "no such file" : "file cannot be read", name);
		return;
	}
	if (!tftp_server_make_room(server, arrival)) {
		/* Silence: the client asks again, and by then there may be room. */
		server->counters->crowded++;
		return;
	}
	rc = tftp_server_begin(server, arrival, request, name, fd, size);
	fd = -1;
	if (rc)
		tftp_server_refuse(listener, arrival, TFTP_ERROR_OTHER, "no resources", name);
}

/* False for a packet that gets nothing. */
static bool tftp_server_answer(const struct listener *listener, const struct arrival *arrival)
{
	struct tftp_server *server = listener->server;
	struct tftp_request request;
	int rc = tftp_request_decode(arrival->data, arrival->size, &request);

	if (rc == E_UNSUPPORTED)
		return false; /* a late packet of a transfer that is over, or none of TFTP */
	if (!tftp_server_allowed(server, arrival)) {
		server->counters->throttled++; /* an answer may be what a flood is for */
		return false;
	}
	if (rc)
		tftp_server_refuse(listener, arrival, TFTP_ERROR_ILLEGAL, "malformed request", "");
	else
		tftp_server_serve(listener, arrival, &request);
	return true;
}

/* --- listening --- */

/* The address that the packet was sent to, so that the answer comes from it. */
static uint32_t tftp_server_local_of(struct msghdr *message)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); cmsg;
	     cmsg = CMSG_NXTHDR(message, cmsg)) {
		struct in_pktinfo info;

		if (cmsg->cmsg_level != IPPROTO_IP || cmsg->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(cmsg), sizeof(info));
		return ntohl(info.ipi_spec_dst.s_addr);
	}
	return INADDR_ANY;
}

static bool tftp_server_receive(const struct listener *listener, struct arrival *ret)
{
	struct iovec piece = {ret->data, sizeof(ret->data)};
	uint8_t control[256];
	struct msghdr message = {
		.msg_name = &ret->client,
		.msg_namelen = sizeof(ret->client),
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t size = recvmsg(listener->fd, &message, MSG_DONTWAIT);

	if (size < 0)
		return false;
	ret->size = (size_t)size;
	ret->local = tftp_server_local_of(&message);
	return true;
}

/* One request a turn: transfers under way must not wait for those that come, nor those that come
 * find no room because the end of others was not read yet. What gets no answer does not count: a
 * flood must not fill the socket while it is thrown away one by one. */
static void tftp_server_on_ready(void *context, int events)
{
	const struct listener *listener = context;
	struct arrival arrival;

	(void)events;
	for (unsigned i = 0; i < DROPPED_PER_TURN && tftp_server_receive(listener, &arrival); i++)
		if (tftp_server_answer(listener, &arrival))
			return;
}

static int bind_port(uint32_t address, uint16_t port)
{
	struct sockaddr_in local = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(address),
		.sin_port = htons(port),
	};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1;
	int rc;

	if (fd < 0)
		return -errno;
	datagram_receive_room(fd, LISTENER_ROOM);
	if (setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) < 0 ||
	    bind(fd, (const struct sockaddr *)&local, sizeof(local)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

static int listen_at(struct tftp_server *server, uint32_t address, struct problem *problem)
{
	const struct tftp_server_options *options = &server->options;
	struct listener *listener = &server->listeners[server->listener_count];
	uint16_t port = options->any_port ? 0 : options->port;
	char text[IPV4_TEXT_SIZE];
	int fd;
	int rc;

	fd = bind_port(address, port);
	if (fd < 0) {
		(void)problem_set(problem, fd, "the TFTP port cannot be bound");
		problem_detail(problem, "%s:%u: %s", ipv4_text(address, text), port,
			       error_text(fd));
		problem_hint(
			problem,
			fd == -EADDRINUSE
				? "another TFTP server runs here; stop it, or choose other addresses"
				: "check the configured addresses, and start with privileges");
		return fd;
	}
	*listener = (struct listener){.server = server, .fd = fd};
	server->listener_count++;
	rc = loop_watch_new(server->loop, fd, LOOP_READ, tftp_server_on_ready, listener,
			    &listener->watch);
	return rc ? problem_set(problem, rc, "no memory for TFTP") : 0;
}

static int open_ports(struct tftp_server *server, struct problem *problem)
{
	const struct tftp_port_events events = {
		.on_packet = tftp_server_on_packet,
		.on_gone = tftp_server_on_gone,
		.on_unreadable = on_unreadable,
		.on_room = on_room,
		.context = server,
	};
	uint64_t salt;
	int rc = getrandom(&salt, sizeof(salt), 0) == sizeof(salt) ? 0 : -EIO;

	source_rate_init(&server->rate, (struct rate_limit){SOURCE_PER_SECOND, SOURCE_BURST},
			 (struct rate_limit){ALL_PER_SECOND, ALL_BURST}, salt);
	for (size_t i = 0; i < PORTS && !rc; i++)
		rc = tftp_port_new(server->loop, &events, &server->ports[i]);
	return rc ? problem_set(problem, rc, "no ports for TFTP: %s", error_text(rc)) : 0;
}

static void set_defaults(struct tftp_server_options *options)
{
	if (!options->port)
		options->port = 69;
	if (!options->block_max)
		options->block_max = 1468;
	if (!options->window_max)
		options->window_max = 64;
	if (!options->transfers_max)
		options->transfers_max = 1000;
	if (!options->client_max)
		options->client_max = 8;
	options->addresses = NULL; /* the caller's array is not ours to keep */
}

int tftp_server_new(struct loop *loop, const struct tftp_server_options *options,
		    struct tftp_counters *counters, struct tftp_server **ret,
		    struct problem *problem)
{
	struct tftp_server *server;
	int rc = 0;

	if (options->address_count > LISTENERS_MAX)
		return problem_set(problem, E_LIMIT, "more than %d addresses for TFTP",
				   LISTENERS_MAX);
	server = calloc(1, sizeof(*server));
	if (!server)
		return problem_set(problem, -ENOMEM, "no memory for TFTP");
	*server = (struct tftp_server){.loop = loop, .options = *options, .counters = counters};
	set_defaults(&server->options);
	server->limits = (struct tftp_limits){.block_size = server->options.block_max,
					      .window_size = server->options.window_max};
	rc = open_ports(server, problem);
	for (size_t i = 0; i < options->address_count && !rc; i++)
		rc = listen_at(server, options->addresses[i], problem);
	if (rc) {
		tftp_server_free(server);
		return rc;
	}

	*ret = server;
	return 0;
}

void tftp_server_free(struct tftp_server *server)
{
	struct slot *slot;
	struct slot *next;

	if (!server)
		return;
	for (slot = server->all; slot; slot = next) {
		next = slot->younger;
		slot_free(slot);
	}
	for (size_t i = 0; i < PORTS; i++)
		tftp_port_free(server->ports[i]);
	for (size_t i = 0; i < server->listener_count; i++) {
		if (server->listeners[i].watch)
			loop_watch_free(server->listeners[i].watch);
		closep(&server->listeners[i].fd);
	}
	free(server);
}

uint16_t tftp_server_port(const struct tftp_server *server)
{
	struct sockaddr_in local = {0};
	socklen_t size = sizeof(local);

	if (getsockname(server->listeners[0].fd, (struct sockaddr *)&local, &size) < 0)
		return 0;
	return ntohs(local.sin_port);
}
