#include "peregrine/switch/switch_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/switch_queue_private.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	FAILING_CALLS_DEFAULT = 16,
	DEADLINE_DEFAULT_MS = 60000,
	CHANGE_DEFAULT_MS = 120000,
	EDITS_MAX = 65536,
	ONLY_PORTS_MAX = 65536
};

int switch_queue_new(const struct switch_queue_options *options, struct switch_queue **ret)
{
	struct switch_queue *queue = calloc(1, sizeof(*queue));
	int rc;

	if (!queue)
		return -ENOMEM;
	queue->options = *options;
	if (queue->options.failing_calls == 0)
		queue->options.failing_calls = FAILING_CALLS_DEFAULT;
	rc = call_queue_open(&queue->calls, options->host.loop, call_deliver);
	if (rc) {
		free(queue);
		return rc;
	}
	*ret = queue;
	return 0;
}

/* --- switches --- */

static struct line *line_find(const struct switch_queue *queue, int64_t id)
{
	struct line *line = NULL;

	HASH_FIND(hh, queue->lines, &id, sizeof(id), line);
	return line;
}

static int line_new(struct switch_queue *queue, int64_t id, struct line **ret)
{
	struct line *line = calloc(1, sizeof(*line));
	int rc = line ? loop_timer_new(queue->options.host.loop, line_pump, line, &line->wake)
		      : -ENOMEM;

	if (rc) {
		free(line);
		return rc;
	}
	line->queue = queue;
	line->id = id;
	HASH_ADD(hh, queue->lines, id, sizeof(line->id), line);
	*ret = line;
	return 0;
}

/* It changes nothing and may begin anew. */
static bool is_look(const struct call *call)
{
	return call->request.op == SWITCH_READ || call->request.op == SWITCH_APART ||
	       call->request.op == SWITCH_HEALTH;
}

/* What is under way when the sessions have to go: a reading begins anew, a change has an end that
 * nobody knows. */
static void line_break_off(struct line *line)
{
	struct call *call = line->in_flight;
	struct problem problem = {0};

	if (!call)
		return;
	line_landed(line);
	if (call->unheard) {
		call_free(call);
	} else if (is_look(call)) {
		call->state = CALL_WAITING;
		call_line_put_back(&line->waiting, &call->link);
	} else {
		(void)problem_set(
			&problem, E_TIMEOUT,
			"switch %s: its address or credentials changed during a call, which may have been executed",
			line->endpoint.name);
		problem_hint(&problem, "peregrined reads its configuration before the next edit");
		call_forget_results(call);
		call_finish(call, E_TIMEOUT, &problem);
	}
}

static void line_free(struct line *line)
{
	HASH_DELETE(hh, line->queue->lines, line);
	line_close(line);
	loop_timer_free(line->wake);
	switch_endpoint_wipe(&line->endpoint);
	free(line);
}

/* Field by field: what is unused in the arrays may differ. */
static bool switch_queue_same_access(const struct switch_endpoint *a,
				     const struct switch_endpoint *b)
{
	return strcmp(a->family, b->family) == 0 && strcmp(a->address, b->address) == 0 &&
	       a->snmp_port == b->snmp_port && a->cli_port == b->cli_port &&
	       a->netconf_port == b->netconf_port && a->ovsdb_port == b->ovsdb_port &&
	       strcmp(a->snmp_community, b->snmp_community) == 0 &&
	       strcmp(a->snmp_write_community, b->snmp_write_community) == 0 &&
	       strcmp(a->snmp_user, b->snmp_user) == 0 && a->snmp_auth == b->snmp_auth &&
	       a->snmp_priv == b->snmp_priv &&
	       strcmp(a->snmp_auth_secret, b->snmp_auth_secret) == 0 &&
	       strcmp(a->snmp_priv_secret, b->snmp_priv_secret) == 0 &&
	       strcmp(a->ssh_user, b->ssh_user) == 0 &&
	       strcmp(a->ssh_password, b->ssh_password) == 0 &&
	       strcmp(a->ssh_enable, b->ssh_enable) == 0 && strcmp(a->host_key, b->host_key) == 0 &&
	       a->host_key_any == b->host_key_any && a->ssh_insecure == b->ssh_insecure &&
	       a->snmp_insecure == b->snmp_insecure && strcmp(a->ovsdb_peer, b->ovsdb_peer) == 0 &&
	       a->timeout_ms == b->timeout_ms && a->retries == b->retries;
}

