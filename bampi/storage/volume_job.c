#include <errno.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"

#include "bampi/storage/stored_key.h"
#include "bampi/storage/volume_account.h"
#include "bampi/storage/volume_runner_private.h"

/* The volume's secret; where it has none, one that nobody knows: the door is there, and locked. */
void volume_job_unlock(struct volume_job *job)
{
	char *secret = job->target.users[0].secret;
	char random[TOKEN_TEXT_SIZE];
	int rc;

	if (job->row.sealed_size == 0) {
		token_new(random);
		(void)text_copy(secret, STORAGE_SECRET_SIZE, random);
		return;
	}
	rc = seal_key_open(stored_key_get(job->options->key), job->row.sealed, job->row.sealed_size,
			   secret, STORAGE_SECRET_SIZE);
	if (rc) {
		(void)problem_set(&job->locked, rc, "the volume's secret cannot be opened: %s",
				  error_text(rc));
		problem_hint(&job->locked, "haasctl volume secret %s makes a new one",
			     job->row.name);
	}
}

/* The first account is the tenant's. The job's end wipes them. */
static int fill_secrets(struct volume_job *job, struct problem *problem)
{
	struct storage_user *users = job->target.users;
	int rc = job->locked.code;

	*problem = job->locked;
	for (size_t i = 1; rc == 0 && i < job->target.user_count; i++)
		rc = volume_account_secret(users[0].secret, users[i].name, users[i].secret);
	return rc;
}

static int open_volume(struct volume_job *job, struct problem *problem)
{
	const struct volume_runner_options *options = job->options;
	int rc;

	if (job->row.address_count == 0) {
		volume_nameless(&job->row, problem);
		return problem->code;
	}
	rc = fill_secrets(job, problem);
	if (rc == 0)
		rc = volume_lend(options->dir, job->row.id, problem);
	if (rc == 0)
		rc = options->driver->open(&options->place, &job->target, problem);
	/* tgtd has the file open now, or need not */
	volume_withdraw(options->dir, job->row.id);
	return rc;
}

static int volume_job_admit(struct volume_job *job, struct problem *problem)
{
	const struct volume_runner_options *options = job->options;
	int rc = fill_secrets(job, problem);

	if (rc == 0)
		rc = options->driver->admit(&options->place, &job->target, problem);
	return rc;
}

/* It was there once: then a file that is missing is a fault, and no success. */
static bool had_data(const struct volume_row *row)
{
	return row->archive ? row->archive_state == ARCHIVE_READY ||
				      row->archive_state == ARCHIVE_DELETING
			    : row->kept_bytes > 0;
}

static int volume_job_destroy(struct volume_job *job, struct problem *problem)
{
	const char *dir = job->options->dir;
	char path[PATH_MAX];
	bool fits = job->row.archive ? archive_path(dir, job->row.id, path, sizeof(path))
				     : volume_path(dir, job->row.id, path, sizeof(path));

	if (!fits)
		return problem_set(problem, -ENAMETOOLONG, "the folder's name is too long");
	return volume_destroy(path, had_data(&job->row), &job->progress, &job->done.bytes, problem);
}

void volume_job_work(void *context)
{
	struct volume_job *job = context;
	const struct volume_runner_options *options = job->options;
	struct volume_row *row = &job->row;
	struct volume_progress *progress = &job->progress;
	struct problem problem = {0};
	int rc = 0;

	row->source.digest = row->source_digest;
	row->source.checkpoint_bytes = options->checkpoint_bytes;
	switch (job->done.action) {
	case ACTION_MAKE:
		rc = volume_make(options->dir, row->id, row->size_bytes, progress, &problem);
		break;
	case ACTION_RESTORE:
		rc = volume_restore(options->dir, row->id, row->size_bytes, &row->source, progress,
				    &problem);
		break;
	case ACTION_GROW:
		rc = volume_grow(options->dir, row->id, row->size_bytes, progress, &problem);
		break;
	case ACTION_ARCHIVE:
		rc = volume_archive(options->dir,
				    &(struct archive_order){row->volume, row->id, options->level,
							    options->checkpoint_bytes},
				    progress, &job->done.digest, &problem);
		break;
	case ACTION_DESTROY: rc = volume_job_destroy(job, &problem); break;
	case ACTION_OPEN: rc = open_volume(job, &problem); break;
	case ACTION_ADMIT: rc = volume_job_admit(job, &problem); break;
	case ACTION_EXPEL:
		rc = options->driver->expel(&options->place, &job->target, &job->done.odd_logins,
					    &problem);
		break;
	case ACTION_CLOSE: rc = options->driver->close(&options->place, row->id, &problem); break;
	case ACTION_NONE:
	case ACTION_TELL_OPEN:
	case ACTION_TELL_CLOSED:
	case ACTION_COUNT: break;
	}
	if (rc && !problem_is_set(&problem))
		(void)problem_set(&problem, rc, "%s failed: %s",
				  volume_action_words[job->done.action], error_text(rc));
	job->done.problem = problem;
	job->ran = true;
}
