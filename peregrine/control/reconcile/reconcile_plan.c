#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- what a pass depends on ------------------------------------------- */

static uint64_t mix(uint64_t digest, uint64_t value)
{
	digest ^= value;
	return digest * UINT64_C(0x100000001b3);
}

/* All facts but the memberships themselves: the same digest and another state means that somebody
 * else was at work. */
static uint64_t digest_of(const struct scene *scene)
{
	const struct fabric_model *model = &scene->model;
	uint64_t digest = UINT64_C(0xcbf29ce484222325);

	for (uint32_t s = 0; s < model->switch_count; s++)
		digest = mix(digest, (uint64_t)model->switches[s].id * 2 + model->switches[s].held);
	for (uint32_t p = 0; p < model->port_count; p++) {
		const struct fabric_port *port = &model->ports[p];

		digest = mix(digest, port->role);
		digest = mix(digest, port->peer);
		if (port->role == PORT_UPLINK)
			digest = mix(digest, port->up);
	}
	for (uint32_t i = 0; i < scene->intent_count; i++)
		digest = mix(digest, (uint64_t)scene->intents[i].wanted_version);
	for (uint32_t n = 0; n < model->network_count; n++)
		digest = mix(digest, model->networks[n].vlan);
	return digest;
}

/* --- drift ------------------------------------------------------------ */

static bool is_drifted(const struct scene *scene, const struct scene_intent *intent)
{
	port_state now;

	if (intent->port == MODEL_NONE || !intent->applied ||
	    intent->applied_version != intent->wanted_version ||
	    scene->model.ports[intent->port].role != PORT_EDGE)
		return false;
	now = scene->observed[scene->model.ports[intent->port].carrier];
	return now && !port_vlans_equal(now, intent->applied);
}

static void find_drift(const struct reconcile *reconcile, struct pass *pass)
{
	struct fabric_model *model = &pass->scene.model;

	for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
		const struct scene_intent *intent = &pass->scene.intents[i];
		const struct known_switch *known = book_find(&reconcile->book, intent->switch_id);

		if (!is_drifted(&pass->scene, intent))
			continue;
		pass->drifted[model->ports[intent->port].at] = true;
		if (!pass->scene.repair && !(known && known->insist))
			model->ports[model->ports[intent->port].carrier].held = true;
	}
}

/* Uplinks and VLANs have no row that says what was applied: there it is drift when nothing but the
 * switch has changed since all was well. */
static bool is_all_drift(const struct engine_fabric *fabric, const struct pass *pass)
{
	return fabric->settled && fabric->settled_digest == pass->digest && pass->plan.count > 0;
}

/* --- one pass, thought through ---------------------------------------- */

static void say_fault(struct pass *pass, uint32_t i, int code, const char *message)
{
	if (pass->faults[i].code == 0)
		(void)problem_set(&pass->faults[i], code, "%s", message);
}

/* Why an intent is not met, where that is known before anything is sent. */
static void find_fault(const struct reconcile *reconcile, struct pass *pass, uint32_t i)
{
	const struct scene *scene = &pass->scene;
	const struct scene_intent *intent = &scene->intents[i];
	const struct known_switch *known = book_find(&reconcile->book, intent->switch_id);
	const struct known_port *port =
		known && known->read ? known_port_named(known, intent->port_name) : NULL;

	if (known && known->failures > 0) {
		(void)problem_set(&pass->faults[i], known->problem.code,
				  "switch %s cannot be set: %s", intent->switch_name,
				  known->problem.message);
		problem_detail(&pass->faults[i], "%s", known->problem.detail);
		problem_hint(&pass->faults[i],
			     "it is tried again by itself; haasctl switch show says more");
	} else if (known && known->read && intent->port == MODEL_NONE) {
		(void)problem_set(&pass->faults[i], E_NOT_FOUND, "switch %s shows no port %s",
				  intent->switch_name, intent->port_name);
		problem_hint(&pass->faults[i], "haasctl switch show lists its ports");
	} else if (intent->port != MODEL_NONE &&
		   scene->model.ports[intent->port].role != PORT_EDGE) {
		say_fault(pass, i, E_CONFLICT, "the port leads to another switch");
	} else if (port && port->problem && port->retry_ms > 0 &&
		   port->retry_version == intent->wanted_version) {
		pass->faults[i] = *port->problem;
	} else if (intent->port != MODEL_NONE && pass->wanted.faults[intent->port] != WANTED_OK) {
		say_fault(pass, i, E_CONFLICT,
			  wanted_fault_text(pass->wanted.faults[intent->port]));
	}
}

