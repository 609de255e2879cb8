/* A line that uses an op or a block: `[NAME =] OP [INPUT ...] [key=value ...]`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/graph/model_run.h"

static int model_use_keys(struct model_state *state, const struct model_use *use,
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

static int model_use_room(struct model *model)
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

static int model_use_name(struct model_state *state, const struct model_use *use,
			  struct model_op *op)
{
	char name[MODEL_NAME_SIZE];

	if (use->name)
		(void)text_copy(name, sizeof(name), use->name);
	else
		model_state_auto_name(state, use->word, name);
	if (!text_format(op->name, sizeof(op->name), "%s%s", state->prefix, name))
		return model_state_bad(state, use->line, "the name %s%s is too long", state->prefix,
				       name);
	return 0;
}

static int model_use_op(struct model_state *state, const struct model_use *use,
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
	int rc = model_use_keys(state, use, row, &op);

	rc = rc < 0 ? rc : model_use_name(state, use, &op);
	if (rc < 0)
		return rc;
	if (model_infer(model, &op, &why) < 0)
		return model_state_bad(state, use->line, "%s", why.message);
	if (model->count == MODEL_OPS_MAX)
		return model_state_bad(state, use->line, "more than %d ops", MODEL_OPS_MAX);
	if (model_use_room(model) < 0)
		return problem_set(state->problem, -ENOMEM, "no memory for the model");
	model->ops[model->count] = op;
	model_state_frame(state)->previous = MODEL_FIRST + (int)model->count++;
	return use->name ? model_state_define(state, use->line, use->name,
					      model_state_frame(state)->previous)
			 : 0;
}

static int model_use_unknown(struct model_state *state, size_t line, const char *word)
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
static int model_use_read(struct model_state *state, size_t line, struct model_use *use)
{
	size_t count = model_state_words(state, line);
	size_t at = 0;

	*use = (struct model_use){.line = line};
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

int model_use_run(struct model_state *state, size_t line, size_t *next)
{
	struct model_use use;
	int rc = model_use_read(state, line, &use);

	if (rc < 0)
		return rc;
	const struct model_word_row *row = model_word(use.word);
	size_t head = row ? 0 : model_block_find(state, line, use.word);

	if (!row && head == state->lines.line_count)
		return model_use_unknown(state, line, use.word);
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
	return row ? model_use_op(state, &use, row) : model_block_use(state, &use, head, next);
}
