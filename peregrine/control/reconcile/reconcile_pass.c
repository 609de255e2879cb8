#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/json_text.h"
#include "common/io/log.h"

#include "peregrine/control/reconcile/reconcile_private.h"

LEAKS_LEFT_TO_SANITIZER

/* --- what a pass depends on --- */

/* All facts but the memberships themselves: the same digest and another state means that somebody
 * else was at work. */
static uint64_t reconcile_pass_digest_of(const struct scene *scene)
{
	const struct fabric_model *model = &scene->model;
	uint64_t digest = HASH_START;

	for (uint32_t s = 0; s < model->switch_count; s++)
		digest = hash_number(digest,
				     (uint64_t)model->switches[s].id * 2 + model->switches[s].held);
	for (uint32_t p = 0; p < model->port_count; p++) {
		const struct fabric_port *port = &model->ports[p];

		digest = hash_number(digest, port->role);
		digest = hash_number(digest, port->peer);
		digest = hash_number(digest, port->blocked);
		digest = hash_number(digest, port->forming);
		digest = hash_number(digest, port->held); /* letting go is nobody's doing */
		if (port->role == PORT_UPLINK)
			digest = hash_number(digest, port->up);
	}
	for (uint32_t i = 0; i < scene->intent_count; i++)
		digest = hash_number(digest, (uint64_t)scene->intents[i].wanted_version);
	for (uint32_t n = 0; n < model->network_count; n++)
		digest = hash_number(digest, model->networks[n].vlan);
	return digest;
}

/* --- drift --- */

static bool is_drifted(const struct scene *scene, const struct scene_intent *intent)
{
	uint32_t carrier;
	port_state now;

	if (intent->port == MODEL_NONE || !intent->applied ||
	    intent->applied_version != intent->wanted_version ||
	    scene->model.ports[intent->port].role != PORT_EDGE)
		return false;
	carrier = scene->model.ports[intent->port].carrier;
	now = scene->observed[carrier];
	return now && !scene->model.ports[carrier].busy &&
	       !scene->waits[scene->model.ports[carrier].at] &&
	       !port_vlans_equal(now, intent->applied);
}

/* What somebody else did stays as it is where the fabric says that it is only to be told of, and
 * nobody asked for its repair. */
static void note_drift(const struct reconcile *reconcile, struct pass *pass, uint32_t port)
{
	struct fabric_model *model = &pass->scene.model;
	uint32_t at = model->ports[port].at;
	const struct known_switch *known = book_find(&reconcile->book, model->switches[at].id);

	pass->drifted[at] = true;
	if (!pass->scene.repair && !(known && known->insist))
		model->ports[model->ports[port].carrier].held = true;
}

static void find_drift(const struct reconcile *reconcile, struct pass *pass)
{
	const struct fabric_model *model = &pass->scene.model;

	for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
		const struct scene_intent *intent = &pass->scene.intents[i];

		if (is_drifted(&pass->scene, intent))
			note_drift(reconcile, pass, intent->port);
	}
	for (uint32_t p = 0; p < model->port_count; p++) {
		if (scene_uplink_drifted(&pass->scene, p))
			note_drift(reconcile, pass, p);
	}
}

/* VLANs of switches have no row that says what was applied: there it is drift when nothing but the
 * switch has changed since all was well. */
bool pass_is_drift(const struct engine_fabric *fabric, const struct pass *pass)
{
	return fabric->settled && fabric->settled_digest == pass->digest && pass->plan.count > 0 &&
	       !pass->scene.flux.any;
}

/* --- what is under way --- */

/* Freed by the caller; what it points to is the batches'. NULL: no memory, or nothing. */
static struct scene_change *changes_under_way(const struct engine_fabric *fabric, size_t *ret_count)
{
	struct scene_change *changes;
	size_t count = 0;

	for (size_t b = 0; b < fabric->batch_count; b++)
		count += batch_count(fabric->batches[b]);
	changes = calloc(count + 1, sizeof(*changes));
	count = 0;
	for (size_t b = 0; changes && b < fabric->batch_count; b++) {
		const struct batch *batch = fabric->batches[b];

		for (size_t i = 0; i < batch_count(batch); i++) {
			struct batch_view view = batch_view(batch, i);

			changes[count++] = (struct scene_change){.switch_id = view.switch_id,
								 .undoes = batch_undoes(batch),
								 .edit = view.edit};
		}
	}
	*ret_count = count;
	return changes;
}

/* --- one pass, thought through --- */

#define MORE_PARKING "its fabric needs a parking VLAN for each port of a switch: docs/switches.md"