/* A network that already is where it should not be gets no further port until that is put right. */
static bool hold_tainted(struct pass *pass, const struct isolation_report *report)
{
	struct fabric_model *model = &pass->scene.model;
	bool any = false;

	for (size_t k = 0; k < report->count && k < ISOLATION_FINDINGS; k++) {
		const struct isolation_finding *finding = &report->findings[k];

		for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
			uint32_t p = pass->scene.intents[i].port;
			struct vlan_set more;
			struct vlan_set has = {0};

			if (p == MODEL_NONE || !pass->wanted.ports[p] || model->ports[p].held)
				continue;
			more = port_vlans_all(pass->wanted.ports[p]);
			if (pass->scene.observed[p])
				has = port_vlans_all(pass->scene.observed[p]);
			more = vlan_set_minus(&more, &has);
			if (!vlan_set_has(&more, finding->vlan) &&
			    !vlan_set_has(&more, finding->other_vlan))
				continue;
			isolation_problem(model, finding, &pass->faults[i]);
			model->ports[p].held = true;
			model->ports[model->ports[p].carrier].held = true;
			any = true;
		}
	}
	return any;
}

static int compute(struct pass *pass)
{
	struct wanted wanted;
	int rc = wanted_compute(&pass->scene.model, pass->scene.observed, &wanted);

	if (rc)
		return rc;
	wanted_done(&pass->wanted);
	pass->wanted = wanted;
	return 0;
}

static int think(const struct reconcile *reconcile, struct pass *pass)
{
	const struct fabric_model *model = &pass->scene.model;
	struct isolation_report last;
	int rc;

	pass->faults = calloc(pass->scene.intent_count + 1, sizeof(*pass->faults));
	pass->drifted = calloc(model->switch_count + 1, sizeof(*pass->drifted));
	if (!pass->faults || !pass->drifted)
		return -ENOMEM;
	pass->digest = digest_of(&pass->scene);
	find_drift(reconcile, pass);
	rc = compute(pass);
	if (rc == 0)
		rc = isolation_check(model, pass->scene.observed, pass->wanted.ports,
				     pass->scene.applied, &pass->now);
	if (rc == 0)
		rc = isolation_check(model, pass->wanted.ports, pass->wanted.ports, NULL, &last);
	if (rc == 0 && last.count > 0 && hold_tainted(pass, &last))
		rc = compute(pass);
	if (rc == 0)
		rc = plan_make(model, pass->scene.observed, &pass->wanted, pass->scene.applied,
			       &pass->plan);
	for (uint32_t i = 0; rc == 0 && i < pass->scene.intent_count; i++)
		find_fault(reconcile, pass, i);
	return rc;
}

int pass_make(const struct reconcile *reconcile, const struct engine_fabric *fabric, size_t place,
	      struct pass *ret)
{
	struct pass pass = {0};
	int rc = scene_make(reconcile->rows, place, &reconcile->book, clock_monotonic_ms(),
			    &pass.scene);

	if (rc)
		return rc;
	rc = think(reconcile, &pass);
	if (rc == 0 && is_all_drift(fabric, &pass)) {
		for (size_t i = 0; i < pass.plan.count; i++)
			pass.drifted[pass.plan.edits[i].at] = true;
	}
	if (rc) {
		pass_done(&pass);
		return rc;
	}
	*ret = pass;
	return 0;
}

void pass_done(struct pass *pass)
{
	plan_done(&pass->plan);
	wanted_done(&pass->wanted);
	scene_done(&pass->scene);
	free(pass->faults);
	free(pass->drifted);
	*pass = (struct pass){0};
}

/* --- numbers ----------------------------------------------------------- */

static void say_number(struct text *json, const char *op, unsigned vlan, int64_t network,
		       uint32_t rest_s)
{
	json_begin_object(json, NULL);
	json_string(json, "op", op);
	json_int(json, "vlan", vlan);
	if (network)
		json_int(json, "network", network);
	json_int(json, "rest_s", rest_s);
	json_end_object(json);
}

