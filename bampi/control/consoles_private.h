/* Consoles of nodes, for the files that share them: consoles.c (viewers, the log, whose consoles are
 * listened to), consoles_mute.c (sessions that went mute). */
#pragma once

#include "common/base/hash_table.h"

#include "bampi/bmc/console_log.h"
#include "bampi/control/consoles.h"

struct viewer;

#define CONSOLES_SUBJECT "console"

struct console_node {
	int64_t node_id; /* key */
	struct bmc_endpoint endpoint;
	bool watched; /* for a deployment */
	bool wanted;  /* by options.watch */
	bool listed;  /* found by the read under way */
	int64_t active_ms;
	/* Of a step that listens; monotonic, 0 = none does. */
	int64_t started_ms, reopened_ms;
	unsigned reopened; /* since that start */
	struct console_log log;
	enum console_log_kind said; /* the last thing of its connection in the log; 0 = nothing */
	char *kept_tail;            /* of the log, from before our start; NULL = not looked */
	UT_hash_handle hh;
};

struct consoles {
	struct loop *loop;
	struct consoles_options options;
	struct db *db;
	bool listing;
	struct log_limit log_limit;
	struct console_hub *hub;
	struct loop_timer *timer;
	struct loop_timer *mute_timer;
	struct console_node *nodes;
	struct viewer *viewers;
	size_t viewer_count;
};

/* NULL: its endpoint is not known. */
struct console_node *consoles_find(const struct consoles *consoles, int64_t node_id);
/* Timer: opens mute consoles anew, and arms itself. */
void consoles_look_for_mute(void *context);
