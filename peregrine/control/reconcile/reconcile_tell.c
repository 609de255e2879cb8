#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- writing ----------------------------------------------------------- */

static void on_told(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct engine_fabric *fabric = context;

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, "reconcile", problem);
	if (rc == 0 && PQntuples(result) > 0)
		return;
	if (fabric->batch)
		batch_abandon(fabric->batch);
	else if (fabric->claimed)
		fabric_lost(fabric, rc == 0);
}

/* The next rows that are read come after it: one connection, in order. */
static void tell(struct engine_fabric *fabric, const struct text *json)
{
	const struct claim_key key = fabric_key(fabric);

	if (json->failed ||
	    intent_store_save(fabric->reconcile->options.db, &key, text_get(json), on_told, fabric))
		fabric_lost(fabric, false);
}

static void say_problem(const struct problem *problem, struct text *json, const char *key)
{
	json_begin_object(json, key);
	json_string(json, "code", error_word(problem->code));
	json_string(json, "message", problem->message);
	json_string(json, "detail", problem->detail);
	json_string(json, "hint", problem->hint);
	json_end_object(json);
}

static unsigned say_applied(const struct scene *scene, const struct wanted *wanted, uint32_t i,
			    port_state now, struct text *json)
{
	const struct scene_intent *intent = &scene->intents[i];
	const struct fabric_port *port = &scene->model.ports[intent->port];
	CLEANUP(text_done) struct text tagged = {0};

	if (port->role != PORT_EDGE || port->held || scene->model.switches[port->at].held ||
	    scene->model.ports[port->carrier].held || wanted->faults[intent->port] != WANTED_OK ||
	    !now || !port_vlans_equal(now, wanted->ports[port->carrier]))
		return 0;
	if (intent->applied_version == intent->wanted_version && intent->applied &&
	    port_vlans_equal(now, intent->applied))
		return 0;
	vlan_set_text(&now->tagged, &tagged);
	json_begin_object(json, NULL);
	json_int(json, "switch", intent->switch_id);
	json_string(json, "port", intent->port_name);
	json_int(json, "version", intent->wanted_version);
	json_bool(json, "trunk", now->trunk);
	json_int(json, "native", now->native);
	json_string(json, "tagged", text_get(&tagged));
	json_end_object(json);
	return 1;
}

/* --- alerts ------------------------------------------------------------- */

struct alert {
	const char *key, *kind, *severity, *subject_kind, *subject, *message;
	const struct text *detail; /* JSON; NULL = none */
};

static void say_raise(const struct alert *alert, struct text *json)
{
	json_begin_object(json, NULL);
	json_string(json, "op", "raise");
	json_string(json, "key", alert->key);
	json_string(json, "kind", alert->kind);
	json_string(json, "severity", alert->severity);
	json_string(json, "subject_kind", alert->subject_kind);
	json_string(json, "subject", alert->subject);
	json_string(json, "message", alert->message);
	if (alert->detail)
		json_raw(json, "detail", text_get(alert->detail));
	json_end_object(json);
}

static void say_clear(const char *key, struct text *json)
{
	json_begin_object(json, NULL);
	json_string(json, "op", "clear");
	json_string(json, "key", key);
	json_end_object(json);
}

static void say_event(const char *kind, const char *subject_kind, const char *subject,
		      const char *message, const struct text *detail, struct text *json)
{
	json_begin_object(json, NULL);
	json_string(json, "kind", kind);
	json_string(json, "subject_kind", subject_kind);
	json_string(json, "subject", subject);
	json_string(json, "message", message);
	if (detail)
		json_raw(json, "detail", text_get(detail));
	json_end_object(json);
}

static void say_state(port_state state, struct text *json, const char *key)
{
	CLEANUP(text_done) struct text text = {0};

	if (state)
		port_vlans_text(state, &text);
	json_string(json, key, state ? text_get(&text) : NULL);
}

/* What differs at one switch: what was applied by us, and what is there. */
static unsigned say_drift(const struct pass *pass, uint32_t at, struct text *json, const char *key)
{
	const struct scene *scene = &pass->scene;
	unsigned count = 0;

	json_begin_array(json, key);
	for (uint32_t p = scene->model.switches[at].first_port;
	     p < scene->model.switches[at].first_port + scene->model.switches[at].port_count; p++) {
		port_state before = scene->applied[p];

		if (scene->model.ports[p].role == PORT_UPLINK)
			before = pass->wanted.ports[p];
		if (!before || !scene->observed[p] || scene->model.ports[p].carrier != p ||
		    port_vlans_equal(before, scene->observed[p]))
			continue;
		json_begin_object(json, NULL);
		json_string(json, "port", scene->model.ports[p].name);
		say_state(before, json, "applied");
		say_state(scene->observed[p], json, "observed");
		json_end_object(json);
		count++;
	}
	json_end_array(json);
	return count;
}

