// links: bampi_bmc common_io common_base
//: timeout 300
/* The queue on simulated BMCs: order, merging, deadlines, cancel, hundreds at once. */
#include "tests/unit/bmc_queue_lab.h"

static void power_is_confirmed(void **state)
{
	struct lab *lab = *state;
	struct answer answer;

	put(lab, 1, "");
	node_slow(lab, 1, 1, 400);
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON);
	assert_int_equal(answer.rc, 0);
	assert_true(answer.result.power.on && answer.result.power.changed);
	assert_int_equal(node_get(lab, 1).power_ons, 1);
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_CYCLE);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(node_get(lab, 1).power_offs, 1);
	assert_int_equal(node_get(lab, 1).power_ons, 2);
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_RESET);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(node_get(lab, 1).resets, 1);
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_OFF).rc, 0);
	/* A reset of a node that is off is refused, and not counted as a dead BMC. */
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_RESET);
	assert_int_equal(answer.rc, E_CONFLICT);
	assert_int_equal(stats(lab).breakers_open, 0);
}

/* The answer to the command is lost each time; the status tells that it worked. */
static void lost_answers_do_no_harm(void **state)
{
	struct lab *lab = *state;
	struct answer answer;

	put(lab, 1, "");
	node_fault(lab, 1, SIM_FAULT_LOSES_ANSWERS);
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON);
	assert_int_equal(answer.rc, 0);
	assert_true(answer.result.power.on && answer.result.power.changed);
	assert_int_equal(node_get(lab, 1).power_ons, 1);
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_RESET);
	assert_int_equal(answer.rc, E_TIMEOUT);
	assert_int_equal(node_get(lab, 1).resets, 1); /* not sent again */
}

static void once_means_the_next_boot(void **state)
{
	struct lab *lab = *state;
	struct bmc_request request = {.op = BMC_BOOT_SET, .boot.device = BMC_BOOT_PXE};
	struct answer answer;

	put(lab, 1, "");
	answer = ask(lab->loop, lab->queue, 1, &request, 0);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.valid_bit, BMC_CONFIRMED);
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON).rc, 0);
	assert_int_equal(node_get(lab, 1).booted.device, BMC_BOOT_PXE);
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_CYCLE).rc, 0);
	assert_int_equal(node_get(lab, 1).booted.device, BMC_BOOT_NONE);

	node_fault(lab, 1, SIM_FAULT_WRONG_BOOT_DEVICE);
	answer = ask(lab->loop, lab->queue, 1, &request, 0);
	assert_int_equal(answer.rc, E_PROTOCOL);
	assert_string_equal(answer.problem.detail, "set to pxe 2 times, reads back disk");
	node_fault(lab, 1, SIM_FAULT_DROPS_BOOT_FLAGS);
	request.boot.persistent = true;
	answer = ask(lab->loop, lab->queue, 1, &request, 0);
	assert_int_equal(answer.rc, 0);
	assert_int_equal(answer.result.boot.lifetime, BMC_UNVERIFIED);
}

static void same_questions_are_one_call(void **state)
{
	struct lab *lab = *state;
	struct bmc_request status = {.op = BMC_POWER_STATUS};
	struct bmc_ask poll = {.bmc_id = 1, .request = &status, .priority = CALL_POLL};
	struct answer answers[5] = {0};

	put(lab, 1, "");
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		answers[i].loop = lab->loop;
		ask_start(lab->queue, &poll, &answers[i]);
	}
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		ask_wait(&answers[i]);
		assert_int_equal(answers[i].rc, 0);
	}
	assert_int_equal(stats(lab).calls, 1);
	assert_int_equal(stats(lab).merged, 4);
}

static unsigned finished;
static void note_order(void *context, int rc, const struct bmc_result *result,
		       const struct problem *problem)
{
	unsigned *order = context;

	(void)result;
	(void)problem;
	assert_int_equal(rc, 0);
	*order = ++finished;
}

static void actions_go_before_polling(void **state)
{
	struct lab *lab = *state;
	struct bmc_request sensors = {.op = BMC_SENSORS};
	struct bmc_request boot = {.op = BMC_BOOT_GET};
	struct bmc_request on = {.op = BMC_POWER_ON};
	unsigned order[3] = {0};
	const struct bmc_ask asks[3] = {
		{.bmc_id = 1, .request = &sensors, .priority = CALL_POLL},
		{.bmc_id = 1, .request = &boot, .priority = CALL_POLL},
		{.bmc_id = 1, .request = &on, .priority = CALL_CHANGE},
	};
	struct answer last;

	put(lab, 1, "");
	finished = 0;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			bmc_queue_submit(lab->queue, &asks[i], note_order, &order[i], NULL), 0);
	last = ask_op(lab->loop, lab->queue, 1, BMC_INFO);
	assert_int_equal(last.rc, 0);
	while (finished < 3)
		loop_run_once(lab->loop);
	assert_int_equal(order[2], 1);
	assert_int_equal(order[0], 2);
	assert_int_equal(order[1], 3);
}

