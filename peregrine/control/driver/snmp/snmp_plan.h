/* What to SET for a run of edits, worked out on the facts that were just read: pure. The facts are
 * taken along to the state after, so that the next run of edits builds on it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/control/driver/snmp/snmp_client.h"
#include "peregrine/control/driver/snmp/snmp_facts.h"
#include "peregrine/control/driver/switch_driver.h"

enum {
	PLAN_BYTES = 1300,   /* of one SET, so that it fits an Ethernet frame */
	PLAN_BINDINGS = 100, /* of one SET */
	PLAN_EDITS = 64      /* of one run */
};

struct snmp_plan {
	struct snmp_binding
		*bindings; /* owned; octets are the facts' or the edits', until they change */
	size_t count, room;
	size_t edits;   /* of the run */
	size_t frames;  /* from here on: frame types and filters of the ports */
	size_t barrier; /* no SET goes across; 0 = none */
	bool failed;    /* no memory */
};

/* The longest run from the first of `edits` that goes into one SET, at most `limit` of them; those
 * that need nothing count. The first may need several: snmp_plan_chunk. 0, -ENOMEM, or for the
 * first edit alone: E_CONFLICT (a VLAN or a port that is not there), E_UNSUPPORTED; then `problem`
 * says why and the facts are as they were. Done with snmp_plan_done. */
MUST_USE int snmp_plan_edits(struct snmp_facts *facts, const struct switch_edit *edits,
			     size_t count, size_t limit, struct snmp_plan *ret,
			     struct problem *problem);

void snmp_plan_done(struct snmp_plan *plan);
/* How many bindings from `from` on go into one SET. */
size_t snmp_plan_chunk(const struct snmp_plan *plan, size_t from);

/* Is the switch as the edit wants it? Of facts that were just read. */
bool snmp_plan_is_done(struct snmp_facts *facts, const struct switch_edit *edit);
