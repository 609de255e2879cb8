#include "bampi/control/deploy/runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "bampi/control/deploy/bmc_jobs.h"
#include "bampi/control/deploy/deploy_claim_store_sql.h"
#include "bampi/control/deploy/deploy_store.h"
#include "bampi/control/deploy/steps/steps.h"

#define RUNNER_SUBJECT    "runner"
#define PACKAGE_LINE_SIZE 256  /* 64 characters of name, 64 of version, a nonce */
#define RUNNER_PERIOD_MS  5000 /* the safety net */
#define AFTER_FAIL_MS     1000
#define MISSED_MS         50 /* somebody held the lock of a row that a BMC's answer is for */
#define RACES_MAX         20

/* One deployment on its way through a cycle. */
struct runner_work {
	struct claimed claimed;
	struct advance advance;
	json_t *certificate;
	bool keep;
	bool poisoned; /* its effects cannot be written; it is being ended instead */
};

struct runner {
	struct loop *loop;
	struct runner_options options;
	struct attest_trust signed_images;
	struct runner_stats stats;
	struct bmc_jobs *jobs;
	struct work_cycle cycle;
	struct loop_timer *extend_timer;
	struct log_limit lost_limit;

	bool delayed; /* something could not be saved: not at once again */
	bool extending;
	int64_t extend_ms, save_ms; /* clock_boot_ms when it was asked for */
	int64_t next_ms;            /* until the next due row, as the database said; -1 = none */

	struct runner_work *works; /* CLAIM_LIMIT */
	size_t count;
	size_t first, size; /* the slice that is being saved */
	int races;
};

static void save_slice(struct runner *runner);

void runner_wake(struct runner *runner)
{
	work_cycle_wake(&runner->cycle);
}

static void on_job(void *context)
{
	runner_wake(context);
}

/* --- the end of a cycle --- */

static void release_works(struct runner *runner)
{
	for (size_t i = 0; i < runner->count; i++) {
		json_decref(runner->works[i].certificate);
		advance_done(&runner->works[i].advance);
		claimed_done(&runner->works[i].claimed);
		runner->works[i].certificate = NULL;
	}
	runner->count = 0;
}

static void runner_finish(struct runner *runner)
{
	bool full = runner->count == CLAIM_LIMIT;
	int64_t wait_ms = RUNNER_PERIOD_MS;
	int64_t missed;

	if (runner->next_ms >= 0 && runner->next_ms < wait_ms)
		wait_ms = runner->next_ms + 1;
	for (size_t i = 0; i < runner->count; i++) {
		const struct runner_work *work = &runner->works[i];
		int64_t due_ms = work->advance.due_ms ? work->advance.due_ms - work->claimed.now_ms
						      : RUNNER_PERIOD_MS;

		if (due_ms < wait_ms)
			wait_ms = due_ms > 0 ? due_ms : 0;
	}
	release_works(runner);
	if (full)
		wait_ms = 0;
	else if (wait_ms > MISSED_MS && bmc_jobs_ended(runner->jobs, &missed, 1) > 0)
		wait_ms = MISSED_MS;
	if (runner->delayed)
		work_cycle_rest(&runner->cycle, AFTER_FAIL_MS);
	work_cycle_end(&runner->cycle, wait_ms);
}

/* --- after the commit: log, act --- */

static void log_events(const struct runner_work *work)
{
	char subject[80];

	(void)text_format(subject, sizeof(subject), "node %s", work->claimed.facts.node.name);
	for (size_t i = 0; i < work->advance.event_count; i++) {
		const struct event_log *event = &work->advance.events[i];

		if (!event->problem)
			log_info(subject, "%s (deployment=%lld step=%s)", event->message,
				 (long long)work->claimed.facts.deployment.id, event->step);
		else
			log_warn(subject, "%s: %s (deployment=%lld step=%s)", event->message,
				 event->problem->detail,
				 (long long)work->claimed.facts.deployment.id, event->step);
	}
}

