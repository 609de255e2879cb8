#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sorted.h"

#include "peregrine/control/reconcile/scene_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- networks --- */

static uint32_t network_at(const struct scene *scene, int64_t id)
{
	const struct fabric_network *networks = scene->model.networks;
	size_t count = scene->model.network_count;
	size_t at = SORTED_FIRST(i, 0, count, networks[i].id < id);

	return at < count && networks[at].id == id ? (uint32_t)at : MODEL_NONE;
}

/* Fabrics where it will be tagged. */
static bool scene_intent_is_meant(const struct scene *scene, const json_t *network)
{
	const json_t *fabrics = json_object_get(network, "meant");

	for (size_t i = 0; i < json_array_size(fabrics); i++) {
		if (json_integer_value(json_array_get(fabrics, i)) == scene->fabric_id)
			return true;
	}
	return false;
}

int scene_make_networks(struct scene *scene)
{
	const json_t *networks = scene_rows(scene, "networks");
	const json_t *vlans = scene_rows(scene, "vlans");
	size_t count = json_array_size(networks);
	const json_t *row;
	size_t i;

	scene->model.networks = calloc(count + 1, sizeof(*scene->model.networks));
	scene->gone = calloc(count + 1, sizeof(*scene->gone));
	scene->attached = calloc(count + 1, sizeof(*scene->attached));
	scene->meant = calloc(count + 1, sizeof(*scene->meant));
	scene->numbers = calloc(json_array_size(vlans) + 1, sizeof(*scene->numbers));
	// NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
	scene->waits_for = calloc(json_array_size(vlans) + 1, sizeof(*scene->waits_for));
	if (!scene->model.networks || !scene->gone || !scene->attached || !scene->meant ||
	    !scene->numbers || !scene->waits_for)
		return -ENOMEM;
	json_array_foreach(networks, i, row)
	{
		scene->model.networks[i] = (struct fabric_network){
			.id = json_integer_value(json_object_get(row, "id")),
			.tenant_id = json_integer_value(json_object_get(row, "tenant")),
			.name = json_string_value(json_object_get(row, "name")),
			.tenant = json_string_value(json_object_get(row, "tenant_name")),
		};
		scene->gone[i] = !json_is_true(json_object_get(row, "present"));
		scene->meant[i] = scene_intent_is_meant(scene, row);
	}
	scene->model.network_count = (uint32_t)count;
	json_array_foreach(vlans, i, row)
	{
		struct number_row *number_row = &scene->numbers[scene->pool.row_count];
		uint32_t network = network_at(scene, scene_number(row, "network"));

		if (scene_number(row, "fabric") != scene->fabric_id)
			continue;
		*number_row = (struct number_row){
			.vlan = (uint16_t)scene_number(row, "vlan"),
			.state = strcmp(scene_word(row, "state"), "used") == 0 ? NUMBER_USED
									       : NUMBER_RESTING,
			.network_id = scene_number(row, "network"),
			.until_ms = scene_number(row, "until_ms"),
		};
		scene->waits_for[scene->pool.row_count++] = json_object_get(row, "waits");
		if (number_row->state == NUMBER_USED && network != MODEL_NONE)
			scene->model.networks[network].vlan = number_row->vlan;
	}
	scene->pool.rows = scene->numbers;
	return 0;
}

/* --- intent --- */

static int take_applied(struct scene *scene, const json_t *row, struct scene_intent *intent)
{
	struct port_vlans vlans = {0};

	if (intent->applied_version == 0 || json_is_null(json_object_get(row, "trunk")))
		return 0;
	vlans.trunk = json_is_true(json_object_get(row, "trunk"));
	vlans.apart = json_is_true(json_object_get(row, "apart"));
	vlans.native = (uint16_t)scene_number(row, "native");
	if (vlan_set_parse(scene_word(row, "tagged"), &vlans.tagged))
		return E_MALFORMED;
	vlans = port_vlans_plain(&vlans);
	intent->applied = state_pool_add(&scene->states, &vlans, NULL);
	return intent->applied ? 0 : -ENOMEM;
}

/* Whoever is plugged in there may tell by LLDP what he likes, and two nodes of one tenant may tell
 * of each other's ports: a port that was given to nodes is no end of a link until it is released,
 * whatever the links' rows say. Its other end is left as it is. */
static void cut_link(struct fabric_model *model, uint32_t carrier)
{
	struct fabric_port *port = &model->ports[carrier];
	struct fabric_port *peer;

	if (port->role != PORT_UPLINK)
		return;
	peer = &model->ports[port->peer];
	if (peer->peer == carrier) {
		peer->role = PORT_FOREIGN;
		peer->peer = MODEL_NONE;
	}
	port->role = PORT_FOREIGN;
	port->peer = MODEL_NONE;
}

static void take_edge(struct scene_maker *maker, uint32_t i)
{
	struct scene *scene = maker->scene;
	struct scene_intent *intent = &scene->intents[i];
	struct fabric_port *port = &scene->model.ports[intent->port];
	const struct known_switch *known = book_find(maker->book, intent->switch_id);
	const struct known_port *memory = known ? known_port_named(known, port->name) : NULL;

	cut_link(&scene->model, intent->port);
	cut_link(&scene->model, port->carrier);
	port->role = PORT_EDGE;
	scene->intent_of[intent->port] = i;
	scene->applied[intent->port] = intent->applied;
	port->held = memory && memory->retry_ms > maker->now_ms &&
		     memory->retry_version == intent->wanted_version;
	if (port->carrier == intent->port)
		return;
	/* The aggregate is as its members; want_edges says when they differ. */
	scene->model.ports[port->carrier].role = PORT_EDGE;
	scene->model.ports[port->carrier].held |= port->held;
	scene->applied[port->carrier] = intent->applied;
}

