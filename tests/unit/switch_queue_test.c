// links: peregrine_switch common_io common_base
/* The queue on a scripted driver: order, one call at a time, giving way, deadlines, breakers,
 * cancel, change of endpoint, and that nothing of one switch waits for another. */
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

static int scripted_open(const struct switch_endpoint *endpoint, const struct switch_family *family,
			 const struct switch_host *host, void **ret_session,
			 struct problem *problem);

static void scripted_end(void *context)
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

static int scripted_start(void *state, const struct switch_request *request, int64_t deadline_ms,
			  switch_call_fn fn, void *context)
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

static bool scripted_cancel(void *state)
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

static void scripted_close(void *state)
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

static int scripted_open(const struct switch_endpoint *endpoint, const struct switch_family *family,
			 const struct switch_host *host, void **ret_session,
			 struct problem *problem)
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

static int agent_open(const struct switch_endpoint *endpoint, const struct switch_family *family,
		      const struct switch_host *host, void **ret_session, struct problem *problem)
{
	int rc = scripted_open(endpoint, family, host, ret_session, problem);

	lab_now->driver = "snmp";
	return rc;
}

static int shell_open(const struct switch_endpoint *endpoint, const struct switch_family *family,
		      const struct switch_host *host, void **ret_session, struct problem *problem)
{
	int rc = scripted_open(endpoint, family, host, ret_session, problem);

	lab_now->driver = "cli";
	return rc;
}

static const struct switch_driver scripted_agent = {SCRIPTED("snmp", agent_open)};
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

static void put(struct lab *lab, int64_t id, const char *family, const char *address)
{
	struct switch_endpoint endpoint = {.id = id};
	struct problem problem = {0};

	(void)text_format(endpoint.name, sizeof(endpoint.name), "s%d", (int)id);
	(void)text_copy(endpoint.family, sizeof(endpoint.family), family);
	(void)text_copy(endpoint.address, sizeof(endpoint.address), address);
	assert_int_equal(switch_queue_put(lab->queue, &endpoint, &problem), 0);
}

static int start(void **state)
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

static int stop(void **state)
{
	struct lab *lab = *state;

	switch_queue_free(lab->queue);
	assert_int_equal(lab->opened, lab->closed);
	loop_free(lab->loop);
	free(lab);
	return 0;
}

static void on_answer(void *context, const struct switch_answer *answer)
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

static uint64_t ask(struct lab *lab, int64_t id, enum switch_op op, enum call_priority priority,
		    char mark, uint32_t deadline_ms)
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

static void on_limit(void *context)
{
	struct lab *lab = context;

	lab->expired = true;
	loop_stop(lab->loop);
}

static bool wait_answers(struct lab *lab, unsigned count)
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

static void run_for(struct lab *lab, int64_t ms)
{
	struct loop_timer *timer = NULL;

	lab->wanted = 0;
	assert_int_equal(loop_timer_new(lab->loop, on_limit, lab, &timer), 0);
	loop_timer_arm(timer, ms);
	loop_run(lab->loop);
	loop_timer_free(timer);
}

/* --- tests --- */

static void readings_come(void **state)
{
	struct lab *lab = *state;

	ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
	assert_int_equal(lab->answers, 0); /* never from inside the call */
	assert_true(wait_answers(lab, 1));
	assert_int_equal(lab->rc[0], 0);
	assert_int_equal(lab->ports, 1);
	assert_string_equal(lab->family, "plain");
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->result, EDIT_TAKEN);
	ask(lab, 999, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 3));
	assert_int_equal(lab->rc[2], E_NOT_FOUND);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
}

static void higher_before_lower_but_not_for_ever(void **state)
{
	struct lab *lab = *state;

	for (int i = 0; i < 6; i++)
		ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 0);
	for (int i = 0; i < 2; i++)
		ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 9));
	/* one change, then people; after four in a row the next priority has its turn */
	assert_string_equal(lab->log, "Cppplpppl");
}

static void a_look_gives_way(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 300;
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	run_for(lab, 20);
	assert_string_equal(lab->log, "l");
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_string_equal(lab->log, "lCl");
	assert_int_equal(lab->cancelled, 1);
	assert_int_equal(lab->rc[0], 0);
	assert_int_equal(lab->rc[1], 0);
}

