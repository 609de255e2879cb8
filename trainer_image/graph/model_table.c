#include "trainer_image/graph/model_table.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum model_value { MODEL_COUNT, MODEL_PAIR, MODEL_SINGLE, MODEL_FLAG, MODEL_REAL, MODEL_FUNCTION };

enum { MODEL_NUMBER_MAX = 1000000000 };

#define MODEL_AT(member) offsetof(struct model_op, member)
#define KEY(name)        (1U << MODEL_KEY_##name)

static const struct {
	const char *word;
	enum model_value value;
	size_t at;
	int64_t least;
	const char *values;
} model_key_rows[MODEL_KEYS] = {
	[MODEL_KEY_OUT] = {"out", MODEL_COUNT, MODEL_AT(out), 1, "a number of at least 1"},
	[MODEL_KEY_WORDS] = {"words", MODEL_COUNT, MODEL_AT(words), 1, "a number of at least 1"},
	[MODEL_KEY_WINDOW] = {"window", MODEL_PAIR, MODEL_AT(attributes.window), 1,
			      "a number of at least 1, or HEIGHTxWIDTH"},
	[MODEL_KEY_STRIDE] = {"stride", MODEL_PAIR, MODEL_AT(attributes.stride), 1,
			      "a number of at least 1, or HEIGHTxWIDTH"},
	[MODEL_KEY_PAD] = {"pad", MODEL_PAIR, MODEL_AT(attributes.pad), 0,
			   "a number, or HEIGHTxWIDTH"},
	[MODEL_KEY_FACTOR] = {"factor", MODEL_SINGLE, MODEL_AT(attributes.factor), 1,
			      "a number of at least 1"},
	[MODEL_KEY_HEADS] = {"heads", MODEL_SINGLE, MODEL_AT(attributes.heads), 1,
			     "a number of at least 1"},
	[MODEL_KEY_BIAS] = {"bias", MODEL_FLAG, MODEL_AT(bias), 0, "0 or 1"},
	[MODEL_KEY_CAUSAL] = {"causal", MODEL_FLAG, MODEL_AT(attributes.causal), 0, "0 or 1"},
	[MODEL_KEY_EPSILON] = {"epsilon", MODEL_REAL, MODEL_AT(attributes.epsilon), 0,
			       "a number from 0 to 1"},
	[MODEL_KEY_MOMENTUM] = {"momentum", MODEL_REAL, MODEL_AT(attributes.momentum), 0,
				"a number from 0 to 1"},
	[MODEL_KEY_RATE] = {"rate", MODEL_REAL, MODEL_AT(attributes.rate), 0,
			    "a number from 0 to 1"},
	[MODEL_KEY_SMOOTH] = {"smooth", MODEL_REAL, MODEL_AT(attributes.smooth), 0,
			      "a number from 0 to 1"},
	[MODEL_KEY_FUNCTION] = {"function", MODEL_FUNCTION, MODEL_AT(attributes.function), 0,
				"relu, gelu, sigmoid or tanh"},
};

#define WINDOWS (KEY(WINDOW) | KEY(STRIDE) | KEY(PAD))

/* clang-format off: one row a line */
static const struct model_word_row model_word_rows[] = {
	{"conv", OP_CONV, OP_RELU, 1, 1, KEY(OUT) | KEY(WINDOW), KEY(OUT) | WINDOWS | KEY(BIAS)},
	{"linear", OP_LINEAR, OP_RELU, 1, 1, KEY(OUT), KEY(OUT) | KEY(BIAS)},
	{"batch_norm", OP_BATCH_NORM, OP_RELU, 1, 1, 0, KEY(EPSILON) | KEY(MOMENTUM)},
	{"layer_norm", OP_LAYER_NORM, OP_RELU, 1, 1, 0, KEY(EPSILON)},
	{"max_pool", OP_MAX_POOL, OP_RELU, 1, 1, KEY(WINDOW), WINDOWS},
	{"average_pool", OP_AVERAGE_POOL, OP_RELU, 1, 1, 0, WINDOWS},
	{"upsample", OP_UPSAMPLE, OP_RELU, 1, 1, KEY(FACTOR), KEY(FACTOR)},
	{"add", OP_ADD, OP_RELU, 2, 2, 0, 0},
	{"concat", OP_CONCAT, OP_RELU, 2, 8, 0, 0},
	{"activation", OP_ACTIVATION, OP_RELU, 1, 1, KEY(FUNCTION), KEY(FUNCTION)},
	{"relu", OP_ACTIVATION, OP_RELU, 1, 1, 0, 0},
	{"gelu", OP_ACTIVATION, OP_GELU, 1, 1, 0, 0},
	{"sigmoid", OP_ACTIVATION, OP_SIGMOID, 1, 1, 0, 0},
	{"tanh", OP_ACTIVATION, OP_TANH, 1, 1, 0, 0},
	{"dropout", OP_DROPOUT, OP_RELU, 1, 1, KEY(RATE), KEY(RATE)},
	{"embedding", OP_EMBEDDING, OP_RELU, 1, 1, KEY(OUT) | KEY(WORDS), KEY(OUT) | KEY(WORDS)},
	{"attention", OP_ATTENTION, OP_RELU, 1, 1, KEY(HEADS), KEY(HEADS) | KEY(CAUSAL)},
	{"flatten", MODEL_FLATTEN, OP_RELU, 1, 1, 0, 0},
	{"cross_entropy", OP_CROSS_ENTROPY, OP_RELU, 2, 2, 0, KEY(SMOOTH)},
};
/* clang-format on */

