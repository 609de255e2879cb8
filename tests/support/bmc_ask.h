/* For tests of the BMC queue: ask one thing and run the loop until it is answered. */
#pragma once

#include <string.h>

#include "common/base/clock.h"

#include "bampi/bmc/bmc_queue.h"
#include "tests/support/cmocka.h"

struct answer {
	struct loop *loop;
	unsigned count;
	int rc;
	int64_t at_ms;
	struct bmc_result result; /* rows are not kept */
	struct problem problem;
	/* Looks at the rows while they live; may be NULL. */
	void (*look)(const struct bmc_result *result);
};

static inline void answer_take(void *context, int rc, const struct bmc_result *result,
			       const struct problem *problem)
{
	struct answer *answer = context;

	answer->count++;
	answer->rc = rc;
	answer->at_ms = clock_monotonic_ms();
	assert_true((rc == 0) == (result != NULL));
	assert_true((rc == 0) == (problem == NULL));
	if (result) {
		answer->result = *result;
		if (answer->look)
			answer->look(result);
	}
	if (problem) {
		answer->problem = *problem;
		assert_int_equal(problem->code, rc);
		assert_true(problem->message[0]);
	}
	loop_stop(answer->loop);
}

static inline void ask_start(struct bmc_queue *queue, const struct bmc_ask *ask,
			     struct answer *answer)
{
	assert_int_equal(bmc_queue_submit(queue, ask, answer_take, answer, NULL), 0);
}

static inline void ask_wait(struct answer *answer)
{
	while (answer->count == 0)
		loop_run(answer->loop);
	assert_int_equal(answer->count, 1);
}

static inline struct answer ask(struct loop *loop, struct bmc_queue *queue, int64_t bmc_id,
				const struct bmc_request *request, uint32_t deadline_ms)
{
	struct answer answer = {.loop = loop};
	struct bmc_ask wanted = {.bmc_id = bmc_id, .request = request, .deadline_ms = deadline_ms};

	ask_start(queue, &wanted, &answer);
	assert_int_equal(answer.count, 0); /* never from inside the call */
	ask_wait(&answer);
	return answer;
}

static inline struct answer ask_op(struct loop *loop, struct bmc_queue *queue, int64_t bmc_id,
				   enum bmc_op op)
{
	struct bmc_request request = {.op = op};

	return ask(loop, queue, bmc_id, &request, 0);
}
