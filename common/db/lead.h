/* Which of several instances of a daemon works, and which stands by. db_new makes one where db_options
 * names a lead. Then the connection is there for its owner (db_connected) only while it leads.
 *
 * The lead is an advisory lock of this very connection, beside a row of haas.daemon_lead that says who
 * and since when. A leader that went silent is taken over after LEAD_SILENT_MS: its sessions are ended
 * first, by PostgreSQL. So one that was paused and wakes up can write nothing: its statements fail with
 * its connection, and a new connection stands by. What it does outside of PostgreSQL is held back by
 * claims (of deployments, fabrics), which it can no longer renew.
 *
 * Who has led and finds another one leading ends its program: all that it knows is of another time. The
 * service manager starts it anew. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/io/loop.h"

struct db;
struct db_options;
struct lead;

enum {
	LEAD_BEAT_MS = 2000,
	LEAD_MUTE_MS = 7000,    /* a beat without an answer: the leader gives its connection up */
	LEAD_SILENT_MS = 10000, /* haas.lead_silent() */
};

MUST_USE int lead_new(struct loop *loop, struct db *db, const struct db_options *options,
		      struct lead **ret);
/* After the db has answered all. */
void lead_free(struct lead *lead);
/* The connection is there, in PHASE_STANDBY; it is gone. */
void lead_connected(struct lead *lead);
void lead_disconnected(struct lead *lead);
/* It is connected, and another one leads. */
bool lead_stands_by(const struct lead *lead);
/* 128 random bits in hex: of this life of the program. */
const char *lead_life(const struct lead *lead);
