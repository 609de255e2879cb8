/* What Open vSwitch says of itself: ports with their VLANs, spanning tree, bonds. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_ovs_private.h"

LEAKS_LEFT_TO_SANITIZER

#define LOCAL_OFPORT 65534

void switch_plane_done(struct switch_plane *plane)
{
	free(plane->ports);
	*plane = (struct switch_plane){0};
}

/* --- values of OVSDB: an atom stands for a set of one --- */

/* The i-th element of what may be an atom, an empty set, or ["set", [...]]; NULL past its end. */
static json_t *switch_ovs_read_element(json_t *value, size_t i)
{
	const char *word = json_string_value(json_array_get(value, 0));

	if (word && strcmp(word, "set") == 0)
		return json_array_get(json_array_get(value, 1), i);
	return i == 0 ? value : NULL;
}

json_int_t switch_ovs_integer(json_t *row, const char *column, json_int_t none)
{
	json_t *value = switch_ovs_read_element(json_object_get(row, column), 0);

	return json_is_integer(value) ? json_integer_value(value) : none;
}

static const char *string_of(json_t *row, const char *column)
{
	const char *value =
		json_string_value(switch_ovs_read_element(json_object_get(row, column), 0));

	return value ? value : "";
}

static const char *map_value(json_t *row, const char *column, const char *key)
{
	json_t *pairs = json_array_get(json_object_get(row, column), 1);
	json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
	{
		const char *name = json_string_value(json_array_get(pair, 0));
		const char *value = json_string_value(json_array_get(pair, 1));

		if (name && value && strcmp(name, key) == 0)
			return value;
	}
	return "";
}

static const char *switch_ovs_read_uuid_of(json_t *value)
{
	const char *uuid = json_string_value(json_array_get(value, 1));

	return uuid ? uuid : "";
}

/* --- reading --- */

static struct switch_tagging switch_ovs_read_tagging_of(json_t *port)
{
	struct switch_tagging tagging = {.mode = SWITCH_TRUNK};
	json_int_t tag = switch_ovs_integer(port, "tag", -1);
	const char *mode = string_of(port, "vlan_mode");
	json_t *trunks = json_object_get(port, "trunks");
	json_t *vid;
	size_t count = 0;

	for (unsigned i = 0; i < COUNT_OF(switch_mode_words); i++) {
		if (strcmp(mode, switch_mode_words[i]) == 0)
			tagging.mode = (enum switch_mode)i;
	}
	if (mode[0] == '\0' && tag >= 0)
		tagging.mode = SWITCH_ACCESS;
	tagging.tag = tag >= 0 && tag < 4096 ? (uint16_t)tag : 0;
	if (tagging.mode == SWITCH_ACCESS)
		return tagging;
	for (; (vid = switch_ovs_read_element(trunks, count)) != NULL && json_is_integer(vid);
	     count++) {
		json_int_t number = json_integer_value(vid);

		if (number >= 0 && number < 4096)
			tagging.trunks[number / 8] =
				(uint8_t)(tagging.trunks[number / 8] | (1U << (number % 8)));
	}
	if (count == 0) /* no list is every VLAN */
		memset(tagging.trunks, 0xff, sizeof(tagging.trunks));
	return tagging;
}

static uint8_t stp_state_of(json_t *port, bool linked)
{
	static const struct {
		const char *word;
		uint8_t state;
	} states[] = {{"Disabled", 1}, {"Discarding", 2}, {"Learning", 4}, {"Forwarding", 5}};
	const char *word = map_value(port, "rstp_status", "rstp_port_state");

	for (size_t i = 0; i < COUNT_OF(states); i++) {
		if (strcmp(states[i].word, word) == 0)
			return states[i].state;
	}
	return linked ? 5 : 1;
}

static json_t *switch_ovs_read_interface_of(json_t *interfaces, json_t *port)
{
	const char *wanted = switch_ovs_read_uuid_of(
		switch_ovs_read_element(json_object_get(port, "interfaces"), 0));
	json_t *row;
	size_t i;

	json_array_foreach(interfaces, i, row)
	{
		if (strcmp(switch_ovs_read_uuid_of(json_object_get(row, "_uuid")), wanted) == 0)
			return row;
	}
	return NULL;
}

static int switch_ovs_read_compare_ports(const void *a, const void *b)
{
	uint32_t x = ((const struct switch_plane_port *)a)->number;
	uint32_t y = ((const struct switch_plane_port *)b)->number;

	return x < y ? -1 : x > y;
}

