#include "peregrine/control/reconcile/scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/control/driver/switch_family_table.h"

LEAKS_LEFT_TO_SANITIZER

/* Columns of the arrays of intent_store.c. */
enum { LINK_A, LINK_A_PORT, LINK_B, LINK_B_PORT, LINK_STATE };
enum { VLAN_FABRIC, VLAN_NUMBER, VLAN_NETWORK, VLAN_STATE, VLAN_UNTIL };
enum {
	PORT_SWITCH,
	PORT_NAME,
	PORT_WANTED,
	PORT_APPLIED,
	PORT_TRUNK,
	PORT_NATIVE,
	PORT_TAGGED,
	PORT_PROBLEM
};
enum { ATTACHED_SWITCH, ATTACHED_PORT, ATTACHED_NETWORK, ATTACHED_MODE };

struct maker {
	struct scene *scene;
	const struct switch_book *book;
	int64_t now_ms;
	uint32_t room; /* ports */
};

static const json_t *rows_of(const struct scene *scene, const char *key)
{
	return json_object_get(scene->rows, key);
}

static int64_t number(const json_t *row, size_t column)
{
	return json_integer_value(json_array_get(row, column));
}

static const char *word(const json_t *row, size_t column)
{
	const char *text = json_string_value(json_array_get(row, column));

	return text ? text : "";
}

/* --- switches and ports ---------------------------------------------- */

