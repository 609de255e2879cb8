#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_say.h"

LEAKS_LEFT_TO_SANITIZER

enum { TOUCHED_MAX = 4096 };

/* --- writing --- */

static void reconcile_tell_on_told(void *context, int rc, const PGresult *result,
				   const struct problem *problem)
{
	struct engine_fabric *fabric = context;

	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, "reconcile", problem);
	if (rc == 0 && PQntuples(result) > 0)
		return;
	if (fabric->claimed)
		fabric_lost(fabric, rc == 0);
}

/* The next rows that are read come after it: one connection, in order. */
static void reconcile_tell(struct engine_fabric *fabric, const struct text *json)
{
	const struct claim_key key = fabric_key(fabric);

	if (json->failed || intent_store_save(fabric->reconcile->options.db, &key, text_get(json),
					      reconcile_tell_on_told, fabric))
		fabric_lost(fabric, false);
}

static void reconcile_tell_say_port(const struct batch_intent *row, port_state now,
				    struct text *json)
{
	CLEANUP(text_done) struct text tagged = {0};

	vlan_set_text(&now->tagged, &tagged);
	json_begin_object(json, NULL);
	json_put_int(json, "switch", row->switch_id);
	json_put_string(json, "port", row->port);
	json_put_int(json, "version", row->version);
	json_put_bool(json, "trunk", now->trunk);
	json_put_bool(json, "apart", now->apart);
	json_put_int(json, "native", now->native);
	json_put_string(json, "tagged", text_get(&tagged));
	json_end_object(json);
}

/* A switch that starts anew would have the port in the network that it has left, where it met those
 * that stayed: *applied* is said when that is over. A port that is parked is nobody's either way.
 */
static struct known_switch *waits_for_save(const struct engine_fabric *fabric, int64_t switch_id,
					   const char *carrier)
{
	struct known_switch *known = book_find(&fabric->reconcile->book, switch_id);
	const struct known_port *port = known ? known_port_named(known, carrier) : NULL;

	if (!port || !known_starts_elsewhere(known, port))
		return NULL;
	known->awaited = true;
	return known;
}

/* --- a pass --- */

static unsigned say_ports(const struct engine_fabric *fabric, const struct pass *pass,
			  struct text *json)
{
	const struct scene *scene = &pass->scene;
	unsigned count = 0;

	json_begin_array(json, "ports");
	for (uint32_t i = 0; i < scene->intent_count; i++) {
		const struct scene_intent *intent = &scene->intents[i];
		struct batch_intent row = {.switch_id = intent->switch_id,
					   .version = intent->wanted_version};
		const struct known_switch *waits;
		uint32_t carrier;
		port_state now;

		if (!scene_intent_counts(scene, &pass->wanted, i))
			continue;
		carrier = scene->model.ports[intent->port].carrier;
		now = scene->observed[carrier];
		if (!now || !port_vlans_equal(now, pass->wanted.ports[carrier]) ||
		    (intent->applied_version == intent->wanted_version && intent->applied &&
		     port_vlans_equal(now, intent->applied)))
			continue;
		waits = waits_for_save(fabric, row.switch_id, scene->model.ports[carrier].name);
		if (waits) {
			if (!waits->saving && !waits->unsaved)
				reconcile_save(fabric->reconcile, row.switch_id);
			continue;
		}
		(void)text_copy(row.port, sizeof(row.port), intent->port_name);
		reconcile_tell_say_port(&row, now, json);
		count++;
	}
	json_end_array(json);
	return count;
}

/* Uplinks that are as wanted: from now on another content is somebody else's doing. */
static unsigned say_uplinks(const struct pass *pass, struct text *json)
{
	const struct scene *scene = &pass->scene;
	unsigned count = 0;

	json_begin_array(json, "uplinks");
	for (uint32_t p = 0; p < scene->model.port_count; p++) {
		const struct fabric_port *port = &scene->model.ports[p];
		CLEANUP(text_done) struct text tagged = {0};
		struct vlan_set ours;

		if (port->role != PORT_UPLINK || !scene->observed[p] ||
		    scene_port_rests(scene, p) ||
		    !port_vlans_equal(scene->observed[p], pass->wanted.ports[p]))
			continue;
		ours = scene_ours_on(scene, scene->observed[p]);
		if (scene->applied[p] && vlan_set_equal(&ours, &scene->applied[p]->tagged))
			continue;
		vlan_set_text(&ours, &tagged);
		json_begin_object(json, NULL);
		json_put_int(json, "switch", scene->model.switches[port->at].id);
		json_put_string(json, "port", port->name);
		json_put_string(json, "tagged", text_get(&tagged));
		json_end_object(json);
		count++;
	}
	json_end_array(json);
	return count;
}

static unsigned say_faults(const struct pass *pass, struct text *json)
{
	unsigned count = 0;

	json_begin_array(json, "faults");
	for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
		const struct scene_intent *intent = &pass->scene.intents[i];
		const struct problem *problem = &pass->faults[i];

		if (problem->code == 0 || intent->applied_version == intent->wanted_version ||
		    strcmp(problem->message, intent->problem) == 0)
			continue;
		json_begin_object(json, NULL);
		json_put_int(json, "switch", intent->switch_id);
		json_put_string(json, "port", intent->port_name);
		json_put_int(json, "version", intent->wanted_version);
		json_put_problem(json, "problem", problem);
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
	said.count = say_ports(fabric, pass, &json);
	said.count += say_uplinks(pass, &json);
	said.count += say_faults(pass, &json);
	json_begin_array(&said.alerts, NULL);
	json_begin_array(&said.events, NULL);
	say_alerts(fabric, pass, &said);
	say_apart(fabric, pass, &said, &json);
	json_end_array(&said.alerts);
	json_end_array(&said.events);
	json_put_raw(&json, "alerts", text_get(&said.alerts));
	json_put_raw(&json, "events", text_get(&said.events));
	json_end_object(&json);
	if (said.alerts.failed || said.events.failed)
		json.failed = true;
	if (said.count > 0)
		reconcile_tell(fabric, &json);
	text_done(&said.alerts);
	text_done(&said.events);
	plan_retry(fabric, pass);
	if (pass->plan.count == 0 && !pass->scene.flux.any) {
		fabric->settled = true;
		fabric->settled_digest = pass->digest;
	}
}

