/* Inside a conclusion: conclude.c reads facts, lets the policies decide and writes; conclude_rows.c
 * makes the rows. */
#pragma once

#include "common/base/text.h"

#include "peregrine/control/fabric/discovery_private.h"
#include "peregrine/control/fabric/wiring_policy.h"

enum table { TABLE_OBSERVED, TABLE_PORTS, TABLE_LINKS, TABLE_PLACES, TABLE_ALERTS, TABLE_COUNT };

/* Everything of one conclusion. */
struct work {
	struct discovery *discovery;
	struct sight **sights;
	struct fabric_source *sources;
	struct fabric_prior *priors;
	struct fabric_facts facts;
	struct fabric_conclusion conclusion;
	struct wiring_found wiring;
	struct text rows[TABLE_COUNT];
	struct text port_switches, link_switches;
	int64_t now_us, now_ms;
};

/* Everything that is to be written, as JSON; what was marked as unobserved is in it. */
void conclude_rows(struct work *work);
