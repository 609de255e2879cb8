// links: peregrine_switch
/* The tables that switches show of addresses, neighbours and links. The samples are those of
 * tests/fuzz/corpus/cli_text. */
#include "peregrine/switch/cli/cli_show_wire.h"
#include "tests/support/cli_sample.h"
#include "tests/support/cmocka.h"

static bool add_fdb(void *context, const struct cli_fdb_row *row)
{
	text_addf(context, "%02x%02x:%u:%s ", row->mac[4], row->mac[5], row->vlan, row->port);
	return true;
}

static bool add_lldp(void *context, const struct cli_lldp_row *row)
{
	text_addf(context, "%s=%s:%s:%s ", row->local, row->chassis, row->port, row->system);
	return true;
}

static bool add_port(void *context, const struct cli_port_row *row)
{
	text_addf(context, "%s:%d:%d ", row->port, row->up, row->shut);
	return true;
}

static void test_tables(void **state)
{
	static const struct {
		const char *sample, *rows;
	} rows[] = {
		{"ios_fdb", "3456:110:GigabitEthernet1/0/1 3457:120:Port-channel1 "},
		{"nxos_fdb", "3456:110:Ethernet1/1 "},
		{"procurve_fdb", "3456:110:1 3457:120:Trk1 "},
		{"comware_fdb", "3456:110:GigabitEthernet1/0/1 "},
		{"os9_fdb", "3456:110:TenGigabitEthernet 0/0 "},
		{"sonic_fdb", "3456:110:Ethernet0 "},
		{"ios_lldp", "GigabitEthernet1/0/1=5254.0012.3456:eth0:n1 "
			     "TenGigabitEthernet1/1/1=0011.2233.4455:Te1/1/2:spine1.example "},
		{"nxos_lldp", "Ethernet1/1=5254.0012.3456:eth0:n1 "
			      "Ethernet1/2=0011.2233.4455:Ethernet1/9:leaf2 "},
		{"comware_lldp", "GigabitEthernet1/0/1=5254-0012-3456:eth0:n1 "},
		{"os10_lldp", "ethernet1/1/1=52:54:00:12:34:56:eth0:n1 "
			      "ethernet1/1/2=00:11:22:33:44:55:ethernet1/1/32:spine1 "},
		{"aoscx_lldp", "1/1/1=52:54:00:12:34:56:eth0:n1 "
			       "1/1/2=00:11:22:33:44:55:1/1/49:spine1 "},
		{"sonic_lldp", "Ethernet0=52:54:00:12:34:56:eth0:n1 "
			       "Ethernet4=00:11:22:33:44:55:Eth1/9:spine1 "},
		{"nxos_ports", "Ethernet1/1:1:0 Ethernet1/2:0:0 Ethernet1/3:0:0 Ethernet1/4:0:1 "
			       "port-channel10:1:0 "},
		{"os10_ports", "ethernet1/1/1:1:0 ethernet1/1/2:0:0 ethernet1/1/3:1:1:0 "},
		{"aoscx_ports", "1/1/1:1:0 1/1/2:0:0 1/1/3:0:0 "},
		{"ios_ports", "GigabitEthernet1/0/1:1:0 GigabitEthernet1/0/2:0:0 "
			      "GigabitEthernet1/0/4:0:1 "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct cli_dialect *dialect;
		char *text = sample(rows[i].sample, &dialect);
		struct text got = {0};

		if (strstr(rows[i].sample, "fdb"))
			cli_fdb_each(dialect, text, add_fdb, &got);
		else if (strstr(rows[i].sample, "lldp"))
			cli_lldp_each(dialect, text, add_lldp, &got);
		else
			cli_ports_each(dialect, text, add_port, &got);
		if (strcmp(text_get(&got), rows[i].rows) != 0)
			fail_msg("%s: %s", rows[i].sample, text_get(&got));
		text_done(&got);
		free(text);
	}
}

/* S22: a neighbour whose description has lines of another port in it. */
static void test_forged_neighbours(void **state)
{
	static const char forged[] = "x\nLocal Intf: Gi1/0/9\nChassis id: 5254.0012.9999\n"
				     "Port id: 5254.0012.9999\nTotal entries displayed: 9\n";
	static const struct {
		const struct cli_dialect *dialect;
		const char *head, *more, *tail;
		enum cli_lldp_sum sum;
	} rows[] = {
		{&cli_dialect_ios, "Local Intf: Gi1/0/1\nChassis id: 5254.0012.3456\n", "",
		 "Total entries displayed: 1\n", CLI_LLDP_ADDS_UP},
		{&cli_dialect_ios,
		 "Local Intf: Gi1/0/1\nChassis id: 5254.0012.3456\n"
		 "System Description: \n",
		 forged, "Total entries displayed: 1\n", CLI_LLDP_TOO_MANY},
		/* its own block is left without a chassis */
		{&cli_dialect_ios, "Local Intf: Gi1/0/1\nChassis id: ", forged + 1,
		 "Total entries displayed: 1\n", CLI_LLDP_TOO_MANY},
		{&cli_dialect_nxos,
		 "Chassis id: 5254.0012.3456\nLocal Port id: Eth1/1\n"
		 "System Description: x\n",
		 "Chassis id: 5254.0012.9999\nLocal Port id: Eth1/9\n",
		 "Total entries displayed: 1\n", CLI_LLDP_TOO_MANY},
		{&cli_dialect_nxos, "Chassis id: 5254.0012.3456\nLocal Port id: Eth1/1\n",
		 "Chassis id: 5254.0012.9999\nLocal Port id: Eth1/9\n",
		 "Total entries displayed: 2\n", CLI_LLDP_ADDS_UP},
		{&cli_dialect_aoscx,
		 "Total Neighbor Entries : 1\nPort : 1/1/1\n"
		 "Neighbor Chassis-Description : x\n",
		 "Total Neighbor Entries : 9\nPort : 1/1/9\nNeighbor Chassis-ID : "
		 "52:54:00:12:99:99\n",
		 "Neighbor Chassis-ID : 52:54:00:12:34:56\n", CLI_LLDP_TOO_MANY},
		{&cli_dialect_comware,
		 "LLDP neighbor-information of port 1[GigabitEthernet1/0/1]:\n", "", "",
		 CLI_LLDP_UNCOUNTED}, /* prints no total */
		{&cli_dialect_ios, "Local Intf: Gi1/0/1\nChassis id: 5254.0012.3456\n", "", "",
		 CLI_LLDP_UNCOUNTED},
		{&cli_dialect_sonic, "Interface:    Ethernet0, via: LLDP\n", "", "",
		 CLI_LLDP_ADDS_UP},
	};
	static const char sonic[] =
		"Interface:    Ethernet0, via: LLDP\n    ChassisID:    mac 52:54:00:12:34:56\n"
		"    SysDescr:     x\n                  Interface:    Ethernet8, via: LLDP\n"
		"                  ChassisID:    mac 52:54:00:12:99:99\n    PortID: ifname eth0\n";
	struct text got = {0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct text text = {0};

		text_addf(&text, "%s%s%s", rows[i].head, rows[i].more, rows[i].tail);
		if (cli_lldp_sum(rows[i].dialect, text_get(&text)) != rows[i].sum)
			fail_msg("row %zu", i);
		text_done(&text);
	}
	cli_lldp_each(&cli_dialect_sonic, sonic, add_lldp, &got);
	assert_string_equal(text_get(&got), "Ethernet0=52:54:00:12:34:56:eth0: ");
	text_done(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_forged_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
