// links: bampi_bmc common_io common_base
//: timeout 300
/* The queue on simulated BMCs: order, merging, deadlines, breaker, cancel, hundreds at once. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/sim_driver.h"
#include "tests/support/bmc_ask.h"

struct lab {
	struct loop *loop;
	struct sim_rack *rack;
	struct bmc_queue *queue;
};

static void lab_queue(struct lab *lab, unsigned workers, unsigned failing_workers)
{
	struct bmc_queue_options options = {
		.workers = workers, .failing_workers = failing_workers, .sim = lab->rack};

	bmc_queue_free(lab->queue);
	assert_int_equal(bmc_queue_new(lab->loop, &options, &lab->queue), 0);
}

static int start(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	assert_int_equal(loop_new(&lab->loop), 0);
	assert_int_equal(sim_rack_new(&(struct sim_rack_options){.latency_ms = 2}, &lab->rack), 0);
	lab_queue(lab, 8, 2);
	*state = lab;
	return 0;
}

static int stop(void **state)
{
	struct lab *lab = *state;

	bmc_queue_free(lab->queue);
	sim_rack_free(lab->rack);
	loop_free(lab->loop);
	free(lab);
	return 0;
}

static void sim_address(int64_t id, char ret[64])
{
	assert_true(text_format(ret, 64, "sim-%d", (int)id));
}

static void put(struct lab *lab, int64_t id, const char *password)
{
	struct bmc_endpoint endpoint = {.id = id, .driver = "sim", .timeout_ms = 100};
	struct problem problem = {0};

	sim_address(id, endpoint.address);
	(void)text_format(endpoint.node, sizeof(endpoint.node), "n%d", (int)id);
	(void)text_copy(endpoint.password, sizeof(endpoint.password), password);
	assert_int_equal(bmc_queue_put(lab->queue, &endpoint, &problem), 0);
}

/* A copy. */
static struct sim_node node_get(struct lab *lab, int64_t id)
{
	struct sim_node node;
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	node = *sim_rack_node(lab->rack, address, 0);
	sim_rack_unlock(lab->rack);
	return node;
}

static void node_fault(struct lab *lab, int64_t id, uint32_t faults)
{
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	sim_rack_node(lab->rack, address, 0)->faults = faults;
	sim_rack_unlock(lab->rack);
}

/* As those of a library that blocks: its calls hold threads. */
static void node_blocks(struct lab *lab, int64_t id)
{
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	sim_rack_node(lab->rack, address, 0)->blocks = true;
	sim_rack_unlock(lab->rack);
}

static void node_slow(struct lab *lab, int64_t id, uint32_t latency_ms, uint32_t power_delay_ms)
{
	struct sim_node *node;
	char address[64];

	sim_address(id, address);
	sim_rack_lock(lab->rack);
	node = sim_rack_node(lab->rack, address, 0);
	node->latency_ms = latency_ms;
	node->power_delay_ms = power_delay_ms;
	sim_rack_unlock(lab->rack);
}

static struct bmc_queue_stats stats(const struct lab *lab)
{
	struct bmc_queue_stats stats;

	bmc_queue_stats(lab->queue, &stats);
	return stats;
}

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

static void dead_bmc_opens_its_breaker(void **state)
{
	struct lab *lab = *state;
	struct bmc_observation seen;
	struct answer behind = {.loop = lab->loop};
	struct answer first = {.loop = lab->loop};
	struct bmc_request on = {.op = BMC_POWER_ON};
	struct bmc_request boot = {.op = BMC_BOOT_GET};
	struct answer answer;
	int64_t start_ms;

	put(lab, 1, "");
	node_fault(lab, 1, SIM_FAULT_DEAD);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &on}, &first);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &boot}, &behind);
	ask_wait(&first);
	assert_int_equal(first.rc, E_TIMEOUT);
	ask_wait(&behind); /* told at once, not at its deadline */
	assert_int_equal(behind.rc, E_UNAVAILABLE);
	assert_true(behind.at_ms - first.at_ms < 2000);
	assert_int_equal(node_get(lab, 1).calls, 3);

	start_ms = clock_monotonic_ms();
	answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_STATUS);
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	assert_true(answer.at_ms - start_ms < 2000);
	assert_int_equal(node_get(lab, 1).calls, 3);
	assert_true(bmc_observation(lab->queue, 1, &seen));
	assert_int_equal(seen.breaker, BMC_BREAKER_OPEN);
	assert_int_equal(seen.problem.code, E_TIMEOUT);

	/* Alive again, but not asked before its time. */
	node_fault(lab, 1, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_STATUS).rc, E_UNAVAILABLE);
	assert_int_equal(node_get(lab, 1).calls, 3);
	assert_int_equal(stats(lab).breakers_open, 1);
}

