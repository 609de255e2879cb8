#include "bampi/bmc/bmc_blocking.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/io/worker.h"

struct job {
	struct bmc_blocking *owner;
	bool ran;
	struct bmc_request request;
	int64_t deadline_ms;
	int rc;
	struct bmc_result result;
	struct problem problem;
};

struct bmc_blocking {
	const struct bmc_blocking_face *face;
	void *state;
	struct worker *worker;
	struct job *job; /* in a thread, or in line for one */
	bool freed;      /* nobody listens; goes when its job is done */
	bool closed;     /* the state is gone */
	bmc_call_fn fn;
	void *context;
};

int bmc_blocking_new(const struct bmc_host *host, const struct bmc_blocking_face *face, void *state,
		     struct bmc_blocking **ret)
{
	struct bmc_blocking *blocking = calloc(1, sizeof(*blocking));

	if (!blocking)
		return -ENOMEM;
	*blocking = (struct bmc_blocking){.face = face, .state = state, .worker = host->worker};
	*ret = blocking;
	return 0;
}

/* --- the end --- */

static void close_run(void *context)
{
	struct bmc_blocking *blocking = context;

	blocking->face->close(blocking->state);
	blocking->closed = true;
}

static void close_done(void *context)
{
	struct bmc_blocking *blocking = context;

	if (!blocking->closed) /* the worker is going, and dropped it */
		close_run(blocking);
	free(blocking);
}

void bmc_blocking_free(struct bmc_blocking *blocking)
{
	if (!blocking)
		return;
	blocking->freed = true;
	if (blocking->job)
		return;
	if (worker_submit(blocking->worker, close_run, close_done, blocking) != 0)
		close_done(blocking);
}

/* --- a call --- */

static void bmc_blocking_job_free(struct job *job)
{
	bmc_result_done(&job->result);
	fence_unref(job->request.fence);
	sodium_memzero(&job->request, sizeof(job->request));
	free(job);
}

static void job_run(void *context)
{
	struct job *job = context;

	job->ran = true;
	job->rc = job->owner->face->run(job->owner->state, &job->request, job->deadline_ms,
					&job->result, &job->problem);
}

static void job_done(void *context)
{
	struct job *job = context;
	struct bmc_blocking *blocking = job->owner;

	blocking->job = NULL;
	if (!job->ran)
		job->rc = problem_set(&job->problem, E_UNAVAILABLE, "the BMC queue is closing");
	if (blocking->freed) {
		bmc_blocking_free(blocking);
	} else if (job->rc) {
		blocking->fn(blocking->context, job->rc, NULL, &job->problem);
	} else {
		struct bmc_result result = job->result;

		job->result = (struct bmc_result){0};
		blocking->fn(blocking->context, 0, &result, NULL);
	}
	bmc_blocking_job_free(job);
}

int bmc_blocking_start(struct bmc_blocking *blocking, const struct bmc_request *request,
		       int64_t deadline_ms, bmc_call_fn fn, void *context)
{
	struct job *job = calloc(1, sizeof(*job));
	int rc;

	assert(!blocking->job);
	if (!job)
		return -ENOMEM;
	*job = (struct job){.owner = blocking, .request = *request, .deadline_ms = deadline_ms};
	fence_ref(job->request.fence);
	rc = worker_submit(blocking->worker, job_run, job_done, job);
	if (rc) {
		bmc_blocking_job_free(job);
		return rc;
	}
	blocking->job = job;
	blocking->fn = fn;
	blocking->context = context;
	return 0;
}
