#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bampi/control/deploy/step.h"

void outcome_done(struct outcome *outcome)
{
	json_decref(outcome->post_params);
	json_decref(outcome->inventory);
	json_decref(outcome->drives);
	*outcome = (struct outcome){0};
}

void outcome_finish(struct outcome *outcome)
{
	outcome->verdict = STEP_DONE;
	outcome->problem = (struct problem){0};
	outcome->waits = (struct problem){0};
}

static void facts_decide(struct outcome *outcome, enum verdict verdict, int code,
			 const char *message)
{
	outcome->verdict = verdict;
	(void)problem_set(&outcome->problem, code, "%s", message);
}

void outcome_wait(struct outcome *outcome, int64_t until_ms, int code, const char *format, ...)
{
	char message[sizeof(outcome->problem.message)];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	facts_decide(outcome, STEP_WAITING, code, message);
	outcome->until_ms = until_ms;
}

void outcome_say(struct outcome *outcome, const char *format, ...)
{
	char message[sizeof(outcome->waits.message)];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	(void)problem_set(&outcome->waits, outcome->problem.code, "%s", message);
	problem_detail(&outcome->waits, "%s", outcome->problem.detail);
	problem_hint(&outcome->waits, "%s", outcome->problem.hint);
}

void outcome_fail(struct outcome *outcome, int code, const char *format, ...)
{
	char message[sizeof(outcome->problem.message)];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	facts_decide(outcome, STEP_FAILED, code, message);
}

bool facts_intent_is(const struct facts *facts, enum intent_target target)
{
	return facts->intent.target == target &&
	       facts->intent.deployment_id == facts->deployment.id;
}

bool facts_seen_now(const struct facts *facts, enum seen kind)
{
	const struct observation *seen = &facts->seen[kind];

	return seen->at_ms > 0 && facts->intent.token[0] &&
	       strcmp(seen->token, facts->intent.token) == 0;
}

bool facts_boot_ended(const struct facts *facts)
{
	return facts_intent_is(facts, INTENT_AGENT) && facts->intent.ended[0] != '\0';
}

bool facts_agent_alive(const struct facts *facts, int64_t now_ms)
{
	return facts_intent_is(facts, INTENT_AGENT) && !facts_boot_ended(facts) &&
	       facts_seen_now(facts, SEEN_AGENT) &&
	       now_ms - facts->seen[SEEN_AGENT].at_ms <= facts->settings->fresh_ms;
}
