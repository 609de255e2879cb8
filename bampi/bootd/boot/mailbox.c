#include "bampi/bootd/boot/mailbox.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/db/array.h"
#include "common/io/log.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/mailbox_store_sql.h"
#include "bampi/bootd/boot/progress_board.h"
#include "bampi/bootd/boot/result_queue.h"
#include "bampi/bootd/boot/task_book.h"

/* A notification may be lost with its connection: everything that waits is looked at this often
 * anyway. */
#define SAFETY_EVERY_MS 5000
/* A task that nobody reports on is forgotten; a late report finds it in the database. */
#define FORGET_AFTER_MS ((int64_t)15 * 60 * 1000)

struct poll {
	struct mailbox *mailbox;
	struct http_request *request;
	struct loop_timer *deadline;
	char token[TOKEN_TEXT_SIZE];
	bool due; /* to be asked for with the next statement */
	UT_hash_handle hh;
};

/* A progress report on a task that we do not know (we were restarted), while the database is asked.
 */
struct lookup {
	struct mailbox *mailbox; /* NULL: nobody waits any more */
	struct http_request *request;
	int64_t task_id;
	char token[TOKEN_TEXT_SIZE];
	struct boot_progress progress;
	struct lookup *prev, *next;
};

/* Outlives the mailbox: a statement always calls back. */
struct mailbox_flight {
	struct mailbox *mailbox; /* NULL: nobody waits any more */
};

struct mailbox {
	struct loop *loop;
	struct db *db;
	struct boot_counters *counters;
	struct poll *polls; /* by token */
	struct task_book tasks;
	struct lookup *lookups;
	struct mailbox_flight *taking; /* mailbox_take_query is out */
	struct mailbox_flight *over;   /* mailbox_over_query is out */
	bool over_again;
	struct progress_board *board;
	struct result_queue *results;
	struct loop_timer *safety;
};

static void mailbox_take(struct mailbox *mailbox);

static void task_over(void *context, int64_t task_id)
{
	struct mailbox *mailbox = context;

	task_book_remove(&mailbox->tasks, task_id);
}

/* --- which tasks are over --- */

static void check_over(struct mailbox *mailbox);

static void over_done(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	CLEANUP(freep) struct mailbox_flight *flight = context;
	struct mailbox *mailbox = flight->mailbox;

	if (!mailbox)
		return;
	mailbox->over = NULL;
	if (rc && rc != E_UNAVAILABLE) {
		mailbox->counters->database_errors++;
		log_problem(LOG_LEVEL_ERROR, "agent mailbox", problem);
	}
	for (int row = 0; rc == 0 && row < PQntuples(result); row++) {
		struct task_entry *task =
			task_book_find(&mailbox->tasks, db_int(result, row, MAILBOX_OVER_ID, 0));

		if (task && db_bool(result, row, MAILBOX_OVER_DROPPED))
			task->unwanted = true;
		else if (task)
			task_book_remove(&mailbox->tasks, task->id);
	}
	if (mailbox->over_again)
		check_over(mailbox);
}

static void check_over(struct mailbox *mailbox)
{
	struct text ids = {0};
	const char *params[1];
	struct mailbox_flight *flight;

	mailbox->over_again = mailbox->over != NULL;
	if (mailbox->over || !mailbox->tasks.entries || !db_connected(mailbox->db))
		return;
	task_book_ids(&mailbox->tasks, &ids);
	params[0] = text_get(&ids);
	flight = calloc(1, sizeof(*flight));
	if (flight && !ids.failed) {
		flight->mailbox = mailbox;
		if (db_submit(mailbox->db, &mailbox_over_query, params, over_done, flight) == 0)
			mailbox->over = TAKE(flight);
	}
	free(flight);
	text_done(&ids);
}

/* --- polls --- */

/* Takes the request out of the mailbox; the caller answers it. */
static struct http_request *poll_end(struct poll *poll)
{
	struct http_request *request = poll->request;

	if (request)
		http_request_on_close(request, NULL, NULL);
	HASH_DEL(poll->mailbox->polls, poll);
	poll->mailbox->counters->polls_open--;
	loop_timer_free(poll->deadline);
	free(poll);
	return request;
}

static void poll_expired(void *context)
{
	boot_answer_empty(poll_end(context));
}

static void poll_gone(void *context)
{
	struct poll *poll = context;

	poll->request = NULL;
	(void)poll_end(poll);
}

