#include "peregrine/switch/netconf/netconf_config_wire.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/netconf/netconf_leaf_wire.h"

LEAKS_LEFT_TO_SANITIZER

int netconf_config_new(const struct netconf_dialect *dialect, struct netconf_config **ret)
{
	struct netconf_config *config = calloc(1, sizeof(*config));

	if (config)
		config->names = calloc(VLAN_LIMIT, sizeof(*config->names));
	if (!config || !config->names) {
		free(config);
		return -ENOMEM;
	}
	config->dialect = dialect;
	*ret = config;
	return 0;
}

void netconf_config_free(struct netconf_config *config)
{
	if (!config)
		return;
	free(config->ports);
	free(config->names);
	free(config);
}

static void netconf_config_wire_odd(struct netconf_config *config, const char *what,
				    const char *text)
{
	char line[64];

	netconf_leaf_line(line, sizeof(line), text);
	if (!config->odd++)
		text_format(config->odd_text, sizeof(config->odd_text), "%s: %s", what, line);
}

/* --- ports --- */

/* What follows `prefix` in a name, if that is the number of a port. */
static const char *netconf_config_wire_after(const char *text, const char *prefix)
{
	size_t size = strlen(prefix);

	return size && strncasecmp(text, prefix, size) == 0 && isdigit((unsigned char)text[size])
		       ? text + size
		       : NULL;
}

static bool has_kinds(const struct netconf_dialect *dialect)
{
	return dialect->kinds[0].ours != NULL;
}

/* `row`: the element, where it says the kind. *ret_rest: the number. */
static const struct netconf_port_kind *
netconf_config_wire_kind_of(const struct netconf_dialect *dialect, const char *row,
			    const char *text, const char **ret_rest)
{
	for (size_t i = 0; i < COUNT_OF(dialect->kinds) && dialect->kinds[i].ours; i++) {
		const struct netconf_port_kind *kind = &dialect->kinds[i];
		const char *rest = netconf_config_wire_after(text, kind->ours);

		if (!rest)
			rest = netconf_config_wire_after(text, kind->row);
		if (!rest)
			rest = netconf_config_wire_after(text, kind->model);
		if (!rest && row && strcmp(row, kind->row) == 0 && !*kind->model &&
		    isdigit((unsigned char)*text))
			rest = text;
		if (rest) {
			*ret_rest = rest;
			return kind;
		}
	}
	return NULL;
}

void netconf_port_name(const struct netconf_dialect *dialect, const char *row, const char *text,
		       char ret[64])
{
	const struct netconf_port_kind *kind;
	const char *rest = "";
	char room[64];

	netconf_leaf_line(room, sizeof(room), text);
	kind = netconf_config_wire_kind_of(dialect, row, room, &rest);
	if (kind)
		text_format(ret, 64, "%s%s", kind->ours, rest);
	else
		text_copy(ret, 64, has_kinds(dialect) ? "" : room);
}

struct netconf_port *netconf_config_port(const struct netconf_config *config, const char *name)
{
	char ours[64];

	netconf_port_name(config->dialect, NULL, name, ours);
	for (size_t i = 0; i < config->port_count && *name; i++) {
		struct netconf_port *port = &config->ports[i];

		if (strcasecmp(port->is.name, *ours ? ours : name) == 0)
			return port;
	}
	return NULL;
}

static struct netconf_port *port_keyed(const struct netconf_config *config, const char *key)
{
	for (size_t i = 0; i < config->port_count; i++) {
		if (strcmp(config->ports[i].key, key) == 0)
			return &config->ports[i];
	}
	return NULL;
}

static bool netconf_config_wire_is_aggregate(const char *name)
{
	static const char *const kinds[] = {"port-channel", "bridge-aggregation", "lag", "po"};

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (strncasecmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	}
	return false;
}

