#include <errno.h>
#include <jansson.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/sim/switch_ovs_private.h"

LEAKS_LEFT_TO_SANITIZER

#define FDB_MAX      65536
#define APPLIED_MS   2000
#define LOCAL_OFPORT 65534

void switch_plane_done(struct switch_plane *plane)
{
	free(plane->ports);
	*plane = (struct switch_plane){0};
}

int switch_ovs_new(const char *database, const char *control, const char *bridge,
		   struct switch_ovs **ret)
{
	struct switch_ovs *ovs = calloc(1, sizeof(*ovs));

	if (!ovs)
		return -ENOMEM;
	if (switch_rpc_init(&ovs->database, database) != 0 ||
	    switch_rpc_init(&ovs->control, control) != 0 ||
	    !text_copy(ovs->bridge, sizeof(ovs->bridge), bridge)) {
		free(ovs);
		return E_INVALID;
	}
	*ret = ovs;
	return 0;
}

void switch_ovs_free(struct switch_ovs *ovs)
{
	if (!ovs)
		return;
	switch_rpc_done(&ovs->database);
	switch_rpc_done(&ovs->control);
	free(ovs);
}

/* --- values of OVSDB: an atom stands for a set of one ----------------- */

/* The i-th element of what may be an atom, an empty set, or ["set", [...]]; NULL past its end. */
static json_t *element(json_t *value, size_t i)
{
	const char *word = json_string_value(json_array_get(value, 0));

	if (word && strcmp(word, "set") == 0)
		return json_array_get(json_array_get(value, 1), i);
	return i == 0 ? value : NULL;
}

static json_int_t integer_of(json_t *row, const char *column, json_int_t none)
{
	json_t *value = element(json_object_get(row, column), 0);

	return json_is_integer(value) ? json_integer_value(value) : none;
}

