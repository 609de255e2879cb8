/* The task configure_os: makes the OS that was just written this node's own. */
#pragma once

#include "bampi/agent/os_files.h"
#include "bampi/agent/task.h"

MUST_USE int configure_os_run(struct task *task, struct text *data, struct problem *problem);
/* Writes all files below `root_fd`. Names of NICs must be set. For the handler and its tests. */
MUST_USE int configure_os_tree(int root_fd, const struct os_settings *settings,
			       struct problem *problem);
/* Opens the secrets of the volumes. E_DENIED: sealed to another life of the agent. */
MUST_USE int configure_os_open_secrets(const struct agent_key *key, struct os_settings *settings,
				       struct problem *problem);
/* Sets the names that the NICs will have in the OS: where udev runs, net0, net1, ... pinned to the
 * MAC by a .link file; elsewhere what the kernel calls them, as this kernel does. E_NOT_FOUND for a
 * MAC that the node has not. */
MUST_USE int configure_os_name_nics(const struct agent_env *env, int root_fd,
				    struct os_settings *settings, struct problem *problem);
