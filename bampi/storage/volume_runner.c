#include "bampi/storage/volume_runner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "bampi/storage/network_runner.h"
#include "bampi/storage/stored_key.h"
#include "bampi/storage/volume_login.h"
#include "bampi/storage/volume_rest.h"
#include "bampi/storage/volume_runner_private.h"
#include "bampi/storage/volume_store_sql.h"

LEAKS_LEFT_TO_SANITIZER

#define VOLUME_RUNNER_SUBJECT "storage"
#define PROGRESS_MS           1000

/* What is known of the world outside of the database, read by a worker. */
struct volume_runner_look {
	int rc;
	struct problem problem;
	struct storage_view view;
	int64_t total_bytes, free_bytes;
};

struct volume_runner {
	struct volume_runner_options options;
	struct loop *loop;
	struct work_cycle cycle;
	struct loop_timer *progress_timer;
	bool stopping;
	bool outdated; /* something was opened or closed since the look began */
	struct volume_runner_look look;
	struct storage_claim claim;
	bool claimed, told_unclaimed, told_away;
	struct network_runner *networks;
	struct volume_job *jobs;
	struct volume_rests *rests;
	/* of the last work, for what may be swept and what nobody wants */
	int64_t *volumes, *archives;
	size_t volume_count, archive_count;
	bool listed; /* both are known */
};

static void end_pass(struct volume_runner *runner)
{
	work_cycle_end(&runner->cycle, runner->options.period_ms);
}

/* --- jobs --- */

static struct volume_job *job_find(const struct volume_runner *runner, bool archive, int64_t id)
{
	struct volume_job *job = runner->jobs;

	while (job && (job->row.id != id || job->row.archive != archive))
		job = job->next;
	return job;
}

static void volume_runner_job_free(struct volume_job *job)
{
	volume_row_done(&job->row);
	storage_target_done(&job->target);
	free(job);
}

static void job_end(struct volume_job *job)
{
	struct volume_job **link = &job->runner->jobs;

	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	volume_runner_job_free(job);
}

static struct volume_key volume_runner_key_of(const struct volume_row *row)
{
	return (struct volume_key){row->id, row->archive};
}

static void volume_runner_on_told(void *context, int rc, const PGresult *result,
				  const struct problem *problem)
{
	struct volume_job *job = context;
	struct volume_runner *runner = job->runner;

	(void)result;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, job->row.name, problem);
	job_end(job);
	volume_runner_wake(runner);
}

static void log_done(const struct volume_job *job, const char *subject)
{
	int64_t resumed = atomic_load(&job->progress.resumed);

	if (resumed > 0)
		log_info(VOLUME_RUNNER_SUBJECT, "%s: %s done (resumed_at=%lld bytes=%lld)", subject,
			 volume_action_words[job->done.action], (long long)resumed,
			 (long long)atomic_load(&job->progress.done));
	else
		log_info(VOLUME_RUNNER_SUBJECT, "%s: %s done", subject,
			 volume_action_words[job->done.action]);
}

/* An action that was done but could not be told is found done when it is decided again. */
static void volume_runner_on_worked(void *context)
{
	struct volume_job *job = context;
	struct volume_runner *runner = job->runner;
	bool failed = problem_is_set(&job->done.problem);
	bool expelled;
	bool odd;
	unsigned row;
	char subject[160];

	(void)text_format(subject, sizeof(subject), "%s %s of %s",
			  job->row.archive ? "archive" : "volume", job->row.name, job->row.tenant);
	if (!job->ran || runner->stopping || job->done.problem.code == -ECANCELED) {
		job_end(job);
		volume_runner_wake(runner);
		return;
	}
	runner->outdated |= job->done.action == ACTION_OPEN || job->done.action == ACTION_ADMIT ||
			    job->done.action == ACTION_EXPEL || job->done.action == ACTION_CLOSE;
	odd = !failed && job->done.odd_logins > 0;
	/* An odd initiator comes again as soon as it is cut: it must not keep us busy. */
	row = volume_rests_note(runner->rests, volume_runner_key_of(&job->row), failed || odd,
				loop_now_ms(runner->loop));
	/* Told when it is seen that nobody of them is there any more; of odd ones at once, and once
	 * for all that come in a row. */
	job->silent |= !failed && job->done.action == ACTION_EXPEL && (!odd || row > 1);
	if (failed)
		log_problem(LOG_LEVEL_WARN, subject, &job->done.problem);
	else if (job->done.action != ACTION_TELL_OPEN && job->done.action != ACTION_TELL_CLOSED)
		log_done(job, subject);
	if (odd)
		log_warn(VOLUME_RUNNER_SUBJECT,
			 "%s: cut %zu logins with an initiator name or alias that is not allowed",
			 subject, job->done.odd_logins);
	if (job->silent || volume_store_done(runner->options.db, &runner->claim, &job->row,
					     &job->done, volume_runner_on_told, job) != 0) {
		expelled = job->done.action == ACTION_EXPEL;
		job_end(job);
		if (expelled)
			volume_runner_wake(runner);
		else
			work_cycle_wake_in(&runner->cycle, runner->options.period_ms);
	}
}

