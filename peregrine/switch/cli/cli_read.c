/* SWITCH_READ: the configuration, then one show command for each other part. Interfaces have no
 * numbers on a command line: theirs are their places in this reading. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"
#include "peregrine/switch/cli/cli_show_wire.h"
#include "peregrine/switch/cli/cli_switch.h"

LEAKS_LEFT_TO_SANITIZER

struct cli_read {
	struct cli_switch *one;
	size_t show; /* next of `shows` */
	struct switch_reading reading;
	size_t port_room, neighbor_room, fdb_room;
	bool failed; /* no memory */
	char system[64];
};

void cli_read_free(struct cli_read *read)
{
	if (!read)
		return;
	switch_reading_done(&read->reading);
	free(read);
}

/* --- rows that grow --- */

/* Room for one more of `size` bytes; NULL when there is none. */
static void *cli_read_one_more(struct cli_read *read, void *rows, size_t count, size_t *room,
			       size_t size)
{
	void *more;

	if (count < *room)
		return rows;
	more = realloc(rows, (*room ? *room * 2 : 64) * size);
	if (!more) {
		read->failed = true;
		return NULL;
	}
	*room = *room ? *room * 2 : 64;
	return more;
}

static bool cli_read_is_aggregate(const char *name)
{
	static const char *const kinds[] = {"port-channel", "bridge-aggregation", "lag", "trk",
					    "po"};

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		if (strncasecmp(name, kinds[i], strlen(kinds[i])) == 0)
			return true;
	}
	return false;
}

/* The index of a port, which is new or not; 0 = no memory. */
static uint32_t cli_read_port_index(struct cli_read *read, const char *name)
{
	struct switch_reading *reading = &read->reading;
	struct switch_port *ports;

	for (size_t i = 0; i < reading->port_count; i++) {
		if (strcasecmp(reading->ports[i].name, name) == 0)
			return (uint32_t)i + 1;
	}
	ports = reading->port_count < CLI_PORT_LIMIT
			? cli_read_one_more(read, reading->ports, reading->port_count,
					    &read->port_room, sizeof(*ports))
			: NULL;
	if (!ports)
		return 0;
	reading->ports = ports;
	ports[reading->port_count] = (struct switch_port){
		.if_index = (uint32_t)reading->port_count + 1,
		.index_made = true,
		.admin_up = true,
		.is_lag = cli_read_is_aggregate(name),
	};
	text_copy(ports[reading->port_count].name, sizeof(ports->name), name);
	return (uint32_t)++reading->port_count;
}

static bool on_port_row(void *context, const struct cli_port_row *row)
{
	struct cli_read *read = context;
	uint32_t index = cli_read_port_index(read, row->port);

	if (index) {
		struct switch_port *port = &read->reading.ports[index - 1];

		port->up = row->up;
		port->admin_up = !row->shut;
		/* It carries nothing, and may be given something. */
		if (!port->has_vlans && row->routed && read->one->dialect->routed_is_bare) {
			port->has_vlans = true;
			port->vlans = (struct port_vlans){.trunk = true};
		}
	}
	return index != 0;
}

static bool on_fdb_row(void *context, const struct cli_fdb_row *row)
{
	struct cli_read *read = context;
	struct switch_reading *reading = &read->reading;
	static const uint8_t nobody[6];
	struct switch_fdb_entry *fdb;
	uint32_t index;

	if (memcmp(row->mac, nobody, sizeof(nobody)) == 0) {
		if (!reading->odd++)
			text_copy(reading->odd_text, sizeof(reading->odd_text),
				  "MAC 00:00:00:00:00:00 in the MAC table");
		return true;
	}
	index = cli_read_port_index(read, row->port);
	fdb = index ? cli_read_one_more(read, reading->fdb, reading->fdb_count, &read->fdb_room,
					sizeof(*fdb))
		    : NULL;
	if (!fdb)
		return false;
	reading->fdb = fdb;
	fdb[reading->fdb_count] = (struct switch_fdb_entry){.vlan = row->vlan, .if_index = index};
	memcpy(fdb[reading->fdb_count++].mac, row->mac, sizeof(row->mac));
	return true;
}

/* LldpChassisIdSubtype 4, MAC; 7, local. LldpPortIdSubtype 3, MAC; 5, interface name. The command
 * line does not print them. */
