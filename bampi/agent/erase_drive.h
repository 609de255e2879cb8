/* Erasing the namespaces of one NVMe controller, or one other drive. Blocks: each runs on a thread
 * of its own. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bampi/agent/disk.h"
#include "bampi/agent/erase_policy.h"

#define ERASE_SIBLING_LIMIT 32

struct agent_env;

enum erase_verdict {
	ERASE_VERDICT_PENDING,
	ERASE_VERDICT_ERASED,
	ERASE_VERDICT_FAILED,
	ERASE_VERDICT_SKIPPED
};

struct erase_result {
	enum erase_verdict verdict;
	bool tried; /* `method` holds */
	enum erase_method method;
	char reason[400];
	uint64_t size_bytes; /* of the drive when it was erased: hidden areas were opened */
	double seconds;
};

struct erase_job {
	const struct agent_env *env;
	struct disk disks[ERASE_SIBLING_LIMIT];
	struct erase_result results[ERASE_SIBLING_LIMIT];
	size_t count;
	uint64_t total_bytes;

	/* Shared with the watchdog. */
	atomic_int method;         /* enum erase_method at work, -1 = none */
	atomic_ullong method_runs; /* counts methods begun: a new one gets a new clock */
	atomic_ullong done_bytes;  /* of total_bytes */
	atomic_ullong heartbeat;   /* changes with every sign of progress */
	atomic_bool give_up;       /* stop at the next safe point */

	/* The watchdog's own. */
	uint64_t seen_runs;
	uint64_t seen_heartbeat;
	int64_t began_ms;
	int64_t progressed_ms;
	bool finished;
	bool abandoned;
};

/* "nvme3" of "nvme3n1": namespaces with one of these share a controller. "" for other disks.
 * Returns ret. */
const char *erase_controller_name(const char *disk, char ret[64]);
void erase_job_run(struct erase_job *job);
const char *erase_verdict_text(enum erase_verdict verdict);
