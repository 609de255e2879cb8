/* DHCP snooping and relay of a lab switch, which Open vSwitch in userspace has not:
 *
 *   switch_relay --database SOCKET --control SOCKET --openflow SOCKET --rules FILE --name SWITCH
 *                --svi PORT... --server ADDRESS... [--format ios|ios-text|comware|sonic] [--trust
 * PORT]...
 *
 * runs in the switch's namespace. A --svi is an internal port of the bridge with an address: the
 * gateway of its VLAN. Access ports of that VLAN are its edge, looked up again whenever somebody
 * asks. There, what clients broadcast to port 67 goes to the CPU (a packet socket) and nowhere
 * else, gets giaddr and option 82 with the port that it came in by, and is routed to the servers; a
 * reply leaves by the port that its option 82 names, and by no other; what only servers say is
 * dropped. Rules with cookie 0x82 in the bridge do the keeping away, beside those of switch_agent.
 *
 * Prints "ready edge=p1,p2" whenever the edge changes, and a line per message. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"
#include "common/net/frame_wire.h"

#include "tests/sim/switch/switch_relay_edge.h"

#define SERVER_PORT    67
#define CLIENT_PORT    68
#define LOOK_MS        250
#define TYPE_AT        12 /* of an Ethernet frame */
#define FRAMES_AT_ONCE 64
#define LINES_MAX      20000

/* --- what is said --- */

static void switch_relay_tell(struct relay *relay, const char *what, const struct edge *edge,
			      const uint8_t *mac, const char *verdict)
{
	struct mac client;
	char text[MAC_TEXT_SIZE];

	if (relay->lines++ >= LINES_MAX)
		return;
	memcpy(client.bytes, mac, sizeof(client.bytes));
	(void)printf("%s port=%s vlan=%u mac=%s %s\n", what, edge ? edge->name : "-",
		     edge ? relay->svis[edge->svi].vlan : 0U, mac_text(client, text), verdict);
	(void)fflush(stdout);
}

static void switch_relay_on_timer(void *context)
{
	struct relay *relay = context;

	relay_edges_look(relay);
	loop_timer_arm(relay->timer, LOOK_MS);
}

/* --- from clients to servers --- */

static void send_server(const struct relay *relay, uint32_t server, const uint8_t *data,
			size_t size)
{
	const struct sockaddr_in peer = {.sin_family = AF_INET,
					 .sin_port = htons(SERVER_PORT),
					 .sin_addr.s_addr = htonl(server)};

	if (sendto(relay->udp, data, size, MSG_DONTWAIT, (const struct sockaddr *)&peer,
		   sizeof(peer)) < 0)
		(void)fprintf(stderr, "switch_relay: to a server: %s\n", error_text(-errno));
}

static void switch_relay_take_request(struct edge *edge, const struct switch_relay_frame *frame,
				      const uint8_t *source)
{
	struct relay *relay = edge->relay;
	uint32_t giaddr = relay->svis[edge->svi].address;
	uint8_t message[SWITCH_RELAY_ROOM];
	size_t size = 0;
	enum switch_relay_verdict verdict = switch_relay_request(frame->data, frame->size, giaddr,
								 &edge->option, message, &size);

	switch_relay_tell(relay, "request", edge, source, switch_relay_verdict_words[verdict]);
	for (size_t i = 0; i < relay->server_count && verdict == SWITCH_RELAY_FORWARD; i++)
		send_server(relay, relay->servers[i], message, size);
}

static bool was_tagged(struct msghdr *header)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		struct tpacket_auxdata about;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&about, CMSG_DATA(c), sizeof(about));
		return about.tp_status & TP_STATUS_VLAN_VALID;
	}
	return false;
}

static void on_frames(void *context, int events)
{
	struct edge *edge = context;
	struct relay *relay = edge->relay;

	(void)events;
	for (int i = 0; i < FRAMES_AT_ONCE; i++) {
		uint8_t data[SWITCH_RELAY_ROOM];
		struct iovec part = {data, sizeof(data)};
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct msghdr header = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control)};
		ssize_t size = recvmsg(edge->fd, &header, MSG_DONTWAIT);
		struct switch_relay_frame frame;

		if (size < 0)
			return;
		if (header.msg_flags & MSG_TRUNC || was_tagged(&header))
			continue;
		frame = switch_relay_look(data, (size_t)size);
		if (frame.kind == SWITCH_RELAY_SERVER)
			switch_relay_tell(relay, "rogue", edge, data + 6, "dropped");
		if (frame.kind != SWITCH_RELAY_CLIENT)
			continue;
		if (!relay_edge_stays(relay, edge))
			return;
		switch_relay_take_request(edge, &frame, data + 6);
	}
}

