/* SWITCH_CHANGE: read what is there, SET what shall be, run by run. An edit is
 * taken when the switch said yes to all of its SETs, or when reading back after a lost or a bad
 * answer shows that it is as wanted; refused when reading back shows the state of before; unknown
 * otherwise. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_plan.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	SNMP_CHANGE_LOST_LIMIT = 2
}; /* SETs of one run that went without an answer before it is unknown */
enum { AWAIT_MS = 100, AWAIT_LIMIT = 100 };

struct snmp_change {
	struct snmp_switch *one;
	size_t next;  /* the first edit that has no result yet */
	size_t limit; /* edits that a run may have: 1 after a refusal */
	struct snmp_plan plan;
	size_t sent, chunk; /* bindings of the plan: answered; under way */
	unsigned lost;
	unsigned awaited;         /* looks at something that is not done yet */
	struct loop_timer *timer; /* until the next one; owned */
	bool contended;           /* another manager wrote since we read */
	bool stale;               /* VLANs came or went since the facts were read */
	bool judging;             /* the facts are read again to see how the run ended */
	int rc;                   /* of the SET that brought that about */
	char why[64];
	struct port_vlans *before; /* of each port edit, as first read; owned */
};

static void snmp_change_go_on(struct snmp_change *change);
static int snmp_change_read_facts(struct snmp_change *change);

void snmp_change_cancel(struct snmp_change *change)
{
	if (!change)
		return;
	snmp_peer_forget(change->one->peer, change);
	/* A SET may have been sent. */
	for (size_t i = change->next;
	     change->one->call.request->results && i < change->next + change->plan.edits; i++)
		change->one->call.request->results[i] = EDIT_UNKNOWN;
	loop_timer_free(change->timer);
	snmp_plan_done(&change->plan);
	free(change->before);
	free(change);
}

/* Ends the call: rc 0, or the reason why `next` and what follows were not taken. */
static void snmp_change_end(struct snmp_change *change, int rc, const struct problem *problem)
{
	struct snmp_switch *one = change->one;

	change->plan.edits = 0; /* every result is written */
	switch_call_end(&one->call, rc, NULL, problem);
}

static void end_with(struct snmp_change *change, int rc, const char *why)
{
	struct problem problem;

	snmp_switch_problem(change->one, rc, "a change", why, &problem);
	snmp_change_end(change, rc, &problem);
}

static const struct fact_interface *snmp_change_port_of(const struct snmp_facts *facts,
							const char *name)
{
	for (uint32_t i = 0; i < fact_count(facts, FACT_INTERFACES); i++) {
		const struct fact_interface *row = fact_at(facts, FACT_INTERFACES, i);

		if (strcmp(fact_port_name(row), name) == 0)
			return row;
	}
	return NULL;
}

static void snmp_change_remember(struct snmp_change *change)
{
	const struct switch_request *request = change->one->call.request;

	for (size_t i = 0; i < request->edit_count; i++) {
		const struct fact_interface *interface =
			snmp_change_port_of(&change->one->facts, request->edits[i].port);

		if (request->edits[i].kind == EDIT_PORT && interface)
			(void)fact_port_vlans(&change->one->facts, interface, &change->before[i]);
	}
}

/* --- how a run ended --- */

static void set_downed(struct snmp_switch *one, uint32_t if_index, bool downed)
{
	size_t at = 0;

	while (at < one->downed_count && one->downed[at] != if_index)
		at++;
	if (!downed && at < one->downed_count)
		one->downed[at] = one->downed[--one->downed_count];
	else if (downed && at == one->downed_count && at < COUNT_OF(one->downed))
		one->downed[one->downed_count++] = if_index;
	one->facts.downed_count = one->downed_count;
}

