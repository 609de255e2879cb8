#include "peregrine/switch/sim/sim_fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/switch/sim/sim_fabric_private.h"

LEAKS_LEFT_TO_SANITIZER

int sim_fabric_new(struct loop *loop, struct sim_fabric **ret)
{
	struct sim_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -ENOMEM;
	fabric->loop = loop;
	*ret = fabric;
	return 0;
}

void sim_fabric_free(struct sim_fabric *fabric)
{
	if (!fabric)
		return;
	for (uint32_t i = 0; i < fabric->count; i++)
		free(fabric->switches[i].ports);
	free(fabric->switches);
	free(fabric);
}

uint32_t sim_fabric_add(struct sim_fabric *fabric, int64_t id, const char *name, uint32_t ports)
{
	struct sim_switch *at;

	if (fabric->count == fabric->room) {
		uint32_t room = fabric->room ? fabric->room * 2 : 16;
		struct sim_switch *switches = realloc(fabric->switches, room * sizeof(*switches));

		if (!switches)
			return UINT32_MAX;
		fabric->switches = switches;
		fabric->room = room;
	}
	at = &fabric->switches[fabric->count];
	*at = (struct sim_switch){.id = id, .port_count = ports};
	(void)text_copy(at->name, sizeof(at->name), name);
	at->up_since_ms = loop_now_ms(fabric->loop) - 3600000;
	at->ports = calloc(ports + 1, sizeof(*at->ports));
	if (!at->ports)
		return UINT32_MAX;
	vlan_set_add(&at->vlans, 1);
	for (uint32_t p = 0; p < ports; p++) {
		(void)text_format(at->ports[p].name, sizeof(at->ports[p].name), "p%u", p + 1);
		at->ports[p].up = true;
		at->ports[p].peer_switch = UINT32_MAX;
		at->ports[p].vlans = (struct port_vlans){.native = 1};
		at->ports[p].saved = at->ports[p].vlans;
	}
	at->saved_vlans = at->vlans;
	return fabric->count++;
}

struct sim_switch *sim_fabric_switch(struct sim_fabric *fabric, uint32_t index)
{
	return &fabric->switches[index];
}

uint32_t sim_fabric_count(const struct sim_fabric *fabric)
{
	return fabric->count;
}

struct sim_switch *sim_fabric_find(struct sim_fabric *fabric, int64_t id)
{
	for (uint32_t i = 0; i < fabric->count; i++) {
		if (fabric->switches[i].id == id)
			return &fabric->switches[i];
	}
	return NULL;
}

void sim_fabric_cable(struct sim_fabric *fabric, uint32_t a, uint32_t a_port, uint32_t b,
		      uint32_t b_port)
{
	struct sim_port *end_a = &fabric->switches[a].ports[a_port];
	struct sim_port *end_b = &fabric->switches[b].ports[b_port];

	end_a->vlans = end_b->vlans = (struct port_vlans){.trunk = true, .native = 1};
	end_a->saved = end_b->saved = end_a->vlans;
	end_a->peer_switch = b;
	end_a->peer_port = b_port;
	end_b->peer_switch = a;
	end_b->peer_port = a_port;
}

void sim_fabric_set(struct sim_fabric *fabric, uint32_t at, uint32_t port,
		    const struct port_vlans *vlans)
{
	fabric->switches[at].ports[port].vlans = *vlans;
	fabric->switches[at].vlan_changes++;
}

void sim_switch_reboot(struct sim_fabric *fabric, struct sim_switch *at)
{
	int64_t now_ms = loop_now_ms(fabric->loop);

	for (uint32_t p = 0; p < at->port_count; p++) {
		at->ports[p].vlans = at->ports[p].saved;
		(void)text_copy(at->ports[p].lag, sizeof(at->ports[p].lag), at->ports[p].saved_lag);
	}
	at->vlans = at->saved_vlans;
	at->away_until_ms = now_ms + at->trouble.reboot_ms;
	at->up_since_ms = now_ms;
	at->vlan_changes = 0;
}

void sim_fabric_reboot(struct sim_fabric *fabric, uint32_t at)
{
	sim_switch_reboot(fabric, &fabric->switches[at]);
}

/* --- the data plane --- */

struct frame {
	uint32_t at, port;
	unsigned tag;
};

struct flood {
	struct sim_fabric *fabric;
	struct frame *queue;
	size_t count, room;
	struct vlan_set *seen; /* per switch */
	unsigned copies;
};

/* The VLAN a frame belongs to when it comes in; 0 = dropped. */
static unsigned sim_fabric_classified(const struct port_vlans *vlans, unsigned tag)
{
	if (tag == 0)
		return vlans->native;
	if (vlans->trunk && (tag == vlans->native || vlan_set_has(&vlans->tagged, tag)))
		return tag;
	return 0;
}

static void sim_fabric_push(struct flood *flood, struct frame frame)
{
	if (flood->count == flood->room) {
		size_t room = flood->room ? flood->room * 2 : 64;
		struct frame *queue = realloc(flood->queue, room * sizeof(*queue));

		if (!queue)
			return;
		flood->queue = queue;
		flood->room = room;
	}
	flood->queue[flood->count++] = frame;
}

static const struct sim_port *first_of(const struct sim_switch *at, const char *lag)
{
	const struct sim_port *port = at->ports;

	while (strcmp(port->lag, lag) != 0)
		port++;
	return port;
}

static void sim_fabric_forward(struct flood *flood, struct frame in, unsigned vlan,
			       sim_arrived_fn arrived, void *context)
{
	const struct sim_switch *at = &flood->fabric->switches[in.at];

	for (uint32_t p = 0; p < at->port_count; p++) {
		const struct sim_port *port = &at->ports[p];
		bool tagged = port->vlans.trunk && port->vlans.native != vlan &&
			      vlan_set_has(&port->vlans.tagged, vlan);

		/* An aggregate sends by one of its members, and never back. */
		if (port->lag[0] && (port != first_of(at, port->lag) ||
				     strcmp(at->ports[in.port].lag, port->lag) == 0))
			continue;
		if (p == in.port || !port->up || (!tagged && port->vlans.native != vlan))
			continue;
		if (port->peer_switch == UINT32_MAX)
			arrived(context, in.at, p, tagged ? vlan : 0);
		else
			sim_fabric_push(flood, (struct frame){port->peer_switch, port->peer_port,
							      tagged ? vlan : 0});
	}
}

unsigned sim_fabric_send(struct sim_fabric *fabric, uint32_t at, uint32_t port, unsigned tag,
			 sim_arrived_fn arrived, void *context)
{
	struct flood flood = {.fabric = fabric,
			      .seen = calloc(fabric->count + 1, sizeof(*flood.seen))};

	sim_fabric_push(&flood, (struct frame){at, port, tag});
	for (size_t i = 0; flood.seen && i < flood.count; i++) {
		struct frame in = flood.queue[i];
		const struct sim_switch *sw = &fabric->switches[in.at];
		unsigned vlan = sim_fabric_classified(&sw->ports[in.port].vlans, in.tag);

		/* A VLAN that is not in the table of the switch goes nowhere. */
		if (!vlan_set_has(&sw->vlans, vlan) || !sw->ports[in.port].up)
			continue;
		if (vlan_set_has(&flood.seen[in.at], vlan)) {
			flood.copies++;
			continue;
		}
		vlan_set_add(&flood.seen[in.at], vlan);
		sim_fabric_forward(&flood, in, vlan, arrived, context);
	}
	free(flood.queue);
	free(flood.seen);
	return flood.copies;
}
