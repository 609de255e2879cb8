#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/control/reconcile/batch_private.h"

LEAKS_LEFT_TO_SANITIZER

static void batch_call_free(struct batch_call *call)
{
	free(call->change);
	free(call->edits);
	free(call->results);
	free(call->ports);
	free(call);
}

static struct batch_call *batch_call_new(struct batch *batch, uint32_t party)
{
	struct batch_call *call = calloc(1, sizeof(*call));
	size_t room = 1;

	if (!call)
		return NULL;
	for (size_t i = 0; i < batch->plan.count; i++)
		room += batch->plan.edits[i].at == party ? 2 : 0; /* parking may need a VLAN each */
	call->batch = batch;
	call->party = party;
	call->change = calloc(room, sizeof(*call->change));
	call->edits = calloc(room, sizeof(*call->edits));
	call->results = calloc(room, sizeof(*call->results));
	call->ports = calloc(room, sizeof(*call->ports));
	if (call->change && call->edits && call->results && call->ports)
		return call;
	batch_call_free(call);
	return NULL;
}

static struct known_switch *known_of(const struct batch *batch, uint32_t party)
{
	return book_find(batch->options.book, batch->parties[party].id);
}

static void call_ended(struct batch *batch)
{
	if (--batch->pending == 0)
		batch_turn(batch);
}

/* Was never started: as if the switch had not answered, a moment later. */
static void not_started(struct batch *batch, uint32_t party, int rc)
{
	struct problem problem = {0};

	(void)problem_set(&problem, rc, "the switch could not be asked: %s", error_text(rc));
	batch->parties[party].away = true;
	batch_say(batch, party, &problem);
	batch->pending++;
	batch->unstarted++;
	loop_timer_arm(batch->turn, 0);
}

/* Our claim ran out before all of it was sent. That is as when PostgreSQL says so, and no fault of
 * the switch: whoever is next reads first. */
static bool batch_call_lapsed(struct batch *batch, int rc)
{
	batch->lost |= rc == E_LAPSED;
	return rc == E_LAPSED;
}

/* --- changes --- */

static const enum change_state state_of[] = {
	[EDIT_NOT_TRIED] = CHANGE_PLANNED,
	[EDIT_TAKEN] = CHANGE_TAKEN,
	[EDIT_REFUSED] = CHANGE_REFUSED,
	[EDIT_UNKNOWN] = CHANGE_UNKNOWN,
};

/* A port that was refused is to blame itself; anything else is the switch's. */
static void blame_edit(struct batch *batch, uint32_t party, size_t i, const struct problem *problem)
{
	const struct plan_edit *edit = &batch->plan.edits[i];
	struct known_switch *known = known_of(batch, party);
	struct known_port *port =
		known && edit->port != MODEL_NONE ? known_port_named(known, edit->edit.port) : NULL;
	int64_t now_ms = clock_monotonic_ms();

	if (!port) {
		if (known)
			known_failed(known, problem, now_ms);
		return;
	}
	known_port_failed(port, batch->changes[i].want_version, problem, now_ms);
}

static void batch_call_blame(struct batch *batch, const struct batch_call *call,
			     const struct problem *problem, int64_t now_ms)
{
	struct known_switch *known = known_of(batch, call->party);

	for (size_t i = 0; i < call->count; i++) {
		if (call->results[i] != EDIT_REFUSED)
			continue;
		blame_edit(batch, call->party, call->change[i], problem);
		return;
	}
	if (known)
		known_failed(known, problem, now_ms);
}

static void on_changed(void *context, int rc, struct switch_reading *reading,
		       const struct problem *problem)
{
	struct batch_call *call = context;
	struct batch *batch = call->batch;
	struct party *party = &batch->parties[call->party];
	struct problem half = {0};
	bool whole = rc == 0;

	(void)reading;
	for (size_t i = 0; i < call->count; i++) {
		struct change *change = &batch->changes[call->change[i]];

		whole &= call->results[i] == EDIT_TAKEN;
		if (call->results[i] != EDIT_NOT_TRIED || rc == 0)
			change->state = state_of[call->results[i]];
		/* Not tried, says one that answers; from one that does not, nobody knows. */
		else if (rc == E_TIMEOUT || rc == E_PROTOCOL)
			change->state = CHANGE_UNKNOWN;
		else
			change->state = CHANGE_PLANNED;
		party->unsure |= change->state == CHANGE_UNKNOWN;
	}
	if (!batch_call_lapsed(batch, rc) && !whole) {
		if (!problem) {
			(void)problem_set(&half, E_PROTOCOL,
					  "the switch did only a part of the edit");
			problem = &half;
		}
		batch_call_blame(batch, call, problem, clock_monotonic_ms());
		batch_say(batch, call->party, problem);
	}
	batch_call_free(call);
	call_ended(batch);
}