/* Takes `row`. */
static struct volume_job *job_new(struct volume_runner *runner, struct volume_row *row,
				  enum volume_action action)
{
	struct volume_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->runner = runner;
	job->options = &runner->options;
	job->row = *row;
	job->done.action = action;
	*row = (struct volume_row){0};
	job->next = runner->jobs;
	runner->jobs = job;
	return job;
}

static void job_start(struct volume_job *job)
{
	int rc;

	if (job->done.action == ACTION_TELL_OPEN || job->done.action == ACTION_TELL_CLOSED) {
		job->ran = true;
		volume_runner_on_worked(job);
		return;
	}
	rc = worker_submit(job->runner->options.worker, volume_job_work, volume_runner_on_worked,
			   job);
	if (rc)
		job_end(job); /* the queue is full: the next pass tries again */
}

/* --- deciding --- */

/* Users and addresses stay the row's. */
static void volume_runner_target_of(const struct volume_runner *runner,
				    const struct volume_row *row, struct storage_target *ret)
{
	ret->id = row->id;
	(void)text_format(ret->name, sizeof(ret->name), "%s:volume.%lld", runner->claim.iqn,
			  (long long)row->id);
	(void)volume_path(runner->options.dir, row->id, ret->path, sizeof(ret->path));
	ret->users = row->users;
	ret->user_count = row->user_count;
	ret->addresses = row->addresses;
	ret->address_count = row->address_count;
}

/* All of one may be at the other: users, addresses, sessions. */
static bool volume_runner_holds(const struct storage_target *one,
				const struct storage_target *other)
{
	for (size_t i = 0; i < one->user_count; i++) {
		if (!storage_target_knows(other, one->users[i].name))
			return false;
	}
	for (size_t i = 0; i < one->address_count; i++) {
		if (!storage_target_lists(other, one->addresses[i].text))
			return false;
	}
	for (size_t i = 0; i < one->session_count; i++) {
		if (!storage_target_admits(other, &one->sessions[i]))
			return false;
	}
	return true;
}

static enum volume_fit volume_runner_fit_of(const struct storage_target *wanted,
					    const struct storage_target *open)
{
	if (!open)
		return FIT_CLOSED;
	/* the tenant's account is always there: without it the secret is another */
	if (strcmp(open->name, wanted->name) != 0 || strcmp(open->path, wanted->path) != 0 ||
	    !storage_target_knows(open, wanted->users[0].name))
		return FIT_WRONG;
	if (!volume_runner_holds(open, wanted))
		return FIT_LONG;
	return volume_runner_holds(wanted, open) ? FIT_RIGHT : FIT_SHORT;
}

static const struct storage_target *open_target(const struct volume_runner *runner, int64_t id)
{
	for (size_t i = 0; i < runner->look.view.count; i++) {
		if (runner->look.view.targets[i].id == id)
			return &runner->look.view.targets[i];
	}
	return NULL;
}

/* Something long that nobody wants any more ends soon. */
static bool under_way(const struct volume_runner *runner, const struct volume_row *row)
{
	struct volume_job *job = job_find(runner, row->archive, row->id);

	if (job && row->absent && job->done.action != ACTION_DESTROY)
		atomic_store(&job->progress.stop, true);
	return job != NULL;
}

