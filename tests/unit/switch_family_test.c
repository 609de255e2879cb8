// links: peregrine_switch
#include <string.h>

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"
#include "tests/support/cmocka.h"

static void families_are_recognised(void **state)
{
	static const struct {
		const char *object_id, *text, *family;
	} rows[] = {
		{".1.3.6.1.4.1.9.1.1208", "Cisco IOS Software, C2960S", "cisco-ios"},
		{".1.3.6.1.4.1.9.12.3.1.3.1812", "Cisco NX-OS(tm) nxos.9.3.8.bin", "cisco-nxos"},
		{".1.3.6.1.4.1.9.6.1.83.28.1", "SG300-28", "generic"},
		{".1.3.6.1.4.1.11.2.3.7.11.154", "HP J9726A 2920-24G Switch", "hp-procurve"},
		{".1.3.6.1.4.1.25506.11.1.187", "HPE Comware Software", "hpe-comware"},
		{".1.3.6.1.4.1.47196.4.1.1.1.253", "Aruba JL635A", "aruba-cx"},
		{".1.3.6.1.4.1.674.10895.3060", "Dell Networking N2048", "dell-n"},
		{".1.3.6.1.4.1.6027.1.3.15", "Dell Networking OS", "dell-os9"},
		{".1.3.6.1.4.1.674.11000.5000.100.2.1.1", "Dell EMC Networking OS10 Enterprise",
		 "dell-os10"},
		{".1.3.6.1.4.1.259.10.1.24.101", "ECS4510-28T", "edgecore-ecs"},
		{".1.3.6.1.4.1.8072.3.2.10", "SONiC Software Version: SONiC.202205", "sonic"},
		{".1.3.6.1.4.1.8072.3.2.10", "lab switch leaf1 (leaf)", "openvswitch"},
		/* whole arcs only, and what nobody knows */
		{".1.3.6.1.4.1.90.1", "", "generic"},
		{".1.3.6.1.4.1.99999.1", "", "generic"},
		{"", "", "generic"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(switch_family_detect(rows[i].object_id, rows[i].text)->name,
				    rows[i].family);
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
		cmocka_unit_test(rows_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
