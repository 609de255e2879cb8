/* Which VLANs a port carries, out of PortLists (RFC 4363), of FASTPATH's and SMI's modes beside
 * them, or of Cisco's four bitmaps. What our shape of a membership cannot say (a second VLAN that
 * leaves untagged, an access port that takes tagged frames) is shown as a trunk, so that it never
 * passes for what somebody wanted. */
#include <string.h>

#include "peregrine/switch/snmp/snmp_reading.h"

/* dot1qPortAcceptableFrameTypes, and TruthValue of dot1qPortIngressFiltering. */
enum { SNMP_MEMBERSHIP_FRAMES_TAGGED = 2 };
enum { SNMP_MEMBERSHIP_FILTER_ON = 1, FILTER_OFF = 2 };
enum { TRUNK_ON = 1, TRUNK_OFF = 2, TRUNK_ON_QUIET = 5, TRUNKING = 1 };
enum { SNMP_MEMBERSHIP_ROW_ACTIVE = 1 };

struct port_list_shape fact_list_shape(const struct snmp_dialect *dialect)
{
	return (struct port_list_shape){dialect->octets_per_unit, dialect->ports_per_unit};
}

uint16_t fact_vlan_id(const struct snmp_dialect *dialect, const struct fact_vlan *vlan)
{
	uint32_t id = vlan->key[0];

	/* OS9: 0x4207800a is the interface of VLAN 10. */
	if (dialect->vlan_by_if_index && id >= VLAN_LIMIT)
		id &= 0xfff;
	return id >= VLAN_FIRST && id <= VLAN_LAST ? (uint16_t)id : 0;
}

/* An access port by a number of the agent's own. One that is no VLAN is none, of a trunk: so it is
 * nothing that anybody wanted. */
static void of_access(uint32_t number, struct port_vlans *ret)
{
	ret->trunk = number > VLAN_LAST;
	ret->native = ret->trunk ? 0 : (uint16_t)number;
}

/* --- lists of text --- */

static bool all_are_text(const struct snmp_facts *facts)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);

		if (!port_list_is_text(row->egress.bytes, row->egress.size) ||
		    !port_list_is_text(row->untagged.bytes, row->untagged.size))
			return false;
	}
	return true;
}

static void list_from_text(struct snmp_facts *facts, struct fact_octets *list, uint32_t *odd)
{
	uint8_t bits[PORT_LIST_LIMIT];
	size_t size = port_list_from_text(list->bytes, list->size, bits, odd);

	(void)fact_set_octets(facts, list, bits, size);
}

/* One list of bits may look like digits; not all of a switch that has more than a few ports. */
void fact_lists_from_text(struct snmp_facts *facts)
{
	uint32_t odd = 0;

	if (!facts->dialect->text_lists || !all_are_text(facts))
		return;
	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);

		list_from_text(facts, &row->egress, &odd);
		list_from_text(facts, &row->untagged, &odd);
	}
	if (odd)
		snmp_facts_odd(facts, "VLAN table: %u base ports above %u were left out", odd,
			       PORT_LIST_LIMIT * 8U);
}

/* --- lists of bits --- */

struct lists {
	struct vlan_set untagged, tagged, trunk;
	bool any;
};

static void read_lists(const struct snmp_facts *facts, uint32_t base_port, struct lists *ret)
{
	struct port_list_shape shape = fact_list_shape(facts->dialect);

	for (uint32_t i = 0; i < fact_count(facts, FACT_VLANS); i++) {
		const struct fact_vlan *row = fact_at(facts, FACT_VLANS, i);
		uint16_t id = fact_vlan_id(facts->dialect, row);

		/* A VLAN whose list is not told says of no port that it is not in it. */
		if (!id || row->status > SNMP_MEMBERSHIP_ROW_ACTIVE || !row->egress.bytes)
			continue;
		ret->any = true;
		if (port_list_has(row->trunk_egress.bytes, row->trunk_egress.size, shape,
				  base_port))
			vlan_set_add(&ret->trunk, id);
		if (!port_list_has(row->egress.bytes, row->egress.size, shape, base_port))
			continue;
		if (port_list_has(row->untagged.bytes, row->untagged.size, shape, base_port))
			vlan_set_add(&ret->untagged, id);
		else
			vlan_set_add(&ret->tagged, id);
	}
}

/* A port of Q-BRIDGE alone, or in a mode that leaves it to Q-BRIDGE. */
static void of_lists(const struct fact_bridge_port *bridge, bool fixed, const struct lists *lists,
		     struct port_vlans *ret)
{
	bool tagged_only = !fixed && bridge->frame_types == SNMP_MEMBERSHIP_FRAMES_TAGGED;
	uint16_t pvid = bridge->pvid <= VLAN_LAST ? (uint16_t)bridge->pvid : 0;