int switch_queue_put(struct switch_queue *queue, const struct switch_endpoint *endpoint,
		     struct problem *problem)
{
	const struct switch_catalog *catalog = &queue->options.catalog;
	const struct switch_family *family = endpoint->family[0]
						     ? catalog->find_family(endpoint->family)
						     : catalog->detect_family("", "");
	struct line *line = line_find(queue, endpoint->id);
	int rc;

	if (!family) {
		(void)problem_set(problem, -EINVAL, "switch %s: there is no family '%s'",
				  endpoint->name, endpoint->family);
		problem_hint(problem, "peregrined(8) lists them; without one sysObjectID decides");
		return problem->code;
	}
	if (line && switch_queue_same_access(&line->endpoint, endpoint)) {
		line->endpoint = *endpoint; /* it may have a new name */
		return 0;
	}
	if (line) {
		line_break_off(line);
		line_close(line);
	} else {
		rc = line_new(queue, endpoint->id, &line);
		if (rc)
			return problem_set(problem, rc, "switch %s: no memory", endpoint->name);
	}
	for (int way = 0; way < WAY_COUNT; way++)
		line->ways[way].breaker = (struct breaker){0};
	line->endpoint = *endpoint;
	line->family = family;
	line->heard = endpoint->family[0] != '\0';
	line->problem = (struct problem){0};
	loop_timer_arm(line->wake, 0);
	return 0;
}

static void line_finish_all(struct line *line, int rc, const struct problem *problem)
{
	struct call_link *link;

	line_break_off(line);
	while ((link = call_line_first(&line->waiting)))
		call_finish(CONTAINER_OF(link, struct call, link), rc, problem);
}

static void text_unknown(int64_t switch_id, struct problem *ret)
{
	(void)problem_set(ret, E_NOT_FOUND, "switch %lld is not managed", (long long)switch_id);
}

void switch_queue_remove(struct switch_queue *queue, int64_t switch_id)
{
	struct line *line = line_find(queue, switch_id);
	struct problem problem = {0};

	if (!line)
		return;
	text_unknown(switch_id, &problem);
	line_finish_all(line, E_NOT_FOUND, &problem);
	line_free(line);
}

void switch_queue_free(struct switch_queue *queue)
{
	struct problem problem = {0};
	struct line *line = NULL;
	struct line *next = NULL;

	if (!queue)
		return;
	(void)problem_set(&problem, E_UNAVAILABLE, "the switch queue is closing");
	HASH_ITER(hh, queue->lines, line, next)
	{
		line_finish_all(line, E_UNAVAILABLE, &problem);
		line_free(line);
	}
	call_queue_close(&queue->calls);
	free(queue);
}

/* --- asking --- */

static int copy_ports(struct call *call, const char *const *ports)
{
	size_t count = 0;

	if (!ports)
		return 0;
	while (ports[count] && count < ONLY_PORTS_MAX)
		count++;
	call->only_ports = calloc(count + 1, sizeof(*call->only_ports));
	if (!call->only_ports)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		call->only_ports[i] = strdup(ports[i]);
		if (!call->only_ports[i])
			return -ENOMEM;
	}
	call->request.only_ports = (const char *const *)call->only_ports;
	return 0;
}

