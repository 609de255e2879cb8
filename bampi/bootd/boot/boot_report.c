#include "bampi/bootd/boot/boot_report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"

static int boot_report_read_object(const char *body, size_t size, size_t limit, json_t **ret,
				   struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	int rc = json_read(body, size, limit, &json, problem);

	if (rc)
		return rc;
	if (!json_is_object(json))
		return problem_set(problem, E_MALFORMED, "the report is not a JSON object");

	*ret = TAKE(json);
	return 0;
}

/* Cuts at a whole character and takes out what would disturb a terminal. */
static void copy_line(char *ret, size_t room, const char *text)
{
	size_t size = strlen(text);

	if (size >= room) {
		size = room - 1;
		while (size > 0 && ((unsigned char)text[size] & 0xc0U) == 0x80)
			size--;
	}
	for (size_t i = 0; i < size; i++)
		ret[i] = (char)((unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
	ret[size] = '\0';
}

int boot_progress_decode(const char *body, size_t size, struct boot_progress *ret,
			 struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct boot_progress progress = {0};
	struct json_reader reader;
	const char *text;
	int rc = boot_report_read_object(body, size, BOOT_PROGRESS_LIMIT, &json, problem);

	if (rc)
		return rc;
	reader = json_reader(json);
	progress.percent = (int)json_get_int(&reader, "percent", 0, 100, 0, true);
	progress.done_bytes = json_get_int(&reader, "done_bytes", 0, INT64_MAX, 0, false);
	progress.total_bytes = json_get_int(&reader, "total_bytes", 0, INT64_MAX, 0, false);
	text = json_get_string(&reader, "text", false);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	copy_line(progress.text, sizeof(progress.text), text ? text : "");

	*ret = progress;
	return 0;
}

int boot_result_failed(const struct problem *why, struct boot_result *ret)
{
	struct text text = {0};
	char *json;

	json_begin_object(&text, NULL);
	json_put_string(&text, "message", why->message);
	json_put_string(&text, "detail", why->detail);
	json_put_string(&text, "hint", why->hint);
	json_end_object(&text);
	json = text_take(&text);
	if (!json)
		return -ENOMEM;

	*ret = (struct boot_result){.problem = json};
	return 0;
}

/* Lengths are those of struct problem: what people read has one shape everywhere. */
static int boot_report_read_problem(const json_t *object, struct boot_result *ret,
				    struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	struct problem why = {.code = E_PROTOCOL};
	const char *message = json_get_string(&reader, "message", true);
	const char *detail = json_get_string(&reader, "detail", false);
	const char *hint = json_get_string(&reader, "hint", false);

	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	copy_line(why.message, sizeof(why.message), message);
	copy_line(why.detail, sizeof(why.detail), detail ? detail : "");
	copy_line(why.hint, sizeof(why.hint), hint ? hint : "");
	if (!why.message[0])
		return problem_set(problem, E_MALFORMED, "the problem has no message");
	return boot_result_failed(&why, ret);
}

int boot_result_decode(const char *body, size_t size, struct boot_result *ret,
		       struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct boot_result result = {0};
	const json_t *ok;
	const json_t *part;
	int rc = boot_report_read_object(body, size, BOOT_RESULT_LIMIT, &json, problem);

	if (rc)
		return rc;
	ok = json_object_get(json, "ok");
	if (!json_is_boolean(ok))
		return problem_set(problem, E_MALFORMED, "ok is not true or false");
	part = json_object_get(json, json_is_true(ok) ? "data" : "problem");
	if (json_is_false(ok)) {
		if (!json_is_object(part))
			return problem_set(problem, E_MALFORMED, "problem is not an object");
		rc = boot_report_read_problem(part, ret, problem);
		if (rc == 0)
			ret->refused = json_is_true(json_object_get(json, "refused"));
		return rc;
	}
	if (part && !json_is_null(part) && !json_is_object(part))
		return problem_set(problem, E_MALFORMED, "data is not an object");
	result.ok = true;
	result.data = json_is_object(part) ? json_dumps(part, JSON_COMPACT) : strdup("{}");
	if (!result.data)
		return -ENOMEM;

	*ret = result;
	return 0;
}

void boot_result_done(struct boot_result *result)
{
	free(result->data);
	free(result->problem);
	*result = (struct boot_result){0};
}
