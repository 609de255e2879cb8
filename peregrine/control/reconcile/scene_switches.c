#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/net/mac.h"

#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/control/reconcile/scene_private.h"
#include "peregrine/switch/switch_family_table.h"

LEAKS_LEFT_TO_SANITIZER

/* --- switches and ports --- */

static uint32_t scene_switches_find_port(const struct scene *scene, int64_t switch_id,
					 const char *name)
{
	uint32_t at = scene_switch_at(scene, switch_id);

	return at == MODEL_NONE ? MODEL_NONE : scene_port_at(scene, at, name);
}

static uint32_t scene_switches_add_port(struct scene_maker *maker, uint32_t at, const char *name)
{
	struct scene *scene = maker->scene;
	uint32_t i = scene->model.port_count++;

	(void)text_copy(scene->names[i], sizeof(scene->names[i]), name);
	scene->model.ports[i] = (struct fabric_port){.at = at,
						     .name = scene->names[i],
						     .role = PORT_FOREIGN,
						     .carrier = i,
						     .peer = MODEL_NONE};
	scene->intent_of[i] = MODEL_NONE;
	scene->model.switches[at].port_count++;
	return i;
}

static int scene_switches_read_ports(struct scene_maker *maker, uint32_t at,
				     const struct known_switch *known)
{
	struct scene *scene = maker->scene;
	uint32_t first = scene->model.switches[at].first_port;

	for (uint32_t k = 0; k < known->port_count; k++) {
		const struct known_port *port = &known->ports[k];
		uint32_t i = scene_switches_add_port(maker, at, port->name);

		scene->model.ports[i].up = port->up;
		scene->model.ports[i].alike = port->alike;
		scene->model.ports[i].held = port->retry_ms > maker->now_ms;
		if (port->lag != MODEL_NONE)
			scene->model.ports[i].carrier = first + port->lag;
		if (!port->vlans)
			continue;
		scene->observed[i] = state_pool_add(&scene->states, port->vlans, NULL);
		if (!scene->observed[i])
			return -ENOMEM;
	}
	return 0;
}

static bool is_imagined(const struct scene *scene, uint32_t at, const char *name)
{
	const struct fabric_switch *sw = &scene->model.switches[at];

	for (uint32_t i = sw->first_port; i < sw->first_port + sw->port_count; i++)
		if (strcmp(scene->model.ports[i].name, name) == 0)
			return true;
	return false;
}

/* A switch that was not read in this life still forwards. Of it only the ends of its links are
 * known, also of those that only the other end still reports. What they carry is taken to be what
 * the other ends do (want_peers). */
static void imagine_ports(struct scene_maker *maker, uint32_t at)
{
	struct scene *scene = maker->scene;
	const json_t *links = scene_rows(scene, "links");
	const json_t *link;
	size_t i;

	json_array_foreach(links, i, link)
	{
		for (size_t end = 0; end < 2; end++) {
			const char *name = scene_word(link, end ? "b_port" : "a_port");

			if (scene_number(link, end ? "b_switch" : "a_switch") !=
				    scene->model.switches[at].id ||
			    strcmp(scene_word(link, "state"), "gone") == 0 ||
			    is_imagined(scene, at, name) || scene->model.port_count >= maker->room)
				continue;
			scene->model.ports[scene_switches_add_port(maker, at, name)].up = true;
		}
	}
}

static int by_port_name(const void *a, const void *b)
{
	return strcmp(((const struct fabric_port *)a)->name, ((const struct fabric_port *)b)->name);
}

/* What the family keeps for itself and what is outside of its range. An unknown family keeps
 * nothing. */
static struct vlan_set family_reserves(const struct switch_family *family)
{
	struct vlan_set reserved = {0};

	if (!family)
		return reserved;
	if (family->reserved && vlan_set_parse(family->reserved, &reserved))
		vlan_set_add_range(&reserved, VLAN_FIRST, VLAN_LAST); /* our own table is broken */
	if (family->vlan_low > VLAN_FIRST)
		vlan_set_add_range(&reserved, VLAN_FIRST, family->vlan_low - 1U);
	if (family->vlan_high && family->vlan_high < VLAN_LAST)
		vlan_set_add_range(&reserved, family->vlan_high + 1U, VLAN_LAST);
	return reserved;
}