static int copy_edits(struct call *call, const struct switch_request *request)
{
	if (request->edit_count == 0)
		return 0;
	if (request->edit_count > EDITS_MAX)
		return E_LIMIT;
	call->edits = calloc(request->edit_count, sizeof(*call->edits));
	call->results = calloc(request->edit_count, sizeof(*call->results));
	if (!call->edits || !call->results)
		return -ENOMEM;
	memcpy(call->edits, request->edits, request->edit_count * sizeof(*call->edits));
	call->request.edits = call->edits;
	call->request.results = call->results;
	return 0;
}

static int copy_mirrors(struct call *call, const struct switch_request *request)
{
	size_t count = request->mirror_count;

	if (count == 0)
		return 0;
	if (count > SWITCH_MIRRORS_MAX || request->edit_count > 0)
		return E_LIMIT;
	call->mirrors = calloc(count, sizeof(*call->mirrors));
	call->results = calloc(count, sizeof(*call->results));
	if (!call->mirrors || !call->results)
		return -ENOMEM;
	memcpy(call->mirrors, request->mirrors, count * sizeof(*call->mirrors));
	call->request.mirrors = call->mirrors;
	call->request.results = call->results;
	return 0;
}

static int switch_queue_call_new(struct switch_queue *queue, const struct switch_ask *ask,
				 struct call **ret)
{
	struct call *call = calloc(1, sizeof(*call));
	int rc;

	if (!call)
		return -ENOMEM;
	call->queue = queue;
	call_ticket_give(&queue->calls, &call->ticket);
	call->link.priority = ask->priority;
	call->person = ask->person;
	call->now = ask->now;
	call->asked_ms = loop_now_ms(queue->options.host.loop);
	call->request = *ask->request;
	fence_ref(call->request.fence);
	call->request.only_ports = NULL;
	call->request.edits = NULL;
	call->request.results = NULL;
	call->request.mirrors = NULL;
	call->request.lag = ask->request->lag ? &call->lag : NULL;
	if (ask->request->lag)
		call->lag = *ask->request->lag;
	rc = loop_timer_new(queue->options.host.loop, call_expired, call, &call->deadline);
	if (rc == 0)
		rc = copy_ports(call, ask->request->only_ports);
	if (rc == 0)
		rc = copy_edits(call, ask->request);
	if (rc == 0)
		rc = copy_mirrors(call, ask->request);
	if (rc) {
		call_free(call);
		return rc;
	}
	*ret = call;
	return 0;
}

static uint32_t deadline_of(const struct switch_ask *ask, const struct line *line)
{
	if (ask->deadline_ms)
		return ask->deadline_ms;
	if (ask->request->op != SWITCH_CHANGE && ask->request->op != SWITCH_SAVE)
		return DEADLINE_DEFAULT_MS;
	return line->family->change_timeout_ms ? line->family->change_timeout_ms
					       : CHANGE_DEFAULT_MS;
}

/* A regular look is broken off for what somebody waits for; but not again and again. */
static void line_preempt(struct line *line, enum call_priority priority)
{
	struct call *call = line->in_flight;

	if (!call || call->unheard || call->link.priority != CALL_POLL || priority == CALL_POLL ||
	    !is_look(call) || call->preempted >= 3 || !line_recall(line))
		return;
	line->queue->stats.preempted++;
	call->preempted++;
	call->state = CALL_WAITING;
	call_line_put_back(&line->waiting, &call->link);
}

int switch_queue_submit(struct switch_queue *queue, const struct switch_ask *ask,
			switch_done_fn done, void *context, uint64_t *ret_ticket)
{
	struct line *line = line_find(queue, ask->switch_id);
	struct problem problem = {0};
	struct call *call = NULL;
	int rc = switch_queue_call_new(queue, ask, &call);

	if (rc)
		return rc;
	call->done = done;
	call->context = context;
	if (ret_ticket)
		*ret_ticket = call->ticket.number;
	if (!line) {
		text_unknown(ask->switch_id, &problem);
		call_finish(call, E_NOT_FOUND, &problem);
		return 0;
	}
	call->line = line;
	call->deadline_ms = call->asked_ms + deadline_of(ask, line);
	loop_timer_arm(call->deadline, call->deadline_ms - call->asked_ms);
	line_preempt(line, ask->priority);
	call_line_add(&line->waiting, &call->link, ask->priority);
	loop_timer_arm(line->wake, 0);
	return 0;
}

