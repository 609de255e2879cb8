/* From root to a user that keeps what captures need: raw sockets and another user for their
 * processes (CAP_NET_RAW, CAP_SETUID, CAP_SETGID), and ending them (CAP_KILL). Children inherit
 * them (capabilities(7), ambient), and give them up themselves. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

/* No-op when we are not root: then the service manager has given them. */
MUST_USE int keep_rights(const char *user, struct problem *problem);