static const char *string_of(json_t *row, const char *column)
{
	const char *value = json_string_value(element(json_object_get(row, column), 0));

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

static const char *uuid_of(json_t *value)
{
	const char *uuid = json_string_value(json_array_get(value, 1));

	return uuid ? uuid : "";
}

/* --- reading --------------------------------------------------------- */

static struct switch_tagging tagging_of(json_t *port)
{
	struct switch_tagging tagging = {.mode = SWITCH_TRUNK};
	json_int_t tag = integer_of(port, "tag", -1);
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
	for (; (vid = element(trunks, count)) != NULL && json_is_integer(vid); count++) {
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

static json_t *interface_of(json_t *interfaces, json_t *port)
{
	const char *wanted = uuid_of(element(json_object_get(port, "interfaces"), 0));
	json_t *row;
	size_t i;

	json_array_foreach(interfaces, i, row)
	{
		if (strcmp(uuid_of(json_object_get(row, "_uuid")), wanted) == 0)
			return row;
	}
	return NULL;
}

static int compare_ports(const void *a, const void *b)
{
	uint32_t x = ((const struct switch_plane_port *)a)->number;
	uint32_t y = ((const struct switch_plane_port *)b)->number;

	return x < y ? -1 : x > y;
}

static void plane_add(const struct switch_ovs *ovs, struct switch_plane *plane, json_t *port,
		      json_t *interface)
{
	struct switch_plane_port *at = &plane->ports[plane->port_count];
	json_int_t number = integer_of(interface, "ofport", -1);
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
		.if_index = (uint32_t)integer_of(interface, "ifindex", 0),
		.mac = mac,
		.enabled = strcmp(string_of(interface, "admin_state"), "up") == 0,
		.linked = strcmp(string_of(interface, "link_state"), "up") == 0,
		.tagging = tagging_of(port),
		.bond = element(json_object_get(port, "interfaces"), 1) != NULL,
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

	for (size_t i = 0; (one = element(ports, i)) != NULL; i++) {
		if (strcmp(uuid_of(one), uuid_of(json_object_get(port, "_uuid"))) == 0)
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
		json_t *interface = interface_of(interfaces, row);

		if (interface && is_here(bridge, row))
			plane_add(ovs, &plane, row, interface);
	}
	qsort(plane.ports, plane.port_count, sizeof(*plane.ports), compare_ports);
	json_decref(answer);
	*ret = plane;
	return 0;
}

/* --- spanning tree and bonds ------------------------------------------ */

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
		json_t *interface = interface_of(interfaces, row);
		uint32_t number = interface ? (uint32_t)integer_of(interface, "ofport", 0) : 0;

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
static void take_members(const char *shown, json_t *interfaces, struct switch_plane_health *health)
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
				(uint32_t)integer_of(row, "ifindex", 0);
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
		take_members(json_string_value(shown), interfaces, &health);
	json_decref(shown);
	json_decref(answer);
	*ret = health;
	return 0;
}

/* --- writing --------------------------------------------------------- */

static json_t *trunk_set(const struct switch_tagging *tagging)
{
	json_t *list = json_array();

	for (uint32_t vid = 0; vid < 4096 && tagging->mode != SWITCH_ACCESS; vid++) {
		if (switch_tagging_has(tagging, vid))
			(void)json_array_append_new(list, json_integer((json_int_t)vid));
	}
	return json_pack("[s,o]", "set", list);
}

static json_t *update_of(const struct switch_ovs_change *change)
{
	const struct switch_tagging *tagging = &change->tagging;
	json_t *tag = tagging->mode == SWITCH_TRUNK ? json_pack("[s,[]]", "set")
						    : json_integer(tagging->tag);

	return json_pack("{s:s,s:s,s:[[s,s,s]],s:{s:s,s:o,s:o}}", "op", "update", "table", "Port",
			 "where", "name", "==", change->port, "row", "vlan_mode",
			 switch_mode_words[tagging->mode], "tag", tag, "trunks",
			 trunk_set(tagging));
}

static json_int_t configuration(struct switch_ovs *ovs, const char *column)
{
	json_t *answer = NULL;
	json_int_t value = -1;

	if (switch_rpc_call(&ovs->database, "transact",
			    json_pack("[s,{s:s,s:s,s:[],s:[s]}]", "Open_vSwitch", "op", "select",
				      "table", "Open_vSwitch", "where", "columns", column),
			    &answer) != 0)
		return -1;
	value = integer_of(json_array_get(json_object_get(json_array_get(answer, 0), "rows"), 0),
			   column, -1);
	json_decref(answer);
	return value;
}

int64_t switch_ovs_configuration(struct switch_ovs *ovs)
{
	return configuration(ovs, "next_cfg");
}

/* vswitchd says in cur_cfg which configuration it has made true. */
static int wait_applied(struct switch_ovs *ovs)
{
	const struct timespec pause = {0, 1000000};
	json_int_t wanted = configuration(ovs, "next_cfg");

	for (unsigned i = 0; i < APPLIED_MS; i++) {
		json_int_t current = configuration(ovs, "cur_cfg");

		if (current >= wanted || current < 0)
			return current < 0 ? E_UNAVAILABLE : 0;
		(void)nanosleep(&pause, NULL);
	}
	return E_TIMEOUT;
}

int switch_ovs_transact(struct switch_ovs *ovs, json_t *params)
{
	json_t *answer = NULL;
	json_t *result;
	size_t i;
	int rc;

	(void)json_array_append_new(params, json_pack("{s:s,s:s,s:[],s:[[s,s,i]]}", "op", "mutate",
						      "table", "Open_vSwitch", "where", "mutations",
						      "next_cfg", "+=", 1));
	rc = switch_rpc_call(&ovs->database, "transact", params, &answer);
	if (rc != 0)
		return rc;
	json_array_foreach(answer, i, result)
	{
		if (json_object_get(result, "error") || json_is_null(result))
			rc = E_CONFLICT;
	}
	json_decref(answer);
	return rc != 0 ? rc : wait_applied(ovs);
}

/* --- learned addresses ------------------------------------------------ */

int switch_ovs_fdb(struct switch_ovs *ovs, struct switch_fdb_row **ret_rows, size_t *ret_count)
{
	struct switch_fdb_row *rows;
	json_t *answer = NULL;
	const char *text;
	size_t size;
	size_t room = 0;
	int rc = switch_rpc_call(&ovs->control, "fdb/show", json_pack("[s]", ovs->bridge), &answer);

	if (rc != 0)
		return rc;
	text = json_string_value(answer);
	size = json_string_length(answer);
	for (size_t i = 0; text && i < size; i++)
		room += text[i] == '\n';
	rows = calloc(room + 1, sizeof(*rows));
	rc = !rows ? -ENOMEM : !text ? E_PROTOCOL : room > FDB_MAX ? E_LIMIT : 0;
	if (rc == 0)
		rc = switch_fdb_read(text, size, rows, room + 1, ret_count);
	json_decref(answer);
	if (rc != 0) {
		free(rows);
		return rc;
	}
	*ret_rows = rows;
	return 0;
}

static int ask_control(struct switch_ovs *ovs, const char *method, json_t *params)
{
	json_t *answer = NULL;
	int rc = switch_rpc_call(&ovs->control, method, params, &answer);

	json_decref(answer);
	return rc;
}

/* `fdb/del` takes what was put by hand only, so it is put by hand first. */
static int forget(struct switch_ovs *ovs, const char *port, const struct switch_fdb_row *row)
{
	char mac[MAC_TEXT_SIZE];
	char vid[8];
	int rc;

	(void)mac_text(row->mac, mac);
	(void)text_format(vid, sizeof(vid), "%u", row->vid);
	rc = ask_control(ovs, "fdb/add", json_pack("[s,s,s,s]", ovs->bridge, port, vid, mac));
	return rc != 0 ? rc
		       : ask_control(ovs, "fdb/del", json_pack("[s,s,s]", ovs->bridge, vid, mac));
}

static bool carries(const struct switch_tagging *tagging, uint32_t vid)
{
	return (tagging->mode != SWITCH_TRUNK && tagging->tag == vid) ||
	       (tagging->mode != SWITCH_ACCESS && switch_tagging_has(tagging, vid));
}

int switch_ovs_purge(struct switch_ovs *ovs)
{
	return ask_control(ovs, "revalidator/purge", json_array());
}

/* Open vSwitch forwards to a learned address without asking whether its port is in the VLAN, which
 * no bridge of 802.1Q does (8.8.9: egress filtering by the member set). It forgets the addresses of
 * a port whose VLANs change, but a frame that is under way then may be learned once more as of
 * before, for five minutes; and flows that it has cached go on until its revalidators have been at
 * them, which cur_cfg does not wait for. A switch has none of that: its flows go, then such
 * addresses. */
static int forget_elsewhere(struct switch_ovs *ovs)
{
	struct switch_plane plane = {0};
	struct switch_fdb_row *rows = NULL;
	size_t count = 0;
	int rc = switch_ovs_purge(ovs);

	if (rc == 0)
		rc = switch_ovs_read(ovs, &plane);
	if (rc == 0)
		rc = switch_ovs_fdb(ovs, &rows, &count);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		for (size_t p = 0; rc == 0 && p < plane.port_count; p++) {
			if (plane.ports[p].number == rows[i].port &&
			    !carries(&plane.ports[p].tagging, rows[i].vid))
				rc = forget(ovs, plane.ports[p].name, &rows[i]);
		}
	}
	free(rows);
	switch_plane_done(&plane);
	return rc;
}

/* --- changes ---------------------------------------------------------- */

int switch_ovs_write(struct switch_ovs *ovs, const struct switch_ovs_change *changes, size_t count)
{
	json_t *params = json_array();
	size_t i;
	int rc;

	if (count == 0) {
		json_decref(params);
		return 0;
	}
	(void)json_array_append_new(params, json_string("Open_vSwitch"));
	for (i = 0; i < count; i++)
		(void)json_array_append_new(params, update_of(&changes[i]));
	rc = switch_ovs_transact(ovs, params);
	return rc != 0 ? rc : forget_elsewhere(ovs);
}

int switch_ovs_sample(struct switch_ovs *ovs, const struct switch_ovs_sflow *sflow)
{
	json_t *params = json_pack("[s]", "Open_vSwitch");
	json_t *row = json_object();
	json_t *reference = json_pack("[s,[]]", "set");

	if (sflow) {
		json_decref(reference);
		reference = json_pack("[s,s]", "named-uuid", "sampler");
		(void)json_array_append_new(
			params,
			json_pack("{s:s,s:s,s:s,s:{s:s,s:I,s:I,s:I,s:s}}", "op", "insert", "table",
				  "sFlow", "uuid-name", "sampler", "row", "targets", sflow->target,
				  "sampling", (json_int_t)sflow->rate, "header",
				  (json_int_t)sflow->header, "polling", (json_int_t)sflow->interval,
				  "agent", "mgmt0"));
	}
	(void)json_object_set_new(row, "sflow", reference);
	(void)json_array_append_new(params, json_pack("{s:s,s:s,s:[[s,s,s]],s:o}", "op", "update",
						      "table", "Bridge", "where", "name",
						      "==", ovs->bridge, "row", row));
	return switch_ovs_transact(ovs, params);
}

static int run_ofctl(char *command, const char *openflow, const char *path, const char *flows)
{
	char program[] = "ovs-ofctl";
	char bundle[] = "--bundle";
	char target[128];
	char file[512];
	char *arguments[] = {program, bundle, command, target, file, NULL};
	int status = -1;
	int rc = file_write_atomic(path, flows, strlen(flows), 0600);
	pid_t pid;

	if (rc != 0)
		return rc;
	if (!text_format(target, sizeof(target), "unix:%s", openflow) ||
	    !text_copy(file, sizeof(file), path))
		return E_LIMIT;
	rc = posix_spawnp(&pid, program, NULL, NULL, arguments, environ);
	if (rc != 0)
		return -rc;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return E_PROTOCOL;
	return 0;
}

int switch_ovs_flows(const char *openflow, const char *path, const char *flows)
{
	char command[] = "replace-flows";

	return run_ofctl(command, openflow, path, flows);
}

int switch_ovs_rules(const char *openflow, const char *path, const char *lines)
{
	char command[] = "add-flows";

	return run_ofctl(command, openflow, path, lines);
}