/* The book is asked of each row in a pass, also of one that is tried again just now: its failures
 * are counted on. */
static bool volume_runner_is_free(const struct volume_runner *runner, const struct volume_row *row)
{
	bool rests = volume_rests_has(runner->rests, volume_runner_key_of(row),
				      loop_now_ms(runner->loop));

	return !under_way(runner, row) && !rests;
}

static void start_volume(struct volume_runner *runner, struct volume_row *row,
			 enum volume_action action, const struct storage_target *wanted)
{
	struct volume_job *job = job_new(runner, row, action);

	if (!job)
		return;
	/* `row` is the job's now; the target takes from it who may log in. */
	job->target = *wanted;
	job->row.users = NULL;
	job->row.addresses = NULL;
	if (action == ACTION_OPEN || action == ACTION_ADMIT)
		volume_job_unlock(job);
	job_start(job);
}

static void decide_volume(struct volume_runner *runner, struct volume_row *row)
{
	struct storage_target wanted = {0};
	const struct storage_target *open = open_target(runner, row->id);
	enum volume_action action;

	volume_runner_target_of(runner, row, &wanted);
	if (!volume_runner_is_free(runner, row))
		return;
	action = volume_decide(&(struct volume_facts){
		.state = row->state,
		.absent = row->absent,
		.restore = row->source.archive != 0,
		.size = row->size_bytes,
		.kept = row->kept_bytes,
		.open_wanted = row->open_wanted,
		.fit = volume_runner_fit_of(&wanted, open),
		.told_open = row->served_pdci != 0,
		.told = row->told,
	});
	if (action != ACTION_NONE)
		start_volume(runner, row, action, &wanted);
}

static void decide_archive(struct volume_runner *runner, struct volume_row *row)
{
	enum volume_action action;
	struct volume_job *job;

	if (!volume_runner_is_free(runner, row))
		return;
	action = archive_decide(&(struct archive_facts){
		.state = row->archive_state,
		.absent = row->absent,
		/* also while it is being opened or made */
		.volume_open =
			open_target(runner, row->volume) || job_find(runner, false, row->volume),
	});
	job = action != ACTION_NONE ? job_new(runner, row, action) : NULL;
	if (job)
		job_start(job);
}

/* A target of ours without a volume: its row was deleted while we were away. */
static void close_unwanted(struct volume_runner *runner)
{
	char prefix[STORAGE_TARGET_SIZE + 16];

	(void)text_format(prefix, sizeof(prefix), "%s:volume.", runner->claim.iqn);
	for (size_t i = 0; i < runner->look.view.count; i++) {
		const struct storage_target *open = &runner->look.view.targets[i];
		struct volume_row row = {.id = open->id};
		bool wanted = strncmp(open->name, prefix, strlen(prefix)) != 0;
		struct volume_job *job;

		for (size_t j = 0; !wanted && j < runner->volume_count; j++)
			wanted = runner->volumes[j] == open->id;
		if (wanted || job_find(runner, false, open->id))
			continue;
		(void)text_copy(row.name, sizeof(row.name), "(deleted)");
		job = job_new(runner, &row, ACTION_CLOSE);
		if (!job)
			continue;
		job->silent = true;
		job_start(job);
	}
}

/* --- a pass: look, claim, read, decide --- */

