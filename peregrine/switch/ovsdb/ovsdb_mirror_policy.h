/* SWITCH_MIRROR as a transaction: rows of Mirror, and Bridge.mirrors that refers to them
 * (ovs-vswitchd.conf.db(5)). Pure. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"
#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"

/* The request of ovsdb_facts_ask(FACTS_VLANS), with the mirrors after it. NULL: no memory. */
json_t *ovsdb_mirror_ask(void);

/* `facts` come from an answer to that request. ret->params NULL: the switch is as wanted already.
 * results[i] of a mirror:
 *
 *   EDIT_REFUSED    the switch lacks one of its ports
 *   EDIT_NOT_TRIED  it is in the plan
 *   EDIT_TAKEN      the switch has it already
 *
 * E_UNSUPPORTED, -ENOMEM, with a problem. */
MUST_USE int ovsdb_mirror_plan(const struct ovsdb_facts *facts, const struct switch_mirror *mirrors,
			       size_t count, struct ovsdb_plan *ret, enum edit_result *results,
			       struct problem *problem);
