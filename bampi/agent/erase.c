#include "bampi/agent/erase.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "bampi/agent/disk.h"
#include "bampi/agent/erase_drive.h"

#define ERASE_SUBJECT "erase"
#define TICK_MS       INT64_C(250)
#define GRACE_MS      INT64_C(10000) /* for a thread to notice that it should give up */
#define THREAD_LIMIT  32

struct erase {
	struct task *task;
	struct loop *loop;
	struct worker *worker;
	struct loop_timer *timer;
	struct erase_job **jobs;
	size_t count;
	size_t running;
	int64_t stopped_ms; /* when the rest was told to give up, 0 = not */
	bool stuck;         /* a thread hangs in the kernel */
};

struct erase_slot {
	struct erase *erase;
	struct erase_job *job;
};

static void erase_work(void *context)
{
	struct erase_slot *slot = context;

	erase_job_run(slot->job);
}

static void erase_drive_done(void *context)
{
	struct erase_slot *slot = context;
	struct erase *erase = slot->erase;
	const struct erase_job *job = slot->job;

	for (size_t i = 0; i < job->count; i++)
		log_info(ERASE_SUBJECT, "%s %s: %s (method=%s seconds=%.1f)", job->disks[i].name,
			 erase_verdict_text(job->results[i].verdict), job->results[i].reason,
			 job->results[i].tried ? erase_method_text(job->results[i].method) : "none",
			 job->results[i].seconds);
	slot->job->finished = true;
	erase->running--;
	if (erase->running == 0)
		loop_stop(erase->loop);
}

static void erase_watch(struct erase_job *job, int64_t now_ms)
{
	int method = atomic_load(&job->method);
	uint64_t runs = atomic_load(&job->method_runs);
	uint64_t heartbeat = atomic_load(&job->heartbeat);

	if (runs != job->seen_runs) {
		job->seen_runs = runs;
		job->began_ms = now_ms;
		job->progressed_ms = now_ms;
	}
	if (heartbeat != job->seen_heartbeat) {
		job->seen_heartbeat = heartbeat;
		job->progressed_ms = now_ms;
	}
	if (job->abandoned || method < 0 ||
	    !erase_is_stuck((enum erase_method)method, job->began_ms, job->progressed_ms, now_ms))
		return;
	log_error(ERASE_SUBJECT, "%s: %s makes no progress, giving up on the drive",
		  job->disks[0].name, erase_method_text((enum erase_method)method));
	job->abandoned = true;
	atomic_store(&job->give_up, true);
	job->progressed_ms = now_ms; /* the grace begins */
}

/* A drive whose hidden area was opened has more to erase than was counted. */
static uint64_t erase_done_bytes(struct erase_job *job)
{
	uint64_t done_bytes = atomic_load(&job->done_bytes);

	return job->finished || done_bytes > job->total_bytes ? job->total_bytes : done_bytes;
}

static void erase_on_tick(void *context)
{
	struct erase *erase = context;
	int64_t now_ms = clock_monotonic_ms();
	uint64_t done_bytes = 0;
	uint64_t total_bytes = 0;
	size_t alive = 0;

	if (!task_wanted(erase->task) && !erase->stopped_ms) {
		erase->stopped_ms = now_ms;
		for (size_t i = 0; i < erase->count; i++)
			atomic_store(&erase->jobs[i]->give_up, true);
	}
	for (size_t i = 0; i < erase->count; i++) {
		struct erase_job *job = erase->jobs[i];

		done_bytes += erase_done_bytes(job);
		total_bytes += job->total_bytes;
		if (job->finished)
			continue;
		erase_watch(job, now_ms);
		if (!job->abandoned || now_ms - job->progressed_ms < GRACE_MS)
			alive++;
	}
	task_say(erase->task, (int64_t)done_bytes, (int64_t)total_bytes,
		 "erasing %zu of %zu drives", erase->running, erase->count);
	/* Whoever still runs now hangs in the kernel and may do so for hours. */
	if (alive == 0 || (erase->stopped_ms && now_ms - erase->stopped_ms >= GRACE_MS)) {
		erase->stuck = erase->running > 0;
		loop_stop(erase->loop);
		return;
	}
	loop_timer_arm(erase->timer, TICK_MS);
}

static struct erase_job *job_for(struct erase *erase, const struct disk *disk)
{
	char wanted[64];
	char controller[64];

	if (!*erase_controller_name(disk->name, wanted))
		return NULL;
	for (size_t i = 0; i < erase->count; i++)
		if (strcmp(erase_controller_name(erase->jobs[i]->disks[0].name, controller),
			   wanted) == 0 &&
		    erase->jobs[i]->count < ERASE_SIBLING_LIMIT)
			return erase->jobs[i];
	return NULL;
}

