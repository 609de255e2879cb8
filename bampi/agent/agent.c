#include "bampi/agent/agent.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/http/client.h"
#include "common/io/file.h"
#include "common/io/log.h"
#include "common/io/seal_key.h"
#include "common/io/worker.h"

#include "bampi/agent/power.h"
#include "bampi/agent/retry_policy.h"
#include "bampi/agent/task_guard.h"

#define POLL_WAIT_S         20
#define KEYLESS_LOOK_MS     50
#define KEYLESS_MS          INT64_C(10000) /* so long it waits for its key alone */
#define POLL_WAIT_KEYLESS_S 1
#define POLL_GAP_MS         1000
#define POLL_TIMEOUT_MS     INT64_C(40000)
#define REPORT_TIMEOUT_MS   INT64_C(10000)
#define PROGRESS_EVERY_MS   INT64_C(1000)
#define REFUSED_LIMIT       20 /* reports in a row; a server that just started may not know us yet */
#define AGENT_SUBJECT       "agent"
#define RESPONSE_LIMIT_SIZE ((size_t)4 << 20)

enum agent_state {
	AGENT_POLLING,   /* a poll is out, or waits for its retry */
	AGENT_WORKING,   /* a task is at work; a progress report may be out */
	AGENT_REPORTING, /* a result is out, or waits for its retry */
	AGENT_STOPPED,
};

struct agent {
	struct loop *loop;
	struct agent_env *env;
	struct http_client *client;
	struct worker *worker;
	struct loop_timer *timer; /* poll or result: retry; working: next progress report */
	struct http_call *call;   /* the one exchange that is out */
	char authorization[256];
	struct task_guard guard;
	enum agent_state state;
	unsigned attempt; /* retries of the present request so far */
	struct task *task;
	unsigned refused; /* progress reports in a row that were answered 401 or 403 */
	struct text body; /* of the POST that is out */
	char result_signature
		[RESULT_SIGNATURE_TEXT_SIZE]; /* of the body, when it is a result; "" = it is none */
	int64_t task_began_ms;
	int64_t poll_began_ms;
	int64_t keyless_until_ms;
};

static void agent_enter(struct agent *agent, enum agent_state state);

static int
agent_call(struct agent *agent, const char *method, const char *target, int64_t timeout_ms,
	   void (*on_done)(void *, int, const struct http_response *, const struct problem *))
{
	const struct http_header headers[] = {{"Authorization", agent->authorization},
					      {RESULT_AGENT_FIELD, agent->guard.agent},
					      {RESULT_SIGNATURE_FIELD, agent->result_signature}};
	bool has_body = agent->body.size > 0;
	struct http_call_options options = {
		.method = method,
		.target = target,
		.headers = headers,
		.header_count = agent->result_signature[0] ? 3
				: agent->guard.agent[0]    ? 2
							   : 1,
		.body = has_body ? text_get(&agent->body) : NULL,
		.body_size = agent->body.size,
		.timeout_ms = timeout_ms,
		.response_limit = RESPONSE_LIMIT_SIZE,
		.on_done = on_done,
		.context = agent,
	};

	return http_client_call(agent->client, &options, &agent->call);
}

static void retry_later(struct agent *agent, int rc, int status, const char *what)
{
	bool refused = rc == 0 && (status == 401 || status == 403);
	int64_t delay_ms = retry_delay_ms(refused ? RETRY_REFUSED : RETRY_AWAY, agent->attempt,
					  randombytes_random());

	if (refused)
		log_error(
			AGENT_SUBJECT,
			"the server refuses our token (status=%d); a reboot over the network would bring a new one; next %s in %lld s",
			status, what, (long long)(delay_ms / 1000));
	else if (agent->attempt == 0 || agent->attempt % 20 == 0)
		log_warn(AGENT_SUBJECT, "no %s: %s (status=%d attempt=%u); going on", what,
			 rc ? error_text(rc) : "not served", status, agent->attempt + 1);
	agent->attempt++;
	loop_timer_arm(agent->timer, delay_ms);
}

