/* The one struct of peregrine-captured, shared by captured.c (rows and processes) and
 * captured_serve.c (its socket). */
#pragma once

#include "common/db/db.h"
#include "common/http/server.h"

#include "peregrine/captured/capture_process.h"
#include "peregrine/captured/captured.h"

enum { LIVE_LINES = 200, LIVE_LINE_SIZE = 200, CAPTURED_FILES = 16 };

/* A capture under way, and one whose end is not written down yet. */
struct taken {
	struct taken *next;
	struct captured *captured;
	int64_t id;
	struct capture_process *process; /* NULL = over */
	char because[16];
	char *problem, *result; /* JSON of the end; owned */
	bool telling;           /* the end is on its way to the database */
	bool beating;           /* so is a beat; the end comes after it */
	int64_t until_ms;       /* by our clock, 0 = not told: without a database it ends then */
	bool late;              /* it was ended so */
	char lines[LIVE_LINES][LIVE_LINE_SIZE];
	uint64_t line_count; /* of its life; the last LIVE_LINES are here */
};

struct captured {
	struct loop *loop;
	const struct captured_conf *conf;
	struct db *db;
	struct http_server *server;
	struct loop_timer *look;
	bool reading, was_connected;
	int64_t asked_ms;    /* the rows were, last */
	unsigned until_keep; /* looks: what is too old goes then */
	struct taken *taken;
};

/* NULL: not under way. */
struct taken *captured_find(const struct captured *captured, int64_t id);
/* The folder of one; false: too long. */
bool captured_folder(const struct captured *captured, int64_t id, char *ret, size_t room);

/* captured_heard.c: takes a line of a process into its `lines`, `because`, `problem` and `result`;
 * members that are read here are taken out of `line`. Says what is to be told. */
enum captured_heard { HEARD_LISTENING, HEARD_BEAT, HEARD_END };
enum captured_heard captured_hear(struct taken *one, json_t *line);

/* Binds the socket. */
MUST_USE int captured_serve(struct captured *captured, struct problem *problem);
