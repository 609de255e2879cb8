#include "bampi/agent/os_network.h"

#include "common/net/ipv4.h"

/* 802.1AX: a member is lost after 3 s; flows are spread by addresses and ports. */
#define BOND_MODE  "802.3ad"
#define BOND_RATE  "fast"
#define BOND_HASH  "layer3+4"
#define MONITOR_MS 100

static void os_network_add_prefix(const struct os_nic *nic, struct text *ret)
{
	char address[IPV4_TEXT_SIZE];

	text_addf(ret, "%s/%u", ipv4_text(nic->address, address), (unsigned)nic->length);
}

/* --- ifupdown --- */

static void bond_lines(const struct os_settings *settings, size_t index, struct text *ret)
{
	const char *name = settings->nics[index].name;

	text_add(ret, "\tpre-up modprobe bonding max_bonds=0 2>/dev/null || true\n");
	text_addf(ret,
		  "\tpre-up [ -d /sys/class/net/%s ] || echo +%s >/sys/class/net/bonding_masters\n",
		  name, name);
	text_addf(ret, "\tpre-up cd /sys/class/net/%s/bonding && echo %s >mode && echo %d >miimon",
		  name, BOND_MODE, MONITOR_MS);
	text_addf(ret, " && echo %s >lacp_rate && echo %s >xmit_hash_policy\n", BOND_RATE,
		  BOND_HASH);
	for (size_t i = 0; i < settings->nic_count; i++) {
		const struct os_nic *nic = &settings->nics[i];

		if (nic->kind == OS_NIC && nic->parent == index)
			text_addf(ret,
				  "\tpre-up ip link set dev %s down; echo +%s "
				  ">/sys/class/net/%s/bonding/slaves\n",
				  nic->name, nic->name, name);
	}
	text_addf(ret, "\tpost-down echo -%s >/sys/class/net/bonding_masters\n", name);
}

static void vlan_lines(const struct os_settings *settings, const struct os_nic *nic,
		       struct text *ret)
{
	const char *parent = settings->nics[nic->parent].name;

	text_addf(ret,
		  "\tpre-up [ -d /sys/class/net/%s ] || ip link add link %s name %s type vlan id "
		  "%u\n",
		  nic->name, parent, nic->name, (unsigned)nic->vlan);
	text_addf(ret, "\tpost-down ip link del dev %s\n", nic->name);
}

void os_interfaces_text(const struct os_settings *settings, struct text *ret)
{
	char text[IPV4_TEXT_SIZE > MAC_TEXT_SIZE ? IPV4_TEXT_SIZE : MAC_TEXT_SIZE];

	text_add(
		ret,
		"# Written when the node was installed; the names belong to the MACs beside them.\n");
	text_add(ret, "auto lo\niface lo inet loopback\n");
	for (size_t i = 0; i < settings->nic_count; i++) {
		const struct os_nic *nic = &settings->nics[i];

		if (nic->kind == OS_NIC && nic->parent != OS_NONE) {
			text_addf(ret, "\n# %s is %s, of %s\n", mac_text(nic->mac, text), nic->name,
				  settings->nics[nic->parent].name);
			continue; /* its bond brings it up */
		}
		text_add(ret, "\n");
		if (nic->kind == OS_NIC)
			text_addf(ret, "# %s\n", mac_text(nic->mac, text));
		text_addf(ret, "auto %s\niface %s inet %s\n", nic->name, nic->name,
			  !nic->addressed ? "manual"
			  : nic->dhcp     ? "dhcp"
					  : "static");
		if (nic->addressed && !nic->dhcp) {
			text_addf(ret, "\taddress %s\n", ipv4_text(nic->address, text));
			text_addf(ret, "\tnetmask %s\n", ipv4_text(ipv4_mask(nic->length), text));
			if (nic->has_gateway)
				text_addf(ret, "\tgateway %s\n", ipv4_text(nic->gateway, text));
		}
		if (nic->kind == OS_BOND)
			bond_lines(settings, i, ret);
		if (nic->kind == OS_VLAN)
			vlan_lines(settings, nic, ret);
		if (!nic->addressed)
			text_addf(ret, "\tup ip link set dev %s up\n", nic->name);
	}
}

/* --- systemd-networkd --- */

void os_netdev_text(const struct os_settings *settings, size_t index, struct text *ret)
{
	const struct os_nic *nic = &settings->nics[index];

	text_addf(ret, "[NetDev]\nName=%s\nKind=%s\n", nic->name,
		  nic->kind == OS_BOND ? "bond" : "vlan");
	if (nic->kind == OS_BOND)
		text_addf(ret,
			  "\n[Bond]\nMode=%s\nLACPTransmitRate=%s\nMIIMonitorSec=%dms\n"
			  "TransmitHashPolicy=%s\n",
			  BOND_MODE, BOND_RATE, MONITOR_MS, BOND_HASH);
	else
		text_addf(ret, "\n[VLAN]\nId=%u\n", (unsigned)nic->vlan);
}