/* --- from servers to clients --- */

static void send_client(const struct relay *relay, const struct edge *edge,
			const struct switch_relay_reply *reply)
{
	const struct frame_ends ends = {relay->svis[edge->svi].address,
					reply->broadcast ? UINT32_MAX : reply->address, SERVER_PORT,
					CLIENT_PORT};
	const uint16_t type = htons(ETHERTYPE_IP);
	uint8_t frame[ETH_HLEN + FRAME_HEADERS_SIZE + SWITCH_RELAY_ROOM];
	size_t size = 0;

	if (reply->broadcast)
		memset(frame, 0xff, ETH_ALEN);
	else
		memcpy(frame, reply->client.bytes, ETH_ALEN);
	memcpy(frame + ETH_ALEN, relay->mac.bytes, ETH_ALEN);
	memcpy(frame + TYPE_AT, &type, sizeof(type));
	if (frame_encode(&ends, reply->message, reply->size, frame + ETH_HLEN,
			 sizeof(frame) - ETH_HLEN, &size) != 0 ||
	    send(edge->fd, frame, ETH_HLEN + size, MSG_DONTWAIT) < 0)
		(void)fprintf(stderr, "switch_relay: %s: the reply is lost\n", edge->name);
}

static const struct edge *edge_of(const struct relay *relay, const struct switch_relay_reply *reply)
{
	for (size_t i = 0; i < relay->edge_count; i++) {
		const struct edge *edge = relay->edges[i];

		if (edge->option.size == reply->option.size &&
		    memcmp(edge->option.bytes, reply->option.bytes, edge->option.size) == 0 &&
		    relay->svis[edge->svi].address == reply->giaddr)
			return edge;
	}
	return NULL;
}

static bool switch_relay_is_server(const struct relay *relay, const struct sockaddr_in *peer)
{
	for (size_t i = 0; i < relay->server_count; i++) {
		if (htonl(relay->servers[i]) == peer->sin_addr.s_addr)
			return peer->sin_port == htons(SERVER_PORT);
	}
	return false;
}

static void on_replies(void *context, int events)
{
	struct relay *relay = context;

	(void)events;
	for (int i = 0; i < FRAMES_AT_ONCE; i++) {
		static const uint8_t nobody[6];
		struct switch_relay_reply reply;
		struct sockaddr_in peer = {0};
		socklen_t peer_size = sizeof(peer);
		uint8_t data[SWITCH_RELAY_ROOM];
		ssize_t size = recvfrom(relay->udp, data, sizeof(data), MSG_DONTWAIT,
					(struct sockaddr *)&peer, &peer_size);
		enum switch_relay_verdict verdict;
		const struct edge *edge;

		if (size < 0 && (errno == EINTR || errno == ECONNREFUSED))
			continue; /* a server answered an earlier message with ICMP */
		if (size < 0)
			return;
		if (!switch_relay_is_server(relay, &peer))
			continue;
		verdict = switch_relay_reply(data, (size_t)size, &reply);
		edge = verdict == SWITCH_RELAY_FORWARD ? edge_of(relay, &reply) : NULL;
		if (verdict == SWITCH_RELAY_FORWARD && !edge)
			verdict = SWITCH_RELAY_NOT_OURS;
		switch_relay_tell(relay, "reply", edge, edge ? reply.client.bytes : nobody,
				  switch_relay_verdict_words[verdict]);
		if (edge)
			send_client(relay, edge, &reply);
	}
}

/* --- start and end --- */