static void count_work(struct runner *runner, const struct runner_work *work)
{
	for (size_t i = 0; i < work->advance.log_count; i++) {
		runner->stats.steps_done += strcmp(work->advance.logs[i].state, "done") == 0;
		runner->stats.steps_failed += strcmp(work->advance.logs[i].state, "failed") == 0;
	}
	if (work->advance.due_ms != 0)
		return;
	runner->stats.deployments_done += work->advance.state == DEPLOYMENT_DONE;
	runner->stats.deployments_failed += work->advance.state == DEPLOYMENT_FAILED;
	runner->stats.deployments_cancelled += work->advance.state == DEPLOYMENT_CANCELLED;
}

static unsigned channels_of(const struct advance *advance)
{
	unsigned channels = advance->event_count > 0 ? NOTIFY_EVENT : 0;

	if (advance->outcome.post != TASK_NONE || advance->outcome.drop_tasks)
		channels |= NOTIFY_AGENT_TASK;
	if (advance->outcome.intent != INTENT_KEEP || advance->outcome.event != NODE_EVENT_NONE)
		channels |= NOTIFY_BOOT_INTENT;
	return channels;
}

static void runner_act(struct runner *runner, struct runner_work *work)
{
	const struct facts *facts = &work->claimed.facts;
	const struct claim_key key = {facts->deployment.id, facts->deployment.generation};
	int64_t end_ms = fence_end_ms(runner->save_ms, runner->options.claim_ms);
	int rc = 0;

	log_events(work);
	count_work(runner, work);
	notify_mark(runner->options.notify, channels_of(&work->advance));
	if (work->advance.outcome.bmc_count > 0)
		rc = bmc_jobs_start(runner->jobs, facts, &work->advance, end_ms);
	else if (work->keep)
		bmc_jobs_extend(runner->jobs, &key, end_ms);
	else
		bmc_jobs_forget(runner->jobs, facts->deployment.id);
	/* Not asked is as if the process had died here: the step asks again when it is due. */
	if (rc)
		log_error(RUNNER_SUBJECT, "the BMC of node %s could not be asked: %s",
			  facts->node.name, error_text(rc));
	/* What is cancelled is switched off: there is nothing to hear. */
	if (runner->options.active && facts->node.id)
		runner->options.active(runner->options.context, facts->node.id,
				       work->advance.due_ms != 0 &&
					       work->advance.state != DEPLOYMENT_CANCELLING);
}

static void runner_lose(struct runner *runner, const struct runner_work *work)
{
	const struct deployment_facts *deployment = &work->claimed.facts.deployment;

	runner->stats.lost++;
	bmc_jobs_forget(runner->jobs, deployment->id);
	if (log_allowed(&runner->lost_limit, loop_now_ms(runner->loop)))
		log_warn(
			RUNNER_SUBJECT,
			"claim lost, its result was not written (deployment=%lld generation=%lld step=%s)",
			(long long)deployment->id, (long long)deployment->generation,
			deployment->step);
}

/* --- saving --- */

static void next_slice(struct runner *runner)
{
	runner->first += runner->size;
	runner->races = 0;
	if (runner->first < runner->count)
		save_slice(runner);
	else
		runner_finish(runner);
}

/* The one row that nothing can be written for: it ends with a problem instead of being tried for
 * ever. */
static void runner_poison(struct runner *runner, struct runner_work *work,
			  const struct problem *why)
{
	struct advance *advance = &work->advance;

	json_decref(work->certificate);
	work->certificate = NULL;
	work->poisoned = true;
	work->keep = false;
	advance_done(advance);
	advance_end(&work->claimed.facts, why, advance);
	save_slice(runner);
}

static void runner_on_head(void *context, int rc, const PGresult *result,
			   const struct problem *problem)
{
	struct runner *runner = context;

	(void)problem;
	if (rc) {
		runner->delayed = true;
		runner_finish(runner);
		return;
	}
	for (size_t i = 0; i < runner->size; i++)
		(void)text_copy(runner->works[runner->first + i].claimed.chain_head,
				DIGEST_TEXT_SIZE,
				PQntuples(result) > 0 ? db_text(result, 0, DEPLOY_CHAIN_HEAD_HASH,
								CERTIFICATE_FIRST_HASH)
						      : CERTIFICATE_FIRST_HASH);
	save_slice(runner);
}

