/* A transaction that states the whole of something (mirror sessions, an aggregate), and the data
 * plane that follows it. Whoever asks, asks again when the connection ends in between: once more
 * does no harm. Changes of ports are told edit by edit: ovsdb_change.c. */
#include <errno.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { OVSDB_TRANSACT_AWAIT_SPARE_MS = 300, OVSDB_TRANSACT_AWAIT_MOST_MS = 10000 };

static void mark_planned(const struct ovsdb_switch *one, enum edit_result result)
{
	for (size_t i = 0; i < one->call.request->mirror_count; i++) {
		if (one->call.request->results[i] == EDIT_NOT_TRIED ||
		    one->call.request->results[i] == EDIT_UNKNOWN)
			one->call.request->results[i] = result;
	}
}

static void on_followed(void *context, int rc, json_t *result, const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem late;

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	if (json_object_get(json_array_get(result, 0), "error")) {
		(void)problem_set(&late, E_TIMEOUT, "its data plane does not follow its database");
		problem_hint(&late, "is ovs-vswitchd running there?");
		ovsdb_switch_fail(one, &late);
		return;
	}
	mark_planned(one, EDIT_TAKEN);
	switch_call_end(&one->call, 0, NULL, NULL);
}

static void ovsdb_transact_on_transacted(void *context, int rc, json_t *result,
					 const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	int64_t most_ms =
		one->call.deadline_ms - clock_monotonic_ms() - OVSDB_TRANSACT_AWAIT_SPARE_MS;
	struct problem why = {0};
	json_int_t config = 0;
	json_t *params;
	size_t bad = 0;

	if (rc) {
		mark_planned(one, EDIT_UNKNOWN);
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	rc = ovsdb_plan_judge(&one->plan, result, &config, &bad, &why);
	if (rc) {
		mark_planned(one, rc == E_PROTOCOL ? EDIT_UNKNOWN : EDIT_REFUSED);
		ovsdb_switch_fail(one, &why);
		return;
	}
	mark_planned(one, EDIT_UNKNOWN);
	if (most_ms > OVSDB_TRANSACT_AWAIT_MOST_MS)
		most_ms = OVSDB_TRANSACT_AWAIT_MOST_MS;
	if (most_ms < 0)
		most_ms = 0;
	params = ovsdb_plan_await(config, most_ms);
	if (!params || ovsdb_client_transact(one->client, params,
					     (uint32_t)most_ms + OVSDB_TRANSACT_AWAIT_SPARE_MS,
					     one->call.deadline_ms, on_followed, one))
		ovsdb_switch_no_memory(one);
}

void ovsdb_switch_transact(struct ovsdb_switch *one, const struct problem *why)
{
	if (why)
		ovsdb_switch_fail(one, why);
	else if (!one->plan.params)
		switch_call_end(&one->call, 0, NULL, NULL);
	else if (ovsdb_switch_ask(one, json_incref(one->plan.params), ovsdb_transact_on_transacted))
		ovsdb_switch_no_memory(one);
}
