/* What people ask and order: the difference of a switch, its repair. */
#include <errno.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/control/reconcile/reconcile_say.h"

static const struct known_switch *find_named(const struct reconcile *reconcile, const char *name,
					     struct problem *problem)
{
	const struct known_switch *known = book_named(&reconcile->book, name);

	if (!known)
		(void)problem_set(problem, E_NOT_FOUND, "switch %s is not managed", name);
	return known;
}

static void say_edits(const struct pass *pass, uint32_t at, struct text *json)
{
	static const char *const kinds[] = {[EDIT_VLAN_CREATE] = "vlan_create",
					    [EDIT_VLAN_DELETE] = "vlan_delete",
					    [EDIT_PORT] = "port"};

	json_begin_array(json, "changes");
	for (size_t i = 0; i < pass->plan.count; i++) {
		const struct plan_edit *edit = &pass->plan.edits[i];

		if (edit->at != at)
			continue;
		json_begin_object(json, NULL);
		json_put_string(json, "kind", kinds[edit->edit.kind]);
		if (edit->port == MODEL_NONE) {
			json_put_int(json, "vlan", edit->edit.vlan);
		} else {
			json_put_string(json, "port", edit->edit.port);
			say_state(&edit->edit.before, json, "before");
			say_state(&edit->edit.after, json, "after");
		}
		json_end_object(json);
	}
	json_end_array(json);
}

static int say_diff(const struct reconcile *reconcile, const struct known_switch *known,
		    const struct engine_fabric *fabric, size_t place, struct text *json)
{
	struct pass pass = {0};
	uint32_t at = 0;
	int rc = pass_make(reconcile, fabric, place, &pass);

	if (rc)
		return rc;
	while (at < pass.scene.model.switch_count && pass.scene.model.switches[at].id != known->id)
		at++;
	json_begin_object(json, NULL);
	json_put_string(json, "switch", known->name);
	json_put_int(json, "age_ms", clock_monotonic_ms() - known->read_at_ms);
	if (at < pass.scene.model.switch_count) {
		json_put_bool(json, "usable", !pass.scene.model.switches[at].held);
		if (known->failures > 0)
			json_put_problem(json, "problem", &known->problem);
		say_edits(&pass, at, json);
		(void)say_drift(&pass, at, json, "drift");
		(void)say_unproven(&pass, at, known, json, "unproven");
		json_put_bool(json, "saved", !known->unsaved && !known->saving);
		if (known->save_failures > 0)
			json_put_problem(json, "save_problem", &known->save_problem);
	}
	json_end_object(json);
	pass_done(&pass);
	return json->failed ? -ENOMEM : 0;
}

int reconcile_diff(const struct reconcile *reconcile, const char *switch_name, struct text *ret,
		   struct problem *problem)
{
	const struct known_switch *known = find_named(reconcile, switch_name, problem);
	const json_t *row;
	int64_t fabric_id = 0;
	size_t i;

	if (!known)
		return E_NOT_FOUND;
	if (!known->read) {
		(void)problem_set(problem, E_UNAVAILABLE, "switch %s was not read yet",
				  switch_name);
		problem_detail(problem, "%s", known->problem.message);
		return E_UNAVAILABLE;
	}
	json_array_foreach(json_object_get(reconcile->rows, "switches"), i, row)
	{
		if (json_integer_value(json_object_get(row, "id")) == known->id)
			fabric_id = json_integer_value(json_object_get(row, "fabric"));
	}
	json_array_foreach(json_object_get(reconcile->rows, "fabrics"), i, row)
	{
		for (size_t k = 0; k < reconcile->fabric_count; k++) {
			if (json_integer_value(json_object_get(row, "id")) == fabric_id &&
			    reconcile->fabrics[k]->id == fabric_id)
				return say_diff(reconcile, known, reconcile->fabrics[k], i, ret);
		}
	}
	return problem_set(problem, E_UNAVAILABLE, "the wanted state was not read yet");
}

int reconcile_request(struct reconcile *reconcile, const char *switch_name, struct problem *problem)
{
	struct known_switch *known = book_named(&reconcile->book, switch_name);

	if (!find_named(reconcile, switch_name, problem) || !known)
		return E_NOT_FOUND;
	known->insist = true;
	known->stale = true;
	known->failures = 0;
	known->retry_ms = 0;
	for (uint32_t p = 0; p < known->port_count; p++)
		known->ports[p].retry_ms = 0;
	reconcile_wake(reconcile);
	return 0;
}