static void plane_add(const struct switch_ovs *ovs, struct switch_plane *plane, json_t *port,
		      json_t *interface)
{
	struct switch_plane_port *at = &plane->ports[plane->port_count];
	json_int_t number = switch_ovs_integer(interface, "ofport", -1);
	struct mac mac = {{0}};

	if (mac_parse(string_of(interface, "mac_in_use"), &mac) != 0)
		mac = (struct mac){{0}};
	if (strcmp(string_of(port, "name"), ovs->bridge) == 0)
		plane->mac = mac;
	if (number < 1 || number > (json_int_t)SWITCH_PORT_MAX || number == LOCAL_OFPORT ||
	    strcmp(string_of(interface, "type"), "erspan") == 0) /* a session's, no socket */
		return;
	*at = (struct switch_plane_port){
		.number = (uint32_t)number,
		.if_index = (uint32_t)switch_ovs_integer(interface, "ifindex", 0),
		.mac = mac,
		.enabled = strcmp(string_of(interface, "admin_state"), "up") == 0,
		.linked = strcmp(string_of(interface, "link_state"), "up") == 0,
		.tagging = switch_ovs_read_tagging_of(port),
		.bond = switch_ovs_read_element(json_object_get(port, "interfaces"), 1) != NULL,
	};
	at->stp_state = stp_state_of(port, at->linked);
	if (text_copy(at->name, sizeof(at->name), string_of(port, "name")))
		plane->port_count++;
}

/* Whether one of the bridge's ports; another bridge of the same switch is what routes. */
static bool is_here(json_t *bridge, json_t *port)
{
	json_t *ports = json_object_get(bridge, "ports");
	json_t *one;

	for (size_t i = 0; (one = switch_ovs_read_element(ports, i)) != NULL; i++) {
		if (strcmp(switch_ovs_read_uuid_of(one),
			   switch_ovs_read_uuid_of(json_object_get(port, "_uuid"))) == 0)
			return true;
	}
	return false;
}

int switch_ovs_read(struct switch_ovs *ovs, struct switch_plane *ret)
{
	struct switch_plane plane = {0};
	json_t *bridge;
	json_t *ports;
	json_t *interfaces;
	json_t *row;
	json_t *answer = NULL;
	size_t i;
	int rc = switch_rpc_call(
		&ovs->database, "transact",
		json_pack("[s,{s:s,s:s,s:[],s:[s,s,s,s,s,s,s]},{s:s,s:s,s:[],s:[s,s,s,s,s,s,s]},"
			  "{s:s,s:s,s:[[s,s,s]],s:[s]}]",
			  "Open_vSwitch", "op", "select", "table", "Port", "where", "columns",
			  "_uuid", "name", "interfaces", "tag", "trunks", "vlan_mode",
			  "rstp_status", "op", "select", "table", "Interface", "where", "columns",
			  "_uuid", "ofport", "ifindex", "admin_state", "link_state", "mac_in_use",
			  "type", "op", "select", "table", "Bridge", "where", "name",
			  "==", ovs->bridge, "columns", "ports"),
		&answer);

	if (rc != 0)
		return rc;
	ports = json_object_get(json_array_get(answer, 0), "rows");
	interfaces = json_object_get(json_array_get(answer, 1), "rows");
	bridge = json_array_get(json_object_get(json_array_get(answer, 2), "rows"), 0);
	plane.ports = calloc(json_array_size(ports) + 1, sizeof(*plane.ports));
	if (!ports || !interfaces || !plane.ports) {
		json_decref(answer);
		free(plane.ports);
		return E_PROTOCOL;
	}
	json_array_foreach(ports, i, row)
	{
		json_t *interface = switch_ovs_read_interface_of(interfaces, row);

		if (interface && is_here(bridge, row))
			plane_add(ovs, &plane, row, interface);
	}
	qsort(plane.ports, plane.port_count, sizeof(*plane.ports), switch_ovs_read_compare_ports);
	json_decref(answer);
	*ret = plane;
	return 0;
}

/* --- spanning tree and bonds --- */

/* "8.000.525400000001" (lib/rstp.h, RSTP_ID_FMT): priority, extension, MAC. */
static bool bridge_id_of(const char *text, uint8_t ret[8])
{
	unsigned long long mac = 0;
	unsigned priority = 0;
	unsigned extension = 0;

	// NOLINTNEXTLINE(cert-err34-c): the widths bound the numbers
	if (sscanf(text, "%1x.%3x.%12llx", &priority, &extension, &mac) != 3)
		return false;
	ret[0] = (uint8_t)(priority << 4 | extension >> 8);
	ret[1] = (uint8_t)extension;
	for (unsigned i = 0; i < 6; i++)
		ret[2 + i] = (uint8_t)(mac >> (8 * (5 - i)));
	return true;
}

