/* The volumes and archives that wait after a failure, each with the time of its next try. Failures
 * in a row are counted for each: volume_retry_ms gives the length of the next wait. An entry is
 * dropped when no pass has asked for it. A list: it holds failed volumes and archives only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"

/* Volumes and archives are numbered each by themselves. */
struct volume_key {
	int64_t id;
	bool archive;
};

struct volume_rests;

MUST_USE int volume_rests_new(struct volume_rests **ret); /* -ENOMEM */
void volume_rests_free(struct volume_rests *rests);       /* NULL is allowed */

/* Notes one more failure, or (failed = false) a success. Returns the failures in a row: a success
 * or an hour without a failure ends it. If memory is short, the volume is tried again at once. */
unsigned volume_rests_note(struct volume_rests *rests, struct volume_key key, bool failed,
			   int64_t now_ms);

/* True: no job may begin with it yet. Asking keeps its entry over the next volume_rests_sweep. */
bool volume_rests_has(struct volume_rests *rests, struct volume_key key, int64_t now_ms);

/* Drops each entry that volume_rests_has was not asked for since the last sweep: its row is
 * gone. */
void volume_rests_sweep(struct volume_rests *rests);
