/* Which volumes and archives rest after a failure, and until when. Of each the failures in a row
 * are counted (volume_retry_ms says how long the next rest is); whoever is in no pass any more is
 * forgotten. A list: only what failed is in it. */
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

/* It failed again, or (failed = false) did not. Without memory it is tried again at once. */
void volume_rests_note(struct volume_rests *rests, struct volume_key key, bool failed,
		       int64_t now_ms);

/* Nothing is to be begun with it yet. Asking keeps it in the book over the next
 * volume_rests_sweep. */
bool volume_rests_has(struct volume_rests *rests, struct volume_key key, int64_t now_ms);

/* Drops what nobody asked for since the last sweep: its row is gone. */
void volume_rests_sweep(struct volume_rests *rests);
