#include "bampi/bootd/identify/target_policy.h"

#include "common/base/enum_text.h"

static const char *const target_words[] = {
	[BOOT_TARGET_NONE] = "none",
	[BOOT_TARGET_AGENT] = "agent",
	[BOOT_TARGET_DISK] = "disk",
	[BOOT_TARGET_STOP] = "stop",
};

/* What a node without an intent does, by its state. */
static const struct target_decision by_state[] = {
	[NODE_DISCOVERED] = {BOOT_TARGET_STOP, "discovered: not accepted yet, nothing to start"},
	[NODE_FREE] = {BOOT_TARGET_STOP, "free: nothing to start"},
	[NODE_RESERVED] = {BOOT_TARGET_STOP, "reserved: its deployment has not asked for a boot"},
	[NODE_ACTIVE] = {BOOT_TARGET_DISK, "active: starts from its own disk"},
	[NODE_SCRUBBING] = {BOOT_TARGET_STOP,
			    "scrubbing: its disks may hold a former tenant's data"},
	[NODE_BROKEN] = {BOOT_TARGET_STOP, "broken: an operator must repair it"},
	[NODE_HELD] = {BOOT_TARGET_STOP, "held: an operator keeps it from starting"},
};

const char *boot_target_text(enum boot_target target)
{
	return enum_text(target_words, COUNT_OF(target_words), (int)target);
}

struct target_decision target_policy(const struct inventory_node *node)
{
	if (!node)
		return (struct target_decision){BOOT_TARGET_NONE, "not a node of this site"};
	if (node->intent.target == INTENT_AGENT)
		return (struct target_decision){BOOT_TARGET_AGENT,
						"its deployment asked for the agent"};
	/* An intent left behind must not start the disk of a node that its tenant has lost. */
	if (node->intent.target == INTENT_DISK && node->state == NODE_RESERVED)
		return (struct target_decision){BOOT_TARGET_DISK,
						"its deployment asked for the local disk"};
	return by_state[node->state];
}
