/* SWITCH_LAG as one transaction: rows of Port, which have their interfaces, and Bridge.ports that
 * refers to them (ovs-vswitchd.conf.db(5)). A Port that the bridge does not refer to any more is
 * collected by the database, its interfaces are the new one's by then: at no moment is a port in
 * two of them, and none is without a VLAN. */
#pragma once

#include "peregrine/switch/ovsdb/ovsdb_plan_policy.h"

/* `facts` is FACTS_WHOLE. 0 with ret->params NULL: it is so already. E_CONFLICT with a problem:
 * nothing of it can be done. -ENOMEM. */
MUST_USE int ovsdb_lag_plan(const struct ovsdb_facts *facts, const struct switch_lag *lag,
			    struct ovsdb_plan *ret, struct problem *problem);
