/* One fabric at one moment: the rows of the wanted state and the known state of its switches, in
 * the form that the policies take. Memberships are copies, so readings may arrive while a batch
 * made from this scene runs. */
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
	const char *
		bond; /* name of the wanted aggregate: all ports with this name are to be in it; "" = none */
	const char *bond_fault; /* why that is impossible; NULL = possible */
	uint32_t stranger;      /* a port that is wrongly in our aggregate with it; MODEL_NONE */
};

/* An aggregate to make or unmake now: its ports are free and no change of them is running. */
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
		*applied; /* per port; for an uplink that we set, the VLANs of ours on it */
	bool *waits;      /* per switch: it must be read before an edit begins */
	const char **
		twins; /* per switch: an earlier entry with the same chassis id, which is set instead of this one; NULL = none */
	struct problem *lacks; /* per switch: why it is read and not set; code 0 = it is set */
	struct flux flux;      /* running changes, laid over `observed` */
	uint32_t *intent_of;   /* per port: index of its intent; MODEL_NONE */
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

struct switch_access; /* reconcile.h */

/* An edit that is running or about to start. */
struct scene_change {
	int64_t switch_id;
	bool undoes; /* it is being undone */
	const struct switch_edit *edit;
};
struct scene_source {
	json_t *rows;
	size_t fabric; /* its place in rows.fabrics */
	const struct switch_book *book;
	const struct switch_access *access; /* for what switches lack; NULL = nothing */
	int64_t now_ms;
	const struct scene_change *changes; /* in the order of sending; borrowed for the call */
	size_t change_count;
};

/* `rows` gets a reference. -ENOMEM, E_MALFORMED. */
MUST_USE int scene_make(const struct scene_source *source, struct scene *ret);
void scene_done(struct scene *scene);

/* The name of the other entry for the same switch; NULL: this is the only entry. */
const char *scene_twin(const struct scene *scene, int64_t switch_id);
/* What the switch lacks to be set; NULL: nothing. */
const struct problem *scene_lacks(const struct scene *scene, int64_t switch_id);
/* Is intent i fulfilled as soon as its port shows the wanted membership? False if the port is held,
 * or cannot carry its networks. */
bool scene_intent_counts(const struct scene *scene, const struct wanted *wanted, uint32_t i);
/* The port's known state allows no conclusion: the port is held, must be read first, or is
 * changing. */
bool scene_port_rests(const struct scene *scene, uint32_t port);
/* Text for people about an intent with a stranger: which port is in which aggregate. */
enum { SCENE_STRANGER_TEXT = 240 };
void scene_stranger_text(const struct scene *scene, const struct scene_intent *intent,
			 char ret[SCENE_STRANGER_TEXT]);
/* Ports of the aggregate that we made last under that name, by their names; NULL = none. Borrowed.
 */
const json_t *scene_aggregate_members(const struct scene *scene, uint32_t at, const char *name);
/* The uplink carries other VLANs of ours than we set; false for an uplink that we never set. */
bool scene_uplink_drifted(const struct scene *scene, uint32_t port);
/* Our VLANs that a membership of an uplink carries or would translate, as tags. */
struct vlan_set scene_ours_on(const struct scene *scene, port_state vlans);
