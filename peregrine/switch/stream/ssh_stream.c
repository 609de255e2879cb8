/* SSH as a stream (RFC 4253, 4252, 4254), by libssh without blocking: each step is tried again when
 * the socket has something. Key exchange costs some milliseconds of arithmetic in the loop, once
 * per session; nothing ever waits. */
#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <libssh/server.h> /* ssh_send_keepalive */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/stream/switch_stream.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	KEEP_ALIVE_MS = 30000,
	SSH_STREAM_DEAD_AFTER_MS = 90000,
	SSH_STREAM_ANSWER_ROUNDS = 4,
	TURN_BYTES = 262144
};

#define KEX                                                                                     \
	"curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384," \
	"ecdh-sha2-nistp521,diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"       \
	"diffie-hellman-group14-sha256,diffie-hellman-group-exchange-sha256"
#define HOST_KEYS \
	"ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256"
#define CIPHERS                                                                                   \
	"chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr," \
	"aes192-ctr,aes128-ctr"
#define MACS \
	"hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512"

/* Old switches know only what stands behind, which needs the operator's word (ssh_insecure). */
static const struct {
	enum ssh_options_e option;
	const char *names, *and_weak;
} ssh_stream_algorithms[] = {
	{SSH_OPTIONS_KEY_EXCHANGE, KEX, KEX ",diffie-hellman-group14-sha1"},
	{SSH_OPTIONS_HOSTKEYS, HOST_KEYS, HOST_KEYS ",ssh-rsa"},
	{SSH_OPTIONS_CIPHERS_C_S, CIPHERS, CIPHERS ",aes256-cbc,aes128-cbc"},
	{SSH_OPTIONS_CIPHERS_S_C, CIPHERS, CIPHERS ",aes256-cbc,aes128-cbc"},
	{SSH_OPTIONS_HMAC_C_S, MACS, MACS ",hmac-sha1"},
	{SSH_OPTIONS_HMAC_S_C, MACS, MACS ",hmac-sha1"},
};

enum phase {
	PHASE_TCP,
	PHASE_KEY_EXCHANGE,
	PHASE_NONE, /* asks which ways to log in there are */
	PHASE_PASSWORD,
	PHASE_INTERACTIVE,
	PHASE_CHANNEL,
	PHASE_TERMINAL,
	PHASE_SHELL,
	PHASE_OPEN,
	PHASE_OVER,
	PHASE_COUNT
};

struct ssh_stream {
	struct loop *loop;
	const struct switch_endpoint *endpoint;
	const char *subsystem;
	uint16_t port;
	struct switch_stream_events events;
	enum phase phase;
	int fd; /* as long as `session` is not there ours alone */
	ino_t inode;
	ssh_session session;
	ssh_channel channel;
	struct loop_watch *watch;
	struct loop_timer *keep; /* says now and then that we are there */
	struct loop_timer *kick; /* a step without waiting for the socket */
	struct text out;
	unsigned rounds;
	bool tried_interactive;
	bool stepping, closed; /* closed by one of its own events: freed after */
};

/* AGAIN: wait for the socket. NEXT: another step at once. OVER: the end was told. */
enum step { STEP_AGAIN, STEP_NEXT, STEP_OVER };

static enum step ssh_stream_over(struct ssh_stream *stream, int rc, const struct problem *problem)
{
	stream->phase = PHASE_OVER;
	loop_watch_free(stream->watch);
	stream->watch = NULL;
	loop_timer_disarm(stream->keep);
	loop_timer_disarm(stream->kick);
	stream->events.ended(stream->events.context, rc, problem);
	return STEP_OVER;
}

static enum step over_text(struct ssh_stream *stream, int rc, const char *detail, const char *hint)
{
	const struct switch_endpoint *endpoint = stream->endpoint;
	struct problem problem;

	problem_set(&problem, rc, "no SSH to switch %s", endpoint->name);
	problem_detail(&problem, "%s port %u: %s", endpoint->address, stream->port, detail);
	problem_hint(&problem, "%s", hint);
	return ssh_stream_over(stream, rc, &problem);
}

/* What libssh says, without the line break that some of its texts end with. */
static enum step over_library(struct ssh_stream *stream, const char *doing)
{
	char detail[256];

