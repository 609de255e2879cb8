#include "bampi/bmc/rmcp_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/io/datagram.h"

enum { BATCH = 64, TURNS = 8 };
enum { BUFFER_SIZE = 8 << 20 }; /* a datagram of 100 bytes counts as 768 in it */
enum { GOODBYE_MS = 500 };

/* An address and port in one comparable form. */
struct rmcp_client_place {
	uint8_t address[16];
	uint16_t port;
	uint16_t family;
};

/* Those at one place: several only when two nodes name the same BMC. */
struct stop {
	struct rmcp_client_place place;
	struct rmcp_peer *peers;
	UT_hash_handle hh;
};

struct rmcp_peer {
	struct rmcp_client *client;
	struct stop *stop;
	struct sockaddr_storage address;
	socklen_t address_size;
	struct rmcp_session session;
	struct loop_timer *timer;
	bool leaving; /* freed by its user; goes when its session is closed */
	rmcp_answer_fn fn;
	void *context;
	struct rmcp_peer *prev, *next;
};

struct outgoing {
	struct rmcp_peer *peer; /* whose it is; NULL = it is gone */
	struct sockaddr_storage address;
	socklen_t address_size;
	size_t size;
	struct fence *fence;
	uint8_t bytes[RMCP_PACKET_MAX];
};

/* One per address family, made when it is needed. */
struct socket {
	int fd; /* -1 = not yet */
	struct loop_watch *watch;
	struct outgoing out[BATCH];
	size_t out_count;
};

struct rmcp_client {
	struct loop *loop;
	int64_t keep_ms;
	struct rmcp_wire *wire;
	struct socket sockets[2]; /* IPv4, IPv6 */
	struct loop_timer *flush;
	struct stop *stops;
	struct rmcp_client_stats stats;      /* of what is gone, and of packets */
	struct sockaddr_storage from[BATCH]; /* of `in` */
	uint8_t in[BATCH][RMCP_PACKET_MAX];
};

/* --- sockets --- */

static struct socket *socket_of(struct rmcp_client *client, int family)
{
	return &client->sockets[family == AF_INET6];
}

/* We were stopped since it was made. */
static void rmcp_client_unsent(struct outgoing *out)
{
	struct rmcp_peer *peer = out->peer;

	if (!peer || rmcp_session_fence(&peer->session) != out->fence)
		return;
	rmcp_session_unsent(&peer->session, clock_monotonic_ms());
	loop_timer_arm(peer->timer, 0);
}

static void flush_socket(struct rmcp_client *client, struct socket *socket)
{
	struct mmsghdr messages[BATCH] = {0};
	struct iovec parts[BATCH];
	size_t count = 0;
	size_t at = 0;

	for (size_t i = 0; i < socket->out_count; i++) {
		struct outgoing *out = &socket->out[i];
		bool holds = fence_holds(out->fence);

		if (!holds)
			rmcp_client_unsent(out);
		fence_unref(out->fence);
		if (!holds)
			continue;
		parts[count] = (struct iovec){out->bytes, out->size};
		messages[count].msg_hdr = (struct msghdr){.msg_name = &out->address,
							  .msg_namelen = out->address_size,
							  .msg_iov = &parts[count],
							  .msg_iovlen = 1};
		count++;
	}
	while (at < count) {
		int sent = sendmmsg(socket->fd, messages + at, (unsigned)(count - at),
				    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS))
			break; /* lost, like one on the way: it is sent again in time */
		client->stats.packets_out += sent > 0 ? (uint64_t)sent : 0;
		at += sent > 0 ? (size_t)sent : 1; /* this one has no route */
	}
	socket->out_count = 0;
}

static void rmcp_client_flush(void *context)
{
	struct rmcp_client *client = context;

	for (size_t i = 0; i < COUNT_OF(client->sockets); i++)
		flush_socket(client, &client->sockets[i]);
}