static void deadline_holds_and_says_what_was_done(void **state)
{
	struct lab *lab = *state;
	struct bmc_request on = {.op = BMC_POWER_ON};
	struct answer behind = {.loop = lab->loop};
	int64_t start_ms = clock_monotonic_ms();
	struct answer first = {.loop = lab->loop};

	put(lab, 1, "");
	node_fault(lab, 1, SIM_FAULT_IGNORES_POWER);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &on, .deadline_ms = 700},
		  &first);
	ask_start(lab->queue,
		  &(struct bmc_ask){.bmc_id = 1,
				    .request = &(struct bmc_request){.op = BMC_BOOT_GET},
				    .deadline_ms = 300},
		  &behind);
	ask_wait(&behind);
	assert_int_equal(behind.rc, E_TIMEOUT);
	assert_non_null(strstr(behind.problem.detail, "waited behind power-on"));
	ask_wait(&first);
	assert_int_equal(first.rc, E_TIMEOUT);
	assert_in_range(first.at_ms - start_ms, 690, 5000);
	assert_non_null(
		strstr(first.problem.detail, "sent 1 times, the power status still says off"));
	/* The way is free for others. */
	node_fault(lab, 1, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON).rc, 0);
}

static void cancelled_is_never_answered(void **state)
{
	struct lab *lab = *state;
	struct bmc_request soft = {.op = BMC_POWER_SOFT};
	struct answer answer = {.loop = lab->loop};
	uint64_t ticket;

	put(lab, 1, "");
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON).rc, 0);
	node_fault(lab, 1, SIM_FAULT_IGNORES_POWER);
	assert_int_equal(bmc_queue_submit(lab->queue,
					  &(struct bmc_ask){.bmc_id = 1, .request = &soft},
					  answer_take, &answer, &ticket),
			 0);
	for (int i = 0; i < 20; i++, (void)usleep(1000))
		loop_run_once(lab->loop);
	bmc_queue_cancel(lab->queue, ticket);
	bmc_queue_cancel(lab->queue, ticket);
	node_fault(lab, 1, 0);
	/* The hard way goes at once: the soft one is not in the way. */
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_OFF).rc, 0);
	assert_int_equal(answer.count, 0);
	assert_int_equal(stats(lab).waiting, 0);
}

static void unknown_and_removed(void **state)
{
	struct lab *lab = *state;
	struct bmc_request on = {.op = BMC_POWER_ON};
	struct answer answer = ask_op(lab->loop, lab->queue, 77, BMC_POWER_STATUS);
	struct answer removed = {.loop = lab->loop};
	struct bmc_endpoint odd = {.id = 3, .node = "n3", .driver = "magic"};
	struct problem problem = {0};

	assert_int_equal(answer.rc, E_NOT_FOUND);
	put(lab, 1, "");
	node_slow(lab, 1, 20, 50);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &on}, &removed);
	loop_run_once(lab->loop);
	bmc_queue_remove(lab->queue, 1); /* with a call in flight */
	bmc_queue_remove(lab->queue, 1);
	ask_wait(&removed);
	assert_int_equal(removed.rc, E_NOT_FOUND);
	assert_int_equal(stats(lab).bmcs, 0);
	assert_int_equal(bmc_queue_put(lab->queue, &odd, &problem), -EINVAL);
	assert_non_null(strstr(problem.message, "magic"));
}

static void closing_answers_everybody(void **state)
{
	struct lab *lab = *state;
	struct bmc_request on = {.op = BMC_POWER_ON};
	struct answer answers[3] = {{.loop = lab->loop}, {.loop = lab->loop}, {.loop = lab->loop}};

	put(lab, 1, "");
	put(lab, 2, "");
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &on}, &answers[0]);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &on}, &answers[1]);
	loop_run_once(lab->loop);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 2, .request = &on}, &answers[2]);
	bmc_queue_free(lab->queue);
	lab->queue = NULL;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(answers[i].count, 1);
		assert_int_equal(answers[i].rc, E_UNAVAILABLE);
	}
}

