/* From the readings of all switches to the cables between them and the kind of each port. A cable
 * is confirmed when both ends name each other; one end alone is a claim. The links of an aggregate
 * follow from those of its members. A contradiction is reported, never guessed away:
 *
 *   fabric.chassis_shared  two switches report the same chassis id: the later one is not configured
 *   fabric.port_unknown    a switch hears another at a port that the other does not have
 *   fabric.port_ambiguous  the port id fits several ports (stacks, one MAC for all)
 *   fabric.one_sided       a switch hears another that hears no neighbour there
 *   fabric.two_neighbors   a port hears two switches
 *   fabric.two_claims      two ports claim the same port as their other end
 *   fabric.self_link       a cable from a switch to itself
 *   fabric.unread_peer     a node behind a former uplink to a switch that does not answer
 *   fabric.lldp_lie        a node behind an edge port claims to be one of our switches
 *   fabric.lag_split       members of one aggregate end at different switches */
#pragma once

#include "common/base/macros.h"

#include "peregrine/control/fabric/cable_model.h"

/* Fills kinds, links and conflicts of a zeroed conclusion. -ENOMEM. */
MUST_USE int link_policy_conclude(const struct fabric_facts *facts, struct fabric_conclusion *ret);
