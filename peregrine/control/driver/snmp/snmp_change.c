/* SWITCH_CHANGE and SWITCH_SAVE: read what is there, SET what shall be, run by run. An edit is
 * taken when the switch said yes to all of its SETs, or when reading back after a lost or a bad
 * answer shows that it is as wanted; refused when reading back shows the state of before; unknown
 * otherwise. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/control/driver/snmp/snmp_plan.h"
#include "peregrine/control/driver/snmp/snmp_reading.h"
#include "peregrine/control/driver/snmp/snmp_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { LOST_LIMIT = 2 }; /* SETs of one run that went without an answer before it is unknown */

struct snmp_change {
	struct snmp_switch *one;
	size_t next;  /* the first edit that has no result yet */
	size_t limit; /* edits that a run may have: 1 after a refusal */
	struct snmp_plan plan;
	size_t sent, chunk; /* bindings of the plan: answered; under way */
	unsigned lost;
	bool stale;   /* VLANs came or went since the facts were read */
	bool judging; /* the facts are read again to see how the run ended */
	int rc;       /* of the SET that brought that about */
	char why[64];
	struct port_vlans *before; /* of each port edit, as first read; owned */
};

static void go_on(struct snmp_change *change);
static int read_facts(struct snmp_change *change);

void snmp_change_cancel(struct snmp_change *change)
{
	if (!change)
		return;
	snmp_peer_forget(change->one->peer, change);
	/* A SET may have been sent. */
	for (size_t i = change->next;
	     change->one->request->results && i < change->next + change->plan.edits; i++)
		change->one->request->results[i] = EDIT_UNKNOWN;
	snmp_plan_done(&change->plan);
	free(change->before);
	free(change);
}

/* Ends the call: rc 0, or the reason why `next` and what follows were not taken. */
static void end(struct snmp_change *change, int rc, const struct problem *problem)
{
	struct snmp_switch *one = change->one;

	change->plan.edits = 0; /* every result is written */
	snmp_switch_end(one, rc, NULL, problem);
}

static void end_with(struct snmp_change *change, int rc, const char *why)
{
	struct problem problem;

	snmp_switch_problem(change->one, rc, "a change", why, &problem);
	end(change, rc, &problem);
}

static const struct fact_interface *port_of(const struct snmp_facts *facts, const char *name)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_INTERFACES); i++) {
		const struct fact_interface *row = fact_at(facts, FACT_INTERFACES, i);

		if (strcmp(fact_port_name(row), name) == 0)
			return row;
	}
	return NULL;
}

static void remember(struct snmp_change *change)
{
	const struct switch_request *request = change->one->request;

	for (size_t i = 0; i < request->edit_count; i++) {
		const struct fact_interface *interface =
			port_of(&change->one->facts, request->edits[i].port);

		if (request->edits[i].kind == EDIT_PORT && interface)
			(void)fact_port_vlans(&change->one->facts, interface, &change->before[i]);
	}
}

/* --- how a run ended ------------------------------------------------------------ */

static void mark_taken(struct snmp_change *change)
{
	change->stale |= change->plan.count > 0 &&
			 change->one->request->edits[change->next].kind != EDIT_PORT;
	for (size_t i = 0; i < change->plan.edits; i++)
		change->one->request->results[change->next++] = EDIT_TAKEN;
	change->plan.edits = 0;
	change->lost = 0;
}

static bool is_as_before(struct snmp_change *change, size_t number)
{
	const struct switch_edit *edit = &change->one->request->edits[number];
	const struct fact_interface *interface;
	struct port_vlans now = {0};

	if (edit->kind != EDIT_PORT)
		return !snmp_plan_is_done(&change->one->facts, edit);
	interface = port_of(&change->one->facts, edit->port);
	return interface && fact_port_vlans(&change->one->facts, interface, &now) &&
	       port_vlans_equal(&now, &change->before[number]);
}

