#include "trainer_image/train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/pages.h"
#include "common/base/text.h"

#include "trainer_image/train/checkpoint_file.h"
#include "trainer_image/train/checkpoint_folder.h"

enum { CHECKPOINT_KEEP = 2, CHECKPOINT_PATH_SIZE = 4096 };

struct checkpoints {
	char *path; /* of the folder */
	struct checkpoint_folder folder;
	uint32_t keep;
	struct checkpoint_header header; /* of the thread while it writes */
	struct checkpoint_region *regions;
	uint8_t *snapshot, *scratch; /* all regions; the header as bytes */
	uint64_t bytes;
	size_t scratch_size;
	void (*fault)(void *context, const struct problem *problem);
	void *context;
	bool loaded;

	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool begun; /* the thread is there */
	bool busy;  /* the snapshot belongs to the thread */
	bool ends;
	struct problem met; /* by the last save; told once */
	struct checkpoint_counts counts;
};

/* --- the thread --- */

static int checkpoint_write(struct checkpoints *checkpoints, struct problem *problem)
{
	char name[CHECKPOINT_FOLDER_NAME_SIZE];
	const struct checkpoint_file_write is = {
		.folder = checkpoints->path,
		.folder_fd = checkpoints->folder.fd,
		.name = name,
		.header = &checkpoints->header,
		.data = checkpoints->snapshot,
		.scratch = checkpoints->scratch,
		.scratch_size = checkpoints->scratch_size,
	};

	checkpoint_folder_name(checkpoints->header.step, name);
	int rc = checkpoint_file_write(&is, problem);
	if (rc < 0)
		return rc;
	rc = checkpoint_folder_prune(&checkpoints->folder, checkpoints->header.step,
				     checkpoints->keep);
	if (rc < 0)
		return problem_set(problem, rc, "old checkpoints of %s are not removed: %s",
				   checkpoints->path, error_text(rc));
	return 0;
}

static void *checkpoint_thread(void *context)
{
	struct checkpoints *checkpoints = context;

	pthread_mutex_lock(&checkpoints->lock);
	while (checkpoints->busy || !checkpoints->ends) {
		if (!checkpoints->busy) {
			pthread_cond_wait(&checkpoints->moved, &checkpoints->lock);
			continue;
		}
		struct problem problem = {0};
		int64_t before = clock_monotonic_us();

		pthread_mutex_unlock(&checkpoints->lock);
		int rc = checkpoint_write(checkpoints, &problem);
		pthread_mutex_lock(&checkpoints->lock);
		checkpoints->counts.written_us += clock_monotonic_us() - before;
		checkpoints->counts.saves++;
		checkpoints->counts.failures += rc < 0 ? 1 : 0;
		if (rc == 0)
			checkpoints->counts.durable_step = checkpoints->header.step;
		checkpoints->met = problem;
		checkpoints->busy = false;
		pthread_cond_broadcast(&checkpoints->moved);
	}
	pthread_mutex_unlock(&checkpoints->lock);
	return NULL;
}

/* Signals are for the thread that trains. */
static int checkpoint_thread_new(struct checkpoints *checkpoints)
{
	sigset_t all;
	sigset_t before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = -pthread_create(&checkpoints->thread, NULL, checkpoint_thread, checkpoints);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	checkpoints->begun = rc == 0;
	return rc;
}

/* --- begin and end --- */

static int checkpoint_copy(struct checkpoints *checkpoints,
			   const struct checkpoint_options *options)
{
	size_t count = options->region_count;

	checkpoints->path = strdup(options->folder);
	checkpoints->regions = calloc(count + 1, sizeof(*checkpoints->regions));
	checkpoints->header.rows = calloc(count + 1, sizeof(*checkpoints->header.rows));
	if (!checkpoints->path || !checkpoints->regions || !checkpoints->header.rows)
		return -ENOMEM;
	checkpoints->header.terms = *options->terms;
	checkpoints->header.count = count;
	for (size_t i = 0; i < count; i++) {
		const struct checkpoint_region *region = &options->regions[i];
		struct checkpoint_row *row = &checkpoints->header.rows[i];

		checkpoints->regions[i] = *region;
		*row = (struct checkpoint_row){.kind = region->kind, .bytes = region->bytes};
		if (!text_copy(row->name, sizeof(row->name), region->name))
			return E_INVALID;
		checkpoints->regions[i].name = row->name;
	}
	int rc = checkpoint_wire_length(&checkpoints->header, &checkpoints->scratch_size);
	if (rc < 0)
		return rc;
	checkpoints->bytes = checkpoint_bytes(&checkpoints->header);
	checkpoints->counts.bytes = checkpoints->scratch_size + checkpoints->bytes;
	checkpoints->scratch = malloc(checkpoints->scratch_size);
	checkpoints->snapshot = pages_new(checkpoints->bytes + 1);
	return checkpoints->scratch && checkpoints->snapshot ? 0 : -ENOMEM;
}

