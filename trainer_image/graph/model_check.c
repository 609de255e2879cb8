/* What a whole model must be: other than lines, it is known at the end alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/graph/model_run.h"

static int model_check_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Written-out names may meet, "a.b" of the file and b in block a. */
static int model_check_names(struct model_state *state)
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
	qsort(names, count, sizeof(names[0]), model_check_by_name);
	for (size_t i = 1; i < count; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return problem_set(state->problem, E_MALFORMED,
					   "%s: two results have this name", names[i]);
	return 0;
}

static int model_check_readers(struct model_state *state)
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

int model_check(struct model_state *state)
{
	int rc = 0;

	if (state->model->name[0] == '\0')
		rc = problem_set(state->problem, E_MALFORMED, "the line \"model NAME\" is missing");
	rc = rc < 0 ? rc : model_check_names(state);
	return rc < 0 ? rc : model_check_readers(state);
}