/* The facts are new: what came of the run? */
static void judge(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	const struct switch_edit *edits = one->request->edits;
	size_t done = 0;
	size_t same = 0;
	size_t count = change->plan.edits;

	change->judging = false;
	for (size_t i = change->next; i < change->next + count; i++) {
		done += snmp_plan_is_done(&one->facts, &edits[i]);
		same += is_as_before(change, i);
	}
	if (done == count) {
		mark_taken(change);
		go_on(change);
		return;
	}
	/* It never arrived, or some of its SETs did: edits say what shall be, so what is left of
	 * them is planned anew on what is there. */
	if (change->rc == E_TIMEOUT && change->lost < LOST_LIMIT) {
		go_on(change);
		return;
	}
	if (same == count && edits[change->next].kind == EDIT_VLAN_CREATE &&
	    change->rc != E_TIMEOUT && change->rc != E_DENIED && !one->create_and_wait) {
		one->create_and_wait = one->facts.create_and_wait = true;
		go_on(change);
		return;
	}
	if (count > 1 && change->rc != E_TIMEOUT) {
		change->limit = 1; /* one by one: which of them is it? */
		go_on(change);
		return;
	}
	for (size_t i = change->next; i < change->next + count; i++)
		one->request->results[i] = snmp_plan_is_done(&one->facts, &edits[i]) ? EDIT_TAKEN
					   : is_as_before(change, i) && change->rc != E_TIMEOUT
						   ? EDIT_REFUSED
						   : EDIT_UNKNOWN;
	end_with(change, change->rc, change->why);
}

static void read_back(struct snmp_change *change, int rc, const char *why)
{
	change->rc = rc;
	text_copy(change->why, sizeof(change->why), why);
	change->judging = true;
	if (read_facts(change))
		end_with(change, -ENOMEM, "");
}

/* Does the agent object to a binding of frame types and filters alone? */
static bool is_about_frames(const struct snmp_change *change, const struct snmp_answer *answer)
{
	size_t at = change->sent + answer->index - 1;

	return answer->index > 0 && at >= change->plan.frames && at < change->plan.count;
}

static void send_chunk(struct snmp_change *change);

static void send_rest(struct snmp_change *change)
{
	if (change->sent < change->plan.count) {
		send_chunk(change);
		return;
	}
	mark_taken(change);
	go_on(change);
}

static void on_set(void *context, struct snmp_answer *answer)
{
	struct snmp_change *change = context;

	if (answer->rc) {
		change->lost++;
		read_back(change, answer->rc, "");
		return;
	}
	if (answer->status && is_about_frames(change, answer)) {
		/* Reading shows what the hardware does all the same. The SET did nothing. */
		change->one->fixed_frame_types = change->one->facts.fixed_frame_types = true;
		change->plan.count = change->plan.frames;
		send_rest(change);
		return;
	}
	if (answer->status) {
		read_back(change, snmp_status_code(answer->status),
			  snmp_status_text(answer->status));
		return;
	}
	change->sent += change->chunk;
	send_rest(change);
}

static void send_chunk(struct snmp_change *change)
{
	struct snmp_ask ask = {.kind = SNMP_SET, .once = true};

	change->chunk = snmp_plan_chunk(&change->plan, change->sent);
	ask.bindings = change->plan.bindings + change->sent;
	ask.count = change->chunk;
	/* Hardware is programmed before the answer comes. */
	ask.timeout_ms = 3 * (change->one->endpoint.timeout_ms ? change->one->endpoint.timeout_ms
							       : change->one->family->timeout_ms);
	if (snmp_peer_ask(change->one->peer, &ask, on_set, change))
		end_with(change, E_LIMIT, "a value that cannot be sent");
}

/* Plans runs until one has something to send. */
static void go_on(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	const struct switch_request *request = one->request;
	struct problem problem = {0};

	while (change->next < request->edit_count) {
		int rc;

		/* A port is put into the lists of new VLANs, whose length is the agent's. */
		if (change->stale && request->edits[change->next].kind == EDIT_PORT) {
			if (read_facts(change))
				end_with(change, -ENOMEM, "");
			return;
		}
		rc = snmp_plan_edits(&one->facts, request->edits + change->next,
				     request->edit_count - change->next, change->limit,
				     &change->plan, &problem);
		if (rc) {
			if (!problem_is_set(&problem))
				problem_set(&problem, rc, "an edit that makes no sense");
			request->results[change->next] = EDIT_REFUSED;
			end(change, rc, &problem);
			return;
		}
		change->sent = 0;
		if (change->plan.count > 0) {
			send_chunk(change);
			return;
		}
		mark_taken(change);
	}
	end(change, 0, NULL);
}

/* --- reading ----------------------------------------------------------------------- */

static bool has_ports(const struct switch_request *request)
{
	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->edits[i].kind == EDIT_PORT)
			return true;
	}
	return false;
}