int checkpoints_open(const struct checkpoint_options *options, struct checkpoints **ret,
		     struct problem *problem)
{
	struct checkpoints *checkpoints = calloc(1, sizeof(*checkpoints));

	if (!checkpoints)
		return problem_set(problem, -ENOMEM, "no memory for checkpoints");
	*checkpoints = (struct checkpoints){.folder.fd = -1,
					    .keep = options->keep ? options->keep : CHECKPOINT_KEEP,
					    .fault = options->fault,
					    .context = options->context};
	(void)pthread_mutex_init(&checkpoints->lock, NULL);
	(void)pthread_cond_init(&checkpoints->moved, NULL);
	int rc = checkpoint_copy(checkpoints, options);
	if (rc < 0)
		(void)problem_set(problem, rc,
				  "no checkpoint of %zu regions, %" PRIu64 " bytes: %s",
				  options->region_count, checkpoints->bytes, error_text(rc));
	if (rc == 0)
		rc = checkpoint_folder_open(checkpoints->path, &checkpoints->folder, problem);
	if (rc == 0 && (rc = checkpoint_thread_new(checkpoints)) < 0)
		(void)problem_set(problem, rc, "no thread for checkpoints: %s", error_text(rc));
	if (rc < 0) {
		checkpoints_close(checkpoints);
		return rc;
	}
	*ret = checkpoints;
	return 0;
}

void checkpoints_close(struct checkpoints *checkpoints)
{
	if (!checkpoints)
		return;
	if (checkpoints->begun) {
		pthread_mutex_lock(&checkpoints->lock);
		checkpoints->ends = true;
		pthread_cond_broadcast(&checkpoints->moved);
		pthread_mutex_unlock(&checkpoints->lock);
		(void)pthread_join(checkpoints->thread, NULL);
	}
	(void)pthread_cond_destroy(&checkpoints->moved);
	(void)pthread_mutex_destroy(&checkpoints->lock);
	checkpoint_folder_close(&checkpoints->folder);
	pages_free(checkpoints->snapshot, checkpoints->bytes + 1);
	free(checkpoints->scratch);
	free(checkpoints->header.rows);
	free(checkpoints->regions);
	free(checkpoints->path);
	free(checkpoints);
}

/* --- load --- */

static int checkpoint_other(const struct checkpoint_file *file, struct problem *problem)
{
	problem_set(problem, E_CONFLICT, "checkpoint %s is of another job", file->path);
	problem_hint(problem, "take the job file it was made with, or name another folder");
	return E_CONFLICT;
}

/* Of this job, with the same regions? */
static int checkpoint_compare(const struct checkpoints *checkpoints,
			      const struct checkpoint_file *file, struct problem *problem)
{
	const struct checkpoint_header *mine = &checkpoints->header;
	const struct checkpoint_header *theirs = &file->header;
	struct term_difference is;

	if (terms_differ(&mine->terms, &theirs->terms, &is)) {
		(void)checkpoint_other(file, problem);
		problem_detail(problem, "%s is %s there and %s here", is.name,
			       is.theirs ? is.theirs : "unknown", is.mine ? is.mine : "unknown");
		return E_CONFLICT;
	}
	for (size_t i = 0; i < mine->count && i < theirs->count; i++) {
		const struct checkpoint_row *here = &mine->rows[i];
		const struct checkpoint_row *there = &theirs->rows[i];

		if (here->kind == there->kind && here->bytes == there->bytes &&
		    strcmp(here->name, there->name) == 0)
			continue;
		(void)checkpoint_other(file, problem);
		problem_detail(problem,
			       "region %zu is %s %s of %" PRIu64
			       " bytes there and %s %s of %" PRIu64 " bytes here",
			       i, checkpoint_kind_text(there->kind), there->name, there->bytes,
			       checkpoint_kind_text(here->kind), here->name, here->bytes);
		return E_CONFLICT;
	}
	if (mine->count == theirs->count)
		return 0;
	(void)checkpoint_other(file, problem);
	problem_detail(problem, "it has %zu regions there and %zu here", theirs->count,
		       mine->count);
	return E_CONFLICT;
}

/* What the last save met stays to be told. */
static void checkpoint_idle(struct checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->lock);
	while (checkpoints->busy)
		pthread_cond_wait(&checkpoints->moved, &checkpoints->lock);
	pthread_mutex_unlock(&checkpoints->lock);
}

/* To the snapshot, which belongs to nobody else now. */
static int checkpoint_try(struct checkpoints *checkpoints, uint64_t step, struct problem *problem)
{
	char path[CHECKPOINT_PATH_SIZE];
	char name[CHECKPOINT_FOLDER_NAME_SIZE];
	struct checkpoint_file file;

	checkpoint_folder_name(step, name);
	if (!text_format(path, sizeof(path), "%s/%s", checkpoints->path, name))
		return problem_set(problem, -ENAMETOOLONG, "the name of folder %s is too long",
				   checkpoints->path);
	int rc = checkpoint_file_open(path, &file, problem);
	if (rc < 0)
		return rc;
	rc = checkpoint_compare(checkpoints, &file, problem);
	if (rc == 0)
		rc = checkpoint_file_read(&file, checkpoints->snapshot, problem);
	if (rc == 0 && file.header.step != step)
		rc = problem_set(problem, E_MALFORMED, "checkpoint %s is of step %" PRIu64, path,
				 file.header.step);
	checkpoint_file_close(&file);
	return rc;
}

