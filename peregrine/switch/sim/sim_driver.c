#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash.h"

#include "peregrine/switch/sim/sim_fabric_private.h"

LEAKS_LEFT_TO_SANITIZER

#define HOLD_LOOK_MS 5

struct sim_driver_session {
	struct sim_fabric *fabric;
	int64_t id;
	struct loop_timer *timer;
	const struct switch_request *request;
	struct switch_request copy;
	switch_call_fn fn; /* NULL = idle */
	void *context;
	int64_t deadline_ms;
	bool silent; /* no answer before the deadline */
};

/* --- reading --- */

/* "poN"; above the numbers of all ports. */
static uint32_t lag_index(const char *lag)
{
	return 1000 + (uint32_t)strtoul(lag + 2, NULL, 10);
}

/* After its first member. */
static void read_lag(const struct sim_switch *at, uint32_t p, const struct switch_request *request,
		     struct switch_reading *reading)
{
	const struct sim_port *member = &at->ports[p];
	struct switch_port *port = &reading->ports[reading->port_count];

	for (uint32_t i = 0; i < p; i++) {
		if (strcmp(at->ports[i].lag, member->lag) == 0)
			return;
	}
	if (!member->lag[0] || !switch_port_is_wanted(request->only_ports, member->lag))
		return;
	(void)text_copy(port->name, sizeof(port->name), member->lag);
	port->if_index = lag_index(member->lag);
	port->is_lag = port->admin_up = port->up = true;
	port->has_vlans = (request->parts & PART_VLANS) != 0;
	if (port->has_vlans)
		port->vlans = member->vlans;
	reading->port_count++;
}

static int sim_driver_compare_ports(const void *a, const void *b)
{
	uint32_t x = ((const struct switch_port *)a)->if_index;
	uint32_t y = ((const struct switch_port *)b)->if_index;

	return x < y ? -1 : x > y;
}

static int sim_driver_read_ports(struct sim_switch *at, const struct switch_request *request,
				 struct switch_reading *reading)
{
	bool late = at->trouble.late > 0;

	at->trouble.late -= late;
	reading->ports = calloc(2 * (size_t)at->port_count + 1, sizeof(*reading->ports));
	if (!reading->ports)
		return -ENOMEM;
	for (uint32_t p = 0; p < at->port_count; p++) {
		struct switch_port *port;

		read_lag(at, p, request, reading);
		port = &reading->ports[reading->port_count];
		if (!switch_port_is_wanted(request->only_ports, at->ports[p].name))
			continue;
		(void)text_copy(port->name, sizeof(port->name), at->ports[p].name);
		port->if_index = p + 1;
		port->base_port = p + 1;
		port->admin_up = true;
		port->up = at->ports[p].up;
		port->has_vlans = (request->parts & PART_VLANS) && !at->ports[p].lag[0];
		if (!late)
			at->ports[p].shown = at->ports[p].vlans;
		if (port->has_vlans)
			port->vlans = at->ports[p].shown;
		else if (at->ports[p].lag[0])
			port->lag = lag_index(at->ports[p].lag);
		if (port->has_vlans && !at->trouble.apart_untold)
			port->apart = port->vlans.apart ? APART_FROM_ALIKE : APART_NOT;
		port->unproven = at->trouble.unproven && port->has_vlans && !port->vlans.trunk;
		reading->port_count++;
	}
	qsort(reading->ports, reading->port_count, sizeof(*reading->ports),
	      sim_driver_compare_ports);
	reading->parts |= PART_PORTS;
	return 0;
}

static int sim_driver_read_vlans(const struct sim_switch *at, struct switch_reading *reading)
{
	reading->vlans = calloc(vlan_set_count(&at->vlans) + 1, sizeof(*reading->vlans));
	if (!reading->vlans)
		return -ENOMEM;
	for (unsigned v = vlan_set_next(&at->vlans, 1); v; v = vlan_set_next(&at->vlans, v + 1))
		reading->vlans[reading->vlan_count++].id = (uint16_t)v;
	reading->parts |= PART_VLANS;
	return 0;
}