static void on_read(void *context, int rc, uint32_t refused, const char *why)
{
	struct snmp_change *change = context;
	struct snmp_switch *one = change->one;

	one->reader = NULL;
	if (!rc && refused)
		rc = E_PROTOCOL;
	if (!rc && !snmp_switch_placed(one)) {
		rc = read_facts(change);
		if (!rc)
			return;
	}
	/* As when its subagent is away: that says nothing of what was done. */
	if (!rc && (!fact_count(&one->facts, FACT_VLANS) ||
		    (has_ports(one->request) && !fact_count(&one->facts, FACT_BRIDGE_PORTS)))) {
		rc = E_UNAVAILABLE;
		why = "it shows no VLANs and ports of a bridge (Q-BRIDGE-MIB) now";
	}
	if (rc) {
		for (size_t i = 0; change->judging && i < change->plan.edits; i++)
			one->request->results[change->next + i] = EDIT_UNKNOWN;
		end_with(change, rc, why);
		return;
	}
	if (change->judging) {
		judge(change);
		return;
	}
	remember(change);
	go_on(change);
}

static int read_facts(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	const struct snmp_port_mode *mode = &one->dialect->mode;
	struct snmp_reader_plan plan = {
		.peer = one->peer,
		.facts = &one->facts,
		.scalars = mode->model_at != 0,
		.groups = GROUP_BIT(GROUP_VLANS),
		.done = on_read,
		.context = change,
	};

	if (has_ports(one->request)) {
		plan.groups |= GROUP_BIT(GROUP_NAMES) | GROUP_BIT(GROUP_BRIDGE);
		if (mode->mode.count)
			plan.groups |= GROUP_BIT(GROUP_MODE);
	}
	if (mode->trunk_egress.count)
		plan.groups |= GROUP_BIT(GROUP_MODE_EGRESS);
	change->stale = false;
	snmp_facts_done(&one->facts);
	one->facts = (struct snmp_facts){.dialect = one->dialect,
					 .fixed_frame_types = one->fixed_frame_types,
					 .create_and_wait = one->create_and_wait};
	snmp_switch_narrow(one, &plan);
	return snmp_reader_start(&plan, &one->reader);
}

int snmp_change_start(struct snmp_switch *one)
{
	const struct switch_request *request = one->request;
	struct snmp_change *change;
	int rc;

	for (size_t i = 0; i < request->edit_count; i++)
		request->results[i] = EDIT_NOT_TRIED;
	if (one->dialect->writer != SNMP_WRITER_QBRIDGE)
		return problem_set(&one->early, E_UNSUPPORTED,
				   "switch %s: %s is not changed by SNMP", one->endpoint.name,
				   one->family->title);
	change = calloc(1, sizeof(*change));
	if (change)
		change->before = calloc(request->edit_count + 1, sizeof(*change->before));
	if (!change || !change->before) {
		free(change);
		return -ENOMEM;
	}
	change->one = one;
	change->limit = PLAN_EDITS;
	one->change = change;
	rc = read_facts(change);
	if (rc) {
		one->change = NULL;
		snmp_change_cancel(change);
	}
	return rc;
}

/* --- SWITCH_SAVE ---------------------------------------------------------------------- */

static void on_saved(void *context, struct snmp_answer *answer)
{
	struct snmp_switch *one = context;

	if (answer->rc)
		snmp_switch_fail(one, answer->rc, "saving", "");
	else if (answer->status)
		snmp_switch_fail(one, snmp_status_code(answer->status), "saving",
				 snmp_status_text(answer->status));
	else
		snmp_switch_end(one, 0, NULL, NULL);
}

int snmp_save_start(struct snmp_switch *one)
{
	const struct snmp_save *save = one->dialect->save;
	struct snmp_binding bindings[COUNT_OF(one->dialect->save)] = {0};
	struct snmp_ask ask = {.kind = SNMP_SET, .bindings = bindings, .once = true};
	/* A row that is free: rows of others are named by small numbers. */
	uint32_t row = 1000U + (uint32_t)(clock_monotonic_ms() / 1000 % 60000);

	for (; ask.count < COUNT_OF(one->dialect->save) && save[ask.count].name.count;
	     ask.count++) {
		const struct snmp_save *one_save = &save[ask.count];

		bindings[ask.count].name =
			one_save->row ? snmp_oid_with(&one_save->name, row) : one_save->name;
		bindings[ask.count].value =
			(struct snmp_value){.type = SNMP_INTEGER, .number = one_save->value};
	}
	if (ask.count == 0)
		return problem_set(&one->early, E_UNSUPPORTED,
				   "switch %s: %s is not told by SNMP to save", one->endpoint.name,
				   one->family->title);
	ask.timeout_ms = 20000; /* flash is slow */
	return snmp_peer_ask(one->peer, &ask, on_saved, one);
}