void switch_queue_cancel(struct switch_queue *queue, uint64_t ticket)
{
	struct call_ticket *found = call_ticket_find(&queue->calls, ticket);
	struct call *call = found ? CONTAINER_OF(found, struct call, ticket) : NULL;
	struct line *line;

	if (!call || call->unheard)
		return;
	line = call->line;
	switch (call->state) {
	case CALL_WAITING: call_line_remove(&line->waiting, &call->link); break;
	case CALL_IN_FLIGHT:
		if (!is_look(call) || !line_recall(line)) {
			call->unheard = true;
			return;
		}
		loop_timer_arm(line->wake, 0);
		break;
	case CALL_FINISHED: call_queue_withdraw(&queue->calls, &call->link); break;
	}
	call_free(call);
}

/* --- looking --- */

static bool way_may_refuse(const struct way *way)
{
	return way->breaker.open &&
	       (way->breaker.refused || (way->driver && way->driver->refuses_mutely));
}

static void line_state(const struct line *line, struct switch_state *ret)
{
	const struct breaker *breaker = &line->ways[WAY_READ].breaker;

	*ret = (struct switch_state){
		.family = line->family,
		.open = breaker->open,
		.refused = breaker->open && breaker->refused,
		.since_ms = breaker->failures ? breaker->since_ms : 0,
		.retry_ms = breaker->open ? breaker->retry_ms : 0,
		.answered_ms = line->answered_ms,
		.busy = line->in_flight != NULL,
		.problem = line->problem,
	};
	for (int way = 0; way < WAY_COUNT; way++)
		ret->may_refuse |= way_may_refuse(&line->ways[way]);
	ret->waiting = call_line_count(&line->waiting);
}

bool switch_queue_state(const struct switch_queue *queue, int64_t switch_id,
			struct switch_state *ret)
{
	const struct line *line = line_find(queue, switch_id);

	if (line)
		line_state(line, ret);
	return line != NULL;
}

void switch_queue_each(const struct switch_queue *queue, switch_state_fn fn, void *context)
{
	const struct line *line = NULL;
	const struct line *next = NULL;

	HASH_ITER(hh, queue->lines, line, next)
	{
		struct switch_state state;

		line_state(line, &state);
		fn(context, line->id, &state);
	}
}

bool switch_queue_lacks(const struct switch_queue *queue, int64_t switch_id, struct problem *ret)
{
	const struct line *line = line_find(queue, switch_id);

	return line && line_lacks(line, ret);
}

void switch_queue_stats(const struct switch_queue *queue, struct switch_queue_stats *ret)
{
	const struct line *line = NULL;
	const struct line *next = NULL;

	*ret = queue->stats;
	HASH_ITER(hh, queue->lines, line, next)
	{
		ret->switches++;
		ret->in_flight += line->in_flight != NULL;
		for (int way = 0; way < WAY_COUNT; way++)
			ret->breakers_open += line->ways[way].breaker.open;
	}
	ret->waiting = (unsigned)call_queue_tickets(&queue->calls) - ret->in_flight;
}

bool switch_queue_lag_name(const struct switch_queue *queue, int64_t switch_id, unsigned number,
			   char ret[64])
{
	const struct line *line = line_find(queue, switch_id);
	const struct switch_driver *driver =
		line ? line_driver(line, line_way(line, SWITCH_LAG)) : NULL;

	return driver && driver->lag_name && driver->lag_name(line->family, number, ret);
}
