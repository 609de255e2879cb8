/* Aggregates of switches: made for the bonds of nodes and unmade after them. Their ports are free
 * before, so nobody's frames are on them; what they carry then is a matter of the next pass. A row
 * says whose it is before the switch is told. What became of it is read, never taken for granted:
 * half made is unmade, and made anew. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/intent_store_sql.h"
#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	NUMBER_MAX = 4096,
	AGAIN_MS = 5000, /* a switch that said yes and does not show it is asked again */
};

struct bonding {
	struct engine_fabric *fabric;
	int64_t switch_id;
	char switch_name[64];
	char bond[96];
	struct switch_lag lag;
	int64_t versions[SWITCH_LAG_MEMBERS]; /* of the ports' intents */
	int64_t batch, change;                /* in the journal */
	int64_t written_ms; /* clock_boot_ms when the row, and the claim, were asked for */
};

/* --- how it ended --- */

static void reconcile_bond_end(struct bonding *bonding, struct known_switch *known)
{
	if (known) {
		known->bonding = false;
		known->stale = true;
		known->changed = true;
	}
	free(bonding);
}

static void reconcile_bond_tell(const struct bonding *bonding, const struct problem *problem)
{
	const struct bond_end told = {.lag = &bonding->lag,
				      .switch_name = bonding->switch_name,
				      .bond = bonding->bond,
				      .batch = bonding->batch,
				      .change = bonding->change,
				      .problem = problem};

	if (bonding->fabric->claimed)
		fabric_tell_bond(bonding->fabric, &told);
}

static void reconcile_bond_fail(struct bonding *bonding, struct known_switch *known,
				const struct problem *problem)
{
	const struct switch_lag *lag = &bonding->lag;
	int64_t now_ms = clock_monotonic_ms();

	for (size_t i = 0; known && i < lag->member_count; i++) {
		struct known_port *port = known_port_named(known, lag->members[i]);

		if (port)
			known_port_failed(port, bonding->versions[i], problem, now_ms);
	}
	log_problem(LOG_LEVEL_WARN, "reconcile", problem);
	reconcile_bond_tell(bonding, problem);
	reconcile_bond_end(bonding, known);
}

static void on_bonded(void *context, int rc, struct switch_reading *reading,
		      const struct problem *problem)
{
	struct bonding *bonding = context;
	struct engine_fabric *fabric = bonding->fabric;
	struct known_switch *known = book_find(&fabric->reconcile->book, bonding->switch_id);
	int64_t now_ms = clock_monotonic_ms();

	(void)reading;
	if (rc == E_LAPSED) {
		/* No fault of its ports. The next reading shows how far it came. */
		reconcile_bond_end(bonding, known);
		if (fabric->claimed)
			fabric_lost(fabric, false);
		return;
	}
	if (rc) {
		reconcile_bond_fail(bonding, known, problem);
		return;
	}
	for (size_t i = 0; known && i < bonding->lag.member_count; i++) {
		struct known_port *port = known_port_named(known, bonding->lag.members[i]);

		if (port) {
			port->bonded_ms = now_ms;
			port->bonded_made = bonding->lag.make;
		}
	}
	reconcile_bond_tell(bonding, NULL);
	reconcile_save(fabric->reconcile, bonding->switch_id);
	reconcile_bond_end(bonding, known);
}

/* --- sending --- */

/* The claim was extended with it, and lasts longer than the call. */
static void reconcile_bond_on_written(void *context, int rc, const PGresult *result,
				      const struct problem *problem)
{
	struct bonding *bonding = context;
	struct engine_fabric *fabric = bonding->fabric;
	struct reconcile *reconcile = fabric->reconcile;
	struct known_switch *known = book_find(&reconcile->book, bonding->switch_id);
	const struct switch_request request = {
		.op = SWITCH_LAG, .fence = fabric->fence, .lag = &bonding->lag};
	bool overtaken = rc == 0 && PQntuples(result) == 0;
	struct problem why = {0};

	(void)problem;
	if (rc || overtaken || !fabric->claimed) {
		reconcile_bond_end(bonding, known);
		if (fabric->claimed)
			fabric_lost(fabric, overtaken);
		return;
	}
	fence_extend(fabric->fence, fence_end_ms(bonding->written_ms, reconcile->options.claim_ms));
	bonding->batch = db_int(result, 0, AGGREGATE_WRITE_BATCH_ID, 0);
	bonding->change = db_int(result, 0, AGGREGATE_WRITE_CHANGE_ID, 0);
	reconcile->stats.calls++;
	rc = reconcile->options.access.call(
		reconcile->options.access.context, bonding->switch_id, &request,
		clock_monotonic_ms() + reconcile->options.call_ms, on_bonded, bonding);
	if (rc == 0)
		return;
	(void)problem_set(&why, rc, "the switch could not be asked: %s", error_text(rc));
	reconcile_bond_fail(bonding, known, &why);
}