static void a_change_is_never_broken_off(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 100;
	uint64_t ticket = ask(lab, 1, SWITCH_CHANGE, CALL_POLL, 0, 0);
	run_for(lab, 10);
	ask(lab, 1, SWITCH_READ, CALL_CHANGE, 'p', 0);
	switch_queue_cancel(lab->queue, ticket); /* unheard, but not recalled */
	assert_true(wait_answers(lab, 1));
	assert_string_equal(lab->log, "Cp");
	assert_int_equal(lab->cancelled, 0);
}

static void switches_do_not_wait_for_each_other(void **state)
{
	struct lab *lab = *state;

	for (int id = 1; id < SWITCHES; id++)
		lab->scripts[id].takes_ms = id == 7 ? -1 : 50;
	for (int id = 1; id < SWITCHES; id++)
		ask(lab, id, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, SWITCHES - 2));
	assert_int_equal(lab->most_at_once, SWITCHES - 1);
}

static void deadlines_hold(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1] = (struct script){.takes_ms = -1, .cannot_cancel = true};
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 100);
	ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 150);
	assert_true(wait_answers(lab, 1));
	assert_int_equal(lab->rc[0], E_TIMEOUT);
	assert_non_null(strstr(lab->problem.message, "the call did not start in time"));
	assert_true(wait_answers(lab, 2)); /* with its grace */
	assert_int_equal(lab->rc[1], E_TIMEOUT);
	assert_int_equal(lab->result, EDIT_UNKNOWN);
	assert_non_null(strstr(lab->problem.detail, "may have been made"));
}

static void the_silent_are_left_alone(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	lab->scripts[1].rc = E_TIMEOUT;
	for (unsigned i = 1; i <= BREAKER_TRIES; i++) {
		ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
		assert_true(wait_answers(lab, i));
		assert_int_equal(lab->rc[i - 1], E_TIMEOUT);
	}
	assert_true(switch_queue_state(lab->queue, 1, &seen));
	assert_true(seen.open && !seen.refused);
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 1));
	assert_int_equal(lab->rc[BREAKER_TRIES], E_UNAVAILABLE);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
	assert_non_null(strstr(lab->problem.message, "does not answer"));
	assert_string_equal(lab->log, "lll");
	/* Another way to it: asked at once. */
	lab->scripts[1].rc = 0;
	put(lab, 1, "plain", "192.0.2.9");
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 2));
	assert_int_equal(lab->rc[BREAKER_TRIES + 1], 0);
}

static const struct switch_request person_request = {
	.op = SWITCH_READ, .parts = PART_IDENTITY, .port = "n"};
static const struct switch_ask person_now = {
	.switch_id = 1, .request = &person_request, .priority = CALL_PERSON, .now = true};

/* user 9: `switch read` of a switch in back-off asks the switch, not the clock. */
static void a_person_passes_the_back_off(void **state)
{
	struct lab *lab = *state;
	struct switch_state before, after;

	lab->scripts[1].rc = E_TIMEOUT;
	for (unsigned i = 1; i <= BREAKER_TRIES; i++) {
		ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
		assert_true(wait_answers(lab, i));
	}
	/* Still silent: the wish costs one try, and the beat of our own stays. */
	assert_true(switch_queue_state(lab->queue, 1, &before));
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 1));
	assert_int_equal(lab->rc[BREAKER_TRIES], E_TIMEOUT);
	assert_true(switch_queue_state(lab->queue, 1, &after) && after.open);
	assert_int_equal(after.retry_ms, before.retry_ms);
	/* Back again: heard at once, and so is everybody. */
	lab->scripts[1].rc = 0;
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 2));
	assert_int_equal(lab->rc[BREAKER_TRIES + 1], 0);
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 3));
	assert_int_equal(lab->rc[BREAKER_TRIES + 2], 0);
	assert_string_equal(lab->log, "lllnnl");
	/* Credentials that were refused are not tried more often for it. */
	lab->scripts[1].rc = E_AUTHENTICATION;
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 4));
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, BREAKER_TRIES + 5));
	assert_int_equal(lab->rc[BREAKER_TRIES + 4], E_UNAVAILABLE);
}

