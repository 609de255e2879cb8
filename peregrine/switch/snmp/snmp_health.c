/* SWITCH_HEALTH: interface counters (IF-MIB, RFC 2863), spanning tree (BRIDGE-MIB, RFC 4188;
 * RSTP-MIB, RFC 4318), aggregates (IEEE8023-LAG-MIB) and sensors (ENTITY-SENSOR-MIB, RFC 3433, with
 * ENTITY-MIB for their names and ports). One walk after the other, so that a switch's agent never
 * has more than one of our requests before it; a part that it does not have is left out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_health_private.h"

LEAKS_LEFT_TO_SANITIZER

enum { CONTAINED_LIMIT = 8 /* sensor, transceiver, cage, port, ... */ };

void snmp_health_cancel(struct snmp_health *state)
{
	if (!state)
		return;
	snmp_walk_cancel(state->walk);
	snmp_peer_forget(state->one->peer, state);
	switch_health_done(&state->health);
	free(state->entities);
	free(state->bridge_ports);
	free(state);
}

static void snmp_health_fail(struct snmp_health *state, int rc, const char *why)
{
	snmp_switch_fail(state->one, rc, "reading its health", why);
}

/* The root is behind the root port; a port at which this bridge is designated leads away from it.
 */
static enum stp_role role_of(const struct switch_stp *stp, const struct bridge_port *port)
{
	if (!stp->there || port->state <= 1)
		return STP_ROLE_NONE;
	if (stp->root_port && port->number == stp->root_port)
		return STP_ROLE_ROOT;
	return memcmp(&port->designated[2], stp->bridge, sizeof(stp->bridge)) == 0
		       ? STP_ROLE_DESIGNATED
		       : STP_ROLE_ALTERNATE;
}

static void place_bridge_ports(struct snmp_health *state)
{
	struct switch_stp *stp = &state->health.stp;

	for (size_t i = 0; i < state->bridge_port_count; i++) {
		const struct bridge_port *from = &state->bridge_ports[i];
		struct port_health *port = snmp_health_port(&state->health, from->if_index);

		if (!port)
			continue;
		port->stp_state = from->state;
		/* Some call a port without a link blocking: it plays no part. */
		port->stp_role = port->up ? role_of(stp, from) : STP_ROLE_NONE;
		port->stp_transitions = from->transitions;
		if (port->stp_role == STP_ROLE_ROOT)
			(void)text_copy(stp->root_port_name, sizeof(stp->root_port_name),
					port->name);
	}
}

/* A sensor stands inside of a transceiver, that inside of a port, and this is an interface. */
static void place_sensor(struct snmp_health *state, struct switch_sensor *sensor)
{
	const struct entity *entity = snmp_health_entity(state, sensor->index);
	const struct port_health *port;

	if (entity) {
		(void)text_copy(sensor->name, sizeof(sensor->name), entity->name);
		(void)text_copy(sensor->text, sizeof(sensor->text), entity->text);
	}
	for (unsigned i = 0; entity && !sensor->if_index && i < CONTAINED_LIMIT; i++) {
		sensor->if_index = entity->if_index;
		entity = snmp_health_entity(state, entity->inside);
	}
	port = snmp_health_port(&state->health, sensor->if_index);
	if (port)
		(void)text_copy(sensor->port, sizeof(sensor->port), port->name);
}

static void snmp_health_finish(struct snmp_health *state)
{
	struct switch_reading reading = {0};

	place_bridge_ports(state);
	for (size_t i = 0; i < state->health.sensor_count; i++)
		place_sensor(state, &state->health.sensors[i]);
	if (state->one->call.request->health & HEALTH_COUNTERS)
		state->health.parts |= HEALTH_COUNTERS;
	reading.health = state->health;
	state->health = (struct switch_health){0};
	reading.requests = snmp_peer_requests(state->one->peer) - state->one->call.requests_before;
	switch_call_end(&state->one->call, 0, &reading, NULL);
	switch_reading_done(&reading); /* what was not taken */
}

static bool snmp_health_on_value(void *context, size_t column, const uint32_t *index, size_t count,
				 const struct snmp_value *value)
{
	struct snmp_health *state = context;
	const struct health_column *at = &snmp_health_steps[state->step].columns[column];

	at->take(state, at->arg, index, count, value);
	return true;
}

static void next_step(struct snmp_health *state);

/* Packets are sums of columns: of a walk that was broken off some may be missing, and the next look
 * would take what they had since the switch began for what came in a minute. */
static void drop_sums(struct snmp_health *state)
{
	const uint8_t sums = 1U << COUNT_IN_PACKETS | 1U << COUNT_OUT_PACKETS;

	for (size_t i = 0; i < state->health.port_count; i++) {
		struct port_health *port = &state->health.ports[i];

		port->known &= (uint8_t)~sums;
		port->wide &= (uint8_t)~sums;
		port->counts[COUNT_IN_PACKETS] = port->counts[COUNT_OUT_PACKETS] = 0;
	}
}

static void snmp_health_on_walked(void *context, int rc, const char *why)
{
	struct snmp_health *state = context;

	state->walk = NULL;
	/* An agent that breaks one table off may have the others; one that is silent has none. */
	if (rc && (state->step == 0 || rc == E_TIMEOUT || rc == E_AUTHENTICATION)) {
		snmp_health_fail(state, rc, why);
		return;
	}
	if (rc && snmp_health_steps[state->step].sums)
		drop_sums(state);
	state->step++;
	next_step(state);
}

