/* One fabric at one moment: the rows that say what is wanted and what is known of its switches, put
 * together as the policies take it. Memberships are copies, so that readings may come while a batch
 * made of this scene is under way. */
#pragma once

#include "common/http/json_reader.h"

#include "peregrine/control/network/number_policy.h"
#include "peregrine/control/network/wanted_policy.h"
#include "peregrine/control/reconcile/switch_book.h"

/* A row of port_intent. */
struct scene_intent {
	int64_t switch_id;
	const char *switch_name, *port_name;
	uint32_t port; /* MODEL_NONE: the switch does not show it */
	int64_t wanted_version, applied_version;
	const char *problem; /* its message in the row; "" = none */
	port_state applied;  /* NULL = never */
};

struct scene {
	json_t *rows; /* of intent_store_load; names point into it */
	int64_t fabric_id;
	bool repair;
	uint32_t quarantine_s;
	struct fabric_model model;
	port_state *observed, *applied; /* per port */
	uint32_t *intent_of;            /* per port: index of its intent; MODEL_NONE */
	struct scene_intent *intents;
	uint32_t intent_count;
	struct number_row *numbers;
	struct number_pool pool;
	struct state_pool states;
	char (*names)[64]; /* of ports */
	bool *gone;        /* per network: wanted absent */
	bool *attached;    /* per network: it has ports in this fabric */
	bool *meant;       /* per network: it will be tagged here, and has no number yet */
};

/* `fabric`: its place in rows.fabrics. `rows` gets a reference. -ENOMEM, E_MALFORMED. */
MUST_USE int scene_make(json_t *rows, size_t fabric, const struct switch_book *book, int64_t now_ms,
			struct scene *ret);
void scene_done(struct scene *scene);
