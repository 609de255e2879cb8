/* The queue of switches on a scripted driver: what its tests share. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_queue.h"
#include "tests/support/cmocka.h"

enum { SWITCHES = 60, LIMIT_MS = 8000, BREAKER_TRIES = 3 };

/* What the scripted switch number n does. */
struct script {
	int rc;
	int64_t takes_ms; /* -1: never ends, as a hung thread */
	bool cannot_cancel;
	const char *object_id;
};

struct session {
	struct lab *lab;
	int64_t id;
	char family[24];
	const struct switch_request *request;
	switch_call_fn fn;
	void *context;
	struct loop_timer *timer;
};

struct lab {
	struct loop *loop;
	struct switch_queue *queue;
	struct script scripts[SWITCHES];
	unsigned started, cancelled, closed, opened;
	unsigned at_once, most_at_once;
	char log[512]; /* first letters of what was started at switch 1 */
	/* answers */
	unsigned answers;
	int rc[256];
	struct problem problem;
	enum edit_result result;
	size_t ports;
	char family[24];
	const char *driver; /* of the last session that was opened */
	unsigned wanted;
	bool expired;
};

static struct lab *lab_now; /* drivers know their host only */

/* --- the driver --- */

static inline int scripted_open(const struct switch_endpoint *endpoint,
				const struct switch_family *family, const struct switch_host *host,
				void **ret_session, struct problem *problem);

static inline void scripted_end(void *context)
{
	struct session *session = context;
	const struct script *script = &session->lab->scripts[session->id];
	const struct switch_request *request = session->request;
	struct switch_reading reading = {.parts = request->parts};
	struct problem problem = {0};
	switch_call_fn fn = session->fn;

	session->fn = NULL;
	session->lab->at_once--;
	for (size_t i = 0; i < request->edit_count; i++)
		request->results[i] = script->rc ? EDIT_UNKNOWN : EDIT_TAKEN;
	if (script->rc) {
		(void)problem_set(&problem, script->rc, "scripted");
		fn(session->context, script->rc, NULL, &problem);
		return;
	}
	if (script->object_id)
		(void)text_copy(reading.identity.object_id, sizeof(reading.identity.object_id),
				script->object_id);
	reading.ports = calloc(1, sizeof(*reading.ports));
	reading.port_count = 1;
	fn(session->context, 0, request->op == SWITCH_READ ? &reading : NULL, NULL);
	switch_reading_done(&reading);
}

static inline int scripted_start(void *state, const struct switch_request *request,
				 int64_t deadline_ms, switch_call_fn fn, void *context)
{
	struct session *session = state;
	struct lab *lab = session->lab;
	size_t used = strlen(lab->log);
	char letter = 'r';

	(void)deadline_ms;
	if (request->op == SWITCH_CHANGE)
		letter = 'C';
	else if (request->port[0])
		letter = request->port[0];
	assert_null(session->fn); /* never two at once */
	session->request = request;
	session->fn = fn;
	session->context = context;
	lab->started++;
	if (++lab->at_once > lab->most_at_once)
		lab->most_at_once = lab->at_once;
	if (session->id == 1 && used + 1 < sizeof(lab->log))
		lab->log[used] = letter;
	if (lab->scripts[session->id].takes_ms >= 0)
		loop_timer_arm(session->timer, lab->scripts[session->id].takes_ms);
	return 0;
}

static inline bool scripted_cancel(void *state)
{
	struct session *session = state;

	if (session->lab->scripts[session->id].cannot_cancel)
		return false;
	loop_timer_disarm(session->timer);
	session->fn = NULL;
	session->lab->cancelled++;
	session->lab->at_once--;
	return true;
}

static inline void scripted_close(void *state)
{
	struct session *session = state;

	session->lab->at_once -= session->fn != NULL;
	session->lab->closed++;
	loop_timer_free(session->timer);
	free(session);
}

#define SCRIPTED(word, opens)                                                                \
	.name = (word), .open = (opens), .start = scripted_start, .cancel = scripted_cancel, \
	.close = scripted_close
static const struct switch_driver scripted = {SCRIPTED("scripted", scripted_open),
					      .locks_out = true};
static const struct switch_driver scripted_writer = {SCRIPTED("writer", scripted_open),
						     .locks_out = true};

static inline int scripted_open(const struct switch_endpoint *endpoint,
				const struct switch_family *family, const struct switch_host *host,
				void **ret_session, struct problem *problem)
{
	struct session *session = calloc(1, sizeof(*session));

	(void)problem;
	assert_non_null(session);
	session->lab = lab_now;
	session->id = endpoint->id;
	(void)text_copy(session->family, sizeof(session->family), family->name);
	assert_int_equal(loop_timer_new(host->loop, scripted_end, session, &session->timer), 0);
	lab_now->opened++;
	lab_now->driver = "scripted";
	*ret_session = session;
	return 0;
}

static inline int agent_open(const struct switch_endpoint *endpoint,
			     const struct switch_family *family, const struct switch_host *host,
			     void **ret_session, struct problem *problem)
{
	int rc = scripted_open(endpoint, family, host, ret_session, problem);

	lab_now->driver = "snmp";
	return rc;
}

static inline int shell_open(const struct switch_endpoint *endpoint,
			     const struct switch_family *family, const struct switch_host *host,
			     void **ret_session, struct problem *problem)
{
	int rc = scripted_open(endpoint, family, host, ret_session, problem);

	lab_now->driver = "cli";
	return rc;
}