static struct netconf_port *port_new(struct netconf_config *config, const char *name,
				     const char *key)
{
	struct netconf_port *port;
	const char *rest;

	if (config->port_count == NETCONF_PORT_LIMIT) {
		config->failed = true;
		return NULL;
	}
	if (config->port_count == config->port_room) {
		size_t room = config->port_room ? config->port_room * 2 : 64;
		struct netconf_port *more = realloc(config->ports, room * sizeof(*more));

		if (!more) {
			config->failed = true;
			return NULL;
		}
		config->ports = more;
		config->port_room = room;
	}
	port = &config->ports[config->port_count++];
	*port = (struct netconf_port){
		.is = {.admin_up = true, .is_lag = netconf_config_wire_is_aggregate(name)}};
	text_copy(port->is.name, sizeof(port->is.name), name);
	text_copy(port->key, sizeof(port->key), key);
	port->kind = netconf_config_wire_kind_of(config->dialect, NULL, name, &rest);
	return port;
}

/* Text of a row's field; "" when it has none. */
static const char *netconf_config_wire_field(const xmlNode *node, const struct netconf_rows *rows,
					     enum netconf_field_kind kind,
					     char room[NETCONF_TEXT_LIMIT])
{
	for (size_t i = 0; i < COUNT_OF(rows->fields) && rows->fields[i].path; i++) {
		if (rows->fields[i].kind == kind)
			return netconf_text(netconf_find(node, rows->fields[i].path), room);
	}
	room[0] = '\0';
	return room;
}

/* How the model calls the port of a row. A path is "/System/.../PhysIf-list[id='eth1/3']". */
static const char *netconf_config_wire_key_of(const xmlNode *node, const struct netconf_rows *rows,
					      char room[NETCONF_TEXT_LIMIT])
{
	const char *key = netconf_config_wire_field(node, rows, FIELD_KEY, room);
	char *end;
	char *begin;

	if (*key)
		return key;
	(void)netconf_config_wire_field(node, rows, FIELD_KEY_QUOTED, room);
	end = strrchr(room, '\'');
	if (!end)
		return "";
	*end = '\0';
	begin = strrchr(room, '\'');
	return begin ? begin + 1 : "";
}

/* The port a row is about; new when it is the first to name it. */
static struct netconf_port *port_of_row(struct netconf_config *config, const xmlNode *node,
					const struct netconf_rows *rows)
{
	char key_room[NETCONF_TEXT_LIMIT];
	char name_room[NETCONF_TEXT_LIMIT];
	const char *key = netconf_config_wire_key_of(node, rows, key_room);
	const char *called = netconf_config_wire_field(node, rows, FIELD_NAME, name_room);
	struct netconf_port *port = *key && *called ? port_keyed(config, key) : NULL;
	char name[64];

	if (port)
		return port;
	if (*key && !*called && rows != &config->dialect->ports[0]) {
		/* Rows that know a number only are about ports that were named before. */
		port = port_keyed(config, key);
		if (port)
			return port;
	}
	netconf_port_name(config->dialect, (const char *)node->name, *called ? called : key, name);
	if (!*name || strlen(key) >= sizeof(port->key))
		return NULL;
	port = netconf_config_port(config, name);
	/* A name that only another model has is no port of this one's. */
	return port || !*key ? port : port_new(config, name, key);
}

static void netconf_config_wire_set_mode(struct netconf_port *port, const char *text)
{
	static const char *const access[] = {"access", "1", NULL};
	static const char *const trunk[] = {"trunk", "2", NULL};

	port->is_access = netconf_leaf_is_one_of(text, access);
	port->is_trunk = netconf_leaf_is_one_of(text, trunk);
}

