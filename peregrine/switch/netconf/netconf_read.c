/* SWITCH_READ: VLANs and ports in one answer, then one <get> for each other part. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/netconf/netconf_switch.h"

LEAKS_LEFT_TO_SANITIZER

struct netconf_read {
	struct netconf_switch *one;
	size_t part; /* next of `parts` */
	struct switch_reading reading;
};

void netconf_read_free(struct netconf_read *read)
{
	if (!read)
		return;
	switch_reading_done(&read->reading);
	free(read);
}

/* --- parts --- */

static int take_neighbors(struct netconf_read *read, const xmlNode *data)
{
	return netconf_read_neighbors(read->one->config, data, &read->reading);
}

static int netconf_read_take_fdb(struct netconf_read *read, const xmlNode *data)
{
	return netconf_read_fdb(read->one->config, data, &read->reading);
}

static int take_identity(struct netconf_read *read, const xmlNode *data)
{
	netconf_read_identity(read->one->dialect, data, &read->reading.identity);
	return 0;
}

static const char *netconf_read_filter_of(const struct netconf_dialect *dialect,
					  enum switch_part part)
{
	switch ((int)part) {
	case PART_IDENTITY: return dialect->identity_filter;
	case PART_NEIGHBORS: return dialect->neighbors_filter;
	case PART_FDB: return dialect->fdb_filter;
	default: return NULL;
	}
}

static const struct {
	enum switch_part part;
	const char *what;
	int (*take)(struct netconf_read *read, const xmlNode *data);
} netconf_read_parts[] = {
	{PART_IDENTITY, "reading its name", take_identity},
	{PART_NEIGHBORS, "reading neighbours", take_neighbors},
	{PART_FDB, "reading the MAC table", netconf_read_take_fdb},
};

/* --- together --- */

static bool netconf_read_is_asked(const struct netconf_switch *one, const struct netconf_port *port)
{
	const char *const *only = one->call.request->only_ports;

	for (; only && *only; only++) {
		if (netconf_config_port(one->config, *only) == port)
			return true;
	}
	return !only || !one->call.request->only_ports[0];
}

static int netconf_read_by_index(const void *a, const void *b)
{
	const struct switch_port *left = a;
	const struct switch_port *right = b;

	return left->if_index < right->if_index ? -1 : left->if_index > right->if_index;
}

static bool netconf_read_take_ports(struct netconf_read *read)
{
	const struct netconf_config *config = read->one->config;
	struct switch_reading *reading = &read->reading;

	reading->ports = calloc(config->port_count + 1, sizeof(*reading->ports));
	if (!reading->ports)
		return false;
	for (size_t i = 0; i < config->port_count; i++) {
		struct switch_port *port = &reading->ports[reading->port_count];

		if (!netconf_read_is_asked(read->one, &config->ports[i]))
			continue;
		*port = config->ports[i].is;
		port->has_vlans = netconf_port_vlans(config, &config->ports[i], &port->vlans);
		reading->port_count++;
	}
	qsort(reading->ports, reading->port_count, sizeof(*reading->ports), netconf_read_by_index);
	return true;
}

static bool netconf_read_take_vlans(struct netconf_read *read)
{
	const struct netconf_config *config = read->one->config;
	struct switch_reading *reading = &read->reading;

	reading->vlans = calloc(vlan_set_count(&config->vlans) + 1, sizeof(*reading->vlans));
	if (!reading->vlans)
		return false;
	for (unsigned v = vlan_set_next(&config->vlans, 1); v;
	     v = vlan_set_next(&config->vlans, v + 1)) {
		struct switch_vlan *vlan = &reading->vlans[reading->vlan_count++];

		vlan->id = (uint16_t)v;
		text_copy(vlan->name, sizeof(vlan->name), config->names[v]);
	}
	return true;
}

static void no_memory(struct netconf_read *read, int rc)
{
	struct problem problem;

	problem_set(&problem, rc, "switch %s cannot be read", read->one->call.endpoint.name);
	problem_detail(&problem, "%s", error_text(rc));
	switch_call_end(&read->one->call, rc, NULL, &problem);
}

static void netconf_read_finish(struct netconf_read *read)
{
	static const unsigned looked = PART_IDENTITY | PART_PORTS | PART_VLANS;
	struct netconf_switch *one = read->one;
	struct switch_reading reading;

	if (((one->call.request->parts & (PART_PORTS | PART_VLANS)) &&
	     !netconf_read_take_ports(read)) ||
	    ((one->call.request->parts & PART_VLANS) && !netconf_read_take_vlans(read))) {
		no_memory(read, -ENOMEM);
		return;
	}
	reading = read->reading;
	read->reading = (struct switch_reading){0};
	reading.parts |= one->call.request->parts & looked;
	reading.requests = netconf_session_requests(one->session) - one->call.requests_before;
	reading.odd = one->config->odd;
	text_copy(reading.odd_text, sizeof(reading.odd_text), one->config->odd_text);
	text_copy(reading.identity.family, sizeof(reading.identity.family), one->call.family->name);
	switch_call_end(&one->call, 0, &reading, NULL);
}

static void netconf_read_next_part(struct netconf_read *read);

static void netconf_read_on_part(void *context, const struct netconf_answer *answer)
{
	struct netconf_read *read = context;
	int rc = 0;

	/* A part that it refuses is missing; the others stand. */
	if (answer->rc && !answer->refused) {
		switch_call_end(&read->one->call, answer->rc, NULL, answer->problem);
		return;
	}
	if (!answer->rc) {
		rc = netconf_read_parts[read->part].take(read, answer->data);
		read->reading.parts |= netconf_read_parts[read->part].part;
	}
	if (rc) {
		no_memory(read, rc);
		return;
	}
	read->part++;
	netconf_read_next_part(read);
}

static void netconf_read_next_part(struct netconf_read *read)
{
	struct netconf_switch *one = read->one;

	for (; read->part < COUNT_OF(netconf_read_parts); read->part++) {
		const char *filter =
			netconf_read_filter_of(one->dialect, netconf_read_parts[read->part].part);

		if ((one->call.request->parts & netconf_read_parts[read->part].part) && filter) {
			netconf_switch_get(one, netconf_read_parts[read->part].what, filter,
					   netconf_read_on_part, read);
			return;
		}
	}
	netconf_read_finish(read);
}

static void netconf_read_on_config(struct netconf_switch *one, int rc,
				   const struct problem *problem)
{
	if (rc)
		switch_call_end(&one->call, rc, NULL, problem);
	else
		netconf_read_next_part(one->read);
}

int netconf_read_start(struct netconf_switch *one)
{
	one->read = calloc(1, sizeof(*one->read));
	if (!one->read)
		return -ENOMEM;
	one->read->one = one;
	netconf_switch_look(one, netconf_read_on_config);
	return 0;
}