	text_format(detail, sizeof(detail), "%s: %s", doing, ssh_get_error(stream->session));
	detail[strcspn(detail, "\r\n")] = '\0';
	return over_text(
		stream, stream->phase < PHASE_OPEN ? E_UNAVAILABLE : E_PROTOCOL, detail,
		stream->phase == PHASE_KEY_EXCHANGE && !stream->endpoint->ssh_insecure
			? "check that SSH version 2 is on and that a session is free; where "
			  "it only knows SHA-1 or CBC: haasctl switch add --ssh-insecure yes"
		: stream->subsystem
			? "check that NETCONF over SSH is on, its access list, and that a "
			  "session is free"
			: "check that SSH version 2 is on, its access list, and that a "
			  "session is free");
}

/* --- getting there --- */

static enum step step_tcp(struct ssh_stream *stream)
{
	static const int one = 1;
	static const int dead_ms = SSH_STREAM_DEAD_AFTER_MS;
	int error = 0;
	socklen_t size = sizeof(error);

	if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size))
		error = errno;
	if (error)
		return over_text(stream, E_UNAVAILABLE, error_text(-error),
				 "check the address, the cable and that SSH is on");
	setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(stream->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
	stream->phase = PHASE_KEY_EXCHANGE;
	return STEP_NEXT;
}

static bool ssh_stream_session_new(struct ssh_stream *stream)
{
	const struct switch_endpoint *endpoint = stream->endpoint;
	static const bool no = false;
	unsigned port = stream->port;
	ssh_session session = ssh_new();

	if (!session)
		return false;
	stream->session = session;
	ssh_set_blocking(session, 0);
	/* Errors of the lists would mean that libssh lost an algorithm: the others stay. */
	ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
	ssh_options_set(session, SSH_OPTIONS_HOST, endpoint->address);
	ssh_options_set(session, SSH_OPTIONS_PORT, &port);
	ssh_options_set(session, SSH_OPTIONS_USER, endpoint->ssh_user);
	for (size_t i = 0; i < COUNT_OF(ssh_stream_algorithms); i++)
		ssh_options_set(session, ssh_stream_algorithms[i].option,
				endpoint->ssh_insecure ? ssh_stream_algorithms[i].and_weak
						       : ssh_stream_algorithms[i].names);
	if (ssh_options_set(session, SSH_OPTIONS_FD, &stream->fd) != SSH_OK)
		return false;
	return true;
}

/* "SHA256:..." as ssh-keygen -l prints it; NULL when it cannot be had. ssh_string_free_char. */
static char *ssh_stream_fingerprint(ssh_session session)
{
	unsigned char *hash = NULL;
	size_t size = 0;
	ssh_key key = NULL;
	char *text = NULL;

	if (ssh_get_server_publickey(session, &key) == SSH_OK &&
	    ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) == SSH_OK)
		text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
	ssh_clean_pubkey_hash(&hash);
	ssh_key_free(key);
	return text;
}

/* The first key of a switch where the operator takes any. While it is being kept the socket is left
 * alone: the endpoint that comes with the key ends this stream, else the call's time does. */
static enum step ssh_stream_first_key(struct ssh_stream *stream, const char *shown)
{
	const struct switch_endpoint *endpoint = stream->endpoint;

	if (endpoint->host_keys->first(endpoint->host_keys->context, endpoint, shown)) {
		stream->phase = PHASE_NONE;
		return STEP_NEXT;
	}
	loop_watch_free(stream->watch);
	stream->watch = NULL;
	return STEP_AGAIN;
}

/* No password is sent before the switch has shown the key that it is known by. */
static enum step ssh_stream_check_key(struct ssh_stream *stream)
{
	const struct switch_endpoint *endpoint = stream->endpoint;
	char *shown = ssh_stream_fingerprint(stream->session);
	struct problem problem;

	if (shown && strcmp(shown, endpoint->host_key) == 0) {
		ssh_string_free_char(shown);
		stream->phase = PHASE_NONE;
		return STEP_NEXT;
	}
	if (shown && !endpoint->host_key[0] && endpoint->host_key_any && endpoint->host_keys) {
		enum step step = ssh_stream_first_key(stream, shown);

		ssh_string_free_char(shown);
		return step;
	}
	if (endpoint->host_key[0]) {
		problem_set(&problem, E_AUTHENTICATION, "switch %s shows another SSH host key",
			    endpoint->name);
		problem_detail(&problem, "%s port %u shows %s, known is %s", endpoint->address,
			       stream->port, shown ? shown : "none", endpoint->host_key);
		problem_hint(
			&problem,
			"if the switch or its key was replaced, compare the key on its console, then set the new one; else the connection may be intercepted");
	} else {
		problem_set(&problem, E_AUTHENTICATION,
			    "the SSH host key of switch %s is not known", endpoint->name);
		problem_detail(&problem, "%s port %u shows %s", endpoint->address, stream->port,
			       shown ? shown : "none");
		problem_hint(&problem, "compare it with the switch's console and set it");
	}
	ssh_string_free_char(shown);
	return ssh_stream_over(stream, E_AUTHENTICATION, &problem);
}

