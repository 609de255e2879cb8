/* From facts to a reading: which interface a port is, who its neighbour is, which VLANs it carries.
 * Pure. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/switch/snmp/qbridge_wire.h"
#include "peregrine/switch/snmp/snmp_facts.h"
#include "peregrine/switch/switch_driver.h"

/* Fills `ret` with `parts` (bits of enum switch_part); ret->parts and ->requests are the caller's.
 * With `only_ports` (NULL-ended; NULL = all) no other port. -ENOMEM. */
MUST_USE int snmp_reading_make(struct snmp_facts *facts, unsigned parts,
			       const char *const *only_ports, struct switch_reading *ret);

/* The name that a port has everywhere: ifName, else ifDescr. */
const char *fact_port_name(const struct fact_interface *interface);
/* Of a port whose name others have, too: "internal#7", cut to fit. `ret` may be `name`. */
void fact_alike_name(const char *name, uint32_t if_index, char ret[64]);
/* The base port of an interface; 0 = no bridge port. */
uint32_t fact_base_port(const struct snmp_facts *facts, uint32_t if_index);
struct port_list_shape fact_list_shape(const struct snmp_dialect *dialect);
/* The VID of a row of dot1qVlanStaticTable; 0 = none. */
uint16_t fact_vlan_id(const struct snmp_dialect *dialect, const struct fact_vlan *vlan);
/* Lists of ports that the agent writes as text (snmp_dialect.text_lists) become bits. */
void fact_lists_from_text(struct snmp_facts *facts);
/* The VLANs of one interface as the dialect's writer has them; false when they were not read. */
bool fact_port_vlans(struct snmp_facts *facts, const struct fact_interface *interface,
		     struct port_vlans *ret);
/* An access port by `vlans`, and nothing shows that frames with a tag are dropped: the filter on
 * ingress (dot1qPortIngressFiltering) is not on, is not shown or cannot be written. */
bool fact_port_unproven(const struct snmp_facts *facts, const struct fact_interface *interface,
			const struct port_vlans *vlans);
/* Cisco: does it carry tagged frames, by its own setting or by what it negotiated? */
bool fact_is_trunk(const struct fact_interface *interface);
/* Is what Q-BRIDGE says of the FDB of any use? Some agents answer it with other numbers. */
bool fact_fdb_makes_sense(const struct snmp_facts *facts);
/* The addresses of a reading. -ENOMEM. */
MUST_USE int fact_fdb_make(struct snmp_facts *facts, struct switch_reading *ret);