static bool keep_erased(void *context, bool archive, int64_t id)
{
	const struct volume_runner *runner = context;
	const int64_t *ids = archive ? runner->archives : runner->volumes;
	size_t count = archive ? runner->archive_count : runner->volume_count;

	for (size_t i = 0; i < count; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}

static int volume_runner_remember(int64_t **ids, size_t *count, const PGresult *result, int column)
{
	int rows = PQntuples(result);
	int64_t *list = calloc((size_t)rows + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (int i = 0; i < rows; i++)
		list[i] = db_int(result, i, column, 0);
	free(*ids);
	*ids = list;
	*count = (size_t)rows;
	return 0;
}

static void on_networks(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	struct volume_runner *runner = context;

	(void)problem; /* on_archives follows, and says the same */
	if (rc == 0)
		network_runner_take(runner->networks, &runner->claim, result);
}

static void on_logins_told(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	(void)result;
	if (rc == 0)
		volume_runner_wake(context); /* what was made now is sealed next */
	else if (rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, VOLUME_RUNNER_SUBJECT, problem);
}

static void on_logins(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct volume_runner *runner = context;

	(void)problem; /* on_archives follows, and says the same */
	if (rc == 0)
		volume_logins_take(&runner->options, &runner->claim, result, on_logins_told,
				   runner);
}

static void on_volumes(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct volume_runner *runner = context;

	(void)problem; /* on_archives follows, and says the same */
	if (rc || volume_runner_remember(&runner->volumes, &runner->volume_count, result,
					 VOLUME_WORK_ID) != 0)
		return;
	if (runner->outdated) { /* what was opened meanwhile would seem closed, and be opened again
				 */
		volume_runner_wake(runner);
		return;
	}
	for (int i = 0; i < PQntuples(result); i++) {
		struct volume_row row = {0};

		rc = volume_row_read(result, i, &row);
		if (rc)
			log_error(VOLUME_RUNNER_SUBJECT, "volume %s cannot be read: %s",
				  db_text(result, i, VOLUME_WORK_NAME, "?"), error_text(rc));
		else
			decide_volume(runner, &row);
		volume_row_done(&row);
	}
	close_unwanted(runner);
}

static void on_archives(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	struct volume_runner *runner = context;

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, VOLUME_RUNNER_SUBJECT, problem);
	if (rc == 0 && volume_runner_remember(&runner->archives, &runner->archive_count, result,
					      ARCHIVE_WORK_ID) == 0) {
		for (int i = 0; !runner->outdated && i < PQntuples(result); i++) {
			struct volume_row row = {0};

			if (archive_row_read(result, i, &row) == 0)
				decide_archive(runner, &row);
			volume_row_done(&row);
		}
		if (!runner->outdated)
			volume_rests_sweep(runner->rests);
		runner->listed = true;
	}
	end_pass(runner);
}

static void volume_runner_on_claimed(void *context, int rc, const PGresult *result,
				     const struct problem *problem)
{
	static const struct volume_work_fns fns = {on_networks, on_logins, on_volumes, on_archives};
	struct volume_runner *runner = context;

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, VOLUME_RUNNER_SUBJECT, problem);
	if (rc) {
		end_pass(runner);
		return;
	}
	runner->claimed = storage_claim_read(result, &runner->claim);
	if (runner->claimed == runner->told_unclaimed) {
		runner->told_unclaimed = !runner->claimed;
		if (runner->claimed)
			log_info(VOLUME_RUNNER_SUBJECT, "%s is ours", runner->options.storage);
		else
			log_warn(VOLUME_RUNNER_SUBJECT,
				 "%s does not exist, is not for our role, or another keeps it "
				 "(haasctl storage list)",
				 runner->options.storage);
	}
	/* What is open is not known: nothing is decided. */
	if (!runner->claimed || (runner->look.rc && runner->look.rc != E_NOT_FOUND) ||
	    volume_store_work(runner->options.db, &runner->claim, &fns, runner) != 0)
		end_pass(runner);
}

static void look_work(void *context)
{
	struct volume_runner *runner = context;
	struct volume_runner_look *look = &runner->look;
	struct statvfs disk;

	if (runner->listed) /* the lists change in passes only, and this is one */
		volume_sweep(runner->options.dir, keep_erased, runner);
	look->rc =
		runner->options.driver->look(&runner->options.place, &look->view, &look->problem);
	if (statvfs(runner->options.dir, &disk) == 0) {
		look->total_bytes = (int64_t)(disk.f_blocks * disk.f_frsize);
		look->free_bytes = (int64_t)(disk.f_bavail * disk.f_frsize);
	}
}