static int make_switch(struct scene_maker *maker, const json_t *row, uint32_t at)
{
	struct scene *scene = maker->scene;
	struct fabric_switch *sw = &scene->model.switches[at];
	const struct known_switch *known;
	const char *word = json_string_value(json_object_get(row, "family"));
	/* A family that nobody knows is not written either. */
	const struct switch_family *family = word ? switch_family_find(word) : NULL;
	int64_t id = json_integer_value(json_object_get(row, "id"));

	known = book_find(maker->book, id);
	if (maker->access && maker->access->lacks)
		(void)maker->access->lacks(maker->access->context, id, &scene->lacks[at]);
	*sw = (struct fabric_switch){
		.id = id,
		.name = json_string_value(json_object_get(row, "name")),
		.spine = json_is_true(json_object_get(row, "spine")),
		.held = !json_is_true(json_object_get(row, "managed")) || !known || !known->read ||
			(known->stale && known->failures > 0) || known->retry_ms > maker->now_ms ||
			scene->lacks[at].code != 0,
		.reserved = family_reserves(family),
		.enters_first = family && family->enters_first,
		.apart = family ? family->apart : FAMILY_APART_UNTOLD,
		.first_port = scene->model.port_count,
	};
	/* It answers, and somebody changed it, perhaps: soon read. Nothing is begun there before.
	 */
	scene->waits[at] = known && (known->stale || known->bonding) && !sw->held;
	if (known && known->read) {
		sw->vlans = known->vlans;
		return scene_switches_read_ports(maker, at, known);
	}
	imagine_ports(maker, at);
	qsort(&scene->model.ports[sw->first_port], sw->port_count, sizeof(*scene->model.ports),
	      by_port_name);
	for (uint32_t i = sw->first_port; i < sw->first_port + sw->port_count; i++)
		scene->model.ports[i].carrier = i;
	return 0;
}

/* --- one switch under two addresses --- */

struct twin {
	const char *chassis, *name;
	int64_t since, id;
};

/* As it says itself, or said when it was last read by anybody. Only an address is one switch's by
 * its making: "Switch" or a host's name, which some vendors tell, may be many a switch's. */
static struct twin scene_switches_twin_of(const struct scene_maker *maker, const json_t *row)
{
	struct twin twin = {.id = json_integer_value(json_object_get(row, "id")),
			    .since = json_integer_value(json_object_get(row, "since")),
			    .name = json_string_value(json_object_get(row, "name"))};
	const struct known_switch *known = book_find(maker->book, twin.id);
	const char *told = json_string_value(json_object_get(row, "chassis"));

	struct mac mac;

	twin.chassis = known && known->chassis[0] ? known->chassis : told ? told : "";
	if (mac_parse(twin.chassis, &mac) != 0 || mac_is_zero(mac))
		twin.chassis = "";
	return twin;
}