static void mark_taken(struct snmp_change *change)
{
	change->stale |= change->plan.count > 0 &&
			 change->one->call.request->edits[change->next].kind != EDIT_PORT;
	for (size_t i = 0; i < change->plan.edits; i++)
		change->one->call.request->results[change->next++] = EDIT_TAKEN;
	if (change->plan.downs)
		set_downed(change->one, change->plan.downs, false);
	change->contended = false;
	change->plan.edits = 0;
	change->lost = 0;
}

static bool is_as_before(struct snmp_change *change, size_t number)
{
	const struct switch_edit *edit = &change->one->call.request->edits[number];
	const struct fact_interface *interface;
	struct port_vlans now = {0};

	if (edit->kind != EDIT_PORT)
		return !snmp_plan_is_done(&change->one->facts, edit);
	interface = snmp_change_port_of(&change->one->facts, edit->port);
	return interface && fact_port_vlans(&change->one->facts, interface, &now) &&
	       port_vlans_equal(&now, &change->before[number]);
}

/* Nothing of the run was done: is there another manner in which this agent may take it? */
static bool snmp_change_learn(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	enum switch_edit_kind kind = one->call.request->edits[change->next].kind;

	if (change->rc == E_TIMEOUT || change->rc == E_DENIED)
		return false;
	if (one->dialect->writer == SNMP_WRITER_QBRIDGE && kind == EDIT_VLAN_CREATE &&
	    !one->create_and_wait) {
		one->create_and_wait = one->facts.create_and_wait = true;
		return true;
	}
	if (one->dialect->writer == SNMP_WRITER_VTP && kind == EDIT_PORT && !one->by_steps) {
		one->by_steps = one->facts.by_steps = true;
		return true;
	}
	return false;
}

/* The facts are new: what came of the run? */
static void snmp_change_judge(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	const struct switch_edit *edits = one->call.request->edits;
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
		snmp_change_go_on(change);
		return;
	}
	/* It never arrived, or some of its SETs did: edits say what shall be, so what is left of
	 * them is planned anew on what is there. */
	if (change->rc == E_TIMEOUT && change->lost < SNMP_CHANGE_LOST_LIMIT) {
		snmp_change_go_on(change);
		return;
	}
	if (change->contended && change->lost < SNMP_CHANGE_LOST_LIMIT) {
		snmp_change_go_on(change);
		return;
	}
	if (same == count && snmp_change_learn(change)) {
		snmp_change_go_on(change);
		return;
	}
	if (count > 1 && change->rc != E_TIMEOUT) {
		change->limit = 1; /* one by one: which of them is it? */
		snmp_change_go_on(change);
		return;
	}
	for (size_t i = change->next; i < change->next + count; i++)
		one->call.request->results[i] =
			snmp_plan_is_done(&one->facts, &edits[i])            ? EDIT_TAKEN
			: is_as_before(change, i) && change->rc != E_TIMEOUT ? EDIT_REFUSED
									     : EDIT_UNKNOWN;
	end_with(change, change->rc, change->why);
}

static void start_judging(struct snmp_change *change)
{
	change->judging = true;
	if (snmp_change_read_facts(change))
		end_with(change, -ENOMEM, "");
}

static void snmp_change_on_released(void *context, struct snmp_answer *answer)
{
	struct snmp_change *change = context;

	/* Else the switch lets go of its lock by itself, later, and the port is remembered. */
	if (!answer->rc && !answer->status && change->plan.downs)
		set_downed(change->one, change->plan.downs, false);
	start_judging(change);
}

static void snmp_change_read_back(struct snmp_change *change, int rc, const char *why)
{
	struct snmp_ask ask = {.kind = SNMP_SET,
			       .bindings = change->plan.release,
			       .count = change->plan.release_count,
			       .once = true,
			       .fence = change->one->call.request->fence};

	change->rc = rc;
	text_copy(change->why, sizeof(change->why), why);
	/* Whoever waits for the switch's lock, or for the port, waits no longer than he must. */
	if (change->plan.release_count && change->sent >= change->plan.held &&
	    snmp_peer_ask(change->one->peer, &ask, snmp_change_on_released, change) == 0)
		return;
	start_judging(change);
}

