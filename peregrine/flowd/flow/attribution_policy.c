#include "peregrine/flowd/flow/attribution_policy.h"

#include <string.h>

#define TAG_SIZE 4

const char *const attribution_by_words[ATTRIBUTION_BY_COUNT + 1] = {
	[BY_NOBODY] = "nobody", [BY_PORT] = "port", [BY_MAC] = "mac",
	[BY_VNI] = "vni",       [BY_TAG] = "tag",
};

/* Never forwarded by a bridge (802.1Q table 8-1: 01-80-C2-00-00-00 to 0F), or Cisco's own. */
static bool is_control(const struct flow_key *key)
{
	static const uint8_t link_local[5] = {0x01, 0x80, 0xc2, 0x00, 0x00};
	static const uint8_t cisco[5] = {0x01, 0x00, 0x0c, 0xcc, 0xcc};

	return (!memcmp(key->target_mac, link_local, 5) && key->target_mac[5] < 0x10) ||
	       !memcmp(key->target_mac, cisco, 5);
}

/* The VLAN that the frame shows or that the switch tells of it; VLAN_UNTOLD = neither. */
static uint16_t shown_vlan(const struct flow_key *key)
{
	if (key->tag)
		return key->tag;
	return key->told_vlan != VLAN_UNTOLD && key->told_vlan ? key->told_vlan : VLAN_UNTOLD;
}

static bool by_edge_port(const struct attribution_index *index, const struct flow_key *key,
			 int64_t at_us, struct attribution *a)
{
	const struct index_port *port = &index->ports[a->in_port];

	a->network = index_binding_find(index, port, key->tag, at_us);
	if (a->network == INDEX_NONE && key->tag == 0 && shown_vlan(key) != VLAN_UNTOLD) {
		/* A trunk whose switch strips the tag from what it samples, but tells it. */
		a->network = index_binding_find(index, port, shown_vlan(key), at_us);
	}
	if (a->network == INDEX_NONE)
		return false;
	a->by = BY_PORT;
	return true;
}

/* A tenant wraps frames, too (an overlay of containers has small VNIs): what is inside a frame with
 * his tag is his own, whatever network of ours has that VNI. */
static bool is_wrapped_by_tenant(const struct attribution_index *index, const struct flow_key *key,
				 int64_t at_us, const struct attribution *a)
{
	int64_t fabric = index->switches[a->switch_index].fabric;
	uint16_t vlan = shown_vlan(key);
	uint32_t outer;

	if (!(key->flags & FLOW_INNER) || vlan == VLAN_UNTOLD)
		return false;
	outer = index_tag_find(index, fabric, vlan, at_us);
	return outer != INDEX_NONE && index->networks[outer].tenant;
}

/* The network of our overlay that the frame was in; INDEX_NONE = none. */
static uint32_t overlay_of(const struct attribution_index *index, const struct flow_key *key,
			   int64_t at_us, const struct attribution *a)
{
	if (!key->vni || is_wrapped_by_tenant(index, key, at_us, a))
		return INDEX_NONE;
	return index_tag_find(index, 0, key->vni - 1, at_us);
}

/* The NIC's port says the network: the one of the frame's VNI or tag, else the untagged one. Inside
 * an overlay anybody of it writes MACs: none says another network than its VNI. */
static bool attribution_policy_by_mac(const struct attribution_index *index,
				      const struct flow_key *key, int64_t at_us,
				      struct attribution *a)
{
	const struct index_nic *nic = index_nic_find(index, key->source_mac, at_us);
	const struct index_port *port;
	int64_t fabric = index->switches[a->switch_index].fabric;
	uint32_t overlay = overlay_of(index, key, at_us, a);
	uint16_t vlan = shown_vlan(key);

	if (!nic || nic->port == INDEX_NONE)
		return false;
	port = &index->ports[nic->port];
	for (uint32_t i = 0; i < port->binding_count; i++) {
		const struct index_binding *binding = &index->bindings[port->bindings + i];

		if (at_us < binding->from_us || at_us >= binding->to_us)
			continue;
		if (overlay != INDEX_NONE ? overlay != binding->network
		    : vlan != VLAN_UNTOLD
			    ? index_tag_find(index, fabric, vlan, at_us) != binding->network
			    : binding->tag != 0)
			continue;
		a->network = binding->network;
		a->by = BY_MAC;
		return true;
	}
	return false;
}

static bool by_vni(const struct attribution_index *index, const struct flow_key *key, int64_t at_us,
		   struct attribution *a)
{
	a->network = overlay_of(index, key, at_us, a);
	if (a->network == INDEX_NONE)
		return false;
	a->by = BY_VNI;
	return true;
}

