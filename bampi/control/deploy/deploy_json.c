#include "bampi/control/deploy/deploy_json.h"

#include <string.h>

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

json_t *json_of_problem(const struct problem *problem)
{
	if (!problem || !problem_is_set(problem))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:i}", "message", json_of_text(problem->message),
			 "detail", json_of_text(problem->detail), "hint",
			 json_of_text(problem->hint), "code", problem->code);
}
