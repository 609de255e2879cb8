#include "portal/cli/refusal.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/macros.h"

#include "portal/cli/haasctl.h"

#define REFUSAL_CHANGES_MAX 20
#define REFUSAL_VALUE_MAX   200

int refusal_exit(int status)
{
	static const struct {
		int status, exit;
	} rows[] = {
		{401, EXIT_DENIED},      {403, EXIT_DENIED},      {404, EXIT_NOT_FOUND},
		{409, EXIT_CONFLICT},    {412, EXIT_CONFLICT},    {428, EXIT_CONFLICT},
		{502, EXIT_UNREACHABLE}, {503, EXIT_UNREACHABLE}, {504, EXIT_UNREACHABLE},
	};

	if (status < 400)
		return EXIT_OK;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].status == status)
			return rows[i].exit;
	}
	return EXIT_FAILED;
}

static bool refusal_as_json(const struct command_input *input)
{
	const char *format = command_option(input, "--output");

	return format && strncmp(format, "json", 4) == 0;
}

/* "is needed" goes on behind a place, "the prefix is too small" does not. */
static bool refusal_goes_on(const char *message)
{
	return strncmp(message, "is ", 3) == 0 || strncmp(message, "must ", 5) == 0;
}

/* "row 3, mac: what is wrong (what may stand there); what to do". What the whole said already is not said again.
 * False: there is nothing to say. */
static bool refusal_line(const struct command_input *input, const json_t *whole,
			 const json_t *error, struct text *ret)
{
	const char *message = haasctl_word(error, "message");
	const char *allowed = haasctl_word(error, "allowed");
	const char *hint = haasctl_word(error, "hint");

	if (!refusal_place(input, error, ret)) {
		if (json_object_get(error, "row"))
			text_addf(ret, "row %" JSON_INTEGER_FORMAT ", ",
				  json_integer_value(json_object_get(error, "row")));
		text_add(ret, haasctl_word(error, "column"));
	}
	if (ret->size == 0 && strcmp(message, haasctl_word(whole, "title")) == 0)
		return false;
	if (ret->size > 0)
		text_add(ret,
			 refusal_goes_on(message) && !haasctl_word(error, "given")[0] ? " " : ": ");
	text_add(ret, message);
	if (*allowed && !strstr(message, allowed))
		text_addf(ret, " (%s)", allowed);
	if (*hint && strcmp(hint, haasctl_word(whole, "hint")) != 0)
		text_addf(ret, "; %s", hint);
	return true;
}

/* Do all errors name a value of the request? Then they alone are told: title and hint of the problem are for
 * programs. */
static bool refusal_is_of_values(const struct command_input *input, const json_t *errors)
{
	CLEANUP(text_done) struct text place = {0};
	const json_t *error;
	size_t i;

	json_array_foreach(errors, i, error)
	{
		if (!refusal_place(input, error, &place))
			return false;
	}
	return json_array_size(errors) > 0;
}

static void refusal_tell_values(const struct command_input *input, const json_t *problem)
{
	const json_t *errors = json_object_get(problem, "errors");
	bool one = json_array_size(errors) == 1;
	const json_t *error;
	size_t i;

	if (!one)
		fprintf(stderr, "haasctl: %zu values are wrong\n", json_array_size(errors));
	json_array_foreach(errors, i, error)
	{
		CLEANUP(text_done) struct text line = {0};

		(void)refusal_line(input, problem, error, &line);
		if (line.data) /* a value may hold a new line */
			text_blank_controls(line.data, line.size);
		fprintf(stderr, "%s%s\n", one ? "haasctl: " : "  ", text_get(&line));
	}
	if (input->command)
		fprintf(stderr, "  hint: haasctl %s%s%s --help\n", input->command->noun,
			input->command->verb[0] ? " " : "", input->command->verb);
}

