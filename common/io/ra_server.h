/* Router advertisements on the provisioning links. iPXE of 2019 (Debian 12) configures IPv6 beside
 * IPv4 and waits 13 s for one. An advertisement that offers nothing (M=0, O=0, lifetime 0, no
 * prefix) ends that wait and changes no route of any client. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

struct ra_server;

/* interfaces: NULL-ended, borrowed; they need not exist yet. Opens its socket: needs privileges. */
MUST_USE int ra_server_new(struct loop *loop, const char *const *interfaces, struct ra_server **ret,
			   struct problem *problem);
void ra_server_free(struct ra_server *server);