/* As bampid signed it: texts, since a signature is over bytes. */
static void mailbox_hand_out(struct mailbox *mailbox, const PGresult *result, int row)
{
	int64_t id = db_int(result, row, MAILBOX_TAKE_ID, 0);
	const char *token = db_text(result, row, MAILBOX_TAKE_TOKEN, "");
	struct text body = {0};
	struct poll *poll = NULL;

	HASH_FIND_STR(mailbox->polls, token, poll);
	if (!poll)
		return; /* the agent is gone; it will ask again */
	if (!task_book_put(&mailbox->tasks, id, db_int(result, row, MAILBOX_TAKE_DEPLOYMENT_ID, 0),
			   token, loop_now_ms(mailbox->loop)))
		return;
	json_begin_object(&body, NULL);
	json_put_int(&body, "id", id);
	json_put_string(&body, "statement", db_text(result, row, MAILBOX_TAKE_STATEMENT, ""));
	json_put_string(&body, "params", db_text(result, row, MAILBOX_TAKE_PARAMS, "{}"));
	json_put_string(&body, "signature", db_text(result, row, MAILBOX_TAKE_SIGNATURE, ""));
	json_end_object(&body);
	if (!body.failed) {
		mailbox->counters->tasks_delivered++;
		http_answer_json(poll_end(poll), 200, &body);
	}
	text_done(&body);
}

static void take_done(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	CLEANUP(freep) struct mailbox_flight *flight = context;
	struct mailbox *mailbox = flight->mailbox;

	if (!mailbox)
		return;
	mailbox->taking = NULL;
	if (rc && rc != E_UNAVAILABLE) {
		mailbox->counters->database_errors++;
		log_problem(LOG_LEVEL_ERROR, "agent mailbox", problem);
	}
	for (int row = 0; rc == 0 && row < PQntuples(result); row++)
		mailbox_hand_out(mailbox, result, row);
	/* After an error the safety timer or the next connect asks again. */
	if (rc == 0)
		mailbox_take(mailbox);
}

/* One statement for all polls that are due; those that come meanwhile go with the next. */
static void mailbox_take(struct mailbox *mailbox)
{
	struct text tokens = {0};
	const char *params[1];
	struct mailbox_flight *flight;
	unsigned count = 0;

	if (mailbox->taking || !db_connected(mailbox->db))
		return;
	array_begin(&tokens);
	for (struct poll *poll = mailbox->polls; poll; poll = poll->hh.next) {
		if (!poll->due)
			continue;
		poll->due = false;
		array_add(&tokens, poll->token);
		count++;
	}
	array_end(&tokens);
	params[0] = text_get(&tokens);
	flight = count > 0 ? calloc(1, sizeof(*flight)) : NULL;
	if (flight && !tokens.failed) {
		flight->mailbox = mailbox;
		if (db_submit(mailbox->db, &mailbox_take_query, params, take_done, flight) == 0)
			mailbox->taking = TAKE(flight);
	}
	free(flight);
	text_done(&tokens);
}

static void mailbox_take_all(struct mailbox *mailbox)
{
	for (struct poll *poll = mailbox->polls; poll; poll = poll->hh.next)
		poll->due = true;
	mailbox_take(mailbox);
}

void mailbox_poll(struct mailbox *mailbox, struct http_request *request, const char *token,
		  int wait_s)
{
	struct poll *poll = NULL;

	mailbox->counters->polls++;
	HASH_FIND_STR(mailbox->polls, token, poll);
	if (poll)
		boot_answer_empty(poll_end(poll));
	poll = calloc(1, sizeof(*poll));
	if (!poll || loop_timer_new(mailbox->loop, poll_expired, poll, &poll->deadline)) {
		free(poll);
		boot_answer_later(request);
		return;
	}
	poll->mailbox = mailbox;
	poll->request = request;
	poll->due = true;
	(void)text_copy(poll->token, sizeof(poll->token), token);
	HASH_ADD_STR(mailbox->polls, token, poll);
	mailbox->counters->polls_open++;
	http_request_on_close(request, poll_gone, poll);
	/* wait=0 still needs the time of one statement. */
	loop_timer_arm(poll->deadline, wait_s > 0 ? (int64_t)wait_s * 1000 : 500);
	mailbox_take(mailbox);
}

/* --- progress --- */

static void progress_put(struct mailbox *mailbox, struct http_request *request,
			 struct task_entry *task, const struct boot_progress *progress)
{
	task->seen_ms = loop_now_ms(mailbox->loop);
	if (task->unwanted) {
		mailbox->counters->tasks_unwanted++;
		boot_answer_unwanted(request);
		return;
	}
	mailbox->counters->progress_reports++;
	if (progress_board_put(mailbox->board, task->deployment_id, progress))
		boot_answer_later(request);
	else
		boot_answer_empty(request);
}

static void lookup_gone(void *context)
{
	struct lookup *lookup = context;

	lookup->request = NULL;
}