/* Twenty silent BMCs asked all the time do not hold up the one that answers. */
static void the_dead_do_not_eat_the_pool(void **state)
{
	struct lab *lab = *state;
	struct bmc_request status = {.op = BMC_POWER_STATUS};
	struct answer dead[20] = {0};
	int late = 0;

	put(lab, 1, "");
	node_blocks(lab, 1);
	for (int id = 100; id < 120; id++) {
		put(lab, id, "");
		node_blocks(lab, id);
		node_fault(lab, id, SIM_FAULT_DEAD);
		dead[id - 100].loop = lab->loop;
		ask_start(
			lab->queue,
			&(struct bmc_ask){.bmc_id = id, .request = &status, .priority = CALL_POLL},
			&dead[id - 100]);
	}
	for (int i = 0; i < 20; i++) {
		int64_t start_ms = clock_monotonic_ms();
		struct answer answer = ask_op(lab->loop, lab->queue, 1, BMC_POWER_STATUS);

		assert_int_equal(answer.rc, 0);
		late += answer.at_ms - start_ms >= 80; /* a dead call takes 100 ms */
		(void)usleep(20000);                   /* spread over many dead calls */
	}
	assert_true(late < 10); /* behind the dead, nearly each; on a busy machine some */
	for (size_t i = 0; i < COUNT_OF(dead); i++) {
		while (dead[i].count == 0)
			loop_run(lab->loop);
		assert_int_not_equal(dead[i].rc, 0);
	}
}

static void failing_ones_share_few_workers(void **state)
{
	struct lab *lab = *state;
	struct bmc_request status = {.op = BMC_POWER_STATUS};
	struct answer answers[10] = {0};
	unsigned most = 0;
	bool open = true;

	for (int id = 0; id < 10; id++) {
		put(lab, id, "");
		node_blocks(lab, id);
		node_fault(lab, id, SIM_FAULT_DEAD);
		answers[id].loop = lab->loop;
		ask_start(lab->queue, &(struct bmc_ask){.bmc_id = id, .request = &status},
			  &answers[id]);
	}
	/* After each has failed once they are known, and at most two are asked at a time. */
	while (open) {
		unsigned failed_once = 0;

		loop_run_once(lab->loop);
		open = false;
		for (int id = 0; id < 10; id++) {
			failed_once += node_get(lab, id).calls > 0;
			open |= answers[id].count == 0;
		}
		if (failed_once == 10 && stats(lab).in_flight > most)
			most = stats(lab).in_flight;
		(void)usleep(500);
	}
	assert_int_equal(most, 2);
}

/* What holds no thread waits for nobody: however many are dead, all are asked at once. */
static void without_threads_nobody_waits(void **state)
{
	struct lab *lab = *state;
	struct bmc_request status = {.op = BMC_POWER_STATUS};
	static struct answer answers[100];
	int64_t start_ms = clock_monotonic_ms();

	for (int id = 0; id < 100; id++) {
		put(lab, id, "");
		node_fault(lab, id, SIM_FAULT_DEAD);
		answers[id].loop = lab->loop;
		ask_start(lab->queue, &(struct bmc_ask){.bmc_id = id, .request = &status},
			  &answers[id]);
	}
	while (stats(lab).in_flight < 100 && clock_monotonic_ms() - start_ms < 10000)
		loop_run_once(lab->loop);
	assert_int_equal(stats(lab).in_flight, 100);
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		while (answers[i].count == 0)
			loop_run(lab->loop);
		assert_int_equal(answers[i].rc, E_TIMEOUT);
	}
}

