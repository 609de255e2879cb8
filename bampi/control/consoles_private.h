/* Consoles of nodes, for the files that share them: consoles.c (viewers, the log, whose consoles are
 * listened to), consoles_mute.c (sessions that went mute), consoles_tenancy.c (viewers of tenants). */
#pragma once

#include "common/base/hash_table.h"

#include "bampi/bmc/console_log.h"
#include "bampi/control/consoles.h"

struct viewer {
	struct consoles *consoles;
	struct http_request *request;
	int64_t node_id;
	enum console_format format;
	struct console_reader reader;
	/* Of a tenant (consoles_tenancy.c). */
	bool asked;      /* the read under way names its node */
	int64_t held_ms; /* when the node was the tenant's for sure: loop_now_ms */
	uint64_t ticket;
	struct viewer *prev, *next;
};

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
	struct loop_timer *tenancy_timer; /* runs while a tenant looks */
	bool tenancy_asked;
	int64_t tenancy_asked_ms;
};

/* Ends its stream, the last event of which says why. */
void consoles_viewer_end(struct viewer *viewer, const struct problem *problem);

/* consoles_tenancy.c */
MUST_USE int consoles_tenancy_new(struct consoles *consoles);
/* A tenant looks from now on: whether the node is its own is looked at now and every two seconds. A
 * stream ends when that is not known any more for ten seconds. */
void consoles_tenancy_begin(struct consoles *consoles);
/* Work on the node begins: its tenant neither sees nor types any more. */
void consoles_tenancy_over(struct consoles *consoles, int64_t node_id);
bool consoles_tenancy_looks(const struct consoles *consoles, int64_t node_id, int64_t tenant);

/* NULL: its endpoint is not known. */
struct console_node *consoles_find(const struct consoles *consoles, int64_t node_id);
/* Timer: opens mute consoles anew, and arms itself. */
void consoles_look_for_mute(void *context);
