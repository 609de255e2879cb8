#include <errno.h>

#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"
#include "bampi/control/inventory/node_inventory.h"

/* Switches say who they are every 30 s (IEEE 802.1AB-2016, 9.2.5.7). Somebody who wants to see the
 * node waits for that; an installation does not, and keeps the neighbours that were known. */
#define LLDP_INSPECT_S 32

static json_t *steps_inventory_params_of(const struct facts *facts)
{
	bool inspect = facts->deployment.plan == PLAN_INSPECT;

	return json_pack("{s:i}", "lldp_wait_s", inspect ? LLDP_INSPECT_S : 0);
}

/* A tenant may have hidden a drive or a part of one. What was known before stays known then: the
 * erase is judged by it. An installation begins on a node that was clean, and is dirty since. */
static bool steps_inventory_tenant_was_there(const struct facts *facts)
{
	bool begins = facts->deployment.plan == PLAN_INSTALL &&
		      !json_object_get(facts->results, task_kind_words[TASK_WRITE_IMAGE]);

	return facts->node.dirty && !begins;
}

static void steps_inventory_record(const struct facts *facts, struct outcome *ret)
{
	const struct node_declared declared = {
		.serial = facts->node.serial,
		.boot_mac = facts->node.boot_mac,
		.uefi = facts->node.firmware == BMC_FIRMWARE_UEFI,
		.secure_boot = facts->node.secure_boot != SECURE_BOOT_OFF,
	};
	CLEANUP(text_done) struct text differences = {0};

	ret->drives =
		node_inventory_drives(facts->task.result, facts->deployment.plan != PLAN_INSPECT);
	if (!ret->drives) {
		outcome_fail(ret, -ENOMEM, "no memory for the drives of node %s", facts->node.name);
		return;
	}
	ret->drives_complete = !steps_inventory_tenant_was_there(facts);
	ret->inventory = json_deep_copy(facts->task.result);
	node_inventory_compare(facts->task.result, &declared, &differences);
	if (differences.size > 0)
		(void)text_format(ret->note, sizeof(ret->note),
				  "the node differs from its declaration: %s",
				  text_get(&differences));
	outcome_finish(ret);
}

void step_inventory(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	struct problem problem = {0};

	ret->memo = facts->memo;
	if (!agent_work(facts, now_ms, TASK_INVENTORY, steps_inventory_params_of(facts), ret))
		return;
	if (node_inventory_check(facts->task.result, &problem) == 0) {
		steps_inventory_record(facts, ret);
		return;
	}
	ret->verdict = STEP_FAILED;
	ret->problem = problem;
	ret->permanent = true;
	problem_hint(&ret->problem,
		     "the agent in the ramdisk and bampid may be of different versions");
}
