/* Fabrics of any shape for the properties of isolation: a model with its states, drawn from a seed,
 * and a flooding model that knows nothing of how the proof is made. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/control/reconcile/diff_policy.h"

enum {
	RF_SWITCHES = 7,
	RF_PORTS = 64,
	RF_MEMBERS = 128,
	RF_NETWORKS = 6,
	RF_LOW = 10,
	RF_PARKING = 20,
	RF_PARKING_HIGH = 25, /* more than a switch has edge ports */
	RF_VLANS = 32,        /* the flooding model looks at 1..31 */
};

struct random_fabric {
	uint64_t seed;
	struct fabric_model model;
	struct fabric_switch switches[RF_SWITCHES];
	struct fabric_port ports[RF_PORTS];
	struct fabric_member members[RF_MEMBERS];
	struct fabric_network networks[RF_NETWORKS];
	char names[RF_PORTS][16];
	char switch_names[RF_SWITCHES][16];
	struct port_vlans room[RF_PORTS];
	port_state state[RF_PORTS];
};

static inline uint32_t rf_random(struct random_fabric *f, uint32_t below)
{
	f->seed = f->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return below ? (uint32_t)(f->seed >> 33) % below : 0;
}

static inline uint32_t rf_port(struct random_fabric *f, uint32_t at, enum port_role role)
{
	uint32_t i = f->model.port_count++;

	(void)snprintf(f->names[i], sizeof(f->names[i]), "p%u", i);
	f->ports[i] = (struct fabric_port){.at = at,
					   .name = f->names[i],
					   .role = role,
					   .up = true,
					   .carrier = i,
					   .peer = MODEL_NONE};
	f->switches[at].port_count++;
	return i;
}

/* Ports of a switch lie side by side, so uplinks are counted before they are cabled. */
static inline void rf_make(struct random_fabric *f, uint64_t seed)
{
	uint32_t links[24][2];
	uint32_t link_count = 0;
	uint32_t spines;
	uint32_t ends[24][2] = {0};

	memset(f, 0, sizeof(*f));
	f->seed = seed * 7919 + 1;
	f->model = (struct fabric_model){.name = "f",
					 .vlan_low = RF_LOW,
					 .vlan_high = RF_LOW + 9,
					 .parking = RF_PARKING,
					 .parking_high = RF_PARKING_HIGH,
					 .switches = f->switches,
					 .ports = f->ports,
					 .members = f->members,
					 .networks = f->networks};
	f->model.switch_count = 2 + rf_random(f, RF_SWITCHES - 2);
	spines = 1 + rf_random(f, f->model.switch_count - 1);
	for (uint32_t a = 0; a < f->model.switch_count; a++) {
		for (uint32_t b = a + 1; b < f->model.switch_count; b++) {
			bool cabled = a < spines && b >= spines ? rf_random(f, 8) > 0
								: rf_random(f, 6) == 0;

			for (uint32_t n = cabled ? 1 + (rf_random(f, 5) == 0) : 0;
			     n > 0 && link_count < 20; n--) {
				links[link_count][0] = a;
				links[link_count++][1] = b;
			}
		}
	}
	for (uint32_t s = 0; s < f->model.switch_count; s++) {
		struct fabric_switch *at = &f->switches[s];

		(void)snprintf(f->switch_names[s], sizeof(f->switch_names[s]), "s%u", s);
		*at = (struct fabric_switch){.id = (int64_t)s * 17 + 3,
					     .name = f->switch_names[s],
					     .spine = s < spines,
					     .first_port = f->model.port_count};
		for (uint32_t l = 0; l < link_count; l++) {
			for (uint32_t end = 0; end < 2; end++) {
				if (links[l][end] == s)
					ends[l][end] = rf_port(f, s, PORT_UPLINK);
			}
		}
		for (uint32_t n = s < spines ? rf_random(f, 2) : rf_random(f, 4); n > 0; n--)
			(void)rf_port(f, s, PORT_EDGE);
	}
	for (uint32_t l = 0; l < link_count; l++) {
		f->ports[ends[l][0]].peer = ends[l][1];
		f->ports[ends[l][1]].peer = ends[l][0];
	}
	f->model.network_count = 1 + rf_random(f, RF_NETWORKS);
	for (uint32_t n = 0; n < f->model.network_count; n++)
		f->networks[n] = (struct fabric_network){.id = 100 + (int64_t)n,
							 .tenant_id = (int64_t)n,
							 .name = "n",
							 .vlan = (uint16_t)(RF_LOW + n)};
	/* As delivered: uplinks trunk VLAN 1 untagged, edge ports parked. */
	for (uint32_t p = 0; p < f->model.port_count; p++) {
		bool uplink = f->ports[p].role == PORT_UPLINK;

		f->room[p] = (struct port_vlans){.native = uplink ? 1 : RF_PARKING};
		f->state[p] = &f->room[p];
	}
}

static inline void rf_attach(struct random_fabric *f, uint32_t port, uint32_t network,
			     enum member_mode mode)
{
	f->members[f->model.member_count++] =
		(struct fabric_member){.network = network, .mode = mode};
	f->ports[port].member_count++;
}