static int by_chassis(const void *left, const void *right)
{
	const struct twin *a = left;
	const struct twin *b = right;
	int order = strcasecmp(a->chassis, b->chassis);

	if (order != 0)
		return order;
	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

/* What would be set at one would be set at the other, whatever fabrics they are in: the one that
 * was entered first is set, the others are held. */
static int hold_twins(struct scene_maker *maker)
{
	struct scene *scene = maker->scene;
	const json_t *rows = scene_rows(scene, "switches");
	size_t count = json_array_size(rows);
	CLEANUP(freep) struct twin *twins = calloc(count + 1, sizeof(*twins));
	size_t first = 0;

	if (!twins)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		twins[i] = scene_switches_twin_of(maker, json_array_get(rows, i));
	qsort(twins, count, sizeof(*twins), by_chassis);
	for (size_t i = 1; i < count; i++) {
		uint32_t at = scene_switch_at(scene, twins[i].id);

		if (!twins[i].chassis[0] ||
		    strcasecmp(twins[first].chassis, twins[i].chassis) != 0) {
			first = i;
		} else if (at != MODEL_NONE) {
			scene->twins[at] = twins[first].name;
			scene->model.switches[at].held = true;
			scene->waits[at] = false;
		}
	}
	return 0;
}

const struct problem *scene_lacks(const struct scene *scene, int64_t switch_id)
{
	uint32_t at = scene_switch_at(scene, switch_id);

	return at == MODEL_NONE || !scene->lacks[at].code ? NULL : &scene->lacks[at];
}

const char *scene_twin(const struct scene *scene, int64_t switch_id)
{
	uint32_t at = scene_switch_at(scene, switch_id);

	return at == MODEL_NONE ? NULL : scene->twins[at];
}

/* In the order of `rows`, which is that of the ids. */
int scene_make_switches(struct scene_maker *maker)
{
	struct scene *scene = maker->scene;
	const json_t *switches = scene_rows(scene, "switches");
	size_t links = json_array_size(scene_rows(scene, "links"));
	const json_t *row;
	size_t room = 2 * links + 1;
	size_t i;

	json_array_foreach(switches, i, row)
	{
		const struct known_switch *known =
			book_find(maker->book, json_integer_value(json_object_get(row, "id")));

		room += known ? known->port_count : 0;
	}
	maker->room = (uint32_t)room;
	scene->names = malloc(room * sizeof(*scene->names));
	scene->model.ports = calloc(room, sizeof(*scene->model.ports));
	scene->model.switches =
		calloc(json_array_size(switches) + 1, sizeof(*scene->model.switches));
	scene->waits = calloc(json_array_size(switches) + 1, sizeof(*scene->waits));
	scene->twins = calloc(json_array_size(switches) + 1, sizeof(*scene->twins));
	scene->lacks = calloc(json_array_size(switches) + 1, sizeof(*scene->lacks));
	scene->observed = calloc(room, sizeof(port_state));
	scene->applied = calloc(room, sizeof(port_state));
	scene->intent_of = calloc(room, sizeof(*scene->intent_of));
	if (!scene->names || !scene->waits || !scene->model.ports || !scene->model.switches ||
	    !scene->twins || !scene->lacks || !scene->observed || !scene->applied ||
	    !scene->intent_of)
		return -ENOMEM;
	json_array_foreach(switches, i, row)
	{
		int rc;

		if (json_integer_value(json_object_get(row, "fabric")) != scene->fabric_id)
			continue;
		rc = make_switch(maker, row, scene->model.switch_count);
		if (rc)
			return rc;
		scene->model.switch_count++;
	}
	return hold_twins(maker);
}

/* --- links --- */

static uint32_t carrier_of(struct scene *scene, uint32_t port)
{
	uint32_t carrier = port == MODEL_NONE ? MODEL_NONE : scene->model.ports[port].carrier;

	if (carrier != port && port != MODEL_NONE)
		scene->model.ports[port].role = PORT_MEMBER;
	return carrier;
}

/* The ports at both ends of a link; MODEL_NONE: it is not ours. */
static void scene_switches_ends(const struct scene *scene, const json_t *link, uint32_t *ret_a,
				uint32_t *ret_b)
{
	*ret_a = scene_switches_find_port(scene, scene_number(link, "a_switch"),
					  scene_word(link, "a_port"));
	*ret_b = scene_switches_find_port(scene, scene_number(link, "b_switch"),
					  scene_word(link, "b_port"));
}

void scene_make_links(struct scene_maker *maker)
{
	struct scene *scene = maker->scene;
	struct fabric_port *ports = scene->model.ports;
	const json_t *link;
	size_t i;

	json_array_foreach(scene_rows(scene, "links"), i, link)
	{
		bool gone = strcmp(scene_word(link, "state"), "gone") == 0;
		uint32_t a;
		uint32_t b;

		scene_switches_ends(scene, link, &a, &b);
		if (gone && a != MODEL_NONE && ports[a].role == PORT_FOREIGN)
			ports[a].role = PORT_FORMER;
		if (gone && b != MODEL_NONE && ports[b].role == PORT_FOREIGN)
			ports[b].role = PORT_FORMER;
		if (strcmp(scene_word(link, "state"), "confirmed") != 0)
			continue;
		a = carrier_of(scene, a);
		b = carrier_of(scene, b);
		if (a == MODEL_NONE || b == MODEL_NONE) {
			/* The other end is nobody that we manage, or not shown: leave it. */
			if (a != MODEL_NONE)
				ports[a].held = true;
			if (b != MODEL_NONE)
				ports[b].held = true;
			continue;
		}
		ports[a].role = ports[b].role = PORT_UPLINK;
		ports[a].peer = b;
		ports[b].peer = a;
		if (!scene->observed[a])
			scene->observed[a] = scene->observed[b];
		if (!scene->observed[b])
			scene->observed[b] = scene->observed[a];
	}
}

static bool carries_ours(const struct scene *scene, uint32_t port)
{
	struct vlan_set ours = model_our_vlans(&scene->model);
	struct vlan_set all = {0};

	if (scene->observed[port])
		all = port_vlans_all(scene->observed[port]);
	all = vlan_set_intersection(&all, &ours);
	return !vlan_set_is_empty(&all);
}

static bool is_unread(const struct scene_maker *maker, uint32_t port)
{
	const struct fabric_model *model = &maker->scene->model;
	const struct known_switch *known =
		book_find(maker->book, model->switches[model->ports[port].at].id);

	return !known || !known->read;
}

/* Did both ends carry our VLANs when they were last read? Of a switch that was not read in this
 * life the other end tells. */
static bool was_set_by_us(const struct scene_maker *maker, uint32_t a, uint32_t b)
{
	port_state *observed = maker->scene->observed;

	if (!observed[a] && is_unread(maker, a))
		observed[a] = observed[b];
	if (!observed[b] && is_unread(maker, b))
		observed[b] = observed[a];
	return carries_ours(maker->scene, a) && carries_ours(maker->scene, b);
}

/* A cable that only one end still reports, or that an LLDP lie contradicts. Both ends carry our VLANs:
 * it was a link when we set them. It stays as it is, and none of its VLANs is changed. */
void scene_make_doubtful_links(const struct scene_maker *maker)
{
	struct scene *scene = maker->scene;
	struct fabric_port *ports = scene->model.ports;
	const json_t *link;
	size_t i;

	json_array_foreach(scene_rows(scene, "links"), i, link)
	{
		const char *state = scene_word(link, "state");
		uint32_t a;
		uint32_t b;

		scene_switches_ends(scene, link, &a, &b);
		if (a == MODEL_NONE || b == MODEL_NONE ||
		    (strcmp(state, "claimed") != 0 && strcmp(state, "conflict") != 0))
			continue;
		a = ports[a].carrier;
		b = ports[b].carrier;
		if (ports[a].role != PORT_FOREIGN || ports[b].role != PORT_FOREIGN ||
		    !was_set_by_us(maker, a, b))
			continue;
		ports[a].role = ports[b].role = PORT_UPLINK;
		ports[a].held = ports[b].held = true;
		ports[a].peer = b;
		ports[b].peer = a;
	}
}