static void send_chunk(struct snmp_change *change);

static void send_rest(struct snmp_change *change)
{
	if (change->sent < change->plan.count) {
		send_chunk(change);
		return;
	}
	mark_taken(change);
	snmp_change_go_on(change);
}

static void sent_chunk(struct snmp_change *change)
{
	change->sent += change->chunk;
	change->awaited = 0;
	send_rest(change);
}

/* A SET did nothing: is it only because of what this agent cannot do? True: it is sent again. */
static bool snmp_change_adapt(struct snmp_change *change, const struct snmp_answer *answer)
{
	struct snmp_switch *one = change->one;
	size_t at = change->sent + answer->index - 1;

	if (answer->index == 0 || at >= change->plan.count)
		return false;
	if (at >= change->plan.frames) {
		/* Reading shows what the hardware does all the same. */
		one->fixed_frame_types = one->facts.fixed_frame_types = true;
		change->plan.count = change->plan.frames;
		send_rest(change);
		return true;
	}
	if (answer->status == SNMP_STATUS_WRONG_TYPE && !one->vm_unsigned &&
	    snmp_plan_retype(&change->plan, at)) {
		one->vm_unsigned = one->facts.vm_unsigned = true;
		send_rest(change);
		return true;
	}
	change->contended |= snmp_plan_is_lock(&change->plan, at);
	return false;
}

/* Nothing more is sent, not even to let go of the switch's lock. What was sent of the run, now or
 * before its plan was made anew, may be done. */
static void snmp_change_lapse(struct snmp_change *change, const struct snmp_answer *answer)
{
	bool sent = change->sent > 0 || change->lost > 0 || answer->sends > 0;

	for (size_t i = 0; sent && i < change->plan.edits; i++)
		change->one->call.request->results[change->next + i] = EDIT_UNKNOWN;
	if (!sent && change->plan.downs)
		set_downed(change->one, change->plan.downs, false);
	end_with(change, E_LAPSED, "the claim ran out");
}

static void snmp_change_on_set(void *context, struct snmp_answer *answer)
{
	struct snmp_change *change = context;

	if (answer->rc == E_LAPSED) {
		snmp_change_lapse(change, answer);
		return;
	}
	if (answer->rc) {
		change->lost++;
		snmp_change_read_back(change, answer->rc, "");
		return;
	}
	if (!answer->status) {
		sent_chunk(change);
		return;
	}
	change->contended = false;
	if (snmp_change_adapt(change, answer))
		return;
	if (change->plan.downs && change->sent == 0)
		set_downed(change->one, change->plan.downs, false);
	change->lost += change->contended;
	snmp_change_read_back(change, snmp_status_code(answer->status),
			      snmp_status_text(answer->status));
}

/* Octets without the zeros at their end. */
static size_t snmp_change_length_of(const struct snmp_value *value)
{
	size_t size = value->size;

	while (size && value->bytes[size - 1] == 0)
		size--;
	return size;
}

static bool snmp_change_is_same(const struct snmp_value *a, const struct snmp_value *b)
{
	size_t size = a->type == SNMP_OCTETS ? snmp_change_length_of(a) : 0;

	if (a->type != SNMP_OCTETS)
		return b->type != SNMP_OCTETS && b->type != SNMP_NO_OBJECT &&
		       a->number == b->number;
	return b->type == SNMP_OCTETS && size == snmp_change_length_of(b) &&
	       (!size || memcmp(a->bytes, b->bytes, size) == 0);
}

