/* Sources: RFC 4363; HP-ICF (hpSwitchConfig), HH3C-CONFIG-MAN-MIB, DNOS-SWITCHING-MIB,
 * F10's use of Q-BRIDGE, ECS*-MIB, CISCO-CONFIG-COPY-MIB, CISCO-CONFIG-MAN-MIB, OLD-CISCO-SYS-MIB.
 */
#include "peregrine/switch/snmp/snmp_dialect.h"

#define CC_COPY 1, 3, 6, 1, 4, 1, 9, 9, 96, 1, 1, 1, 1
#define ECS     1, 3, 6, 1, 4, 1, 259, 10, 1, 0, 1 /* 0: the model's arc */
#define DNOS    1, 3, 6, 1, 4, 1, 674, 10895, 5000, 2, 6132, 1, 1, 1

const struct snmp_dialect snmp_dialect_qbridge = {
	.name = "qbridge",
	.writer = SNMP_WRITER_QBRIDGE,
};

/* tests/sim/switch_agent, over Open vSwitch: its own object saves. */
const struct snmp_dialect snmp_dialect_lab = {
	.name = "lab",
	.writer = SNMP_WRITER_QBRIDGE,
	.save = {{.name = OID(1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 4, 1, 0), .value = 1}},
};

/* A port must be in a VLAN at any time; its old untagged VLAN stays as a tagged one unless its
 * egress bit is cleared, which the explicit form does. FdbId is not the VID. Trunks without LACP
 * are in hpSwitchPortTrunkGroup (CONFIG-MIB) only, 1 being "Trk1". */
const struct snmp_dialect snmp_dialect_procurve = {
	.name = "procurve",
	.writer = SNMP_WRITER_QBRIDGE,
	.add_first = true,
	.lag = {OID(1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 5, 1, 7, 1, 3, 1, 1, 8), "Trk"},
	.save = {{.name = OID(1, 3, 6, 1, 4, 1, 11, 2, 14, 11, 5, 1, 7, 1, 29, 1, 1, 0),
		  .value = 2}},
};

/* Untagged in the new VLAN first: a PVID is one of these.
 * hh3cCfgOperateType running2Startup(1) and hh3cCfgOperateRowStatus createAndGo(4) in a free row.
 */
const struct snmp_dialect snmp_dialect_comware = {
	.name = "comware",
	.writer = SNMP_WRITER_QBRIDGE,
	.add_first = true,
	.save = {{.name = OID(1, 3, 6, 1, 4, 1, 25506, 2, 4, 1, 2, 4, 1, 2),
		  .value = 1,
		  .row = true},
		 {.name = OID(1, 3, 6, 1, 4, 1, 25506, 2, 4, 1, 2, 4, 1, 9),
		  .value = 4,
		  .row = true}},
	.save_end = {.status = OID(1, 3, 6, 1, 4, 1, 25506, 2, 4, 1, 2, 4, 1, 9)},
};

/* agentPortSwitchportMode decides what counts: access and native VLAN have columns of their own. */
const struct snmp_dialect snmp_dialect_dnos = {
	.name = "dnos",
	.writer = SNMP_WRITER_QBRIDGE,
	.fdb_id_is_vlan = true,
	.mode = {.mode = OID(DNOS, 2, 13, 1, 26),
		 .access = 1,
		 .trunk = 2,
		 .access_vlan = OID(DNOS, 2, 13, 1, 43),
		 .native_vlan = OID(DNOS, 2, 13, 1, 46),
		 .trunk_egress = OID(DNOS, 2, 23, 1, 1, 1)},
	.save = {{.name = OID(DNOS, 3, 1, 0), .value = 1}},
};

/* Only whole stack units have octets of their own: 8 octets of 64 ports a unit. */
const struct snmp_dialect snmp_dialect_os9 = {
	.name = "os9",
	.writer = SNMP_WRITER_QBRIDGE,
	.vlan_by_if_index = true,
	.fdb_id_is_vlan = true,
};

/* fileCopyMgt: from runningCfg(2) to startUpCfg(3), type config(2), copy(2). A model whose MIB has
 * other numbers there refuses them. */
const struct snmp_dialect snmp_dialect_ecs = {
	.name = "ecs",
	.writer = SNMP_WRITER_QBRIDGE,
	.add_first = true,
	.save = {{.name = OID(ECS, 24, 1, 1, 0), .value = 2},
		 {.name = OID(ECS, 24, 1, 3, 0), .value = 3},
		 {.name = OID(ECS, 24, 1, 5, 0), .value = 2},
		 {.name = OID(ECS, 24, 1, 8, 0), .value = 2}},
	.mode = {.mode = OID(1, 3, 6, 1, 4, 1, 259, 10, 1, 0, 1, 12, 2, 1, 2),
		 .access = 3,
		 .trunk = 1, /* hybrid: a trunk with a native VLAN; dot1qTrunk tags everything */
		 .model_at = 10},
};

/* CISCO-CONFIG-COPY-MIB: runningConfig(4) to startupConfig(3) in a row made for it, until
 * ccCopyState is successful(3); before IOS 12.0 writeMem of OLD-CISCO-SYS-MIB. */
const struct snmp_dialect snmp_dialect_ios = {
	.name = "ios",
	.writer = SNMP_WRITER_VTP,
	.changes = OID(1, 3, 6, 1, 4, 1, 9, 9, 43, 1, 1, 1, 0), /* ccmHistoryRunningLastChanged */
	.fdb = SNMP_FDB_PER_VLAN,
	.save = {{.name = OID(CC_COPY, 3), .value = 4, .row = true},
		 {.name = OID(CC_COPY, 4), .value = 3, .row = true},
		 {.name = OID(CC_COPY, 14), .value = 4, .row = true}},
	.save_end = {.state = OID(CC_COPY, 10), .good = 3, .status = OID(CC_COPY, 14)},
	.save_else = {{.name = OID(1, 3, 6, 1, 4, 1, 9, 2, 1, 54, 0), .value = 1}},
};

const struct snmp_dialect snmp_dialect_junos = {
	.name = "junos",
	.writer = SNMP_WRITER_NONE,
	.text_lists = true,
};

const struct snmp_dialect snmp_dialect_read_only = {
	.name = "read-only",
	.writer = SNMP_WRITER_NONE,
};