static void on_undone(void *context, int rc, struct switch_reading *reading,
		      const struct problem *problem)
{
	struct batch_call *call = context;
	struct batch *batch = call->batch;
	struct party *party = &batch->parties[call->party];

	(void)reading;
	(void)problem;
	for (size_t i = 0; !batch_call_lapsed(batch, rc) && i < call->count; i++) {
		struct change *change = &batch->changes[call->change[i]];

		if (rc == 0 && call->results[i] == EDIT_TAKEN) {
			change->state = CHANGE_UNDONE;
			batch->options.stats->edits_undone++;
		} else {
			change->state = CHANGE_UNKNOWN;
			party->not_undone = true;
		}
	}
	if (rc == E_TIMEOUT || rc == E_UNAVAILABLE)
		party->away = true;
	batch_call_free(call);
	call_ended(batch);
}

static void start_change(struct batch *batch, struct batch_call *call, switch_call_fn fn)
{
	const struct switch_request request = {.op = SWITCH_CHANGE,
					       .fence = batch->options.fence,
					       .edits = call->edits,
					       .edit_count = call->count,
					       .results = call->results};
	uint32_t party = call->party;
	struct known_switch *known = known_of(batch, party);
	int rc;

	for (size_t i = 0; known && i < call->count; i++)
		known_sends(known, &call->edits[i], clock_monotonic_ms());
	batch->options.stats->calls++;
	batch->options.stats->edits_sent += call->count;
	rc = batch->options.access.call(batch->options.access.context, batch->parties[party].id,
					&request, clock_monotonic_ms() + batch->options.call_ms, fn,
					call);
	if (rc) {
		batch_call_free(call);
		not_started(batch, party, rc);
		return;
	}
	batch->pending++;
}

void batch_send(struct batch *batch, uint32_t party, change_chosen_fn chosen, bool undo)
{
	struct batch_call *call = batch_call_new(batch, party);
	size_t count = batch->plan.count;

	if (!call) {
		not_started(batch, party, -ENOMEM);
		return;
	}
	for (size_t k = 0; k < count; k++) {
		size_t i = undo ? count - 1 - k : k;
		const struct plan_edit *edit = &batch->plan.edits[i];

		if (edit->at != party || !chosen(batch, i))
			continue;
		call->edits[call->count] = batch_edit_now(batch, i, undo);
		call->change[call->count++] = i;
		if (undo)
			batch->changes[i].taken_back = true;
		else
			batch->changes[i].state = CHANGE_SENT;
	}
	if (call->count == 0) {
		batch_call_free(call);
		return;
	}
	start_change(batch, call, undo ? on_undone : on_changed);
}

static void on_parked(void *context, int rc, struct switch_reading *reading,
		      const struct problem *problem)
{
	struct batch_call *call = context;
	struct batch *batch = call->batch;

	(void)reading;
	(void)problem;
	(void)batch_call_lapsed(batch, rc);
	for (size_t i = 0; rc == 0 && i < call->count; i++) {
		if (call->results[i] == EDIT_TAKEN && call->edits[i].kind == EDIT_PORT)
			text_addf(&batch->parked, "%s%s:%s", batch->parked.size ? ", " : "",
				  batch->parties[call->party].name, call->edits[i].port);
	}
	batch_call_free(call);
	call_ended(batch);
}

static void park_edit(struct batch_call *call, size_t i)
{
	const struct switch_edit *edit = &call->batch->plan.edits[i].edit;
	const struct change *change = &call->batch->changes[i];
	struct switch_edit *park;

	if (change->refuge_new) {
		call->edits[call->count] =
			(struct switch_edit){.kind = EDIT_VLAN_CREATE, .vlan = change->refuge};
		(void)text_copy(call->edits[call->count].vlan_name,
				sizeof(call->edits[call->count].vlan_name), "haas-parking");
		call->change[call->count++] = i;
	}
	park = &call->edits[call->count];
	*park = *edit;
	park->before = edit->after;
	park->after = (struct port_vlans){.native = change->refuge};
	call->change[call->count++] = i;
}

/* Its edge ports that could not be set back: better nowhere than somewhere. First those for which
 * the switch has all that it takes. */
