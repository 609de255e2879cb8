/* What `show` shows, in tables as python-tabulate draws them: show/vlan.py, scripts/intfutil,
 * fdbshow and lldpshow of sonic-utilities. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_common.h"
#include "tests/sim/command_line/switch_cli_sonic.h"

enum { COLUMNS_MAX = 12 };

/* --- tables as python-tabulate draws them --- */

/* Columns: a header each, "r" for those that are right-aligned. */
struct switch_cli_sonic_show_table {
	const char *const *headers;
	const char *align;
	json_t *rows; /* arrays of strings */
};

static size_t cell_width(const char *cell)
{
	size_t widest = 0;

	while (*cell) {
		size_t size = strcspn(cell, "\n");

		widest = size > widest ? size : widest;
		cell += size + (cell[size] == '\n');
	}
	return widest;
}

static const char *cell_of(const json_t *row, size_t column)
{
	const char *text = json_string_value(json_array_get(row, column));

	return text ? text : "";
}

static void switch_cli_sonic_show_measure(const struct switch_cli_sonic_show_table *table,
					  size_t widths[COLUMNS_MAX])
{
	for (size_t c = 0; table->headers[c]; c++) {
		widths[c] = strlen(table->headers[c]) + 2;
		for (size_t i = 0; i < json_array_size(table->rows); i++) {
			size_t width = cell_width(cell_of(json_array_get(table->rows, i), c));

			widths[c] = width > widths[c] ? width : widths[c];
		}
	}
}

static void draw_cell(struct text *out, char align, size_t width, const char *cell, size_t size)
{
	int pad = (int)(width - size);

	if (align == 'r')
		text_addf(out, "%*s%.*s", pad, "", (int)size, cell);
	else
		text_addf(out, "%.*s%*s", (int)size, cell, pad, "");
}

/* Without the spaces at its end. */
static void end_line(struct text *line, struct text *out)
{
	const char *text = text_get(line);
	size_t size = line->size;

	while (size > 0 && text[size - 1] == ' ')
		size--;
	text_addf(out, "%.*s\n", (int)size, text);
	text_clear(line);
}

static void draw_simple(const struct switch_cli_sonic_show_table *table, struct text *out)
{
	size_t widths[COLUMNS_MAX];
	struct text line = {0};

	switch_cli_sonic_show_measure(table, widths);
	for (size_t c = 0; table->headers[c]; c++) {
		text_add(&line, c > 0 ? "  " : "");
		draw_cell(&line, table->align[c], widths[c], table->headers[c],
			  strlen(table->headers[c]));
	}
	end_line(&line, out);
	for (size_t c = 0; table->headers[c]; c++) {
		text_add(&line, c > 0 ? "  " : "");
		for (size_t i = 0; i < widths[c]; i++)
			text_add(&line, "-");
	}
	end_line(&line, out);
	for (size_t i = 0; i < json_array_size(table->rows); i++) {
		for (size_t c = 0; table->headers[c]; c++) {
			const char *cell = cell_of(json_array_get(table->rows, i), c);

			text_add(&line, c > 0 ? "  " : "");
			draw_cell(&line, table->align[c], widths[c], cell, strlen(cell));
		}
		end_line(&line, out);
	}
	text_done(&line);
}

static void draw_rule(const struct switch_cli_sonic_show_table *table,
		      const size_t widths[COLUMNS_MAX], char mark, struct text *out)
{
	for (size_t c = 0; table->headers[c]; c++) {
		text_add(out, "+");
		for (size_t i = 0; i < widths[c] + 2; i++)
			text_add_bytes(out, &mark, 1);
	}
	text_add(out, "+\n");
}

/* One row of a grid: as many lines as its longest cell. */
static void draw_row(const struct switch_cli_sonic_show_table *table,
		     const size_t widths[COLUMNS_MAX], const json_t *row, struct text *out)
{
	const char *cells[COLUMNS_MAX];
	bool more = true;

	for (size_t c = 0; table->headers[c]; c++)
		cells[c] = row ? cell_of(row, c) : table->headers[c];
	while (more) {
		more = false;
		for (size_t c = 0; table->headers[c]; c++) {
			size_t size = strcspn(cells[c], "\n");

			text_add(out, "| ");
			draw_cell(out, table->align[c], widths[c], cells[c], size);
			text_add(out, " ");
			cells[c] += size + (cells[c][size] == '\n');
			more = more || *cells[c] != '\0';
		}
		text_add(out, "|\n");
	}
}