static int relay_open(struct relay *relay)
{
	const struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(SERVER_PORT)};
	int rc = loop_new(&relay->loop);

	relay->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (rc == 0 && (relay->udp < 0 ||
			bind(relay->udp, (const struct sockaddr *)&local, sizeof(local)) != 0))
		rc = -errno;
	if (rc == 0)
		rc = loop_watch_new(relay->loop, relay->udp, LOOP_READ, on_replies, relay,
				    &relay->udp_watch);
	if (rc == 0)
		rc = loop_timer_new(relay->loop, switch_relay_on_timer, relay, &relay->timer);
	if (rc == 0)
		rc = switch_ovs_new(relay->database, relay->control, "br0", &relay->ovs);
	return rc;
}

static void relay_close(struct relay *relay)
{
	relay_edges_done(relay);
	switch_ovs_free(relay->ovs);
	loop_timer_free(relay->timer);
	loop_watch_free(relay->udp_watch);
	if (relay->udp >= 0)
		(void)close(relay->udp);
	loop_free(relay->loop);
}

static void switch_relay_on_stop(void *context)
{
	loop_stop(context);
}

static void switch_relay_usage(FILE *to)
{
	(void)fprintf(to,
		      "usage: switch_relay --database SOCKET --control SOCKET --openflow SOCKET "
		      "--rules FILE --name SWITCH\n"
		      "                    --svi PORT... --server ADDRESS... [--format FORMAT] "
		      "[--trust PORT]...\n\nformats of option 82\n");
	for (size_t i = 0; i < switch_relay_format_count; i++)
		(void)fprintf(to, "  %-10s %s\n", switch_relay_formats[i].name,
			      switch_relay_formats[i].help);
}

static bool add_server(struct relay *relay, const char *text)
{
	struct in_addr address;

	if (relay->server_count == RELAY_SERVERS || inet_pton(AF_INET, text, &address) != 1)
		return false;
	relay->servers[relay->server_count++] = ntohl(address.s_addr);
	return true;
}

static bool switch_relay_take_option(struct relay *relay, int option, const char *value)
{
	const char **const texts[] = {
		['d'] = &relay->database, ['c'] = &relay->control, ['o'] = &relay->openflow,
		['r'] = &relay->rules,    ['n'] = &relay->name,
	};

	switch (option) {
	case 'd':
	case 'c':
	case 'o':
	case 'r':
	case 'n': *texts[option] = value; return strlen(value) <= 500;
	case 'f': relay->format = switch_relay_format_find(value); return relay->format;
	case 'S': return add_server(relay, value);
	case 's':
		if (relay->svi_count == RELAY_SVIS)
			return false;
		relay->svis[relay->svi_count++].port = value;
		return true;
	case 't':
		if (relay->trusted_count == RELAY_TRUSTED)
			return false;
		relay->trusted[relay->trusted_count++] = value;
		return true;
	default: return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"database", required_argument, NULL, 'd'},
		{"control", required_argument, NULL, 'c'},
		{"openflow", required_argument, NULL, 'o'},
		{"rules", required_argument, NULL, 'r'},
		{"name", required_argument, NULL, 'n'},
		{"format", required_argument, NULL, 'f'},
		{"server", required_argument, NULL, 'S'},
		{"svi", required_argument, NULL, 's'},
		{"trust", required_argument, NULL, 't'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct relay relay = {
		.udp = -1, .on_frames = on_frames, .format = &switch_relay_formats[0]};
	int option;
	int rc;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			switch_relay_usage(stdout);
			return 0;
		}
		if (!switch_relay_take_option(&relay, option, optarg)) {
			switch_relay_usage(stderr);
			return 2;
		}
	}
	if (!relay.database || !relay.control || !relay.openflow || !relay.rules || !relay.name ||
	    strlen(relay.name) > SWITCH_RELAY_NAME || !relay.svi_count || !relay.server_count) {
		switch_relay_usage(stderr);
		return 2;
	}
	rc = relay_open(&relay);
	if (rc == 0)
		rc = loop_on_signal(relay.loop, SIGTERM, switch_relay_on_stop, relay.loop);
	if (rc == 0)
		rc = loop_on_signal(relay.loop, SIGINT, switch_relay_on_stop, relay.loop);
	if (rc == 0) {
		switch_relay_on_timer(&relay);
		loop_run(relay.loop);
	} else {
		(void)fprintf(stderr, "switch_relay: %s\n", error_text(rc));
	}
	relay_close(&relay);
	return rc == 0 ? 0 : 2;
}
