/* Alerts and events of a pass: drift, isolation, numbers. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/count_text.h"

#include "peregrine/control/reconcile/reconcile_say.h"

LEAKS_LEFT_TO_SANITIZER

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

void say_drifting(struct engine_fabric *fabric, int64_t switch_id)
{
	if (drifting_place(fabric, switch_id) == fabric->drifting_count)
		(void)drifting_add(fabric, switch_id);
}

/* After a start: of a switch that does not answer nobody can say that all is well. */
static bool all_are_known(const struct engine_fabric *fabric, const struct pass *pass)
{
	for (uint32_t s = 0; s < pass->scene.model.switch_count; s++) {
		const struct known_switch *known =
			book_find(&fabric->reconcile->book, pass->scene.model.switches[s].id);

		if (!known || !known->read)
			return false;
	}
	return true;
}

static void drift_hint(const struct scene *scene, int64_t switch_id, char ret[SCENE_STRANGER_TEXT])
{
	(void)text_copy(ret, SCENE_STRANGER_TEXT,
			scene->repair ? "it is being repaired; haasctl switch diff shows it"
				      : "haasctl switch reconcile repairs it");
	for (uint32_t i = 0; i < scene->intent_count; i++) {
		const struct scene_intent *intent = &scene->intents[i];

		if (intent->switch_id != switch_id || intent->stranger == MODEL_NONE)
			continue;
		scene_stranger_text(scene, intent, ret);
		return;
	}
}

static void say_drift_of(struct engine_fabric *fabric, const struct pass *pass, uint32_t at,
			 struct said *said)
{
	const struct fabric_switch *sw = &pass->scene.model.switches[at];
	struct known_switch *known = book_find(&fabric->reconcile->book, sw->id);
	size_t place = drifting_place(fabric, sw->id);
	CLEANUP(text_done) struct text detail = {0};
	char message[96];
	char hint[SCENE_STRANGER_TEXT];
	struct alert_row alert = {.kind = "switch.drift",
				  .severity = "warning",
				  .subject_kind = "switch",
				  .subject = sw->name,
				  .message = message,
				  .detail = &detail};
	char ports[COUNT_TEXT_SIZE];
	unsigned count;