static void say_fault(struct pass *pass, uint32_t i, int code, const char *message)
{
	if (pass->faults[i].code == 0)
		(void)problem_set(&pass->faults[i], code, "%s", message);
}

/* It is as wanted, and not told of as applied since the switch would start otherwise, and does not
 * save. Whatever else is wrong with it is said first: this alone would not help then. */
static bool is_unsaved(const struct known_switch *known, const struct pass *pass, uint32_t i)
{
	const struct scene *scene = &pass->scene;
	const struct scene_intent *intent = &scene->intents[i];
	const struct known_port *port;
	uint32_t carrier;

	if (!known || known->save_failures == 0 || !scene_intent_counts(scene, &pass->wanted, i))
		return false;
	carrier = scene->model.ports[intent->port].carrier;
	if (!scene->observed[carrier] || !pass->wanted.ports[carrier] ||
	    !port_vlans_equal(scene->observed[carrier], pass->wanted.ports[carrier]))
		return false;
	port = known_port_named(known, scene->model.ports[carrier].name);
	return port && known_starts_elsewhere(known, port);
}

/* The switch is another one under another name: set there, or nowhere. */
static bool is_of_twin(struct pass *pass, uint32_t i)
{
	const struct scene_intent *intent = &pass->scene.intents[i];
	const char *twin = scene_twin(&pass->scene, intent->switch_id);

	if (!twin)
		return false;
	(void)problem_set(&pass->faults[i], E_CONFLICT,
			  "switch %s reports the chassis id of switch %s: it is not configured",
			  intent->switch_name, twin);
	problem_hint(&pass->faults[i],
		     "if both are one switch, delete one entry: haasctl switch delete");
	return true;
}

/* Nobody told it apart, or we have no way in to set it: nothing is sent. */
static bool is_lacking(struct pass *pass, uint32_t i)
{
	const struct scene_intent *intent = &pass->scene.intents[i];
	const struct problem *lacks = scene_lacks(&pass->scene, intent->switch_id);

	if (lacks)
		pass->faults[i] = *lacks;
	return lacks != NULL;
}

/* Why an intent is not met, where that is known before anything is sent. */
static void find_fault(const struct reconcile *reconcile, struct pass *pass, uint32_t i)
{
	const struct scene *scene = &pass->scene;
	const struct scene_intent *intent = &scene->intents[i];
	const struct known_switch *known = book_find(&reconcile->book, intent->switch_id);
	const struct known_port *port =
		known && known->read ? known_port_named(known, intent->port_name) : NULL;

	if (is_of_twin(pass, i) || is_lacking(pass, i))
		return;
	if (known && known->failures > 0) {
		(void)problem_set(&pass->faults[i], known->problem.code,
				  "switch %s cannot be configured: %s", intent->switch_name,
				  known->problem.message);
		problem_detail(&pass->faults[i], "%s", known->problem.detail);
		problem_hint(&pass->faults[i],
			     "peregrined tries again by itself; haasctl switch show says more");
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
	} else if (intent->port != MODEL_NONE &&
		   pass->plan.stuck[scene->model.ports[intent->port].carrier]) {
		(void)problem_set(
			&pass->faults[i], E_CONFLICT,
			"the port has to pass a parking VLAN, and switch %s has no free one",
			intent->switch_name);
		problem_hint(&pass->faults[i], MORE_PARKING);
	} else if (intent->stranger != MODEL_NONE) {
		char text[SCENE_STRANGER_TEXT];

		scene_stranger_text(scene, intent, text);
		(void)problem_set(&pass->faults[i], E_CONFLICT, "%s", text);
		problem_hint(&pass->faults[i],
			     "take the port out of the aggregate there: docs/switches.md");
	} else if (intent->bond_fault) {
		say_fault(pass, i, E_CONFLICT, intent->bond_fault);
	} else if (intent->port != MODEL_NONE && pass->wanted.faults[intent->port] != WANTED_OK &&
		   pass->wanted.faults[intent->port] != WANTED_FORMING) {
		say_fault(pass, i, E_CONFLICT,
			  wanted_fault_text(pass->wanted.faults[intent->port]));
		if (pass->wanted.faults[intent->port] == WANTED_NO_PARKING)
			problem_hint(&pass->faults[i], MORE_PARKING);
	} else if (pass->faults[i].code == 0 && is_unsaved(known, pass, i)) {
		(void)problem_set(&pass->faults[i], known->save_problem.code,
				  "switch %s does not save its configuration: %s",
				  intent->switch_name, known->save_problem.message);
		problem_hint(
			&pass->faults[i],
			"a reboot would put the port back into the network that it has left; peregrined tries to save again by itself");
	}
}

