/* Listeners, the cap on connections, the list of those that are open. */
#include "common/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/listener.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/http/server_private.h"

LEAKS_LEFT_TO_SANITIZER

#define BACKLOG                  4096
#define BODY_LIMIT_DEFAULT       ((size_t)1 << 20)
#define CONNECTION_LIMIT_DEFAULT 4096
#define HEADER_TIMEOUT_DEFAULT_S 15
#define ANSWER_TIMEOUT_DEFAULT_S 30
#define RESUME_MS                200
#define PASSWD_SIZE              16384
/* A signature takes 0.6 ms of our one thread: strangers take a quarter of it at most, in the long run.
 * A node has two or three connections, and an agent comes again after a refusal. */
#define HANDSHAKES_OF_SOURCE ((struct rate_limit){.per_second = 20, .burst = 100})
#define HANDSHAKES_OF_ALL    ((struct rate_limit){.per_second = 400, .burst = 4000})

static void accept_from_all(struct http_server *server, bool accept)
{
	for (struct http_listener *l = server->listeners; l; l = l->next)
		(void)(accept ? evconnlistener_enable(l->listener)
			      : evconnlistener_disable(l->listener));
}

static void server_resume(void *context)
{
	struct http_server *server = context;

	if (!server->paused)
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
	if (peer->local || server->options.source_limit == 0 ||
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
		accept_from_all(server, true);
	}
}

static void read_peer(int fd, const struct sockaddr *address, struct http_peer *ret)
{
	struct ucred credentials = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	socklen_t size = sizeof(credentials);
	struct sockaddr_in internet;
	const int on = 1;

	*ret = (struct http_peer){0};
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

static const struct tls *server_tls_of(const struct http_server *server,
				       const struct evconnlistener *listener)
{
	const struct http_listener *row = server->listeners;

	while (row && row->listener != listener)
		row = row->next;
	return row ? row->tls : NULL;
}

static bool server_takes_handshake(struct http_server *server, uint32_t address)
{
	return server_is_many(server, address) ||
	       source_rate_allows(server->handshakes, address, false, loop_now_ms(server->loop));
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
		      int length, void *context)
{
	struct http_server *server = context;
	const struct tls *tls = server_tls_of(server, listener);
	struct http_peer peer;

	(void)length;
	server->options.counters->accepted++;
	read_peer(fd, address, &peer);
	if (tls && !server_takes_handshake(server, peer.address)) {
		server->options.counters->throttled_handshake++;
		close(fd);
		return;
	}
	if (take_connection(server, fd, &peer, tls) != 0) {
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
static void on_accept_error(struct evconnlistener *listener, void *context)
{
	struct http_server *server = context;

	(void)listener;
	accept_from_all(server, false);
	loop_timer_arm(server->resume, RESUME_MS);
}

/* Takes `fd`. */
static int server_listen_on(struct http_server *server, int fd, struct http_listener **ret)
{
	struct http_listener *row = calloc(1, sizeof(*row));

	if (row)
		row->listener = evconnlistener_new(loop_base(server->loop), on_accept, server,
						   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
						   BACKLOG, fd);
	if (!row || !row->listener) {
		int rc = row && errno ? -errno : -ENOMEM;

		free(row);
		close(fd);
		return rc;
	}
	evconnlistener_set_error_cb(row->listener, on_accept_error);
	row->next = server->listeners;
	server->listeners = row;
	*ret = row;
	return 0;
}

static int bind_tcp(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;
	int rc;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int server_listen_tcp(struct http_server *server, uint32_t address, uint16_t port,
			     const struct tls *tls, struct problem *problem)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
	socklen_t size = sizeof(name);
	struct http_listener *listener = NULL;
	int fd = bind_tcp(&name);
	int rc = fd < 0 ? fd : server_listen_on(server, fd, &listener);

	if (rc != 0) {
		char text[INET_ADDRSTRLEN] = "?";

		(void)inet_ntop(AF_INET, &name.sin_addr, text, sizeof(text));
		(void)problem_set(problem, rc, "cannot listen on %s:%u: %s", text, (unsigned)port,
				  error_text(rc));
		if (rc == -EADDRINUSE)
			problem_hint(problem, "see who has it: ss -ltnp 'sport = :%u'",
				     (unsigned)port);
		return rc;
	}
	if (listener)
		listener->tls = tls;
	if (listener && getsockname(fd, (struct sockaddr *)&name, &size) == 0)
		listener->port = ntohs(name.sin_port);
	return 0;
}

int http_server_listen_tcp(struct http_server *server, uint32_t address, uint16_t port,
			   struct problem *problem)
{
	return server_listen_tcp(server, address, port, NULL, problem);
}

int http_server_listen_tls(struct http_server *server, uint32_t address, uint16_t port,
			   const struct tls *tls, struct problem *problem)
{
	uint64_t salt;

	if (!server->handshakes)
		server->handshakes = malloc(sizeof(*server->handshakes));
	if (!server->handshakes || getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	source_rate_init(server->handshakes, HANDSHAKES_OF_SOURCE, HANDSHAKES_OF_ALL, salt);
	return server_listen_tcp(server, address, port, tls, problem);
}

static uint16_t server_port(const struct http_server *server, bool tls)
{
	for (const struct http_listener *l = server->listeners; l; l = l->next) {
		if (!l->path && (l->tls != NULL) == tls)
			return l->port;
	}
	return 0;
}

uint16_t http_server_port(const struct http_server *server)
{
	return server_port(server, false);
}

uint16_t http_server_tls_port(const struct http_server *server)
{
	return server_port(server, true);
}

/* Removes a socket that nobody listens on any more; -EADDRINUSE when somebody does, -EEXIST when it
 * is something else. */
static int remove_stale(const struct sockaddr_un *name)
{
	CLEANUP(closep) int fd = -1;
	struct stat status;

	if (lstat(name->sun_path, &status) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)name, sizeof(*name)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	return unlink(name->sun_path) == 0 ? 0 : -errno;
}

/* The mode is right before listen(): until then nobody can connect. */
static int bind_unix(const struct sockaddr_un *name, mode_t mode)
{
	int rc = remove_stale(name);
	int fd = rc == 0 ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;

	if (rc != 0)
		return rc;
	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)name, sizeof(*name)) != 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	if (chmod(name->sun_path, mode) == 0)
		return fd;
	rc = -errno;
	close(fd);
	(void)unlink(name->sun_path);
	return rc;
}

int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
			    struct problem *problem)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct http_listener *listener = NULL;
	char *copy = strdup(path);
	int rc = 0;

	if (!copy)
		rc = -ENOMEM;
	else if (!text_copy(name.sun_path, sizeof(name.sun_path), path))
		rc = -ENAMETOOLONG;
	if (rc == 0)
		rc = bind_unix(&name, mode);
	if (rc >= 0)
		rc = server_listen_on(server, rc, &listener);
	if (rc == 0 && listener) {
		listener->path = copy;
		return 0;
	}
	free(copy);
	return problem_set(problem, rc, "cannot listen on %s: %s", path, error_text(rc));
}