static void volume_runner_on_looked(void *context)
{
	struct volume_runner *runner = context;
	const struct storage_state state = {
		.name = runner->options.storage,
		.owner = runner->options.owner,
		.claim_ms = runner->options.claim_ms,
		.public_key = seal_key_public_key(stored_key_get(runner->options.key)),
		.total_bytes = runner->look.total_bytes,
		.free_bytes = runner->look.free_bytes,
		.problem = &runner->look.problem,
	};

	if ((runner->look.rc != 0) != runner->told_away) {
		runner->told_away = runner->look.rc != 0;
		if (runner->told_away)
			log_problem(LOG_LEVEL_WARN, VOLUME_RUNNER_SUBJECT, &runner->look.problem);
		else
			log_info(VOLUME_RUNNER_SUBJECT, "the target software answers");
	}
	if (!runner->cycle.connected ||
	    storage_store_claim(runner->options.db, &state, volume_runner_on_claimed, runner) != 0)
		end_pass(runner);
}

static void volume_runner_pass(void *context)
{
	struct volume_runner *runner = context;

	storage_view_done(&runner->look.view);
	runner->look = (struct volume_runner_look){.rc = E_UNAVAILABLE};
	runner->outdated = false;
	if (worker_submit(runner->options.worker, look_work, volume_runner_on_looked, runner) != 0)
		end_pass(runner);
}

/* --- progress --- */

static void volume_runner_tell_progress(void *context)
{
	struct volume_runner *runner = context;

	loop_timer_arm(runner->progress_timer, PROGRESS_MS);
	for (int archives = 0; archives < 2; archives++) {
		CLEANUP(text_done) struct text ids = {0};
		CLEANUP(text_done) struct text bytes = {0};
		bool any = false;

		array_begin(&ids);
		array_begin(&bytes);
		for (struct volume_job *job = runner->jobs; job; job = job->next) {
			int64_t done = atomic_load(&job->progress.done);

			if (job->row.archive != (archives == 1) || done == job->told)
				continue;
			job->told = done;
			array_add_int(&ids, job->row.id);
			array_add_int(&bytes, done);
			any = true;
		}
		array_end(&ids);
		array_end(&bytes);
		if (any && runner->cycle.connected && !ids.failed && !bytes.failed)
			(void)!volume_store_progress(runner->options.db, archives == 1,
						     text_get(&ids), text_get(&bytes));
	}
}

/* --- life --- */

void volume_runner_wake(struct volume_runner *runner)
{
	work_cycle_wake(&runner->cycle);
}

void volume_runner_db_state(struct volume_runner *runner, bool connected)
{
	if (!runner->stopping)
		work_cycle_connected(&runner->cycle, connected);
}

static void on_network_changed(void *context)
{
	volume_runner_wake(context);
}

int volume_runner_new(struct loop *loop, const struct volume_runner_options *options,
		      struct volume_runner **ret)
{
	struct volume_runner *runner = calloc(1, sizeof(*runner));
	int rc;

	if (!runner)
		return -ENOMEM;
	runner->options = *options;
	runner->loop = loop;
	rc = volume_rests_new(&runner->rests);
	if (rc == 0)
		rc = work_cycle_open(&runner->cycle, loop, volume_runner_pass, runner);
	if (rc == 0)
		rc = loop_timer_new(loop, volume_runner_tell_progress, runner,
				    &runner->progress_timer);
	if (rc == 0)
		rc = network_runner_new(&runner->options, on_network_changed, runner,
					&runner->networks);
	if (rc) {
		volume_runner_free(runner);
		return rc;
	}
	loop_timer_arm(runner->progress_timer, PROGRESS_MS);
	*ret = runner;
	return 0;
}

void volume_runner_stop(struct volume_runner *runner)
{
	runner->stopping = true;
	work_cycle_stop(&runner->cycle);
	network_runner_stop(runner->networks);
	for (struct volume_job *job = runner->jobs; job; job = job->next)
		atomic_store(&job->progress.stop, true);
}

void volume_runner_free(struct volume_runner *runner)
{
	if (!runner)
		return;
	while (runner->jobs)
		job_end(runner->jobs);
	volume_rests_free(runner->rests);
	storage_view_done(&runner->look.view);
	network_runner_free(runner->networks);
	free(runner->volumes);
	free(runner->archives);
	work_cycle_close(&runner->cycle);
	if (runner->progress_timer)
		loop_timer_free(runner->progress_timer);
	free(runner);
}
