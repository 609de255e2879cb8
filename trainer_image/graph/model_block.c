/* Blocks and repetitions: frames that begin and end. */
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/graph/model_run.h"

int model_block_repeat(struct model_state *state, size_t line, size_t *next)
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
	model_state_auto_name(state, "repeat", name);
	*next = line + 1;
	rc = model_state_frame_push(state, line, frame, name);
	if (rc == 0)
		rc = model_state_frame_push(state, line, frame, "1");
	return rc;
}

/* The values of a use of a block: those said, else those of its head. */
static int model_block_values(struct model_state *state, size_t line, size_t head,
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

int model_block_use(struct model_state *state, const struct model_use *use, size_t head,
		    size_t *next)
{
	struct model_frame frame = {.kind = MODEL_FRAME_BLOCK, .body = head + 1, .previous = -1};
	size_t values = state->value_count;
	char name[MODEL_NAME_SIZE];
	int argument = 0;

	if (use->name)
		(void)text_copy(name, sizeof(name), use->name);
	else
		model_state_auto_name(state, use->word, name);
	(void)text_copy(frame.name, sizeof(frame.name), use->name ? use->name : "");
	int rc = model_block_values(state, use->line, head, use->said, use->said_count);

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

/* The block of that name whose end stands above `line`, as its head; the count of lines = none. */
size_t model_block_find(const struct model_state *state, size_t line, const char *word)
{
	for (size_t i = 0; i < line; i++)
		if (model_state_words(state, i) > 1 &&
		    strcmp(model_state_word(state, i, 0), "block") == 0 &&
		    strcmp(model_state_word(state, i, 1), word) == 0 &&
		    state->lines.lines[i].end < line)
			return i;
	return state->lines.line_count;
}

/* A repetition has two frames: one for its name, one for its round. */
static int model_block_end_repeat(struct model_state *state, size_t line, size_t *next)
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

int model_block_end(struct model_state *state, size_t line, size_t *next)
{
	struct model_frame frame = *model_state_frame(state);

	if (frame.kind == MODEL_FRAME_REPEAT)
		return model_block_end_repeat(state, line, next);
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
