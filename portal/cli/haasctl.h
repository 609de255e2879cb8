/* haasctl: what its nouns share. One file per noun (X_cli.c) exports a group of command rows;
 * main.c joins them. Data goes to stdout, talk to stderr; exit statuses are those of
 * common/cli/command.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/cli/command.h"
#include "common/cli/output.h"
#include "common/http/client.h"
#include "common/http/json_reader.h"

#define HAASCTL_DEFAULT_SOCKET "/run/haas/portald.sock"

struct haasctl; /* the connection to portald; every command's context */

struct command_group {
	const struct command *rows;
	size_t count;
};
/* The options of a command row. */
#define OPTIONS(rows) rows, COUNT_OF(rows)
#define NO_OPTIONS    NULL, 0

extern const struct command_group db_group, node_group, image_group, deployment_group, site_group,
	record_group;

MUST_USE int haasctl_new(struct haasctl **ret);
void haasctl_free(struct haasctl *haasctl);
struct loop *haasctl_loop(struct haasctl *haasctl);
/* Did the person press Ctrl-C? Calls under way end with EXIT_INTERRUPTED. */
bool haasctl_interrupted(const struct haasctl *haasctl);

/* "haasctl: message" with detail and hint on stderr. */
void haasctl_problem(const struct problem *problem);
/* Tells a usage error and returns EXIT_USAGE. */
int haasctl_usage(const char *format, ...) PRINTF_LIKE(1, 2);

/* One exchange with portald. `target` is below /api/v1. POST carries an Idempotency-Key, so a lost
 * answer may be asked for again. */
struct haasctl_call {
	const char *method;
	const char *target;
	const char *body; /* NULL = none */
	size_t body_size; /* 0 = strlen(body) */
	const char *content_type;
	const char *if_match;
	/* Streams: pieces as they come; the call then returns at the end of the stream. */
	int (*on_data)(void *context, const void *data, size_t size);
	void *context;
};
struct haasctl_reply {
	int status;
	json_t *json; /* NULL when the body was empty */
	char etag[72];
};
void haasctl_reply_done(struct haasctl_reply *reply);
/* EXIT_OK, or the exit status that fits the answer, after telling its problem. */
MUST_USE int haasctl_call(struct haasctl *haasctl, const struct command_input *input,
			  const struct haasctl_call *call, struct haasctl_reply *ret);
MUST_USE int haasctl_get(struct haasctl *haasctl, const struct command_input *input,
			 const char *target, struct haasctl_reply *ret);
MUST_USE int haasctl_post(struct haasctl *haasctl, const struct command_input *input,
			  const char *target, const struct text *body, struct haasctl_reply *ret);

/* Rows of an output_column table: as is, right-aligned, left out of the table unless asked for by
 * -c, with a heading of its own. */
#define COLUMN(key)                     \
	{                               \
		key, NULL, false, false \
	}
#define NUMBER(key)                    \
	{                              \
		key, NULL, true, false \
	}
#define WIDE(key)                      \
	{                              \
		key, NULL, false, true \
	}
#define WIDE_NUMBER(key)              \
	{                             \
		key, NULL, true, true \
	}
#define TITLED(key, title)               \
	{                                \
		key, title, false, false \
	}
#define TITLED_NUMBER(key, title)       \
	{                               \
		key, title, true, false \
	}
#define TITLED_WIDE(key, title)         \
	{                               \
		key, title, false, true \
	}

/* Opens the output that -o and -c ask for; EXIT_OK or EXIT_USAGE with the error told. */
MUST_USE int haasctl_output(struct haasctl *haasctl, const struct command_input *input,
			    const struct output_column columns[], size_t count,
			    struct output **ret);
/* Column keys are members of the row's JSON; "a.b" looks inside. `ret` holds the text (row's own
 * scratch), NULL for null. */
const char *haasctl_cell(const json_t *row, const char *key, struct text *scratch);
/* One row from a JSON object. */
void haasctl_row(struct output *output, const json_t *row, const struct output_column columns[],
		 size_t count);
/* GETs all pages of a list and writes them; `target` may carry a query. */
MUST_USE int haasctl_list(struct haasctl *haasctl, const struct command_input *input,
			  const char *target, const struct output_column columns[], size_t count);
/* GETs one object and writes it as key: value lines (or JSON). */
MUST_USE int haasctl_show(struct haasctl *haasctl, const struct command_input *input,
			  const char *target);
/* Writes the JSON itself when -o json or jsonl asks for it; false = the caller writes for people.
 */
bool haasctl_as_json(const struct command_input *input, const json_t *json);

/* Percent-encodes one path segment or query value onto the text. */
void haasctl_escape(struct text *text, const char *value);
/* Adds "?key=value" or "&key=value" when the option was given. */
void haasctl_query(struct text *target, const struct command_input *input, const char *option,
		   const char *key);
/* {"name": [words...]} members for a JSON body. */
void haasctl_json_words(struct text *body, const char *key, const char *const words[],
			size_t count);

/* Waits for a job to end (progress on stderr), tells failures, returns EXIT_OK, EXIT_FAILED,
 * EXIT_PARTIAL, EXIT_TIMEOUT; *ret_items may be NULL, else a new reference to its items. */
MUST_USE int haasctl_wait_job(struct haasctl *haasctl, const struct command_input *input,
			      int64_t job, json_t **ret_items);
/* Seconds of "90", "90s", "30m", "2h"; -1 when malformed. */
int64_t haasctl_duration_s(const char *text);
/* Sleeps in the loop so that Ctrl-C works; false when interrupted. */
MUST_USE bool haasctl_sleep(struct haasctl *haasctl, int64_t ms);

/* watch.c: one line per node until all have ended. `job` < 0: the deployments of `ids`. */
MUST_USE int watch_deployments(struct haasctl *haasctl, const struct command_input *input,
			       int64_t job, const char *const ids[], size_t count);
/* console.c */
MUST_USE int console_run(struct haasctl *haasctl, const struct command_input *input,
			 const char *node);
