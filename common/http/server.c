/* The cap on connections, the list of those that are open, the end of a server. */
#include "common/http/server.h"

#include <errno.h>
#include <event2/listener.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/server_private.h"

LEAKS_LEFT_TO_SANITIZER

#define BODY_LIMIT_DEFAULT       ((size_t)1 << 20)
#define CONNECTION_LIMIT_DEFAULT 4096
#define HEADER_TIMEOUT_DEFAULT_S 15
#define ANSWER_TIMEOUT_DEFAULT_S 30
#define RESUME_MS                200
#define PASSWD_SIZE              16384
#define DRAIN_LOOK_MS            20

static void accept_from_all(struct http_server *server, bool accept)
{
	for (struct http_listener *l = server->listeners; l; l = l->next)
		(void)(accept ? evconnlistener_enable(l->listener)
			      : evconnlistener_disable(l->listener));
}

static void server_resume(void *context)
{
	struct http_server *server = context;

	if (!server->paused && !server->held)
		accept_from_all(server, true);
}

/* (uid_t)-1, which nobody has, when there is no such user. */
static uid_t user_id(const char *name)
{
	CLEANUP(freep) char *room = malloc(PASSWD_SIZE);
	struct passwd row;
	struct passwd *found = NULL;

	if (!room || getpwnam_r(name, &row, room, PASSWD_SIZE, &found) != 0 || !found)
		return (uid_t)-1;
	return row.pw_uid;
}

int http_server_new(struct loop *loop, const struct http_server_options *options,
		    struct http_server **ret)
{
	struct http_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return -ENOMEM;
	server->loop = loop;
	server->options = *options;
	if (server->options.body_limit == 0)
		server->options.body_limit = BODY_LIMIT_DEFAULT;
	if (server->options.connection_limit == 0)
		server->options.connection_limit = CONNECTION_LIMIT_DEFAULT;
	if (server->options.header_timeout_s == 0)
		server->options.header_timeout_s = HEADER_TIMEOUT_DEFAULT_S;
	if (server->options.answer_timeout_s == 0)
		server->options.answer_timeout_s = ANSWER_TIMEOUT_DEFAULT_S;
	if (options->caller)
		server->caller_uid = user_id(options->caller);
	if (!server->options.counters)
		server->options.counters = &server->own_counters;
	rc = loop_timer_new(loop, server_resume, server, &server->resume);
	if (rc != 0) {
		free(server);
		return rc;
	}
	*ret = server;
	return 0;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	while (server->listeners) {
		struct http_listener *next = server->listeners->next;

		evconnlistener_free(server->listeners->listener);
		if (server->listeners->path)
			(void)unlink(server->listeners->path);
		free(server->listeners->path);
		free(server->listeners);
		server->listeners = next;
	}
	while (server->first)
		http_connection_free(server->first);
	loop_timer_free(server->resume);
	loop_timer_free(server->drain_look);
	free(server->handshakes);
	free(server);
}

/* Makes room, of all connections or of one address: closes the one that can best be missed, the
 * oldest of its kind. Whoever is slow with a request loses to whoever comes, so an open connection
 * is worth nothing to a flood; the one that has just come is not looked at. */
static bool server_evict(struct http_server *server, const struct http_source *source)
{
	struct http_connection *victim = NULL;
	unsigned best = 0;

	for (struct http_connection *c = server->first; c != server->last; c = c->next) {
		unsigned dispensable = http_connection_dispensable(c);

		if ((source && c->source != source) || dispensable <= best)
			continue;
		best = dispensable;
		victim = c;
	}
	if (!victim)
		return false;
	server->options.counters->evicted++;
	http_connection_free(victim);
	return true;
}

static bool server_is_many(const struct http_server *server, uint32_t address)
{
	return server->options.is_many && server->options.is_many(server->options.context, address);
}

/* The row of an address, made when it has none; NULL for a Unix socket or without a limit.
 * -ENOMEM. */
static int find_source(struct http_server *server, const struct http_peer *peer,
		       struct http_source **ret)
{
	struct http_source *source = NULL;

	*ret = NULL;
	if (peer->local || peer->edge || server->options.source_limit == 0 ||
	    server_is_many(server, peer->address))
		return 0;
	HASH_FIND(hh, server->sources, &peer->address, sizeof(peer->address), source);
	if (!source) {
		source = calloc(1, sizeof(*source));
		if (!source)
			return -ENOMEM;
		source->address = peer->address;
		HASH_ADD(hh, server->sources, address, sizeof(source->address), source);
	}
	*ret = source;
	return 0;
}