/* A poll of a slow BMC is given up when its caller does, and not waited for. */
static void slow_look_is_not_waited_for(void **state)
{
	struct lab *lab = *state;
	struct bmc_request status = {.op = BMC_POWER_STATUS};
	struct answer slow = {.loop = lab->loop};
	int64_t start_ms = clock_monotonic_ms();

	put(lab, 1, "");
	node_slow(lab, 1, 60000, 0);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 1, .request = &status, .deadline_ms = 50},
		  &slow);
	ask_wait(&slow);
	assert_int_equal(slow.rc, E_TIMEOUT);
	node_slow(lab, 1, 1, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_STATUS).rc, 0);
	assert_true(clock_monotonic_ms() - start_ms < 20000);
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

static void wrong_password_until_it_changes(void **state)
{
	struct lab *lab = *state;
	char address[64];

	put(lab, 1, "old");
	sim_address(1, address);
	sim_rack_lock(lab->rack);
	(void)text_copy(sim_rack_node(lab->rack, address, 0)->password, 21, "new");
	sim_rack_unlock(lab->rack);
	for (int i = 0; i < 5; i++)
		assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON).rc,
				 E_AUTHENTICATION);
	assert_int_equal(node_get(lab, 1).calls, 1);
	put(lab, 1, "old"); /* nothing new */
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON).rc, E_AUTHENTICATION);
	assert_int_equal(node_get(lab, 1).calls, 1);
	put(lab, 1, "new");
	assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_ON).rc, 0);
}

/* Corrected at the BMC itself: a person who looks gets through, once; polls do not. */
static void a_person_may_try_a_refused_password(void **state)
{
	struct lab *lab = *state;
	struct bmc_request status = {.op = BMC_POWER_STATUS};
	const struct bmc_ask person = {.bmc_id = 1, .request = &status, .person = true};
	struct answer answers[3] = {{.loop = lab->loop}, {.loop = lab->loop}, {.loop = lab->loop}};

	put(lab, 1, "new");
	node_fault(lab, 1, SIM_FAULT_REFUSES_PASSWORD);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ask_op(lab->loop, lab->queue, 1, BMC_POWER_STATUS).rc,
				 E_AUTHENTICATION);
	assert_int_equal(node_get(lab, 1).calls, 1);
	for (int i = 0; i < 2; i++) {
		ask_start(lab->queue, &person, &answers[i]);
		ask_wait(&answers[i]);
		assert_int_equal(answers[i].rc, E_AUTHENTICATION);
	}
	assert_int_equal(node_get(lab, 1).calls, 2); /* the second not asked */

	put(lab, 2, "new");
	node_fault(lab, 2, SIM_FAULT_REFUSES_PASSWORD);
	assert_int_equal(ask_op(lab->loop, lab->queue, 2, BMC_POWER_STATUS).rc, E_AUTHENTICATION);
	node_fault(lab, 2, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, 2, BMC_POWER_STATUS).rc, E_AUTHENTICATION);
	ask_start(lab->queue, &(struct bmc_ask){.bmc_id = 2, .request = &status, .person = true},
		  &answers[2]);
	ask_wait(&answers[2]);
	assert_int_equal(answers[2].rc, 0);
	assert_int_equal(ask_op(lab->loop, lab->queue, 2, BMC_POWER_STATUS).rc, 0);
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
		TEST(dead_bmc_opens_its_breaker),
		TEST(the_dead_do_not_eat_the_pool),
		TEST(failing_ones_share_few_workers),
		TEST(without_threads_nobody_waits),
		TEST(slow_look_is_not_waited_for),
		TEST(deadline_holds_and_says_what_was_done),
		TEST(wrong_password_until_it_changes),
		TEST(a_person_may_try_a_refused_password),
		TEST(cancelled_is_never_answered),
		TEST(unknown_and_removed),
		TEST(closing_answers_everybody),
		TEST(callbacks_may_do_anything),
		TEST(five_hundred),
		cmocka_unit_test(rack_is_kept_in_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
