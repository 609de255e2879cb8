/* Listeners: TCP, TLS, Unix sockets, and sockets that somebody else has opened. */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/listener.h>
#include <fcntl.h>
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

#define BACKLOG 4096
/* A signature takes 0.6 ms of our one thread: strangers take a quarter of it at most, in the long run.
 * A node has two or three connections, and an agent comes again after a refusal. */
#define HANDSHAKES_OF_SOURCE 20U
#define HANDSHAKES_OF_ALL    400U

static struct rate_limit server_rate(unsigned wanted, unsigned usual, unsigned burst_s)
{
	unsigned per_second = wanted ? wanted : usual;

	return (struct rate_limit){.per_second = per_second, .burst = per_second * burst_s};
}

/* Takes `fd`. `backlog` 0: it listens already. */
static int server_listen_on(struct http_server *server, int fd, int backlog,
			    struct http_listener **ret)
{
	struct http_listener *row = calloc(1, sizeof(*row));

	if (row)
		row->listener = evconnlistener_new(
			loop_base(server->loop), http_server_on_accept, server,
			LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, backlog, fd);
	if (!row || !row->listener) {
		int rc = row && errno ? -errno : -ENOMEM;

		free(row);
		close(fd);
		return rc;
	}
	evconnlistener_set_error_cb(row->listener, http_server_on_accept_error);
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
	int rc = fd < 0 ? fd : server_listen_on(server, fd, BACKLOG, &listener);

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

static int server_limit_handshakes(struct http_server *server, struct problem *problem)
{
	const struct http_server_options *options = &server->options;
	uint64_t salt;

	if (server->handshakes)
		return 0;
	server->handshakes = malloc(sizeof(*server->handshakes));
	if (!server->handshakes || getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
		return problem_set(problem, -ENOMEM, "no memory for TLS");
	source_rate_init(server->handshakes,
			 server_rate(options->source_handshakes, HANDSHAKES_OF_SOURCE, 5),
			 server_rate(options->handshakes, HANDSHAKES_OF_ALL, 10), salt);
	return 0;
}

int http_server_listen_tls(struct http_server *server, uint32_t address, uint16_t port,
			   const struct tls *tls, struct problem *problem)
{
	int rc = server_limit_handshakes(server, problem);

	return rc ? rc : server_listen_tcp(server, address, port, tls, problem);
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

static int server_listen_unix(struct http_server *server, const char *path, mode_t mode, bool edge,
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
		rc = server_listen_on(server, rc, BACKLOG, &listener);
	if (rc == 0 && listener) {
		listener->path = copy;
		listener->edge = edge;
		return 0;
	}
	free(copy);
	return problem_set(problem, rc, "cannot listen on %s: %s", path, error_text(rc));
}

int http_server_listen_unix(struct http_server *server, const char *path, mode_t mode,
			    struct problem *problem)
{
	return server_listen_unix(server, path, mode, false, problem);
}

int http_server_listen_edge(struct http_server *server, const char *path, mode_t mode,
			    struct problem *problem)
{
	return server_listen_unix(server, path, mode, true, problem);
}

int http_server_listen_fd(struct http_server *server, int fd, bool edge, const struct tls *tls,
			  struct problem *problem)
{
	struct sockaddr_in name = {0};
	socklen_t size = sizeof(name);
	struct http_listener *listener = NULL;
	int flags = fcntl(fd, F_GETFL);
	int rc = tls ? server_limit_handshakes(server, problem) : 0;

	if (rc != 0) {
		close(fd);
		return rc;
	}
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		rc = -errno;
		close(fd);
	} else {
		rc = server_listen_on(server, fd, 0, &listener);
	}
	if (rc != 0 || !listener)
		return problem_set(problem, rc,
				   "cannot listen on a socket that was handed over: %s",
				   error_text(rc));
	listener->edge = edge;
	listener->tls = tls;
	if (getsockname(fd, (struct sockaddr *)&name, &size) == 0 && name.sin_family == AF_INET)
		listener->port = ntohs(name.sin_port);
	return 0;
}
