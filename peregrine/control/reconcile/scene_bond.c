/* Which ports are to be in an aggregate (LACP) and are not, and which aggregates of ours are to go:
 * their ports are free meanwhile (fabric_port.forming), and what can be done now is in scene.bonds.
 * An aggregate is ours when a row says so, written before it was made; the operator's are left. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/reconcile/scene_private.h"

LEAKS_LEFT_TO_SANITIZER

struct scene_bond_group {
	uint32_t first; /* intent */
	uint32_t ports[SWITCH_LAG_MEMBERS];
	uint32_t count;
	const char *fault;
	bool lacks; /* a port, and has no other fault */
};

struct bonder {
	struct scene *scene;
	uint32_t *members; /* per port: how many ports it is the aggregate of */
	bool *kept;        /* per port: an aggregate as it is wanted */
};

static bool scene_bond_is_free(const struct scene *scene, uint32_t port)
{
	port_state now = scene->observed[port];

	return now && !now->trunk && model_vlan_is_parking(&scene->model, now->native) &&
	       !scene_port_rests(scene, port);
}

static void set_forming(struct scene *scene, uint32_t port)
{
	scene->model.ports[port].forming = true;
	scene->model.ports[port].member_count = 0;
}

/* Of an aggregate that we made; NULL. */
static const json_t *row_named(const struct scene *scene, uint32_t at, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(scene_rows(scene, "aggregates"), i, row)
	{
		if (scene_number(row, "switch") == scene->model.switches[at].id &&
		    strcmp(scene_word(row, "name"), name) == 0)
			return row;
	}
	return NULL;
}

static const json_t *scene_bond_row_of(const struct scene *scene, uint32_t port)
{
	const struct fabric_port *p = &scene->model.ports[port];

	return row_named(scene, p->at, p->name);
}

const json_t *scene_aggregate_members(const struct scene *scene, uint32_t at, const char *name)
{
	const json_t *row = row_named(scene, at, name);

	return row ? json_object_get(row, "members") : NULL;
}

/* --- aggregates that are wanted --- */

/* Is intent `i` of the same aggregate? Those of one switch are side by side. */
static bool scene_bond_is_beside(const struct scene *scene, uint32_t i, uint32_t first)
{
	return i < scene->intent_count &&
	       scene->intents[i].switch_id == scene->intents[first].switch_id;
}

static bool scene_bond_is_same(const struct scene *scene, uint32_t i, uint32_t first)
{
	return strcmp(scene->intents[i].bond, scene->intents[first].bond) == 0;
}

static struct scene_bond_group scene_bond_gather(const struct scene *scene, uint32_t first)
{
	struct scene_bond_group group = {.first = first};

	for (uint32_t i = first; scene_bond_is_beside(scene, i, first); i++) {
		uint32_t port = scene->intents[i].port;

		if (!scene_bond_is_same(scene, i, first))
			continue;
		if (port == MODEL_NONE || scene->model.ports[port].role != PORT_EDGE)
			group.lacks = true;
		else if (group.count == SWITCH_LAG_MEMBERS)
			group.fault = "its bond has more ports than an aggregate";
		else
			group.ports[group.count++] = port;
	}
	group.lacks &= !group.fault;
	if (group.lacks)
		group.fault = "a port of its bond is not shown, or leads to another switch";
	else if (group.count < 2 && !group.fault)
		group.fault = "its bond has one port only";
	return group;
}

/* A bond that lost a port works by the others: an aggregate of ours with those alone is kept. */
static bool is_formed(const struct bonder *bonder, const struct scene_bond_group *group)
{
	const struct fabric_port *ports = bonder->scene->model.ports;
	uint32_t carrier = group->count ? ports[group->ports[0]].carrier : MODEL_NONE;

	if (group->count == 0 || (group->fault && !group->lacks) || carrier == group->ports[0] ||
	    bonder->members[carrier] != group->count ||
	    (group->lacks && !scene_bond_row_of(bonder->scene, carrier)))
		return false;
	for (uint32_t i = 1; i < group->count; i++) {
		if (ports[group->ports[i]].carrier != carrier)
			return false;
	}
	return true;
}

static void take_group(struct bonder *bonder, uint32_t first)
{
	struct scene *scene = bonder->scene;
	struct fabric_port *ports = scene->model.ports;
	struct scene_bond_group group = scene_bond_gather(scene, first);
	struct scene_bond bond = {.make = true, .bond = scene->intents[first].bond};
	bool formed = is_formed(bonder, &group);
	bool ready = !formed;

	if (formed)
		bonder->kept[ports[group.ports[0]].carrier] = true;
	for (uint32_t i = 0; i < group.count && !formed; i++) {
		uint32_t port = group.ports[i];

		if (ports[port].carrier != port && !group.fault &&
		    !scene_bond_row_of(scene, ports[port].carrier))
			group.fault = "a port of its bond is in another aggregate";
		set_forming(scene, port);
		ready = ready && ports[port].carrier == port && scene_bond_is_free(scene, port);
		bond.ports[bond.count++] = port;
		bond.at = ports[port].at;
	}
	for (uint32_t i = first; group.fault && scene_bond_is_beside(scene, i, first); i++) {
		if (scene_bond_is_same(scene, i, first))
			scene->intents[i].bond_fault = group.fault;
	}
	if (ready && !group.fault)
		scene->bonds[scene->bond_count++] = bond;
}