static void next_step(struct snmp_health *state)
{
	struct snmp_walk_plan plan = {.columns = state->columns,
				      .row_limit = 1 << 18,
				      .row = snmp_health_on_value,
				      .done = snmp_health_on_walked,
				      .context = state};
	int rc;

	while (state->step < SNMP_HEALTH_STEPS &&
	       (!(snmp_health_steps[state->step].part & state->one->call.request->health) ||
		(snmp_health_steps[state->step].needed &&
		 !snmp_health_steps[state->step].needed(state))))
		state->step++;
	if (state->step == SNMP_HEALTH_STEPS) {
		snmp_health_finish(state);
		return;
	}
	plan.count = snmp_health_steps[state->step].count;
	for (size_t i = 0; i < plan.count; i++)
		state->columns[i] = snmp_health_steps[state->step].columns[i].oid;
	rc = snmp_walk_start(state->one->peer, &plan, &state->walk);
	if (rc)
		snmp_health_fail(state, rc, "");
}

/* --- scalars --- */

enum {
	UPTIME,
	BRIDGE_ADDRESS,
	STP_PRIORITY,
	STP_CHANGED,
	STP_CHANGES,
	STP_ROOT,
	STP_COST,
	STP_ROOT_PORT,
	STP_VERSION,
	SCALARS
};

static const struct snmp_oid snmp_health_scalars[SCALARS] = {
	[UPTIME] = OID(1, 3, 6, 1, 2, 1, 1, 3, 0),
	[BRIDGE_ADDRESS] = OID(1, 3, 6, 1, 2, 1, 17, 1, 1, 0),
	[STP_PRIORITY] = OID(SNMP_HEALTH_STP, 2, 0),
	[STP_CHANGED] = OID(SNMP_HEALTH_STP, 3, 0),
	[STP_CHANGES] = OID(SNMP_HEALTH_STP, 4, 0),
	[STP_ROOT] = OID(SNMP_HEALTH_STP, 5, 0),
	[STP_COST] = OID(SNMP_HEALTH_STP, 6, 0),
	[STP_ROOT_PORT] = OID(SNMP_HEALTH_STP, 7, 0),
	[STP_VERSION] = OID(SNMP_HEALTH_STP, 16, 0),
};

static void take_scalar(struct switch_health *health, size_t number, const struct snmp_value *value)
{
	struct switch_stp *stp = &health->stp;

	if (value->type == SNMP_NO_OBJECT || value->type == SNMP_NULL)
		return;
	switch (number) {
	case UPTIME: health->uptime_ms = (uint64_t)(uint32_t)value->number * 10; break;
	case BRIDGE_ADDRESS:
		if (value->size == sizeof(stp->bridge))
			memcpy(stp->bridge, value->bytes, sizeof(stp->bridge));
		break;
	case STP_PRIORITY: stp->priority = (uint16_t)value->number; break;
	case STP_CHANGED: stp->changed_ticks = (uint32_t)value->number; break;
	case STP_CHANGES: stp->changes = (uint32_t)value->number; break;
	case STP_ROOT:
		/* Who does not run it says so by a root of zeros, or has no such object. */
		if (value->size == sizeof(stp->root)) {
			memcpy(stp->root, value->bytes, sizeof(stp->root));
			for (size_t i = 2; i < sizeof(stp->root); i++)
				stp->there = stp->there || stp->root[i];
		}
		break;
	case STP_COST: stp->root_cost = (uint32_t)value->number; break;
	case STP_ROOT_PORT: stp->root_port = (uint32_t)value->number; break;
	case STP_VERSION: stp->version = (uint32_t)value->number; break;
	default: break;
	}
}

static void snmp_health_on_scalars(void *context, struct snmp_answer *answer)
{
	struct snmp_health *state = context;
	struct snmp_binding binding;

	if (answer->rc) {
		snmp_health_fail(state, answer->rc, "");
		return;
	}
	state->health.response_ms = (uint32_t)(clock_monotonic_ms() - state->asked_ms);
	while (!answer->status && snmp_answer_next(answer, &binding)) {
		for (size_t i = 0; i < SCALARS; i++)
			if (snmp_oid_order(&binding.name, &snmp_health_scalars[i]) == 0)
				take_scalar(&state->health, i, &binding.value);
	}
	if (state->one->call.request->health & HEALTH_STP)
		state->health.parts |= HEALTH_STP;
	next_step(state);
}

int snmp_health_start(struct snmp_switch *one)
{
	struct snmp_health *state = calloc(1, sizeof(*state));
	struct snmp_binding bindings[SCALARS] = {0};
	const struct snmp_ask ask = {
		.kind = SNMP_GET,
		.bindings = bindings,
		.count = one->call.request->health & HEALTH_STP ? SCALARS : 1,
	};
	int rc;

	if (!state)
		return -ENOMEM;
	state->one = one;
	state->health.stp.version = state->health.stp.changes = UINT32_MAX;
	state->asked_ms = clock_monotonic_ms();
	for (size_t i = 0; i < SCALARS; i++)
		bindings[i].name = snmp_health_scalars[i];
	rc = snmp_peer_ask(one->peer, &ask, snmp_health_on_scalars, state);
	if (rc) {
		snmp_health_cancel(state);
		return rc;
	}
	one->health = state;
	return 0;
}
