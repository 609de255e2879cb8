/* The serial consoles of nodes that are worked on, as evidence, and of those that somebody looks
 * at, as a stream. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/http/server.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_driver.h"
#include "bampi/bmc/console.h"

struct consoles;
struct db;

/* Whose consoles are listened to when nobody looks. In any case those of nodes that a deployment
 * works on. */
enum console_watch {
	CONSOLE_WATCH_WORK,     /* no others */
	CONSOLE_WATCH_UNRENTED, /* all nodes but those that are active: what these say is a tenant's
				 */
	CONSOLE_WATCH_ALL,
	CONSOLE_WATCH_COUNT
};
extern const char *const console_watch_words[CONSOLE_WATCH_COUNT + 1];

/* Borrowed for the life of it. */
struct consoles_options {
	const char *folder; /* of what is kept (bmc/console_log.h); "" = nothing is */
	enum console_watch watch;
	size_t seats; /* sessions at once; 0 = CONSOLE_SEATS_DEFAULT */
};

MUST_USE int consoles_new(struct loop *loop, const struct consoles_options *options,
			  struct consoles **ret);
/* Ends all streams. After the server is freed. */
void consoles_free(struct consoles *consoles);

/* endpoints_change_fn, runner_active_fn and runner_console_fn: what this needs to know, and what it
 * knows. */
void consoles_endpoint(void *context, int64_t node_id, const struct bmc_endpoint *endpoint);
void consoles_active(void *context, int64_t node_id, bool active);
void consoles_tail(void *context, int64_t node_id, char *ret, size_t room);
/* A step waits for what this console says since the node was started `age_ms` ago; < 0: none does.
 * Meanwhile a console that is connected and mute is opened anew (console_mute_ms), and told in the
 * log. For how long it is mute; *ret_reopened: how often it was opened anew since that start. */
int64_t consoles_listen(void *context, int64_t node_id, int64_t age_ms, unsigned *ret_reopened);
bool consoles_holds(void *context, int64_t node_id, const char *text, bool *ret_blind);

enum console_format {
	CONSOLE_RAW, /* the bytes */
	/* Events `console` with the bytes in base64, a comment line every 15 s. The last event is
	 * `closed`, with the problem as JSON. */
	CONSOLE_SSE,
};
/* In whose name a console is opened: portald says so. A tenant hears its node from the hand-over on,
 * while the node is its own: active, and no deployment due. */
struct console_reader {
	int64_t tenant; /* 0 = an operator */
	int64_t since_ms;
};
/* Answers the request with a stream: what is kept, then what comes. */
void consoles_stream(struct consoles *consoles, struct http_request *request, int64_t node_id,
		     enum console_format format, struct console_reader reader);
/* Where the states of nodes are read, for options.watch. */
void consoles_db(struct consoles *consoles, struct db *db);
/* Answers with what is kept of the console, with the times of its connections, as JSON. */
void consoles_log(struct consoles *consoles, struct http_request *request, int64_t node_id,
		  struct console_reader reader);
/* By hand. */
void consoles_reopen(struct consoles *consoles, struct http_request *request, int64_t node_id);
/* Types the body. A tenant has to have its stream open: that ends when the node is not its own. */
void consoles_input(struct consoles *consoles, struct http_request *request, int64_t node_id,
		    struct console_reader reader);
size_t consoles_viewers(const struct consoles *consoles);
void consoles_stats(const struct consoles *consoles, struct console_hub_stats *ret);