static void draw_grid(const struct switch_cli_sonic_show_table *table, struct text *out)
{
	size_t widths[COLUMNS_MAX];

	switch_cli_sonic_show_measure(table, widths);
	draw_rule(table, widths, '-', out);
	draw_row(table, widths, NULL, out);
	draw_rule(table, widths, '=', out);
	for (size_t i = 0; i < json_array_size(table->rows); i++) {
		draw_row(table, widths, json_array_get(table->rows, i), out);
		draw_rule(table, widths, '-', out);
	}
}

/* --- showing --- */

/* Members of a VLAN, in the order of their numbers. */
static unsigned next_member(const struct cli_store *store, unsigned vid, unsigned from)
{
	for (unsigned number = from; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];

		if (port->access == vid || vlan_set_has(&port->allowed, vid))
			return number;
	}
	return 0;
}

static const char *switch_cli_sonic_show_tagging(const struct cli_store *store, unsigned number,
						 unsigned vid)
{
	return store->running->ports[number].access == vid ? "untagged" : "tagged";
}

int sonic_vlan_brief(struct sonic_call *call)
{
	static const char *const headers[] = {"VLAN ID",      "IP Address", "Ports",
					      "Port Tagging", "Proxy ARP",  NULL};
	const struct cli_store *store = call->shell->session->device->store;
	struct switch_cli_sonic_show_table table = {headers, "rllll", json_array()};

	for (unsigned vid = vlan_set_next(&store->running->vlans, 2); vid;
	     vid = vlan_set_next(&store->running->vlans, vid + 1)) {
		struct text ports = {0};
		struct text modes = {0};
		char id[8];
		char name[CLI_NAME_SIZE];

		for (unsigned at = next_member(store, vid, 1); at;
		     at = next_member(store, vid, at + 1)) {
			text_addf(&ports, "%s%s", ports.size ? "\n" : "",
				  sonic_port_name(call->shell->session, at, name));
			text_addf(&modes, "%s%s", modes.size ? "\n" : "",
				  switch_cli_sonic_show_tagging(store, at, vid));
		}
		(void)text_format(id, sizeof(id), "%u", vid);
		(void)json_array_append_new(table.rows,
					    json_pack("[s,s,s,s,s]", id, "", text_get(&ports),
						      text_get(&modes), "disabled"));
		text_done(&ports);
		text_done(&modes);
	}
	draw_grid(&table, call->shell->out);
	json_decref(table.rows);
	return 0;
}

int sonic_vlan_config(struct sonic_call *call)
{
	static const char *const headers[] = {"Name", "VID", "Member", "Mode", NULL};
	const struct cli_store *store = call->shell->session->device->store;
	struct switch_cli_sonic_show_table table = {headers, "lrll", json_array()};

	for (unsigned vid = vlan_set_next(&store->running->vlans, 2); vid;
	     vid = vlan_set_next(&store->running->vlans, vid + 1)) {
		unsigned at = next_member(store, vid, 1);
		char vlan[16];
		char name[CLI_NAME_SIZE];

		(void)text_format(vlan, sizeof(vlan), "Vlan%u", vid);
		do {
			(void)json_array_append_new(
				table.rows,
				json_pack("[s,s,s,s]", vlan, vlan + 4,
					  at ? sonic_port_name(call->shell->session, at, name) : "",
					  at ? switch_cli_sonic_show_tagging(store, at, vid) : ""));
			at = at ? next_member(store, vid, at + 1) : 0;
		} while (at);
	}
	draw_simple(&table, call->shell->out);
	json_decref(table.rows);
	return 0;
}

