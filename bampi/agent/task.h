/* One task as its handler sees it. Handlers block: they run on the agent's worker thread. The
 * mailbox (agent.h) lives on the loop. The two share progress and the wish to stop, nothing else.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/http/tls.h"
#include "common/io/agent_key.h"

#define TASK_ID_SIZE 40

struct neighbor_table;
struct task_guard;

/* What is the same for all tasks of one life of the program. */
struct agent_env {
	const char *root;      /* prefix of /sys, /proc, /dev and /etc; "" on a node */
	const char *url;       /* "https://10.2.0.1:8443", "http://10.2.0.1:8080" */
	const struct tls *tls; /* whom we believe by HTTPS; NULL: no HTTPS */
	const char *token;     /* secret */
	int64_t silence_ms;    /* a server that sends no byte for so long is asked again */
	bool sandbox;          /* tests: regular files may be disks, the power stays on */
	struct neighbor_table *neighbors; /* LLDP; may be NULL */
	struct agent_key *key;            /* of this boot; NULL until the generator is seeded */
};

struct task_progress {
	int percent;
	int64_t done_bytes;
	int64_t total_bytes;
	char text[96];
};

struct task;

/* Fills `data` with one JSON object. 0, or a code with the problem set. -ECANCELED when it stopped
 * because nobody wants it. */
typedef int (*task_run_fn)(struct task *task, struct text *data, struct problem *problem);

struct task_row {
	const char *kind;
	task_run_fn run;
	bool powers_off; /* once the result was delivered */
};

struct task {
	char id[TASK_ID_SIZE];
	const struct task_row *row;
	const struct agent_env *env;
	json_t *params; /* an object; owned */

	pthread_mutex_t lock;
	struct task_progress progress; /* under lock */
	atomic_bool unwanted;
	bool refused; /* it was not believed: nothing was done */

	/* The outcome; the worker's until the task is done. */
	int rc;
	struct text data;
	struct problem problem;
};

/* Takes what GET /agent/v1/task answered: {"id", "statement", "params", "signature"}, the last
 * three as texts. A task that is not believed (task_guard.h) is a task all the same, with row NULL:
 * its problem is reported. So is one of a kind that the table lacks. E_MALFORMED, E_LIMIT. */
MUST_USE int task_new(const char *body, size_t size, const struct agent_env *env,
		      struct task_guard *guard, struct task **ret, struct problem *problem);
void task_free(struct task *task);
void task_freep(struct task **task);
/* Runs the handler and keeps the outcome. */
void task_run(struct task *task);

/* From any thread. `percent` follows from the bytes; total 0 = unknown. */
void task_say(struct task *task, int64_t done_bytes, int64_t total_bytes, const char *format, ...)
	PRINTF_LIKE(4, 5);
struct task_progress task_progress(struct task *task);
/* False once the server answered 410: stop at the next safe point and return -ECANCELED. */
bool task_wanted(const struct task *task);

/* The bodies of POST .../progress and .../result. */
void task_progress_json(const struct task_progress *progress, struct text *ret);
void task_result_json(const struct task *task, struct text *ret);
