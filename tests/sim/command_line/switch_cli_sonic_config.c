/* CONFIG_DB of an emulated SONiC: as JSON, and back by the YANG models of its tables. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_sonic.h"

static const char *const link_words[] = {
	[CLI_LINK_NONE] = NULL,   [CLI_LINK_ACCESS] = "access", [CLI_LINK_TRUNK] = "trunk",
	[CLI_LINK_HYBRID] = NULL, [CLI_LINK_ROUTED] = "routed",
};

const char *sonic_port_name(const struct cli_session *session, unsigned number,
			    char ret[CLI_NAME_SIZE])
{
	return cli_port_print(&session->device->family->naming, number, false, ret);
}

unsigned sonic_port_find(const struct cli_session *session, const char *name)
{
	const struct cli_store *store = session->device->store;
	char text[CLI_NAME_SIZE];

	for (unsigned number = 1; number <= store->port_count; number++) {
		if (strcmp(sonic_port_name(session, number, text), name) == 0)
			return number;
	}
	return 0;
}

/* --- as JSON --- */

static void switch_cli_sonic_config_put(json_t *object, const char *key, const char *value)
{
	(void)json_object_set_new(object, key, json_string(value));
}

static json_t *port_json(const struct cli_port *port, unsigned number)
{
	json_t *row = json_object();
	char text[CLI_NAME_SIZE];

	switch_cli_sonic_config_put(row, "admin_status", port->is_shut ? "down" : "up");
	(void)text_format(text, sizeof(text), "Eth1/%u", number);
	switch_cli_sonic_config_put(row, "alias", text);
	if (port->description[0] != '\0')
		switch_cli_sonic_config_put(row, "description", port->description);
	(void)text_format(text, sizeof(text), "%u", number);
	switch_cli_sonic_config_put(row, "index", text);
	(void)text_format(text, sizeof(text), "%u,%u,%u,%u", number * 4 - 3, number * 4 - 2,
			  number * 4 - 1, number * 4);
	switch_cli_sonic_config_put(row, "lanes", text);
	if (link_words[port->link])
		switch_cli_sonic_config_put(row, "mode", link_words[port->link]);
	switch_cli_sonic_config_put(row, "mtu", "9100");
	switch_cli_sonic_config_put(row, "speed", "100000");
	return row;
}

static json_t *vlan_json(const struct cli_config *config, unsigned vid)
{
	json_t *row = json_object();
	char text[CLI_NAME_SIZE];

	if (config->names[vid][0] != '\0')
		switch_cli_sonic_config_put(row, "description", config->names[vid]);
	(void)text_format(text, sizeof(text), "%u", vid);
	switch_cli_sonic_config_put(row, "vlanid", text);
	return row;
}

static void switch_cli_sonic_config_add_member(json_t *members, const char *port, unsigned vid,
					       const char *mode)
{
	char key[CLI_NAME_SIZE];

	(void)text_format(key, sizeof(key), "Vlan%u|%.40s", vid, port);
	(void)json_object_set_new(members, key, json_pack("{s:s}", "tagging_mode", mode));
}

/* A table without rows is not there. */
static void add_table(json_t *db, const char *name, json_t *table)
{
	if (json_object_size(table) > 0)
		(void)json_object_set(db, name, table);
	json_decref(table);
}

json_t *sonic_config_json(const struct cli_session *session, const struct cli_config *config)
{
	json_t *db = json_object();
	json_t *ports = json_object();
	json_t *vlans = json_object();
	json_t *members = json_object();

	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		const struct cli_port *port = &config->ports[number];
		char name[CLI_NAME_SIZE];

		(void)sonic_port_name(session, number, name);
		(void)json_object_set_new(ports, name, port_json(port, number));
		if (port->access != 0)
			switch_cli_sonic_config_add_member(members, name, port->access, "untagged");
		for (unsigned vid = vlan_set_next(&port->allowed, 1); vid;
		     vid = vlan_set_next(&port->allowed, vid + 1))
			switch_cli_sonic_config_add_member(members, name, vid, "tagged");
	}
	for (unsigned vid = vlan_set_next(&config->vlans, 2); vid;
	     vid = vlan_set_next(&config->vlans, vid + 1)) {
		char name[CLI_NAME_SIZE];

		(void)text_format(name, sizeof(name), "Vlan%u", vid);
		(void)json_object_set_new(vlans, name, vlan_json(config, vid));
	}
	(void)json_object_set_new(db, "DEVICE_METADATA",
				  json_pack("{s:{s:s,s:s,s:s,s:s,s:s}}", "localhost", "hostname",
					    session->device->hostname, "hwsku", "Accton-AS7326-56X",
					    "mac", "52:54:00:10:00:01", "platform",
					    "x86_64-accton_as7326_56x-r0", "type", "ToRRouter"));
	add_table(db, "PORT", ports);
	add_table(db, "VLAN", vlans);
	add_table(db, "VLAN_MEMBER", members);
	return db;
}

void sonic_config_text(const struct cli_session *session, const struct cli_config *config,
		       struct text *out)
{
	json_t *db = sonic_config_json(session, config);
	char *text = json_dumps(db, JSON_INDENT(4) | JSON_SORT_KEYS);

	text_addf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(db);
}

/* --- back, by the YANG models --- */

static bool switch_cli_sonic_config_refuse(struct text *why, const char *text)
{
	text_addf(why, "Data Loading Failed\n%s", text);
	return false;
}

/* "Vlan100": 100; 0 for what is none. */
static unsigned switch_cli_sonic_config_vlan_of(const char *name)
{
	unsigned long vid;
	char *end;

	if (strncmp(name, "Vlan", 4) != 0 || name[4] < '1' || name[4] > '9')
		return 0;
	vid = strtoul(name + 4, &end, 10);
	return *end == '\0' && vid >= 2 && vid <= VLAN_LAST ? (unsigned)vid : 0;
}