static void peer_send(void *context, const void *data, size_t size)
{
	struct rmcp_peer *peer = context;
	struct socket *socket = socket_of(peer->client, peer->address.ss_family);
	struct outgoing *out;

	if (socket->out_count == BATCH)
		flush_socket(peer->client, socket);
	if (socket->out_count == 0)
		loop_timer_arm(peer->client->flush, 0);
	out = &socket->out[socket->out_count++];
	out->peer = peer;
	out->address = peer->address;
	out->address_size = peer->address_size;
	out->size = size;
	out->fence = fence_ref(rmcp_session_fence(&peer->session));
	memcpy(out->bytes, data, size);
}

static struct rmcp_io peer_io(struct rmcp_peer *peer)
{
	return (struct rmcp_io){.wire = peer->client->wire,
				.now_ms = clock_monotonic_ms(),
				.send = peer_send,
				.random = randombytes_buf,
				.context = peer};
}

/* --- peers --- */

static void add_stats(struct rmcp_client_stats *stats, const struct rmcp_session *session)
{
	stats->resent += session->resent;
	stats->opened += session->opened;
	stats->lost += session->lost;
	stats->forged += session->forged;
	stats->late += session->late;
}

static void peer_gone(struct rmcp_peer *peer)
{
	struct rmcp_client *client = peer->client;
	struct socket *socket = socket_of(client, peer->address.ss_family);

	for (size_t i = 0; i < socket->out_count; i++) {
		if (socket->out[i].peer == peer)
			socket->out[i].peer = NULL;
	}
	add_stats(&client->stats, &peer->session);
	DL_DELETE(peer->stop->peers, peer);
	if (!peer->stop->peers) {
		HASH_DEL(client->stops, peer->stop);
		free(peer->stop);
	}
	loop_timer_free(peer->timer);
	rmcp_session_done(&peer->session);
	free(peer);
}

/* After each change of the session. The peer may be gone afterwards. */
static void peer_settle(struct rmcp_peer *peer, const struct rmcp_outcome *outcome)
{
	int64_t due_ms = rmcp_session_due_ms(&peer->session);
	int64_t now_ms = clock_monotonic_ms();
	rmcp_answer_fn fn = peer->fn;

	if (peer->leaving && peer->session.state == RMCP_CLOSED) {
		peer_gone(peer);
		return;
	}
	if (due_ms == INT64_MAX)
		loop_timer_disarm(peer->timer);
	else
		loop_timer_arm(peer->timer, due_ms > now_ms ? due_ms - now_ms : 0);
	if (outcome->event == RMCP_NOTHING)
		return;
	peer->fn = NULL;
	fn(peer->context, outcome->event == RMCP_ANSWERED ? &outcome->answer : NULL,
	   outcome->event == RMCP_ANSWERED ? NULL : &outcome->problem);
}

static void peer_due(void *context)
{
	struct rmcp_peer *peer = context;
	struct rmcp_io io = peer_io(peer);
	struct rmcp_outcome outcome = {0};

	rmcp_session_due(&peer->session, &io, &outcome);
	peer_settle(peer, &outcome);
}

static void rmcp_client_place_of(const struct sockaddr_storage *address,
				 struct rmcp_client_place *ret)
{
	*ret = (struct rmcp_client_place){.family = address->ss_family};
	if (address->ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const void *)address;

		memcpy(ret->address, &six->sin6_addr, sizeof(six->sin6_addr));
		ret->port = six->sin6_port;
	} else {
		const struct sockaddr_in *four = (const void *)address;

		memcpy(ret->address, &four->sin_addr, sizeof(four->sin_addr));
		ret->port = four->sin_port;
	}
}

static struct stop *stop_find(const struct rmcp_client *client,
			      const struct sockaddr_storage *address)
{
	struct stop *stop = NULL;
	struct rmcp_client_place place;

	rmcp_client_place_of(address, &place);
	HASH_FIND(hh, client->stops, &place, sizeof(place), stop);
	return stop;
}

