/* What an agent writes into an OS of its volumes (configure_os: "iscsi"), for simulated nodes: one
 * line a volume, "TARGET PORTAL USER SECRET INITIATOR", in DIR/sN.iscsi. */
#pragma once

#include "common/io/agent_key.h"

/* `iscsi`: JSON, "" = none: the file goes. What cannot be opened is said on stderr; -1. */
int sim_volume_write(const struct agent_key *key, const char *folder, int node, const char *iscsi);
