/* Reads samples back from every drive that was erased: what is left of a tenant would show here. */
#include <string.h>

#include "common/base/error.h"

#include "bampi/control/deploy/steps/steps.h"
#include "bampi/control/inventory/node_inventory.h"

static const json_t *erased_drives(const struct facts *facts)
{
	return json_object_get(json_object_get(facts->results, task_kind_words[TASK_ERASE]),
			       "drives");
}

static json_t *verify_scrubbed_params_of(const struct facts *facts)
{
	const json_t *drives = erased_drives(facts);
	json_t *keys = json_array();

	for (size_t i = 0; i < json_array_size(drives); i++) {
		const json_t *drive = json_array_get(drives, i);

		if (strcmp(text_of(drive, "verdict"), "erased") == 0)
			(void)json_array_append_new(keys,
						    json_pack("{s:s, s:s}", "serial",
							      node_inventory_drive_key(drive),
							      "method", text_of(drive, "method")));
	}
	return json_pack("{s:o}", "drives", keys);
}

static void verify_scrubbed_fail(const struct facts *facts, const char *key, const json_t *row,
				 struct outcome *ret)
{
	outcome_fail(ret, E_CONFLICT, "drive %s of node %s could not be verified as erased", key,
		     facts->node.name);
	problem_detail(&ret->problem, "%s: %lld of %lld samples are not empty",
		       row ? text_of(row, "verdict") : "not reported",
		       (long long)json_integer_value(json_object_get(row, "nonzero")),
		       (long long)json_integer_value(json_object_get(row, "samples")));
	problem_hint(&ret->problem,
		     "retry, or replace and destroy the drive; the node stays dirty");
}

/* False: the drive is not proven empty, and *ret says so. */
static bool verify_scrubbed_proven(const struct facts *facts, const char *key, struct outcome *ret)
{
	const json_t *row = find_by(json_object_get(facts->task.result, "drives"), "serial", key);

	if (strcmp(text_of(row, "verdict"), "verified") == 0 &&
	    json_integer_value(json_object_get(row, "samples")) > 0)
		return true;
	verify_scrubbed_fail(facts, key, row, ret);
	return false;
}

/* Each drive that the inventory knows, and each that was erased besides. */
static void verify_scrubbed_judge(const struct facts *facts, struct outcome *ret)
{
	const json_t *erased = erased_drives(facts);

	for (size_t i = 0; i < json_array_size(facts->drives); i++) {
		const char *key = text_of(json_array_get(facts->drives, i), "serial");

		if (!scrub_drive_lost(facts, key) && !verify_scrubbed_proven(facts, key, ret))
			return;
	}
	for (size_t i = 0; i < json_array_size(erased); i++) {
		const json_t *drive = json_array_get(erased, i);

		if (strcmp(text_of(drive, "verdict"), "erased") == 0 &&
		    !verify_scrubbed_proven(facts, node_inventory_drive_key(drive), ret))
			return;
	}
	outcome_finish(ret);
}

void step_verify_scrubbed(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (facts->task.id != 0 && facts->task.state == TASK_DONE && agent_work_is_old(facts)) {
		struct facts again = *facts;

		again.task = (struct task_facts){0};
		(void)agent_work(&again, now_ms, TASK_VERIFY_ERASED,
				 verify_scrubbed_params_of(facts), ret);
		return;
	}
	if (agent_work(facts, now_ms, TASK_VERIFY_ERASED, verify_scrubbed_params_of(facts), ret))
		verify_scrubbed_judge(facts, ret);
}