int scene_make_intents(struct scene_maker *maker)
{
	struct scene *scene = maker->scene;
	const json_t *rows = scene_rows(scene, "ports");
	const json_t *row;
	size_t i;

	scene->intents = calloc(json_array_size(rows) + 1, sizeof(*scene->intents));
	if (!scene->intents)
		return -ENOMEM;
	json_array_foreach(rows, i, row)
	{
		struct scene_intent *intent = &scene->intents[scene->intent_count];
		uint32_t at = scene_switch_at(scene, scene_number(row, "switch"));
		int rc;

		if (at == MODEL_NONE)
			continue;
		*intent = (struct scene_intent){
			.switch_id = scene_number(row, "switch"),
			.switch_name = scene->model.switches[at].name,
			.port_name = scene_word(row, "port"),
			.port = scene_port_at(scene, at, scene_word(row, "port")),
			.wanted_version = scene_number(row, "wanted"),
			.applied_version = scene_number(row, "applied"),
			.problem = scene_word(row, "problem"),
			.bond = scene_word(row, "bond"),
			.stranger = MODEL_NONE,
		};
		rc = take_applied(scene, row, intent);
		if (rc)
			return rc;
		if (intent->port != MODEL_NONE)
			take_edge(maker, scene->intent_count);
		scene->intent_count++;
	}
	return 0;
}

static enum member_mode mode_of(const char *text)
{
	if (strcmp(text, "access") == 0)
		return MEMBER_ACCESS;
	return strcmp(text, "native") == 0 ? MEMBER_NATIVE : MEMBER_TAGGED;
}

/* Rows come by switch and port, so those of one port are side by side. */
int scene_make_members(struct scene *scene)
{
	struct fabric_model *model = &scene->model;
	const json_t *rows = scene_rows(scene, "attachments");
	const json_t *row;
	size_t i;

	model->members = calloc(json_array_size(rows) + 1, sizeof(*model->members));
	if (!model->members)
		return -ENOMEM;
	json_array_foreach(rows, i, row)
	{
		uint32_t at = scene_switch_at(scene, scene_number(row, "switch"));
		uint32_t network = network_at(scene, scene_number(row, "network"));
		uint32_t port;

		if (at == MODEL_NONE || network == MODEL_NONE)
			continue;
		scene->attached[network] = true;
		port = scene_port_at(scene, at, scene_word(row, "port"));
		if (port == MODEL_NONE)
			continue;
		if (json_is_true(json_object_get(row, "blocked"))) {
			model->ports[port].blocked = true;
			continue;
		}
		if (model->ports[port].member_count == 0)
			model->ports[port].first_member = model->member_count;
		model->ports[port].member_count++;
		model->members[model->member_count++] = (struct fabric_member){
			.network = network,
			.mode = mode_of(scene_word(row, "mode")),
			.apart = json_is_true(json_object_get(row, "apart"))};
	}
	for (uint32_t p = 0; p < model->port_count; p++) {
		uint32_t carrier = model->ports[p].carrier;

		if (carrier == p || model->ports[p].role != PORT_EDGE)
			continue;
		model->ports[carrier].first_member = model->ports[p].first_member;
		model->ports[carrier].member_count = model->ports[p].member_count;
	}
	return 0;
}

/* What of ours we set uplinks to carry, as it was read back then. */
int scene_make_uplinks(struct scene *scene)
{
	const json_t *row;
	size_t i;

	json_array_foreach(scene_rows(scene, "uplinks"), i, row)
	{
		uint32_t at = scene_switch_at(scene, scene_number(row, "switch"));
		uint32_t port = at == MODEL_NONE
					? MODEL_NONE
					: scene_port_at(scene, at, scene_word(row, "port"));
		struct port_vlans vlans = {.trunk = true};

		if (port == MODEL_NONE || scene->model.ports[port].role != PORT_UPLINK)
			continue;
		if (vlan_set_parse(scene_word(row, "tagged"), &vlans.tagged))
			return E_MALFORMED;
		scene->applied[port] = state_pool_add(&scene->states, &vlans, NULL);
		if (!scene->applied[port])
			return -ENOMEM;
	}
	return 0;
}

/* Which numbers of ours some port is in, or may be in until a change under way has ended. */
void scene_make_seen(struct scene *scene)
{
	struct vlan_set ours = model_our_vlans(&scene->model);

	for (uint32_t p = 0; p < scene->model.port_count; p++) {
		if (scene->observed[p])
			port_vlans_add_to(scene->observed[p], &scene->pool.seen);
	}
	scene->pool.seen = vlan_set_intersection(&scene->pool.seen, &ours);
	for (uint32_t s = 0; s < scene->model.switch_count; s++) {
		const struct fabric_switch *at = &scene->model.switches[s];
		struct vlan_set moving = vlan_set_intersection(&at->moving, &ours);

		scene->pool.seen = vlan_set_union(&scene->pool.seen, &moving);
		scene->pool.reserved = vlan_set_union(&scene->pool.reserved, &at->reserved);
		scene->pool.tables = vlan_set_union(&scene->pool.tables, &at->vlans);
	}
	scene->pool.tables = vlan_set_intersection(&scene->pool.tables, &ours);
}
