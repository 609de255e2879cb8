/* Small numbers for the keys of traffic (places, groups, nodes), and back. A number is valid as
 * long as the daemon runs, so the sums of an hour survive a change of the index. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "peregrine/flowd/flow/attribution_policy.h"

struct traffic_place {
	int64_t switch_id;
	char switch_name[64], port[64];
	uint64_t speed_bps; /* as last read */
};

/* The owner. Ids, not names alone: a deleted tenant's name may be given to another. */
struct traffic_group {
	int64_t tenant, network; /* 0 = none */
	uint16_t vlan;
	uint8_t reason; /* enum attribution_reason; REASON_NONE: tenant or system network */
	char tenant_name[64], network_name[64];
};

struct traffic_node {
	int64_t id;
	char name[64];
};

struct traffic_names;

MUST_USE int traffic_names_new(struct traffic_names **ret);
void traffic_names_free(struct traffic_names *names);

/* Each finds or makes one and returns its number; INDEX_NONE without memory. */
uint32_t traffic_names_place(struct traffic_names *names, int64_t switch_id,
			     const char *switch_name, const char *port, uint64_t speed_bps);
/* `network` NULL: no owner, `reason` says why. */
uint32_t traffic_names_group(struct traffic_names *names, const struct index_network *network,
			     uint16_t vlan, enum attribution_reason reason);
uint32_t traffic_names_node(struct traffic_names *names, int64_t id, const char *name);

/* Borrowed until the next one is made. The number must exist. */
const struct traffic_place *traffic_place_get(const struct traffic_names *names, uint32_t number);
const struct traffic_group *traffic_group_get(const struct traffic_names *names, uint32_t number);
const struct traffic_node *traffic_node_get(const struct traffic_names *names, uint32_t number);
size_t traffic_place_count(const struct traffic_names *names);
size_t traffic_node_count(const struct traffic_names *names);
