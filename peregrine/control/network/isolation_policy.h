/* The proof that no two networks meet in one state of a fabric, wanted or observed. It follows
 * frames: a VLAN inside a switch is one domain; an uplink carries it to the domain that the other
 * end puts the frame into, which is another VLAN when their native VLANs differ. Where the answer
 * depends on the make of a switch (a tag equal to the native VLAN), the worse is taken.
 *
 * A proof is about numbers as much as about cables: each finding names the networks and the path on
 * which their frames would meet. */
#pragma once

#include "peregrine/control/network/isolation_report.h"

/* `ret` needs no beginning and is done with by isolation_report_done, also after -ENOMEM.
 * `state` and `meant` have model->port_count elements. A port of ours (PORT_EDGE) may carry what
 * `meant` says, or what `before` says (what it was shown to have when this change began; may be
 * NULL, as may each of its elements), but never a mixture of both. -ENOMEM. */
MUST_USE int isolation_check(const struct fabric_model *model, const port_state state[],
			     const port_state meant[], const port_state before[],
			     struct isolation_report *ret);