/* An untrusted server is told as such: "not reachable" would send the operator to the cables. */
static void agent_tell(const struct agent *agent, const struct problem *problem)
{
	if (problem && problem_is_set(problem) && agent->attempt % 20 == 0)
		log_problem(LOG_LEVEL_WARN, AGENT_SUBJECT, problem);
}

/* --- polling --- */

static void poll_done(void *context, int rc, const struct http_response *response,
		      const struct problem *problem)
{
	struct agent *agent = context;
	struct problem why = {0};
	int status = rc == 0 ? response->status : 0;

	agent->call = NULL;
	agent_tell(agent, problem);
	if (status == 204) {
		/* A server that does not hold the poll is asked once a second, no more. */
		int64_t elapsed_ms = loop_now_ms(agent->loop) - agent->poll_began_ms;

		agent->attempt = 0;
		loop_timer_arm(agent->timer,
			       elapsed_ms < POLL_GAP_MS ? POLL_GAP_MS - elapsed_ms : 0);
		return;
	}
	if (status != 200) {
		retry_later(agent, rc, status, "task");
		return;
	}
	rc = task_new(response->body, response->size, agent->env, &agent->guard, &agent->task,
		      &why);
	if (rc) {
		if (problem_is_set(&why))
			log_problem(LOG_LEVEL_ERROR, AGENT_SUBJECT, &why);
		retry_later(agent, rc, status, "usable task");
		return;
	}
	agent_enter(agent, AGENT_WORKING);
}

/* The key is of the boot: a program that was started again goes on with it, and is no second agent to
 * the server. A node that started just now may have no seeded generator. It waits for that a while. Then
 * it asks without a key, so that it is heard of; it gets no task. */
static void agent_offer_key(struct agent *agent)
{
	char path[300];
	struct problem problem = {0};

	if (agent->env->key || !seal_key_seeded())
		return;
	if (!text_format(path, sizeof(path), "%s/run/haas", agent->env->root) ||
	    file_make_folder(path, 0700) != 0 ||
	    !text_format(path, sizeof(path), "%s/run/haas/agent.key", agent->env->root) ||
	    agent_key_load(path, &agent->env->key, &problem) != 0) {
		log_problem(LOG_LEVEL_ERROR, AGENT_SUBJECT, &problem);
		return;
	}
	(void)text_copy(agent->guard.agent, sizeof(agent->guard.agent),
			agent_key_text(agent->env->key));
}

static void poll_send(struct agent *agent)
{
	char target[64];
	int rc;

	agent_offer_key(agent);
	agent->poll_began_ms = loop_now_ms(agent->loop);
	if (!agent->guard.agent[0] && agent->poll_began_ms < agent->keyless_until_ms) {
		loop_timer_arm(agent->timer, KEYLESS_LOOK_MS);
		return;
	}
	text_clear(&agent->body);
	(void)text_format(target, sizeof(target), "/agent/v1/task?wait=%d",
			  agent->guard.agent[0] ? POLL_WAIT_S : POLL_WAIT_KEYLESS_S);
	rc = agent_call(agent, "GET", target, POLL_TIMEOUT_MS, poll_done);
	if (rc)
		retry_later(agent, rc, 0, "task");
}

/* --- working --- */

/* On the worker's thread: touches the task only. */
static void work_thread(void *context)
{
	const struct agent *agent = context;

	task_run(agent->task);
}

