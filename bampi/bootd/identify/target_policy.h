/* What a node starts next, decided per node and per boot (docs/architecture.md, "Boot target").
 * Pure. */
#pragma once

#include "bampi/bootd/identify/inventory.h"

enum boot_target {
	BOOT_TARGET_NONE,  /* not a node of ours: an address at most */
	BOOT_TARGET_AGENT, /* kernel and ramdisk */
	BOOT_TARGET_DISK,  /* the local disk */
	BOOT_TARGET_STOP,  /* say why on the console, power off; never a former tenant's disk */
};
const char *boot_target_text(enum boot_target target);

struct target_decision {
	enum boot_target target;
	const char *reason; /* static, for the console and the log: "free: nothing to start" */
};

/* node NULL = unknown MAC. */
struct target_decision target_policy(const struct inventory_node *node);
