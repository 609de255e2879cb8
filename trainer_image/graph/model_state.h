/* What a reader of a model file knows while it writes out blocks and repetitions: names, values of
 * arguments, and where it is. */
#pragma once

#include "trainer_image/graph/model_lines.h"
#include "trainer_image/graph/model_table.h"

enum {
	MODEL_FRAMES_MAX = 16,
	MODEL_NAMES_MAX = MODEL_OPS_MAX + 4096,
	MODEL_STEPS_MAX = 100000, /* lines that are run */
	MODEL_REPEAT_MAX = 10000,
	MODEL_SIZE_MAX = 1 << 24, /* of an input */
};

enum model_frame_kind { MODEL_FRAME_FILE, MODEL_FRAME_BLOCK, MODEL_FRAME_REPEAT };

/* What is being written out: the file, a use of a block, a repetition. */
struct model_frame {
	enum model_frame_kind kind;
	size_t line;  /* BLOCK: the line that uses it; REPEAT: its head */
	size_t body;  /* the first line of it */
	int left;     /* REPEAT: rounds to come, this one included */
	int round;    /* REPEAT: from 1 */
	size_t names; /* names and values before those of the frame */
	size_t values;
	size_t prefix;              /* length of what stands before names */
	int unnamed;                /* ops without a name so far */
	int previous;               /* result of the line before, -1 = none */
	char name[MODEL_NAME_SIZE]; /* BLOCK: the name of its result, "" = none */
};

struct model_name {
	const char *word;
	int result;
};

struct model_value_said {
	const char *key, *value;
};

struct model_state {
	struct model_lines lines;
	struct model *model;
	bool has_input, has_label;
	struct model_name *names;
	size_t name_count;
	struct model_value_said values[256];
	size_t value_count;
	struct model_frame frames[MODEL_FRAMES_MAX];
	size_t frame_count;
	char prefix[MODEL_NAME_SIZE];
	const char *path;
	struct problem *problem;
};

/* Sets the problem with the line, the place in the file and the blocks around; returns E_MALFORMED. */
PRINTF_LIKE(3, 4)
int model_state_bad(struct model_state *state, size_t line, const char *format, ...);
/* A name that is no result: says whether it is one below. Returns E_MALFORMED. */
int model_state_unknown(struct model_state *state, size_t line, const char *word);

const char *model_state_word(const struct model_state *state, size_t line, size_t at);
size_t model_state_words(const struct model_state *state, size_t line);
bool model_state_is_name(const char *word);

/* The innermost frame. */
struct model_frame *model_state_frame(struct model_state *state);
MUST_USE int model_state_frame_push(struct model_state *state, size_t line,
				    struct model_frame frame, const char *name);
void model_state_frame_pop(struct model_state *state);

/* "relu_3": of a line that names no result. */
void model_state_auto_name(struct model_state *state, const char *word, char ret[MODEL_NAME_SIZE]);
/* The result of that name, -1 = none. */
int model_state_find(const struct model_state *state, const char *word);
MUST_USE int model_state_define(struct model_state *state, size_t line, const char *word,
				int result);

/* The value of `text`: that of the block's argument, when it names one. */
const char *model_state_value(const struct model_state *state, const char *text);
/* The same with the first `count` values alone. */
const char *model_state_value_below(const struct model_state *state, size_t count,
				    const char *text);
/* A number from 1 to `most`. */
MUST_USE int model_state_number(struct model_state *state, size_t line, const char *word,
				int64_t most, int64_t *ret);
