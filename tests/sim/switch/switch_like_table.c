/* Sources. ProCurve: HP-ICF's CONFIG-MIB (hpSwitchSaveConfig), "Management and Configuration Guide"
 * 2910al, librenms#11121 (FdbId), what SNMP::Info and NAV say of writing dot1qPvid. Comware:
 * HH3C-CONFIG-MAN-MIB (hh3cCfgOperateTable) and H3C's example of managing configuration files by
 * SNMP. Edgecore: ECS4510-MIB (vlanPortMode, fileCopyMgt) and what its maker's software checks
 * (VLAN_MGR), as tests/sim/command_line/switch_cli_ecs.c has it: an access port is untagged in its
 * PVID's VLAN and in no other, a port does not leave the VLAN of its PVID. Dell N:
 * DNOS-SWITCHING-MIB (switch_dnos.h), agentSaveConfig; 4094 is the switch's own. */
#include "tests/sim/switch/switch_like_table.h"

#include <string.h>

#include "tests/sim/switch/switch_dnos.h"

#define ECS         1, 3, 6, 1, 4, 1, 259, 10, 1, 24, 1
#define DNOS        SWITCH_DNOS_OID
#define H3C_OPERATE 1, 3, 6, 1, 4, 1, 25506, 2, 4, 1, 2, 4, 1

/* clang-format off */
#define SAVE(value, any, ...) \
	{{__VA_ARGS__}, sizeof((oid[]){__VA_ARGS__}) / sizeof(oid), value, any}

static const struct switch_like switch_like_table_rows[] = {
	{"procurve", "HP ProCurve, Aruba AOS-S",
	 "in_order never_alone pvid=untagged fdb_id_counts portlist=24 portlist_strict fixed_frames",
	 {1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 5, 1, 7, 1, 29}, 15,
	 {SAVE(2, false, 1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 5, 1, 7, 1, 29, 1, 1, 0)}, {0}, 0, 0, 0, false},
	{"comware", "HPE Comware",
	 "in_order never_alone pvid_member portlist=32 time_mark=both",
	 {1, 3, 6, 1, 4, 1, 25506, 2, 4}, 9,
	 {SAVE(1, true, H3C_OPERATE, 2), SAVE(SWITCH_ROW_CREATE_AND_GO, true, H3C_OPERATE, 9)}, {0}, 0, 0, 0, false},
	{"ecs", "Edgecore ECS4510",
	 "in_order never_alone pvid_member pvid_stays portlist=64",
	 {ECS}, 11,
	 {SAVE(2, false, ECS, 24, 1, 1, 0), SAVE(3, false, ECS, 24, 1, 3, 0), SAVE(2, false, ECS, 24, 1, 5, 0), SAVE(2, false, ECS, 24, 1, 8, 0)},
	 {ECS, 12, 2, 1, 2}, 15, 3, 1, false},
	{"delln", "Dell N-series (DNOS 6)",
	 "in_order portlist=64 vid_max=4093",
	 {DNOS}, 14,
	 {SAVE(1, false, DNOS, 3, 1, 0)}, {0}, 0, 0, 0, true},
};
/* clang-format on */

const struct switch_like *switch_like_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(switch_like_table_rows); i++) {
		if (strcmp(switch_like_table_rows[i].name, name) == 0)
			return &switch_like_table_rows[i];
	}
	return NULL;
}

void switch_like_help(FILE *out)
{
	for (size_t i = 0; i < COUNT_OF(switch_like_table_rows); i++)
		(void)fprintf(out, "  %-10s %s: %s\n", switch_like_table_rows[i].name,
			      switch_like_table_rows[i].what, switch_like_table_rows[i].words);
}