static void sim_driver_read_marks(const struct sim_switch *at, struct switch_identity *ret)
{
	uint64_t digest = HASH_START;

	ret->vlan_changes = at->vlan_changes + 1;
	if (!at->tells_members)
		return;
	for (uint32_t p = 0; p < at->port_count; p++) {
		const struct port_vlans *vlans = &at->ports[p].vlans;

		digest = hash_number(digest, vlans->native);
		digest = hash_bytes(digest, &vlans->tagged, sizeof(vlans->tagged));
	}
	ret->member_changes = digest;
	ret->vlan_changes = hash_bytes(HASH_START, &at->vlans, sizeof(at->vlans));
}

static int answer_read(const struct sim_driver_session *session, struct sim_switch *at,
		       struct switch_reading *reading)
{
	const struct switch_request *request = session->request;
	int rc = 0;

	at->reads++;
	reading->parts = request->parts & (PART_IDENTITY | PART_NEIGHBORS | PART_FDB);
	reading->requests = 1;
	(void)text_copy(reading->identity.text, sizeof(reading->identity.text), "simulated switch");
	(void)text_copy(reading->identity.system, sizeof(reading->identity.system), at->name);
	(void)text_copy(reading->identity.chassis, sizeof(reading->identity.chassis), at->chassis);
	(void)text_copy(reading->identity.family, sizeof(reading->identity.family), "sim");
	reading->identity.uptime_ms =
		(uint64_t)(loop_now_ms(session->fabric->loop) - at->up_since_ms);
	sim_driver_read_marks(at, &reading->identity);
	if (request->parts & PART_PORTS && !at->trouble.no_ports)
		rc = sim_driver_read_ports(at, request, reading);
	if (rc == 0 && (request->parts & PART_VLANS))
		rc = sim_driver_read_vlans(at, reading);
	if (rc)
		switch_reading_done(reading);
	return rc;
}

/* --- changing --- */

static struct sim_port *port_named(struct sim_switch *at, const char *name)
{
	for (uint32_t p = 0; p < at->port_count; p++) {
		if (strcmp(at->ports[p].name, name) == 0 || strcmp(at->ports[p].lag, name) == 0)
			return &at->ports[p];
	}
	return NULL;
}

/* Of an aggregate all have the same. */
static void spread_vlans(struct sim_switch *at, const struct sim_port *from)
{
	for (uint32_t p = 0; from->lag[0] && p < at->port_count; p++) {
		if (strcmp(at->ports[p].lag, from->lag) == 0)
			at->ports[p].vlans = from->vlans;
	}
}

/* As real ones: a membership in a VLAN that is not there is refused, and so is taking away a VLAN
 * that still has ports. */
static bool edit_possible(struct sim_switch *at, const struct switch_edit *edit)
{
	const struct sim_port *port = NULL;

	switch (edit->kind) {
	case EDIT_VLAN_CREATE: return true;
	case EDIT_VLAN_DELETE:
		for (uint32_t p = 0; p < at->port_count; p++) {
			const struct port_vlans *vlans = &at->ports[p].vlans;

			if (vlans->native == edit->vlan || vlan_set_has(&vlans->tagged, edit->vlan))
				return false;
		}
		return true;
	case EDIT_PORT:
		port = port_named(at, edit->port);
		return port && vlan_set_within(&edit->after.tagged, &at->vlans) &&
		       (edit->after.native == 0 || vlan_set_has(&at->vlans, edit->after.native));
	}
	return false;
}

static void do_edit(struct sim_switch *at, const struct switch_edit *edit, bool half)
{
	struct sim_port *port = NULL;

	at->vlan_changes++;
	switch (edit->kind) {
	case EDIT_VLAN_CREATE: vlan_set_add(&at->vlans, edit->vlan); break;
	case EDIT_VLAN_DELETE: vlan_set_remove(&at->vlans, edit->vlan); break;
	case EDIT_PORT:
		port = port_named(at, edit->port);
		if (!port)
			break;
		if (!half) {
			port->vlans = edit->after;
			spread_vlans(at, port);
			break;
		}
		/* The removing half. */
		port->vlans.tagged =
			vlan_set_intersection(&port->vlans.tagged, &edit->after.tagged);
		if (port->vlans.native != edit->after.native)
			port->vlans.native = 0;
		spread_vlans(at, port);
		break;
	}
}

static bool counts_down(uint32_t *counter)
{
	if (*counter == 0)
		return false;
	--*counter;
	return true;
}