void batch_park(struct batch *batch, uint32_t party)
{
	struct batch_call *call = batch_call_new(batch, party);

	for (int made = 0; call && made < 2; made++) {
		for (size_t i = 0; i < batch->plan.count; i++) {
			if (batch->plan.edits[i].at == party && batch->changes[i].edge &&
			    batch->changes[i].state == CHANGE_UNKNOWN &&
			    batch->changes[i].refuge_new == (made > 0))
				park_edit(call, i);
		}
	}
	if (call && call->count > 0)
		start_change(batch, call, on_parked);
	else if (call)
		batch_call_free(call);
}

/* --- readings --- */

enum { AGAINS = 5 };

static void arm_again(struct batch *batch)
{
	int64_t first_ms = 0;
	int64_t now_ms = clock_monotonic_ms();

	for (uint32_t p = 0; p < batch->party_count; p++) {
		const struct party *party = &batch->parties[p];

		if (party->again && (first_ms == 0 || party->again_at_ms < first_ms))
			first_ms = party->again_at_ms;
	}
	if (first_ms)
		loop_timer_arm(batch->again, first_ms > now_ms ? first_ms - now_ms : 0);
}

static bool batch_call_shows(const struct switch_reading *reading, const struct switch_edit *edit,
			     const struct port_vlans *vlans)
{
	const struct switch_port *port;
	struct port_vlans plain;

	if (edit->kind == EDIT_PORT) {
		port = switch_reading_port_named(reading, edit->port);
		if (!port || !port->has_vlans)
			return false;
		plain = port_vlans_plain(&port->vlans);
		return port_vlans_equal(&plain, vlans);
	}
	for (size_t i = 0; i < reading->vlan_count; i++) {
		if (reading->vlans[i].id == edit->vlan)
			return edit->kind == EDIT_VLAN_CREATE;
	}
	return edit->kind == EDIT_VLAN_DELETE;
}

static bool shows_done(const struct batch *batch, size_t i, const struct switch_reading *reading)
{
	const struct switch_edit *edit = &batch->plan.edits[i].edit;

	return !batch->changes[i].last ||
	       (batch_shares(batch, i) ? batch_shows_done(batch, i, reading)
				       : batch_call_shows(reading, edit, &edit->after));
}

/* Undone is what shows what was there before. */
static bool shows_undone(const struct batch *batch, size_t i, const struct switch_reading *reading)
{
	const struct plan_edit *edit = &batch->plan.edits[i];

	if (edit->port == MODEL_NONE || !batch->changes[i].first ||
	    batch->changes[i].state != CHANGE_UNDONE)
		return true;
	return batch_shares(batch, i) ? batch_shows_none(batch, i, reading)
				      : batch_call_shows(reading, &edit->edit, &edit->edit.before);
}

static void praise_edit(const struct batch *batch, uint32_t party, const struct plan_edit *edit)
{
	struct known_switch *known = known_of(batch, party);
	struct known_port *port =
		known && edit->port != MODEL_NONE ? known_port_named(known, edit->edit.port) : NULL;

	if (port)
		known_port_well(port);
}

/* Back after the last stage: every edit has to show. */
static void batch_call_compare(struct batch *batch, uint32_t party,
			       const struct switch_reading *reading)
{
	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct plan_edit *edit = &batch->plan.edits[i];
		struct problem problem = {0};

		if (edit->at != party)
			continue;
		if (shows_done(batch, i, reading)) {
			batch->changes[i].state = CHANGE_APPLIED;
			praise_edit(batch, party, edit);
			continue;
		}
		(void)problem_set(&problem, E_PROTOCOL,
				  "the switch accepted a change and does not show it");
		problem_detail(&problem, "%s %s",
			       edit->edit.kind == EDIT_PORT ? "port" : "VLAN table",
			       edit->edit.kind == EDIT_PORT ? edit->edit.port : "");
		problem_hint(&problem, "haasctl switch diff shows its present state");
		blame_edit(batch, party, i, &problem);
		batch_say(batch, party, &problem);
	}
}

/* Of a switch that gave no answer: what of it has been done? Half done is done: undoing states the
 * whole membership. */