/* A network that already is where it should not be gets no further port until that is put right. */
static bool hold_tainted(struct pass *pass, const struct isolation_report *report)
{
	struct fabric_model *model = &pass->scene.model;
	bool any = false;

	for (uint32_t i = 0; i < pass->scene.intent_count; i++) {
		uint32_t p = pass->scene.intents[i].port;
		struct isolation_finding finding;
		struct vlan_set more;
		struct vlan_set has = {0};

		if (p == MODEL_NONE || !pass->wanted.ports[p] || model->ports[p].held)
			continue;
		more = port_vlans_all(pass->wanted.ports[p]);
		if (pass->scene.observed[p])
			has = port_vlans_all(pass->scene.observed[p]);
		more = vlan_set_minus(&more, &has);
		more = vlan_set_intersection(&more, &report->named);
		if (vlan_set_is_empty(&more) || !isolation_with(model, report, &more, &finding))
			continue;
		isolation_problem(model, &finding, ISOLATION_WOULD_BE, &pass->faults[i]);
		model->ports[p].held = true;
		model->ports[model->ports[p].carrier].held = true;
		any = true;
	}
	return any;
}

static int reconcile_pass_compute(struct pass *pass)
{
	struct wanted wanted;
	int rc = wanted_compute(&pass->scene.model, pass->scene.observed, &wanted);

	if (rc)
		return rc;
	wanted_done(&pass->wanted);
	pass->wanted = wanted;
	return 0;
}

static int check_now(struct pass *pass)
{
	const struct fabric_model *model = &pass->scene.model;
	CLEANUP(freep) port_state *state = NULL;
	int rc = isolation_check(model, pass->scene.observed, pass->wanted.ports,
				 pass->scene.applied, &pass->shown);

	if (rc || !pass->scene.flux.any)
		return rc;
	state = flux_state(&pass->scene.flux, model, pass->scene.observed);
	return state ? isolation_check(model, state, pass->wanted.ports, pass->scene.applied,
				       &pass->fluxed)
		     : -ENOMEM;
}

static int reconcile_pass_think(const struct reconcile *reconcile, struct pass *pass)
{
	const struct fabric_model *model = &pass->scene.model;
	CLEANUP(isolation_report_done) struct isolation_report last = {0};
	int rc;

	pass->faults = calloc(pass->scene.intent_count + 1, sizeof(*pass->faults));
	pass->drifted = calloc(model->switch_count + 1, sizeof(*pass->drifted));
	if (!pass->faults || !pass->drifted)
		return -ENOMEM;
	pass->digest = reconcile_pass_digest_of(&pass->scene);
	find_drift(reconcile, pass);
	rc = reconcile_pass_compute(pass);
	if (rc == 0)
		rc = check_now(pass);
	if (rc == 0)
		rc = isolation_check(model, pass->wanted.ports, pass->wanted.ports, NULL, &last);
	if (rc == 0 && last.count > 0 && hold_tainted(pass, &last))
		rc = reconcile_pass_compute(pass);
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
	struct scene_source source = {.rows = reconcile->rows,
				      .fabric = place,
				      .book = &reconcile->book,
				      .access = &reconcile->options.access,
				      .now_ms = clock_monotonic_ms()};
	CLEANUP(freep)
	struct scene_change *changes = changes_under_way(fabric, &source.change_count);
	struct pass pass = {0};
	int rc = changes ? 0 : -ENOMEM;

	source.changes = changes;
	if (rc == 0)
		rc = scene_make(&source, &pass.scene);
	if (rc)
		return rc;
	rc = reconcile_pass_think(reconcile, &pass);
	if (rc == 0 && pass_is_drift(fabric, &pass)) {
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

const struct isolation_report *pass_now(const struct pass *pass)
{
	return pass->scene.flux.any ? &pass->fluxed : &pass->shown;
}

void pass_done(struct pass *pass)
{
	plan_done(&pass->plan);
	wanted_done(&pass->wanted);
	scene_done(&pass->scene);
	isolation_report_done(&pass->shown);
	isolation_report_done(&pass->fluxed);
	free(pass->faults);
	free(pass->drifted);
	*pass = (struct pass){0};
}

bool pass_only_tells(const struct engine_fabric *fabric, const struct pass *pass)
{
	if (pass->scene.repair || !pass_is_drift(fabric, pass))
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
