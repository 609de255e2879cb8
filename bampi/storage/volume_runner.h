/* Passes over the volumes and archives of one storage: look (files, target software, rows), decide
 * (volume_policy), do (a worker, one job per volume), tell (the row). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/io/worker.h"

#include "bampi/storage/driver/storage_driver.h"
#include "bampi/storage/network_host.h"

struct stored_key;
struct volume_runner;

struct volume_runner_options {
	struct db *db;
	struct worker *worker;
	const struct storage_driver *driver;
	struct storage_place place;
	struct network_host network; /* uplink "": networks are not made here */
	struct stored_key *key;      /* borrowed, as all here */
	const char *storage, *owner; /* the claim */
	const char *dir;
	int level;
	int64_t checkpoint_bytes;
	int64_t period_ms, claim_ms;
};

MUST_USE int volume_runner_new(struct loop *loop, const struct volume_runner_options *options,
			       struct volume_runner **ret);
/* Jobs are asked to stop; after worker_free and db_free. */
void volume_runner_stop(struct volume_runner *runner);
void volume_runner_free(struct volume_runner *runner);
void volume_runner_wake(struct volume_runner *runner);
void volume_runner_db_state(struct volume_runner *runner, bool connected);