static bool has_certificate(const struct runner *runner)
{
	for (size_t i = 0; i < runner->size; i++)
		if (runner->works[runner->first + i].certificate)
			return true;
	return false;
}

static void on_save_failed(struct runner *runner, int rc, const struct problem *problem)
{
	struct runner_work *work = &runner->works[runner->first];

	runner->stats.failed_saves++;
	if (rc == E_UNAVAILABLE) {
		runner->delayed = true;
		runner_finish(runner);
		return;
	}
	if (rc == E_CONFLICT && has_certificate(runner) && runner->races++ < RACES_MAX) {
		runner->stats.certificate_races++;
		rc = deploy_store_head(runner->options.db, runner_on_head, runner);
		if (rc == 0)
			return;
	}
	log_problem(LOG_LEVEL_ERROR, RUNNER_SUBJECT, problem);
	if (runner->size > 1) {
		log_warn(RUNNER_SUBJECT, "a batch of %zu could not be saved; one by one now",
			 runner->size);
		runner->size = 1;
		save_slice(runner);
		return;
	}
	if (!work->poisoned) {
		runner_poison(runner, work, problem);
		return;
	}
	runner->delayed = true;
	next_slice(runner);
}

static void runner_on_saved(void *context, int rc, const bool saved[],
			    const struct problem *problem)
{
	struct runner *runner = context;

	if (rc) {
		on_save_failed(runner, rc, problem);
		return;
	}
	for (size_t i = 0; i < runner->size; i++) {
		struct runner_work *work = &runner->works[runner->first + i];

		if (saved[i])
			runner_act(runner, work);
		else
			runner_lose(runner, work);
	}
	next_slice(runner);
}

static int runner_certify(struct runner *runner)
{
	char head[DIGEST_TEXT_SIZE];

	(void)text_copy(head, sizeof(head), runner->works[runner->first].claimed.chain_head);
	for (size_t i = 0; i < runner->size; i++) {
		struct runner_work *work = &runner->works[runner->first + i];

		json_decref(work->certificate);
		work->certificate = NULL;
		if (!work->advance.outcome.certify)
			continue;
		work->certificate = certificate_row(&work->claimed.facts, work->claimed.now_ms,
						    head, runner->options.key);
		if (!work->certificate)
			return -ENOMEM;
		(void)text_copy(head, sizeof(head),
				json_string_value(json_object_get(work->certificate, "hash")));
	}
	return 0;
}

static void save_slice(struct runner *runner)
{
	const struct save_options options = {.owner = runner->options.owner,
					     .claim_ms = runner->options.claim_ms,
					     .task_key = runner->options.task_key};
	struct save_row rows[CLAIM_LIMIT];
	int rc = runner_certify(runner);

	for (size_t i = 0; i < runner->size; i++) {
		struct runner_work *work = &runner->works[runner->first + i];

		rows[i] = (struct save_row){.claimed = &work->claimed,
					    .advance = &work->advance,
					    .keep_claim = work->keep,
					    .certificate = work->certificate};
	}
	runner->save_ms = clock_boot_ms();
	if (rc == 0)
		rc = deploy_store_save(runner->options.db, &options, rows, runner->size,
				       runner_on_saved, runner);
	if (rc == 0)
		return;
	log_error(RUNNER_SUBJECT, "a batch could not be saved: %s", error_text(rc));
	runner->delayed = true;
	runner_finish(runner);
}

/* --- claiming --- */

/* As haas-packages.service says it (bampi/agent/package_files.c). */
static void hear_packages(const struct runner_options *options, struct facts *facts)
{
	char line[PACKAGE_LINE_SIZE];
	const json_t *package;
	size_t i;

	if (!options->console_holds || !facts->packages || !facts->intent.nonce[0] ||
	    strcmp(facts->deployment.step, "verify") != 0)
		return;
	json_array_foreach(facts->packages, i, package)
	{
		const char *kind = text_of(package, "kind");

		if (i < 32 &&
		    text_format(line, sizeof(line), "haas-packages %s failed %s_%s.%s",
				facts->intent.nonce, text_of(package, "name"),
				text_of(package, "version"),
				strcmp(kind, "bundle") == 0 ? "tar" : kind) &&
		    options->console_holds(options->context, facts->node.id, line,
					   &facts->console_blind))
			facts->packages_failed |= UINT32_C(1) << i;
	}
	(void)text_format(line, sizeof(line), "haas-packages %s end", facts->intent.nonce);
	facts->packages_ended = options->console_holds(options->context, facts->node.id, line,
						       &facts->console_blind);
}

