#include "trainer_image/train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/pages.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "trainer_image/train/checkpoint_file.h"

enum { CHECKPOINT_KEEP = 2, CHECKPOINT_FILE_NAME_SIZE = 48, CHECKPOINT_PATH_SIZE = 4096 };

struct checkpoints {
	char *folder;
	int folder_fd;
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

/* --- files of the folder --- */

static void checkpoint_name(uint64_t step, char ret[CHECKPOINT_FILE_NAME_SIZE])
{
	(void)text_format(ret, CHECKPOINT_FILE_NAME_SIZE, "step-%012" PRIu64 ".checkpoint", step);
}

static bool checkpoint_name_step(const char *name, uint64_t *ret)
{
	char again[CHECKPOINT_FILE_NAME_SIZE];
	char *end = NULL;

	if (strncmp(name, "step-", 5) != 0)
		return false;
	errno = 0;
	*ret = strtoull(name + 5, &end, 10);
	checkpoint_name(*ret, again);
	return errno == 0 && strcmp(name, again) == 0;
}

static int checkpoint_later_first(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a < b) - (a > b);
}

/* The steps of all files, the latest first; the caller frees. */
static int checkpoint_steps(const struct checkpoints *checkpoints, uint64_t **ret,
			    size_t *ret_count)
{
	CLEANUP(freep) uint64_t *steps = NULL;
	size_t count = 0;
	size_t room = 0;
	int fd = openat(checkpoints->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	int rc = 0;

	if (!list) {
		rc = -errno;
		closep(&fd);
		return rc;
	}
	errno = 0;
	for (const struct dirent *entry; rc == 0 && (entry = readdir(list)) != NULL; errno = 0) {
		uint64_t step;

		if (!checkpoint_name_step(entry->d_name, &step))
			continue;
		if (count == room) {
			uint64_t *more = realloc(steps, (room * 2 + 16) * sizeof(*more));

			if (!more) {
				rc = -ENOMEM;
				break;
			}
			steps = more;
			room = room * 2 + 16;
		}
		steps[count++] = step;
	}
	if (rc == 0 && errno != 0)
		rc = -errno;
	(void)closedir(list);
	if (rc < 0)
		return rc;
	if (count > 0)
		qsort(steps, count, sizeof(*steps), checkpoint_later_first);
	*ret = TAKE(steps);
	*ret_count = count;
	return 0;
}

/* Behind `step`, which is durable: later files are of a run that this one went back behind. */
static int checkpoint_prune(const struct checkpoints *checkpoints, uint64_t step)
{
	CLEANUP(freep) uint64_t *steps = NULL;
	char name[CHECKPOINT_FILE_NAME_SIZE];
	uint32_t kept = 0;
	size_t count = 0;
	int rc = checkpoint_steps(checkpoints, &steps, &count);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (steps[i] <= step && kept++ < checkpoints->keep)
			continue;
		checkpoint_name(steps[i], name);
		if (unlinkat(checkpoints->folder_fd, name, 0) < 0 && errno != ENOENT)
			rc = -errno;
	}
	return rc;
}

/* --- the thread --- */

static int checkpoint_write(struct checkpoints *checkpoints, struct problem *problem)
{
	char name[CHECKPOINT_FILE_NAME_SIZE];
	const struct checkpoint_file_write is = {
		.folder = checkpoints->folder,
		.folder_fd = checkpoints->folder_fd,
		.name = name,
		.header = &checkpoints->header,
		.data = checkpoints->snapshot,
		.scratch = checkpoints->scratch,
		.scratch_size = checkpoints->scratch_size,
	};

	checkpoint_name(checkpoints->header.step, name);
	int rc = checkpoint_file_write(&is, problem);
	if (rc < 0)
		return rc;
	rc = checkpoint_prune(checkpoints, checkpoints->header.step);
	if (rc < 0)
		return problem_set(problem, rc, "old checkpoints of %s are not removed: %s",
				   checkpoints->folder, error_text(rc));
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

	checkpoints->folder = strdup(options->folder);
	checkpoints->regions = calloc(count + 1, sizeof(*checkpoints->regions));
	checkpoints->header.rows = calloc(count + 1, sizeof(*checkpoints->header.rows));
	if (!checkpoints->folder || !checkpoints->regions || !checkpoints->header.rows)
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

static int checkpoint_folder(struct checkpoints *checkpoints, struct problem *problem)
{
	int rc = file_make_folder(checkpoints->folder, 0777);

	if (rc == 0)
		checkpoints->folder_fd =
			open(checkpoints->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (rc == 0 && checkpoints->folder_fd < 0)
		rc = -errno;
	if (rc < 0)
		return problem_set(problem, rc, "cannot keep checkpoints in %s: %s",
				   checkpoints->folder, error_text(rc));
	if (flock(checkpoints->folder_fd, LOCK_EX | LOCK_NB) < 0) {
		rc = errno == EWOULDBLOCK ? E_CONFLICT : -errno;
		problem_set(problem, rc, "cannot keep checkpoints in %s: %s", checkpoints->folder,
			    rc == E_CONFLICT ? "another process saves to it" : error_text(rc));
		problem_hint(problem, "wait for it, or name another folder");
		return rc;
	}
	return 0;
}

int checkpoints_open(const struct checkpoint_options *options, struct checkpoints **ret,
		     struct problem *problem)
{
	struct checkpoints *checkpoints = calloc(1, sizeof(*checkpoints));

	if (!checkpoints)
		return problem_set(problem, -ENOMEM, "no memory for checkpoints");
	*checkpoints = (struct checkpoints){.folder_fd = -1,
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
		rc = checkpoint_folder(checkpoints, problem);
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
	closep(&checkpoints->folder_fd);
	pages_free(checkpoints->snapshot, checkpoints->bytes + 1);
	free(checkpoints->scratch);
	free(checkpoints->header.rows);
	free(checkpoints->regions);
	free(checkpoints->folder);
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
	char name[CHECKPOINT_FILE_NAME_SIZE];
	struct checkpoint_file file;

	checkpoint_name(step, name);
	if (!text_format(path, sizeof(path), "%s/%s", checkpoints->folder, name))
		return problem_set(problem, -ENAMETOOLONG, "the name of folder %s is too long",
				   checkpoints->folder);
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
	int rc = checkpoint_steps(checkpoints, &steps, &count);
	if (rc < 0)
		return problem_set(problem, rc, "cannot list %s: %s", checkpoints->folder,
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
		return problem_set(problem, E_NOT_FOUND, "%s has no checkpoint",
				   checkpoints->folder);
	problem_set(problem, E_DIGEST, "%s has no checkpoint that is whole", checkpoints->folder);
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
				   checkpoints->folder);
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