static bool switch_cli_sonic_config_read_vlan(const char *name, const json_t *row,
					      struct cli_config *config, struct text *why)
{
	const char *vlanid = json_string_value(json_object_get(row, "vlanid"));
	const char *description = json_string_value(json_object_get(row, "description"));
	unsigned vid = switch_cli_sonic_config_vlan_of(name);

	if (vid == 0) {
		text_addf(why,
			  "Data Loading Failed\nValue \"%s\" does not satisfy the constraint "
			  "\"Vlan(409[0-5]|40[0-8][0-9]|[1-3][0-9]{3}|[1-9][0-9]{2}|[1-9][0-9]|"
			  "[2-9])\" (range, length, or pattern).",
			  name);
		return false;
	}
	if (vlanid && strcmp(vlanid, name + 4) != 0)
		return switch_cli_sonic_config_refuse(
			why, "The vlanid must correspond to the VLAN name");
	vlan_set_add(&config->vlans, vid);
	(void)text_copy(config->names[vid], sizeof(config->names[vid]),
			description ? description : "");
	return true;
}

static bool read_member(const struct cli_session *session, const char *key, const json_t *row,
			struct cli_config *config, struct text *why)
{
	const char *mode = json_string_value(json_object_get(row, "tagging_mode"));
	const char *bar = strchr(key, '|');
	char name[CLI_NAME_SIZE];
	struct cli_port *port;
	unsigned vid;
	unsigned number;

	if (!bar || !text_format(name, sizeof(name), "%.*s", (int)(bar - key), key))
		return switch_cli_sonic_config_refuse(
			why, "Missing required element \"port\" in \"VLAN_MEMBER_LIST\".");
	vid = switch_cli_sonic_config_vlan_of(name);
	number = sonic_port_find(session, bar + 1);
	if (vid == 0 || !vlan_set_has(&config->vlans, vid)) {
		text_addf(why,
			  "Data Loading Failed\nLeafref \"/sonic-vlan:sonic-vlan/sonic-vlan:VLAN/"
			  "sonic-vlan:VLAN_LIST/sonic-vlan:name\" of value \"%s\" points to a "
			  "non-existing leaf.",
			  name);
		return false;
	}
	if (number == 0) {
		text_addf(why,
			  "Data Loading Failed\nLeafref \"/sonic-port:sonic-port/sonic-port:PORT/"
			  "sonic-port:PORT_LIST/sonic-port:name\" of value \"%s\" points to a "
			  "non-existing leaf.",
			  bar + 1);
		return false;
	}
	if (!mode)
		return switch_cli_sonic_config_refuse(
			why, "Missing required element \"tagging_mode\" in "
			     "\"VLAN_MEMBER_LIST\".");
	port = &config->ports[number];
	if (strcmp(mode, "tagged") == 0) {
		vlan_set_add(&port->allowed, vid);
		return true;
	}
	if (strcmp(mode, "untagged") != 0)
		return switch_cli_sonic_config_refuse(why,
						      "Invalid value in \"tagging_mode\" element.");
	if (port->access != 0)
		return switch_cli_sonic_config_refuse(why,
						      "Port can be untagged in at most one VLAN.");
	port->access = (uint16_t)vid;
	return true;
}

static bool switch_cli_sonic_config_read_port(const char *name, const json_t *row,
					      struct cli_port *port, struct text *why)
{
	const char *status = json_string_value(json_object_get(row, "admin_status"));
	const char *mode = json_string_value(json_object_get(row, "mode"));
	const char *description = json_string_value(json_object_get(row, "description"));

	if (!json_string_value(json_object_get(row, "lanes"))) {
		text_addf(why,
			  "Data Loading Failed\nMissing required element \"lanes\" in "
			  "\"PORT_LIST\". (path: /sonic-port:sonic-port/PORT/PORT_LIST[name='%s'])",
			  name);
		return false;
	}
	port->is_shut = !status || strcmp(status, "up") != 0;
	(void)text_copy(port->description, sizeof(port->description),
			description ? description : "");
	port->link = CLI_LINK_NONE;
	for (size_t i = 0; mode && i < COUNT_OF(link_words); i++) {
		if (link_words[i] && strcmp(link_words[i], mode) == 0)
			port->link = (enum cli_link)i;
	}
	return !mode || port->link != CLI_LINK_NONE ||
	       switch_cli_sonic_config_refuse(why, "Invalid value in \"mode\" element.");
}

bool sonic_config_read(const struct cli_session *session, const json_t *db, struct cli_config *ret,
		       struct text *why)
{
	json_t *ports = json_object_get(db, "PORT");
	json_t *row;
	const char *key;

	for (unsigned number = 1; number <= session->device->store->port_count; number++) {
		struct cli_port *port = &ret->ports[number];
		char name[CLI_NAME_SIZE];

		row = json_object_get(ports, sonic_port_name(session, number, name));
		if (!row)
			return switch_cli_sonic_config_refuse(why, "PORT rows are the platform's");
		port->access = 0;
		port->allowed = (struct vlan_set){{0}};
		if (!switch_cli_sonic_config_read_port(name, row, port, why))
			return false;
	}
	ret->vlans = (struct vlan_set){{0}};
	vlan_set_add(&ret->vlans, 1);
	memset(ret->names, 0, sizeof(ret->names));
	json_object_foreach(json_object_get(db, "VLAN"), key, row)
	{
		if (!switch_cli_sonic_config_read_vlan(key, row, ret, why))
			return false;
	}
	json_object_foreach(json_object_get(db, "VLAN_MEMBER"), key, row)
	{
		if (!read_member(session, key, row, ret, why))
			return false;
	}
	return true;
}