/* What a field of one text says; lists and what is said by being there are elsewhere. */
static void netconf_config_wire_take_text(struct netconf_config *config, struct netconf_port *port,
					  enum netconf_field_kind kind, const char *text)
{
	switch ((int)kind) {
	case FIELD_INDEX: port->is.if_index = netconf_leaf_index(text); break;
	case FIELD_PORT_INDEX: port->port_index = netconf_leaf_index(text); break;
	case FIELD_ALIAS: netconf_leaf_line(port->is.alias, sizeof(port->is.alias), text); break;
	case FIELD_ADMIN: port->is.admin_up = netconf_leaf_is_up(text); break;
	case FIELD_UP: port->is.up = netconf_leaf_is_up(text); break;
	case FIELD_MAC:
		if (!netconf_leaf_mac(text, port->is.mac))
			netconf_config_wire_odd(config, "MAC of a port", text);
		break;
	case FIELD_SPEED: port->is.speed_bps = netconf_leaf_number(text); break;
	case FIELD_KBPS:
		port->is.speed_bps = netconf_leaf_number(text) % 1000000000000ULL * 1000;
		break;
	case FIELD_LAYER: port->is_routed = strcmp(text, "Layer2") != 0; break;
	case FIELD_MODE: netconf_config_wire_set_mode(port, text); break;
	case FIELD_ACCESS: port->access = netconf_leaf_vlan(config->dialect, text); break;
	case FIELD_NATIVE: port->native = netconf_leaf_vlan(config->dialect, text); break;
	case FIELD_LAG: netconf_leaf_line(port->lag, sizeof(port->lag), text); break;
	default: break;
	}
}

static void take_list(struct netconf_config *config, struct netconf_port *port, const xmlNode *node)
{
	char room[NETCONF_TEXT_LIMIT];

	for (; node; node = netconf_again(node)) {
		const char *text = netconf_text(node, room);

		port->has_list = true;
		if (netconf_leaf_list(text, &port->list))
			continue;
		/* What cannot be read may be everything. */
		vlan_set_add_range(&port->list, VLAN_FIRST, VLAN_LAST);
		netconf_config_wire_odd(config, "VLANs of a port", text);
	}
}

static void take_field(struct netconf_config *config, struct netconf_port *port,
		       enum netconf_field_kind kind, const xmlNode *node)
{
	char room[NETCONF_TEXT_LIMIT];

	switch ((int)kind) {
	case FIELD_SHUT: port->is.admin_up = false; break;
	case FIELD_IS_PORT: port->is_port = true; break;
	case FIELD_IS_ACCESS: port->is_access = true; break;
	case FIELD_IS_TRUNK: port->is_trunk = true; break;
	case FIELD_NONE: port->has_list = true; break;
	case FIELD_LIST: take_list(config, port, node); break;
	default: netconf_config_wire_take_text(config, port, kind, netconf_text(node, room)); break;
	}
}

struct walk {
	struct netconf_config *config;
	const struct netconf_rows *rows;
	struct switch_reading *reading;
	size_t room;
};

static bool on_port(void *context, const xmlNode *node)
{
	struct walk *walk = context;
	struct netconf_port *port = port_of_row(walk->config, node, walk->rows);

	for (size_t i = 0; port && i < COUNT_OF(walk->rows->fields) && walk->rows->fields[i].path;
	     i++) {
		const xmlNode *at = netconf_find(node, walk->rows->fields[i].path);

		if (at)
			take_field(walk->config, port, walk->rows->fields[i].kind, at);
	}
	return !walk->config->failed;
}

static bool on_vlan(void *context, const xmlNode *node)
{
	struct walk *walk = context;
	struct netconf_config *config = walk->config;
	char room[NETCONF_TEXT_LIMIT];
	const char *text = netconf_config_wire_field(node, walk->rows, FIELD_VLAN, room);
	uint16_t vlan = netconf_leaf_vlan(config->dialect, text);

	if (!vlan) {
		netconf_config_wire_odd(config, "number of a VLAN", text);
		return true;
	}
	vlan_set_add(&config->vlans, vlan);
	netconf_leaf_line(config->names[vlan], sizeof(config->names[vlan]),
			  netconf_config_wire_field(node, walk->rows, FIELD_NAME, room));
	return true;
}

static bool has_index(const struct netconf_config *config, uint32_t index, size_t before)
{
	for (size_t i = 0; i < before; i++) {
		if (config->ports[i].is.if_index == index)
			return true;
	}
	return false;
}

