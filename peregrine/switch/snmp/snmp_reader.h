/* Reads groups of columns into facts, side by side; what a switch refuses of them is told, what it
 * does not answer ends it. */
#pragma once

#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_facts.h"
#include "peregrine/switch/snmp/snmp_targets.h"

struct snmp_reader;

/* What did not come, and why. The texts are constants. */
struct snmp_missing {
	const char *why[GROUP_COUNT]; /* NULL = the group came whole */
	/* fdb_per_vlan: VLANs whose context was silent or refused; their addresses are missing. */
	struct vlan_set vlans;
	uint32_t vlans_asked;
	const char *vlans_why;  /* of the first of them */
	struct vlan_set silent; /* kept for the next reading: asked last */
};

#define GROUP_BIT(group) (1U << (group))

/* rc 0: `refused` has the bits of the groups that the agent broke off with an error, `why` the
 * first error. Else E_TIMEOUT, E_AUTHENTICATION, E_PROTOCOL, E_LIMIT, -ENOMEM. The reader is freed
 * before. */
typedef void (*snmp_read_fn)(void *context, int rc, uint32_t refused, const char *why);

struct snmp_reader_plan {
	struct snmp_peer *peer;
	struct snmp_facts *facts; /* outlives the reader */
	bool scalars;             /* of PART_IDENTITY, before anything else */
	uint32_t groups;          /* bits GROUP_BIT() */
	/* With targets, `target_groups` are asked for their rows alone, by GET. */
	struct snmp_target targets[TARGET_LIMIT];
	size_t target_count;
	uint32_t target_groups;
	bool vlan_fallback;           /* the current VLANs when there are no static ones */
	bool fdb_fallback;            /* BRIDGE-MIB's FDB when Q-BRIDGE's makes no sense, or no
					 VLAN's shows an address */
	bool fdb_per_vlan;            /* and one of each VLAN that VTP has */
	struct snmp_missing *missing; /* filled in; outlives the reader. NULL with fdb_per_vlan off
				       */
	snmp_read_fn done;
	void *context;
};

MUST_USE int snmp_reader_start(const struct snmp_reader_plan *plan, struct snmp_reader **ret);
/* Ends without `done`. NULL is fine. */
void snmp_reader_cancel(struct snmp_reader *reader);
