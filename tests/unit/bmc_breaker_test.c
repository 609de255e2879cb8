// links: bampi_bmc common_io common_base
//: timeout 300
/* The queue on simulated BMCs that are dead, slow, or refuse the password: whom they hold up, and when
 * they are asked again. */
#include "tests/unit/bmc_queue_lab.h"

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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(dead_bmc_opens_its_breaker),          TEST(the_dead_do_not_eat_the_pool),
		TEST(failing_ones_share_few_workers),      TEST(without_threads_nobody_waits),
		TEST(slow_look_is_not_waited_for),         TEST(wrong_password_until_it_changes),
		TEST(a_person_may_try_a_refused_password),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