/* Models without ifIndex: the place in this answer is the number. One that is there twice would
 * make two ports one. */
static void number_ports(struct netconf_config *config)
{
	bool all = true;

	for (size_t i = 0; i < config->port_count && all; i++)
		all = config->ports[i].is.if_index &&
		      !has_index(config, config->ports[i].is.if_index, i);
	for (size_t i = 0; i < config->port_count && !all; i++) {
		config->ports[i].is.if_index = (uint32_t)i + 1;
		config->ports[i].is.index_made = true;
	}
}

/* Members know their aggregate by its name, ours or the model's, or the number in it; which port
 * that is shows once all are known. */
static void find_aggregates(struct netconf_config *config)
{
	for (size_t i = 0; i < config->port_count; i++) {
		struct netconf_port *port = &config->ports[i];
		char ours[64];

		netconf_port_name(config->dialect, NULL, port->lag, ours);
		for (size_t j = 0; port->lag[0] && j < config->port_count; j++) {
			const struct switch_port *other = &config->ports[j].is;
			size_t head = strcspn(other->name, "0123456789");

			if (strcasecmp(other->name, port->lag) == 0 ||
			    (*ours && strcasecmp(other->name, ours) == 0) ||
			    (other->is_lag && strcmp(other->name + head, port->lag) == 0))
				port->is.lag = other->if_index;
		}
	}
}

int netconf_config_read(struct netconf_config *config, const xmlNode *data)
{
	const struct netconf_dialect *dialect = config->dialect;
	struct walk walk = {.config = config, .rows = &dialect->vlans};

	(void)netconf_each(data, dialect->vlans.path, on_vlan, &walk);
	for (size_t i = 0; i < COUNT_OF(dialect->ports) && dialect->ports[i].path; i++) {
		walk.rows = &dialect->ports[i];
		(void)netconf_each(data, walk.rows->path, on_port, &walk);
	}
	if (config->failed)
		return config->port_count == NETCONF_PORT_LIMIT ? E_LIMIT : -ENOMEM;
	number_ports(config);
	find_aggregates(config);
	return config->port_count || !vlan_set_is_empty(&config->vlans) ? 0 : E_PROTOCOL;
}

bool netconf_port_vlans(const struct netconf_config *config, const struct netconf_port *port,
			struct port_vlans *ret)
{
	const struct netconf_dialect *dialect = config->dialect;
	struct port_vlans vlans = {.trunk = !port->is_access};

	if (port->is_routed || (!port->is_access && !port->is_trunk && !port->is_port))
		return false;
	if (port->is_access) {
		vlans.native = port->access ? port->access : 1;
		*ret = vlans;
		return true;
	}
	vlans.native = port->native ? port->native : dialect->native_default;
	vlans.tagged = port->list;
	/* Neither access nor trunk: what it will be it makes out with its neighbour. */
	if ((!port->has_list && dialect->list_default_all) || !port->is_trunk)
		vlan_set_add_range(&vlans.tagged, VLAN_FIRST, VLAN_LAST);
	if (dialect->native_in_list && !vlan_set_has(&vlans.tagged, vlans.native))
		vlans.native = 0;
	vlan_set_remove(&vlans.tagged, vlans.native);
	*ret = vlans;
	return true;
}

/* --- neighbours, MAC table, identity --- */

static void *netconf_config_wire_one_more(void *rows, size_t count, size_t *room, size_t size)
{
	void *more;

	if (count < *room)
		return rows;
	more = realloc(rows, (*room ? *room * 2 : 64) * size);
	if (more)
		*room = *room ? *room * 2 : 64;
	return more;
}

