/* What to SET for a run of edits, worked out on the facts that were just read: pure. The facts are
 * taken along to the state after, so that the next run of edits builds on it. How edits become SETs
 * is the dialect's writer: snmp_plan_qbridge.c, snmp_plan_vtp.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "peregrine/switch/snmp/snmp_facts.h"
#include "peregrine/switch/switch_driver.h"

enum {
	PLAN_BYTES = 1300,   /* of one SET, so that it fits an Ethernet frame */
	PLAN_BINDINGS = 100, /* of one SET */
	PLAN_EDITS = 64,     /* of one run */
	PLAN_PARTS = 24,
	PLAN_STORE = 1024
};

/* What is done with bindings. */
enum snmp_act {
	ACT_SET,
	ACT_EXPECT, /* read: they have these values by now, or the switch took nothing of it */
	ACT_AWAIT   /* read until the number is no less than this: more is a failure */
};

struct snmp_plan {
	struct snmp_binding
		*bindings; /* owned; octets are the facts' or the edits', until they change */
	size_t count, room;
	size_t edits;  /* of the run */
	size_t frames; /* from here on: frame types and filters of the ports */
	/* Bindings that go before those after them; what is in none is ACT_SET. */
	struct snmp_plan_part {
		size_t end;
		enum snmp_act act;
	} parts[PLAN_PARTS];
	size_t part_count;
	/* SET when the run fails after its first `held` bindings: what they hold is let go of. */
	struct snmp_binding release[2];
	size_t release_count, held;
	uint32_t downs; /* ifIndex of a port that is down from its first part to its last; 0 = none
			 */
	uint8_t store[PLAN_STORE]; /* octets of bindings that are nobody else's */
	size_t stored;
	bool failed; /* no memory */
};

/* The longest run from the first of `edits` that goes into one SET, at most `limit` of them; edits
 * that need nothing count. The first may need several: snmp_plan_chunk. 0 or -ENOMEM. Done with
 * snmp_plan_done.
 *
 * For the first edit alone: E_CONFLICT (a VLAN or a port that is not there), E_UNSUPPORTED, -EBUSY
 * (another manager edits). Then `problem` says why, and the facts are as they were. */
MUST_USE int snmp_plan_edits(struct snmp_facts *facts, const struct switch_edit *edits,
			     size_t count, size_t limit, struct snmp_plan *ret,
			     struct problem *problem);

void snmp_plan_done(struct snmp_plan *plan);
/* How many bindings from `from` on go into one PDU, and what is done with them. */
size_t snmp_plan_chunk(const struct snmp_plan *plan, size_t from, enum snmp_act *ret_act);

/* What a number says that is more than ACT_AWAIT waits for (vtpVlanApplyStatus). */
const char *snmp_plan_await_text(int64_t number);
/* Is the binding the advisory lock? */
bool snmp_plan_is_lock(const struct snmp_plan *plan, size_t at);
/* The binding's type was refused. True: all like it have another one now. */
bool snmp_plan_retype(struct snmp_plan *plan, size_t at);

/* Is the switch as the edit wants it? Of facts that were just read. */
bool snmp_plan_is_done(struct snmp_facts *facts, const struct switch_edit *edit);