static void take_packet(struct rmcp_client *client, const struct sockaddr_storage *from,
			const uint8_t *data, size_t size)
{
	const struct stop *stop = stop_find(client, from);
	struct rmcp_peer *peer = NULL;
	struct rmcp_outcome outcome = {0};
	enum rmcp_kind kind;
	uint32_t console_id;

	client->stats.packets_in++;
	if (stop && rmcp_peek(data, size, &kind, &console_id) == 0) {
		DL_FOREACH(stop->peers, peer)
		{
			if (console_id == 0 || peer->session.exchange.console_id == console_id)
				break;
		}
	}
	if (!peer) {
		client->stats.strange++;
		return;
	}
	struct rmcp_io io = peer_io(peer);

	rmcp_session_heard(&peer->session, &io, data, size, &outcome);
	peer_settle(peer, &outcome);
}

/* True when there may be more. */
static bool take_batch(struct rmcp_client *client, struct socket *socket)
{
	struct mmsghdr messages[BATCH] = {0};
	struct iovec parts[BATCH];
	struct sockaddr_storage *from = client->from;
	int got;

	for (size_t i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){client->in[i], sizeof(client->in[i])};
		messages[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
						      .msg_namelen = sizeof(from[i]),
						      .msg_iov = &parts[i],
						      .msg_iovlen = 1};
	}
	got = recvmmsg(socket->fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++) {
		if (messages[i].msg_hdr.msg_flags & MSG_TRUNC)
			client->stats.strange++;
		else
			take_packet(client, &from[i], client->in[i], messages[i].msg_len);
	}
	return got == BATCH;
}

static void rmcp_client_on_readable(void *context, int events)
{
	struct rmcp_client *client = context;

	(void)events;
	for (size_t i = 0; i < COUNT_OF(client->sockets); i++) {
		struct socket *socket = &client->sockets[i];

		for (int turn = 0; socket->fd >= 0 && turn < TURNS; turn++) {
			if (!take_batch(client, socket))
				break;
		}
	}
}

static int socket_open(struct rmcp_client *client, int family)
{
	struct socket *one = socket_of(client, family);
	int rc;

	if (one->fd >= 0)
		return 0;
	one->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (one->fd < 0)
		return -errno;
	datagram_receive_room(one->fd, BUFFER_SIZE);
	rc = loop_watch_new(client->loop, one->fd, LOOP_READ, rmcp_client_on_readable, client,
			    &one->watch);
	if (rc) {
		(void)close(one->fd);
		one->fd = -1;
	}
	return rc;
}

/* --- for users --- */

static int address_parse(const char *text, unsigned port, struct sockaddr_storage *ret,
			 socklen_t *ret_size)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	*ret = (struct sockaddr_storage){0};
	if (inet_pton(AF_INET, text, &four.sin_addr) == 1) {
		memcpy(ret, &four, sizeof(four));
		*ret_size = sizeof(four);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
		memcpy(ret, &six, sizeof(six));
		*ret_size = sizeof(six);
		return 0;
	}
	return -EINVAL;
}

bool rmcp_address_is_literal(const char *address)
{
	struct sockaddr_storage ignored;
	socklen_t size;

	return address_parse(address, 0, &ignored, &size) == 0;
}

static int stop_join(struct rmcp_peer *peer)
{
	struct stop *stop = stop_find(peer->client, &peer->address);

	if (!stop) {
		stop = calloc(1, sizeof(*stop));
		if (!stop)
			return -ENOMEM;
		rmcp_client_place_of(&peer->address, &stop->place);
		HASH_ADD(hh, peer->client->stops, place, sizeof(stop->place), stop);
	}
	peer->stop = stop;
	DL_APPEND(stop->peers, peer);
	return 0;
}

int rmcp_peer_new(struct rmcp_client *client, const struct bmc_endpoint *endpoint,
		  struct rmcp_peer **ret, struct problem *problem)
{
	struct rmcp_peer *peer = calloc(1, sizeof(*peer));
	int rc;

	if (!peer)
		return problem_set(problem, -ENOMEM, "no memory for a BMC");
	peer->client = client;
	rc = rmcp_session_init(&peer->session, endpoint, RMCP_PRIVILEGE_OPERATOR, client->keep_ms,
			       problem);
	if (rc)
		goto err_peer;
	rc = address_parse(endpoint->address, peer->session.port, &peer->address,
			   &peer->address_size);
	if (rc == 0)
		rc = socket_open(client, peer->address.ss_family);
	if (rc == 0)
		rc = loop_timer_new(client->loop, peer_due, peer, &peer->timer);
	if (rc)
		goto err_problem;
	rc = stop_join(peer);
	if (rc)
		goto err_timer;
	*ret = peer;
	return 0;

err_timer:
	loop_timer_free(peer->timer);
err_problem:
	problem_set(problem, rc, "node %s: its BMC at %s cannot be reached: %s", endpoint->node,
		    endpoint->address, error_text(rc));
err_peer:
	rmcp_session_done(&peer->session);
	free(peer);
	return rc;
}