static bool reconcile_bond_write_row(struct bonding *bonding)
{
	struct engine_fabric *fabric = bonding->fabric;
	const struct claim_key key = fabric_key(fabric);
	CLEANUP(text_done) struct text json = {0};

	json_begin_object(&json, NULL);
	json_put_bool(&json, "make", bonding->lag.make);
	json_put_int(&json, "switch", bonding->switch_id);
	json_put_string(&json, "name", bonding->lag.name);
	json_put_string(&json, "bond", bonding->bond);
	json_put_int(&json, "vlan", bonding->lag.vlan);
	json_begin_array(&json, "members");
	for (size_t i = 0; i < bonding->lag.member_count; i++)
		json_put_string(&json, NULL, bonding->lag.members[i]);
	json_end_array(&json);
	json_end_object(&json);
	bonding->written_ms = clock_boot_ms();
	return !json.failed &&
	       intent_store_aggregate(fabric->reconcile->options.db, &key, text_get(&json),
				      reconcile_bond_on_written, bonding) == 0;
}

/* --- which --- */

/* NICs of other ports were found at that name, perhaps: it is not theirs and others' at once. */
static bool was_others(const struct scene *scene, const struct scene_bond *bond, const char *name)
{
	const json_t *members = scene_aggregate_members(scene, bond->at, name);
	const json_t *member;
	size_t i;

	if (members && json_array_size(members) != bond->count)
		return true;
	json_array_foreach(members, i, member)
	{
		bool ours = false;

		for (uint32_t p = 0; p < bond->count && json_is_string(member); p++)
			ours |= strcmp(scene->model.ports[bond->ports[p]].name,
				       json_string_value(member)) == 0;
		if (!ours)
			return true;
	}
	return false;
}

/* Made for these ports and left without any, by a switch that would not let it go again. */
static bool reconcile_bond_is_left_over(const struct scene *scene, const struct scene_bond *bond,
					uint32_t port)
{
	const struct fabric_switch *at = &scene->model.switches[bond->at];

	for (uint32_t p = at->first_port; p < at->first_port + at->port_count; p++) {
		if (p != port && scene->model.ports[p].carrier == port)
			return false;
	}
	return scene_aggregate_members(scene, bond->at, scene->model.ports[port].name) != NULL;
}

/* The first number whose name no port of the switch has, nor other ports had. */
static bool choose_name(const struct reconcile *reconcile, const struct scene *scene,
			const struct scene_bond *bond, char ret[64])
{
	const struct switch_access *access = &reconcile->options.access;
	const struct fabric_switch *at = &scene->model.switches[bond->at];

	for (unsigned n = 1; access->lag_name && n <= NUMBER_MAX; n++) {
		bool taken;

		if (!access->lag_name(access->context, at->id, n, ret))
			return false;
		taken = was_others(scene, bond, ret);
		for (uint32_t p = at->first_port; p < at->first_port + at->port_count; p++)
			taken |= strcmp(scene->model.ports[p].name, ret) == 0 &&
				 !reconcile_bond_is_left_over(scene, bond, p);
		if (!taken)
			return true;
	}
	return false;
}

/* Nothing is about to be done with its ports, and nothing was a moment ago. */
static bool reconcile_bond_is_due(const struct known_switch *known, const struct pass *pass,
				  const struct scene_bond *bond, int64_t now_ms)
{
	const struct scene *scene = &pass->scene;

	for (uint32_t i = 0; i < bond->count; i++) {
		uint32_t carrier = scene->model.ports[bond->ports[i]].carrier;
		const struct known_port *port =
			known_port_named(known, scene->model.ports[bond->ports[i]].name);

		if (!port || !pass->wanted.ports[carrier] ||
		    !port_vlans_equal(scene->observed[carrier], pass->wanted.ports[carrier]))
			return false;
		if (port->bonded_ms && port->bonded_made == bond->make &&
		    now_ms - port->bonded_ms < AGAIN_MS)
			return false;
	}
	return true;
}

