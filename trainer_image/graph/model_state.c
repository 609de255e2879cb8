#include "trainer_image/graph/model_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

int model_state_bad(struct model_state *state, size_t line, const char *format, ...)
{
	const struct model_line *at = &state->lines.lines[line];
	char message[256];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	(void)problem_set(state->problem, E_MALFORMED, "line %d: %s", at->number, message);
	problem_detail(state->problem, "%s:%d%s%.*s", state->path, at->number,
		       state->prefix[0] != '\0' ? " in " : "",
		       (int)(strlen(state->prefix) > 0 ? strlen(state->prefix) - 1 : 0),
		       state->prefix);
	return E_MALFORMED;
}

const char *model_state_word(const struct model_state *state, size_t line, size_t at)
{
	return state->lines.words[state->lines.lines[line].first + at];
}

size_t model_state_words(const struct model_state *state, size_t line)
{
	return state->lines.lines[line].count;
}

struct model_frame *model_state_frame(struct model_state *state)
{
	return &state->frames[state->frame_count - 1];
}

/* Names are seen from a repetition outwards, up to the block or the file that it stands in. */
static size_t model_state_scope(const struct model_state *state)
{
	size_t frame = state->frame_count - 1;

	while (state->frames[frame].kind == MODEL_FRAME_REPEAT)
		frame--;
	return frame;
}

int model_state_find(const struct model_state *state, const char *word)
{
	size_t base = state->frames[model_state_scope(state)].names;

	for (size_t i = state->name_count; i > base; i--)
		if (strcmp(state->names[i - 1].word, word) == 0)
			return state->names[i - 1].result;
	return -1;
}

int model_state_define(struct model_state *state, size_t line, const char *word, int result)
{
	for (size_t i = state->name_count; i > model_state_frame(state)->names; i--)
		if (strcmp(state->names[i - 1].word, word) == 0)
			return model_state_bad(state, line, "the name %s is taken already", word);
	if (state->name_count == MODEL_NAMES_MAX)
		return model_state_bad(state, line, "more than %d names", MODEL_NAMES_MAX);
	state->names[state->name_count++] = (struct model_name){word, result};
	return 0;
}

bool model_state_is_name(const char *word)
{
	size_t size = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_.-");

	return word[size] == '\0' && (word[0] < '0' || word[0] > '9') && word[0] != '.' &&
	       word[0] != '-' && size < 64;
}

int model_state_unknown(struct model_state *state, size_t line, const char *word)
{
	for (size_t i = line + 1; i < state->lines.line_count; i++)
		if (model_state_words(state, i) > 2 &&
		    strcmp(model_state_word(state, i, 1), "=") == 0 &&
		    strcmp(model_state_word(state, i, 0), word) == 0)
			return model_state_bad(
				state, line,
				"%s is the result of line %d, below: a model has no cycles", word,
				state->lines.lines[i].number);
	(void)model_state_bad(state, line, "%s is no result", word);
	problem_hint(state->problem, "results are names before a \"=\" above, arguments of the "
				     "block, the input and the label");
	return E_MALFORMED;
}

const char *model_state_value_below(const struct model_state *state, size_t count, const char *text)
{
	for (size_t i = count; i > state->frames[model_state_scope(state)].values; i--)
		if (strcmp(state->values[i - 1].key, text) == 0)
			return state->values[i - 1].value;
	return text;
}

const char *model_state_value(const struct model_state *state, const char *text)
{
	return model_state_value_below(state, state->value_count, text);
}

int model_state_number(struct model_state *state, size_t line, const char *word, int64_t most,
		       int64_t *ret)
{
	const char *value = model_state_value(state, word);
	size_t size = strspn(value, "0123456789");
	int64_t number =
		size > 0 && size < 12 && value[size] == '\0' ? strtoll(value, NULL, 10) : 0;

	if (number < 1 || number > most)
		return model_state_bad(state, line, "%s is no number from 1 to %" PRId64, value,
				       most);
	*ret = number;
	return 0;
}

int model_state_frame_push(struct model_state *state, size_t line, struct model_frame frame,
			   const char *name)
{
	size_t prefix = strlen(state->prefix);

	if (state->frame_count == MODEL_FRAMES_MAX)
		return model_state_bad(state, line, "more than %d levels of blocks and repetitions",
				       MODEL_FRAMES_MAX);
	if (prefix + strlen(name) + 2 > MODEL_NAME_SIZE)
		return model_state_bad(state, line, "the name %s%s is too long", state->prefix,
				       name);
	frame.line = line;
	frame.prefix = prefix;
	frame.names = state->name_count;
	frame.values = state->value_count;
	(void)snprintf(state->prefix + prefix, MODEL_NAME_SIZE - prefix, "%s.", name);
	state->frames[state->frame_count++] = frame;
	return 0;
}

void model_state_frame_pop(struct model_state *state)
{
	const struct model_frame *frame = model_state_frame(state);

	state->name_count = frame->names;
	state->value_count = frame->values;
	state->prefix[frame->prefix] = '\0';
	state->frame_count--;
}

void model_state_auto_name(struct model_state *state, const char *word, char ret[MODEL_NAME_SIZE])
{
	(void)text_format(ret, MODEL_NAME_SIZE, "%s_%d", word, ++model_state_frame(state)->unnamed);
}
