/* What volume_runner.c (passes, rows) and volume_job.c (what a worker does) share. */
#pragma once

#include "bampi/storage/volume_runner.h"
#include "bampi/storage/volume_store.h"

/* One volume or archive with something under way or just failed. While it runs, the worker owns all
 * but `progress`; `row` is not changed. */
struct volume_job {
	struct volume_runner *runner; /* not for the worker */
	const struct volume_runner_options *options;
	struct volume_job *next;
	struct volume_row row;
	struct storage_target target; /* ACTION_OPEN, ADMIT, EXPEL */
	struct volume_done done;
	struct problem locked; /* why its secret cannot be opened */
	struct volume_progress progress;
	int64_t told; /* of progress */
	bool ran;
	bool silent; /* no row to tell: a target that nobody wants */
};

/* In the loop, before the worker has it: the key may be exchanged meanwhile. Opens the secret of the tenant's account. */
void volume_job_unlock(struct volume_job *job);
/* In a worker. */
void volume_job_work(void *context);
