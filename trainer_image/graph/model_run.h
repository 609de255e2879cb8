/* The parts of the reader that run lines: each is given a line and says which one is next, since blocks and
 * repetitions jump. Errors are told by model_state_bad(). */
#pragma once

#include "trainer_image/graph/model_state.h"

struct model_use {
	size_t line;
	const char *name; /* NULL = none */
	const char *word; /* of the op or block */
	int in[OP_IN_MAX];
	int in_count;
	const char *said[MODEL_KEYS + 8]; /* key=value */
	size_t said_count;
};

/* --- model_use.c --- */

/* An op is added to the model; a block is entered. */
MUST_USE int model_use_run(struct model_state *state, size_t line, size_t *next);

/* --- model_block.c --- */

/* The block of that name whose end stands above `line`, as its head; the count of lines = none. */
size_t model_block_find(const struct model_state *state, size_t line, const char *word);
/* Enters it with the inputs and values of `use`. */
MUST_USE int model_block_use(struct model_state *state, const struct model_use *use, size_t head,
			     size_t *next);
/* "repeat 3". */
MUST_USE int model_block_repeat(struct model_state *state, size_t line, size_t *next);
/* "end": of a block, or of a round. */
MUST_USE int model_block_end(struct model_state *state, size_t line, size_t *next);

/* --- model_check.c --- */

/* It has a name, one loss, no result that nobody reads, no name twice. */
MUST_USE int model_check(struct model_state *state);