static enum step step_key_exchange(struct ssh_stream *stream)
{
	int rc;

	if (!stream->session && !ssh_stream_session_new(stream))
		return over_text(stream, -ENOMEM, "libssh gave no session", "");
	rc = ssh_connect(stream->session);
	if (rc == SSH_AGAIN)
		return STEP_AGAIN;
	return rc == SSH_OK ? ssh_stream_check_key(stream) : over_library(stream, "key exchange");
}

/* --- logging in --- */

static enum step ssh_stream_refused(struct ssh_stream *stream)
{
	const struct switch_endpoint *endpoint = stream->endpoint;
	struct problem problem;

	problem_set(&problem, E_AUTHENTICATION, "switch %s refused the SSH user %s", endpoint->name,
		    endpoint->ssh_user);
	problem_detail(&problem, "%s port %u, password", endpoint->address, stream->port);
	problem_hint(&problem, "check the user's name and password");
	return ssh_stream_over(stream, E_AUTHENTICATION, &problem);
}

static enum step logged_in(struct ssh_stream *stream)
{
	stream->phase = PHASE_CHANNEL;
	return STEP_NEXT;
}

/* The next way to log in that the switch offers and that was not tried. */
static enum step other_way(struct ssh_stream *stream, bool password)
{
	int ways = ssh_userauth_list(stream->session, NULL);

	if (password && (ways & (int)SSH_AUTH_METHOD_PASSWORD)) {
		stream->phase = PHASE_PASSWORD;
		return STEP_NEXT;
	}
	if (!stream->tried_interactive && (ways & (int)SSH_AUTH_METHOD_INTERACTIVE)) {
		stream->tried_interactive = true;
		stream->phase = PHASE_INTERACTIVE;
		return STEP_NEXT;
	}
	return ssh_stream_refused(stream);
}

static enum step step_none(struct ssh_stream *stream)
{
	switch (ssh_userauth_none(stream->session, NULL)) {
	case SSH_AUTH_AGAIN: return STEP_AGAIN;
	case SSH_AUTH_SUCCESS: return logged_in(stream); /* it will ask in the shell */
	case SSH_AUTH_ERROR: return over_library(stream, "logging in");
	default: return other_way(stream, true);
	}
}

static enum step step_password(struct ssh_stream *stream)
{
	switch (ssh_userauth_password(stream->session, NULL, stream->endpoint->ssh_password)) {
	case SSH_AUTH_AGAIN: return STEP_AGAIN;
	case SSH_AUTH_SUCCESS: return logged_in(stream);
	case SSH_AUTH_ERROR: return over_library(stream, "logging in");
	default: return other_way(stream, false);
	}
}

/* RFC 4256: what is typed unseen is the password, what is shown the name. */
static enum step answer_questions(struct ssh_stream *stream)
{
	int count = ssh_userauth_kbdint_getnprompts(stream->session);

	if (++stream->rounds > SSH_STREAM_ANSWER_ROUNDS)
		return ssh_stream_refused(stream);
	for (int i = 0; i < count; i++) {
		char echo = 0;
		const char *question =
			ssh_userauth_kbdint_getprompt(stream->session, (unsigned)i, &echo);

		if (!question ||
		    ssh_userauth_kbdint_setanswer(stream->session, (unsigned)i,
						  echo ? stream->endpoint->ssh_user
						       : stream->endpoint->ssh_password) < 0)
			return ssh_stream_refused(stream);
	}
	return STEP_NEXT;
}

static enum step step_interactive(struct ssh_stream *stream)
{
	switch (ssh_userauth_kbdint(stream->session, NULL, NULL)) {
	case SSH_AUTH_AGAIN: return STEP_AGAIN;
	case SSH_AUTH_SUCCESS: return logged_in(stream);
	case SSH_AUTH_INFO: return answer_questions(stream);
	case SSH_AUTH_ERROR: return over_library(stream, "logging in");
	default: return ssh_stream_refused(stream);
	}
}

/* --- the channel --- */

static enum step ssh_stream_went(struct ssh_stream *stream, int rc, enum phase next,
				 const char *doing)
{
	if (rc == SSH_AGAIN)
		return STEP_AGAIN;
	if (rc != SSH_OK)
		return over_library(stream, doing);
	stream->phase = next;
	return STEP_NEXT;
}

