#include "bampi/bmc/console.h"

#include <errno.h>
#include <fcntl.h>
#include <ipmiconsole.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/clock.h"
#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/hash_table.h"

#include "bampi/bmc/console_line.h"
#include "bampi/bmc/console_policy.h"
#include "bampi/bmc/console_ring.h"
#include "bampi/bmc/console_submit.h"

enum {
	ENGINE_THREADS = 4,
	SESSION_TIMEOUT_MS = 15000,
	KEEPALIVE_MS = 5000,
	BMC_CONSOLE_RETRANSMIT_MS = 1000,
	PIECE_SIZE = 4096
};

struct subscriber {
	uint64_t ticket;
	console_piece_fn fn; /* NULL: unsubscribed while pieces are handed out */
	void *context;
	struct console *console;
	struct subscriber *prev, *next;
	UT_hash_handle hh;
};

struct console {
	struct console_hub *hub;
	int64_t id;
	struct bmc_endpoint endpoint;
	unsigned watches;
	struct console_seat seat;
	enum console_state state;
	ipmiconsole_ctx_t session;
	int fd; /* of the session; -1 = none */
	struct loop_watch *readable;
	struct loop_timer *retry;
	unsigned failures; /* sessions in a row that never connected */
	int64_t last_byte_us, retry_at_us;
	struct problem problem;
	struct subscriber *subscribers;
	bool handing_out;
	struct console_ring ring;
	UT_hash_handle hh;
};

struct console_hub {
	struct loop *loop;
	struct console_line *line;
	struct console *consoles;       /* by id */
	struct subscriber *subscribers; /* by ticket */
	uint64_t next_ticket;
	uint64_t reopened;
	console_observer_fn observer; /* may be NULL */
	void *observer_context;
};

static struct console *console_find(const struct console_hub *hub, int64_t id)
{
	struct console *console = NULL;

	HASH_FIND(hh, hub->consoles, &id, sizeof(id), console);
	return console;
}

static void bmc_console_observe(const struct console *console, const char *bytes, size_t size)
{
	const struct console_hub *hub = console->hub;

	if (hub->observer)
		hub->observer(hub->observer_context, console->id, console->state, bytes, size,
			      &console->problem);
}

void console_hub_observe(struct console_hub *hub, console_observer_fn fn, void *context)
{
	hub->observer = fn;
	hub->observer_context = context;
}

/* --- session --- */

static void bmc_console_session_end(struct console *console)
{
	console_line_leave(console->hub->line, &console->seat);
	loop_watch_free(console->readable);
	console->readable = NULL;
	/* Closing our end is what makes the engine say goodbye to the BMC; the context goes to its
	 * garbage collection. */
	if (console->fd >= 0)
		(void)close(console->fd);
	console->fd = -1;
	if (console->session)
		ipmiconsole_ctx_destroy(console->session);
	console->session = NULL;
	loop_timer_disarm(console->retry);
	console->state = CONSOLE_OFF;
}

static void session_failed(struct console *console, int theirs)
{
	int64_t wait_ms;

	console->failures = console->state == CONSOLE_CONNECTED ? 1 : console->failures + 1;
	wait_ms = console_retry_ms(theirs, console->failures, console->endpoint.node,
				   &console->problem);
	bmc_console_session_end(console);
	console->state = CONSOLE_WAITING;
	console->retry_at_us = clock_wall_us() + wait_ms * 1000;
	loop_timer_arm(console->retry, wait_ms);
	bmc_console_observe(console, "", 0);
}

static void session_want(struct console *console, bool at_once)
{
	console->state = CONSOLE_CONNECTING;
	console_line_join(console->hub->line, &console->seat, at_once);
}

static void retry_due(void *context)
{
	session_want(context, false);
}

