/* What was last seen of a node, for the detail of a problem: DHCP, HTTP, serial console, BMC. Pure.
 */
#pragma once

#include "bampi/control/deploy/step.h"

/* Added to problem->detail as far as it fits; the console's tail last, cut from its front. */
void evidence_add(const struct facts *facts, int64_t now_ms, struct problem *problem);