static const char *vlan_word(const struct cli_port *port)
{
	if (port->link == CLI_LINK_ROUTED)
		return "routed";
	if (!vlan_set_is_empty(&port->allowed) || port->access != 0)
		return "trunk";
	return "routed";
}

int sonic_interfaces_status(struct sonic_call *call)
{
	static const char *const headers[] = {"Interface", "Lanes", "Speed",    "MTU",
					      "FEC",       "Alias", "Vlan",     "Oper",
					      "Admin",     "Type",  "Asym PFC", NULL};
	const struct cli_session *session = call->shell->session;
	const struct cli_store *store = session->device->store;
	struct switch_cli_sonic_show_table table = {headers, "rrrrrrrrrrr", json_array()};

	for (unsigned number = 1; number <= store->port_count; number++) {
		const struct cli_port *port = &store->running->ports[number];
		char name[CLI_NAME_SIZE];
		char lanes[CLI_NAME_SIZE];
		char alias[CLI_NAME_SIZE];

		(void)sonic_port_name(session, number, name);
		if (call->count > 0 && strcmp(call->arguments[0], name) != 0)
			continue;
		(void)text_format(lanes, sizeof(lanes), "%u,%u,%u,%u", number * 4 - 3,
				  number * 4 - 2, number * 4 - 1, number * 4);
		(void)text_format(alias, sizeof(alias), "Eth1/%u", number);
		(void)json_array_append_new(
			table.rows,
			json_pack("[s,s,s,s,s,s,s,s,s,s,s]", name, lanes, "100G", "9100", "rs",
				  alias, vlan_word(port), port->is_shut ? "down" : "up",
				  port->is_shut ? "down" : "up", "QSFP28 or later", "off"));
	}
	draw_simple(&table, call->shell->out);
	json_decref(table.rows);
	return 0;
}

/* Two tables. */
int sonic_mirror_sessions(struct sonic_call *call)
{
	static const char *const far[] = {
		"Name",  "Status",  "SRC IP",       "DST IP",   "GRE",       "DSCP", "TTL",
		"Queue", "Policer", "Monitor Port", "SRC Port", "Direction", NULL};
	static const char *const near[] = {"Name",      "Status", "DST Port", "SRC Port",
					   "Direction", "Queue",  "Policer",  NULL};
	struct cli_session *session = call->shell->session;
	const struct cli_config *running = session->device->store->running;
	struct switch_cli_sonic_show_table erspan = {far, "llllllllllll", json_array()};
	struct switch_cli_sonic_show_table span = {near, "lllllll", json_array()};

	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		const struct cli_mirror_row *row = &running->mirrors[i];
		struct text ports = {0};
		char target[CLI_NAME_SIZE];
		char name[CLI_NAME_SIZE];

		if (row->number == 0)
			continue;
		for
			EACH_PORT(port, &row->sources)
			{
				text_addf(&ports, "%s%s", ports.size ? "," : "",
					  sonic_port_name(session, port, name));
			}
		if (row->is_sent)
			(void)json_array_append_new(
				erspan.rows,
				json_pack("[s,s,s,s,s,s,s,s,s,s,s,s]", row->name, "active",
					  row->from, row->to, "0x88be", "0", "64", "0", "",
					  sonic_port_name(session,
							  session->device->store->port_count,
							  target),
					  text_get(&ports), "both"));
		else
			(void)json_array_append_new(
				span.rows, json_pack("[s,s,s,s,s,s,s]", row->name, "active",
						     sonic_port_name(session, row->target, target),
						     text_get(&ports), "both", "", ""));
		text_done(&ports);
	}
	text_add(call->shell->out, "ERSPAN Sessions\n");
	draw_simple(&erspan, call->shell->out);
	text_add(call->shell->out, "\nSPAN Sessions\n");
	draw_simple(&span, call->shell->out);
	json_decref(erspan.rows);
	json_decref(span.rows);
	return 0;
}

