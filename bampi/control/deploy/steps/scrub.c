/* Erases every drive, once, under policy `strict`: one drive that is not erased keeps the node
 * dirty. The agent's answer is judged against the drives of the last inventory. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"
#include "bampi/control/inventory/node_inventory.h"

/* How the agent's word on one drive stands against the last inventory. */
enum scrub_finding {
	SCRUB_ERASED,
	SCRUB_LOST, /* the operator's word: it left the node and was destroyed */
	SCRUB_FAILED,
	SCRUB_SKIPPED,
	SCRUB_SMALLER,
	SCRUB_MISSING,
};

static const char *const scrub_remedies[] = {
	[SCRUB_FAILED] = "repair the drive",
	[SCRUB_SKIPPED] = "make the drive writable and not removable",
	[SCRUB_SMALLER] = "restore the drive's full size",
	[SCRUB_MISSING] = "find the drive, put it back",
};

static long long scrub_size(const json_t *drive)
{
	return json_integer_value(json_object_get(drive, "size_bytes"));
}

static bool scrub_is(const json_t *row, const char *verdict)
{
	return strcmp(text_of(row, "verdict"), verdict) == 0;
}

static bool scrub_is_smaller(const json_t *known, const json_t *row)
{
	return known && scrub_size(row) < scrub_size(known);
}

bool scrub_drive_lost(const struct facts *facts, const char *key)
{
	const json_t *lost = json_object_get(facts->deployment.params, "lost_drives");

	for (size_t i = 0; i < json_array_size(lost); i++) {
		const char *serial = json_string_value(json_array_get(lost, i));

		if (serial && strcmp(serial, key) == 0)
			return true;
	}
	return false;
}

static enum scrub_finding scrub_find(const struct facts *facts, const json_t *known,
				     const json_t *row)
{
	if (!row)
		return scrub_drive_lost(facts, text_of(known, "serial")) ? SCRUB_LOST
									 : SCRUB_MISSING;
	if (scrub_is_smaller(known, row))
		return SCRUB_SMALLER;
	if (scrub_is(row, "erased"))
		return SCRUB_ERASED;
	return scrub_is(row, "skipped") ? SCRUB_SKIPPED : SCRUB_FAILED;
}

/* --- the rows of table drive --- */

/* The namespaces of one NVMe controller have one serial: together they are one drive, as bad as
 * the worst of them. */
static void scrub_join(json_t *row, const json_t *more)
{
	static const char *const words[] = {"verdict", "method", "reason"};

	for (size_t i = 0; i < COUNT_OF(words) && !scrub_is(more, "erased"); i++)
		(void)json_object_set(row, words[i], json_object_get(more, words[i]));
	(void)json_object_set_new(row, "size_bytes",
				  json_integer(scrub_size(row) + scrub_size(more)));
}

static json_t *scrub_row_of(const json_t *rows, const char *key)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (strcmp(text_of(json_array_get(rows, i), "serial"), key) == 0)
			return json_array_get(rows, i);
	return NULL;
}

static json_t *scrub_row(const json_t *drive)
{
	const char *verdict = text_of(drive, "verdict");
	bool known = scrub_is(drive, "erased") || scrub_is(drive, "skipped");

	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "serial",
			 node_inventory_drive_key(drive), "name", text_of(drive, "name"), "model",
			 text_of(drive, "model"), "size_bytes", (json_int_t)scrub_size(drive),
			 "verdict", known ? verdict : "failed", "method", text_of(drive, "method"),
			 "reason", text_of(drive, "reason"));
}

/* One row per drive. A medium that was skipped and that no inventory knows is not the node's (a
 * BMC's virtual CD, a stick): as a row it would count as a drive of the node next time. */