static size_t drifting_place(const struct engine_fabric *fabric, int64_t id)
{
	size_t i = 0;

	while (i < fabric->drifting_count && fabric->drifting[i] != id)
		i++;
	return i;
}

static bool drifting_add(struct engine_fabric *fabric, int64_t id)
{
	int64_t *drifting =
		realloc(fabric->drifting, (fabric->drifting_count + 1) * sizeof(*drifting));

	if (!drifting)
		return false;
	drifting[fabric->drifting_count++] = id;
	fabric->drifting = drifting;
	return true;
}

struct said {
	struct text alerts, events;
	unsigned count;
};

static void say_drift_of(struct engine_fabric *fabric, const struct pass *pass, uint32_t at,
			 struct said *said)
{
	const struct fabric_switch *sw = &pass->scene.model.switches[at];
	struct known_switch *known = book_find(&fabric->reconcile->book, sw->id);
	size_t place = drifting_place(fabric, sw->id);
	CLEANUP(text_done) struct text detail = {0};
	char key[96];
	char message[96];
	unsigned count;

	(void)text_format(key, sizeof(key), "switch.drift:%s", sw->name);
	if (!pass->drifted[at]) {
		if (place == fabric->drifting_count || sw->held)
			return;
		say_clear(key, &said->alerts);
		say_event("switch.repaired", "switch", sw->name, "as it was applied again", NULL,
			  &said->events);
		fabric->drifting[place] = fabric->drifting[--fabric->drifting_count];
		fabric->reconcile->stats.repaired++;
		if (known)
			known->insist = false;
		said->count++;
		return;
	}
	if (place < fabric->drifting_count || !drifting_add(fabric, sw->id))
		return;
	json_begin_object(&detail, NULL);
	count = say_drift(pass, at, &detail, "ports");
	json_string(&detail, "hint",
		    pass->scene.repair ? "it is being repaired; haasctl switch diff shows it"
				       : "haasctl switch reconcile repairs it");
	json_end_object(&detail);
	(void)text_format(message, sizeof(message), "somebody else changed it (%u ports differ)",
			  count);
	say_raise(&(struct alert){.key = key,
				  .kind = "switch.drift",
				  .severity = "warning",
				  .subject_kind = "switch",
				  .subject = sw->name,
				  .message = message,
				  .detail = &detail},
		  &said->alerts);
	say_event("switch.drift", "switch", sw->name, message, &detail, &said->events);
	fabric->reconcile->stats.drifts++;
	said->count++;
}

/* Networks that meet, or would: as long as nothing that is about to be sent puts it right. */
static void say_isolation(struct engine_fabric *fabric, const struct pass *pass, struct said *said)
{
	const struct isolation_report *report = &pass->now;
	bool stays = report->count > 0 && (pass->plan.count == 0 || fabric->refusal.code ||
					   fabric_only_tells(fabric, pass));
	CLEANUP(text_done) struct text detail = {0};
	struct problem problem = fabric->refusal;
	char key[96];

	(void)text_format(key, sizeof(key), "fabric.isolation:%s", pass->scene.model.name);
	if (!stays && !fabric->refusal.code) {
		if (!fabric->faulty)
			return;
		fabric->faulty = false;
		say_clear(key, &said->alerts);
		said->count++;
		return;
	}
	if (fabric->faulty)
		return;
	fabric->faulty = true;
	if (!problem.code)
		isolation_problem(&pass->scene.model, &report->findings[0], &problem);
	json_begin_object(&detail, NULL);
	json_begin_array(&detail, "findings");
	for (size_t i = 0; i < report->count && i < ISOLATION_FINDINGS; i++) {
		json_begin_object(&detail, NULL);
		json_string(&detail, "fault", isolation_fault_text(report->findings[i].fault));
		json_string(&detail, "path", report->findings[i].path);
		json_end_object(&detail);
	}
	json_end_array(&detail);
	json_string(&detail, "path", problem.detail);
	json_string(&detail, "hint", "look at the ports on the path; haasctl switch diff");
	json_end_object(&detail);
	say_raise(&(struct alert){.key = key,
				  .kind = "fabric.isolation",
				  .severity = "critical",
				  .subject_kind = "fabric",
				  .subject = pass->scene.model.name,
				  .message = problem.message,
				  .detail = &detail},
		  &said->alerts);
	say_event("fabric.isolation", "fabric", pass->scene.model.name, problem.message, &detail,
		  &said->events);
	said->count++;
}

/* One alert that is there exactly while `on` is true. */
static void say_while(bool on, bool *told, const struct alert *alert, struct said *said)
{
	if (on == *told)
		return;
	*told = on;
	if (on)
		say_raise(alert, &said->alerts);
	else
		say_clear(alert->key, &said->alerts);
	said->count++;
}

