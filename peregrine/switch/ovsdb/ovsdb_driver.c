#include "peregrine/switch/ovsdb/ovsdb_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { OVSDB_DRIVER_ANSWER_ROUNDS = 5 }; /* times of one round trip: a database writes to disk */

static void ovsdb_driver_forget(void *session)
{
	struct ovsdb_switch *one = session;

	ovsdb_client_forget(one->client);
	ovsdb_facts_done(&one->facts);
	ovsdb_plan_done(&one->plan);
}

static const struct switch_call_row ovsdb_driver_call = {.forget = ovsdb_driver_forget};

void ovsdb_switch_fail(struct ovsdb_switch *one, const struct problem *problem)
{
	struct problem named;

	problem_set(&named, problem->code, "switch %s: %s", one->call.endpoint.name,
		    problem->message);
	problem_detail(&named, "%s", problem->detail);
	problem_hint(&named, "%s", problem->hint);
	switch_call_end(&one->call, problem->code, NULL, &named);
}

void ovsdb_switch_no_memory(struct ovsdb_switch *one)
{
	struct problem problem;

	(void)problem_set(&problem, -ENOMEM, "no memory for a request");
	ovsdb_switch_fail(one, &problem);
}

int ovsdb_switch_ask(struct ovsdb_switch *one, json_t *params, ovsdb_answer_fn fn)
{
	uint32_t timeout_ms = switch_call_timeout_ms(&one->call);

	if (!params)
		return -ENOMEM;
	return ovsdb_client_transact(one->client, params, OVSDB_DRIVER_ANSWER_ROUNDS * timeout_ms,
				     one->call.deadline_ms, fn, one);
}

/* --- looking --- */

static void ovsdb_driver_on_look(void *context, int rc, json_t *result,
				 const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	struct problem why = {0};

	if (switch_call_may_repeat(&one->call, rc)) {
		rc = ovsdb_switch_ask(one, ovsdb_facts_ask(one->kind), ovsdb_driver_on_look);
		if (rc == 0)
			return;
		problem_set(&why, rc, "no memory for a request");
		problem = &why;
	}
	one->call.again = false;
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
	const struct switch_request *request = one->call.request;
	struct switch_reading reading = {0};
	struct problem none;

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	rc = ovsdb_reading_make(&one->facts, request->parts, request->only_ports, &reading);
	if (rc) {
		problem_set(&none, rc, "no memory for a reading");
		ovsdb_switch_fail(one, &none);
		return;
	}
	reading.requests = ovsdb_client_requests(one->client) - one->call.requests_before;
	text_copy(reading.identity.family, sizeof(reading.identity.family), one->call.family->name);
	switch_call_end(&one->call, 0, &reading, NULL);
}

static int ovsdb_driver_start_read(struct ovsdb_switch *one)
{
	return ovsdb_switch_look(one,
				 one->call.request->parts & PART_PORTS ? FACTS_WHOLE : FACTS_LOOK,
				 ovsdb_driver_on_read);
}

/* --- the driver's row --- */

static void ovsdb_driver_one_close(void *session)
{
	struct ovsdb_switch *one = session;

	if (!one)
		return;
	switch_call_close(&one->call);
	ovsdb_client_free(one->client);
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
	rc = switch_call_open(&one->call, &ovsdb_driver_call, host->loop, endpoint, family,
			      problem);
	if (!rc)
		rc = ovsdb_client_new(host->loop, &one->call.endpoint, host->ovsdb_files,
				      &one->client, problem);
	if (rc) {
		ovsdb_driver_one_close(one);
		return rc;
	}
	*ret_session = one;
	return 0;
}

static int ovsdb_driver_start_locate(struct ovsdb_switch *one)
{
	(void)problem_set(&one->call.early, E_UNSUPPORTED,
			  "switch %s cannot blink a port's LED by OVSDB", one->call.endpoint.name);
	return E_UNSUPPORTED;
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

	switch_call_begin(&one->call, request, deadline_ms, fn, context);
	one->lost = 0;
	ovsdb_client_guard(one->client, request->fence);
	one->call.requests_before = ovsdb_client_requests(one->client);
	one->call.again = ovsdb_client_is_open(one->client);
	return switch_call_begun(&one->call, ovsdb_driver_starts[request->op](one));
}

static bool ovsdb_driver_one_cancel(void *session)
{
	struct ovsdb_switch *one = session;

	(void)switch_call_forget(&one->call);
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
