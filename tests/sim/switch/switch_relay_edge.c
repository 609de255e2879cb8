#include "tests/sim/switch/switch_relay_edge.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define RULES_MS 1000 /* switch_agent replaces all rules when its own change */

static void edge_free(struct edge *edge)
{
	if (!edge)
		return;
	loop_watch_free(edge->watch);
	if (edge->fd >= 0)
		(void)close(edge->fd);
	free(edge);
}

static int edge_open(struct edge *edge)
{
	const int one = 1;
	const struct sockaddr_ll address = {.sll_family = AF_PACKET,
					    .sll_protocol = htons(ETH_P_ALL),
					    .sll_ifindex = (int)edge->if_index};
	const struct packet_mreq all = {.mr_type = PACKET_MR_PROMISC,
					.mr_ifindex = (int)edge->if_index};

	edge->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (edge->fd < 0 ||
	    setsockopt(edge->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(edge->fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) ||
	    bind(edge->fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(edge->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		return -errno;
	return loop_watch_new(edge->relay->loop, edge->fd, LOOP_READ, edge->relay->on_frames, edge,
			      &edge->watch);
}

static struct edge *edge_find(const struct relay *relay, const struct switch_plane_port *port)
{
	for (size_t i = 0; i < relay->edge_count; i++) {
		struct edge *edge = relay->edges[i];

		if (strcmp(edge->name, port->name) == 0 && edge->number == port->number &&
		    edge->if_index == port->if_index)
			return edge;
	}
	return NULL;
}

/* True when something changed. */
static bool edge_keep(struct relay *relay, const struct switch_plane_port *port, size_t svi)
{
	const struct switch_relay_place place = {relay->name, port->name, relay->mac,
						 relay->svis[svi].vlan};
	struct edge *edge = edge_find(relay, port);
	bool changed = !edge || edge->svi != svi;

	if (!edge) {
		edge = relay->edge_count < RELAY_EDGES ? calloc(1, sizeof(*edge)) : NULL;
		if (!edge)
			return false;
		*edge = (struct edge){.relay = relay,
				      .number = port->number,
				      .if_index = port->if_index,
				      .fd = -1};
		(void)text_copy(edge->name, sizeof(edge->name), port->name);
		if (edge_open(edge) != 0) { /* the cable was just pulled; looked for again */
			edge_free(edge);
			return false;
		}
		relay->edges[relay->edge_count++] = edge;
	}
	edge->seen = true;
	edge->svi = svi;
	relay->format->write(&place, &edge->option);
	return changed;
}

static bool is_trusted(const struct relay *relay, const char *port)
{
	for (size_t i = 0; i < relay->trusted_count; i++) {
		if (strcmp(relay->trusted[i], port) == 0)
			return true;
	}
	return false;
}

static uint32_t switch_relay_edge_address_of(const struct relay *relay, const char *interface)
{
	struct ifreq request = {0};
	struct sockaddr_in address;

	(void)text_copy(request.ifr_name, sizeof(request.ifr_name), interface);
	if (ioctl(relay->udp, SIOCGIFADDR, &request) != 0)
		return 0;
	memcpy(&address, &request.ifr_addr, sizeof(address));
	return ntohl(address.sin_addr.s_addr);
}

static void look_at_svis(struct relay *relay, const struct switch_plane *plane)
{
	for (size_t i = 0; i < relay->svi_count; i++) {
		struct svi *svi = &relay->svis[i];

		*svi = (struct svi){.port = svi->port};
		for (size_t j = 0; j < plane->port_count; j++) {
			if (strcmp(plane->ports[j].name, svi->port) == 0)
				svi->vlan = plane->ports[j].tagging.tag;
		}
		svi->address = switch_relay_edge_address_of(relay, svi->port);
	}
}

static bool switch_relay_edge_look_at_port(struct relay *relay,
					   const struct switch_plane_port *port)
{
	size_t found = RELAY_SVIS;

	for (size_t i = 0; i < relay->svi_count; i++) {
		if (strcmp(port->name, relay->svis[i].port) == 0)
			return false;
		if (relay->svis[i].vlan == port->tagging.tag && relay->svis[i].address)
			found = i;
	}
	return found < RELAY_SVIS && port->tagging.mode == SWITCH_ACCESS && port->tagging.tag &&
	       !is_trusted(relay, port->name) && edge_keep(relay, port, found);
}

static bool edges_forget(struct relay *relay)
{
	size_t kept = 0;
	size_t before = relay->edge_count;

	for (size_t i = 0; i < before; i++) {
		if (relay->edges[i]->seen)
			relay->edges[kept++] = relay->edges[i];
		else
			edge_free(relay->edges[i]);
	}
	relay->edge_count = kept;
	return kept != before;
}

/* --- rules --- */

static void write_rules(struct relay *relay)
{
	CLEANUP(text_done) struct text text = {0};
	static const char *const kept_away[] = {
		"dl_dst=ff:ff:ff:ff:ff:ff,tp_dst=67", /* the CPU has it */
		"tp_src=67",
		"tp_dst=68",
	};
	int rc;

	text_add(&text, "delete cookie=0x82/-1\n");
	for (size_t i = 0; i < relay->edge_count; i++) {
		for (size_t j = 0; j < COUNT_OF(kept_away); j++)
			text_addf(&text,
				  "add cookie=0x82,priority=100,udp,in_port=%u,%s,actions=drop\n",
				  relay->edges[i]->number, kept_away[j]);
	}
	rc = text.failed ? -ENOMEM : switch_ovs_rules(relay->openflow, relay->rules, text.data);
	if (rc != 0)
		(void)fprintf(stderr, "switch_relay: rules: %s\n", error_text(rc));
	else
		relay->rules_ms = loop_now_ms(relay->loop);
}

static int compare_edges(const void *left, const void *right)
{
	const struct edge *const *a = left;
	const struct edge *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

void relay_edges_look(struct relay *relay)
{
	struct switch_plane plane = {0};
	bool changed = !relay->ready;

	if (switch_ovs_read(relay->ovs, &plane) != 0)
		return;
	relay->mac = plane.mac;
	look_at_svis(relay, &plane);
	for (size_t i = 0; i < relay->edge_count; i++)
		relay->edges[i]->seen = false;
	for (size_t i = 0; i < plane.port_count; i++)
		changed |= switch_relay_edge_look_at_port(relay, &plane.ports[i]);
	switch_plane_done(&plane);
	changed |= edges_forget(relay);
	if (relay->edge_count > 0)
		qsort(relay->edges, relay->edge_count, sizeof(struct edge *), compare_edges);
	if (changed || loop_now_ms(relay->loop) - relay->rules_ms >= RULES_MS)
		write_rules(relay);
	if (!changed)
		return;
	relay->ready = true;
	(void)printf("ready edge=");
	for (size_t i = 0; i < relay->edge_count; i++)
		(void)printf("%s%s", i ? "," : "", relay->edges[i]->name);
	(void)printf("\n");
	(void)fflush(stdout);
}

bool relay_edge_stays(struct relay *relay, const struct edge *edge)
{
	relay_edges_look(relay);
	for (size_t i = 0; i < relay->edge_count; i++) {
		if (relay->edges[i] == edge)
			return true;
	}
	return false;
}

void relay_edges_done(struct relay *relay)
{
	for (size_t i = 0; i < relay->edge_count; i++)
		edge_free(relay->edges[i]);
	relay->edge_count = 0;
	if (relay->ready)
		write_rules(relay);
}