static void on_expected(void *context, struct snmp_answer *answer)
{
	struct snmp_change *change = context;
	struct snmp_binding binding;
	bool same = !answer->rc && !answer->status;

	for (size_t i = 0; same && i < change->chunk; i++) {
		const struct snmp_binding *wanted = &change->plan.bindings[change->sent + i];

		same = snmp_answer_next(answer, &binding) &&
		       snmp_oid_order(&binding.name, &wanted->name) == 0 &&
		       snmp_change_is_same(&wanted->value, &binding.value);
	}
	if (same)
		sent_chunk(change);
	else if (answer->rc || answer->status)
		snmp_change_read_back(change,
				      answer->rc ? answer->rc : snmp_status_code(answer->status),
				      snmp_status_text(answer->status));
	else
		snmp_change_read_back(change, E_CONFLICT, "it accepted the SET and did not change");
}

static void snmp_change_on_awaited(void *context, struct snmp_answer *answer)
{
	struct snmp_change *change = context;
	const struct snmp_binding *wanted = &change->plan.bindings[change->sent];
	struct snmp_binding binding = {0};

	if (answer->rc || answer->status || !snmp_answer_next(answer, &binding) ||
	    binding.value.type != SNMP_INTEGER) {
		snmp_change_read_back(change, answer->rc ? answer->rc : E_PROTOCOL, "");
		return;
	}
	if (binding.value.number == wanted->value.number)
		sent_chunk(change);
	else if (binding.value.number > wanted->value.number)
		snmp_change_read_back(change, E_CONFLICT,
				      snmp_plan_await_text(binding.value.number));
	else if (++change->awaited >= AWAIT_LIMIT)
		snmp_change_read_back(change, E_TIMEOUT, "");
	else
		loop_timer_arm(change->timer, AWAIT_MS);
}

static const struct {
	enum snmp_kind kind;
	snmp_answer_fn fn;
} snmp_change_acts[] = {
	[ACT_SET] = {SNMP_SET, snmp_change_on_set},
	[ACT_EXPECT] = {SNMP_GET, on_expected},
	[ACT_AWAIT] = {SNMP_GET, snmp_change_on_awaited},
};

static void send_chunk(struct snmp_change *change)
{
	enum snmp_act act;
	struct snmp_ask ask = {0};

	change->chunk = snmp_plan_chunk(&change->plan, change->sent, &act);
	/* Before it is sent: an answer that is lost leaves the port down all the same. */
	if (change->plan.downs && change->sent == 0)
		set_downed(change->one, change->plan.downs, true);
	ask.kind = snmp_change_acts[act].kind;
	ask.once = act == ACT_SET;
	ask.fence = act == ACT_SET ? change->one->call.request->fence : NULL;
	ask.bindings = change->plan.bindings + change->sent;
	ask.count = change->chunk;
	/* Hardware is programmed before the answer comes. */
	ask.timeout_ms =
		3 * (change->one->call.endpoint.timeout_ms ? change->one->call.endpoint.timeout_ms
							   : change->one->call.family->timeout_ms);
	if (snmp_peer_ask(change->one->peer, &ask, snmp_change_acts[act].fn, change))
		end_with(change, E_LIMIT, "a value that cannot be sent");
}

static void snmp_change_on_timer(void *context)
{
	send_chunk(context);
}

/* Plans runs until one has something to send. */
static void snmp_change_go_on(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	const struct switch_request *request = one->call.request;
	struct problem problem = {0};

	while (change->next < request->edit_count) {
		int rc;

		/* A port is put into the lists of new VLANs, whose length is the agent's. */
		if (change->stale && request->edits[change->next].kind == EDIT_PORT) {
			if (snmp_change_read_facts(change))
				end_with(change, -ENOMEM, "");
			return;
		}
		rc = snmp_plan_edits(&one->facts, request->edits + change->next,
				     request->edit_count - change->next, change->limit,
				     &change->plan, &problem);
		if (rc) {
			if (!problem_is_set(&problem))
				problem_set(&problem, rc, "an edit that is not valid");
			request->results[change->next] = EDIT_REFUSED;
			snmp_change_end(change, rc, &problem);
			return;
		}
		change->sent = 0;
		if (change->plan.count > 0) {
			send_chunk(change);
			return;
		}
		mark_taken(change);
	}
	snmp_change_end(change, 0, NULL);
}