void os_network_text(const struct os_settings *settings, size_t index, struct text *ret)
{
	const struct os_nic *nic = &settings->nics[index];
	char address[IPV4_TEXT_SIZE];

	text_addf(ret, "[Match]\nName=%s\n\n[Network]\n", nic->name);
	if (nic->kind == OS_NIC && nic->parent != OS_NONE) {
		text_addf(ret, "Bond=%s\n", settings->nics[nic->parent].name);
		return;
	}
	if (!nic->addressed) {
		text_add(ret, "LinkLocalAddressing=no\n");
	} else if (nic->dhcp) {
		text_add(ret, "DHCP=ipv4\n");
	} else {
		text_add(ret, "Address=");
		os_network_add_prefix(nic, ret);
		text_add(ret, "\n");
		if (nic->has_gateway)
			text_addf(ret, "Gateway=%s\n", ipv4_text(nic->gateway, address));
	}
	for (size_t i = 0; i < settings->nic_count; i++) {
		if (settings->nics[i].kind == OS_VLAN && settings->nics[i].parent == index)
			text_addf(ret, "VLAN=%s\n", settings->nics[i].name);
	}
}

/* --- netplan --- */

static void plan_nic(const struct os_settings *settings, const struct os_nic *nic, struct text *ret)
{
	char mac[MAC_TEXT_SIZE];

	(void)settings;
	text_addf(ret, "      match: {macaddress: \"%s\"}\n      set-name: %s\n",
		  mac_text(nic->mac, mac), nic->name);
}

static void plan_bond(const struct os_settings *settings, const struct os_nic *nic,
		      struct text *ret)
{
	const char *between = "";

	text_add(ret, "      interfaces: [");
	for (size_t i = 0; i < settings->nic_count; i++) {
		const struct os_nic *member = &settings->nics[i];

		if (member->kind != OS_NIC || member->parent != (size_t)(nic - settings->nics))
			continue;
		text_addf(ret, "%s%s", between, member->name);
		between = ", ";
	}
	text_addf(ret,
		  "]\n      parameters: {mode: %s, lacp-rate: %s, mii-monitor-interval: %d, "
		  "transmit-hash-policy: %s}\n",
		  BOND_MODE, BOND_RATE, MONITOR_MS, BOND_HASH);
}

static void os_network_plan_vlan(const struct os_settings *settings, const struct os_nic *nic,
				 struct text *ret)
{
	text_addf(ret, "      id: %u\n      link: %s\n", (unsigned)nic->vlan,
		  settings->nics[nic->parent].name);
}

static void plan_address(const struct os_nic *nic, struct text *ret)
{
	char gateway[IPV4_TEXT_SIZE];

	if (!nic->addressed) {
		text_add(ret, "      link-local: []\n");
		return;
	}
	if (nic->dhcp) {
		text_add(ret, "      dhcp4: true\n");
		return;
	}
	text_add(ret, "      addresses: [");
	os_network_add_prefix(nic, ret);
	text_add(ret, "]\n");
	if (nic->has_gateway)
		text_addf(ret, "      routes: [{to: 0.0.0.0/0, via: %s}]\n",
			  ipv4_text(nic->gateway, gateway));
}

void os_netplan_text(const struct os_settings *settings, struct text *ret)
{
	static const struct {
		enum os_kind kind;
		const char *title;
		void (*write)(const struct os_settings *settings, const struct os_nic *nic,
			      struct text *ret);
	} parts[] = {
		{OS_NIC, "ethernets", plan_nic},
		{OS_BOND, "bonds", plan_bond},
		{OS_VLAN, "vlans", os_network_plan_vlan},
	};

	text_add(ret, "# Written when the node was installed.\nnetwork:\n  version: 2\n");
	for (size_t p = 0; p < COUNT_OF(parts); p++) {
		bool begun = false;

		for (size_t i = 0; i < settings->nic_count; i++) {
			const struct os_nic *nic = &settings->nics[i];

			if (nic->kind != parts[p].kind)
				continue;
			if (!begun)
				text_addf(ret, "  %s:\n", parts[p].title);
			begun = true;
			text_addf(ret, "    %s:\n", nic->name);
			parts[p].write(settings, nic, ret);
			plan_address(nic, ret);
		}
	}
}