	if (!pass->drifted[at]) {
		if (place == fabric->drifting_count || sw->held || pass->scene.waits[at] ||
		    pass->scene.flux.changing[at])
			return;
		say_clear(&alert, &said->alerts);
		say_event("switch.repaired", "switch", sw->name, "the switch is as applied again",
			  NULL, &said->events);
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
	drift_hint(&pass->scene, sw->id, hint);
	json_put_string(&detail, "hint", hint);
	json_end_object(&detail);
	(void)text_format(message, sizeof(message),
			  "a person or another program changed the switch (different: %s)",
			  count_text(ports, count, "port"));
	say_raise(&alert, &said->alerts);
	say_event("switch.drift", "switch", sw->name, message, &detail, &said->events);
	fabric->reconcile->stats.drifts++;
	said->count++;
}

/* Networks that meet, or would: as long as nothing that is about to be sent puts it right. */
static void say_isolation(struct engine_fabric *fabric, const struct pass *pass, struct said *said)
{
	const struct isolation_report *report = &pass->shown;
	bool stays = report->count > 0 && (pass->plan.count == 0 || fabric->refusal.code ||
					   pass_only_tells(fabric, pass));
	CLEANUP(text_done) struct text detail = {0};
	struct problem problem = fabric->refusal;
	const struct alert_row alert = {.kind = "fabric.isolation",
					.severity = "critical",
					.subject_kind = "fabric",
					.subject = pass->scene.model.name,
					.message = problem.message,
					.detail = &detail};

	if (!stays && !fabric->refusal.code) {
		if (!fabric->faulty || !all_are_known(fabric, pass))
			return;
		fabric->faulty = ALERT_UNTOLD;
		say_clear(&alert, &said->alerts);
		said->count++;
		return;
	}
	if (fabric->faulty)
		return;
	fabric->faulty = ALERT_TOLD;
	if (!problem.code)
		isolation_problem(&pass->scene.model, &report->findings[0], ISOLATION_IS, &problem);
	json_begin_object(&detail, NULL);
	json_begin_array(&detail, "findings");
	for (size_t i = 0; i < report->count && i < ISOLATION_FINDINGS; i++) {
		json_begin_object(&detail, NULL);
		json_put_string(&detail, "fault", isolation_fault_text(report->findings[i].fault));
		json_put_string(&detail, "path", report->findings[i].path);
		json_end_object(&detail);
	}
	json_end_array(&detail);
	json_put_string(&detail, "path", problem.detail);
	json_put_string(&detail, "hint", problem.hint);
	json_end_object(&detail);
	say_raise(&alert, &said->alerts);
	say_event("fabric.isolation", "fabric", pass->scene.model.name, problem.message, &detail,
		  &said->events);
	said->count++;
}

static void say_numbers(struct engine_fabric *fabric, const struct pass *pass, struct said *said)
{
	static const struct vlan_set none;
	struct number_audit audit = number_audit(&pass->scene.pool, &none);
	bool leaks;
	CLEANUP(text_done) struct text leaked = {0};
	CLEANUP(text_done) struct text detail = {0};

	vlan_set_text(&audit.leaked, &leaked);
	json_begin_object(&detail, NULL);
	json_put_string(&detail, "vlans", text_get(&leaked));
	json_put_string(&detail, "hint",
			"ports that are not ours are in them; haasctl switch show");
	json_end_object(&detail);
	leaks = !vlan_set_is_empty(&audit.leaked) && pass->plan.count == 0 && !pass->scene.flux.any;
	if (leaks || all_are_known(fabric, pass))
		say_while(leaks, &fabric->leaking,
			  &(struct alert_row){.kind = "network.vlan_leak",
					      .severity = "warning",
					      .subject_kind = "fabric",
					      .subject = pass->scene.model.name,
					      .message = "switches have VLANs of our range that "
							 "belong to no network",
					      .detail = &detail},
			  said);
	say_while(fabric->short_of, &fabric->short_told,
		  &(struct alert_row){.kind = "network.vlan_short",
				      .severity = "critical",
				      .subject_kind = "fabric",
				      .subject = pass->scene.model.name,
				      .message = "no VLAN is free; networks wait"},
		  said);
}

void say_of_switch(const struct known_switch *known, bool on, alert_told *told,
		   const struct alert_row *about, struct said *said)
{
	struct alert_row alert = *about;

	alert.subject_kind = "switch";
	alert.subject = known->name;
	say_while(on, told, &alert, said);
}

/* What a power cut would take back. */
static void say_unsaved(struct known_switch *known, struct said *said)
{
	CLEANUP(text_done) struct text detail = {0};
	char message[192];

	/* Of an earlier life: it is told of until it was saved. */
	if (known->save_failures == 0 && (!known->save_told || known->unsaved || known->saving))
		return;
	(void)text_format(message, sizeof(message), "its configuration is not saved: %s",
			  known->save_problem.message);
	json_begin_object(&detail, NULL);
	json_put_problem(&detail, "problem", &known->save_problem);
	json_put_string(&detail, "hint",
			"peregrined tries again by itself; until then a reboot undoes changes");
	json_end_object(&detail);
	say_of_switch(known, known->save_failures > 0, &known->save_told,
		      &(struct alert_row){.kind = "switch.unsaved",
					  .severity = "warning",
					  .message = message,
					  .detail = &detail},
		      said);
}

unsigned say_unproven(const struct pass *pass, uint32_t at, const struct known_switch *known,
		      struct text *json, const char *key)
{
	const struct scene *scene = &pass->scene;
	const struct fabric_switch *sw = &scene->model.switches[at];
	unsigned count = 0;

	json_begin_array(json, key);
	for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++) {
		const struct known_port *port = known_port_named(known, scene->model.ports[p].name);

		if (!port || !port->unproven || scene->model.ports[p].role != PORT_EDGE ||
		    scene->model.ports[p].member_count == 0)
			continue;
		json_put_string(json, NULL, port->name);
		count++;
	}
	json_end_array(json);
	return count;
}

/* Ports of tenants that a tag may get through, for all that the switch shows. Not refused: most
 * such switches drop them in hardware; but somebody has to have tried. */
static void say_unproven_of(const struct pass *pass, uint32_t at, struct known_switch *known,
			    struct said *said)
{
	CLEANUP(text_done) struct text detail = {0};
	char ports[COUNT_TEXT_SIZE];
	char message[128];
	unsigned count;

	json_begin_object(&detail, NULL);
	count = say_unproven(pass, at, known, &detail, "ports");
	json_put_string(&detail, "hint",
			"send a frame tagged with another network's VLAN from one of them and see "
			"whether it arrives; docs/switches.md");
	json_end_object(&detail);
	(void)text_format(message, sizeof(message),
			  "it does not show that access ports drop tagged frames (%s)",
			  count_text(ports, count, "port"));
	say_of_switch(known, count > 0, &known->unproven_told,
		      &(struct alert_row){.kind = "switch.tags_unproven",
					  .severity = "warning",
					  .message = message,
					  .detail = &detail},
		      said);
}

#define NO_PARKING_HINT                                                                            \
	"give its fabric a parking VLAN for each port, none that the switch reserves for itself: " \
	"haasctl fabric create NAME --parking LOW-HIGH (docs/switches.md)"

/* Of a switch: what it has to park its ports. */
struct parking {
	unsigned numbers, ports, waiting;
};

static struct parking count_parking(const struct pass *pass, uint32_t at, struct text *names)
{
	const struct fabric_model *model = &pass->scene.model;
	const struct fabric_switch *sw = &model->switches[at];
	struct parking parking = {0};