void rmcp_peer_free(struct rmcp_peer *peer)
{
	const struct rmcp_outcome nothing = {.event = RMCP_NOTHING};

	if (!peer)
		return;
	struct rmcp_io io = peer_io(peer);

	peer->leaving = true;
	peer->fn = NULL;
	rmcp_session_forget(&peer->session);
	rmcp_session_end(&peer->session, &io);
	peer_settle(peer, &nothing);
}

void rmcp_peer_ask(struct rmcp_peer *peer, const struct rmcp_ask *ask, int64_t deadline_ms,
		   rmcp_answer_fn fn, void *context)
{
	const struct rmcp_outcome nothing = {.event = RMCP_NOTHING};
	struct rmcp_io io = peer_io(peer);

	peer->fn = fn;
	peer->context = context;
	rmcp_session_ask(&peer->session, &io, ask, deadline_ms);
	peer_settle(peer, &nothing);
}

void rmcp_peer_forget(struct rmcp_peer *peer)
{
	const struct rmcp_outcome nothing = {.event = RMCP_NOTHING};

	peer->fn = NULL;
	rmcp_session_forget(&peer->session);
	peer_settle(peer, &nothing);
}

void rmcp_client_stats(const struct rmcp_client *client, struct rmcp_client_stats *ret)
{
	const struct stop *stop;
	const struct rmcp_peer *peer;

	*ret = client->stats;
	for (stop = client->stops; stop; stop = stop->hh.next) {
		DL_FOREACH(stop->peers, peer)
		{
			ret->peers += !peer->leaving;
			ret->sessions += peer->session.state == RMCP_ACTIVE;
			add_stats(ret, &peer->session);
		}
	}
}

int rmcp_client_new(struct loop *loop, int64_t keep_ms, struct rmcp_client **ret)
{
	struct rmcp_client *client = calloc(1, sizeof(*client));
	int rc;

	if (!client)
		return -ENOMEM;
	client->loop = loop;
	client->keep_ms = keep_ms;
	for (size_t i = 0; i < COUNT_OF(client->sockets); i++)
		client->sockets[i].fd = -1;
	rc = rmcp_wire_new(&client->wire);
	if (rc == 0)
		rc = loop_timer_new(loop, rmcp_client_flush, client, &client->flush);
	if (rc) {
		rmcp_client_free(client);
		return rc;
	}
	*ret = client;
	return 0;
}

/* The loop does not turn any more: hears the last answers by itself. */
static void wait_for_goodbyes(struct rmcp_client *client)
{
	int64_t end_ms = clock_monotonic_ms() + GOODBYE_MS;
	struct pollfd polls[2] = {{client->sockets[0].fd, POLLIN, 0},
				  {client->sockets[1].fd, POLLIN, 0}};

	rmcp_client_flush(client);
	for (int64_t left_ms = GOODBYE_MS; client->stops && left_ms > 0;
	     left_ms = end_ms - clock_monotonic_ms()) {
		if (poll(polls, COUNT_OF(polls), (int)left_ms) > 0)
			rmcp_client_on_readable(client, LOOP_READ);
	}
}

void rmcp_client_free(struct rmcp_client *client)
{
	if (!client)
		return;
	wait_for_goodbyes(client);
	while (client->stops)
		peer_gone(client->stops->peers);
	for (size_t i = 0; i < COUNT_OF(client->sockets); i++) {
		loop_watch_free(client->sockets[i].watch);
		if (client->sockets[i].fd >= 0)
			(void)close(client->sockets[i].fd);
	}
	loop_timer_free(client->flush);
	rmcp_wire_free(client->wire);
	free(client);
}
