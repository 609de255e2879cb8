/* Facts of a deployment that goes well, for the tables of the step tests: each test changes what
 * its case is about. */
#pragma once

#include <assert.h>
#include <string.h>

#include "common/base/text.h"

#include "bampi/control/deploy/step.h"
#include "bampi/control/image/image_trust.h"
#include "tests/support/cmocka.h"

#define NOW      INT64_C(1000000000)
#define TOKEN    "0123456789abcdef0123456789abcdef"
#define NONCE    "fedcba9876543210fedcba9876543210"
#define FRESH    "11111111111111111111111111111111"
#define FRESH_N  "22222222222222222222222222222222"
#define STEP_AGE 5000
#define AGENT    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static inline const struct step_settings *test_settings(void)
{
	static const struct step_settings settings = {
		.deadline_ms = {60000, 60000, 60000, 60000, 60000, 60000, 60000, 60000, 60000,
				60000, 60000, 60000, 60000, 60000, 60000, 60000, 60000, 60000},
		.backoff_ms = 1000,
		.fresh_ms = 60000,
		.stall_ms = 120000,
		.bmc_patience_ms = 30000,
		.settle_ms = 6000,
		.let_down_ms = 90000,
		.poll_ms = 20000,
	};

	static_assert(STEP_COUNT == 18, "a deadline for each step");
	return &settings;
}

static inline struct facts test_facts(enum plan plan)
{
	struct facts facts = {
		.deployment = {.id = 7,
			       .generation = 3,
			       .plan = plan,
			       .state = DEPLOYMENT_WAITING,
			       .attempt = 1,
			       .step_started_ms = NOW - STEP_AGE,
			       .step_deadline_ms = NOW + 55000},
		.node = {.id = 4, .name = "n4", .state = NODE_RESERVED, .dirty = true},
		.settings = test_settings(),
		.fresh_token = FRESH,
		.fresh_nonce = FRESH_N,
		.boot_url = "http://10.2.0.1:8080",
	};

	return facts;
}

static inline void set_intent(struct facts *facts, enum intent_target target)
{
	facts->intent = (struct intent_facts){.target = target,
					      .deployment_id = facts->deployment.id,
					      .token = TOKEN,
					      .nonce = NONCE,
					      .agent_key = AGENT};
}

static inline void set_seen(struct facts *facts, enum seen kind, int64_t age_ms, const char *token)
{
	facts->seen[kind] = (struct observation){.at_ms = NOW - age_ms, .bytes = 1234};
	(void)text_copy(facts->seen[kind].token, sizeof(facts->seen[kind].token), token);
	(void)text_copy(facts->seen[kind].detail, sizeof(facts->seen[kind].detail), "seen");
}

static inline void set_agent(struct facts *facts)
{
	set_intent(facts, INTENT_AGENT);
	set_seen(facts, SEEN_AGENT, 1000, TOKEN);
}

static inline void set_task(struct facts *facts, const char *step, enum task_kind kind,
			    enum task_state state, const json_t *result)
{
	facts->task = (struct task_facts){.id = 99,
					  .kind = kind,
					  .state = state,
					  .token = TOKEN,
					  .created_ms = NOW - 3000,
					  .updated_ms = NOW - 2000,
					  .result = result};
	(void)text_copy(facts->task.step, sizeof(facts->task.step), step);
}
