/* haasctl node console: the node's serial line on this terminal. The stream is server-sent events
 * with base64 of the bytes; what is typed goes by POST. A connection that breaks is made anew: the
 * server begins with what it has kept, and of that is shown what is new. Ctrl-] leaves; without a terminal, or with
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
#define CLI_CONSOLE_TAIL       1024           /* bytes that were shown, to find the place again */
#define CLI_CONSOLE_KEPT       65536          /* bytes that the server has kept, at most */
#define CLI_CONSOLE_QUIET_MS   300            /* then what was kept has come */
#define CLI_CONSOLE_SOON_MS    50

struct console {
	struct haasctl *haasctl;
	const struct command_input *input;
	const char *tenant;
	/* A second connection: the first one is held by the stream. It is made once that is there, to the
	   same machine. */
	struct http_client *client;
	struct http_call *call;
	struct text pending, sending;
	char target[160];
	bool failed;
	char tail[CLI_CONSOLE_TAIL];
	size_t tail_size;
	bool resuming;    /* the server repeats itself: collected, not shown */
	struct text kept; /* what was collected */
	struct loop_timer *quiet;
	struct loop_timer *soon; /* keys wait for the stream */
};

static void cli_console_write(struct console *console, const char *bytes, size_t size)
{
	size_t of_old = console->tail_size;
	size_t of_new = size < CLI_CONSOLE_TAIL ? size : CLI_CONSOLE_TAIL;

	if (write_whole(STDOUT_FILENO, bytes, size))
		haasctl_stop(console->haasctl);
	if (of_old > CLI_CONSOLE_TAIL - of_new)
		of_old = CLI_CONSOLE_TAIL - of_new;
	memmove(console->tail, console->tail + console->tail_size - of_old, of_old);
	memcpy(console->tail + of_old, bytes + size - of_new, of_new);
	console->tail_size = of_old + of_new;
}

/* Where the tail was last, what follows is new; nowhere: more was said than is kept, so all of it. */
static size_t cli_console_place(const struct console *console)
{
	const char *bytes = text_get(&console->kept);
	size_t tail = console->tail_size;

	for (size_t at = console->kept.size; tail > 0 && at >= tail; at--) {
		if (memcmp(bytes + at - tail, console->tail, tail) == 0)
			return at;
	}
	return 0;
}

static void cli_console_resumed(void *context)
{
	struct console *console = context;
	size_t place;

	if (!console->resuming)
		return;
	console->resuming = false;
	place = cli_console_place(console);
	cli_console_write(console, text_get(&console->kept) + place, console->kept.size - place);
	text_clear(&console->kept);
}

static void cli_console_show(struct console *console, const char *base64)
{
	unsigned char bytes[CLI_CONSOLE_PIECE_SIZE];
	size_t size = 0;

	if (!haasctl_from_base64(base64, bytes, sizeof(bytes), &size))
		return;
	if (!console->resuming) {
		cli_console_write(console, (const char *)bytes, size);
		return;
	}
	text_add_bytes(&console->kept, bytes, size);
	if (console->kept.size >= CLI_CONSOLE_KEPT)
		cli_console_resumed(console);
	else
		loop_timer_arm(console->quiet, CLI_CONSOLE_QUIET_MS);
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

/* Is there a connection for keys? */
static bool cli_console_can_send(struct console *console)
{
	if (!console->client && haasctl_is_connected(console->haasctl) &&
	    haasctl_connect(console->haasctl, console->input, &console->client) != EXIT_OK)
		haasctl_stop(console->haasctl);
	return console->client != NULL;
}

static void send_pending(struct console *console)
{
	struct http_header tenant = {"X-Haas-Tenant", console->tenant};
	struct text swap = console->sending;

	if (console->call || console->pending.size == 0)
		return;
	if (!cli_console_can_send(console)) {
		loop_timer_arm(console->soon, CLI_CONSOLE_SOON_MS);
		return;
	}
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

static void cli_console_on_soon(void *context)
{
	send_pending(context);
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
static int start_typing(struct console *console, const char *node, struct loop_watch **ret,
			struct termios *ret_before)
{
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

/* The stream, taken up as often as its connection breaks. */
static int cli_console_follow(struct console *console, const struct command_input *input,
			      const char *node)
{
	struct event_reader reader = {.on_event = cli_console_on_event, .context = console};
	CLEANUP(text_done) struct text target = {0};
	unsigned tries = 0;
	bool again;
	int status;

	haasctl_path(&target, "/nodes/", node, "/console/stream");
	do {
		struct haasctl_reply reply = {0};

		status = haasctl_call(console->haasctl, input,
				      &(struct haasctl_call){.method = "GET",
							     .target = text_get(&target),
							     .untold = EXIT_UNREACHABLE,
							     .on_data = cli_console_on_stream,
							     .context = &reader},
				      &reply);
		haasctl_reply_done(&reply);
		cli_console_resumed(console);
		event_reader_done(&reader);
		reader =
			(struct event_reader){.on_event = cli_console_on_event, .context = console};
		again = haasctl_resume(console->haasctl, &tries, &status);
		console->resuming = again;
	} while (again);
	return status;
}

static void cli_console_done(struct console *console)
{
	http_client_free(console->client);
	loop_timer_free(console->quiet);
	loop_timer_free(console->soon);
	text_done(&console->pending);
	text_done(&console->sending);
	text_done(&console->kept);
}

int console_run(struct haasctl *haasctl, const struct command_input *input, const char *node)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(cli_console_done)
	struct console console = {
		.haasctl = haasctl, .input = input, .tenant = command_option(input, "--as-tenant")};
	struct loop_watch *keys = NULL;
	struct termios before = {0};
	int status = EXIT_OK;

	haasctl_path(&target, HAASCTL_API "/nodes/", node, "/console/input");
	if (!text_copy(console.target, sizeof(console.target), text_get(&target)))
		return haasctl_usage("%s is not the name of a node", node);
	if (loop_timer_new(haasctl_loop(haasctl), cli_console_resumed, &console, &console.quiet) <
		    0 ||
	    loop_timer_new(haasctl_loop(haasctl), cli_console_on_soon, &console, &console.soon) < 0)
		return haasctl_cannot("open", "the console", -ENOMEM);
	if (isatty(STDIN_FILENO) && !command_option(input, "--read-only"))
		status = start_typing(&console, node, &keys, &before);
	if (status == EXIT_OK)
		status = cli_console_follow(&console, input, node);
	if (keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	loop_watch_free(keys);
	return status == EXIT_OK && console.failed ? EXIT_FAILED : status;
}