/* Behind switches of ours the OS tells of its start on the console alone. */
static void listen_to_console(const struct runner_options *options, int64_t now_ms,
			      struct facts *facts)
{
	const struct deployment_facts *deployment = &facts->deployment;
	bool listens = facts->network.managed && deployment->step_started_ms > 0 &&
		       strcmp(deployment->step, "verify") == 0;

	if (options->console_listen)
		facts->console_mute_ms =
			options->console_listen(options->context, facts->node.id,
						listens ? now_ms - deployment->step_started_ms : -1,
						&facts->console_reopened);
}

/* Read for each decision about such a node: an image that was built just now counts. */
static void runner_read_signed_images(struct runner *runner)
{
	struct problem problem = {0};

	runner->signed_images.count = 0;
	if (runner->options.signed_images &&
	    attest_trust_load(runner->options.signed_images, &runner->signed_images, &problem))
		log_problem(LOG_LEVEL_WARN, RUNNER_SUBJECT, &problem);
}

static void runner_decide(struct runner *runner, struct runner_work *work)
{
	struct facts *facts = &work->claimed.facts;
	const struct runner_options *options = &runner->options;
	bool busy;

	facts->trust = options->trust;
	facts->signed_images = &runner->signed_images;
	if (facts->node.secure_boot != SECURE_BOOT_OFF)
		runner_read_signed_images(runner);
	facts->settings = options->settings;
	token_new(facts->fresh_token);
	token_new(facts->fresh_nonce);
	if (options->console)
		options->console(options->context, facts->node.id, facts->console,
				 sizeof(facts->console));
	if (options->console_holds && facts->network.managed && facts->intent.nonce[0])
		facts->nonce_seen =
			options->console_holds(options->context, facts->node.id,
					       facts->intent.nonce, &facts->console_blind);
	listen_to_console(options, work->claimed.now_ms, facts);
	hear_packages(options, facts);
	bmc_jobs_look(runner->jobs, facts);
	advance_decide(facts, work->claimed.now_ms, &work->advance);
	busy = !work->advance.new_attempt && bmc_jobs_busy(runner->jobs, facts->deployment.id);
	work->keep = work->advance.due_ms != 0 && (busy || work->advance.outcome.bmc_count > 0);
	/* Due again when the claim would have run out: whoever is alive then sees to it. */
	if (work->keep && work->advance.due_ms > work->claimed.now_ms + options->claim_ms)
		work->advance.due_ms = work->claimed.now_ms + options->claim_ms;
}

static void runner_on_claimed(void *context, int rc, const PGresult *result,
			      const struct problem *problem)
{
	struct runner *runner = context;
	int rows = rc ? 0 : PQntuples(result);

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, RUNNER_SUBJECT, problem);
	runner->delayed = rc != 0;
	for (int row = 0; row < rows && row < CLAIM_LIMIT; row++) {
		struct runner_work *work = &runner->works[runner->count++];
		struct problem why = {0};

		*work = (struct runner_work){0};
		rc = claimed_read(result, row, runner->options.http_port, &work->claimed);
		if (rc == 0) {
			runner_decide(runner, work);
			continue;
		}
		(void)problem_set(&why, rc, "the deployment's rows cannot be read: %s",
				  error_text(rc));
		advance_end(&work->claimed.facts, &why, &work->advance);
	}
	runner->stats.claimed += runner->count;
}

static void on_next(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct runner *runner = context;

	(void)problem;
	runner->next_ms = rc ? -1 : deploy_store_next_ms(result);
	if (runner->count == 0) {
		runner_finish(runner);
		return;
	}
	runner->first = 0;
	runner->size = runner->count;
	runner->races = 0;
	save_slice(runner);
}

