#include "peregrine/switch/ovsdb/ovsdb_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { OVSDB_DRIVER_ANSWER_ROUNDS = 5 }; /* times of one round trip: a database writes to disk */

static void ovsdb_driver_call_forget(struct ovsdb_switch *one)
{
	ovsdb_client_forget(one->client);
	ovsdb_facts_done(&one->facts);
	ovsdb_plan_done(&one->plan);
	loop_timer_disarm(one->timer);
	one->fn = NULL;
}

void ovsdb_switch_end(struct ovsdb_switch *one, int rc, struct switch_reading *reading,
		      const struct problem *problem)
{
	switch_call_fn fn = one->fn;
	void *context = one->context;
	struct problem copy = problem ? *problem : (struct problem){0};

	ovsdb_driver_call_forget(one);
	fn(context, rc, reading, rc ? &copy : NULL);
}

void ovsdb_switch_fail(struct ovsdb_switch *one, const struct problem *problem)
{
	struct problem named;

	problem_set(&named, problem->code, "switch %s: %s", one->endpoint.name, problem->message);
	problem_detail(&named, "%s", problem->detail);
	problem_hint(&named, "%s", problem->hint);
	ovsdb_switch_end(one, problem->code, NULL, &named);
}

void ovsdb_switch_no_memory(struct ovsdb_switch *one)
{
	struct problem problem;

	(void)problem_set(&problem, -ENOMEM, "no memory for a request");
	ovsdb_switch_fail(one, &problem);
}

int ovsdb_switch_ask(struct ovsdb_switch *one, json_t *params, ovsdb_answer_fn fn)
{
	uint32_t timeout_ms =
		one->endpoint.timeout_ms ? one->endpoint.timeout_ms : one->family->timeout_ms;

	if (!params)
		return -ENOMEM;
	return ovsdb_client_transact(one->client, params, OVSDB_DRIVER_ANSWER_ROUNDS * timeout_ms,
				     one->deadline_ms, fn, one);
}

/* --- looking --- */

static void ovsdb_driver_on_look(void *context, int rc, json_t *result,
				 const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem why = {0};

	if (rc == E_UNAVAILABLE && one->again) {
		one->again = false;
		rc = ovsdb_switch_ask(one, ovsdb_facts_ask(one->kind), ovsdb_driver_on_look);
		if (rc == 0)
			return;
		problem_set(&why, rc, "no memory for a request");
		problem = &why;
	}
	one->again = false;
	if (rc == 0) {
		rc = ovsdb_facts_make(result, one->kind, &one->facts, &why);
		if (rc) {
			ovsdb_switch_fail(one, &why);
			return;
		}
	}
	one->done(one, rc, rc ? problem : NULL);
}

int ovsdb_switch_look(struct ovsdb_switch *one, enum ovsdb_facts_kind kind,
		      void (*done)(struct ovsdb_switch *one, int rc, const struct problem *problem))
{
	ovsdb_facts_done(&one->facts);
	one->kind = kind;
	one->done = done;
	return ovsdb_switch_ask(one, ovsdb_facts_ask(kind), ovsdb_driver_on_look);
}

static void ovsdb_driver_on_read(struct ovsdb_switch *one, int rc, const struct problem *problem)
{
	const struct switch_request *request = one->request;
	struct switch_reading reading = {0};
	struct problem none;

	if (rc) {
		ovsdb_switch_end(one, rc, NULL, problem);
		return;
	}
	rc = ovsdb_reading_make(&one->facts, request->parts, request->only_ports, &reading);
	if (rc) {
		problem_set(&none, rc, "no memory for a reading");
		ovsdb_switch_fail(one, &none);
		return;
	}
	reading.requests = ovsdb_client_requests(one->client) - one->requests_before;
	text_copy(reading.identity.family, sizeof(reading.identity.family), one->family->name);
	ovsdb_switch_end(one, 0, &reading, NULL);
}

static int ovsdb_driver_start_read(struct ovsdb_switch *one)
{
	return ovsdb_switch_look(one, one->request->parts & PART_PORTS ? FACTS_WHOLE : FACTS_LOOK,
				 ovsdb_driver_on_read);
}

/* --- the driver's row --- */

static void ovsdb_driver_on_timer(void *context)
{
	struct ovsdb_switch *one = context;
	struct problem problem = one->early;

	ovsdb_switch_end(one, one->early_rc, NULL, &problem);
}

static void ovsdb_driver_one_close(void *session)
{
	struct ovsdb_switch *one = session;

	if (!one)
		return;
	if (one->timer && one->client)
		ovsdb_driver_call_forget(one);
	ovsdb_client_free(one->client);
	loop_timer_free(one->timer);
	switch_endpoint_wipe(&one->endpoint);
	free(one);
}

static int ovsdb_driver_one_open(const struct switch_endpoint *endpoint,
				 const struct switch_family *family, const struct switch_host *host,
				 void **ret_session, struct problem *problem)
{
	struct ovsdb_switch *one = calloc(1, sizeof(*one));
	int rc;

	if (!one)
		return problem_set(problem, -ENOMEM, "no memory for a switch");
	one->endpoint = *endpoint;
	one->family = family;
	rc = loop_timer_new(host->loop, ovsdb_driver_on_timer, one, &one->timer);
	if (rc)
		problem_set(problem, rc, "no timer for a switch");
	else
		rc = ovsdb_client_new(host->loop, &one->endpoint, host->ovsdb_files, &one->client,
				      problem);
	if (rc) {
		ovsdb_driver_one_close(one);
		return rc;
	}
	*ret_session = one;
	return 0;
}

static int ovsdb_driver_start_locate(struct ovsdb_switch *one)
{
	one->early_rc =
		problem_set(&one->early, E_UNSUPPORTED,
			    "switch %s cannot blink a port's LED by OVSDB", one->endpoint.name);
	loop_timer_arm(one->timer, 0);
	return 0;
}

static int (*const ovsdb_driver_starts[SWITCH_OP_COUNT])(struct ovsdb_switch *one) = {
	[SWITCH_READ] = ovsdb_driver_start_read,  [SWITCH_CHANGE] = ovsdb_change_start,
	[SWITCH_SAVE] = ovsdb_save_start,         [SWITCH_LOCATE] = ovsdb_driver_start_locate,
	[SWITCH_SAMPLING] = ovsdb_sampling_start, [SWITCH_MIRROR] = ovsdb_mirror_start,
	[SWITCH_LAG] = ovsdb_lag_start,
};

static int ovsdb_driver_one_start(void *session, const struct switch_request *request,
				  int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct ovsdb_switch *one = session;
	int rc;

	one->request = request;
	one->fn = fn;
	one->context = context;
	one->deadline_ms = deadline_ms;
	one->early_rc = 0;
	one->lost = 0;
	one->requests_before = ovsdb_client_requests(one->client);
	one->again = ovsdb_client_is_open(one->client);
	rc = ovsdb_driver_starts[request->op](one);
	if (rc)
		ovsdb_driver_call_forget(one);
	return rc;
}

static bool ovsdb_driver_one_cancel(void *session)
{
	struct ovsdb_switch *one = session;

	if (one->fn)
		ovsdb_driver_call_forget(one);
	return true;
}

const struct switch_driver ovsdb_switch_driver = {
	.name = "ovsdb",
	.open = ovsdb_driver_one_open,
	.start = ovsdb_driver_one_start,
	.cancel = ovsdb_driver_one_cancel,
	.close = ovsdb_driver_one_close,
	.mirrors = true,
	.lag_name = ovsdb_lag_name,
};