static enum step step_channel(struct ssh_stream *stream)
{
	if (!stream->channel)
		stream->channel = ssh_channel_new(stream->session);
	if (!stream->channel)
		return over_text(stream, -ENOMEM, "libssh gave no channel", "");
	return ssh_stream_went(stream, ssh_channel_open_session(stream->channel),
			       stream->subsystem ? PHASE_SHELL : PHASE_TERMINAL,
			       "opening a session");
}

static enum step step_terminal(struct ssh_stream *stream)
{
	/* As wide as anything asks for: lines that wrap are lines that do not parse. */
	return ssh_stream_went(stream,
			       ssh_channel_request_pty_size(stream->channel, "vt100", 511, 1000),
			       PHASE_SHELL, "asking for a terminal");
}

static enum step step_shell(struct ssh_stream *stream)
{
	int rc = stream->subsystem
			 ? ssh_channel_request_subsystem(stream->channel, stream->subsystem)
			 : ssh_channel_request_shell(stream->channel);
	enum step step = ssh_stream_went(stream, rc, PHASE_OPEN,
					 stream->subsystem ? "asking for its subsystem"
							   : "asking for a shell");

	if (step == STEP_NEXT) {
		loop_timer_arm(stream->keep, KEEP_ALIVE_MS);
		stream->events.opened(stream->events.context);
	}
	return step;
}

static enum step ssh_stream_flush(struct ssh_stream *stream)
{
	while (stream->out.size) {
		int sent = ssh_channel_write(stream->channel, stream->out.data,
					     (uint32_t)stream->out.size);

		if (sent == SSH_AGAIN || sent == 0)
			return STEP_AGAIN;
		if (sent < 0)
			return over_library(stream, "writing");
		memmove(stream->out.data, stream->out.data + sent, stream->out.size - (size_t)sent);
		stream->out.size -= (size_t)sent;
		/* Enable secrets pass through here. */
		sodium_memzero(stream->out.data + stream->out.size, (size_t)sent);
	}
	return STEP_AGAIN;
}

static enum step step_open(struct ssh_stream *stream)
{
	char bytes[4096];
	size_t turn = 0;
	int got = 0;

	for (int side = 1; side >= 0; side--) { /* what goes to stderr is not ours */
		while (turn < TURN_BYTES && !stream->closed &&
		       (got = ssh_channel_read_nonblocking(stream->channel, bytes, sizeof(bytes),
							   side)) > 0) {
			turn += (size_t)got;
			if (side == 0)
				stream->events.data(stream->events.context, bytes, (size_t)got);
		}
	}
	if (stream->closed)
		return STEP_OVER;
	if (ssh_channel_is_eof(stream->channel) || ssh_channel_is_closed(stream->channel))
		return over_text(stream, E_UNAVAILABLE, "the switch ended the session",
				 "it may allow few sessions, or be starting again");
	if (got < 0 && got != SSH_AGAIN)
		return over_library(stream, "reading");
	if (turn >= TURN_BYTES) /* the rest is in libssh, not in the socket */
		loop_timer_arm(stream->kick, 0);
	return ssh_stream_flush(stream);
}

static enum step (*const ssh_stream_steps[PHASE_COUNT])(struct ssh_stream *stream) = {
	[PHASE_TCP] = step_tcp,
	[PHASE_KEY_EXCHANGE] = step_key_exchange,
	[PHASE_NONE] = step_none,
	[PHASE_PASSWORD] = step_password,
	[PHASE_INTERACTIVE] = step_interactive,
	[PHASE_CHANNEL] = step_channel,
	[PHASE_TERMINAL] = step_terminal,
	[PHASE_SHELL] = step_shell,
	[PHASE_OPEN] = step_open,
};

/* --- on the loop --- */

/* libssh closes a socket that it was given only when it got as far as talking on it. */
static void socket_close(const struct ssh_stream *stream)
{
	struct stat is;

	if (stream->fd >= 0 && fstat(stream->fd, &is) == 0 && is.st_ino == stream->inode &&
	    S_ISSOCK(is.st_mode))
		close(stream->fd);
}