/* --- reading --- */

static bool has_ports(const struct switch_request *request)
{
	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->edits[i].kind == EDIT_PORT)
			return true;
	}
	return false;
}

static bool snmp_change_is_empty(const struct snmp_switch *one)
{
	bool vtp = one->dialect->writer == SNMP_WRITER_VTP;

	if (!fact_count(&one->facts, vtp ? FACT_VTP_VLANS : FACT_VLANS))
		return true;
	return has_ports(one->call.request) &&
	       !fact_count(&one->facts, vtp ? FACT_INTERFACES : FACT_BRIDGE_PORTS);
}

static void snmp_change_on_read(void *context, int rc, uint32_t refused, const char *why)
{
	struct snmp_change *change = context;
	struct snmp_switch *one = change->one;

	one->reader = NULL;
	if (!rc && refused)
		rc = E_PROTOCOL;
	if (!rc && !snmp_switch_placed(one)) {
		rc = snmp_change_read_facts(change);
		if (!rc)
			return;
	}
	/* As when its subagent is away: that says nothing of what was done. */
	if (!rc && snmp_change_is_empty(one)) {
		rc = E_UNAVAILABLE;
		why = "it shows no VLANs and ports of a bridge now";
	}
	if (rc) {
		for (size_t i = 0; change->judging && i < change->plan.edits; i++)
			one->call.request->results[change->next + i] = EDIT_UNKNOWN;
		end_with(change, rc, why);
		return;
	}
	if (change->judging) {
		snmp_change_judge(change);
		return;
	}
	snmp_change_remember(change);
	snmp_change_go_on(change);
}

/* What a change has to know, by the dialect's writer. */
static uint32_t snmp_change_groups_of(const struct snmp_dialect *dialect, bool ports)
{
	uint32_t groups = 0;

	if (dialect->writer == SNMP_WRITER_VTP)
		return GROUP_BIT(GROUP_VTP_VLANS) |
		       (ports ? GROUP_BIT(GROUP_NAMES) | GROUP_BIT(GROUP_VTP_PORTS) : 0);
	groups = GROUP_BIT(GROUP_VLANS);
	if (ports) {
		groups |= GROUP_BIT(GROUP_NAMES) | GROUP_BIT(GROUP_BRIDGE);
		if (dialect->mode.mode.count)
			groups |= GROUP_BIT(GROUP_MODE);
	}
	if (dialect->mode.trunk_egress.count)
		groups |= GROUP_BIT(GROUP_MODE_EGRESS);
	return groups;
}

static int snmp_change_read_facts(struct snmp_change *change)
{
	struct snmp_switch *one = change->one;
	struct snmp_reader_plan plan = {
		.peer = one->peer,
		.facts = &one->facts,
		.scalars = one->dialect->mode.model_at != 0,
		.groups = snmp_change_groups_of(one->dialect, has_ports(one->call.request)),
		.done = snmp_change_on_read,
		.context = change,
	};

	change->stale = false;
	snmp_facts_done(&one->facts);
	snmp_switch_facts(one);
	snmp_switch_narrow(one, &plan);
	return snmp_reader_start(&plan, &one->reader);
}

int snmp_change_start(struct snmp_switch *one)
{
	const struct switch_request *request = one->call.request;
	struct snmp_change *change;
	int rc;

	if (one->dialect->writer == SNMP_WRITER_NONE)
		return problem_set(&one->call.early, E_UNSUPPORTED,
				   "switch %s: %s is not changed by SNMP", one->call.endpoint.name,
				   one->call.family->title);
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
	rc = loop_timer_new(one->loop, snmp_change_on_timer, change, &change->timer);
	if (!rc)
		rc = snmp_change_read_facts(change);
	if (rc) {
		one->change = NULL;
		snmp_change_cancel(change);
	}
	return rc;
}
