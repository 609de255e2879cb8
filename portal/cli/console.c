/* haasctl node console: the node's serial line on this terminal. The stream is server-sent events
 * with base64 of the bytes; what is typed goes by POST. Ctrl-] leaves; without a terminal, or with
 * --read-only, it only shows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/loop.h"
#include "common/io/transfer.h"

#include "portal/cli/event_reader.h"
#include "portal/cli/haasctl.h"

#define LEAVE_KEY              '\035' /* Ctrl-] */
#define CLI_CONSOLE_PIECE_SIZE ((size_t)1 << 17)
#define INPUT_LIMIT            ((size_t)4096) /* of one POST */

struct console {
	struct haasctl *haasctl;
	const char *tenant;
	struct http_client *client; /* a second connection: the first one is held by the stream */
	struct http_call *call;
	struct text pending, sending;
	char target[160];
	bool failed;
};

static void cli_console_show(struct console *console, const char *base64)
{
	unsigned char bytes[CLI_CONSOLE_PIECE_SIZE];
	size_t size = 0;

	if (!haasctl_from_base64(base64, bytes, sizeof(bytes), &size))
		return;
	if (write_whole(STDOUT_FILENO, bytes, size))
		haasctl_stop(console->haasctl);
}

/* The server's last word: why the console went away. */
static void tell_closed(struct console *console, const char *problem)
{
	struct problem unread = {0};
	json_t *json = NULL;

	console->failed = true;
	say_control(stderr, "\r\n");
	if (json_read(problem, strlen(problem), JSON_LIMIT_DEFAULT, &json, &unread) == 0)
		haasctl_stored_problem("haasctl: console", json);
	json_decref(json);
	haasctl_stop(console->haasctl);
}

static void cli_console_on_event(void *context, const char *kind, const struct text *data)
{
	if (strcmp(kind, "closed") == 0)
		tell_closed(context, text_get(data));
	else
		cli_console_show(context, text_get(data));
}

static void cli_console_on_stream(void *context, const void *data, size_t size)
{
	event_reader_take(context, data, size);
}

static void send_pending(struct console *console);

static void cli_console_on_sent(void *context, int rc, const struct http_response *response,
				const struct problem *problem)
{
	struct console *console = context;

	(void)problem;
	console->call = NULL;
	if (rc < 0 || response->status >= 400) {
		say_control(stderr, "\r\nhaasctl: the console takes no input now\r\n");
		text_clear(&console->pending);
		return;
	}
	send_pending(console);
}

static void send_pending(struct console *console)
{
	struct http_header tenant = {"X-Haas-Tenant", console->tenant};
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
					    .headers = &tenant,
					    .header_count = console->tenant ? 1 : 0,
					    .body = console->sending.data,
					    .body_size = console->sending.size,
					    .content_type = "application/octet-stream",
					    .on_done = cli_console_on_sent,
					    .context = console},
		&console->call);
	if (rc < 0) {
		say_control(stderr, "\r\n");
		fprintf(stderr, "haasctl: cannot send: %s\n", error_text(rc));
		say_control(stderr, "\r");
	}
}

static void on_key(void *context, int events)
{
	struct console *console = context;
	char keys[256];
	ssize_t size = read(STDIN_FILENO, keys, sizeof(keys));

	(void)events;
	if (size <= 0 || memchr(keys, LEAVE_KEY, (size_t)size)) {
		haasctl_stop(console->haasctl);
		return;
	}
	if (console->pending.size + (size_t)size <= INPUT_LIMIT)
		text_add_bytes(&console->pending, keys, (size_t)size);
	send_pending(console);
}

/* Keys go to the node, unchanged; EXIT_OK with the terminal raw and *ret_before to give back. */
static int start_typing(struct console *console, const struct command_input *input,
			const char *node, struct loop_watch **ret, struct termios *ret_before)
{
	int status = haasctl_connect(console->haasctl, input, &console->client);

	if (status != EXIT_OK)
		return status;
	if (tcgetattr(STDIN_FILENO, ret_before) != 0 ||
	    loop_watch_new(haasctl_loop(console->haasctl), STDIN_FILENO, LOOP_READ, on_key, console,
			   ret) < 0)
		return haasctl_cannot("use", "the terminal", -errno);
	struct termios raw = *ret_before;

	fprintf(stderr, "console of %s; Ctrl-] leaves\n", node);
	cfmakeraw(&raw);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	return EXIT_OK;
}

int console_run(struct haasctl *haasctl, const struct command_input *input, const char *node)
{
	CLEANUP(text_done) struct text target = {0};
	struct console console = {.haasctl = haasctl,
				  .tenant = command_option(input, "--as-tenant")};
	struct event_reader reader = {.on_event = cli_console_on_event, .context = &console};
	struct haasctl_reply reply = {0};
	struct loop_watch *keys = NULL;
	struct termios before = {0};
	int status = EXIT_OK;

	haasctl_path(&target, HAASCTL_API "/nodes/", node, "/console/input");
	if (!text_copy(console.target, sizeof(console.target), text_get(&target)))
		return haasctl_usage("%s is not the name of a node", node);
	if (isatty(STDIN_FILENO) && !command_option(input, "--read-only"))
		status = start_typing(&console, input, node, &keys, &before);
	haasctl_path(&target, "/nodes/", node, "/console/stream");
	if (status == EXIT_OK)
		status = haasctl_call(haasctl, input,
				      &(struct haasctl_call){.method = "GET",
							     .target = text_get(&target),
							     .on_data = cli_console_on_stream,
							     .context = &reader},
				      &reply);
	if (keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	haasctl_reply_done(&reply);
	loop_watch_free(keys);
	http_client_free(console.client);
	event_reader_done(&reader);
	text_done(&console.pending);
	text_done(&console.sending);
	return status == EXIT_OK && console.failed ? EXIT_FAILED : status;
}
