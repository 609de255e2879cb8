/* What NCCL reads of a rank's environment. What a user has set stands, but for variables that would break a job. */
#pragma once

/* Before a rank has threads, and before NCCL is loaded. `host`: where this rank is reached by other machines, a name or an
 * address; NULL: all ranks are on this machine. */
void sum_environment(const char *host);
