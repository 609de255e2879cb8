/* Net-SNMP's single session of a switch: a socket on the loop, and the user that v3 speaks as. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/switch/snmp/snmp_peer_private.h"

void peer_close_handle(struct snmp_peer *peer)
{
	loop_watch_free(peer->watch);
	peer->watch = NULL;
	/* Calls on_netsnmp for what was under way. */
	if (peer->handle)
		snmp_sess_close(peer->handle);
	peer->handle = NULL;
	snmp_engine_leave(peer);
}

static void snmp_peer_handle_on_readable(void *context, int events)
{
	struct snmp_peer *peer = context;
	netsnmp_large_fd_set set;
	int fd = snmp_sess_transport(peer->handle)->sock;

	(void)events;
	peer_enter(peer);
	snmp_engine_take(peer);
	netsnmp_large_fd_set_init(&set, fd + 1);
	NETSNMP_LARGE_FD_SET(fd, &set);
	(void)snmp_sess_read2(peer->handle, &set);
	netsnmp_large_fd_set_cleanup(&set);
	peer_turn(peer);
	peer_leave(peer);
}

static int open_handle(struct snmp_peer *peer, netsnmp_session *wish)
{
	struct netsnmp_transport_s *transport;
	int flags;

	peer->handle = snmp_sess_open(wish);
	if (!peer->handle)
		return -EIO;
	/* Opening took the flag away; without it sending would probe, and block. */
	snmp_sess_session(peer->handle)->flags |= SNMP_FLAGS_DONT_PROBE;
	transport = snmp_sess_transport(peer->handle);
	flags = fcntl(transport->sock, F_GETFL);
	/* A datagram with a wrong checksum is readable and then is not there. */
	if (flags < 0 || fcntl(transport->sock, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    fcntl(transport->sock, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return loop_watch_new(peer->client->loop, transport->sock, LOOP_READ,
			      snmp_peer_handle_on_readable, peer, &peer->watch);
}

int peer_open_handle(struct snmp_peer *peer)
{
	const struct switch_endpoint *endpoint = &peer->endpoint;
	const struct snmp_engine *engine =
		peer->stale ? NULL : snmp_engine_find(peer->client, peer->where);
	netsnmp_session wish;
	int rc = 0;

	snmp_sess_init(&wish);
	wish.peername = peer->where;
	wish.retries = 0;
	wish.timeout = (long)peer->timeout_ms * 1000;
	wish.flags |= SNMP_FLAGS_DONT_PROBE;
	peer->has_engine = true;
	if (!endpoint->snmp_user[0]) {
		wish.version = peer->v1 ? SNMP_VERSION_1 : SNMP_VERSION_2c;
		/* snmp_sess_open copies what it is given. */
		wish.community = (u_char *)peer->endpoint.snmp_community;
		wish.community_len = strlen(endpoint->snmp_community);
		rc = open_handle(peer, &wish);
	} else {
		wish.version = SNMP_VERSION_3;
		wish.securityName = peer->endpoint.snmp_user;
		wish.securityNameLen = strlen(endpoint->snmp_user);
		peer->has_engine = engine != NULL;
		if (engine) {
			uint8_t id[ENGINE_ID_LIMIT];

			memcpy(id, engine->id, engine->size);
			wish.securityEngineID = id;
			wish.securityEngineIDLen = engine->size;
			wish.contextEngineID = id;
			wish.contextEngineIDLen = engine->size;
			/* The first silences may be the network's. */
			snmp_engine_enter(peer, engine, peer->silences > 2);
			rc = snmp_engine_credentials(peer->client, endpoint, &wish);
			if (!rc)
				rc = open_handle(peer, &wish);
		} else {
			rc = snmp_engine_credentials(peer->client, endpoint, &wish);
			if (!rc)
				rc = open_handle(peer, &wish);
		}
		free(wish.securityAuthProto);
		free(wish.securityPrivProto);
	}
	if (rc)
		peer_close_handle(peer);
	return rc;
}
