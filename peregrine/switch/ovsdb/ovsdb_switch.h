/* The state kept for one switch that is spoken to by OVSDB, shared by the parts of the driver. */
#pragma once

#include "common/base/problem.h"

#include "peregrine/switch/ovsdb/ovsdb_client.h"
#include "peregrine/switch/ovsdb/ovsdb_facts.h"
#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"
#include "peregrine/switch/switch_call.h"
#include "peregrine/switch/switch_family_table.h"

struct ovsdb_switch {
	struct switch_call call;
	struct ovsdb_client *client;

	enum ovsdb_facts_kind kind;
	void (*done)(struct ovsdb_switch *one, int rc, const struct problem *problem);
	struct ovsdb_facts facts;

	/* SWITCH_CHANGE */
	struct ovsdb_plan plan;
	unsigned lost; /* connections, with a change under way */

	bool sampling_sent; /* SWITCH_SAMPLING: it was changed, and is looked at again */
};

/* Sends one request of the call under way, in the family's time. */
int ovsdb_switch_ask(struct ovsdb_switch *one, json_t *params, ovsdb_answer_fn fn);
/* Reads one->facts anew; `done` comes from the loop. -ENOMEM. */
int ovsdb_switch_look(struct ovsdb_switch *one, enum ovsdb_facts_kind kind,
		      void (*done)(struct ovsdb_switch *one, int rc,
				   const struct problem *problem));
/* The same with a problem that does not name the switch yet. */
void ovsdb_switch_fail(struct ovsdb_switch *one, const struct problem *problem);
void ovsdb_switch_no_memory(struct ovsdb_switch *one);

/* ovsdb_change.c */
int ovsdb_change_start(struct ovsdb_switch *one);
int ovsdb_save_start(struct ovsdb_switch *one);
/* ovsdb_sampling.c */
int ovsdb_sampling_start(struct ovsdb_switch *one);
/* ovsdb_mirror.c */
int ovsdb_mirror_start(struct ovsdb_switch *one);
/* ovsdb_transact.c. Sends one->plan, waits until the data plane has it and ends the call: of
 * SWITCH_MIRROR, whose results it writes, and SWITCH_LAG. `why` not NULL: there is no plan. */
void ovsdb_switch_transact(struct ovsdb_switch *one, const struct problem *why);
/* ovsdb_lag.c */
int ovsdb_lag_start(struct ovsdb_switch *one);