static void drop_unused(struct http_server *server, struct http_source *source)
{
	if (!source || source->connection_count > 0)
		return;
	HASH_DELETE(hh, server->sources, source);
	free(source);
}

void http_server_forget(struct http_connection *connection)
{
	struct http_server *server = connection->server;

	*(connection->before ? &connection->before->next : &server->first) = connection->next;
	*(connection->next ? &connection->next->before : &server->last) = connection->before;
	server->connection_count--;
	server->options.counters->open--;
	if (connection->source) {
		connection->source->connection_count--;
		drop_unused(server, connection->source);
	}
	if (server->paused && server->connection_count < server->options.connection_limit) {
		server->paused = false;
		accept_from_all(server, !server->held);
	}
}

static void read_peer(int fd, const struct sockaddr *address, bool edge, struct http_peer *ret)
{
	struct ucred credentials = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	socklen_t size = sizeof(credentials);
	struct sockaddr_in internet;
	const int on = 1;

	*ret = (struct http_peer){.edge = edge, .uid = (uid_t)-1, .gid = (gid_t)-1};
	if (edge)
		return;
	if (address->sa_family == AF_INET) {
		memcpy(&internet, address, sizeof(internet));
		ret->address = ntohl(internet.sin_addr.s_addr);
		ret->port = ntohs(internet.sin_port);
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		return;
	}
	/* Who it was at connect(); on failure the ids stay those of nobody. */
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
	ret->local = true;
	ret->uid = credentials.uid;
	ret->gid = credentials.gid;
	ret->pid = credentials.pid;
}

/* Takes `fd` on success; it may be closed already then, when its address has enough of them. */
static int take_connection(struct http_server *server, int fd, const struct http_peer *peer,
			   const struct tls *tls)
{
	struct http_source *source;
	int rc = find_source(server, peer, &source);

	if (rc != 0)
		return rc;
	rc = http_connection_new(server, fd, peer, source, tls);
	if (rc != 0) {
		drop_unused(server, source);
		return rc;
	}
	if (source && source->connection_count > server->options.source_limit &&
	    !server_evict(server, source)) {
		server->options.counters->refused++;
		http_connection_free(server->last); /* closes `fd` */
	}
	return 0;
}

static const struct http_listener *server_listener_of(const struct http_server *server,
						      const struct evconnlistener *listener)
{
	const struct http_listener *row = server->listeners;

	while (row->listener != listener)
		row = row->next;
	return row;
}

static bool server_takes_handshake(struct http_server *server, uint32_t address)
{
	return server_is_many(server, address) ||
	       source_rate_allows(server->handshakes, address, false, loop_now_ms(server->loop));
}

void http_server_on_accept(struct evconnlistener *listener, evutil_socket_t fd,
			   struct sockaddr *address, int length, void *context)
{
	struct http_server *server = context;
	const struct http_listener *row = server_listener_of(server, listener);
	struct http_peer peer;

	(void)length;
	server->options.counters->accepted++;
	read_peer(fd, address, row->edge, &peer);
	if (row->tls && !server_takes_handshake(server, peer.address)) {
		server->options.counters->throttled_handshake++;
		close(fd);
		return;
	}
	if (take_connection(server, fd, &peer, row->tls) != 0) {
		close(fd);
		return;
	}
	if (server->connection_count >= server->options.connection_limit &&
	    !server_evict(server, NULL)) {
		server->paused = true; /* the rest waits in the backlog */
		accept_from_all(server, false);
	}
}

/* Out of descriptors or memory: a level-triggered listener would spin, so it rests for a moment. */
void http_server_on_accept_error(struct evconnlistener *listener, void *context)
{
	struct http_server *server = context;

	(void)listener;
	accept_from_all(server, false);
	loop_timer_arm(server->resume, RESUME_MS);
}

/* --- the end, politely --- */

static void server_drain_look(void *context)
{
	struct http_server *server = context;
	const struct http_connection *c = server->first;

	while (c && !http_connection_is_owed(c))
		c = c->next;
	if (c)
		loop_timer_arm(server->drain_look, DRAIN_LOOK_MS);
	else
		server->drained(server->drained_context);
}

void http_server_hold(struct http_server *server, bool held)
{
	server->held = held;
	accept_from_all(server, !held && !server->paused);
}

int http_server_drain(struct http_server *server, loop_fn fn, void *context)
{
	int rc = loop_timer_new(server->loop, server_drain_look, server, &server->drain_look);

	if (rc != 0)
		return rc;
	server->draining = true;
	server->drained = fn;
	server->drained_context = context;
	http_server_hold(server, true);
	for (struct http_connection *c = server->first; c; c = c->next)
		c->close = true;
	loop_timer_arm(server->drain_look, 0);
	return 0;
}