/* An agent that has just started refuses its users for a moment. */
static void refused_by_snmp_is_no_lock(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	put(lab, 1, "agent", "192.0.2.1");
	lab->scripts[1].rc = E_AUTHENTICATION;
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, 1));
	assert_true(switch_queue_state(lab->queue, 1, &seen) && seen.open && seen.refused);
	assert_true(seen.retry_ms <= clock_monotonic_ms() + 60000);
	for (unsigned i = 2; i <= 4; i++) { /* a person may ask each time */
		assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL),
				 0);
		assert_true(wait_answers(lab, i));
		assert_int_equal(lab->rc[i - 1], E_AUTHENTICATION);
	}
	lab->scripts[1].rc = 0;
	assert_int_equal(switch_queue_submit(lab->queue, &person_now, on_answer, lab, NULL), 0);
	assert_true(wait_answers(lab, 5) && lab->rc[4] == 0);
}

/* A wrong password for writing does not stop reading. */
static void each_way_has_its_breaker(void **state)
{
	struct lab *lab = *state;

	put(lab, 1, "vendor", "192.0.2.1");
	lab->scripts[1].rc = E_AUTHENTICATION;
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 1));
	lab->scripts[1].rc = 0;
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->rc[1], E_UNAVAILABLE);
	assert_non_null(strstr(lab->problem.message, "credentials"));
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	assert_true(wait_answers(lab, 3));
	assert_int_equal(lab->rc[2], 0);
}

static void the_failing_share_few_places(void **state)
{
	struct lab *lab = *state;

	for (int id = 1; id <= 10; id++)
		lab->scripts[id] = (struct script){.rc = E_TIMEOUT};
	for (int id = 1; id <= 10; id++)
		ask(lab, id, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 10));
	lab->most_at_once = 0;
	for (int id = 1; id <= 12; id++) {
		lab->scripts[id] = (struct script){.takes_ms = 30};
		ask(lab, id, SWITCH_READ, CALL_POLL, 0, 0);
	}
	assert_true(wait_answers(lab, 22));
	assert_int_equal(lab->most_at_once, 4); /* two that failed, two that did not */
}

static void families_are_found(void **state)
{
	struct lab *lab = *state;
	struct switch_state seen;

	put(lab, 1, "", "192.0.2.1");
	lab->scripts[1].object_id = ".1.2.3";
	ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 1));
	assert_string_equal(lab->family, "vendor");
	assert_true(switch_queue_state(lab->queue, 1, &seen));
	assert_ptr_equal(seen.family, &vendor);
	/* One that an operator named stays. */
	lab->scripts[2].object_id = ".1.2.3";
	ask(lab, 2, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_string_equal(lab->family, "plain");
}

/* Switches 5: a switch that nobody knows is read, and set when an operator has said how. */
static void unknown_switches_are_never_set(void **state)
{
	struct lab *lab = *state;
	struct problem lacks = {0};
	unsigned started;

	put(lab, 1, "", "192.0.2.2");
	lab->scripts[1].object_id = ".1.9.9";
	assert_false(switch_queue_lacks(lab->queue, 1, &lacks));
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0); /* it could be anything */
	assert_true(wait_answers(lab, 1));
	assert_int_equal(lab->rc[0], E_UNAVAILABLE);
	ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->rc[1], 0);
	assert_true(switch_queue_lacks(lab->queue, 1, &lacks));
	assert_int_equal(lacks.code, E_DENIED);
	assert_non_null(strstr(lacks.hint, "haasctl switch add s1 --family"));
	started = lab->started;
	for (int op = SWITCH_CHANGE; op < SWITCH_HEALTH; op++)
		ask(lab, 1, (enum switch_op)op, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 2 + SWITCH_HEALTH - SWITCH_CHANGE));
	for (unsigned i = 2; i < lab->answers; i++)
		assert_int_equal(lab->rc[i], E_DENIED);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
	assert_int_equal(lab->started, started);
	put(lab, 1, "plain", "192.0.2.2");
	assert_false(switch_queue_lacks(lab->queue, 1, &lacks));
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 3 + SWITCH_HEALTH - SWITCH_CHANGE));
	assert_int_equal(lab->result, EDIT_TAKEN);
}

