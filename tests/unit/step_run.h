/* One step run on facts, and JSON for them. */
#pragma once

#include "common/http/json_reader.h"

#include "tests/unit/deploy_facts.h"

static inline struct outcome run(step_run_fn step, const struct facts *facts)
{
	struct outcome outcome = {0};

	step(facts, NOW, &outcome);
	if (outcome.verdict != STEP_DONE)
		assert_true(problem_is_set(&outcome.problem));
	if (outcome.verdict == STEP_WAITING)
		assert_true(outcome.until_ms >= NOW);
	return outcome;
}

static inline json_t *json(const char *text)
{
	struct problem problem = {0};
	json_t *value = NULL;

	assert_int_equal(json_read(text, strlen(text), 65536, &value, &problem), 0);
	return value;
}
