// links: bampi_bmc common_io common_base lib::openssl
/* A thousand BMCs of which every fiftieth is dead: nobody waits for the dead, sessions are kept,
 * reused, and closed in the end. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/bmc_driver.h"
#include "tests/support/bmc_ask.h"
#include "tests/support/bmc_rack.h"

enum { BMCS = 1000, DEAD_EVERY = 50 };

struct lab {
	struct loop *loop;
	struct bmc_queue *queue;
	struct bmc_rack rack;
	unsigned living, dead; /* answers */
	unsigned dead_first;   /* dead ones that were told of before the last living one */
};

static void on_answer(void *context, int rc, const struct bmc_result *result,
		      const struct problem *problem)
{
	struct lab *lab = context;

	(void)problem;
	if (rc == 0) {
		assert_true(result->power.on);
		lab->dead_first = lab->dead;
		lab->living++;
	} else {
		assert_true(rc == E_TIMEOUT || rc == E_UNAVAILABLE); /* the queue is closing */
		lab->dead++;
	}
	loop_stop(lab->loop);
}

static void put(struct lab *lab, unsigned index)
{
	struct bmc_endpoint endpoint = {.id = index + 1,
					.driver = "ipmi",
					.port = lab->rack.port,
					.username = "test",
					.password = "test",
					.cipher_suite = index % 2 ? 17 : 3,
					.timeout_ms = 25000};
	struct problem problem = {0};

	(void)text_format(endpoint.node, sizeof(endpoint.node), "n%u", index + 1);
	rack_address(index, endpoint.address);
	assert_int_equal(bmc_queue_put(lab->queue, &endpoint, &problem), 0);
}

static void ask_all(struct lab *lab)
{
	struct bmc_request request = {.op = BMC_POWER_STATUS};

	lab->living = 0;
	for (unsigned i = 0; i < BMCS; i++) {
		const struct bmc_ask ask = {.bmc_id = i + 1,
					    .request = &request,
					    .priority = CALL_POLL,
					    .deadline_ms = 60000};

		assert_int_equal(bmc_queue_submit(lab->queue, &ask, on_answer, lab, NULL), 0);
	}
	while (lab->living < BMCS - BMCS / DEAD_EVERY)
		loop_run(lab->loop);
}

static void nobody_waits_for_the_dead(void **state)
{
	struct lab lab = {.rack = {.count = BMCS, .dead_every = DEAD_EVERY}};
	struct bmc_queue_options options = {.workers = 2, .session_keep_ms = 60000};
	struct bmc_queue_stats stats;
	int64_t start_ms = clock_monotonic_ms();

	(void)state;
	assert_true(rack_start(&lab.rack));
	assert_int_equal(loop_new(&lab.loop), 0);
	assert_int_equal(bmc_queue_new(lab.loop, &options, &lab.queue), 0);
	for (unsigned i = 0; i < BMCS; i++)
		put(&lab, i);
	ask_all(&lab);
	print_message("980 sessions and answers in %d ms\n",
		      (int)(clock_monotonic_ms() - start_ms));
	assert_int_equal(lab.dead_first, 0);
	bmc_queue_stats(lab.queue, &stats);
	assert_int_equal(stats.in_flight, BMCS / DEAD_EVERY);
	assert_int_equal(stats.thread_calls, 0);
	assert_int_equal(stats.rmcp.sessions, BMCS - BMCS / DEAD_EVERY);
	assert_int_equal(stats.rmcp.forged, 0);

	start_ms = clock_monotonic_ms();
	ask_all(&lab); /* behind the dead ones' first calls, the living are not */
	print_message("980 answers in kept sessions in %d ms\n",
		      (int)(clock_monotonic_ms() - start_ms));
	assert_int_equal(lab.dead_first, 0);
	bmc_queue_free(lab.queue);
	loop_free(lab.loop);
	rack_stop(&lab.rack);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_waits_for_the_dead)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