static bool on_lldp_row(void *context, const struct cli_lldp_row *row)
{
	struct cli_read *read = context;
	struct switch_reading *reading = &read->reading;
	struct switch_neighbor *neighbors;
	struct switch_neighbor *neighbor;
	uint8_t mac[6];
	uint32_t index = cli_read_port_index(read, row->local);

	neighbors = index ? cli_read_one_more(read, reading->neighbors, reading->neighbor_count,
					      &read->neighbor_room, sizeof(*neighbors))
			  : NULL;
	if (!neighbors)
		return false;
	reading->neighbors = neighbors;
	neighbor = &neighbors[reading->neighbor_count++];
	*neighbor = (struct switch_neighbor){
		.if_index = index, .chassis_subtype = 7, .port_subtype = 5};
	text_copy(neighbor->chassis, sizeof(neighbor->chassis), row->chassis);
	if (cli_mac_parse(row->chassis, strlen(row->chassis), mac)) {
		neighbor->chassis_subtype = 4;
		text_format(neighbor->chassis, sizeof(neighbor->chassis),
			    "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
			    mac[5]);
	}
	text_copy(neighbor->port, sizeof(neighbor->port), row->port);
	if (cli_mac_parse(row->port, strlen(row->port), mac)) {
		neighbor->port_subtype = 3;
		text_format(neighbor->port, sizeof(neighbor->port), "%02x:%02x:%02x:%02x:%02x:%02x",
			    mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	}
	text_copy(neighbor->port_text, sizeof(neighbor->port_text), row->port_text);
	text_copy(neighbor->system, sizeof(neighbor->system), row->system);
	return true;
}

/* --- the show commands --- */

static bool cli_read_take_ports(struct cli_read *read, const char *text)
{
	cli_ports_each(read->one->dialect, text, on_port_row, read);
	return true;
}

static bool cli_read_take_fdb(struct cli_read *read, const char *text)
{
	cli_fdb_each(read->one->dialect, text, on_fdb_row, read);
	return true;
}

/* Which of the rows is forged nobody can tell: none counts. */
static bool take_lldp(struct cli_read *read, const char *text)
{
	struct switch_reading *reading = &read->reading;

	enum cli_lldp_sum sum = cli_lldp_sum(read->one->dialect, text);

	reading->neighbors_uncounted = sum == CLI_LLDP_UNCOUNTED;
	if (sum == CLI_LLDP_TOO_MANY) {
		if (!reading->odd++)
			text_copy(reading->odd_text, sizeof(reading->odd_text),
				  "more LLDP neighbours than the switch counts: one forges others");
		return false;
	}
	cli_lldp_each(read->one->dialect, text, on_lldp_row, read);
	return true;
}

static const char *show_ports(const struct cli_dialect *dialect)
{
	return dialect->show_ports;
}

static const char *show_fdb(const struct cli_dialect *dialect)
{
	return dialect->show_fdb;
}

static const char *cli_read_show_lldp(const struct cli_dialect *dialect)
{
	return dialect->lldp.command;
}

static const struct {
	unsigned part;
	const char *(*command)(const struct cli_dialect *dialect);
	/* False: what it prints cannot be believed. */
	bool (*take)(struct cli_read *read, const char *text);
} cli_read_shows[] = {
	{PART_PORTS, show_ports, cli_read_take_ports},
	{PART_NEIGHBORS, cli_read_show_lldp, take_lldp},
	{PART_FDB, show_fdb, cli_read_take_fdb},
};

/* --- together --- */

static bool cli_read_is_asked(const struct cli_switch *one, const char *name)
{
	const char *const *only = one->call.request->only_ports;

	if (!only)
		return true;
	for (; *only; only++) {
		if (cli_port_same(one->dialect, *only, name))
			return true;
	}
	return false;
}

static void ports_of_config(struct cli_read *read)
{
	const struct cli_config *config = read->one->config;

	for (size_t i = 0; i < config->port_count; i++) {
		const struct cli_port *from = &config->ports[i];
		uint32_t index = cli_read_port_index(read, from->name);
		struct switch_port *port;

		if (!index)
			return;
		port = &read->reading.ports[index - 1];
		port->admin_up = !from->shut;
		text_copy(port->alias, sizeof(port->alias), from->alias);
		port->has_vlans = cli_port_vlans(config, from, &port->vlans);
	}
}

/* Members know the number of their aggregate; which port that is shows once all are known. */
static void cli_read_aggregates(struct cli_read *read)
{
	const struct cli_config *config = read->one->config;

	for (size_t i = 0; i < config->port_count; i++) {
		for (size_t j = 0; config->ports[i].lag && j < read->reading.port_count; j++) {
			const struct switch_port *port = &read->reading.ports[j];
			size_t head = strcspn(port->name, "0123456789");

			if (port->is_lag &&
			    strtoul(port->name + head, NULL, 10) == config->ports[i].lag)
				read->reading.ports[i].lag = port->if_index;
		}
	}
}

static bool vlans_of_config(struct cli_read *read)
{
	const struct cli_config *config = read->one->config;
	size_t count = vlan_set_count(&config->vlans);

	read->reading.vlans = calloc(count ? count : 1, sizeof(*read->reading.vlans));
	if (!read->reading.vlans)
		return false;
	for (unsigned v = vlan_set_next(&config->vlans, 1); v;
	     v = vlan_set_next(&config->vlans, v + 1)) {
		struct switch_vlan *vlan = &read->reading.vlans[read->reading.vlan_count++];

		vlan->id = (uint16_t)v;
		text_copy(vlan->name, sizeof(vlan->name), config->names[v].name);
	}
	return true;
}

/* Only after everything that refers to them by number was added. */
static void drop_unasked(struct cli_read *read)
{
	size_t kept = 0;

	for (size_t i = 0; i < read->reading.port_count; i++) {
		if (cli_read_is_asked(read->one, read->reading.ports[i].name))
			read->reading.ports[kept++] = read->reading.ports[i];
	}
	read->reading.port_count = kept;
}

static void cli_read_finish(struct cli_read *read)
{
	struct cli_switch *one = read->one;
	struct switch_reading reading;
	struct problem problem;

	cli_read_aggregates(read);
	if (!read->failed && (one->call.request->parts & PART_VLANS))
		read->failed = !vlans_of_config(read);
	if (read->failed) {
		problem_set(&problem, -ENOMEM, "no memory to read switch %s",
			    one->call.endpoint.name);
		switch_call_end(&one->call, -ENOMEM, NULL, &problem);
		return;
	}
	drop_unasked(read);
	reading = read->reading;
	read->reading = (struct switch_reading){0};
	reading.parts |= one->call.request->parts & (PART_IDENTITY | PART_VLANS);
	reading.requests = cli_dialogue_commands(one->dialogue) - one->call.requests_before;
	reading.odd += one->config->odd;
	if (one->config->odd)
		text_copy(reading.odd_text, sizeof(reading.odd_text), one->config->odd_text);
	text_copy(reading.identity.family, sizeof(reading.identity.family), one->call.family->name);
	text_copy(reading.identity.system, sizeof(reading.identity.system), read->system);
	switch_call_end(&one->call, 0, &reading, NULL);
}

static void next_show(struct cli_read *read);

static void on_show(void *context, const struct cli_answer *answer)
{
	struct cli_read *read = context;
	struct cli_switch *one = read->one;
	char line[160];

	if (answer->rc) {
		switch_call_end(&one->call, answer->rc, NULL, answer->problem);
		return;
	}
	text_copy(read->system, sizeof(read->system), answer->prompt->base);
	/* A part that it does not show is missing; the others stand. */
	if (strlen(answer->output) >= 400 ||
	    cli_answer_judge(one->dialect, answer->output, line, sizeof(line)) == CLI_FINE) {
		if (cli_read_shows[read->show].take(read, answer->output))
			read->reading.parts |= cli_read_shows[read->show].part;
	}
	read->show++;
	next_show(read);
}

static void next_show(struct cli_read *read)
{
	struct cli_switch *one = read->one;

	for (; read->show < COUNT_OF(cli_read_shows); read->show++) {
		const char *command = cli_read_shows[read->show].command(one->dialect);

		if ((one->call.request->parts & cli_read_shows[read->show].part) && command) {
			cli_switch_run(one, command, on_show, read);
			return;
		}
	}
	cli_read_finish(read);
}

static void cli_read_on_config(struct cli_switch *one, int rc, const struct problem *problem)
{
	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	ports_of_config(one->read);
	next_show(one->read);
}

int cli_read_start(struct cli_switch *one)
{
	one->read = calloc(1, sizeof(*one->read));
	if (!one->read)
		return -ENOMEM;
	one->read->one = one;
	cli_look_start(one, cli_read_on_config);
	return 0;
}
