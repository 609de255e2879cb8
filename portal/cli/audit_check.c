#include "portal/cli/audit_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/io/file.h"

#define AUDIT_CHECK_FILE_LIMIT ((size_t)1 << 30)
#define AUDIT_CHECK_TOLD       20 /* of what does not fit; the rest is counted */

static void PRINTF_LIKE(2, 3) audit_check_wrong(struct audit_check *check, const char *format, ...)
{
	va_list arguments;

	if (check->wrong++ >= AUDIT_CHECK_TOLD)
		return;
	fputs("haasctl: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs("\n", stderr);
}

/* --- the file --- */

static int audit_check_take_event(struct audit_check *check, const json_t *json, const char *text,
				  size_t size)
{
	struct audit_event *event;

	if (check->event_count == check->event_room) {
		size_t room = check->event_room ? 2 * check->event_room : 1024;
		struct audit_event *more = reallocarray(check->events, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		check->events = more;
		check->event_room = room;
	}
	event = &check->events[check->event_count];
	*event = (struct audit_event){.id = json_integer_value(json_object_get(json, "id")),
				      .place = check->event_count};
	event_block_line(event->id, text, size, event->line);
	check->event_count++;
	return 0;
}

/* The marks of an export: the first line, and the last. */
static int audit_check_take_mark(struct audit_check *check, const char *format, const json_t *json,
				 struct problem *problem)
{
	const bool begins = strcmp(format, "haas-audit-1") == 0;

	if (check->ended)
		return problem_set(problem, E_MALFORMED,
				   "the export ended before it; check each export alone");
	if (begins == check->begun)
		return problem_set(problem, E_MALFORMED,
				   begins ? "an export begins in another one"
					  : "the mark of the begin is missing");
	if (begins)
		(void)text_copy(check->begins, sizeof(check->begins), haasctl_word(json, "after"));
	else if (strcmp(format, "haas-audit-end-1") == 0)
		(void)text_copy(check->ends, sizeof(check->ends), haasctl_word(json, "position"));
	check->begun = true;
	check->ended = !begins && strcmp(format, "haas-audit-end-1") == 0;
	return 0;
}

static int audit_check_take(struct audit_check *check, const char *text, size_t size,
			    struct problem *problem)
{
	CLEANUP(json_decrefp) json_t *json = NULL;
	const char *format;
	int rc = json_read(text, size, AUDIT_CHECK_FILE_LIMIT, &json, problem);

	if (rc < 0)
		return rc;
	format = haasctl_word(json, "format");
	rc = audit_check_take_mark(check, format, json, problem);
	if (rc < 0)
		return rc;
	if (strcmp(format, "haas-event-1") == 0)
		return audit_check_take_event(check, json, text, size);
	if (json_is_array(json_object_get(json, "rows")))
		return json_array_append(check->blocks, json);
	return strncmp(format, "haas-audit-", 11) == 0
		       ? 0
		       : problem_set(problem, E_MALFORMED, "it is no event, block or mark");
}

static int audit_check_by_id(const void *a, const void *b)
{
	const struct audit_event *one = a;
	const struct audit_event *other = b;

	if (one->id != other->id)
		return one->id < other->id ? -1 : 1;
	return one->place < other->place ? -1 : one->place > other->place;
}

static void audit_check_sort(struct audit_check *check)
{
	if (check->event_count > 1)
		qsort(check->events, check->event_count, sizeof(*check->events), audit_check_by_id);
	for (size_t i = 1; i < check->event_count; i++) {
		if (check->events[i].id == check->events[i - 1].id)
			audit_check_wrong(check, "event %" PRId64 " is in the file twice",
					  check->events[i].id);
	}
}

/* A whole file has the mark of its end, and the event before it is the one that the mark names. */
static int audit_check_whole(const struct audit_check *check, const char *path)
{
	const char *id = strchr(check->ends, '-');
	int64_t last = check->event_count > 0 ? check->events[check->event_count - 1].id : 0;
	struct problem problem;

	if (!check->begun)
		(void)problem_set(&problem, E_MALFORMED, "%s is empty", path);
	else if (!check->ended)
		(void)problem_set(&problem, E_MALFORMED, "the end of %s is cut off", path);
	else if (last > 0 && (!id || strtoll(id + 1, NULL, 10) != last))
		(void)problem_set(&problem, E_MALFORMED,
				  "%s lacks events: the last is %" PRId64 ", and its end names %s",
				  path, last, check->ends);
	else
		return EXIT_OK;
	problem_hint(&problem, "haasctl audit export >FILE makes it anew; is the disk full?");
	return haasctl_told(&problem);
}

int audit_check_read(struct audit_check *check, const char *path)
{
	CLEANUP(freep) char *data = NULL;
	struct problem problem = {0};
	size_t number = 1;
	size_t size = 0;
	int rc = file_read(path, AUDIT_CHECK_FILE_LIMIT, &data, &size);

	check->blocks = json_array();
	if (rc < 0)
		return haasctl_cannot("read", path, rc);
	for (const char *at = data; *at; number++) {
		size_t length = strcspn(at, "\n");

		rc = length > 0 ? audit_check_take(check, at, length, &problem) : 0;
		if (rc < 0) {
			fprintf(stderr,
				"haasctl: line %zu of %s is not one of an export: %s\n"
				"  hint: haasctl audit export >FILE makes it\n",
				number, path, problem.message);
			return EXIT_FAILED;
		}
		at += length + (at[length] == '\n');
	}
	if (audit_check_whole(check, path) != EXIT_OK)
		return EXIT_FAILED;
	audit_check_sort(check);
	return EXIT_OK;
}

void audit_check_done(struct audit_check *check)
{
	certificate_keys_done(&check->keys);
	json_decref(check->blocks);
	free(check->events);
}

/* --- blocks --- */

static struct audit_event *audit_check_find(const struct audit_check *check, int64_t id)
{
	const struct audit_event wanted = {.id = id};
	size_t low = 0;
	size_t high = check->event_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (audit_check_by_id(&check->events[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < check->event_count && check->events[low].id == id ? &check->events[low] : NULL;
}

static void audit_check_rows(struct audit_check *check, size_t number, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *line = json_string_value(row);
		int64_t id = line ? strtoll(line, NULL, 10) : 0;
		struct audit_event *event = audit_check_find(check, id);

		if (!line || !event) {
			audit_check_wrong(
				check, "event %" PRId64 " is missing: it was sealed in block %zu",
				id, number);
			continue;
		}
		event->sealed = true;
		if (strcmp(event->line, line) != 0)
			audit_check_wrong(check,
					  "event %" PRId64
					  " was changed after it was sealed in block %zu",
					  id, number);
	}
}

/* What the body says of the list of events, and of itself. */
static bool audit_check_body(struct audit_check *check, const struct certificate_chain *chain,
			     const json_t *body, const json_t *rows)
{
	size_t count = json_array_size(rows);
	CLEANUP(freep) const char **lines = calloc(count + 1, sizeof(*lines));
	char digest[DIGEST_TEXT_SIZE] = "";

	for (size_t i = 0; lines && i < count; i++) {
		lines[i] = json_string_value(json_array_get(rows, i));
		if (!lines[i])
			lines[i] = "";
	}
	if (lines)
		event_block_digest(lines, count, digest);
	if (strcmp(digest, haasctl_word(body, "digest")) != 0 ||
	    json_integer_value(json_object_get(body, "events")) != (json_int_t)count) {
		audit_check_wrong(check, "the list of events of block %zu was changed",
				  chain->count);
		return false;
	}
	if (json_integer_value(json_object_get(body, "block")) == (json_int_t)chain->count)
		return true;
	audit_check_wrong(check, "block %zu says that it is another one", chain->count);
	return false;
}

/* False: the chain is broken there, and what follows proves nothing. */
static bool audit_check_block(struct audit_check *check, struct certificate_chain *chain,
			      const json_t *block)
{
	const char *text = haasctl_word(block, "body");
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem problem = {0};

	if (certificate_keys_next(&check->keys, chain, block, "sealed_at", &problem) < 0) {
		audit_check_wrong(check, "%s", problem.message);
		return false;
	}
	if (json_read(text, strlen(text), JSON_LIMIT_DEFAULT, &body, &problem) < 0) {
		audit_check_wrong(check, "the body of block %zu: %s", chain->count,
				  problem.message);
		return false;
	}
	if (audit_check_body(check, chain, body, json_object_get(block, "rows")))
		audit_check_rows(check, chain->count, json_object_get(block, "rows"));
	return true;
}

/* --- what no block has --- */

static void audit_check_unsealed(struct audit_check *check)
{
	/* An export that begins later has the end of a block that it lacks. */
	size_t first = check->begins[0] != '\0' ? check->event_count : 0;
	size_t last = 0;

	for (size_t i = 0; i < check->event_count; i++) {
		size_t place = check->events[i].place;

		if (check->events[i].sealed && place + 1 > last)
			last = place + 1;
		if (check->events[i].sealed && place < first)
			first = place;
	}
	for (size_t i = 0; i < check->event_count; i++) {
		const struct audit_event *event = &check->events[i];

		if (event->sealed)
			continue;
		if (event->place >= first && event->place < last)
			audit_check_wrong(
				check,
				"event %" PRId64
				" was inserted: no block has it, and later ones are sealed",
				event->id);
		else if (event->place < first)
			check->early++;
		else
			check->unsealed++;
	}
}

static void audit_check_head(struct audit_check *check, const struct certificate_chain *chain,
			     const json_t *head)
{
	json_int_t number = json_integer_value(json_object_get(head, "block"));
	const json_t *block;
	size_t i;

	json_array_foreach(check->blocks, i, block)
	{
		if (json_integer_value(json_object_get(block, "block")) != number)
			continue;
		if (strcmp(haasctl_word(block, "hash"), haasctl_word(head, "hash")) != 0)
			audit_check_wrong(check,
					  "block %" JSON_INTEGER_FORMAT
					  " is not the one of the kept head",
					  number);
		return;
	}
	audit_check_wrong(check,
			  "block %" JSON_INTEGER_FORMAT
			  " of the kept head is missing: the file ends at block %zu",
			  number, chain->count);
}

void audit_check_all(struct audit_check *check, const json_t *head)
{
	const json_t *first = json_array_get(check->blocks, 0);
	json_int_t number = first ? json_integer_value(json_object_get(first, "block")) : 1;
	struct certificate_chain chain;
	const json_t *block;
	size_t i;

	/* Only an export that says so begins later. */
	if (check->begins[0] == '\0' || number < 1)
		number = 1;
	chain = event_block_chain((size_t)number, number == 1
							  ? CERTIFICATE_FIRST_HASH
							  : haasctl_word(first, "previous_hash"));
	json_array_foreach(check->blocks, i, block)
	{
		if (!audit_check_block(check, &chain, block))
			return;
	}
	audit_check_unsealed(check);
	if (head)
		audit_check_head(check, &chain, head);
}