static void say_numbers(struct engine_fabric *fabric, const struct pass *pass, struct said *said)
{
	static const struct vlan_set none;
	struct number_audit audit = number_audit(&pass->scene.pool, &none);
	CLEANUP(text_done) struct text leaked = {0};
	CLEANUP(text_done) struct text detail = {0};
	char key[96];

	vlan_set_text(&audit.leaked, &leaked);
	json_begin_object(&detail, NULL);
	json_string(&detail, "vlans", text_get(&leaked));
	json_string(&detail, "hint", "ports that are not ours are in them; haasctl switch show");
	json_end_object(&detail);
	(void)text_format(key, sizeof(key), "network.vlan_leak:%s", pass->scene.model.name);
	say_while(!vlan_set_is_empty(&audit.leaked) && pass->plan.count == 0, &fabric->leaking,
		  &(struct alert){.key = key,
				  .kind = "network.vlan_leak",
				  .severity = "warning",
				  .subject_kind = "fabric",
				  .subject = pass->scene.model.name,
				  .message = "VLANs of our range are on switches and are nobody's",
				  .detail = &detail},
		  said);
	(void)text_format(key, sizeof(key), "network.vlan_short:%s", pass->scene.model.name);
	say_while(fabric->short_of, &fabric->short_told,
		  &(struct alert){.key = key,
				  .kind = "network.vlan_short",
				  .severity = "critical",
				  .subject_kind = "fabric",
				  .subject = pass->scene.model.name,
				  .message = "no VLAN is free; networks wait"},
		  said);
}

/* --- a pass ------------------------------------------------------------- */

static unsigned say_ports(const struct pass *pass, struct text *json)
{
	unsigned count = 0;

	json_begin_array(json, "ports");
	for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
		uint32_t port = pass->scene.intents[i].port;

		if (port != MODEL_NONE)
			count += say_applied(
				&pass->scene, &pass->wanted, i,
				pass->scene.observed[pass->scene.model.ports[port].carrier], json);
	}
	json_end_array(json);
	return count;
}

static unsigned say_faults(const struct engine_fabric *fabric, const struct pass *pass,
			   struct text *json)
{
	unsigned count = 0;

	json_begin_array(json, "faults");
	for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
		const struct scene_intent *intent = &pass->scene.intents[i];
		const struct problem *problem = &pass->faults[i];

		if (problem->code == 0)
			problem = &fabric->refusal;
		if (problem->code == 0 || intent->applied_version == intent->wanted_version ||
		    strcmp(problem->message, intent->problem) == 0)
			continue;
		json_begin_object(json, NULL);
		json_int(json, "switch", intent->switch_id);
		json_string(json, "port", intent->port_name);
		json_int(json, "version", intent->wanted_version);
		say_problem(problem, json, "problem");
		json_end_object(json);
		count++;
	}
	json_end_array(json);
	return count;
}

/* A port that failed is tried again by itself. */
static void plan_retry(struct engine_fabric *fabric, const struct pass *pass)
{
	int64_t now_ms = clock_monotonic_ms();
	int64_t next_ms = 0;

	for (uint32_t s = 0; s < pass->scene.model.switch_count; s++) {
		const struct known_switch *known =
			book_find(&fabric->reconcile->book, pass->scene.model.switches[s].id);

		for (uint32_t p = 0; known && p < known->port_count; p++) {
			int64_t retry_ms = known->ports[p].retry_ms;

			if (retry_ms > now_ms && (next_ms == 0 || retry_ms < next_ms))
				next_ms = retry_ms;
		}
	}
	fabric->look_again_ms = next_ms ? next_ms + 1 : 0;
}

void fabric_tell(struct engine_fabric *fabric, const struct pass *pass)
{
	CLEANUP(text_done) struct text json = {0};
	struct said said = {0};

	json_begin_object(&json, NULL);
	said.count = say_ports(pass, &json);
	said.count += say_faults(fabric, pass, &json);
	json_begin_array(&said.alerts, NULL);
	json_begin_array(&said.events, NULL);
	for (uint32_t s = 0; s < pass->scene.model.switch_count; s++)
		say_drift_of(fabric, pass, s, &said);
	say_isolation(fabric, pass, &said);
	say_numbers(fabric, pass, &said);
	if (pass->plan.count == 0)
		say_while(false, &fabric->undo_failed, &(struct alert){.key = "switch.undo_failed"},
			  &said);
	json_end_array(&said.alerts);
	json_end_array(&said.events);
	json_raw(&json, "alerts", text_get(&said.alerts));
	json_raw(&json, "events", text_get(&said.events));
	json_end_object(&json);
	if (said.alerts.failed || said.events.failed)
		json.failed = true;
	if (said.count > 0)
		tell(fabric, &json);
	text_done(&said.alerts);
	text_done(&said.events);
	plan_retry(fabric, pass);
	if (pass->plan.count == 0) {
		fabric->settled = true;
		fabric->settled_digest = pass->digest;
	}
}

