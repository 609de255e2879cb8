#include "bampi/bootd/boot/result_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/mailbox_store_sql.h"

/* One statement carries at most this much; the whole queue at most eight times as much. */
#define BATCH_ROWS_MAX 64
#define BATCH_SIZE_MAX ((size_t)4 << 20)
#define QUEUE_SIZE_MAX (8 * BATCH_SIZE_MAX)

struct report {
	struct http_request *request; /* NULL: the client is gone, the result still counts */
	int64_t task_id;
	char token[TOKEN_TEXT_SIZE];
	struct boot_result result;
	size_t size;
	bool alone;    /* its batch was refused: try it by itself */
	bool replaced; /* refused alone too: now it says so instead */
	struct report *prev, *next;
};

/* Outlives the queue: a statement always calls back. */
struct result_queue_flight {
	struct result_queue *queue; /* NULL: nobody waits any more */
	struct report *reports;
};

struct result_queue {
	struct db *db;
	struct boot_counters *counters;
	result_over_fn on_over;
	void *context;
	struct report *waiting; /* in order of arrival */
	struct result_queue_flight *flight;
	size_t size; /* bytes held, waiting and in flight */
};

static void send_batch(struct result_queue *queue);

int result_queue_new(struct db *db, struct boot_counters *counters, result_over_fn on_over,
		     void *context, struct result_queue **ret)
{
	struct result_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	*queue = (struct result_queue){
		.db = db, .counters = counters, .on_over = on_over, .context = context};

	*ret = queue;
	return 0;
}

static void client_gone(void *context)
{
	struct report *report = context;

	report->request = NULL;
}

/* Answers, if there is still somebody, and frees. */
static void report_end(struct result_queue *queue, struct report *report,
		       void (*answer)(struct http_request *))
{
	queue->size -= report->size;
	if (report->request) {
		http_request_on_close(report->request, NULL, NULL);
		answer(report->request);
	}
	boot_result_done(&report->result);
	free(report);
}

static const struct outcome_row {
	const char *word; /* of mailbox_result_query */
	void (*answer)(struct http_request *);
	size_t counter;
} result_queue_outcomes[] = {
	{"stored", boot_answer_empty, offsetof(struct boot_counters, results_stored)},
	{"repeated", boot_answer_empty, offsetof(struct boot_counters, results_stored)},
	{"dropped", boot_answer_unwanted, offsetof(struct boot_counters, tasks_unwanted)},
	{"forged", boot_answer_unauthorized, offsetof(struct boot_counters, unauthorized)},
	{"unknown", boot_answer_not_found, offsetof(struct boot_counters, tasks_unwanted)},
};

static const struct outcome_row *outcome_of(const PGresult *result, int64_t task_id)
{
	for (int row = 0; row < PQntuples(result); row++) {
		if (db_int(result, row, MAILBOX_RESULT_ID, 0) != task_id)
			continue;
		for (size_t i = 0; i < COUNT_OF(result_queue_outcomes); i++)
			if (strcmp(result_queue_outcomes[i].word,
				   db_text(result, row, MAILBOX_RESULT_OUTCOME, "")) == 0)
				return &result_queue_outcomes[i];
	}
	return &result_queue_outcomes[COUNT_OF(result_queue_outcomes) - 1];
}

static void result_queue_stored(struct result_queue *queue, struct report *report,
				const PGresult *result)
{
	const struct outcome_row *outcome = outcome_of(result, report->task_id);
	uint64_t *counter = (uint64_t *)(void *)((char *)queue->counters + outcome->counter);

	(*counter)++;
	if (outcome->answer != boot_answer_unauthorized)
		queue->on_over(queue->context, report->task_id);
	report_end(queue, report, outcome->answer);
}

static void answer_failed(struct http_request *request)
{
	struct problem problem;

	(void)problem_set(&problem, -EIO, "the result could not be stored");
	http_answer_problem(request, 500, &problem);
}

/* The database refused the statement. One report of it may be the cause, or the moment: each is
 * tried again, alone, and one that is refused alone becomes a failed task that says so, else its
 * agent would send it for ever. */
static void result_queue_refused(struct result_queue *queue, struct report *report,
				 const struct problem *problem)
{
	struct problem why = {0};
	struct boot_result result;

	if (report->replaced) {
		report_end(queue, report, answer_failed);
		return;
	}
	if (report->alone) {
		report->replaced = true;
		(void)problem_set(&why, E_PROTOCOL,
				  "the database does not take the agent's result");
		problem_detail(&why, "%s", problem->message);
		if (boot_result_failed(&why, &result)) {
			report_end(queue, report, boot_answer_later);
			return;
		}
		result.signer = report->result.signer;
		boot_result_done(&report->result);
		report->result = result;
	}
	report->alone = true;
	DL_APPEND(queue->waiting, report);
}

