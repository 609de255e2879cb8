#include "tests/sim/command_line/switch_cli_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/file.h"

LEAKS_LEFT_TO_SANITIZER

enum { LOGIN_MS = 30000, TURN_MS = 100, TRIES_MAX = 3 };

struct server {
	struct cli_device *device;
	struct netconf_device *netconf; /* NULL: it does not speak it */
	const struct cli_server_options *options;
	const volatile sig_atomic_t *stopping;
	pthread_mutex_t lock;           /* around the device and everything of it */
	struct connection *connections; /* the accepting thread's own */
};

struct connection {
	struct server *server;
	ssh_session ssh;
	ssh_channel channel;
	struct ssh_channel_callbacks_struct channel_callbacks;
	struct cli_session *session;
	struct netconf_session *netconf; /* instead, for the subsystem of that name */
	char *command;                   /* `ssh HOST COMMAND` */
	char peer[CLI_PEER_SIZE];
	unsigned tries, width;
	bool is_in, is_asked; /* authenticated; a shell, a command or NETCONF was asked for */
	bool wants_netconf;
	bool is_done; /* under the server's lock: to be joined */
	pthread_t thread;
	struct connection *next;
	struct text typed;
};

/* --- what the client asks --- */

/* An operator adds and removes accounts while the switch runs. */
static bool is_account(const char *path, const char *user, const char *password)
{
	CLEANUP(freep) char *text = NULL;
	char line[256];
	char *rest = NULL;
	size_t size = 0;

	if (file_read(path, 4096, &text, &size) != 0 ||
	    snprintf(line, sizeof(line), "%s %s", user, password) >= (int)sizeof(line))
		return false;
	for (char *at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
		if (strcmp(at, line) == 0)
			return true;
	}
	return false;
}

static int on_password(ssh_session ssh, const char *user, const char *password, void *context)
{
	struct connection *connection = context;
	const struct cli_server_options *options = connection->server->options;

	(void)ssh;
	if (options->accounts ? is_account(options->accounts, user, password)
			      : strcmp(user, options->user) == 0 &&
					strcmp(password, options->password) == 0) {
		connection->is_in = true;
		return SSH_AUTH_SUCCESS;
	}
	connection->tries++;
	return SSH_AUTH_DENIED;
}

// NOLINTNEXTLINE(readability-function-size): the shape is libssh's
static int on_pty(ssh_session ssh, ssh_channel channel, const char *term, int width, int height,
		  int pixel_width, int pixel_height, void *context)
{
	struct connection *connection = context;

	(void)ssh;
	(void)channel;
	(void)term;
	(void)height;
	(void)pixel_width;
	(void)pixel_height;
	connection->width = width > 0 ? (unsigned)width : 0;
	return 0; /* the pager counts its own lines, as those switches do */
}

static int on_shell(ssh_session ssh, ssh_channel channel, void *context)
{
	struct connection *connection = context;

	(void)ssh;
	(void)channel;
	connection->is_asked = true;
	return 0;
}

static int on_exec(ssh_session ssh, ssh_channel channel, const char *command, void *context)
{
	struct connection *connection = context;

	(void)ssh;
	(void)channel;
	if (connection->is_asked)
		return 1;
	connection->command = strdup(command);
	connection->is_asked = true;
	return 0;
}

static int on_subsystem(ssh_session ssh, ssh_channel channel, const char *name, void *context)
{
	struct connection *connection = context;

	(void)ssh;
	(void)channel;
	if (connection->is_asked || strcmp(name, "netconf") != 0 || !connection->server->netconf)
		return 1;
	connection->wants_netconf = connection->is_asked = true;
	return 0;
}

static int switch_cli_server_on_data(ssh_session ssh, ssh_channel channel, void *data,
				     uint32_t size, int is_stderr, void *context)
{
	struct connection *connection = context;

	(void)ssh;
	(void)channel;
	(void)is_stderr;
	text_add_bytes(&connection->typed, data, size);
	return (int)size;
}

