/* From the readings of all switches to the cables between them and the kind of each port. A cable
 * is confirmed when both ends name each other; one end alone is a claim. Members of an aggregate
 * first, the aggregate follows from them. What contradicts itself is named, never guessed over:
 *
 * fabric.chassis_shared   two switches tell the same chassis id: the later one is not set
 * fabric.port_unknown     a switch hears another at a port that this one does not have
 * fabric.port_ambiguous   the port id fits several ports (stacks, one MAC for all)
 * fabric.one_sided        a switch hears another that hears nothing there
 * fabric.two_neighbors    a port hears two switches
 * fabric.two_claims       two ports say that they end at one and the same port
 * fabric.self_link        a cable from a switch to itself
 * fabric.unread_peer      a node behind what was an uplink to a switch that does not answer
 * fabric.lldp_lie         a node behind an edge port says that it is one of our switches
 * fabric.lag_split        members of one aggregate end at different switches */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* Fills kinds, links and conflicts of a zeroed conclusion. -ENOMEM. */
MUST_USE int link_policy_conclude(const struct fabric_facts *facts, struct fabric_conclusion *ret);
