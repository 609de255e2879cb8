#include "trainer_image/graph/model_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "trainer_image/graph/model_state.h"

static int text_sizes(struct model_state *state, size_t line, size_t from, size_t to,
		      struct tensor_shape *ret)
{
	ret->rank = 0;
	if (to - from > TENSOR_RANK_MAX - 1)
		return model_state_bad(state, line, "more than %d sizes", TENSOR_RANK_MAX - 1);
	for (size_t i = from; i < to; i++) {
		int rc = model_state_number(state, line, model_state_word(state, line, i),
					    MODEL_SIZE_MAX, &ret->size[ret->rank++]);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int text_copy_name(struct model_state *state, size_t line, const char *word,
			  char ret[MODEL_NAME_SIZE])
{
	if (!model_state_is_name(word))
		return model_state_bad(state, line,
				       "%s is no name: letters, digits, \"_\", \".\", \"-\"", word);
	(void)text_copy(ret, MODEL_NAME_SIZE, word);
	return 0;
}

static int text_run_model(struct model_state *state, size_t line)
{
	if (model_state_words(state, line) != 2)
		return model_state_bad(state, line, "model: one name stands behind it");
	if (state->model->name[0] != '\0')
		return model_state_bad(state, line, "a second model");
	return text_copy_name(state, line, model_state_word(state, line, 1), state->model->name);
}

static int text_run_input(struct model_state *state, size_t line)
{
	struct model *model = state->model;
	size_t count = model_state_words(state, line);
	const char *last = model_state_word(state, line, count - 1);
	bool tokens = strncmp(last, "words=", 6) == 0;
	int rc = 0;

	if (state->has_input)
		return model_state_bad(state, line, "a second input");
	if (count < (tokens ? 4U : 3U))
		return model_state_bad(state, line, "input: a name and its sizes stand behind it");
	if (tokens)
		rc = model_state_number(state, line, last + 6, MODEL_SIZE_MAX, &model->words);
	rc = rc < 0 ? rc
		    : text_copy_name(state, line, model_state_word(state, line, 1),
				     model->input_name);
	rc = rc < 0 ? rc : text_sizes(state, line, 2, count - (tokens ? 1 : 0), &model->input);
	if (rc < 0)
		return rc;
	if (tokens && model->input.rank != 1)
		return model_state_bad(state, line, "input: tokens have one size, the length");
	state->has_input = true;
	model_state_frame(state)->previous = MODEL_INPUT;
	return model_state_define(state, line, model->input_name, MODEL_INPUT);
}

static int text_run_label(struct model_state *state, size_t line)
{
	struct model *model = state->model;
	size_t count = model_state_words(state, line);

	if (state->has_label)
		return model_state_bad(state, line, "a second label");
	if (count < 3)
		return model_state_bad(state, line,
				       "label: a name and the number of classes stand "
				       "behind it");
	int rc = text_copy_name(state, line, model_state_word(state, line, 1), model->label_name);

	rc = rc < 0 ? rc
		    : model_state_number(state, line, model_state_word(state, line, 2),
					 MODEL_SIZE_MAX, &model->classes);
	rc = rc < 0 ? rc : text_sizes(state, line, 3, count, &model->label);
	if (rc < 0)
		return rc;
	state->has_label = true;
	return model_state_define(state, line, model->label_name, MODEL_LABEL);
}

static void text_auto_name(struct model_state *state, const char *word, char ret[MODEL_NAME_SIZE])
{
	(void)text_format(ret, MODEL_NAME_SIZE, "%s_%d", word, ++model_state_frame(state)->unnamed);
}

static int text_run_repeat(struct model_state *state, size_t line, size_t *next)
{
	struct model_frame frame = {.kind = MODEL_FRAME_REPEAT, .body = line + 1, .round = 1};
	char name[MODEL_NAME_SIZE];
	int64_t rounds = 0;

	if (model_state_words(state, line) != 2)
		return model_state_bad(state, line, "repeat: one number stands behind it");
	int rc = model_state_number(state, line, model_state_word(state, line, 1), MODEL_REPEAT_MAX,
				    &rounds);

	if (rc < 0)
		return rc;
	frame.left = (int)rounds;
	frame.previous = model_state_frame(state)->previous;
	text_auto_name(state, "repeat", name);
	*next = line + 1;
	rc = model_state_frame_push(state, line, frame, name);
	if (rc == 0)
		rc = model_state_frame_push(state, line, frame, "1");
	return rc;
}

/* The values of a use of a block: those said, else those of its head. */
static int text_block_values(struct model_state *state, size_t line, size_t head,
			     const char *const said[], size_t said_count)
{
	size_t outer = state->value_count;
	size_t found = 0;

	for (size_t i = 2; i < model_state_words(state, head); i++) {
		const char *key = model_state_word(state, head, i);
		size_t length = strcspn(key, "=");
		const char *value = NULL;

		if (key[length] == '\0')
			continue;
		for (size_t k = 0; k < said_count; k++)
			if (strncmp(said[k], key, length + 1) == 0) {
				value = said[k] + length + 1;
				found++;
			}
		if (!value && key[length + 1] == '\0')
			return model_state_bad(state, line, "%s: the value %.*s is missing",
					       model_state_word(state, head, 1), (int)length, key);
		if (state->value_count == COUNT_OF(state->values))
			return model_state_bad(state, line, "too many values");
		state->values[state->value_count++] = (struct model_value_said){
			state->lines.keys[state->lines.lines[head].first + i],
			value ? model_state_value_below(state, outer, value) : key + length + 1};
	}
	if (found != said_count)
		return model_state_bad(state, line,
				       "%s: it has not all of these values, or one is twice",
				       model_state_word(state, head, 1));
	return 0;
}

struct text_use {
	size_t line;
	const char *name; /* NULL = none */
	const char *word; /* of the op or block */
	int in[OP_IN_MAX];
	int in_count;
	const char *said[MODEL_KEYS + 8]; /* key=value */
	size_t said_count;
};

static int text_run_block(struct model_state *state, const struct text_use *use, size_t head,
			  size_t *next)
{
	struct model_frame frame = {.kind = MODEL_FRAME_BLOCK, .body = head + 1, .previous = -1};
	size_t values = state->value_count;
	char name[MODEL_NAME_SIZE];
	int argument = 0;

	if (use->name)
		(void)text_copy(name, sizeof(name), use->name);
	else
		text_auto_name(state, use->word, name);
	(void)text_copy(frame.name, sizeof(frame.name), use->name ? use->name : "");
	int rc = text_block_values(state, use->line, head, use->said, use->said_count);

	rc = rc < 0 ? rc : model_state_frame_push(state, use->line, frame, name);
	if (rc < 0)
		return rc;
	model_state_frame(state)->values = values;
	for (size_t i = 2; i < model_state_words(state, head) && rc == 0; i++) {
		const char *word = model_state_word(state, head, i);

		if (strchr(word, '='))
			continue;
		if (argument < use->in_count)
			rc = model_state_define(state, head, word, use->in[argument]);
		if (argument == 0)
			model_state_frame(state)->previous = use->in[0];
		argument++;
	}
	if (rc == 0 && argument != use->in_count)
		return model_state_bad(state, use->line, "%s: %d results, it takes %d", use->word,
				       use->in_count, argument);
	*next = head + 1;
	return rc;
}

static int text_keys(struct model_state *state, const struct text_use *use,
		     const struct model_word_row *row, struct model_op *op)
{
	unsigned seen = 0;

	for (size_t i = 0; i < use->said_count; i++) {
		const char *said = use->said[i];
		size_t length = strcspn(said, "=");
		enum model_key key = model_key_parse(said, length);

		if (key == MODEL_KEYS || !(row->takes & 1U << key)) {
			struct text takes = {0};

			for (enum model_key k = MODEL_KEY_OUT; k < MODEL_KEYS; k++)
				if (row->takes & 1U << k)
					text_addf(&takes, " %s", model_key_text(k));
			(void)model_state_bad(state, use->line, "%s: it has no %.*s", row->word,
					      (int)(length < 64 ? length : 64), said);
			problem_hint(state->problem, "%s takes:%s", row->word,
				     takes.size > 0 ? text_get(&takes) : " nothing");
			text_done(&takes);
			return E_MALFORMED;
		}
		if (seen & 1U << key)
			return model_state_bad(state, use->line, "%s: %s is there twice", row->word,
					       model_key_text(key));
		seen |= 1U << key;
		if (!model_key_set(op, key, model_state_value(state, said + length + 1)))
			return model_state_bad(state, use->line, "%s: %s=%.40s is not %s",
					       row->word, model_key_text(key),
					       model_state_value(state, said + length + 1),
					       model_key_values(key));
	}
	for (enum model_key k = MODEL_KEY_OUT; k < MODEL_KEYS; k++)
		if (row->needs & ~seen & 1U << k)
			return model_state_bad(state, use->line, "%s: %s is missing, %s", row->word,
					       model_key_text(k), model_key_values(k));
	model_op_complete(op, seen);
	return 0;
}

static int text_op_room(struct model *model)
{
	if (model->count < model->room)
		return 0;
	size_t room = model->room > 0 ? model->room * 2 : 64;
	struct model_op *ops = realloc(model->ops, room * sizeof(ops[0]));

	if (!ops)
		return -ENOMEM;
	model->ops = ops;
	model->room = room;
	return 0;
}

static int text_op_name(struct model_state *state, const struct text_use *use, struct model_op *op)
{
	char name[MODEL_NAME_SIZE];

	if (use->name)
		(void)text_copy(name, sizeof(name), use->name);
	else
		text_auto_name(state, use->word, name);
	if (!text_format(op->name, sizeof(op->name), "%s%s", state->prefix, name))
		return model_state_bad(state, use->line, "the name %s%s is too long", state->prefix,
				       name);
	return 0;
}

static int text_run_op(struct model_state *state, const struct text_use *use,
		       const struct model_word_row *row)
{
	struct model *model = state->model;
	struct problem why = {0};
	struct model_op op;

	model_op_begin(row, &op);
	op.line = state->lines.lines[use->line].number;
	op.in_count = use->in_count;
	memcpy(op.in, use->in, sizeof(op.in));
	if (row->kind == OP_CROSS_ENTROPY && op.in_count == 1)
		op.in[op.in_count++] = MODEL_LABEL;
	if (op.in_count < row->in_least || op.in_count > row->in_most)
		return model_state_bad(state, use->line, "%s: %d results, it takes %d to %d",
				       row->word, op.in_count, row->in_least, row->in_most);
	int rc = text_keys(state, use, row, &op);

	rc = rc < 0 ? rc : text_op_name(state, use, &op);
	if (rc < 0)
		return rc;
	if (model_infer(model, &op, &why) < 0)
		return model_state_bad(state, use->line, "%s", why.message);
	if (model->count == MODEL_OPS_MAX)
		return model_state_bad(state, use->line, "more than %d ops", MODEL_OPS_MAX);
	if (text_op_room(model) < 0)
		return problem_set(state->problem, -ENOMEM, "no memory for the model");
	model->ops[model->count] = op;
	model_state_frame(state)->previous = MODEL_FIRST + (int)model->count++;
	return use->name ? model_state_define(state, use->line, use->name,
					      model_state_frame(state)->previous)
			 : 0;
}

/* The block of that name whose end stands above `line`, as its head; the count of lines = none. */
static size_t text_block(const struct model_state *state, size_t line, const char *word)
{
	for (size_t i = 0; i < line; i++)
		if (model_state_words(state, i) > 1 &&
		    strcmp(model_state_word(state, i, 0), "block") == 0 &&
		    strcmp(model_state_word(state, i, 1), word) == 0 &&
		    state->lines.lines[i].end < line)
			return i;
	return state->lines.line_count;
}

static int text_no_op(struct model_state *state, size_t line, const char *word)
{
	struct text all = {0};
	size_t count = 0;
	const struct model_word_row *rows = model_words(&count);

	for (size_t i = 0; i < count; i++)
		text_addf(&all, " %s", rows[i].word);
	for (size_t i = 0; i < state->lines.line_count; i++)
		if (model_state_words(state, i) > 1 &&
		    strcmp(model_state_word(state, i, 0), "block") == 0 &&
		    strcmp(model_state_word(state, i, 1), word) == 0) {
			text_done(&all);
			return model_state_bad(state, line, "the block %s has not ended above",
					       word);
		}
	(void)model_state_bad(state, line, "%.60s is no op and no block above", word);
	problem_hint(state->problem, "ops:%s", text_get(&all));
	text_done(&all);
	return E_MALFORMED;
}

/* Reads `[NAME =] OP [INPUT ...] [key=value ...]`. */
static int text_use(struct model_state *state, size_t line, struct text_use *use)
{
	size_t count = model_state_words(state, line);
	size_t at = 0;

	*use = (struct text_use){.line = line};
	if (count > 2 && strcmp(model_state_word(state, line, 1), "=") == 0) {
		use->name = model_state_word(state, line, 0);
		at = 2;
	}
	if (use->name && !model_state_is_name(use->name))
		return model_state_bad(state, line,
				       "%.60s is no name: letters, digits, \"_\", \".\", "
				       "\"-\"",
				       use->name);
	use->word = model_state_word(state, line, at++);
	for (; at < count; at++) {
		const char *word = model_state_word(state, line, at);

		if (strchr(word, '=')) {
			if (use->said_count == COUNT_OF(use->said))
				return model_state_bad(state, line, "too many values");
			use->said[use->said_count++] = word;
			continue;
		}
		if (use->in_count == OP_IN_MAX)
			return model_state_bad(state, line, "more than %d results", OP_IN_MAX);
		use->in[use->in_count] = model_state_find(state, word);
		if (use->in[use->in_count++] < 0)
			return model_state_unknown(state, line, word);
	}
	return 0;
}

static int text_run_use(struct model_state *state, size_t line, size_t *next)
{
	struct text_use use;
	int rc = text_use(state, line, &use);

	if (rc < 0)
		return rc;
	const struct model_word_row *row = model_word(use.word);
	size_t head = row ? 0 : text_block(state, line, use.word);

	if (!row && head == state->lines.line_count)
		return text_no_op(state, line, use.word);
	if (!state->has_input || !state->has_label)
		return model_state_bad(state, line,
				       "the lines \"input\" and \"label\" stand above ops");
	if (use.in_count == 0) {
		if (model_state_frame(state)->previous < 0)
			return model_state_bad(state, line, "%s: no result stands above it",
					       use.word);
		use.in[use.in_count++] = model_state_frame(state)->previous;
	}
	*next = line + 1;
	return row ? text_run_op(state, &use, row) : text_run_block(state, &use, head, next);
}

/* A repetition has two frames: one for its name, one for its round. */
static int text_end_repeat(struct model_state *state, size_t line, size_t *next)
{
	struct model_frame frame = *model_state_frame(state);
	char name[MODEL_NAME_SIZE];

	model_state_frame_pop(state);
	frame.left--;
	frame.round++;
	frame.unnamed = 0;
	*next = frame.body;
	if (frame.left > 0) {
		(void)text_format(name, sizeof(name), "%d", frame.round);
		return model_state_frame_push(state, frame.line, frame, name);
	}
	model_state_frame_pop(state);
	model_state_frame(state)->previous = frame.previous;
	*next = line + 1;
	return 0;
}

static int text_run_end(struct model_state *state, size_t line, size_t *next)
{
	struct model_frame frame = *model_state_frame(state);

	if (frame.kind == MODEL_FRAME_REPEAT)
		return text_end_repeat(state, line, next);
	if (frame.previous < 0)
		return model_state_bad(state, line, "the block gives no result");
	model_state_frame_pop(state);
	*next = frame.line + 1;
	model_state_frame(state)->previous = frame.previous;
	return frame.name[0] != '\0'
		       ? model_state_define(state, frame.line,
					    model_state_word(state, frame.line, 0), frame.previous)
		       : 0;
}

static int text_run_line(struct model_state *state, size_t line, size_t *next)
{
	const char *word = model_state_word(state, line, 0);

	*next = line + 1;
	if (strcmp(word, "end") == 0)
		return text_run_end(state, line, next);
	if (strcmp(word, "repeat") == 0)
		return text_run_repeat(state, line, next);
	if (state->frame_count > 1)
		return text_run_use(state, line, next);
	if (strcmp(word, "block") == 0) {
		*next = state->lines.lines[line].end + 1;
		return 0;
	}
	if (strcmp(word, "model") == 0)
		return text_run_model(state, line);
	if (strcmp(word, "input") == 0)
		return text_run_input(state, line);
	if (strcmp(word, "label") == 0)
		return text_run_label(state, line);
	return text_run_use(state, line, next);
}

static int text_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Written-out names may meet, "a.b" of the file and b in block a. */
static int text_check_names(struct model_state *state)
{
	const struct model *model = state->model;
	CLEANUP(freep) const char **names = malloc((model->count + 2) * sizeof(names[0]));
	size_t count = 0;

	if (!names)
		return problem_set(state->problem, -ENOMEM, "no memory for the model");
	for (size_t i = 0; i < model->count; i++)
		names[count++] = model->ops[i].name;
	names[count++] = model->input_name;
	names[count++] = model->label_name;
	qsort(names, count, sizeof(names[0]), text_by_name);
	for (size_t i = 1; i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return problem_set(state->problem, E_MALFORMED,
					   "%s: two results have this name", names[i]);
	return 0;
}

static int text_check_readers(struct model_state *state)
{
	const struct model *model = state->model;
	CLEANUP(freep) unsigned char *read = calloc(model->count + MODEL_FIRST, 1);
	int losses = 0;

	if (!read)
		return problem_set(state->problem, -ENOMEM, "no memory for the model");
	for (size_t i = 0; i < model->count; i++)
		for (int k = 0; k < model->ops[i].in_count; k++)
			read[model->ops[i].in[k]] = 1;
	for (size_t i = 0; i < model->count; i++)
		losses += model->ops[i].kind == OP_CROSS_ENTROPY ? 1 : 0;
	if (losses != 1)
		return problem_set(state->problem, E_MALFORMED,
				   "%d losses: a model ends in one cross_entropy", losses);
	for (size_t i = 0; i < model->count; i++) {
		const struct model_op *op = &model->ops[i];
		bool loss = op->kind == OP_CROSS_ENTROPY;

		if (!loss && !read[MODEL_FIRST + i])
			return problem_set(state->problem, E_MALFORMED,
					   "line %d: nothing uses the result %s", op->line,
					   op->name);
		if (loss && read[MODEL_FIRST + i])
			return problem_set(state->problem, E_MALFORMED,
					   "line %d: the loss %s is used as a result", op->line,
					   op->name);
	}
	if (!read[MODEL_INPUT])
		return problem_set(state->problem, E_MALFORMED, "nothing uses the input %s",
				   model->input_name);
	return 0;
}

static int text_run(struct model_state *state)
{
	size_t line = 0;
	int rc = 0;

	state->frames[state->frame_count++] = (struct model_frame){.previous = -1};
	for (int steps = 0; line < state->lines.line_count && rc == 0; steps++) {
		if (steps == MODEL_STEPS_MAX)
			return model_state_bad(state, line, "more than %d lines, written out",
					       MODEL_STEPS_MAX);
		rc = text_run_line(state, line, &line);
	}
	if (rc == 0 && state->model->name[0] == '\0')
		rc = problem_set(state->problem, E_MALFORMED, "the line \"model NAME\" is missing");
	rc = rc < 0 ? rc : text_check_names(state);
	rc = rc < 0 ? rc : text_check_readers(state);
	if (rc < 0 && state->problem->detail[0] == '\0')
		problem_detail(state->problem, "%s", state->path);
	return rc;
}

int model_parse(const char *path, const char *data, size_t size, struct model **ret,
		struct problem *problem)
{
	CLEANUP(freep) struct model_state *state = calloc(1, sizeof(*state));
	CLEANUP(model_freep) struct model *model = calloc(1, sizeof(*model));
	CLEANUP(freep)
	struct model_name *names = calloc(MODEL_NAMES_MAX, sizeof(names[0]));

	if (!state || !model || !names)
		return problem_set(problem, -ENOMEM, "no memory for the model");
	state->model = model;
	state->names = names;
	state->path = path;
	state->problem = problem;
	int rc = model_lines_read(&state->lines, path, data, size, problem);

	rc = rc < 0 ? rc : text_run(state);
	model_lines_done(&state->lines);
	if (rc < 0)
		return rc;
	*ret = TAKE(model);
	return 0;
}

int model_load(const char *path, struct model **ret, struct problem *problem)
{
	CLEANUP(freep) char *data = NULL;
	size_t size = 0;
	int rc = file_read(path, MODEL_TEXT_MAX, &data, &size);

	if (rc < 0)
		return problem_set(problem, rc, "%s: %s", path, error_text(rc));
	return model_parse(path, data, size, ret, problem);
}
