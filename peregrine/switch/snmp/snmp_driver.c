#include "peregrine/switch/snmp/snmp_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_order.h"
#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_switch.h"
#include "peregrine/switch/snmp/snmp_told.h"

LEAKS_LEFT_TO_SANITIZER

static void snmp_driver_forget(void *session)
{
	struct snmp_switch *one = session;

	snmp_reader_cancel(one->reader);
	one->reader = NULL;
	snmp_save_cancel(one->saving);
	one->saving = NULL;
	snmp_change_cancel(one->change);
	one->change = NULL;
	snmp_sampling_cancel(one->sampling);
	one->sampling = NULL;
	snmp_health_cancel(one->health);
	one->health = NULL;
	snmp_switch_forget_v1(one);
	snmp_facts_done(&one->facts);
}

void snmp_switch_facts(struct snmp_switch *one)
{
	one->facts = (struct snmp_facts){
		.dialect = one->dialect,
		.fixed_frame_types = one->fixed_frame_types,
		.create_and_wait = one->create_and_wait,
		.vm_unsigned = one->vm_unsigned,
		.by_steps = one->by_steps,
		.downed = one->downed,
		.downed_count = one->downed_count,
	};
}

int snmp_switch_problem(const struct snmp_switch *one, int rc, const char *doing, const char *why,
			struct problem *ret)
{
	const struct switch_endpoint *endpoint = &one->call.endpoint;
	unsigned port = endpoint->snmp_port ? endpoint->snmp_port : 161;

	switch (rc) {
	case E_TIMEOUT:
		problem_set(ret, rc, "switch %s did not answer by SNMP", endpoint->name);
		problem_detail(ret, "%s, UDP %s port %u", doing, endpoint->address, port);
		problem_hint(
			ret,
			endpoint->snmp_user[0]
				? "check address, agent, its access list and the privacy secret"
				: "check address, agent, its access list and the "
				  "community: a wrong one is not answered either");
		break;
	case E_AUTHENTICATION:
		problem_set(ret, rc, "switch %s refused the SNMP user %s", endpoint->name,
			    endpoint->snmp_user);
		problem_detail(ret, "%s, UDP %s port %u", doing, endpoint->address, port);
		problem_hint(ret, "check the user's name, both protocols and both secrets");
		break;
	case E_DENIED:
		problem_set(ret, rc, "switch %s may not be written to by SNMP", endpoint->name);
		problem_detail(ret, "%s: %s", doing, why);
		problem_hint(ret, "give it a write community, or a user with write access");
		break;
	default:
		problem_set(ret, rc, "switch %s: %s failed by SNMP", endpoint->name, doing);
		problem_detail(ret, "%s", why[0] ? why : error_text(rc));
		break;
	}
	return rc;
}

void snmp_switch_fail(struct snmp_switch *one, int rc, const char *doing, const char *why)
{
	struct problem problem;

	snmp_switch_problem(one, rc, doing, why, &problem);
	switch_call_end(&one->call, rc, NULL, &problem);
}

/* --- SWITCH_READ --- */

/* Which groups the parts need. */
static const struct {
	unsigned part;
	uint32_t groups;
} snmp_driver_needs[] = {
	{PART_PORTS,
	 GROUP_BIT(GROUP_INTERFACES) | GROUP_BIT(GROUP_STACK) | GROUP_BIT(GROUP_BRIDGE)},
	{PART_NEIGHBORS, GROUP_BIT(GROUP_INTERFACES) | GROUP_BIT(GROUP_BRIDGE) |
				 GROUP_BIT(GROUP_LLDP_LOCAL) | GROUP_BIT(GROUP_LLDP_REMOTE)},
	{PART_FDB, GROUP_BIT(GROUP_BRIDGE)},
};