void refusal_tell(const struct command_input *input, const json_t *problem)
{
	const char *title = haasctl_word(problem, "title");
	const json_t *errors = json_object_get(problem, "errors");
	const json_t *error;
	size_t i;

	if (refusal_as_json(input) && problem) {
		(void)json_dumpf(problem, stderr, JSON_COMPACT | JSON_ENSURE_ASCII);
		fputc('\n', stderr);
		return;
	}
	if (refusal_is_of_values(input, errors)) {
		refusal_tell_values(input, problem);
		return;
	}
	fprintf(stderr, "haasctl: %s\n", *title ? title : "the request was refused");
	if (haasctl_word(problem, "detail")[0])
		fprintf(stderr, "  %s\n", haasctl_word(problem, "detail"));
	json_array_foreach(errors, i, error)
	{
		CLEANUP(text_done) struct text line = {0};

		if (refusal_line(input, problem, error, &line))
			fprintf(stderr, "  %s\n", text_get(&line));
	}
	if (haasctl_word(problem, "hint")[0])
		fprintf(stderr, "  hint: %s\n", haasctl_word(problem, "hint"));
}

/* "vlan_high: was 3999, is 3000 now" */
static void refusal_change(const char *within, const char *name, const json_t *before,
			   const json_t *now)
{
	const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII;
	CLEANUP(freep) char *was = before ? json_dumps(before, flags) : NULL;
	CLEANUP(freep) char *is = now ? json_dumps(now, flags) : NULL;

	fprintf(stderr, "  %s%s%s: was %.*s, is %.*s now\n", within, within[0] ? "." : "", name,
		REFUSAL_VALUE_MAX, was ? was : "absent", REFUSAL_VALUE_MAX, is ? is : "absent");
}

void refusal_tell_changes(const struct command_input *input, const json_t *before, json_t *now)
{
	size_t left = REFUSAL_CHANGES_MAX;
	const char *name;
	json_t *value;

	if (refusal_as_json(input) || !json_is_object(before) || !json_is_object(now))
		return;
	json_object_foreach(now, name, value)
	{
		const json_t *was = json_object_get(before, name);
		const char *part;
		json_t *inner;

		if (json_equal(was, value) || strcmp(name, "version") == 0 || left == 0)
			continue;
		if (!json_is_object(value) || !json_is_object(was)) {
			refusal_change("", name, was, value);
			left--;
			continue;
		}
		json_object_foreach(value, part, inner)
		{
			if (left == 0 || json_equal(json_object_get(was, part), inner))
				continue;
			refusal_change(name, part, json_object_get(was, part), inner);
			left--;
		}
	}
}

void refusal_tell_own(const struct command_input *input, const struct problem *problem)
{
	CLEANUP(text_done) struct text json = {0};
	char type[64];

	if (!refusal_as_json(input)) {
		haasctl_problem(problem);
		return;
	}
	(void)text_format(type, sizeof(type), "urn:haas:problem:%s", error_word(problem->code));
	json_begin_object(&json, NULL);
	json_put_string(&json, "type", type);
	json_put_string(&json, "title", problem->message);
	json_put_string(&json, "code", error_word(problem->code));
	json_put_string(&json, "detail", problem->detail);
	json_put_string(&json, "hint", problem->hint);
	json_end_object(&json);
	fprintf(stderr, "%s\n", text_get(&json));
}

void refusal_keep(const struct command_input *input, const json_t *problem, int status,
		  struct problem *ret)
{
	const json_t *errors = json_object_get(problem, "errors");
	const json_t *error = json_array_get(errors, 0);
	const char *title = haasctl_word(problem, "title");
	const char *detail = haasctl_word(problem, "detail");
	const char *hint = haasctl_word(problem, "hint");
	CLEANUP(text_done) struct text line = {0};

	if (refusal_is_of_values(input, errors)) {
		(void)refusal_line(input, problem, error, &line);
		(void)problem_set(ret, status, "%s", text_get(&line));
		return;
	}
	(void)problem_set(ret, status, "%s", *title ? title : "the request was refused");
	if (!*detail && strcmp(haasctl_word(error, "message"), title) != 0)
		detail = haasctl_word(error, "message");
	problem_detail(ret, "%s", detail);
	problem_hint(ret, "%s", *hint ? hint : haasctl_word(error, "hint"));
}

size_t refusal_tell_items(const json_t *items)
{
	const json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		fprintf(stderr, "haasctl: %s\n", haasctl_word(item, "message"));
		if (haasctl_word(item, "hint")[0])
			fprintf(stderr, "  hint: %s\n", haasctl_word(item, "hint"));
	}
	return json_array_size(items);
}