static void lookup_done(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	CLEANUP(freep) struct lookup *lookup = context;
	struct mailbox *mailbox = lookup->mailbox;
	struct task_entry *task = NULL;

	if (!mailbox)
		return;
	DL_DELETE(mailbox->lookups, lookup);
	if (rc && rc != E_UNAVAILABLE) {
		mailbox->counters->database_errors++;
		log_problem(LOG_LEVEL_ERROR, "agent mailbox", problem);
	}
	if (rc == 0 && PQntuples(result) == 1)
		task = task_book_put(&mailbox->tasks, lookup->task_id,
				     db_int(result, 0, MAILBOX_FIND_DEPLOYMENT_ID, 0),
				     lookup->token, loop_now_ms(mailbox->loop));
	if (!lookup->request)
		return;
	http_request_on_close(lookup->request, NULL, NULL);
	if (task) {
		progress_put(mailbox, lookup->request, task, &lookup->progress);
	} else if (rc) {
		boot_answer_later(lookup->request);
	} else {
		mailbox->counters->tasks_unwanted++;
		boot_answer_unwanted(lookup->request);
	}
}

static void lookup_begin(struct mailbox *mailbox, struct http_request *request,
			 const struct mailbox_sender *sender, const struct boot_progress *progress)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	char id[24];
	const char *params[2] = {id, sender->token};

	(void)text_format(id, sizeof(id), "%lld", (long long)sender->task_id);
	if (!lookup || db_submit(mailbox->db, &mailbox_find_query, params, lookup_done, lookup)) {
		free(lookup);
		boot_answer_later(request);
		return;
	}
	*lookup = (struct lookup){.mailbox = mailbox,
				  .request = request,
				  .task_id = sender->task_id,
				  .progress = *progress};
	(void)text_copy(lookup->token, sizeof(lookup->token), sender->token);
	DL_APPEND(mailbox->lookups, lookup);
	http_request_on_close(request, lookup_gone, lookup);
}

int mailbox_progress(struct mailbox *mailbox, struct http_request *request,
		     const struct mailbox_sender *sender, const struct boot_progress *progress)
{
	struct task_entry *task =
		task_book_find_of(&mailbox->tasks, sender->task_id, sender->token);

	if (!task && !sender->current)
		return E_AUTHENTICATION;
	/* The intent moved on: this netboot attempt is over, whatever its agent still does. */
	if (task && !sender->current)
		task->unwanted = true;
	if (task)
		progress_put(mailbox, request, task, progress);
	else
		lookup_begin(mailbox, request, sender, progress);
	return 0;
}

int mailbox_result(struct mailbox *mailbox, struct http_request *request,
		   const struct mailbox_sender *sender, struct boot_result *result)
{
	if (!sender->current && !task_book_find_of(&mailbox->tasks, sender->task_id, sender->token))
		return E_AUTHENTICATION;
	result_queue_add(mailbox->results, request, sender->token, sender->task_id, result);
	return 0;
}

/* --- the whole --- */

static void mailbox_safety(void *context)
{
	struct mailbox *mailbox = context;
	int64_t now_ms = loop_now_ms(mailbox->loop);

	task_book_forget(&mailbox->tasks, now_ms - FORGET_AFTER_MS);
	mailbox_take_all(mailbox);
	check_over(mailbox);
	loop_timer_arm(mailbox->safety, SAFETY_EVERY_MS);
}

void mailbox_notified(struct mailbox *mailbox)
{
	mailbox_take_all(mailbox);
	check_over(mailbox);
}

void mailbox_db_state(struct mailbox *mailbox, bool connected)
{
	if (connected)
		mailbox_notified(mailbox);
}

int mailbox_new(struct loop *loop, struct db *db, struct boot_counters *counters,
		struct mailbox **ret)
{
	struct mailbox *mailbox = calloc(1, sizeof(*mailbox));
	int rc;

	if (!mailbox)
		return -ENOMEM;
	mailbox->loop = loop;
	mailbox->db = db;
	mailbox->counters = counters;
	rc = progress_board_new(loop, db, counters, &mailbox->board);
	if (!rc)
		rc = result_queue_new(db, counters, task_over, mailbox, &mailbox->results);
	if (!rc)
		rc = loop_timer_new(loop, mailbox_safety, mailbox, &mailbox->safety);
	if (rc) {
		mailbox_free(mailbox);
		return rc;
	}
	loop_timer_arm(mailbox->safety, SAFETY_EVERY_MS);

	*ret = mailbox;
	return 0;
}

void mailbox_free(struct mailbox *mailbox)
{
	struct lookup *lookup;
	struct lookup *next_lookup;

	if (!mailbox)
		return;
	while (mailbox->polls)
		boot_answer_empty(poll_end(mailbox->polls));
	DL_FOREACH_SAFE(mailbox->lookups, lookup, next_lookup)
	{
		if (lookup->request) {
			http_request_on_close(lookup->request, NULL, NULL);
			boot_answer_later(lookup->request);
		}
		lookup->mailbox = NULL;
	}
	result_queue_free(mailbox->results);
	progress_board_free(mailbox->board);
	task_book_done(&mailbox->tasks);
	if (mailbox->taking)
		mailbox->taking->mailbox = NULL;
	if (mailbox->over)
		mailbox->over->mailbox = NULL;
	if (mailbox->safety)
		loop_timer_free(mailbox->safety);
	free(mailbox);
}