/* --- a batch ------------------------------------------------------------ */

static void say_batch_ports(struct engine_fabric *fabric, const struct batch *batch,
			    struct text *json)
{
	const struct scene *scene = batch_scene(batch);

	json_begin_array(json, "ports");
	for (uint32_t i = 0; i < scene->intent_count; i++) {
		const struct scene_intent *intent = &scene->intents[i];
		const struct known_switch *known =
			book_find(&fabric->reconcile->book, intent->switch_id);
		const struct known_port *port = NULL;

		if (intent->port == MODEL_NONE || !known)
			continue;
		port = known_port_named(
			known, scene->model.ports[scene->model.ports[intent->port].carrier].name);
		if (port)
			(void)say_applied(scene, batch_wanted(batch), i, port->vlans, json);
	}
	json_end_array(json);
}

static void say_outcome(struct engine_fabric *fabric, const struct batch *batch,
			const struct batch_end *end, struct text *json)
{
	const char *name = batch_scene(batch)->model.name;
	CLEANUP(text_done) struct text detail = {0};

	json_begin_object(&detail, NULL);
	json_int(&detail, "batch", batch_id(batch));
	json_string(&detail, "problem", end->problem.message);
	json_string(&detail, "detail", end->problem.detail);
	json_string(&detail, "parked", batch_parked(batch));
	json_end_object(&detail);
	json_begin_array(json, "events");
	say_event(end->outcome == BATCH_DONE ? "change.applied" : "change.undone", "fabric", name,
		  end->outcome == BATCH_DONE ? "read back and as wanted" : end->problem.message,
		  &detail, json);
	json_end_array(json);
	if (end->outcome != BATCH_FAILED)
		return;
	fabric->undo_failed = true;
	json_begin_array(json, "alerts");
	say_raise(&(struct alert){.key = "switch.undo_failed",
				  .kind = "switch.undo_failed",
				  .severity = "critical",
				  .subject_kind = "fabric",
				  .subject = name,
				  .message = "a change could not be taken back everywhere",
				  .detail = &detail},
		  json);
	json_end_array(json);
}

void fabric_tell_batch(struct engine_fabric *fabric, const struct batch *batch,
		       const struct batch_end *end)
{
	static const char *const states[] = {[BATCH_DONE] = "done",
					     [BATCH_UNDONE] = "undone",
					     [BATCH_FAILED] = "failed",
					     [BATCH_LOST] = "failed"};
	const struct scene *scene = batch_scene(batch);
	CLEANUP(text_done) struct text json = {0};
	CLEANUP(freep)
	uint32_t *touched = calloc(scene->model.switch_count + 1, sizeof(*touched));
	uint32_t count = touched ? batch_touched(batch, touched, scene->model.switch_count) : 0;

	json_begin_object(&json, NULL);
	json_int(&json, "batch", batch_id(batch));
	json_string(&json, "state", states[end->outcome]);
	if (end->problem.code)
		say_problem(&end->problem, &json, "problem");
	batch_changes(batch, &json, "changes");
	if (end->outcome == BATCH_DONE)
		say_batch_ports(fabric, batch, &json);
	say_outcome(fabric, batch, end, &json);
	json_end_object(&json);
	tell(fabric, &json);
	for (uint32_t i = 0; i < count; i++) {
		struct known_switch *known =
			book_find(&fabric->reconcile->book, scene->model.switches[touched[i]].id);

		if (known && end->outcome == BATCH_FAILED)
			known->stale = true;
		if (end->outcome == BATCH_DONE)
			reconcile_save(fabric->reconcile, scene->model.switches[touched[i]].id);
	}
}

/* --- for people ----------------------------------------------------------- */

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
		json_string(json, "kind", kinds[edit->edit.kind]);
		if (edit->port == MODEL_NONE) {
			json_int(json, "vlan", edit->edit.vlan);
		} else {
			json_string(json, "port", edit->edit.port);
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
	json_string(json, "switch", known->name);
	json_int(json, "age_ms", clock_monotonic_ms() - known->read_at_ms);
	if (at < pass.scene.model.switch_count) {
		json_bool(json, "usable", !pass.scene.model.switches[at].held);
		if (known->failures > 0)
			say_problem(&known->problem, json, "problem");
		say_edits(&pass, at, json);
		(void)say_drift(&pass, at, json, "drift");
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
	return problem_set(problem, E_UNAVAILABLE, "what is wanted was not read yet");
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
