/* The database's switches, ports, networks and NICs with their bindings over time, sorted for
 * lookups of a hundred thousand flows a second. Every binding has a begin and an end, so a late
 * sample finds the tenant at its own time. A change of the rows makes a new index; an index is
 * read-only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define BINDING_ENDLESS INT64_MAX
/* "No index". */
#define INDEX_NONE UINT32_MAX

enum port_kind { PORT_KIND_UNKNOWN, PORT_KIND_EDGE, PORT_KIND_UPLINK };

/* The rows; texts are copied. A row that refers to a missing id is left out and counted. */
struct switch_row {
	int64_t id;
	const char *name;
	int64_t fabric; /* VLANs are told apart by it */
	uint16_t agent; /* agent_directory's number */
};

struct port_row {
	int64_t switch_id;
	const char *name;
	const char *lag; /* name of the aggregate it is a member of; "" = none */
	uint32_t if_index;
	enum port_kind kind;
	uint64_t speed_bps; /* 0 = unknown */
};

struct network_row {
	int64_t id;
	const char *name;
	int64_t tenant; /* 0 = a network of the system */
	const char *tenant_name;
};

/* Frames with `tag` (0 = untagged) at this edge port belong to this network. */
struct port_binding_row {
	int64_t switch_id;
	const char *port;
	uint16_t tag;
	int64_t network;
	int64_t from_us, to_us;
};

/* The VLAN of a network on the switches of a fabric. */
struct vlan_binding_row {
	int64_t fabric;
	uint16_t vlan;
	int64_t network;
	int64_t from_us, to_us;
};

struct vni_binding_row {
	uint32_t vni;
	int64_t network;
	int64_t from_us, to_us;
};

/* A NIC and the port that it is plugged into. */
struct nic_binding_row {
	uint8_t mac[6];
	int64_t switch_id;
	const char *port;
	int64_t node; /* 0 = no known node */
	const char *node_name;
	int64_t from_us, to_us;
};

struct attribution_rows {
	const struct switch_row *switches;
	size_t switch_count;
	const struct port_row *ports;
	size_t port_count;
	const struct network_row *networks;
	size_t network_count;
	const struct port_binding_row *port_bindings;
	size_t port_binding_count;
	const struct vlan_binding_row *vlans;
	size_t vlan_count;
	const struct vni_binding_row *vnis;
	size_t vni_count;
	const struct nic_binding_row *nics;
	size_t nic_count;
};

/* The contents of the index; readers follow the pointers and change nothing. */
struct index_switch {
	int64_t id, fabric;
	const char *name;
	uint32_t ports, port_count; /* its own, of index.ports: sorted by if_index */
};

struct index_port {
	uint32_t switch_index;
	uint32_t if_index;
	const char *name;
	enum port_kind kind;
	uint32_t lag; /* index of the aggregate's port; INDEX_NONE */
	uint64_t speed_bps;
	uint32_t bindings,
		binding_count; /* of index.bindings; a member has those of its aggregate */
};

struct index_network {
	int64_t id, tenant;
	const char *name, *tenant_name;
};

struct index_binding {
	uint32_t port; /* while it is built */
	uint32_t network;
	uint16_t tag;
	int64_t from_us, to_us;
};

struct index_nic {
	uint64_t mac;
	uint32_t port;
	int64_t node;
	const char *node_name;
	int64_t from_us, to_us;
};

struct index_tag { /* a VLAN of a fabric, or a VNI (fabric 0) */
	int64_t fabric;
	uint32_t tag, network;
	int64_t from_us, to_us;
};

struct attribution_index {
	struct index_switch *switches;
	size_t switch_count;
	uint32_t *switch_of_agent; /* AGENT_LIMIT entries */
	struct index_port *ports;
	size_t port_count;
	struct index_network *networks;
	size_t network_count;
	struct index_binding *bindings;
	size_t binding_count;
	struct index_nic *nics; /* sorted by mac, from_us */
	size_t nic_count;
	uint32_t *nic_slots; /* hash of mac -> first of its rows plus one */
	size_t nic_mask;
	struct index_tag *tags; /* sorted by fabric, tag, from_us */
	size_t tag_count;
	uint32_t *
		tags_by_network; /* of VLANs: indexes of tags, sorted by network, fabric, from_us */
	size_t vlan_count;
	size_t left_out; /* rows that refer to a missing id */
	char *texts;     /* all names */
};

MUST_USE int attribution_index_new(const struct attribution_rows *rows,
				   struct attribution_index **ret);
void attribution_index_free(struct attribution_index *index);

/* Indexes, or INDEX_NONE. */
uint32_t index_port_find(const struct attribution_index *index, uint32_t switch_index,
			 uint32_t if_index);
/* The NIC's row that is valid at `at_us`; NULL = none. */
const struct index_nic *index_nic_find(const struct attribution_index *index, const uint8_t mac[6],
				       int64_t at_us);
/* The network of a tag at a port. */
uint32_t index_binding_find(const struct attribution_index *index, const struct index_port *port,
			    uint16_t tag, int64_t at_us);
/* The VLAN that a network has in a fabric; 0 = none. */
uint16_t index_vlan_find(const struct attribution_index *index, int64_t fabric, uint32_t network,
			 int64_t at_us);
/* The network of a VLAN in a fabric, or of a VNI (fabric 0). */
uint32_t index_tag_find(const struct attribution_index *index, int64_t fabric, uint32_t tag,
			int64_t at_us);