static void bmc_console_hand_out(struct console *console, const char *bytes, size_t size,
				 uint64_t position)
{
	struct subscriber *subscriber = NULL;
	struct subscriber *next = NULL;

	console->handing_out = true;
	DL_FOREACH(console->subscribers, subscriber)
	{
		if (subscriber->fn)
			subscriber->fn(subscriber->context, bytes, size, position);
	}
	console->handing_out = false;
	DL_FOREACH_SAFE(console->subscribers, subscriber, next)
	{
		if (!subscriber->fn) {
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a whole list */
			DL_DELETE(console->subscribers, subscriber);
			free(subscriber);
		}
	}
}

static void session_read(struct console *console)
{
	char bytes[PIECE_SIZE];
	ssize_t size = read(console->fd, bytes, sizeof(bytes));
	const char *start = bytes;
	uint64_t position = console->ring.total;

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		session_failed(console, ipmiconsole_ctx_errnum(console->session));
		return;
	}
	if (console->state == CONSOLE_CONNECTING) {
		/* The first byte is the engine's own NUL: "established". */
		console->state = CONSOLE_CONNECTED;
		console->problem = (struct problem){0};
		console->failures = 0;
		start++;
		size--;
		bmc_console_observe(console, "", 0);
	}
	if (size == 0)
		return;
	console_ring_add(&console->ring, start, (size_t)size);
	console->last_byte_us = clock_wall_us();
	bmc_console_observe(console, start, (size_t)size);
	bmc_console_hand_out(console, start, (size_t)size, position);
}

static void bmc_console_readable(void *context, int events)
{
	(void)events;
	session_read(context);
}

static ipmiconsole_ctx_t bmc_console_session_new(const struct bmc_endpoint *endpoint)
{
	struct bmc_endpoint access = *endpoint; /* libipmiconsole wants them writable; it copies */
	struct ipmiconsole_ipmi_config ipmi = {
		.username = access.username,
		.password = access.password,
		.privilege_level = IPMICONSOLE_PRIVILEGE_ADMIN,
		.cipher_suite_id = access.cipher_suite,
		.workaround_flags = console_workarounds(access.workarounds),
	};
	struct ipmiconsole_protocol_config protocol = {
		.session_timeout_len = SESSION_TIMEOUT_MS,
		.retransmission_timeout_len = BMC_CONSOLE_RETRANSMIT_MS,
		.keepalive_timeout_len = KEEPALIVE_MS,
		.retransmission_keepalive_timeout_len = KEEPALIVE_MS / 2,
	};
	struct ipmiconsole_engine_config engine = {
		.engine_flags = IPMICONSOLE_ENGINE_OUTPUT_ON_SOL_ESTABLISHED};
	ipmiconsole_ctx_t session;
	char host[96];

	(void)text_format(host, sizeof(host), strchr(access.address, ':') ? "[%s]:%u" : "%s:%u",
			  access.address, access.port ? (unsigned)access.port : 623U);
	session = ipmiconsole_ctx_create(host, &ipmi, &protocol, &engine);
	bmc_endpoint_wipe(&access);
	return session;
}