static void agent_work_done(void *context)
{
	struct agent *agent = context;
	struct task *task = agent->task;
	const char *kind = task->row ? task->row->kind : "unknown";
	double seconds = (double)(clock_monotonic_ms() - agent->task_began_ms) / 1000.0;

	if (agent->state == AGENT_STOPPED)
		return;
	if (agent->call)
		http_call_cancel(TAKE(agent->call));
	if (task->rc == 0)
		log_info(AGENT_SUBJECT, "task %s: %s is done (seconds=%.1f)", task->id, kind,
			 seconds);
	else if (!task_wanted(task))
		log_info(AGENT_SUBJECT,
			 "task %s: %s stopped, bampid has cancelled it (seconds=%.1f)", task->id,
			 kind, seconds);
	else
		log_problem(LOG_LEVEL_ERROR, AGENT_SUBJECT, &task->problem);

	if (!task_wanted(task)) {
		if (!task->refused)
			task_guard_end(&agent->guard);
		task_free(TAKE(agent->task));
		agent_enter(agent, AGENT_POLLING);
		return;
	}
	agent_enter(agent, AGENT_REPORTING);
}

static void progress_done(void *context, int rc, const struct http_response *response,
			  const struct problem *problem)
{
	struct agent *agent = context;

	(void)problem;
	agent->call = NULL;
	/* A report that was lost needs no retry: the next one says more. */
	if (rc)
		return;
	agent->refused =
		response->status == 401 || response->status == 403 ? agent->refused + 1 : 0;
	if (response->status == 410 || agent->refused >= REFUSED_LIMIT) {
		log_warn(AGENT_SUBJECT, "task %s: bampid has cancelled it, stopping",
			 agent->task->id);
		atomic_store(&agent->task->unwanted, true);
	}
}

static void agent_progress_send(struct agent *agent)
{
	struct task_progress progress = task_progress(agent->task);
	char target[96];
	int rc;

	loop_timer_arm(agent->timer, PROGRESS_EVERY_MS);
	if (agent->call || !task_wanted(agent->task))
		return;
	text_clear(&agent->body);
	task_progress_json(&progress, &agent->body);
	(void)text_format(target, sizeof(target), "/agent/v1/tasks/%s/progress", agent->task->id);
	rc = agent_call(agent, "POST", target, REPORT_TIMEOUT_MS, progress_done);
	if (rc)
		log_debug(AGENT_SUBJECT, "no progress report: %s", error_text(rc));
}

/* False when the task cannot begin; its problem says why. */
static bool work_start(struct agent *agent)
{
	int rc;

	agent->task_began_ms = clock_monotonic_ms();
	agent->refused = 0;
	log_info(AGENT_SUBJECT, "task %s: %s begins", agent->task->id,
		 agent->task->row ? agent->task->row->kind : "unknown");
	rc = worker_submit(agent->worker, work_thread, agent_work_done, agent);
	if (rc) {
		agent->task->rc = problem_set(&agent->task->problem, rc,
					      "the task could not be started: %s", error_text(rc));
		return false;
	}
	loop_timer_arm(agent->timer, PROGRESS_EVERY_MS);
	return true;
}

/* --- reporting --- */

static void power_off(struct agent *agent)
{
	if (agent->env->sandbox) {
		log_info(AGENT_SUBJECT, "sandbox: the power stays on, the program ends");
		agent_enter(agent, AGENT_STOPPED);
		return;
	}
	log_info(AGENT_SUBJECT, "powering off");
	log_error(AGENT_SUBJECT, "the kernel does not power off: %s", error_text(power_off_now()));
}

static void result_done(void *context, int rc, const struct http_response *response,
			const struct problem *problem)
{
	struct agent *agent = context;
	int status = rc == 0 ? response->status : 0;
	bool powers_off;

	agent->call = NULL;
	agent_tell(agent, problem);
	/* 4xx other than a refused token or "slow down": asking again would not change the answer.
	 */
	if (rc || status >= 500 || status == 401 || status == 403 || status == 408 ||
	    status == 429) {
		retry_later(agent, rc, status, "place for the result");
		return;
	}
	if (status >= 300)
		log_warn(AGENT_SUBJECT, "task %s: the server does not take the result (status=%d)",
			 agent->task->id, status);
	if (!agent->task->refused)
		task_guard_end(&agent->guard);
	powers_off = agent->task->row && agent->task->row->powers_off && status < 300;
	task_free(TAKE(agent->task));
	if (powers_off)
		power_off(agent);
	if (agent->state != AGENT_STOPPED)
		agent_enter(agent, AGENT_POLLING);
}

