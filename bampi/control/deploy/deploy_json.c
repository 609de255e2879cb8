#include "bampi/control/deploy/deploy_json.h"

#include <string.h>

#include "common/base/text.h"

json_t *json_of_text(const char *text)
{
	json_t *string = json_string(text);
	CLEANUP(freep) char *copy = NULL;

	if (string)
		return string;
	copy = strdup(text);
	if (!copy)
		return NULL;
	for (char *at = copy; *at; at++)
		if ((unsigned char)*at >= 0x80)
			*at = '?';
	return json_string(copy);
}

/* Detail ends in "; " when evidence was to follow. */
static json_t *trimmed(const char *text)
{
	char copy[sizeof(((struct problem *)NULL)->detail)];
	size_t length;

	(void)text_copy(copy, sizeof(copy), text);
	length = strlen(copy);
	while (length > 0 && (copy[length - 1] == ' ' || copy[length - 1] == ';'))
		copy[--length] = '\0';
	return json_of_text(copy);
}

json_t *json_of_problem(const struct problem *problem)
{
	if (!problem || !problem_is_set(problem))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:i}", "message", json_of_text(problem->message),
			 "detail", trimmed(problem->detail), "hint", json_of_text(problem->hint),
			 "code", problem->code);
}
