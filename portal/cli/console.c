/* haasctl node console: the node's serial line on this terminal. The stream is server-sent events
 * with base64 of the bytes; what is typed goes by POST. Ctrl-] leaves; without a terminal, or with
 * --read-only, it only shows. */
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/loop.h"

#include "portal/cli/haasctl.h"

#define LEAVE_KEY  '\035' /* Ctrl-] */
#define LINE_LIMIT ((size_t)1 << 17)

struct console {
	struct haasctl *haasctl;
	struct http_client *client; /* a second connection: the first one is held by the stream */
	struct http_call *call;
	struct text line, pending, sending;
	char target[160];
	bool left;
};

static void show(const char *base64)
{
	unsigned char bytes[LINE_LIMIT];
	size_t size = 0;

	if (sodium_base642bin(bytes, sizeof(bytes), base64, strlen(base64), " ", &size, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0)
		return;
	for (size_t done = 0; done < size;) {
		ssize_t written = write(STDOUT_FILENO, bytes + done, size - done);

		if (written <= 0 && errno != EINTR)
			return;
		done += written > 0 ? (size_t)written : 0;
	}
}

static int on_stream(void *context, const void *data, size_t size)
{
	struct console *console = context;
	const char *at = data;

	for (size_t i = 0; i < size; i++) {
		if (at[i] != '\n') {
			if (console->line.size < LINE_LIMIT)
				text_add_bytes(&console->line, &at[i], 1);
			continue;
		}
		const char *line = text_get(&console->line);
		if (strncmp(line, "data:", 5) == 0 && line[5 + strspn(line + 5, " ")] != '{')
			show(line + 5);
		text_clear(&console->line);
	}
	return console->left ? -ECANCELED : 0;
}

static void send_pending(struct console *console);

static void on_sent(void *context, int rc, const struct http_response *response,
		    const struct problem *problem)
{
	struct console *console = context;

	(void)problem;
	console->call = NULL;
	if (rc < 0 || response->status >= 400) {
		fprintf(stderr, "\r\nhaasctl: the console takes no input now\r\n");
		text_clear(&console->pending);
		return;
	}
	send_pending(console);
}

static void send_pending(struct console *console)
{
	struct text swap = console->sending;

	if (console->call || console->pending.size == 0)
		return;
	console->sending = console->pending;
	console->pending = swap;
	text_clear(&console->pending);
	int rc = http_client_call(
		console->client,
		&(struct http_call_options){.method = "POST",
					    .target = console->target,
					    .body = console->sending.data,
					    .body_size = console->sending.size,
					    .content_type = "application/octet-stream",
					    .on_done = on_sent,
					    .context = console},
		&console->call);
	if (rc < 0)
		fprintf(stderr, "\r\nhaasctl: cannot send: %s\r\n", error_text(rc));
}

static void on_key(void *context, int events)
{
	struct console *console = context;
	char keys[256];
	ssize_t size = read(STDIN_FILENO, keys, sizeof(keys));

	(void)events;
	if (size <= 0 || memchr(keys, LEAVE_KEY, (size_t)size)) {
		console->left = true;
		raise(SIGINT); /* ends the stream as Ctrl-C would */
		return;
	}
	if (console->pending.size < 4096)
		text_add_bytes(&console->pending, keys,
			       (size_t)size < 4096 - console->pending.size
				       ? (size_t)size
				       : 4096 - console->pending.size);
	send_pending(console);
}

static int listen_to_keys(struct console *console, const struct command_input *input,
			  struct loop_watch **ret)
{
	CLEANUP(text_done) struct text url = {0};
	const char *socket = command_option(input, "--socket");

	if (!socket)
		socket = getenv("HAAS_SOCKET");
	text_addf(&url, "unix:%s", socket ? socket : HAASCTL_DEFAULT_SOCKET);
	int rc = http_client_new(haasctl_loop(console->haasctl), text_get(&url), &console->client);
	return rc < 0 ? rc
		      : loop_watch_new(haasctl_loop(console->haasctl), STDIN_FILENO, LOOP_READ,
				       on_key, console, ret);
}

int console_run(struct haasctl *haasctl, const struct command_input *input, const char *node)
{
	CLEANUP(text_done) struct text stream = {0};
	CLEANUP(text_done) struct text name = {0};
	struct console console = {.haasctl = haasctl};
	struct haasctl_reply reply = {0};
	struct loop_watch *keys = NULL;
	struct termios before = {0};
	bool typing = isatty(STDIN_FILENO) && !command_option(input, "--read-only");

	haasctl_escape(&name, node);
	text_format(console.target, sizeof(console.target), "/api/v1/nodes/%s/console/input",
		    text_get(&name));
	text_addf(&stream, "/nodes/%s/console/stream", text_get(&name));
	if (typing && listen_to_keys(&console, input, &keys) == 0 &&
	    tcgetattr(STDIN_FILENO, &before) == 0) {
		struct termios raw = before;

		fprintf(stderr, "console of %s; Ctrl-] leaves\n", node);
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	int status = haasctl_call(haasctl, input,
				  &(struct haasctl_call){.method = "GET",
							 .target = text_get(&stream),
							 .on_data = on_stream,
							 .context = &console},
				  &reply);
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	haasctl_reply_done(&reply);
	loop_watch_free(keys);
	http_client_free(console.client);
	text_done(&console.line);
	text_done(&console.pending);
	text_done(&console.sending);
	return console.left ? EXIT_OK : status;
}