/* Its turn has come. */
static void session_start(void *context)
{
	struct console *console = context;
	int flags;

	console->session = bmc_console_session_new(&console->endpoint);
	if (!console->session) {
		session_failed(console, errno == EINVAL ? IPMICONSOLE_ERR_PARAMETERS
							: IPMICONSOLE_ERR_OUT_OF_MEMORY);
		return;
	}
	if (console_submit(console->session) < 0) {
		session_failed(console, ipmiconsole_ctx_errnum(console->session));
		return;
	}
	console->fd = ipmiconsole_ctx_fd(console->session);
	flags = console->fd < 0 ? -1 : fcntl(console->fd, F_GETFL);
	if (flags < 0 || fcntl(console->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    loop_watch_new(console->hub->loop, console->fd, LOOP_READ, bmc_console_readable,
			   console, &console->readable))
		session_failed(console, IPMICONSOLE_ERR_SYSTEM_ERROR);
}

/* --- hub --- */

int console_hub_new(struct loop *loop, struct console_hub **ret)
{
	struct console_hub *hub = calloc(1, sizeof(*hub));
	int rc;

	if (!hub)
		return -ENOMEM;
	hub->loop = loop;
	rc = console_line_new(loop, session_start, &hub->line);
	if (rc == 0 && ipmiconsole_engine_init(ENGINE_THREADS, 0) < 0)
		rc = -errno;
	if (rc) {
		console_line_free(hub->line);
		free(hub);
		return rc;
	}
	*ret = hub;
	return 0;
}

void console_hub_seats(struct console_hub *hub, size_t seats)
{
	console_line_seats(hub->line, seats);
}

void console_hub_stats(const struct console_hub *hub, struct console_hub_stats *ret)
{
	*ret = (struct console_hub_stats){
		.sessions = console_line_sitting(hub->line),
		.waiting = console_line_waiting(hub->line),
		.reopened = hub->reopened,
	};
}

static void console_free(struct console *console)
{
	struct subscriber *subscriber = NULL;
	struct subscriber *next = NULL;

	bmc_console_session_end(console);
	HASH_DELETE(hh, console->hub->consoles, console);
	DL_FOREACH_SAFE(console->subscribers, subscriber, next)
	{
		if (subscriber->fn)
			/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a whole table */
			HASH_DELETE(hh, console->hub->subscribers, subscriber);
		free(subscriber);
	}
	loop_timer_free(console->retry);
	bmc_endpoint_wipe(&console->endpoint);
	console_ring_done(&console->ring);
	free(console);
}

void console_hub_free(struct console_hub *hub)
{
	struct console *console = NULL;
	struct console *next = NULL;

	if (!hub)
		return;
	HASH_ITER(hh, hub->consoles, console, next)
	console_free(console);
	ipmiconsole_engine_teardown(1);
	console_line_free(hub->line);
	free(hub);
}

static struct console *console_new(struct console_hub *hub, int64_t id)
{
	struct console *console = calloc(1, sizeof(*console));

	if (!console)
		return NULL;
	if (loop_timer_new(hub->loop, retry_due, console, &console->retry) != 0) {
		free(console);
		return NULL;
	}
	console->hub = hub;
	console->seat.context = console;
	console->id = id;
	console->fd = -1;
	return console;
}

static bool bmc_console_same_access(const struct bmc_endpoint *a, const struct bmc_endpoint *b)
{
	return strcmp(a->address, b->address) == 0 && a->port == b->port &&
	       strcmp(a->username, b->username) == 0 && strcmp(a->password, b->password) == 0 &&
	       a->cipher_suite == b->cipher_suite && a->workarounds == b->workarounds;
}

int console_watch(struct console_hub *hub, const struct bmc_endpoint *endpoint,
		  struct problem *problem)
{
	struct console *console = console_find(hub, endpoint->id);

	if (strcmp(endpoint->driver, "ipmi") != 0)
		return problem_set(problem, -EINVAL, "node %s: a BMC of driver '%s' has no console",
				   endpoint->node, endpoint->driver);
	if (!console) {
		console = console_new(hub, endpoint->id);
		if (!console)
			return problem_set(problem, -ENOMEM, "node %s: no room for its console",
					   endpoint->node);
		HASH_ADD(hh, hub->consoles, id, sizeof(console->id), console);
	}
	console->watches++;
	if (console->state != CONSOLE_OFF && bmc_console_same_access(&console->endpoint, endpoint))
		return 0;
	bmc_console_session_end(console);
	console->endpoint = *endpoint;
	console->failures = 0;
	session_want(console, false);
	return 0;
}

void console_hurry(struct console_hub *hub, int64_t bmc_id)
{
	struct console *console = console_find(hub, bmc_id);

	if (console && console->seat.waits)
		session_want(console, true);
}

int console_reopen(struct console_hub *hub, int64_t bmc_id)
{
	struct console *console = console_find(hub, bmc_id);

	if (!console || console->state == CONSOLE_OFF)
		return E_UNAVAILABLE;
	bmc_console_session_end(console);
	bmc_console_observe(console, "", 0);
	console->failures = 0;
	hub->reopened++;
	session_want(console, true);
	return 0;
}

void console_unwatch(struct console_hub *hub, int64_t bmc_id)
{
	struct console *console = console_find(hub, bmc_id);

	if (!console || console->watches == 0 || --console->watches > 0)
		return;
	bmc_console_session_end(console);
	bmc_console_observe(console, "", 0);
	sodium_memzero(console->endpoint.password, sizeof(console->endpoint.password));
}

void console_forget(struct console_hub *hub, int64_t bmc_id)
{
	struct console *console = console_find(hub, bmc_id);

	if (!console)
		return;
	bmc_console_hand_out(console, "", 0, console->ring.total);
	console_free(console);
}

/* --- reading and writing --- */

bool console_status(const struct console_hub *hub, int64_t bmc_id, struct console_status *ret)
{
	const struct console *console = console_find(hub, bmc_id);

	if (!console)
		return false;
	*ret = (struct console_status){
		.state = console->state,
		.total = console->ring.total,
		.last_byte_us = console->last_byte_us,
		.retry_at_us = console->state == CONSOLE_WAITING ? console->retry_at_us : 0,
		.problem = console->problem,
	};
	return true;
}

size_t console_copy(const struct console_hub *hub, int64_t bmc_id, uint64_t since, char *ret,
		    size_t room, uint64_t *ret_position)
{
	const struct console *console = console_find(hub, bmc_id);

	*ret_position = 0;
	return console ? console_ring_copy(&console->ring, since, ret, room, ret_position) : 0;
}

void console_tail(const struct console_hub *hub, int64_t bmc_id, unsigned lines, struct text *ret)
{
	const struct console *console = console_find(hub, bmc_id);
	CLEANUP(freep) char *bytes = NULL;
	uint64_t position;
	size_t size;

	if (!console || console->ring.total == 0)
		return;
	bytes = malloc(CONSOLE_RING_SIZE);
	if (!bytes) {
		ret->failed = true;
		return;
	}
	size = console_ring_copy(&console->ring, 0, bytes, CONSOLE_RING_SIZE, &position);
	console_tail_text(bytes, size, lines, ret);
}

int console_write(struct console_hub *hub, int64_t bmc_id, const void *bytes, size_t size,
		  size_t *ret_taken)
{
	const struct console *console = console_find(hub, bmc_id);
	ssize_t put;

	if (!console || console->state != CONSOLE_CONNECTED)
		return E_UNAVAILABLE;
	do
		put = write(console->fd, bytes, size);
	while (put < 0 && errno == EINTR);
	if (put < 0 && errno != EAGAIN)
		return E_UNAVAILABLE; /* read() will find the end and why */
	*ret_taken = put < 0 ? 0 : (size_t)put;
	return 0;
}

int console_subscribe(struct console_hub *hub, int64_t bmc_id, console_piece_fn fn, void *context,
		      uint64_t *ret_ticket)
{
	struct console *console = console_find(hub, bmc_id);
	struct subscriber *subscriber;

	if (!console)
		return E_NOT_FOUND;
	subscriber = calloc(1, sizeof(*subscriber));
	if (!subscriber)
		return -ENOMEM;
	*subscriber = (struct subscriber){
		.ticket = ++hub->next_ticket, .fn = fn, .context = context, .console = console};
	DL_APPEND(console->subscribers, subscriber);
	HASH_ADD(hh, hub->subscribers, ticket, sizeof(subscriber->ticket), subscriber);
	*ret_ticket = subscriber->ticket;
	return 0;
}

void console_unsubscribe(struct console_hub *hub, uint64_t ticket)
{
	struct subscriber *subscriber = NULL;

	HASH_FIND(hh, hub->subscribers, &ticket, sizeof(ticket), subscriber);
	if (!subscriber)
		return;
	HASH_DELETE(hh, hub->subscribers, subscriber);
	subscriber->fn = NULL;
	if (!subscriber->console->handing_out) {
		DL_DELETE(subscriber->console->subscribers, subscriber);
		free(subscriber);
	}
}