static json_t *scrub_rows(const struct facts *facts, const json_t *drives)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < json_array_size(drives); i++) {
		const json_t *drive = json_array_get(drives, i);
		const char *key = node_inventory_drive_key(drive);
		json_t *row = scrub_row_of(rows, key);
		CLEANUP(json_decrefp) json_t *added = scrub_row(drive);

		if (scrub_is(drive, "skipped") && !find_by(facts->drives, "serial", key))
			continue;
		if (row && added)
			scrub_join(row, added);
		else if (json_array_append(rows, added) < 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

/* What `node drives` shows of a drive that hides a part of itself. */
static void scrub_mark_smaller(const struct facts *facts, const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);

		if (!scrub_is_smaller(find_by(facts->drives, "serial", text_of(row, "serial")),
				      row))
			continue;
		(void)json_object_set_new(row, "verdict", json_string("failed"));
		(void)json_object_set_new(row, "reason",
					  json_string("smaller than the last inventory knows it"));
	}
}

/* --- the judgement --- */

static void scrub_fail(const struct facts *facts, enum scrub_finding finding, const json_t *known,
		       const json_t *row, struct outcome *ret)
{
	const char *key = text_of(row ? row : known, "serial");
	const char *reason = text_of(row, "reason");

	outcome_fail(ret, E_CONFLICT, "drive %s of node %s is not erased", key, facts->node.name);
	if (finding == SCRUB_MISSING)
		problem_detail(
			&ret->problem,
			"the last inventory knows the drive, and the agent does not see it; it still holds its data");
	else if (finding == SCRUB_SMALLER)
		problem_detail(
			&ret->problem,
			"the drive shows %lld bytes, the last inventory knows %lld; the hidden part still holds its data",
			scrub_size(row), scrub_size(known));
	else
		problem_detail(&ret->problem, "%s: %s", text_of(row, "verdict"),
			       reason[0] ? reason : "no reason given");
	problem_hint(
		&ret->problem,
		"%s and run haasctl deployment retry %lld. If the drive was destroyed: haasctl deployment create --plan release --lost-drive %s %s",
		scrub_remedies[finding], (long long)facts->deployment.id, key, facts->node.name);
}

/* A drive that the inventory knows and that is not wholly erased, or any that failed: known are
 * those that a tenant could have written to. */
static bool scrub_find_bad(const struct facts *facts, const json_t *rows, struct outcome *ret)
{
	for (size_t i = 0; i < json_array_size(facts->drives); i++) {
		const json_t *known = json_array_get(facts->drives, i);
		const json_t *row = find_by(rows, "serial", text_of(known, "serial"));
		enum scrub_finding finding = scrub_find(facts, known, row);

		if (finding == SCRUB_ERASED || finding == SCRUB_LOST)
			continue;
		scrub_fail(facts, finding, known, row, ret);
		return true;
	}
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (scrub_is(row, "erased"))
			continue;
		scrub_fail(facts, SCRUB_FAILED, NULL, row, ret);
		return true;
	}
	return false;
}

/* A drive that came to the node after its last inventory. */
static void scrub_tell_new(const struct facts *facts, const json_t *rows, struct outcome *ret)
{
	CLEANUP(text_done) struct text names = {0};

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *key = text_of(row, "serial");

		if (!find_by(facts->drives, "serial", key))
			text_addf(&names, "%s%s (%s)", names.size > 0 ? ", " : "", key,
				  text_of(row, "verdict"));
	}
	if (names.size > 0)
		(void)text_format(ret->note, sizeof(ret->note),
				  "the last inventory does not know these drives: %.300s",
				  text_get(&names));
}

static void scrub_judge(const struct facts *facts, const json_t *drives, struct outcome *ret)
{
	json_t *rows = scrub_rows(facts, drives);

	if (!rows) {
		outcome_fail(ret, -ENOMEM, "no memory for the drives of node %s", facts->node.name);
		return;
	}
	ret->drives = rows;
	scrub_tell_new(facts, rows, ret);
	if (!facts->drives && json_array_size(drives) == 0) {
		outcome_fail(ret, E_CONFLICT,
			     "the agent of node %s sees no drive, and the node has no inventory",
			     facts->node.name);
		problem_hint(
			&ret->problem,
			"check the node's drives and controllers, then run haasctl deployment retry %lld",
			(long long)facts->deployment.id);
		return;
	}
	if (!scrub_find_bad(facts, rows, ret))
		outcome_finish(ret);
	scrub_mark_smaller(facts, rows);
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
	scrub_judge(facts, drives, ret);
}
