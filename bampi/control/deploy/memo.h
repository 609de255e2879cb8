/* What a deployment must remember between two runs of its steps, kept in deployment.memo.
 * Everything else is read from the world. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"

struct memo {
	/* Across attempts and steps: */
	int tries;    /* failed attempts since the last progress */
	int furthest; /* step index where they failed; being done with it is progress */
	bool trouble; /* cancel: the power could not be confirmed off */
	/* Of one attempt: */
	char token[TOKEN_TEXT_SIZE]; /* netboot: chosen by this attempt */
	int64_t powered_ms;          /* the BMC confirmed what was asked of it */
	bool unverified;             /* the BMC took a field that it does not show */
	int64_t asked_ms;            /* netboot: the BMC was asked to start the node */
	int cycles; /* netboot: started again because it was let down by our servers */
	bool fired; /* the node event of this step was asked for */
};

/* Forgets what belongs to one attempt. */
struct memo memo_next_attempt(const struct memo *memo);
/* A new object; members at their zero are left out. NULL = no memory. */
MUST_USE json_t *memo_json(const struct memo *memo);
/* Unknown members are ignored: an older bampid may have written them. A member of the wrong type
 * counts as absent. */
struct memo memo_read(const char *json);
