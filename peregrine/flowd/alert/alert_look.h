/* Looks at one closed second: from what was sampled and counted to the values of every port,
 * aggregate, tenant on a link, and agent. Memory grows with the ports and is kept. */
#pragma once

#include "peregrine/flowd/alert/alert_watch.h"
#include "peregrine/flowd/flow/rollup.h"

/* What is known of one switch's agent, since the daemon started. */
struct agent_facts {
	int64_t heard_us;  /* in sFlow; 0 = never: exporters speak when they like */
	int64_t silent_us; /* its silence counts from then (alert_silent_since); 0 = it does not */
	bool samples;      /* it has sent flow samples: without one there was no traffic */
	uint64_t came, missing;
};

struct alert_second {
	int64_t at_us;  /* its end */
	double seconds; /* that its samples are of */
	const struct traffic_set *set;
	const struct rollup *rollup;
	const struct attribution_index *index;
	const struct port_counters *counters;
	const struct agent_facts *agents; /* by index.switches */
};

struct alert_look;

MUST_USE int alert_look_new(struct alert_look **ret);
void alert_look_free(struct alert_look *look);
/* Without memory the second is passed over. */
void alert_look_at(struct alert_look *look, const struct alert_second *second,
		   struct alert_watch *watch);