/* Draws anew what each edge port is meant for. */
static inline void rf_intend(struct random_fabric *f)
{
	f->model.member_count = 0;
	for (uint32_t p = 0; p < f->model.port_count; p++) {
		uint32_t first = rf_random(f, f->model.network_count);

		f->ports[p].first_member = f->model.member_count;
		f->ports[p].member_count = 0;
		if (f->ports[p].role != PORT_EDGE || rf_random(f, 4) == 0)
			continue;
		if (rf_random(f, 3) > 0) {
			rf_attach(f, p, first, MEMBER_ACCESS);
			continue;
		}
		if (rf_random(f, 2))
			rf_attach(f, p, first, MEMBER_NATIVE);
		for (uint32_t n = 0; n < f->model.network_count; n++) {
			if (n != first && rf_random(f, 2))
				rf_attach(f, p, n, MEMBER_TAGGED);
		}
	}
}

/* What is there becomes what was computed. */
static inline void rf_settle(struct random_fabric *f, const port_state state[])
{
	struct port_vlans next[RF_PORTS];

	for (uint32_t p = 0; p < f->model.port_count; p++)
		next[p] = *state[p];
	memcpy(f->room, next, f->model.port_count * sizeof(*next));
	for (uint32_t p = 0; p < f->model.port_count; p++)
		f->state[p] = &f->room[p];
}

/* --- flooding, frame by frame --- */

struct rf_frame {
	uint32_t port; /* it arrives at */
	unsigned tag;  /* 0 = none */
};

struct rf_flood {
	const struct random_fabric *f;
	const port_state *state;
	bool seen[RF_SWITCHES][RF_VLANS];
	bool reached[RF_PORTS][RF_VLANS]; /* edge port, VLAN that the frame left it from */
	unsigned copies; /* frames that arrived at a switch which had this one already */
};

static inline unsigned rf_classify(const struct port_vlans *vlans, unsigned tag)
{
	if (tag == 0 || tag == vlans->native)
		return vlans->native;
	return vlans->trunk && vlan_set_has(&vlans->tagged, tag) ? tag : 0;
}

static inline void rf_arrive(struct rf_flood *flood, struct rf_frame frame)
{
	struct rf_frame queue[RF_PORTS * RF_VLANS];
	size_t count = 0;

	queue[count++] = frame;
	for (size_t i = 0; i < count && count + RF_PORTS < RF_PORTS * RF_VLANS; i++) {
		const struct fabric_port *in = &flood->f->ports[queue[i].port];
		unsigned vlan = flood->state[queue[i].port]
					? rf_classify(flood->state[queue[i].port], queue[i].tag)
					: 0;

		if (vlan == 0 || vlan >= RF_VLANS)
			continue;
		if (flood->seen[in->at][vlan]) {
			flood->copies++;
			continue;
		}
		flood->seen[in->at][vlan] = true;
		for (uint32_t out = 0; out < flood->f->model.port_count; out++) {
			const struct port_vlans *vlans = flood->state[out];

			if (out == queue[i].port || flood->f->ports[out].at != in->at || !vlans)
				continue;
			if (vlans->native != vlan &&
			    !(vlans->trunk && vlan_set_has(&vlans->tagged, vlan)))
				continue;
			if (flood->f->ports[out].peer == MODEL_NONE)
				flood->reached[out][vlan] = true;
			else
				queue[count++] =
					(struct rf_frame){flood->f->ports[out].peer,
							  vlans->native == vlan ? 0 : vlan};
		}
	}
}

static inline bool rf_meant(const struct random_fabric *f, uint32_t port, unsigned vlan)
{
	const struct fabric_port *p = &f->ports[port];

	for (uint32_t i = 0; i < p->member_count; i++) {
		if (f->networks[f->members[p->first_member + i].network].vlan == vlan)
			return true;
	}
	return false;
}

/* Frames that get from one network to another, or to a port that is not meant for theirs: sent by
 * every edge port with every tag. `may`: a port may have it by its present intent, or had it
 * before. */
typedef bool (*rf_may_fn)(const struct random_fabric *f, uint32_t port, unsigned vlan);

static inline unsigned rf_leaks(const struct random_fabric *f, const port_state state[],
				rf_may_fn may, unsigned *copies)
{
	unsigned leaks = 0;

	for (uint32_t p = 0; p < f->model.port_count; p++) {
		for (unsigned tag = 0; f->ports[p].role == PORT_EDGE && tag < RF_VLANS; tag++) {
			struct rf_flood flood = {.f = f, .state = state};
			unsigned vlan = state[p] ? rf_classify(state[p], tag) : 0;

			if (vlan == 0 || (vlan >= RF_PARKING && vlan <= RF_PARKING_HIGH) ||
			    vlan >= RF_VLANS)
				continue;
			rf_arrive(&flood, (struct rf_frame){p, tag});
			*copies += flood.copies;
			for (uint32_t q = 0; q < f->model.port_count; q++) {
				for (unsigned out = 1; out < RF_VLANS; out++) {
					if (q != p && flood.reached[q][out])
						leaks += out != vlan || !may(f, q, out) ||
							 !may(f, p, vlan);
				}
			}
		}
	}
	return leaks;
}