static unsigned assign_numbers(struct engine_fabric *fabric, struct pass *pass, struct text *json)
{
	const struct scene *scene = &pass->scene;
	int64_t now_ms = json_integer_value(json_object_get(scene->rows, "now_ms"));
	struct vlan_set taken = {0};
	struct problem problem = {0};
	unsigned count = 0;

	fabric->short_of = false;
	for (uint32_t n = 0; n < scene->model.network_count; n++) {
		uint16_t vlan;

		if (scene->gone[n] || !(scene->attached[n] || scene->meant[n]) ||
		    scene->model.networks[n].vlan)
			continue;
		if (number_assign(&scene->pool, &taken, now_ms, &vlan, &problem)) {
			fabric->short_of = true;
			break;
		}
		vlan_set_add(&taken, vlan);
		say_number(json, "assign", vlan, scene->model.networks[n].id, 0);
		count++;
	}
	for (uint32_t i = 0; fabric->short_of && i < scene->intent_count; i++) {
		uint32_t p = scene->intents[i].port;

		if (p != MODEL_NONE && pass->wanted.faults[p] == WANTED_NO_VLAN)
			pass->faults[i] = problem;
	}
	return count;
}

/* A number goes back when its network is to go and no switch that we can read shows it; it comes
 * back into use when its rest is over. */
static unsigned return_numbers(const struct pass *pass, struct text *json)
{
	const struct scene *scene = &pass->scene;
	int64_t now_ms = json_integer_value(json_object_get(scene->rows, "now_ms"));
	struct vlan_set rested = number_rested(&scene->pool, now_ms);
	unsigned count = 0;

	for (uint32_t n = 0; n < scene->model.network_count; n++) {
		uint16_t vlan = scene->model.networks[n].vlan;

		if (!scene->gone[n])
			continue;
		if (vlan && !scene->attached[n] && !vlan_set_has(&scene->pool.seen, vlan)) {
			say_number(json, "release", vlan, 0, scene->quarantine_s);
			count++;
		}
	}
	for (unsigned v = vlan_set_next(&rested, VLAN_FIRST); v;
	     v = vlan_set_next(&rested, v + 1)) {
		say_number(json, "rested", v, 0, 0);
		count++;
	}
	return count;
}

static bool has_orphan(const struct scene *scene)
{
	for (uint32_t n = 0; n < scene->model.network_count; n++) {
		if (scene->gone[n] && !scene->attached[n] && scene->model.networks[n].vlan == 0)
			return true;
	}
	return false;
}

static void on_numbers(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	struct engine_fabric *fabric = context;

	/* Two fabrics' numbers, a network deleted meanwhile: the rows are read anew. */
	if (rc == E_CONFLICT || rc == E_INVALID) {
		log_problem(LOG_LEVEL_WARN, "reconcile", problem);
		fabric->retry_ms = clock_monotonic_ms() + 1000;
		fabric_done(fabric, false);
		return;
	}
	if (rc || PQntuples(result) == 0) {
		fabric_lost(fabric, rc == 0);
		return;
	}
	fabric_done(fabric, true);
}

/* True: they are being written, and the pass comes again with them. */
static bool write_numbers(struct engine_fabric *fabric, struct pass *pass)
{
	const struct claim_key key = fabric_key(fabric);
	CLEANUP(text_done) struct text json = {0};
	unsigned count;

	json_begin_array(&json, NULL);
	count = assign_numbers(fabric, pass, &json);
	count += return_numbers(pass, &json);
	json_end_array(&json);
	if (count == 0 && !has_orphan(&pass->scene))
		return false;
	fabric->step = FABRIC_NUMBERS;
	if (json.failed || intent_store_numbers(fabric->reconcile->options.db, &key,
						text_get(&json), on_numbers, fabric))
		fabric_lost(fabric, false);
	return true;
}

/* --- the proof, stage by stage ------------------------------------------ */

static bool was_there(const struct isolation_report *report,
		      const struct isolation_finding *finding)
{
	for (size_t i = 0; i < report->count && i < ISOLATION_FINDINGS; i++) {
		if (isolation_same(&report->findings[i], finding))
			return true;
	}
	return false;
}