static uint32_t vlan_groups(const struct snmp_dialect *dialect)
{
	uint32_t groups = GROUP_BIT(GROUP_NAMES);

	if (dialect->writer == SNMP_WRITER_VTP)
		return groups | GROUP_BIT(GROUP_VTP_VLANS) | GROUP_BIT(GROUP_VTP_PORTS);
	groups |= GROUP_BIT(GROUP_BRIDGE) | GROUP_BIT(GROUP_VLANS);
	if (dialect->mode.mode.count)
		groups |= GROUP_BIT(GROUP_MODE);
	if (dialect->mode.trunk_egress.count)
		groups |= GROUP_BIT(GROUP_MODE_EGRESS);
	return groups;
}

static uint32_t snmp_driver_groups_of(const struct snmp_dialect *dialect, unsigned parts)
{
	uint32_t groups = 0;

	if ((parts & PART_PORTS) && dialect->lag.group.count)
		groups |= GROUP_BIT(GROUP_LAGS);
	for (size_t i = 0; i < COUNT_OF(snmp_driver_needs); i++) {
		if (parts & snmp_driver_needs[i].part)
			groups |= snmp_driver_needs[i].groups;
	}
	if (parts & PART_VLANS)
		groups |= vlan_groups(dialect);
	if (parts & PART_FDB)
		groups |= dialect->fdb == SNMP_FDB_PER_VLAN
				  ? GROUP_BIT(GROUP_VTP_VLANS)
				  : GROUP_BIT(GROUP_FDB) | GROUP_BIT(GROUP_CURRENT);
	/* All of an interface holds its names. */
	if (groups & GROUP_BIT(GROUP_INTERFACES))
		groups &= ~GROUP_BIT(GROUP_NAMES);
	return groups;
}

/* Who has no mark of its last change shows what its ports are in: two columns beside those of the
 * links, as a rule in the same answers. Trunks of CISCO-VTP-MIB would be many. */
static bool shows_members(const struct snmp_dialect *dialect)
{
	return dialect->writer == SNMP_WRITER_QBRIDGE && !dialect->changes.count;
}

/* What a look at the whole switch is for, beside its scalars. */
static uint32_t look_groups(const struct snmp_dialect *dialect, uint32_t others)
{
	const uint32_t hold_members = GROUP_BIT(GROUP_BRIDGE) | GROUP_BIT(GROUP_VLANS);

	return shows_members(dialect) && (others & hold_members) != hold_members
		       ? GROUP_BIT(GROUP_MEMBERS)
		       : GROUP_BIT(GROUP_LINKS);
}

/* What is complete when the agent refused some groups. */
static unsigned parts_left(const struct snmp_dialect *dialect, unsigned parts, uint32_t refused)
{
	unsigned left = 0;

	for (unsigned part = 1; part < PART_ALL; part <<= 1) {
		if ((parts & part) && !(snmp_driver_groups_of(dialect, part) & refused))
			left |= part;
	}
	return left;
}

/* An agent whose subagent is away shows empty tables. No bridge is without a port and a VLAN, so
 * that is no answer. */
static unsigned parts_empty(const struct snmp_facts *facts, const struct switch_reading *reading)
{
	unsigned empty = 0;

	if (reading->vlan_count == 0)
		empty |= PART_VLANS;
	if (fact_count(facts, FACT_BRIDGE_PORTS) == 0)
		empty |= PART_FDB;
	if (fact_count(facts, FACT_INTERFACES) == 0)
		empty |= PART_PORTS;
	return empty;
}

/* --- the ports that a call is about --- */

/* Their rows can be asked for one by one. */
static const uint32_t by_row = GROUP_BIT(GROUP_NAMES) | GROUP_BIT(GROUP_INTERFACES) |
			       GROUP_BIT(GROUP_BRIDGE) | GROUP_BIT(GROUP_MODE) |
			       GROUP_BIT(GROUP_VTP_PORTS);

/* False: not all of them are known, or too many. */
static bool find_targets(struct snmp_switch *one)
{
	const struct switch_request *request = one->call.request;
	bool found = true;

	one->target_count = 0;
	for (const char *const *name = request->only_ports;
	     request->op == SWITCH_READ && found && name && *name; name++)
		found = snmp_targets_add(&one->map, *name, one->targets, &one->target_count);
	for (size_t i = 0; request->op == SWITCH_CHANGE && found && i < request->edit_count; i++) {
		if (request->edits[i].kind == EDIT_PORT)
			found = snmp_targets_add(&one->map, request->edits[i].port, one->targets,
						 &one->target_count);
	}
	return found && one->target_count > 0;
}