/* Errors of a file, and not of the machine or the job: the one before may be whole. */
static bool checkpoint_damaged(int rc)
{
	return rc == E_MALFORMED || rc == E_DIGEST || rc == E_UNSUPPORTED || rc == -EIO ||
	       rc == -ENOENT;
}

int checkpoints_newest(struct checkpoints *checkpoints, uint64_t most, uint64_t *ret_step,
		       struct problem *problem)
{
	CLEANUP(freep) uint64_t *steps = NULL;
	uint64_t damaged = 0;
	size_t count = 0;

	checkpoint_idle(checkpoints);
	int rc = checkpoint_folder_steps(&checkpoints->folder, &steps, &count);
	if (rc < 0)
		return problem_set(problem, rc, "cannot list %s: %s", checkpoints->path,
				   error_text(rc));
	for (size_t i = 0; i < count; i++) {
		struct problem found = {0};

		if (steps[i] > most)
			continue;
		rc = checkpoint_try(checkpoints, steps[i], &found);
		if (rc == 0) {
			*ret_step = steps[i];
			return 0;
		}
		if (!checkpoint_damaged(rc)) {
			*problem = found;
			return rc;
		}
		damaged++;
		if (checkpoints->fault)
			checkpoints->fault(checkpoints->context, &found);
	}
	if (damaged == 0)
		return problem_set(problem, E_NOT_FOUND, "%s has no checkpoint", checkpoints->path);
	problem_set(problem, E_DIGEST, "%s has no checkpoint that is whole", checkpoints->path);
	problem_detail(problem, "%" PRIu64 " are damaged", damaged);
	problem_hint(problem, "remove the folder to train from the start");
	return E_DIGEST;
}

int checkpoints_load(struct checkpoints *checkpoints, uint64_t most, uint64_t *ret_step,
		     struct problem *problem)
{
	int rc = checkpoints_newest(checkpoints, most, ret_step, problem);
	uint64_t first = 0;

	if (rc == 0 || rc == E_NOT_FOUND)
		checkpoints->loaded = true;
	for (size_t i = 0; rc == 0 && i < checkpoints->header.count; i++) {
		const struct checkpoint_region *region = &checkpoints->regions[i];

		if (region->bytes > 0)
			memcpy(region->data, checkpoints->snapshot + first, region->bytes);
		first += region->bytes;
	}
	return rc;
}

/* --- save --- */

/* Until the thread has written; with the lock. */
static int checkpoint_met(struct checkpoints *checkpoints, struct problem *problem)
{
	while (checkpoints->busy)
		pthread_cond_wait(&checkpoints->moved, &checkpoints->lock);
	int rc = checkpoints->met.code;
	if (rc < 0)
		*problem = checkpoints->met;
	checkpoints->met = (struct problem){0};
	return rc;
}

int checkpoints_save(struct checkpoints *checkpoints, uint64_t step, struct problem *problem)
{
	uint64_t first = 0;
	int rc;

	if (!checkpoints->loaded)
		return problem_set(problem, -EINVAL, "nothing was loaded from %s yet",
				   checkpoints->path);
	int64_t begin = clock_monotonic_us();
	pthread_mutex_lock(&checkpoints->lock);
	rc = checkpoint_met(checkpoints, problem);
	int64_t free_at = clock_monotonic_us();
	for (size_t i = 0; i < checkpoints->header.count; i++) {
		const struct checkpoint_region *region = &checkpoints->regions[i];

		if (region->bytes > 0)
			memcpy(checkpoints->snapshot + first, region->data, region->bytes);
		first += region->bytes;
	}
	checkpoints->header.step = step;
	checkpoints->busy = true;
	checkpoints->counts.waited_us += free_at - begin;
	checkpoints->counts.snapshot_us += clock_monotonic_us() - free_at;
	pthread_cond_broadcast(&checkpoints->moved);
	pthread_mutex_unlock(&checkpoints->lock);
	return rc;
}

int checkpoints_wait(struct checkpoints *checkpoints, struct problem *problem)
{
	pthread_mutex_lock(&checkpoints->lock);
	int rc = checkpoint_met(checkpoints, problem);
	pthread_mutex_unlock(&checkpoints->lock);
	return rc;
}

struct checkpoint_counts checkpoints_counts(struct checkpoints *checkpoints)
{
	pthread_mutex_lock(&checkpoints->lock);
	struct checkpoint_counts counts = checkpoints->counts;
	pthread_mutex_unlock(&checkpoints->lock);
	return counts;
}
