// links: peregrine_switch
#include <string.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"
#include "peregrine/switch/switch_sign_table.h"
#include "tests/support/cmocka.h"

/* Switches 5: one description in our words for each class of device that shares its vendor's branch
 * with another one. */
static void families_are_recognised(void **state)
{
	static const struct {
		const char *object_id, *text, *family;
	} rows[] = {
		{".1.3.6.1.4.1.9.1.1208", "Cisco IOS Software, C2960S", "cisco-ios"},
		{".1.3.6.1.4.1.9.1.1641", "Cisco IOS Software [Bengaluru], CAT3K", "cisco-ios"},
		{".1.3.6.1.4.1.9.1.359", "Cisco Systems IOS (tm) C2950", "cisco-ios"},
		{".1.3.6.1.4.1.9.1.2685", "Cisco IE3300 industrial", "cisco-ios"},
		{".1.3.6.1.4.1.9.1.1017", "Cisco IOS XR Software, ASR9K", "generic"},
		{".1.3.6.1.4.1.9.1.3210", "Catalyst 1200 Smart Switch, 8 ports", "generic"},
		{".1.3.6.1.4.1.9.1.3240", "Catalyst 1300 Managed Switch", "generic"},
		{".1.3.6.1.4.1.9.1.1176", "8-port Ethernet Switch", "generic"},
		{".1.3.6.1.4.1.9.1.2333", "IE1000 Industrial Switch", "generic"},
		{".1.3.6.1.4.1.9.1.1899", "ME1200 Ethernet Switch", "generic"},
		{".1.3.6.1.4.1.9.1.2404", "Cisco Adaptive Security Appliance", "generic"},
		{".1.3.6.1.4.1.9.1.1069", "Cisco Controller", "generic"},
		{".1.3.6.1.4.1.9.1.1208", "", "generic"},
		{".1.3.6.1.4.1.9.5.44", "WS-C6506 Catalyst Operating System", "generic"},
		{".1.3.6.1.4.1.9.6.1.83.28.1", "SG300-28", "generic"},
		{".1.3.6.1.4.1.9.12.3.1.3.1812", "Cisco NX-OS(tm) nxos.9.3.8.bin", "cisco-nxos"},
		{".1.3.6.1.4.1.9.12.3.1.3.1084", "Cisco NX-OS n6000", "cisco-nxos"},
		{".1.3.6.1.4.1.9.12.3.1.3.1062", "Cisco NX-OS(tm) ucs, 6100", "generic"},
		{".1.3.6.1.4.1.9.12.3.1.3.2500", "Cisco NX-OS(tm) aci, n9000", "generic"},
		{".1.3.6.1.4.1.9.12.3.1.3.587", "Cisco SAN-OS(tm) m9100", "generic"},
		{".1.3.6.1.4.1.9.12.3.1.3.1305", "Cisco NX-OS(tm) m9148", "generic"},
		{".1.3.6.1.4.1.11.2.3.7.11.154", "HP 2920-24G Switch, revision WB.1",
		 "hp-procurve"},
		{".1.3.6.1.4.1.11.2.3.7.8.5.2", "HP Stack, revision KA.15", "hp-procurve"},
		{".1.3.6.1.4.1.11.2.3.7.11.167", "HPE OfficeConnect Switch 1820", "generic"},
		{".1.3.6.1.4.1.11.2.3.7.11.200", "Aruba Instant On 1930", "generic"},
		{".1.3.6.1.4.1.11.2.3.9.1", "JETDIRECT", "generic"},
		{".1.3.6.1.4.1.25506.11.1.187", "HPE Comware Software", "hpe-comware"},
		{".1.3.6.1.4.1.25506.1.244", "H3C Comware Platform", "hpe-comware"},
		{".1.3.6.1.4.1.47196.4.1.1.1.253", "Aruba JL635A", "aruba-cx"},
		{".1.3.6.1.4.1.674.10895.3060", "Dell Networking N2048", "dell-n"},
		{".1.3.6.1.4.1.674.10895.3011", "PowerConnect 6248, 3.3, VxWorks 6.5", "dell-n"},
		{".1.3.6.1.4.1.674.10895.3020", "PowerConnect 5424", "generic"},
		{".1.3.6.1.4.1.674.10895.3073", "Dell Networking X1052", "generic"},
		{".1.3.6.1.4.1.6027.1.3.15", "Dell Networking OS", "dell-os9"},
		{".1.3.6.1.4.1.674.11000.5000.100.2.1.1", "Dell EMC Networking OS10 Enterprise",
		 "dell-os10"},
		{".1.3.6.1.4.1.259.10.1.24.101", "ECS4510-28T", "edgecore-ecs"},
		{".1.3.6.1.4.1.259.6.10.120", "FNS-SFP-24", "generic"},
		{".1.3.6.1.4.1.8072.3.2.10", "SONiC Software Version: SONiC.202205", "sonic"},
		{".1.3.6.1.4.1.4413.1.2.1.2.34", "SONiC Software Version: SONiC.4.4", "sonic"},
		{".1.3.6.1.4.1.259.10.1.5", "SONiC Software Version: SONiC.202205", "sonic"},
		{".1.3.6.1.4.1.2636.1.1.1.4.82.5", "Juniper, kernel JUNOS", "juniper-junos"},
		{".1.3.6.1.4.1.4413", "EdgeSwitch 24-Port", "generic"},
		{".1.3.6.1.4.1.8072.9999.9999.4", "lab switch leaf1 (leaf)", "openvswitch"},
		{".1.3.6.1.4.1.8072.3.2.10", "Linux host 6.1.0 SMP", "generic"},
		{".1.3.6.1.4.1.8072.3.2.10", "Linux mlnx 5.10 SMP Cumulus 5.9", "generic"},
		{".1.3.6.1.4.1.40310", "Cumulus Linux 5.9", "generic"},
		/* whole arcs only, and what nobody knows */
		{".1.3.6.1.4.1.90.1", "Cisco IOS Software", "generic"},
		{".1.3.6.1.4.1.9.12", "Cisco IOS Software", "generic"},
		{".1.3.6.1.4.1.99999.1", "", "generic"},
		{"", "SONiC Software Version", "generic"},
		{"", "", "generic"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(switch_family_detect(rows[i].object_id, rows[i].text)->name,
				    rows[i].family);
}

/* A sign without its family would be a crash at the first reading; two alike would depend on their
 * order. */
static void signs_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < switch_sign_count; i++) {
		const struct switch_sign *sign = &switch_sign_table[i];

		assert_non_null(switch_family_find(sign->family));
		for (size_t k = 0; k < i; k++)
			assert_false(strcmp(sign->object_id, switch_sign_table[k].object_id) == 0 &&
				     strlen(sign->word) == strlen(switch_sign_table[k].word) &&
				     strcmp(sign->family, switch_sign_table[k].family) != 0);
	}
}

/* What everybody relies on of each row. */
static void rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < switch_family_count; i++) {
		const struct switch_family *family = &switch_family_table[i];
		struct vlan_set reserved;

		assert_ptr_equal(switch_family_find(family->name), family);
		assert_true(strlen(family->name) < sizeof(((struct switch_endpoint *)0)->family));
		assert_true(family->title && family->read_driver && family->write_driver);
		assert_non_null(switch_driver_find(family->read_driver));
		assert_in_range(family->vlan_low, VLAN_FIRST, family->vlan_high);
		assert_in_range(family->vlan_high, family->vlan_low, VLAN_LAST);
		assert_int_equal(vlan_set_parse(family->reserved, &reserved), 0);
		assert_true(vlan_set_has(&reserved, 1));
		assert_true(family->timeout_ms >= 1000 &&
			    family->change_timeout_ms > family->timeout_ms);
		if (strcmp(family->read_driver, "snmp") == 0)
			assert_non_null(family->snmp);
	}
	assert_null(switch_family_find("nobody's"));
	assert_null(switch_driver_find("telepathy"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_are_recognised),
		cmocka_unit_test(signs_are_whole),
		cmocka_unit_test(rows_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
