/* Serial consoles over IPMI (SOL) by libipmiconsole: one session per watched node, the last 64 KiB
 * kept also after it died, reconnected with back-off, handed to subscribers piece by piece. On the
 * loop; libipmiconsole's own threads do the protocol. One hub per process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_driver.h"

struct console_hub;

enum console_state {
	CONSOLE_OFF,        /* nobody watches */
	CONSOLE_CONNECTING, /* the session is being opened, or waits for a seat */
	CONSOLE_CONNECTED,
	CONSOLE_WAITING, /* it failed or ended; tried again at `retry_at_us` */
};

struct console_status {
	enum console_state state;
	uint64_t total;         /* bytes received ever: the position of the next one */
	int64_t last_byte_us;   /* wall clock; 0 = never */
	int64_t retry_at_us;    /* CONSOLE_WAITING */
	struct problem problem; /* why it is not connected */
};

struct console_hub_stats {
	uint64_t sessions; /* open, or being opened */
	uint64_t waiting;  /* for one of the seats */
	uint64_t reopened; /* ever, by console_reopen */
};

MUST_USE int console_hub_new(struct loop *loop, struct console_hub **ret);
/* So many sessions at once (console_line.h); those that are open stay. */
void console_hub_seats(struct console_hub *hub, size_t seats);
void console_hub_stats(const struct console_hub *hub, struct console_hub_stats *ret);
/* Ends all sessions; may take some seconds when a BMC has just died. */
void console_hub_free(struct console_hub *hub);

/* Each watch wants one unwatch. The first opens the session, the last ends it; what was received
 * stays. A later watch with another endpoint (same id) moves the session to it. -EINVAL: a driver
 * without consoles. */
MUST_USE int console_watch(struct console_hub *hub, const struct bmc_endpoint *endpoint,
			   struct problem *problem);
/* A person looks at it: its session begins now, whoever else waits for one. */
void console_hurry(struct console_hub *hub, int64_t bmc_id);
/* Ends its session and begins another at once: serial over LAN is deactivated at the BMC and
 * activated anew. Some BMCs go mute when the node is reset, and the session stays up. What was
 * heard stays. E_UNAVAILABLE: nobody watches it, so there is none. */
MUST_USE int console_reopen(struct console_hub *hub, int64_t bmc_id);
void console_unwatch(struct console_hub *hub, int64_t bmc_id);
/* The node is gone: session, ring and subscribers go (told by a last call with size 0). */
void console_forget(struct console_hub *hub, int64_t bmc_id);

/* False when nobody ever watched it. */
bool console_status(const struct console_hub *hub, int64_t bmc_id, struct console_status *ret);
/* What is kept from position `since` on; returns the number of bytes, 0 also for unknown ids. */
size_t console_copy(const struct console_hub *hub, int64_t bmc_id, uint64_t since, char *ret,
		    size_t room, uint64_t *ret_position);
/* The last lines, fit for a problem's detail; nothing is added when there is none. */
void console_tail(const struct console_hub *hub, int64_t bmc_id, unsigned lines, struct text *ret);
/* Key strokes. *ret_taken of `size` bytes went out; the rest must wait for the BMC (ask again
 * later). E_UNAVAILABLE when not connected. */
MUST_USE int console_write(struct console_hub *hub, int64_t bmc_id, const void *bytes, size_t size,
			   size_t *ret_taken);

/* Hears of every console of the hub, for as long as it lives: `size` bytes came, or (size 0) its
 * state has changed to `state`; `problem` says why for CONSOLE_WAITING. */
typedef void (*console_observer_fn)(void *context, int64_t bmc_id, enum console_state state,
				    const char *bytes, size_t size, const struct problem *problem);
void console_hub_observe(struct console_hub *hub, console_observer_fn fn, void *context);

/* `bytes` borrowed for the call; size 0: forgotten, no more calls. A subscriber may unsubscribe
 * inside the call. */
typedef void (*console_piece_fn)(void *context, const char *bytes, size_t size, uint64_t position);
/* Does not watch by itself. E_NOT_FOUND when nobody ever watched it. */
MUST_USE int console_subscribe(struct console_hub *hub, int64_t bmc_id, console_piece_fn fn,
			       void *context, uint64_t *ret_ticket);
void console_unsubscribe(struct console_hub *hub, uint64_t ticket);
