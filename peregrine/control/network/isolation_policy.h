/* The proof that no two networks meet in one state of a fabric, wanted or observed. It follows
 * frames. A VLAN inside a switch is one domain. An uplink carries its frames into the domain that
 * the other end chooses: another VLAN, if the native VLANs of the two ends differ. Where the answer
 * depends on the make of a switch (a tag equal to the native VLAN), the worse case is assumed.
 *
 * Each finding names the networks and the path on which their frames would meet, with VLAN IDs and
 * cables. */
#pragma once

#include "peregrine/control/network/isolation_report.h"

/* `ret` needs no initialisation. The caller ends it with isolation_report_done, also after -ENOMEM.
 *
 *   state   per port, model->port_count elements
 *   meant   per port, model->port_count elements
 *   before  the memberships shown when this change began; may be NULL, as may each element
 *
 * A port of ours (PORT_EDGE) may carry the membership of `meant` or that of `before`, never a
 * mixture of both. -ENOMEM. */
MUST_USE int isolation_check(const struct fabric_model *model, const port_state state[],
			     const port_state meant[], const port_state before[],
			     struct isolation_report *ret);
