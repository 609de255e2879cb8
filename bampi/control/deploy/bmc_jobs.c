#include "bampi/control/deploy/bmc_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/hash_table.h"
#include "common/base/text.h"
#include "common/io/log.h"

struct bmc_job {
	int64_t deployment_id; /* key */
	int64_t generation;
	int64_t bmc_id;
	int step_index, attempt;
	struct bmc_request requests[BMC_WORK_MAX];
	size_t count, at;
	uint32_t deadline_ms;
	struct fence *fence;
	uint64_t ticket;
	struct bmc_facts facts;
	struct bmc_jobs *jobs;
	UT_hash_handle hh;
};

struct bmc_jobs {
	struct bmc_queue *queue;
	bmc_jobs_wake_fn fn;
	void *context;
	struct bmc_job *table;
};

static struct bmc_job *bmc_jobs_find(const struct bmc_jobs *jobs, int64_t deployment_id)
{
	struct bmc_job *job;

	HASH_FIND(hh, jobs->table, &deployment_id, sizeof(deployment_id), job);
	return job;
}

static void bmc_jobs_drop(struct bmc_jobs *jobs, struct bmc_job *job)
{
	if (job->facts.state == BMC_WORK_BUSY)
		bmc_queue_cancel(jobs->queue, job->ticket);
	/* A call in flight goes on unheard: nothing of it is sent again. */
	fence_drop(job->fence);
	fence_unref(job->fence);
	HASH_DEL(jobs->table, job);
	free(job);
}

int bmc_jobs_new(struct bmc_queue *queue, bmc_jobs_wake_fn fn, void *context, struct bmc_jobs **ret)
{
	struct bmc_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	*jobs = (struct bmc_jobs){.queue = queue, .fn = fn, .context = context};
	*ret = jobs;
	return 0;
}

void bmc_jobs_free(struct bmc_jobs *jobs)
{
	struct bmc_job *job;
	struct bmc_job *next;

	if (!jobs)
		return;
	HASH_ITER(hh, jobs->table, job, next)
	bmc_jobs_drop(jobs, job);
	free(jobs);
}

static void bmc_jobs_note(struct bmc_job *job, const struct bmc_result *result)
{
	if (bmc_op_is_power(result->op))
		job->facts.power_on = result->power.on;
	else if (result->op == BMC_BOOT_SET)
		job->facts.unverified = result->boot.device == BMC_UNVERIFIED ||
					result->boot.valid_bit == BMC_UNVERIFIED;
}

static int bmc_jobs_ask(struct bmc_job *job);

static void bmc_job_ended(struct bmc_job *job, enum bmc_work_state state)
{
	job->facts.state = state;
	job->jobs->fn(job->jobs->context);
}

static void bmc_jobs_on_done(void *context, int rc, const struct bmc_result *result,
			     const struct problem *problem)
{
	struct bmc_job *job = context;

	if (rc == E_LAPSED) {
		log_problem(LOG_LEVEL_WARN, "runner", problem);
		job->facts.state = BMC_WORK_NONE;
		bmc_jobs_drop(job->jobs, job);
		return; /* due when its claim runs out */
	}
	job->facts.last = job->requests[job->at].op;
	if (rc == 0) {
		bmc_jobs_note(job, result);
		job->at++;
		if (job->at == job->count) {
			bmc_job_ended(job, BMC_WORK_DONE);
			return;
		}
		rc = bmc_jobs_ask(job);
		if (rc == 0)
			return;
		(void)problem_set(&job->facts.problem, rc, "the BMC could not be asked: %s",
				  error_text(rc));
	} else {
		job->facts.problem = *problem;
	}
	bmc_job_ended(job, BMC_WORK_FAILED);
}

static int bmc_jobs_ask(struct bmc_job *job)
{
	const struct bmc_ask what = {
		.bmc_id = job->bmc_id,
		.request = &job->requests[job->at],
		.priority = CALL_CHANGE,
		.deadline_ms = job->deadline_ms,
	};

	return bmc_queue_submit(job->jobs->queue, &what, bmc_jobs_on_done, job, &job->ticket);
}