static void find_out(struct batch *batch, uint32_t party, const struct switch_reading *reading,
		     struct known_switch *known)
{
	for (size_t i = 0; i < batch->plan.count; i++) {
		const struct plan_edit *edit = &batch->plan.edits[i];
		struct change *change = &batch->changes[i];

		if (edit->at != party || change->state != CHANGE_UNKNOWN)
			continue;
		if (batch_shares(batch, i))
			change->state =
				batch_shows_none(batch, i, reading) ? CHANGE_PLANNED : CHANGE_TAKEN;
		else if (edit->edit.kind == EDIT_PORT)
			change->state = batch_call_shows(reading, &edit->edit, &edit->edit.before)
						? CHANGE_PLANNED
						: CHANGE_TAKEN;
		else
			change->state = batch_call_shows(reading, &edit->edit, NULL)
						? CHANGE_TAKEN
						: CHANGE_PLANNED;
	}
	batch->parties[party].unsure = false;
	if (known) /* this reading may have been too early */
		known->stale = true;
}

static void compare_undone(struct batch *batch, uint32_t party,
			   const struct switch_reading *reading)
{
	for (size_t i = 0; i < batch->plan.count; i++) {
		if (batch->plan.edits[i].at == party && !shows_undone(batch, i, reading))
			batch->changes[i].state = CHANGE_UNKNOWN;
	}
}

/* Some show for a while what was there before, most of all when they are read another way than
 * written: an SNMP agent that asks its switch every few seconds. Only what stays so counts. */
static bool read_again(struct batch *batch, uint32_t party, const struct switch_reading *reading)
{
	struct party *p = &batch->parties[party];
	bool as_meant = true;

	if (batch->lost || p->agains >= AGAINS ||
	    (batch->step != STEP_READING && batch->step != STEP_CHECKING))
		return false;
	for (size_t i = 0; i < batch->plan.count && as_meant; i++)
		as_meant = batch->plan.edits[i].at != party ||
			   (batch->step == STEP_READING ? shows_done(batch, i, reading)
							: shows_undone(batch, i, reading));
	if (as_meant)
		return false;
	p->again = true;
	p->again_at_ms = clock_monotonic_ms() + ((int64_t)batch->options.again_ms << p->agains++);
	arm_again(batch);
	return true;
}

static void batch_call_on_read(void *context, int rc, struct switch_reading *reading,
			       const struct problem *problem)
{
	struct batch_call *call = context;
	struct batch *batch = call->batch;
	struct party *party = &batch->parties[call->party];
	struct known_switch *known = known_of(batch, call->party);

	if (rc == 0 && read_again(batch, call->party, reading)) {
		switch_reading_done(reading);
		batch_call_free(call);
		return; /* still pending */
	}
	if (rc == 0 && known && known_merge(known, reading, clock_monotonic_ms()))
		known->stale = true;
	if (rc == 0 && batch->step == STEP_READING)
		batch_call_compare(batch, call->party, reading);
	else if (rc == 0 && batch->step == STEP_LOOKING)
		find_out(batch, call->party, reading, known);
	else if (rc == 0)
		compare_undone(batch, call->party, reading);
	if (rc) {
		party->away = true;
		if (known)
			known_failed(known, problem, clock_monotonic_ms());
		if (batch->step == STEP_READING)
			batch_say(batch, call->party, problem);
	}
	if (reading)
		switch_reading_done(reading);
	batch_call_free(call);
	call_ended(batch);
}

void batch_read(struct batch *batch, uint32_t party)
{
	struct batch_call *call = batch_call_new(batch, party);
	struct switch_request request = {.op = SWITCH_READ, .parts = PART_PORTS | PART_VLANS};
	size_t count = 0;
	int rc;

	if (!call) {
		not_started(batch, party, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < batch->plan.count; i++) {
		if (batch->plan.edits[i].at == party && batch->plan.edits[i].port != MODEL_NONE &&
		    batch->changes[i].last)
			call->ports[count++] = batch->plan.edits[i].edit.port;
	}
	request.only_ports = call->ports;
	batch->options.stats->readings++;
	rc = batch->options.access.call(batch->options.access.context, batch->parties[party].id,
					&request, clock_monotonic_ms() + batch->options.read_ms,
					batch_call_on_read, call);
	if (rc) {
		batch_call_free(call);
		not_started(batch, party, rc);
		return;
	}
	batch->pending++;
}

void batch_read_again(void *context)
{
	struct batch *batch = context;
	int64_t now_ms = clock_monotonic_ms();

	for (uint32_t p = 0; p < batch->party_count; p++) {
		struct party *party = &batch->parties[p];

		if (!party->again || (party->again_at_ms > now_ms && !batch->lost))
			continue;
		party->again = false;
		batch->pending--;
		if (!batch->lost)
			batch_read(batch, p);
	}
	arm_again(batch);
	if (batch->pending == 0)
		batch_turn(batch);
}