static int make_jobs(struct erase *erase, const struct disk *disks, size_t count)
{
	erase->jobs = calloc(count ? count : 1, sizeof(struct erase_job *));
	if (!erase->jobs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct erase_job *job = job_for(erase, &disks[i]);

		if (!job) {
			job = calloc(1, sizeof(*job));
			if (!job)
				return -ENOMEM;
			job->env = erase->task->env;
			atomic_store(&job->method, -1);
			erase->jobs[erase->count++] = job;
		}
		job->disks[job->count++] = disks[i];
		job->total_bytes += disks[i].size_bytes;
	}
	return 0;
}

static int run_jobs(struct erase *erase, struct erase_slot *slots)
{
	unsigned threads = erase->count < THREAD_LIMIT ? (unsigned)erase->count : THREAD_LIMIT;
	int rc = loop_new(&erase->loop);

	if (!rc)
		rc = worker_new(erase->loop, threads, (unsigned)erase->count, &erase->worker);
	if (!rc)
		rc = loop_timer_new(erase->loop, erase_on_tick, erase, &erase->timer);
	for (size_t i = 0; i < erase->count && !rc; i++) {
		slots[i] = (struct erase_slot){erase, erase->jobs[i]};
		rc = worker_submit(erase->worker, erase_work, erase_drive_done, &slots[i]);
		if (!rc)
			erase->running++;
	}
	if (rc) {
		for (size_t i = 0; i < erase->count; i++)
			atomic_store(&erase->jobs[i]->give_up, true);
		return rc;
	}
	loop_timer_arm(erase->timer, TICK_MS);
	loop_run(erase->loop);
	return task_wanted(erase->task) ? 0 : -ECANCELED;
}

static void erase_write_drive(const struct disk *disk, const struct erase_result *result,
			      struct text *data)
{
	uint64_t size_bytes = result->size_bytes ? result->size_bytes : disk->size_bytes;

	json_begin_object(data, NULL);
	json_put_string(data, "name", disk->name);
	json_put_string(data, "serial", disk->serial);
	json_put_string(data, "model", disk->model);
	json_put_int(data, "size_bytes", (int64_t)size_bytes);
	json_put_string(data, "method", result->tried ? erase_method_text(result->method) : "none");
	json_put_string(data, "verdict", erase_verdict_text(result->verdict));
	json_put_string(data, "reason", result->reason);
	json_put_double(data, "seconds", result->seconds);
	json_end_object(data);
}

static void erase_write_result(const struct erase *erase, struct text *data)
{
	json_begin_object(data, NULL);
	json_begin_array(data, "drives");
	for (size_t i = 0; i < erase->count; i++) {
		const struct erase_job *job = erase->jobs[i];
		int method = atomic_load(&job->method);
		/* The results of a job that still runs belong to its thread. */
		struct erase_result stuck = {
			.verdict = ERASE_VERDICT_FAILED,
			.tried = method >= 0,
			.method = method >= 0 ? (enum erase_method)method : ERASE_OVERWRITE,
			.reason = "the drive made no progress and does not answer; replace it",
		};

		for (size_t k = 0; k < job->count; k++)
			erase_write_drive(&job->disks[k], job->finished ? &job->results[k] : &stuck,
					  data);
	}
	json_end_array(data);
	json_end_object(data);
}

/* With a thread stuck in the kernel nothing that it may still touch can be freed: it is left
 * behind. The node's memory is its own until the power goes, and nothing else may use that drive.
 */
static void erase_done(struct erase *erase)
{
	if (erase->stuck)
		return;
	if (erase->worker)
		worker_free(erase->worker);
	if (erase->timer)
		loop_timer_free(erase->timer);
	if (erase->loop)
		loop_free(erase->loop);
	for (size_t i = 0; i < erase->count; i++)
		free(erase->jobs[i]);
	free(erase->jobs);
}

int erase_run(struct task *task, struct text *data, struct problem *problem)
{
	CLEANUP(freep) struct disk *disks = NULL;
	struct erase *erase = calloc(1, sizeof(*erase));
	struct erase_slot *slots = calloc(DISK_LIMIT, sizeof(*slots));
	size_t count = 0;
	int rc = erase && slots ? disk_list(task->env, &disks, &count) : -ENOMEM;
	bool stuck = false;

	(void)problem;
	if (!rc) {
		erase->task = task;
		rc = make_jobs(erase, disks, count);
	}
	if (!rc && erase->count > 0)
		rc = run_jobs(erase, slots);
	if (!rc)
		erase_write_result(erase, data);
	if (erase) {
		stuck = erase->stuck;
		erase_done(erase);
	}
	if (!stuck) {
		free(erase);
		free(slots);
	}
	return rc;
}