	ret->tagged = lists->tagged;
	/* Without the filter a frame with any tag comes in. */
	ret->trunk = !vlan_set_is_empty(&lists->tagged) || tagged_only ||
		     (!fixed && bridge->ingress == FILTER_OFF);
	if (vlan_set_has(&lists->untagged, pvid))
		ret->native = tagged_only ? 0 : pvid;
	else if (tagged_only || (vlan_set_is_empty(&lists->untagged) &&
				 bridge->ingress == SNMP_MEMBERSHIP_FILTER_ON &&
				 !vlan_set_has(&lists->tagged, pvid)))
		ret->native = 0; /* untagged frames go nowhere */
	else
		ret->native = pvid; /* what comes in untagged is of it, whatever goes out */
	for (unsigned v = vlan_set_next(&lists->untagged, 1); v;
	     v = vlan_set_next(&lists->untagged, v + 1)) {
		if (v == ret->native)
			continue;
		vlan_set_add(&ret->tagged, v);
		ret->trunk = true;
	}
	/* Without a native VLAN it is a trunk, perhaps of nothing. */
	ret->trunk |= ret->native == 0;
	vlan_set_remove(&ret->tagged, ret->native);
}

static bool qbridge_vlans(struct snmp_facts *facts, const struct fact_interface *interface,
			  struct port_vlans *ret)
{
	const struct snmp_port_mode *mode = &facts->dialect->mode;
	uint32_t base_port = fact_base_port(facts, interface->key[0]);
	const struct fact_bridge_port *bridge =
		base_port ? fact_find(facts, FACT_BRIDGE_PORTS, base_port, 0, 0) : NULL;
	struct lists lists = {0};

	if (!bridge)
		return false;
	read_lists(facts, base_port, &lists);
	if (!lists.any)
		return false;
	if (mode->access_vlan.count && bridge->mode == (uint32_t)mode->access) {
		of_access(bridge->mode_access, ret);
		return true;
	}
	if (mode->native_vlan.count && bridge->mode == (uint32_t)mode->trunk) {
		ret->trunk = true;
		ret->tagged = lists.trunk;
		/* A native VLAN that the trunk does not carry drops what comes untagged. */
		if (vlan_set_has(&lists.trunk, bridge->mode_native))
			ret->native = (uint16_t)bridge->mode_native;
		vlan_set_remove(&ret->tagged, ret->native);
		return true;
	}
	of_lists(bridge, facts->fixed_frame_types, &lists, ret);
	/* An access port of SMI drops tagged frames whatever its frame types say. */
	if (mode->mode.count && !mode->access_vlan.count && bridge->mode)
		ret->trunk =
			bridge->mode != (uint32_t)mode->access || !vlan_set_is_empty(&ret->tagged);
	return true;
}

bool fact_is_trunk(const struct fact_interface *interface)
{
	switch (interface->trunk_state) {
	case TRUNK_ON:
	case TRUNK_ON_QUIET: return true;
	case TRUNK_OFF: return false;
	default: return interface->trunk_status == TRUNKING; /* it negotiates */
	}
}

static bool vtp_vlans(struct snmp_facts *facts, const struct fact_interface *interface,
		      struct port_vlans *ret)
{
	struct vlan_set enabled = {0};

	if (!interface->vm_vlan && !interface->trunk_state)
		return false;
	if (!fact_is_trunk(interface)) {
		of_access(interface->vm_vlan, ret);
		return interface->vm_vlan != 0;
	}
	for (size_t i = 0; i < VLAN_BLOCKS; i++) {
		if (vlan_block_decode(interface->enabled[i].bytes, interface->enabled[i].size, i,
				      &enabled))
			snmp_facts_odd(facts, "%s: bitmap %zu of its VLANs is too long",
				       fact_port_name(interface), i);
	}
	/* Token Ring's and FDDI's: no Ethernet frame is in them, and some show them on every trunk.
	 */
	for (unsigned vlan = VTP_RING_FIRST; vlan <= VTP_RING_LAST; vlan++)
		vlan_set_remove(&enabled, vlan);
	ret->trunk = true;
	if (interface->trunk_native <= VLAN_LAST && vlan_set_has(&enabled, interface->trunk_native))
		ret->native = (uint16_t)interface->trunk_native;
	ret->tagged = enabled;
	vlan_set_remove(&ret->tagged, ret->native);
	return true;
}

bool fact_port_vlans(struct snmp_facts *facts, const struct fact_interface *interface,
		     struct port_vlans *ret)
{
	*ret = (struct port_vlans){0};
	if (facts->dialect->writer == SNMP_WRITER_VTP)
		return vtp_vlans(facts, interface, ret);
	return qbridge_vlans(facts, interface, ret);
}

bool fact_port_unproven(const struct snmp_facts *facts, const struct fact_interface *interface,
			const struct port_vlans *vlans)
{
	const struct snmp_port_mode *mode = &facts->dialect->mode;
	uint32_t base_port = fact_base_port(facts, interface->key[0]);
	const struct fact_bridge_port *bridge =
		base_port ? fact_find(facts, FACT_BRIDGE_PORTS, base_port, 0, 0) : NULL;

	/* A mode of its own says it: VTP's, FASTPATH's, SMI's. */
	if (vlans->trunk || !bridge || facts->dialect->writer == SNMP_WRITER_VTP ||
	    (mode->mode.count && bridge->mode))
		return false;
	return bridge->ingress != SNMP_MEMBERSHIP_FILTER_ON;
}
