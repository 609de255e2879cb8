/* Runs what people ask of BMCs (table node_action): claims, asks the queue, writes the answer.
 * Effects are confirmed by the queue. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/control/deploy/notify.h"

struct action_runner;

/* Borrowed for the life of the runner. */
struct action_runner_options {
	struct db *db;
	struct bmc_queue *queue;
	struct notify *notify;
	const char *owner;
	int64_t claim_ms;
};

struct action_runner_stats {
	uint64_t done, failed;
};

MUST_USE int action_runner_new(struct loop *loop, const struct action_runner_options *options,
			       struct action_runner **ret);
/* After db_free, before bmc_queue_free. */
void action_runner_free(struct action_runner *runner);
void action_runner_wake(struct action_runner *runner);
void action_runner_db_state(struct action_runner *runner, bool connected);
const struct action_runner_stats *action_runner_stats(const struct action_runner *runner);
