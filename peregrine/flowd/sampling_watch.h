/* Watches whether switches sample as they were told. Every ten seconds it compares their datagrams
 * with the set-up that peregrined found (sampling_state). It writes their words, and a verdict that
 * held twice in a row (backoff_policy.h). The alert follows from that in the database. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

#include "peregrine/flowd/sample/harvest.h"

struct sampling_watch;

MUST_USE int sampling_watch_new(struct loop *loop, struct db *db, struct sampling_watch **ret);
/* After db_free. NULL is fine. */
void sampling_watch_free(struct sampling_watch *watch);
void sampling_watch_note(struct sampling_watch *watch, const struct harvest *harvest);
/* Since when we know that an agent was told to send sFlow, or DUE_* (alert_policy.h). */
int64_t sampling_watch_due(const struct sampling_watch *watch, uint16_t agent);
