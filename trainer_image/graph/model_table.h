/* Words of a model file: ops with the keys that they take, and the values of keys. */
#pragma once

#include "trainer_image/graph/model.h"

enum model_key {
	MODEL_KEY_OUT,
	MODEL_KEY_WORDS,
	MODEL_KEY_WINDOW,
	MODEL_KEY_STRIDE,
	MODEL_KEY_PAD,
	MODEL_KEY_FACTOR,
	MODEL_KEY_HEADS,
	MODEL_KEY_BIAS,
	MODEL_KEY_CAUSAL,
	MODEL_KEY_EPSILON,
	MODEL_KEY_MOMENTUM,
	MODEL_KEY_RATE,
	MODEL_KEY_SMOOTH,
	MODEL_KEY_FUNCTION,
	MODEL_KEYS,
};

struct model_word_row {
	const char *word;
	int kind; /* enum op_kind or MODEL_FLATTEN */
	enum op_function function;
	int in_least, in_most;
	unsigned needs, takes; /* 1 << enum model_key; `takes` includes `needs` */
};

/* NULL when there is no such op. Static. */
const struct model_word_row *model_word(const char *word);
/* All rows, `ret_count` of them. */
const struct model_word_row *model_words(size_t *ret_count);
/* MODEL_KEYS when there is none. */
enum model_key model_key_parse(const char *word, size_t length);
const char *model_key_text(enum model_key key);
/* What may stand behind the key: "a number of at least 1". */
const char *model_key_values(enum model_key key);
/* An op with its defaults. */
void model_op_begin(const struct model_word_row *row, struct model_op *op);
/* False when it is no value of the key. */
bool model_key_set(struct model_op *op, enum model_key key, const char *value);
/* Keys that were not said; `said` is a mask as `needs`. */
void model_op_complete(struct model_op *op, unsigned said);
/* Adds " out=64 window=3x3" for an op. */
void model_keys_print(const struct model_op *op, struct text *text);