/* The port that a row of LLDP or the MAC table is about; NULL: none that we know. */
static const struct netconf_port *port_of_fact(const struct netconf_config *config,
					       const xmlNode *node, const struct netconf_rows *rows)
{
	char room[NETCONF_TEXT_LIMIT];
	const char *text = netconf_config_wire_field(node, rows, FIELD_KEY, room);
	uint32_t number;

	if (!*text)
		text = netconf_config_wire_field(node, rows, FIELD_NAME, room);
	if (*text)
		return netconf_config_port(config, text);
	number = netconf_leaf_index(netconf_config_wire_field(node, rows, FIELD_INDEX, room));
	for (size_t i = 0; number && i < config->port_count; i++) {
		if (config->ports[i].is.if_index == number)
			return &config->ports[i];
	}
	number = netconf_leaf_index(netconf_config_wire_field(node, rows, FIELD_PORT_INDEX, room));
	for (size_t i = 0; number && i < config->port_count; i++) {
		if (config->ports[i].port_index == number)
			return &config->ports[i];
	}
	return NULL;
}

/* Numbers of 802.1AB, or OpenConfig's words for them. */
static uint8_t subtype_of(const char *text, const char *const *words, size_t count, uint8_t mac,
			  uint8_t other, const char *id)
{
	uint64_t number = netconf_leaf_number(text);
	uint8_t bytes[6];

	if (number >= 1 && number <= 7)
		return (uint8_t)number;
	for (size_t i = 0; i < count; i++) {
		if (words[i] && strcasecmp(text, words[i]) == 0)
			return (uint8_t)i;
	}
	return netconf_leaf_mac(id, bytes) ? mac : other;
}

static uint8_t chassis_subtype(const char *text, const char *id)
{
	static const char *const words[] = {
		NULL,          "CHASSIS_COMPONENT", "INTERFACE_ALIAS", "PORT_COMPONENT",
		"MAC_ADDRESS", "NETWORK_ADDRESS",   "INTERFACE_NAME",  "LOCAL"};

	return subtype_of(text, words, COUNT_OF(words), 4, 7, id);
}

static uint8_t port_subtype(const char *text, const char *id)
{
	static const char *const words[] = {NULL,
					    "INTERFACE_ALIAS",
					    "PORT_COMPONENT",
					    "MAC_ADDRESS",
					    "NETWORK_ADDRESS",
					    "INTERFACE_NAME",
					    "AGENT_CIRCUIT_ID",
					    "LOCAL"};

	return subtype_of(text, words, COUNT_OF(words), 3, 5, id);
}

/* A MAC in the one way that we write them. */
static void copy_id(char *ret, size_t room, const char *text, bool is_mac)
{
	uint8_t mac[6];

	netconf_leaf_line(ret, room, text);
	if (is_mac && netconf_leaf_mac(text, mac))
		text_format(ret, room, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
			    mac[3], mac[4], mac[5]);
}

static bool on_neighbor(void *context, const xmlNode *node)
{
	struct walk *walk = context;
	struct switch_reading *reading = walk->reading;
	const struct netconf_port *port = port_of_fact(walk->config, node, walk->rows);
	char kind[NETCONF_TEXT_LIMIT];
	char room[NETCONF_TEXT_LIMIT];
	struct switch_neighbor *rows;
	struct switch_neighbor *row;
	const char *id;

	if (!port)
		return true;
	rows = reading->neighbor_count < NETCONF_ROW_LIMIT
		       ? netconf_config_wire_one_more(reading->neighbors, reading->neighbor_count,
						      &walk->room, sizeof(*rows))
		       : NULL;
	if (!rows) {
		walk->config->failed = true;
		return false;
	}
	reading->neighbors = rows;
	row = &rows[reading->neighbor_count++];
	*row = (struct switch_neighbor){.if_index = port->is.if_index};
	id = netconf_config_wire_field(node, walk->rows, FIELD_CHASSIS, room);
	row->chassis_subtype = chassis_subtype(
		netconf_config_wire_field(node, walk->rows, FIELD_CHASSIS_KIND, kind), id);
	copy_id(row->chassis, sizeof(row->chassis), id, row->chassis_subtype == 4);
	id = netconf_config_wire_field(node, walk->rows, FIELD_PORT, room);
	row->port_subtype = port_subtype(
		netconf_config_wire_field(node, walk->rows, FIELD_PORT_KIND, kind), id);
	copy_id(row->port, sizeof(row->port), id, row->port_subtype == 3);
	netconf_leaf_line(row->port_text, sizeof(row->port_text),
			  netconf_config_wire_field(node, walk->rows, FIELD_PORT_TEXT, room));
	netconf_leaf_line(row->system, sizeof(row->system),
			  netconf_config_wire_field(node, walk->rows, FIELD_SYSTEM, room));
	return true;
}

