/* Somebody may begin to upload the same content while it is being removed: an upload finds the file
 * and is done (image_upload.c). So a file is first hidden under another name, then the rows are
 * asked again, and only what still has none is removed. What a portald that ended in between left
 * hidden gets its name back before anything is asked: the rows decide anew. */
#include "portal/server/image_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "portal/server/exchange_store_sql.h"
#include "portal/server/image_sweep_sql.h"
#include "portal/server/portal.h"

#define SUBJECT               "images"
#define DELAY_MS              2000 /* the deletion is committed by then */
#define DIGESTS_MAX           1000
#define IMAGE_SWEEP_PATH_SIZE 4096
#define UPLOAD                ".upload-"
#define GONE                  ".gone-"
#define SHORT_DIGEST          16 /* of an upload's file: image_upload.c */

struct image_sweep {
	struct portal *portal;
	struct loop_timer *timer;
	char (*digests)[DIGEST_TEXT_SIZE]; /* DIGESTS_MAX */
	size_t count;
	struct timespec begun; /* by the clock of files */
	bool running, again;
	bool hidden; /* the second half: the rows were asked again */
	size_t removed, uploads;
};

static void image_sweep_end(struct image_sweep *sweep)
{
	if (sweep->removed + sweep->uploads > 0)
		log_info(SUBJECT,
			 "bytes of deleted images and packages are removed (files=%zu uploads=%zu)",
			 sweep->removed, sweep->uploads);
	sweep->running = false;
	if (sweep->again)
		loop_timer_arm(sweep->timer, DELAY_MS);
}

/* --- in the worker --- */

static bool image_sweep_is_listed(const struct image_sweep *sweep, const char *digest, size_t size)
{
	for (size_t i = 0; i < sweep->count; i++) {
		if (strncmp(sweep->digests[i], digest, size) == 0)
			return true;
	}
	return false;
}

/* What is there under its own name meanwhile has the same content. */
static void image_sweep_restore(void *context)
{
	const struct image_sweep *sweep = context;
	DIR *dir = opendir(sweep->portal->conf->image_dir);
	const struct dirent *entry;
	uint8_t bytes[DIGEST_SIZE];

	// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
	while (dir && (entry = readdir(dir))) {
		const char *digest = entry->d_name + strlen(GONE);

		if (strncmp(entry->d_name, GONE, strlen(GONE)) == 0 &&
		    hex_decode(digest, bytes, sizeof(bytes)) == 0 &&
		    (linkat(dirfd(dir), entry->d_name, dirfd(dir), digest, 0) == 0 ||
		     errno == EEXIST))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		(void)closedir(dir);
}

/* The same digest may have been announced since the rows were asked: what was written to since the
 * sweep began is left to the next one. A second more: files have a coarser clock. */
static bool is_under_way(const struct image_sweep *sweep, int dir, const char *name)
{
	struct stat stat;

	return fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
	       stat.st_mtim.tv_sec >= sweep->begun.tv_sec - 1;
}

/* ".upload-ID-DIGEST": nobody sends the rest. */
static void remove_uploads(struct image_sweep *sweep)
{
	const char *folder = sweep->portal->conf->image_dir;
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
	while (dir && (entry = readdir(dir))) {
		const char *digest = strrchr(entry->d_name, '-');

		if (strncmp(entry->d_name, UPLOAD, strlen(UPLOAD)) == 0 && digest &&
		    strlen(digest + 1) == SHORT_DIGEST &&
		    image_sweep_is_listed(sweep, digest + 1, SHORT_DIGEST) &&
		    !is_under_way(sweep, dirfd(dir), entry->d_name) &&
		    unlinkat(dirfd(dir), entry->d_name, 0) == 0)
			sweep->uploads++;
	}
	if (dir)
		(void)closedir(dir);
}

static void image_sweep_work(void *context)
{
	struct image_sweep *sweep = context;
	const char *folder = sweep->portal->conf->image_dir;
	char path[IMAGE_SWEEP_PATH_SIZE];
	char gone[IMAGE_SWEEP_PATH_SIZE];

	for (size_t i = 0; i < sweep->count; i++) {
		const char *digest = sweep->digests[i];

		if (!text_format(path, sizeof(path), "%s/%s", folder, digest) ||
		    !text_format(gone, sizeof(gone), "%s/" GONE "%s", folder, digest))
			return;
		if (!sweep->hidden)
			(void)!rename(path, gone);
		else if (unlink(gone) == 0)
			sweep->removed++;
	}
	if (sweep->hidden)
		remove_uploads(sweep);
}

/* --- in the loop --- */

static void image_sweep_ask(struct image_sweep *sweep);

static void image_sweep_on_worked(void *context)
{
	struct image_sweep *sweep = context;

	if (sweep->hidden)
		image_sweep_end(sweep);
	else
		image_sweep_ask(sweep);
}

/* Hidden, and somebody has it again: the name comes back. */
static void bring_back(const struct image_sweep *sweep, char (*before)[DIGEST_TEXT_SIZE],
		       size_t count)
{
	const char *folder = sweep->portal->conf->image_dir;
	char path[IMAGE_SWEEP_PATH_SIZE];
	char gone[IMAGE_SWEEP_PATH_SIZE];

	for (size_t i = 0; i < count; i++) {
		if (!image_sweep_is_listed(sweep, before[i], DIGEST_TEXT_SIZE) &&
		    text_format(path, sizeof(path), "%s/%s", folder, before[i]) &&
		    text_format(gone, sizeof(gone), "%s/" GONE "%s", folder, before[i]))
			(void)!rename(gone, path);
	}
}

static void on_deleted(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct image_sweep *sweep = context;
	char(*before)[DIGEST_TEXT_SIZE] = sweep->digests;
	size_t count = sweep->count;
	bool second = sweep->hidden;

	(void)problem;
	sweep->digests = NULL;
	sweep->count = 0;
	if (rc == 0)
		sweep->digests = calloc(DIGESTS_MAX, sizeof(*sweep->digests));
	for (int row = 0; sweep->digests && row < PQntuples(result) && row < DIGESTS_MAX; row++) {
		const char *digest = db_text(result, row, IMAGE_SWEEP_DIGEST, "");
		uint8_t bytes[DIGEST_SIZE];

		if (hex_decode(digest, bytes, sizeof(bytes)) == 0)
			(void)text_copy(sweep->digests[sweep->count++], DIGEST_TEXT_SIZE, digest);
	}
	if (second)
		bring_back(sweep, before, count);
	free(before);
	if (sweep->count == 0 || worker_submit(sweep->portal->worker, image_sweep_work,
					       image_sweep_on_worked, sweep) != 0)
		image_sweep_end(sweep);
}

static void on_scope(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)context;
	(void)rc;
	(void)result;
	(void)problem;
}

