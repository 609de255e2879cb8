/* The process itself: privileges, service manager. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* From root to `user` and its groups, for good, all capabilities gone. No-op when `user` is NULL,
 * empty or already ours. */
MUST_USE int process_drop_privileges(const char *user, struct problem *problem);
/* sd_notify without the library: "READY=1", "STOPPING=1". Nothing when NOTIFY_SOCKET is unset. */
void process_notify(const char *state);
/* As many descriptors as the hard limit allows, 65536 at most: one per client is the daemons'
 * trade. */
void process_raise_file_limit(void);
/* The host's name, cut to fit. */
void process_host_name(char *ret, size_t room);
/* What tells this daemon from its like in claims: `name`, or "HOST:PID" where it is empty. */
void process_claim_name(const char *name, char *ret, size_t room);