static bool on_fdb(void *context, const xmlNode *node)
{
	static const uint8_t nobody[6];
	struct walk *walk = context;
	struct switch_reading *reading = walk->reading;
	const struct netconf_port *port = port_of_fact(walk->config, node, walk->rows);
	struct switch_fdb_entry entry = {0};
	char room[NETCONF_TEXT_LIMIT];
	struct switch_fdb_entry *rows;
	const char *text = netconf_config_wire_field(node, walk->rows, FIELD_MAC, room);

	if (!netconf_leaf_mac(text, entry.mac) || memcmp(entry.mac, nobody, sizeof(nobody)) == 0) {
		netconf_config_wire_odd(walk->config, "MAC of the MAC table", text);
		return true;
	}
	if (!port) /* of the switch itself, of a tunnel */
		return true;
	entry.vlan =
		netconf_leaf_vlan(walk->config->dialect,
				  netconf_config_wire_field(node, walk->rows, FIELD_VLAN, room));
	entry.if_index = port->is.if_index;
	rows = reading->fdb_count < NETCONF_ROW_LIMIT
		       ? netconf_config_wire_one_more(reading->fdb, reading->fdb_count, &walk->room,
						      sizeof(*rows))
		       : NULL;
	if (!rows) {
		walk->config->failed = true;
		return false;
	}
	reading->fdb = rows;
	rows[reading->fdb_count++] = entry;
	return true;
}

static int netconf_config_wire_read_facts(struct netconf_config *config, const xmlNode *data,
					  const struct netconf_rows *rows, netconf_each_fn each,
					  struct switch_reading *reading)
{
	struct walk walk = {.config = config, .rows = rows, .reading = reading};

	(void)netconf_each(data, rows->path, each, &walk);
	return config->failed ? -ENOMEM : 0;
}

int netconf_read_neighbors(struct netconf_config *config, const xmlNode *data,
			   struct switch_reading *reading)
{
	return netconf_config_wire_read_facts(config, data, &config->dialect->neighbors,
					      on_neighbor, reading);
}

int netconf_read_fdb(struct netconf_config *config, const xmlNode *data,
		     struct switch_reading *reading)
{
	return netconf_config_wire_read_facts(config, data, &config->dialect->fdb, on_fdb, reading);
}

void netconf_read_identity(const struct netconf_dialect *dialect, const xmlNode *data,
			   struct switch_identity *ret)
{
	const xmlNode *node = netconf_find(data, dialect->identity.path);
	char room[NETCONF_TEXT_LIMIT];
	const char *object_id;
	uint64_t seconds;

	if (!node)
		return;
	netconf_leaf_line(ret->system, sizeof(ret->system),
			  netconf_config_wire_field(node, &dialect->identity, FIELD_SYSTEM, room));
	netconf_leaf_line(ret->text, sizeof(ret->text),
			  netconf_config_wire_field(node, &dialect->identity, FIELD_TEXT, room));
	object_id = netconf_config_wire_field(node, &dialect->identity, FIELD_OBJECT_ID, room);
	if (isdigit((unsigned char)*object_id))
		text_format(ret->object_id, sizeof(ret->object_id), ".%s", object_id);
	else
		netconf_leaf_line(ret->object_id, sizeof(ret->object_id), object_id);
	seconds = netconf_leaf_number(
		netconf_config_wire_field(node, &dialect->identity, FIELD_UPTIME_S, room));
	ret->uptime_ms = seconds <= UINT32_MAX ? seconds * 1000 : 0;
}
