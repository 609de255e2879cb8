#include "peregrine/control/reconcile/scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sorted.h"

#include "peregrine/control/reconcile/scene_private.h"

LEAKS_LEFT_TO_SANITIZER

const json_t *scene_rows(const struct scene *scene, const char *key)
{
	return json_object_get(scene->rows, key);
}

int64_t scene_number(const json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

const char *scene_word(const json_t *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row, name));

	return text ? text : "";
}

uint32_t scene_switch_at(const struct scene *scene, int64_t id)
{
	const struct fabric_switch *switches = scene->model.switches;
	size_t count = scene->model.switch_count;
	size_t at = SORTED_FIRST(i, 0, count, switches[i].id < id);

	return at < count && switches[at].id == id ? (uint32_t)at : MODEL_NONE;
}

uint32_t scene_port_at(const struct scene *scene, uint32_t at, const char *name)
{
	const struct fabric_switch *sw = &scene->model.switches[at];
	const struct fabric_port *ports = scene->model.ports;
	size_t end = sw->first_port + sw->port_count;
	size_t found = SORTED_FIRST(i, sw->first_port, end, strcmp(ports[i].name, name) < 0);

	return found < end && strcmp(ports[found].name, name) == 0 ? (uint32_t)found : MODEL_NONE;
}

/* --- what is under way --- */

/* Changes of switches and ports that are not in the picture any more are passed over. */
static int lay_changes(struct scene *scene, const struct scene_source *source)
{
	struct flux_ground ground = {.model = &scene->model,
				     .observed = scene->observed,
				     .applied = scene->applied,
				     .pool = &scene->states};
	int rc = flux_init(&scene->model, &scene->flux);

	for (size_t i = 0; rc == 0 && i < source->change_count; i++) {
		const struct scene_change *from = &source->changes[i];
		struct flux_change change = {.at = scene_switch_at(scene, from->switch_id),
					     .port = MODEL_NONE,
					     .undoes = from->undoes,
					     .edit = from->edit};

		if (change.at == MODEL_NONE)
			continue;
		if (from->edit->kind == EDIT_PORT) {
			change.port = scene_port_at(scene, change.at, from->edit->port);
			if (change.port == MODEL_NONE)
				continue;
		}
		rc = flux_lay(&scene->flux, &ground, &change);
	}
	return rc;
}

/* --- what may be said --- */

bool scene_port_rests(const struct scene *scene, uint32_t port)
{
	const struct fabric_port *p = &scene->model.ports[port];
	const struct fabric_port *carrier = &scene->model.ports[p->carrier];

	return p->held || p->busy || carrier->held || carrier->busy ||
	       scene->model.switches[p->at].held || scene->waits[p->at];
}

bool scene_intent_counts(const struct scene *scene, const struct wanted *wanted, uint32_t i)
{
	uint32_t port = scene->intents[i].port;

	return port != MODEL_NONE && scene->model.ports[port].role == PORT_EDGE &&
	       !scene_port_rests(scene, port) && wanted->faults[port] == WANTED_OK;
}

struct vlan_set scene_ours_on(const struct scene *scene, port_state vlans)
{
	struct vlan_set ours = model_our_vlans(&scene->model);
	struct vlan_set all = port_vlans_all(vlans);

	return vlan_set_intersection(&all, &ours);
}

bool scene_uplink_drifted(const struct scene *scene, uint32_t port)
{
	port_state now = scene->observed[port];
	port_state applied = scene->applied[port];
	struct vlan_set has;

	if (scene->model.ports[port].role != PORT_UPLINK || !now || !applied ||
	    scene->model.ports[port].busy || scene->waits[scene->model.ports[port].at])
		return false;
	has = scene_ours_on(scene, now);
	/* We never make a VLAN of ours the untagged one of an uplink. */
	return !vlan_set_equal(&has, &applied->tagged) ||
	       model_vlan_is_ours(&scene->model, now->native);
}

/* --- all --- */

static int scene_make_all(struct scene_maker *maker, const struct scene_source *source,
			  const json_t *fabric)
{
	struct scene *scene = maker->scene;
	int rc;

	scene->fabric_id = json_integer_value(json_object_get(fabric, "id"));
	scene->repair = json_is_true(json_object_get(fabric, "repair"));
	scene->quarantine_s = (uint32_t)json_integer_value(json_object_get(fabric, "quarantine_s"));
	scene->model.name = json_string_value(json_object_get(fabric, "name"));
	scene->model.vlan_low = (uint16_t)json_integer_value(json_object_get(fabric, "low"));
	scene->model.vlan_high = (uint16_t)json_integer_value(json_object_get(fabric, "high"));
	scene->model.parking = (uint16_t)json_integer_value(json_object_get(fabric, "parking"));
	scene->model.parking_high =
		(uint16_t)(scene->model.parking - 1 +
			   json_integer_value(json_object_get(fabric, "parking_count")));
	scene->pool.fabric = scene->model.name;
	scene->pool.low = scene->model.vlan_low;
	scene->pool.high = scene->model.vlan_high;
	scene->pool.parking = scene->model.parking;
	rc = scene_make_switches(maker);
	if (rc == 0) {
		scene_make_links(maker);
		rc = scene_make_networks(scene);
	}
	if (rc == 0)
		rc = scene_make_intents(maker);
	if (rc == 0)
		rc = scene_make_members(scene);
	if (rc == 0)
		rc = scene_make_uplinks(scene);
	if (rc)
		return rc;
	scene_make_doubtful_links(maker);
	rc = lay_changes(scene, source);
	if (rc == 0)
		scene_make_seen(scene);
	return rc ? rc : scene_make_bonds(scene);
}

int scene_make(const struct scene_source *source, struct scene *ret)
{
	struct scene scene = {.rows = json_incref(source->rows)};
	struct scene_maker maker = {.scene = &scene,
				    .book = source->book,
				    .access = source->access,
				    .now_ms = source->now_ms};
	int rc = scene_make_all(
		&maker, source,
		json_array_get(json_object_get(source->rows, "fabrics"), source->fabric));

	if (rc) {
		scene_done(&scene);
		return rc;
	}
	*ret = scene;
	return 0;
}

void scene_done(struct scene *scene)
{
	free(scene->names);
	free(scene->model.ports);
	free(scene->model.switches);
	free(scene->model.networks);
	free(scene->model.members);
	free(scene->observed);
	free(scene->applied);
	free(scene->intent_of);
	flux_done(&scene->flux);
	free(scene->waits);
	free(scene->twins);
	free(scene->lacks);
	free(scene->intents);
	free(scene->numbers);
	free(scene->waits_for);
	free(scene->gone);
	free(scene->attached);
	free(scene->meant);
	free(scene->bonds);
	state_pool_done(&scene->states);
	json_decref(scene->rows);
	*scene = (struct scene){0};
}