static void image_sweep_ask(struct image_sweep *sweep)
{
	const struct db_call calls[] = {
		{.query = &scope_operator_query, .fn = on_scope, .context = sweep},
		{.query = &image_sweep_query, .fn = on_deleted, .context = sweep},
	};
	int rc;

	sweep->hidden = sweep->count > 0;
	rc = db_submit_all(sweep->portal->db, calls, COUNT_OF(calls));
	if (rc)
		on_deleted(sweep, rc, NULL, NULL);
}

static void on_restored(void *context)
{
	image_sweep_ask(context);
}

static void image_sweep_start(void *context)
{
	struct image_sweep *sweep = context;

	if (sweep->running)
		return;
	sweep->running = true;
	sweep->again = false;
	sweep->removed = 0;
	sweep->uploads = 0;
	free(sweep->digests);
	sweep->digests = NULL;
	sweep->count = 0;
	(void)clock_gettime(CLOCK_REALTIME, &sweep->begun);
	if (worker_submit(sweep->portal->worker, image_sweep_restore, on_restored, sweep) != 0)
		image_sweep_end(sweep);
}

int image_sweep_new(struct portal *portal, struct image_sweep **ret)
{
	struct image_sweep *sweep = calloc(1, sizeof(*sweep));
	int rc;

	if (!sweep)
		return -ENOMEM;
	sweep->portal = portal;
	rc = loop_timer_new(portal->loop, image_sweep_start, sweep, &sweep->timer);
	if (rc) {
		free(sweep);
		return rc;
	}
	*ret = sweep;
	return 0;
}

void image_sweep_soon(struct image_sweep *sweep)
{
	if (!sweep)
		return;
	sweep->again = sweep->running;
	if (!sweep->running)
		loop_timer_arm(sweep->timer, DELAY_MS);
}

void image_sweep_free(struct image_sweep *sweep)
{
	if (!sweep)
		return;
	loop_timer_free(sweep->timer);
	free(sweep->digests);
	free(sweep);
}