static uint32_t switch_at(const struct scene *scene, int64_t id)
{
	uint32_t low = 0;
	uint32_t high = scene->model.switch_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (scene->model.switches[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < scene->model.switch_count && scene->model.switches[low].id == id ? low
										      : MODEL_NONE;
}

static uint32_t port_at(const struct scene *scene, uint32_t at, const char *name)
{
	const struct fabric_switch *sw = &scene->model.switches[at];
	uint32_t low = sw->first_port;
	uint32_t high = sw->first_port + sw->port_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(scene->model.ports[middle].name, name);

		if (order == 0)
			return middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return MODEL_NONE;
}

static uint32_t find_port(const struct scene *scene, int64_t switch_id, const char *name)
{
	uint32_t at = switch_at(scene, switch_id);

	return at == MODEL_NONE ? MODEL_NONE : port_at(scene, at, name);
}

static uint32_t add_port(struct maker *maker, uint32_t at, const char *name)
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

static int read_ports(struct maker *maker, uint32_t at, const struct known_switch *known)
{
	struct scene *scene = maker->scene;
	uint32_t first = scene->model.switches[at].first_port;

	for (uint32_t k = 0; k < known->port_count; k++) {
		const struct known_port *port = &known->ports[k];
		uint32_t i = add_port(maker, at, port->name);

		scene->model.ports[i].up = port->up;
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

/* A switch that was not read in this life still forwards. Of it only the ends of its links are
 * known; what they carry is taken to be what the other ends do (want_peers). */
static void imagine_ports(struct maker *maker, uint32_t at)
{
	struct scene *scene = maker->scene;
	const json_t *links = rows_of(scene, "links");
	const json_t *link;
	size_t i;

	json_array_foreach(links, i, link)
	{
		for (size_t end = 0; end < 2; end++) {
			const char *name = word(link, end ? LINK_B_PORT : LINK_A_PORT);

			if (number(link, end ? LINK_B : LINK_A) != scene->model.switches[at].id ||
			    strcmp(word(link, LINK_STATE), "confirmed") != 0 ||
			    scene->model.port_count >= maker->room)
				continue;
			scene->model.ports[add_port(maker, at, name)].up = true;
		}
	}
}

static int by_port_name(const void *a, const void *b)
{
	return strcmp(((const struct fabric_port *)a)->name, ((const struct fabric_port *)b)->name);
}

/* What the family keeps for itself and what is outside of its range. An unknown family keeps
 * nothing. */
static struct vlan_set family_reserves(const char *name)
{
	const struct switch_family *family = name ? switch_family_find(name) : NULL;
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

static int make_switch(struct maker *maker, const json_t *row, uint32_t at)
{
	struct scene *scene = maker->scene;
	struct fabric_switch *sw = &scene->model.switches[at];
	const struct known_switch *known;
	int64_t id = json_integer_value(json_object_get(row, "id"));

	known = book_find(maker->book, id);
	*sw = (struct fabric_switch){
		.id = id,
		.name = json_string_value(json_object_get(row, "name")),
		.spine = json_is_true(json_object_get(row, "spine")),
		.held = !json_is_true(json_object_get(row, "managed")) || !known || !known->read ||
			known->stale || known->retry_ms > maker->now_ms,
		.reserved = family_reserves(json_string_value(json_object_get(row, "family"))),
		.first_port = scene->model.port_count,
	};
	if (known && known->read) {
		sw->vlans = known->vlans;
		return read_ports(maker, at, known);
	}
	imagine_ports(maker, at);
	qsort(&scene->model.ports[sw->first_port], sw->port_count, sizeof(*scene->model.ports),
	      by_port_name);
	for (uint32_t i = sw->first_port; i < sw->first_port + sw->port_count; i++)
		scene->model.ports[i].carrier = i;
	return 0;
}

/* In the order of `rows`, which is that of the ids. */
static int make_switches(struct maker *maker)
{
	struct scene *scene = maker->scene;
	const json_t *switches = rows_of(scene, "switches");
	size_t links = json_array_size(rows_of(scene, "links"));
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
	scene->observed = calloc(room, sizeof(port_state));
	scene->applied = calloc(room, sizeof(port_state));
	scene->intent_of = calloc(room, sizeof(*scene->intent_of));
	if (!scene->names || !scene->model.ports || !scene->model.switches || !scene->observed ||
	    !scene->applied || !scene->intent_of)
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
	return 0;
}

/* --- links ----------------------------------------------------------- */

static uint32_t carrier_of(struct scene *scene, uint32_t port)
{
	uint32_t carrier = port == MODEL_NONE ? MODEL_NONE : scene->model.ports[port].carrier;

	if (carrier != port && port != MODEL_NONE)
		scene->model.ports[port].role = PORT_MEMBER;
	return carrier;
}

static void make_links(struct maker *maker)
{
	struct scene *scene = maker->scene;
	struct fabric_port *ports = scene->model.ports;
	const json_t *link;
	size_t i;

	json_array_foreach(rows_of(scene, "links"), i, link)
	{
		uint32_t a = find_port(scene, number(link, LINK_A), word(link, LINK_A_PORT));
		uint32_t b = find_port(scene, number(link, LINK_B), word(link, LINK_B_PORT));
		bool gone = strcmp(word(link, LINK_STATE), "gone") == 0;

		if (gone && a != MODEL_NONE && ports[a].role == PORT_FOREIGN)
			ports[a].role = PORT_FORMER;
		if (gone && b != MODEL_NONE && ports[b].role == PORT_FOREIGN)
			ports[b].role = PORT_FORMER;
		if (strcmp(word(link, LINK_STATE), "confirmed") != 0)
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

/* A cable of which only one end still speaks, or that somebody lies about: where both ends carry
 * our VLANs it was a link when we set them. It goes on as it is, and nothing on it is changed. */
static void make_doubtful_links(struct scene *scene)
{
	struct fabric_port *ports = scene->model.ports;
	const json_t *link;
	size_t i;

	json_array_foreach(rows_of(scene, "links"), i, link)
	{
		uint32_t a = find_port(scene, number(link, LINK_A), word(link, LINK_A_PORT));
		uint32_t b = find_port(scene, number(link, LINK_B), word(link, LINK_B_PORT));
		const char *state = word(link, LINK_STATE);

		if (a == MODEL_NONE || b == MODEL_NONE ||
		    (strcmp(state, "claimed") != 0 && strcmp(state, "conflict") != 0))
			continue;
		a = ports[a].carrier;
		b = ports[b].carrier;
		if (ports[a].role != PORT_FOREIGN || ports[b].role != PORT_FOREIGN ||
		    !carries_ours(scene, a) || !carries_ours(scene, b))
			continue;
		ports[a].role = ports[b].role = PORT_UPLINK;
		ports[a].held = ports[b].held = true;
		ports[a].peer = b;
		ports[b].peer = a;
	}
}

/* --- networks -------------------------------------------------------- */

static uint32_t network_at(const struct scene *scene, int64_t id)
{
	uint32_t low = 0;
	uint32_t high = scene->model.network_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (scene->model.networks[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < scene->model.network_count && scene->model.networks[low].id == id ? low
										       : MODEL_NONE;
}

/* Fabrics where it will be tagged. */
static bool is_meant(const struct scene *scene, const json_t *network)
{
	const json_t *fabrics = json_object_get(network, "meant");

	for (size_t i = 0; i < json_array_size(fabrics); i++) {
		if (json_integer_value(json_array_get(fabrics, i)) == scene->fabric_id)
			return true;
	}
	return false;
}

static int make_networks(struct scene *scene)
{
	const json_t *networks = rows_of(scene, "networks");
	const json_t *vlans = rows_of(scene, "vlans");
	size_t count = json_array_size(networks);
	const json_t *row;
	size_t i;

	scene->model.networks = calloc(count + 1, sizeof(*scene->model.networks));
	scene->gone = calloc(count + 1, sizeof(*scene->gone));
	scene->attached = calloc(count + 1, sizeof(*scene->attached));
	scene->meant = calloc(count + 1, sizeof(*scene->meant));
	scene->numbers = calloc(json_array_size(vlans) + 1, sizeof(*scene->numbers));
	if (!scene->model.networks || !scene->gone || !scene->attached || !scene->meant ||
	    !scene->numbers)
		return -ENOMEM;
	json_array_foreach(networks, i, row)
	{
		scene->model.networks[i] = (struct fabric_network){
			.id = json_integer_value(json_object_get(row, "id")),
			.tenant_id = json_integer_value(json_object_get(row, "tenant")),
			.name = json_string_value(json_object_get(row, "name")),
		};
		scene->gone[i] = !json_is_true(json_object_get(row, "present"));
		scene->meant[i] = is_meant(scene, row);
	}
	scene->model.network_count = (uint32_t)count;
	json_array_foreach(vlans, i, row)
	{
		struct number_row *number_row = &scene->numbers[scene->pool.row_count];
		uint32_t network = network_at(scene, number(row, VLAN_NETWORK));

		if (number(row, VLAN_FABRIC) != scene->fabric_id)
			continue;
		*number_row = (struct number_row){
			.vlan = (uint16_t)number(row, VLAN_NUMBER),
			.state = strcmp(word(row, VLAN_STATE), "used") == 0 ? NUMBER_USED
									    : NUMBER_RESTING,
			.network_id = number(row, VLAN_NETWORK),
			.until_ms = number(row, VLAN_UNTIL),
		};
		scene->pool.row_count++;
		if (number_row->state == NUMBER_USED && network != MODEL_NONE)
			scene->model.networks[network].vlan = number_row->vlan;
	}
	scene->pool.rows = scene->numbers;
	return 0;
}

/* --- intent ---------------------------------------------------------- */

static int take_applied(struct scene *scene, const json_t *row, struct scene_intent *intent)
{
	struct port_vlans vlans = {0};

	if (intent->applied_version == 0 || json_is_null(json_array_get(row, PORT_TRUNK)))
		return 0;
	vlans.trunk = json_is_true(json_array_get(row, PORT_TRUNK));
	vlans.native = (uint16_t)number(row, PORT_NATIVE);
	if (vlan_set_parse(word(row, PORT_TAGGED), &vlans.tagged))
		return E_MALFORMED;
	vlans = port_vlans_plain(&vlans);
	intent->applied = state_pool_add(&scene->states, &vlans, NULL);
	return intent->applied ? 0 : -ENOMEM;
}

static void take_edge(struct maker *maker, uint32_t i)
{
	struct scene *scene = maker->scene;
	struct scene_intent *intent = &scene->intents[i];
	struct fabric_port *port = &scene->model.ports[intent->port];
	const struct known_switch *known = book_find(maker->book, intent->switch_id);
	const struct known_port *memory = known ? known_port_named(known, port->name) : NULL;

	/* Somebody plugged a switch into a port of ours: the link rules, the intent waits. */
	if (port->role == PORT_UPLINK || port->role == PORT_MEMBER)
		return;
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

static int make_intents(struct maker *maker)
{
	struct scene *scene = maker->scene;
	const json_t *rows = rows_of(scene, "ports");
	const json_t *row;
	size_t i;

	scene->intents = calloc(json_array_size(rows) + 1, sizeof(*scene->intents));
	if (!scene->intents)
		return -ENOMEM;
	json_array_foreach(rows, i, row)
	{
		struct scene_intent *intent = &scene->intents[scene->intent_count];
		uint32_t at = switch_at(scene, number(row, PORT_SWITCH));
		int rc;

		if (at == MODEL_NONE)
			continue;
		*intent = (struct scene_intent){
			.switch_id = number(row, PORT_SWITCH),
			.switch_name = scene->model.switches[at].name,
			.port_name = word(row, PORT_NAME),
			.port = port_at(scene, at, word(row, PORT_NAME)),
			.wanted_version = number(row, PORT_WANTED),
			.applied_version = number(row, PORT_APPLIED),
			.problem = word(row, PORT_PROBLEM),
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
static int make_members(struct scene *scene)
{
	struct fabric_model *model = &scene->model;
	const json_t *rows = rows_of(scene, "attachments");
	const json_t *row;
	size_t i;

	model->members = calloc(json_array_size(rows) + 1, sizeof(*model->members));
	if (!model->members)
		return -ENOMEM;
	json_array_foreach(rows, i, row)
	{
		uint32_t at = switch_at(scene, number(row, ATTACHED_SWITCH));
		uint32_t network = network_at(scene, number(row, ATTACHED_NETWORK));
		uint32_t port;

		if (at == MODEL_NONE || network == MODEL_NONE)
			continue;
		scene->attached[network] = true;
		port = port_at(scene, at, word(row, ATTACHED_PORT));
		if (port == MODEL_NONE)
			continue;
		if (model->ports[port].member_count == 0)
			model->ports[port].first_member = model->member_count;
		model->ports[port].member_count++;
		model->members[model->member_count++] = (struct fabric_member){
			.network = network, .mode = mode_of(word(row, ATTACHED_MODE))};
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

/* Which numbers of ours some port is in. */
static void make_seen(struct scene *scene)
{
	struct vlan_set ours = model_our_vlans(&scene->model);

	for (uint32_t p = 0; p < scene->model.port_count; p++) {
		struct vlan_set all;

		if (!scene->observed[p])
			continue;
		all = port_vlans_all(scene->observed[p]);
		scene->pool.seen = vlan_set_union(&scene->pool.seen, &all);
	}
	scene->pool.seen = vlan_set_intersection(&scene->pool.seen, &ours);
	for (uint32_t s = 0; s < scene->model.switch_count; s++) {
		const struct fabric_switch *at = &scene->model.switches[s];

		scene->pool.reserved = vlan_set_union(&scene->pool.reserved, &at->reserved);
		scene->pool.tables = vlan_set_union(&scene->pool.tables, &at->vlans);
	}
	scene->pool.tables = vlan_set_intersection(&scene->pool.tables, &ours);
}

/* --- all ------------------------------------------------------------- */

static int make(struct maker *maker, const json_t *fabric)
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
	rc = make_switches(maker);
	if (rc == 0) {
		make_links(maker);
		rc = make_networks(scene);
	}
	if (rc == 0)
		rc = make_intents(maker);
	if (rc == 0)
		rc = make_members(scene);
	if (rc == 0) {
		make_doubtful_links(scene);
		make_seen(scene);
	}
	return rc;
}

int scene_make(json_t *rows, size_t fabric, const struct switch_book *book, int64_t now_ms,
	       struct scene *ret)
{
	struct scene scene = {.rows = json_incref(rows)};
	struct maker maker = {.scene = &scene, .book = book, .now_ms = now_ms};
	int rc = make(&maker, json_array_get(json_object_get(rows, "fabrics"), fabric));

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
	free(scene->intents);
	free(scene->numbers);
	free(scene->gone);
	free(scene->attached);
	free(scene->meant);
	state_pool_done(&scene->states);
	json_decref(scene->rows);
	*scene = (struct scene){0};
}
