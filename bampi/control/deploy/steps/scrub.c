/* Erases every drive, once, under policy `strict`: one drive that is not erased keeps the node
 * dirty. */
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"
#include "bampi/control/inventory/node_inventory.h"

/* The rows of table drive, as the agent judged them. */
static json_t *scrub_verdicts(const json_t *drives)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < json_array_size(drives); i++) {
		const json_t *drive = json_array_get(drives, i);
		const char *verdict = text_of(drive, "verdict");
		bool known = strcmp(verdict, "erased") == 0 || strcmp(verdict, "skipped") == 0;

		(void)json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "serial",
				  node_inventory_drive_key(drive), "name", text_of(drive, "name"),
				  "model", text_of(drive, "model"), "size_bytes",
				  json_integer_value(json_object_get(drive, "size_bytes")),
				  "verdict", known ? verdict : "failed", "method",
				  text_of(drive, "method"), "reason", text_of(drive, "reason")));
	}
	return rows;
}

static const json_t *find_drive(const json_t *drives, const char *key)
{
	for (size_t i = 0; i < json_array_size(drives); i++)
		if (strcmp(node_inventory_drive_key(json_array_get(drives, i)), key) == 0)
			return json_array_get(drives, i);
	return NULL;
}

/* The operator's word that this drive left the node and was destroyed: params.lost_drives. */
static bool scrub_is_lost(const struct facts *facts, const char *key)
{
	const json_t *lost = json_object_get(facts->deployment.params, "lost_drives");

	for (size_t i = 0; i < json_array_size(lost); i++) {
		const char *serial = json_string_value(json_array_get(lost, i));

		if (serial && strcmp(serial, key) == 0)
			return true;
	}
	return false;
}

static void scrub_fail(const struct facts *facts, const char *key, const json_t *row,
		       struct outcome *ret)
{
	const char *reason = text_of(row, "reason");

	outcome_fail(ret, E_CONFLICT, "drive %s of node %s is not erased", key, facts->node.name);
	problem_detail(&ret->problem, "%s: %s",
		       row ? text_of(row, "verdict") : "not there any more",
		       reason[0] ? reason : "no reason given");
	problem_hint(
		&ret->problem,
		row ? "replace the drive, or retry; the node stays dirty"
		    : "a missing drive still holds its data: find it, or name it in lost_drives of a new release");
}

/* A known drive that is not erased, or any that failed: known are those that a tenant could have
 * written to. */
static bool find_bad(const struct facts *facts, const json_t *drives, struct outcome *ret)
{
	const json_t *known = json_object_get(facts->results, "drives");

	for (size_t i = 0; i < json_array_size(known); i++) {
		const char *key = text_of(json_array_get(known, i), "serial");
		const json_t *row = find_drive(drives, key);

		if (strcmp(text_of(row, "verdict"), "erased") == 0 ||
		    (!row && scrub_is_lost(facts, key)))
			continue;
		scrub_fail(facts, key, row, ret);
		return true;
	}
	for (size_t i = 0; i < json_array_size(drives); i++) {
		const json_t *row = json_array_get(drives, i);
		const char *verdict = text_of(row, "verdict");

		if (strcmp(verdict, "erased") == 0 || strcmp(verdict, "skipped") == 0)
			continue;
		scrub_fail(facts, node_inventory_drive_key(row), row, ret);
		return true;
	}
	return false;
}

void step_scrub(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	json_t *params = json_pack("{s:s}", "policy", "strict");
	const json_t *drives;

	ret->memo = facts->memo;
	/* What was judged bad in an earlier attempt is erased anew; agent_work would hand the same
	 * result out again. */
	if (facts->task.id != 0 && facts->task.state == TASK_DONE && agent_work_is_old(facts)) {
		struct facts again = *facts;

		again.task = (struct task_facts){0};
		(void)agent_work(&again, now_ms, TASK_ERASE, params, ret);
		return;
	}
	if (!agent_work(facts, now_ms, TASK_ERASE, params, ret))
		return;
	drives = json_object_get(facts->task.result, "drives");
	if (!json_is_array(drives) || json_array_size(drives) > INVENTORY_DRIVES_MAX) {
		outcome_fail(ret, E_MALFORMED,
			     "the agent of node %s did not name the drives that it erased",
			     facts->node.name);
		return;
	}
	ret->drives = scrub_verdicts(drives);
	if (!find_bad(facts, drives, ret))
		outcome_finish(ret);
}