/* --- aggregates that are to go --- */

static bool scene_bond_has_name(const json_t *members, const char *port)
{
	const json_t *name;
	size_t i;

	json_array_foreach(members, i, name)
	{
		if (json_is_string(name) && strcmp(json_string_value(name), port) == 0)
			return true;
	}
	return false;
}

static void tell_stranger(struct scene *scene, uint32_t carrier, uint32_t stranger)
{
	for (uint32_t i = 0; i < scene->intent_count; i++) {
		uint32_t port = scene->intents[i].port;

		if (port != MODEL_NONE && scene->model.ports[port].carrier == carrier)
			scene->intents[i].stranger = stranger;
	}
}

void scene_stranger_text(const struct scene *scene, const struct scene_intent *intent,
			 char ret[SCENE_STRANGER_TEXT])
{
	const struct fabric_port *stranger = &scene->model.ports[intent->stranger];

	(void)text_format(ret, SCENE_STRANGER_TEXT,
			  "port %s was put by hand into our aggregate %s of switch %s",
			  stranger->name, scene->model.ports[stranger->carrier].name,
			  intent->switch_name);
}

/* Where somebody else put a port into it, it stays, and carries nothing. */
static void take_aggregate(struct bonder *bonder, uint32_t carrier)
{
	struct scene *scene = bonder->scene;
	const struct fabric_switch *at = &scene->model.switches[scene->model.ports[carrier].at];
	const json_t *row = scene_bond_row_of(scene, carrier);
	struct scene_bond bond = {.at = scene->model.ports[carrier].at, .carrier = carrier};
	uint32_t stranger = MODEL_NONE;
	bool ready;

	if (!row)
		return;
	ready = scene_bond_is_free(scene, carrier);
	bond.bond = scene_word(row, "bond");
	set_forming(scene, carrier);
	for (uint32_t p = at->first_port; p < at->first_port + at->port_count; p++) {
		const struct fabric_port *port = &scene->model.ports[p];

		if (port->carrier != carrier || p == carrier)
			continue;
		set_forming(scene, p);
		if (bond.count == SWITCH_LAG_MEMBERS ||
		    !scene_bond_has_name(json_object_get(row, "members"), port->name))
			stranger = p;
		else if (!scene_port_rests(scene, p))
			bond.ports[bond.count++] = p;
		else
			ready = false;
	}
	if (stranger != MODEL_NONE) {
		tell_stranger(scene, carrier, stranger);
		return;
	}
	if (ready)
		scene->bonds[scene->bond_count++] = bond;
}

/* --- all --- */

static bool scene_bond_is_first(const struct scene *scene, uint32_t i)
{
	if (!scene->intents[i].bond[0])
		return false;
	for (uint32_t k = i; k > 0 && scene_bond_is_beside(scene, k - 1, i); k--) {
		if (scene_bond_is_same(scene, k - 1, i))
			return false;
	}
	return true;
}

static void scene_bond_take_all(struct bonder *bonder)
{
	struct scene *scene = bonder->scene;
	const struct fabric_model *model = &scene->model;

	for (uint32_t p = 0; p < model->port_count; p++) {
		if (model->ports[p].carrier != p)
			bonder->members[model->ports[p].carrier]++;
	}
	for (uint32_t i = 0; i < scene->intent_count; i++) {
		if (scene_bond_is_first(scene, i))
			take_group(bonder, i);
	}
	for (uint32_t p = 0; p < model->port_count; p++) {
		if (bonder->members[p] > 0 && !bonder->kept[p] && model->ports[p].role == PORT_EDGE)
			take_aggregate(bonder, p);
	}
}

int scene_make_bonds(struct scene *scene)
{
	size_t ports = scene->model.port_count;
	CLEANUP(freep) uint32_t *members = calloc(ports + 1, sizeof(*members));
	CLEANUP(freep) bool *kept = calloc(ports + 1, sizeof(*kept));
	struct bonder bonder = {.scene = scene, .members = members, .kept = kept};

	scene->bonds = calloc(scene->intent_count + ports + 1, sizeof(*scene->bonds));
	if (!members || !kept || !scene->bonds)
		return -ENOMEM;
	scene_bond_take_all(&bonder);
	return 0;
}