void snmp_switch_narrow(struct snmp_switch *one, struct snmp_reader_plan *plan)
{
	if (one->whole || !find_targets(one)) {
		one->target_count = 0;
		return;
	}
	plan->target_groups = plan->groups & by_row;
	plan->groups &= ~(by_row | GROUP_BIT(GROUP_STACK) | GROUP_BIT(GROUP_LAGS));
	plan->target_count = one->target_count;
	memcpy(plan->targets, one->targets, sizeof(plan->targets));
}

bool snmp_switch_placed(struct snmp_switch *one)
{
	if (!one->target_count) {
		fact_orders_make(&one->facts, ORDER_BRIDGE_PORTS);
		snmp_targets_learn(&one->map, &one->facts);
		return true;
	}
	if (snmp_targets_hold(&one->facts, one->targets, one->target_count))
		return true;
	snmp_targets_done(&one->map);
	one->whole = true;
	return false;
}

static int snmp_driver_start_read(struct snmp_switch *one);

static void snmp_driver_on_read(void *context, int rc, uint32_t refused, const char *why)
{
	struct snmp_switch *one = context;
	struct switch_reading reading = {0};
	unsigned parts = one->call.request->parts;
	uint32_t look;

	one->reader = NULL;
	if (one->facts.model)
		one->model = one->facts.model;
	if (!rc && !snmp_switch_placed(one)) {
		rc = snmp_driver_start_read(one);
		if (!rc)
			return;
	}
	look = look_groups(one->dialect, snmp_driver_groups_of(one->dialect, parts));
	one->facts.links = !one->target_count && (parts & PART_IDENTITY) && !(refused & look);
	one->facts.members = one->facts.links && shows_members(one->dialect) &&
			     !(refused & snmp_driver_groups_of(one->dialect, PART_VLANS));
	if (!rc)
		rc = snmp_reading_make(&one->facts, parts, one->call.request->only_ports, &reading);
	if (rc && snmp_switch_look_for_v1(one, rc))
		return;
	if (rc) {
		snmp_switch_fail(one, rc, "reading", why);
		return;
	}
	reading.parts =
		parts_left(one->dialect, parts, refused) & ~parts_empty(&one->facts, &reading);
	/* Addresses of some VLANs are no whole table. */
	if (!vlan_set_is_empty(&one->missing.vlans))
		reading.parts &= ~(unsigned)PART_FDB;
	if (!one->target_count)
		snmp_told(&one->facts, &one->missing, parts, &reading);
	text_copy(reading.identity.twin, sizeof(reading.identity.twin), snmp_peer_twin(one->peer));
	reading.requests = snmp_peer_requests(one->peer) - one->call.requests_before;
	text_copy(reading.identity.family, sizeof(reading.identity.family), one->call.family->name);
	switch_call_end(&one->call, 0, &reading, NULL);
}

static int snmp_driver_start_read(struct snmp_switch *one)
{
	unsigned parts = one->call.request->parts;
	unsigned few = PART_IDENTITY | PART_PORTS | PART_VLANS;
	bool per_vlan = one->dialect->fdb == SNMP_FDB_PER_VLAN;
	struct snmp_reader_plan plan = {
		.peer = one->peer,
		.facts = &one->facts,
		.groups = snmp_driver_groups_of(one->dialect, parts),
		.vlan_fallback = (parts & PART_VLANS) && !(parts & PART_FDB),
		.fdb_fallback = (parts & PART_FDB) != 0,
		.fdb_per_vlan = (parts & PART_FDB) && per_vlan,
		.missing = &one->missing,
		.done = snmp_driver_on_read,
		.context = one,
	};

	snmp_facts_done(&one->facts);
	snmp_switch_facts(one);
	if (!(parts & ~few) && one->call.request->only_ports)
		snmp_switch_narrow(one, &plan);
	else
		one->target_count = 0;
	/* Few columns: most switches tell them in one more answer. Who does not have them is known
	 * all the same. */
	if (!one->target_count && (parts & PART_IDENTITY))
		plan.groups |= look_groups(one->dialect, plan.groups);
	/* The model's arc is in sysObjectID; and a dead switch costs one request. */
	plan.scalars = !plan.target_count || (parts & PART_IDENTITY) || one->dialect->mode.model_at;
	return snmp_reader_start(&plan, &one->reader);
}