	for (unsigned v = model->parking; v && model_vlan_is_parking(model, v); v++)
		parking.numbers += !vlan_set_has(&sw->reserved, v);
	for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++) {
		const struct fabric_port *port = &model->ports[p];

		parking.ports += port->role == PORT_EDGE && port->carrier == p;
		if (!pass->plan.stuck[p] && pass->wanted.faults[p] != WANTED_NO_PARKING)
			continue;
		json_put_string(names, NULL, port->name);
		parking.waiting++;
	}
	return parking;
}

static void parking_message(const struct parking *parking, char message[static 128])
{
	char ports[COUNT_TEXT_SIZE];
	char numbers[COUNT_TEXT_SIZE];

	if (parking->waiting == 0)
		(void)text_format(message, 128, "it has %s and %s: not all can be parked at once",
				  count_text(ports, parking->ports, "port"),
				  count_text(numbers, parking->numbers, "parking VLAN"));
	else if (parking->numbers == 0)
		(void)text_format(
			message, 128,
			"the switch reserves all parking VLANs for itself: %s cannot move",
			count_text(ports, parking->waiting, "port"));
	else
		(void)text_format(
			message, 128,
			"all parking VLANs (%u) are used up: %s cannot leave their networks",
			parking->numbers, count_text(ports, parking->waiting, "port"));
}

/* Ports that need a parking VLAN of their own wait where there is none; told before that, too. */
static void say_parking(const struct pass *pass, uint32_t at, struct known_switch *known,
			struct said *said)
{
	CLEANUP(text_done) struct text detail = {0};
	struct parking parking;
	char message[128];

	json_begin_object(&detail, NULL);
	json_begin_array(&detail, "ports");
	parking = count_parking(pass, at, &detail);
	json_end_array(&detail);
	json_put_string(&detail, "hint", NO_PARKING_HINT);
	json_end_object(&detail);
	parking_message(&parking, message);
	say_of_switch(known, parking.waiting > 0 || parking.ports > parking.numbers,
		      &known->stuck_told,
		      &(struct alert_row){.kind = "switch.no_parking",
					  .severity = "warning",
					  .message = message,
					  .detail = &detail},
		      said);
}

/* Nobody's row tells of an uplink that could not be set, and ports of one network do not meet. */
static void say_uplinks_refused(const struct pass *pass, uint32_t at, struct known_switch *known,
				struct said *said)
{
	const struct scene *scene = &pass->scene;
	const struct fabric_switch *sw = &scene->model.switches[at];
	const struct known_port *first = NULL;
	CLEANUP(text_done) struct text detail = {0};
	int64_t now_ms = clock_monotonic_ms();
	char message[320];

	json_begin_object(&detail, NULL);
	json_begin_array(&detail, "ports");
	for (uint32_t p = sw->first_port; p < sw->first_port + sw->port_count; p++) {
		const struct known_port *port = known_port_named(known, scene->model.ports[p].name);

		if (!port || !port->problem || scene->model.ports[p].role != PORT_UPLINK ||
		    (port->retry_ms <= now_ms && scene->observed[p] && pass->wanted.ports[p] &&
		     port_vlans_equal(scene->observed[p], pass->wanted.ports[p])))
			continue;
		json_put_string(&detail, NULL, port->name);
		first = first ? first : port;
	}
	json_end_array(&detail);
	if (first)
		json_put_problem(&detail, "problem", first->problem);
	json_put_string(&detail, "hint",
			"peregrined tries again by itself; docs/switches.md, known limits");
	json_end_object(&detail);
	(void)text_format(message, sizeof(message),
			  "an uplink refuses VLANs, so nodes of their networks cannot reach each "
			  "other over it: %s",
			  first ? first->problem->message : "");
	say_of_switch(known, first != NULL, &known->uplink_told,
		      &(struct alert_row){.kind = "switch.uplink_refused",
					  .severity = "critical",
					  .message = message,
					  .detail = &detail},
		      said);
}

static void say_of_switches(const struct engine_fabric *fabric, const struct pass *pass,
			    struct said *said)
{
	for (uint32_t s = 0; s < pass->scene.model.switch_count; s++) {
		struct known_switch *known =
			book_find(&fabric->reconcile->book, pass->scene.model.switches[s].id);

		if (!known || !known->read)
			continue;
		say_unsaved(known, said);
		say_unproven_of(pass, s, known, said);
		say_parking(pass, s, known, said);
		say_uplinks_refused(pass, s, known, said);
	}
}

void say_alerts(struct engine_fabric *fabric, const struct pass *pass, struct said *said)
{
	const struct alert_row undo_failed = {.kind = UNDO_FAILED,
					      .subject = pass->scene.model.name};

	for (uint32_t s = 0; s < pass->scene.model.switch_count; s++)
		say_drift_of(fabric, pass, s, said);
	say_of_switches(fabric, pass, said);
	say_isolation(fabric, pass, said);
	say_numbers(fabric, pass, said);
	if (pass->plan.count == 0 && !pass->scene.flux.any && all_are_known(fabric, pass))
		say_while(false, &fabric->undo_failed, &undo_failed, said);
}