int bmc_jobs_start(struct bmc_jobs *jobs, const struct facts *facts, const struct advance *advance,
		   int64_t end_ms)
{
	struct bmc_job *job;
	int rc;

	bmc_jobs_forget(jobs, facts->deployment.id);
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct bmc_job){
		.deployment_id = facts->deployment.id,
		.generation = facts->deployment.generation,
		.bmc_id = facts->node.id,
		.step_index = advance->step_index,
		.attempt = advance->attempt,
		.count = advance->outcome.bmc_count,
		.deadline_ms = advance->outcome.bmc_deadline_ms,
		.facts = {.state = BMC_WORK_BUSY},
		.jobs = jobs,
	};
	memcpy(job->requests, advance->outcome.bmc, sizeof(job->requests));
	rc = fence_new(end_ms, &job->fence);
	for (size_t i = 0; i < job->count; i++)
		job->requests[i].fence = job->fence;
	if (rc == 0)
		rc = bmc_jobs_ask(job);
	if (rc) {
		fence_unref(job->fence);
		free(job);
		return rc;
	}
	HASH_ADD(hh, jobs->table, deployment_id, sizeof(job->deployment_id), job);
	return 0;
}

void bmc_jobs_extend(struct bmc_jobs *jobs, const struct claim_key *key, int64_t end_ms)
{
	struct bmc_job *job = bmc_jobs_find(jobs, key->id);

	if (job && job->generation == key->generation)
		fence_extend(job->fence, end_ms);
}

void bmc_jobs_forget(struct bmc_jobs *jobs, int64_t deployment_id)
{
	struct bmc_job *job = bmc_jobs_find(jobs, deployment_id);

	if (job)
		bmc_jobs_drop(jobs, job);
}

bool bmc_jobs_forget_claim(struct bmc_jobs *jobs, const struct claim_key *key)
{
	struct bmc_job *job = bmc_jobs_find(jobs, key->id);

	if (!job || job->generation != key->generation)
		return false;
	bmc_jobs_drop(jobs, job);
	return true;
}

bool bmc_jobs_busy(const struct bmc_jobs *jobs, int64_t deployment_id)
{
	const struct bmc_job *job = bmc_jobs_find(jobs, deployment_id);

	return job && job->facts.state == BMC_WORK_BUSY;
}

void bmc_jobs_look(struct bmc_jobs *jobs, struct facts *facts)
{
	struct bmc_job *job = bmc_jobs_find(jobs, facts->deployment.id);
	struct bmc_observation observation;

	facts->bmc = (struct bmc_facts){0};
	if (job && (job->step_index != facts->deployment.step_index ||
		    job->attempt != facts->deployment.attempt)) {
		bmc_jobs_drop(jobs, job);
		job = NULL;
	}
	if (job) {
		job->generation = facts->deployment.generation;
		facts->bmc = job->facts;
	}
	if (!bmc_observation(jobs->queue, facts->node.id, &observation))
		return;
	if (problem_is_set(&observation.problem))
		(void)text_copy(facts->bmc.last_problem, sizeof(facts->bmc.last_problem),
				observation.problem.message);
	if (observation.breaker != BMC_BREAKER_CLOSED)
		facts->bmc.retry_ms = observation.retry_at_us / 1000;
}

size_t bmc_jobs_ended(const struct bmc_jobs *jobs, int64_t ret[], size_t room)
{
	size_t count = 0;

	for (const struct bmc_job *job = jobs->table; job && count < room; job = job->hh.next)
		if (job->facts.state != BMC_WORK_BUSY)
			ret[count++] = job->deployment_id;
	return count;
}

size_t bmc_jobs_count(const struct bmc_jobs *jobs)
{
	return HASH_COUNT(jobs->table);
}

size_t bmc_jobs_claims(const struct bmc_jobs *jobs, struct claim_key ret[], size_t room)
{
	size_t count = 0;

	for (const struct bmc_job *job = jobs->table; job && count < room; job = job->hh.next)
		ret[count++] = (struct claim_key){job->deployment_id, job->generation};
	return count;
}
