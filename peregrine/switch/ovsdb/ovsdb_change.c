/* SWITCH_CHANGE and SWITCH_SAVE. A batch is read, one transaction, and a wait until ovs-vswitchd
 * says that the data plane has it: all of the edits are taken or none. When the connection ends
 * with a transaction under way, reading again says whether it happened; if not, it is made again.
 */
#include <errno.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	OVSDB_CHANGE_LOST_LIMIT = 2,
	OVSDB_CHANGE_AWAIT_SPARE_MS = 300,
	OVSDB_CHANGE_AWAIT_MOST_MS = 20000
};

static int ovsdb_change_look(struct ovsdb_switch *one);

static void mark_all(struct ovsdb_switch *one, enum edit_result result)
{
	for (size_t i = 0; i < one->call.request->edit_count; i++)
		one->call.request->results[i] = result;
}

/* It may have been done: look, unless it happens again and again. */
static void ovsdb_change_lose(struct ovsdb_switch *one, int rc, const struct problem *problem)
{
	bool sent = ovsdb_client_was_sent(one->client);
	struct problem copy = *problem;

	if (sent)
		mark_all(one, EDIT_UNKNOWN);
	/* One that is stuck may still do it, so looking says nothing. */
	if (rc != E_UNAVAILABLE || ++one->lost >= OVSDB_CHANGE_LOST_LIMIT ||
	    ovsdb_change_look(one) != 0)
		switch_call_end(&one->call, rc, NULL, &copy);
}

/* --- the data plane --- */

static void ovsdb_change_on_awaited(void *context, int rc, json_t *result,
				    const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	/* Of the wait, of what forgets, or one more than these: of the commit (RFC 7047 4.1.3). */
	size_t failed = 0;
	size_t count = json_array_size(result);
	struct problem late;

	if (rc) {
		ovsdb_change_lose(one, rc, problem);
		return;
	}
	while (failed < count && !json_object_get(json_array_get(result, failed), "error"))
		failed++;
	if (failed > 0 && failed < count) {
		mark_all(one, EDIT_UNKNOWN);
		problem_set(&late, E_CONFLICT, "its learned addresses cannot be cleared");
		problem_detail(&late,
			       "the change is done; an address may be known at a port that is no "
			       "longer in its VLAN");
		problem_hint(&late,
			     "the role of its ovsdb-server (RBAC) must let us change Bridge");
		ovsdb_switch_fail(one, &late);
		return;
	}
	if (failed < count) {
		mark_all(one, EDIT_UNKNOWN);
		problem_set(&late, E_TIMEOUT, "its data plane does not follow its database");
		problem_detail(&late, "the change is in the database; ovs-vswitchd has not said "
				      "that it is done (cur_cfg)");
		problem_hint(&late, "is ovs-vswitchd running there?");
		ovsdb_switch_fail(one, &late);
		return;
	}
	mark_all(one, EDIT_TAKEN);
	switch_call_end(&one->call, 0, NULL, NULL);
}

static bool moves_ports(const struct switch_request *request)
{
	for (size_t i = 0; i < request->edit_count; i++) {
		if (request->edits[i].kind == EDIT_PORT)
			return true;
	}
	return false;
}

static void await_config(struct ovsdb_switch *one, json_int_t config)
{
	int64_t most_ms =
		one->call.deadline_ms - clock_monotonic_ms() - OVSDB_CHANGE_AWAIT_SPARE_MS;
	json_t *params;

	if (most_ms > OVSDB_CHANGE_AWAIT_MOST_MS)
		most_ms = OVSDB_CHANGE_AWAIT_MOST_MS;
	if (most_ms < 0)
		most_ms = 0;
	params = moves_ports(one->call.request)
			 ? ovsdb_plan_await_and_forget(&one->facts, config, most_ms)
			 : ovsdb_plan_await(config, most_ms);
	mark_all(one, EDIT_UNKNOWN);
	if (!params || ovsdb_client_transact(one->client, params,
					     (uint32_t)most_ms + OVSDB_CHANGE_AWAIT_SPARE_MS,
					     one->call.deadline_ms, ovsdb_change_on_awaited, one))
		ovsdb_switch_no_memory(one);
}

/* --- the transaction --- */

static void ovsdb_change_on_transacted(void *context, int rc, json_t *result,
				       const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem why = {0};
	json_int_t config = 0;
	size_t bad = 0;

	if (rc) {
		ovsdb_change_lose(one, rc, problem);
		return;
	}
	rc = ovsdb_plan_judge(&one->plan, result, &config, &bad, &why);
	if (rc == 0) {
		await_config(one, config);
		return;
	}
	/* The transaction was given up as a whole. */
	if (rc == E_PROTOCOL)
		mark_all(one, EDIT_UNKNOWN);
	else
		one->call.request->results[bad < one->call.request->edit_count ? bad : 0] =
			EDIT_REFUSED;
	ovsdb_switch_fail(one, &why);
}

static void ovsdb_change_on_facts(struct ovsdb_switch *one, int rc, const struct problem *problem)
{
	const struct switch_request *request = one->call.request;
	const json_t *system = one->facts.system;
	struct problem why = {0};
	size_t bad = 0;

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	mark_all(one, EDIT_NOT_TRIED);
	ovsdb_plan_done(&one->plan);
	rc = ovsdb_plan_make(&one->facts, request->edits, request->edit_count, &one->plan, &bad,
			     &why);
	if (rc == -ENOMEM) {
		ovsdb_switch_no_memory(one);
	} else if (rc) {
		request->results[bad] = EDIT_REFUSED;
		ovsdb_switch_fail(one, &why);
	} else if (one->plan.params) {
		if (ovsdb_switch_ask(one, json_incref(one->plan.params),
				     ovsdb_change_on_transacted))
			ovsdb_switch_no_memory(one);
	} else if (one->lost > 0 ||
		   ovsdb_integer(system, "cur_cfg", 0) < ovsdb_integer(system, "next_cfg", 0)) {
		/* Of a connection that was lost it is not known how far it came. */
		await_config(one, ovsdb_integer(system, "next_cfg", 0));
	} else {
		mark_all(one, EDIT_TAKEN);
		switch_call_end(&one->call, 0, NULL, NULL);
	}
}

static int ovsdb_change_look(struct ovsdb_switch *one)
{
	return ovsdb_switch_look(one, FACTS_VLANS, ovsdb_change_on_facts);
}

int ovsdb_change_start(struct ovsdb_switch *one)
{
	const struct switch_request *request = one->call.request;

	if (request->edit_count > OVSDB_PLAN_EDITS)
		return -ENOMEM;
	return ovsdb_change_look(one);
}

/* --- SWITCH_SAVE --- */

static void ovsdb_change_on_saved(void *context, int rc, json_t *result,
				  const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem why;

	if (rc == 0 && json_object_get(json_array_get(result, 0), "error")) {
		problem_set(&why, E_UNAVAILABLE, "its database cannot be written to disk");
		ovsdb_switch_fail(one, &why);
		return;
	}
	switch_call_end(&one->call, rc, NULL, problem);
}

/* The database is the configuration it starts with, and each change was made durable; this makes
 * what others wrote durable as well. */
int ovsdb_save_start(struct ovsdb_switch *one)
{
	return ovsdb_switch_ask(
		one, json_pack("[s,{s:s,s:b}]", "Open_vSwitch", "op", "commit", "durable", true),
		ovsdb_change_on_saved);
}
