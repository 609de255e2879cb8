#include "common/net/circuit_table.h"

#include <string.h>

#include "common/base/macros.h"

#define CISCO_CIRCUIT "\\x00\\x04{vlan:2}{module:1}{port:1}"
#define CISCO_REMOTE  "\\x00\\x06{mac}"
#define CISCO_TEXT    "\\x01{length}{name}"

/* Sources: Cisco Catalyst 3560/3750 configuration guides, "DHCP Snooping", and dhcp-users 2009-06
 * (ports from 3); D-Link DES-3528, DGS-3120 and DGS-3000 CLI references, "config dhcp_relay
 * option_82 circuit_id"; HP 6125XLG, 11900 and H3C S5120-EI references, "padding format"; DCN-style
 * references, "self-defined subscriber-id"; sonic-net/SONiC#57 and sonic-buildimage#763; isc
 * dhcrelay(8); Arista avd#1006 and #3323; Moxa EDS manuals. The separators of `comware-verbose` are
 * drawn in its manual, not seen on a device: learn a rule from a sample if yours differ. */
/* clang-format off */
const struct circuit_family circuit_families[] = {
	/* name, circuit-id, remote-id, switch, port, offset, help */
	{"cisco", CISCO_CIRCUIT, "", "", "{port}", 0,
	 "Catalyst and IOS: VLAN, module, port, counted from 1"},
	{"cisco-mac", CISCO_CIRCUIT, CISCO_REMOTE, "{mac}", "{module}/{port}", 0,
	 "the same, the switch named by the MAC in its remote-id"},
	{"cisco-base3", CISCO_CIRCUIT, "", "", "{port}", -2,
	 "Catalyst 3560 and its like: the first port is 3"},
	{"cisco-text", CISCO_TEXT, "", "", "{name}", 0,
	 "a text set per port: circuit-id string"},
	{"cisco-names", CISCO_TEXT, "\\x01{length}{switch}", "{switch}", "{name}", 0,
	 "texts for port and switch: circuit-id, remote-id strings"},
	{"dlink", "\\x00\\x04{vlan:2}{module:1}{port:1}", CISCO_REMOTE, "{mac}", "{port}", 0,
	 "D-Link default, standalone; the switch named by its MAC"},
	{"dlink-stack", "\\x00\\x04{vlan:2}{module:1}{port:1}", CISCO_REMOTE, "{mac}", "{module}/{port}", 0,
	 "D-Link default in a stack: unit and port"},
	{"dlink-vendor2", "p{port}", "", "", "{port}", 0,
	 "D-Link vendor2: p02"},
	{"dlink-vendor4", "{switch}-{module}/{port}-{vlan}", "", "{switch}", "{port}", 0,
	 "D-Link vendor4: NAME-MODULE/PORT-VLAN"},
	{"dlink-vendor5", "{switch} eth {chassis}/{slot}/{port}:{vlan}", "", "{switch}", "{port}", 0,
	 "D-Link vendor5: NAME eth CHASSIS/SLOT/PORT:VLAN"},
	{"dlink-vendor6", "Ethernet{chassis}/0/{port}:{vlan}.0 {switch}/0/0/{*}", "", "{switch}", "{port}", 0,
	 "D-Link vendor6: EthernetUNIT/0/PORT:VLAN.0 NAME/0/0/.."},
	{"comware", "\\x00\\x04{vlan:2}{port:2}", CISCO_REMOTE, "{mac}", "{port}", 0,
	 "HPE Comware and H3C normal: VLAN and interface number"},
	{"comware-plain", "{vlan:2}{port:2}", "", "", "{port}", 0,
	 "the same in the standard format, without type and length"},
	{"comware-verbose", "{switch}{ }eth{ }{chassis}/{slot}/{module}/{port}{ }{vlan:2}", "", "{switch}",
	 "{chassis}/{slot}/{module}/{port}", 0, "HPE Comware verbose: name, eth, port, VLAN as two bytes"},
	{"comware-verbose-text", "{switch}{ }eth{ }{chassis}/{slot}/{module}/{port}:{vlan}", "", "{switch}",
	 "{chassis}/{slot}/{module}/{port}", 0, "HPE Comware verbose, format ascii"},
	{"dcn", "Vlan{vlan}+{name}", "", "", "{name}", 0,
	 "DCN-style self-defined, ascii: Vlan2+Ethernet1/1"},
	{"dcn-hex", "{vlan:2}{slot:1}{module:1}{port:2}", "", "", "{port}", 0,
	 "DCN-style self-defined, hex: VLAN, slot, module, port"},
	{"sonic", "{switch}:{name}", "", "{switch}", "{name}", 0,
	 "SONiC, also on Edgecore; Arista: host name, alias of port"},
	{"arista", "{text}", "", "", "{text}", 0,
	 "Arista relay: the text of the interface as it was set"},
	{"arista-snooping", "{#1}{length}{switch}:{name}", "", "{switch}", "{name}", 0,
	 "Arista DHCP snooping: type, length, %h:%p"},
	{"interface", "{name}", "", "", "{name}", 0,
	 "Cumulus, isc dhcrelay: interface that it came in by"},
	{"moxa", "\\x01{vlan:2}{port:1}", "", "", "{port}", 0,
	 "Moxa: 01, VLAN, port"},
};
/* clang-format on */
const size_t circuit_family_count = COUNT_OF(circuit_families);

const struct circuit_family *circuit_family_find(const char *name)
{
	for (size_t i = 0; i < circuit_family_count; i++) {
		if (strcmp(circuit_families[i].name, name) == 0)
			return &circuit_families[i];
	}
	return NULL;
}