const struct model_word_row *model_words(size_t *ret_count)
{
	*ret_count = COUNT_OF(model_word_rows);
	return model_word_rows;
}

const struct model_word_row *model_word(const char *word)
{
	for (size_t i = 0; i < COUNT_OF(model_word_rows); i++)
		if (strcmp(model_word_rows[i].word, word) == 0)
			return &model_word_rows[i];
	return NULL;
}

enum model_key model_key_parse(const char *word, size_t length)
{
	enum model_key key = MODEL_KEY_OUT;

	while (key < MODEL_KEYS && (strncmp(model_key_rows[key].word, word, length) != 0 ||
				    model_key_rows[key].word[length] != '\0'))
		key++;
	return key;
}

const char *model_key_text(enum model_key key)
{
	return model_key_rows[key].word;
}

const char *model_key_values(enum model_key key)
{
	return model_key_rows[key].values;
}

void model_op_begin(const struct model_word_row *row, struct model_op *op)
{
	*op = (struct model_op){.kind = row->kind};
	op->attributes.function = row->function;
	op->bias = row->kind == OP_LINEAR;
	op->attributes.stride[0] = op->attributes.stride[1] = 1;
	op->attributes.epsilon = 1e-5;
	op->attributes.momentum = 0.1;
}

/* A whole number that ends at `end`; -1 when it is none. */
static int64_t model_table_number(const char *text, char end, const char **ret_rest)
{
	int64_t number = 0;

	if (*text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (*text - '0');
		if (number > MODEL_NUMBER_MAX)
			return -1;
	}
	if (*text != end)
		return -1;
	*ret_rest = text;
	return number;
}

static bool model_table_pair(int *pair, int64_t least, const char *value)
{
	const char *rest = NULL;
	int64_t first = model_table_number(value, 'x', &rest);
	int64_t second;

	if (first < 0) {
		first = model_table_number(value, '\0', &rest);
		second = first;
	} else {
		second = model_table_number(rest + 1, '\0', &rest);
	}
	if (first < least || second < least)
		return false;
	pair[0] = (int)first;
	pair[1] = (int)second;
	return true;
}

/* Digits with a point or an exponent: strtod() alone would take "inf" and hexadecimal, too. */
static bool model_table_real(double *real, const char *value)
{
	char *end = NULL;

	if (value[0] == '\0' || value[strspn(value, "0123456789.e-")] != '\0')
		return false;
	*real = strtod(value, &end);
	return *end == '\0' && *real >= 0 && *real <= 1;
}

static bool model_table_function(enum op_function *function, const char *value)
{
	for (enum op_function f = OP_RELU; f <= OP_TANH; f++)
		if (strcmp(op_function_text(f), value) == 0) {
			*function = f;
			return true;
		}
	return false;
}

bool model_key_set(struct model_op *op, enum model_key key, const char *value)
{
	void *at = (char *)op + model_key_rows[key].at;
	int64_t least = model_key_rows[key].least;
	const char *rest = NULL;
	int64_t number = model_table_number(value, '\0', &rest);

	switch (model_key_rows[key].value) {
	case MODEL_COUNT:
		if (number < least)
			return false;
		*(int64_t *)at = number;
		return true;
	case MODEL_PAIR: return model_table_pair(at, least, value);
	case MODEL_SINGLE:
		if (number < least)
			return false;
		*(int *)at = (int)number;
		return true;
	case MODEL_FLAG:
		if (number != 0 && number != 1)
			return false;
		*(bool *)at = number == 1;
		return true;
	case MODEL_REAL: return model_table_real(at, value);
	case MODEL_FUNCTION: return model_table_function(at, value);
	}
	return false;
}

void model_op_complete(struct model_op *op, unsigned said)
{
	bool pool = op->kind == OP_MAX_POOL || op->kind == OP_AVERAGE_POOL;

	if (pool && !(said & KEY(STRIDE)))
		memcpy(op->attributes.stride, op->attributes.window, sizeof(op->attributes.stride));
	op->whole = op->kind == OP_AVERAGE_POOL && !(said & KEY(WINDOW));
}

static void model_table_print(const struct model_op *op, enum model_key key, struct text *text)
{
	const void *at = (const char *)op + model_key_rows[key].at;
	const int *pair = at;

	text_addf(text, " %s=", model_key_rows[key].word);
	switch (model_key_rows[key].value) {
	case MODEL_COUNT: text_addf(text, "%" PRId64, *(const int64_t *)at); break;
	case MODEL_PAIR: text_addf(text, "%dx%d", pair[0], pair[1]); break;
	case MODEL_SINGLE: text_addf(text, "%d", *(const int *)at); break;
	case MODEL_FLAG: text_addf(text, "%d", *(const bool *)at ? 1 : 0); break;
	case MODEL_REAL: text_addf(text, "%.17g", *(const double *)at); break;
	case MODEL_FUNCTION: text_add(text, op_function_text(*(const enum op_function *)at)); break;
	}
}

void model_keys_print(const struct model_op *op, struct text *text)
{
	unsigned takes = 0;

	for (size_t i = 0; i < COUNT_OF(model_word_rows) && takes == 0; i++)
		if (model_word_rows[i].kind == op->kind)
			takes = model_word_rows[i].takes;
	if (op->whole)
		takes = 0;
	for (enum model_key key = MODEL_KEY_OUT; key < MODEL_KEYS; key++)
		if (takes & 1U << key)
			model_table_print(op, key, text);
}