/* Switches 10: found to be of a family with a command line, without a user for it. */
static void without_ssh_a_switch_is_read_by_snmp(void **state)
{
	struct switch_endpoint endpoint = {
		.id = 1, .name = "s1", .address = "192.0.2.3", .snmp_community = "public"};
	struct lab *lab = *state;
	struct problem problem = {0};

	assert_int_equal(switch_queue_put(lab->queue, &endpoint, &problem), 0);
	lab->scripts[1].object_id = ".1.2.4";
	for (unsigned i = 0; i < 2; i++) { /* the second is of the family that the first found */
		ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
		assert_true(wait_answers(lab, i + 1));
		assert_int_equal(lab->rc[i], 0);
		assert_string_equal(lab->family, "shell");
		assert_string_equal(lab->driver, i ? "snmp" : "scripted");
	}
	assert_true(switch_queue_lacks(lab->queue, 1, &problem));
	assert_non_null(strstr(problem.hint, "haasctl switch add s1 --ssh-user"));
	ask(lab, 1, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	assert_true(wait_answers(lab, 3));
	assert_int_equal(lab->rc[2], E_DENIED);
	assert_int_equal(lab->result, EDIT_NOT_TRIED);
	(void)text_copy(endpoint.ssh_user, sizeof(endpoint.ssh_user), "admin");
	assert_int_equal(switch_queue_put(lab->queue, &endpoint, &problem), 0);
	for (unsigned i = 0; i < 2; i++) {
		ask(lab, 1, SWITCH_READ, CALL_POLL, 0, 0);
		assert_true(wait_answers(lab, i + 4));
	}
	assert_string_equal(lab->driver, "cli");
	assert_false(switch_queue_lacks(lab->queue, 1, &problem));
}

static void a_new_way_in(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 200;
	lab->scripts[2].takes_ms = 200;
	ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 0);
	ask(lab, 2, SWITCH_CHANGE, CALL_CHANGE, 0, 0);
	run_for(lab, 20);
	put(lab, 1, "plain", "192.0.2.1"); /* the same: nothing happens */
	assert_int_equal(lab->closed, 0);
	put(lab, 1, "plain", "192.0.2.2");
	put(lab, 2, "plain", "192.0.2.2");
	assert_true(wait_answers(lab, 2));
	assert_string_equal(lab->log, "pp"); /* read anew */
	assert_int_equal(lab->rc[0], E_TIMEOUT);
	assert_int_equal(lab->result, EDIT_UNKNOWN);
	assert_int_equal(lab->rc[1], 0);
}

static void removed_while_asked(void **state)
{
	struct lab *lab = *state;

	lab->scripts[1].takes_ms = 200;
	ask(lab, 1, SWITCH_READ, CALL_PERSON, 'p', 0);
	ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	uint64_t ticket = ask(lab, 1, SWITCH_READ, CALL_POLL, 'l', 0);
	run_for(lab, 20);
	switch_queue_cancel(lab->queue, ticket);
	switch_queue_remove(lab->queue, 1);
	assert_true(wait_answers(lab, 2));
	assert_int_equal(lab->rc[0], E_NOT_FOUND);
	assert_int_equal(lab->rc[1], E_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(readings_come, start, stop),
		cmocka_unit_test_setup_teardown(higher_before_lower_but_not_for_ever, start, stop),
		cmocka_unit_test_setup_teardown(a_look_gives_way, start, stop),
		cmocka_unit_test_setup_teardown(a_change_is_never_broken_off, start, stop),
		cmocka_unit_test_setup_teardown(switches_do_not_wait_for_each_other, start, stop),
		cmocka_unit_test_setup_teardown(deadlines_hold, start, stop),
		cmocka_unit_test_setup_teardown(the_silent_are_left_alone, start, stop),
		cmocka_unit_test_setup_teardown(a_person_passes_the_back_off, start, stop),
		cmocka_unit_test_setup_teardown(refused_by_snmp_is_no_lock, start, stop),
		cmocka_unit_test_setup_teardown(each_way_has_its_breaker, start, stop),
		cmocka_unit_test_setup_teardown(the_failing_share_few_places, start, stop),
		cmocka_unit_test_setup_teardown(families_are_found, start, stop),
		cmocka_unit_test_setup_teardown(unknown_switches_are_never_set, start, stop),
		cmocka_unit_test_setup_teardown(without_ssh_a_switch_is_read_by_snmp, start, stop),
		cmocka_unit_test_setup_teardown(a_new_way_in, start, stop),
		cmocka_unit_test_setup_teardown(removed_while_asked, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