static void reconcile_bond_fill(const struct scene *scene, const struct scene_bond *bond,
				const char *name, struct bonding *ret)
{
	const struct fabric_port *ports = scene->model.ports;
	struct switch_lag *lag = &ret->lag;

	lag->make = bond->make;
	lag->vlan = scene->observed[bond->make ? bond->ports[0] : bond->carrier]->native;
	(void)text_copy(lag->name, sizeof(lag->name),
			bond->make ? name : ports[bond->carrier].name);
	for (uint32_t i = 0; i < bond->count; i++) {
		uint32_t port = bond->ports[i];
		uint32_t intent = scene->intent_of[port];

		(void)text_copy(lag->members[i], sizeof(lag->members[i]), ports[port].name);
		if (bond->make)
			lag->member_vlans[i] = scene->observed[port]->native;
		if (intent != MODEL_NONE)
			ret->versions[i] = scene->intents[intent].wanted_version;
	}
	lag->member_count = bond->count;
	(void)text_copy(ret->switch_name, sizeof(ret->switch_name),
			scene->model.switches[bond->at].name);
	(void)text_copy(ret->bond, sizeof(ret->bond), bond->bond);
}

void fabric_bond(struct engine_fabric *fabric, const struct pass *pass)
{
	struct reconcile *reconcile = fabric->reconcile;
	const struct scene *scene = &pass->scene;
	int64_t now_ms = clock_monotonic_ms();

	for (uint32_t i = 0; i < scene->bond_count && fabric->claimed; i++) {
		const struct scene_bond *bond = &scene->bonds[i];
		int64_t id = scene->model.switches[bond->at].id;
		struct known_switch *known = book_find(&reconcile->book, id);
		struct bonding *bonding;
		char name[64] = "";

		if (!known || known->bonding || !reconcile_bond_is_due(known, pass, bond, now_ms) ||
		    (bond->make && !choose_name(reconcile, scene, bond, name)))
			continue;
		bonding = calloc(1, sizeof(*bonding));
		if (!bonding)
			return;
		bonding->fabric = fabric;
		bonding->switch_id = id;
		reconcile_bond_fill(scene, bond, name, bonding);
		known->bonding = true;
		if (reconcile_bond_write_row(bonding))
			continue;
		reconcile_bond_end(bonding, known);
		fabric_lost(fabric, false);
	}
}

void fabric_judge_bonds(const struct engine_fabric *fabric, struct pass *pass)
{
	const struct scene *scene = &pass->scene;
	char name[64];

	for (uint32_t i = 0; i < scene->bond_count; i++) {
		const struct scene_bond *bond = &scene->bonds[i];

		if (!bond->make || choose_name(fabric->reconcile, scene, bond, name))
			continue;
		for (uint32_t k = 0; k < bond->count; k++) {
			uint32_t intent = scene->intent_of[bond->ports[k]];
			struct problem *fault = intent == MODEL_NONE ? NULL : &pass->faults[intent];

			if (!fault || fault->code)
				continue;
			(void)problem_set(fault, E_UNSUPPORTED,
					  "switch %s cannot be told to make an aggregate",
					  scene->model.switches[bond->at].name);
			problem_hint(fault, "its operator makes it: docs/switches.md");
		}
	}
}

/* --- where we make them --- */

void reconcile_tell_abilities(struct reconcile *reconcile)
{
	const struct switch_access *access = &reconcile->options.access;
	CLEANUP(text_done) struct text json = {0};
	const json_t *row;
	bool any = false;
	size_t i;

	json_begin_array(&json, NULL);
	json_array_foreach(json_object_get(reconcile->rows, "switches"), i, row)
	{
		int64_t id = json_integer_value(json_object_get(row, "id"));
		const json_t *told = json_object_get(row, "aggregates");
		char name[64];
		bool makes = access->lag_name && access->lag_name(access->context, id, 1, name);

		if (json_is_boolean(told) && json_is_true(told) == makes)
			continue;
		json_begin_object(&json, NULL);
		json_put_int(&json, "switch", id);
		json_put_bool(&json, "aggregates", makes);
		json_end_object(&json);
		any = true;
	}
	json_end_array(&json);
	if (any && (json.failed || intent_store_abilities(reconcile->options.db, text_get(&json),
							  NULL, NULL) != 0))
		log_debug("reconcile", "the abilities of switches are written later");
}