/* Nothing that a stage leaves behind may be worse than what is there now. */
static int prove(struct reconcile *reconcile, const struct pass *pass, struct problem *refusal)
{
	const struct fabric_model *model = &pass->scene.model;
	port_state *state = calloc(model->port_count + 1, sizeof(port_state));
	int rc = state ? 0 : -ENOMEM;

	if (state)
		memcpy(state, pass->scene.observed, model->port_count * sizeof(port_state));
	for (int stage = 0; rc == 0 && stage < PLAN_STAGE_COUNT; stage++) {
		struct isolation_report report;

		plan_apply(&pass->plan, (enum plan_stage)stage, state);
		reconcile->stats.proofs++;
		rc = isolation_check(model, state, pass->wanted.ports, pass->scene.applied,
				     &report);
		for (size_t i = 0; rc == 0 && i < report.count && i < ISOLATION_FINDINGS; i++) {
			if (was_there(&pass->now, &report.findings[i]))
				continue;
			isolation_problem(model, &report.findings[i], refusal);
			reconcile->stats.proofs_failed++;
			rc = E_CONFLICT;
		}
	}
	free(state);
	return rc;
}

/* --- the pass ------------------------------------------------------------ */

static void on_batch_end(void *context, const struct batch_end *end)
{
	struct engine_fabric *fabric = context;
	struct reconcile *reconcile = fabric->reconcile;
	struct batch *batch = fabric->batch;

	switch (end->outcome) {
	case BATCH_DONE: reconcile->stats.applied++; break;
	case BATCH_UNDONE: reconcile->stats.undone++; break;
	case BATCH_FAILED: reconcile->stats.failed++; break;
	case BATCH_LOST: break;
	}
	fabric->batch = NULL;
	if (end->outcome == BATCH_LOST)
		fabric_lost(fabric, end->overtaken);
	else
		fabric_tell_batch(fabric, batch, end);
	batch_free(batch);
	if (fabric->step == FABRIC_BATCH)
		fabric_done(fabric, true);
}

static void start_batch(struct engine_fabric *fabric, struct pass *pass)
{
	struct reconcile *reconcile = fabric->reconcile;
	const struct batch_options options = {
		.loop = reconcile->loop,
		.db = reconcile->options.db,
		.access = reconcile->options.access,
		.key = fabric_key(fabric),
		.claim_until_ms = fabric->claim_until_ms,
		.call_ms = reconcile->options.call_ms,
		.read_ms = reconcile->options.read_ms,
		.book = &reconcile->book,
		.stats = &reconcile->stats,
		.reason = is_all_drift(fabric, pass) ? "drift" : "intent",
		.fn = on_batch_end,
		.context = fabric,
	};

	fabric->settled = false;
	reconcile->stats.batches++;
	fabric->step = FABRIC_BATCH;
	if (batch_new(&options, &pass->scene, &pass->wanted, &pass->plan, &fabric->batch))
		fabric_lost(fabric, false);
}

bool fabric_only_tells(const struct engine_fabric *fabric, const struct pass *pass)
{
	if (pass->scene.repair || !is_all_drift(fabric, pass))
		return false;
	for (size_t i = 0; i < pass->plan.count; i++) {
		const struct known_switch *known =
			book_find(&fabric->reconcile->book,
				  pass->scene.model.switches[pass->plan.edits[i].at].id);

		if (known && known->insist)
			return false;
	}
	return true;
}

void fabric_plan(struct engine_fabric *fabric, size_t place)
{
	struct reconcile *reconcile = fabric->reconcile;
	struct pass pass = {0};
	int rc = pass_make(reconcile, fabric, place, &pass);

	if (rc) {
		log_error("reconcile", "no plan could be made: %s", error_text(rc));
		fabric->retry_ms = clock_monotonic_ms() + 5000;
		return;
	}
	fabric->refusal = (struct problem){0};
	if (write_numbers(fabric, &pass)) {
		pass_done(&pass);
		return;
	}
	if (pass.plan.count > 0 && !fabric_only_tells(fabric, &pass))
		rc = prove(reconcile, &pass, &fabric->refusal);
	/* What was found is told beside the batch; the batch itself tells how it ended. */
	fabric_tell(fabric, &pass);
	if (pass.plan.count > 0 && rc == 0 && !fabric_only_tells(fabric, &pass) && fabric->claimed)
		start_batch(fabric, &pass);
	pass_done(&pass);
}
