/* Alerts of peregrine-flowd: looks at each closed second, tells what begins and ends, asks for
 * suspects. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/flowd/alert/alert_look.h"
#include "peregrine/flowd/alert_store.h"

struct flowd;
struct flowd_alerts;

MUST_USE int flowd_alerts_new(struct flowd *flowd, struct flowd_alerts **ret);
/* Its database must be gone by then. */
void flowd_alerts_free(struct flowd_alerts *alerts);
/* PostgreSQL is there. */
void flowd_alerts_connected(struct flowd_alerts *alerts);
/* second_fn of the rollup; context is flowd. */
void flowd_alerts_second(void *context, int64_t at_s, double seconds,
			 const struct traffic_set *set);
void flowd_alerts_counts(const struct flowd_alerts *alerts, struct alert_watch_counts *ret_watch,
			 struct alert_store_counts *ret_store);