static bool by_tag(const struct attribution_index *index, const struct flow_key *key, int64_t at_us,
		   struct attribution *a)
{
	uint16_t vlan = shown_vlan(key);

	if (vlan == VLAN_UNTOLD)
		return false;
	a->network = index_tag_find(index, index->switches[a->switch_index].fabric, vlan, at_us);
	if (a->network == INDEX_NONE)
		return false;
	a->by = BY_TAG;
	return true;
}

bool attribution_nic_is_in(const struct attribution_index *index, const struct index_nic *nic,
			   uint32_t network, int64_t at_us)
{
	const struct index_port *port;

	if (network == INDEX_NONE || nic->port == INDEX_NONE)
		return true;
	port = &index->ports[nic->port];
	for (uint32_t i = 0; i < port->binding_count; i++) {
		const struct index_binding *binding = &index->bindings[port->bindings + i];

		if (binding->network == network && at_us >= binding->from_us &&
		    at_us < binding->to_us)
			return true;
	}
	return false;
}

static enum attribution_reason attribution_policy_why_not(const struct attribution_index *index,
							  const struct flow_key *key,
							  const struct attribution *a)
{
	if (key->input == (uint32_t)PORT_INTERNAL)
		return REASON_SWITCH_ITSELF;
	if (key->flags & FLOW_FOLDED)
		return REASON_FOLDED;
	if (a->in_port == INDEX_NONE)
		return REASON_UNKNOWN_PORT;
	if (index->ports[a->in_port].kind == PORT_KIND_EDGE)
		return REASON_PORT_UNBOUND;
	return shown_vlan(key) != VLAN_UNTOLD ? REASON_FOREIGN_VLAN : REASON_UNTAGGED;
}

/* Known where a port's bindings say it, and of uplinks: these carry a tenant's frames with their
 * tag. A frame without one that came in by an uplink may have had it, too: some switches take it
 * off what they sample. */
static int8_t tag_change(const struct attribution_index *index, const struct flow_key *key,
			 const struct attribution *a, int64_t at_us)
{
	const struct index_port *in;
	const struct index_port *out;
	bool leaves_untagged;

	if (a->network == INDEX_NONE || a->in_port == INDEX_NONE || a->out_port == INDEX_NONE ||
	    key->flags & (FLOW_RECORD | FLOW_EGRESS | FLOW_INNER))
		return 0;
	in = &index->ports[a->in_port];
	out = &index->ports[a->out_port];
	leaves_untagged = out->kind == PORT_KIND_EDGE &&
			  index_binding_find(index, out, 0, at_us) == a->network;
	if (key->tag)
		return leaves_untagged ? -TAG_SIZE : 0;
	if (in->kind != PORT_KIND_EDGE || index_binding_find(index, in, 0, at_us) != a->network)
		return 0;
	return out->kind == PORT_KIND_UPLINK ||
			       (out->kind == PORT_KIND_EDGE && !leaves_untagged && a->vlan &&
				index_binding_find(index, out, a->vlan, at_us) == a->network)
		       ? TAG_SIZE
		       : 0;
}

struct attribution attribute(const struct attribution_index *index, const struct flow_key *key,
			     int64_t at_us)
{
	struct attribution a = {.switch_index = index->switch_of_agent[key->agent],
				.in_port = INDEX_NONE,
				.out_port = INDEX_NONE,
				.network = INDEX_NONE};
	bool edge;

	if (a.switch_index == INDEX_NONE) {
		a.reason = REASON_UNKNOWN_PORT;
		return a;
	}
	if (port_is_index(key->input))
		a.in_port = index_port_find(index, a.switch_index, key->input);
	if (port_is_index(key->output))
		a.out_port = index_port_find(index, a.switch_index, key->output);
	if (is_control(key)) {
		a.reason = REASON_CONTROL;
		return a;
	}
	edge = a.in_port != INDEX_NONE && index->ports[a.in_port].kind == PORT_KIND_EDGE;
	a.from_edge = edge;
	/* What an edge port carries is said by its bindings alone: behind an unbound port nobody's
	 * MAC, tag or VNI counts, they are written by whoever sits there. */
	if (!(edge ? by_edge_port(index, key, at_us, &a)
		   : attribution_policy_by_mac(index, key, at_us, &a) ||
			      by_vni(index, key, at_us, &a) || by_tag(index, key, at_us, &a)))
		a.reason = attribution_policy_why_not(index, key, &a);
	if (a.network != INDEX_NONE)
		a.vlan = index_vlan_find(index, index->switches[a.switch_index].fabric, a.network,
					 at_us);
	if (!a.vlan && shown_vlan(key) != VLAN_UNTOLD)
		a.vlan = shown_vlan(key);
	a.out_more = tag_change(index, key, &a, at_us);
	return a;
}