static const struct switch_driver scripted_agent = {SCRIPTED("snmp", agent_open),
						    .refuses_mutely = true};
static const struct switch_driver scripted_shell = {SCRIPTED("cli", shell_open), .locks_out = true};

/* --- families --- */

#define FAMILY(word, reads, writes)                                               \
	{                                                                         \
		.name = (word), .read_driver = (reads), .write_driver = (writes), \
		.change_timeout_ms = 5000                                         \
	}
static const struct switch_family plain = FAMILY("plain", "scripted", "scripted");
static const struct switch_family vendor = FAMILY("vendor", "scripted", "writer");
static const struct switch_family agent = FAMILY("agent", "snmp", "snmp");
static const struct switch_family shell = FAMILY("shell", "cli", "cli");

static const struct switch_driver *find_driver(const char *name)
{
	return strcmp(name, "scripted") == 0 ? &scripted
	       : strcmp(name, "writer") == 0 ? &scripted_writer
	       : strcmp(name, "cli") == 0    ? &scripted_shell
	       : strcmp(name, "snmp") == 0   ? &scripted_agent
					     : NULL;
}

static const struct switch_family *find_family(const char *name)
{
	return strcmp(name, "plain") == 0    ? &plain
	       : strcmp(name, "vendor") == 0 ? &vendor
	       : strcmp(name, "shell") == 0  ? &shell
	       : strcmp(name, "agent") == 0  ? &agent
					     : NULL;
}

static const struct switch_family *detect_family(const char *object_id, const char *text)
{
	(void)text;
	return strcmp(object_id, ".1.2.3") == 0   ? &vendor
	       : strcmp(object_id, ".1.2.4") == 0 ? &shell
						  : &plain;
}

/* --- the lab --- */

static inline void put(struct lab *lab, int64_t id, const char *family, const char *address)
{
	struct switch_endpoint endpoint = {.id = id};
	struct problem problem = {0};

	(void)text_format(endpoint.name, sizeof(endpoint.name), "s%d", (int)id);
	(void)text_copy(endpoint.family, sizeof(endpoint.family), family);
	(void)text_copy(endpoint.address, sizeof(endpoint.address), address);
	assert_int_equal(switch_queue_put(lab->queue, &endpoint, &problem), 0);
}

static inline int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct switch_queue_options options = {.catalog = {find_driver, find_family, detect_family},
					       .failing_calls = 2};

	assert_non_null(lab);
	assert_int_equal(loop_new(&lab->loop), 0);
	options.host.loop = lab->loop;
	assert_int_equal(switch_queue_new(&options, &lab->queue), 0);
	lab_now = lab;
	for (int id = 1; id < SWITCHES; id++)
		put(lab, id, "plain", "192.0.2.1");
	*state = lab;
	return 0;
}

static inline int stop(void **state)
{
	struct lab *lab = *state;

	switch_queue_free(lab->queue);
	assert_int_equal(lab->opened, lab->closed);
	loop_free(lab->loop);
	free(lab);
	return 0;
}

static inline void on_answer(void *context, const struct switch_answer *answer)
{
	struct lab *lab = context;

	lab->rc[lab->answers++ % 256] = answer->rc;
	assert_int_equal(answer->rc == 0, answer->problem == NULL);
	if (answer->problem)
		lab->problem = *answer->problem;
	if (answer->edit_count)
		lab->result = answer->results[0];
	lab->ports = answer->reading ? answer->reading->port_count : 0;
	if (answer->reading)
		(void)text_copy(lab->family, sizeof(lab->family), answer->reading->identity.family);
	if (lab->answers == lab->wanted)
		loop_stop(lab->loop);
}

static inline uint64_t ask(struct lab *lab, int64_t id, enum switch_op op,
			   enum call_priority priority, char mark, uint32_t deadline_ms)
{
	const struct switch_edit edit = {.kind = EDIT_VLAN_CREATE, .vlan = 100};
	struct switch_request request = {.op = op, .parts = PART_IDENTITY, .port = {mark}};
	struct switch_ask ask = {.switch_id = id,
				 .request = &request,
				 .priority = priority,
				 .deadline_ms = deadline_ms};
	uint64_t ticket = 0;

	if (op == SWITCH_CHANGE) {
		request.edits = &edit; /* gone after the call: the queue has its own */
		request.edit_count = 1;
	}
	assert_int_equal(switch_queue_submit(lab->queue, &ask, on_answer, lab, &ticket), 0);
	return ticket;
}

static inline void on_limit(void *context)
{
	struct lab *lab = context;

	lab->expired = true;
	loop_stop(lab->loop);
}

static inline bool wait_answers(struct lab *lab, unsigned count)
{
	struct loop_timer *timer = NULL;

	lab->expired = false;
	lab->wanted = count;
	assert_int_equal(loop_timer_new(lab->loop, on_limit, lab, &timer), 0);
	loop_timer_arm(timer, LIMIT_MS);
	if (lab->answers < count)
		loop_run(lab->loop);
	loop_timer_free(timer);
	return !lab->expired && lab->answers == count;
}

static inline void run_for(struct lab *lab, int64_t ms)
{
	struct loop_timer *timer = NULL;

	lab->wanted = 0;
	assert_int_equal(loop_timer_new(lab->loop, on_limit, lab, &timer), 0);
	loop_timer_arm(timer, ms);
	loop_run(lab->loop);
	loop_timer_free(timer);
}
