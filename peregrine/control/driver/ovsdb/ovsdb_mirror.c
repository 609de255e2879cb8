/* SWITCH_MIRROR: what there is is read, one transaction makes it what is wanted, and the data plane
 * says that it has it. Whoever asks, asks again when the connection ends in between: it states the
 * whole, so once more does no harm. */
#include <errno.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/control/driver/ovsdb/ovsdb_mirror_policy.h"
#include "peregrine/control/driver/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { AWAIT_SPARE_MS = 300, AWAIT_MOST_MS = 10000 };

static void fail_without_memory(struct ovsdb_switch *one)
{
	struct problem problem;

	(void)problem_set(&problem, -ENOMEM, "no memory for a change");
	ovsdb_switch_fail(one, &problem);
}

static void mark_planned(const struct ovsdb_switch *one, enum edit_result result)
{
	for (size_t i = 0; i < one->request->mirror_count; i++) {
		if (one->request->results[i] == EDIT_NOT_TRIED ||
		    one->request->results[i] == EDIT_UNKNOWN)
			one->request->results[i] = result;
	}
}

static void on_followed(void *context, int rc, json_t *result, const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem late;

	if (rc) {
		ovsdb_switch_end(one, rc, NULL, problem);
		return;
	}
	if (json_object_get(json_array_get(result, 0), "error")) {
		(void)problem_set(&late, E_TIMEOUT, "its data plane does not follow its database");
		problem_hint(&late, "is ovs-vswitchd running there?");
		ovsdb_switch_fail(one, &late);
		return;
	}
	mark_planned(one, EDIT_TAKEN);
	ovsdb_switch_end(one, 0, NULL, NULL);
}

static void on_transacted(void *context, int rc, json_t *result, const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	int64_t most_ms = one->deadline_ms - clock_monotonic_ms() - AWAIT_SPARE_MS;
	struct problem why = {0};
	json_int_t config = 0;
	json_t *params;
	size_t bad = 0;

	if (rc) {
		mark_planned(one, EDIT_UNKNOWN);
		ovsdb_switch_end(one, rc, NULL, problem);
		return;
	}
	rc = ovsdb_plan_judge(&one->plan, result, &config, &bad, &why);
	if (rc) {
		mark_planned(one, rc == E_PROTOCOL ? EDIT_UNKNOWN : EDIT_REFUSED);
		ovsdb_switch_fail(one, &why);
		return;
	}
	mark_planned(one, EDIT_UNKNOWN);
	if (most_ms > AWAIT_MOST_MS)
		most_ms = AWAIT_MOST_MS;
	if (most_ms < 0)
		most_ms = 0;
	params = ovsdb_plan_await(config, most_ms);
	if (!params ||
	    ovsdb_client_transact(one->client, params, (uint32_t)most_ms + AWAIT_SPARE_MS,
				  one->deadline_ms, on_followed, one))
		fail_without_memory(one);
}

void ovsdb_switch_transact(struct ovsdb_switch *one)
{
	if (ovsdb_switch_ask(one, json_incref(one->plan.params), on_transacted))
		fail_without_memory(one);
}

static void on_mirrors(void *context, int rc, json_t *result, const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	const struct switch_request *request = one->request;
	struct problem why = {0};

	if (rc == E_UNAVAILABLE && one->again) {
		one->again = false;
		if (ovsdb_switch_ask(one, ovsdb_mirror_ask(), on_mirrors) != 0)
			fail_without_memory(one);
		return;
	}
	if (rc) {
		ovsdb_switch_end(one, rc, NULL, problem);
		return;
	}
	ovsdb_plan_done(&one->plan);
	rc = ovsdb_facts_make(result, FACTS_VLANS, &one->facts, &why);
	if (rc == 0)
		rc = ovsdb_mirror_plan(&one->facts, request->mirrors, request->mirror_count,
				       &one->plan, request->results, &why);
	if (rc)
		ovsdb_switch_fail(one, &why);
	else if (!one->plan.params)
		ovsdb_switch_end(one, 0, NULL, NULL);
	else
		ovsdb_switch_transact(one);
}

int ovsdb_mirror_start(struct ovsdb_switch *one)
{
	ovsdb_facts_done(&one->facts);
	for (size_t i = 0; i < one->request->mirror_count; i++)
		one->request->results[i] = EDIT_NOT_TRIED;
	return ovsdb_switch_ask(one, ovsdb_mirror_ask(), on_mirrors);
}
