/* One look at one deployment: which step runs, what its verdict means (next step, another attempt,
 * the end), and what is to be recorded. The next step begins in the same look where nothing has to
 * be written before it. Everything around the step functions, and pure like them.
 */
#pragma once

#include "bampi/control/deploy/plan_table.h"
#include "bampi/control/deploy/step.h"

/* A row of deployment_step. */
struct step_log {
	int step_index;
	int attempt;
	const char *step;
	const char *state; /* running, done, failed */
	int64_t started_ms;
	bool ended;
	const struct problem *problem; /* NULL = none; lives in the advance */
};

/* An event row on the node. */
struct event_log {
	char kind[32];
	char message[400];
	const char *step;
	int attempt;
	const struct problem *problem; /* NULL = none */
};

/* A look may end a step and begin the next ones: so many steps, each with what is told of it. */
#define ADVANCE_STEPS  4
#define ADVANCE_LOGS   ADVANCE_STEPS
#define ADVANCE_EVENTS (3 * ADVANCE_STEPS + 2)

struct advance {
	enum deployment_state state;
	const char *step;
	int step_index, attempt;
	int64_t step_started_ms, step_deadline_ms; /* 0 = null */
	int64_t due_ms;                            /* 0 = the deployment has ended */
	bool new_attempt; /* what the BMC was asked before is not for this attempt */
	struct memo memo;
	struct problem problem; /* recorded with the deployment; zero = null */
	struct problem waits;   /* for what it waits; zero = for nothing */
	enum wait_kind waits_kind;
	struct problem failure; /* of the attempt that just ended, with evidence */
	struct outcome outcome;
	struct step_log logs[ADVANCE_LOGS];
	size_t log_count;
	struct event_log events[ADVANCE_EVENTS];
	size_t event_count;
};

/* `ret` must be freed by advance_done, and stays where it is: logs and events point into it. */
void advance_decide(const struct facts *facts, int64_t now_ms, struct advance *ret);
/* Ends a deployment that nothing can be decided or written for. */
void advance_end(const struct facts *facts, const struct problem *why, struct advance *ret);
void advance_done(struct advance *advance);
/* The plan that counts now: cancel once that was asked for. */
enum plan advance_plan(const struct deployment_facts *deployment);
