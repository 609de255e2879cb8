/* What a process tells, as untrusted as the packets that it looks at: words of ours, numbers that
 * are some, lines that move no cursor; the rest stays JSON that nobody reads as anything else. */
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/captured/captured_private.h"

/* It goes to people's terminals. */
static void keep_line(struct taken *one, const char *text)
{
	char *line = one->lines[one->line_count++ % LIVE_LINES];

	(void)text_copy(line, LIVE_LINE_SIZE, text);
	for (; *line; line++) {
		if (*line < ' ' || *line > '~')
			*line = '?';
	}
}

static const char *captured_heard_word_of(const json_t *line, const char *key)
{
	const char *word = json_string_value(json_object_get(line, key));

	return word ? word : "";
}

static void keep_end(struct taken *one, const json_t *line)
{
	static const char *const words[] = {"stopped", "deadline", "full", "failed"};
	const json_t *problem = json_object_get(line, "problem");

	(void)text_copy(one->because, sizeof(one->because), "failed");
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (strcmp(words[i], captured_heard_word_of(line, "because")) == 0)
			(void)text_copy(one->because, sizeof(one->because), words[i]);
	}
	free(one->problem);
	one->problem = json_is_object(problem) ? json_dumps(problem, JSON_COMPACT) : NULL;
}

/* Its result: the process has parsed tenants' bytes, so what others read as numbers are some. */
static void keep_result(struct taken *one, json_t *line)
{
	static const char *const others[] = {"lines", "state", "because", "problem"};
	static const char *const numbers[] = {"packets", "bytes", "stored_bytes", "dropped",
					      "oldest_file"};

	for (size_t i = 0; i < COUNT_OF(others); i++)
		(void)json_object_del(line, others[i]);
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		const json_t *number = json_object_get(line, numbers[i]);

		if (!json_is_integer(number) || json_integer_value(number) < 0)
			(void)json_object_del(line, numbers[i]);
	}
	if (json_integer_value(json_object_get(line, "oldest_file")) >= CAPTURED_FILES)
		(void)json_object_del(line, "oldest_file");
	free(one->result);
	one->result = json_object_size(line) > 0 ? json_dumps(line, JSON_COMPACT) : NULL;
}

enum captured_heard captured_hear(struct taken *one, json_t *line)
{
	const json_t *lines = json_object_get(line, "lines");
	bool ended = strcmp(captured_heard_word_of(line, "state"), "ended") == 0;

	for (size_t i = 0; i < json_array_size(lines) && i < LIVE_LINES; i++) {
		const char *text = json_string_value(json_array_get(lines, i));

		keep_line(one, text ? text : "");
	}
	if (strcmp(captured_heard_word_of(line, "state"), "listening") == 0)
		return HEARD_LISTENING;
	if (ended)
		keep_end(one, line);
	keep_result(one, line);
	return ended ? HEARD_END : HEARD_BEAT;
}