/* --- the driver's row --- */

static void snmp_driver_late(void *session)
{
	struct snmp_switch *one = session;
	struct problem problem;

	problem_set(&problem, E_TIMEOUT, "switch %s was not done in time", one->call.endpoint.name);
	problem_detail(&problem, "%u SNMP requests so far",
		       snmp_peer_requests(one->peer) - one->call.requests_before);
	problem_hint(&problem, "the agent is slow, or answers only some requests");
	switch_call_end(&one->call, E_TIMEOUT, NULL, &problem);
}

static const struct switch_call_row snmp_driver_call = {
	.forget = snmp_driver_forget,
	.late = snmp_driver_late,
};

static void snmp_driver_one_close(void *session)
{
	struct snmp_switch *one = session;

	if (!one)
		return;
	switch_call_close(&one->call);
	snmp_peer_free(one->peer);
	snmp_targets_done(&one->map);
	free(one);
}

static int snmp_driver_one_open(const struct switch_endpoint *endpoint,
				const struct switch_family *family, const struct switch_host *host,
				void **ret_session, struct problem *problem)
{
	struct snmp_switch *one = calloc(1, sizeof(*one));
	int rc;

	if (!one)
		return problem_set(problem, -ENOMEM, "no memory for a switch");
	one->dialect = family->snmp ? family->snmp : &snmp_dialect_qbridge;
	one->loop = host->loop;
	one->client = host->snmp;
	rc = switch_call_open(&one->call, &snmp_driver_call, host->loop, endpoint, family, problem);
	if (!rc)
		rc = snmp_peer_new(host->snmp, endpoint,
				   family->timeout_ms ? family->timeout_ms : 2000, &one->peer,
				   problem);
	if (rc) {
		snmp_driver_one_close(one);
		return rc;
	}
	*ret_session = one;
	return 0;
}

static int snmp_driver_start_locate(struct snmp_switch *one)
{
	return problem_set(&one->call.early, E_UNSUPPORTED,
			   "switch %s cannot blink a port's LED by SNMP", one->call.endpoint.name);
}

static int (*const snmp_driver_starts[SWITCH_OP_COUNT])(struct snmp_switch *one) = {
	[SWITCH_READ] = snmp_driver_start_read,  [SWITCH_CHANGE] = snmp_change_start,
	[SWITCH_SAVE] = snmp_save_start,         [SWITCH_LOCATE] = snmp_driver_start_locate,
	[SWITCH_SAMPLING] = snmp_sampling_start, [SWITCH_HEALTH] = snmp_health_start,
};

static int snmp_driver_one_start(void *session, const struct switch_request *request,
				 int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct snmp_switch *one = session;
	int64_t left = deadline_ms - clock_monotonic_ms();

	switch_call_begin(&one->call, request, deadline_ms, fn, context);
	one->whole = false;
	one->call.requests_before = snmp_peer_requests(one->peer);
	snmp_switch_facts(one);
	loop_timer_arm(one->call.timer, left > 0 ? left : 0);
	return switch_call_begun(&one->call, snmp_driver_starts[request->op](one));
}

static bool snmp_driver_one_cancel(void *session)
{
	struct snmp_switch *one = session;

	(void)switch_call_forget(&one->call);
	return true;
}

const struct switch_driver snmp_switch_driver = {
	.name = "snmp",
	.refuses_mutely = true,
	.open = snmp_driver_one_open,
	.start = snmp_driver_one_start,
	.cancel = snmp_driver_one_cancel,
	.close = snmp_driver_one_close,
};