static ssh_channel on_channel(ssh_session ssh, void *context)
{
	struct connection *connection = context;

	if (connection->channel)
		return NULL;
	connection->channel = ssh_channel_new(ssh);
	connection->channel_callbacks = (struct ssh_channel_callbacks_struct){
		.userdata = connection,
		.channel_data_function = switch_cli_server_on_data,
		.channel_pty_request_function = on_pty,
		.channel_shell_request_function = on_shell,
		.channel_exec_request_function = on_exec,
		.channel_subsystem_request_function = on_subsystem,
	};
	ssh_callbacks_init(&connection->channel_callbacks);
	(void)ssh_set_channel_callbacks(connection->channel, &connection->channel_callbacks);
	return connection->channel;
}

/* --- one connection --- */

static bool log_in(struct connection *connection, ssh_event event)
{
	struct ssh_server_callbacks_struct callbacks = {
		.userdata = connection,
		.auth_password_function = on_password,
		.channel_open_request_session_function = on_channel,
	};
	int64_t until = clock_monotonic_ms() + LOGIN_MS;
	bool good;

	ssh_callbacks_init(&callbacks);
	(void)ssh_set_server_callbacks(connection->ssh, &callbacks);
	ssh_set_auth_methods(connection->ssh, SSH_AUTH_METHOD_PASSWORD);
	good = ssh_handle_key_exchange(connection->ssh) == SSH_OK &&
	       ssh_event_add_session(event, connection->ssh) == SSH_OK;
	while (good && !(connection->is_in && connection->is_asked))
		good = ssh_event_dopoll(event, TURN_MS) != SSH_ERROR &&
		       connection->tries < TRIES_MAX && clock_monotonic_ms() < until &&
		       !*connection->server->stopping;
	(void)ssh_set_server_callbacks(connection->ssh, NULL);
	return good;
}

static void switch_cli_server_pause_ms(uint32_t ms)
{
	const struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};

	if (ms > 0)
		(void)nanosleep(&pause, NULL);
}

static bool send_out(struct connection *connection, struct text *out)
{
	size_t at = 0;

	while (at < out->size) {
		int sent = ssh_channel_write(connection->channel, out->data + at,
					     (uint32_t)(out->size - at));

		if (sent <= 0)
			return false;
		at += (size_t)sent;
	}
	text_clear(out);
	return true;
}

/* Under the lock. */
static void switch_cli_server_log(const struct connection *connection)
{
	const struct server *server = connection->server;

	if (server->options->log)
		cli_log_turn(server->options->log, server->device->store, connection->peer);
}

static bool turn_netconf(struct connection *connection, struct text *out)
{
	struct server *server = connection->server;
	struct netconf_session *session = connection->netconf;
	uint32_t slow_ms;
	bool more;

	(void)pthread_mutex_lock(&server->lock);
	netconf_session_feed(session, text_get(&connection->typed), connection->typed.size);
	cli_device_refresh(server->device);
	slow_ms = netconf_session_has_message(session) ? server->device->faults.slow_ms : 0;
	(void)pthread_mutex_unlock(&server->lock);
	text_clear(&connection->typed);
	switch_cli_server_pause_ms(slow_ms);
	(void)pthread_mutex_lock(&server->lock);
	more = netconf_session_turn(session);
	switch_cli_server_log(connection);
	text_add_bytes(out, text_get(&session->out), session->out.size);
	text_clear(&session->out);
	slow_ms = session->pause_ms;
	session->pause_ms = 0;
	(void)pthread_mutex_unlock(&server->lock);
	switch_cli_server_pause_ms(slow_ms);
	return more;
}

