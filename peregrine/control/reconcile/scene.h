/* One fabric at one moment: the rows that say what is wanted and what is known of its switches, put
 * together as the policies take it. Memberships are copies, so that readings may come while a batch
 * made of this scene is under way. */
#pragma once

#include "common/http/json_reader.h"

#include "peregrine/control/network/number_policy.h"
#include "peregrine/control/network/wanted_policy.h"
#include "peregrine/control/reconcile/flux_policy.h"
#include "peregrine/control/reconcile/switch_book.h"

/* A row of port_intent. */
struct scene_intent {
	int64_t switch_id;
	const char *switch_name, *port_name;
	uint32_t port; /* MODEL_NONE: the switch does not show it */
	int64_t wanted_version, applied_version;
	const char *problem; /* its message in the row; "" = none */
	port_state applied;  /* NULL = never */
	const char *bond; /* the aggregate that it shall be in, with all of that word; "" = none */
	const char *bond_fault; /* why that cannot be; NULL */
	uint32_t stranger;      /* in an aggregate of ours with it; MODEL_NONE */
};

/* What can be done now about an aggregate: its ports are free, and nothing of them is under way. */
struct scene_bond {
	bool make;
	uint32_t at;      /* switch */
	uint32_t carrier; /* to unmake */
	const char *bond;
	uint32_t ports[SWITCH_LAG_MEMBERS];
	uint32_t count;
};

struct scene {
	json_t *rows; /* of intent_store_load; names point into it */
	int64_t fabric_id;
	bool repair;
	uint32_t quarantine_s;
	struct fabric_model model;
	port_state *observed,
		*applied;    /* per port; of an uplink that we set, what of ours it got */
	bool *waits;         /* per switch: is to be read before anything is begun */
	const char **twins;  /* per switch: one entered before it that it is, by its chassis id, and
				that is set instead of it; NULL = none */
	struct flux flux;    /* changes under way lie over `observed` */
	uint32_t *intent_of; /* per port: index of its intent; MODEL_NONE */
	struct scene_intent *intents;
	uint32_t intent_count;
	struct number_row *numbers;
	const json_t **waits_for; /* per number: ids of switches, as written; in `rows` */
	struct number_pool pool;
	struct state_pool states;
	char (*names)[64]; /* of ports */
	bool *gone;        /* per network: wanted absent */
	bool *attached;    /* per network: it has ports in this fabric */
	struct scene_bond *bonds;
	uint32_t bond_count;
	bool *meant; /* per network: it will be tagged here, and has no number yet */
};

/* An edit that is under way, or about to be. */
struct scene_change {
	int64_t switch_id;
	bool undoes; /* it is being taken back */
	const struct switch_edit *edit;
};
struct scene_source {
	json_t *rows;
	size_t fabric; /* its place in rows.fabrics */
	const struct switch_book *book;
	int64_t now_ms;
	const struct scene_change *changes; /* in the order of sending; borrowed for the call */
	size_t change_count;
};

/* `rows` gets a reference. -ENOMEM, E_MALFORMED. */
MUST_USE int scene_make(const struct scene_source *source, struct scene *ret);
void scene_done(struct scene *scene);

/* The name of the switch that this one is, too; NULL: it is a switch of its own. */
const char *scene_twin(const struct scene *scene, int64_t switch_id);
/* Can it be said of intent i that it is met when its port shows what is wanted? Not where the port
 * may not be touched, or cannot be what its networks say. */
bool scene_intent_counts(const struct scene *scene, const struct wanted *wanted, uint32_t i);
/* Nothing is to be concluded from what is known of it: held, to be read first, or changing. */
bool scene_port_rests(const struct scene *scene, uint32_t port);
/* Who put what into which, for people; of an intent with a stranger. */
enum { SCENE_STRANGER_TEXT = 240 };
void scene_stranger_text(const struct scene *scene, const struct scene_intent *intent,
			 char ret[SCENE_STRANGER_TEXT]);
/* Ports of the aggregate that we made last under that name, by their names; NULL = none. Borrowed.
 */
const json_t *scene_aggregate_members(const struct scene *scene, uint32_t at, const char *name);
/* An uplink carries of ours something else than what we set; false for one that we never set. */
bool scene_uplink_drifted(const struct scene *scene, uint32_t port);
/* What of ours a membership of an uplink carries, or would translate: as tags. */
struct vlan_set scene_ours_on(const struct scene *scene, port_state vlans);