/* --- an aggregate --- */

/* What was refused has its reason in the journal and at the ports. */
static void say_bond_change(const struct bond_end *end, struct text *json)
{
	const char *state = "applied";

	if (end->problem)
		state = end->problem->code == E_CONFLICT || end->problem->code == E_UNSUPPORTED
				? "refused"
				: "unknown";
	json_put_int(json, "batch", end->batch);
	json_put_string(json, "state", end->problem ? "failed" : "done");
	if (end->problem)
		json_put_problem(json, "problem", end->problem);
	json_begin_array(json, "changes");
	json_begin_object(json, NULL);
	json_put_int(json, "id", end->change);
	json_put_string(json, "state", state);
	if (end->problem)
		json_put_problem(json, "problem", end->problem);
	json_end_object(json);
	json_end_array(json);
}

void fabric_tell_bond(struct engine_fabric *fabric, const struct bond_end *end)
{
	const struct switch_lag *lag = end->lag;
	CLEANUP(text_done) struct text json = {0};
	CLEANUP(text_done) struct text detail = {0};
	CLEANUP(text_done) struct text ports = {0};
	char message[256];

	for (size_t i = 0; i < lag->member_count; i++)
		text_addf(&ports, "%s%s", i ? ", " : "", lag->members[i]);
	(void)text_format(message, sizeof(message), "%s, of %s for %s", lag->name, text_get(&ports),
			  end->bond);
	json_begin_object(&detail, NULL);
	json_put_string(&detail, "aggregate", lag->name);
	json_put_string(&detail, "ports", text_get(&ports));
	json_put_string(&detail, "bond", end->bond);
	json_end_object(&detail);
	json_begin_object(&json, NULL);
	say_bond_change(end, &json);
	if (!end->problem) {
		json_begin_array(&json, "events");
		say_event(lag->make ? "aggregate.made" : "aggregate.unmade", "switch",
			  end->switch_name, message, &detail, &json);
		json_end_array(&json);
	}
	json_end_object(&json);
	reconcile_tell(fabric, &json);
}

/* --- a batch --- */

static void say_batch_ports(const struct engine_fabric *fabric, const struct batch *batch,
			    struct text *json)
{
	size_t count;
	const struct batch_intent *rows = batch_intents(batch, &count);

	json_begin_array(json, "ports");
	for (size_t i = 0; i < count; i++) {
		const struct switch_edit *edit = batch_view(batch, rows[i].edit).edit;

		if (!waits_for_save(fabric, rows[i].switch_id, edit->port))
			reconcile_tell_say_port(&rows[i], &edit->after, json);
	}
	json_end_array(json);
}

static void say_outcome(struct engine_fabric *fabric, const struct batch *batch,
			const struct batch_end *end, struct text *json)
{
	const char *name = batch_fabric(batch);
	CLEANUP(text_done) struct text detail = {0};
	CLEANUP(text_done) struct text switches = {0};

	batch_switches(batch, &switches);
	json_begin_object(&detail, NULL);
	json_put_int(&detail, "batch", batch_id(batch));
	json_put_string(&detail, "switches", text_get(&switches));
	json_put_string(&detail, "problem", end->problem.message);
	json_put_string(&detail, "detail", end->problem.detail);
	json_put_string(&detail, "parked", batch_parked(batch));
	json_end_object(&detail);
	json_begin_array(json, "events");
	say_event(end->outcome == BATCH_DONE ? "change.applied" : "change.undone", "fabric", name,
		  end->outcome == BATCH_DONE ? "read back and as wanted" : end->problem.message,
		  &detail, json);
	json_end_array(json);
	if (end->outcome != BATCH_FAILED)
		return;
	fabric->undo_failed = ALERT_TOLD;
	json_begin_array(json, "alerts");
	say_raise(&(struct alert_row){.kind = UNDO_FAILED,
				      .severity = "critical",
				      .subject_kind = "fabric",
				      .subject = name,
				      .message = "a change could not be undone on all switches",
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
	CLEANUP(text_done) struct text json = {0};
	int64_t touched[TOUCHED_MAX];
	uint32_t count = batch_touched(batch, touched, TOUCHED_MAX);

	json_begin_object(&json, NULL);
	json_put_int(&json, "batch", batch_id(batch));
	json_put_string(&json, "state", states[end->outcome]);
	if (end->problem.code)
		json_put_problem(&json, "problem", &end->problem);
	batch_changes(batch, &json, "changes");
	if (end->outcome == BATCH_DONE)
		say_batch_ports(fabric, batch, &json);
	say_outcome(fabric, batch, end, &json);
	json_end_object(&json);
	reconcile_tell(fabric, &json);
	for (uint32_t i = 0; i < count; i++) {
		struct known_switch *known = book_find(&fabric->reconcile->book, touched[i]);

		if (known && end->outcome == BATCH_FAILED)
			known->stale = true;
		if (end->outcome == BATCH_DONE)
			reconcile_save(fabric->reconcile, touched[i]);
	}
}
