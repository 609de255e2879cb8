/* SWITCH_MIRROR as a transaction: rows of Mirror, and Bridge.mirrors that refers to them
 * (ovs-vswitchd.conf.db(5)). Pure. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"
#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"

/* What ovsdb_facts_ask(FACTS_VLANS) asks, and the mirrors after it. NULL: no memory. */
json_t *ovsdb_mirror_ask(void);

/* `facts` are of an answer to that. ret->params NULL: it is as wanted already. results[i]:
 * EDIT_REFUSED for one whose ports are not there, EDIT_NOT_TRIED for those that are in the plan,
 * EDIT_TAKEN for those that are there. E_UNSUPPORTED, -ENOMEM, with a problem. */
MUST_USE int ovsdb_mirror_plan(const struct ovsdb_facts *facts, const struct switch_mirror *mirrors,
			       size_t count, struct ovsdb_plan *ret, enum edit_result *results,
			       struct problem *problem);
