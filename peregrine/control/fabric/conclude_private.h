/* Inside a conclusion: conclude_facts.c reads the facts and conclude.c lets the policies decide.
 * conclude_rows.c makes rows of the decisions, and conclude_write.c writes them. */
#pragma once

#include "common/base/text.h"

#include "peregrine/control/fabric/discovery_private.h"
#include "peregrine/control/fabric/fabric_index.h"
#include "peregrine/control/fabric/wiring_policy.h"

enum table {
	TABLE_OBSERVED,
	TABLE_PORTS,
	TABLE_LINKS,
	TABLE_PLACES,
	TABLE_STRAYS,
	TABLE_BLOCKS,
	TABLE_ALERTS,
	TABLE_COUNT
};

#define TABLE_BIT(table) (1U << (table))

/* All data of one conclusion. */
struct work {
	struct discovery *discovery;
	struct sight **sights;
	struct fabric_source *sources;
	struct fabric_prior *priors;
	uint32_t *bundle;
	int64_t *holder;
	uint8_t *given;
	uint32_t *unread; /* these four arrays: for all sources, one after another */
	struct fabric_facts facts;
	struct fabric_index index;
	struct fabric_conclusion conclusion;
	struct wiring_found wiring;
	struct guard_found guard;
	struct text rows[TABLE_COUNT];
	struct text port_switches, link_switches;
	bool places_left; /* more places than are written at once */
	int64_t now_us, now_ms;
};

enum { RETRY_MS = 2000 }; /* after a failure */

/* conclude_facts.c: reads the rows from the database. Then conclude_now() runs, or another try. */
void facts_read(struct discovery *discovery);
/* Sources, priors and index of a zeroed work. -ENOMEM. */
MUST_USE int facts_gather(struct work *work);
/* Borrowed; NULL = nothing is known of the MAC. */
struct memory *memory_find(const struct discovery *discovery, struct mac mac);
/* Stores the places of MACs for the next conclusion. */
void memory_keep(struct work *work);
void memory_done(struct discovery *discovery);

/* conclude.c */
void conclude_now(struct discovery *discovery);
/* Starts the next conclusion after this time, unless one is scheduled already. */
void conclude_arm(struct discovery *discovery, int64_t after_ms);

/* conclude_write.c: writes the rows that differ from those written last. */
void conclude_write(struct work *work);

/* Makes all rows to write, as JSON, including switches marked `unobserved`. */
void conclude_rows(struct work *work);