static void runner_cycle(void *context)
{
	struct runner *runner = context;
	int64_t woken[CLAIM_LIMIT];
	const struct claim_options options = {
		.owner = runner->options.owner,
		.claim_ms = runner->options.claim_ms,
		.woken = woken,
		.woken_count = bmc_jobs_ended(runner->jobs, woken, COUNT_OF(woken)),
		.http_port = runner->options.http_port,
	};
	int rc;

	runner->delayed = false;
	runner->stats.cycles++;
	rc = deploy_store_claim(runner->options.db, &options, runner_on_claimed, on_next, runner);
	if (rc == 0)
		return;
	log_error(RUNNER_SUBJECT, "nothing could be claimed: %s", error_text(rc));
	runner->delayed = true;
	runner_finish(runner);
}

/* --- claims that are held for the BMC --- */

/* Claims that are not held are not ours any more: somebody cancelled, or took over. */
static void runner_on_extended(void *context, int rc, const PGresult *result,
			       const struct problem *problem)
{
	struct runner *runner = context;
	int rows = rc ? 0 : PQntuples(result);

	(void)problem;
	runner->extending = false;
	for (int row = 0; row < rows; row++) {
		const struct claim_key key = {db_int(result, row, DEPLOY_EXTEND_ID, 0),
					      db_int(result, row, DEPLOY_EXTEND_GENERATION, 0)};

		if (db_bool(result, row, DEPLOY_EXTEND_HELD))
			bmc_jobs_extend(runner->jobs, &key,
					fence_end_ms(runner->extend_ms, runner->options.claim_ms));
		else if (bmc_jobs_forget_claim(runner->jobs, &key))
			runner->stats.lost++;
	}
}

static void runner_extend(void *context)
{
	struct runner *runner = context;
	size_t count = bmc_jobs_count(runner->jobs);
	CLEANUP(freep) struct claim_key *keys = count > 0 ? calloc(count, sizeof(*keys)) : NULL;
	struct extend_options options = {
		.owner = runner->options.owner, .claim_ms = runner->options.claim_ms, .keys = keys};

	loop_timer_arm(runner->extend_timer, runner->options.claim_ms / 3);
	if (!keys || !runner->cycle.connected || runner->extending)
		return;
	options.count = bmc_jobs_claims(runner->jobs, keys, count);
	runner->extend_ms = clock_boot_ms();
	if (deploy_store_extend(runner->options.db, &options, runner_on_extended, runner) == 0)
		runner->extending = true;
}

/* --- life --- */

void runner_db_state(struct runner *runner, bool connected)
{
	work_cycle_connected(&runner->cycle, connected);
}

const struct runner_stats *runner_stats(const struct runner *runner)
{
	return &runner->stats;
}

int runner_new(struct loop *loop, const struct runner_options *options, struct runner **ret)
{
	struct runner *runner = calloc(1, sizeof(*runner));
	int rc;

	if (!runner)
		return -ENOMEM;
	*runner = (struct runner){
		.loop = loop, .options = *options, .lost_limit = {.burst = 10, .per_minute = 60}};
	runner->works = calloc(CLAIM_LIMIT, sizeof(*runner->works));
	rc = runner->works ? bmc_jobs_new(options->queue, on_job, runner, &runner->jobs) : -ENOMEM;
	if (rc == 0)
		rc = work_cycle_open(&runner->cycle, loop, runner_cycle, runner);
	if (rc == 0)
		rc = loop_timer_new(loop, runner_extend, runner, &runner->extend_timer);
	if (rc) {
		runner_free(runner);
		return rc;
	}
	loop_timer_arm(runner->extend_timer, options->claim_ms / 3);
	work_cycle_connected(&runner->cycle, db_connected(options->db));
	*ret = runner;
	return 0;
}

void runner_free(struct runner *runner)
{
	if (!runner)
		return;
	release_works(runner);
	free(runner->works);
	bmc_jobs_free(runner->jobs);
	work_cycle_close(&runner->cycle);
	loop_timer_free(runner->extend_timer);
	free(runner);
}