static void take_tree(const struct switch_ovs *ovs, json_t *bridges, json_t *ports,
		      json_t *interfaces, struct switch_plane_health *health)
{
	json_t *row;
	size_t i;

	json_array_foreach(bridges, i, row)
	{
		if (strcmp(string_of(row, "name"), ovs->bridge) != 0)
			continue;
		health->rstp =
			bridge_id_of(map_value(row, "rstp_status", "rstp_bridge_id"),
				     health->bridge) &&
			bridge_id_of(map_value(row, "rstp_status", "rstp_root_id"), health->root);
		health->root_cost = (uint32_t)strtoul(
			map_value(row, "rstp_status", "rstp_root_path_cost"), NULL, 10);
	}
	json_array_foreach(ports, i, row)
	{
		json_t *interface = switch_ovs_read_interface_of(interfaces, row);
		uint32_t number =
			interface ? (uint32_t)switch_ovs_integer(interface, "ofport", 0) : 0;

		if (!health->rstp || !number || health->port_count == COUNT_OF(health->ports) ||
		    !bridge_id_of(map_value(row, "rstp_status", "rstp_designated_bridge_id"),
				  health->ports[health->port_count].designated))
			continue;
		health->ports[health->port_count++].number = number;
		if (strcmp(map_value(row, "rstp_status", "rstp_port_role"), "Root") == 0)
			health->root_port = number;
	}
}

static uint8_t lacp_state_of(const char *words)
{
	/* LacpState in the order of its bits; Open vSwitch's words. */
	static const char *const bits[] = {"activity",     "timeout",    "aggregation",
					   "synchronized", "collecting", "distributing",
					   "defaulted",    "expired"};
	size_t length = strcspn(words, "\n");
	uint8_t state = 0;

	for (unsigned i = 0; i < COUNT_OF(bits); i++) {
		const char *found = strstr(words, bits[i]);

		if (found && (size_t)(found - words) < length)
			state |= (uint8_t)(0x80U >> i);
	}
	return state;
}

static const char *line_of(const char *block, const char *head)
{
	const char *found = strstr(block, head);

	return found ? found + strlen(head) : "";
}

/* `ovs-appctl lacp/show`: a block for each member. */
static void switch_ovs_read_take_members(const char *shown, json_t *interfaces,
					 struct switch_plane_health *health)
{
	uint32_t lag = 1000000;
	char *copy = strdup(shown);
	char *at = copy;

	while (at && (at = strstr(at, "\nmember: ")) != NULL &&
	       health->member_count < COUNT_OF(health->members)) {
		char *block = at + strlen("\nmember: ");
		char *next = strstr(block, "\nmember: ");
		char *bond = strstr(block, "\n---- ");
		size_t name = strcspn(block, ":");
		struct mac partner = {{0}};
		char system[18] = "";
		json_t *row;
		size_t i;

		if (next)
			*next = '\0';
		json_array_foreach(interfaces, i, row)
		{
			const char *word = string_of(row, "name");

			if (strlen(word) != name || strncmp(word, block, name) != 0)
				continue;
			(void)text_format(system, sizeof(system), "%.17s",
					  line_of(block, "partner sys_id: "));
			if (mac_parse(system, &partner) != 0)
				partner = (struct mac){{0}};
			health->members[health->member_count].if_index =
				(uint32_t)switch_ovs_integer(row, "ifindex", 0);
			health->members[health->member_count].lag = lag;
			health->members[health->member_count].actor =
				lacp_state_of(line_of(block, "actor state: "));
			health->members[health->member_count].partner =
				lacp_state_of(line_of(block, "partner state: "));
			memcpy(health->members[health->member_count].partner_system, partner.bytes,
			       6);
			health->member_count++;
		}
		if (next)
			*next = '\n';
		lag += bond && (!next || bond < next);
		at = next;
	}
	free(copy);
}

int switch_ovs_health(struct switch_ovs *ovs, struct switch_plane_health *ret)
{
	struct switch_plane_health health = {0};
	json_t *answer = NULL;
	json_t *shown = NULL;
	json_t *interfaces;
	int rc = switch_rpc_call(
		&ovs->database, "transact",
		json_pack(
			"[s,{s:s,s:s,s:[],s:[s,s]},{s:s,s:s,s:[],s:[s,s]},{s:s,s:s,s:[],s:[s,s,s,s]}]",
			"Open_vSwitch", "op", "select", "table", "Bridge", "where", "columns",
			"name", "rstp_status", "op", "select", "table", "Port", "where", "columns",
			"interfaces", "rstp_status", "op", "select", "table", "Interface", "where",
			"columns", "_uuid", "name", "ofport", "ifindex"),
		&answer);

	if (rc != 0)
		return rc;
	interfaces = json_object_get(json_array_get(answer, 2), "rows");
	take_tree(ovs, json_object_get(json_array_get(answer, 0), "rows"),
		  json_object_get(json_array_get(answer, 1), "rows"), interfaces, &health);
	if (switch_rpc_call(&ovs->control, "lacp/show", json_array(), &shown) == 0 &&
	    json_is_string(shown))
		switch_ovs_read_take_members(json_string_value(shown), interfaces, &health);
	json_decref(shown);
	json_decref(answer);
	*ret = health;
	return 0;
}
