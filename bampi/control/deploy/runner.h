/* The step runner: claims what is due, lets the steps decide in memory, saves everything in one
 * transaction, and acts (BMC) only after that was committed. One cycle at a time, a whole batch per
 * cycle; between cycles nothing is held open. Woken by NOTIFY, by BMC answers, by the earliest due
 * time, and every few seconds anyway. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/control/deploy/certificate.h"
#include "bampi/control/deploy/notify.h"
#include "bampi/control/deploy/step.h"
#include "bampi/control/image/image_trust.h"

struct runner;

/* The printable tail of a node's console; "" when nothing is kept. */
typedef void (*runner_console_fn)(void *context, int64_t node_id, char *ret, size_t room);
/* Does `text` stand on the readable end of the node's console? *ret_blind: there is no console to
 * look at. */
typedef bool (*runner_console_holds_fn)(void *context, int64_t node_id, const char *text,
					bool *ret_blind);
/* Deployments of this node have begun (true) or ended here: its console is worth keeping. */
/* consoles_listen. */
typedef int64_t (*runner_console_listen_fn)(void *context, int64_t node_id, int64_t age_ms,
					    unsigned *ret_reopened);
typedef void (*runner_active_fn)(void *context, int64_t node_id, bool active);

/* Borrowed, all of it, for the life of the runner. */
struct runner_options {
	struct db *db;
	struct bmc_queue *queue;
	struct notify *notify;
	const struct image_trust *trust;
	const char *signed_images; /* a folder: attest_trust.h */
	const struct step_settings *settings;
	const struct certificate_key *key;
	const struct task_key *task_key;
	const char *owner;         /* unique among all bampid */
	int64_t claim_ms;          /* after so long without a word a claim is anybody's */
	unsigned http_port;        /* of bampi-bootd */
	runner_console_fn console; /* may be NULL */
	runner_console_holds_fn console_holds;   /* may be NULL */
	runner_console_listen_fn console_listen; /* may be NULL */
	runner_active_fn active;                 /* may be NULL */
	void *context;
};

struct runner_stats {
	uint64_t cycles, claimed, lost, failed_saves;
	uint64_t steps_done, steps_failed, deployments_done, deployments_failed,
		deployments_cancelled;
	uint64_t certificate_races;
};

MUST_USE int runner_new(struct loop *loop, const struct runner_options *options,
			struct runner **ret);
/* After db_free (its callbacks come first), before bmc_queue_free. */
void runner_free(struct runner *runner);
/* Something may be due. Cheap; calls while a cycle runs make one more. */
void runner_wake(struct runner *runner);
/* PostgreSQL came back or went away: nothing is claimed meanwhile. */
void runner_db_state(struct runner *runner, bool connected);
const struct runner_stats *runner_stats(const struct runner *runner);