/* From inside a callback: ask again, put, remove, cancel. */
struct chain {
	struct lab *lab;
	unsigned left;
	bool removed;
};
static void chain_done(void *context, int rc, const struct bmc_result *result,
		       const struct problem *problem)
{
	struct chain *chain = context;
	struct bmc_request request = {.op = chain->left % 2 ? BMC_POWER_ON : BMC_POWER_OFF};

	(void)result;
	(void)problem;
	if (chain->left-- > 0) {
		assert_int_equal(rc, 0);
		assert_int_equal(
			bmc_queue_submit(chain->lab->queue,
					 &(struct bmc_ask){.bmc_id = 1, .request = &request},
					 chain_done, chain, NULL),
			0);
		return;
	}
	bmc_queue_remove(chain->lab->queue, 1);
	chain->removed = true;
	loop_stop(chain->lab->loop);
}

static void callbacks_may_do_anything(void **state)
{
	struct lab *lab = *state;
	struct chain chain = {.lab = lab, .left = 6};
	struct bmc_request request = {.op = BMC_POWER_STATUS};

	put(lab, 1, "");
	assert_int_equal(bmc_queue_submit(lab->queue,
					  &(struct bmc_ask){.bmc_id = 1, .request = &request},
					  chain_done, &chain, NULL),
			 0);
	while (!chain.removed)
		loop_run(lab->loop);
	assert_int_equal(stats(lab).bmcs, 0);
}

static void note_observed(void *context, int64_t bmc_id, const struct bmc_observation *observation)
{
	unsigned *count = context;

	(void)bmc_id;
	assert_true(observation->power_known);
	(*count)++;
}

/* Five hundred nodes are switched on at once, by eight workers. */
static void five_hundred(void **state)
{
	enum { NODES = 500 };
	struct lab *lab = *state;
	struct bmc_request on = {.op = BMC_POWER_ON};
	struct answer *answers = calloc(NODES, sizeof(*answers));
	int64_t start_ms = clock_monotonic_ms();
	uint64_t version;
	unsigned seen = 0;

	lab_queue(lab, 16, 4);
	assert_non_null(answers);
	for (int id = 0; id < NODES; id++) {
		put(lab, id + 1, "");
		answers[id].loop = lab->loop;
		ask_start(lab->queue, &(struct bmc_ask){.bmc_id = id + 1, .request = &on},
			  &answers[id]);
	}
	for (int id = 0; id < NODES; id++) {
		while (answers[id].count == 0)
			loop_run(lab->loop);
		assert_int_equal(answers[id].rc, 0);
		assert_int_equal(node_get(lab, id + 1).power_ons, 1);
	}
	print_message("500 nodes on in %d ms\n", (int)(clock_monotonic_ms() - start_ms));
	version = bmc_queue_each_changed(lab->queue, 0, note_observed, &seen);
	assert_int_equal(seen, NODES);
	seen = 0;
	assert_int_equal(bmc_queue_each_changed(lab->queue, version, note_observed, &seen),
			 version);
	assert_int_equal(seen, 0);
	free(answers);
}

/* The rack outlives its process and is shared. */
static void rack_is_kept_in_its_file(void **state)
{
	char path[] = "/tmp/bmc_rack.XXXXXX";
	struct sim_rack *a = NULL;
	struct sim_rack *b = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(sim_rack_new(&(struct sim_rack_options){.path = path, .capacity = 2}, &a),
			 0);
	sim_rack_lock(a);
	sim_rack_node(a, "x", 0)->power_on = true;
	sim_rack_unlock(a);
	assert_int_equal(sim_rack_new(&(struct sim_rack_options){.path = path, .capacity = 9}, &b),
			 0);
	sim_rack_lock(b);
	assert_true(sim_rack_node(b, "x", 0)->power_on);
	assert_non_null(sim_rack_node(b, "y", 0));
	assert_null(sim_rack_node(b, "z", 0));
	assert_non_null(sim_rack_each(b, 1));
	assert_null(sim_rack_each(b, 2));
	sim_rack_unlock(b);
	sim_rack_free(a);
	sim_rack_free(b);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(sim_rack_new(&(struct sim_rack_options){.path = path}, &a), E_MALFORMED);
	(void)unlink(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(power_is_confirmed),
		TEST(lost_answers_do_no_harm),
		TEST(once_means_the_next_boot),
		TEST(same_questions_are_one_call),
		TEST(actions_go_before_polling),
		TEST(deadline_holds_and_says_what_was_done),
		TEST(cancelled_is_never_answered),
		TEST(unknown_and_removed),
		TEST(closing_answers_everybody),
		TEST(callbacks_may_do_anything),
		TEST(five_hundred),
		cmocka_unit_test(rack_is_kept_in_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