static void ssh_stream_free(struct ssh_stream *stream)
{
	loop_watch_free(stream->watch);
	loop_timer_free(stream->keep);
	loop_timer_free(stream->kick);
	if (stream->channel)
		ssh_channel_free(stream->channel);
	if (stream->session) {
		ssh_disconnect(stream->session);
		ssh_free(stream->session);
	}
	socket_close(stream);
	if (stream->out.data)
		sodium_memzero(stream->out.data, stream->out.room);
	text_done(&stream->out);
	free(stream);
}

static void take_steps(struct ssh_stream *stream)
{
	enum step step = STEP_NEXT;

	stream->stepping = true;
	while (step == STEP_NEXT && !stream->closed)
		step = ssh_stream_steps[stream->phase] ? ssh_stream_steps[stream->phase](stream)
						       : STEP_OVER;
	stream->stepping = false;
	if (stream->closed) {
		ssh_stream_free(stream);
		return;
	}
	if (!stream->watch)
		return;
	if (stream->phase == PHASE_TCP)
		loop_watch_set(stream->watch, LOOP_WRITE);
	else if (stream->session)
		loop_watch_set(stream->watch,
			       LOOP_READ | (ssh_get_poll_flags(stream->session) & SSH_WRITE_PENDING
						    ? LOOP_WRITE
						    : 0));
}

static void on_socket(void *context, int events)
{
	(void)events;
	take_steps(context);
}

static void on_kick(void *context)
{
	take_steps(context);
}

static void on_keep(void *context)
{
	struct ssh_stream *stream = context;

	ssh_send_keepalive(stream->session);
	loop_timer_arm(stream->keep, KEEP_ALIVE_MS);
	take_steps(stream);
}

static int connect_begin(const struct switch_endpoint *endpoint, uint16_t port, int *ret)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char service[8];
	int fd;
	int rc = 0;

	text_format(service, sizeof(service), "%u", port);
	if (getaddrinfo(endpoint->address, service, &hints, &found))
		return -EINVAL;
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	/* Any other error of connect() is found by the first step. */
	if (fd < 0 || (connect(fd, found->ai_addr, found->ai_addrlen) && errno != EINPROGRESS))
		rc = -errno;
	freeaddrinfo(found);
	if (rc) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	*ret = fd;
	return 0;
}

static ino_t inode_of(int fd)
{
	struct stat is;

	return fstat(fd, &is) ? 0 : is.st_ino;
}

static int stream_open(struct loop *loop, const struct switch_endpoint *endpoint,
		       const char *subsystem, const struct switch_stream_events *events,
		       void **ret_stream, struct problem *problem)
{
	struct ssh_stream *stream = calloc(1, sizeof(*stream));
	int rc;

	if (!stream)
		return problem_set(problem, -ENOMEM, "no memory for an SSH session");
	*stream = (struct ssh_stream){
		.loop = loop,
		.endpoint = endpoint,
		.subsystem = subsystem,
		.events = *events,
		.fd = -1,
	};
	stream->port = subsystem ? endpoint->netconf_port : endpoint->cli_port;
	if (!stream->port)
		stream->port = subsystem ? 830 : 22;
	rc = connect_begin(endpoint, stream->port, &stream->fd);
	if (!rc)
		stream->inode = inode_of(stream->fd);
	if (!rc)
		rc = loop_timer_new(loop, on_kick, stream, &stream->kick);
	if (!rc)
		rc = loop_timer_new(loop, on_keep, stream, &stream->keep);
	if (!rc)
		rc = loop_watch_new(loop, stream->fd, LOOP_WRITE, on_socket, stream,
				    &stream->watch);
	if (rc) {
		problem_set(problem, rc, "no SSH to switch %s", endpoint->name);
		problem_detail(problem, "%s port %u: %s", endpoint->address, stream->port,
			       error_text(rc));
		problem_hint(problem, "check the address and the routes to it");
		ssh_stream_free(stream);
		return rc;
	}
	*ret_stream = stream;
	return 0;
}

static int stream_write(void *opaque, const char *bytes, size_t size)
{
	struct ssh_stream *stream = opaque;

	text_add_bytes(&stream->out, bytes, size);
	if (stream->out.failed)
		return -ENOMEM;
	/* From inside an event the step goes on to send it. */
	if (!stream->stepping && stream->phase == PHASE_OPEN)
		loop_timer_arm(stream->kick, 0);
	return 0;
}

static void stream_close(void *opaque)
{
	struct ssh_stream *stream = opaque;

	if (!stream)
		return;
	stream->closed = true;
	if (!stream->stepping)
		ssh_stream_free(stream);
}

const struct switch_stream_row ssh_switch_stream = {
	.open = stream_open,
	.write = stream_write,
	.close = stream_close,
};