/* One turn of the session; true when there is more to do at once. */
static bool switch_cli_server_turn(struct connection *connection, struct text *out)
{
	struct server *server = connection->server;
	struct cli_session *session = connection->session;
	bool more;
	uint32_t slow_ms;

	if (connection->netconf)
		return turn_netconf(connection, out);
	(void)pthread_mutex_lock(&server->lock);
	cli_session_feed(session, text_get(&connection->typed), connection->typed.size);
	cli_device_refresh(server->device);
	slow_ms = cli_session_has_line(session) ? server->device->faults.slow_ms : 0;
	(void)pthread_mutex_unlock(&server->lock);
	text_clear(&connection->typed);
	switch_cli_server_pause_ms(slow_ms);
	(void)pthread_mutex_lock(&server->lock);
	more = cli_session_turn(session);
	switch_cli_server_log(connection);
	text_add_bytes(out, text_get(&session->out), session->out.size);
	text_clear(&session->out);
	slow_ms = session->pause_ms;
	session->pause_ms = 0;
	(void)pthread_mutex_unlock(&server->lock);
	switch_cli_server_pause_ms(slow_ms);
	return more;
}

static bool open_session(struct connection *connection)
{
	struct server *server = connection->server;
	int rc;

	(void)pthread_mutex_lock(&server->lock);
	rc = connection->wants_netconf ? netconf_talk_new(server->netconf, &connection->netconf)
				       : cli_session_new(server->device, &connection->session);
	if (rc == 0 && connection->session)
		connection->session->width = connection->width;
	if (rc == 0 && connection->command && connection->session)
		cli_session_command(connection->session, connection->command);
	if (rc == 0 && server->options->log)
		cli_log_session(server->options->log, connection->peer);
	(void)pthread_mutex_unlock(&server->lock);
	return rc == 0;
}

static bool switch_cli_server_is_over(const struct connection *connection)
{
	return connection->netconf ? connection->netconf->is_over : connection->session->is_over;
}

static void switch_cli_server_serve(struct connection *connection, ssh_event event)
{
	struct text out = {0};
	bool more = false, good = open_session(connection);

	while (good) {
		more = switch_cli_server_turn(connection, &out);
		good = send_out(connection, &out) && !switch_cli_server_is_over(connection) &&
		       !*connection->server->stopping && ssh_channel_is_open(connection->channel) &&
		       !ssh_channel_is_eof(connection->channel) &&
		       ssh_event_dopoll(event, more ? 0 : TURN_MS) != SSH_ERROR;
	}
	text_done(&out);
	if (connection->command)
		(void)ssh_channel_request_send_exit_status(connection->channel, 0);
	(void)ssh_channel_send_eof(connection->channel);
	(void)ssh_channel_close(connection->channel);
}

/* Taken while the lock is held: too many are refused before a word is said. */
static bool switch_cli_server_is_full(struct server *server)
{
	unsigned limit;

	cli_device_refresh(server->device);
	limit = server->device->faults.sessions;
	if (limit == 0)
		limit = server->device->family->sessions;
	return limit > 0 && server->device->session_count >= limit;
}

static void *run_connection(void *context)
{
	struct connection *connection = context;
	struct server *server = connection->server;
	ssh_event event = ssh_event_new();

	if (event && log_in(connection, event))
		switch_cli_server_serve(connection, event);
	if (event) {
		(void)ssh_event_remove_session(event, connection->ssh);
		ssh_event_free(event);
	}
	ssh_disconnect(connection->ssh);
	ssh_free(connection->ssh);
	text_done(&connection->typed);
	free(connection->command);
	(void)pthread_mutex_lock(&server->lock);
	cli_session_free(connection->session);
	netconf_talk_free(connection->netconf);
	connection->is_done = true;
	(void)pthread_mutex_unlock(&server->lock);
	return NULL;
}

/* Threads that ended, or all of them, are joined: OpenSSL frees what is a thread's own as it ends.
 */
static void switch_cli_server_reap(struct server *server, bool all)
{
	for (struct connection **at = &server->connections; *at;) {
		struct connection *connection = *at;
		bool is_done;

		(void)pthread_mutex_lock(&server->lock);
		is_done = connection->is_done;
		(void)pthread_mutex_unlock(&server->lock);
		if (is_done || all) {
			(void)pthread_join(connection->thread, NULL);
			*at = connection->next;
			free(connection);
		} else {
			at = &connection->next;
		}
	}
}

