// links: control_deploy bampi_bmc control_image control_inventory common_http common_io
// common_base
/* Jobs of deployments at a simulated BMC: what a claim that runs out does to them. */
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/fence.h"
#include "common/base/text.h"

#include "bampi/bmc/sim_driver.h"
#include "bampi/control/deploy/bmc_jobs.h"
#include "tests/support/bmc_ask.h"

enum { NODE = 4, LATENCY_MS = 100, LOOK_MS = 5 };

struct lab {
	struct loop *loop;
	struct loop_timer *look;
	struct sim_rack *rack;
	struct bmc_queue *queue;
	struct bmc_jobs *jobs;
	struct facts facts;
	struct advance advance;
	unsigned ended;
};

static void lab_job_ended(void *context)
{
	struct lab *lab = context;

	lab->ended++;
}

static void lab_look(void *context)
{
	struct lab *lab = context;

	if (lab->ended > 0 || bmc_jobs_count(lab->jobs) == 0)
		loop_stop(lab->loop);
	else
		loop_timer_arm(lab->look, LOOK_MS);
}

static struct sim_node *node_of(struct lab *lab)
{
	return sim_rack_node(lab->rack, "sim-4", 0);
}

static int start(void **state)
{
	const struct bmc_endpoint endpoint = {
		.id = NODE, .driver = "sim", .node = "n4", .address = "sim-4", .timeout_ms = 1000};
	struct lab *lab = calloc(1, sizeof(*lab));
	struct problem problem = {0};

	assert_non_null(lab);
	assert_int_equal(loop_new(&lab->loop), 0);
	assert_int_equal(loop_timer_new(lab->loop, lab_look, lab, &lab->look), 0);
	assert_int_equal(
		sim_rack_new(&(struct sim_rack_options){.latency_ms = LATENCY_MS}, &lab->rack), 0);
	assert_int_equal(bmc_queue_new(lab->loop, &(struct bmc_queue_options){.sim = lab->rack},
				       &lab->queue),
			 0);
	assert_int_equal(bmc_queue_put(lab->queue, &endpoint, &problem), 0);
	assert_int_equal(bmc_jobs_new(lab->queue, lab_job_ended, lab, &lab->jobs), 0);
	node_of(lab)->power_on = true;
	lab->facts = (struct facts){.deployment = {.id = 7, .generation = 3, .attempt = 1},
				    .node = {.id = NODE}};
	lab->advance = (struct advance){.attempt = 1};
	lab->advance.outcome.bmc[0].op = BMC_POWER_OFF;
	lab->advance.outcome.bmc_count = 1;
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct lab *lab = *state;

	bmc_jobs_free(lab->jobs);
	bmc_queue_free(lab->queue);
	sim_rack_free(lab->rack);
	loop_timer_free(lab->look);
	loop_free(lab->loop);
	free(lab);
	return 0;
}

static void job_start(struct lab *lab, int64_t lasts_ms)
{
	assert_int_equal(
		bmc_jobs_start(lab->jobs, &lab->facts, &lab->advance, clock_boot_ms() + lasts_ms),
		0);
	loop_timer_arm(lab->look, LOOK_MS);
}

/* As when we were stopped after the look, and wake up when another one works on the node. */
static void a_late_job_is_forgotten_and_sends_nothing(void **state)
{
	struct lab *lab = *state;

	job_start(lab, LATENCY_MS / 2);
	loop_run(lab->loop);
	assert_int_equal(bmc_jobs_count(lab->jobs), 0);
	assert_int_equal(lab->ended, 0);
	assert_true(node_of(lab)->power_on);
	assert_int_equal(node_of(lab)->power_offs, 0);
	bmc_jobs_look(lab->jobs, &lab->facts); /* the next look asks again */
	assert_int_equal(lab->facts.bmc.state, BMC_WORK_NONE);
}

static void an_extended_claim_lets_it_end(void **state)
{
	const struct claim_key other = {7, 2};
	const struct claim_key ours = {7, 3};
	struct lab *lab = *state;

	job_start(lab, LATENCY_MS / 2);
	bmc_jobs_extend(lab->jobs, &other, clock_boot_ms() + 60000);
	loop_run(lab->loop);
	assert_int_equal(bmc_jobs_count(lab->jobs), 0);
	job_start(lab, LATENCY_MS / 2);
	bmc_jobs_extend(lab->jobs, &ours, clock_boot_ms() + 60000);
	loop_run(lab->loop);
	assert_int_equal(lab->ended, 1);
	bmc_jobs_look(lab->jobs, &lab->facts);
	assert_int_equal(lab->facts.bmc.state, BMC_WORK_DONE);
	assert_int_equal(node_of(lab)->power_offs, 1);
}

/* Its call may be in flight: it is not made. */
static void a_lost_claim_stops_what_is_under_way(void **state)
{
	const struct claim_key key = {7, 3};
	struct lab *lab = *state;

	job_start(lab, 60000);
	while (node_of(lab)->calls == 0) /* it has looked, and the command is on its way */
		loop_run_once(lab->loop);
	assert_true(bmc_jobs_forget_claim(lab->jobs, &key));
	assert_int_equal(ask_op(lab->loop, lab->queue, NODE, BMC_BOOT_GET).rc, 0);
	assert_int_equal(node_of(lab)->power_offs, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(a_late_job_is_forgotten_and_sends_nothing),
		TEST(an_extended_claim_lets_it_end),
		TEST(a_lost_claim_stops_what_is_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