static void result_queue_batch_done(void *context, int rc, const PGresult *result,
				    const struct problem *problem)
{
	CLEANUP(freep) struct result_queue_flight *flight = context;
	struct result_queue *queue = flight->queue;
	struct report *reports = flight->reports;
	struct report *report;
	struct report *next;

	if (!queue)
		return;
	queue->flight = NULL;
	if (rc && rc != E_UNAVAILABLE) {
		queue->counters->database_errors++;
		log_problem(LOG_LEVEL_ERROR, "agent result", problem);
	}
	DL_FOREACH_SAFE(reports, report, next)
	{
		DL_DELETE(reports, report);
		if (rc == 0) {
			result_queue_stored(queue, report, result);
		} else if (rc == E_UNAVAILABLE) {
			queue->counters->results_postponed++;
			report_end(queue, report, boot_answer_later);
		} else {
			result_queue_refused(queue, report, problem);
		}
	}
	send_batch(queue);
}

static bool result_queue_is_waiting(const struct report *reports, int64_t task_id)
{
	const struct report *report;

	DL_FOREACH(reports, report)
	if (report->task_id == task_id)
		return true;
	return false;
}

/* Moves what fits into one statement. A task twice in one statement would be updated once and
 * answered twice: the second waits. */
static void result_queue_gather(struct result_queue *queue, struct result_queue_flight *flight)
{
	struct report *report;
	struct report *next;
	size_t size = 0;
	unsigned rows = 0;

	DL_FOREACH_SAFE(queue->waiting, report, next)
	{
		if (rows > 0 && (report->alone || rows == BATCH_ROWS_MAX ||
				 size + report->size > BATCH_SIZE_MAX))
			break;
		if (result_queue_is_waiting(flight->reports, report->task_id))
			break;
		DL_DELETE(queue->waiting, report);
		DL_APPEND(flight->reports, report);
		size += report->size;
		rows++;
		if (report->alone)
			break;
	}
}

static int result_queue_submit(struct result_queue *queue, struct result_queue_flight *flight)
{
	struct text columns[8] = {0};
	const char *params[COUNT_OF(columns)];
	struct report *report;
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(columns); i++)
		array_begin(&columns[i]);
	DL_FOREACH(flight->reports, report)
	{
		array_add_int(&columns[0], report->task_id);
		array_add(&columns[1], report->token);
		array_add(&columns[2], report->result.ok ? "done" : "failed");
		array_add(&columns[3], report->result.data);
		array_add(&columns[4], report->result.problem);
		array_add(&columns[5], report->result.refused ? "true" : "false");
		array_add(&columns[6], report->result.signer.agent);
		array_add(&columns[7], report->result.signer.address);
	}
	for (size_t i = 0; i < COUNT_OF(columns); i++) {
		array_end(&columns[i]);
		params[i] = text_get(&columns[i]);
		if (columns[i].failed)
			rc = -ENOMEM;
	}
	if (!rc)
		rc = db_submit(queue->db, &mailbox_result_query, params, result_queue_batch_done,
			       flight);
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		text_done(&columns[i]);
	return rc;
}

static void result_queue_postpone(struct result_queue *queue, struct report **reports)
{
	struct report *report;
	struct report *next;

	DL_FOREACH_SAFE(*reports, report, next)
	{
		DL_DELETE(*reports, report);
		queue->counters->results_postponed++;
		report_end(queue, report, boot_answer_later);
	}
}

static void send_batch(struct result_queue *queue)
{
	while (queue->waiting && !queue->flight) {
		struct result_queue_flight *flight = calloc(1, sizeof(*flight));

		if (flight && db_connected(queue->db)) {
			flight->queue = queue;
			result_queue_gather(queue, flight);
			if (result_queue_submit(queue, flight) == 0) {
				queue->flight = flight;
				return;
			}
		}
		/* PostgreSQL is away, or no memory: the agents ask again. */
		if (flight)
			result_queue_postpone(queue, &flight->reports);
		result_queue_postpone(queue, &queue->waiting);
		free(flight);
	}
}

void result_queue_add(struct result_queue *queue, struct http_request *request, const char *token,
		      int64_t task_id, struct boot_result *result)
{
	size_t size = sizeof(struct report) + (result->data ? strlen(result->data) : 0) +
		      (result->problem ? strlen(result->problem) : 0);
	struct report *report = NULL;

	if (db_connected(queue->db) && queue->size + size <= QUEUE_SIZE_MAX)
		report = calloc(1, sizeof(*report));
	if (!report) {
		queue->counters->results_postponed++;
		boot_answer_later(request);
		return;
	}
	*report = (struct report){
		.request = request, .task_id = task_id, .result = *result, .size = size};
	*result = (struct boot_result){0};
	(void)text_copy(report->token, sizeof(report->token), token);
	queue->size += size;
	http_request_on_close(request, client_gone, report);
	DL_APPEND(queue->waiting, report);
	send_batch(queue);
}

void result_queue_free(struct result_queue *queue)
{
	if (!queue)
		return;
	result_queue_postpone(queue, &queue->waiting);
	if (queue->flight) {
		result_queue_postpone(queue, &queue->flight->reports);
		queue->flight->queue = NULL;
	}
	free(queue);
}