static void switch_cli_server_welcome(struct server *server, ssh_bind bind, int fd,
				      const struct sockaddr_in *peer)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	bool full;

	(void)pthread_mutex_lock(&server->lock);
	full = switch_cli_server_is_full(server);
	(void)pthread_mutex_unlock(&server->lock);
	if (connection)
		*connection = (struct connection){.server = server, .ssh = ssh_new()};
	if (full || !connection || !connection->ssh ||
	    ssh_bind_accept_fd(bind, connection->ssh, fd) != SSH_OK) {
		if (connection && connection->ssh)
			ssh_free(connection->ssh);
		free(connection);
		(void)close(fd);
		return;
	}
	(void)inet_ntop(AF_INET, &peer->sin_addr, connection->peer, sizeof(connection->peer));
	if (pthread_create(&connection->thread, NULL, run_connection, connection) != 0)
		abort();
	connection->next = server->connections;
	server->connections = connection;
}

/* --- listening --- */

static int switch_cli_server_listen_on(const struct cli_server_options *options, int *ret_fd)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)options->port)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int yes = 1;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (inet_pton(AF_INET, options->address, &address.sin_addr) != 1 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
		int error = errno;

		(void)close(fd);
		return error ? -error : E_INVALID;
	}
	(void)printf("ready %s %u\n", options->address, ntohs(address.sin_port));
	(void)fflush(stdout);
	*ret_fd = fd;
	return 0;
}

static int switch_cli_server_load_key(const char *path, ssh_key *ret)
{
	if (path && access(path, R_OK) == 0)
		return ssh_pki_import_privkey_file(path, NULL, NULL, NULL, ret) == SSH_OK
			       ? 0
			       : E_MALFORMED;
	if (ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, ret) != SSH_OK)
		return E_UNAVAILABLE;
	if (path && ssh_pki_export_privkey_file(*ret, NULL, NULL, NULL, path) != SSH_OK) {
		ssh_key_free(*ret);
		return E_UNAVAILABLE;
	}
	return 0;
}

static void accept_all(struct server *server, ssh_bind bind, int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	while (!*server->stopping) {
		struct sockaddr_in peer = {0};
		socklen_t size = sizeof(peer);
		int yes = 1;
		int client;

		switch_cli_server_reap(server, false);
		if (poll(&wait, 1, 200) <= 0) {
			(void)pthread_mutex_lock(&server->lock);
			cli_device_refresh(server->device);
			if (server->netconf)
				netconf_device_refresh(server->netconf);
			(void)pthread_mutex_unlock(&server->lock);
			continue;
		}
		client = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC);
		if (client < 0)
			continue;
		(void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		switch_cli_server_welcome(server, bind, client, &peer);
	}
	switch_cli_server_reap(server, true);
}

int cli_server_run(struct cli_device *device, struct netconf_device *netconf,
		   const struct cli_server_options *options, const volatile sig_atomic_t *stopping)
{
	struct server server = {.device = device,
				.netconf = netconf,
				.options = options,
				.stopping = stopping,
				.lock = PTHREAD_MUTEX_INITIALIZER};
	ssh_bind bind = NULL;
	ssh_key key = NULL;
	int fd = -1;
	int rc;

	if (ssh_init() != SSH_OK)
		return E_UNAVAILABLE;
	rc = switch_cli_server_load_key(options->host_key, &key);
	bind = rc == 0 ? ssh_bind_new() : NULL;
	if (rc == 0 && (!bind || ssh_bind_options_set(bind, SSH_BIND_OPTIONS_IMPORT_KEY, key) != 0))
		rc = E_UNAVAILABLE;
	if (rc == 0)
		rc = switch_cli_server_listen_on(options, &fd);
	if (rc == 0) {
		accept_all(&server, bind, fd);
		(void)close(fd);
	}
	if (bind)
		ssh_bind_free(bind);
	(void)ssh_finalize();
	return rc;
}
