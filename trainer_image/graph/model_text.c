#include "trainer_image/graph/model_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "trainer_image/graph/model_run.h"

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

static int text_run_model(struct model_state *state, size_t line, size_t *next)
{
	*next = line + 1;
	if (model_state_words(state, line) != 2)
		return model_state_bad(state, line, "model: one name stands behind it");
	if (state->model->name[0] != '\0')
		return model_state_bad(state, line, "a second model");
	return text_copy_name(state, line, model_state_word(state, line, 1), state->model->name);
}

static int text_run_input(struct model_state *state, size_t line, size_t *next)
{
	struct model *model = state->model;
	size_t count = model_state_words(state, line);
	const char *last = model_state_word(state, line, count - 1);
	bool tokens = strncmp(last, "words=", 6) == 0;
	int rc = 0;

	*next = line + 1;
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

static int text_run_label(struct model_state *state, size_t line, size_t *next)
{
	struct model *model = state->model;
	size_t count = model_state_words(state, line);

	*next = line + 1;
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

/* A block is run where it is used. */
static int text_run_block(struct model_state *state, size_t line, size_t *next)
{
	*next = state->lines.lines[line].end + 1;
	return 0;
}

static int text_run_line(struct model_state *state, size_t line, size_t *next)
{
	/* clang-format off: one row a line */
	static const struct {
		const char *word;
		bool inside; /* of blocks and repetitions too; elsewhere it is no such word */
		int (*run)(struct model_state *state, size_t line, size_t *next);
	} rows[] = {
		{"end", true, model_block_end},   {"repeat", true, model_block_repeat},
		{"block", false, text_run_block}, {"model", false, text_run_model},
		{"input", false, text_run_input}, {"label", false, text_run_label},
	};
	/* clang-format on */
	const char *word = model_state_word(state, line, 0);

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strcmp(word, rows[i].word) == 0 && (rows[i].inside || state->frame_count == 1))
			return rows[i].run(state, line, next);
	return model_use_run(state, line, next);
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
	rc = rc < 0 ? rc : model_check(state);
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
