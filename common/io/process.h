/* The process itself: privileges, service manager. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

/* From root to `user` and its groups, for good. Gone are all capabilities, also those of somebody
 * who is `user` already. No-op when `user` is NULL or empty. */
MUST_USE int process_drop_privileges(const char *user, struct problem *problem);
/* sd_notify without the library: "READY=1", "STOPPING=1". Nothing when NOTIFY_SOCKET is unset. */
void process_notify(const char *state);
/* The service manager restarts us when "WATCHDOG=1" stays away for so long (sd_watchdog_enabled(3));
 * 0: nobody watches. */
int64_t process_watchdog_ms(void);
/* As many descriptors as the hard limit allows, 65536 at most: one per client is the daemons'
 * trade. */
void process_raise_file_limit(void);
/* The host's name, cut to fit. */
void process_host_name(char *ret, size_t room);
/* What tells this daemon from its like in claims: `name`, or "HOST:PID" where it is empty. */
void process_claim_name(const char *name, char *ret, size_t room);