static enum edit_result try_edit(struct sim_driver_session *session, struct sim_switch *at,
				 const struct switch_edit *edit)
{
	at->edits++;
	if (counts_down(&at->trouble.refuse) || !edit_possible(at, edit))
		return EDIT_REFUSED;
	if (edit->kind == EDIT_PORT && edit->after.trunk && counts_down(&at->trouble.refuse_trunk))
		return EDIT_REFUSED;
	if (at->trouble.reboot_after > 0 && --at->trouble.reboot_after == 0) {
		sim_switch_reboot(session->fabric, at);
		session->silent = true;
		return EDIT_UNKNOWN;
	}
	if (edit->kind == EDIT_PORT && counts_down(&at->trouble.half)) {
		do_edit(at, edit, true);
		session->silent = true;
		return EDIT_UNKNOWN;
	}
	do_edit(at, edit, false);
	if (!counts_down(&at->trouble.silent))
		return EDIT_TAKEN;
	session->silent = true;
	return EDIT_UNKNOWN;
}

static int answer_change(struct sim_driver_session *session, struct sim_switch *at,
			 struct problem *problem)
{
	const struct switch_request *request = session->request;

	for (size_t i = 0; i < request->edit_count; i++) {
		if (at->trouble.busy)
			return problem_set(problem, -EBUSY, "another session configures it");
		request->results[i] = try_edit(session, at, &request->edits[i]);
		if (request->results[i] == EDIT_REFUSED)
			return problem_set(problem, E_CONFLICT, "edit %zu was refused", i + 1);
		if (request->results[i] != EDIT_TAKEN)
			return 0;
	}
	return 0;
}

static bool sim_lag_name(const struct switch_family *family, unsigned number, char ret[64])
{
	(void)family;
	(void)text_format(ret, 64, "po%u", number);
	return number > 0 && number < 100;
}

/* As struct switch_lag says it; by half: the first member alone. */
static int answer_lag(struct sim_driver_session *session, struct sim_switch *at,
		      struct problem *problem)
{
	const struct switch_lag *lag = session->request->lag;
	size_t count = lag->member_count;

	if (counts_down(&at->trouble.refuse_lag))
		return problem_set(problem, E_CONFLICT, "the aggregate was refused");
	for (size_t i = 0; i < count; i++) {
		const struct sim_port *port = port_named(at, lag->members[i]);

		if (!port || (port->lag[0] && strcmp(port->lag, lag->name) != 0) ||
		    port->vlans.trunk ||
		    port->vlans.native !=
			    (lag->make && !port->lag[0] ? lag->member_vlans[i] : lag->vlan))
			return problem_set(problem, E_CONFLICT, "a port is not free");
	}
	session->silent = counts_down(&at->trouble.half_lag);
	for (size_t i = 0; i < (session->silent ? (size_t)1 : count); i++) {
		struct sim_port *port = port_named(at, lag->members[i]);

		if (!port)
			continue; /* it was looked for above */
		if (lag->make)
			(void)text_copy(port->lag, sizeof(port->lag), lag->name);
		else
			port->lag[0] = '\0';
		port->vlans = (struct port_vlans){.native = lag->vlan};
	}
	at->vlan_changes++;
	return 0;
}

static int answer_save(struct sim_switch *at, struct problem *problem)
{
	at->saves++;
	if (counts_down(&at->trouble.refuse_save))
		return problem_set(problem, E_CONFLICT, "the flash is full");
	if (at->trouble.loses_save)
		return 0;
	for (uint32_t p = 0; p < at->port_count; p++) {
		at->ports[p].saved = at->ports[p].vlans;
		(void)text_copy(at->ports[p].saved_lag, sizeof(at->ports[p].saved_lag),
				at->ports[p].lag);
	}
	at->saved_vlans = at->vlans;
	return 0;
}

/* --- one call --- */

static void end_call(struct sim_driver_session *session, int rc, struct switch_reading *reading,
		     const struct problem *problem)
{
	switch_call_fn fn = session->fn;

	session->fn = NULL;
	fn(session->context, rc, reading, problem);
}

static void time_out(struct sim_driver_session *session)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_TIMEOUT, "the switch does not answer");
	end_call(session, E_TIMEOUT, NULL, &problem);
}