int sonic_mac(struct sonic_call *call)
{
	static const char *const headers[] = {"No.", "Vlan", "MacAddress", "Port", "Type", NULL};
	struct cli_session *session = call->shell->session;
	struct cli_store *store = session->device->store;
	struct switch_cli_sonic_show_table table = {headers, "rrlll", json_array()};

	cli_store_learn(store);
	for (size_t i = 0; i < store->learned_count; i++) {
		const struct cli_learned *row = &store->learned[i];
		char mac[20];
		char name[CLI_NAME_SIZE];
		char line[8];
		char vid[8];

		(void)cli_mac_text(row->mac, 1, ':', mac);
		for (size_t c = 0; mac[c]; c++)
			mac[c] = (char)toupper((unsigned char)mac[c]);
		(void)text_format(line, sizeof(line), "%zu", i + 1);
		(void)text_format(vid, sizeof(vid), "%u", row->vid);
		(void)json_array_append_new(table.rows,
					    json_pack("[s,s,s,s,s]", line, vid, mac,
						      sonic_port_name(session, row->port, name),
						      "Dynamic"));
	}
	draw_simple(&table, call->shell->out);
	text_addf(call->shell->out, "Total number of entries %zu\n", json_array_size(table.rows));
	json_decref(table.rows);
	return 0;
}

int sonic_lldp_table(struct sonic_call *call)
{
	static const char *const headers[] = {"LocalPort",  "RemoteDevice",    "RemotePortID",
					      "Capability", "RemotePortDescr", NULL};
	const struct cli_session *session = call->shell->session;
	const struct cli_store *store = session->device->store;
	struct switch_cli_sonic_show_table table = {headers, "lllll", json_array()};

	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];

		(void)json_array_append_new(
			table.rows,
			json_pack("[s,s,s,s,s]", sonic_port_name(session, row->port, name),
				  row->system, row->port_id, "BR", row->port_id));
	}
	text_add(call->shell->out, "Capability codes: (R) Router, (B) Bridge, (O) Other\n");
	draw_simple(&table, call->shell->out);
	text_addf(call->shell->out, "%.50s\nTotal entries displayed:  %zu\n",
		  "--------------------------------------------------",
		  json_array_size(table.rows));
	json_decref(table.rows);
	return 0;
}

int sonic_lldp_neighbors(struct sonic_call *call)
{
	const struct cli_session *session = call->shell->session;
	const struct cli_store *store = session->device->store;
	const char *rule = "----------------------------------------------------------------------"
			   "---------\n";

	text_addf(call->shell->out, "%sLLDP neighbors:\n%s", rule, rule);
	for (size_t i = 0; i < store->neighbor_count; i++) {
		const struct cli_neighbor *row = &store->neighbors[i];
		char name[CLI_NAME_SIZE];
		char mac[20];

		text_addf(
			call->shell->out,
			"Interface:    %s, via: LLDP, RID: %zu, Time: 0 day, 00:19:21\n"
			"  Chassis:\n    ChassisID:    mac %s\n    SysName:      %s\n"
			"    Capability:   Bridge, on\n    Capability:   Router, on\n  Port:\n"
			"    PortID:       ifname %s\n    PortDescr:    %s\n    TTL:          120\n%s",
			sonic_port_name(session, row->port, name), i + 1,
			cli_mac_text(row->chassis, 1, ':', mac), row->system, row->port_id,
			row->port_id, rule);
	}
	return 0;
}

int sonic_version(struct sonic_call *call)
{
	bool is_old = call->shell->session->device->family == &cli_sonic201911;

	text_addf(call->shell->out,
		  "\nSONiC Software Version: SONiC.%s\n%sDistribution: Debian %s\n"
		  "Kernel: %s\nBuild commit: 4c7c1b3\nPlatform: x86_64-accton_as7326_56x-r0\n"
		  "HwSKU: Accton-AS7326-56X\nASIC: broadcom\n",
		  is_old ? "201911.100" : "202405.12345", is_old ? "" : "SONiC OS Version: 12\n",
		  is_old ? "9.13" : "12.6", is_old ? "4.9.0-14-2-amd64" : "6.1.0-22-2-amd64");
	return 0;
}

int sonic_running_all(struct sonic_call *call)
{
	sonic_config_text(call->shell->session, call->shell->session->device->store->running,
			  call->shell->out);
	return 0;
}