/* Without the key nobody was given a task. */
static void agent_sign(struct agent *agent)
{
	char statement[RESULT_STATEMENT_SIZE];

	if (!agent->env->key)
		return;
	result_statement(strtoll(agent->task->id, NULL, 10), agent->env->token,
			 text_get(&agent->body), agent->body.size, statement);
	agent_key_sign(agent->env->key, statement, agent->result_signature);
}

static void result_send(struct agent *agent)
{
	char target[96];
	int rc;

	text_clear(&agent->body);
	task_result_json(agent->task, &agent->body);
	agent_sign(agent);
	(void)text_format(target, sizeof(target), "/agent/v1/tasks/%s/result", agent->task->id);
	rc = agent_call(agent, "POST", target, REPORT_TIMEOUT_MS, result_done);
	agent->result_signature[0] = '\0';
	if (rc)
		retry_later(agent, rc, 0, "place for the result");
}

/* --- the one door --- */

static void agent_enter(struct agent *agent, enum agent_state state)
{
	loop_timer_disarm(agent->timer);
	agent->attempt = 0;
	agent->state = state == AGENT_WORKING && !work_start(agent) ? AGENT_REPORTING : state;
	switch (agent->state) {
	case AGENT_POLLING: poll_send(agent); break;
	case AGENT_WORKING: break;
	case AGENT_REPORTING: result_send(agent); break;
	case AGENT_STOPPED: loop_stop(agent->loop); break;
	}
}

static void agent_on_timer(void *context)
{
	struct agent *agent = context;

	switch (agent->state) {
	case AGENT_POLLING: poll_send(agent); break;
	case AGENT_WORKING: agent_progress_send(agent); break;
	case AGENT_REPORTING: result_send(agent); break;
	case AGENT_STOPPED: break;
	}
}

static void agent_freep(struct agent **agent)
{
	agent_free(*agent);
}

int agent_new(struct loop *loop, struct agent_env *env, struct agent **ret)
{
	CLEANUP(agent_freep) struct agent *agent = calloc(1, sizeof(*agent));
	struct problem problem = {0};
	int rc;

	if (!agent)
		return -ENOMEM;
	agent->loop = loop;
	agent->env = env;
	rc = task_guard_init(env, &agent->guard, &problem);
	if (rc) {
		log_problem(LOG_LEVEL_ERROR, AGENT_SUBJECT, &problem);
		return rc;
	}
	if (!text_format(agent->authorization, sizeof(agent->authorization), "Bearer %s",
			 env->token))
		return E_LIMIT;
	rc = http_client_new_tls(loop, env->url, env->tls, &agent->client);
	if (rc)
		return rc;
	rc = worker_new(loop, 1, 1, &agent->worker);
	if (rc)
		return rc;
	rc = loop_timer_new(loop, agent_on_timer, agent, &agent->timer);
	if (rc)
		return rc;

	*ret = TAKE(agent);
	return 0;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	agent->state = AGENT_STOPPED;
	if (agent->task)
		atomic_store(&agent->task->unwanted, true);
	worker_free(agent->worker);
	task_free(agent->task);
	if (agent->call)
		http_call_cancel(agent->call);
	http_client_free(agent->client);
	loop_timer_free(agent->timer);
	text_done(&agent->body);
	sodium_memzero(agent->authorization, sizeof(agent->authorization));
	free(agent);
}

void agent_start(struct agent *agent)
{
	agent->keyless_until_ms = loop_now_ms(agent->loop) + KEYLESS_MS;
	agent_enter(agent, AGENT_POLLING);
}
