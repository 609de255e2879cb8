/* Sources. ProCurve: HP-ICF's CONFIG-MIB (hpSwitchSaveConfig), "Management and Configuration Guide"
 * 2910al, librenms#11121 (FdbId), what SNMP::Info and NAV say of writing dot1qPvid. Comware:
 * HH3C-CONFIG-MAN-MIB (hh3cCfgOperateTable) and H3C's example of managing configuration files by
 * SNMP. */
#include "tests/sim/switch_like_table.h"

#include <string.h>

#define H3C_OPERATE 1, 3, 6, 1, 4, 1, 25506, 2, 4, 1, 2, 4, 1

/* clang-format off */
#define SAVE(value, any, ...) \
	{{__VA_ARGS__}, sizeof((oid[]){__VA_ARGS__}) / sizeof(oid), value, any}

static const struct switch_like rows[] = {
	{"procurve", "HP ProCurve, Aruba AOS-S",
	 "in_order never_alone pvid=untagged fdb_id_counts portlist=24 portlist_strict fixed_frames",
	 {1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 5, 1, 7, 1, 29}, 15,
	 {SAVE(2, false, 1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 5, 1, 7, 1, 29, 1, 1, 0)}},
	{"comware", "HPE Comware",
	 "in_order never_alone pvid_member portlist=32 time_mark=both",
	 {1, 3, 6, 1, 4, 1, 25506, 2, 4}, 9,
	 {SAVE(1, true, H3C_OPERATE, 2), SAVE(SWITCH_ROW_CREATE_AND_GO, true, H3C_OPERATE, 9)}},
};
/* clang-format on */

const struct switch_like *switch_like_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}

void switch_like_help(FILE *out)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		(void)fprintf(out, "  %-10s %s: %s\n", rows[i].name, rows[i].what, rows[i].words);
}