static void sim_driver_answer(void *context)
{
	struct sim_driver_session *session = context;
	struct sim_switch *at = sim_fabric_find(session->fabric, session->id);
	struct switch_reading reading = {0};
	struct problem problem = {0};
	int rc = 0;

	if (session->silent || !at) {
		time_out(session);
		return;
	}
	if ((at->trouble.hold && session->request->op == SWITCH_CHANGE) ||
	    (at->trouble.hold_read && session->request->op == SWITCH_READ)) {
		session->silent = loop_now_ms(session->fabric->loop) >= session->deadline_ms;
		loop_timer_arm(session->timer, session->silent ? 0 : HOLD_LOOK_MS);
		return;
	}
	if (!fence_holds(session->request->fence)) {
		(void)problem_set(&problem, E_LAPSED, "the claim ran out");
		end_call(session, E_LAPSED, NULL, &problem);
		return;
	}
	switch (session->request->op) {
	case SWITCH_READ: rc = answer_read(session, at, &reading); break;
	case SWITCH_CHANGE: rc = answer_change(session, at, &problem); break;
	case SWITCH_SAVE: rc = answer_save(at, &problem); break;
	case SWITCH_LOCATE:
	case SWITCH_MIRROR: break;
	case SWITCH_LAG: rc = answer_lag(session, at, &problem); break;
	case SWITCH_SAMPLING:
	case SWITCH_APART:
	case SWITCH_HEALTH: rc = E_UNSUPPORTED; break;
	case SWITCH_OP_COUNT: rc = -EINVAL; break;
	}
	if (session->silent) {
		int64_t left_ms = session->deadline_ms - loop_now_ms(session->fabric->loop);

		loop_timer_arm(session->timer, left_ms > 0 ? left_ms : 0);
		return;
	}
	if (rc && !problem_is_set(&problem))
		(void)problem_set(&problem, rc, "%s", error_text(rc));
	end_call(session, rc, rc || session->request->op != SWITCH_READ ? NULL : &reading,
		 rc ? &problem : NULL);
	switch_reading_done(&reading);
}

static int sim_driver_sim_start(void *opaque, const struct switch_request *request,
				int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct sim_driver_session *session = opaque;
	struct sim_switch *at = sim_fabric_find(session->fabric, session->id);
	int64_t now_ms = loop_now_ms(session->fabric->loop);
	int64_t left_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
	int64_t after_ms;

	if (session->fn)
		return -EAGAIN;
	session->copy = *request;
	session->request = &session->copy;
	session->fn = fn;
	session->context = context;
	session->deadline_ms = deadline_ms;
	session->silent = !at || at->trouble.unreachable || at->away_until_ms > now_ms;
	after_ms = at ? at->trouble.delay_ms : 0;
	if (at)
		at->calls++;
	if (after_ms > left_ms)
		session->silent = true;
	loop_timer_arm(session->timer, session->silent ? left_ms : after_ms);
	return 0;
}

static int sim_driver_sim_open(const struct switch_endpoint *endpoint,
			       const struct switch_family *family, const struct switch_host *host,
			       void **ret_session, struct problem *problem)
{
	struct sim_driver_session *session;
	int rc;

	(void)family;
	if (!host->sim)
		return problem_set(problem, -EINVAL, "there is no simulated fabric");
	session = calloc(1, sizeof(*session));
	if (!session)
		return -ENOMEM;
	session->fabric = host->sim;
	session->id = endpoint->id;
	rc = loop_timer_new(host->loop, sim_driver_answer, session, &session->timer);
	if (rc) {
		free(session);
		return rc;
	}
	*ret_session = session;
	return 0;
}

/* What it was going to do, it does not. */
static bool sim_driver_sim_cancel(void *opaque)
{
	struct sim_driver_session *session = opaque;

	loop_timer_disarm(session->timer);
	session->fn = NULL;
	return true;
}

static void sim_driver_sim_close(void *opaque)
{
	struct sim_driver_session *session = opaque;

	if (!session)
		return;
	loop_timer_free(session->timer);
	free(session);
}

const struct switch_driver sim_switch_driver = {
	.name = "sim",
	.locks_out = true,
	.open = sim_driver_sim_open,
	.start = sim_driver_sim_start,
	.cancel = sim_driver_sim_cancel,
	.close = sim_driver_sim_close,
	.lag_name = sim_lag_name,
};
